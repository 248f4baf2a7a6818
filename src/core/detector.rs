//! From recorded calls to phases, iterations and forecasts.
//!
//! One detector serves one rank. The worker feeds it every record ([`Detector::observe`]) and asks
//! now and then what has come of it ([`Detector::advance`]). What happens to a record:
//!
//! 1. `calls` gives the call a number: the same communicator, operation, peer and size are the
//!    same number; and a group: calls of one pattern on one communicator.
//! 2. Small calls (flags, losses, barriers, polling) are counted to their phase and done with.
//! 3. `iterations` compares the number with the one that the iteration has next, or, before one
//!    is known, looks for a period in the numbers (`rhythm`).
//! 4. Calls outside of any iteration are collected in runs of one group, so that a program that
//!    never repeats itself has phases too.
//!
//! Memory is bounded by the constants of this module and those below it; whatever a limit cuts off
//! is counted in [`Counters`].

mod calls;
mod iterations;
mod p2p;
mod phases;
mod rhythm;
mod samples;
mod template;

#[cfg(test)]
mod tests;

use crate::event::{CommId, Event, Flags};
use crate::library::{Forced, Library};
use crate::members::Members;
use crate::op::{Collective, Kind};
use crate::pattern::Pattern;
use crate::units::{Nanos, Time};
use crate::wire;
use calls::Calls;
use iterations::{Iterations, Surroundings};
use std::collections::BTreeMap;
use std::sync::Arc;
use template::Past;

/// Most communicators that are known at one time; calls on others are counted, not analysed.
pub const COMMS_MAX: usize = 1024;
/// Most declared patterns.
pub const DECLARED_MAX: usize = 256;
/// Most ranks of a communicator whose hosts are worked out.
const LAYOUT_RANKS_MAX: u64 = 1 << 16;
/// Silence that ends a run of calls outside of any iteration.
const RUN_GAP: Nanos = Nanos::from_millis(100);
/// Calls of a run that are kept; more are counted only.
const RUN_CALLS_MAX: usize = 1024;

/// What a detector must know of its process.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The MPI library.
    pub library: Library,
    /// Algorithms that the environment forces.
    pub forced: Forced,
    /// Ranks of the world on each host, in blocks, where the launcher says so.
    pub ranks_per_host: Option<u32>,
}

/// A communicator, as this rank knows it.
#[derive(Clone, Debug)]
pub struct CommInfo {
    /// The same in all its ranks; 16 hexadecimal digits on the wire.
    pub key: u64,
    /// The program's name for it, or the standard's; may be empty.
    pub name: String,
    /// Ranks.
    pub size: u32,
    /// This rank's number in it.
    pub rank: u32,
    /// Its ranks; absent for inter-communicators and for those too scattered to keep.
    pub members: Option<Members>,
}

/// What [`Detector::advance`] has to tell, in the order in which it came about.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A phase was seen that was not known.
    PhaseFound(wire::Phase),
    /// A known phase's calls or its forecast changed: what was told of it before is out of date.
    PhaseChanged(wire::Phase),
    /// A known phase is about to begin. Told once for each predicted occurrence.
    PhaseDue(Due),
    /// An occurrence that was told as due did not come.
    ForecastMissed {
        /// The phase's name.
        phase: String,
        /// When it should have begun.
        expected: Time,
    },
}

/// A phase that is about to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// The phase's name, as in the [`wire::Phase`] that was told before.
    pub phase: String,
    /// The communicator, in this process.
    pub comm: CommId,
    /// Time until it begins, from the `now` of the call that answers this.
    pub starts_in: Nanos,
    /// How long it is expected to last.
    pub duration: Nanos,
    /// 0 to 1: how far such forecasts came true so far.
    pub confidence: f64,
}

/// What was seen, dropped and guessed wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Records taken.
    pub events: u64,
    /// Records of calls that the library answered with an error: no step.
    pub events_failed: u64,
    /// Records on a communicator that is not known.
    pub events_unknown_comm: u64,
    /// Calls too small to set the iteration or to ask for circuits.
    pub calls_small: u64,
    /// Times that all calls were forgotten because too many were told apart.
    pub calls_forgotten: u64,
    /// Communicators not taken, [`COMMS_MAX`] being there already.
    pub comms_dropped: u64,
    /// Declarations not taken, [`DECLARED_MAX`] being there already.
    pub declared_dropped: u64,
    /// Phases not taken, there being too many.
    pub phases_dropped: u64,
    /// Iterations that were learned.
    pub iterations_learned: u64,
    /// Times that a known iteration was taken up again.
    pub iterations_resumed: u64,
    /// Times that something else came than the iteration has.
    pub iterations_broken: u64,
    /// Known iterations given up for new ones.
    pub iterations_forgotten: u64,
    /// Forecast starts that came true within the tolerance.
    pub forecasts_right: u64,
    /// Forecast starts that did not.
    pub forecasts_wrong: u64,
}

