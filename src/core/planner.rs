//! Which circuits a phase gets, or *hold* with the reason.
//!
//! # The rule
//!
//! A phase takes as long as its most loaded host. A host's time is the larger of what it sends and
//! what it receives, each pair's bytes over the rate of the way they take; the EPS gives a host
//! its line rate or its share of an oversubscribed core, whichever is less, and the share grows as
//! others' bytes leave for circuits. What a plan saves is the phase's time before it less the time
//! after it. New circuits come at once, or late: what of the reconfiguration delay is not hidden
//! by the notice given is *exposed*. A plan pays when it saves more than it exposes. A phase that
//! repeats is taken to repeat as often again as it was seen, so circuits that come once and stay
//! may take longer than one phase gains; circuits that displace others which still come back must
//! pay within the phase, so that two phases never take a port from each other to no use.
//!
//! # The method
//!
//! Pairs are taken by bytes, most first (host numbers break ties). Circuits that are there are
//! kept. Each other pair gets the first plane on which both hosts have a port to give; where every
//! plane has only one of them, an alternating chain of this plan's own pairs is flipped between
//! two planes to make room (so an even ring fits two planes in whatever order its hosts come).
//! First with ports that are free or were long unused; then, where ports still wanted are parked
//! for phases that come back, once more with those.

use crate::demand::{Demand, PairBytes};
use crate::fabric::{Fabric, HostId, PlaneId};
use crate::units::{Nanos, transfer_time};
use crate::wire::{Decision, Reason};
use serde::{Deserialize, Serialize};

mod matching;
mod words;

#[cfg(test)]
mod tests;

use matching::{Matching, Reach};

/// The most that a phase is taken to repeat.
pub const REPEATS_MAX: u64 = 1024;

/// Names a circuit in the engine's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CircuitId(pub u64);

/// What a host's port on a plane is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The host has no port there.
    Absent,
    /// Nothing.
    Free,
    /// It ends a circuit.
    Taken {
        /// The circuit.
        circuit: CircuitId,
        /// Its other end.
        peer: HostId,
        /// True where the asking job may send over it: its own, or nobody's.
        usable: bool,
        /// True where it is the asking job's own.
        own: bool,
        /// What a plan may do to it.
        hold: Hold,
        /// Time until it is expected up.
        ready_in: Nanos,
    },
    /// It cannot be had now; [`Reason::PortsInUse`] or [`Reason::SwitchFailed`].
    Blocked(Reason),
}

/// How firmly a circuit is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// Parked and long unused: gives way like a free port.
    Cold,
    /// Parked for a phase that comes back: gives way when the plan pays within one phase.
    Warm,
    /// In use: no plan touches it.
    InUse,
}

/// The ports as the engine knows them.
pub trait Ports {
    /// The state of the host's port on the plane.
    fn slot(&self, plane: PlaneId, host: HostId) -> Slot;
    /// How many circuits the asking job may have at the host.
    fn share(&self, host: HostId) -> u32;
}

/// What is asked of the planner.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The bytes.
    pub demand: &'a Demand,
    /// The demand's hosts in the fabric; `None` where it has no such host.
    pub hosts: &'a [Option<HostId>],
    /// Time until the phase begins.
    pub starts_in: Nanos,
    /// Times that the phase was seen, where it is known to repeat; 0 where it is not.
    pub seen: u64,
    /// A plan that saves less does not pay.
    pub gain_min: Nanos,
}

/// A circuit to be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NewCircuit {
    /// On this plane.
    pub plane: PlaneId,
    /// One end.
    pub a: HostId,
    /// The other.
    pub b: HostId,
}

/// What the planner answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What was decided.
    pub decision: Decision,
    /// Why.
    pub reason: Reason,
    /// Why, in words and numbers.
    pub words: String,
    /// Circuits that are there and serve the phase.
    pub keep: Vec<CircuitId>,
    /// Circuits to set up.
    pub create: Vec<NewCircuit>,
    /// Parked circuits that give way.
    pub remove: Vec<CircuitId>,
    /// What the phase saves, against all of it on the EPS.
    pub gain: Nanos,
    /// Time until the last circuit is expected up.
    pub ready_in: Nanos,
}

impl Plan {
    /// A plan that changes nothing and has no circuits.
    pub fn none(decision: Decision, reason: Reason, words: String) -> Plan {
        Plan {
            decision,
            reason,
            words,
            keep: Vec::new(),
            create: Vec::new(),
            remove: Vec::new(),
            gain: Nanos::ZERO,
            ready_in: Nanos::ZERO,
        }
    }
}

/// Plans one phase.
pub fn plan(fabric: &Fabric, ports: &dyn Ports, ask: &Ask) -> Plan {
    if ask.demand.hosts < 2 {
        return Plan::none(Decision::Hold, Reason::OneHost, words::one_host());
    }
    if ask.demand.pairs.is_empty() {
        return Plan::none(Decision::Hold, Reason::NoCircuitPattern, words::no_bytes());
    }
    Planning::new(fabric, ports, ask).decide()
}

