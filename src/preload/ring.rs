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
use std::ptr;
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

/// 8,192 records of 40 bytes: 320 KiB a thread.
pub const CAPACITY: usize = 8192;

/// The producer wakes the worker each time that it has filled so much of the ring. At 10^6 calls a
/// second that leaves it 6 ms to come.
const WAKE_EVERY: u64 = CAPACITY as u64 / 4;

/// Records ahead of the one that is written whose memory is asked for: the worker has read those
/// lines, on another core perhaps, and a store that waits for its line holds up all later ones.
const AHEAD: usize = 16;

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It is in the ring.
    Kept,
    /// So too, and it is time to wake the worker.
    KeptWake,
    /// The ring is full: it is not in there.
    Full,
}

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

    /// Appends a record. For the owning thread only.
    #[inline]
    pub fn push(&self, record: Record) -> Pushed {
        // Relaxed: only this thread writes head.
        let head = self.head.0.load(Ordering::Relaxed);
        // Acquire pairs with the Release in `drain`: the slot has been read before it is reused.
        if head.wrapping_sub(self.tail.0.load(Ordering::Acquire)) >= CAPACITY as u64 {
            return Pushed::Full;
        }
        // SAFETY: the mask keeps the index inside the slots, and the slot is not between tail and
        // head, so the consumer does not touch it.
        unsafe {
            let slot = self.slots.get_unchecked(head as usize & (CAPACITY - 1));
            (*slot.get()).write(record);
            prefetch_to_write(self.slots.get_unchecked((head as usize + AHEAD) & (CAPACITY - 1)));
        }
        // Release pairs with the Acquire in `drain`: the record is written before it is seen.
        self.head.0.store(head + 1, Ordering::Release);
        if (head + 1) % WAKE_EVERY == 0 { Pushed::KeptWake } else { Pushed::Kept }
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

/// Asks for the cache line of a slot that will be written soon.
#[inline(always)]
fn prefetch_to_write<T>(slot: &T) {
    // SAFETY: a hint without effect on memory; processors without it (before 2014) take it for a
    // no-operation.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "prefetchw [{}]",
            in(reg) ptr::from_ref(slot),
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slot;
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
        let pushed =
            (0..CAPACITY as u64 + 10).filter(|i| ring.push(record(*i)) != Pushed::Full).count();
        assert_eq!(pushed, CAPACITY);
        let mut seen = Vec::new();
        ring.drain(|record| seen.push(record.bytes));
        assert_eq!(seen, (0..CAPACITY as u64).collect::<Vec<_>>());
        assert_eq!(ring.push(record(7)), Pushed::Kept);
    }

    #[test]
    fn two_threads_lose_and_reorder_nothing() {
        let ring = Ring::new();
        let total = 200_000u64;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..total {
                    while ring.push(record(i)) == Pushed::Full {
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
