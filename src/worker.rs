//! The one thread of libpas.so: drains the rings, feeds the detector, talks to pasd.
//!
//! It never calls the MPI and never holds a lock that a wrapper's hot path takes.

mod collector;
mod losses;
mod sums;

pub use collector::Collector;
use losses::Losses;
use sums::Sums;

use crate::agent::Agent;
use crate::life::{self, Life, State};
use crate::report;
use crate::skip::Fault;
use crate::{say, sys};
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The longest time between two looks at the rings. A rank whose cores all compute feels every
/// wake-up, so there are few: the worker is woken when a ring fills, when a phase is due, and at
/// the end.
const REST_MAX: Duration = Duration::from_millis(25);
/// The shortest, however near the next phase is.
const REST_MIN: Duration = Duration::from_millis(1);
/// The worker's stack: JSON and HTTP need a few pages of it.
const STACK_BYTES: usize = 512 << 10;

/// What the host's threads and the worker share.
pub struct Control {
    end: Mutex<End>,
    drained: Condvar,
    worker: OnceLock<Thread>,
    /// Figures for `pas_get_status`.
    pub figures: Figures,
}

/// How far the end has come.
#[derive(Default)]
struct End {
    deadline: Option<Instant>,
    drained: bool,
}

/// Numbers that the worker publishes. Relaxed: each stands for itself.
#[derive(Default)]
pub struct Figures {
    /// `PAS_DAEMON_*`.
    pub daemon: AtomicU32,
    /// Phases that the detector knows.
    pub phases: AtomicU64,
    /// Calls recorded.
    pub calls: AtomicU64,
    /// Pre-stage requests granted, in whole or in part.
    pub granted: AtomicU64,
    /// Answered "switching does not pay".
    pub held: AtomicU64,
    /// Refused.
    pub refused: AtomicU64,
    /// Not answered.
    pub unanswered: AtomicU64,
}

impl Control {
    /// Nothing has happened.
    pub fn new() -> Control {
        Control {
            end: Mutex::default(),
            drained: Condvar::new(),
            worker: OnceLock::new(),
            figures: Figures::default(),
        }
    }

    /// Ends the worker's rest. Takes no lock.
    pub fn wake(&self) {
        if let Some(worker) = self.worker.get() {
            worker.unpark();
        }
    }

    /// Asks the worker to send its last messages until `deadline`.
    pub fn begin_drain(&self, deadline: Instant) {
        self.end.lock().deadline = Some(deadline);
        self.wake();
    }

    /// Waits for the last message; false where the deadline came first.
    pub fn wait_drained(&self, deadline: Instant) -> bool {
        let mut end = self.end.lock();
        while !end.drained {
            if self.drained.wait_until(&mut end, deadline).timed_out() {
                return end.drained;
            }
        }
        true
    }

    /// Sleeps until there may be work; answers the deadline of the end, if it has begun.
    fn sleep(&self, time: Duration) -> Option<Instant> {
        // A wake-up since the last sleep ends this one at once, so none is lost.
        thread::park_timeout(time);
        self.end.lock().deadline
    }

    fn set_drained(&self) {
        self.end.lock().drained = true;
        self.drained.notify_all();
    }
}

/// Starts the worker of a life; false, counted, where there is no thread to be had.
pub fn start(life: &'static Life) -> bool {
    let stack_bytes = STACK_BYTES + sys::thread_local_bytes();
    let builder = std::thread::Builder::new().name("pas-worker".into()).stack_size(stack_bytes);
    let started = sys::with_signals_blocked(|| {
        builder.spawn(move || {
            let _ = life.worker.worker.set(thread::current());
            life::guarded(|| run(life));
            // Also after a fault: a finalising rank must not wait for a worker that is gone.
            life.worker.set_drained();
        })
    });
    if started.is_err() {
        Fault::NoThread.count();
    }
    started.is_ok()
}

fn run(life: &'static Life) {
    let collector = Arc::new(Mutex::new(Collector::new(life)));
    let pump = {
        let collector = Arc::clone(&collector);
        Arc::new(move || {
            collector.lock().collect();
        })
    };
    let mut agent = Agent::new(life, pump);
    loop {
        collector.lock().collect();
        agent.step(&collector);
        let rest = agent.rest(&collector).clamp(REST_MIN, REST_MAX);
        if let Some(deadline) = life.worker.sleep(rest) {
            return finish(life, &collector, &mut agent, deadline);
        }
        if life::state() == State::Off {
            return;
        }
    }
}

/// The last messages: the report to its file and to the daemon, and good-bye.
fn finish(life: &'static Life, collector: &Mutex<Collector>, agent: &mut Agent, deadline: Instant) {
    collector.lock().collect();
    collector.lock().finish();
    agent.send_last_findings(collector, deadline);
    let report = report::build(life, &collector.lock(), agent);
    let folder = life.settings.report_dir.as_ref().map(|named| report::folder(life, named));
    if let Some(folder) = folder
        && let Err(error) = report::write(&folder, &report)
    {
        Fault::ReportFile.count();
        let folder = folder.display();
        say::warn(format_args!("no report of rank {} in {folder}: {error}", life.job.rank));
    }
    agent.say_good_bye(&report, deadline);
}
