//! The circuits and the ports that they end on.

use super::life::{self, Happening};
use super::timers::Timer;
use super::{Effect, Engine, OpId};
use crate::fabric::{HostId, PlaneId, PortPair};
use crate::planner::{CircuitId, NewCircuit};
use crate::units::{Nanos, Time};
use crate::wire::{self, CircuitState};
use serde::{Deserialize, Serialize};

/// Who a circuit is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) job: String,
    pub(super) incarnation: u64,
    pub(super) phase: String,
}

/// Where the traffic between a circuit's hosts is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Traffic {
    OnEps,
    OnCircuit,
    /// A move failed or was not answered.
    Unknown,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Circuit {
    pub(super) plane: PlaneId,
    pub(super) a: HostId,
    pub(super) b: HostId,
    pub(super) ports: PortPair,
    pub(super) state: CircuitState,
    /// Stays for the log while the circuit drains; `Engine::owned` tells who may count on it.
    pub(super) owner: Option<Owner>,
    /// The request that set it up; all its circuits come up, or those that did not are taken back.
    pub(super) group: u64,
    /// True once the switch may have its cross-connect.
    pub(super) asked: bool,
    pub(super) traffic: Traffic,
    pub(super) path_op: Option<OpId>,
    pub(super) link: bool,
    pub(super) in_use_until: Time,
    /// When it is expected up.
    pub(super) ready_at: Time,
    /// When its state must have changed: a link up, a grace or a cooling over.
    pub(super) deadline: Option<Time>,
    /// After a failure: when to try again, and how many there were in a row.
    pub(super) retry_at: Time,
    pub(super) failures: u32,
}

impl Circuit {
    pub(super) fn ends(&self) -> [HostId; 2] {
        [self.a, self.b]
    }

    /// True while it serves, or is on its way to.
    pub(super) fn lives(&self) -> bool {
        matches!(self.state, CircuitState::Switching | CircuitState::Lit | CircuitState::Up)
    }

    /// True where it is to go and carries nothing any more.
    pub(super) fn is_drained(&self) -> bool {
        self.state == CircuitState::Draining
            && self.traffic == Traffic::OnEps
            && self.path_op.is_none()
    }

    pub(super) fn is_owned_by(&self, job: &str, incarnation: u64) -> bool {
        self.lives()
            && self
                .owner
                .as_ref()
                .is_some_and(|owner| owner.job == job && owner.incarnation == incarnation)
    }
}

/// What ends on a host's port: at most one circuit that is wanted, and those that are leaving (two,
/// where the successor of one that could not be removed is given up too).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PortUse {
    pub(super) current: Option<CircuitId>,
    pub(super) leaving: Vec<CircuitId>,
    /// Failures in a row of circuits that ended here.
    pub(super) failures: u32,
}

/// The ports in use, by plane and host; serialised as those that are not as new.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(PlaneId, HostId, PortUse)>", into = "Vec<(PlaneId, HostId, PortUse)>")]
pub(super) struct PortUses(Vec<Vec<PortUse>>);

impl PortUses {
    pub(super) fn get(&self, plane: PlaneId, host: HostId) -> &PortUse {
        static UNUSED: PortUse = PortUse { current: None, leaving: Vec::new(), failures: 0 };
        let uses = self.0.get(plane.0 as usize);
        uses.and_then(|uses| uses.get(host.0 as usize)).unwrap_or(&UNUSED)
    }

    pub(super) fn get_mut(&mut self, plane: PlaneId, host: HostId) -> &mut PortUse {
        let (plane, host) = (plane.0 as usize, host.0 as usize);
        if self.0.len() <= plane {
            self.0.resize_with(plane + 1, Vec::new);
        }
        let uses = &mut self.0[plane];
        if uses.len() <= host {
            uses.resize_with(host + 1, PortUse::default);
        }
        &mut uses[host]
    }
}

impl From<Vec<(PlaneId, HostId, PortUse)>> for PortUses {
    fn from(list: Vec<(PlaneId, HostId, PortUse)>) -> PortUses {
        let mut uses = PortUses::default();
        for (plane, host, port_use) in list {
            *uses.get_mut(plane, host) = port_use;
        }
        uses
    }
}

impl From<PortUses> for Vec<(PlaneId, HostId, PortUse)> {
    fn from(uses: PortUses) -> Vec<(PlaneId, HostId, PortUse)> {
        let mut list = Vec::new();
        for (plane, hosts) in (0..).zip(uses.0) {
            for (host, port_use) in (0..).zip(hosts) {
                if port_use != PortUse::default() {
                    list.push((PlaneId(plane), HostId(host), port_use));
                }
            }
        }
        list
    }
}

