//! Turns records into what the detector, the report and the agent need.

use super::Losses;
use crate::agent::Due;
use crate::capi::{self, Report};
use crate::life::Life;
use crate::preload::clock::Scale;
use crate::preload::ring::Record;
use crate::skip::Bypass;
use pas_core::detector::{CommInfo, Detector, Notice};
use pas_core::event::{CommId, Event, Flags};
use pas_core::op::{Kind, Op};
use pas_core::units::{Nanos, Time};
use pas_core::wire::{
    CallSum, CommReport, IterationReport, Phase, REPORT_COMMS_MAX, REPORT_TIMELINE_MAX,
    TimelineEntry,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// Pairs of call and communicator that are summed apart; calls beyond go uncounted by pair
/// (`bypass.sum_table_full`).
const SUMS_MAX: usize = 1024;

/// The worker's own state.
pub struct Collector {
    life: &'static Life,
    scale: Scale,
    started_unix_us: u64,
    detector: Detector,
    known: BTreeSet<CommId>,
    comms: BTreeMap<String, CommReport>,
    keys: BTreeMap<CommId, String>,
    sums: BTreeMap<(Op, CommId), Sum>,
    /// Sums of freed communicators, by key.
    past_sums: BTreeMap<(Op, String), Sum>,
    timeline: VecDeque<(Event, String)>,
    losses: Losses,
    found: Vec<Phase>,
    due: Vec<Due>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    failed: u64,
    bytes: u64,
    time_ns: u64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.count += other.count;
        self.failed += other.failed;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

impl Collector {
    /// A collector that starts now: its time 0 is the end of `MPI_Init`.
    pub fn new(life: &'static Life) -> Collector {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Collector {
            life,
            scale: life.scale,
            started_unix_us: u64::try_from(unix.as_micros()).unwrap_or(u64::MAX),
            detector: Detector::new(&life.mpi.library, std::env::vars()),
            known: BTreeSet::new(),
            comms: BTreeMap::new(),
            keys: BTreeMap::new(),
            sums: BTreeMap::new(),
            past_sums: BTreeMap::new(),
            timeline: VecDeque::new(),
            losses: Losses::default(),
            found: Vec::new(),
            due: Vec::new(),
        }
    }

    /// Time since the start.
    pub fn now(&self) -> Nanos {
        Nanos(self.scale.now_ns())
    }

    /// Wall clock at the start.
    pub fn started_unix_us(&self) -> u64 {
        self.started_unix_us
    }

    /// Drains the rings and the program's reports; answers how many records there were.
    pub fn collect(&mut self) -> usize {
        self.scale.adjust();
        // Asked for before the rings are drained: see `Comms::take_freed`.
        let freed = self.life.comms.take_freed();
        let mut records = 0;
        for ring in self.life.rings.all() {
            records += ring.drain(|record| self.take(record));
        }
        self.take_reports();
        self.forget(&freed);
        let figures = &self.life.worker.figures;
        figures.calls.fetch_add(records as u64, Ordering::Relaxed);
        records
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
        if event.comm != CommId::NONE && self.known.insert(event.comm) {
            self.meet(event.comm);
        }
        self.sum(&event);
        if event.flags.has(Flags::FAILED) {
            return;
        }
        self.detector.observe(&event);
        if !matches!(event.op.kind(), Kind::Completion) {
            if self.timeline.len() == REPORT_TIMELINE_MAX {
                self.timeline.pop_front();
            }
            let key = self.keys.get(&event.comm).cloned().unwrap_or_default();
            self.timeline.push_back((event, key));
        }
    }

    /// Introduces a communicator to the detector and the report.
    fn meet(&mut self, id: CommId) {
        let Some(info) = self.life.comms.info(id) else { return };
        let report = CommReport {
            comm: info.key.clone(),
            name: info.name.clone(),
            size: info.size,
            rank: info.rank,
            members: info.members.clone(),
        };
        if self.comms.len() < REPORT_COMMS_MAX {
            self.comms.insert(info.key.clone(), report);
        }
        self.keys.insert(id, info.key.clone());
        self.detector.comm_created(
            id,
            CommInfo {
                key: info.key.clone(),
                name: info.name.clone(),
                size: info.size,
                rank: info.rank,
                members: info.members.clone(),
            },
        );
    }

    fn forget(&mut self, freed: &[CommId]) {
        for id in freed {
            self.known.remove(id);
            self.detector.comm_freed(*id);
            let Some(key) = self.keys.remove(id) else { continue };
            let of_id: Vec<_> = self.sums.range(..).filter(|((_, c), _)| c == id).collect();
            let of_id: Vec<_> = of_id.into_iter().map(|(k, v)| (*k, *v)).collect();
            for ((op, comm), sum) in of_id {
                self.sums.remove(&(op, comm));
                if self.past_sums.len() < SUMS_MAX
                    || self.past_sums.contains_key(&(op, key.clone()))
                {
                    self.past_sums.entry((op, key.clone())).or_default().add(sum);
                } else {
                    Bypass::SumTableFull.count_many(sum.count);
                }
            }
        }
        self.life.comms.forget(freed);
    }

    fn sum(&mut self, event: &Event) {
        let key = (event.op, event.comm);
        if self.sums.len() >= SUMS_MAX && !self.sums.contains_key(&key) {
            Bypass::SumTableFull.count();
            return;
        }
        self.sums.entry(key).or_default().add(Sum {
            count: 1,
            failed: u64::from(event.flags.has(Flags::FAILED)),
            bytes: event.bytes,
            time_ns: event.duration().0,
        });
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
                Report::PhaseBegin { name } => {
                    self.detector.mark_phase(Some(name.text()), Time(at.0))
                }
                Report::PhaseEnd => self.detector.mark_phase(None, Time(at.0)),
                Report::Declare { comm, collective, pattern } => {
                    let declared = capi::parse_declared(&collective.text(), &pattern.text());
                    if let Some((collective, pattern)) = declared {
                        self.detector.declare(comm.map(|comm| comm.text()), collective, pattern);
                    }
                }
            }
        }
    }

    /// The phases that were found or changed, and those that are about to begin, since the last
    /// call; of communicators whose first rank this is: the others find the same.
    pub fn take_findings(&mut self, lead: Nanos) -> (Vec<Phase>, Vec<Due>) {
        let now = Time(self.scale.now_ns());
        for notice in self.detector.advance(now, lead) {
            match notice {
                Notice::PhaseFound(phase) | Notice::PhaseChanged(phase) => self.found.push(phase),
                Notice::PhaseDue { phase, starts_in, duration, .. } => {
                    self.due.push(Due { phase, starts_in, duration });
                }
                Notice::ForecastMissed { .. } => {}
            }
        }
        let leads = |comm: &str| self.comms.get(comm).is_some_and(|comm| comm.rank == 0);
        self.found.retain(|phase| leads(&phase.comm));
        self.due.retain(|due| due.phase.split('.').next().is_some_and(leads));
        let phases = self.detector.phases().count() as u64;
        self.life.worker.figures.phases.store(phases, Ordering::Relaxed);
        (std::mem::take(&mut self.found), std::mem::take(&mut self.due))
    }

    /// Every phase that this rank is to tell of.
    pub fn phases(&self) -> Vec<Phase> {
        let leads = |comm: &str| self.comms.get(comm).is_some_and(|comm| comm.rank == 0);
        self.detector.phases().filter(|phase| leads(&phase.comm)).collect()
    }

    /// The same by name.
    pub fn all_phases(&self) -> BTreeMap<String, Phase> {
        self.phases().into_iter().map(|phase| (phase.phase.clone(), phase)).collect()
    }

    /// What the program reported.
    pub fn losses(&mut self) -> &mut Losses {
        &mut self.losses
    }

    /// Likewise, to read.
    pub fn reported(&self) -> &Losses {
        &self.losses
    }

    /// The iteration, once found.
    pub fn iteration(&self) -> Option<IterationReport> {
        self.detector.iteration()
    }

    /// The communicators met, with the names they have now.
    pub fn comm_reports(&self) -> Vec<CommReport> {
        self.comms.values().cloned().collect()
    }

    /// The sums by call and communicator.
    pub fn call_sums(&self) -> Vec<CallSum> {
        let mut all = self.past_sums.clone();
        for ((op, comm), sum) in &self.sums {
            let key = self.keys.get(comm).cloned().unwrap_or_default();
            all.entry((*op, key)).or_default().add(*sum);
        }
        let row = |((op, comm), sum): ((Op, String), Sum)| CallSum {
            call: op.name().to_owned(),
            comm,
            count: sum.count,
            failed: sum.failed,
            bytes: sum.bytes,
            time_ns: Nanos(sum.time_ns),
        };
        all.into_iter().map(row).collect()
    }

    /// The last calls.
    pub fn timeline(&self) -> Vec<TimelineEntry> {
        let entry = |(event, comm): &(Event, String)| TimelineEntry {
            call: event.op.name().to_owned(),
            comm: comm.clone(),
            start_ns: event.start.since(Time(0)),
            duration_ns: event.duration(),
            bytes: event.bytes,
        };
        self.timeline.iter().map(entry).collect()
    }

    /// The detector's counters and ours.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        let mut counters = self.detector.counters();
        let calls = self.life.worker.figures.calls.load(Ordering::Relaxed);
        counters.insert("calls_recorded".to_owned(), calls);
        counters
    }
}
