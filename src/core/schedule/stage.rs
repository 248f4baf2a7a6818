//! The building blocks of a schedule: stages in which ranks send by one formula.

use super::Transfer;
use super::cut::{Cut, Part};
use super::exchange::Exchange;
use super::tree::{Count, Tree};

/// Where transfers go: the step's number and the transfer.
pub(super) type Sink<'a> = &'a mut dyn FnMut(u32, Transfer);
/// Where pairs go: source, destination, bytes.
pub(super) type PairSink<'a> = &'a mut dyn FnMut(u32, u32, u64);

/// What travels along an edge of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// The whole vector, in one message.
    Whole,
    /// The whole vector, block after block.
    Pipeline,
    /// The blocks of the subtree; block 0 is that of this rank.
    Subtree {
        /// The rank that has block 0.
        block_zero: u32,
    },
}

/// A part of an algorithm in which every rank sends by one formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// From or to the root along a tree.
    Tree { tree: Tree, up: bool, count: Count, load: Load },
    /// n - 1 steps; in step k a rank sends block rank + `shift` - k to its right neighbour. Block
    /// 0 is that of rank `block_zero`.
    Ring { shift: u32, block_zero: u32 },
    /// Pairs exchange all that they have, left and right in turn; n is even.
    Neighbor,
    /// Allgather: in step k a rank sends the blocks that it has to rank - 2^k.
    BruckGather,
    /// Alltoall: in step k a rank sends the blocks whose way has bit k to rank + 2^k.
    BruckExchange,
    /// n - 1 steps; in step k a rank sends the block of rank + k to it.
    Pairwise,
    /// Everybody sends to everybody at once: its own block, or the receiver's.
    Everybody { own: bool },
    /// In step k a rank sends the whole vector to rank + 2^k.
    Dissemination,
    /// In step k the ranks of which one is the other xor 2^k exchange the whole vector.
    Prefix,
    /// The halves of a split-binary tree: odd ranks get the first, even ranks the second.
    SplitTree { root: u32 },
    /// The halves' holders exchange them.
    SplitSwap { root: u32 },
    /// An exchange between partners at distances that are powers of two.
    Exchange(Exchange),
}

/// The ranks and the vector that stages work on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) ranks: u32,
    pub(super) cut: Cut,
}

impl Field {
    /// A transfer; ranks may be given past the last one.
    pub(super) fn transfer(&self, from: u32, to: u32, part: Part) -> Transfer {
        let bytes = self.cut.bytes(part);
        self.message(from, to, part, bytes)
    }

    /// As [`Field::transfer`], of a part that is not a run of blocks.
    fn message(&self, from: u32, to: u32, part: Part, bytes: u64) -> Transfer {
        let first = part.first % self.cut.blocks();
        let part = Part { first, blocks: part.blocks };
        Transfer { from: from % self.ranks, to: to % self.ranks, part, bytes }
    }

    /// Tells `steps` steps in which each rank sends what `of` says; answers as [`Stage::emit`].
    pub(super) fn rounds(
        &self,
        at: u32,
        steps: u32,
        sink: Sink,
        of: impl Fn(u32, u32) -> Option<Transfer>,
    ) -> u32 {
        for step in 0..steps {
            for transfer in (0..self.ranks).filter_map(|rank| of(step, rank)) {
                sink(at + step, transfer);
            }
        }
        at + steps
    }
}

impl Stage {
    /// Tells the transfers, the first step being number `at`; answers the number of the step after
    /// the last.
    pub(super) fn emit(&self, field: &Field, at: u32, sink: Sink) -> u32 {
        let n = field.ranks;
        let one = |first| Part { first, blocks: 1 };
        let whole = field.cut.whole();
        let doublings = doubling_steps(n);
        match *self {
            Stage::Tree { tree, up, count, load } => {
                emit_tree(field, at, (tree, up, count, load), sink)
            }
            Stage::Ring { shift, block_zero } => field.rounds(at, n - 1, sink, |step, rank| {
                let block = (rank + shift + 2 * n - step - block_zero) % n;
                Some(field.transfer(rank, rank + 1, one(block)))
            }),
            Stage::Neighbor => field.rounds(at, n / 2, sink, |step, rank| {
                let to = if (rank + step) % 2 == 0 { rank + 1 } else { rank + n - 1 };
                Some(field.transfer(rank, to, neighbor_part(n, rank, step)))
            }),
            Stage::BruckGather => field.rounds(at, doublings, sink, |step, rank| {
                let distance = 1 << step;
                let part = Part { first: rank, blocks: distance.min(n - distance) };
                Some(field.transfer(rank, rank + n - distance, part))
            }),
            Stage::BruckExchange => {
                let blocks: Vec<u32> = (0..doublings).map(|bit| ways_with_bit(n, bit)).collect();
                field.rounds(at, doublings, sink, |step, rank| {
                    let part = Part { first: step, blocks: blocks[step as usize] };
                    let bytes = field.cut.bytes(one(0)).saturating_mul(u64::from(part.blocks));
                    Some(field.message(rank, rank + (1 << step), part, bytes))
                })
            }
            Stage::Pairwise => field.rounds(at, n - 1, sink, |step, rank| {
                let to = (rank + step + 1) % n;
                Some(field.transfer(rank, to, one(to)))
            }),
            Stage::Everybody { own } => {
                for (from, to) in (0..n).flat_map(|from| (0..n).map(move |to| (from, to))) {
                    if from != to {
                        sink(at, field.transfer(from, to, one(if own { from } else { to })));
                    }
                }
                at + 1
            }
            Stage::Dissemination => field.rounds(at, doublings, sink, |step, rank| {
                Some(field.transfer(rank, rank + (1 << step), whole))
            }),
            Stage::Prefix => field.rounds(at, doublings, sink, |step, rank| {
                let partner = rank ^ (1 << step);
                (partner < n).then(|| field.transfer(rank, partner, whole))
            }),
            Stage::SplitTree { root } => {
                let tree = Tree::Binary;
                for rank in 1..n {
                    let parent = tree.parent(rank) + root;
                    let half = field.transfer(parent, rank + root, one((rank + 1) % 2));
                    sink(at + tree.step(rank, n), half);
                }
                at + tree.steps(n)
            }
            Stage::SplitSwap { root } => {
                for left in (1..n).step_by(2) {
                    let right = (left + 1) % n;
                    sink(at, field.transfer(right + root, left + root, one(1)));
                    if right != 0 {
                        sink(at, field.transfer(left + root, right + root, one(0)));
                    }
                }
                at + 1
            }
            Stage::Exchange(exchange) => exchange.emit(field, at, sink),
        }
    }

