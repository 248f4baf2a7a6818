//! The named step sequences by which libraries carry out collectives.

use serde::{Deserialize, Serialize};

/// How a collective is carried out. Names are the field's own; the step table of each is in
/// [`crate::schedule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Each rank sends to its right neighbour, 2(n-1) steps for an allreduce.
    Ring,
    /// A ring in several pipelined segments: the neighbours of [`Pattern::Ring`], more steps.
    SegmentedRing,
    /// Step i: partner at distance 2^i, the whole vector both ways.
    RecursiveDoubling,
    /// Rabenseifner: reduce-scatter by recursive halving, then allgather by recursive doubling.
    RecursiveHalvingDoubling,
    /// Reduce-scatter by recursive halving alone.
    RecursiveHalving,
    /// Reduce-scatter by exchanging halves at doubling distance, then a mirror permutation.
    Butterfly,
    /// A binomial tree to or from the root.
    BinomialTree,
    /// A tree of degree k.
    KnomialTree,
    /// A binary tree, pipelined.
    BinaryTree,
    /// Two binary trees that split the vector (split-binary, double tree).
    DoubleTree,
    /// A reduce to a root and a broadcast from it.
    ReduceBroadcast,
    /// A binomial scatter and an allgather (van de Geijn's broadcast).
    ScatterAllgather,
    /// One chain of ranks, pipelined.
    Chain,
    /// The root exchanges with everybody in turn, or everybody with everybody at once.
    Linear,
    /// Bruck: step i, distance 2^i, to one side.
    Bruck,
    /// Step i: send to rank + i, receive from rank - i (or partner rank xor i).
    Pairwise,
    /// Step i: a token to rank + 2^i (barriers).
    Dissemination,
    /// Neighbours exchange in pairs, left and right in turn (even n).
    NeighborExchange,
    /// The topology that the communicator carries (neighbourhood collectives).
    Neighborhood,
    /// Point-to-point messages that follow no named pattern.
    Irregular,
    /// Not known.
    Unknown,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Pattern; 21] = [
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
        Pattern::Neighborhood,
        Pattern::Irregular,
        Pattern::Unknown,
    ];

    /// The name as it stands in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::Ring => "ring",
            Pattern::SegmentedRing => "segmented_ring",
            Pattern::RecursiveDoubling => "recursive_doubling",
            Pattern::RecursiveHalvingDoubling => "recursive_halving_doubling",
            Pattern::RecursiveHalving => "recursive_halving",
            Pattern::Butterfly => "butterfly",
            Pattern::BinomialTree => "binomial_tree",
            Pattern::KnomialTree => "knomial_tree",
            Pattern::BinaryTree => "binary_tree",
            Pattern::DoubleTree => "double_tree",
            Pattern::ReduceBroadcast => "reduce_broadcast",
            Pattern::ScatterAllgather => "scatter_allgather",
            Pattern::Chain => "chain",
            Pattern::Linear => "linear",
            Pattern::Bruck => "bruck",
            Pattern::Pairwise => "pairwise",
            Pattern::Dissemination => "dissemination",
            Pattern::NeighborExchange => "neighbor_exchange",
            Pattern::Neighborhood => "neighborhood",
            Pattern::Irregular => "irregular",
            Pattern::Unknown => "unknown",
        }
    }
}

/// Where a finding comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The program or its user said so.
    Declared,
    /// Derived from the library's published decision rules.
    Predicted,
    /// Seen on the wire, or in the program's own point-to-point calls.
    Observed,
}

/// A set of patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Pattern>", into = "Vec<Pattern>")]
pub struct PatternSet(u32);

impl PatternSet {
    /// True where `pattern` is in it.
    pub const fn contains(self, pattern: Pattern) -> bool {
        self.0 & (1 << pattern as u32) != 0
    }

    /// With `pattern`.
    #[must_use]
    pub const fn with(self, pattern: Pattern) -> PatternSet {
        PatternSet(self.0 | (1 << pattern as u32))
    }

    /// Without `pattern`.
    #[must_use]
    pub const fn without(self, pattern: Pattern) -> PatternSet {
        PatternSet(self.0 & !(1 << pattern as u32))
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: PatternSet) -> PatternSet {
        PatternSet(self.0 & other.0)
    }

    /// True where nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in it, in the order of [`Pattern::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Pattern> {
        Pattern::ALL.into_iter().filter(move |pattern| self.contains(*pattern))
    }
}

impl FromIterator<Pattern> for PatternSet {
    fn from_iter<I: IntoIterator<Item = Pattern>>(patterns: I) -> PatternSet {
        patterns.into_iter().fold(PatternSet::default(), PatternSet::with)
    }
}

impl From<Vec<Pattern>> for PatternSet {
    fn from(patterns: Vec<Pattern>) -> PatternSet {
        patterns.into_iter().collect()
    }
}

impl From<PatternSet> for Vec<Pattern> {
    fn from(set: PatternSet) -> Vec<Pattern> {
        set.iter().collect()
    }
}
