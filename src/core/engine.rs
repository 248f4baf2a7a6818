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
//! * It writes each command to its journal before it carries out the effects.
//! * It carries out the [`Effect::Optical`] of one plane one after the other: removes first, then
//!   creates; at the first failure it stops; then it reads the switch back and answers with one
//!   [`Command::OpticalDone`], whatever happened. Nothing to remove and nothing to create means
//!   just to read back. Likewise one [`Command::PathsDone`] answers each [`Effect::Paths`].
//! * It applies [`Command::Tick`] no later than [`Engine::next_deadline`].
//! * After restoring an engine (or making a new one) it applies [`Command::Restart`] first.

use crate::fabric::{Fabric, PlaneId, PortPair};
use crate::units::{Nanos, Time};
use crate::wire;
use serde::{Deserialize, Serialize};

/// Names an [`Effect::Optical`] or [`Effect::Paths`] until its answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpId(pub u64);

/// Names a request until its [`Effect::Reply`]; the rim chooses it, unique in its life.
pub type Token = u64;

/// What happens to the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// The rim (re)started: operations under way and waiting requests are forgotten, leases get a
    /// full term again, every plane is read back. The fabric may have changed meanwhile.
    Restart {
        /// The fabric as its file says now.
        fabric: Fabric,
    },
    /// `POST /v1/jobs/{job}/ranks`; answered with [`Response::Registered`].
    Register {
        /// For the reply.
        token: Token,
        /// The job's id.
        job: String,
        /// The body.
        request: wire::RegisterRank,
    },
    /// `POST /v1/jobs/{job}/ranks/{rank}/heartbeat`; answered with [`Response::Done`].
    Heartbeat {
        /// For the reply.
        token: Token,
        /// The job's id.
        job: String,
        /// The rank in the world.
        rank: u32,
        /// The body.
        request: wire::Heartbeat,
    },
    /// `DELETE /v1/jobs/{job}/ranks/{rank}`: the rank's MPI is finalised.
    Deregister {
        /// For the reply.
        token: Token,
        /// The job's id.
        job: String,
        /// The rank in the world.
        rank: u32,
        /// From [`wire::Registered`].
        incarnation: u64,
    },
    /// `DELETE /v1/jobs/{job}`: the launcher or an operator says that the job is over.
    EndJob {
        /// For the reply.
        token: Token,
        /// The job's id.
        job: String,
    },
    /// `PUT /v1/jobs/{job}/phases/{phase}`; answered with [`Response::Done`].
    PutPhase {
        /// For the reply.
        token: Token,
        /// The job's id.
        job: String,
        /// The body; its `phase` is the path's.
        phase: wire::Phase,
    },
    /// `POST /v1/jobs/{job}/prestage`; answered with [`Response::Prestage`], perhaps later.
    Prestage {
        /// For the reply.
        token: Token,
        /// The job's id.
        job: String,
        /// The body.
        request: wire::Prestage,
    },
    /// `POST /v1/jobs/{job}/hints`; answered with [`Response::Done`].
    Hint {
        /// For the reply.
        token: Token,
        /// The job's id.
        job: String,
        /// The body.
        hint: wire::Hint,
    },
    /// `DELETE /v1/jobs/{job}/circuits`: the job gives its circuits back.
    Release {
        /// For the reply.
        token: Token,
        /// The job's id.
        job: String,
        /// Only those set up for this phase.
        phase: Option<String>,
    },
    /// Answers an [`Effect::Optical`].
    OpticalDone {
        /// The effect's.
        op: OpId,
        /// The effect's.
        plane: PlaneId,
        /// What failed, in words; absent where all was done.
        error: Option<String>,
        /// The switch's cross-connects as read back afterwards; absent where that failed too.
        connects: Option<Vec<Connect>>,
    },
    /// Links came up, or went down, by themselves.
    Links {
        /// The plane.
        plane: PlaneId,
        /// The cross-connects concerned, with what their links are now.
        connects: Vec<Connect>,
    },
    /// Answers an [`Effect::Paths`].
    PathsDone {
        /// The effect's.
        op: OpId,
        /// What failed, in words; absent where all moved. A failure means: none can be relied on.
        error: Option<String>,
    },
    /// Time passed.
    Tick,
}

/// A cross-connect as read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Connect {
    /// The two ports.
    pub ports: PortPair,
    /// True where both ends' links are up.
    pub up: bool,
}

/// What the rim must do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Answer a request.
    Reply {
        /// The command's.
        token: Token,
        /// 200 with the body, or what is wrong.
        result: Result<Response, Refusal>,
    },
    /// Change one plane: removes, then creates, then read back. See the module's head.
    Optical {
        /// For the answer.
        op: OpId,
        /// The plane.
        plane: PlaneId,
        /// Cross-connects to remove.
        remove: Vec<PortPair>,
        /// Cross-connects to create afterwards.
        create: Vec<PortPair>,
    },
    /// Move traffic between host pairs.
    Paths {
        /// For the answer.
        op: OpId,
        /// The moves, independent of each other.
        moves: Vec<PathMove>,
    },
    /// For the circuit log: a circuit changed its state. The rim adds the wall clock.
    CircuitChanged {
        /// The circuit after the change; a removed one is `draining`.
        circuit: wire::Circuit,
        /// Why, in words.
        why: String,
    },
}

