//! Traces of training loops, made by a small seeded generator, and what must be found in them.
//! The numbers FB-... are those of the project's list of bugs seen in the field.

use super::*;
use crate::event::{CommId, Event, Flags};
use crate::library::{Family, Library};
use crate::op::Op;
use crate::pattern::Source;

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

/// A program as one rank's records, with the detector listening.
struct Trace {
    detector: Detector,
    now: Time,
    lead: Nanos,
    random: u64,
    /// Everything told, and when.
    told: Vec<(Time, Notice)>,
    /// Starts of the calls that are not small.
    starts: Vec<Time>,
}

fn open_mpi() -> Settings {
    let library = Library { family: Family::OpenMpi, major: 4, minor: 1, patch: 4 };
    Settings { library, ..Settings::default() }
}

fn comm(size: u32) -> CommInfo {
    let members = Some(Members::world(size));
    CommInfo { key: 0xabcd, name: "MPI_COMM_WORLD".to_owned(), size, rank: 0, members }
}

impl Trace {
    fn new(settings: Settings, size: u32) -> Trace {
        let mut detector = Detector::new(settings);
        detector.comm_created(CommId::WORLD, comm(size));
        let (now, lead) = (Time(5_000), Nanos::from_millis(20));
        Trace { detector, now, lead, random: 1, told: Vec::new(), starts: Vec::new() }
    }

    /// A number from 0 to `below`, from a fixed seed.
    fn random(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) % below.max(1)
    }

    /// Computes for about so long, give or take a hundredth; the worker looks in when it is due.
    fn compute(&mut self, ms: u64) {
        let span = ms * MS;
        let end = self.now.after(Nanos(span + self.random(span / 100)));
        self.listen(end);
        self.now = end;
    }

    fn listen(&mut self, until: Time) {
        while let Some(due) = self.detector.next_due(self.lead).filter(|due| *due < until) {
            let at = due.max(self.now);
            let notices = self.detector.advance(at, self.lead);
            self.told.extend(notices.into_iter().map(|notice| (at, notice)));
            let next = self.detector.next_due(self.lead);
            assert!(next.is_none_or(|next| next > at), "woken at {at:?} and again at {next:?}");
        }
    }

    fn call(&mut self, op: Op, peer: i32, bytes: u64, ms: u64) {
        let start = self.now;
        let end = start.after(Nanos(ms * MS + 1000));
        let count = (bytes / 4) as u32;
        let flags = Flags::PREDEFINED_OP;
        let event = Event { op, comm: CommId::WORLD, peer, count, bytes, start, end, flags };
        self.detector.observe(&event);
        if bytes >= calls::SMALL_BYTES {
            self.starts.push(start);
        }
        let notices = self.detector.advance(end, self.lead);
        self.told.extend(notices.into_iter().map(|notice| (end, notice)));
        self.now = end;
    }

    fn allreduce(&mut self, bytes: u64) {
        self.call(Op::Allreduce, -1, bytes, 5);
    }

    fn bcast(&mut self, bytes: u64) {
        self.call(Op::Bcast, 0, bytes, 5);
    }

    /// An iteration: forward, then a gradient bucket after each piece of the backward pass.
    fn iteration(&mut self, forward_ms: u64, buckets_mib: &[u64]) {
        self.compute(forward_ms);
        for mib in buckets_mib {
            self.compute(1);
            self.allreduce(mib * MIB);
        }
    }

    fn count(&self, wanted: impl Fn(&Notice) -> bool) -> usize {
        self.told.iter().filter(|(_, notice)| wanted(notice)).count()
    }

    fn news(&self) -> usize {
        self.count(|notice| matches!(notice, Notice::PhaseFound(_) | Notice::PhaseChanged(_)))
    }

    fn dues(&self) -> Vec<(Time, &Due)> {
        let dues = self.told.iter().filter_map(|(at, notice)| match notice {
            Notice::PhaseDue(due) => Some((*at, due)),
            _ => None,
        });
        dues.collect()
    }

    fn missed(&self) -> usize {
        self.count(|notice| matches!(notice, Notice::ForecastMissed { .. }))
    }

    /// Dues whose phase did not start within `tolerance` of what was told.
    fn wrong_dues(&self, tolerance: Nanos) -> usize {
        let wrong = |(at, due): &(Time, &Due)| {
            let expected = at.after(due.starts_in);
            let error = |start: &Time| expected.since(*start).plus(start.since(expected));
            self.starts.iter().all(|start| error(start) > tolerance)
        };
        self.dues().iter().filter(|due| wrong(due)).count()
    }

    fn period_ms(&self) -> u64 {
        self.detector.iteration().map_or(0, |iteration| iteration.period_ns.0 / MS)
    }
}

