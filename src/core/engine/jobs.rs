//! Jobs: their ranks, phases and hints, from the first rank's registration to their end.

use super::timers::Timer;
use super::{Engine, Refusal, Response};
use crate::demand::{Demand, NoDemand};
use crate::fabric::HostId;
use crate::planner::CircuitId;
use crate::units::Time;
use crate::wire::validate;
use crate::wire::{Decision, Hint, JobState, Phase, Reason, RegisterRank, Registered, VERSION};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use super::prestage::Request;

/// A rank's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RankState {
    Alive,
    /// Its lease ran out.
    Dead,
    /// It said good-bye.
    Gone,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rank {
    /// Index in [`Job::hosts`].
    pub(super) host: u32,
    pub(super) pid: u32,
    pub(super) state: RankState,
    pub(super) lease_until: Time,
    pub(super) calls: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JobHost {
    pub(super) name: String,
    pub(super) id: Option<HostId>,
    /// Ranks on it that hold a lease.
    pub(super) alive: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) incarnation: u64,
    pub(super) state: JobState,
    pub(super) program: String,
    pub(super) library: String,
    pub(super) world_size: u32,
    /// In the order in which they were first named.
    pub(super) hosts: Vec<JobHost>,
    pub(super) ranks: BTreeMap<u32, Rank>,
    pub(super) alive: u32,
    /// When some rank last recorded a call.
    pub(super) active_at: Time,
    pub(super) phases: BTreeMap<String, Phase>,
    pub(super) requests: BTreeMap<u64, Request>,
    #[serde(with = "super::as_pairs")]
    pub(super) decisions: BTreeMap<(Decision, Reason), u64>,
    pub(super) hint: Option<Hint>,
    /// Circuits that live and are the job's.
    pub(super) circuits: BTreeSet<CircuitId>,
    /// Demands worked out, by phase: a cache, so not kept.
    #[serde(skip)]
    pub(super) demands: DemandCache,
}

/// Answers that follow from a job's ranks and phases.
#[derive(Clone, Debug, Default)]
pub(super) struct DemandCache(pub(super) BTreeMap<String, Result<Demand, NoDemand>>);

impl Job {
    fn new(incarnation: u64, first: &RegisterRank, now: Time) -> Job {
        Job {
            incarnation,
            state: JobState::Running,
            program: first.program.clone(),
            library: first.library.clone(),
            world_size: first.world_size,
            hosts: Vec::new(),
            ranks: BTreeMap::new(),
            alive: 0,
            active_at: now,
            phases: BTreeMap::new(),
            requests: BTreeMap::new(),
            decisions: BTreeMap::new(),
            hint: None,
            circuits: BTreeSet::new(),
            demands: DemandCache::default(),
        }
    }

    /// The host of a rank that holds a lease.
    pub(super) fn host_of(&self, rank: u32) -> Option<u32> {
        let rank = self.ranks.get(&rank)?;
        (rank.state == RankState::Alive).then_some(rank.host)
    }

    /// Takes a rank's lease away.
    pub(super) fn end_rank(&mut self, rank: u32, state: RankState) {
        if let Some(rank) = self.ranks.get_mut(&rank).filter(|r| r.state == RankState::Alive) {
            rank.state = state;
            self.alive -= 1;
            self.hosts[rank.host as usize].alive -= 1;
            self.demands.0.clear();
        }
    }
}

/// How many entries of lists a phase holds: what its memory goes by.
fn entries(phase: &Phase) -> usize {
    phase.members.runs.len() + phase.calls.len() + phase.pairs.len()
}

impl Engine {
    /// The running job, if this is its life.
    pub(super) fn running(&mut self, id: &str, incarnation: u64) -> Result<&mut Job, Refusal> {
        validate::id("job", id)?;
        let Some(job) = self.jobs.get_mut(id) else {
            return Err(Refusal::new(
                404,
                "unknown_job",
                format!("job {id:?} is not known; register its ranks (again)"),
            ));
        };
        if job.incarnation != incarnation {
            return Err(Refusal::new(
                409,
                "stale_incarnation",
                format!(
                    "incarnation is {incarnation}, and job {id:?} lives its {}; register again",
                    job.incarnation
                ),
            ));
        }
        if job.state != JobState::Running {
            return Err(Refusal::new(
                410,
                "job_ended",
                format!("job {id:?} has ended in its life {incarnation}; register again"),
            ));
        }
        Ok(job)
    }

