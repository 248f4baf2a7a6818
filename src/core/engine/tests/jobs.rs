//! Jobs, leases, requests sent again, and limits.

use super::rim::{Rim, exchange, fabric, ms, prestage, rank_on, ring};
use crate::engine::{Command, Limits, Refusal, Response};
use crate::units::Nanos;
use crate::wire::{self, CircuitState, Decision, JobState, Reason};

fn two_jobs() -> Rim {
    let mut rim = Rim::new(fabric(4, 1), Limits::default());
    rim.start("a", &[0, 1]);
    rim.start("b", &[2, 3]);
    rim.light("a", 1);
    rim.light("b", 1);
    assert_eq!(rim.states(), [CircuitState::Up; 2]);
    rim
}

fn owners(rim: &Rim) -> Vec<String> {
    rim.engine.circuits().circuits.into_iter().filter_map(|circuit| circuit.job).collect()
}

fn problem(answer: Result<Response, Refusal>) -> (u16, String) {
    let refusal = answer.expect_err("the request is wrong");
    assert!(refusal.problem.message.len() > 20, "{refusal:?} helps nobody");
    (refusal.status, refusal.problem.error)
}

#[test]
fn a_job_that_falls_silent_loses_its_circuits_and_nobody_elses() {
    let mut rim = two_jobs();
    rim.live(&[("b", 2)], ms(11_000));
    assert_eq!(owners(&rim), ["b"]);
    let status = rim.engine.job_status("a").expect("still shown");
    assert_eq!((status.state, status.ranks_alive), (JobState::Expired, 0));
    assert_eq!(rim.joined(), 1);
    assert_eq!(rim.metric("leases_expired"), 2);
}

#[test]
fn one_dead_rank_is_enough_and_it_may_come_back() {
    let mut rim = two_jobs();
    for _ in 0..12 {
        rim.pass(ms(1_000));
        rim.beat("a", 0, rim.now.0).expect("a lease");
        rim.beat("b", 0, rim.now.0).expect("a lease");
        rim.beat("b", 1, rim.now.0).expect("a lease");
    }
    assert_eq!(owners(&rim), ["b"]);
    let status = rim.engine.job_status("a").expect("a known job");
    assert_eq!((status.state, status.ranks_alive), (JobState::Running, 1));
    assert_eq!(problem(rim.beat("a", 1, 1)), (410, "no_lease".into()));

    let token = rim.prestage("a", prestage(1, 2, "ring"));
    let reply = rim.answer(token).expect("at once");
    assert_eq!((reply.decision, reply.reason), (Decision::Refused, Reason::RanksMissing));

    let request = rank_on(1, 2, "h1");
    rim.ask(|token| Command::Register { token, job: "a".into(), request })
        .expect("the same process");
    assert_eq!(rim.light("a", 3).decision, Decision::Granted);
}

#[test]
fn ranks_that_live_but_do_not_communicate_lose_their_circuits() {
    let mut rim = two_jobs();
    let idle = rim.engine.limits().idle_ns;
    let end = rim.now.after(idle).after(ms(1_000));
    while rim.now < end {
        rim.pass(ms(1_000));
        for rank in 0..2 {
            rim.beat("a", rank, 5).expect("a lease");
            rim.beat("b", rank, rim.now.0).expect("a lease");
        }
    }
    assert_eq!(owners(&rim), ["b"]);
    assert_eq!(rim.metric("idle_releases"), 1);
    assert_eq!(rim.engine.job_status("a").expect("a known job").state, JobState::Running);
}

#[test]
fn a_daemon_that_was_stopped_blames_nobody() {
    let mut rim = two_jobs();
    rim.now = rim.now.after(ms(300_000));
    rim.beat("a", 0, 7).expect("its heartbeat waited in the socket");
    rim.work();
    assert_eq!(owners(&rim), ["a", "b"]);
    assert_eq!(rim.metric("stalls"), 1);
    rim.live(&[("a", 2)], ms(11_000));
    assert_eq!(owners(&rim), ["a"], "from then on silence counts");
}

