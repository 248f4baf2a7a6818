//! Pre-stage requests: from the phase's demand to a plan, to circuits, to the answer.

use super::circuits::{Circuit, Owner};
use super::jobs::Job;
use super::life::Happening;
use super::timers::Timer;
use super::{Effect, Engine, Refusal, Response, Token};
use crate::demand::{self, Demand, NoDemand};
use crate::fabric::{HostId, PlaneId};
use crate::library::Library;
use crate::planner::{self, Ask, CircuitId, Hold, Plan, Ports, Slot};
use crate::units::{Nanos, Time};
use crate::wire::{self, CircuitState, Decision, Prestage, Reason, VERSION};
use serde::{Deserialize, Serialize};

/// A request that was decided, kept for when it is sent again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    request: Prestage,
    decision: Decision,
    reason: Reason,
    words: String,
    circuits: Vec<CircuitId>,
    gain: Nanos,
}

/// A request that is answered when its circuits are up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Wait {
    job: String,
    incarnation: u64,
    request: u64,
}

impl Engine {
    /// Decides a request, or finds it decided; answers at once or when its circuits are up.
    pub(super) fn prestage(&mut self, token: Token, id: &str, request: Prestage) {
        if let Err(refusal) = self.decide(id, &request) {
            self.reply(token, Err(refusal));
            return;
        }
        let wait_until = self.now.after(request.wait_ns);
        if wait_until > self.now
            && self.is_under_way(id, request.request)
            && self.waits.len() < self.limits.waits_max
        {
            let (job, incarnation) = (id.to_owned(), request.incarnation);
            self.waits.insert(token, Wait { job, incarnation, request: request.request });
            self.timers.set(Timer::Wait(token), wait_until);
            return;
        }
        self.answer(token, id, request.request);
    }

    fn decide(&mut self, id: &str, request: &Prestage) -> Result<(), Refusal> {
        request.validate()?;
        let limits = self.limits.clone();
        let job = self.running(id, request.incarnation)?;
        if let Some(known) = job.requests.get(&request.request) {
            let same = Prestage { wait_ns: known.request.wait_ns, ..request.clone() };
            if known.request == same {
                return Ok(());
            }
            let message = format!(
                "request {} of job {id:?} was another one before; count them up",
                request.request
            );
            return Err(Refusal::new(409, "request_differs", message));
        }
        let oldest = job.requests.keys().next().copied();
        let full = job.requests.len() >= limits.requests_max.max(1);
        if full && oldest.is_some_and(|oldest| request.request < oldest) {
            let message = format!(
                "request {} of job {id:?} is older than the {} that are kept; count them up",
                request.request,
                job.requests.len()
            );
            return Err(Refusal::new(409, "request_too_old", message));
        }
        let Some(phase) = job.phases.get(&request.phase) else {
            let message =
                format!("phase {:?} of job {id:?} is not known; put it first", request.phase);
            return Err(Refusal::new(404, "unknown_phase", message));
        };
        let low = phase.confidence < limits.confidence_min;
        let words = format!(
            "the finding's confidence is {:.2}, and {:.2} is the least that gets circuits",
            phase.confidence, limits.confidence_min
        );
        let plan = if low {
            Plan::none(Decision::Hold, Reason::LowConfidence, words)
        } else {
            self.plan(id, request)
        };
        self.carry_out(id, request, plan);
        Ok(())
    }