#[test]
fn a_steady_loop_is_found_and_every_phase_is_told_once_in_time() {
    let mut trace = Trace::new(open_mpi(), 4);
    for _ in 0..50 {
        trace.iteration(80, &[25, 25, 8]);
    }
    assert!((98..=100).contains(&trace.period_ms()), "{}", trace.period_ms());
    let dues = trace.dues();
    assert!((46..=48).contains(&dues.len()), "{}", dues.len());
    for (at, due) in &dues {
        let late = trace.lead.minus(due.starts_in);
        assert!(late < Nanos::from_millis(1), "{due:?} at {at:?}");
    }
    assert_eq!(trace.wrong_dues(Nanos::from_millis(3)), 0);
    assert_eq!(trace.missed(), 0);
    let phases = trace.detector.phases();
    let [phase] = &phases[..] else { panic!("{phases:?}") };
    assert_eq!(phase.pattern, Pattern::RecursiveHalvingDoubling);
    assert_eq!(phase.source, Source::Predicted);
    assert_eq!(phase.calls.iter().map(|call| call.count).sum::<u32>(), 3);
    assert_eq!(phase.members, Members::world(4));
    assert_eq!(phase.phase, "000000000000abcd.0");
    assert!((16..20).contains(&(phase.duration_ns.0 / MS)), "{phase:?}");
    assert!((46..=50).contains(&phase.seen), "{}", phase.seen);
    assert!(trace.news() <= 3, "{}", trace.news());
}

#[test]
fn fb_093_the_first_iteration_is_not_typical() {
    let mut trace = Trace::new(open_mpi(), 8);
    trace.iteration(80, &[25, 25, 25, 9]);
    trace.bcast(100 * MIB);
    for iteration in 2..=100 {
        trace.iteration(80, &[1, 25, 25, 25, 8]);
        if iteration == 5 {
            assert!((108..=116).contains(&trace.period_ms()), "{}", trace.period_ms());
        }
    }
    assert!(trace.wrong_dues(Nanos::from_millis(5)) <= 1);
    assert!(trace.missed() <= 1);
    let phases = trace.detector.phases();
    let steady = phases.iter().find(|phase| phase.period_ns.is_some()).expect("found");
    assert_eq!(steady.calls.iter().map(|call| call.count).sum::<u32>(), 5);
}

#[test]
fn fb_094_a_ragged_end_of_epoch_is_no_storm() {
    let mut trace = Trace::new(open_mpi(), 8);
    for _ in 0..3 {
        for iteration in 0..40 {
            trace.iteration(80, &[25, 8]);
            if iteration >= 37 {
                // Join mode: who is still there?
                trace.allreduce(4);
            }
        }
        trace.compute(300);
    }
    assert!(trace.news() <= 4, "{}", trace.news());
    assert_eq!(trace.detector.counters().iterations_broken, 0);
    // The pause between epochs cannot be foreseen; everything else can.
    assert!(trace.missed() <= 3, "{}", trace.missed());
    assert!(trace.dues().len() >= 105, "{}", trace.dues().len());
}

#[test]
fn fb_095_evaluation_and_checkpoints_interrupt_but_do_not_unlearn() {
    let mut trace = Trace::new(open_mpi(), 8);
    for _ in 0..2 {
        trace.compute(30);
        trace.allreduce(3 * MIB);
    }
    for epoch in 0..3 {
        let before = trace.dues().len();
        let learned = trace.detector.counters().iterations_learned;
        for iteration in 0..100 {
            trace.iteration(80, &[1, 25, 8]);
            // Nothing new is learned once training has been seen, and it is forecast again soon.
            if epoch > 0 && iteration == 2 {
                assert!(trace.dues().len() > before, "epoch {epoch}");
            }
        }
        if epoch > 0 {
            assert_eq!(trace.detector.counters().iterations_learned, learned);
        }
        let news = trace.news();
        for _ in 0..10 {
            trace.compute(30);
            trace.allreduce(3 * MIB);
            trace.allreduce(8);
        }
        trace.call(Op::Barrier, -1, 0, 1);
        trace.bcast(60 * MIB);
        trace.compute(20_000);
        assert!(trace.news() - news <= 4, "epoch {epoch}: {} news", trace.news() - news);
    }
    assert!((97..=100).contains(&trace.period_ms()), "{}", trace.period_ms());
    assert!(trace.missed() <= 9, "{}", trace.missed());
    let wrong = trace.wrong_dues(Nanos::from_millis(5));
    assert!(wrong <= 9, "{wrong} of {}", trace.dues().len());
}

