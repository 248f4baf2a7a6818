//! From a report's raw messages to what a person is shown: sums over ranks, patterns by
//! communicator, decisions with their reasons, and everything that has a time on one clock.
//!
//! Both outputs, the terminal's and the page's, show a [`Digest`] and compute nothing themselves.

use crate::report::load::Loaded;
use crate::report::steps::{self, Steps};
use crate::report::timeline::{self, Timeline};
use pas_core::library::{Family, Library};
use pas_core::units::Nanos;
use pas_core::wire::{
    CallSum, CommReport, Decision, FabricSummary, Hint, IterationReport, JobReport, JobState,
    LossReport, Mode, Phase, RankReport, Reason, RequestReport,
};
use std::collections::{BTreeMap, BTreeSet};

/// Communicators that are shown; the rest is counted.
pub const COMMS_MAX: usize = 24;
/// Names of the program's own phases that are shown.
pub const MARKS_MAX: usize = 32;
/// Requests that are listed; all are counted.
pub const REQUESTS_MAX: usize = 200;

/// A job's report, ready to be shown.
#[derive(Debug)]
pub struct Digest {
    /// The job's id.
    pub job: String,
    /// The program.
    pub program: String,
    /// The MPI.
    pub library: String,
    /// The shim's mode.
    pub mode: Option<Mode>,
    /// How the job stands at the daemon, where there was one.
    pub state: Option<JobState>,
    /// Ranks in the world.
    pub world_size: u32,
    /// Ranks whose report is there.
    pub ranks_told: u32,
    /// Those whose is not.
    pub ranks_missing: Vec<u32>,
    /// Hosts in the order of the ranks, each once.
    pub hosts: Vec<String>,
    /// From `MPI_Init` to the end, of the rank that lived longest.
    pub lifetime: Nanos,
    /// The repeating unit of training.
    pub iteration: Option<IterationReport>,
    /// The fabric's figures.
    pub fabric: Option<FabricSummary>,
    /// Communicators, the one with most time first; at most [`COMMS_MAX`].
    pub comms: Vec<Comm>,
    /// Communicators that are not shown.
    pub comms_left_out: usize,
    /// What became of the requests.
    pub outcomes: Vec<Outcome>,
    /// The last requests; at most [`REQUESTS_MAX`].
    pub requests: Vec<Request>,
    /// Requests that are not listed.
    pub requests_left_out: usize,
    /// Losses of the lowest rank that reported some.
    pub losses: Vec<LossReport>,
    /// Phases that the program named, of the lowest rank that did; at most [`MARKS_MAX`] names.
    pub marks: Vec<MarkSum>,
    /// The last hint.
    pub hint: Option<Hint>,
    /// Counters, summed over the ranks.
    pub counters: Vec<Counter>,
    /// Calls, phases and circuits on one clock.
    pub timeline: Timeline,
    /// What is missing or was left out, in sentences.
    pub notes: Vec<String>,
}

/// The phases of one name that the program marked with `pas_phase_begin`.
#[derive(Debug)]
pub struct MarkSum {
    /// The program's name.
    pub name: String,
    /// Times.
    pub count: u64,
    /// Time in them.
    pub time: Nanos,
}

/// A communicator.
#[derive(Debug)]
pub struct Comm {
    /// Its key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: u32,
    /// The phases found on it.
    pub phases: Vec<FoundPhase>,
    /// The calls on it, summed over the ranks.
    pub calls: Vec<CallSum>,
}

/// A phase and its steps.
#[derive(Debug)]
pub struct FoundPhase {
    /// As the detector found it.
    pub phase: Phase,
    /// Who sends to whom in each step.
    pub steps: Steps,
}

/// How often the same came of a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What.
    pub what: OutcomeKind,
    /// Times.
    pub count: u64,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutcomeKind {
    /// The daemon decided.
    Decided(Decision, Reason),
    /// No answer came in time.
    Unanswered,
}

/// A request for circuits.
#[derive(Debug)]
pub struct Request {
    /// The rank that asked.
    pub rank: u32,
    /// When, on the time line's clock.
    pub at: Nanos,
    /// The request and its answer.
    pub report: RequestReport,
}

/// A counter, summed over the ranks.
#[derive(Debug, PartialEq, Eq)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// The sum.
    pub total: u64,
    /// Ranks that counted anything.
    pub ranks: u32,
}

