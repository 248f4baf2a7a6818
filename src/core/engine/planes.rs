//! The switches: what is asked of them, and what they are read back with.
//!
//! Each plane has one operation under way at most. Nothing is queued: whenever a plane is idle,
//! [`Engine::pump`] looks at what the circuits want and what the switch was last read back with,
//! and hands out the difference. So a failed operation needs no undoing of bookkeeping; what it
//! did not do is still wanted, and wanted again after a wait.

use super::life::Happening;
use super::timers::Timer;
use super::{Connect, Effect, Engine, OpId};
use crate::fabric::{HostId, PlaneId, PortPair};
use crate::planner::{CircuitId, NewCircuit};
use crate::units::Time;
use crate::wire::CircuitState;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An operation under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PlaneOp {
    pub(super) id: OpId,
    pub(super) remove: Vec<PortPair>,
    pub(super) create: Vec<PortPair>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PlaneState {
    pub(super) op: Option<PlaneOp>,
    /// What the switch was last read back with.
    pub(super) present: BTreeSet<PortPair>,
    /// True where that may be out of date: nothing is changed before it is read again.
    pub(super) in_doubt: bool,
    /// Reads that failed in a row, and when to try again.
    pub(super) failures: u32,
    pub(super) not_before: Time,
    /// Read again by then.
    pub(super) audit_at: Time,
    /// The plane's circuits.
    pub(super) circuits: BTreeSet<CircuitId>,
    /// Ports that others have joined, each with its peer.
    pub(super) foreign: BTreeMap<u32, u32>,
    /// Cross-connects of circuits that a new fabric file has no place for.
    pub(super) discarded: BTreeSet<PortPair>,
}

impl PlaneState {
    /// A plane that was not read yet.
    pub(super) fn unread() -> PlaneState {
        PlaneState { in_doubt: true, ..PlaneState::default() }
    }

    /// True where the pair is certainly not joined, nor about to be.
    pub(super) fn is_clear_of(&self, ports: PortPair) -> bool {
        let under_way = self.op.as_ref().is_some_and(|op| op.create.contains(&ports));
        !self.in_doubt && !under_way && !self.present.contains(&ports)
    }
}

/// What a plane could do now.
#[derive(Default)]
struct Wanted {
    remove: Vec<PortPair>,
    leaving: BTreeSet<CircuitId>,
    create: Vec<(CircuitId, PortPair)>,
    blocked: Vec<(CircuitId, String)>,
}

impl Engine {
    /// Hands out the plane's next operation, where it is idle and something is to be done.
    pub(super) fn pump(&mut self, plane: PlaneId) {
        let circuits: Vec<CircuitId> =
            self.planes[plane.0 as usize].circuits.iter().copied().collect();
        for id in circuits {
            self.hand_over(id);
        }
        let state = &self.planes[plane.0 as usize];
        if state.op.is_some() {
            return;
        }
        if state.not_before > self.now {
            self.timers.set(Timer::Plane(plane), state.not_before);
            return;
        }
        let mut wanted = Wanted::default();
        if !state.in_doubt {
            wanted = self.wanted(plane);
            for (id, why) in std::mem::take(&mut wanted.blocked) {
                self.fail_circuit(id, &why);
            }
        }
        let state = &self.planes[plane.0 as usize];
        let must_read = state.in_doubt || state.audit_at <= self.now;
        if !must_read && wanted.remove.is_empty() && wanted.create.is_empty() {
            self.timers.set(Timer::Plane(plane), state.audit_at);
            return;
        }
        let id = self.next_op();
        for (circuit, _) in &wanted.create {
            if let Some(circuit) = self.circuits.get_mut(circuit) {
                circuit.asked = true;
            }
        }
        let create: Vec<PortPair> = wanted.create.iter().map(|(_, ports)| *ports).collect();
        self.counters.optical_ops += 1;
        self.timers.cancel(&Timer::Plane(plane));
        self.timers.set(Timer::Op(id), self.now.after(self.limits.answer_ns_max));
        self.planes[plane.0 as usize].op =
            Some(PlaneOp { id, remove: wanted.remove.clone(), create: create.clone() });
        self.out.push(Effect::Optical { op: id, plane, remove: wanted.remove, create });
    }

    /// The difference between what circuits want and what the switch has.
    fn wanted(&self, plane: PlaneId) -> Wanted {
        let state = &self.planes[plane.0 as usize];
        let mut wanted = Wanted::default();
        wanted.remove.extend(state.discarded.iter().filter(|ports| state.present.contains(*ports)));
        let circuits =
            || state.circuits.iter().filter_map(|id| Some((*id, self.circuits.get(id)?)));
        for (id, circuit) in circuits() {
            if circuit.is_drained()
                && state.present.contains(&circuit.ports)
                && circuit.retry_at <= self.now
            {
                wanted.remove.push(circuit.ports);
                wanted.leaving.insert(id);
            }
        }
        let removed: BTreeSet<PortPair> = wanted.remove.iter().copied().collect();
        let joined: BTreeSet<u32> = state
            .present
            .difference(&removed)
            .flat_map(|ports| [ports.low(), ports.high()])
            .collect();
        for (id, circuit) in circuits() {
            if circuit.state != CircuitState::Switching || circuit.asked {
                continue;
            }
            let ports = [circuit.ports.low(), circuit.ports.high()];
            if let Some(port) = ports.iter().find(|port| state.foreign.contains_key(*port)) {
                let why = format!("port {port} is joined by somebody else");
                wanted.blocked.push((id, why));
                continue;
            }
            let left = circuit.ends().iter().all(|host| {
                let leaving = &self.ports.get(plane, *host).leaving;
                leaving.iter().all(|leaving| wanted.leaving.contains(leaving))
            });
            if left && !ports.iter().any(|port| joined.contains(port)) {
                wanted.create.push((id, circuit.ports));
            }
        }
        wanted
    }

    /// The answer to an operation.
    pub(super) fn optical_done(
        &mut self,
        op: OpId,
        plane: PlaneId,
        error: Option<&str>,
        connects: Option<&[Connect]>,
    ) {
        let Some(state) = self.planes.get_mut(plane.0 as usize) else {
            self.counters.late_answers += 1;
            return;
        };
        if state.op.as_ref().is_none_or(|under_way| under_way.id != op) {
            self.counters.late_answers += 1;
            state.in_doubt = true;
            self.dirty.insert(plane);
            return;
        }
        self.close_op(op, plane, error, connects);
    }

    /// Ends the plane's operation with what is known of it.
    fn close_op(
        &mut self,
        op: OpId,
        plane: PlaneId,
        error: Option<&str>,
        connects: Option<&[Connect]>,
    ) {
        self.timers.cancel(&Timer::Op(op));
        self.dirty.insert(plane);
        self.counters.optical_errors += u64::from(error.is_some());
        let Some(under_way) = self.planes[plane.0 as usize].op.take() else { return };
        match connects {
            Some(connects) => self.read_back(plane, &under_way, error, connects),
            None => {
                let failures = self.planes[plane.0 as usize].failures.saturating_add(1);
                let not_before = self.now.after(self.backoff(failures));
                let state = &mut self.planes[plane.0 as usize];
                state.in_doubt = true;
                state.failures = failures;
                state.not_before = not_before;
                for id in state.circuits.iter() {
                    let circuit = self.circuits.get_mut(id);
                    if let Some(circuit) = circuit.filter(|c| under_way.create.contains(&c.ports)) {
                        circuit.failures = circuit.failures.saturating_add(1);
                    }
                }
            }
        }
    }

    /// An operation was not answered in time.
    pub(super) fn op_overdue(&mut self, op: OpId) {
        let asked = |plane: &PlaneId| {
            let state = &self.planes[plane.0 as usize];
            state.op.as_ref().is_some_and(|under_way| under_way.id == op)
        };
        match self.fabric.plane_ids().find(asked) {
            Some(plane) => {
                self.close_op(op, plane, Some("the switch did not answer in time"), None);
            }
            None => self.paths_done(op, Some("the paths' controller did not answer in time")),
        }
    }

    /// Takes what the switch was read back with for the truth.
    fn read_back(
        &mut self,
        plane: PlaneId,
        op: &PlaneOp,
        error: Option<&str>,
        connects: &[Connect],
    ) {
        let truth: BTreeMap<PortPair, bool> =
            connects.iter().map(|connect| (connect.ports, connect.up)).collect();
        let audit_at = self.now.after(self.limits.audit_ns);
        let state = &mut self.planes[plane.0 as usize];
        state.present = truth.keys().copied().collect();
        state.in_doubt = false;
        state.failures = 0;
        state.audit_at = audit_at;
        state.discarded.retain(|ports| truth.contains_key(ports));
        let stuck = state.discarded.iter().any(|ports| op.remove.contains(ports));
        if stuck {
            state.not_before = self.now.after(self.limits.backoff_ns_max);
        }
        let ids: Vec<CircuitId> = state.circuits.iter().copied().collect();
        self.find_foreign(plane, &truth);
        for id in ids {
            self.compare(id, op, error, &truth);
        }
    }

    /// Compares one circuit with what was read back.
    fn compare(
        &mut self,
        id: CircuitId,
        op: &PlaneOp,
        error: Option<&str>,
        truth: &BTreeMap<PortPair, bool>,
    ) {
        let Some(circuit) = self.circuits.get_mut(&id) else { return };
        let link = truth.get(&circuit.ports).copied();
        let ports = circuit.ports;
        let waits = |host: &HostId| !self.ports.get(circuit.plane, *host).leaving.is_empty();
        let is_predecessors = !circuit.asked && circuit.ends().iter().any(waits);
        match (circuit.state, link) {
            (CircuitState::Switching, None) if circuit.asked => {
                if op.create.contains(&ports) || circuit.failures > 0 {
                    self.fail_circuit(id, error.unwrap_or("the switch did not set it up"));
                } else {
                    // Handed out before a restart, and never done.
                    circuit.asked = false;
                }
            }
            (CircuitState::Switching, None) | (CircuitState::Failed, None) => {}
            (CircuitState::Lit | CircuitState::Up, None) => {
                self.fail_circuit(id, "the switch lost its cross-connect");
            }
            (CircuitState::Draining, None) => self.settle(id),
            (CircuitState::Draining, Some(_)) => {
                if op.remove.contains(&ports) {
                    self.log(id, error.unwrap_or("the switch did not remove it"));
                    self.counters.removes_failed += 1;
                    self.retry_later(id);
                } else {
                    self.settle(id);
                }
            }
            (CircuitState::Switching, Some(_)) if is_predecessors => {}
            (_, Some(up)) => {
                self.turn(id, Happening::Made, "read back");
                self.set_link(id, up);
            }
        }
    }

    /// The switch did not make the circuit, or lost it: it fails, and what came with it and is
    /// not up yet is taken back.
    fn fail_circuit(&mut self, id: CircuitId, why: &str) {
        let Some(circuit) = self.circuits.get(&id) else { return };
        let (owner, group) = (circuit.owner.clone(), circuit.group);
        self.circuit_lost(id, why);
        self.turn(id, Happening::Missing, why);
        let Some(owner) = owner else { return };
        self.release_circuits(&owner.job, "taken back: its plan failed", |other| {
            other.group == group && other.state != CircuitState::Up
        });
    }

    /// Sorts out cross-connects that no circuit accounts for.
    fn find_foreign(&mut self, plane: PlaneId, truth: &BTreeMap<PortPair, bool>) {
        let state = &self.planes[plane.0 as usize];
        let ours: BTreeSet<PortPair> = state
            .circuits
            .iter()
            .filter_map(|id| self.circuits.get(id))
            .map(|circuit| circuit.ports)
            .chain(state.discarded.iter().copied())
            .collect();
        let unknown: Vec<(PortPair, bool)> = truth
            .iter()
            .filter(|(ports, _)| !ours.contains(*ports))
            .map(|(ports, up)| (*ports, *up))
            .collect();
        let mut foreign = BTreeMap::new();
        for (ports, up) in unknown {
            if !(self.fabric.plane(plane).exclusive && self.adopt_orphan(plane, ports, up)) {
                foreign.insert(ports.low(), ports.high());
                foreign.insert(ports.high(), ports.low());
            }
        }
        self.planes[plane.0 as usize].foreign = foreign;
    }

    /// Enters a cross-connect that a lost state left behind as nobody's circuit; false where its
    /// ports are not two free hosts'.
    fn adopt_orphan(&mut self, plane: PlaneId, ports: PortPair, up: bool) -> bool {
        let host_at = |port: u32| {
            let index = self.fabric.plane(plane).ports.iter().position(|p| *p == Some(port))?;
            u32::try_from(index).ok().map(HostId)
        };
        let (Some(a), Some(b)) = (host_at(ports.low()), host_at(ports.high())) else {
            return false;
        };
        let busy = [a, b].iter().any(|host| {
            let port = self.ports.get(plane, *host);
            port.current.is_some() || !port.leaving.is_empty()
        });
        if busy {
            return false;
        }
        let new = NewCircuit { plane, a: a.min(b), b: a.max(b) };
        let Some(id) = self.create_circuit(new, None, 0) else { return false };
        self.turn(id, Happening::Made, "found on the switch, left over");
        self.set_link(id, up);
        true
    }

    /// Links changed by themselves.
    pub(super) fn links(&mut self, plane: PlaneId, connects: &[Connect]) {
        let Some(state) = self.planes.get(plane.0 as usize) else { return };
        let ids: BTreeMap<PortPair, CircuitId> = state
            .circuits
            .iter()
            .filter_map(|id| Some((self.circuits.get(id)?.ports, *id)))
            .collect();
        for connect in connects {
            if let Some(id) = ids.get(&connect.ports) {
                self.set_link(*id, connect.up);
            }
        }
    }

    /// Notes whether the circuit's link is up; before its cross-connect was read back that says
    /// nothing of it.
    pub(super) fn set_link(&mut self, id: CircuitId, up: bool) {
        let Some(circuit) = self.circuits.get_mut(&id) else { return };
        if circuit.state != CircuitState::Lit && circuit.state != CircuitState::Up {
            return;
        }
        circuit.link = up;
        if !up && self.turn(id, Happening::Dark, "its link went down") {
            return;
        }
        self.settle(id);
    }
}
