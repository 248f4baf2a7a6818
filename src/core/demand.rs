//! What a phase needs of the fabric: how many bytes go between which hosts.
//!
//! Ranks on one host need no circuit, so a phase of many ranks is a small matrix of hosts. Hosts
//! are numbers of the job's own list here: some of them may have no port in the fabric.

use crate::pattern::Pattern;
use crate::wire::Phase;
use std::collections::BTreeMap;

/// More rank pairs than this are not walked: such a phase is close to all-to-all, and what a host
/// sends over one of a few circuits is then a crumb of its traffic.
pub const RANK_PAIRS_MAX: u64 = 1 << 22;

/// The bytes that a phase carries between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairBytes {
    /// The lower host number.
    pub a: u32,
    /// The higher.
    pub b: u32,
    /// Bytes from `a` to `b`.
    pub there: u64,
    /// Bytes from `b` to `a`.
    pub back: u64,
}

impl PairBytes {
    /// Bytes both ways.
    pub fn total(&self) -> u64 {
        self.there.saturating_add(self.back)
    }
}

/// A phase's bytes between hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Pairs that carry bytes, by `(a, b)`.
    pub pairs: Vec<PairBytes>,
    /// Hosts that the communicator's ranks are on.
    pub hosts: u32,
}

/// Why there is no demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDemand {
    /// This rank of the world is on no known host.
    RankMissing(u32),
    /// The pattern says nothing of who sends to whom.
    NoSteps,
    /// The phase has so many rank pairs, more than [`RANK_PAIRS_MAX`].
    TooManyPairs(u64),
}

/// The phase's bytes between hosts; `host_of` gives a world rank's host number.
///
/// # Errors
///
/// [`NoDemand`], with the reason.
pub fn of_phase(
    phase: &Phase,
    mut host_of: impl FnMut(u32) -> Option<u32>,
) -> Result<Demand, NoDemand> {
    let mut hosts_of_members = Vec::new();
    for rank in phase.members.iter() {
        hosts_of_members.push(host_of(rank).ok_or(NoDemand::RankMissing(rank))?);
    }
    let mut hosts = hosts_of_members.clone();
    hosts.sort_unstable();
    hosts.dedup();
    let hosts = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
    if hosts < 2 {
        return Ok(Demand { pairs: Vec::new(), hosts });
    }

    let mut sums: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    rank_pairs(phase, &mut |source, destination, bytes| {
        let on = |rank: u32| hosts_of_members.get(rank as usize).copied();
        let (Some(from), Some(to)) = (on(source), on(destination)) else { return };
        if from == to || bytes == 0 {
            return;
        }
        let sum = sums.entry((from.min(to), from.max(to))).or_default();
        let way = if from < to { &mut sum.0 } else { &mut sum.1 };
        *way = way.saturating_add(bytes);
    })?;
    let pairs =
        sums.into_iter().map(|((a, b), (there, back))| PairBytes { a, b, there, back }).collect();
    Ok(Demand { pairs, hosts })
}

/// Visits (source, destination, bytes) of the phase, in ranks of the communicator.
fn rank_pairs(phase: &Phase, visit: &mut dyn FnMut(u32, u32, u64)) -> Result<(), NoDemand> {
    if !phase.pairs.is_empty() {
        for &(source, destination, bytes) in &phase.pairs {
            visit(source, destination, bytes);
        }
        return Ok(());
    }
    let ranks = phase.members.len();
    let n = u32::try_from(ranks).unwrap_or(u32::MAX);
    let total = phase.calls.iter().fold(0u64, |sum, call| {
        sum.saturating_add(call.bytes.saturating_mul(u64::from(call.count)))
    });
    match phase.pattern {
        Pattern::Ring | Pattern::SegmentedRing => {
            for rank in 0..n {
                visit(rank, (rank + 1) % n, total / ranks * 2 * (ranks - 1));
            }
        }
        Pattern::RecursiveDoubling => {
            for rank in 0..n {
                for bit in 0..32 {
                    let partner = rank ^ (1 << bit);
                    if 1 << bit < ranks && partner < n {
                        visit(rank, partner, total);
                    }
                }
            }
        }
        Pattern::Pairwise if ranks * ranks <= RANK_PAIRS_MAX => {
            for source in 0..n {
                (0..n).filter(|to| *to != source).for_each(|to| visit(source, to, total));
            }
        }
        Pattern::Pairwise => return Err(NoDemand::TooManyPairs(ranks * ranks)),
        _ => return Err(NoDemand::NoSteps),
    }
    Ok(())
}
