//! The tables are checked by moving marks about as they say: every rank must end with what the
//! collective promises, from what the sender had when the step began.

use super::*;
use std::collections::BTreeMap;

const PATTERNS: [Pattern; 18] = [
    Pattern::Ring,
    Pattern::SegmentedRing,
    Pattern::RecursiveDoubling,
    Pattern::RecursiveHalvingDoubling,
    Pattern::RecursiveHalving,
    Pattern::Butterfly,
    Pattern::BinomialTree,
    Pattern::KnomialTree,
    Pattern::BinaryTree,
    Pattern::DoubleTree,
    Pattern::ReduceBroadcast,
    Pattern::ScatterAllgather,
    Pattern::Chain,
    Pattern::Linear,
    Pattern::Bruck,
    Pattern::Pairwise,
    Pattern::Dissemination,
    Pattern::NeighborExchange,
];

const SIZES: [(u64, u32); 6] =
    [(0, 0), (4, 1), (12, 3), (1000, 1000), (4092, 1023), (65_544, 8193)];

fn shape(collective: Collective, pattern: Pattern, ranks: u32) -> Shape {
    Shape {
        collective,
        pattern,
        family: Family::OpenMpi,
        nonblocking: false,
        ranks,
        root: 0,
        bytes: 4092,
        elements: 1023,
        segment_bytes: None,
    }
}

/// Every shape that has a table, for 1 to 33 ranks, several sizes, roots and families.
fn every_shape(collective: Collective, mut check: impl FnMut(&Shape, &Schedule)) {
    let mut checked = 0;
    for pattern in PATTERNS {
        for ranks in 1..=33 {
            for (size, (bytes, elements)) in SIZES.into_iter().enumerate() {
                let family = if size % 2 == 0 { Family::OpenMpi } else { Family::Mpich };
                let root = (size as u32 * 5 + 1) % ranks;
                let segment_bytes = (size > 3).then_some(1000);
                let shape = Shape {
                    family,
                    nonblocking: size > 2,
                    root,
                    bytes,
                    elements,
                    segment_bytes,
                    ..shape(collective, pattern, ranks)
                };
                match Schedule::of(&shape) {
                    Ok(schedule) => {
                        check(&shape, &schedule);
                        checked += 1;
                    }
                    Err(refusal) => assert_eq!(refusal, NoSchedule::NotOfCollective, "{shape:?}"),
                }
            }
        }
    }
    assert!(checked > 33 * 6, "{collective:?}: only {checked} tables");
}

fn blocks_of(part: Part, blocks: u32) -> impl Iterator<Item = usize> {
    (0..part.blocks).map(move |i| ((part.first + i) % blocks) as usize)
}

/// Marks: which ranks' contributions a rank has in a block.
type Marks = Vec<Vec<u64>>;

/// Moves marks as the table says. Where `reduces`, a block must bring contributions that the
/// receiver lacks altogether, or all that it has and more: nothing is counted twice.
fn run(shape: &Shape, schedule: &Schedule, mut marks: Marks, reduces: bool) -> Marks {
    for step in &schedule.steps {
        let before = marks.clone();
        for transfer in &step.transfers {
            let (from, to) = (transfer.from as usize, transfer.to as usize);
            assert_ne!(from, to, "{shape:?}");
            for block in blocks_of(transfer.part, schedule.blocks) {
                let sent = before[from][block];
                let had = marks[to][block];
                if reduces {
                    assert!(sent & had == 0 || sent & had == had, "{shape:?} {transfer:?}");
                }
                marks[to][block] = had | sent;
            }
        }
    }
    marks
}

fn all(ranks: u32) -> u64 {
    (1 << ranks) - 1
}

fn each_its_mark(shape: &Shape, schedule: &Schedule) -> Marks {
    (0..shape.ranks).map(|rank| vec![1 << rank; schedule.blocks as usize]).collect()
}

