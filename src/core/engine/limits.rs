//! The engine's terms and limits.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

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
    /// List entries (runs of members, calls, pairs) of all jobs' phases: what their memory goes by.
    pub phase_entries_max: usize,
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
            phase_entries_max: 1 << 22,
            requests_max: 64,
            waits_max: 4_096,
        }
    }
}
