//! Expands the rows of [`super::table`] into the exported functions.
#![expect(unsafe_code, reason = "exports C functions and calls the real ones through pointers")]

use super::clock;
use super::flavor::{Mpi, RawHandle};
use super::guard::{self, Guard};
use super::real::real;
use super::ring::Record;
use super::table::{self, Handle, In, Int, IntOut, Ints, Out};
use crate::life;
use crate::skip::Bypass;
use pas_core::event::{CommId, Flags};
use pas_core::op::{Kind, Op};
use std::ffi::{c_int, c_void};
use std::ptr;

/// The facts that a row names of its arguments. What a row does not name stays as in [`NONE`].
#[derive(Clone, Copy)]
pub struct Facts {
    /// The communicator.
    pub comm: RawHandle,
    /// Elements in one block.
    pub count: c_int,
    /// Their datatype.
    pub datatype: RawHandle,
    /// Elements by destination, where the call has a vector of counts (as long as the
    /// communicator's size).
    pub counts: *const c_int,
    /// Datatypes by destination.
    pub datatypes: *const c_void,
    /// Root, destination or source.
    pub peer: c_int,
    /// The status of a receive.
    pub status: *const c_void,
    /// The buffer that may be `MPI_IN_PLACE`. If it is, or if the peer is `MPI_ROOT`, the MPI
    /// ignores the arguments named above, which may then be anything, and these hold instead.
    pub in_place: *const c_void,
    /// See `in_place`.
    pub in_place_count: c_int,
    /// See `in_place`.
    pub in_place_counts: *const c_int,
    /// See `in_place`.
    pub in_place_datatype: RawHandle,
    /// See `in_place`.
    pub in_place_datatypes: *const c_void,
    /// The reduction's operation.
    pub op: RawHandle,
    /// The communicator that the call made.
    pub new_comm: *const c_void,
    /// A completion call's answer: nothing is recorded where it found nothing complete.
    pub flag: *const c_int,
    /// A completion call's count of completed requests, likewise.
    pub outcount: *const c_int,
}

/// Negative, and no MPI's constant for a wildcard or null rank.
const NO_PEER: c_int = c_int::MIN;

/// No facts at all.
pub const NONE: Facts = Facts {
    comm: 0,
    count: 0,
    datatype: 0,
    counts: ptr::null(),
    datatypes: ptr::null(),
    peer: NO_PEER,
    status: ptr::null(),
    in_place: ptr::null(),
    in_place_count: 0,
    in_place_counts: ptr::null(),
    in_place_datatype: 0,
    in_place_datatypes: ptr::null(),
    op: 0,
    new_comm: ptr::null(),
    flag: ptr::null(),
    outcount: ptr::null(),
};

/// Counts of a vector that are summed; of a longer one the rest is extrapolated.
const COUNTS_SUMMED_MAX: usize = 1024;

macro_rules! expand {
    ($(
        $name:ident($($arg:ident: $type:ty),* $(,)?)
            $op:ident { $($fact:ident: $from:ident),* $(,)? }
    )*) => {
        $(
            /// The MPI call of this name.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
                let real = real!($name($($arg: $type),*));

                // A function of its own, so that the path off the record saves no registers and
                // is a plain jump.
                #[inline(never)]
                unsafe extern "C-unwind" fn observed(
                    $($arg: $type,)*
                    real: unsafe extern "C-unwind" fn($($type),*) -> c_int,
                ) -> c_int {
                    let Some(guard) = guard::enter() else {
                        // SAFETY: the program's own call, its arguments untouched.
                        return unsafe { real($($arg),*) };
                    };
                    let start_ticks = clock::ticks();
                    // SAFETY: as above.
                    let result = unsafe { real($($arg),*) };
                    let facts = Facts { $($fact: $from,)* ..NONE };
                    // SAFETY: the facts are arguments of the call that has returned `result`.
                    unsafe { record(&guard, Op::$op, start_ticks, result, &facts) };
                    result
                }

                if life::recording() {
                    // SAFETY: the program's own call, its arguments untouched.
                    unsafe { observed($($arg,)* real) }
                } else {
                    // SAFETY: as above.
                    unsafe { real($($arg),*) }
                }
            }
        )*
    };
}

table::rows!(expand);

/// True for calls that only post: how long that takes is of no interest, and a time stamp costs
/// as much as the rest of the record. Known at compile time in each wrapper.
#[inline(always)]
const fn is_post(op: Op) -> bool {
    matches!(op, Op::Isend | Op::Irecv) || matches!(op.kind(), Kind::Nonblocking(_))
}

/// Writes a finished call down.
///
/// # Safety
/// The facts are arguments of an MPI call that has just returned `result`.
#[inline(always)]
pub unsafe fn record(guard: &Guard, op: Op, start_ticks: u64, result: c_int, facts: &Facts) {
    // SAFETY: flag and outcount are answers of the call, written if it succeeded.
    let idle = result == 0
        && unsafe {
            (!facts.flag.is_null() && *facts.flag == 0)
                || (!facts.outcount.is_null() && *facts.outcount == 0)
        };
    if idle {
        // A polling loop would fill the ring with what never happened.
        return;
    }
    let mut record = Record {
        bytes: 0,
        start_ticks,
        end_ticks: if is_post(op) { start_ticks } else { clock::ticks() },
        count: 0,
        peer: facts.peer,
        comm: CommId::NONE,
        op,
        flags: Flags::FAILED,
    };
    if result == 0 {
        // SAFETY: the call has succeeded, so its handles are valid.
        unsafe { fill(&mut record, guard, facts) };
    }
    guard.record(record);
}

