//! Open MPI: `coll/tuned` for blocking calls, `coll/libnbc` for non-blocking ones, `coll/basic`
//! for what neither has.

mod algorithms;
mod libnbc;
mod tables;

use super::{Prediction, Query, trust};
use crate::library::Forced;
use crate::op::Collective;
use crate::pattern::Pattern;
use algorithms::{Tuned, tuned_of};
use tables::Row;

/// What the component does for a call, before the version's trust is counted in.
struct Choice {
    pattern: Pattern,
    segment_bytes: Option<u64>,
    confidence: f64,
    because: String,
}

/// Variables whose presence means that other components than those below may decide.
const OTHER_DECIDERS: [&str; 8] = [
    "OMPI_MCA_coll",
    "OMPI_MCA_coll_tuned_dynamic_rules_filename",
    "OMPI_MCA_coll_tuned_priority",
    "OMPI_MCA_coll_han_priority",
    "OMPI_MCA_coll_adapt_priority",
    "OMPI_MCA_coll_sm_priority",
    "OMPI_MCA_coll_hcoll_enable",
    "OMPI_MCA_coll_ucc_enable",
];

pub(super) fn predict(query: &Query, forced: &Forced) -> Prediction {
    let choice =
        if query.nonblocking { libnbc::choose(query, forced) } else { tuned(query, forced) };
    let library = query.library;
    let (version_trust, version_words) = match (library.major, library.minor) {
        (4, 1) => (trust::EXACT, ""),
        (5, _) if query.hosts == Some(query.ranks) => (trust::ALIKE, "; rules of 4.1"),
        (5, _) => (trust::GUESS, "; rules of 4.1, but coll/han may decide in this version"),
        _ => (trust::GUESS, "; rules of 4.1, this version's are other ones"),
    };
    let mut confidence = choice.confidence.min(version_trust.max(trust::GUESS));
    if choice.confidence == trust::FORCED {
        confidence = trust::FORCED;
    }
    let mut because = format!("Open MPI, {}{version_words}", choice.because);
    if let Some(name) = OTHER_DECIDERS.iter().find(|name| forced.get(name).is_some()) {
        confidence = confidence.min(trust::GUESS);
        because.push_str(&format!("; {name} is set, so another component may decide"));
    }
    Prediction {
        pattern: choice.pattern,
        segment_bytes: choice.segment_bytes,
        two_level: false,
        confidence,
        because: because.into(),
    }
}

/// The algorithm that a table names.
fn look_up(rules: &[Row], ranks: u32, bytes: u64) -> usize {
    let row = rules.iter().find(|(below, _)| ranks < *below || *below == u32::MAX);
    let cell = row.and_then(|(_, cells)| {
        cells.iter().find(|(below, _)| bytes < *below || *below == u64::MAX)
    });
    cell.map_or(0, |(_, algorithm)| usize::from(*algorithm))
}

fn tuned(query: &Query, forced: &Forced) -> Choice {
    let Some(tuned) = tuned_of(query.collective) else { return basic(query) };
    if query.collective == Collective::Alltoall && query.in_place {
        let because = "alltoall in place: pairs exchange in turn".to_owned();
        return Choice {
            pattern: Pattern::Pairwise,
            segment_bytes: None,
            confidence: trust::EXACT,
            because,
        };
    }
    if let Some(number) = forced_number(forced, &tuned) {
        let variable = format!("OMPI_MCA_coll_tuned_{}_segmentsize", tuned.name);
        let segment = forced.get(&variable).and_then(|value| value.parse().ok());
        return algorithm(query, &tuned, number, segment, trust::FORCED, forced);
    }
    let number = look_up(tuned.rules, query.ranks, query.bytes);
    let mut choice = algorithm(query, &tuned, number, None, trust::EXACT, forced);
    // The program's own operation: only it knows whether that one is commutative.
    let ordered = look_up(tuned.ordered_rules, query.ranks, query.bytes);
    if !query.predefined_op && ordered != number {
        choice.confidence = choice.confidence.min(trust::GUESS);
        choice.because.push_str(" if the program's own operation is commutative");
    }
    choice
}

/// The algorithm's number that the environment forces; values may be names.
fn forced_number(forced: &Forced, tuned: &Tuned) -> Option<usize> {
    let on = forced.get("OMPI_MCA_coll_tuned_use_dynamic_rules")?;
    if !matches!(on, "1" | "true" | "yes" | "t" | "y" | "enabled") {
        return None;
    }
    let value = forced.get(&format!("OMPI_MCA_coll_tuned_{}_algorithm", tuned.name))?;
    let by_name = || tuned.algorithms.iter().position(|(name, _)| *name == value).map(|i| i + 1);
    let number = value.parse().ok().or_else(by_name)?;
    (1..=tuned.algorithms.len()).contains(&number).then_some(number)
}