#[test]
fn allreduce_brings_every_contribution_to_every_rank() {
    every_shape(Collective::Allreduce, |shape, schedule| {
        let end = run(shape, schedule, each_its_mark(shape, schedule), true);
        let full = all(shape.ranks);
        assert!(end.iter().flatten().all(|marks| *marks == full), "{shape:?} {end:x?}");
    });
}

#[test]
fn reduce_brings_every_contribution_to_the_root() {
    every_shape(Collective::Reduce, |shape, schedule| {
        let end = run(shape, schedule, each_its_mark(shape, schedule), true);
        let full = all(shape.ranks);
        let root = &end[shape.root as usize];
        assert!(root.iter().all(|marks| *marks == full), "{shape:?} {root:x?}");
    });
}

#[test]
fn reduce_scatter_finishes_every_rank_s_block() {
    for collective in [Collective::ReduceScatter, Collective::ReduceScatterBlock] {
        every_shape(collective, |shape, schedule| {
            let recursive_doubling = shape.pattern == Pattern::RecursiveDoubling;
            let reduces = !recursive_doubling || shape.ranks.is_power_of_two();
            let end = run(shape, schedule, each_its_mark(shape, schedule), reduces);
            let full = all(shape.ranks);
            let mirrored = shape.pattern == Pattern::Butterfly
                && collective == Collective::ReduceScatterBlock
                && shape.ranks.is_power_of_two()
                && shape.ranks > 1;
            for (rank, marks) in end.iter().enumerate() {
                let bits = shape.ranks.ilog2();
                let mirror = || rank.reverse_bits() >> (usize::BITS - bits);
                let own = if mirrored { mirror() } else { rank };
                assert_eq!(marks.get(own).copied().unwrap_or(full), full, "{shape:?}");
            }
        });
    }
}

#[test]
fn bcast_reaches_every_rank() {
    every_shape(Collective::Bcast, |shape, schedule| {
        let mut marks = vec![vec![0; schedule.blocks as usize]; shape.ranks as usize];
        marks[shape.root as usize].fill(1);
        let end = run(shape, schedule, marks, false);
        assert!(end.iter().flatten().all(|marks| *marks == 1), "{shape:?} {end:?}");
    });
}

#[test]
fn allgather_brings_every_block_to_every_rank() {
    for collective in [Collective::Allgather, Collective::Allgatherv] {
        every_shape(collective, |shape, schedule| {
            let end = run(shape, schedule, own_block(shape), false);
            assert!(end.iter().flatten().all(|marks| *marks == 1), "{shape:?} {end:?}");
        });
    }
}

fn own_block(shape: &Shape) -> Marks {
    let n = shape.ranks as usize;
    (0..n).map(|rank| (0..n).map(|block| u64::from(block == rank)).collect()).collect()
}

#[test]
fn gather_brings_every_block_to_the_root_and_scatter_spreads_them() {
    every_shape(Collective::Gather, |shape, schedule| {
        let end = run(shape, schedule, own_block(shape), false);
        let root = &end[shape.root as usize];
        assert!(root.iter().all(|marks| *marks == 1), "{shape:?} {root:?}");
    });
    every_shape(Collective::Scatter, |shape, schedule| {
        let n = shape.ranks as usize;
        let mut marks = vec![vec![0; n]; n];
        marks[shape.root as usize].fill(1);
        let end = run(shape, schedule, marks, false);
        for (rank, blocks) in end.iter().enumerate() {
            assert_eq!(blocks.get(rank).copied().unwrap_or(1), 1, "{shape:?}");
        }
    });
}

