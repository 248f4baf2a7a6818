//! Expands the rows of [`super::table`] into the exported functions.
//!
//! Each call is exported under its `MPI_` and its `PMPI_` name. The second is how the Fortran
//! interfaces of Open MPI, other tools before us in the preload list, and programs that step around
//! tools reach the library; where a call comes through both, [`super::guard`] admits the first.
#![expect(unsafe_code, reason = "exports C functions and calls the real ones through pointers")]

use super::newer::newer;
use super::real::real;
use super::record::{Fact, Facts, NONE, record};
use super::table::{self, Aint, Handle, In, Int, IntOut, Ints, Offset, Out, Unsure};
use super::{clock, guard};
use crate::life;
use pas_core::op::Op;
use std::ffi::c_int;

/// The value of a fact: the parameter that the row names, or the one of the fact's own name.
macro_rules! value {
    ($fact:ident) => {
        Fact::fact($fact)
    };
    ($fact:ident $from:ident) => {
        Fact::fact($from)
    };
}

/// One exported function, which hands what is to be recorded to `$observed`.
macro_rules! export {
    ($name:expr, $observed:ident, ($($arg:ident: $type:ty),* $(,)?)) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            pub unsafe extern "C-unwind" fn forward($($arg: $type),*) -> c_int {
                let real = real!($name, ($($arg: $type),*));
                if life::recording() {
                    // SAFETY: the program's own call, its arguments untouched.
                    unsafe { $observed($($arg,)* real) }
                } else {
                    // SAFETY: as above.
                    unsafe { real($($arg),*) }
                }
            }
        };
    };
}

/// What all names of a call at one width of counts share.
macro_rules! observed {
    (($($arg:ident: $type:ty),* $(,)?), $op:ident, {$($fact:ident $(: $from:ident)?),* $(,)?}) => {
        // A function of its own, so that the path off the record saves no registers and is a
        // plain jump.
        #[inline(never)]
        unsafe extern "C-unwind" fn observed(
            $($arg: $type,)*
            real: unsafe extern "C-unwind" fn($($type),*) -> c_int,
        ) -> c_int {
            let Some(guard) = guard::enter(Op::$op) else {
                // SAFETY: the program's own call, its arguments untouched.
                return unsafe { real($($arg),*) };
            };
            let start_ticks = clock::ticks();
            // SAFETY: as above.
            let result = unsafe { real($($arg),*) };
            let facts = Facts { $($fact: value!($fact $($from)?),)* ..NONE };
            // SAFETY: the facts are arguments of the call that has returned `result`.
            unsafe { record(&guard, Op::$op, start_ticks, result, &facts) };
            result
        }
    };
}

/// The functions of one call at one width of counts.
macro_rules! wrapper {
    ($width:ident, [$($name:expr),+], $args:tt, $op:ident, $facts:tt) => {
        const _: () = {
            #[allow(unused_imports, reason = "not every call has each kind of parameter")]
            use table::$width::{Count, Counts, Displs, Unit};

            observed!($args, $op, $facts);
            $(export!($name, observed, $args);)+
        };
    };
}

/// The functions of one row.
macro_rules! row {
    (v3, $name:ident $args:tt $op:ident $facts:tt) => {
        wrapper!(plain, [stringify!($name), concat!("P", stringify!($name))], $args, $op, $facts);
    };
    (v3_large, $name:ident $args:tt $op:ident $facts:tt) => {
        row!(v3, $name $args $op $facts);
        wrapper!(
            large,
            [concat!(stringify!($name), "_c"), concat!("P", stringify!($name), "_c")],
            $args, $op, $facts
        );
    };
    (v4, $name:ident $args:tt $op:ident $facts:tt) => {
        row!(v3, $name $args $op $facts);
    };
    (v4_large, $name:ident $args:tt $op:ident $facts:tt) => {
        row!(v3_large, $name $args $op $facts);
    };
    (v4($other:ident), $name:ident $args:tt $op:ident $facts:tt) => {
        row!(v3, $name $args $op $facts);
        row!(v3, $other $args $op $facts);
    };
    (v4_large($other:ident), $name:ident $args:tt $op:ident $facts:tt) => {
        row!(v3_large, $name $args $op $facts);
        row!(v3, $other $args $op $facts);
    };
}

/// The names of one row that not every MPI has.
macro_rules! newer_names {
    ($visit:ident, v3, $name:ident) => {};
    ($visit:ident, v3_large, $name:ident) => {
        newer!($visit, concat!(stringify!($name), "_c"));
        newer!($visit, concat!("P", stringify!($name), "_c"));
    };
    ($visit:ident, v4, $name:ident) => {
        newer!($visit, stringify!($name));
        newer!($visit, concat!("P", stringify!($name)));
    };
    ($visit:ident, v4_large, $name:ident) => {
        newer_names!($visit, v3_large, $name);
        newer_names!($visit, v4, $name);
    };
    ($visit:ident, v4($other:ident), $name:ident) => {
        newer_names!($visit, v4, $name);
        newer_names!($visit, v4, $other);
    };
    ($visit:ident, v4_large($other:ident), $name:ident) => {
        newer_names!($visit, v4_large, $name);
        newer_names!($visit, v4, $other);
    };
}
pub(super) use newer_names;

macro_rules! expand {
    ($(
        $name:ident $args:tt $op:ident $since:ident $(($other:ident))? { $($facts:tt)* }
    )*) => {
        $(row!($since $(($other))?, $name $args $op { $($facts)* });)*

        /// Shows every name that not every MPI has, with what answers whether this one does.
        pub fn newer(visit: &mut super::super::newer::Visit) {
            let _ = &visit;
            $(newer_names!(visit, $since $(($other))?, $name);)*
        }
    };
}

macro_rules! chapters {
    ($($chapter:ident)*) => {
        $(mod $chapter {
            use super::*;
            table::$chapter::rows!(expand);
        })*

        /// Every name of the table that not every MPI has.
        pub fn each_newer(visit: &mut super::newer::Visit) {
            $($chapter::newer(visit);)*
        }
    };
}

chapters!(point_to_point collectives nonblocking persistent communicators neighbours one_sided
    file_io);