impl Digest {
    /// Digests a report.
    pub fn new(loaded: Loaded) -> Digest {
        let Loaded { report, mut notes } = loaded;
        let first = report.ranks.first();
        let status = report.job.as_ref();
        let registered = first.map(|rank| &rank.registered);
        let world_size = registered
            .map(|registered| registered.world_size)
            .or(status.map(|status| status.world_size))
            .unwrap_or(0);
        let library = registered
            .map(|registered| registered.library.clone())
            .or(status.map(|status| status.library.clone()))
            .unwrap_or_default();
        let family = Library::parse(&library).family;
        let (comms, comms_left_out) = comms(&report.ranks, phases(&report), family);
        let timeline = timeline::build(&report, &comms);
        let (requests, requests_left_out) = requests(&report.ranks, timeline.origin_unix_us);
        notes.extend(timeline.notes.iter().cloned());
        Digest {
            job: first
                .map(|rank| rank.job.clone())
                .or(status.map(|status| status.job.clone()))
                .unwrap_or_default(),
            program: registered
                .map(|registered| registered.program.clone())
                .or(status.map(|status| status.program.clone()))
                .unwrap_or_default(),
            library,
            mode: registered.map(|registered| registered.mode),
            state: status.map(|status| status.state),
            world_size,
            ranks_told: u32::try_from(report.ranks.len()).unwrap_or(u32::MAX),
            ranks_missing: missing(&report.ranks, world_size),
            hosts: hosts(&report),
            lifetime: report.ranks.iter().map(|rank| rank.lifetime_ns).max().unwrap_or_default(),
            iteration: iteration(&report.ranks),
            fabric: report.fabric.clone(),
            comms,
            comms_left_out,
            outcomes: outcomes(&report),
            requests,
            requests_left_out,
            losses: losses(&report.ranks),
            marks: marks(&report.ranks),
            hint: hint(&report),
            counters: counters(&report.ranks),
            timeline,
            notes,
        }
    }

    /// The phase of that name.
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        let phases = self.comms.iter().flat_map(|comm| &comm.phases);
        phases.map(|found| &found.phase).find(|phase| phase.phase == name)
    }

    /// How often a decision was taken.
    pub fn decided(&self, decision: Decision) -> u64 {
        let same = |outcome: &&Outcome| match outcome.what {
            OutcomeKind::Decided(other, _) => other == decision,
            OutcomeKind::Unanswered => false,
        };
        self.outcomes.iter().filter(same).map(|outcome| outcome.count).sum()
    }

    /// Requests, by what came of them, all together.
    pub fn asked(&self) -> u64 {
        self.outcomes.iter().map(|outcome| outcome.count).sum()
    }
}

fn missing(ranks: &[RankReport], world_size: u32) -> Vec<u32> {
    let told: BTreeSet<u32> = ranks.iter().map(|rank| rank.registered.rank).collect();
    (0..world_size).filter(|rank| !told.contains(rank)).collect()
}

fn hosts(report: &JobReport) -> Vec<String> {
    if let Some(status) = report.job.as_ref().filter(|status| !status.hosts.is_empty()) {
        return status.hosts.clone();
    }
    let mut seen = BTreeSet::new();
    let hosts = report.ranks.iter().map(|rank| rank.registered.host.clone());
    hosts.filter(|host| seen.insert(host.clone())).collect()
}

/// The iteration as the rank saw it that saw most of them.
fn iteration(ranks: &[RankReport]) -> Option<IterationReport> {
    let iterations = ranks.iter().filter_map(|rank| rank.iteration.as_ref());
    iterations.max_by_key(|iteration| iteration.seen).cloned()
}

/// Every phase once: as the ranks tell it, or else as the daemon knows it.
fn phases(report: &JobReport) -> BTreeMap<String, Phase> {
    let known = report.job.iter().flat_map(|status| &status.phases);
    let told = report.ranks.iter().flat_map(|rank| &rank.phases);
    known.chain(told).map(|phase| (phase.phase.clone(), phase.clone())).collect()
}

