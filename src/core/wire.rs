//! The JSON messages between libpas.so, pasd and pas, version 1.
//!
//! Every message carries `version`; a receiver refuses one it does not know. Unknown fields are
//! ignored, so that a newer sender may add some. Durations are integer nanoseconds and are always
//! relative to the moment of sending: no wall clock crosses a machine. `tests/golden` holds one
//! file a message; a change of any of them is a change of the protocol.

use crate::members::Members;
use crate::op::Collective;
use crate::pattern::{Pattern, Source};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub mod validate;

/// The version of the messages below.
pub const VERSION: u32 = 1;

/// A body longer than this is refused (413) unread. A rank's report is the longest message.
pub const BODY_BYTES_MAX: usize = 4 << 20;

/// What the shim does. See the README's table of modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Forward only.
    Off,
    /// Detect and report, ask for nothing.
    Observe,
    /// Pre-stage, never wait.
    Advise,
}

/// `POST /v1/jobs/{job}/ranks`: a rank says that it is there. Repeating it is harmless.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegisterRank {
    /// [`VERSION`].
    pub version: u32,
    /// Rank in the world.
    pub rank: u32,
    /// Ranks in the world.
    pub world_size: u32,
    /// The host's name in the fabric.
    pub host: String,
    /// The rank's process on that host.
    pub pid: u32,
    /// The first line of what the MPI says of itself.
    pub library: String,
    /// The program's name.
    pub program: String,
    /// The shim's mode.
    pub mode: Mode,
}

/// Answer to [`RegisterRank`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Registered {
    /// [`VERSION`].
    pub version: u32,
    /// Counts the lives of one job id: a launcher may use an id again after the job ended.
    pub incarnation: u64,
    /// The rank is taken for dead when it is silent for so long.
    pub lease_ns: Nanos,
    /// A heartbeat is expected so often.
    pub heartbeat_ns: Nanos,
    /// What the shim must know of the fabric.
    pub fabric: FabricSummary,
}

/// The fabric's figures that time a pre-stage request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FabricSummary {
    /// The fabric's name in its file.
    pub name: String,
    /// Optical planes.
    pub planes: u32,
    /// Hosts that have a port on some plane.
    pub hosts: u32,
    /// Mirrors and dark time; the 99th percentile where it is a distribution.
    pub optical_ns: Nanos,
    /// Transceiver and NIC after the light is there; likewise.
    pub link_up_ns: Nanos,
    /// Rate of one host's circuit, bits a second.
    pub circuit_bps: u64,
    /// Rate that a host gets of the EPS when others use it too, bits a second.
    pub eps_bps: u64,
    /// What the daemon drives: `emulated` switches carry no traffic. Empty: not told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub switches: String,
}

/// `POST /v1/jobs/{job}/ranks/{rank}/heartbeat`: renews the rank's lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// [`VERSION`].
    pub version: u32,
    /// From [`Registered`].
    pub incarnation: u64,
    /// MPI calls recorded so far: a rank that lives but does not communicate loses its circuits
    /// after the daemon's idle time.
    pub calls: u64,
}

// `DELETE /v1/jobs/{job}/ranks/{rank}?incarnation=N` is a rank's good-bye; it has no body.

/// One size of call inside a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Bytes of one block ([`crate::event::Event::bytes`]).
    pub bytes: u64,
    /// How many calls of this size the phase holds.
    pub count: u32,
    /// Elements of one block; bytes / count is the element's size.
    pub elements: u32,
}

