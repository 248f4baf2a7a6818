//! One recorded call, as the shim hands it to the detector.

use crate::op::Op;
use crate::units::{Nanos, Time};

/// A communicator within one process: an index that is never used again in that process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommId(pub u32);

impl CommId {
    /// The call named no communicator (completion calls), or one that could not be registered.
    pub const NONE: CommId = CommId(u32::MAX);
    /// `MPI_COMM_WORLD`.
    pub const WORLD: CommId = CommId(0);
}

/// One call, complete. Bytes are what the call's count argument and datatype say of *one* block:
/// an allreduce's vector, an allgather's contribution, an alltoall's block for one destination;
/// of the calls with a vector of counts, what this rank contributes in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The call.
    pub op: Op,
    /// Its communicator.
    pub comm: CommId,
    /// Root, destination or source in the communicator; negative where there is none.
    pub peer: i32,
    /// Elements in the block (saturating).
    pub count: u32,
    /// Bytes in the block.
    pub bytes: u64,
    /// When the call was entered.
    pub start: Time,
    /// When it returned. A non-blocking call's time is that of posting.
    pub end: Time,
    /// [`Flags`].
    pub flags: Flags,
}

/// One message as the library sent it, seen below the call that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The receiver's rank in `MPI_COMM_WORLD`.
    pub to_world: i32,
    /// What it carries.
    pub bytes: u64,
    /// The library's own tag: below zero inside collectives.
    pub tag: i32,
}

/// What else a record says of its call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// The library answered with an error: the call is no step.
    pub const FAILED: Flags = Flags(1);
    /// The reduction's operation is a predefined one, and so commutative.
    pub const PREDEFINED_OP: Flags = Flags(2);
    /// The send buffer is `MPI_IN_PLACE`: bytes were taken from the receive arguments.
    pub const IN_PLACE: Flags = Flags(4);
    /// Counts were summed over a part of the communicator only; bytes are an estimate.
    pub const ESTIMATED: Flags = Flags(8);
    /// A start of the persistent request that a call of this name made.
    pub const STARTED: Flags = Flags(16);
    /// The start was one of several in one `MPI_Startall`, which has a record of its own.
    pub const IN_STARTALL: Flags = Flags(32);

    /// Both sets of flags.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// True where every flag of `other` is set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Event {
    /// How long the call took.
    pub fn duration(&self) -> Nanos {
        self.end.since(self.start)
    }
}