#[test]
fn a_host_whose_ranks_are_done_keeps_no_circuit_and_the_last_good_bye_ends_the_job() {
    let mut rim = Rim::new(fabric(4, 2), Limits::default());
    rim.start("a", &[0, 1, 2, 3]);
    rim.light("a", 1);
    let bye = |rim: &mut Rim, rank| {
        rim.ask(|token| Command::Deregister { token, job: "a".into(), rank, incarnation: 1 })
            .expect("a registered rank");
        rim.work();
        rim.states().len()
    };
    assert_eq!(bye(&mut rim, 0), 2);
    assert_eq!(bye(&mut rim, 0), 2, "good-bye may be said twice");
    assert_eq!(bye(&mut rim, 1), 1);
    assert_eq!(bye(&mut rim, 2), 0);
    assert_eq!(bye(&mut rim, 3), 0);
    let status = rim.engine.job_status("a").expect("still shown");
    assert_eq!((status.state, status.hosts.len()), (JobState::Ended, 4));
}

#[test]
fn an_id_may_be_used_again_and_old_ranks_are_told() {
    let mut rim = two_jobs();
    rim.ask(|token| Command::EndJob { token, job: "a".into() }).expect("a known job");
    rim.work();
    let heartbeat = wire::Heartbeat { version: 1, incarnation: 1, calls: 1 };
    let beat = |rim: &mut Rim| {
        let request = heartbeat.clone();
        rim.ask(|token| Command::Heartbeat { token, job: "a".into(), rank: 0, request })
    };
    assert_eq!(problem(beat(&mut rim)), (410, "job_ended".into()));
    assert_eq!(rim.start("a", &[0, 1]), 2);
    assert_eq!(problem(beat(&mut rim)), (409, "stale_incarnation".into()));
    assert_eq!(rim.light("a", 1).decision, Decision::Granted, "requests are counted anew");
}

#[test]
fn incarnations_are_never_given_twice_even_to_forgotten_jobs() {
    let limits = Limits { ended_jobs_max: 2, ..Limits::default() };
    let mut rim = Rim::new(fabric(2, 1), limits);
    for round in 0..5 {
        for job in ["x", "y", "z"] {
            let incarnation = rim.start(job, &[0, 1]);
            assert!(incarnation > round, "{job} lives its {incarnation} in round {round}");
            rim.ask(|token| Command::EndJob { token, job: job.into() }).expect("a known job");
        }
    }
    assert_eq!(rim.engine.jobs().len(), 2);
    assert_eq!(rim.metric("phase_entries"), 4);
}

#[test]
fn a_rank_is_one_process() {
    let mut rim = two_jobs();
    let register = |rim: &mut Rim, request: wire::RegisterRank| {
        rim.ask(|token| Command::Register { token, job: "a".into(), request })
    };
    register(&mut rim, rank_on(0, 2, "h0")).expect("repeating it is harmless");
    let mut other = rank_on(0, 2, "h0");
    other.pid = 9;
    assert_eq!(problem(register(&mut rim, other)), (409, "rank_taken".into()));
    assert_eq!(
        problem(register(&mut rim, rank_on(0, 3, "h0"))),
        (409, "world_size_differs".into())
    );
    assert_eq!(problem(register(&mut rim, rank_on(2, 2, "h0"))), (400, "invalid_field".into()));
    let mut new = rank_on(0, 2, "h0");
    new.version = 2;
    assert_eq!(problem(register(&mut rim, new)), (400, "bad_version".into()));
    assert_eq!(rim.metric("ranks"), 4);
}

