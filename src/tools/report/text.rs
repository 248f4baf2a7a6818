//! The report for the terminal: aligned, in plain words, coloured only where the terminal can.
//!
//! Colours are ANSI codes in the text; whoever prints it strips them where they do not belong
//! (`anstream` does).

use crate::report::counters;
use crate::report::digest::{Comm, Digest, FoundPhase, OutcomeKind};
use crate::report::table::Table;
use crate::report::words;
use anstyle::{AnsiColor, Style};
use pas_core::wire::{Decision, JobState};
use std::fmt::Write;

const HEADING: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Runs of missing ranks that are spelt out.
const RUNS_MAX: usize = 6;
/// Hosts that are spelt out.
const HOSTS_MAX: usize = 4;

fn heading(out: &mut String, text: &str) {
    let _ = write!(out, "\n{HEADING}{text}{HEADING:#}\n");
}

/// What matters most: what ran, the patterns, the circuits and the loss.
pub fn summary(digest: &Digest) -> String {
    let job = words::printable(&digest.job);
    let mut out = format!("{HEADING}PAS report of job {job}{HEADING:#}\n\n");
    out.push_str(&facts(digest).render("  "));
    patterns(&mut out, digest);
    circuits(&mut out, digest);
    training(&mut out, digest);
    out
}

/// The whole report.
pub fn render(digest: &Digest) -> String {
    let mut out = summary(digest);
    marks(&mut out, digest);
    calls(&mut out, digest);
    counter_lines(&mut out, digest);
    notes(&mut out, digest);
    out
}

fn facts(digest: &Digest) -> Table {
    let mut table = Table::new(2);
    let hosts = digest.hosts.len();
    let mut names = digest.hosts.iter().take(HOSTS_MAX).cloned().collect::<Vec<_>>().join(", ");
    if hosts > HOSTS_MAX {
        let _ = write!(names, ", ...");
    }
    let program = format!(
        "{}, {} on {} ({names})",
        digest.program,
        words::plural(u64::from(digest.world_size), "rank"),
        words::plural(hosts as u64, "host"),
    );
    table.row(["program", &program]);
    table.row(["MPI", words::library(&digest.library)]);
    if let Some(mode) = digest.mode {
        table.row(["mode", words::mode(mode)]);
    }
    table.row(["ran", &words::duration(digest.lifetime)]);
    if let Some(iteration) = &digest.iteration {
        table.row([
            "iteration",
            &format!(
                "every {}; seen {} times, {} each; forecasts: {} right, {} wrong",
                words::duration(iteration.period_ns),
                words::count(iteration.seen),
                words::plural(u64::from(iteration.calls), "call"),
                words::count(iteration.forecasts_right),
                words::count(iteration.forecasts_wrong),
            ),
        ]);
    }
    table.row(["fabric", &fabric(digest)]);
    if !digest.ranks_missing.is_empty() {
        table.row(["missing", &missing(digest)]);
    }
    table
}

fn fabric(digest: &Digest) -> String {
    let Some(fabric) = &digest.fabric else {
        return "none: no daemon told of one".to_string();
    };
    let emulated = match fabric.switches.as_str() {
        "emulated" => "; the switches are emulated, no traffic moves",
        _ => "",
    };
    format!(
        "{}: {}, {}; circuit {}, packets {}; switching {} + link up {}{emulated}",
        fabric.name,
        words::plural(u64::from(fabric.planes), "plane"),
        words::plural(u64::from(fabric.hosts), "host"),
        words::rate(fabric.circuit_bps),
        words::rate(fabric.eps_bps),
        words::duration(fabric.optical_ns),
        words::duration(fabric.link_up_ns),
    )
}

/// Which ranks' reports are missing, and what may be the cause.
pub fn missing(digest: &Digest) -> String {
    let ended = match digest.state {
        Some(JobState::Running) => "the job still runs",
        _ => "they were killed, ran without PAS, or wrote elsewhere",
    };
    let ranks = words::plural(digest.ranks_missing.len() as u64, "rank");
    let list = words::ranges(&digest.ranks_missing, RUNS_MAX);
    format!("reports of {ranks} ({list}): {ended}")
}

