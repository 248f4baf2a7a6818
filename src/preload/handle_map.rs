//! A small fixed map from MPI handles to numbers, read without a lock.
//!
//! Readers are wrappers on the hot path; writers are rare and hold the lock of whoever owns the
//! map. A slot's key is written after its value (Release, paired with the readers' Acquire), so a
//! reader that sees the key sees the value. A removed key leaves a tombstone that a later insert
//! reuses: a reader racing with that would need the program to use a handle while freeing it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// No handle is 0: Open MPI's are addresses, MPICH's carry a kind in the top bits.
const EMPTY: usize = 0;
/// Nor is one all ones.
const TOMBSTONE: usize = usize::MAX;
/// Slots looked at before a key counts as absent; an insert never goes further.
const PROBES_MAX: usize = 32;

/// `N` slots, `N` a power of two.
pub struct HandleMap<const N: usize> {
    slots: Box<[(AtomicUsize, AtomicU64); N]>,
}

impl<const N: usize> HandleMap<N> {
    /// An empty map.
    pub fn new() -> Self {
        const { assert!(N.is_power_of_two() && N > PROBES_MAX) };
        let slots: Vec<(AtomicUsize, AtomicU64)> = (0..N).map(|_| Default::default()).collect();
        match slots.into_boxed_slice().try_into() {
            Ok(slots) => HandleMap { slots },
            Err(_) => unreachable!("N slots were made"),
        }
    }

    /// Where a key's probing starts. Fibonacci hashing: addresses differ in middle bits, MPICH's
    /// handles in the low ones.
    #[inline(always)]
    fn home(handle: usize) -> usize {
        ((handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
    }

    #[inline(always)]
    fn probe(&self, handle: usize) -> impl Iterator<Item = &(AtomicUsize, AtomicU64)> {
        // The mask keeps the index inside the array.
        (0..PROBES_MAX).map(move |i| &self.slots[(Self::home(handle) + i) & (N - 1)])
    }

    /// The value of `handle`.
    #[inline(always)]
    pub fn get(&self, handle: usize) -> Option<u64> {
        let (key, value) = &self.slots[Self::home(handle) & (N - 1)];
        match key.load(Ordering::Acquire) {
            found if found == handle => Some(value.load(Ordering::Relaxed)),
            EMPTY => None,
            _ => self.get_further(handle),
        }
    }

    /// As [`HandleMap::get`], of a key that is not in its home slot.
    #[inline(never)]
    fn get_further(&self, handle: usize) -> Option<u64> {
        for (key, value) in self.probe(handle).skip(1) {
            match key.load(Ordering::Acquire) {
                found if found == handle => return Some(value.load(Ordering::Relaxed)),
                EMPTY => return None,
                _ => {}
            }
        }
        None
    }

    /// Sets the value of `handle`; false where there is no room. One writer at a time.
    pub fn insert(&self, handle: usize, value: u64) -> bool {
        if handle == EMPTY || handle == TOMBSTONE {
            return false;
        }
        let mut free = None;
        for slot in self.probe(handle) {
            let key = slot.0.load(Ordering::Relaxed);
            if key == handle {
                slot.1.store(value, Ordering::Relaxed);
                return true;
            }
            if key == TOMBSTONE || key == EMPTY {
                free = free.or(Some(slot));
            }
            if key == EMPTY {
                break;
            }
        }
        let Some((key, slot_value)) = free else { return false };
        slot_value.store(value, Ordering::Relaxed);
        key.store(handle, Ordering::Release);
        true
    }

    /// Forgets `handle` and answers the value it had. One writer at a time.
    pub fn remove(&self, handle: usize) -> Option<u64> {
        for (key, value) in self.probe(handle) {
            match key.load(Ordering::Relaxed) {
                found if found == handle => {
                    let value = value.load(Ordering::Relaxed);
                    key.store(TOMBSTONE, Ordering::Relaxed);
                    return Some(value);
                }
                EMPTY => return None,
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_agrees_with_a_plain_map_over_random_operations() {
        let map = HandleMap::<256>::new();
        let mut model = BTreeMap::new();
        let mut state = 7u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for round in 0..20_000u64 {
            let handle = 0x5500_0000_0000 + 0x110 * (random() as usize % 150);
            match random() % 3 {
                0 if map.insert(handle, round) => {
                    model.insert(handle, round);
                }
                1 => assert_eq!(map.remove(handle), model.remove(&handle)),
                _ => assert_eq!(map.get(handle), model.get(&handle).copied()),
            }
        }
        assert!(model.len() > 50, "the map hardly took anything");
    }

    #[test]
    fn a_full_map_refuses_and_says_so() {
        let map = HandleMap::<64>::new();
        let taken = (1..=100).filter(|handle| map.insert(*handle, 1)).count();
        assert!((33..=64).contains(&taken), "{taken}");
        assert!(!map.insert(0, 1) && !map.insert(usize::MAX, 1));
    }
}
