use super::*;
use crate::members::Run;
use crate::pattern::{Pattern, Source};
use crate::wire::{Call, LossReport, Mode, Trend};

fn register() -> RegisterRank {
    RegisterRank {
        version: VERSION,
        rank: 0,
        world_size: 4,
        host: "n0".into(),
        pid: 1,
        library: "MPICH Version: 4.0.2".into(),
        program: "trainer".into(),
        mode: Mode::Advise,
    }
}

fn phase() -> Phase {
    Phase {
        version: VERSION,
        incarnation: 1,
        phase: "00000000deadbeef.0".into(),
        comm: "00000000deadbeef".into(),
        comm_name: "rows".into(),
        members: Members::world(4),
        collective: None,
        nonblocking: false,
        pattern: Pattern::Ring,
        root: Some(3),
        segment_bytes: None,
        calls: vec![Call { bytes: 1, count: 1, elements: 1 }],
        pairs: vec![(0, 3, 1)],
        source: Source::Predicted,
        confidence: 0.5,
        because: String::new(),
        period_ns: None,
        duration_ns: Nanos(1),
        seen: 1,
    }
}

fn hint() -> Hint {
    Hint {
        version: VERSION,
        incarnation: 1,
        rank: 0,
        step: 1,
        loss: None,
        smoothed: None,
        best: None,
        trend: Trend::Unknown,
        metrics: BTreeMap::new(),
        targets: BTreeMap::new(),
    }
}

/// The message names the field and the value.
fn refused(checked: Checked, field: &str, value: &str) {
    let invalid = checked.expect_err(field);
    assert_eq!(invalid.error, "invalid_field");
    assert!(
        invalid.message.contains(field) && invalid.message.contains(value),
        "{:?} does not name {field} and {value}",
        invalid.message
    );
}

#[test]
fn right_messages_pass() {
    register().validate().expect("right");
    phase().validate().expect("right");
    hint().validate().expect("right");
    for name in ["a", "A.b_c:d@e-9", &"x".repeat(128)] {
        id("job", name).expect("right");
    }
}

#[test]
fn ids_are_plain_and_short() {
    for name in ["", "a b", "a/b", "ä", "a\n", "..\\x"] {
        refused(id("job", name), "job", "letters");
    }
    let long = "x".repeat(129);
    refused(id("job", &long), "job", &"x".repeat(64));
    refused(id("job", &"ä".repeat(100)), "job", &"ä".repeat(32));
}

#[test]
fn registrations_are_within_their_world() {
    let with = |change: fn(&mut RegisterRank)| {
        let mut message = register();
        change(&mut message);
        message.validate()
    };
    refused(with(|m| m.world_size = 0), "world_size", "0");
    refused(with(|m| m.world_size = WORLD_MAX + 1), "world_size", "16777217");
    refused(with(|m| m.rank = 4), "rank", "4");
    refused(with(|m| m.host = String::new()), "host", "\"\"");
    refused(with(|m| m.host = "a\tb".into()), "host", "a\\tb");
    refused(with(|m| m.program = "p".repeat(256)), "program", "256");
    refused(with(|m| m.library = "l".repeat(2049)), "library", "2049");
}

#[test]
fn phases_hold_to_their_communicator_and_their_limits() {
    let with = |change: fn(&mut Phase)| {
        let mut message = phase();
        change(&mut message);
        message.validate()
    };
    refused(with(|m| m.phase = "a phase".into()), "phase", "a phase");
    refused(with(|m| m.comm = "xyz".into()), "comm", "xyz");
    refused(with(|m| m.members.runs.clear()), "members", "0");
    let runs = |count| vec![Run { first: 0, stride: 0, count: 1 }; count];
    refused(
        with(|m| m.members.runs = vec![Run { first: 0, stride: 0, count: 2 }]),
        "members[0]",
        "2",
    );
    refused(
        with(|m| m.members.runs = vec![Run { first: 1, stride: -1, count: 3 }]),
        "members[0]",
        "-1",
    );
    refused(with(|m| m.members.runs[0].count = u32::MAX), "members", "4294967295");
    let mut scattered = phase();
    scattered.members.runs = runs(1025);
    refused(scattered.validate(), "members", "1025");
    refused(with(|m| m.calls = vec![m.calls[0]; 65]), "calls", "65");
    refused(with(|m| m.pairs = vec![(0, 1, 1); 4097]), "pairs", "4097");
    refused(with(|m| m.pairs.push((0, 4, 1))), "pairs[1]", "4");
    refused(with(|m| m.root = Some(4)), "root", "4");
    refused(with(|m| m.confidence = f64::NAN), "confidence", "NaN");
    refused(with(|m| m.confidence = 1.5), "confidence", "1.5");
    refused(with(|m| m.duration_ns = Nanos(u64::MAX)), "duration_ns", "18446744073709551615");
    refused(with(|m| m.period_ns = Some(Nanos(u64::MAX))), "period_ns", "18446744073709551615");
}

#[test]
fn reports_are_bounded_and_their_parts_right() {
    let with = |change: fn(&mut RankReport)| {
        let mut message = RankReport {
            version: VERSION,
            job: "a".into(),
            registered: register(),
            started_unix_us: 1,
            lifetime_ns: Nanos(1),
            comms: Vec::new(),
            calls: Vec::new(),
            phases: vec![phase()],
            iteration: None,
            timeline: Vec::new(),
            requests: Vec::new(),
            marks: Vec::new(),
            losses: Vec::new(),
            hint: Some(hint()),
            counters: BTreeMap::new(),
        };
        message.validate().expect("right");
        change(&mut message);
        message.validate()
    };
    refused(with(|m| m.job = "a b".into()), "job", "a b");
    refused(with(|m| m.phases[0].confidence = -1.0), "confidence", "-1");
    refused(with(|m| m.registered.rank = 9), "rank", "9");
    refused(with(|m| m.hint = Some(Hint { loss: Some(f64::NAN), ..hint() })), "loss", "NaN");
    let loss = |m: &mut RankReport| {
        let (at_ns, loss) = (Nanos(1), Some(f64::INFINITY));
        m.losses.push(LossReport { at_ns, step: 1, loss, metrics: BTreeMap::new() });
    };
    refused(with(loss), "losses", "inf");
    refused(
        with(|m| m.counters = (0..1025).map(|i| (i.to_string(), 1)).collect()),
        "counters",
        "1025",
    );
}

#[test]
fn hints_are_finite() {
    let with = |change: fn(&mut Hint)| {
        let mut message = hint();
        change(&mut message);
        message.validate()
    };
    refused(with(|m| m.loss = Some(f64::NAN)), "loss", "NaN");
    refused(with(|m| m.best = Some(f64::INFINITY)), "best", "inf");
    refused(with(|m| m.metrics.extend([("top1".into(), f64::NAN)])), "metrics", "top1");
    refused(with(|m| m.targets.extend([(String::new(), 1.0)])), "targets", "\"\"");
    refused(with(|m| m.metrics = (0..65).map(|i| (i.to_string(), 1.0)).collect()), "metrics", "65");
}

#[test]
fn any_text_made_plain_is_valid() {
    for (given, expected) in [
        ("", ""),
        ("world", "world"),
        ("\u{1b}[2Jtwo\nlines\u{85}", "?[2Jtwo?lines?"),
        (&"\u{fffd}".repeat(100), &"\u{fffd}".repeat(85)),
    ] {
        let made = super::plain(given, super::NAME_BYTES_MAX);
        assert_eq!(made, expected);
        assert_eq!(super::text("name", &made, 0, super::NAME_BYTES_MAX), Ok(()));
    }
}