fn patterns(out: &mut String, digest: &Digest) {
    heading(out, "Patterns: who talks with whom, in what order");
    let with_phases: Vec<&Comm> =
        digest.comms.iter().filter(|comm| !comm.phases.is_empty()).collect();
    if with_phases.is_empty() {
        out.push_str("  none found: no collective repeated, or PAS_MODE was off\n");
    }
    for comm in with_phases {
        let ranks = words::plural(u64::from(comm.size), "rank");
        let _ = writeln!(out, "  {} {DIM}({ranks}){DIM:#}", words::printable(&comm.name));
        let mut table = Table::new(6);
        for found in &comm.phases {
            table.row(pattern_row(found));
        }
        out.push_str(&table.render("    "));
    }
}

fn pattern_row(found: &FoundPhase) -> [String; 6] {
    let phase = &found.phase;
    [
        words::collective(phase.collective).to_string(),
        words::pattern(phase.pattern),
        call_sizes(found),
        step_words(found),
        format!("{}, seen {}", words::duration(phase.duration_ns), words::count(phase.seen)),
        format!("{}, {:.0} % sure", words::source(phase.source), phase.confidence * 100.0),
    ]
}

/// `4 x 25 MiB`; of several sizes the largest two and how many more.
pub fn call_sizes(found: &FoundPhase) -> String {
    let mut calls = found.phase.calls.clone();
    calls.sort_by_key(|call| std::cmp::Reverse(call.bytes));
    let mut sizes: Vec<String> = calls
        .iter()
        .take(2)
        .map(|call| format!("{} x {}", call.count, words::bytes(call.bytes)))
        .collect();
    if calls.len() > 2 {
        sizes.push(format!("{} more sizes", calls.len() - 2));
    }
    sizes.join(" + ")
}

/// `6 steps of 6.25 MiB`.
pub fn step_words(found: &FoundPhase) -> String {
    let steps = &found.steps;
    if steps.groups.is_empty() {
        return "steps not known".to_string();
    }
    let sizes = steps.groups.iter().map(|group| group.bytes_max);
    let (least, most) =
        sizes.fold((u64::MAX, 0), |(least, most), size| (least.min(size), most.max(size)));
    let sizes = match least == most {
        true => words::bytes(most),
        false => format!("{} to {}", words::bytes(least), words::bytes(most)),
    };
    format!("{} of {sizes}", words::plural(u64::from(steps.steps), "step"))
}

fn circuits(out: &mut String, digest: &Digest) {
    heading(out, "Circuits: what PAS asked of the optical fabric");
    if digest.outcomes.is_empty() {
        let _ = writeln!(out, "  {}", never_asked(digest));
        return;
    }
    let mut table = Table::new(3).right(1);
    let mut advice = Vec::new();
    for outcome in &digest.outcomes {
        let (name, style, why) = match outcome.what {
            OutcomeKind::Decided(decision, reason) => {
                advice.extend(Some(words::reason_advice(reason)).filter(|text| !text.is_empty()));
                (words::decision(decision), decision_style(decision), words::reason(reason))
            }
            OutcomeKind::Unanswered => ("no answer", colour(AnsiColor::Red), NO_ANSWER),
        };
        table.styled(style, [name, &words::count(outcome.count), why]);
    }
    out.push_str(&table.render("  "));
    advice.sort_unstable();
    advice.dedup();
    for line in advice {
        let _ = writeln!(out, "  {DIM}-> {line}{DIM:#}");
    }
}

/// Why a request has no answer.
pub const NO_ANSWER: &str = "the daemon was late or away; the job went on by the packet network";

