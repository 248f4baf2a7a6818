//! Whatever happens in whatever order, the invariants hold.
//!
//! A seeded run of commands, failing switches and paths, late and lost answers, passing time and
//! restarts. After each step the books must agree with each other, and a twin that is replaced
//! by the snapshot every now and then must answer with the same effects. Every so often the faults
//! are mended, and then switches, paths and books must agree too.

use super::rim::{Rim, Switch, exchange, fabric, ms, pair, prestage, rank_on, ring, spec};
use crate::engine::circuits::Traffic;
use crate::engine::jobs::RankState;
use crate::engine::{Command, Connect, Effect, Engine, Limits, Response, Way};
use crate::fabric::PlaneId;
use crate::planner::CircuitId;
use crate::units::{Nanos, Time};
use crate::wire::{self, CircuitState, JobState};
use std::collections::{BTreeMap, BTreeSet};

const HOSTS: u32 = 6;
const PLANES: u32 = 2;
const JOBS: [&str; 4] = ["a", "b", "c", "d"];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn rank(&mut self) -> u32 {
        self.below(4) as u32
    }
}

struct Chaos {
    rim: Rim,
    twin: Engine,
    random: Random,
    outstanding: BTreeSet<u64>,
    requests: u64,
    seen: BTreeMap<&'static str, u64>,
}

fn limits() -> Limits {
    Limits {
        lease_ns: ms(3_000),
        idle_ns: ms(700),
        answer_ns_max: ms(2_000),
        audit_ns: ms(2_000),
        orphan_grace_ns: ms(1_500),
        cold_ns: ms(300),
        ended_jobs_max: 2,
        requests_max: 4,
        waits_max: 3,
        ..Limits::default()
    }
}

impl Chaos {
    fn new(seed: u64, exclusive: bool) -> Chaos {
        let mut spec = spec(HOSTS, PLANES);
        spec.planes[1].exclusive = exclusive;
        let fabric = spec.validate().expect("a right fabric");
        let twin = Engine::new(fabric.clone(), limits());
        let rim = Rim::cold(fabric.clone(), limits());
        let (outstanding, seen) = (BTreeSet::new(), BTreeMap::new());
        let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut chaos = Chaos { rim, twin, random, outstanding, requests: 0, seen };
        chaos.apply(Command::Restart { fabric });
        chaos
    }

    fn apply(&mut self, command: Command) {
        self.rim.apply(command);
        self.follow();
    }

    /// The twin takes what the rim has journalled, and must do the same.
    fn follow(&mut self) {
        for (at, command, effects) in std::mem::take(&mut self.rim.journal) {
            assert_eq!(self.twin.apply(at, command), effects);
        }
        for token in std::mem::take(&mut self.rim.replies).into_keys() {
            assert!(self.outstanding.remove(&token), "token {token} was not asked");
        }
    }

    fn request(&mut self, make: impl FnOnce(u64) -> Command) {
        let token = self.rim.token();
        self.outstanding.insert(token);
        self.apply(make(token));
    }

    fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn incarnation(&mut self, job: &str) -> u64 {
        let known = self.rim.engine.jobs.get(job).map_or(1, |job| job.incarnation);
        known - u64::from(known > 1 && self.random.one_in(20))
    }

    fn step(&mut self) {
        let job = JOBS[self.random.below(4) as usize].to_owned();
        match self.random.below(100) {
            0..5 => (0..4).for_each(|rank| self.register(&job, rank)),
            5 => {
                let rank = self.random.rank();
                self.register(&job, rank);
            }
            6..24 => self.heartbeats(&job),
            24 => self.good_byes(&job),
            25 => self.apply(Command::Tick),
            26 if self.random.one_in(3) => {
                self.request(|token| Command::EndJob { token, job });
            }
            27..36 => self.put_phase(job),
            36..52 => self.prestage(job),
            52 => {
                let phase = self.random.one_in(2).then(|| "p1".to_owned());
                self.request(|token| Command::Release { token, job, phase });
            }
            53..75 => {
                let index = self.random.below(3) as usize;
                self.rim.answer_nth(index);
                self.follow();
            }
            75..82 => self.light(),
            82..90 => self.pass(),
            90..96 => self.fault(),
            96 => self.stale(),
            97 if self.random.one_in(4) => self.restart(),
            _ => self.apply(Command::Tick),
        }
        self.follow();
    }

    fn register(&mut self, job: &str, rank: u32) {
        let host = (rank + u32::from(job.as_bytes()[0] - b'a')) % HOSTS;
        let mut request = rank_on(rank, 4, &format!("h{host}"));
        if self.random.one_in(30) {
            request.pid += 1;
        }
        self.request(|token| Command::Register { token, job: job.into(), request });
    }

