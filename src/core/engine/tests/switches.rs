//! Circuits from the request to the switch and back, and switches that misbehave.

use super::rim::{MB, Rim, exchange, fabric, ms, pair, prestage, ring, spec};
use crate::engine::{Command, Connect, Effect, Limits, Way};
use crate::fabric::PlaneId;
use crate::units::Nanos;
use crate::wire::{CircuitState, Decision, Reason};

fn four_hosts() -> Rim {
    let mut rim = Rim::new(fabric(4, 2), Limits::default());
    rim.start("a", &[0, 1, 2, 3]);
    rim
}

#[test]
fn a_request_becomes_circuits_in_the_right_order() {
    let mut rim = four_hosts();
    let token =
        rim.prestage("a", crate::wire::Prestage { wait_ns: ms(100), ..prestage(1, 1, "ring") });
    assert_eq!(rim.states(), [CircuitState::Switching; 4]);
    assert_eq!(rim.answer(token), None, "nothing is up yet");

    rim.work();
    assert_eq!(rim.states(), [CircuitState::Lit; 4]);
    assert!(rim.ways.is_empty(), "no traffic moves onto a dark link");

    rim.light_up();
    assert_eq!(rim.states(), [CircuitState::Up; 4]);
    assert!(rim.ways.values().all(|way| *way != Way::Eps));
    let reply = rim.answer(token).expect("all are up");
    assert_eq!((reply.decision, reply.reason), (Decision::Granted, Reason::Switched));
    assert_eq!((reply.ready_in_ns, reply.circuits.len()), (Nanos::ZERO, 4));
    assert!(reply.gain_ns > ms(80), "{}", reply.words);
    let lives: Vec<CircuitState> =
        rim.log.iter().filter(|(circuit, _)| circuit.id == 1).map(|(c, _)| c.state).collect();
    assert_eq!(lives, [CircuitState::Switching, CircuitState::Lit, CircuitState::Up]);
}

#[test]
fn a_request_that_does_not_wait_is_answered_at_once_and_truly() {
    let mut rim = four_hosts();
    let token = rim.prestage("a", prestage(1, 1, "ring"));
    let reply = rim.answer(token).expect("at once");
    assert_eq!(reply.decision, Decision::Granted);
    assert_eq!(reply.ready_in_ns, ms(7));
    assert!(reply.circuits.iter().all(|circuit| circuit.state == CircuitState::Switching));
}

#[test]
fn a_wait_ends_at_its_deadline_with_what_is() {
    let mut rim = four_hosts();
    rim.switches[0].dark = true;
    let token =
        rim.prestage("a", crate::wire::Prestage { wait_ns: ms(50), ..prestage(1, 1, "ring") });
    rim.work();
    rim.light_up();
    rim.pass(ms(49));
    assert_eq!(rim.answer(token), None);
    rim.pass(ms(1));
    let reply = rim.answer(token).expect("the deadline is over");
    assert_eq!(reply.decision, Decision::Granted);
    assert!(reply.ready_in_ns > Nanos::ZERO, "two links are dark");
}

#[test]
fn parked_circuits_serve_again_at_once() {
    let mut rim = four_hosts();
    rim.light("a", 1);
    rim.pass(ms(200));
    let reply = rim.light("a", 2);
    assert_eq!((reply.decision, reply.reason), (Decision::Granted, Reason::Parked));
    assert_eq!(rim.switches.iter().map(|switch| switch.creates).sum::<u32>(), 4);
}

#[test]
fn a_plan_that_fails_in_part_is_rolled_back_and_works_later() {
    // The third of four cross-connects fails, and the removes that follow are not answered.
    let mut rim = Rim::new(fabric(8, 1), Limits::default());
    for rank in 0..8 {
        rim.register("a", rank, 8);
    }
    let mut pairs = exchange("ring", 1, 8, (0, 1));
    for (a, b) in [(2, 3), (4, 5), (6, 7)] {
        pairs.pairs.extend([(a, b, 10 * MB), (b, a, 10 * MB)]);
    }
    rim.put("a", pairs).expect("a right phase");
    rim.switches[0].broken.insert(pair(4, 5));
    let token =
        rim.prestage("a", crate::wire::Prestage { wait_ns: ms(900), ..prestage(1, 1, "ring") });
    rim.answer_one();
    rim.switches[0].busy_removes = 2;
    rim.switches[0].blind_reads = 2;
    rim.work();
    let reply = rim.answer(token).expect("there is nothing to wait for");
    assert_eq!((reply.decision, reply.reason), (Decision::Refused, Reason::SwitchFailed));
    assert_eq!(reply.circuits, []);

    rim.pass(ms(3_000));
    assert_eq!(rim.joined(), 0, "the first two are taken back");
    assert_eq!(rim.states(), []);
    rim.switches[0].broken.clear();
    let reply = rim.light("a", 2);
    assert_eq!((reply.decision, reply.reason), (Decision::Granted, Reason::Switched));
    assert_eq!(rim.joined(), 4);
}