#[test]
fn fb_096_accumulated_micro_batches_are_one_iteration() {
    let mut trace = Trace::new(open_mpi(), 8);
    let mut steps = 0;
    for _ in 0..20 {
        for micro_batches in [4, 4, 2] {
            for _ in 0..micro_batches {
                trace.compute(50);
                trace.call(Op::Allreduce, -1, 8, 0);
            }
            trace.allreduce(25 * MIB);
            steps += 1;
        }
    }
    let iteration = trace.detector.iteration().expect("found");
    assert_eq!(iteration.calls, 1);
    assert!(steps - iteration.seen <= 3, "{} of {steps}", iteration.seen);
    assert!((204..=208).contains(&trace.period_ms()), "{}", trace.period_ms());
    // The short step comes early and is not foreseen; those after it are.
    assert!(iteration.forecasts_right >= iteration.forecasts_wrong, "{iteration:?}");
}

#[test]
fn fb_100_degenerate_sizes() {
    let mut alone = Trace::new(open_mpi(), 1);
    let mut pair = Trace::new(open_mpi(), 2);
    for _ in 0..20 {
        alone.iteration(80, &[25]);
        pair.iteration(80, &[25]);
        pair.compute(1);
        pair.call(Op::Sendrecv, 1, MIB, 1);
    }
    assert_eq!(alone.told, []);
    assert_eq!(alone.detector.phases(), []);
    let patterns: Vec<Pattern> = pair.detector.phases().iter().map(|phase| phase.pattern).collect();
    assert_eq!(patterns, [Pattern::RecursiveDoubling; 2]);
    let messages = &pair.detector.phases()[1];
    assert_eq!(messages.pairs, [(0, 1, MIB), (1, 0, MIB)]);
}

#[test]
fn fb_101_polling_is_no_iteration() {
    let mut trace = Trace::new(open_mpi(), 4);
    for _ in 0..2000 {
        trace.compute(10);
        trace.allreduce(4);
    }
    assert_eq!(trace.detector.iteration(), None);
    assert_eq!(trace.dues(), []);
    for _ in 0..30 {
        for _ in 0..20 {
            trace.compute(10);
            trace.allreduce(4);
        }
        trace.allreduce(25 * MIB);
    }
    let iteration = trace.detector.iteration().expect("real rounds are found");
    assert_eq!(iteration.calls, 1);
    assert!((300..=312).contains(&trace.period_ms()), "{}", trace.period_ms());
    assert_eq!(trace.wrong_dues(Nanos::from_millis(10)), 0);
}

#[test]
fn a_loop_that_stops_is_given_up_within_one_phase() {
    let mut trace = Trace::new(open_mpi(), 4);
    for _ in 0..20 {
        trace.iteration(80, &[25, 8]);
    }
    let before = trace.dues().len();
    trace.compute(60_000);
    assert_eq!(trace.dues().len() - before, 1, "one phase was due");
    assert_eq!(trace.missed(), 1, "and is told to have been missed, once");
    trace.iteration(1, &[25, 8]);
    trace.iteration(80, &[25, 8]);
    assert_eq!(trace.dues().len() - before, 2, "the loop is known when it goes on");
    assert!((90..=96).contains(&trace.period_ms()), "the silence is no period");
}

#[test]
fn phases_of_several_communicators_and_collectives_are_told_apart() {
    let mut trace = Trace::new(open_mpi(), 8);
    let row = CommId(1);
    let info = CommInfo { key: 7, name: "row".to_owned(), ..comm(4) };
    trace.detector.comm_created(row, info);
    for _ in 0..20 {
        trace.compute(40);
        trace.call(Op::Allgather, -1, 4 * MIB, 3);
        trace.compute(40);
        trace.call(Op::ReduceScatterBlock, -1, 4 * MIB, 3);
        trace.allreduce(MIB);
    }
    let mut phases = trace.detector.phases();
    assert!(phases.iter().all(|phase| phase.period_ns.is_some()), "{phases:?}");
    phases.sort_by_key(|phase| phase.collective);
    let found: Vec<_> = phases.iter().map(|phase| phase.collective).collect();
    let expected =
        [Collective::Allgather, Collective::Allreduce, Collective::ReduceScatterBlock].map(Some);
    assert_eq!(found, expected);
    let told = trace.dues().len();
    assert!((45..=54).contains(&told), "three phases an iteration: {told}");
    assert_eq!(trace.wrong_dues(Nanos::from_millis(3)), 0);
}