/// Why a job has no request at all.
pub fn never_asked(digest: &Digest) -> &'static str {
    use pas_core::wire::Mode;
    match digest.mode {
        Some(Mode::Advise) if digest.fabric.is_none() => {
            "never asked: no daemon (set PAS_URL, or start the job with `pas run`)"
        }
        Some(Mode::Advise) => "never asked: no phase repeated often enough to be foreseen",
        _ => "never asked: only PAS_MODE=advise asks",
    }
}

fn colour(colour: AnsiColor) -> Style {
    colour.on_default()
}

fn decision_style(decision: Decision) -> Style {
    match decision {
        Decision::Granted => colour(AnsiColor::Green),
        Decision::Partial | Decision::Hold => colour(AnsiColor::Yellow),
        Decision::Refused => colour(AnsiColor::Red),
    }
}

fn training(out: &mut String, digest: &Digest) {
    heading(out, "Training: what the program told of its loss");
    let finite = || digest.losses.iter().filter_map(|report| Some((report.step, report.loss?)));
    let Some(((_, first), (last_step, last))) = finite().next().zip(finite().next_back()) else {
        out.push_str("  nothing: the program does not call pas_report_loss (see pas.h)\n");
        return;
    };
    let mut table = Table::new(2);
    let trend = digest
        .hint
        .as_ref()
        .map_or(String::new(), |hint| format!("; {}", words::trend(hint.trend)));
    let (first, last) = (words::figure(first), words::figure(last));
    table.row(["loss", &format!("{first} -> {last} at step {}{trend}", words::count(last_step))]);
    for (name, value) in digest.hint.iter().flat_map(|hint| &hint.metrics) {
        let target = digest.hint.as_ref().and_then(|hint| hint.targets.get(name));
        let target =
            target.map_or(String::new(), |target| format!(" of {}", words::figure(*target)));
        table.row([name.as_str(), &format!("{}{target}", words::figure(*value))]);
    }
    out.push_str(&table.render("  "));
}

fn marks(out: &mut String, digest: &Digest) {
    if digest.marks.is_empty() {
        return;
    }
    heading(out, "Phases that the program named");
    let mut table = Table::new(3).right(1).right(2);
    table.row(["name", "times", "time in them"]);
    for mark in &digest.marks {
        let (count, time) = (words::count(mark.count), words::duration(mark.time));
        table.row([mark.name.as_str(), &count, &time]);
    }
    out.push_str(&table.render("  "));
}

fn calls(out: &mut String, digest: &Digest) {
    heading(out, "Calls, summed over the ranks");
    let mut table = Table::new(5).right(2).right(3).right(4);
    table.row(["communicator", "call", "calls", "bytes", "time in them"]);
    for comm in &digest.comms {
        for call in &comm.calls {
            let failed = match call.failed {
                0 => String::new(),
                failed => format!(" ({} failed)", words::count(failed)),
            };
            table.row([
                comm.name.clone(),
                call.call.clone(),
                format!("{}{failed}", words::count(call.count)),
                words::bytes(call.bytes),
                words::duration(call.time_ns),
            ]);
        }
    }
    out.push_str(&table.render("  "));
    if digest.comms_left_out > 0 {
        let more = words::plural(digest.comms_left_out as u64, "communicator");
        let _ = writeln!(out, "  and {more} with less time");
    }
}

fn counter_lines(out: &mut String, digest: &Digest) {
    heading(out, "Counters: drops, bypasses and faults");
    let mut table = Table::new(3).right(1);
    for counter in &digest.counters {
        let about = counters::about(&counter.name);
        table.row([counter.name.as_str(), &words::count(counter.total), about]);
    }
    out.push_str(&table.render("  "));
    if !digest.counters.iter().any(|counter| counters::is_loss(&counter.name)) {
        out.push_str("  nothing was dropped, bypassed or failed\n");
    }
}

fn notes(out: &mut String, digest: &Digest) {
    if digest.notes.is_empty() {
        return;
    }
    heading(out, "Notes");
    for note in &digest.notes {
        let _ = writeln!(out, "  {}", words::printable(note));
    }
}

#[cfg(test)]
mod tests;
