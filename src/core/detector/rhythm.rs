//! Finds the period of a sequence of symbols, online.
//!
//! A candidate period is the distance between two places that look alike: the same symbol, or the
//! same last 2, 4 or 8 symbols. Each new symbol either agrees with the one a period before it, or
//! the candidate is dropped. A candidate that agreed for two whole periods, and at least four
//! times, is the period; of several, the one that agreed longest.

use std::collections::BTreeMap;
use std::collections::VecDeque;

/// The longest period that is found, in symbols.
pub(super) const PERIOD_MAX: usize = 1024;
/// Symbols that are kept: three periods.
pub(super) const HISTORY_MAX: usize = 3 * PERIOD_MAX;
/// Candidates that are followed at one time.
const CANDIDATES_MAX: usize = 16;
/// A period agrees at least so often: the four equal buckets of one iteration are none.
const MATCHES_MIN: u64 = 4;
/// The lengths of what looks alike.
const CONTEXTS: [usize; 4] = [1, 2, 4, 8];
/// Places that are remembered for each length.
const PLACES_MAX: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Candidate {
    period: usize,
    matches: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Rhythm {
    history: VecDeque<u32>,
    /// Symbols ever pushed.
    count: u64,
    candidates: Vec<Candidate>,
    places: [BTreeMap<u64, u64>; CONTEXTS.len()],
}

impl Rhythm {
    /// Takes the next symbol.
    pub(super) fn push(&mut self, symbol: u32) {
        let history = &self.history;
        self.candidates.retain_mut(|candidate| {
            let agrees = history
                .len()
                .checked_sub(candidate.period)
                .is_some_and(|index| history[index] == symbol);
            candidate.matches += u64::from(agrees);
            agrees
        });
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back(symbol);
        self.count += 1;
        for (index, length) in CONTEXTS.into_iter().enumerate() {
            self.look_back(index, length);
        }
    }

    /// The period, once there is one, and how often it agreed so far.
    pub(super) fn found(&self) -> Option<(usize, u64)> {
        self.candidates
            .iter()
            .filter(|c| c.matches >= MATCHES_MIN.max(2 * c.period as u64))
            .max_by_key(|c| (c.matches, std::cmp::Reverse(c.period)))
            .map(|c| (c.period, c.matches))
    }

    /// Takes the distance to the last place that looks like this one as a candidate.
    fn look_back(&mut self, index: usize, length: usize) {
        let Some(from) = self.history.len().checked_sub(length) else { return };
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for symbol in self.history.range(from..) {
            hash = (hash ^ u64::from(*symbol)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let places = &mut self.places[index];
        if places.len() == PLACES_MAX && !places.contains_key(&hash) {
            places.clear();
        }
        let Some(before) = places.insert(hash, self.count) else { return };
        let period = (self.count - before) as usize;
        if period > PERIOD_MAX || self.candidates.iter().any(|c| c.period == period) {
            return;
        }
        if self.candidates.len() == CANDIDATES_MAX {
            let weakest = (0..CANDIDATES_MAX).min_by_key(|at| self.candidates[*at].matches);
            self.candidates.swap_remove(weakest.unwrap_or(0));
        }
        self.candidates.push(Candidate { period, matches: 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many symbols of `sequence` repeated the right period is found for good.
    fn found_after(sequence: &[u32]) -> usize {
        let mut rhythm = Rhythm::default();
        let mut since = None;
        for (index, symbol) in sequence.iter().cycle().take(sequence.len() * 8).enumerate() {
            rhythm.push(*symbol);
            match rhythm.found() {
                Some((period, _)) if period == sequence.len() => since = since.or(Some(index + 1)),
                _ => since = None,
            }
        }
        since.expect("found")
    }

    #[test]
    fn periods_are_found_within_four_repetitions() {
        assert_eq!(found_after(&[7]), 5);
        assert!(found_after(&[1, 2]) <= 8);
        assert!(found_after(&[1, 25, 25, 25, 8]) <= 20);
        let mut buckets = vec![25; 200];
        buckets.push(9);
        assert!(found_after(&buckets) <= 4 * 201);
        assert!(found_after(&[1, 1, 2, 1, 2, 2]) <= 4 * 6);
        let long: Vec<u32> = (0..PERIOD_MAX as u32).map(|i| i * i % 7).collect();
        assert!(found_after(&long) <= 4 * PERIOD_MAX);
    }

    #[test]
    fn a_sequence_without_period_has_none() {
        let mut rhythm = Rhythm::default();
        let mut state = 1u32;
        for _ in 0..10_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            rhythm.push(state >> 24);
            assert_eq!(rhythm.found(), None);
        }
    }
}
