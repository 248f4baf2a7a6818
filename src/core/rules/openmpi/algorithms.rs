//! The algorithms of `coll/tuned`: their numbers (by position, from 1), names and patterns.

use super::tables::{self, Row};
use crate::op::Collective;
use crate::pattern::Pattern::{
    self, BinaryTree, BinomialTree, Bruck, Butterfly, Chain, Dissemination, DoubleTree,
    KnomialTree, Linear, NeighborExchange, Pairwise, RecursiveDoubling, RecursiveHalving,
    RecursiveHalvingDoubling, ReduceBroadcast, Ring, ScatterAllgather, SegmentedRing,
};

/// A collective that `coll/tuned` decides.
pub(super) struct Tuned {
    /// Its name in variables.
    pub(super) name: &'static str,
    /// Its rules; of reductions, with commutative operations.
    pub(super) rules: &'static [Row],
    /// Its rules with other operations.
    pub(super) ordered_rules: &'static [Row],
    /// Its algorithms.
    pub(super) algorithms: &'static [(&'static str, Pattern)],
}

/// Reduce to one rank first: what other operations get in a reduce-scatter.
const FIRST: &[Row] = &[(u32::MAX, &[(u64::MAX, 1)])];

/// What `coll/tuned` knows of a collective.
pub(super) fn tuned_of(collective: Collective) -> Option<Tuned> {
    let (name, rules, algorithms): (_, _, &[_]) = match collective {
        Collective::Allreduce => ("allreduce", tables::ALLREDUCE, ALLREDUCE),
        Collective::Alltoall => ("alltoall", tables::ALLTOALL, ALLTOALL),
        Collective::Alltoallv => ("alltoallv", tables::ALLTOALLV, ALLTOALLV),
        Collective::Barrier => ("barrier", tables::BARRIER, BARRIER),
        Collective::Bcast => ("bcast", tables::BCAST, BCAST),
        Collective::Reduce => ("reduce", tables::REDUCE, REDUCE),
        Collective::ReduceScatter => ("reduce_scatter", tables::REDUCE_SCATTER, REDUCE_SCATTER),
        Collective::ReduceScatterBlock => {
            ("reduce_scatter_block", tables::REDUCE_SCATTER_BLOCK, REDUCE_SCATTER_BLOCK)
        }
        Collective::Allgather => ("allgather", tables::ALLGATHER, ALLGATHER),
        Collective::Allgatherv => ("allgatherv", tables::ALLGATHERV, ALLGATHERV),
        Collective::Gather => ("gather", tables::GATHER, GATHER),
        Collective::Scatter => ("scatter", tables::SCATTER, SCATTER),
        _ => return None,
    };
    let ordered_rules = match collective {
        Collective::Allreduce => tables::ALLREDUCE_ORDERED,
        Collective::Reduce => tables::REDUCE_ORDERED,
        Collective::ReduceScatter | Collective::ReduceScatterBlock => FIRST,
        _ => rules,
    };
    Some(Tuned { name, rules, ordered_rules, algorithms })
}

type Algorithms = &'static [(&'static str, Pattern)];

const ALLREDUCE: Algorithms = &[
    ("basic_linear", Linear),
    ("nonoverlapping", ReduceBroadcast),
    ("recursive_doubling", RecursiveDoubling),
    ("ring", Ring),
    ("segmented_ring", SegmentedRing),
    ("rabenseifner", RecursiveHalvingDoubling),
];

const ALLTOALL: Algorithms = &[
    ("linear", Linear),
    ("pairwise", Pairwise),
    ("modified_bruck", Bruck),
    ("linear_sync", Linear),
    ("two_proc", Pairwise),
];

const ALLTOALLV: Algorithms = &[("basic_linear", Linear), ("pairwise", Pairwise)];

const BARRIER: Algorithms = &[
    ("linear", Linear),
    ("double_ring", Ring),
    ("recursive_doubling", RecursiveDoubling),
    ("bruck", Dissemination),
    ("two_proc", RecursiveDoubling),
    ("tree", BinomialTree),
];

const BCAST: Algorithms = &[
    ("basic_linear", Linear),
    ("chain", Chain),
    ("pipeline", Chain),
    ("split_binary_tree", DoubleTree),
    ("binary_tree", BinaryTree),
    ("binomial", BinomialTree),
    ("knomial", KnomialTree),
    ("scatter_allgather", ScatterAllgather),
    ("scatter_allgather_ring", Ring),
];

const REDUCE: Algorithms = &[
    ("linear", Linear),
    ("chain", Chain),
    ("pipeline", Chain),
    ("binary", BinaryTree),
    ("binomial", BinomialTree),
    ("in-order_binary", BinaryTree),
    ("rabenseifner", RecursiveHalvingDoubling),
];

const REDUCE_SCATTER: Algorithms = &[
    ("non-overlapping", ReduceBroadcast),
    ("recursive_halving", RecursiveHalving),
    ("ring", Ring),
    ("butterfly", Butterfly),
];

const REDUCE_SCATTER_BLOCK: Algorithms = &[
    ("basic_linear", ReduceBroadcast),
    ("recursive_doubling", RecursiveDoubling),
    ("recursive_halving", RecursiveHalving),
    ("butterfly", Butterfly),
];

const ALLGATHER: Algorithms = &[
    ("linear", ReduceBroadcast),
    ("bruck", Bruck),
    ("recursive_doubling", RecursiveDoubling),
    ("ring", Ring),
    ("neighbor", NeighborExchange),
    ("two_proc", RecursiveDoubling),
];

const ALLGATHERV: Algorithms = &[
    ("default", ReduceBroadcast),
    ("bruck", Bruck),
    ("ring", Ring),
    ("neighbor", NeighborExchange),
    ("two_proc", RecursiveDoubling),
];

const GATHER: Algorithms =
    &[("basic_linear", Linear), ("binomial", BinomialTree), ("linear_sync", Linear)];

const SCATTER: Algorithms =
    &[("basic_linear", Linear), ("binomial", BinomialTree), ("linear_nb", Linear)];
