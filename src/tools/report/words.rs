//! Figures and names in words: the one place where the report's language is.

use pas_core::op::Collective;
use pas_core::pattern::{Pattern, Source};
use pas_core::units::Nanos;
use pas_core::wire::{Decision, Mode, Reason, Trend};

/// `6.25 MiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.995 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), UNITS[unit])
}

/// `153 ms`, `1.42 s`, `12 min 5 s`.
pub fn duration(nanos: Nanos) -> String {
    let ns = nanos.0;
    let seconds = ns / 1_000_000_000;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..999_500 => format!("{} µs", three_digits(ns as f64 / 1e3)),
        999_500..999_500_000 => format!("{} ms", three_digits(ns as f64 / 1e6)),
        999_500_000..120_000_000_000 => format!("{} s", three_digits(ns as f64 / 1e9)),
        _ if seconds < 7200 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `25 Gbit/s`.
pub fn rate(bps: u64) -> String {
    match bps {
        1_000_000_000.. => format!("{} Gbit/s", three_digits(bps as f64 / 1e9)),
        1_000_000.. => format!("{} Mbit/s", three_digits(bps as f64 / 1e6)),
        _ => format!("{bps} bit/s"),
    }
}

/// `1,024`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 rank`, `4 ranks`.
pub fn plural(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number))
}

/// A number in three significant digits, whole from 100 on, without needless zeros.
pub fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        99.95.. => 0,
        9.995.. => 1,
        0.9995.. => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_string();
    }
    text
}

/// A loss or a metric: four significant digits, or the exponent's form where it is tiny or huge.
pub fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        1e-4..1e6 => {
            let before = value.abs().log10().floor() as i32;
            let decimals = usize::try_from(3 - before).unwrap_or(0);
            format!("{value:.decimals$}")
        }
        _ => format!("{value:.3e}"),
    }
}

/// The text without control characters. Names come from programs and files, and one that moved the
/// cursor or retitled the window would be a trap.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// `0-2, 5, 7-9`; after `most` runs, how many more ranks there are.
pub fn ranges(sorted: &[u32], most: usize) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for rank in sorted {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*rank) => *last = *rank,
            _ => runs.push((*rank, *rank)),
        }
    }
    let rest: u64 = runs.iter().skip(most).map(|(a, b)| u64::from(b - a) + 1).sum();
    let mut words: Vec<String> = runs
        .iter()
        .take(most)
        .map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") })
        .collect();
    if rest > 0 {
        words.push(format!("and {} more", count(rest)));
    }
    words.join(", ")
}

/// The collective as a person writes it: `allreduce`.
pub fn collective(collective: Option<Collective>) -> &'static str {
    let Some(collective) = collective else {
        return "point-to-point";
    };
    match collective {
        Collective::Barrier => "barrier",
        Collective::Bcast => "bcast",
        Collective::Gather => "gather",
        Collective::Gatherv => "gatherv",
        Collective::Scatter => "scatter",
        Collective::Scatterv => "scatterv",
        Collective::Allgather => "allgather",
        Collective::Allgatherv => "allgatherv",
        Collective::Alltoall => "alltoall",
        Collective::Alltoallv => "alltoallv",
        Collective::Alltoallw => "alltoallw",
        Collective::Reduce => "reduce",
        Collective::Allreduce => "allreduce",
        Collective::ReduceScatterBlock => "reduce_scatter_block",
        Collective::ReduceScatter => "reduce_scatter",
        Collective::Scan => "scan",
        Collective::Exscan => "exscan",
        Collective::NeighborAllgather => "neighbor_allgather",
        Collective::NeighborAllgatherv => "neighbor_allgatherv",
        Collective::NeighborAlltoall => "neighbor_alltoall",
        Collective::NeighborAlltoallv => "neighbor_alltoallv",
        Collective::NeighborAlltoallw => "neighbor_alltoallw",
    }
}

/// The pattern's name with blanks.
pub fn pattern(pattern: Pattern) -> String {
    pattern.name().replace('_', " ")
}

/// What a pattern is, for somebody who never heard of it.
pub fn pattern_about(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Ring => {
            "Every rank passes a piece on to its right neighbour, round and round, until all have \
             everything. The neighbours never change, so one set of circuits serves every step."
        }
        Pattern::SegmentedRing => {
            "A ring whose pieces are cut smaller, so that passing on overlaps with receiving. The \
             neighbours are those of the ring."
        }
        Pattern::RecursiveDoubling => {
            "In each step every rank swaps everything it has with a partner twice as far away as \
             in the step before. Every step has other partners, and so would like other circuits."
        }
        Pattern::RecursiveHalvingDoubling => {
            "Ranks first swap and sum ever smaller halves, then swap ever larger sums back \
             (Rabenseifner). The partners change in every step."
        }
        Pattern::RecursiveHalving => {
            "Ranks swap and sum ever smaller halves. The partners change in every step."
        }
        Pattern::Butterfly => {
            "Ranks swap and sum ever smaller halves, the nearest partners first. The partners \
             change in every step."
        }
        Pattern::BinomialTree => {
            "One rank tells another, both tell two more, and so on; or the same backwards. Who \
             sends doubles with each step."
        }
        Pattern::KnomialTree => "A tree in which every rank tells several others in each step.",
        Pattern::BinaryTree => "A tree in which every rank tells two others, piece after piece.",
        Pattern::DoubleTree => "Two trees that carry one half of the data each.",
        Pattern::ReduceBroadcast => "Everything is summed at one rank, which then tells all.",
        Pattern::ScatterAllgather => {
            "One rank hands out a piece to each, and then all pass their pieces on to all."
        }
        Pattern::Chain => "Each rank passes every piece on to the next one, in one line.",
        Pattern::Linear => "One rank talks with all others, or everybody with everybody.",
        Pattern::Bruck => {
            "In each step every rank sends to one twice as far away as before, always to the same \
             side."
        }
        Pattern::Pairwise => "In each step every rank sends to another one, until all are done.",
        Pattern::Dissemination => {
            "In each step every rank gives a sign to one twice as far away as before; no data."
        }
        Pattern::NeighborExchange => "Neighbours swap in pairs, left and right in turn.",
        Pattern::Neighborhood => "The program itself laid down who talks with whom.",
        Pattern::Irregular => "Messages that follow no pattern with a name.",
        Pattern::Unknown => "PAS could not tell how this is carried out, and asks for nothing.",
    }
}