impl Engine {
    /// Enters a circuit that is to be set up; `Engine::pump` hands it out.
    pub(super) fn create_circuit(
        &mut self,
        new: NewCircuit,
        owner: Option<Owner>,
        group: u64,
    ) -> Option<CircuitId> {
        let ports = self.fabric.ports(new.plane, new.a, new.b)?;
        let plane = self.fabric.plane(new.plane);
        let id = CircuitId(self.next_circuit);
        self.next_circuit += 1;
        let circuit = Circuit {
            plane: new.plane,
            a: new.a,
            b: new.b,
            ports,
            state: CircuitState::Switching,
            owner,
            group,
            asked: false,
            traffic: Traffic::OnEps,
            path_op: None,
            link: false,
            in_use_until: self.now,
            ready_at: self.now.after(plane.optical_ns.p99().plus(plane.link_up_ns.p99())),
            deadline: None,
            retry_at: Time(0),
            failures: 0,
        };
        for host in circuit.ends() {
            self.ports.get_mut(new.plane, host).current = Some(id);
        }
        if let Some(job) = circuit.owner.as_ref().and_then(|owner| self.jobs.get_mut(&owner.job)) {
            job.circuits.insert(id);
        }
        self.planes[new.plane.0 as usize].circuits.insert(id);
        self.dirty.insert(new.plane);
        self.circuits.insert(id, circuit);
        self.counters.circuits_created += 1;
        Some(id)
    }

    /// Tells a circuit what happened to it; false where that changes nothing.
    pub(super) fn turn(&mut self, id: CircuitId, happening: Happening, why: &str) -> bool {
        let Some(circuit) = self.circuits.get_mut(&id) else { return false };
        let before = circuit.state;
        let next = life::after(before, happening);
        if next == Some(before) {
            return false;
        }
        if let Some(owner) = &circuit.owner {
            self.touched.insert(owner.job.clone());
        }
        let Some(state) = next else {
            self.forget(id, why);
            return true;
        };
        circuit.state = state;
        circuit.deadline = None;
        self.enter(id, state);
        self.log(id, why);
        self.set_circuit_timer(id);
        self.settle(id);
        true
    }

    /// What a state brings with it.
    fn enter(&mut self, id: CircuitId, state: CircuitState) {
        let Some(circuit) = self.circuits.get_mut(&id) else { return };
        let (plane, ends) = (circuit.plane, circuit.ends());
        match state {
            CircuitState::Switching => {}
            CircuitState::Lit => {
                circuit.asked = true;
                let link_up = self.fabric.plane(plane).link_up_ns.p99();
                let grace = match circuit.owner {
                    Some(_) => link_up.plus(link_up).plus(self.limits.link_grace_ns),
                    None => self.limits.orphan_grace_ns,
                };
                circuit.ready_at = self.now.after(link_up);
                circuit.deadline = Some(self.now.after(grace));
            }
            CircuitState::Up => {
                circuit.failures = 0;
                for host in ends {
                    self.ports.get_mut(plane, host).failures = 0;
                }
            }
            CircuitState::Draining => {
                for host in ends {
                    let port = self.ports.get_mut(plane, host);
                    port.current = port.current.filter(|current| *current != id);
                    port.leaving.push(id);
                }
                self.disown(id);
                self.dirty.insert(plane);
            }
            CircuitState::Failed => {
                let failures = ends.map(|host| {
                    let port = self.ports.get_mut(plane, host);
                    port.failures = port.failures.saturating_add(1);
                    port.failures
                });
                let wait = self.backoff(failures[0].max(failures[1]));
                if let Some(circuit) = self.circuits.get_mut(&id) {
                    circuit.deadline = Some(self.now.after(wait));
                }
                self.counters.circuits_failed += 1;
                self.disown(id);
            }
        }
    }

    /// The job can no longer count on the circuit; it stays named as the owner for the log.
    fn disown(&mut self, id: CircuitId) {
        let owner = self.circuits.get(&id).and_then(|circuit| circuit.owner.as_ref());
        if let Some(job) = owner.and_then(|owner| self.jobs.get_mut(&owner.job)) {
            job.circuits.remove(&id);
        }
    }

    fn forget(&mut self, id: CircuitId, why: &str) {
        self.timers.cancel(&Timer::Circuit(id));
        self.log(id, why);
        let Some(circuit) = self.circuits.remove(&id) else { return };
        for host in circuit.ends() {
            let port = self.ports.get_mut(circuit.plane, host);
            port.current = port.current.filter(|current| *current != id);
            port.leaving.retain(|leaving| *leaving != id);
        }
        self.planes[circuit.plane.0 as usize].circuits.remove(&id);
        self.dirty.insert(circuit.plane);
        self.counters.circuits_removed += 1;
    }

    /// Does what the circuit's state asks for now: moves its traffic, or lets it go.
    pub(super) fn settle(&mut self, id: CircuitId) {
        self.step_path(id);
        let Some(circuit) = self.circuits.get(&id) else { return };
        if circuit.traffic != Traffic::OnEps || circuit.path_op.is_some() {
            return;
        }
        let plane = &self.planes[circuit.plane.0 as usize];
        match circuit.state {
            CircuitState::Draining if !circuit.asked || plane.is_clear_of(circuit.ports) => {
                self.turn(id, Happening::Missing, "removed");
            }
            CircuitState::Draining => {
                self.dirty.insert(circuit.plane);
            }
            CircuitState::Failed if circuit.deadline.is_some_and(|at| at <= self.now) => {
                self.turn(id, Happening::Cooled, "its ports may be tried again");
            }
            _ => {}
        }
    }