    /// A rank of the job, or all of them, say good-bye.
    fn good_byes(&mut self, job: &str) {
        let incarnation = self.incarnation(job);
        let one = self.random.one_in(5).then(|| self.random.rank());
        for rank in (0..4).filter(|rank| one.is_none_or(|one| one == *rank)) {
            let job = job.to_owned();
            self.request(|token| Command::Deregister { token, job, rank, incarnation });
        }
    }

    /// Most ranks of the job are heard of; one job records few calls.
    fn heartbeats(&mut self, job: &str) {
        let incarnation = self.incarnation(job);
        let lazy = job == "b" && !self.random.one_in(40);
        let calls = if lazy { 0 } else { self.rim.now.0 };
        for rank in 0..4 {
            if !self.random.one_in(12) {
                let request = wire::Heartbeat { version: wire::VERSION, incarnation, calls };
                self.request(|token| Command::Heartbeat { token, job: job.into(), rank, request });
            }
        }
    }

    fn put_phase(&mut self, job: String) {
        let incarnation = self.incarnation(&job);
        let name = ["p0", "p1", "p2"][self.random.below(3) as usize];
        let mut phase = if self.random.one_in(2) {
            ring(name, incarnation, 4, 10 << 20)
        } else {
            let a = self.random.rank();
            exchange(name, incarnation, 4, (a, (a + 1 + self.random.below(3) as u32) % 4))
        };
        phase.period_ns = self.random.one_in(2).then_some(ms(100));
        phase.seen = self.random.below(50);
        self.request(|token| Command::PutPhase { token, job, phase });
    }

    fn prestage(&mut self, job: String) {
        // What is due goes first, so that all that follows is the plan's doing.
        self.apply(Command::Tick);
        let steady = |chaos: &Chaos| -> BTreeSet<CircuitId> {
            let engine = &chaos.rim.engine;
            let in_use = engine.circuits.iter().filter(|(_, circuit)| {
                circuit.in_use_until > engine.now
                    && matches!(circuit.state, CircuitState::Lit | CircuitState::Up)
            });
            in_use.map(|(id, _)| *id).collect()
        };
        let before = steady(self);
        self.requests += u64::from(!self.random.one_in(5));
        let incarnation = self.incarnation(&job);
        let phase = ["p0", "p1", "p2"][self.random.below(3) as usize];
        let mut request = prestage(incarnation, self.requests, phase);
        request.starts_in_ns = ms(self.random.below(20));
        request.wait_ns = ms(self.random.below(3) * 50);
        self.request(|token| Command::Prestage { token, job, request });
        assert!(before.is_subset(&steady(self)), "a plan tore down what is in use");
    }

    fn light(&mut self) {
        let plane = PlaneId(self.random.below(u64::from(PLANES)) as u32);
        let down = self.random.one_in(8);
        let switch = &mut self.rim.switches[plane.0 as usize];
        let joined = &mut switch.joined;
        joined.values_mut().for_each(|up| *up = !down);
        let connects: Vec<Connect> = switch.read_now();
        self.apply(Command::Links { plane, connects });
    }

    fn pass(&mut self) {
        let most = if self.random.one_in(25) { 2_500 } else { 60 };
        let end = self.rim.now.after(ms(self.random.below(most)));
        while let Some(due) = self.rim.engine.next_deadline().filter(|due| *due <= end) {
            self.rim.now = self.rim.now.max(due);
            self.apply(Command::Tick);
        }
        self.rim.now = end;
    }

    fn fault(&mut self) {
        let plane = self.random.below(u64::from(PLANES)) as usize;
        let base = 100 * plane as u32;
        let (a, b) = (base + self.random.below(3) as u32, base + 3 + self.random.below(3) as u32);
        let kind = self.random.below(6);
        let switch = &mut self.rim.switches[plane];
        match kind {
            0 => {
                switch.broken.insert(pair(a, b));
            }
            1 => switch.broken.clear(),
            2 => switch.busy_removes = 2,
            3 => switch.blind_reads = 2,
            4 => self.rim.broken_paths = 2,
            _ => {
                // Somebody else pulls what is joined. What he joins is foreign.
                let gone = switch.joined.pop_first();
                if let Some((ports, _)) = gone {
                    switch.foreign.remove(&ports);
                }
                let free = |port: u32| {
                    switch.joined.keys().all(|ports| ports.low() != port && ports.high() != port)
                };
                let foreign = pair(a, base + 90);
                if plane == 0 && free(a) && free(base + 90) {
                    switch.joined.insert(foreign, true);
                    switch.foreign.insert(foreign);
                    self.count("foreign");
                }
            }
        }
    }

