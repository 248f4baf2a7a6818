//! `coll/libnbc`: the non-blocking calls.

use super::Choice;
use crate::library::Forced;
use crate::op::Collective;
use crate::pattern::Pattern;
use crate::rules::{Query, trust};

/// From so many bytes on a reduction's vector is cut or scattered.
const SMALL_BYTES: u64 = 65_536;

/// What `coll/libnbc` does for a call.
pub(super) fn choose(query: &Query, forced: &Forced) -> Choice {
    let by_force = forced_pattern(query.collective, forced);
    let pattern = by_force.unwrap_or_else(|| fixed(query));
    // Chains are all that it cuts into segments.
    let segment_bytes = match (pattern, query.collective) {
        (Pattern::Chain, Collective::Bcast) => Some(16_384),
        (Pattern::Chain, Collective::Reduce) => Some(8192),
        _ => None,
    };
    let confidence = match pattern {
        Pattern::Unknown => trust::NONE,
        _ if by_force.is_some() => trust::FORCED,
        _ => trust::EXACT,
    };
    let because =
        format!("coll/libnbc: {} B on {} ranks takes {}", query.bytes, query.ranks, pattern.name());
    Choice { pattern, segment_bytes, confidence, because }
}

/// The algorithm that the environment names.
fn forced_pattern(collective: Collective, forced: &Forced) -> Option<Pattern> {
    use Pattern::{
        BinomialTree, Chain, KnomialTree, Linear, RecursiveDoubling, RecursiveHalvingDoubling,
        ReduceBroadcast, Ring,
    };
    let (name, patterns): (_, &[Pattern]) = match collective {
        Collective::Allreduce => {
            ("iallreduce", &[Ring, ReduceBroadcast, RecursiveHalvingDoubling, RecursiveDoubling])
        }
        Collective::Bcast => ("ibcast", &[Linear, BinomialTree, Chain, KnomialTree]),
        Collective::Reduce => ("ireduce", &[Chain, BinomialTree, RecursiveHalvingDoubling]),
        Collective::Allgather => ("iallgather", &[Linear, RecursiveDoubling]),
        Collective::Scan => ("iscan", &[Chain, RecursiveDoubling]),
        Collective::Exscan => ("iexscan", &[Chain, RecursiveDoubling]),
        _ => return None,
    };
    let value = forced.get(&format!("OMPI_MCA_coll_libnbc_{name}_algorithm"))?;
    let number: usize = value.parse().ok()?;
    patterns.get(number.checked_sub(1)?).copied()
}

/// The fixed rules.
fn fixed(query: &Query) -> Pattern {
    let long_enough = query.elements >= 1 << query.ranks.ilog2();
    let commutative = query.predefined_op;
    let small = query.bytes < SMALL_BYTES;
    match query.collective {
        Collective::Allreduce => {
            if query.ranks < 4 || small || !commutative || query.in_place || !long_enough {
                Pattern::ReduceBroadcast
            } else {
                Pattern::RecursiveHalvingDoubling
            }
        }
        // It would cut longer vectors for a chain, but by default leaves the size out of account:
        // ranks may give different counts and datatypes.
        Collective::Bcast if query.ranks <= 4 => Pattern::Linear,
        Collective::Bcast => Pattern::BinomialTree,
        Collective::Reduce => {
            if commutative && query.ranks > 2 && long_enough {
                Pattern::RecursiveHalvingDoubling
            } else if query.ranks > 4 || small || !commutative {
                Pattern::BinomialTree
            } else {
                Pattern::Chain
            }
        }
        Collective::Scan | Collective::Exscan => Pattern::Chain,
        Collective::Barrier => Pattern::Dissemination,
        Collective::ReduceScatter | Collective::ReduceScatterBlock => Pattern::ReduceBroadcast,
        Collective::Allgather
        | Collective::Allgatherv
        | Collective::Alltoall
        | Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Gather
        | Collective::Gatherv
        | Collective::Scatter
        | Collective::Scatterv => Pattern::Linear,
        _ => Pattern::Unknown,
    }
}