    /// The circuit that waits to be set up on the very cross-connect that this one leaves.
    fn successor(&self, id: CircuitId) -> Option<CircuitId> {
        let leaving = self.circuits.get(&id)?;
        let plane = &self.planes[leaving.plane.0 as usize];
        let next = self.ports.get(leaving.plane, leaving.a).current?;
        let waiting = self.circuits.get(&next)?;
        let fits = leaving.is_drained()
            && waiting.state == CircuitState::Switching
            && !waiting.asked
            && waiting.ports == leaving.ports
            && !plane.in_doubt
            && plane.present.contains(&leaving.ports)
            && plane.op.as_ref().is_none_or(|op| !op.remove.contains(&leaving.ports));
        fits.then_some(next)
    }

    /// One job's circuit becomes another's without touching the switch.
    pub(super) fn hand_over(&mut self, id: CircuitId) {
        let Some(next) = self.successor(id) else { return };
        let link = self.circuits.get(&id).is_some_and(|circuit| circuit.link);
        self.turn(id, Happening::Missing, "its cross-connect is handed over");
        self.turn(next, Happening::Made, "takes over the cross-connect that is there");
        self.set_link(next, link);
    }

    /// Something of the circuit is due.
    pub(super) fn circuit_due(&mut self, id: CircuitId) {
        let Some(circuit) = self.circuits.get(&id) else { return };
        let due = circuit.deadline.is_some_and(|at| at <= self.now);
        if due && circuit.state == CircuitState::Lit {
            if circuit.owner.is_some() {
                self.circuit_lost(id, "it did not come up in time");
                self.turn(id, Happening::Release, "it did not come up in time");
            } else {
                self.turn(id, Happening::Release, "left over, and nobody came back for it");
            }
            return;
        }
        self.dirty.insert(circuit.plane);
        self.settle(id);
        self.set_circuit_timer(id);
    }

    /// Runs the circuit's timer to the next thing that is due.
    pub(super) fn set_circuit_timer(&mut self, id: CircuitId) {
        let Some(circuit) = self.circuits.get(&id) else { return };
        let retry = Some(circuit.retry_at);
        let next =
            [circuit.deadline, retry].into_iter().flatten().filter(|at| *at > self.now).min();
        match next {
            Some(at) => self.timers.set(Timer::Circuit(id), at),
            None => self.timers.cancel(&Timer::Circuit(id)),
        }
    }

    /// Notes a failure of the circuit and when to try again.
    pub(super) fn retry_later(&mut self, id: CircuitId) {
        let Some(failures) = self.circuits.get(&id).map(|circuit| circuit.failures) else { return };
        let wait = self.backoff(failures.saturating_add(1));
        if let Some(circuit) = self.circuits.get_mut(&id) {
            circuit.failures = failures.saturating_add(1);
            circuit.retry_at = self.now.after(wait);
        }
        self.set_circuit_timer(id);
    }

    /// The wait after so many failures in a row.
    pub(super) fn backoff(&self, failures: u32) -> Nanos {
        let doubled = failures.saturating_sub(1).min(20);
        let wait = self.limits.backoff_ns_min.0.max(1).saturating_mul(1 << doubled);
        Nanos(wait.min(self.limits.backoff_ns_max.0.max(1)))
    }

    /// Gives up the circuits of a job that `which` picks.
    pub(super) fn release_circuits(
        &mut self,
        job: &str,
        why: &str,
        which: impl Fn(&Circuit) -> bool,
    ) {
        let Some(record) = self.jobs.get(job) else { return };
        let ids: Vec<CircuitId> = record
            .circuits
            .iter()
            .copied()
            .filter(|id| self.circuits.get(id).is_some_and(&which))
            .collect();
        for id in ids {
            self.turn(id, Happening::Release, why);
        }
    }

    /// Writes the circuit's state to the circuit log.
    pub(super) fn log(&mut self, id: CircuitId, why: &str) {
        if let Some(circuit) = self.circuit_view(id) {
            self.out.push(Effect::CircuitChanged { circuit, why: why.to_owned() });
        }
    }

    /// The circuit as messages show it.
    pub(super) fn circuit_view(&self, id: CircuitId) -> Option<wire::Circuit> {
        let circuit = self.circuits.get(&id)?;
        Some(wire::Circuit {
            id: id.0,
            plane: self.fabric.plane(circuit.plane).name.clone(),
            a: self.fabric.host_name(circuit.a).to_owned(),
            b: self.fabric.host_name(circuit.b).to_owned(),
            state: circuit.state,
            job: circuit.owner.as_ref().map(|owner| owner.job.clone()),
            phase: circuit.owner.as_ref().map(|owner| owner.phase.clone()),
        })
    }
}