#[test]
fn a_port_whose_circuit_cannot_be_removed_is_given_to_nobody() {
    let mut rim = Rim::new(fabric(2, 1), Limits::default());
    rim.start("a", &[0, 1]);
    rim.light("a", 1);
    rim.switches[0].busy_removes = 3;
    rim.ask(|token| Command::EndJob { token, job: "a".into() }).expect("a known job");
    rim.work();
    assert_eq!(rim.states(), [CircuitState::Draining], "it can be seen");

    rim.start("b", &[0, 1]);
    let token = rim.prestage("b", prestage(1, 1, "ring"));
    let reply = rim.answer(token).expect("at once");
    assert_eq!((reply.decision, reply.reason), (Decision::Refused, Reason::PortsInUse));

    rim.pass(ms(1_000));
    assert_eq!(rim.states(), []);
    assert_eq!(rim.metric("removes_failed"), 3);
    let reply = rim.light("b", 2);
    assert_eq!((reply.decision, reply.circuits.len()), (Decision::Granted, 1));
}

#[test]
fn foreign_cross_connects_are_seen_and_never_touched() {
    let mut rim = Rim::cold(fabric(2, 1), Limits::default());
    let foreign = pair(1, 77);
    rim.switches[0].joined.insert(foreign, true);
    rim.switches[0].foreign.insert(foreign);
    let fabric = rim.engine.fabric().clone();
    rim.apply(Command::Restart { fabric });
    rim.work();
    assert_eq!(rim.engine.circuits().foreign.len(), 1);
    rim.start("a", &[0, 1]);
    let reply = rim.light("a", 1);
    assert_eq!((reply.decision, reply.reason), (Decision::Refused, Reason::PortsInUse));
    rim.live(&[("a", 2)], ms(60_000));
    assert!(rim.switches[0].joined.contains_key(&foreign));
    assert_eq!(rim.metric("foreign"), 1);
}

#[test]
fn a_foreign_cross_connect_that_comes_in_between_fails_the_circuit_not_the_engine() {
    let mut rim = Rim::new(fabric(2, 1), Limits::default());
    rim.start("a", &[0, 1]);
    let foreign = pair(1, 77);
    rim.switches[0].joined.insert(foreign, true);
    rim.switches[0].foreign.insert(foreign);
    let reply = rim.light("a", 1);
    assert_eq!((reply.decision, reply.reason), (Decision::Refused, Reason::SwitchFailed));
    rim.pass(ms(2_000));
    assert_eq!(rim.states(), []);
    assert!(rim.switches[0].joined.contains_key(&foreign));
}

#[test]
fn a_circuit_that_the_switch_loses_is_noticed_and_built_again() {
    let mut rim = four_hosts();
    rim.light("a", 1);
    rim.switches[0].joined.clear();
    rim.live(&[("a", 4)], ms(12_000));
    assert_eq!(rim.metric("circuits_failed"), 2);
    assert_eq!(rim.states(), [CircuitState::Up; 2]);
    assert_eq!(rim.ways.values().filter(|way| **way == Way::Eps).count(), 2);
    let reply = rim.light("a", 2);
    assert_eq!((reply.decision, reply.circuits.len()), (Decision::Granted, 4));
    assert_eq!(rim.states(), [CircuitState::Up; 4]);
}

#[test]
fn traffic_leaves_a_link_that_goes_down_and_returns_with_it() {
    let mut rim = Rim::new(fabric(2, 1), Limits::default());
    rim.start("a", &[0, 1]);
    rim.light("a", 1);
    let ports = pair(0, 1);
    let set = |rim: &mut Rim, up| {
        rim.switches[0].joined.insert(ports, up);
        rim.apply(Command::Links { plane: PlaneId(0), connects: vec![Connect { ports, up }] });
        rim.work();
    };
    set(&mut rim, false);
    assert_eq!(rim.states(), [CircuitState::Lit]);
    assert!(rim.ways.values().all(|way| *way == Way::Eps));
    set(&mut rim, true);
    assert_eq!(rim.states(), [CircuitState::Up]);
    assert!(rim.ways.values().all(|way| *way == Way::Circuit(PlaneId(0))));
}

