//! Names the algorithm behind the messages that one rank was seen to send in a collective.
//!
//! Each pattern's table says how many bytes a rank sends to each other rank. A pattern *fits* where
//! those are the very bytes that were seen. One rank's messages often fit several patterns (a leaf
//! of any tree sends one vector to its parent), so the answer is a set; what other ranks, roots and
//! calls allow narrows it down ([`crate::learned`]).

use crate::pattern::{Pattern, PatternSet};
use crate::schedule::Shape;
use std::collections::BTreeMap;

/// One message, by ranks of the communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The receiver.
    pub to: u32,
    /// What it carries.
    pub bytes: u64,
}

/// What a rank's messages in one call tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The patterns that fit; [`Pattern::Irregular`] alone where none does.
    pub fits: PatternSet,
    /// Bytes of one segment, where a receiver got its bytes in several messages.
    pub segment_bytes: Option<u64>,
}

/// Which patterns explain that `rank` sent these messages in one call of `shape`, whose pattern
/// and segments do not matter. The messages of one pattern may come in any order.
pub fn explain(shape: &Shape, rank: u32, sent: &[Message]) -> Seen {
    let mut seen: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for message in sent {
        let (bytes, count) = seen.entry(message.to).or_default();
        *bytes = bytes.saturating_add(message.bytes);
        *count += 1;
    }
    let bytes_seen = row(seen.iter().map(|(to, (bytes, _))| (*to, *bytes)));
    let fits = |pattern: &Pattern| {
        let candidate = Shape { pattern: *pattern, segment_bytes: None, ..*shape };
        own_row(&candidate, rank).is_some_and(|row| row == bytes_seen)
    };
    let mut found: PatternSet = Pattern::ALL.into_iter().filter(fits).collect();
    // Both rings send the same bytes; the plain one has one message a step.
    if found.contains(Pattern::Ring) && found.contains(Pattern::SegmentedRing) {
        let plain = sent.len() as u64 <= 2 * u64::from(shape.ranks.saturating_sub(1));
        let other = if plain { Pattern::SegmentedRing } else { Pattern::Ring };
        found = found.without(other);
    }
    if found.is_empty() {
        found = found.with(Pattern::Irregular);
    }
    let longest = sent.iter().map(|message| message.bytes).max();
    let several = seen.values().any(|(_, count)| *count > 1);
    Seen { fits: found, segment_bytes: longest.filter(|bytes| several && *bytes > 0) }
}

/// The bytes to each receiver. Messages of no bytes count where there are no others: a barrier's.
fn row(parts: impl Iterator<Item = (u32, u64)>) -> BTreeMap<u32, u64> {
    let mut row: BTreeMap<u32, u64> = BTreeMap::new();
    for (to, bytes) in parts {
        let sum = row.entry(to).or_default();
        *sum = sum.saturating_add(bytes);
    }
    if row.values().any(|bytes| *bytes > 0) {
        row.retain(|_, bytes| *bytes > 0);
    }
    row
}

