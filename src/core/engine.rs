//! The controller's state machine: commands and times in, effects out.
//!
//! [`Engine::apply`] takes the time and one [`Command`] and answers with the [`Effect`]s that the
//! rim (the daemon, the simulator) carries out: replies, changes of a switch, moves of paths. The
//! same commands at the same times give the same effects byte for byte, so a journal of commands
//! is a log of everything, and a snapshot (the engine, serialised) with the journal after it gives
//! the same state.
//!
//! # What the rim promises
//!
//! * It applies commands one at a time, with times that never go back, restarts included (a clock
//!   that steps back is read as standing still).
//! * It writes each command to its journal, heartbeats and ticks too, before it carries out the
//!   effects.
//! * It carries out the [`Effect::Optical`] of one plane one after the other: removes first, then
//!   creates; at the first failure it stops; then it reads the switch back and answers with one
//!   [`Command::OpticalDone`], whatever happened. Nothing to remove and nothing to create means
//!   just to read back. Likewise one [`Command::PathsDone`] answers each [`Effect::Paths`].
//! * It applies [`Command::Tick`] no later than [`Engine::next_deadline`].
//! * After restoring an engine (or making a new one) it applies [`Command::Restart`] first.
//!
//! # Rooms
//!
//! `jobs` and `leases`: who is there; `prestage`: from a request to a plan to its answer;
//! `circuits` with its `life`: what was planned and what has become of it; `planes` and
//! `paths`: what switches and paths' controllers are asked, and what they answered; `restart`;
//! `timers`; `views`: what can be seen.

mod circuits;
mod command;
mod jobs;
mod leases;
mod life;
mod limits;
mod paths;
mod planes;
mod prestage;
mod restart;
mod timers;
mod views;

#[cfg(test)]
mod tests;

pub use command::{Command, Connect, Effect, OpId, PathMove, Refusal, Response, Token, Way};
pub use limits::Limits;
pub use views::Metric;

use crate::fabric::{Fabric, HostId, PlaneId};
use crate::planner::CircuitId;
use crate::units::Time;
use crate::wire::validate::Invalid;
use crate::wire::{Problem, VERSION};
use circuits::{Circuit, PortUses};
use jobs::Job;
use paths::MovingPath;
use planes::PlaneState;
use prestage::Wait;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use timers::{Timer, Timers};
use views::Counters;

/// The controller.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Engine {
    fabric: Fabric,
    limits: Limits,
    now: Time,
    jobs: BTreeMap<String, Job>,
    /// Ended jobs, the first first.
    ended: VecDeque<String>,
    running_jobs: usize,
    /// Ranks of running jobs.
    ranks: usize,
    phase_entries: usize,
    /// No forgotten job had a higher one.
    forgotten_incarnation: u64,
    /// The jobs that run on each host.
    tenants: BTreeMap<HostId, BTreeSet<String>>,
    circuits: BTreeMap<CircuitId, Circuit>,
    ports: PortUses,
    planes: Vec<PlaneState>,
    moving: BTreeMap<OpId, Vec<MovingPath>>,
    waits: BTreeMap<Token, Wait>,
    timers: Timers,
    next_op: u64,
    next_circuit: u64,
    next_group: u64,
    counters: Counters,
    /// What follows is empty between commands: effects so far, the moves that go together, the
    /// planes to look at, and the jobs that something happened to.
    #[serde(skip)]
    out: Vec<Effect>,
    #[serde(skip)]
    moving_op: Option<OpId>,
    #[serde(skip)]
    dirty: BTreeSet<PlaneId>,
    #[serde(skip)]
    touched: BTreeSet<String>,
}

impl Engine {
    /// An engine that knows no job and has not seen its switches yet.
    pub fn new(fabric: Fabric, limits: Limits) -> Engine {
        let planes = fabric.plane_ids().map(|_| PlaneState::unread()).collect();
        Engine {
            fabric,
            limits,
            now: Time(0),
            jobs: BTreeMap::new(),
            ended: VecDeque::new(),
            running_jobs: 0,
            ranks: 0,
            phase_entries: 0,
            forgotten_incarnation: 0,
            tenants: BTreeMap::new(),
            circuits: BTreeMap::new(),
            ports: PortUses::default(),
            planes,
            moving: BTreeMap::new(),
            waits: BTreeMap::new(),
            timers: Timers::default(),
            next_op: 1,
            next_circuit: 1,
            next_group: 0,
            counters: Counters::default(),
            out: Vec::new(),
            moving_op: None,
            dirty: BTreeSet::new(),
            touched: BTreeSet::new(),
        }
    }

