//! Which stages make up each pattern of each collective.

use super::cut::{Cut, How};
use super::exchange::{Exchange, Fold, Order};
use super::stage::{Field, Load, PairSink, Sink, Stage};
use super::tree::{Count, Tree};
use super::{NoSchedule, Shape};
use crate::library::Family;
use crate::op::Collective;
use crate::pattern::Pattern;

/// The degree of k-nomial trees: Open MPI's default, the only library here that takes them.
const KNOMIAL_RADIX: u32 = 4;

/// Most segments of a pipeline; a longer vector gets longer segments.
const SEGMENTS_MAX: u64 = 1 << 16;

/// The stages of one call.
#[derive(Debug)]
pub(super) struct Plan {
    field: Field,
    stages: Vec<Stage>,
}

impl Plan {
    pub(super) fn blocks(&self) -> u32 {
        self.field.cut.blocks()
    }

    pub(super) fn emit(&self, sink: Sink) {
        let mut at = 0;
        for stage in &self.stages {
            at = stage.emit(&self.field, at, sink);
        }
    }

    pub(super) fn pairs(&self, sink: PairSink) {
        for stage in &self.stages {
            stage.pairs(&self.field, sink);
        }
    }

    pub(super) fn transfers(&self) -> u64 {
        self.stages.iter().map(|stage| stage.transfers(&self.field)).sum()
    }
}

/// The stages of a shape, or why there are none.
pub(super) fn plan(shape: &Shape) -> Result<Plan, NoSchedule> {
    use Pattern::{Irregular, Neighborhood, Unknown};
    if matches!(shape.pattern, Irregular | Neighborhood | Unknown) {
        return Err(NoSchedule::NotAFormula);
    }
    let ranks = shape.ranks.max(1);
    if shape.root >= ranks {
        return Err(NoSchedule::RootOutside);
    }
    if ranks == 1 {
        let field = Field { ranks, cut: whole(shape, 1, How::Even) };
        return Ok(Plan { field, stages: Vec::new() });
    }
    let (cut, stages) = match shape.collective {
        Collective::Barrier => barrier(shape),
        Collective::Bcast => bcast(shape),
        Collective::Reduce => reduce(shape),
        Collective::Allreduce => allreduce(shape),
        Collective::ReduceScatter | Collective::ReduceScatterBlock => reduce_scatter(shape),
        Collective::Gather | Collective::Gatherv => rooted(shape, true),
        Collective::Scatter | Collective::Scatterv => rooted(shape, false),
        Collective::Allgather | Collective::Allgatherv => allgather(shape),
        Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => alltoall(shape),
        Collective::Scan | Collective::Exscan => scan(shape),
        Collective::NeighborAllgather
        | Collective::NeighborAllgatherv
        | Collective::NeighborAlltoall
        | Collective::NeighborAlltoallv
        | Collective::NeighborAlltoallw => None,
    }
    .ok_or(NoSchedule::NotOfCollective)?;
    Ok(Plan { field: Field { ranks, cut }, stages })
}

type Made = Option<(Cut, Vec<Stage>)>;

/// The call's vector cut into blocks.
fn whole(shape: &Shape, blocks: u32, how: How) -> Cut {
    Cut::new(shape.bytes, shape.elements, blocks, how)
}

/// The call's vector cut into pipeline segments; one, where the shape names none.
fn segments(shape: &Shape) -> Cut {
    let Some(segment) = shape.segment_bytes.filter(|bytes| *bytes > 0 && *bytes < shape.bytes)
    else {
        return whole(shape, 1, How::Even);
    };
    let elements = if shape.elements == 0 { shape.bytes } else { u64::from(shape.elements) };
    let element_bytes = (shape.bytes / elements).max(1);
    let run = (segment / element_bytes).max(1).max(elements.div_ceil(SEGMENTS_MAX));
    let blocks = u32::try_from(elements.div_ceil(run)).unwrap_or(u32::MAX);
    whole(shape, blocks, How::Runs(run))
}

/// One block of equal size for each rank: the call names one block, or (calls with a vector of
/// counts that name the sum) all of them.
fn block_per_rank(shape: &Shape, sum: bool) -> Cut {
    if sum { whole(shape, shape.ranks, How::Even) } else { whole(shape, shape.ranks, How::Blocks) }
}

fn tree(tree: Tree, up: bool, root: u32, load: Load) -> Stage {
    Stage::Tree { tree, up, count: Count::From(root), load }
}

/// A pipeline along a tree to or from the shape's root.
fn pipeline(shape: &Shape, tree: Tree, up: bool) -> (Cut, Vec<Stage>) {
    let count = match (shape.family, shape.nonblocking) {
        (Family::OpenMpi, true) => Count::Swapped(shape.root),
        _ => Count::From(shape.root),
    };
    (segments(shape), vec![Stage::Tree { tree, up, count, load: Load::Pipeline }])
}