/// The work on one plan.
struct Planning<'a> {
    fabric: &'a Fabric,
    ask: &'a Ask<'a>,
    /// Pairs by bytes, most first.
    pairs: Vec<PairBytes>,
    matching: Matching<'a>,
    /// Time of the phase with everything on the EPS.
    eps_ns: Nanos,
}

/// A candidate: what a matching is worth.
struct Candidate {
    matching_ns: Nanos,
    saved: Nanos,
    exposed: Nanos,
    exposed_optical: Nanos,
    repeats: u64,
}

impl Candidate {
    fn pays_against(&self, exposed: Nanos, gain_min: Nanos) -> bool {
        self.saved >= gain_min.max(Nanos(1))
            && Nanos(self.saved.0.saturating_mul(self.repeats)) > exposed
    }

    fn pays(&self, gain_min: Nanos) -> bool {
        self.pays_against(self.exposed, gain_min)
    }
}

impl<'a> Planning<'a> {
    fn new(fabric: &'a Fabric, ports: &'a dyn Ports, ask: &'a Ask<'a>) -> Planning<'a> {
        let mut pairs = ask.demand.pairs.clone();
        pairs.sort_unstable_by(|x, y| y.total().cmp(&x.total()).then((x.a, x.b).cmp(&(y.a, y.b))));
        let matching = Matching::new(fabric, ports, ask.hosts, &pairs);
        let eps_ns = phase_time(fabric, &pairs, ask.hosts.len(), |_| None);
        Planning { fabric, ask, pairs, matching, eps_ns }
    }

    fn decide(mut self) -> Plan {
        self.matching.keep_existing();
        let kept_ns = self.time_of(&self.matching);
        if self.matching.unserved().next().is_none() {
            let words = words::parked(self.eps_ns, kept_ns, self.pairs.len());
            return self.finish(Decision::Granted, Reason::Parked, words, kept_ns);
        }
        let best = self.best_possible(kept_ns, |pair| self.matching.could_serve(pair));
        if !best.pays(self.ask.gain_min) {
            let everywhere = self.best_possible(kept_ns, |_| true);
            if everywhere.pays(self.ask.gain_min) {
                return self.cannot(Reason::HostNotInFabric, kept_ns);
            }
            return self.not_worth_it(kept_ns, &best);
        }

        let before = self.matching.clone();
        self.matching.fill(Reach::Cold);
        let mut chosen = self.candidate(&self.matching, kept_ns);
        if self.matching.wants_warm() {
            let mut warm = before.clone();
            warm.fill(Reach::Warm);
            let candidate = self.candidate(&warm, kept_ns);
            let better = candidate.saved > chosen.saved.plus(candidate.exposed)
                || !chosen.pays(self.ask.gain_min);
            if candidate.pays(self.ask.gain_min) && better {
                self.matching = warm;
                chosen = candidate;
            }
        }
        self.conclude(before, kept_ns, &chosen)
    }

    /// Takes the candidate if it pays; else falls back to what is there already.
    fn conclude(mut self, before: Matching<'a>, kept_ns: Nanos, chosen: &Candidate) -> Plan {
        let missing = self.matching.why_unserved(&self.pairs);
        let unserved = self.matching.unserved().count();
        let served = self.pairs.len() - unserved;
        if chosen.pays(self.ask.gain_min) {
            let (decision, reason) = match missing {
                None => (Decision::Granted, Reason::Switched),
                Some(reason) => (Decision::Partial, reason),
            };
            let words = words::switched(
                reason,
                (served, self.pairs.len()),
                (self.eps_ns, chosen.matching_ns),
                chosen.exposed,
            );
            return self.finish(decision, reason, words, chosen.matching_ns);
        }
        self.matching = before;
        match missing {
            Some(reason) => self.cannot(reason, kept_ns),
            None => self.not_worth_it(kept_ns, chosen),
        }
    }

    /// New circuits would pay and cannot be had: the phase lives with those that are there.
    fn cannot(self, reason: Reason, kept_ns: Nanos) -> Plan {
        let kept = self.matching.kept().count();
        let words = words::cannot(reason, kept, self.pairs.len(), self.eps_ns);
        let decision = if kept > 0 { Decision::Partial } else { Decision::Refused };
        self.finish(decision, reason, words, kept_ns)
    }

    /// New circuits do not pay: hold, or live with those that are there.
    fn not_worth_it(self, kept_ns: Nanos, candidate: &Candidate) -> Plan {
        if self.matching.kept().next().is_some() {
            let kept = self.matching.kept().count();
            let words = words::rest_too_small(kept, self.pairs.len(), self.eps_ns, kept_ns);
            return self.finish(Decision::Granted, Reason::Parked, words, kept_ns);
        }
        let by_light_alone = candidate.pays_against(candidate.exposed_optical, self.ask.gain_min);
        let reason = if by_light_alone { Reason::LinkUpTooLong } else { Reason::TooSmall };
        let words = words::hold(
            self.eps_ns,
            candidate.saved,
            candidate.repeats,
            candidate.exposed,
            self.ask.gain_min,
        );
        self.finish(Decision::Hold, reason, words, kept_ns)
    }

    /// What could be saved if every pair that `can` have a circuit had one on the best plane.
    fn best_possible(&self, kept_ns: Nanos, can: impl Fn(usize) -> bool) -> Candidate {
        let fastest = self.fabric.planes.iter().map(|plane| plane.circuit_bps).max();
        let time = phase_time(self.fabric, &self.pairs, self.ask.hosts.len(), |pair| {
            if can(pair) { fastest } else { None }
        });
        let (optical, all) = self
            .fabric
            .planes
            .iter()
            .map(|plane| {
                let optical = plane.optical_ns.p99();
                (optical, optical.plus(plane.link_up_ns.p99()))
            })
            .min_by_key(|(_, all)| *all)
            .unwrap_or_default();
        Candidate {
            matching_ns: time,
            saved: kept_ns.minus(time),
            exposed: all.minus(self.ask.starts_in),
            exposed_optical: optical.minus(self.ask.starts_in),
            repeats: self.repeats(),
        }
    }

    fn candidate(&self, matching: &Matching, kept_ns: Nanos) -> Candidate {
        let time = self.time_of(matching);
        let mut optical = Nanos::ZERO;
        let mut all = Nanos::ZERO;
        for plane in matching.new_planes() {
            let plane = self.fabric.plane(plane);
            optical = optical.max(plane.optical_ns.p99());
            all = all.max(plane.optical_ns.p99().plus(plane.link_up_ns.p99()));
        }
        Candidate {
            matching_ns: time,
            saved: kept_ns.minus(time),
            exposed: all.minus(self.ask.starts_in),
            exposed_optical: optical.minus(self.ask.starts_in),
            repeats: if matching.displaces_warm() { 1 } else { self.repeats() },
        }
    }

    fn repeats(&self) -> u64 {
        self.ask.seen.min(REPEATS_MAX - 1) + 1
    }

    fn time_of(&self, matching: &Matching) -> Nanos {
        phase_time(self.fabric, &self.pairs, self.ask.hosts.len(), |pair| {
            matching.plane_of(pair).map(|plane| self.fabric.plane(plane).circuit_bps)
        })
    }

    fn finish(self, decision: Decision, reason: Reason, words: String, time: Nanos) -> Plan {
        let mut ready_in = Nanos::ZERO;
        let mut keep = Vec::new();
        for (circuit, circuit_ready_in) in self.matching.kept() {
            keep.push(circuit);
            ready_in = ready_in.max(circuit_ready_in);
        }
        for plane in self.matching.new_planes() {
            let plane = self.fabric.plane(plane);
            ready_in = ready_in.max(plane.optical_ns.p99().plus(plane.link_up_ns.p99()));
        }
        Plan {
            decision,
            reason,
            words,
            keep,
            create: self.matching.created(),
            remove: self.matching.removed(),
            gain: self.eps_ns.minus(time),
            ready_in,
        }
    }
}

