//! A rim with switches that can be told to fail, and that checks each effect it is handed.

use crate::engine::{
    Command, Connect, Effect, Engine, Limits, OpId, Refusal, Response, Token, Way,
};
use crate::fabric::{Delay, Fabric, FabricSpec, PlaneId, PlaneSpec, PortPair};
use crate::members::Members;
use crate::pattern::{Pattern, Source};
use crate::units::{Nanos, Time};
use crate::wire::{self, CircuitState, VERSION};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(super) const MB: u64 = 1 << 20;

pub(super) fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// 10 Gb/s light against 1 Gb/s packets; 5 ms mirrors, 2 ms link-up.
pub(super) fn spec(hosts: u32, planes: u32) -> FabricSpec {
    FabricSpec {
        name: "test".into(),
        eps_bps: 1_000_000_000,
        eps_oversubscription: 1.0,
        planes: (0..planes)
            .map(|plane| PlaneSpec {
                name: format!("p{plane}"),
                circuit_bps: 10_000_000_000,
                optical_ns: Delay::Fixed(ms(5)),
                link_up_ns: Delay::Fixed(ms(2)),
                exclusive: false,
                ports: (0..hosts).map(|host| (format!("h{host}"), 100 * plane + host)).collect(),
            })
            .collect(),
    }
}

pub(super) fn fabric(hosts: u32, planes: u32) -> Fabric {
    spec(hosts, planes).validate().expect("the test's fabric is right")
}

pub(super) fn pair(a: u32, b: u32) -> PortPair {
    PortPair::new(a, b).expect("two ports")
}

/// One emulated switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Switch {
    /// What is joined, and whether its link is up.
    pub(super) joined: BTreeMap<PortPair, bool>,
    /// Joined by others.
    pub(super) foreign: BTreeSet<PortPair>,
    /// Creates that fail, however often.
    pub(super) broken: BTreeSet<PortPair>,
    /// So many removes fail, then they work again.
    pub(super) busy_removes: u32,
    /// So many reads fail.
    pub(super) blind_reads: u32,
    /// Links stay dark.
    pub(super) dark: bool,
    /// Operations done.
    pub(super) creates: u32,
    pub(super) removes: u32,
}

pub(super) struct Rim {
    pub(super) engine: Engine,
    pub(super) now: Time,
    pub(super) switches: Vec<Switch>,
    pub(super) pending: VecDeque<Effect>,
    pub(super) replies: BTreeMap<Token, Result<Response, Refusal>>,
    pub(super) log: Vec<(wire::Circuit, String)>,
    /// What the paths' controller was told, by job and hosts.
    pub(super) ways: BTreeMap<(String, String, String), Way>,
    pub(super) broken_paths: u32,
    /// All commands with their times and effects.
    pub(super) journal: Vec<(Time, Command, Vec<Effect>)>,
    asked_at: BTreeMap<OpId, Time>,
    next_token: Token,
}

impl Rim {
    pub(super) fn new(fabric: Fabric, limits: Limits) -> Rim {
        let mut rim = Rim::cold(fabric.clone(), limits);
        rim.apply(Command::Restart { fabric });
        rim.work();
        assert!(rim.engine.is_ready());
        rim
    }

    /// A rim whose engine was not started yet.
    pub(super) fn cold(fabric: Fabric, limits: Limits) -> Rim {
        Rim {
            switches: vec![Switch::default(); fabric.planes.len()],
            engine: Engine::new(fabric, limits),
            now: Time(1_000_000),
            pending: VecDeque::new(),
            replies: BTreeMap::new(),
            log: Vec::new(),
            ways: BTreeMap::new(),
            broken_paths: 0,
            journal: Vec::new(),
            asked_at: BTreeMap::new(),
            next_token: 1,
        }
    }

    pub(super) fn apply(&mut self, command: Command) -> Vec<Effect> {
        let effects = self.engine.apply(self.now, command.clone());
        self.journal.push((self.now, command, effects.clone()));
        for effect in &effects {
            self.receive(effect);
        }
        effects
    }

