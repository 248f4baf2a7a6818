//! Leases: a job that dies, hangs or is cut off loses its circuits, and nobody else's.
//!
//! The leases of a job are looked through when the earliest of them may be over. A heartbeat only
//! moves a lease later, so that moment is never too late, and a heartbeat costs no timer.

use super::jobs::RankState;
use super::timers::Timer;
use super::{Engine, Refusal, Response};
use crate::units::Time;
use crate::wire::{Heartbeat, JobState};

impl Engine {
    /// A rank is still there.
    pub(super) fn heartbeat(
        &mut self,
        id: &str,
        rank: u32,
        request: &Heartbeat,
    ) -> Result<Response, Refusal> {
        request.validate()?;
        let (now, lease_until) = (self.now, self.now.after(self.limits.lease_ns));
        let job = self.running(id, request.incarnation)?;
        let Some(known) = job.ranks.get_mut(&rank).filter(|r| r.state == RankState::Alive) else {
            let message = format!("rank {rank} of job {id:?} holds no lease; register again");
            return Err(Refusal::new(410, "no_lease", message));
        };
        known.lease_until = known.lease_until.max(lease_until);
        if request.calls > known.calls {
            known.calls = request.calls;
            job.active_at = now;
        }
        Ok(Response::Done)
    }

    /// A rank has finalised its MPI. Circuits end on a host as long as it has ranks.
    pub(super) fn deregister(
        &mut self,
        id: &str,
        rank: u32,
        incarnation: u64,
    ) -> Result<Response, Refusal> {
        let job = self.running(id, incarnation)?;
        let Some(known) = job.ranks.get(&rank) else {
            let message = format!("rank {rank} of job {id:?} has not registered");
            return Err(Refusal::new(404, "unknown_rank", message));
        };
        let host = known.host as usize;
        job.end_rank(rank, RankState::Gone);
        let (alive, left) = (job.alive, job.hosts[host].alive);
        let host = job.hosts[host].id;
        if alive == 0 {
            let state = if job.ranks.values().all(|rank| rank.state == RankState::Gone) {
                JobState::Ended
            } else {
                JobState::Expired
            };
            self.end_job(id, state, "the job's last rank said good-bye");
        } else if left == 0 {
            self.release_circuits(id, "the host's last rank said good-bye", |circuit| {
                circuit.ends().iter().any(|end| Some(*end) == host)
            });
        }
        Ok(Response::Done)
    }

    /// Some lease of the job may be over.
    pub(super) fn leases_due(&mut self, id: &str) {
        let now = self.now;
        let Some(job) = self.jobs.get_mut(id) else { return };
        let silent: Vec<u32> = job
            .ranks
            .iter()
            .filter(|(_, rank)| rank.state == RankState::Alive && rank.lease_until <= now)
            .map(|(number, _)| *number)
            .collect();
        for rank in &silent {
            job.end_rank(*rank, RankState::Dead);
        }
        let left = job.ranks.values().filter(|rank| rank.state == RankState::Alive);
        let next = left.map(|rank| rank.lease_until).min();
        self.counters.leases_expired += silent.len() as u64;
        let Some(next) = next else {
            self.end_job(id, JobState::Expired, "the leases of all its ranks ran out");
            return;
        };
        self.timers.set(Timer::Lease(id.to_owned()), next);
        if let Some(rank) = silent.first() {
            let why = format!("the lease of rank {rank} ran out");
            self.release_circuits(id, &why, |_| true);
        }
    }

    /// The job may have stopped communicating although its ranks live.
    pub(super) fn idle_due(&mut self, id: &str) {
        let Some(job) = self.jobs.get(id) else { return };
        let mut due = job.active_at.after(self.limits.idle_ns);
        if due <= self.now {
            if !job.circuits.is_empty() {
                self.counters.idle_releases += 1;
            }
            self.release_circuits(id, "the job records no calls any more", |_| true);
            due = self.now.after(self.limits.idle_ns);
        }
        self.timers.set(Timer::Idle(id.to_owned()), due);
    }

    /// Gives every rank a full lease: nobody could be heard for a while.
    pub(super) fn renew_leases(&mut self) {
        let lease_until = self.now.after(self.limits.lease_ns);
        let mut running: Vec<(String, Time)> = Vec::new();
        for (id, job) in &mut self.jobs {
            if job.state == JobState::Running {
                for rank in job.ranks.values_mut() {
                    rank.lease_until = rank.lease_until.max(lease_until);
                }
                job.active_at = self.now;
                running.push((id.clone(), lease_until));
            }
        }
        for (id, due) in running {
            self.timers.set(Timer::Idle(id.clone()), self.now.after(self.limits.idle_ns));
            self.timers.set(Timer::Lease(id), due);
        }
    }
}