/// Where a finding is from, as an adjective.
pub fn source(source: Source) -> &'static str {
    match source {
        Source::Declared => "declared",
        Source::Predicted => "predicted",
        Source::Observed => "observed",
    }
}

/// What that adjective means.
pub fn source_about(source: Source) -> &'static str {
    match source {
        Source::Declared => "the program or its user said so",
        Source::Predicted => "the MPI library's published rules say so",
        Source::Observed => "PAS saw the messages",
    }
}

/// What the shim did in this mode.
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Off => "off: PAS stands aside",
        Mode::Observe => "observe: watches and reports, asks for nothing",
        Mode::Advise => "advise: asks for circuits ahead of time, never makes the job wait",
    }
}

/// The MPI's name and version, of the long line that it says of itself.
pub fn library(line: &str) -> &str {
    line.split(',').next().unwrap_or(line).trim()
}

/// What became of a request.
pub fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Granted => "granted",
        Decision::Partial => "partly granted",
        Decision::Hold => "held",
        Decision::Refused => "refused",
    }
}

/// Why, in a few words.
pub fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Switched => "new circuits were set up",
        Reason::Parked => "the circuits were still there from before",
        Reason::OneHost => "all ranks are on one host, nothing crosses the network",
        Reason::TooSmall => "too few bytes to pay for switching",
        Reason::LinkUpTooLong => "links take longer to come up than switching would save",
        Reason::LowConfidence => "PAS was not sure enough of the pattern",
        Reason::HostNotInFabric => "a host has no port in the optical fabric",
        Reason::PortsInUse => "every port that would serve is in use",
        Reason::DegreeTooHigh => "more neighbours at once than a host has optical ports",
        Reason::ShareUsed => "the job has its share of circuits already",
        Reason::SwitchFailed => "the switch failed, or answered what cannot be",
        Reason::NoCircuitPattern => "the pattern has no steps that circuits could carry",
        Reason::RanksMissing => "not all ranks had told the daemon of themselves",
    }
}

/// What a person can do about it; empty where nothing is wrong.
pub fn reason_advice(reason: Reason) -> &'static str {
    match reason {
        Reason::Switched | Reason::Parked | Reason::TooSmall | Reason::LinkUpTooLong => "",
        Reason::OneHost => {
            "On one machine this is normal. To try PAS out, let each rank stand for a host of its \
             own: pas run --hosts 'host{rank}' -- mpirun ..."
        }
        Reason::LowConfidence => {
            "Declare the pattern (pas_declare_pattern in pas.h) where you know it."
        }
        Reason::HostNotInFabric => {
            "Add the host to the daemon's fabric file, or set PAS_HOST to its name there."
        }
        Reason::PortsInUse => "Other jobs, or this one's other phases, hold the ports.",
        Reason::DegreeTooHigh => "More optical planes would serve more neighbours at once.",
        Reason::ShareUsed => "The daemon's settings limit what one job may hold.",
        Reason::SwitchFailed => "See the daemon's log and `pas status`.",
        Reason::NoCircuitPattern => "",
        Reason::RanksMissing => "Some ranks run without PAS, or cannot reach the daemon.",
    }
}

/// What the loss does.
pub fn trend(trend: Trend) -> &'static str {
    match trend {
        Trend::Unknown => "too few reports to tell",
        Trend::Improving => "still falling",
        Trend::Plateau => "not falling any more",
        Trend::Diverged => "diverged",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_carry_their_unit() {
        for (value, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (6_553_600, "6.25 MiB"),
            (1_048_575, "1 MiB"),
            (u64::MAX, "16384 PiB"),
        ] {
            assert_eq!(bytes(value), text);
        }
        for (value, text) in [
            (999, "999 ns"),
            (1_500, "1.5 µs"),
            (999_499, "999 µs"),
            (153_000_000, "153 ms"),
            (999_600_000, "1 s"),
            (119_000_000_000, "119 s"),
            (725_000_000_000, "12 min 5 s"),
            (7_260_000_000_000, "2 h 1 min"),
        ] {
            assert_eq!(duration(Nanos(value)), text);
        }
        assert_eq!(rate(25_000_000_000), "25 Gbit/s");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(123), "123");
        assert_eq!(plural(1, "rank"), "1 rank");
        assert_eq!(plural(2000, "rank"), "2,000 ranks");
        for (value, text) in
            [(2.3, "2.300"), (0.01234, "0.01234"), (123.4, "123.4"), (1e-9, "1.000e-9"), (0.0, "0")]
        {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn a_name_cannot_move_the_cursor() {
        assert_eq!(printable("a\x1b]0;t\x07\r\nü"), "a\u{fffd}]0;t\u{fffd}\u{fffd}\u{fffd}ü");
    }

    #[test]
    fn long_lists_of_ranks_are_cut_and_say_so() {
        assert_eq!(ranges(&[], 3), "");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8], 3), "0-2, 5, 7-8");
        assert_eq!(ranges(&[0, 2, 4, 6, 7, 8], 2), "0, 2, and 4 more");
    }
}