#[test]
fn a_link_that_stays_dark_is_given_up() {
    let mut rim = Rim::new(fabric(2, 1), Limits::default());
    rim.start("a", &[0, 1]);
    rim.switches[0].dark = true;
    let token =
        rim.prestage("a", crate::wire::Prestage { wait_ns: ms(5_000), ..prestage(1, 1, "ring") });
    rim.work();
    rim.pass(ms(1_100));
    let reply = rim.answer(token).expect("it is over");
    assert_eq!((reply.decision, reply.reason), (Decision::Refused, Reason::SwitchFailed));
    assert_eq!((rim.states(), rim.joined()), (vec![], 0));
}

#[test]
fn traffic_that_cannot_be_moved_away_keeps_its_circuit() {
    let mut rim = Rim::new(fabric(2, 1), Limits::default());
    rim.start("a", &[0, 1]);
    rim.light("a", 1);
    rim.broken_paths = 3;
    rim.ask(|token| Command::EndJob { token, job: "a".into() }).expect("a known job");
    rim.work();
    assert_eq!((rim.states(), rim.joined()), (vec![CircuitState::Draining], 1));
    rim.pass(ms(1_000));
    assert_eq!((rim.states(), rim.joined()), (vec![], 0));
    assert!(rim.ways.values().all(|way| *way == Way::Eps));
}

#[test]
fn a_switch_that_does_not_answer_is_read_again_before_anything_else() {
    let limits = Limits { answer_ns_max: ms(100), ..Limits::default() };
    let mut rim = Rim::new(fabric(2, 1), limits);
    rim.start("a", &[0, 1]);
    let token =
        rim.prestage("a", crate::wire::Prestage { wait_ns: ms(5_000), ..prestage(1, 1, "ring") });
    let lost = rim.pending.pop_front().expect("an operation");
    let Effect::Optical { op, plane, create, .. } = lost else { panic!("{lost:?}") };
    rim.now = rim.now.after(ms(100));
    rim.apply(Command::Tick);
    assert!(rim.pending.is_empty(), "it is tried again after a wait");
    // It was done after all, late, and its answer counts for nothing.
    rim.switches[0].change(&[], &create).expect("free ports");
    let connects = Some(vec![]);
    rim.apply(Command::OpticalDone { op, plane, error: None, connects });
    assert_eq!(rim.metric("late_answers"), 1);
    rim.pass(ms(200));
    rim.light_up();
    let reply = rim.answer(token).expect("it is up");
    assert_eq!((reply.decision, reply.ready_in_ns), (Decision::Granted, Nanos::ZERO));
    assert_eq!(rim.joined(), 1);
}

#[test]
fn what_was_left_over_on_an_exclusive_plane_is_taken_over_or_removed() {
    let mut spec = spec(4, 1);
    spec.planes[0].exclusive = true;
    let fabric = spec.validate().expect("a right fabric");
    let mut rim = Rim::cold(fabric.clone(), Limits::default());
    rim.switches[0].joined.extend([(pair(0, 1), true), (pair(2, 3), true), (pair(70, 71), true)]);
    rim.switches[0].foreign.insert(pair(70, 71));
    rim.apply(Command::Restart { fabric });
    rim.work();
    assert_eq!(rim.states(), [CircuitState::Lit; 2]);
    assert_eq!(rim.engine.circuits().foreign.len(), 1, "its ports are no host's");

    rim.start("a", &[0, 1]);
    let reply = rim.light("a", 1);
    assert_eq!((reply.decision, reply.reason), (Decision::Granted, Reason::Parked));
    assert_eq!(rim.switches[0].creates, 0, "it is taken over, not built again");
    rim.live(&[("a", 2)], ms(25_000));
    assert_eq!(
        rim.switches[0].joined.keys().copied().collect::<Vec<_>>(),
        [pair(0, 1), pair(70, 71)]
    );
}

#[test]
fn two_phases_that_alternate_faster_than_the_switch_settle() {
    // Two exchanges want host 0's one port; each lasts 5 ms, the switch takes 7.
    let mut rim = Rim::new(fabric(3, 1), Limits::default());
    rim.start("a", &[0, 1, 2]);
    let phase = |name: &str, ends, seen| crate::wire::Phase {
        period_ns: Some(ms(10)),
        pairs: vec![(ends, 0, MB / 2), (0, ends, MB / 2)],
        seen,
        ..exchange(name, 1, 3, (0, ends))
    };
    let mut number = 0;
    let mut alternate = |rim: &mut Rim, names: [&str; 2], rounds: u64, millis: u64| {
        for round in 0..rounds {
            for name in names {
                let end = if name == "left" { 1 } else { 2 };
                rim.put("a", phase(name, end, round + 2)).expect("a right phase");
                number += 1;
                let mut request = prestage(1, number, name);
                request.starts_in_ns = Nanos::ZERO;
                request.duration_ns = ms(millis);
                rim.prestage("a", request);
                rim.work();
                rim.light_up();
                rim.pass(ms(millis));
                for rank in 0..3 {
                    rim.beat("a", rank, number).expect("a lease");
                }
            }
        }
    };
    alternate(&mut rim, ["left", "right"], 200, 5);
    assert!(rim.switches[0].creates <= 2, "{} circuits were built", rim.switches[0].creates);

    // Then one of them stays: it has its circuit within two seconds.
    let settled = if rim.switches[0].joined.contains_key(&pair(0, 1)) { "right" } else { "left" };
    alternate(&mut rim, [settled, settled], 200, 5);
    let wanted = if settled == "left" { pair(0, 1) } else { pair(0, 2) };
    assert!(rim.switches[0].joined.contains_key(&wanted));
    assert!(rim.switches[0].creates <= 3);
}

