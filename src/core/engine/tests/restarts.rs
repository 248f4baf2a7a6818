//! Restarts: from a snapshot, from the journal, with another fabric.

use super::rim::{Rim, fabric, ms, pair, prestage, spec};
use crate::engine::{Command, Effect, Engine, Limits, Way};
use crate::fabric::Fabric;
use crate::wire::{self, CircuitState, Decision};

fn running() -> Rim {
    let mut rim = Rim::new(fabric(4, 1), Limits::default());
    rim.start("x", &[0, 1]);
    rim.start("y", &[2, 3]);
    rim.light("x", 1);
    rim.light("y", 1);
    rim
}

/// The daemon dies and comes back: what was pending is lost, the switches stay as they are.
fn restart(rim: &mut Rim, fabric: Fabric) {
    rim.engine = rim.restored();
    rim.pending.clear();
    rim.now = rim.now.after(ms(60_000));
    rim.apply(Command::Restart { fabric });
    rim.work();
}

fn removes(rim: &Rim) -> u32 {
    rim.switches.iter().map(|switch| switch.removes).sum()
}

#[test]
fn a_restart_touches_no_live_circuit_and_clears_those_of_the_dead() {
    let mut rim = running();
    restart(&mut rim, fabric(4, 1));
    assert_eq!(rim.states(), [CircuitState::Up; 2]);
    assert_eq!((rim.switches[0].creates, removes(&rim)), (2, 0));
    rim.live(&[("x", 2)], ms(15_000));
    assert_eq!(rim.switches[0].joined.keys().copied().collect::<Vec<_>>(), [pair(0, 1)]);
    assert_eq!((rim.switches[0].creates, removes(&rim)), (2, 1));
    assert_eq!(rim.light("x", 2).reason, wire::Reason::Parked);
}

#[test]
fn the_journal_gives_the_same_state_and_the_same_effects() {
    let mut rim = running();
    rim.pass(ms(20_000));
    let mut again = Engine::new(fabric(4, 1), Limits::default());
    let mut first = Engine::new(fabric(4, 1), Limits::default());
    for (at, command, effects) in rim.journal.clone() {
        let journalled = serde_json::to_string(&command).expect("a command serialises");
        let command: Command = serde_json::from_str(&journalled).expect("and comes back");
        assert_eq!(first.apply(at, command.clone()), effects);
        again = serde_json::from_str(&serde_json::to_string(&again).expect("a snapshot"))
            .expect("which comes back");
        assert_eq!(again.apply(at, command), effects);
    }
    let snapshot = |engine: &Engine| serde_json::to_string(engine).expect("a snapshot");
    assert_eq!(snapshot(&first), snapshot(&rim.engine));
    assert_eq!(snapshot(&again), snapshot(&rim.engine));
}

#[test]
fn a_crash_at_any_moment_leaves_no_port_twice_and_no_circuit_without_owner() {
    // Die after so many answers of a request's way to its circuits, before or after the switch
    // did what it was told; then send the request again.
    for answers in 0..8 {
        for done in [false, true] {
            let mut rim = Rim::new(fabric(4, 2), Limits::default());
            rim.start("a", &[0, 1, 2, 3]);
            let request = wire::Prestage { wait_ns: ms(500), ..prestage(1, 1, "ring") };
            rim.prestage("a", request.clone());
            for _ in 0..answers {
                rim.answer_one();
            }
            if done && let Some(Effect::Optical { plane, remove, create, .. }) = rim.pending.front()
            {
                let (plane, remove, create) = (plane.0 as usize, remove.clone(), create.clone());
                rim.switches[plane].change(&remove, &create).expect("free ports");
            }
            restart(&mut rim, fabric(4, 2));
            let token = rim.prestage("a", request);
            rim.work();
            rim.light_up();
            let reply = rim.answer(token).expect("the circuits are up");
            assert_eq!((reply.decision, reply.circuits.len()), (Decision::Granted, 4));
            assert_eq!((rim.states(), rim.joined()), (vec![CircuitState::Up; 4], 4));
            assert!(rim.ways.values().all(|way| *way != Way::Eps));
            rim.ask(|token| Command::EndJob { token, job: "a".into() }).expect("a known job");
            rim.work();
            assert_eq!((rim.states(), rim.joined()), (vec![], 0));
        }
    }
}

#[test]
fn who_waited_when_the_daemon_died_asks_again() {
    let mut rim = running();
    rim.switches[0].dark = true;
    restart(&mut rim, fabric(4, 1));
    assert_eq!(rim.metric("waits"), 0);
    assert_eq!(rim.light("x", 2).decision, Decision::Granted);
}

#[test]
fn a_circuit_without_a_place_in_the_new_fabric_is_drained() {
    let mut rim = running();
    let mut smaller = spec(4, 1);
    smaller.planes[0].ports.remove("h3");
    restart(&mut rim, smaller.validate().expect("a right fabric"));
    assert_eq!(rim.states(), [CircuitState::Up]);
    assert_eq!(rim.switches[0].joined.keys().copied().collect::<Vec<_>>(), [pair(0, 1)]);
    let way = rim.ways.iter().find(|((job, ..), _)| job == "y").map(|(_, way)| *way);
    assert_eq!(way, Some(Way::Eps));
    assert!(rim.log.iter().any(|(circuit, why)| circuit.b == "h3" && why.contains("no place")));
}

#[test]
fn a_renamed_host_or_a_new_plane_moves_no_other_circuit() {
    let mut rim = running();
    let mut larger = spec(4, 2);
    larger.planes[0].ports.insert("a-host-before-all".into(), 50);
    larger.planes.reverse();
    rim.switches.insert(0, super::rim::Switch::default());
    restart(&mut rim, larger.validate().expect("a right fabric"));
    assert_eq!(rim.states(), [CircuitState::Up; 2]);
    assert_eq!(removes(&rim), 0);
    assert!(rim.engine.is_ready());
}

#[test]
fn an_engine_is_not_ready_before_it_has_seen_its_switches() {
    let mut rim = Rim::cold(fabric(2, 1), Limits::default());
    rim.switches[0].blind_reads = 3;
    rim.apply(Command::Restart { fabric: fabric(2, 1) });
    rim.work();
    assert!(!rim.engine.is_ready());
    rim.start("a", &[0, 1]);
    let token = rim.prestage("a", prestage(1, 1, "ring"));
    let reply = rim.answer(token).expect("at once");
    assert_eq!((reply.decision, reply.reason), (Decision::Refused, wire::Reason::SwitchFailed));
    rim.pass(ms(1_000));
    assert!(rim.engine.is_ready());
    assert_eq!(rim.light("a", 2).decision, Decision::Granted);
}