/// Reads the facts of a call that has succeeded.
///
/// # Safety
/// As for [`record`], and the result was success.
#[inline(always)]
unsafe fn fill(record: &mut Record, guard: &Guard, facts: &Facts) {
    let life = guard.life();
    let mpi = &life.mpi;
    record.flags = Flags::default();
    let mut size = 0;
    if facts.comm != 0 {
        match life.comms.lookup(mpi, mpi.handle(facts.comm)) {
            Some(known) => {
                record.comm = known.id;
                // The counts of a reduce-scatter are the local group's: between two groups, of a
                // length that is not kept, and so they are not read.
                let local = matches!(record.op, Op::ReduceScatter | Op::IreduceScatter);
                size = if local && known.is_inter { 0 } else { known.size };
            }
            None => Bypass::UnknownComm.count(),
        }
    }
    if !facts.new_comm.is_null() {
        // Registered here and not at its first use, so that keys are given in the same order in
        // all ranks; ranks that were left out got MPI_COMM_NULL, which is not registered.
        // SAFETY: the call that makes communicators has succeeded and written the handle.
        life.comms.lookup(mpi, unsafe { mpi.read_handle(facts.new_comm, 0) });
    }
    if mpi.is_proc_null(facts.peer) {
        // Nothing is sent; what the other arguments say does not matter.
        return;
    }
    if !facts.status.is_null() {
        // SAFETY: the caller's: the receive that owns the status has succeeded.
        record.peer = unsafe { mpi.source(facts.peer, facts.status) };
    }
    if facts.op != 0 && mpi.is_predefined_op(facts.op) {
        record.flags = record.flags.with(Flags::PREDEFINED_OP);
    }
    let in_place = !facts.in_place.is_null() && mpi.is_in_place(facts.in_place);
    if in_place {
        record.flags = record.flags.with(Flags::IN_PLACE);
    }
    let block = match in_place || mpi.is_root(facts.peer) {
        false => (facts.count, facts.datatype, facts.counts, facts.datatypes),
        true => {
            let counts = (facts.in_place_counts, facts.in_place_datatypes);
            (facts.in_place_count, facts.in_place_datatype, counts.0, counts.1)
        }
    };
    // SAFETY: a vector of counts or datatypes has `size` entries at least.
    let (elements, bytes, whole) = unsafe { volume(mpi, block, size) };
    record.count = u32::try_from(elements).unwrap_or(u32::MAX);
    record.bytes = bytes;
    if !whole {
        record.flags = record.flags.with(Flags::ESTIMATED);
    }
}

/// Elements and bytes of a block, and whether that is all of it. Of a vector of unknown length,
/// which is said by a `size` of 0, nothing is read.
///
/// # Safety
/// Vectors that are not null hold `size` entries.
#[inline(always)]
unsafe fn volume(
    mpi: &Mpi,
    (count, datatype, counts, datatypes): (c_int, RawHandle, *const c_int, *const c_void),
    size: u32,
) -> (u64, u64, bool) {
    if counts.is_null() {
        let elements = u64::try_from(count).unwrap_or(0);
        // No elements, no question: the datatype of an empty block need not be valid.
        if elements == 0 {
            return (0, 0, true);
        }
        return match mpi.type_bytes(datatype) {
            Some(bytes) => (elements, elements.saturating_mul(bytes), true),
            None => (elements, 0, false),
        };
    }
    // SAFETY: the caller's.
    unsafe { vector_volume(mpi, datatype, counts, datatypes, size as usize) }
}

/// As [`volume`], of the calls with a vector of counts.
///
/// # Safety
/// As for [`volume`].
#[inline(never)]
unsafe fn vector_volume(
    mpi: &Mpi,
    datatype: RawHandle,
    counts: *const c_int,
    datatypes: *const c_void,
    size: usize,
) -> (u64, u64, bool) {
    let summed = size.min(COUNTS_SUMMED_MAX);
    let (mut elements, mut bytes) = (0u64, 0u64);
    for index in 0..summed {
        // SAFETY: the caller's: `index` is below the communicator's size.
        let (count, datatype) = unsafe {
            let datatype = match datatypes.is_null() {
                true => datatype,
                false => mpi.read_handle(datatypes, index),
            };
            (u64::try_from(*counts.add(index)).unwrap_or(0), datatype)
        };
        if count > 0 {
            elements = elements.saturating_add(count);
            let size_bytes = mpi.type_bytes(datatype).unwrap_or(0);
            bytes = bytes.saturating_add(count.saturating_mul(size_bytes));
        }
    }
    if summed < size {
        let scale = |part: u64| part.saturating_mul(size as u64) / summed.max(1) as u64;
        return (scale(elements), scale(bytes), false);
    }
    (elements, bytes, size > 0)
}
