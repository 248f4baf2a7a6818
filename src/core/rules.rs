//! Which pattern a library takes for a call, by the library's own published decision rules.
//!
//! The rules are functions of the communicator's size and the call's bytes, the same in every
//! rank; PAS knows them for Open MPI (`openmpi`) and MPICH (`mpich`). What the environment
//! forces goes before them. Of any other library the answer is [`Pattern::Unknown`].

mod mpich;
mod openmpi;

#[cfg(test)]
mod tests;

use crate::library::{Family, Forced, Library};
use crate::op::Collective;
use crate::pattern::Pattern;
use crate::schedule::Shape;
use std::borrow::Cow;

/// One call, as far as a decision rule looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// The library that carries it out.
    pub library: Library,
    /// The collective.
    pub collective: Collective,
    /// True of the non-blocking call.
    pub nonblocking: bool,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// Hosts that they are on, where that is known.
    pub hosts: Option<u32>,
    /// Bytes of one block, as [`crate::event::Event::bytes`] says.
    pub bytes: u64,
    /// Elements of one block.
    pub elements: u32,
    /// The operation is a predefined one, and so commutative; of no interest where there is none.
    pub predefined_op: bool,
    /// The send buffer is `MPI_IN_PLACE`.
    pub in_place: bool,
}

/// How the library carries the call out, as far as can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The pattern.
    pub pattern: Pattern,
    /// Bytes of one pipeline segment, where there are segments.
    pub segment_bytes: Option<u64>,
    /// True where only the first rank of each host takes part in the pattern, and the others get
    /// theirs from it through shared memory.
    pub two_level: bool,
    /// 0 to 1.
    pub confidence: f64,
    /// The rule, in words.
    pub because: Cow<'static, str>,
}

/// How far a rule is to be trusted.
mod trust {
    /// The environment names the algorithm.
    pub(super) const FORCED: f64 = 0.98;
    /// Read off the very series of versions that runs, and compared with its traffic.
    pub(super) const EXACT: f64 = 0.95;
    /// Another series of the same library, whose rules are known to be alike.
    pub(super) const ALIKE: f64 = 0.6;
    /// One collective is built of others, and only its outline is certain.
    pub(super) const OUTLINE: f64 = 0.5;
    /// Something else decides that PAS does not see, or the version's rules are other ones.
    pub(super) const GUESS: f64 = 0.3;
    /// Nothing is known.
    pub(super) const NONE: f64 = 0.0;
}

impl Prediction {
    fn new(pattern: Pattern, confidence: f64, because: impl Into<Cow<'static, str>>) -> Prediction {
        Prediction {
            pattern,
            segment_bytes: None,
            two_level: false,
            confidence,
            because: because.into(),
        }
    }

    fn unknown(because: impl Into<Cow<'static, str>>) -> Prediction {
        Prediction::new(Pattern::Unknown, trust::NONE, because)
    }
}

/// What the library does for a call.
pub fn predict(query: &Query, forced: &Forced) -> Prediction {
    use Collective::{
        NeighborAllgather, NeighborAllgatherv, NeighborAlltoall, NeighborAlltoallv,
        NeighborAlltoallw,
    };
    if query.ranks <= 1 {
        return Prediction::new(Pattern::Linear, 1.0, "one rank alone sends nothing");
    }
    if matches!(
        query.collective,
        NeighborAllgather
            | NeighborAllgatherv
            | NeighborAlltoall
            | NeighborAlltoallv
            | NeighborAlltoallw
    ) {
        let because = "neighbourhood collectives follow the communicator's topology";
        return Prediction::new(Pattern::Neighborhood, trust::EXACT, because);
    }
    let mut prediction = match query.library.family {
        Family::OpenMpi => openmpi::predict(query, forced),
        Family::Mpich => mpich::predict(query, forced),
        Family::IntelMpi => Prediction::unknown("Intel MPI's decision rules are not published"),
        Family::Mvapich => Prediction::unknown("MVAPICH's tuning tables are not in PAS"),
        Family::Other => Prediction::unknown("the MPI library is not one that PAS knows"),
    };
    if query.ranks == 2 {
        prediction.pattern = of_two_ranks(query, &prediction);
    }
    prediction
}

/// Two ranks have one pair: patterns that put the same bytes on it get one and the same name.
fn of_two_ranks(query: &Query, prediction: &Prediction) -> Pattern {
    let Some(usual) = usual_of_two(query.collective) else { return prediction.pattern };
    let traffic = |pattern| {
        let shape = Shape {
            collective: query.collective,
            pattern,
            family: query.library.family,
            nonblocking: query.nonblocking,
            ranks: 2,
            root: 0,
            bytes: query.bytes,
            elements: query.elements,
            segment_bytes: None,
        };
        let mut sent = [0u64; 2];
        let sum = |from: u32, _, bytes| {
            sent[from as usize] = sent[from as usize].saturating_add(bytes);
        };
        shape.pair_bytes(sum).ok().map(|()| sent)
    };
    match (traffic(usual), traffic(prediction.pattern)) {
        (Some(usual_sent), Some(sent)) if usual_sent == sent => usual,
        _ => prediction.pattern,
    }
}

/// The name that a pattern of two ranks gets.
fn usual_of_two(collective: Collective) -> Option<Pattern> {
    Some(match collective {
        Collective::Barrier | Collective::Allreduce => Pattern::RecursiveDoubling,
        Collective::Allgather | Collective::Allgatherv => Pattern::RecursiveDoubling,
        Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => Pattern::Pairwise,
        Collective::ReduceScatter | Collective::ReduceScatterBlock => Pattern::RecursiveHalving,
        Collective::Bcast | Collective::Reduce => Pattern::BinomialTree,
        Collective::Gather | Collective::Gatherv => Pattern::BinomialTree,
        Collective::Scatter | Collective::Scatterv => Pattern::BinomialTree,
        Collective::Scan | Collective::Exscan => Pattern::Chain,
        Collective::NeighborAllgather
        | Collective::NeighborAllgatherv
        | Collective::NeighborAlltoall
        | Collective::NeighborAlltoallv
        | Collective::NeighborAlltoallw => return None,
    })
}