/// What algorithm `number` comes to for this call: some fall back on another one.
fn algorithm(
    query: &Query,
    tuned: &Tuned,
    number: usize,
    segment_bytes: Option<u64>,
    confidence: f64,
    forced: &Forced,
) -> Choice {
    let entry = number.checked_sub(1).and_then(|index| tuned.algorithms.get(index));
    let (name, named) = entry.copied().unwrap_or(("none", Pattern::Unknown));
    let pattern = fall_back(query, named, segment_bytes);
    let forced_word = if confidence == trust::FORCED { "forced " } else { "" };
    let mut because = format!(
        "coll/tuned: {} of {} B on {} ranks takes {forced_word}algorithm {number} ({name})",
        tuned.name, query.bytes, query.ranks
    );
    if pattern != named {
        because.push_str(&format!(", which falls back on {}", pattern.name()));
    }
    let segments = matches!(
        pattern,
        Pattern::Chain | Pattern::BinaryTree | Pattern::BinomialTree | Pattern::KnomialTree
    );
    let mut choice = Choice {
        pattern,
        segment_bytes: segment_bytes.filter(|bytes| segments && *bytes > 0),
        confidence,
        because,
    };
    if name == "in-order_binary" {
        choice.confidence = choice.confidence.min(trust::OUTLINE);
    }
    if named == Pattern::ReduceBroadcast {
        refine_composite(query, &mut choice, forced);
    }
    choice
}

/// What an algorithm turns into when the vector is too short for it or the ranks do not fit it.
fn fall_back(query: &Query, named: Pattern, segment_bytes: Option<u64>) -> Pattern {
    let power = 1 << query.ranks.ilog2();
    let elements = query.elements;
    match (query.collective, named) {
        (Collective::Allreduce, Pattern::Ring | Pattern::SegmentedRing)
            if elements < query.ranks =>
        {
            Pattern::RecursiveDoubling
        }
        (Collective::Allreduce, Pattern::SegmentedRing) => match segment_bytes {
            // A segmented ring of one segment a block is the plain ring.
            Some(bytes) if bytes > 0 && query.bytes / u64::from(query.ranks) > bytes => named,
            _ => Pattern::Ring,
        },
        (Collective::Allreduce | Collective::Reduce, Pattern::RecursiveHalvingDoubling)
            if elements < power =>
        {
            Pattern::Linear
        }
        (Collective::Bcast, Pattern::ScatterAllgather | Pattern::Ring)
            if elements < query.ranks =>
        {
            Pattern::Linear
        }
        (Collective::Bcast, Pattern::DoubleTree) if elements < 2 => Pattern::Chain,
        (Collective::Allgather, Pattern::RecursiveDoubling) if !query.ranks.is_power_of_two() => {
            Pattern::Bruck
        }
        (Collective::Allgather | Collective::Allgatherv, Pattern::NeighborExchange)
            if query.ranks % 2 == 1 =>
        {
            Pattern::Ring
        }
        _ => named,
    }
}

/// Collectives that call others: what those do decides how far the outline is right.
fn refine_composite(query: &Query, choice: &mut Choice, forced: &Forced) {
    let ranks = u64::from(query.ranks);
    let part = |collective, bytes: u64, elements: u64| {
        let elements = u32::try_from(elements).unwrap_or(u32::MAX);
        let part = Query { collective, bytes, elements, in_place: false, ..*query };
        tuned(&part, forced).pattern
    };
    let elements = u64::from(query.elements);
    let (exact, linear) = match query.collective {
        Collective::Allreduce => {
            let first = part(Collective::Reduce, query.bytes, elements);
            let second = part(Collective::Bcast, query.bytes, elements);
            let both = (first, second);
            let exact = both == (Pattern::BinomialTree, Pattern::BinomialTree);
            (exact, both == (Pattern::Linear, Pattern::Linear))
        }
        Collective::ReduceScatter => {
            let first = part(Collective::Reduce, query.bytes, elements);
            (first == Pattern::BinomialTree, first == Pattern::Linear)
        }
        Collective::ReduceScatterBlock => {
            let (bytes, elements) = (query.bytes.saturating_mul(ranks), elements * ranks);
            let first = part(Collective::Reduce, bytes, elements);
            let second = part(Collective::Scatter, query.bytes, u64::from(query.elements));
            let scatters = second == Pattern::Linear;
            (scatters && first == Pattern::BinomialTree, scatters && first == Pattern::Linear)
        }
        _ => {
            let (bytes, elements) = (query.bytes.saturating_mul(ranks), elements * ranks);
            (part(Collective::Bcast, bytes, elements) == Pattern::BinomialTree, false)
        }
    };
    if linear {
        choice.pattern = Pattern::Linear;
    } else if !exact {
        choice.confidence = choice.confidence.min(trust::OUTLINE);
        choice.because.push_str(", built of other collectives");
    }
}

/// What `coll/tuned` leaves to `coll/basic`.
fn basic(query: &Query) -> Choice {
    let (pattern, how) = match query.collective {
        Collective::Gatherv | Collective::Scatterv => (Pattern::Linear, "the root in turn"),
        Collective::Alltoallw => (Pattern::Linear, "everybody with everybody"),
        Collective::Scan | Collective::Exscan => (Pattern::Chain, "rank after rank"),
        _ => (Pattern::Unknown, "not known"),
    };
    let confidence = if pattern == Pattern::Unknown { trust::NONE } else { trust::EXACT };
    let because = format!("coll/basic: {how}");
    Choice { pattern, segment_bytes: None, confidence, because }
}
