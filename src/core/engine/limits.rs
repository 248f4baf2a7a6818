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

impl Limits {
    /// What is wrong with the limits, if anything: which, its value, and what to do.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), String> {
        let spans = [
            ("heartbeat_ns", self.heartbeat_ns),
            ("idle_ns", self.idle_ns),
            ("backoff_ns_min", self.backoff_ns_min),
            ("answer_ns_max", self.answer_ns_max),
            ("audit_ns", self.audit_ns),
        ];
        if let Some((name, _)) = spans.iter().find(|(_, span)| *span == Nanos::ZERO) {
            return Err(format!("{name} is 0; write a time above it"));
        }
        if self.lease_ns <= self.heartbeat_ns {
            return Err(format!(
                "lease_ns is {}, no more than heartbeat_ns ({}); give a rank time for some \
                 heartbeats",
                self.lease_ns.0, self.heartbeat_ns.0
            ));
        }
        if self.backoff_ns_max < self.backoff_ns_min {
            return Err(format!(
                "backoff_ns_max is {}, less than backoff_ns_min ({})",
                self.backoff_ns_max.0, self.backoff_ns_min.0
            ));
        }
        if !(0.0..=1.0).contains(&self.confidence_min) {
            return Err(format!("confidence_min is {}; it is 0 to 1", self.confidence_min));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused() {
        let wrong = |change: fn(&mut Limits), name: &str| {
            let mut limits = Limits::default();
            limits.validate().expect("the defaults work");
            change(&mut limits);
            let said = limits.validate().expect_err(name);
            assert!(said.starts_with(name), "{said:?} does not name {name}");
        };
        wrong(|limits| limits.audit_ns = Nanos::ZERO, "audit_ns");
        wrong(|limits| limits.lease_ns = limits.heartbeat_ns, "lease_ns");
        wrong(|limits| limits.backoff_ns_max = Nanos(1), "backoff_ns_max");
        wrong(|limits| limits.confidence_min = f64::NAN, "confidence_min");
    }
}
