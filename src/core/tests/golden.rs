//! The messages as they stand on the wire: one file each in `golden/`.
//!
//! A difference is a change of the protocol. Where it is wanted, `PAS_GOLDEN=write cargo test -p
//! pas-core --test golden` writes the files anew, for review.

use pas_core::members::Members;
use pas_core::op::Collective;
use pas_core::pattern::{Pattern, Source};
use pas_core::units::Nanos;
use pas_core::wire::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

/// Compares a message with its file, and what a newer sender might send with what is understood.
fn golden<M: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, message: &M) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let written = format!("{}\n", serde_json::to_string_pretty(message).expect("it serialises"));
    if std::env::var_os("PAS_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, &written).expect("the golden file can be written");
    }
    let kept = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; see the head of this file", path.display()));
    assert_eq!(written, kept, "{name} has changed; see the head of this test");

    let back: M = serde_json::from_str(&kept).expect("it comes back");
    assert_eq!(&back, message);
    let mut newer: Value = serde_json::from_str(&kept).expect("it is JSON");
    newer.as_object_mut().expect("an object").insert("from_the_future".into(), json!({"a": [1]}));
    let understood: M = serde_json::from_value(newer).expect("unknown fields are ignored");
    assert_eq!(&understood, message);

    let mut fields: Value = serde_json::from_str(&kept).expect("it is JSON");
    let fields = fields.as_object_mut().expect("an object");
    let needed = fields.keys().find(|key| *key == "version").or(fields.keys().next()).cloned();
    let needed = needed.expect("it has fields");
    fields.remove(&needed);
    let incomplete = serde_json::from_value::<M>(Value::Object(fields.clone()));
    assert!(incomplete.is_err(), "{name} must not come without {needed}");
}

fn register() -> RegisterRank {
    RegisterRank {
        version: VERSION,
        rank: 3,
        world_size: 4,
        host: "node-3".into(),
        pid: 4711,
        library: "Open MPI v4.1.4, package: Debian OpenMPI".into(),
        program: "trainer".into(),
        mode: Mode::Advise,
    }
}

fn fabric() -> FabricSummary {
    FabricSummary {
        name: "lab".into(),
        planes: 2,
        hosts: 4,
        optical_ns: Nanos::from_millis(25),
        link_up_ns: Nanos::from_micros(500),
        circuit_bps: 100_000_000_000,
        eps_bps: 25_000_000_000,
        switches: "emulated".to_owned(),
    }
}

fn phase() -> Phase {
    Phase {
        version: VERSION,
        incarnation: 1,
        phase: "00c0ffee00c0ffee.2".into(),
        comm: "00c0ffee00c0ffee".into(),
        comm_name: "MPI_COMM_WORLD".into(),
        members: Members::world(4),
        collective: Some(Collective::Allreduce),
        nonblocking: false,
        pattern: Pattern::Ring,
        root: None,
        segment_bytes: None,
        calls: vec![Call { bytes: 4_194_304, count: 12, elements: 1_048_576 }],
        pairs: Vec::new(),
        source: Source::Predicted,
        confidence: 0.9,
        because: "Open MPI 4.1: allreduce of 4 MiB over 4 ranks is a ring".into(),
        period_ns: Some(Nanos::from_millis(120)),
        duration_ns: Nanos::from_millis(30),
        seen: 17,
    }
}

fn circuit() -> Circuit {
    Circuit {
        id: 7,
        plane: "p0".into(),
        a: "node-0".into(),
        b: "node-1".into(),
        state: CircuitState::Up,
        job: Some("train-1".into()),
        phase: Some("00c0ffee00c0ffee.2".into()),
    }
}

fn prestage() -> Prestage {
    Prestage {
        version: VERSION,
        incarnation: 1,
        request: 42,
        phase: "00c0ffee00c0ffee.2".into(),
        starts_in_ns: Nanos::from_millis(90),
        duration_ns: Nanos::from_millis(30),
        wait_ns: Nanos::ZERO,
    }
}

fn prestage_reply() -> PrestageReply {
    PrestageReply {
        version: VERSION,
        request: 42,
        decision: Decision::Partial,
        reason: Reason::DegreeTooHigh,
        words: "2 of 4 host pairs get a circuit".into(),
        circuits: vec![circuit()],
        ready_in_ns: Nanos::from_millis(25),
        gain_ns: Nanos::from_millis(11),
    }
}

fn hint() -> Hint {
    Hint {
        version: VERSION,
        incarnation: 1,
        rank: 0,
        step: 400,
        loss: Some(0.25),
        smoothed: Some(0.26),
        best: Some(0.24),
        trend: Trend::Plateau,
        metrics: BTreeMap::from([("accuracy".into(), 0.875)]),
        targets: BTreeMap::from([("accuracy".into(), 0.9)]),
    }
}

fn job_status() -> JobStatus {
    JobStatus {
        job: "train-1".into(),
        incarnation: 1,
        state: JobState::Running,
        program: "trainer".into(),
        library: "Open MPI v4.1.4".into(),
        world_size: 4,
        ranks_alive: 4,
        hosts: vec!["node-0".into(), "node-1".into()],
        phases: vec![phase()],
        circuits: vec![circuit()],
        decisions: vec![DecisionCount {
            decision: Decision::Hold,
            reason: Reason::TooSmall,
            count: 3,
        }],
        hint: Some(hint()),
    }
}