#[test]
fn a_ring_written_by_hand_is_recognised() {
    let mut trace = Trace::new(open_mpi(), 4);
    for _ in 0..10 {
        trace.compute(50);
        for _ in 0..6 {
            trace.call(Op::Irecv, 3, MIB, 0);
            trace.call(Op::Isend, 1, MIB, 0);
            trace.call(Op::Waitall, -1, 0, 2);
        }
    }
    let phases = trace.detector.phases();
    let [phase] = &phases[..] else { panic!("{phases:?}") };
    assert_eq!((phase.pattern, phase.source), (Pattern::Ring, Source::Observed));
    assert_eq!(phase.collective, None);
    assert_eq!(phase.pairs.len(), 4);
    assert!(phase.pairs.contains(&(3, 0, 6 * MIB)));
    assert!(trace.dues().len() >= 5, "{}", trace.dues().len());
}

#[test]
fn a_program_that_never_repeats_itself_has_phases_too() {
    let mut trace = Trace::new(open_mpi(), 4);
    trace.allreduce(MIB);
    trace.call(Op::Alltoall, -1, 4096, 1);
    trace.detector.finish();
    let phases = trace.detector.phases();
    assert_eq!(phases.len(), 2);
    assert!(phases.iter().all(|phase| phase.seen == 1 && phase.period_ns.is_none()), "{phases:?}");
    assert_eq!(trace.dues(), []);
}

#[test]
fn a_declared_pattern_goes_before_a_predicted_one() {
    let mut trace = Trace::new(open_mpi(), 4);
    trace.detector.declare(None, Collective::Allreduce, Pattern::Ring);
    trace.detector.declare(Some("other"), Collective::Bcast, Pattern::Chain);
    trace.allreduce(MIB);
    trace.bcast(MIB);
    trace.detector.finish();
    let phases = trace.detector.phases();
    assert_eq!((phases[0].pattern, phases[0].source), (Pattern::Ring, Source::Declared));
    assert_eq!(phases[0].confidence, 1.0);
    assert_eq!(phases[1].source, Source::Predicted);
}

#[test]
fn a_mark_sets_where_the_iteration_begins() {
    let mut trace = Trace::new(open_mpi(), 4);
    for step in 0..20 {
        trace.compute(10);
        trace.allreduce(4 * MIB);
        trace.compute(80);
        let now = trace.now;
        trace.detector.mark_iteration(step, now);
        trace.detector.mark_iteration(step, now);
        trace.allreduce(8 * MIB);
    }
    let iteration = trace.detector.iteration().expect("found");
    assert_eq!(iteration.calls, 2);
    assert!((99..=101).contains(&trace.period_ms()));
    assert_eq!(trace.wrong_dues(Nanos::from_millis(3)), 0);
}

#[test]
fn two_levels_are_told_as_pairs_of_the_hosts_first_ranks() {
    let library = Library { family: Family::Mpich, major: 4, minor: 0, patch: 2 };
    let settings = Settings { library, ranks_per_host: Some(2), ..Settings::default() };
    let mut trace = Trace::new(settings, 8);
    trace.allreduce(MIB);
    trace.detector.finish();
    let phase = &trace.detector.phases()[0];
    assert_eq!(phase.pattern, Pattern::RecursiveHalvingDoubling);
    assert_eq!(phase.pairs.len(), 4 * 2);
    assert!(phase.pairs.contains(&(0, 2, MIB)), "{:?}", phase.pairs);
    assert!(phase.pairs.iter().all(|(from, to, _)| from % 2 == 0 && to % 2 == 0));
}

