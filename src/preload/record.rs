//! Writes a finished call down: from its arguments to a record.
#![expect(unsafe_code, reason = "reads vectors, handles and answers of the program's own call")]

use super::clock;
use super::flavor::{Mpi, RawHandle};
use super::guard::Guard;
use super::ring::Record;
use super::table::Unsure;
use crate::skip::Bypass;
use pas_core::event::{CommId, Flags};
use pas_core::op::Op;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The facts that a row names of its arguments. What a row does not name stays as in [`NONE`].
#[derive(Clone, Copy)]
pub struct Facts {
    /// The communicator.
    pub comm: RawHandle,
    /// The window, which stands for the communicator that it was made of.
    pub win: RawHandle,
    /// Elements in one block.
    pub count: i64,
    /// Blocks: the partitions of a partitioned message.
    pub partitions: c_int,
    /// Their datatype.
    pub datatype: RawHandle,
    /// Elements by destination, where the call has a vector of counts (as long as the
    /// communicator's size).
    pub counts: Counts,
    /// Datatypes by destination.
    pub datatypes: *const c_void,
    /// Root, destination, source or target.
    pub peer: c_int,
    /// The status of a receive.
    pub status: *const c_void,
    /// The buffer that may be `MPI_IN_PLACE`. If it is, or if the peer is `MPI_ROOT`, the MPI
    /// ignores the arguments named above, which may then be anything, and these hold instead.
    pub in_place: *const c_void,
    /// See `in_place`.
    pub in_place_count: i64,
    /// See `in_place`.
    pub in_place_counts: Counts,
    /// See `in_place`.
    pub in_place_datatype: RawHandle,
    /// See `in_place`.
    pub in_place_datatypes: *const c_void,
    /// The reduction's operation.
    pub op: RawHandle,
    /// The communicator that the call made.
    pub new_comm: *const c_void,
    /// The window that the call made.
    pub new_win: *const c_void,
    /// The persistent request that the call made.
    pub request: *const c_void,
    /// A completion call's answer: nothing is recorded where it found nothing complete.
    pub flag: *const c_int,
    /// A completion call's count of completed requests, likewise.
    pub outcount: *const c_int,
}

/// A vector of counts, of either width.
#[derive(Clone, Copy)]
pub enum Counts {
    /// The call has none.
    Absent,
    /// Of a call by its plain name.
    Plain(*const c_int),
    /// Of its twin ending in `_c`.
    Large(*const i64),
}

impl Counts {
    /// # Safety
    /// The vector has an entry at `index`.
    unsafe fn at(self, index: usize) -> i64 {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Counts::Absent => 0,
                Counts::Plain(counts) => i64::from(*counts.add(index)),
                Counts::Large(counts) => *counts.add(index),
            }
        }
    }
}

/// Negative, and no MPI's constant for a wildcard or null rank.
const NO_PEER: c_int = c_int::MIN;

/// No facts at all.
pub const NONE: Facts = Facts {
    comm: 0,
    win: 0,
    count: 0,
    partitions: 1,
    datatype: 0,
    counts: Counts::Absent,
    datatypes: ptr::null(),
    peer: NO_PEER,
    status: ptr::null(),
    in_place: ptr::null(),
    in_place_count: 0,
    in_place_counts: Counts::Absent,
    in_place_datatype: 0,
    in_place_datatypes: ptr::null(),
    op: 0,
    new_comm: ptr::null(),
    new_win: ptr::null(),
    request: ptr::null(),
    flag: ptr::null(),
    outcount: ptr::null(),
};

/// From the type of a parameter to that of a fact.
pub trait Fact<T> {
    /// The fact.
    fn fact(self) -> T;
}

macro_rules! facts {
    ($($from:ty => $to:ty: |$value:ident| $made:expr;)*) => {$(
        impl Fact<$to> for $from {
            #[inline(always)]
            fn fact(self) -> $to {
                let $value = self;
                $made
            }
        }
    )*};
}
facts! {
    c_int => c_int: |value| value;
    c_int => i64: |value| i64::from(value);
    i64 => i64: |value| value;
    Unsure => i64: |value| i64::from(value.0 as i32);
    usize => usize: |value| value;
    *const c_int => Counts: |value| Counts::Plain(value);
    *const i64 => Counts: |value| Counts::Large(value);
    *const c_void => *const c_void: |value| value;
    *mut c_void => *const c_void: |value| value.cast_const();
    *mut c_int => *const c_int: |value| value.cast_const();
}

