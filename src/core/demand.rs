//! What a phase needs of the fabric: how many bytes go between which hosts.
//!
//! Ranks on one host need no circuit, so a phase of many ranks is a small matrix of hosts. Hosts
//! are numbers of the job's own list here: some of them may have no port in the fabric.

use crate::library::Family;
use crate::pattern::Pattern;
use crate::schedule::Shape;
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

/// The phase's bytes between hosts, where a library of that family carries it out; `host_of` gives
/// a world rank's host number.
///
/// # Errors
///
/// [`NoDemand`], with the reason.
pub fn of_phase(
    phase: &Phase,
    family: Family,
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
    rank_pairs(phase, family, &mut |source, destination, bytes| {
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
fn rank_pairs(
    phase: &Phase,
    family: Family,
    visit: &mut dyn FnMut(u32, u32, u64),
) -> Result<(), NoDemand> {
    for &(source, destination, bytes) in &phase.pairs {
        visit(source, destination, bytes);
    }
    if !phase.pairs.is_empty() {
        return Ok(());
    }
    let collective = phase.collective.ok_or(NoDemand::NoSteps)?;
    let ranks = u32::try_from(phase.members.len()).map_err(|_| NoDemand::NoSteps)?;
    let with_everybody = match phase.pattern {
        Pattern::Pairwise => true,
        Pattern::Linear => phase.root.is_none(),
        _ => false,
    };
    let pairs = u64::from(ranks).pow(if with_everybody { 2 } else { 1 });
    let walked = pairs.saturating_mul(phase.calls.len() as u64);
    if walked > RANK_PAIRS_MAX {
        return Err(NoDemand::TooManyPairs(walked));
    }
    for call in &phase.calls {
        let shape = Shape {
            collective,
            pattern: phase.pattern,
            family,
            nonblocking: phase.nonblocking,
            ranks,
            root: phase.root.unwrap_or(0),
            bytes: call.bytes,
            elements: call.elements,
            segment_bytes: phase.segment_bytes,
        };
        let told = shape.pair_bytes(|source, destination, bytes| {
            visit(source, destination, bytes.saturating_mul(u64::from(call.count)));
        });
        told.map_err(|_| NoDemand::NoSteps)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::Members;
    use crate::op::Collective;
    use crate::pattern::Source;
    use crate::units::Nanos;
    use crate::wire::{Call, VERSION};

    fn phase(collective: Collective, pattern: Pattern, ranks: u32, bytes: u64) -> Phase {
        Phase {
            version: VERSION,
            incarnation: 1,
            phase: "p".into(),
            comm: "0".repeat(16),
            comm_name: String::new(),
            members: Members::world(ranks),
            collective: Some(collective),
            nonblocking: false,
            pattern,
            root: None,
            segment_bytes: None,
            calls: vec![Call { bytes, count: 3, elements: (bytes / 4) as u32 }],
            pairs: Vec::new(),
            source: Source::Predicted,
            confidence: 1.0,
            because: String::new(),
            period_ns: None,
            duration_ns: Nanos::ZERO,
            seen: 1,
        }
    }

    fn of(phase: &Phase, ranks_on_host: u32) -> Result<Demand, NoDemand> {
        of_phase(phase, Family::OpenMpi, |rank| Some(rank / ranks_on_host))
    }

    #[test]
    fn a_ring_over_hosts_needs_each_neighbour_once() {
        let ring = phase(Collective::Allreduce, Pattern::Ring, 8, 8 << 20);
        let demand = of(&ring, 2).expect("a formula");
        assert_eq!(demand.hosts, 4);
        let ends: Vec<(u32, u32)> = demand.pairs.iter().map(|pair| (pair.a, pair.b)).collect();
        assert_eq!(ends, [(0, 1), (0, 3), (1, 2), (2, 3)]);
        // 2 (n - 1) blocks of 1 MiB, three calls, one way.
        assert!(demand.pairs.iter().all(|pair| pair.total() == (3 * 14) << 20));
    }

    #[test]
    fn recursive_doubling_needs_the_partners_on_other_hosts() {
        let doubling = phase(Collective::Allreduce, Pattern::RecursiveDoubling, 8, 1 << 20);
        let demand = of(&doubling, 2).expect("a formula");
        let ends: Vec<(u32, u32)> = demand.pairs.iter().map(|pair| (pair.a, pair.b)).collect();
        assert_eq!(ends, [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert!(demand.pairs.iter().all(|pair| pair.there == pair.back));
    }

    #[test]
    fn given_pairs_are_taken_as_they_are() {
        let mut given = phase(Collective::Alltoallv, Pattern::Unknown, 4, 1);
        given.pairs = vec![(0, 3, 5), (3, 0, 7), (1, 2, 0), (2, 2, 9)];
        let demand = of(&given, 1).expect("given");
        assert_eq!(demand.pairs, [PairBytes { a: 0, b: 3, there: 5, back: 7 }]);
    }

    #[test]
    fn what_gives_no_demand_says_why() {
        let one_host = phase(Collective::Allreduce, Pattern::Ring, 4, 1 << 20);
        assert_eq!(of(&one_host, 4), Ok(Demand { pairs: vec![], hosts: 1 }));
        let unknown = phase(Collective::Allreduce, Pattern::Unknown, 4, 1 << 20);
        assert_eq!(of(&unknown, 1), Err(NoDemand::NoSteps));
        let wide = phase(Collective::Alltoall, Pattern::Pairwise, 4096, 1);
        assert_eq!(of(&wide, 1), Err(NoDemand::TooManyPairs(1 << 24)));
        let missing = of_phase(&one_host, Family::Other, |rank| (rank != 2).then_some(rank));
        assert_eq!(missing, Err(NoDemand::RankMissing(2)));
    }
}