/// The time of the most loaded host, where `circuit_bps` gives the rate of a pair's circuit
/// (`None`: it takes the EPS).
fn phase_time(
    fabric: &Fabric,
    pairs: &[PairBytes],
    hosts: usize,
    circuit_bps: impl Fn(usize) -> Option<u64>,
) -> Nanos {
    #[derive(Clone, Copy, Default)]
    struct Load {
        eps_bytes: [u64; 2],
        circuit: [Nanos; 2],
    }
    let mut loads = vec![Load::default(); hosts];
    let mut eps_bytes = 0u128;
    let mut all_bytes = 0u128;
    for (index, pair) in pairs.iter().enumerate() {
        all_bytes += u128::from(pair.total());
        let rate = circuit_bps(index);
        // Out of the one host is into the other.
        for (from, to, bytes) in [(pair.a, pair.b, pair.there), (pair.b, pair.a, pair.back)] {
            for (host, way) in [(from, 0), (to, 1)] {
                let load = &mut loads[host as usize];
                match rate {
                    Some(bps) => {
                        let time = transfer_time(bytes, bps);
                        load.circuit[way] = load.circuit[way].plus(time);
                    }
                    None => load.eps_bytes[way] = load.eps_bytes[way].saturating_add(bytes),
                }
            }
        }
        if rate.is_none() {
            eps_bytes += u128::from(pair.total());
        }
    }
    let eps_bps = eps_rate(fabric, eps_bytes, all_bytes);
    let time = |load: &Load, way: usize| {
        transfer_time(load.eps_bytes[way], eps_bps).plus(load.circuit[way])
    };
    loads.iter().map(|load| time(load, 0).max(time(load, 1))).max().unwrap_or_default()
}

/// What the EPS gives a host when only a part of the phase's bytes is left to it.
fn eps_rate(fabric: &Fabric, eps_bytes: u128, all_bytes: u128) -> u64 {
    let share = u128::from(fabric.eps_shared_bps);
    let relieved = (share * all_bytes).checked_div(eps_bytes).unwrap_or(u128::MAX);
    u64::try_from(relieved).unwrap_or(u64::MAX).min(fabric.eps_line_bps)
}