/// Counts of a vector that are summed; of a longer one the rest is extrapolated.
const COUNTS_SUMMED_MAX: usize = 1024;

/// A message of up to so many bytes is buffered by every known MPI (the least default limit is some
/// 4 KiB): sending it waits for nobody.
const SEND_BUFFERED_BYTES_MAX: u64 = 1024;

/// True for the sends that may be buffered. Known at compile time in each wrapper.
#[inline(always)]
const fn may_be_buffered(op: Op) -> bool {
    matches!(op, Op::Send | Op::Bsend | Op::Rsend)
}

/// Writes a finished call down.
///
/// A time stamp costs as much as the rest of the record, so a call that does not wait gets one.
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
        end_ticks: if op.posts() || may_be_buffered(op) { start_ticks } else { clock::ticks() },
        count: 0,
        peer: facts.peer,
        comm: CommId::NONE,
        op,
        flags: Flags::FAILED,
    };
    if result == 0 {
        // SAFETY: the call has succeeded, so its handles are valid.
        unsafe { fill(&mut record, guard, facts) };
        if op.is_persistent() {
            // SAFETY: as above.
            unsafe { keep(&record, guard, facts) };
        }
    }
    if may_be_buffered(op) && (result != 0 || record.bytes > SEND_BUFFERED_BYTES_MAX) {
        record.end_ticks = clock::ticks();
    }
    guard.record(record);
}

/// Keeps what a call says with the request that it made, for the starts to come.
///
/// # Safety
/// As for [`record`], and the result was success.
#[cold]
unsafe fn keep(record: &Record, guard: &Guard, facts: &Facts) {
    let life = guard.life();
    // SAFETY: the caller's: the call has written the handle.
    let request = unsafe { life.mpi.read_handle(facts.request, 0) };
    life.persistent.keep(request, record);
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
                let local = reduce_scatter(record.op);
                size = if local && known.is_inter { 0 } else { known.size };
            }
            None => Bypass::UnknownComm.count(),
        }
    }
    if facts.win != 0 {
        match life.windows.comm_of(mpi.handle(facts.win)) {
            Some(comm) => record.comm = comm,
            None => Bypass::UnknownWindow.count(),
        }
    }
    if !facts.new_comm.is_null() {
        // Registered here and not at its first use, so that keys are given in the same order in
        // all ranks; ranks that were left out got MPI_COMM_NULL, which is not registered.
        // SAFETY: the call that makes communicators has succeeded and written the handle.
        life.comms.lookup(mpi, unsafe { mpi.read_handle(facts.new_comm, 0) });
    }
    if !facts.new_win.is_null() {
        // SAFETY: likewise of the call that makes windows.
        life.windows.insert(unsafe { mpi.read_handle(facts.new_win, 0) }, record.comm);
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
    let blocks = u64::try_from(facts.partitions).unwrap_or(0);
    record.count = u32::try_from(elements.saturating_mul(blocks)).unwrap_or(u32::MAX);
    record.bytes = bytes.saturating_mul(blocks);
    if !whole {
        record.flags = record.flags.with(Flags::ESTIMATED);
    }
}

/// True for the variants of `MPI_Reduce_scatter`. Known at compile time in each wrapper.
#[inline(always)]
const fn reduce_scatter(op: Op) -> bool {
    matches!(op, Op::ReduceScatter | Op::IreduceScatter | Op::ReduceScatterInit)
}

/// Elements and bytes of a block, and whether that is all of it. Of a vector of unknown length,
/// which is said by a `size` of 0, nothing is read.
///
/// # Safety
/// Vectors that are not null hold `size` entries.
#[inline(always)]
unsafe fn volume(
    mpi: &Mpi,
    (count, datatype, counts, datatypes): (i64, RawHandle, Counts, *const c_void),
    size: u32,
) -> (u64, u64, bool) {
    if let Counts::Absent = counts {
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
    counts: Counts,
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
            (u64::try_from(counts.at(index)).unwrap_or(0), datatype)
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

/// Writes one start of a persistent request down, as the call that made it said. Answers false
/// where that is not known.
pub fn record_start(guard: &Guard, request: usize, ticks: u64, how: Flags) -> bool {
    let Some(kept) = guard.life().persistent.get(request) else { return false };
    let flags = kept.flags.with(Flags::STARTED).with(how);
    guard.record(Record { start_ticks: ticks, end_ticks: ticks, flags, ..kept });
    true
}