#[test]
fn alltoall_delivers_every_block_once() {
    every_shape(Collective::Alltoall, |shape, schedule| {
        let n = shape.ranks;
        // What each rank holds: (origin, destination).
        let mut held: Vec<Vec<(u32, u32)>> =
            (0..n).map(|rank| (0..n).map(|to| (rank, to)).collect()).collect();
        for step in &schedule.steps {
            let before = held.clone();
            for transfer in &step.transfers {
                let moves = |item: &(u32, u32)| match shape.pattern {
                    Pattern::Bruck => {
                        let way = (item.1 + n - item.0) % n;
                        way >> transfer.part.first & 1 == 1
                    }
                    _ => *item == (transfer.from, transfer.to),
                };
                let moved: Vec<_> =
                    before[transfer.from as usize].iter().copied().filter(moves).collect();
                assert_eq!(moved.len() as u64 * shape.bytes, transfer.bytes, "{shape:?}");
                held[transfer.from as usize].retain(|item| !moved.contains(item));
                held[transfer.to as usize].extend(moved);
            }
        }
        for (rank, items) in held.iter().enumerate() {
            assert_eq!(items.len(), n as usize, "{shape:?}");
            assert!(items.iter().all(|(_, to)| *to as usize == rank), "{shape:?} {items:?}");
        }
    });
}

#[test]
fn barrier_and_scan_tell_every_rank_of_those_before_it() {
    every_shape(Collective::Barrier, |shape, schedule| {
        let end = run(shape, schedule, each_its_mark(shape, schedule), false);
        assert!(end.iter().flatten().all(|marks| *marks == all(shape.ranks)), "{shape:?}");
    });
    every_shape(Collective::Scan, |shape, schedule| {
        let end = run(shape, schedule, each_its_mark(shape, schedule), false);
        for (rank, marks) in end.iter().enumerate() {
            let before = all(rank as u32 + 1);
            assert_eq!(marks[0] & before, before, "{shape:?}");
        }
    });
}

#[test]
fn pairs_agree_with_the_steps() {
    use Collective::*;
    for collective in [
        Barrier,
        Bcast,
        Gather,
        Gatherv,
        Scatter,
        Scatterv,
        Allgather,
        Allgatherv,
        Alltoall,
        Alltoallv,
        Alltoallw,
        Reduce,
        Allreduce,
        ReduceScatterBlock,
        ReduceScatter,
        Scan,
        Exscan,
    ] {
        every_shape(collective, |shape, schedule| {
            let mut from_steps = BTreeMap::new();
            for transfer in schedule.steps.iter().flat_map(|step| &step.transfers) {
                *from_steps.entry((transfer.from, transfer.to)).or_insert(0) += transfer.bytes;
            }
            let mut from_pairs = BTreeMap::new();
            let told = shape.pair_bytes(|from, to, bytes| {
                *from_pairs.entry((from, to)).or_insert(0) += bytes;
            });
            assert_eq!(told, Ok(()));
            assert_eq!(from_steps, from_pairs, "{shape:?}");
        });
    }
}

fn total(shape: &Shape) -> u64 {
    let mut sum = 0;
    shape.pair_bytes(|_, _, bytes| sum += bytes).expect("a formula");
    sum
}

#[test]
fn totals_are_the_closed_forms() {
    use Collective::{Allgather, Allreduce, Alltoall, Bcast, Gather, ReduceScatterBlock};
    for n in 1..=33u32 {
        for (bytes, elements) in SIZES {
            let total_of = |collective, pattern| {
                total(&Shape { bytes, elements, ..shape(collective, pattern, n) })
            };
            let (ranks, logarithm) = (u64::from(n), u64::from(n.ilog2()));
            let others = ranks - 1;
            assert_eq!(total_of(Allreduce, Pattern::Ring), 2 * others * bytes);
            assert_eq!(total_of(Allgather, Pattern::Ring), ranks * others * bytes);
            assert_eq!(total_of(Allgather, Pattern::NeighborExchange), ranks * others * bytes);
            assert_eq!(total_of(Allgather, Pattern::Bruck), ranks * others * bytes);
            assert_eq!(total_of(Alltoall, Pattern::Pairwise), ranks * others * bytes);
            assert_eq!(total_of(ReduceScatterBlock, Pattern::Ring), ranks * others * bytes);
            assert_eq!(total_of(Gather, Pattern::Linear), others * bytes);
            for tree in [Pattern::BinomialTree, Pattern::KnomialTree, Pattern::BinaryTree] {
                assert_eq!(total_of(Bcast, tree), others * bytes);
            }
            let ways: u64 = (1..n).map(|way| u64::from(way.count_ones())).sum();
            assert_eq!(total_of(Alltoall, Pattern::Bruck), ranks * ways * bytes);
            if n.is_power_of_two() {
                let doubling = ranks * logarithm * bytes;
                assert_eq!(total_of(Allreduce, Pattern::RecursiveDoubling), doubling);
                assert_eq!(
                    total_of(Allreduce, Pattern::RecursiveHalvingDoubling),
                    2 * others * bytes
                );
                assert_eq!(
                    total_of(ReduceScatterBlock, Pattern::RecursiveHalving),
                    ranks * others * bytes
                );
                assert_eq!(total_of(Gather, Pattern::BinomialTree), ranks * logarithm * bytes / 2);
            } else {
                // The surplus ranks hand in and are handed out one whole vector each.
                let power = 1 << n.ilog2();
                let doubling = (power * logarithm + 2 * (ranks - power)) * bytes;
                assert_eq!(total_of(Allreduce, Pattern::RecursiveDoubling), doubling);
            }
        }
    }
}