/// A phase as the detector found it: `PUT /v1/jobs/{job}/phases/{phase}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// [`VERSION`].
    pub version: u32,
    /// From [`Registered`].
    pub incarnation: u64,
    /// The phase's name, unique in the job: `{comm}.{number}`.
    pub phase: String,
    /// The communicator's key: 16 hexadecimal digits, the same in all its ranks.
    pub comm: String,
    /// The communicator's name, where the program gave one, or `MPI_COMM_WORLD`.
    pub comm_name: String,
    /// The communicator's ranks.
    pub members: Members,
    /// The collective; absent for point-to-point phases.
    pub collective: Option<Collective>,
    /// True where the calls are the non-blocking ones.
    pub nonblocking: bool,
    /// How it is carried out.
    pub pattern: Pattern,
    /// Root in the communicator, of rooted patterns.
    pub root: Option<u32>,
    /// Bytes of one pipeline segment, where the algorithm has segments.
    pub segment_bytes: Option<u64>,
    /// The calls, by size; at most [`CALLS_MAX`].
    pub calls: Vec<Call>,
    /// Bytes between pairs of communicator ranks (source, destination, bytes), of patterns that
    /// are not a formula; at most [`PAIRS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<(u32, u32, u64)>,
    /// Where the pattern is from.
    pub source: Source,
    /// 0 to 1.
    pub confidence: f64,
    /// The rule or observation that gave the pattern, in words.
    pub because: String,
    /// The iteration's period, once known.
    pub period_ns: Option<Nanos>,
    /// How long the phase takes from first entry to last return, the median so far.
    pub duration_ns: Nanos,
    /// Times that the phase was seen.
    pub seen: u64,
}

/// Most sizes of call in a [`Phase`].
pub const CALLS_MAX: usize = 64;
/// Most explicit pairs in a [`Phase`].
pub const PAIRS_MAX: usize = 4096;

/// `POST /v1/jobs/{job}/prestage`: circuits for a phase that is about to begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prestage {
    /// [`VERSION`].
    pub version: u32,
    /// From [`Registered`].
    pub incarnation: u64,
    /// Unique in the job; the same request sent again gets the same answer.
    pub request: u64,
    /// A phase that was put before; unknown: 404, put it again.
    pub phase: String,
    /// Time until the phase begins.
    pub starts_in_ns: Nanos,
    /// How long it is expected to last.
    pub duration_ns: Nanos,
    /// Answer when the circuits were read back, or after so long, whichever is first; 0: at once.
    pub wait_ns: Nanos,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Every pair that gains has, or gets, its circuit.
    Granted,
    /// Some pairs have; the others use the EPS.
    Partial,
    /// Switching does not pay: nothing is changed.
    Hold,
    /// It would pay but cannot be had.
    Refused,
}

/// Why. Each has a counter in `/metrics` and a line in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// New circuits are set up.
    Switched,
    /// All circuits were there already.
    Parked,
    /// All ranks are on one host.
    OneHost,
    /// The bytes are too few to pay for the exposed delay.
    TooSmall,
    /// The link-up time is longer than what the phase could gain.
    LinkUpTooLong,
    /// The finding's confidence is too low.
    LowConfidence,
    /// A host of the job has no port in the fabric.
    HostNotInFabric,
    /// Every port that would serve is in use.
    PortsInUse,
    /// The pattern needs more circuits of a host than it has planes.
    DegreeTooHigh,
    /// The job reached its share of circuits.
    ShareUsed,
    /// The switch failed or answered what cannot be; see `words`.
    SwitchFailed,
    /// The pattern has no steps that circuits could carry.
    NoCircuitPattern,
    /// Not all ranks of the communicator have registered.
    RanksMissing,
}

/// A circuit's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    /// Asked of the switch; dark.
    Switching,
    /// Cross-connects read back; the link is coming up.
    Lit,
    /// Carries traffic.
    Up,
    /// Traffic was moved away; about to be removed.
    Draining,
    /// The switch refused it or lost it.
    Failed,
}

/// A host-to-host lightpath.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Circuit {
    /// Unique in the daemon's life.
    pub id: u64,
    /// The plane's name.
    pub plane: String,
    /// One end's host.
    pub a: String,
    /// The other's.
    pub b: String,
    /// Where it is in its life.
    pub state: CircuitState,
    /// The job that holds it.
    pub job: Option<String>,
    /// The phase it was set up for.
    pub phase: Option<String>,
}

/// Answer to [`Prestage`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrestageReply {
    /// [`VERSION`].
    pub version: u32,
    /// The request's number.
    pub request: u64,
    /// What was decided.
    pub decision: Decision,
    /// Why.
    pub reason: Reason,
    /// Why, in words and numbers.
    pub words: String,
    /// The circuits that serve the phase, as they are now.
    pub circuits: Vec<Circuit>,
    /// Time until the last of them is expected up; 0: all are.
    pub ready_in_ns: Nanos,
    /// Time that the plan saves a phase; negative never happens (it would be a hold).
    pub gain_ns: Nanos,
}