#[test]
fn the_same_request_gets_the_same_answer() {
    let mut rim = two_jobs();
    let ask = |rim: &mut Rim, request: wire::Prestage| {
        let token = rim.prestage("a", request);
        rim.replies.remove(&token).expect("at once")
    };
    let first = ask(&mut rim, prestage(1, 7, "ring")).expect("a known phase");
    let ops = rim.metric("optical_ops");
    assert_eq!(ask(&mut rim, prestage(1, 7, "ring")), Ok(first));
    assert_eq!((rim.metric("optical_ops"), rim.metric("decisions")), (ops, 3));

    let mut other = prestage(1, 7, "ring");
    other.duration_ns = ms(1);
    assert_eq!(problem(ask(&mut rim, other)), (409, "request_differs".into()));
    assert_eq!(problem(ask(&mut rim, prestage(1, 8, "none"))), (404, "unknown_phase".into()));
    for number in 100..200 {
        ask(&mut rim, prestage(1, number, "ring")).expect("a known phase");
    }
    assert_eq!(problem(ask(&mut rim, prestage(1, 7, "ring"))), (409, "request_too_old".into()));
    let mut long = prestage(1, 300, "ring");
    long.wait_ns = Nanos(u64::MAX);
    assert_eq!(problem(ask(&mut rim, long)), (400, "invalid_field".into()));
}

#[test]
fn a_repeated_request_waits_with_the_first() {
    let mut rim = Rim::new(fabric(2, 1), Limits::default());
    rim.start("a", &[0, 1]);
    let waiting = wire::Prestage { wait_ns: ms(500), ..prestage(1, 1, "ring") };
    let first = rim.prestage("a", waiting.clone());
    let again = rim.prestage("a", waiting);
    rim.work();
    rim.light_up();
    let answers = (rim.answer(first).expect("up"), rim.answer(again).expect("up"));
    assert_eq!(answers.0, answers.1);
}

#[test]
fn a_job_that_ends_answers_who_waits() {
    let mut rim = Rim::new(fabric(2, 1), Limits::default());
    rim.start("a", &[0, 1]);
    let token = rim.prestage("a", wire::Prestage { wait_ns: ms(500), ..prestage(1, 1, "ring") });
    rim.ask(|token| Command::EndJob { token, job: "a".into() }).expect("a known job");
    let answer = rim.replies.remove(&token).expect("there is nothing to wait for");
    assert_eq!(problem(answer), (410, "job_ended".into()));
    rim.work();
    assert_eq!((rim.states(), rim.joined()), (vec![], 0));
}

#[test]
fn circuits_are_given_back_by_phase() {
    let mut rim = Rim::new(fabric(4, 1), Limits::default());
    rim.start("a", &[0, 1, 2, 3]);
    rim.put("a", exchange("left", 1, 4, (0, 1))).expect("a right phase");
    rim.put("a", exchange("right", 1, 4, (2, 3))).expect("a right phase");
    rim.prestage("a", prestage(1, 1, "left"));
    rim.prestage("a", prestage(1, 2, "right"));
    rim.work();
    let phase = Some("left".to_owned());
    rim.ask(|token| Command::Release { token, job: "a".into(), phase }).expect("a known job");
    rim.work();
    let left = rim.engine.circuits().circuits;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].phase.as_deref(), Some("right"));
}

#[test]
fn jobs_on_one_host_share_its_planes() {
    let mut rim = Rim::new(fabric(4, 2), Limits::default());
    rim.start("a", &[0, 1, 2, 3]);
    rim.start("b", &[0, 1, 2, 3]);
    rim.put("a", exchange("one", 1, 4, (0, 1))).expect("a right phase");
    rim.put("a", exchange("two", 1, 4, (0, 2))).expect("a right phase");
    let ask = |rim: &mut Rim, number, phase| {
        let token = rim.prestage("a", prestage(1, number, phase));
        rim.answer(token).map(|reply| (reply.decision, reply.reason))
    };
    assert_eq!(ask(&mut rim, 1, "one"), Some((Decision::Granted, Reason::Switched)));
    assert_eq!(ask(&mut rim, 2, "two"), Some((Decision::Refused, Reason::ShareUsed)));
    rim.ask(|token| Command::EndJob { token, job: "b".into() }).expect("a known job");
    assert_eq!(ask(&mut rim, 3, "two"), Some((Decision::Granted, Reason::Switched)));
}