fn comms(
    ranks: &[RankReport],
    phases: BTreeMap<String, Phase>,
    family: Family,
) -> (Vec<Comm>, usize) {
    let mut comms: BTreeMap<String, Comm> = BTreeMap::new();
    let comm = |key: &str, name: &str, size: u32| Comm {
        key: key.to_string(),
        name: name.to_string(),
        size,
        phases: Vec::new(),
        calls: Vec::new(),
    };
    for CommReport { comm: key, name, size, .. } in ranks.iter().flat_map(|rank| &rank.comms) {
        comms.entry(key.clone()).or_insert_with(|| comm(key, name, *size));
    }
    for phase in phases.into_values() {
        let size = u32::try_from(phase.members.len()).unwrap_or(u32::MAX);
        let found = FoundPhase { steps: steps::of(&phase, family), phase };
        let Phase { comm: key, comm_name, .. } = &found.phase;
        let entry = comms.entry(key.clone()).or_insert_with(|| comm(key, comm_name, size));
        entry.phases.push(found);
    }
    let mut sums: BTreeMap<(String, String), CallSum> = BTreeMap::new();
    for call in ranks.iter().flat_map(|rank| &rank.calls) {
        let sum = sums.entry((call.comm.clone(), call.call.clone())).or_insert_with(|| CallSum {
            count: 0,
            failed: 0,
            bytes: 0,
            time_ns: Nanos::ZERO,
            ..call.clone()
        });
        sum.count = sum.count.saturating_add(call.count);
        sum.failed = sum.failed.saturating_add(call.failed);
        sum.bytes = sum.bytes.saturating_add(call.bytes);
        sum.time_ns = sum.time_ns.plus(call.time_ns);
    }
    for ((key, _), sum) in sums {
        let name = if key.is_empty() { "no communicator" } else { "unnamed" };
        comms.entry(key.clone()).or_insert_with(|| comm(&key, name, 0)).calls.push(sum);
    }
    let mut comms: Vec<Comm> = comms.into_values().collect();
    for comm in &mut comms {
        comm.calls.sort_by_key(|call| std::cmp::Reverse(call.time_ns));
    }
    comms.sort_by_key(|comm| std::cmp::Reverse(weight(comm)));
    let left_out = comms.len().saturating_sub(COMMS_MAX);
    comms.truncate(COMMS_MAX);
    (comms, left_out)
}

/// What brings a communicator to the front: phases first, then time.
fn weight(comm: &Comm) -> (bool, Nanos) {
    let time = comm.calls.iter().fold(Nanos::ZERO, |sum, call| sum.plus(call.time_ns));
    (!comm.phases.is_empty(), time)
}

/// Decisions as the daemon counted them, or else as the ranks remember; unanswered requests are
/// known to the ranks alone.
fn outcomes(report: &JobReport) -> Vec<Outcome> {
    let mut counts: BTreeMap<OutcomeKind, u64> = BTreeMap::new();
    let mut add = |what, count| *counts.entry(what).or_default() += count;
    let daemon = report.job.as_ref().map_or(&[][..], |status| &status.decisions);
    for decided in daemon {
        add(OutcomeKind::Decided(decided.decision, decided.reason), decided.count);
    }
    for request in report.ranks.iter().flat_map(|rank| &rank.requests) {
        match &request.reply {
            None => add(OutcomeKind::Unanswered, 1),
            Some(reply) if daemon.is_empty() => {
                add(OutcomeKind::Decided(reply.decision, reply.reason), 1);
            }
            Some(_) => {}
        }
    }
    counts.into_iter().map(|(what, count)| Outcome { what, count }).collect()
}

fn requests(ranks: &[RankReport], origin_unix_us: u64) -> (Vec<Request>, usize) {
    let mut requests: Vec<Request> = Vec::new();
    for rank in ranks {
        let offset = timeline::offset(rank, origin_unix_us);
        requests.extend(rank.requests.iter().map(|report| Request {
            rank: rank.registered.rank,
            at: offset.plus(report.at_ns),
            report: report.clone(),
        }));
    }
    requests.sort_by_key(|request| (request.at, request.rank));
    let left_out = requests.len().saturating_sub(REQUESTS_MAX);
    (requests.split_off(left_out), left_out)
}

fn marks(ranks: &[RankReport]) -> Vec<MarkSum> {
    let mut sums: BTreeMap<&str, (u64, Nanos)> = BTreeMap::new();
    for mark in ranks.iter().map(|rank| &rank.marks).find(|m| !m.is_empty()).into_iter().flatten() {
        let (count, time) = sums.entry(&mark.name).or_default();
        *count += 1;
        *time = time.plus(mark.duration_ns);
    }
    let sums = sums.into_iter().take(MARKS_MAX);
    sums.map(|(name, (count, time))| MarkSum { name: name.to_owned(), count, time }).collect()
}

fn losses(ranks: &[RankReport]) -> Vec<LossReport> {
    ranks.iter().find(|rank| !rank.losses.is_empty()).map_or(Vec::new(), |rank| rank.losses.clone())
}

fn hint(report: &JobReport) -> Option<Hint> {
    let told = report.ranks.iter().find_map(|rank| rank.hint.clone());
    told.or_else(|| report.job.as_ref().and_then(|status| status.hint.clone()))
}

fn counters(ranks: &[RankReport]) -> Vec<Counter> {
    let mut counters: BTreeMap<&str, (u64, u32)> = BTreeMap::new();
    for (name, count) in ranks.iter().flat_map(|rank| &rank.counters) {
        let (total, ranks) = counters.entry(name).or_default();
        *total = total.saturating_add(*count);
        *ranks += u32::from(*count > 0);
    }
    let named = counters.into_iter();
    named.map(|(name, (total, ranks))| Counter { name: name.to_string(), total, ranks }).collect()
}

#[cfg(test)]
mod tests;