#[test]
fn what_is_in_use_stays_and_what_is_parked_gives_way() {
    let mut rim = Rim::new(fabric(3, 1), Limits::default());
    rim.start("a", &[0, 1, 2]);
    rim.put("a", exchange("left", 1, 3, (0, 1))).expect("a right phase");
    rim.put("a", exchange("right", 1, 3, (0, 2))).expect("a right phase");
    let ask = |rim: &mut Rim, number, phase| {
        let token = rim.prestage("a", prestage(1, number, phase));
        rim.work();
        rim.light_up();
        rim.answer(token).map(|reply| (reply.decision, reply.reason))
    };
    assert_eq!(ask(&mut rim, 1, "left"), Some((Decision::Granted, Reason::Switched)));
    assert_eq!(ask(&mut rim, 2, "right"), Some((Decision::Refused, Reason::PortsInUse)));
    rim.pass(ms(52));
    assert_eq!(ask(&mut rim, 3, "right"), Some((Decision::Granted, Reason::Switched)));
    assert_eq!(rim.switches[0].joined.keys().copied().collect::<Vec<_>>(), [pair(0, 2)]);
}

#[test]
fn reasons_that_need_no_switch_reach_the_answer() {
    let mut rim = Rim::new(fabric(3, 1), Limits::default());
    rim.start("a", &[0, 1, 9]);
    let unsure = crate::wire::Phase { confidence: 0.1, ..exchange("unsure", 1, 3, (0, 1)) };
    rim.put("a", unsure).expect("a right phase");
    let mut unknown = ring("unknown", 1, 3, MB);
    unknown.pattern = crate::pattern::Pattern::Unknown;
    rim.put("a", unknown).expect("a right phase");
    rim.put("a", exchange("far", 1, 3, (0, 2))).expect("a right phase");
    let mut alone = exchange("alone", 1, 3, (0, 1));
    alone.members = crate::members::Members::from_ranks([1]).expect("one run");
    alone.pairs.clear();
    alone.pattern = crate::pattern::Pattern::Ring;
    rim.put("a", alone).expect("a right phase");
    let cases = [
        ("unsure", (Decision::Hold, Reason::LowConfidence)),
        ("unknown", (Decision::Hold, Reason::NoCircuitPattern)),
        ("far", (Decision::Refused, Reason::HostNotInFabric)),
        ("alone", (Decision::Hold, Reason::OneHost)),
    ];
    for (number, (phase, expected)) in (1..).zip(cases) {
        let token = rim.prestage("a", prestage(1, number, phase));
        let reply = rim.answer(token).expect("at once");
        assert_eq!((reply.decision, reply.reason), expected, "{phase}: {}", reply.words);
    }
    rim.start("b", &[0]);
    let mut half = exchange("half", 1, 2, (0, 1));
    half.members = crate::members::Members::from_ranks([0]).expect("one run");
    half.pairs.clear();
    let refused = rim.put("b", exchange("half", 1, 2, (0, 1)));
    assert!(refused.is_err(), "more members than the world has");
}

#[test]
fn a_cross_connect_is_handed_over_where_two_jobs_want_the_same() {
    let mut rim = Rim::new(fabric(2, 1), Limits::default());
    rim.start("a", &[0, 1]);
    rim.start("b", &[0, 1]);
    rim.light("a", 1);
    rim.pass(ms(100));
    let reply = rim.light("b", 1);
    assert_eq!((reply.decision, reply.reason), (Decision::Granted, Reason::Switched));
    assert_eq!(rim.states(), [CircuitState::Up]);
    assert_eq!((rim.switches[0].creates, rim.switches[0].removes), (1, 0));
    let way = |job: &str| rim.ways[&(job.to_owned(), "h0".to_owned(), "h1".to_owned())];
    assert_eq!((way("a"), way("b")), (Way::Eps, Way::Circuit(PlaneId(0))));
}