#[test]
fn every_limit_is_answered_clearly() {
    let limits = Limits {
        jobs_max: 1,
        ranks_max: 3,
        phases_max: 2,
        phase_entries_max: 5,
        waits_max: 1,
        ..Limits::default()
    };
    let mut rim = Rim::new(fabric(4, 2), limits);
    let register = |rim: &mut Rim, job: &str, rank| {
        let (job, request) = (job.to_owned(), rank_on(rank, 4, &format!("h{rank}")));
        rim.ask(|token| Command::Register { token, job, request })
    };
    for rank in 0..3 {
        register(&mut rim, "a", rank).expect("there is room");
    }
    assert_eq!(problem(register(&mut rim, "b", 0)), (503, "too_many".into()));
    assert_eq!(problem(register(&mut rim, "a", 3)), (503, "too_many".into()));
    register(&mut rim, "a", 1).expect("a rank that is known needs no room");

    let mut big = ring("big", 1, 2, 10 << 20);
    rim.put("a", big.clone()).expect("two entries");
    rim.put("a", big.clone()).expect("again");
    big.pairs = vec![(0, 1, 1); 4];
    assert_eq!(problem(rim.put("a", big)), (503, "too_many".into()));
    rim.put("a", ring("two", 1, 3, 1 << 20)).expect("two entries more");
    assert_eq!(problem(rim.put("a", ring("three", 1, 3, 1))), (409, "too_many_phases".into()));

    let waiting = |number| wire::Prestage { wait_ns: ms(500), ..prestage(1, number, "big") };
    let first = rim.prestage("a", waiting(1));
    let second = rim.prestage("a", waiting(2));
    assert_eq!(rim.answer(first), None);
    assert!(rim.answer(second).is_some(), "one too many waits is answered as things are");
}

#[test]
fn nothing_wrong_changes_anything() {
    let mut rim = two_jobs();
    let ask = |rim: &mut Rim, command: &dyn Fn(u64) -> Command| problem(rim.ask(command));
    let before = rim.engine.jobs();
    let job = || "a".to_owned();
    let mut phase = ring("bad name", 1, 2, 1);
    assert_eq!(problem(rim.put("a", phase.clone())).1, "invalid_field");
    phase.phase = "fine".into();
    phase.confidence = f64::NAN;
    assert_eq!(problem(rim.put("a", phase)).1, "invalid_field");
    let end = |token| Command::EndJob { token, job: "nobody".into() };
    assert_eq!(ask(&mut rim, &end), (404, "unknown_job".into()));
    let end = |token| Command::EndJob { token, job: "no body".into() };
    assert_eq!(ask(&mut rim, &end), (400, "invalid_field".into()));
    let bye = |token| Command::Deregister { token, job: job(), rank: 5, incarnation: 1 };
    assert_eq!(ask(&mut rim, &bye), (404, "unknown_rank".into()));
    assert_eq!(rim.engine.jobs(), before);
    assert_eq!(rim.metric("refused"), 5);
}

#[test]
fn the_last_hint_is_shown() {
    let mut rim = two_jobs();
    let hint = wire::Hint {
        version: 1,
        incarnation: 1,
        rank: 0,
        step: 12,
        loss: Some(0.5),
        smoothed: Some(0.6),
        best: Some(0.4),
        trend: wire::Trend::Improving,
        metrics: [("accuracy".to_owned(), 0.9)].into(),
        targets: [("accuracy".to_owned(), 0.95)].into(),
    };
    let put = |rim: &mut Rim, hint: wire::Hint| {
        rim.ask(|token| Command::Hint { token, job: "a".into(), hint })
    };
    put(&mut rim, hint.clone()).expect("a right hint");
    let wrong = wire::Hint { loss: Some(f64::INFINITY), ..hint.clone() };
    assert_eq!(problem(put(&mut rim, wrong)).1, "invalid_field");
    assert_eq!(rim.engine.job_status("a").and_then(|status| status.hint), Some(hint));
}
