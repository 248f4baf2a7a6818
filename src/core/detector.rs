//! The detector's interface to the shim.
use crate::event::{CommId, Event};
use crate::members::Members;
use crate::op::Collective;
use crate::pattern::Pattern;
use crate::units::{Nanos, Time};
use crate::wire::{IterationReport, Phase};
use std::collections::BTreeMap;
/// x
pub struct CommInfo {
    /// x
    pub key: String,
    /// x
    pub name: String,
    /// x
    pub size: u32,
    /// x
    pub rank: u32,
    /// x
    pub members: Option<Members>,
}
/// x
pub enum Notice {
    /// x
    PhaseFound(Phase),
    /// x
    PhaseChanged(Phase),
    /// x
    PhaseDue {
        /// x
        phase: String,
        /// x
        starts_in: Nanos,
        /// x
        duration: Nanos,
        /// x
        confidence: f64,
    },
    /// x
    ForecastMissed {
        /// x
        phase: String,
    },
}
/// x
pub struct Detector;
#[allow(missing_docs, unused_variables, reason = "stub")]
impl Detector {
    pub fn new(library: &str, env: impl Iterator<Item = (String, String)>) -> Detector {
        Detector
    }
    pub fn comm_created(&mut self, id: CommId, info: CommInfo) {}
    pub fn comm_freed(&mut self, id: CommId) {}
    pub fn observe(&mut self, e: &Event) {}
    pub fn advance(&mut self, now: Time, lead: Nanos) -> Vec<Notice> {
        vec![]
    }
    pub fn mark_iteration(&mut self, step: u64, t: Time) {}
    pub fn mark_phase(&mut self, name: Option<String>, t: Time) {}
    pub fn declare(&mut self, comm: Option<String>, c: Collective, p: Pattern) {}
    pub fn phases(&self) -> impl Iterator<Item = Phase> {
        std::iter::empty()
    }
    pub fn iteration(&self) -> Option<IterationReport> {
        None
    }
    pub fn counters(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}