fn rank_report() -> RankReport {
    RankReport {
        version: VERSION,
        job: "train-1".into(),
        registered: register(),
        started_unix_us: 1_700_000_000_000_000,
        lifetime_ns: Nanos::from_millis(60_000),
        comms: vec![CommReport {
            comm: "00c0ffee00c0ffee".into(),
            name: "MPI_COMM_WORLD".into(),
            size: 4,
            rank: 3,
            members: Some(Members::world(4)),
        }],
        calls: vec![CallSum {
            call: "MPI_Allreduce".into(),
            comm: "00c0ffee00c0ffee".into(),
            count: 4_800,
            failed: 0,
            bytes: 20_132_659_200,
            time_ns: Nanos::from_millis(12_000),
        }],
        phases: vec![phase()],
        iteration: Some(IterationReport {
            period_ns: Nanos::from_millis(120),
            seen: 400,
            calls: 12,
            forecasts_right: 395,
            forecasts_wrong: 2,
        }),
        timeline: vec![TimelineEntry {
            call: "MPI_Allreduce".into(),
            comm: "00c0ffee00c0ffee".into(),
            start_ns: Nanos::from_millis(59_000),
            duration_ns: Nanos::from_millis(2),
            bytes: 4_194_304,
        }],
        requests: vec![RequestReport {
            at_ns: Nanos::from_millis(58_000),
            phase: "00c0ffee00c0ffee.2".into(),
            starts_in_ns: Nanos::from_millis(90),
            answered_in_ns: Some(Nanos::from_micros(400)),
            reply: Some(prestage_reply()),
            error: None,
        }],
        marks: vec![MarkReport {
            name: "epoch 3".into(),
            start_ns: Nanos::from_millis(30_000),
            duration_ns: Nanos::from_millis(10_000),
        }],
        losses: vec![LossReport {
            at_ns: Nanos::from_millis(1_000),
            step: 1,
            loss: None,
            metrics: BTreeMap::from([("accuracy".into(), 0.5)]),
        }],
        hint: None,
        counters: BTreeMap::from([("ring_drops".into(), 0), ("messages_sent".into(), 512)]),
    }
}

fn circuits() -> Circuits {
    Circuits {
        version: VERSION,
        circuits: vec![circuit()],
        foreign: vec![CrossConnect { plane: "p1".into(), a: 5, b: 9 }],
    }
}

#[test]
fn every_message_is_as_its_golden_file_says() {
    golden("register_rank.json", &register());
    golden(
        "registered.json",
        &Registered {
            version: VERSION,
            incarnation: 1,
            lease_ns: Nanos::from_millis(10_000),
            heartbeat_ns: Nanos::from_millis(2_000),
            fabric: fabric(),
        },
    );
    golden("fabric_summary.json", &fabric());
    golden("heartbeat.json", &Heartbeat { version: VERSION, incarnation: 1, calls: 4_800 });
    golden("phase.json", &phase());
    let irregular = Phase {
        collective: None,
        pattern: Pattern::Irregular,
        calls: Vec::new(),
        pairs: vec![(0, 3, 65_536), (3, 0, 1_024)],
        source: Source::Observed,
        period_ns: None,
        ..phase()
    };
    golden("phase_irregular.json", &irregular);
    golden("prestage.json", &prestage());
    golden("prestage_reply.json", &prestage_reply());
    golden("hint.json", &hint());
    let message = "job \"train-2\" is not known; register its ranks (again)".into();
    golden("problem.json", &Problem { version: VERSION, error: "unknown_job".into(), message });
    golden("job_status.json", &job_status());
    golden("rank_report.json", &rank_report());
    golden("circuits.json", &circuits());
    let change = CircuitChange {
        unix_us: 1_700_000_000_123_456,
        circuit: circuit(),
        why: "its link is up".into(),
    };
    golden(
        "job_report.json",
        &JobReport {
            version: VERSION,
            job: Some(job_status()),
            fabric: Some(fabric()),
            ranks: vec![rank_report()],
            circuit_log: vec![change],
        },
    );
}

#[test]
fn every_golden_file_has_its_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let this = include_str!("golden.rs");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let name = entry.expect("it can be read").file_name().into_string().expect("a plain name");
        assert!(this.contains(&format!("\"{name}\"")), "{name} is nobody's");
        files += 1;
    }
    assert_eq!(files, 14);
}

#[test]
fn other_versions_are_refused() {
    for version in [0, 2, u32::MAX] {
        let errors = [
            RegisterRank { version, ..register() }.validate(),
            Heartbeat { version, incarnation: 1, calls: 1 }.validate(),
            Phase { version, ..phase() }.validate(),
            Prestage { version, ..prestage() }.validate(),
            Hint { version, ..hint() }.validate(),
        ];
        for error in errors {
            let invalid = error.expect_err("the version is not spoken");
            assert_eq!(invalid.error, "bad_version");
            assert!(invalid.message.contains(&version.to_string()), "{}", invalid.message);
        }
    }
}