    /// Tells the pairs' bytes: in closed form where a stage has many steps.
    pub(super) fn pairs(&self, field: &Field, sink: PairSink) {
        let n = field.ranks;
        match *self {
            Stage::Ring { shift, block_zero } => {
                for rank in 0..n {
                    // All blocks but the one after the first that it sends.
                    let first = (rank + shift + 1 + 2 * n - block_zero) % n;
                    let bytes = field.cut.bytes(Part { first: (first + 1) % n, blocks: n - 1 });
                    sink(rank, (rank + 1) % n, bytes);
                }
            }
            Stage::Neighbor => {
                for rank in 0..n {
                    for parity in 0..2u32 {
                        let right = (rank + parity) % 2 == 0;
                        let to = if right { rank + 1 } else { rank + n - 1 } % n;
                        // Two blocks in each step of this parity, but one in the first of all.
                        let blocks = match parity {
                            0 => 2 * (n / 2).div_ceil(2) - 1,
                            _ => 2 * (n / 4),
                        };
                        let block = field.cut.bytes(Part { first: rank, blocks: 1 });
                        sink(rank, to, block.saturating_mul(u64::from(blocks)));
                    }
                }
            }
            Stage::Tree { tree, up, count, load: Load::Pipeline } => {
                let whole = Stage::Tree { tree, up, count, load: Load::Whole };
                whole.pairs(field, sink);
            }
            _ => {
                self.emit(field, 0, &mut |_, transfer| {
                    sink(transfer.from, transfer.to, transfer.bytes)
                });
            }
        }
    }

    /// How many transfers there are, or a few more.
    pub(super) fn transfers(&self, field: &Field) -> u64 {
        let n = u64::from(field.ranks);
        let logarithm = u64::from(doubling_steps(field.ranks));
        match self {
            Stage::Tree { load: Load::Pipeline, .. } => n * u64::from(field.cut.blocks()),
            Stage::Tree { .. } | Stage::SplitTree { .. } | Stage::SplitSwap { .. } => n,
            Stage::Ring { .. } | Stage::Pairwise | Stage::Everybody { .. } => n * n,
            Stage::Neighbor => n * n / 2,
            Stage::BruckGather
            | Stage::BruckExchange
            | Stage::Dissemination
            | Stage::Prefix
            | Stage::Exchange(_) => n * 2 * (logarithm + 1),
        }
    }
}

/// Of the ways from 1 to `n` - 1 ranks long, those that have a bit set.
fn ways_with_bit(n: u32, bit: u32) -> u32 {
    (1..n).filter(|way| way >> bit & 1 == 1).count() as u32
}

/// How often a distance can double below `n`.
pub(super) fn doubling_steps(n: u32) -> u32 {
    n.next_power_of_two().ilog2()
}

fn emit_tree(
    field: &Field,
    at: u32,
    (tree, up, count, load): (Tree, bool, Count, Load),
    sink: Sink,
) -> u32 {
    let n = field.ranks;
    let depth = tree.steps(n);
    let segments = if load == Load::Pipeline { field.cut.blocks() } else { 1 };
    for segment in 0..segments {
        for number in 1..n {
            let child = count.rank(number, n);
            let parent = count.rank(tree.parent(number), n);
            let part = match load {
                Load::Whole => field.cut.whole(),
                Load::Pipeline => Part { first: segment, blocks: 1 },
                Load::Subtree { block_zero } => {
                    Part { first: (child + n - block_zero) % n, blocks: tree.subtree(number, n) }
                }
            };
            let down = tree.step(number, n);
            let (from, to, step) =
                if up { (child, parent, depth - 1 - down) } else { (parent, child, down) };
            sink(at + segment + step, field.transfer(from, to, part));
        }
    }
    at + depth + segments - 1
}

/// What `rank` sends in `step` of a neighbour exchange: its own block first, then the two blocks
/// that came last.
fn neighbor_part(n: u32, rank: u32, step: u32) -> Part {
    if step == 0 {
        return Part { first: rank, blocks: 1 };
    }
    // After the first step blocks travel in pairs that start at an even rank. What a rank sends is
    // what its other neighbour sent it the step before: pairs from ever farther away.
    let pair = rank - rank % 2;
    let hops = step / 2 * 2;
    let from = if step % 2 == rank % 2 { pair + 2 * n - hops } else { pair + hops };
    Part { first: from % n, blocks: 2 }
}
