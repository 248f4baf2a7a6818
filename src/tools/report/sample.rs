//! A made-up job, the same in every run: for tests, for looking at the page, and for showing a
//! newcomer what a report holds (`pas report --example`).
//!
//! Four ranks train a model: in each iteration four gradient buckets go round a ring, and one
//! small number (the loss) is averaged by recursive doubling; every fourth iteration the
//! evaluation's result is broadcast.

use pas_core::members::Members;
use pas_core::op::Collective;
use pas_core::pattern::{Pattern, Source};
use pas_core::units::Nanos;
use pas_core::wire::*;
use std::collections::BTreeMap;

const RANKS: u32 = 4;
const ITERATIONS: u64 = 16;
const PERIOD_US: u64 = 150_000;
const BUCKETS: u64 = 4;
const BUCKET_BYTES: u64 = 26_214_400;
const WORLD: &str = "00000000000000aa";
const EVALUATION: &str = "00000000000000bb";
const RING: &str = "00000000000000aa.0";
const DOUBLING: &str = "00000000000000aa.1";
const TREE: &str = "00000000000000bb.0";
/// Tuesday, 1 December 2026, 09:00:00 UTC.
const STARTED_UNIX_US: u64 = 1_796_115_600_000_000;
/// When the first iteration begins, after `MPI_Init`.
const FIRST_US: u64 = 400_000;

/// Small numbers that look random and are the same every time (Knuth's MMIX generator).
struct Jitter(u64);

