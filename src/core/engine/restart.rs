//! What a (re)start does: forget what was under way, keep what is true, read every switch back.
//!
//! Circuits that the state knows and the switch has are kept without touching them; those of jobs
//! whose ranks do not come back go when the leases end, a full term after the start.

use super::circuits::{Circuit, PortUses, Traffic};
use super::planes::PlaneState;
use super::timers::Timers;
use super::{Effect, Engine, PathMove, Way};
use crate::fabric::{Fabric, HostId, PlaneId};
use crate::planner::CircuitId;
use crate::units::Time;
use crate::wire::{CircuitState, JobState};
use std::collections::BTreeMap;

impl Engine {
    pub(super) fn restart(&mut self, fabric: Fabric) {
        self.timers = Timers::default();
        self.waits.clear();
        self.moving.clear();
        self.moving_op = None;
        let old = std::mem::replace(&mut self.fabric, fabric);
        let circuits = std::mem::take(&mut self.circuits);
        let old_ports = std::mem::take(&mut self.ports);
        let old_planes = std::mem::take(&mut self.planes);
        self.planes = self.fabric.plane_ids().map(|_| PlaneState::unread()).collect();
        for plane in self.fabric.plane_ids() {
            self.dirty.insert(plane);
        }
        for plane in self.fabric.plane_ids() {
            let name = &self.fabric.plane(plane).name;
            let before = old.planes.iter().position(|plane| plane.name == *name);
            if let Some(state) = before.and_then(|before| old_planes.get(before)) {
                self.planes[plane.0 as usize].discarded.clone_from(&state.discarded);
            }
        }
        self.find_hosts();
        let mut homeless = Vec::new();
        for (id, circuit) in circuits {
            self.take_over(id, circuit, &old, &old_ports, &mut homeless);
        }
        self.say_homeless(homeless);
        self.renew_leases();
    }

    /// Finds the jobs' hosts in the fabric as it is now.
    fn find_hosts(&mut self) {
        self.tenants = BTreeMap::new();
        for (id, job) in &mut self.jobs {
            job.demands.0.clear();
            for host in &mut job.hosts {
                host.id = self.fabric.host(&host.name);
                if let Some(host) = host.id.filter(|_| job.state == JobState::Running) {
                    self.tenants.entry(host).or_default().insert(id.clone());
                }
            }
        }
    }

    /// Takes a circuit over into the fabric as it is now, or notes that it has no place there.
    fn take_over(
        &mut self,
        id: CircuitId,
        mut circuit: Circuit,
        old: &Fabric,
        old_ports: &PortUses,
        homeless: &mut Vec<(Option<PathMove>, crate::wire::Circuit)>,
    ) {
        let plane_name = &old.plane(circuit.plane).name;
        let names = circuit.ends().map(|host| old.host_name(host).to_owned());
        let view = crate::wire::Circuit {
            id: id.0,
            plane: plane_name.clone(),
            a: names[0].clone(),
            b: names[1].clone(),
            state: CircuitState::Draining,
            job: circuit.owner.as_ref().map(|owner| owner.job.clone()),
            phase: circuit.owner.as_ref().map(|owner| owner.phase.clone()),
        };
        let plane = self.fabric.plane_ids().find(|p| self.fabric.plane(*p).name == *plane_name);
        let hosts = names.each_ref().map(|name| self.fabric.host(name));
        let place = match (plane, hosts) {
            (Some(plane), [Some(a), Some(b)]) => {
                let same = self.fabric.ports(plane, a, b) == Some(circuit.ports);
                same.then_some((plane, a, b))
            }
            _ => None,
        };
        let Some((plane, a, b)) = place else {
            if let Some(owner) = &circuit.owner
                && let Some(job) = self.jobs.get_mut(&owner.job)
            {
                job.circuits.remove(&id);
            }
            let moved = (circuit.traffic != Traffic::OnEps).then(|| PathMove {
                job: view.job.clone().unwrap_or_default(),
                a: view.a.clone(),
                b: view.b.clone(),
                to: Way::Eps,
            });
            if let Some(plane) = plane.filter(|_| circuit.asked) {
                self.planes[plane.0 as usize].discarded.insert(circuit.ports);
            }
            homeless.push((moved, view));
            return;
        };
        let old_ends = circuit.ends().map(|host| old_ports.get(circuit.plane, host).failures);
        (circuit.plane, circuit.a, circuit.b) = (plane, a.min(b), a.max(b));
        circuit.retry_at = Time(0);
        circuit.failures = 0;
        if circuit.path_op.take().is_some() || circuit.traffic == Traffic::OnCircuit {
            // The paths' controller may have lost it, or done it: it is told again.
            circuit.traffic = Traffic::Unknown;
        }
        for (host, before) in [a, b].into_iter().zip(old_ends) {
            self.enter_port(id, &circuit, host, before);
        }
        self.planes[plane.0 as usize].circuits.insert(id);
        let state = circuit.state;
        if state == CircuitState::Lit || circuit.owner.is_none() {
            let grace = self.limits.orphan_grace_ns.max(self.limits.link_grace_ns);
            let link_up = self.fabric.plane(plane).link_up_ns.p99();
            circuit.deadline = Some(self.now.after(grace.plus(link_up).plus(link_up)));
        }
        self.circuits.insert(id, circuit);
        self.set_circuit_timer(id);
        self.settle(id);
    }

    fn enter_port(&mut self, id: CircuitId, circuit: &Circuit, host: HostId, failures: u32) {
        let port = self.ports.get_mut(circuit.plane, host);
        port.failures = failures;
        if circuit.state == CircuitState::Draining {
            port.leaving.push(id);
        } else {
            port.current = Some(id);
        }
    }

    /// Circuits without a place go from the books: traffic first, then the cross-connect, which
    /// the plane removes once it is read.
    fn say_homeless(&mut self, homeless: Vec<(Option<PathMove>, crate::wire::Circuit)>) {
        let moves: Vec<PathMove> = homeless.iter().filter_map(|(moved, _)| moved.clone()).collect();
        if !moves.is_empty() {
            let op = self.next_op();
            self.out.push(Effect::Paths { op, moves });
        }
        for (_, circuit) in homeless {
            let why = "the fabric's file has no place for it any more".to_owned();
            self.out.push(Effect::CircuitChanged { circuit, why });
        }
    }

    /// True once the plane was read back after the start.
    pub(super) fn plane_is_read(&self, plane: PlaneId) -> bool {
        let state = &self.planes[plane.0 as usize];
        state.audit_at > Time(0)
    }
}