    /// A rank says that it is there.
    pub(super) fn register(
        &mut self,
        id: &str,
        request: &RegisterRank,
    ) -> Result<Response, Refusal> {
        validate::id("job", id)?;
        request.validate()?;
        self.admit(id, request)?;
        let host_id = self.fabric.host(&request.host);
        let (now, lease_until) = (self.now, self.now.after(self.limits.lease_ns));
        if !self.jobs.get(id).is_some_and(|job| job.state == JobState::Running) {
            self.begin_job(id, request);
        }
        let Some(job) = self.jobs.get_mut(id) else { return Ok(Response::Done) };
        let known = job.hosts.iter().rposition(|host| host.name == request.host);
        let host = known.unwrap_or_else(|| {
            job.hosts.push(JobHost { name: request.host.clone(), id: host_id, alive: 0 });
            job.hosts.len() - 1
        });
        job.end_rank(request.rank, RankState::Gone);
        let rank = Rank {
            host: u32::try_from(host).unwrap_or(u32::MAX),
            pid: request.pid,
            state: RankState::Alive,
            lease_until,
            calls: 0,
        };
        if job.ranks.insert(request.rank, rank).is_none() {
            self.ranks += 1;
        }
        job.alive += 1;
        job.hosts[host].alive += 1;
        job.demands.0.clear();
        let incarnation = job.incarnation;
        if job.ranks.len() == 1 {
            job.active_at = now;
        }
        if let Some(host) = host_id {
            self.tenants.entry(host).or_default().insert(id.to_owned());
        }
        Ok(Response::Registered(Registered {
            version: VERSION,
            incarnation,
            lease_ns: self.limits.lease_ns,
            heartbeat_ns: self.limits.heartbeat_ns,
            fabric: self.fabric.summary(),
        }))
    }

    /// Whether the rank may register: it fits the job's life, and there is room.
    fn admit(&self, id: &str, request: &RegisterRank) -> Result<(), Refusal> {
        let full = |what: &str, limit: usize| {
            let message = format!(
                "there is no room for job {id:?}: {limit} {what} are the most; wait for others \
                 to end, or raise the limit"
            );
            Err(Refusal::new(503, "too_many", message))
        };
        let mut new_rank = true;
        match self.jobs.get(id).filter(|job| job.state == JobState::Running) {
            None if self.running_jobs >= self.limits.jobs_max => {
                return full("jobs", self.limits.jobs_max);
            }
            None => {}
            Some(job) => {
                if job.world_size != request.world_size {
                    let message = format!(
                        "world_size is {}, and job {id:?} runs with {}; give each job its own id",
                        request.world_size, job.world_size
                    );
                    return Err(Refusal::new(409, "world_size_differs", message));
                }
                if let Some(rank) = job.ranks.get(&request.rank) {
                    self.same_process(id, job, rank, request)?;
                    new_rank = false;
                }
            }
        }
        if new_rank && self.ranks >= self.limits.ranks_max {
            return full("ranks", self.limits.ranks_max);
        }
        Ok(())
    }

    /// A rank that is known may register again from its own process only.
    fn same_process(
        &self,
        id: &str,
        job: &Job,
        rank: &Rank,
        request: &RegisterRank,
    ) -> Result<(), Refusal> {
        let host = &job.hosts[rank.host as usize].name;
        if *host == request.host && rank.pid == request.pid && rank.state != RankState::Gone {
            return Ok(());
        }
        let message = format!(
            "rank {} of job {id:?} is process {} on {host:?} until the job's last lease ends; \
             give each job its own id, or register again then",
            request.rank, rank.pid
        );
        Err(Refusal::new(409, "rank_taken", message))
    }

    /// Begins a job's life, its first or its next.
    fn begin_job(&mut self, id: &str, request: &RegisterRank) {
        let last = self.jobs.get(id).map_or(self.forgotten_incarnation, |job| job.incarnation);
        self.drop_ended(id);
        self.jobs.insert(id.to_owned(), Job::new(last + 1, request, self.now));
        self.running_jobs += 1;
        let lease_until = self.now.after(self.limits.lease_ns);
        self.timers.set(Timer::Lease(id.to_owned()), lease_until);
        self.timers.set(Timer::Idle(id.to_owned()), self.now.after(self.limits.idle_ns));
        self.counters.jobs_begun += 1;
    }

    /// Ends a job: its circuits go, and nobody else's.
    pub(super) fn end_job(&mut self, id: &str, state: JobState, why: &str) {
        self.release_circuits(id, why, |_| true);
        let Some(job) = self.jobs.get_mut(id).filter(|job| job.state == JobState::Running) else {
            return;
        };
        job.state = state;
        job.alive = 0;
        job.requests.clear();
        job.demands.0.clear();
        self.ranks -= job.ranks.len();
        let hosts = job.hosts_by_rank();
        job.ranks.clear();
        job.hosts = hosts;
        for host in job.hosts.iter().filter_map(|host| host.id) {
            if let Some(jobs) = self.tenants.get_mut(&host) {
                jobs.remove(id);
                if jobs.is_empty() {
                    self.tenants.remove(&host);
                }
            }
        }
        self.running_jobs -= 1;
        self.timers.cancel(&Timer::Lease(id.to_owned()));
        self.timers.cancel(&Timer::Idle(id.to_owned()));
        self.touched.insert(id.to_owned());
        self.counters.jobs_ended += 1;
        self.ended.push_back(id.to_owned());
        while self.ended.len() > self.limits.ended_jobs_max {
            self.forget_oldest();
        }
    }

