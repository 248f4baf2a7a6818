//! The communicators of this process: who is in them, and their keys.
//!
//! A communicator gets a number on its creation (or, where that was not seen to end, as with
//! `MPI_Comm_idup`, on its first use) that is not used again. Its **key** is the same in all its
//! ranks without any of them asking another: a fingerprint of its world ranks in their order,
//! and the number of older living communicators of the same ranks. The second part relies on the
//! program creating communicators of equal groups in the same order everywhere, which MPI's
//! collective creation calls demand.

use super::flavor::Mpi;
use super::handle_map::HandleMap;
use crate::life;
use crate::skip::{Bypass, Fault};
use parking_lot::Mutex;
use pas_core::detector::CommInfo;
use pas_core::event::CommId;
use pas_core::members::Members;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Communicators that are told apart at one time. MPICH itself stops at 2,048.
const COMMS_MAX: usize = 4096;

/// A communicator as the hot path sees it.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its number.
    pub id: CommId,
    /// Its size; of an inter-communicator, the remote group's.
    pub size: u32,
    /// True for an inter-communicator.
    pub is_inter: bool,
}

/// The registry.
pub struct Comms {
    map: HandleMap<{ COMMS_MAX * 2 }>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    next: u32,
    living: BTreeMap<CommId, Entry>,
    /// Of each fingerprint, which occurrence numbers are taken.
    occurrences: BTreeMap<u64, Occurrences>,
    /// Freed by the program, not yet forgotten: records of them may still be in a ring.
    freed: Vec<CommId>,
}

/// Occurrence numbers: those below `next` that are not in `free` are taken.
#[derive(Default)]
struct Occurrences {
    next: u32,
    free: BTreeSet<u32>,
}

struct Entry {
    info: Arc<CommInfo>,
    fingerprint: u64,
    occurrence: u32,
}

impl Comms {
    /// A registry that knows nothing.
    pub fn new() -> Comms {
        Comms { map: HandleMap::new(), book: Mutex::default() }
    }

    /// Looks a communicator up; the first use of an unknown one registers it.
    #[inline]
    pub fn lookup(&self, mpi: &Mpi, handle: usize) -> Option<Known> {
        match self.map.get(handle) {
            Some(packed) => Some(unpack(packed)),
            None => life::guarded(|| self.register(mpi, handle)).flatten(),
        }
    }

    /// Registers a communicator that the MPI has just made or used.
    #[cold]
    fn register(&self, mpi: &Mpi, handle: usize) -> Option<Known> {
        if mpi.is_null(handle) {
            return None;
        }
        let Some(facts) = mpi.comm_facts(handle) else {
            Fault::QueryFailed.count();
            return None;
        };
        let mut book = self.book.lock();
        if let Some(packed) = self.map.get(handle) {
            return Some(unpack(packed));
        }
        if book.living.len() >= COMMS_MAX {
            Bypass::CommTableFull.count();
            return None;
        }
        let known = Known { id: CommId(book.next), size: facts.size, is_inter: facts.is_inter };
        if !self.map.insert(handle, pack(known)) {
            Bypass::CommTableFull.count();
            return None;
        }
        book.next = book.next.wrapping_add(1);
        let fingerprint =
            facts.members.as_ref().map_or(u64::from(facts.size), Members::fingerprint);
        let occurrence = book.take_occurrence(fingerprint);
        let info = CommInfo {
            key: mix(fingerprint, occurrence),
            name: facts.name,
            size: facts.size,
            rank: facts.rank,
            members: facts.members,
        };
        let entry = Entry { info: Arc::new(info), fingerprint, occurrence };
        book.living.insert(known.id, entry);
        Some(known)
    }

    /// The program is about to lose, or has lost, this handle.
    pub fn remove(&self, handle: usize) {
        let mut book = self.book.lock();
        if let Some(packed) = self.map.remove(handle) {
            let known = unpack(packed);
            book.release_occurrence(known.id);
            book.freed.push(known.id);
        }
    }

    /// Gives a communicator the name that the program has just set.
    pub fn rename(&self, handle: usize, name: String) {
        let Some(packed) = self.map.get(handle) else { return };
        if let Some(entry) = self.book.lock().living.get_mut(&unpack(packed).id) {
            entry.info = Arc::new(CommInfo { name, ..(*entry.info).clone() });
        }
    }

    /// What is known of a communicator, for the worker.
    pub fn info(&self, id: CommId) -> Option<Arc<CommInfo>> {
        self.book.lock().living.get(&id).map(|entry| Arc::clone(&entry.info))
    }

    /// Communicators freed since the last call. To be asked for *before* the rings are drained
    /// and forgotten after it: by then no record of them can be left.
    pub fn take_freed(&self) -> Vec<CommId> {
        std::mem::take(&mut self.book.lock().freed)
    }

    /// Forgets communicators.
    pub fn forget(&self, ids: &[CommId]) {
        let mut book = self.book.lock();
        for id in ids {
            book.living.remove(id);
        }
    }
}

impl Book {
    /// The smallest occurrence number of the fingerprint that is free.
    fn take_occurrence(&mut self, fingerprint: u64) -> u32 {
        let numbers = self.occurrences.entry(fingerprint).or_default();
        numbers.free.pop_first().unwrap_or_else(|| {
            numbers.next += 1;
            numbers.next - 1
        })
    }

    fn release_occurrence(&mut self, id: CommId) {
        let Some(entry) = self.living.get(&id) else { return };
        let fingerprint = entry.fingerprint;
        let occurrence = entry.occurrence;
        if let Some(numbers) = self.occurrences.get_mut(&fingerprint) {
            numbers.free.insert(occurrence);
            if numbers.free.len() == numbers.next as usize {
                self.occurrences.remove(&fingerprint);
            }
        }
    }
}

/// Sizes are positive C integers, so that their highest bit is free.
const INTER: u32 = 1 << 31;

fn pack(known: Known) -> u64 {
    let inter = if known.is_inter { INTER } else { 0 };
    u64::from(known.id.0) << 32 | u64::from(known.size | inter)
}

fn unpack(packed: u64) -> Known {
    let low = packed as u32;
    Known { id: CommId((packed >> 32) as u32), size: low & !INTER, is_inter: low & INTER != 0 }
}

/// Mixes fingerprint and occurrence (SplitMix64's finaliser).
fn mix(fingerprint: u64, occurrence: u32) -> u64 {
    let mut x = fingerprint.wrapping_add(u64::from(occurrence).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