/// `POST /v1/jobs/{job}/hints`: how the training goes. From the program's own loss, never guessed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hint {
    /// [`VERSION`].
    pub version: u32,
    /// From [`Registered`].
    pub incarnation: u64,
    /// The rank that reports.
    pub rank: u32,
    /// The program's own step number.
    pub step: u64,
    /// The last loss; absent where it was not a number.
    pub loss: Option<f64>,
    /// An exponentially weighted mean of the finite losses.
    pub smoothed: Option<f64>,
    /// The best smoothed loss so far.
    pub best: Option<f64>,
    /// What the curve does.
    pub trend: Trend,
    /// The last value of each reported metric.
    pub metrics: BTreeMap<String, f64>,
    /// The metric's targets that the program set.
    pub targets: BTreeMap<String, f64>,
}

/// What a loss curve does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// Too few reports.
    Unknown,
    /// Still falling.
    Improving,
    /// Not falling any more.
    Plateau,
    /// Not a number, or rising far above its best.
    Diverged,
}

/// Every answer that is not 2xx.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// [`VERSION`].
    pub version: u32,
    /// A stable name: `bad_version`, `unknown_job`, ...
    pub error: String,
    /// What, which value, and what to do.
    pub message: String,
}

/// A job as `GET /v1/jobs` and `GET /v1/jobs/{job}` show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// The job's id.
    pub job: String,
    /// Its life.
    pub incarnation: u64,
    /// `running`, or `ended` with why.
    pub state: JobState,
    /// The program's name.
    pub program: String,
    /// The MPI.
    pub library: String,
    /// Ranks in the world.
    pub world_size: u32,
    /// Ranks that hold a lease.
    pub ranks_alive: u32,
    /// Hosts, in the order of the ranks, each once.
    pub hosts: Vec<String>,
    /// Its phases.
    pub phases: Vec<Phase>,
    /// Its circuits.
    pub circuits: Vec<Circuit>,
    /// Its requests, by decision and reason.
    pub decisions: Vec<DecisionCount>,
    /// The last hint.
    pub hint: Option<Hint>,
}

/// A job's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Some rank holds a lease.
    Running,
    /// Every rank said good-bye.
    Ended,
    /// The leases of its ranks ran out.
    Expired,
}

/// How often a decision was taken for a reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionCount {
    /// The decision.
    pub decision: Decision,
    /// The reason.
    pub reason: Reason,
    /// Times.
    pub count: u64,
}

// ---------------------------------------------------------------------------------------------
// What a rank tells at its end: to the daemon, and to a file where PAS_REPORT_DIR names a folder.
// ---------------------------------------------------------------------------------------------

/// `PUT /v1/jobs/{job}/ranks/{rank}/report`, and the file `rank-{rank}.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankReport {
    /// [`VERSION`].
    pub version: u32,
    /// The job's id.
    pub job: String,
    /// As registered.
    pub registered: RegisterRank,
    /// Wall clock at `MPI_Init`'s return, for lining ranks up in a picture; microseconds since
    /// 1970.
    pub started_unix_us: u64,
    /// From `MPI_Init`'s return to this report.
    pub lifetime_ns: Nanos,
    /// The communicators that the rank has used; at most [`REPORT_COMMS_MAX`].
    pub comms: Vec<CommReport>,
    /// Sums by call and communicator.
    pub calls: Vec<CallSum>,
    /// The phases, where this rank is the first of the communicator (others find the same).
    pub phases: Vec<Phase>,
    /// The iteration, once found.
    pub iteration: Option<IterationReport>,
    /// The last calls, a bounded sample for the time line; at most [`REPORT_TIMELINE_MAX`].
    pub timeline: Vec<TimelineEntry>,
    /// Pre-stage requests and their answers; the last [`REPORT_REQUESTS_MAX`].
    pub requests: Vec<RequestReport>,
    /// Phases that the program marked with `pas_phase_begin`; the last [`REPORT_MARKS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<MarkReport>,
    /// Losses, thinned out evenly to at most [`REPORT_LOSSES_MAX`].
    pub losses: Vec<LossReport>,
    /// The last hint.
    pub hint: Option<Hint>,
    /// Named counters: drops, bypasses by reason, errors by reason, messages sent.
    pub counters: BTreeMap<String, u64>,
}