    fn receive(&mut self, effect: &Effect) {
        match effect {
            Effect::Reply { token, result } => {
                let before = self.replies.insert(*token, result.clone());
                assert!(before.is_none(), "token {token} was answered twice");
            }
            Effect::Optical { op, plane, remove, create } => {
                self.check_optical(*plane, remove, create);
                self.asked_at.insert(*op, self.now);
                self.pending.push_back(effect.clone());
            }
            Effect::Paths { moves, .. } => {
                assert!(!moves.is_empty(), "no moves to make");
                self.pending.push_back(effect.clone());
            }
            Effect::CircuitChanged { circuit, why } => {
                self.log.push((circuit.clone(), why.clone()))
            }
        }
    }

    /// What an operation may never ask: two at a time of one plane; to touch what is foreign; to
    /// remove what carries traffic; to create on a port that is joined and is not being freed.
    fn check_optical(&self, plane: PlaneId, remove: &[PortPair], create: &[PortPair]) {
        let given_up = self.engine.limits().answer_ns_max;
        let busy = self.pending.iter().any(|effect| match effect {
            Effect::Optical { op, plane: other, .. } => {
                *other == plane && self.now.since(self.asked_at[op]) < given_up
            }
            _ => false,
        });
        assert!(!busy, "two operations at a time on {plane:?}");
        let switch = &self.switches[plane.0 as usize];
        for ports in remove {
            assert!(!switch.foreign.contains(ports), "{ports:?} is foreign");
            assert!(!self.carries(plane, *ports), "{ports:?} still carries traffic");
        }
        let mut used = BTreeSet::new();
        for ports in create {
            for port in [ports.low(), ports.high()] {
                assert!(used.insert(port), "port {port} is wanted twice");
            }
        }
    }

    /// True where some job's traffic is on the circuit.
    pub(super) fn carries(&self, plane: PlaneId, ports: PortPair) -> bool {
        let fabric = self.engine.fabric();
        self.ways.iter().any(|((_, a, b), way)| {
            let ends = fabric.host(a).zip(fabric.host(b));
            *way == Way::Circuit(plane)
                && ends.and_then(|(a, b)| fabric.ports(plane, a, b)) == Some(ports)
        })
    }

    /// Answers the first thing that is pending; false where nothing is.
    pub(super) fn answer_one(&mut self) -> bool {
        self.answer_nth(0)
    }

    /// Answers what has waited longest but for `index` others, or of the same plane.
    pub(super) fn answer_nth(&mut self, index: usize) -> bool {
        let plane_of = |effect: &Effect| match effect {
            Effect::Optical { plane, .. } => Some(*plane),
            _ => None,
        };
        let Some(chosen) = self.pending.get(index).map(plane_of) else { return false };
        let first = self.pending.iter().position(|effect| plane_of(effect) == chosen);
        let Some(effect) = first.and_then(|first| self.pending.remove(first)) else { return false };
        match effect {
            Effect::Optical { op, plane, remove, create } => {
                self.operate(op, plane, &remove, &create)
            }
            Effect::Paths { op, moves } => {
                let broken = self.broken_paths > 0;
                if broken {
                    self.broken_paths -= 1;
                } else {
                    for moved in moves {
                        self.ways.insert((moved.job, moved.a, moved.b), moved.to);
                    }
                }
                let error = broken.then(|| "the controller is away".to_owned());
                self.apply(Command::PathsDone { op, error });
            }
            Effect::Reply { .. } | Effect::CircuitChanged { .. } => {}
        }
        true
    }

    fn operate(&mut self, op: OpId, plane: PlaneId, remove: &[PortPair], create: &[PortPair]) {
        let error = self.switches[plane.0 as usize].change(remove, create).err();
        let connects = self.switches[plane.0 as usize].read();
        self.apply(Command::OpticalDone { op, plane, error, connects });
    }

    /// Answers all that is pending, and what comes of it.
    pub(super) fn work(&mut self) {
        for _ in 0..10_000 {
            if !self.answer_one() {
                return;
            }
        }
        panic!("the engine does not come to rest");
    }

    /// All links that light up now do.
    pub(super) fn light_up(&mut self) {
        for index in 0..self.switches.len() {
            let switch = &mut self.switches[index];
            if switch.dark {
                continue;
            }
            switch.joined.values_mut().for_each(|up| *up = true);
            let connects = switch.read_now();
            let plane = PlaneId(u32::try_from(index).expect("few planes"));
            self.apply(Command::Links { plane, connects });
            self.work();
        }
    }

