//! What the engine shows: jobs, circuits, counters.

use super::Engine;
use super::jobs::Job;
use crate::wire::{
    self, CircuitState, CrossConnect, Decision, DecisionCount, FabricSummary, JobState, JobStatus,
    Reason, VERSION,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What only grows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counters {
    #[serde(with = "super::as_pairs")]
    pub(super) decisions: BTreeMap<(Decision, Reason), u64>,
    pub(super) refused: BTreeMap<String, u64>,
    pub(super) commands: u64,
    pub(super) jobs_begun: u64,
    pub(super) jobs_ended: u64,
    pub(super) leases_expired: u64,
    pub(super) idle_releases: u64,
    pub(super) circuits_created: u64,
    pub(super) circuits_removed: u64,
    pub(super) circuits_failed: u64,
    pub(super) removes_failed: u64,
    pub(super) optical_ops: u64,
    pub(super) optical_errors: u64,
    pub(super) path_ops: u64,
    pub(super) path_errors: u64,
    pub(super) late_answers: u64,
    pub(super) stalls: u64,
}

/// One line of `/metrics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name; the rim adds the prefix `pasd_`, and `_total` to a counter's.
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

/// The name of a decision, a reason or a state as it stands in JSON.
fn name_of(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

impl Engine {
    /// The fabric's figures as ranks see them.
    pub fn fabric_summary(&self) -> FabricSummary {
        self.fabric.summary()
    }

    /// True where the job runs, or has ended and is not forgotten.
    pub fn knows_job(&self, id: &str) -> bool {
        self.jobs.contains_key(id)
    }

    /// One job, with all that is known of it.
    pub fn job_status(&self, id: &str) -> Option<JobStatus> {
        let job = self.jobs.get(id)?;
        Some(JobStatus {
            phases: job.phases.values().cloned().collect(),
            circuits: job.circuits.iter().filter_map(|id| self.circuit_view(*id)).collect(),
            ..job_line(id, job)
        })
    }

    /// All jobs, by id, without their phases and circuits.
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.jobs.iter().map(|(id, job)| job_line(id, job)).collect()
    }

    /// All circuits, those that leave and that failed too, and what is foreign.
    pub fn circuits(&self) -> wire::Circuits {
        let mut foreign = Vec::new();
        for (plane, state) in self.fabric.planes.iter().zip(&self.planes) {
            for (a, b) in state.foreign.iter().filter(|(a, b)| a < b) {
                foreign.push(CrossConnect { plane: plane.name.clone(), a: *a, b: *b });
            }
        }
        let circuits = self.circuits.keys().filter_map(|id| self.circuit_view(*id)).collect();
        wire::Circuits { version: VERSION, circuits, foreign }
    }

    /// True once every plane was read back after the last [`super::Command::Restart`].
    pub fn is_ready(&self) -> bool {
        !self.planes.is_empty() && self.fabric.plane_ids().all(|plane| self.plane_is_read(plane))
    }

    /// Counters and gauges, in a fixed order.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for ((decision, reason), value) in &self.counters.decisions {
            let labels = vec![("decision", name_of(decision)), ("reason", name_of(reason))];
            let help = "Pre-stage requests, by what was decided and why";
            metrics.push(Metric { name: "decisions", help, counter: true, labels, value: *value });
        }
        for (error, value) in &self.counters.refused {
            let labels = vec![("error", error.clone())];
            let help = "Requests answered with a problem, by its name";
            metrics.push(Metric { name: "refused", help, counter: true, labels, value: *value });
        }
        self.push_counters(&mut metrics);
        self.push_gauges(&mut metrics);
        metrics
    }

    fn push_counters(&self, metrics: &mut Vec<Metric>) {
        let c = &self.counters;
        let counters = [
            ("commands", "Commands applied", c.commands),
            ("jobs_begun", "Lives of jobs that began", c.jobs_begun),
            ("jobs_ended", "Lives of jobs that ended", c.jobs_ended),
            ("leases_expired", "Ranks that fell silent", c.leases_expired),
            ("idle_releases", "Jobs that lost circuits for recording no calls", c.idle_releases),
            ("circuits_created", "Circuits entered", c.circuits_created),
            ("circuits_removed", "Circuits forgotten", c.circuits_removed),
            ("circuits_failed", "Circuits that a switch refused or lost", c.circuits_failed),
            ("removes_failed", "Circuits that a switch did not remove at once", c.removes_failed),
            ("optical_ops", "Operations handed to switches", c.optical_ops),
            ("optical_errors", "Those that failed or were not answered", c.optical_errors),
            ("path_ops", "Path moves handed out", c.path_ops),
            ("path_errors", "Those that failed or were not answered", c.path_errors),
            ("late_answers", "Answers that nobody waited for any more", c.late_answers),
            ("stalls", "Times that the daemon itself was late", c.stalls),
        ];
        for (name, help, value) in counters {
            metrics.push(Metric { name, help, counter: true, labels: Vec::new(), value });
        }
    }

    fn push_gauges(&self, metrics: &mut Vec<Metric>) {
        let mut states = [
            (CircuitState::Switching, 0),
            (CircuitState::Lit, 0),
            (CircuitState::Up, 0),
            (CircuitState::Draining, 0),
            (CircuitState::Failed, 0),
        ];
        for circuit in self.circuits.values() {
            for (state, count) in &mut states {
                *count += u64::from(*state == circuit.state);
            }
        }
        for (state, value) in states {
            let labels = vec![("state", name_of(state))];
            let help = "Circuits, by state";
            metrics.push(Metric { name: "circuits", help, counter: false, labels, value });
        }
        let foreign = self.planes.iter().map(|plane| plane.foreign.len() / 2).sum();
        let gauges = [
            ("jobs_running", "Jobs that run", self.running_jobs),
            ("ranks", "Ranks of running jobs", self.ranks),
            ("phase_entries", "List entries of all phases", self.phase_entries),
            ("waits", "Requests that wait for circuits", self.waits.len()),
            ("foreign", "Cross-connects that are nobody's", foreign),
        ];
        for (name, help, value) in gauges {
            let value = value as u64;
            metrics.push(Metric { name, help, counter: false, labels: Vec::new(), value });
        }
    }
}

fn job_line(id: &str, job: &Job) -> JobStatus {
    let alive = if job.state == JobState::Running { job.alive } else { 0 };
    JobStatus {
        job: id.to_owned(),
        incarnation: job.incarnation,
        state: job.state,
        program: job.program.clone(),
        library: job.library.clone(),
        world_size: job.world_size,
        ranks_alive: alive,
        hosts: job.hosts_by_rank().into_iter().map(|host| host.name).collect(),
        phases: Vec::new(),
        circuits: Vec::new(),
        decisions: job
            .decisions
            .iter()
            .map(|((decision, reason), count)| DecisionCount {
                decision: *decision,
                reason: *reason,
                count: *count,
            })
            .collect(),
        hint: job.hint.clone(),
    }
}