    /// An answer that nobody waits for.
    fn stale(&mut self) {
        let op = crate::engine::OpId(self.random.below(50));
        let answers_now = self.rim.pending.iter().any(|effect| match effect {
            Effect::Optical { op: pending, .. } | Effect::Paths { op: pending, .. } => {
                *pending == op
            }
            _ => false,
        });
        if answers_now || self.rim.engine.moving.contains_key(&op) {
            return;
        }
        let plane = PlaneId(self.random.below(u64::from(PLANES)) as u32);
        let connects = Some(Vec::new());
        self.apply(Command::OpticalDone { op, plane, error: None, connects });
        self.apply(Command::PathsDone { op, error: None });
    }

    /// The daemon dies; of what it had asked for, some is done and some is not.
    fn restart(&mut self) {
        while let Some(effect) = self.rim.pending.pop_front() {
            match effect {
                Effect::Optical { plane, remove, create, .. } if self.random.one_in(2) => {
                    let switch = &mut self.rim.switches[plane.0 as usize];
                    switch.change(&remove, &create).ok();
                }
                Effect::Paths { moves, .. } if self.random.one_in(2) => {
                    for moved in moves {
                        self.rim.ways.insert((moved.job, moved.a, moved.b), moved.to);
                    }
                }
                _ => {}
            }
        }
        self.outstanding.clear();
        self.rim.engine = self.rim.restored();
        let fabric = self.rim.engine.fabric().clone();
        self.apply(Command::Restart { fabric });
        self.count("restart");
    }

    fn check_twin(&mut self) {
        let snapshot = serde_json::to_string(&self.rim.engine).expect("a snapshot");
        let twin = serde_json::to_string(&self.twin).expect("a snapshot");
        assert_eq!(snapshot, twin, "the same commands led to different states");
        self.twin = serde_json::from_str(&snapshot).expect("a snapshot comes back");
    }

    /// Every rank that holds a lease is heard of.
    fn beat_all(&mut self) {
        let calls = self.rim.now.0;
        for job in JOBS {
            for rank in 0..4 {
                let known = self.rim.engine.jobs.get(job);
                if known.is_some_and(|known| known.host_of(rank).is_some()) {
                    self.rim.beat(job, rank, calls).expect("it holds a lease");
                }
            }
        }
    }

    /// Mends everything, lets the dust settle, and compares books, switches and paths.
    fn come_to_rest(&mut self) {
        for switch in &mut self.rim.switches {
            let foreign = std::mem::take(&mut switch.foreign);
            switch.joined.retain(|ports, _| !foreign.contains(ports));
            *switch = Switch { joined: std::mem::take(&mut switch.joined), ..Switch::default() };
        }
        self.rim.broken_paths = 0;
        for _ in 0..60 {
            self.rim.work();
            self.rim.light_up();
            self.rim.pass(ms(100));
            self.beat_all();
        }
        self.follow();
        let engine = &self.rim.engine;
        let mut wanted: Vec<BTreeSet<_>> = vec![BTreeSet::new(); self.rim.switches.len()];
        for (id, circuit) in &engine.circuits {
            assert_eq!(circuit.state, CircuitState::Up, "{id:?} has not settled: {circuit:?}");
            let owner = circuit.owner.as_ref().expect("a circuit that is up is somebody's");
            let job = &engine.jobs[&owner.job];
            assert_eq!((job.state, job.incarnation), (JobState::Running, owner.incarnation));
            wanted[circuit.plane.0 as usize].insert(circuit.ports);
        }
        for (switch, wanted) in self.rim.switches.iter().zip(&wanted) {
            assert_eq!(&switch.joined.keys().copied().collect::<BTreeSet<_>>(), wanted);
        }
        let on_light = self.rim.ways.values().filter(|way| **way != Way::Eps).count();
        assert_eq!(on_light, engine.circuits.len(), "paths and circuits disagree");
        assert!(self.outstanding.is_empty(), "{:?} were never answered", self.outstanding);
        let up = engine.circuits.len() as u64;
        *self.seen.entry("up").or_default() += up;
    }
}

