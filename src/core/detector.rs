//! From recorded calls to phases, iterations and forecasts.
//!
//! One detector serves one rank. The worker feeds it every record ([`Detector::observe`]) and asks
//! now and then what has come of it ([`Detector::advance`]). Memory is bounded by the constants
//! below; whatever a limit cuts off is counted in [`Counters`].

use crate::event::{CommId, Event};
use crate::library::{Forced, Library};
use crate::members::Members;
use crate::op::Collective;
use crate::pattern::Pattern;
use crate::units::{Nanos, Time};
use crate::wire;
use std::collections::BTreeMap;

/// Most communicators that are known at one time; calls on others are counted, not analysed.
pub const COMMS_MAX: usize = 1024;
/// Most declared patterns.
pub const DECLARED_MAX: usize = 256;

/// What a detector must know of its process.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The MPI library.
    pub library: Library,
    /// Algorithms that the environment forces.
    pub forced: Forced,
    /// Ranks of the world on this host, where the launcher says so.
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
    /// Communicators not taken, [`COMMS_MAX`] being there already.
    pub comms_dropped: u64,
    /// Declarations not taken, [`DECLARED_MAX`] being there already.
    pub declared_dropped: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Detector {
    settings: Settings,
    comms: BTreeMap<CommId, CommInfo>,
    declared: BTreeMap<(Option<String>, Collective), Pattern>,
    counters: Counters,
}

impl Detector {
    /// A detector that has seen nothing yet.
    pub fn new(settings: Settings) -> Detector {
        Detector {
            settings,
            comms: BTreeMap::new(),
            declared: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    /// A communicator is there, before the first record that names it.
    pub fn comm_created(&mut self, comm: CommId, info: CommInfo) {
        if self.comms.len() == COMMS_MAX && !self.comms.contains_key(&comm) {
            self.counters.comms_dropped += 1;
            return;
        }
        self.comms.insert(comm, info);
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
        self.declared.insert(key, pattern);
    }

    /// The program says that an iteration starts.
    pub fn mark_iteration(&mut self, _step: u64, _at: Time) {}

    /// Takes one record. Records come in the order of their ends.
    pub fn observe(&mut self, event: &Event) {
        self.counters.events += 1;
        if event.flags.has(crate::event::Flags::FAILED) {
            self.counters.events_failed += 1;
        } else if event.comm != CommId::NONE && !self.comms.contains_key(&event.comm) {
            self.counters.events_unknown_comm += 1;
        }
    }

    /// What is new at `now`; phases are told as due `lead` before they begin.
    pub fn advance(&mut self, _now: Time, _lead: Nanos) -> Vec<Notice> {
        Vec::new()
    }

    /// When [`Detector::advance`] has something to tell even if no record comes; `None`: not yet.
    pub fn next_due(&self, _lead: Nanos) -> Option<Time> {
        None
    }

    /// The known phases, in the order in which they were found. `incarnation` is 0 in them: the
    /// caller, who talks to the daemon, fills it in.
    pub fn phases(&self) -> Vec<wire::Phase> {
        Vec::new()
    }

    /// The iteration, once found.
    pub fn iteration(&self) -> Option<wire::IterationReport> {
        None
    }

    /// What was seen and dropped.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