impl Jitter {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

const fn us(micros: u64) -> Nanos {
    Nanos::from_micros(micros)
}

/// The report of the made-up job.
pub fn job_report() -> JobReport {
    let circuit_log = circuit_log();
    JobReport {
        version: VERSION,
        job: Some(job_status(&circuit_log)),
        fabric: Some(fabric()),
        ranks: (0..RANKS).map(rank_report).collect(),
        circuit_log,
    }
}

fn fabric() -> FabricSummary {
    FabricSummary {
        name: "two emulated planes".into(),
        planes: 2,
        hosts: 8,
        optical_ns: us(10_000),
        link_up_ns: us(2_000),
        circuit_bps: 100_000_000_000,
        eps_bps: 6_250_000_000,
        switches: "emulated".to_owned(),
    }
}

fn host(rank: u32) -> String {
    format!("host{rank}")
}

fn job_status(log: &[CircuitChange]) -> JobStatus {
    let count = |decision, reason, count| DecisionCount { decision, reason, count };
    JobStatus {
        job: "example-1".into(),
        incarnation: 1,
        state: JobState::Ended,
        program: "train-cnn".into(),
        library: "Open MPI v4.1.4".into(),
        world_size: RANKS,
        ranks_alive: 0,
        hosts: (0..RANKS).map(host).collect(),
        phases: phases(),
        circuits: log.iter().map(|change| change.circuit.clone()).take(2).collect(),
        decisions: vec![
            count(Decision::Granted, Reason::Switched, 1),
            count(Decision::Granted, Reason::Parked, 12),
            count(Decision::Partial, Reason::PortsInUse, 1),
            count(Decision::Hold, Reason::TooSmall, 3),
            count(Decision::Refused, Reason::PortsInUse, 1),
        ],
        hint: Some(hint()),
    }
}

fn hint() -> Hint {
    Hint {
        version: VERSION,
        incarnation: 1,
        rank: 0,
        step: 320,
        loss: Some(0.2413),
        smoothed: Some(0.2502),
        best: Some(0.2502),
        trend: Trend::Improving,
        metrics: BTreeMap::from([("accuracy".into(), 0.8875)]),
        targets: BTreeMap::from([("accuracy".into(), 0.9)]),
    }
}

fn phases() -> Vec<Phase> {
    let base = Phase {
        version: VERSION,
        incarnation: 1,
        phase: RING.into(),
        comm: WORLD.into(),
        comm_name: "MPI_COMM_WORLD".into(),
        members: Members::world(RANKS),
        collective: Some(Collective::Allreduce),
        nonblocking: false,
        pattern: Pattern::Ring,
        root: None,
        segment_bytes: None,
        calls: vec![Call { bytes: BUCKET_BYTES, count: 4, elements: 6_553_600 }],
        pairs: Vec::new(),
        source: Source::Observed,
        confidence: 0.98,
        because: "4 of 4 ranks sent every piece to their right neighbour".into(),
        period_ns: Some(us(PERIOD_US)),
        duration_ns: us(72_000),
        seen: ITERATIONS,
    };
    let doubling = Phase {
        phase: DOUBLING.into(),
        pattern: Pattern::RecursiveDoubling,
        calls: vec![Call { bytes: 8, count: 1, elements: 1 }],
        source: Source::Predicted,
        confidence: 0.9,
        because: "Open MPI 4.1 takes recursive doubling below 10,000 bytes".into(),
        duration_ns: us(120),
        ..base.clone()
    };
    let tree = Phase {
        phase: TREE.into(),
        comm: EVALUATION.into(),
        comm_name: "evaluation".into(),
        collective: Some(Collective::Bcast),
        pattern: Pattern::BinomialTree,
        root: Some(0),
        calls: vec![Call { bytes: 1 << 20, count: 1, elements: 262_144 }],
        source: Source::Predicted,
        confidence: 0.7,
        because: "Open MPI 4.1 takes the binomial tree at 4 ranks and 1 MiB".into(),
        period_ns: Some(us(4 * PERIOD_US)),
        duration_ns: us(1_700),
        seen: ITERATIONS / 4,
        ..base.clone()
    };
    vec![base, doubling, tree]
}

fn rank_report(rank: u32) -> RankReport {
    let timeline = timeline(rank);
    let leader = rank == 0;
    RankReport {
        version: VERSION,
        job: "example-1".into(),
        registered: RegisterRank {
            version: VERSION,
            rank,
            world_size: RANKS,
            host: host(rank),
            pid: 4100 + rank,
            library: "Open MPI v4.1.4".into(),
            program: "train-cnn".into(),
            mode: Mode::Advise,
        },
        started_unix_us: STARTED_UNIX_US + u64::from(rank) * 130,
        lifetime_ns: us(FIRST_US + ITERATIONS * PERIOD_US + 90_000),
        comms: [(WORLD, "MPI_COMM_WORLD"), (EVALUATION, "evaluation")]
            .map(|(comm, name)| CommReport {
                comm: comm.into(),
                name: name.into(),
                size: RANKS,
                rank,
                members: Some(Members::world(RANKS)),
            })
            .to_vec(),
        calls: sums(&timeline),
        phases: if leader { phases() } else { Vec::new() },
        iteration: Some(IterationReport {
            period_ns: us(PERIOD_US),
            seen: ITERATIONS,
            calls: 5,
            forecasts_right: 27,
            forecasts_wrong: 2,
        }),
        timeline,
        requests: if leader { requests() } else { Vec::new() },
        marks: if leader { marks() } else { Vec::new() },
        losses: if leader { losses() } else { Vec::new() },
        hint: leader.then(hint),
        counters: counters(rank),
    }
}

/// The program brackets its own computing.
fn marks() -> Vec<MarkReport> {
    let mark = |iteration| MarkReport {
        name: "forward and backward".into(),
        start_ns: us(FIRST_US + iteration * PERIOD_US),
        duration_ns: us(52_000),
    };
    (0..ITERATIONS).map(mark).collect()
}

fn counters(rank: u32) -> BTreeMap<String, u64> {
    let mut counters = BTreeMap::from([("calls_recorded".to_string(), 84)]);
    if rank == 0 {
        counters.insert("bypass.held_before".into(), 12);
        counters.insert("fault.daemon_late".into(), 1);
    }
    if rank == 2 {
        counters.insert("bypass.ring_full".into(), 3);
    }
    counters
}

fn timeline(rank: u32) -> Vec<TimelineEntry> {
    let mut jitter = Jitter(u64::from(rank) + 7);
    let mut entries = Vec::new();
    let mut add = |call: &str, comm: &str, at_us: u64, long_us: u64, bytes: u64| {
        entries.push(TimelineEntry {
            call: call.into(),
            comm: comm.into(),
            start_ns: us(at_us),
            duration_ns: us(long_us),
            bytes,
        });
    };
    for iteration in 0..ITERATIONS {
        let mut at = FIRST_US + iteration * PERIOD_US + 55_000 + jitter.below(4_000);
        // The first iterations run without circuits, and their buckets take longer.
        let bucket_us = if iteration < 3 { 19_000 } else { 13_500 };
        for _ in 0..BUCKETS {
            let long = bucket_us + jitter.below(1_500);
            add("MPI_Allreduce", WORLD, at, long, BUCKET_BYTES);
            at += long + 2_500 + jitter.below(600);
        }
        add("MPI_Allreduce", WORLD, at + 300, 90 + jitter.below(50), 8);
        if iteration % 4 == 3 {
            add("MPI_Bcast", EVALUATION, at + 4_000, 1_500 + jitter.below(400), 1 << 20);
        }
    }
    entries
}

fn sums(timeline: &[TimelineEntry]) -> Vec<CallSum> {
    let mut sums: BTreeMap<(&str, &str), CallSum> = BTreeMap::new();
    for entry in timeline {
        let sum = sums.entry((&entry.comm, &entry.call)).or_insert_with(|| CallSum {
            call: entry.call.clone(),
            comm: entry.comm.clone(),
            count: 0,
            failed: 0,
            bytes: 0,
            time_ns: Nanos::ZERO,
        });
        sum.count += 1;
        sum.bytes += entry.bytes;
        sum.time_ns = sum.time_ns.plus(entry.duration_ns);
    }
    sums.into_values().collect()
}

fn losses() -> Vec<LossReport> {
    let mut jitter = Jitter(99);
    (0..160u64)
        .map(|report| {
            let step = report * 2;
            let clean = 0.22 + 2.1 * (-(step as f64) / 70.0).exp();
            let noise = jitter.below(1_000) as f64 / 1_000.0 - 0.5;
            let accuracy = 0.9 - 0.4 * (-(step as f64) / 90.0).exp();
            LossReport {
                at_ns: us(FIRST_US + step * PERIOD_US / 20),
                step,
                loss: Some(clean * (1.0 + 0.12 * noise)),
                metrics: match report % 10 {
                    9 => BTreeMap::from([("accuracy".into(), accuracy + 0.01 * noise)]),
                    _ => BTreeMap::new(),
                },
            }
        })
        .collect()
}

fn circuit(id: u64, plane: &str, a: u32, b: u32, state: CircuitState, phase: &str) -> Circuit {
    Circuit {
        id,
        plane: plane.into(),
        a: host(a),
        b: host(b),
        state,
        job: Some("example-1".into()),
        phase: Some(phase.into()),
    }
}

/// The ring's four circuits on two planes: each host has its left neighbour on one plane and its
/// right one on the other. One is lost for a while, and all end with the job.
fn circuit_log() -> Vec<CircuitChange> {
    let asked = FIRST_US + 3 * PERIOD_US;
    let end = FIRST_US + ITERATIONS * PERIOD_US + 60_000;
    let pairs = [("plane-a", 0, 1), ("plane-a", 2, 3), ("plane-b", 1, 2), ("plane-b", 0, 3)];
    let mut log = Vec::new();
    for (id, (plane, a, b)) in (1..).zip(pairs) {
        let mut add = |at: u64, state, why: &str| {
            let circuit = circuit(id, plane, a, b, state, RING);
            log.push(CircuitChange { unix_us: STARTED_UNIX_US + at, circuit, why: why.into() });
        };
        add(asked, CircuitState::Switching, "the ring's phase asked for it");
        add(asked + 10_000, CircuitState::Lit, "the switch was read back");
        add(asked + 12_000, CircuitState::Up, "the link came up");
        if id == 4 {
            add(asked + 700_000, CircuitState::Failed, "the switch lost the cross-connect");
            add(asked + 1_000_000, CircuitState::Switching, "asked for again");
            add(asked + 1_010_000, CircuitState::Lit, "the switch was read back");
            add(asked + 1_012_000, CircuitState::Up, "the link came up");
        }
        add(end, CircuitState::Draining, "the job ended");
    }
    log.sort_by_key(|change| (change.unix_us, change.circuit.id));
    log
}

fn requests() -> Vec<RequestReport> {
    let ring_circuits = |state| {
        [("plane-a", 0, 1), ("plane-a", 2, 3), ("plane-b", 1, 2), ("plane-b", 0, 3)]
            .iter()
            .zip(1..)
            .map(|((plane, a, b), id)| circuit(id, plane, *a, *b, state, RING))
            .collect::<Vec<_>>()
    };
    let none = Vec::new;
    (2..ITERATIONS)
        .flat_map(|iteration| {
            let phase_at = FIRST_US + iteration * PERIOD_US + 55_000;
            let (decision, reason, words, circuits) = match iteration {
                2 => (
                    Decision::Refused,
                    Reason::PortsInUse,
                    "host1's port on plane-a is held by job other-7",
                    none(),
                ),
                3 => (
                    Decision::Granted,
                    Reason::Switched,
                    "4 circuits save 21 ms of a 72 ms phase; 12 ms until they are up",
                    ring_circuits(CircuitState::Switching),
                ),
                8 => (
                    Decision::Partial,
                    Reason::PortsInUse,
                    "3 of 4 circuits are up; host0 to host3 uses the EPS",
                    ring_circuits(CircuitState::Up).split_off(1),
                ),
                _ => (
                    Decision::Granted,
                    Reason::Parked,
                    "all 4 circuits are up already",
                    ring_circuits(CircuitState::Up),
                ),
            };
            let number = 2 * iteration;
            let reply = PrestageReply {
                version: VERSION,
                request: number,
                decision,
                reason,
                words: words.into(),
                circuits,
                ready_in_ns: if iteration == 3 { us(12_000) } else { Nanos::ZERO },
                gain_ns: if decision == Decision::Refused { Nanos::ZERO } else { us(21_000) },
            };
            let ring = RequestReport {
                at_ns: us(phase_at - 20_000),
                phase: RING.into(),
                starts_in_ns: us(20_000),
                answered_in_ns: Some(us(420)),
                reply: Some(reply),
                error: None,
            };
            let small = small_request(iteration, phase_at, number + 1);
            std::iter::once(ring).chain(small)
        })
        .collect()
}

/// Some requests for the small phase: held, and one that the daemon was too late for.
fn small_request(iteration: u64, phase_at: u64, number: u64) -> Option<RequestReport> {
    let late = iteration == 7;
    if !late && iteration > 4 {
        return None;
    }
    let reply = PrestageReply {
        version: VERSION,
        request: number,
        decision: Decision::Hold,
        reason: Reason::TooSmall,
        words: "8 bytes take 10 ns by the EPS; switching takes 12 ms".into(),
        circuits: Vec::new(),
        ready_in_ns: Nanos::ZERO,
        gain_ns: Nanos::ZERO,
    };
    Some(RequestReport {
        at_ns: us(phase_at + 40_000),
        phase: DOUBLING.into(),
        starts_in_ns: us(30_000),
        answered_in_ns: (!late).then(|| us(390)),
        reply: (!late).then_some(reply),
        error: late.then(|| "no answer within 100 ms".to_string()),
    })
}