    /// Plans the request's phase as the ports are now.
    fn plan(&mut self, id: &str, request: &Prestage) -> Plan {
        let Some(job) = self.jobs.get_mut(id) else {
            return Plan::none(Decision::Refused, Reason::RanksMissing, String::new());
        };
        let demand = match job.take_demand(&request.phase) {
            Ok(demand) => demand,
            Err(none) => {
                job.demands.0.insert(request.phase.clone(), Err(none));
                return no_demand(none);
            }
        };
        let hosts: Vec<Option<HostId>> = job.hosts.iter().map(|host| host.id).collect();
        let phase = job.phases.get(&request.phase);
        let seen = phase.filter(|phase| phase.period_ns.is_some()).map_or(0, |phase| phase.seen);
        let ask = Ask {
            demand: &demand,
            hosts: &hosts,
            starts_in: request.starts_in_ns,
            seen,
            gain_min: self.limits.gain_ns_min,
        };
        let view = PortView { engine: self, job: id, incarnation: request.incarnation };
        let plan = planner::plan(&self.fabric, &view, &ask);
        if let Some(job) = self.jobs.get_mut(id) {
            job.demands.0.insert(request.phase.clone(), Ok(demand));
        }
        plan
    }

    /// Makes the plan true, as far as this moment goes, and writes it down.
    fn carry_out(&mut self, id: &str, request: &Prestage, plan: Plan) {
        let owner = Owner {
            job: id.to_owned(),
            incarnation: request.incarnation,
            phase: request.phase.clone(),
        };
        for circuit in &plan.remove {
            debug_assert!(!self.is_in_use(*circuit), "a plan must not take what is in use");
            let why = format!("gives way to job {id}, phase {}", request.phase);
            self.turn(*circuit, Happening::Release, &why);
        }
        self.next_group += 1;
        let group = self.next_group;
        let mut circuits = plan.keep.clone();
        for new in &plan.create {
            let Some(circuit) = self.create_circuit(*new, Some(owner.clone()), group) else {
                continue;
            };
            let why = format!("set up for phase {}", request.phase);
            self.log(circuit, &why);
            circuits.push(circuit);
        }
        let span = request.starts_in_ns.plus(request.duration_ns).plus(self.limits.margin_ns);
        let in_use_until = self.now.after(span.min(self.limits.in_use_ns_max));
        for circuit in &circuits {
            self.hold_circuit(*circuit, &owner, in_use_until);
        }
        self.count(id, plan.decision, plan.reason);
        let requests_max = self.limits.requests_max.max(1);
        let Some(job) = self.jobs.get_mut(id) else { return };
        while job.requests.len() >= requests_max {
            job.requests.pop_first();
        }
        let decided = Request {
            request: request.clone(),
            decision: plan.decision,
            reason: plan.reason,
            words: plan.words,
            circuits,
            gain: plan.gain,
        };
        job.requests.insert(request.request, decided);
    }

    /// Keeps a circuit for a phase; one that was nobody's becomes the job's.
    fn hold_circuit(&mut self, id: CircuitId, owner: &Owner, until: Time) {
        let link_up = |engine: &Engine, plane: PlaneId| {
            let link_up = engine.fabric.plane(plane).link_up_ns.p99();
            link_up.plus(link_up).plus(engine.limits.link_grace_ns)
        };
        let Some(plane) = self.circuits.get(&id).map(|circuit| circuit.plane) else { return };
        let deadline = self.now.after(link_up(self, plane));
        let Some(circuit) = self.circuits.get_mut(&id) else { return };
        circuit.in_use_until = circuit.in_use_until.max(until);
        if circuit.owner.is_some() {
            return;
        }
        circuit.owner = Some(owner.clone());
        circuit.deadline = Some(deadline);
        if let Some(job) = self.jobs.get_mut(&owner.job) {
            job.circuits.insert(id);
        }
        self.log(id, "taken over: it was left over, and is what the phase needs");
        self.set_circuit_timer(id);
        self.settle(id);
    }

    fn is_in_use(&self, id: CircuitId) -> bool {
        self.circuits.get(&id).is_some_and(|circuit| circuit.in_use_until > self.now)
    }

    /// Counts a decision, for the job and for the daemon.
    fn count(&mut self, id: &str, decision: Decision, reason: Reason) {
        *self.counters.decisions.entry((decision, reason)).or_default() += 1;
        if let Some(job) = self.jobs.get_mut(id) {
            *job.decisions.entry((decision, reason)).or_default() += 1;
        }
    }