    /// Lets time pass, ticking when the engine wants it; the switches answer at once.
    pub(super) fn pass(&mut self, time: Nanos) {
        let end = self.now.after(time);
        while let Some(due) = self.engine.next_deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.apply(Command::Tick);
            self.work();
        }
        self.now = end;
        self.apply(Command::Tick);
        self.work();
    }

    /// Lets time pass while the ranks of these jobs send heartbeats with ever more calls.
    pub(super) fn live(&mut self, jobs: &[(&str, u32)], time: Nanos) {
        let end = self.now.after(time);
        let step = ms(1_000);
        while self.now < end {
            let left = end.since(self.now).min(step);
            self.pass(left);
            for (job, ranks) in jobs {
                for rank in 0..*ranks {
                    let calls = self.now.0;
                    self.beat(job, rank, calls).expect("the rank holds a lease");
                }
            }
        }
    }

    pub(super) fn token(&mut self) -> Token {
        self.next_token += 1;
        self.next_token
    }

    /// Applies a request that is answered at once.
    pub(super) fn ask(&mut self, make: impl FnOnce(Token) -> Command) -> Result<Response, Refusal> {
        let token = self.token();
        self.apply(make(token));
        self.replies.remove(&token).expect("the request is answered at once")
    }

    pub(super) fn register(&mut self, job: &str, rank: u32, world_size: u32) -> u64 {
        let request = rank_on(rank, world_size, &format!("h{rank}"));
        let answer = self.ask(|token| Command::Register { token, job: job.into(), request });
        match answer.expect("the rank may register") {
            Response::Registered(registered) => registered.incarnation,
            other => panic!("{other:?} answers a registration"),
        }
    }

    /// Registers ranks on hosts h`first`, h`first + 1`, ... and puts a ring over them.
    pub(super) fn start(&mut self, job: &str, hosts: &[u32]) -> u64 {
        let world_size = u32::try_from(hosts.len()).expect("few hosts");
        let mut incarnation = 0;
        for (rank, host) in (0..).zip(hosts) {
            let request = rank_on(rank, world_size, &format!("h{host}"));
            let answer = self.ask(|token| Command::Register { token, job: job.into(), request });
            let Ok(Response::Registered(registered)) = answer else { panic!("{answer:?}") };
            incarnation = registered.incarnation;
        }
        self.put(job, ring("ring", incarnation, world_size, 10 * MB)).expect("a right phase");
        incarnation
    }

    pub(super) fn put(&mut self, job: &str, phase: wire::Phase) -> Result<Response, Refusal> {
        self.ask(|token| Command::PutPhase { token, job: job.into(), phase })
    }

    pub(super) fn beat(&mut self, job: &str, rank: u32, calls: u64) -> Result<Response, Refusal> {
        let incarnation = self.engine.job_status(job).map_or(0, |status| status.incarnation);
        let request = wire::Heartbeat { version: VERSION, incarnation, calls };
        self.ask(|token| Command::Heartbeat { token, job: job.into(), rank, request })
    }

    /// Sends a pre-stage request; the token, for when the answer comes.
    pub(super) fn prestage(&mut self, job: &str, request: wire::Prestage) -> Token {
        let token = self.token();
        self.apply(Command::Prestage { token, job: job.into(), request });
        token
    }

    pub(super) fn answer(&mut self, token: Token) -> Option<wire::PrestageReply> {
        match self.replies.remove(&token)? {
            Ok(Response::Prestage(reply)) => Some(reply),
            other => panic!("{other:?} answers a pre-stage request"),
        }
    }

    /// Pre-stages the job's ring and brings its circuits up.
    pub(super) fn light(&mut self, job: &str, number: u64) -> wire::PrestageReply {
        let incarnation = self.engine.job_status(job).expect("a known job").incarnation;
        let mut request = prestage(incarnation, number, "ring");
        request.wait_ns = ms(1_000);
        let token = self.prestage(job, request);
        self.work();
        self.light_up();
        self.answer(token).expect("the circuits are up or cannot be had")
    }

    pub(super) fn states(&self) -> Vec<CircuitState> {
        self.engine.circuits().circuits.iter().map(|circuit| circuit.state).collect()
    }

    pub(super) fn joined(&self) -> usize {
        self.switches.iter().map(|switch| switch.joined.len()).sum()
    }

    pub(super) fn metric(&self, name: &str) -> u64 {
        let metrics = self.engine.metrics();
        metrics.iter().filter(|metric| metric.name == name).map(|metric| metric.value).sum()
    }

    /// The engine as its snapshot restores it.
    pub(super) fn restored(&self) -> Engine {
        let snapshot = serde_json::to_string(&self.engine).expect("an engine serialises");
        serde_json::from_str(&snapshot).expect("and comes back")
    }
}

