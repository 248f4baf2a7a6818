//! MPICH: the selection trees of the ch4 device and of the portable layer below it.
//!
//! A communicator with several ranks on some of several hosts is two-level for bcast, reduce,
//! allreduce and barrier: the device reduces or spreads within each host through shared memory,
//! and the first ranks of the hosts carry out the collective among themselves, by the same rules
//! as a communicator of that many ranks.

use super::{Prediction, Query, trust};
use crate::library::Forced;
use crate::op::Collective;
use crate::pattern::Pattern;

/// Below so many bytes a reduction is not scattered.
const REDUCE_SHORT_BYTES: u64 = 2048;
/// An allreduce of up to so many bytes is not scattered.
const ALLREDUCE_SHORT_BYTES: u64 = 8;
/// A broadcast of up to so many bytes goes down a tree.
const BCAST_SHORT_BYTES: u64 = 12_288;
/// A broadcast of more bytes ends in a ring.
const BCAST_LONG_BYTES: u64 = 524_288;
/// Fewer ranks always broadcast down a tree.
const BCAST_RANKS_MIN: u32 = 8;
/// All blocks together; from so many bytes on an allgather is a ring.
const ALLGATHER_LONG_BYTES: u64 = 524_288;
/// The same where the ranks are not a power of two.
const ALLGATHER_BRUCK_BYTES: u64 = 81_920;
/// All blocks together; from so many bytes on a reduce-scatter is pairwise.
const REDUCE_SCATTER_LONG_BYTES: u64 = 524_288;
/// An alltoall of blocks of up to so many bytes is Bruck's.
const ALLTOALL_BRUCK_BYTES: u64 = 256;
/// The same of the non-blocking call.
const IALLTOALL_BRUCK_BYTES: u64 = 2048;
/// Up to so many bytes a block everybody sends to everybody at once.
const ALLTOALL_MEDIUM_BYTES: u64 = 32_768;
/// Fewer ranks never take Bruck's. The published tree says 8; 4.0.2 was seen to act on 9.
const ALLTOALL_RANKS_MIN: u32 = 9;

pub(super) fn predict(query: &Query, forced: &Forced) -> Prediction {
    let (version_trust, version_words) = match query.library.major {
        4 => (trust::EXACT, ""),
        3 | 5 => (trust::ALIKE, "; rules of 4.0"),
        _ => (trust::GUESS, "; rules of 4.0, this version's are other ones"),
    };
    let levels = levels(query);
    let (inner, two_level, level_words) = match levels {
        Levels::Flat => (*query, false, ""),
        Levels::Two(hosts) => {
            (Query { ranks: hosts, ..*query }, true, " among the hosts' first ranks")
        }
        Levels::OneHost => (*query, false, "; on one host, where shared memory may serve instead"),
        Levels::NotKnown => (*query, false, "; two levels, if several ranks share a host"),
    };
    if inner.ranks < 2 {
        return Prediction::unknown("MPICH: one host, through shared memory");
    }
    let by_force = forced_pattern(&inner, forced);
    let (pattern, rule) = by_force.unwrap_or_else(|| (fixed(&inner), None));
    let mut confidence = if rule.is_some() { trust::FORCED } else { version_trust };
    if matches!(levels, Levels::OneHost | Levels::NotKnown) {
        confidence = confidence.min(trust::ALIKE);
    }
    if pattern == Pattern::Unknown {
        confidence = trust::NONE;
    }
    let how = match rule {
        Some(variable) => format!("{variable} forces {}", pattern.name()),
        None => format!("{} B on {} ranks takes {}", query.bytes, inner.ranks, pattern.name()),
    };
    Prediction {
        pattern,
        segment_bytes: None,
        two_level,
        confidence,
        because: format!("MPICH, selection of algorithms: {how}{level_words}{version_words}")
            .into(),
    }
}

/// Whether the collective is carried out within hosts first.
enum Levels {
    Flat,
    Two(u32),
    OneHost,
    NotKnown,
}

fn levels(query: &Query) -> Levels {
    use Collective::{Allreduce, Barrier, Bcast, Reduce, Scan};
    let minds = if query.nonblocking {
        matches!(query.collective, Bcast | Reduce | Scan)
    } else {
        matches!(query.collective, Bcast | Reduce | Allreduce | Barrier | Scan)
    };
    let commutes = match query.collective {
        Reduce | Allreduce => query.predefined_op,
        // A large broadcast over many ranks that are not a power of two is flat.
        Bcast if !query.nonblocking => {
            query.ranks < BCAST_RANKS_MIN
                || query.bytes < BCAST_SHORT_BYTES
                || (query.ranks.is_power_of_two() && query.bytes < BCAST_LONG_BYTES)
        }
        _ => true,
    };
    match query.hosts {
        Some(hosts) if hosts == query.ranks => Levels::Flat,
        Some(1) => Levels::OneHost,
        _ if !minds || !commutes => Levels::Flat,
        Some(hosts) => Levels::Two(hosts),
        None => Levels::NotKnown,
    }
}

