//! What is due when.

use crate::engine::{OpId, Token};
use crate::fabric::PlaneId;
use crate::planner::CircuitId;
use crate::units::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a timer is for; at most one runs for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Timer {
    /// Some rank's lease of this job may be over.
    Lease(String),
    /// The job may be idle.
    Idle(String),
    /// Something of the circuit is due: a link, a retry, a grace.
    Circuit(CircuitId),
    /// The plane is due to be read back, or tried again.
    Plane(PlaneId),
    /// The operation's answer is overdue.
    Op(OpId),
    /// The waiting request gets its answer now.
    Wait(Token),
}

/// The running timers, by what they are for and by time. Ties end in the order of [`Timer`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(Timer, Time)>", into = "Vec<(Timer, Time)>")]
pub(super) struct Timers {
    due: BTreeMap<Timer, Time>,
    queue: BTreeSet<(Time, Timer)>,
}

impl Timers {
    /// Sets a timer, in place of the one that ran for the same thing.
    pub(super) fn set(&mut self, timer: Timer, at: Time) {
        self.cancel(&timer);
        self.due.insert(timer.clone(), at);
        self.queue.insert((at, timer));
    }

    /// Stops a timer.
    pub(super) fn cancel(&mut self, timer: &Timer) {
        if let Some(at) = self.due.remove(timer) {
            self.queue.remove(&(at, timer.clone()));
        }
    }

    /// The first timer's time.
    pub(super) fn next(&self) -> Option<Time> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Takes the first timer that is due.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        let (_, timer) = self.queue.pop_first()?;
        self.due.remove(&timer);
        Some(timer)
    }
}

impl From<Vec<(Timer, Time)>> for Timers {
    fn from(list: Vec<(Timer, Time)>) -> Timers {
        let mut timers = Timers::default();
        for (timer, at) in list {
            timers.set(timer, at);
        }
        timers
    }
}

impl From<Timers> for Vec<(Timer, Time)> {
    fn from(timers: Timers) -> Vec<(Timer, Time)> {
        timers.due.into_iter().collect()
    }
}
