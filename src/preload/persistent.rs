//! Persistent requests: what the call that made one said, for each time that it is started.
//!
//! Handles are looked up without a lock by `MPI_Start`. A slot is written before its key is
//! published in the map, and used again only after the program has freed the request.

use super::handle_map::HandleMap;
use super::ring::Record;
use crate::skip::Bypass;
use parking_lot::Mutex;
use pas_core::event::{CommId, Flags};
use pas_core::op::Op;
use std::sync::atomic::{AtomicU64, Ordering};

/// Persistent requests that are told apart at one time. The starts of further ones are recorded
/// without what they move.
const REQUESTS_MAX: usize = 4096;

/// What is kept of one request: bytes; count and peer; communicator, op and flags.
#[derive(Default)]
struct Slot([AtomicU64; 3]);

/// The registry.
pub struct Persistent {
    map: HandleMap<{ REQUESTS_MAX * 2 }>,
    slots: Box<[Slot]>,
    free: Mutex<Free>,
}

/// Slots that nobody uses: those from `fresh` on, and those given back.
#[derive(Default)]
struct Free {
    fresh: usize,
    returned: Vec<usize>,
}

impl Persistent {
    /// A registry that knows nothing.
    pub fn new() -> Persistent {
        let slots = (0..REQUESTS_MAX).map(|_| Slot::default()).collect();
        Persistent { map: HandleMap::new(), slots, free: Mutex::default() }
    }

    /// Keeps what the call that made the request says.
    pub fn keep(&self, request: usize, record: &Record) {
        let mut free = self.free.lock();
        // A handle that is known was freed unseen: its slot is used again.
        let known = self.map.get(request).map(|index| index as usize);
        let Some(index) = known.or_else(|| free.take()) else {
            Bypass::RequestTableFull.count();
            return;
        };
        let Some(slot) = self.slots.get(index) else { return };
        for (word, value) in slot.0.iter().zip(pack(record)) {
            // Relaxed: the map publishes the slot.
            word.store(value, Ordering::Relaxed);
        }
        if known.is_none() && !self.map.insert(request, index as u64) {
            free.returned.push(index);
            Bypass::RequestTableFull.count();
        }
    }

    /// What was kept of a request, as a record without times.
    #[inline]
    pub fn get(&self, request: usize) -> Option<Record> {
        let slot = self.slots.get(self.map.get(request)? as usize)?;
        let [bytes, numbers, call] = &slot.0;
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let (numbers, call) = (load(numbers), load(call));
        Some(Record {
            bytes: load(bytes),
            start_ticks: 0,
            end_ticks: 0,
            count: (numbers >> 32) as u32,
            peer: numbers as u32 as i32,
            comm: CommId((call >> 32) as u32),
            op: *Op::ALL.get((call >> 16) as u16 as usize)?,
            flags: Flags(call as u16),
        })
    }

    /// The program frees the request.
    pub fn forget(&self, request: usize) {
        let mut free = self.free.lock();
        if let Some(index) = self.map.remove(request) {
            free.returned.push(index as usize);
        }
    }
}

impl Free {
    fn take(&mut self) -> Option<usize> {
        if let Some(index) = self.returned.pop() {
            return Some(index);
        }
        let index = self.fresh;
        self.fresh += usize::from(index < REQUESTS_MAX);
        (index < REQUESTS_MAX).then_some(index)
    }
}

fn pack(record: &Record) -> [u64; 3] {
    let numbers = u64::from(record.count) << 32 | u64::from(record.peer as u32);
    let call = u64::from(record.comm.0) << 32 | (record.op as u64) << 16;
    [record.bytes, numbers, call | u64::from(record.flags.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(bytes: u64) -> Record {
        Record {
            bytes,
            start_ticks: 7,
            end_ticks: 9,
            count: u32::MAX,
            peer: -3,
            comm: CommId(5),
            op: Op::AllreduceInit,
            flags: Flags::PREDEFINED_OP.with(Flags::IN_PLACE),
        }
    }

    #[test]
    fn what_was_kept_comes_back_until_it_is_freed() {
        let requests = Persistent::new();
        requests.keep(0xac00_0001, &record(1 << 40));
        let kept = requests.get(0xac00_0001).expect("kept");
        assert_eq!((kept.bytes, kept.count, kept.peer), (1 << 40, u32::MAX, -3));
        assert_eq!((kept.comm, kept.op), (CommId(5), Op::AllreduceInit));
        assert_eq!(kept.flags, Flags::PREDEFINED_OP.with(Flags::IN_PLACE));
        requests.forget(0xac00_0001);
        assert!(requests.get(0xac00_0001).is_none());
    }

    #[test]
    fn every_op_has_the_place_of_its_number() {
        assert!(Op::ALL.iter().enumerate().all(|(index, op)| *op as usize == index));
    }

    #[test]
    fn slots_are_used_again_and_never_more_than_there_are() {
        let requests = Persistent::new();
        for handle in 1..=3 * REQUESTS_MAX {
            requests.keep(handle * 16, &record(handle as u64));
            requests.forget(handle * 16);
        }
        for handle in 1..=2 * REQUESTS_MAX {
            requests.keep(handle * 16, &record(handle as u64));
        }
        let kept = (1..=2 * REQUESTS_MAX)
            .filter_map(|handle| Some((handle as u64, requests.get(handle * 16)?.bytes)));
        let kept: Vec<_> = kept.collect();
        assert!(kept.len() > REQUESTS_MAX / 2 && kept.len() <= REQUESTS_MAX, "{}", kept.len());
        assert!(kept.iter().all(|(handle, bytes)| handle == bytes));
    }
}