    /// A circuit failed or was lost: what was granted with it says so from now on. The outcome
    /// counts as a decision of its own.
    pub(super) fn circuit_lost(&mut self, id: CircuitId, why: &str) {
        let Some(owner) = self.circuits.get(&id).and_then(|circuit| circuit.owner.clone()) else {
            return;
        };
        let Some(job) = self.jobs.get_mut(&owner.job) else { return };
        let mut outcomes = Vec::new();
        for request in job.requests.values_mut() {
            if !request.circuits.contains(&id) {
                continue;
            }
            let left = request.circuits.iter().any(|other| {
                *other != id
                    && self.circuits.get(other).is_some_and(|c| c.state == CircuitState::Up)
            });
            let decision = if left { Decision::Partial } else { Decision::Refused };
            if (request.decision, request.reason) != (decision, Reason::SwitchFailed) {
                outcomes.push(decision);
            }
            request.decision = decision;
            request.reason = Reason::SwitchFailed;
            request.words = format!("circuit {} failed: {why}", id.0);
            request.gain = Nanos::ZERO;
        }
        for decision in outcomes {
            self.count(&owner.job, decision, Reason::SwitchFailed);
        }
    }

    /// True while some circuit of the request is on its way.
    fn is_under_way(&self, id: &str, number: u64) -> bool {
        let request = self.jobs.get(id).and_then(|job| job.requests.get(&number));
        request.is_some_and(|request| {
            request
                .circuits
                .iter()
                .filter_map(|circuit| self.circuits.get(circuit))
                .any(|circuit| matches!(circuit.state, CircuitState::Switching | CircuitState::Lit))
        })
    }

    /// Answers the waiting requests of jobs that something happened to, where there is nothing to
    /// wait for any more.
    pub(super) fn settle_waits(&mut self) {
        let touched = std::mem::take(&mut self.touched);
        if touched.is_empty() {
            return;
        }
        let over: Vec<Token> = self
            .waits
            .iter()
            .filter(|(_, wait)| touched.contains(&wait.job))
            .filter(|(_, wait)| !self.is_under_way(&wait.job, wait.request))
            .map(|(token, _)| *token)
            .collect();
        for token in over {
            self.end_wait(token);
        }
    }

    /// Answers a waiting request as things are.
    pub(super) fn end_wait(&mut self, token: Token) {
        self.timers.cancel(&Timer::Wait(token));
        let Some(wait) = self.waits.remove(&token) else { return };
        match self.running(&wait.job, wait.incarnation) {
            Ok(_) => self.answer(token, &wait.job, wait.request),
            Err(refusal) => self.reply(token, Err(refusal)),
        }
    }

    fn answer(&mut self, token: Token, id: &str, number: u64) {
        let job = self.jobs.get(id);
        let Some((job, request)) = job.and_then(|job| Some((job, job.requests.get(&number)?)))
        else {
            let message = format!("request {number} of job {id:?} is no longer kept; send another");
            self.reply(token, Err(Refusal::new(409, "request_too_old", message)));
            return;
        };
        let serving = |circuit: &&CircuitId| {
            let circuit = self.circuits.get(circuit);
            circuit.is_some_and(|circuit| circuit.is_owned_by(id, job.incarnation))
        };
        let ids: Vec<CircuitId> = request.circuits.iter().filter(serving).copied().collect();
        let ready_in_ns = ids
            .iter()
            .filter_map(|circuit| self.circuits.get(circuit))
            .map(|circuit| self.ready_in(circuit))
            .max()
            .unwrap_or_default();
        let reply = wire::PrestageReply {
            version: VERSION,
            request: number,
            decision: request.decision,
            reason: request.reason,
            words: request.words.clone(),
            circuits: ids.iter().filter_map(|circuit| self.circuit_view(*circuit)).collect(),
            ready_in_ns,
            gain_ns: request.gain,
        };
        self.out.push(Effect::Reply { token, result: Ok(Response::Prestage(reply)) });
    }

