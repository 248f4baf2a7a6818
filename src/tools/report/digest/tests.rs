use super::*;
use crate::report::load;
use crate::report::sample;
use pas_core::wire::CircuitState;

fn sampled() -> Digest {
    Digest::new(load::from_daemon(sample::job_report()))
}

#[test]
fn the_sample_is_summed_up() {
    let digest = sampled();
    assert_eq!((digest.world_size, digest.ranks_told), (4, 4));
    assert_eq!(digest.ranks_missing, Vec::<u32>::new());
    let world = &digest.comms[0];
    assert_eq!((world.name.as_str(), world.phases.len()), ("MPI_COMM_WORLD", 2));
    let allreduce = &world.calls[0];
    assert_eq!((allreduce.count, allreduce.failed), (320, 0), "16 iterations of 5 in 4 ranks");
    assert_eq!(allreduce.bytes, 4 * 16 * (4 * 26_214_400 + 8));
    assert_eq!((digest.asked(), digest.decided(Decision::Granted)), (19, 13));
    let dropped = digest.counters.iter().find(|counter| counter.name == "bypass.ring_full");
    assert_eq!(dropped.map(|counter| (counter.total, counter.ranks)), Some((3, 1)));
}

#[test]
fn steps_are_those_of_the_pattern() {
    let digest = sampled();
    let phases = &digest.comms[0].phases;
    let ring = &phases[0].steps;
    assert_eq!((ring.steps, ring.groups.len()), (6, 1), "2(n-1) steps between the same ranks");
    assert_eq!(ring.groups[0].arrows, [(0, 1), (1, 2), (2, 3), (3, 0)]);
    assert_eq!(ring.groups[0].bytes_max, 26_214_400 / 4);
    let doubling = &phases[1].steps;
    assert_eq!((doubling.steps, doubling.groups.len()), (2, 2), "other partners in each step");
    assert!(doubling.groups[0].arrows.contains(&(0, 1)));
    assert!(doubling.groups[1].arrows.contains(&(0, 2)));
}

#[test]
fn phases_and_circuits_lie_on_one_clock() {
    let line = sampled().timeline;
    assert_eq!(line.lanes.len(), 4);
    let ring = |bar: &&crate::report::timeline::PhaseBar| bar.phase.ends_with("aa.0");
    let bars: Vec<_> = line.phases.iter().filter(ring).collect();
    assert_eq!(bars.len(), 16, "one for each iteration");
    assert!(bars.iter().all(|bar| bar.calls == 4));
    assert!(bars.windows(2).all(|two| two[0].until <= two[1].from), "iterations do not overlap");
    let ups: Vec<_> = line.circuits.iter().filter(|bar| bar.state == CircuitState::Up).collect();
    assert_eq!(ups.len(), 5, "four circuits, one of them twice");
    let lost: Vec<_> =
        line.circuits.iter().filter(|bar| bar.state == CircuitState::Failed).collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].until.minus(lost[0].from), Nanos::from_millis(300));
}

#[test]
fn without_a_daemon_the_ranks_own_memory_counts() {
    let mut report = sample::job_report();
    (report.job, report.fabric) = (None, None);
    report.circuit_log.clear();
    let digest = Digest::new(load::from_daemon(report));
    assert_eq!(digest.hosts, ["host0", "host1", "host2", "host3"]);
    assert_eq!(digest.comms[0].phases.len(), 2, "the leader told of the phases");
    let count = |what| {
        digest.outcomes.iter().find(|outcome| outcome.what == what).map(|outcome| outcome.count)
    };
    assert_eq!(count(OutcomeKind::Decided(Decision::Hold, Reason::TooSmall)), Some(3));
    assert_eq!(count(OutcomeKind::Unanswered), Some(1));
}

#[test]
fn missing_ranks_are_told() {
    let mut report = sample::job_report();
    report.ranks.remove(2);
    let digest = Digest::new(load::from_daemon(report));
    assert_eq!(digest.ranks_missing, [2]);
    assert_eq!(digest.ranks_told, 3);
}

#[test]
fn a_job_of_thousands_stays_within_the_limits() {
    let mut report = sample::job_report();
    let one = report.ranks[1].clone();
    let busy = one.timeline.iter().cycle().take(4096).cloned().collect::<Vec<_>>();
    report.ranks.extend((4..200).map(|rank| {
        let mut copy = RankReport { timeline: busy.clone(), ..one.clone() };
        copy.registered.rank = rank;
        copy.registered.world_size = 500;
        copy
    }));
    report.ranks[0].registered.world_size = 500;
    let digest = Digest::new(load::from_daemon(report));
    let drawn: usize = digest.timeline.lanes.iter().map(|lane| lane.calls.len()).sum();
    assert_eq!(digest.timeline.lanes.len(), load::TIMELINE_RANKS_MAX);
    assert!(drawn <= crate::report::timeline::CALLS_MAX, "{drawn}");
    assert_eq!(digest.ranks_missing.len(), 300);
    let notes = digest.notes.join("\n");
    assert!(notes.contains("16 of 200 ranks"), "{notes}");
    assert!(notes.contains("last 375 calls"), "{notes}");
}

#[test]
fn an_empty_report_is_no_accident() {
    let digest = Digest::new(load::from_daemon(load::empty()));
    assert_eq!((digest.world_size, digest.comms.len(), digest.asked()), (0, 0, 0));
}
