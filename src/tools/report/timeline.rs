//! Everything of a report that has a time, on one clock: calls of the ranks, phases, requests and
//! circuits.
//!
//! The clock starts at the first rank's `MPI_Init`. Ranks are lined up by their wall clocks, which
//! may differ between machines by as much as their clocks do.

use crate::report::digest::Comm;
use pas_core::op::{Collective, Op};
use pas_core::units::Nanos;
use pas_core::wire::{CircuitState, JobReport, MarkReport, Phase, RankReport, TimelineEntry};
use std::collections::BTreeMap;

/// Most calls in the picture, over all ranks; the latest ones of each rank are kept.
pub const CALLS_MAX: usize = 6_000;
/// Most bars of phases, and of circuits.
pub const BARS_MAX: usize = 2_000;

/// What the picture shows.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The clock's zero, microseconds since 1970.
    pub origin_unix_us: u64,
    /// The picture's first moment.
    pub from: Nanos,
    /// Its last.
    pub until: Nanos,
    /// One lane for each rank that kept its calls.
    pub lanes: Vec<Lane>,
    /// What the program itself marked, in the lowest rank that did.
    pub marks: Vec<MarkBar>,
    /// When each phase was under way.
    pub phases: Vec<PhaseBar>,
    /// When each circuit was dark, lit and up.
    pub circuits: Vec<CircuitBar>,
    /// What was left out.
    pub notes: Vec<String>,
}

/// A rank's calls.
#[derive(Debug)]
pub struct Lane {
    /// The rank.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// Its calls.
    pub calls: Vec<LaneCall>,
}

/// A call in a lane.
#[derive(Debug)]
pub struct LaneCall {
    /// The call, with `start_ns` on the time line's clock.
    pub entry: TimelineEntry,
    /// The phase that it belongs to.
    pub phase: Option<String>,
}

impl LaneCall {
    fn end(&self) -> Nanos {
        self.entry.start_ns.plus(self.entry.duration_ns)
    }
}

/// A stretch that the program gave a name.
#[derive(Debug, PartialEq, Eq)]
pub struct MarkBar {
    /// The name.
    pub name: String,
    /// Its beginning.
    pub from: Nanos,
    /// Its end.
    pub until: Nanos,
}

/// One occurrence of a phase.
#[derive(Debug, PartialEq, Eq)]
pub struct PhaseBar {
    /// The phase's name.
    pub phase: String,
    /// Its first call's start.
    pub from: Nanos,
    /// Its last call's end.
    pub until: Nanos,
    /// Its calls.
    pub calls: u32,
}

/// A stretch of a circuit's life in one state.
#[derive(Debug, PartialEq, Eq)]
pub struct CircuitBar {
    /// The plane.
    pub plane: String,
    /// One end.
    pub a: String,
    /// The other.
    pub b: String,
    /// The state.
    pub state: CircuitState,
    /// Since when.
    pub from: Nanos,
    /// Until when.
    pub until: Nanos,
    /// Why it came into this state.
    pub why: String,
}

/// How far a rank's own zero is from the time line's.
pub fn offset(rank: &RankReport, origin_unix_us: u64) -> Nanos {
    Nanos::from_micros(rank.started_unix_us.saturating_sub(origin_unix_us))
}

/// Puts the report on one clock.
pub fn build(report: &JobReport, comms: &[Comm]) -> Timeline {
    let starts = report.ranks.iter().map(|rank| rank.started_unix_us);
    let log_start = report.circuit_log.first().map(|change| change.unix_us);
    let mut line =
        Timeline { origin_unix_us: starts.min().or(log_start).unwrap_or(0), ..Timeline::default() };
    lanes(&mut line, &report.ranks, comms);
    let calls = || line.lanes.iter().flat_map(|lane| &lane.calls);
    let until = calls().map(LaneCall::end).max().unwrap_or_default();
    let from = calls().map(|call| call.entry.start_ns).min().unwrap_or_default();
    (line.from, line.until) = (from, until);
    let lifetimes =
        report.ranks.iter().map(|rank| offset(rank, line.origin_unix_us).plus(rank.lifetime_ns));
    let job_end = lifetimes.max().unwrap_or(line.until);
    line.marks = mark_bars(&report.ranks, line.origin_unix_us);
    line.phases = phase_bars(&line.lanes, comms);
    line.circuits = circuit_bars(report, line.origin_unix_us, job_end);
    for (left_out, what) in [
        (keep_last(&mut line.marks, |bar| bar.from), "the program's own marks"),
        (keep_last(&mut line.phases, |bar| bar.from), "phases"),
        (keep_last(&mut line.circuits, |bar| bar.from), "circuits"),
    ] {
        if left_out > 0 {
            line.notes.push(format!("The {left_out} oldest bars of {what} are not drawn."));
        }
    }
    line.circuits
        .sort_by(|x, y| (&x.plane, &x.a, &x.b, x.from).cmp(&(&y.plane, &y.a, &y.b, y.from)));
    line
}

/// Sorts bars by their start and keeps the last ones; answers how many are gone.
fn keep_last<T>(bars: &mut Vec<T>, start: impl Fn(&T) -> Nanos) -> usize {
    bars.sort_by_key(start);
    let left_out = bars.len().saturating_sub(BARS_MAX);
    bars.drain(..left_out);
    left_out
}

