//! The ranks' reports: kept in memory (and in the store), bounded, the oldest job's given up first.

use pas_core::wire::{CircuitChange, RankReport};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Bytes of reports that are kept.
const BYTES_MAX: usize = 256 << 20;
/// Changes of circuits that are kept.
const CHANGES_MAX: usize = 8192;

/// Reports and circuit log.
#[derive(Default)]
pub struct Reports {
    jobs: BTreeMap<String, BTreeMap<u32, Kept>>,
    /// Jobs by their first report, the oldest first.
    order: VecDeque<String>,
    bytes: usize,
    changes: VecDeque<CircuitChange>,
    /// Reports given up for newer ones.
    pub dropped_reports: u64,
    /// Circuit changes given up for newer ones.
    pub dropped_changes: u64,
}

struct Kept {
    bytes: usize,
    report: Arc<RankReport>,
}

impl Reports {
    /// Takes a rank's report, `bytes` long as it came; a later one of the same rank replaces it.
    /// Answers with the jobs whose reports were given up for it.
    pub fn put(&mut self, job: &str, report: Box<RankReport>, bytes: usize) -> Vec<String> {
        let ranks = self.jobs.entry(job.to_owned()).or_insert_with(|| {
            self.order.push_back(job.to_owned());
            BTreeMap::new()
        });
        let kept = Kept { bytes, report: Arc::from(report) };
        let old = ranks.insert(kept.report.registered.rank, kept);
        self.bytes = self.bytes + bytes - old.map_or(0, |old| old.bytes);
        let mut given_up = Vec::new();
        while self.bytes > BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            let ranks = self.jobs.remove(&oldest).unwrap_or_default();
            self.dropped_reports += ranks.len() as u64;
            self.bytes -= ranks.values().map(|kept| kept.bytes).sum::<usize>();
            given_up.push(oldest);
        }
        given_up
    }

    /// A job's reports, by rank.
    pub fn of(&self, job: &str) -> Vec<Arc<RankReport>> {
        let ranks = self.jobs.get(job).into_iter().flat_map(BTreeMap::values);
        ranks.map(|kept| Arc::clone(&kept.report)).collect()
    }

    /// Notes a change of a circuit.
    pub fn note(&mut self, change: CircuitChange) {
        if self.changes.len() == CHANGES_MAX {
            self.changes.pop_front();
            self.dropped_changes += 1;
        }
        self.changes.push_back(change);
    }

    /// The changes of the circuits that served a job, oldest first.
    pub fn changes_of(&self, job: &str) -> Vec<CircuitChange> {
        let of_job = |change: &&CircuitChange| change.circuit.job.as_deref() == Some(job);
        self.changes.iter().filter(of_job).cloned().collect()
    }
}