/// See [`RankReport::comms`].
pub const REPORT_COMMS_MAX: usize = 256;
/// See [`RankReport::timeline`].
pub const REPORT_TIMELINE_MAX: usize = 4096;
/// See [`RankReport::requests`].
pub const REPORT_REQUESTS_MAX: usize = 1024;
/// See [`RankReport::marks`].
pub const REPORT_MARKS_MAX: usize = 1024;
/// See [`RankReport::losses`].
pub const REPORT_LOSSES_MAX: usize = 1024;

/// A communicator that a rank has used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommReport {
    /// Its key, the same in all ranks.
    pub comm: String,
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: u32,
    /// This rank's number in it.
    pub rank: u32,
    /// Its ranks; absent for inter-communicators and for those too scattered to keep.
    pub members: Option<Members>,
}

/// The sums of one call on one communicator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallSum {
    /// The call, as the standard spells it.
    pub call: String,
    /// The communicator's key; empty where the call names none.
    pub comm: String,
    /// Calls.
    pub count: u64,
    /// Calls that the library answered with an error.
    pub failed: u64,
    /// Bytes ([`crate::event::Event::bytes`] summed).
    pub bytes: u64,
    /// Time inside the calls.
    pub time_ns: Nanos,
}

/// The repeating unit of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationReport {
    /// Median time from one iteration's start to the next one's.
    pub period_ns: Nanos,
    /// Iterations seen.
    pub seen: u64,
    /// Calls in one iteration.
    pub calls: u32,
    /// Forecast starts of phases that came true within the tolerance, and those that did not.
    pub forecasts_right: u64,
    /// See `forecasts_right`.
    pub forecasts_wrong: u64,
}

/// One call of the time line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// The call.
    pub call: String,
    /// The communicator's key.
    pub comm: String,
    /// After `MPI_Init`'s return.
    pub start_ns: Nanos,
    /// Inside the call.
    pub duration_ns: Nanos,
    /// Bytes.
    pub bytes: u64,
}

/// A pre-stage request and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestReport {
    /// When it was sent, after `MPI_Init`'s return.
    pub at_ns: Nanos,
    /// The phase.
    pub phase: String,
    /// The phase's expected start after sending.
    pub starts_in_ns: Nanos,
    /// From sending to the answer; absent where none came in time.
    pub answered_in_ns: Option<Nanos>,
    /// The answer.
    pub reply: Option<PrestageReply>,
    /// Why there is none.
    pub error: Option<String>,
}

/// A phase under the program's own name for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkReport {
    /// The program's name.
    pub name: String,
    /// After `MPI_Init`'s return.
    pub start_ns: Nanos,
    /// Until its end, or the next one's beginning.
    pub duration_ns: Nanos,
}

/// A reported loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossReport {
    /// After `MPI_Init`'s return.
    pub at_ns: Nanos,
    /// The program's own step.
    pub step: u64,
    /// The loss; absent where it was not a number.
    pub loss: Option<f64>,
    /// Metrics reported at this step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
}

/// `GET /v1/jobs/{job}/report`, and the file `report.json`: all that is known of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    /// [`VERSION`].
    pub version: u32,
    /// What the daemon knows; absent where there was none.
    pub job: Option<JobStatus>,
    /// The fabric; likewise.
    pub fabric: Option<FabricSummary>,
    /// What the ranks told, by rank.
    pub ranks: Vec<RankReport>,
    /// Changes of the circuits that served the job, oldest first, bounded.
    pub circuit_log: Vec<CircuitChange>,
}

/// One change of one circuit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CircuitChange {
    /// Wall clock, microseconds since 1970, for lining up with the ranks in a picture.
    pub unix_us: u64,
    /// The circuit after the change; a removed one is `draining`.
    pub circuit: Circuit,
    /// Why it changed, in words.
    pub why: String,
}

/// `GET /v1/circuits`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Circuits {
    /// [`VERSION`].
    pub version: u32,
    /// All circuits as read back, and those under way.
    pub circuits: Vec<Circuit>,
    /// Cross-connects on the switches that are nobody's: seen, never touched.
    pub foreign: Vec<CrossConnect>,
}

/// Two ports joined inside one plane.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CrossConnect {
    /// The plane's name.
    pub plane: String,
    /// One port.
    pub a: u32,
    /// The other; `a < b`.
    pub b: u32,
}