    /// Takes one command; answers with what is to be done, in order.
    pub fn apply(&mut self, now: Time, command: Command) -> Vec<Effect> {
        self.now = self.now.max(now);
        self.counters.commands += 1;
        if !matches!(command, Command::Restart { .. }) {
            self.fire_timers();
        }
        self.take(command);
        self.flush();
        std::mem::take(&mut self.out)
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Restart { fabric } => self.restart(fabric),
            Command::Register { token, job, request } => {
                let result = self.register(&job, &request);
                self.reply(token, result);
            }
            Command::Heartbeat { token, job, rank, request } => {
                let result = self.heartbeat(&job, rank, &request);
                self.reply(token, result);
            }
            Command::Deregister { token, job, rank, incarnation } => {
                let result = self.deregister(&job, rank, incarnation);
                self.reply(token, result);
            }
            Command::EndJob { token, job } => {
                let result = self.end_job_now(&job);
                self.reply(token, result);
            }
            Command::PutPhase { token, job, phase } => {
                let result = self.put_phase(&job, phase);
                self.reply(token, result);
            }
            Command::Prestage { token, job, request } => self.prestage(token, &job, request),
            Command::Hint { token, job, hint } => {
                let result = self.put_hint(&job, hint);
                self.reply(token, result);
            }
            Command::Release { token, job, phase } => {
                let result = self.release(&job, phase.as_deref());
                self.reply(token, result);
            }
            Command::OpticalDone { op, plane, error, connects } => {
                self.optical_done(op, plane, error.as_deref(), connects.as_deref());
            }
            Command::Links { plane, connects } => self.links(plane, &connects),
            Command::PathsDone { op, error } => self.paths_done(op, error.as_deref()),
            Command::Tick => {}
        }
    }

    /// When [`Command::Tick`] is due at the latest.
    pub fn next_deadline(&self) -> Option<Time> {
        self.timers.next()
    }

    /// The fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The terms and limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sets other terms and limits, between restoring an engine and [`Command::Restart`].
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Does what is due. Where that is late by a heartbeat or more, the engine itself was not
    /// running, and no rank's silence in that time says anything.
    fn fire_timers(&mut self) {
        let late = self.timers.next().map(|due| self.now.since(due)).unwrap_or_default();
        if late > self.limits.heartbeat_ns {
            self.counters.stalls += 1;
            self.renew_leases();
        }
        while let Some(timer) = self.timers.pop_due(self.now) {
            match timer {
                Timer::Lease(job) => self.leases_due(&job),
                Timer::Idle(job) => self.idle_due(&job),
                Timer::Circuit(circuit) => self.circuit_due(circuit),
                Timer::Plane(plane) => {
                    self.dirty.insert(plane);
                }
                Timer::Op(op) => self.op_overdue(op),
                Timer::Wait(token) => self.end_wait(token),
            }
        }
    }

    /// Hands out what the command has made necessary.
    fn flush(&mut self) {
        while let Some(plane) = self.dirty.pop_first() {
            self.pump(plane);
        }
        self.flush_moves();
        self.settle_waits();
    }

    fn next_op(&mut self) -> OpId {
        let op = OpId(self.next_op);
        self.next_op += 1;
        op
    }

    fn reply(&mut self, token: Token, result: Result<Response, Refusal>) {
        if let Err(refusal) = &result {
            *self.counters.refused.entry(refusal.problem.error.clone()).or_default() += 1;
        }
        self.out.push(Effect::Reply { token, result });
    }
}

impl Refusal {
    fn new(status: u16, error: &str, message: String) -> Refusal {
        Refusal { status, problem: Problem { version: VERSION, error: error.into(), message } }
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Refusal {
        Refusal::new(400, invalid.error, invalid.message)
    }
}

/// Maps whose keys are no strings, serialised as lists of pairs.
mod as_pairs {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}