    /// Forgets the job that ended first; false where none has.
    fn forget_oldest(&mut self) -> bool {
        let Some(oldest) = self.ended.front().cloned() else { return false };
        if let Some(job) = self.jobs.get(&oldest) {
            self.forgotten_incarnation = self.forgotten_incarnation.max(job.incarnation);
        }
        self.drop_ended(&oldest);
        true
    }

    fn drop_ended(&mut self, id: &str) {
        self.ended.retain(|ended| ended != id);
        if let Some(job) = self.jobs.remove(id) {
            self.phase_entries -= job.phases.values().map(entries).sum::<usize>();
        }
    }

    /// The launcher or an operator ends a job.
    pub(super) fn end_job_now(&mut self, id: &str) -> Result<Response, Refusal> {
        validate::id("job", id)?;
        let Some(job) = self.jobs.get(id) else {
            return Err(Refusal::new(404, "unknown_job", format!("job {id:?} is not known")));
        };
        if job.state == JobState::Running {
            self.end_job(id, JobState::Ended, "the job was ended");
        }
        Ok(Response::Done)
    }

    /// A phase as the detector found it, new or again.
    pub(super) fn put_phase(&mut self, id: &str, phase: Phase) -> Result<Response, Refusal> {
        phase.validate()?;
        let phases_max = self.limits.phases_max;
        let job = self.running(id, phase.incarnation)?;
        if phase.members.len() > u64::from(job.world_size) {
            let message = format!(
                "members are {} ranks, and job {id:?} has {}; give the communicator's ranks once",
                phase.members.len(),
                job.world_size
            );
            return Err(Refusal::new(400, "invalid_field", message));
        }
        let known = job.phases.get(&phase.phase).map(entries);
        if known.is_none() && job.phases.len() >= phases_max {
            let message = format!("job {id:?} has {phases_max} phases, the most; send fewer");
            return Err(Refusal::new(409, "too_many_phases", message));
        }
        let wanted = entries(&phase);
        let others = |engine: &Engine| engine.phase_entries - known.unwrap_or(0);
        while others(self) + wanted > self.limits.phase_entries_max && self.forget_oldest() {}
        if others(self) + wanted > self.limits.phase_entries_max {
            let message = format!(
                "the phases of all jobs hold {} list entries, the most; end jobs or raise it",
                self.limits.phase_entries_max
            );
            return Err(Refusal::new(503, "too_many", message));
        }
        self.phase_entries = others(self) + wanted;
        if let Some(job) = self.jobs.get_mut(id) {
            job.demands.0.remove(&phase.phase);
            job.phases.insert(phase.phase.clone(), phase);
        }
        Ok(Response::Done)
    }

    /// How the training goes.
    pub(super) fn put_hint(&mut self, id: &str, hint: Hint) -> Result<Response, Refusal> {
        hint.validate()?;
        let job = self.running(id, hint.incarnation)?;
        if hint.rank >= job.world_size {
            let message = format!("rank is {} in a world of {}", hint.rank, job.world_size);
            return Err(Refusal::new(400, "invalid_field", message));
        }
        job.hint = Some(hint);
        Ok(Response::Done)
    }

    /// The job gives circuits back.
    pub(super) fn release(&mut self, id: &str, phase: Option<&str>) -> Result<Response, Refusal> {
        validate::id("job", id)?;
        if !self.jobs.contains_key(id) {
            return Err(Refusal::new(404, "unknown_job", format!("job {id:?} is not known")));
        }
        self.release_circuits(id, "given back", |circuit| {
            let of = circuit.owner.as_ref().map(|owner| owner.phase.as_str());
            phase.is_none() || of == phase
        });
        Ok(Response::Done)
    }
}

impl Job {
    /// The hosts in the order of the ranks, each once.
    pub(super) fn hosts_by_rank(&self) -> Vec<JobHost> {
        if self.ranks.is_empty() {
            return self.hosts.clone();
        }
        let mut seen = vec![false; self.hosts.len()];
        let mut hosts = Vec::new();
        for rank in self.ranks.values() {
            if !std::mem::replace(&mut seen[rank.host as usize], true) {
                hosts.push(self.hosts[rank.host as usize].clone());
            }
        }
        hosts
    }
}
