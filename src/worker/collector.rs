//! Turns records into what the detector, the report and the agent need.

use super::{Losses, Sums};
use crate::capi::{self, Report};
use crate::life::Life;
use crate::preload::clock::Scale;
use crate::preload::ring::Record;
use crate::sys;
use pas_core::detector::{Detector, Due, Notice};
use pas_core::event::{CommId, Event, Flags};
use pas_core::op::Kind;
use pas_core::units::{Nanos, Time};
use pas_core::wire::{
    CallSum, CommReport, IterationReport, MarkReport, Phase, REPORT_COMMS_MAX, REPORT_MARKS_MAX,
    REPORT_TIMELINE_MAX, TimelineEntry,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// The worker's own state.
pub struct Collector {
    life: &'static Life,
    scale: Scale,
    started_unix_us: u64,
    detector: Detector,
    /// Living communicators that a record has named, by number.
    comms: BTreeMap<CommId, Met>,
    reports: BTreeMap<String, CommReport>,
    sums: Sums,
    timeline: VecDeque<(Event, Arc<str>)>,
    marks: VecDeque<MarkReport>,
    mark: Option<(String, Nanos)>,
    losses: Losses,
    /// The key of records without a communicator.
    no_key: Arc<str>,
    /// Records of one turn, where several threads recorded: sorted before they are taken.
    turn: Vec<Record>,
}

/// A communicator that a record has named.
struct Met {
    key: Arc<str>,
    /// True where this rank speaks for the communicator: the others find the same.
    leads: bool,
}

impl Collector {
    /// A collector that starts now: its time 0 is the end of `MPI_Init`.
    pub fn new(life: &'static Life) -> Collector {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Collector {
            life,
            scale: life.scale,
            started_unix_us: u64::try_from(unix.as_micros()).unwrap_or(u64::MAX),
            detector: Detector::new(life.detecting.clone()),
            comms: BTreeMap::new(),
            reports: BTreeMap::new(),
            sums: Sums::default(),
            timeline: VecDeque::new(),
            marks: VecDeque::new(),
            mark: None,
            losses: Losses::default(),
            no_key: "".into(),
            turn: Vec::new(),
        }
    }

    /// Time since the start.
    pub fn now(&self) -> Nanos {
        Nanos(self.scale.since_start(sys::monotonic_ns()))
    }

    /// Wall clock at the start.
    pub fn started_unix_us(&self) -> u64 {
        self.started_unix_us
    }

    /// Time until [`Collector::take_findings`] will have something to tell even without a record.
    pub fn time_to_due(&self, lead: Nanos) -> Option<Nanos> {
        let due = self.detector.next_due(lead)?;
        Some(due.since(Time(self.now().0)))
    }

    /// Drains the rings and the program's reports.
    pub fn collect(&mut self) {
        self.scale.adjust();
        // Asked for before the rings are drained: see `Comms::take_freed`.
        let freed = self.life.comms.take_freed();
        let rings = self.life.rings.all();
        let records: usize = match rings.as_slice() {
            [ring] => ring.drain(|record| self.take(record)),
            rings => {
                let mut turn = std::mem::take(&mut self.turn);
                let records = rings.iter().map(|ring| ring.drain(|record| turn.push(record))).sum();
                // The detector wants the order of the calls' ends, over all threads.
                turn.sort_by_key(|record| record.end_ticks);
                turn.drain(..).for_each(|record| self.take(record));
                self.turn = turn;
                records
            }
        };
        self.take_reports();
        for id in &freed {
            self.detector.comm_freed(*id);
            if let Some(met) = self.comms.remove(id) {
                self.sums.retire(*id, &met.key);
            }
        }
        self.life.comms.forget(&freed);
        self.life.worker.figures.calls.fetch_add(records as u64, Ordering::Relaxed);
    }

    fn take(&mut self, record: Record) {
        let event = Event {
            op: record.op,
            comm: record.comm,
            peer: record.peer,
            count: record.count,
            bytes: record.bytes,
            start: Time(self.scale.ns(record.start_ticks)),
            end: Time(self.scale.ns(record.end_ticks)),
            flags: record.flags,
        };
        let key = self.key(event.comm);
        self.sums.add(&event);
        self.detector.observe(&event);
        let failed = event.flags.has(Flags::FAILED);
        if !failed && !matches!(event.op.kind(), Kind::Completion | Kind::Local) {
            if self.timeline.len() == REPORT_TIMELINE_MAX {
                self.timeline.pop_front();
            }
            self.timeline.push_back((event, key));
        }
    }

    /// The key of a record's communicator; empty where it has none.
    fn key(&mut self, id: CommId) -> Arc<str> {
        match self.comms.get(&id) {
            Some(met) => Arc::clone(&met.key),
            None if id == CommId::NONE => Arc::clone(&self.no_key),
            None => self.meet(id).unwrap_or_else(|| Arc::clone(&self.no_key)),
        }
    }

    /// Introduces a communicator to the detector and the report; answers its key.
    #[cold]
    fn meet(&mut self, id: CommId) -> Option<Arc<str>> {
        let info = self.life.comms.info(id)?;
        let key = format!("{:016x}", info.key);
        if self.reports.len() < REPORT_COMMS_MAX {
            let report = CommReport {
                comm: key.clone(),
                name: info.name.clone(),
                size: info.size,
                rank: info.rank,
                members: info.members.clone(),
            };
            self.reports.insert(key.clone(), report);
        }
        let key: Arc<str> = key.into();
        let leads = info.rank == 0 && info.members.is_some();
        self.comms.insert(id, Met { key: Arc::clone(&key), leads });
        self.detector.comm_created(id, (*info).clone());
        Some(key)
    }

    fn take_reports(&mut self) {
        while let Ok((at_ns, report)) = capi::reports().try_recv() {
            let at = Nanos(self.scale.since_start(at_ns));
            match report {
                Report::Loss { step, loss } => self.losses.loss(at, step, loss),
                Report::Metric { step, name, value } => {
                    self.losses.metric(at, step, name.text(), value);
                }
                Report::Target { name, value } => self.losses.target(name.text(), value),
                Report::Iteration { step } => self.detector.mark_iteration(step, Time(at.0)),
                Report::PhaseBegin { name } => self.mark(Some(name.text()), at),
                Report::PhaseEnd => self.mark(None, at),
                Report::Declare { comm, collective, pattern } => {
                    let declared = capi::parse_declared(&collective.text(), &pattern.text());
                    if let Some((collective, pattern)) = declared {
                        let comm = comm.map(|comm| comm.text());
                        self.detector.declare(comm.as_deref(), collective, pattern);
                    }
                }
            }
        }
    }

    /// Ends the phase that the program marked, and begins the next one, if it named one.
    fn mark(&mut self, next: Option<String>, at: Nanos) {
        if let Some((name, start_ns)) = self.mark.take() {
            if self.marks.len() == REPORT_MARKS_MAX {
                self.marks.pop_front();
            }
            self.marks.push_back(MarkReport { name, start_ns, duration_ns: at.minus(start_ns) });
        }
        self.mark = next.map(|name| (name, at));
    }

    /// The last records are in: what the detector holds open is closed.
    pub fn finish(&mut self) {
        self.detector.finish();
    }

    /// The phases that were found or changed, and those that are about to begin, since the last
    /// call; of communicators that this rank speaks for.
    pub fn take_findings(&mut self, lead: Nanos) -> (Vec<Phase>, Vec<Due>) {
        let (mut found, mut due) = (Vec::new(), Vec::new());
        for notice in self.detector.advance(Time(self.now().0), lead) {
            match notice {
                Notice::PhaseFound(phase) | Notice::PhaseChanged(phase) => found.push(phase),
                Notice::PhaseDue(phase) => due.push(phase),
                Notice::ForecastMissed { .. } => {}
            }
        }
        if !found.is_empty() {
            let known = self.detector.phases().len() as u64;
            self.life.worker.figures.phases.store(known, Ordering::Relaxed);
        }
        found.retain(|phase| self.speaks_for(phase));
        due.retain(|due| self.comms.get(&due.comm).is_some_and(|met| met.leads));
        (found, due)
    }

    fn speaks_for(&self, phase: &Phase) -> bool {
        self.reports.get(&phase.comm).is_some_and(|comm| comm.rank == 0 && comm.members.is_some())
    }

    /// Every phase that this rank is to tell of.
    pub fn phases(&self) -> Vec<Phase> {
        let phases = self.detector.phases().into_iter();
        phases.filter(|phase| self.speaks_for(phase)).collect()
    }

    /// One phase as it is now.
    pub fn phase(&self, name: &str) -> Option<Phase> {
        self.detector.phases().into_iter().find(|phase| phase.phase == name)
    }

    /// The same by name.
    pub fn all_phases(&self) -> BTreeMap<String, Phase> {
        self.phases().into_iter().map(|phase| (phase.phase.clone(), phase)).collect()
    }

    /// What the program reported, to add to.
    pub fn losses(&mut self) -> &mut Losses {
        &mut self.losses
    }

    /// What the program reported.
    pub fn reported(&self) -> &Losses {
        &self.losses
    }

    /// The phases that the program marked.
    pub fn marks(&self) -> Vec<MarkReport> {
        self.marks.iter().cloned().collect()
    }

    /// The iteration, once found.
    pub fn iteration(&self) -> Option<IterationReport> {
        self.detector.iteration()
    }

    /// The communicators met.
    pub fn comm_reports(&self) -> Vec<CommReport> {
        self.reports.values().cloned().collect()
    }

    /// The sums by call and communicator.
    pub fn call_sums(&self) -> Vec<CallSum> {
        self.sums
            .report(|id| self.comms.get(&id).map(|met| met.key.to_string()).unwrap_or_default())
    }

    /// The last calls.
    pub fn timeline(&self) -> Vec<TimelineEntry> {
        let entry = |(event, comm): &(Event, Arc<str>)| TimelineEntry {
            call: event.op.name().to_owned(),
            comm: comm.to_string(),
            start_ns: event.start.since(Time(0)),
            duration_ns: event.duration(),
            bytes: event.bytes,
        };
        self.timeline.iter().map(entry).collect()
    }

    /// The detector's counters and ours.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        let calls = self.life.worker.figures.calls.load(Ordering::Relaxed);
        let seen = self.detector.counters().named().into_iter();
        let seen = seen.map(|(name, count)| (format!("detector.{name}"), count));
        seen.chain([("calls_recorded".to_owned(), calls)]).collect()
    }
}