impl Switch {
    /// Removes, then creates; stops at the first failure.
    pub(super) fn change(
        &mut self,
        remove: &[PortPair],
        create: &[PortPair],
    ) -> Result<(), String> {
        for ports in remove {
            if self.busy_removes > 0 {
                self.busy_removes -= 1;
                return Err("busy".into());
            }
            self.joined.remove(ports);
            self.removes += 1;
        }
        for ports in create {
            let ends = |pair: &PortPair| [pair.low(), pair.high()];
            let mut taken = self
                .joined
                .keys()
                .filter(|pair| ends(pair).iter().any(|p| ends(ports).contains(p)));
            let by = taken.next();
            assert!(
                by.is_none_or(|by| self.foreign.contains(by)),
                "{ports:?} is created where {by:?} is"
            );
            if by.is_some() || self.broken.contains(ports) {
                return Err(format!("ports {} and {} refuse", ports.low(), ports.high()));
            }
            self.joined.insert(*ports, false);
            self.creates += 1;
        }
        Ok(())
    }

    pub(super) fn read(&mut self) -> Option<Vec<Connect>> {
        if self.blind_reads > 0 {
            self.blind_reads -= 1;
            return None;
        }
        Some(self.read_now())
    }

    pub(super) fn read_now(&self) -> Vec<Connect> {
        self.joined.iter().map(|(ports, up)| Connect { ports: *ports, up: *up }).collect()
    }
}

pub(super) fn rank_on(rank: u32, world_size: u32, host: &str) -> wire::RegisterRank {
    wire::RegisterRank {
        version: VERSION,
        rank,
        world_size,
        host: host.into(),
        pid: 1000 + rank,
        library: "Open MPI v4.1.4".into(),
        program: "trainer".into(),
        mode: wire::Mode::Advise,
    }
}

pub(super) fn ring(name: &str, incarnation: u64, ranks: u32, bytes: u64) -> wire::Phase {
    wire::Phase {
        version: VERSION,
        incarnation,
        phase: name.into(),
        comm: "00000000deadbeef".into(),
        comm_name: "MPI_COMM_WORLD".into(),
        members: Members::world(ranks),
        collective: Some(crate::op::Collective::Allreduce),
        nonblocking: false,
        pattern: Pattern::Ring,
        root: None,
        segment_bytes: None,
        calls: vec![wire::Call { bytes, count: 1, elements: 1 }],
        pairs: Vec::new(),
        source: Source::Predicted,
        confidence: 0.9,
        because: "the test says so".into(),
        period_ns: None,
        duration_ns: ms(80),
        seen: 1,
    }
}

/// A phase of one pair of ranks.
pub(super) fn exchange(name: &str, incarnation: u64, ranks: u32, ends: (u32, u32)) -> wire::Phase {
    wire::Phase {
        collective: None,
        pattern: Pattern::Irregular,
        calls: Vec::new(),
        pairs: vec![(ends.0, ends.1, 10 * MB), (ends.1, ends.0, 10 * MB)],
        ..ring(name, incarnation, ranks, 0)
    }
}

pub(super) fn prestage(incarnation: u64, request: u64, phase: &str) -> wire::Prestage {
    wire::Prestage {
        version: VERSION,
        incarnation,
        request,
        phase: phase.into(),
        starts_in_ns: ms(10),
        duration_ns: ms(40),
        wait_ns: Nanos::ZERO,
    }
}
