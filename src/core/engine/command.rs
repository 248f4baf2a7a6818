//! What goes into the engine and what comes out.

use crate::fabric::{Fabric, PlaneId, PortPair};
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
    /// Links came up, or went down, by themselves. What is told of a cross-connect before it was
    /// read back counts for nothing: the answer to the operation says it again.
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
