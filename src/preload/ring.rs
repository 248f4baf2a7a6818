//! Per-thread rings of records, drained by the worker.
//!
//! Single producer (the thread), single consumer (the worker). `head` is written by the producer
//! only, `tail` by the consumer only; each publishes with Release what the other reads with
//! Acquire. A full ring refuses: the caller counts the drop.
#![expect(unsafe_code, reason = "a single-producer ring over uninitialised slots")]

use pas_core::event::{CommId, Flags};
use pas_core::op::Op;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a wrapper writes down: [`pas_core::event::Event`] in ticks.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Record {
    /// See [`pas_core::event::Event::bytes`].
    pub bytes: u64,
    /// On entry.
    pub start_ticks: u64,
    /// On return.
    pub end_ticks: u64,
    /// Elements, saturating.
    pub count: u32,
    /// Root, destination or source; negative: none.
    pub peer: i32,
    /// The communicator.
    pub comm: CommId,
    /// The call.
    pub op: Op,
    /// What else.
    pub flags: Flags,
}

const _: () = assert!(size_of::<Record>() == 40);

/// 8,192 records of 40 bytes: 320 KiB a thread. At 10^6 calls a second that is 8 ms of notice
/// for a worker that looks every millisecond.
pub const CAPACITY: usize = 8192;

/// Rings in one process: 16 x 320 KiB = 5 MiB of the 8 MiB that PAS may use. More threads than
/// that at one time record nothing (counted as `no_ring_for_thread`).
pub const RINGS_MAX: usize = 16;

/// One producer's and the worker's positions on lines of their own.
#[repr(align(64))]
struct Line<T>(T);

/// A ring.
pub struct Ring {
    head: Line<AtomicU64>,
    tail: Line<AtomicU64>,
    /// True while a living thread owns it.
    pub owned: AtomicBool,
    slots: Box<[UnsafeCell<MaybeUninit<Record>>]>,
}

// SAFETY: slots between tail and head are touched by the consumer only, the others by the
// producer only; both ends move with Release and are read with Acquire. `guard` gives one thread
// at a time the producer's end, and the worker alone has the consumer's.
unsafe impl Sync for Ring {}

impl Ring {
    /// An empty ring. Its pages are touched only as they are used.
    pub fn new() -> Ring {
        let slots = (0..CAPACITY).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
        Ring {
            head: Line(AtomicU64::new(0)),
            tail: Line(AtomicU64::new(0)),
            owned: AtomicBool::new(true),
            slots,
        }
    }

    /// Appends a record; false where the ring is full. For the owning thread only.
    #[inline]
    pub fn push(&self, record: Record) -> bool {
        // Relaxed: only this thread writes head.
        let head = self.head.0.load(Ordering::Relaxed);
        // Acquire pairs with the Release in `drain`: the slot has been read before it is reused.
        if head.wrapping_sub(self.tail.0.load(Ordering::Acquire)) >= CAPACITY as u64 {
            return false;
        }
        // SAFETY: the mask keeps the index inside the slots, and the slot is not between tail and
        // head, so the consumer does not touch it.
        unsafe {
            let slot = self.slots.get_unchecked(head as usize & (CAPACITY - 1));
            (*slot.get()).write(record);
        }
        // Release pairs with the Acquire in `drain`: the record is written before it is seen.
        self.head.0.store(head + 1, Ordering::Release);
        true
    }

    /// Hands every record to `take`, oldest first. For the worker only. Bounded: what is pushed
    /// meanwhile is left for the next time.
    pub fn drain(&self, mut take: impl FnMut(Record)) -> usize {
        let tail = self.tail.0.load(Ordering::Relaxed);
        let head = self.head.0.load(Ordering::Acquire);
        for position in tail..head {
            // SAFETY: between tail and head the producer has written the slot and leaves it alone.
            let record = unsafe {
                let slot = self.slots.get_unchecked(position as usize & (CAPACITY - 1));
                (*slot.get()).assume_init_read()
            };
            take(record);
            self.tail.0.store(position + 1, Ordering::Release);
        }
        (head - tail) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(bytes: u64) -> Record {
        Record {
            bytes,
            start_ticks: 0,
            end_ticks: 0,
            count: 0,
            peer: -1,
            comm: CommId::WORLD,
            op: Op::Allreduce,
            flags: Flags::default(),
        }
    }

    #[test]
    fn a_full_ring_refuses_and_keeps_what_it_has() {
        let ring = Ring::new();
        let pushed = (0..CAPACITY as u64 + 10).filter(|i| ring.push(record(*i))).count();
        assert_eq!(pushed, CAPACITY);
        let mut seen = Vec::new();
        ring.drain(|record| seen.push(record.bytes));
        assert_eq!(seen, (0..CAPACITY as u64).collect::<Vec<_>>());
        assert!(ring.push(record(7)));
    }

    #[test]
    fn two_threads_lose_and_reorder_nothing() {
        let ring = Ring::new();
        let total = 200_000u64;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..total {
                    while !ring.push(record(i)) {
                        std::hint::spin_loop();
                    }
                }
            });
            let mut next = 0;
            while next < total {
                ring.drain(|record| {
                    assert_eq!(record.bytes, next);
                    next += 1;
                });
            }
        });
    }
}