#[test]
fn memory_is_bounded_and_the_excess_is_counted() {
    let mut trace = Trace::new(open_mpi(), 4);
    for size in 0..20_000 {
        trace.call(Op::Allreduce, -1, 4096 + 4 * size, 0);
        trace.call(Op::Send, (size % 3 + 1) as i32, 8192 + size, 0);
    }
    assert!(trace.detector.counters().calls_forgotten >= 8);
    assert!(trace.detector.phases().len() <= phases::PHASES_MAX);
    for number in 0..2 * COMMS_MAX as u32 {
        trace.detector.comm_created(CommId(number + 1), comm(4));
    }
    assert_eq!(trace.detector.counters().comms_dropped, COMMS_MAX as u64 + 1);
    let unknown = CommId(5_000);
    let (start, end, flags) = (Time(1), Time(2), Flags::default());
    let op = Op::Allreduce;
    let event = Event { op, comm: unknown, peer: -1, count: 1, bytes: 9999, start, end, flags };
    trace.detector.observe(&event);
    trace.detector.observe(&Event { flags: Flags::FAILED, ..event });
    let counters = trace.detector.counters();
    assert_eq!((counters.events_unknown_comm, counters.events_failed), (1, 1));
}

#[test]
fn the_same_records_give_the_same_notices() {
    let run = || {
        let mut trace = Trace::new(open_mpi(), 8);
        for round in 0..60 {
            match trace.random(20) {
                0 => trace.bcast(MIB),
                1 => trace.call(Op::Alltoallv, -1, 5000 + round, 1),
                2 => trace.compute(500),
                _ => trace.iteration(80, &[1, 25, 8]),
            }
        }
        (trace.told, trace.detector.phases())
    };
    assert_eq!(run(), run());
}

#[test]
fn equal_buckets_make_one_phase_not_many_iterations() {
    let mut trace = Trace::new(open_mpi(), 4);
    for _ in 0..30 {
        trace.iteration(80, &[25; 12]);
    }
    let iteration = trace.detector.iteration().expect("found");
    assert_eq!(iteration.calls, 12);
    assert!((150..=156).contains(&trace.period_ms()), "{}", trace.period_ms());
    let phases = trace.detector.phases();
    assert_eq!(phases.len(), 1, "what was taken for an iteration is taken over: {phases:?}");
    assert!(trace.dues().len() <= 45, "{}", trace.dues().len());
}

#[test]
fn a_lead_longer_than_the_period_is_told_as_early_as_can_be() {
    let mut trace = Trace::new(open_mpi(), 4);
    trace.lead = Nanos::from_millis(6_000);
    for _ in 0..30 {
        trace.iteration(80, &[25, 8]);
    }
    let dues = trace.dues();
    assert!((24..=28).contains(&dues.len()), "{}", dues.len());
    assert!(dues.iter().all(|(_, due)| due.starts_in > Nanos::from_millis(60)), "{dues:?}");
    // The last one told is of an iteration that the trace does not have.
    assert_eq!(trace.wrong_dues(Nanos::from_millis(3)), 1);
}

#[test]
fn a_change_of_pace_is_told_and_followed() {
    let mut trace = Trace::new(open_mpi(), 4);
    for _ in 0..30 {
        trace.iteration(80, &[25, 8]);
    }
    let news = trace.news();
    for _ in 0..30 {
        trace.iteration(160, &[25, 8]);
    }
    assert!((171..=176).contains(&trace.period_ms()), "{}", trace.period_ms());
    assert_eq!(trace.news(), news + 1, "the new period is told once");
    assert!(trace.missed() <= 3, "{}", trace.missed());
    let told = trace.detector.phases()[0].period_ns.expect("told");
    assert!((170..=176).contains(&(told.0 / MS)), "{told:?}");
}

/// A persistent allreduce that is started in each iteration is a phase like a non-blocking one;
/// making its request is none.
#[test]
fn starts_of_a_persistent_collective_are_calls_and_its_making_is_not() {
    let phases = |flags: Flags, times: u64| {
        let mut detector = Detector::new(open_mpi());
        detector.comm_created(CommId::WORLD, comm(4));
        for turn in 0..times {
            let start = Time((turn + 1) * 10 * MS);
            let event = Event {
                op: Op::AllreduceInit,
                comm: CommId::WORLD,
                peer: -1,
                count: (MIB / 4) as u32,
                bytes: MIB,
                start,
                end: start,
                flags: flags.with(Flags::PREDEFINED_OP),
            };
            detector.observe(&event);
            detector.advance(start, Nanos(0));
        }
        detector.finish();
        detector.phases()
    };
    assert_eq!(phases(Flags::default(), 1), []);
    let started = phases(Flags::STARTED, 30);
    assert_eq!(started.len(), 1, "{started:?}");
    assert_eq!(started[0].collective, Some(Collective::Allreduce));
}