fn lanes(line: &mut Timeline, ranks: &[RankReport], comms: &[Comm]) {
    let finder = PhaseFinder::new(comms);
    let drawn: Vec<&RankReport> = ranks.iter().filter(|rank| !rank.timeline.is_empty()).collect();
    let share = CALLS_MAX / drawn.len().max(1);
    let mut cut = false;
    for rank in &drawn {
        let offset = offset(rank, line.origin_unix_us);
        let mut calls = rank.timeline.clone();
        calls.sort_by_key(|call| call.start_ns);
        cut |= calls.len() > share;
        calls.drain(..calls.len().saturating_sub(share));
        let calls = calls.into_iter().map(|call| LaneCall {
            phase: finder.find(&call).map(|phase| phase.phase.clone()),
            entry: TimelineEntry { start_ns: call.start_ns.plus(offset), ..call },
        });
        let calls = calls.collect();
        let host = rank.registered.host.clone();
        line.lanes.push(Lane { rank: rank.registered.rank, host, calls });
    }
    if cut {
        line.notes.push(format!("The time line shows the last {share} calls of each rank."));
    }
    if drawn.len() < ranks.len() && !drawn.is_empty() {
        let (drawn, all) = (drawn.len(), ranks.len());
        line.notes.push(format!("The time line shows {drawn} of {all} ranks, evenly chosen."));
    }
}

fn mark_bars(ranks: &[RankReport], origin_unix_us: u64) -> Vec<MarkBar> {
    let Some(rank) = ranks.iter().find(|rank| !rank.marks.is_empty()) else {
        return Vec::new();
    };
    let offset = offset(rank, origin_unix_us);
    let bar = |mark: &MarkReport| {
        let from = offset.plus(mark.start_ns);
        MarkBar { name: mark.name.clone(), from, until: from.plus(mark.duration_ns) }
    };
    rank.marks.iter().map(bar).collect()
}

/// Tells which phase a call belongs to: same communicator, collective and size.
struct PhaseFinder<'a> {
    collectives: BTreeMap<&'static str, Collective>,
    phases: BTreeMap<&'a str, Vec<&'a Phase>>,
}

impl<'a> PhaseFinder<'a> {
    fn new(comms: &'a [Comm]) -> PhaseFinder<'a> {
        let named = |op: &Op| Some((op.name(), op.collective()?));
        let phases = |comm: &'a Comm| comm.phases.iter().map(|found| &found.phase).collect();
        PhaseFinder {
            collectives: Op::ALL.iter().filter_map(named).collect(),
            phases: comms.iter().map(|comm| (comm.key.as_str(), phases(comm))).collect(),
        }
    }

    fn find(&self, call: &TimelineEntry) -> Option<&'a Phase> {
        let collective = self.collectives.get(call.call.as_str());
        let phases = self.phases.get(call.comm.as_str())?;
        phases.iter().copied().find(|phase| {
            phase.collective.as_ref() == collective
                && phase.calls.iter().any(|other| other.bytes == call.bytes)
        })
    }
}

/// Occurrences of each phase, read off the calls of one rank of its communicator: a run of calls
/// that the phase holds, as many as it holds, with none of another phase between.
fn phase_bars(lanes: &[Lane], comms: &[Comm]) -> Vec<PhaseBar> {
    let mut bars = Vec::new();
    for comm in comms.iter().filter(|comm| !comm.phases.is_empty()) {
        let on_comm = |call: &&LaneCall| call.entry.comm == comm.key;
        let Some(lane) = lanes.iter().find(|lane| lane.calls.iter().any(|call| on_comm(&call)))
        else {
            continue;
        };
        let mut open: Option<PhaseBar> = None;
        for call in lane.calls.iter().filter(on_comm) {
            let found =
                comm.phases.iter().find(|found| Some(&found.phase.phase) == call.phase.as_ref());
            let Some(phase) = found.map(|found| &found.phase) else {
                continue;
            };
            let size: u32 = phase.calls.iter().map(|call| call.count).sum();
            match &mut open {
                Some(bar) if bar.phase == phase.phase && bar.calls < size => {
                    bar.until = bar.until.max(call.end());
                    bar.calls += 1;
                }
                _ => bars.extend(open.replace(PhaseBar {
                    phase: phase.phase.clone(),
                    from: call.entry.start_ns,
                    until: call.end(),
                    calls: 1,
                })),
            }
        }
        bars.extend(open);
    }
    bars
}

/// The circuit log as stretches: each change ends the state before it.
fn circuit_bars(report: &JobReport, origin_unix_us: u64, job_end: Nanos) -> Vec<CircuitBar> {
    let at = |unix_us: u64| Nanos::from_micros(unix_us.saturating_sub(origin_unix_us));
    let mut log: Vec<_> = report.circuit_log.iter().collect();
    log.sort_by_key(|change| (change.unix_us, change.circuit.id));
    let mut open: BTreeMap<u64, CircuitBar> = BTreeMap::new();
    let mut bars = Vec::new();
    for change in log {
        let circuit = &change.circuit;
        let now = at(change.unix_us);
        if let Some(mut bar) = open.remove(&circuit.id) {
            bar.until = now;
            bars.push(bar);
        }
        if circuit.state != CircuitState::Draining {
            open.insert(
                circuit.id,
                CircuitBar {
                    plane: circuit.plane.clone(),
                    a: circuit.a.clone(),
                    b: circuit.b.clone(),
                    state: circuit.state,
                    from: now,
                    until: now,
                    why: change.why.clone(),
                },
            );
        }
    }
    bars.extend(open.into_values().map(|mut bar| {
        bar.until = job_end.max(bar.from);
        bar
    }));
    bars
}