#[test]
fn the_measured_traffic_of_open_mpi_on_four_ranks() {
    // What rank 0 of 4 sends in an allreduce of 1 MiB, read off Open MPI 4.1.4.
    let sent = |pattern| {
        let shape =
            Shape { bytes: 1 << 20, elements: 1 << 18, ..shape(Collective::Allreduce, pattern, 4) };
        let schedule = Schedule::of(&shape).expect("short");
        let transfers = schedule.steps.iter().flat_map(|step| &step.transfers);
        transfers
            .filter(|sent| sent.from == 0)
            .map(|sent| (sent.to, sent.bytes >> 10))
            .collect::<Vec<_>>()
    };
    let expected: Vec<(u32, u64)> = vec![(1, 1024), (2, 1024)];
    assert_eq!(sent(Pattern::RecursiveDoubling), expected);
    assert_eq!(sent(Pattern::Ring), vec![(1, 256); 6]);
    assert_eq!(
        sent(Pattern::RecursiveHalvingDoubling),
        vec![(1, 512), (2, 256), (2, 256), (1, 512)]
    );
}

#[test]
fn a_ring_of_4096_ranks_is_quick_in_pairs_and_refused_as_a_table() {
    let ring = shape(Collective::Allreduce, Pattern::Ring, 4096);
    assert_eq!(Schedule::of(&ring), Err(NoSchedule::TooLong));
    let mut pairs = 0;
    let mut sum = 0;
    ring.pair_bytes(|_, _, bytes| {
        pairs += 1;
        sum += bytes;
    })
    .expect("a formula");
    assert_eq!((pairs, sum), (2 * 4096, 2 * 4095 * 4092));
}

#[test]
fn refusals_say_why() {
    let refusal = |shape: Shape| Schedule::of(&shape).expect_err("refused");
    let bcast = shape(Collective::Bcast, Pattern::Chain, 4);
    assert_eq!(refusal(Shape { root: 4, ..bcast }), NoSchedule::RootOutside);
    assert_eq!(refusal(Shape { pattern: Pattern::Unknown, ..bcast }), NoSchedule::NotAFormula);
    assert_eq!(refusal(Shape { pattern: Pattern::Pairwise, ..bcast }), NoSchedule::NotOfCollective);
}

#[test]
fn hostile_sizes_neither_wrap_nor_hang() {
    for collective in [Collective::Allreduce, Collective::Alltoall, Collective::Bcast] {
        for pattern in PATTERNS {
            let shape = Shape {
                bytes: u64::MAX,
                elements: u32::MAX,
                segment_bytes: Some(1),
                ..shape(collective, pattern, 5)
            };
            let mut sum = 0u128;
            let _ = shape.pair_bytes(|_, _, bytes| sum += u128::from(bytes));
        }
    }
}
