//! THE wrapper table: one row a call, by the chapters of the MPI-4.1 standard, a file for each.
//!
//! A row reads `NAME(parameters) Op since { fact: parameter, ... }`; where a fact and a parameter
//! are of one name, it stands once. Facts are those of [`super::record::Facts`]; a row holds no
//! expression. A call that needs one, or that must do something before the real call, is in
//! [`super::special`], with the reason.
//!
//! `since` says which names the row exports:
//!
//! * `v3`: the call is in every MPI of version 3.1 and later, and so is its `PMPI_` twin;
//! * `v3_large`: a twin ending in `_c` besides, whose counts are wide, in MPI-4 and later;
//! * `v4`, `v4_large`: all of it in MPI-4 and later only;
//! * `v4(NAME)`, `v4_large(NAME)`: as those, and Open MPI 4 has it under that name.
//!
//! What is not in every MPI is hidden where the MPI below lacks it: see [`super::newer`].
//!
//! To add a call: its row here, its `Op` in `src/core/op.rs`, its names in `include/pas.symbols`.
//! `MPI_Allreduce` is the example to follow: its count and datatype describe one block, its
//! communicator says who takes part, its send buffer may be `MPI_IN_PLACE` (the block is then the
//! same), and its operation tells whether the library may reorder.
//!
//! Not here since they carry no traffic: everything else; such calls reach the MPI directly. The
//! harness holds the table against the Forum's list of all calls (`c-tests/harness/standard`).

pub mod collectives;
pub mod communicators;
pub mod file_io;
pub mod neighbours;
pub mod nonblocking;
pub mod one_sided;
pub mod persistent;
pub mod point_to_point;

use super::flavor::RawHandle;
use std::ffi::{c_int, c_void};

/// A buffer or vector that the call reads, or any pointer that is only passed on.
pub type In = *const c_void;
/// A buffer, handle or status that the call writes.
pub type Out = *mut c_void;
/// An integer.
pub type Int = c_int;
/// A vector of integers that the call reads.
pub type Ints = *const c_int;
/// An integer that the call writes.
pub type IntOut = *mut c_int;
/// A handle.
pub type Handle = RawHandle;
/// An address or a displacement: `MPI_Aint`.
pub type Aint = isize;

/// A place in a file: `MPI_Offset`.
pub type Offset = i64;

/// A count of which the headers do not agree whether it is an `int` or an `MPI_Count`. Passed on
/// as the whole register; read as the lower half, which is right for both below 2^31.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Unsure(pub i64);

/// The parameters of the calls by their plain name.
pub mod plain {
    use std::ffi::c_int;

    /// A count.
    pub type Count = c_int;
    /// A vector of counts.
    pub type Counts = *const c_int;
    /// A vector of displacements.
    pub type Displs = *const c_int;
    /// A displacement's unit.
    pub type Unit = c_int;
}

/// The same of their twins ending in `_c`.
pub mod large {
    /// A count: `MPI_Count`.
    pub type Count = i64;
    /// A vector of counts.
    pub type Counts = *const i64;
    /// A vector of displacements: `MPI_Aint`.
    pub type Displs = *const isize;
    /// A displacement's unit: `MPI_Aint`.
    pub type Unit = isize;
}
