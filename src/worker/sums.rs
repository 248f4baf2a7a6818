//! Sums by call and communicator, bounded.

use crate::skip::Bypass;
use pas_core::event::{CommId, Event, Flags};
use pas_core::op::Op;
use pas_core::units::Nanos;
use pas_core::wire::CallSum;
use std::collections::BTreeMap;

/// Pairs of call and communicator that are summed apart; further ones are counted as
/// `bypass.sum_table_full`. One limit for living communicators, one for freed ones.
const ROWS_MAX: usize = 1024;

/// The sums of one rank.
#[derive(Default)]
pub struct Sums {
    living: BTreeMap<(CommId, Op), Sum>,
    /// Of freed communicators, by key.
    retired: BTreeMap<(String, Op), Sum>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    failed: u64,
    bytes: u64,
    time_ns: u64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.count += other.count;
        self.failed += other.failed;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

impl Sums {
    /// Adds one call, under its own name: what a start moves is told by `MPI_Start`, not by the
    /// call that made the request.
    pub fn add(&mut self, event: &Event) {
        let (op, count) = match event.flags {
            flags if flags.has(Flags::IN_STARTALL) => (Op::Startall, 0),
            flags if flags.has(Flags::STARTED) => (Op::Start, 1),
            _ => (event.op, 1),
        };
        // Made, but nothing sent yet.
        let kept = !event.flags.has(Flags::STARTED) && event.op.is_persistent();
        let sum = Sum {
            count,
            failed: u64::from(event.flags.has(Flags::FAILED)),
            bytes: if kept { 0 } else { event.bytes },
            time_ns: event.duration().0,
        };
        add_bounded(&mut self.living, (event.comm, op), sum);
    }

    /// The communicator was freed: its sums go on under its key.
    pub fn retire(&mut self, comm: CommId, key: &str) {
        for op in Op::ALL {
            if let Some(sum) = self.living.remove(&(comm, *op)) {
                add_bounded(&mut self.retired, (key.to_owned(), *op), sum);
            }
        }
    }

    /// The rows of the report; `key_of` names a living communicator.
    pub fn report(&self, key_of: impl Fn(CommId) -> String) -> Vec<CallSum> {
        let mut rows = self.retired.clone();
        for ((comm, op), sum) in &self.living {
            rows.entry((key_of(*comm), *op)).or_default().add(*sum);
        }
        let row = |((comm, op), sum): ((String, Op), Sum)| CallSum {
            call: op.name().to_owned(),
            comm,
            count: sum.count,
            failed: sum.failed,
            bytes: sum.bytes,
            time_ns: Nanos(sum.time_ns),
        };
        rows.into_iter().map(row).collect()
    }
}

fn add_bounded<K: Ord>(rows: &mut BTreeMap<K, Sum>, key: K, sum: Sum) {
    if rows.len() >= ROWS_MAX && !rows.contains_key(&key) {
        Bypass::SumTableFull.count_many(sum.count);
    } else {
        rows.entry(key).or_default().add(sum);
    }
}