impl Counters {
    /// The counters by name, for a report.
    pub fn named(&self) -> [(&'static str, u64); 14] {
        [
            ("events", self.events),
            ("events_failed", self.events_failed),
            ("events_unknown_comm", self.events_unknown_comm),
            ("calls_small", self.calls_small),
            ("calls_forgotten", self.calls_forgotten),
            ("comms_dropped", self.comms_dropped),
            ("declared_dropped", self.declared_dropped),
            ("phases_dropped", self.phases_dropped),
            ("iterations_learned", self.iterations_learned),
            ("iterations_resumed", self.iterations_resumed),
            ("iterations_broken", self.iterations_broken),
            ("iterations_forgotten", self.iterations_forgotten),
            ("forecasts_right", self.forecasts_right),
            ("forecasts_wrong", self.forecasts_wrong),
        ]
    }
}

/// A communicator and the hosts that its ranks are on.
#[derive(Debug)]
struct Comm {
    info: CommInfo,
    /// The first rank on each host, where the hosts are known.
    leaders: Option<Arc<[u32]>>,
}

/// Calls of one group in a row, outside of any iteration.
#[derive(Debug)]
struct Run {
    group: u32,
    numbers: Vec<u32>,
    start: Time,
    end: Time,
}

/// See the module.
#[derive(Debug)]
pub struct Detector {
    settings: Settings,
    comms: BTreeMap<CommId, Comm>,
    declared: BTreeMap<(Option<String>, Collective), Pattern>,
    calls: Calls,
    phases: Vec<phases::Known>,
    iterations: Iterations,
    run: Option<Run>,
    /// By group, the phase that its runs count to.
    run_phases: BTreeMap<u32, usize>,
    notices: Vec<Notice>,
    counters: Counters,
}

impl Detector {
    /// A detector that has seen nothing yet.
    pub fn new(settings: Settings) -> Detector {
        Detector {
            settings,
            comms: BTreeMap::new(),
            declared: BTreeMap::new(),
            calls: Calls::default(),
            phases: Vec::new(),
            iterations: Iterations::default(),
            run: None,
            run_phases: BTreeMap::new(),
            notices: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// A communicator is there, before the first record that names it. Told again, it has another
    /// name from now on.
    pub fn comm_created(&mut self, comm: CommId, info: CommInfo) {
        if self.comms.len() == COMMS_MAX && !self.comms.contains_key(&comm) {
            self.counters.comms_dropped += 1;
            return;
        }
        let leaders = self.settings.ranks_per_host.and_then(|ranks| leaders(&info, ranks));
        let before = self.comms.insert(comm, Comm { info, leaders });
        if before.is_some() {
            self.forget_calls();
        }
    }

    /// A communicator is gone, after the last record that names it.
    pub fn comm_freed(&mut self, comm: CommId) {
        self.comms.remove(&comm);
    }

    /// The program or its user says how a collective is carried out; `None`: on all communicators.
    pub fn declare(&mut self, comm_name: Option<&str>, collective: Collective, pattern: Pattern) {
        let key = (comm_name.map(str::to_owned), collective);
        if self.declared.len() == DECLARED_MAX && !self.declared.contains_key(&key) {
            self.counters.declared_dropped += 1;
            return;
        }
        if self.declared.insert(key, pattern) != Some(pattern) {
            self.forget_calls();
        }
    }

    /// The program says that an iteration starts. Its number is the program's own business: it may
    /// jump or start again (a restart), and the detector counts for itself.
    pub fn mark_iteration(&mut self, _step: u64, at: Time) {
        let (iterations, mut around) = self.parts();
        iterations.mark(at, &mut around);
    }

    /// Takes one record. Records come in the order of their ends.
    pub fn observe(&mut self, event: &Event) {
        self.counters.events += 1;
        if event.flags.has(Flags::FAILED) {
            self.counters.events_failed += 1;
            return;
        }
        match event.op.kind() {
            Kind::Completion => return self.iterations.completed(event.end),
            Kind::Local | Kind::File | Kind::Window | Kind::Communicator | Kind::Life => return,
            Kind::Receive | Kind::PersistentReceive => return,
            Kind::Persistent(_) | Kind::PersistentSend if !event.flags.has(Flags::STARTED) => {
                return;
            }
            _ => {}
        }
        let Some(number) = self.number(event) else { return };
        self.calls.follow_size(number, event);
        if self.calls.call(number).small {
            self.small(number, event);
            return;
        }
        let call = Past { symbol: number, start: event.start, end: event.end };
        let (iterations, mut around) = self.parts();
        if iterations.take(call, &mut around) {
            self.run = None;
        } else {
            self.collect(number, event);
        }
    }

    /// What is new at `now`; phases are told as due `lead` before they begin.
    pub fn advance(&mut self, now: Time, lead: Nanos) -> Vec<Notice> {
        if self.run.as_ref().is_some_and(|run| now.since(run.end) > RUN_GAP) {
            self.close_run();
        }
        let (iterations, mut around) = self.parts();
        iterations.advance(now, lead, &mut around);
        std::mem::take(&mut self.notices)
    }

    /// When [`Detector::advance`] has something to tell even if no record comes; `None`: not yet.
    pub fn next_due(&self, lead: Nanos) -> Option<Time> {
        let run = self.run.as_ref().map(|run| run.end.after(RUN_GAP).after(Nanos(1)));
        let forecast = self.iterations.next_due(lead, &self.phases);
        run.into_iter().chain(forecast).min()
    }

    /// The known phases, in the order in which they were found. `incarnation` is 0 in them: the
    /// caller, who talks to the daemon, fills it in.
    pub fn phases(&self) -> Vec<wire::Phase> {
        self.phases.iter().map(phases::Known::wire).collect()
    }

    /// The iteration, once found.
    pub fn iteration(&self) -> Option<wire::IterationReport> {
        self.iterations.report(&self.counters)
    }

    /// What was seen and dropped.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Ends what is still open, so that [`Detector::phases`] holds the last run too.
    pub fn finish(&mut self) {
        self.close_run();
    }

    fn parts(&mut self) -> (&mut Iterations, Surroundings<'_>) {
        let around = Surroundings {
            calls: &self.calls,
            phases: &mut self.phases,
            notices: &mut self.notices,
            counters: &mut self.counters,
        };
        (&mut self.iterations, around)
    }

    /// The number of the record's call. `None`: it is of no interest, or of an unknown
    /// communicator.
    fn number(&mut self, event: &Event) -> Option<u32> {
        if let Some(number) = self.calls.find(event) {
            return Some(number);
        }
        if !self.comms.contains_key(&event.comm) {
            self.counters.events_unknown_comm += 1;
            return None;
        }
        if self.calls.full() {
            self.forget_calls();
        }
        let comm = self.comms.get(&event.comm)?;
        if comm.info.size < 2 {
            return None;
        }
        let known = calls::Known {
            settings: &self.settings,
            declared: &self.declared,
            hosts: comm.leaders.as_ref().map(|leaders| leaders.len() as u32),
            leaders: comm.leaders.as_ref(),
        };
        self.calls.place(event, &comm.info, &known)
    }

    /// Gives all calls new numbers from now on: patterns may be other ones, or there are too many.
    fn forget_calls(&mut self) {
        self.close_run();
        let (iterations, mut around) = self.parts();
        iterations.forget(&mut around);
        self.calls = Calls::default();
        self.run_phases.clear();
        self.counters.calls_forgotten += 1;
    }

    /// A small call is a run of its own, and interrupts nothing.
    fn small(&mut self, number: u32, event: &Event) {
        self.counters.calls_small += 1;
        self.count_run(&[number], event.duration());
    }

    /// Puts a call into the open run, or closes that and opens another one.
    fn collect(&mut self, number: u32, event: &Event) {
        let group = self.calls.call(number).group;
        let continues = self
            .run
            .as_ref()
            .is_some_and(|run| run.group == group && event.start.since(run.end) <= RUN_GAP);
        if !continues {
            self.close_run();
        }
        let run = self.run.get_or_insert_with(|| Run {
            group,
            numbers: Vec::new(),
            start: event.start,
            end: event.end,
        });
        run.end = run.end.max(event.end);
        if run.numbers.len() < RUN_CALLS_MAX {
            run.numbers.push(number);
        }
    }

    fn close_run(&mut self) {
        if let Some(run) = self.run.take() {
            self.count_run(&run.numbers, run.end.since(run.start));
        }
    }

    /// Counts a run to its phase, and tells of that if it is new.
    fn count_run(&mut self, numbers: &[u32], duration: Nanos) {
        let Some(first) = numbers.first() else { return };
        let group = self.calls.call(*first).group;
        let index = match self.run_phases.get(&group) {
            Some(index) => *index,
            None => {
                let (calls, counters) = (&self.calls, &mut self.counters);
                let found = phases::find_or_add_run(numbers, calls, &mut self.phases, counters);
                let Some(index) = found else { return };
                self.run_phases.insert(group, index);
                index
            }
        };
        let phase = &mut self.phases[index];
        if phase.count_run(duration) {
            self.notices.push(Notice::PhaseFound(phase.wire()));
        }
    }
}

/// The first rank of the communicator on each host, by world ranks laid out in blocks.
fn leaders(info: &CommInfo, ranks_per_host: u32) -> Option<Arc<[u32]>> {
    let members = info.members.as_ref()?;
    if ranks_per_host == 0 || members.len() > LAYOUT_RANKS_MAX {
        return None;
    }
    let mut seen = std::collections::BTreeSet::new();
    let firsts = members.iter().enumerate().filter(|(_, rank)| seen.insert(rank / ranks_per_host));
    Some(firsts.map(|(index, _)| index as u32).collect())
}