/// The selection trees.
fn fixed(query: &Query) -> Pattern {
    let ranks = query.ranks;
    let power_of_two = ranks.is_power_of_two();
    let all_bytes = query.bytes.saturating_mul(u64::from(ranks));
    match query.collective {
        Collective::Barrier => Pattern::Dissemination,
        Collective::Bcast => bcast(query),
        Collective::Reduce if scatters(query, REDUCE_SHORT_BYTES) => {
            Pattern::RecursiveHalvingDoubling
        }
        Collective::Reduce => Pattern::BinomialTree,
        Collective::Allreduce => {
            let short = if query.nonblocking { REDUCE_SHORT_BYTES } else { ALLREDUCE_SHORT_BYTES };
            if scatters(query, short) {
                Pattern::RecursiveHalvingDoubling
            } else {
                Pattern::RecursiveDoubling
            }
        }
        Collective::Allgather | Collective::Allgatherv => match power_of_two {
            true if all_bytes < ALLGATHER_LONG_BYTES => Pattern::RecursiveDoubling,
            false if all_bytes < ALLGATHER_BRUCK_BYTES => Pattern::Bruck,
            _ => Pattern::Ring,
        },
        Collective::ReduceScatter | Collective::ReduceScatterBlock => {
            let bytes = match (query.collective, query.nonblocking) {
                (Collective::ReduceScatter, _) => query.bytes,
                (_, false) => all_bytes,
                // Here 4.0 counts the elements of all blocks where it means their bytes.
                (_, true) => u64::from(query.elements) * u64::from(ranks),
            };
            match (query.predefined_op, bytes < REDUCE_SCATTER_LONG_BYTES) {
                (true, true) => Pattern::RecursiveHalving,
                (true, false) => Pattern::Pairwise,
                (false, _) => Pattern::RecursiveDoubling,
            }
        }
        Collective::Gather | Collective::Scatter => Pattern::BinomialTree,
        Collective::Gatherv | Collective::Scatterv => Pattern::Linear,
        Collective::Alltoall => alltoall(query),
        Collective::Alltoallv | Collective::Alltoallw if query.in_place => Pattern::Pairwise,
        Collective::Alltoallv | Collective::Alltoallw => Pattern::Linear,
        Collective::Scan | Collective::Exscan => Pattern::RecursiveDoubling,
        _ => Pattern::Unknown,
    }
}

/// True where a reduction's vector is scattered first.
fn scatters(query: &Query, short_bytes: u64) -> bool {
    let power = 1 << query.ranks.ilog2();
    query.bytes > short_bytes && query.predefined_op && query.elements >= power
}

fn bcast(query: &Query) -> Pattern {
    // The non-blocking tree says "less than" where the other one says "up to".
    let within = |limit| query.bytes < limit || (query.bytes == limit && !query.nonblocking);
    if query.ranks < BCAST_RANKS_MIN || within(BCAST_SHORT_BYTES) {
        Pattern::BinomialTree
    } else if query.ranks.is_power_of_two() && within(BCAST_LONG_BYTES) {
        Pattern::ScatterAllgather
    } else {
        Pattern::Ring
    }
}

fn alltoall(query: &Query) -> Pattern {
    let bruck = if query.nonblocking { IALLTOALL_BRUCK_BYTES } else { ALLTOALL_BRUCK_BYTES };
    if query.in_place {
        Pattern::Pairwise
    } else if query.ranks >= ALLTOALL_RANKS_MIN && query.bytes <= bruck {
        Pattern::Bruck
    } else if query.bytes <= ALLTOALL_MEDIUM_BYTES {
        Pattern::Linear
    } else {
        Pattern::Pairwise
    }
}

/// What `MPIR_CVAR_{COLLECTIVE}_INTRA_ALGORITHM` forces; names that PAS cannot place are an
/// unknown pattern, not a wrong one.
fn forced_pattern(query: &Query, forced: &Forced) -> Option<(Pattern, Option<String>)> {
    let name = cvar_name(query.collective)?;
    let prefix = if query.nonblocking { "I" } else { "" };
    let variable = format!("MPIR_CVAR_{prefix}{name}_INTRA_ALGORITHM");
    let value = forced.get(&variable)?;
    let plain = value.trim_start_matches("sched_");
    let pattern = match plain {
        "auto" | "nb" | "smp" => return None,
        "recursive_doubling" if query.collective == Collective::Barrier => Pattern::Dissemination,
        "recursive_doubling" => Pattern::RecursiveDoubling,
        "reduce_scatter_allgather" | "reduce_scatter_gather" => Pattern::RecursiveHalvingDoubling,
        "recursive_halving" => Pattern::RecursiveHalving,
        "binomial" => Pattern::BinomialTree,
        "ring" => Pattern::Ring,
        "brucks" => Pattern::Bruck,
        "pairwise" | "pairwise_sendrecv_replace" | "inplace" => Pattern::Pairwise,
        "scattered" | "permuted_sendrecv" | "blocked" | "linear" => Pattern::Linear,
        "dissemination" => Pattern::Dissemination,
        "scatter_recursive_doubling_allgather" => Pattern::ScatterAllgather,
        "scatter_ring_allgather" => Pattern::Ring,
        "noncommutative" => Pattern::RecursiveDoubling,
        _ => Pattern::Unknown,
    };
    Some((pattern, Some(variable)))
}

fn cvar_name(collective: Collective) -> Option<&'static str> {
    Some(match collective {
        Collective::Barrier => "BARRIER",
        Collective::Bcast => "BCAST",
        Collective::Gather => "GATHER",
        Collective::Gatherv => "GATHERV",
        Collective::Scatter => "SCATTER",
        Collective::Scatterv => "SCATTERV",
        Collective::Allgather => "ALLGATHER",
        Collective::Allgatherv => "ALLGATHERV",
        Collective::Alltoall => "ALLTOALL",
        Collective::Alltoallv => "ALLTOALLV",
        Collective::Alltoallw => "ALLTOALLW",
        Collective::Reduce => "REDUCE",
        Collective::Allreduce => "ALLREDUCE",
        Collective::ReduceScatterBlock => "REDUCE_SCATTER_BLOCK",
        Collective::ReduceScatter => "REDUCE_SCATTER",
        Collective::Scan => "SCAN",
        Collective::Exscan => "EXSCAN",
        _ => return None,
    })
}