/// The engine's books agree with each other.
fn check_books(engine: &Engine) {
    let mut of_jobs: BTreeMap<&str, BTreeSet<CircuitId>> = BTreeMap::new();
    let mut ports: BTreeSet<(PlaneId, u32)> = BTreeSet::new();
    for (id, circuit) in &engine.circuits {
        assert!(engine.planes[circuit.plane.0 as usize].circuits.contains(id));
        let leaves = circuit.state == CircuitState::Draining;
        for host in circuit.ends() {
            let port = engine.ports.get(circuit.plane, host);
            let entered =
                if leaves { port.leaving.contains(id) } else { port.current == Some(*id) };
            assert!(entered, "{id:?} is not on its port: {circuit:?}");
        }
        if matches!(circuit.state, CircuitState::Lit | CircuitState::Up) {
            for port in [circuit.ports.low(), circuit.ports.high()] {
                assert!(ports.insert((circuit.plane, port)), "port {port} ends two circuits");
            }
        }
        let on_eps = circuit.traffic == Traffic::OnEps && circuit.path_op.is_none();
        assert!(circuit.state != CircuitState::Switching || on_eps, "traffic on {circuit:?}");
        if let Some(owner) = circuit.owner.as_ref().filter(|_| circuit.lives()) {
            let job = &engine.jobs[&owner.job];
            assert_eq!((job.state, job.incarnation), (JobState::Running, owner.incarnation));
            of_jobs.entry(&owner.job).or_default().insert(*id);
        }
    }
    let count: usize = engine.planes.iter().map(|plane| plane.circuits.len()).sum();
    assert_eq!(count, engine.circuits.len());
    let (mut ranks, mut running) = (0, 0);
    for (id, job) in &engine.jobs {
        assert_eq!(job.circuits, of_jobs.remove(id.as_str()).unwrap_or_default(), "of {id}");
        if job.state == JobState::Running {
            running += 1;
            ranks += job.ranks.len();
            let alive = job.ranks.values().filter(|rank| rank.state == RankState::Alive);
            assert_eq!(alive.count(), job.alive as usize);
            assert!(job.alive > 0, "job {id} runs without ranks");
        } else {
            assert!(engine.ended.contains(id));
        }
    }
    assert_eq!((engine.ranks, engine.running_jobs), (ranks, running));
    assert!(engine.waits.len() <= engine.limits.waits_max);
    assert!(engine.next_deadline().is_some_and(|due| due > engine.now || due == Time(0)));
    assert_eq!(engine.tenants.values().flatten().collect::<BTreeSet<_>>().len(), running);
}

fn run(seed: u64, steps: u64) -> BTreeMap<&'static str, u64> {
    let mut chaos = Chaos::new(seed, seed % 2 == 0);
    for step in 1..=steps {
        chaos.step();
        check_books(&chaos.rim.engine);
        if step % 97 == 0 {
            chaos.check_twin();
        }
        if step % 2_003 == 0 {
            chaos.come_to_rest();
        }
    }
    for metric in chaos.rim.engine.metrics() {
        *chaos.seen.entry(metric.name).or_default() += metric.value;
    }
    chaos.seen
}

#[test]
fn the_invariants_hold_whatever_happens() {
    let mut seen: BTreeMap<&'static str, u64> = BTreeMap::new();
    for seed in 1..=8 {
        for (what, count) in run(seed, 25_000) {
            *seen.entry(what).or_default() += count;
        }
    }
    // A run that meets nothing proves nothing.
    for what in [
        "restart",
        "foreign",
        "up",
        "leases_expired",
        "idle_releases",
        "circuits_failed",
        "removes_failed",
        "optical_errors",
        "path_errors",
        "late_answers",
        "jobs_ended",
        "refused",
    ] {
        assert!(seen.get(what).is_some_and(|count| *count > 20), "{what}: {seen:?}");
    }
}

#[test]
fn replies_and_effects_are_the_same_byte_for_byte() {
    let effects = || {
        let mut chaos = Chaos::new(99, true);
        let mut bytes = Vec::new();
        for _ in 0..3_000 {
            chaos.step();
            bytes.extend(serde_json::to_vec(&chaos.rim.log).expect("a log serialises"));
            chaos.rim.log.clear();
        }
        bytes.extend(serde_json::to_vec(&chaos.rim.engine).expect("a snapshot"));
        bytes
    };
    assert_eq!(effects(), effects());
}

#[test]
fn a_snapshot_of_a_fresh_engine_comes_back() {
    let engine = Engine::new(fabric(2, 1), Limits::default());
    let snapshot = serde_json::to_string(&engine).expect("a snapshot");
    let mut back: Engine = serde_json::from_str(&snapshot).expect("comes back");
    assert_eq!(serde_json::to_string(&back).expect("a snapshot"), snapshot);
    let request = rank_on(0, 1, "h0");
    let effects = back.apply(Time(5), Command::Register { token: 1, job: "a".into(), request });
    let Effect::Reply { result: Ok(Response::Registered(registered)), .. } = &effects[0] else {
        panic!("{effects:?}")
    };
    assert_eq!((registered.incarnation, registered.lease_ns), (1, Nanos::from_millis(10_000)));
}