/// The binomial tree down which the family broadcasts.
fn broadcast_tree(family: Family) -> Tree {
    match family {
        Family::OpenMpi => Tree::BinomialHigh,
        _ => Tree::Binomial,
    }
}

fn barrier(shape: &Shape) -> Made {
    let token = Load::Whole;
    let stages = match shape.pattern {
        Pattern::Linear => {
            vec![tree(Tree::Flat, true, 0, token), tree(Tree::Flat, false, 0, token)]
        }
        Pattern::BinomialTree => {
            vec![tree(Tree::Binomial, true, 0, token), tree(Tree::Binomial, false, 0, token)]
        }
        Pattern::Dissemination | Pattern::Bruck => vec![Stage::Dissemination],
        Pattern::RecursiveDoubling => {
            let fold = Fold::Last;
            let stages = [Exchange::In(fold), Exchange::Double(fold), Exchange::Out(fold)];
            stages.map(Stage::Exchange).to_vec()
        }
        _ => return None,
    };
    Some((Cut::new(0, 0, 1, How::Even), stages))
}

fn bcast(shape: &Shape) -> Made {
    let root = shape.root;
    let pipeline = |tree| pipeline(shape, tree, false);
    let elements = if shape.elements == 0 { shape.bytes } else { u64::from(shape.elements) };
    let per_rank = || {
        let run = elements.div_ceil(u64::from(shape.ranks));
        whole(shape, shape.ranks, How::Runs(run))
    };
    let scatter = tree(Tree::Binomial, false, root, Load::Subtree { block_zero: root });
    Some(match shape.pattern {
        Pattern::Linear => pipeline(Tree::Flat),
        Pattern::BinomialTree => pipeline(broadcast_tree(shape.family)),
        Pattern::KnomialTree => pipeline(Tree::Knomial(KNOMIAL_RADIX)),
        Pattern::BinaryTree => pipeline(Tree::Binary),
        Pattern::Chain => pipeline(Tree::Chain),
        Pattern::DoubleTree => {
            let cut = whole(shape, 2, How::Runs(elements.div_ceil(2)));
            (cut, vec![Stage::SplitTree { root }, Stage::SplitSwap { root }])
        }
        Pattern::ScatterAllgather => {
            let gather = Stage::Exchange(Exchange::Gather { root, but: false });
            (per_rank(), vec![scatter, gather])
        }
        Pattern::Ring => (per_rank(), vec![scatter, Stage::Ring { shift: 0, block_zero: root }]),
        _ => return None,
    })
}

fn reduce(shape: &Shape) -> Made {
    let root = shape.root;
    let pipeline = |tree| pipeline(shape, tree, true);
    Some(match shape.pattern {
        Pattern::Linear => pipeline(Tree::Flat),
        Pattern::BinomialTree => pipeline(Tree::Binomial),
        Pattern::BinaryTree => pipeline(Tree::Binary),
        Pattern::Chain => pipeline(Tree::Chain),
        Pattern::RecursiveHalvingDoubling => {
            let fold = Fold::Odd;
            let first = match shape.family {
                Family::OpenMpi => Exchange::InHalves,
                _ => Exchange::In(fold),
            };
            let halve = Exchange::Halve { fold, order: Order::Growing, own_blocks: false };
            let mut stages = vec![halve, Exchange::GatherHalves { fold, root }];
            if !shape.ranks.is_power_of_two() {
                stages.insert(0, first);
            }
            let stages = stages.into_iter().map(Stage::Exchange).collect();
            (power_cut(shape), stages)
        }
        _ => return None,
    })
}

/// The vector cut for halving among the largest power of two of ranks.
fn power_cut(shape: &Shape) -> Cut {
    let how = match shape.family {
        Family::OpenMpi => How::Halving,
        _ => How::Even,
    };
    whole(shape, 1 << shape.ranks.ilog2(), how)
}

