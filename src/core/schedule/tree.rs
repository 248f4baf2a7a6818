//! Trees over ranks that are counted from the root.

/// How the ranks of a tree are counted, so that the root is number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// From the root on, and around.
    From(u32),
    /// As they are, but for the root and rank 0, which change places.
    Swapped(u32),
}

impl Count {
    /// The rank with that number, of `ranks` ranks.
    pub(super) fn rank(self, number: u32, ranks: u32) -> u32 {
        match self {
            Count::From(root) => (number + root) % ranks,
            Count::Swapped(root) if number == 0 => root,
            Count::Swapped(root) if number == root => 0,
            Count::Swapped(_) => number,
        }
    }
}

/// The shape of a tree. Rank 0 is its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// The root has every other rank as a child.
    Flat,
    /// Each rank has one child.
    Chain,
    /// Binomial: the parent of a rank is that rank without its lowest bit. A subtree is a run of
    /// ranks.
    Binomial,
    /// Binomial: the parent of a rank is that rank without its highest bit. The same degrees as
    /// [`Tree::Binomial`], other partners.
    BinomialHigh,
    /// As [`Tree::Binomial`], in base k.
    Knomial(u32),
    /// Two children each, by levels.
    Binary,
}

impl Tree {
    /// The parent of `rank`, which is not the root.
    pub(super) fn parent(self, rank: u32) -> u32 {
        match self {
            Tree::Flat => 0,
            Tree::Chain => rank - 1,
            Tree::Binomial => rank & (rank - 1),
            Tree::BinomialHigh => rank ^ (1 << rank.ilog2()),
            Tree::Knomial(k) => {
                let weight = digit_weight(rank, k);
                rank - rank / weight % k * weight
            }
            Tree::Binary => {
                // Level l holds 2^l ranks from 2^l - 1 on; a child is one or two such widths on.
                let width = 1 << (rank + 1).ilog2();
                if rank < width / 2 + width - 1 { rank - width / 2 } else { rank - width }
            }
        }
    }

    /// When `rank` gets its data on the way down, counted from 0, in a tree of `ranks` ranks.
    pub(super) fn step(self, rank: u32, ranks: u32) -> u32 {
        match self {
            Tree::Flat => 0,
            Tree::Chain => rank - 1,
            Tree::Binomial => (ranks - 1).ilog2() - rank.trailing_zeros(),
            Tree::BinomialHigh => rank.ilog2(),
            Tree::Knomial(k) => (ranks - 1).ilog(k) - digit_weight(rank, k).ilog(k),
            Tree::Binary => (rank + 1).ilog2() - 1,
        }
    }

    /// Steps from the root to the last rank.
    pub(super) fn steps(self, ranks: u32) -> u32 {
        match self {
            _ if ranks < 2 => 0,
            Tree::Flat => 1,
            Tree::Chain => ranks - 1,
            Tree::Binomial | Tree::BinomialHigh => (ranks - 1).ilog2() + 1,
            Tree::Knomial(k) => (ranks - 1).ilog(k) + 1,
            Tree::Binary => ranks.ilog2(),
        }
    }

    /// How many ranks from `rank` on are its subtree, where subtrees are runs of ranks.
    pub(super) fn subtree(self, rank: u32, ranks: u32) -> u32 {
        let span = match self {
            Tree::Flat => 1,
            Tree::Binomial => 1 << rank.trailing_zeros(),
            Tree::Knomial(k) => digit_weight(rank, k),
            Tree::Chain | Tree::BinomialHigh | Tree::Binary => ranks,
        };
        span.min(ranks - rank)
    }
}

/// The weight of the lowest digit of `rank` that is not 0, in base `k`.
fn digit_weight(rank: u32, k: u32) -> u32 {
    let mut weight = 1;
    while rank / weight % k == 0 {
        weight *= k;
    }
    weight
}