    /// Time until the circuit is expected up; a moment where it is overdue, zero only when it is.
    fn ready_in(&self, circuit: &Circuit) -> Nanos {
        if circuit.state == CircuitState::Up {
            return Nanos::ZERO;
        }
        circuit.ready_at.since(self.now).max(Nanos::from_micros(1))
    }
}

impl Job {
    /// The phase's demand, taken from the cache or worked out.
    fn take_demand(&mut self, phase: &str) -> Result<Demand, NoDemand> {
        if let Some(known) = self.demands.0.remove(phase) {
            return known;
        }
        let phase = self.phases.get(phase).ok_or(NoDemand::NoSteps)?;
        let family = Library::parse(&self.library).family;
        demand::of_phase(phase, family, |rank| self.host_of(rank))
    }
}

fn no_demand(none: NoDemand) -> Plan {
    match none {
        NoDemand::RankMissing(rank) => Plan::none(
            Decision::Refused,
            Reason::RanksMissing,
            format!("rank {rank} of the communicator holds no lease"),
        ),
        NoDemand::NoSteps => Plan::none(
            Decision::Hold,
            Reason::NoCircuitPattern,
            "the pattern does not say who sends to whom".into(),
        ),
        NoDemand::TooManyPairs(pairs) => Plan::none(
            Decision::Hold,
            Reason::NoCircuitPattern,
            format!("{pairs} pairs of ranks exchange: close to everybody with everybody"),
        ),
    }
}

/// The ports as one job's plan sees them.
struct PortView<'a> {
    engine: &'a Engine,
    job: &'a str,
    incarnation: u64,
}

impl Ports for PortView<'_> {
    fn slot(&self, plane: PlaneId, host: HostId) -> Slot {
        let engine = self.engine;
        let Some(port) = engine.fabric.plane(plane).port(host) else { return Slot::Absent };
        let state = &engine.planes[plane.0 as usize];
        let answers = state.failures == 0 && !(state.in_doubt && state.audit_at == Time(0));
        let port_use = engine.ports.get(plane, host);
        let current = port_use.current.and_then(|id| Some((id, engine.circuits.get(&id)?)));
        match current {
            Some((_, circuit)) if circuit.state == CircuitState::Failed => {
                Slot::Blocked(Reason::SwitchFailed)
            }
            Some((id, circuit)) => {
                let own = circuit.is_owned_by(self.job, self.incarnation);
                Slot::Taken {
                    circuit: id,
                    peer: if circuit.a == host { circuit.b } else { circuit.a },
                    usable: own || circuit.owner.is_none(),
                    own,
                    hold: if answers { engine.hold_of(circuit) } else { Hold::InUse },
                    ready_in: engine.ready_in(circuit),
                }
            }
            None if !answers => Slot::Blocked(Reason::SwitchFailed),
            None if !port_use.leaving.is_empty() || state.foreign.contains_key(&port) => {
                Slot::Blocked(Reason::PortsInUse)
            }
            None => Slot::Free,
        }
    }

    /// The jobs on a host share its planes evenly.
    fn share(&self, host: HostId) -> u32 {
        let engine = self.engine;
        let tenants = engine.tenants.get(&host).map_or(0, |jobs| jobs.len());
        if tenants <= 1 {
            return u32::MAX;
        }
        let planes = engine.fabric.planes.iter().filter(|plane| plane.port(host).is_some());
        u32::try_from(planes.count() / tenants).unwrap_or(u32::MAX).max(1)
    }
}

impl Engine {
    fn hold_of(&self, circuit: &Circuit) -> Hold {
        if circuit.in_use_until > self.now {
            Hold::InUse
        } else if circuit.owner.is_none()
            || self.now.since(circuit.in_use_until) >= self.limits.cold_ns
        {
            Hold::Cold
        } else {
            Hold::Warm
        }
    }
}