fn allreduce(shape: &Shape) -> Made {
    let exchanges = |stages: &[Exchange]| stages.iter().copied().map(Stage::Exchange).collect();
    let even = Fold::Even;
    Some(match shape.pattern {
        Pattern::Linear | Pattern::ReduceBroadcast => {
            let (up, down) = match shape.pattern {
                Pattern::Linear => (Tree::Flat, Tree::Flat),
                _ => (Tree::Binomial, broadcast_tree(shape.family)),
            };
            let stages = vec![tree(up, true, 0, Load::Whole), tree(down, false, 0, Load::Whole)];
            (whole(shape, 1, How::Even), stages)
        }
        Pattern::Ring | Pattern::SegmentedRing => {
            let rings = vec![
                Stage::Ring { shift: 0, block_zero: 0 },
                Stage::Ring { shift: 1, block_zero: 0 },
            ];
            (whole(shape, shape.ranks, How::Even), rings)
        }
        Pattern::RecursiveDoubling => {
            let stages = [Exchange::In(even), Exchange::Double(even), Exchange::Out(even)];
            (whole(shape, 1, How::Even), exchanges(&stages))
        }
        Pattern::RecursiveHalvingDoubling => {
            let (fold, first) = match shape.family {
                Family::OpenMpi => (Fold::Odd, Exchange::InHalves),
                _ => (even, Exchange::In(even)),
            };
            let order = Order::Growing;
            let stages = [
                first,
                Exchange::Halve { fold, order, own_blocks: false },
                Exchange::Unhalve { fold, order },
                Exchange::Out(fold),
            ];
            (power_cut(shape), exchanges(&stages))
        }
        _ => return None,
    })
}

fn reduce_scatter(shape: &Shape) -> Made {
    let cut = block_per_rank(shape, shape.collective == Collective::ReduceScatter);
    let fold = Fold::Even;
    let n = shape.ranks;
    let halve = |order| Exchange::Halve { fold, order, own_blocks: true };
    let stages = match shape.pattern {
        Pattern::Ring => vec![Stage::Ring { shift: n - 1, block_zero: 0 }],
        Pattern::Pairwise => vec![Stage::Pairwise],
        Pattern::RecursiveHalving => {
            let stages = [Exchange::In(fold), halve(Order::Shrinking), Exchange::OutOwn(fold)];
            stages.map(Stage::Exchange).to_vec()
        }
        // Of a power of two of ranks the blocks are put in mirrored order beforehand.
        Pattern::Butterfly
            if n.is_power_of_two() && shape.collective == Collective::ReduceScatterBlock =>
        {
            vec![Stage::Exchange(halve(Order::Growing))]
        }
        Pattern::Butterfly => {
            let stages = [Exchange::In(fold), halve(Order::Growing), Exchange::Mirror];
            stages.map(Stage::Exchange).to_vec()
        }
        Pattern::RecursiveDoubling => {
            vec![Stage::Exchange(Exchange::Gather { root: 0, but: true })]
        }
        Pattern::Linear | Pattern::ReduceBroadcast => {
            let up = match shape.pattern {
                Pattern::Linear => Tree::Flat,
                _ => Tree::Binomial,
            };
            vec![
                tree(up, true, 0, Load::Whole),
                tree(Tree::Flat, false, 0, Load::Subtree { block_zero: 0 }),
            ]
        }
        _ => return None,
    };
    Some((cut, stages))
}

/// Gathers and scatters.
fn rooted(shape: &Shape, up: bool) -> Made {
    let shape_of_tree = match shape.pattern {
        Pattern::Linear => Tree::Flat,
        Pattern::BinomialTree => Tree::Binomial,
        _ => return None,
    };
    let cut = block_per_rank(shape, shape.collective == Collective::Scatterv);
    let load = Load::Subtree { block_zero: 0 };
    Some((cut, vec![tree(shape_of_tree, up, shape.root, load)]))
}

fn allgather(shape: &Shape) -> Made {
    let cut = block_per_rank(shape, false);
    let stages = match shape.pattern {
        Pattern::NeighborExchange if shape.ranks % 2 == 0 => vec![Stage::Neighbor],
        Pattern::Ring | Pattern::NeighborExchange => {
            vec![Stage::Ring { shift: 0, block_zero: 0 }]
        }
        Pattern::Bruck => vec![Stage::BruckGather],
        Pattern::RecursiveDoubling => {
            vec![Stage::Exchange(Exchange::Gather { root: 0, but: false })]
        }
        Pattern::Linear => vec![Stage::Everybody { own: true }],
        Pattern::ReduceBroadcast => vec![
            tree(Tree::Flat, true, 0, Load::Subtree { block_zero: 0 }),
            tree(broadcast_tree(shape.family), false, 0, Load::Whole),
        ],
        _ => return None,
    };
    Some((cut, stages))
}

fn alltoall(shape: &Shape) -> Made {
    let stages = match shape.pattern {
        Pattern::Linear => vec![Stage::Everybody { own: false }],
        Pattern::Pairwise => vec![Stage::Pairwise],
        Pattern::Bruck => vec![Stage::BruckExchange],
        _ => return None,
    };
    Some((block_per_rank(shape, shape.collective != Collective::Alltoall), stages))
}

fn scan(shape: &Shape) -> Made {
    let stages = match shape.pattern {
        Pattern::Chain | Pattern::Linear => vec![tree(Tree::Chain, false, 0, Load::Whole)],
        Pattern::RecursiveDoubling => vec![Stage::Prefix],
        _ => return None,
    };
    Some((whole(shape, 1, How::Even), stages))
}
