//! Moves of traffic between the EPS and circuits.
//!
//! Traffic goes onto a circuit only when its link is up, and comes off before the circuit goes.

use super::circuits::{Circuit, Traffic};
use super::life::Happening;
use super::timers::Timer;
use super::{Effect, Engine, OpId, PathMove, Way};
use crate::planner::CircuitId;
use crate::wire::CircuitState;
use serde::{Deserialize, Serialize};

/// A move under way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct MovingPath {
    pub(super) circuit: CircuitId,
    pub(super) to: Traffic,
}

impl Engine {
    /// Asks for the move that the circuit's state wants, if one is wanted and none is under way.
    pub(super) fn step_path(&mut self, id: CircuitId) {
        let Some(circuit) = self.circuits.get(&id) else { return };
        let carries = matches!(circuit.state, CircuitState::Lit | CircuitState::Up)
            && circuit.link
            && circuit.owner.is_some();
        let to = if carries { Traffic::OnCircuit } else { Traffic::OnEps };
        if circuit.path_op.is_some() || circuit.traffic == to || circuit.retry_at > self.now {
            return;
        }
        let off_eps = |twin: &CircuitId| {
            let twin = self.circuits.get(twin);
            twin.is_some_and(|t| t.traffic != Traffic::OnEps || t.path_op.is_some())
        };
        if carries && self.twins(id).iter().any(off_eps) {
            return;
        }
        let op = match self.moving_op {
            Some(op) => op,
            None => {
                let op = OpId(self.next_op);
                self.next_op += 1;
                self.moving_op = Some(op);
                op
            }
        };
        if let Some(circuit) = self.circuits.get_mut(&id) {
            circuit.path_op = Some(op);
        }
        self.moving.entry(op).or_default().push(MovingPath { circuit: id, to });
    }

    /// The other circuits between the same hosts for the same job: one that leaves or failed, and
    /// its successor. A path's controller knows job and hosts only, so the first must be off its
    /// circuit before the second goes onto its own.
    fn twins(&self, id: CircuitId) -> Vec<CircuitId> {
        let Some(circuit) = self.circuits.get(&id) else { return Vec::new() };
        let job = |circuit: &Circuit| circuit.owner.as_ref().map(|owner| owner.job.clone());
        let is_twin = |other: &CircuitId| {
            let other_circuit = self.circuits.get(other);
            *other != id
                && other_circuit
                    .is_some_and(|c| c.ends() == circuit.ends() && job(c) == job(circuit))
        };
        let planes = self.fabric.plane_ids();
        let ports = planes.map(|plane| self.ports.get(plane, circuit.a));
        ports
            .flat_map(|port| port.current.iter().chain(&port.leaving))
            .copied()
            .filter(is_twin)
            .collect()
    }

    /// Hands out the moves that this command has brought.
    pub(super) fn flush_moves(&mut self) {
        let Some(op) = self.moving_op.take() else { return };
        let moves: Vec<PathMove> = self
            .moving
            .get(&op)
            .into_iter()
            .flatten()
            .filter_map(|moving| self.path_move(*moving))
            .collect();
        self.counters.path_ops += 1;
        self.timers.set(Timer::Op(op), self.now.after(self.limits.answer_ns_max));
        self.out.push(Effect::Paths { op, moves });
    }

    fn path_move(&self, moving: MovingPath) -> Option<PathMove> {
        let circuit = self.circuits.get(&moving.circuit)?;
        Some(PathMove {
            job: circuit.owner.as_ref()?.job.clone(),
            a: self.fabric.host_name(circuit.a).to_owned(),
            b: self.fabric.host_name(circuit.b).to_owned(),
            to: match moving.to {
                Traffic::OnCircuit => Way::Circuit(circuit.plane),
                Traffic::OnEps | Traffic::Unknown => Way::Eps,
            },
        })
    }

    /// The answer to moves.
    pub(super) fn paths_done(&mut self, op: OpId, error: Option<&str>) {
        let Some(moved) = self.moving.remove(&op) else {
            self.counters.late_answers += 1;
            return;
        };
        self.timers.cancel(&Timer::Op(op));
        self.counters.path_errors += u64::from(error.is_some());
        for moving in moved {
            let Some(circuit) = self.circuits.get_mut(&moving.circuit) else { continue };
            circuit.path_op = None;
            if let Some(error) = error {
                circuit.traffic = Traffic::Unknown;
                self.log(moving.circuit, error);
                self.retry_later(moving.circuit);
                continue;
            }
            circuit.traffic = moving.to;
            circuit.failures = 0;
            if moving.to == Traffic::OnCircuit && circuit.link {
                self.turn(moving.circuit, Happening::Carrying, "its link is up");
            }
            let twins = self.twins(moving.circuit);
            self.settle(moving.circuit);
            for twin in twins {
                self.settle(twin);
            }
        }
    }
}