/// What the shape's table has `rank` send; `None` where there is no such table.
fn own_row(shape: &Shape, rank: u32) -> Option<BTreeMap<u32, u64>> {
    let mut parts = Vec::new();
    let told = shape.pair_bytes(|from, to, bytes| {
        if from == rank {
            parts.push((to, bytes));
        }
    });
    told.ok().map(|()| row(parts.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Family;
    use crate::op::Collective;
    use crate::schedule::Schedule;

    const KIB: u64 = 1024;

    fn shape(collective: Collective, pattern: Pattern, ranks: u32, bytes: u64) -> Shape {
        Shape {
            collective,
            pattern,
            family: Family::OpenMpi,
            nonblocking: false,
            ranks,
            root: 0,
            bytes,
            elements: u32::try_from(bytes / 4).expect("few"),
            segment_bytes: None,
        }
    }

    fn to(messages: &[(u32, u64)]) -> Vec<Message> {
        messages.iter().map(|(to, bytes)| Message { to: *to, bytes: *bytes }).collect()
    }

    /// What rank 0 of 4 was seen to send in an allreduce of 1 MiB under Open MPI 4.1.4 and 5.0.11,
    /// each algorithm forced in turn.
    #[test]
    fn what_open_mpi_was_seen_to_send_gets_its_name() {
        let allreduce = shape(Collective::Allreduce, Pattern::Unknown, 4, 1024 * KIB);
        for (sent, pattern) in [
            (to(&[(1, 1024 * KIB), (2, 1024 * KIB)]), Pattern::RecursiveDoubling),
            (to(&[(1, 256 * KIB); 6]), Pattern::Ring),
            (
                to(&[(1, 512 * KIB), (2, 256 * KIB), (2, 256 * KIB), (1, 512 * KIB)]),
                Pattern::RecursiveHalvingDoubling,
            ),
        ] {
            let seen = explain(&allreduce, 0, &sent);
            assert!(seen.fits.contains(pattern), "{pattern:?}: {seen:?}");
        }
        let ring = explain(&allreduce, 0, &to(&[(1, 256 * KIB); 6]));
        assert_eq!(ring.fits.iter().collect::<Vec<_>>(), [Pattern::Ring]);
        let segmented = explain(&allreduce, 0, &to(&[(1, 64 * KIB); 24]));
        assert_eq!(segmented.fits.iter().collect::<Vec<_>>(), [Pattern::SegmentedRing]);
        assert_eq!(segmented.segment_bytes, Some(64 * KIB));
    }

    #[test]
    fn what_no_table_has_is_irregular() {
        let allreduce = shape(Collective::Allreduce, Pattern::Unknown, 4, 1024 * KIB);
        for sent in [to(&[(3, 1)]), to(&[(1, 1024 * KIB + 1), (2, 1024 * KIB)])] {
            let seen = explain(&allreduce, 0, &sent);
            assert_eq!(seen.fits.iter().collect::<Vec<_>>(), [Pattern::Irregular]);
        }
    }

    #[test]
    fn a_barrier_is_told_by_messages_of_no_bytes() {
        let barrier = Shape { elements: 0, ..shape(Collective::Barrier, Pattern::Unknown, 4, 0) };
        let seen = explain(&barrier, 0, &to(&[(1, 0), (2, 0)]));
        assert!(seen.fits.contains(Pattern::RecursiveDoubling), "{seen:?}");
        assert!(!seen.fits.contains(Pattern::Linear), "{seen:?}");
    }

    /// The messages of every table, rank by rank: each fits its own pattern, and all ranks together
    /// leave it in.
    #[test]
    fn every_table_is_recognised_by_its_own_messages() {
        let mut checked = 0;
        for ranks in 3..=9 {
            for collective in [
                Collective::Bcast,
                Collective::Reduce,
                Collective::Allreduce,
                Collective::Allgather,
                Collective::Alltoall,
                Collective::ReduceScatterBlock,
            ] {
                for pattern in Pattern::ALL {
                    let shape = shape(collective, pattern, ranks, 64 * KIB);
                    let Ok(schedule) = Schedule::of(&shape) else { continue };
                    let transfers = schedule.steps.iter().flat_map(|step| &step.transfers);
                    let mut sent = vec![Vec::new(); ranks as usize];
                    for transfer in transfers {
                        let message = Message { to: transfer.to, bytes: transfer.bytes };
                        sent[transfer.from as usize].push(message);
                    }
                    for (rank, sent) in sent.iter().enumerate().filter(|(_, s)| !s.is_empty()) {
                        let seen = explain(&shape, rank as u32, sent);
                        let same_as_ring = pattern == Pattern::SegmentedRing;
                        let expected = if same_as_ring { Pattern::Ring } else { pattern };
                        assert!(seen.fits.contains(expected), "{shape:?} {rank} {seen:?}");
                        checked += 1;
                    }
                }
            }
        }
        assert!(checked > 500, "only {checked}");
    }
}
