//! Which world ranks a communicator holds, in the communicator's order.
//!
//! Almost every communicator of a training job is a few arithmetic runs (all ranks; every eighth
//! rank; a block), so members are kept as runs: a world of 100,000 ranks costs 12 bytes.

use crate::units::fnv1a;
use serde::{Deserialize, Serialize};

/// `count` world ranks: `first`, `first + stride`, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Run {
    /// The first world rank.
    pub first: u32,
    /// The distance between neighbours; may be negative, and is 0 in a run of one.
    pub stride: i32,
    /// How many ranks.
    pub count: u32,
}

/// The world ranks of a communicator, in communicator order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Members {
    /// The runs, in order.
    pub runs: Vec<Run>,
}

impl Members {
    /// More runs than this and a communicator's members are not kept (`push` answers false).
    pub const RUNS_MAX: usize = 1024;

    /// All of a world of `size` ranks.
    pub fn world(size: u32) -> Members {
        let stride = i32::from(size > 1);
        Members { runs: vec![Run { first: 0, stride, count: size }] }
    }

    /// The members of a list of world ranks; `None` past [`Members::RUNS_MAX`] runs.
    pub fn from_ranks(ranks: impl IntoIterator<Item = u32>) -> Option<Members> {
        let mut members = Members::default();
        ranks.into_iter().all(|rank| members.push(rank)).then_some(members)
    }

    /// Appends one world rank; false, and nothing is done, where that needs a run too many.
    pub fn push(&mut self, rank: u32) -> bool {
        if let Some(run) = self.runs.last_mut() {
            let stride = i64::from(rank) - i64::from(run.first);
            let fits = match run.count {
                1 => i32::try_from(stride).is_ok() && stride != 0,
                count => stride == i64::from(run.stride) * i64::from(count),
            };
            if fits {
                if run.count == 1 {
                    run.stride = i32::try_from(stride).unwrap_or(0);
                }
                run.count += 1;
                return true;
            }
        }
        if self.runs.len() == Members::RUNS_MAX {
            return false;
        }
        self.runs.push(Run { first: rank, stride: 0, count: 1 });
        true
    }

    /// How many ranks.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.count)).sum()
    }

    /// True where there is no rank.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The world ranks in communicator order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|run| {
            (0..i64::from(run.count)).map(move |i| {
                let rank = i64::from(run.first) + i * i64::from(run.stride);
                u32::try_from(rank).unwrap_or(u32::MAX)
            })
        })
    }

    /// The world rank at `index` of the communicator.
    pub fn get(&self, index: u32) -> Option<u32> {
        let mut left = index;
        for run in &self.runs {
            if left < run.count {
                let rank = i64::from(run.first) + i64::from(left) * i64::from(run.stride);
                return u32::try_from(rank).ok();
            }
            left -= run.count;
        }
        None
    }

    /// The place of a world rank in the list.
    pub fn find(&self, rank: u32) -> Option<u32> {
        let mut before = 0;
        for run in &self.runs {
            let distance = i64::from(rank) - i64::from(run.first);
            let steps = match run.stride {
                0 => (distance == 0).then_some(0),
                stride => (distance % i64::from(stride) == 0).then(|| distance / i64::from(stride)),
            };
            let within = steps.and_then(|steps| u32::try_from(steps).ok());
            if let Some(index) = within.filter(|index| *index < run.count) {
                return Some(before + index);
            }
            before += run.count;
        }
        None
    }

    /// A 64-bit fingerprint of the ranks in their order, the same in every rank of a communicator
    /// (FNV-1a, so that it does not depend on a hasher's seed).
    pub fn fingerprint(&self) -> u64 {
        fnv1a(self.iter().flat_map(u32::to_le_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_reproduce_the_ranks() {
        for ranks in
            [vec![], vec![5], vec![0, 1, 2, 3], vec![0, 8, 16, 1, 9, 17], vec![3, 2, 1, 0, 7]]
        {
            let members = Members::from_ranks(ranks.clone()).expect("few runs");
            assert_eq!(members.iter().collect::<Vec<_>>(), ranks);
            for (index, rank) in ranks.iter().enumerate() {
                assert_eq!(members.get(index as u32), Some(*rank));
                assert_eq!(members.find(*rank), Some(index as u32));
            }
            assert_eq!(members.find(100), None);
            assert_eq!(members.get(ranks.len() as u32), None);
            assert_eq!(members.len(), ranks.len() as u64);
        }
        assert_eq!(Members::world(4), Members::from_ranks(0..4).expect("one run"));
        assert_eq!(Members::world(1), Members::from_ranks(0..1).expect("one run"));
    }

    #[test]
    fn a_scattered_list_is_refused_not_grown() {
        let squares = (0..5000u32).map(|i| i.wrapping_mul(i) % 65_521);
        assert_eq!(Members::from_ranks(squares), None);
    }

    #[test]
    fn the_order_is_part_of_the_fingerprint() {
        let forward = Members::from_ranks([0, 1, 2]).expect("runs");
        let backward = Members::from_ranks([2, 1, 0]).expect("runs");
        assert_ne!(forward.fingerprint(), backward.fingerprint());
    }
}