/// Traffic of one job between two hosts takes another way, both directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathMove {
    /// The job.
    pub job: String,
    /// One host's name.
    pub a: String,
    /// The other's.
    pub b: String,
    /// The new way.
    pub to: Way,
}

/// A way between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The packet network.
    Eps,
    /// The circuit on a plane.
    Circuit(PlaneId),
}

/// A body of a 2xx answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Nothing to say: 204.
    Done,
    /// 200.
    Registered(wire::Registered),
    /// 200.
    Prestage(wire::PrestageReply),
}

/// An answer that is not 2xx.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub problem: wire::Problem,
}

/// Terms and limits; all have defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// A rank silent for longer is dead.
    pub lease_ns: Nanos,
    /// How often a rank should be heard of.
    pub heartbeat_ns: Nanos,
    /// A job that records no call for so long loses its circuits.
    pub idle_ns: Nanos,
    /// Added to a phase's expected end before its circuits count as parked.
    pub margin_ns: Nanos,
    /// The longest that one request may keep circuits in use.
    pub in_use_ns_max: Nanos,
    /// A parked circuit unused for so long gives way as if its ports were free.
    pub cold_ns: Nanos,
    /// A phase that gains less is not worth a circuit.
    pub gain_ns_min: Nanos,
    /// Findings of less confidence get no circuits.
    pub confidence_min: f64,
    /// Wait after the first failure of a switch or of a path move; doubles with each.
    pub backoff_ns_min: Nanos,
    /// The longest such wait.
    pub backoff_ns_max: Nanos,
    /// Unanswered operations are given up after this, and the plane is read back.
    pub answer_ns_max: Nanos,
    /// Added to twice the plane's link-up time before a dark link counts as failed.
    pub link_grace_ns: Nanos,
    /// Left-over cross-connects of exclusive planes are removed after this.
    pub orphan_grace_ns: Nanos,
    /// Each plane is read back at least so often.
    pub audit_ns: Nanos,
    /// Jobs that run.
    pub jobs_max: usize,
    /// Jobs that ended and are still shown; the oldest are forgotten.
    pub ended_jobs_max: usize,
    /// Ranks in all.
    pub ranks_max: usize,
    /// Phases of a job.
    pub phases_max: usize,
    /// Answers kept of a job, for requests that are sent again.
    pub requests_max: usize,
    /// Requests that wait for circuits, in all.
    pub waits_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            lease_ns: Nanos::from_millis(10_000),
            heartbeat_ns: Nanos::from_millis(2_000),
            idle_ns: Nanos::from_millis(60_000),
            margin_ns: Nanos::from_millis(1),
            in_use_ns_max: Nanos::from_millis(60_000),
            cold_ns: Nanos::from_millis(1_000),
            gain_ns_min: Nanos::from_micros(10),
            confidence_min: 0.5,
            backoff_ns_min: Nanos::from_millis(50),
            backoff_ns_max: Nanos::from_millis(1_000),
            answer_ns_max: Nanos::from_millis(30_000),
            link_grace_ns: Nanos::from_millis(1_000),
            orphan_grace_ns: Nanos::from_millis(20_000),
            audit_ns: Nanos::from_millis(10_000),
            jobs_max: 4_096,
            ended_jobs_max: 256,
            ranks_max: 131_072,
            phases_max: 1_024,
            requests_max: 64,
            waits_max: 4_096,
        }
    }
}

/// One line of `/metrics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name, without the unit's suffix `_total`; the rim adds the prefix `pasd_`.
    pub name: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// True for what only grows.
    pub counter: bool,
    /// Label and value, in order.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: u64,
}

/// The controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Engine {
    fabric: Fabric,
    limits: Limits,
    now: Time,
}

impl Engine {
    /// An engine that knows no job and has not seen its switches yet.
    pub fn new(fabric: Fabric, limits: Limits) -> Engine {
        Engine { fabric, limits, now: Time(0) }
    }

    /// Takes one command; answers with what is to be done, in order.
    pub fn apply(&mut self, now: Time, _command: Command) -> Vec<Effect> {
        self.now = self.now.max(now);
        Vec::new()
    }

    /// When [`Command::Tick`] is due at the latest.
    pub fn next_deadline(&self) -> Option<Time> {
        None
    }

    /// The fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The fabric's figures as ranks see them.
    pub fn fabric_summary(&self) -> wire::FabricSummary {
        self.fabric.summary()
    }

    /// One job.
    pub fn job_status(&self, _job: &str) -> Option<wire::JobStatus> {
        None
    }

    /// All jobs, by id, without their phases and circuits.
    pub fn jobs(&self) -> Vec<wire::JobStatus> {
        Vec::new()
    }

    /// All circuits, and what is foreign.
    pub fn circuits(&self) -> wire::Circuits {
        wire::Circuits { version: wire::VERSION, circuits: Vec::new(), foreign: Vec::new() }
    }

    /// True once every plane was read back after the last [`Command::Restart`].
    pub fn is_ready(&self) -> bool {
        false
    }

    /// Counters and gauges, in a fixed order.
    pub fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }
}
