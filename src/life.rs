//! The lifecycle of libpas.so in one process, and all that one life owns.
//!
//! ```text
//!           MPI_Init ok           armed
//!   Cold ---------------> Arming ------> Observing ---> Draining ---> Dead
//!                           |                  | finalize, abort, exit
//!                           |                  |
//!                           +----> Off <-------+
//!              mode off, unknown MPI     a fault of our own
//!
//!   any state --- fork ---> Child (in the child) --- MPI_Init ok ---> Arming
//! ```
//!
//! Wrappers record in `Observing` only. A life's data is leaked on purpose: a thread of the host
//! may be inside a wrapper at any time, and a forked child must not touch locks that a thread of
//! its parent held.
#![expect(unsafe_code, reason = "one pointer to the current life, read without a lock")]

use crate::identity::Job;
use crate::knobs::Settings;
use crate::preload::clock::Scale;
use crate::preload::comms::Comms;
use crate::preload::flavor::Mpi;
use crate::preload::guard::Rings;
use crate::preload::persistent::Persistent;
use crate::preload::windows::Windows;
use crate::skip::Fault;
use crate::worker::Control;
use pas_core::detector;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

/// Where the library is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// MPI is not initialised: inert.
    Cold,
    /// `MPI_Init` has succeeded and the life is being set up.
    Arming,
    /// Forwarding only, for good.
    Off,
    /// Recording.
    Observing,
    /// No more recording; the worker sends what it has.
    Draining,
    /// Done.
    Dead,
    /// The forked child of a rank: inert until it initialises MPI itself.
    Child,
}

/// What moves the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `MPI_Init` or `MPI_Init_thread` returned success.
    Initialised,
    /// The life is set up.
    Armed,
    /// Nothing is to be recorded: the mode, the environment, an unknown MPI.
    StandAside,
    /// `MPI_Finalize`, `MPI_Abort` or exit began.
    Ending,
    /// The last messages are out, or their time is.
    Drained,
    /// This is the child of a fork.
    Forked,
    /// A fault of our own.
    Faulted,
}

impl State {
    const ALL: [State; 7] = [
        State::Cold,
        State::Arming,
        State::Off,
        State::Observing,
        State::Draining,
        State::Dead,
        State::Child,
    ];

    /// The state after `step`; `None` where the step changes nothing here.
    pub fn next(self, step: Step) -> Option<State> {
        match (self, step) {
            (_, Step::Forked) => Some(State::Child),
            (State::Cold | State::Dead | State::Child, Step::Initialised) => Some(State::Arming),
            (State::Arming, Step::Armed) => Some(State::Observing),
            (State::Arming, Step::StandAside) => Some(State::Off),
            (State::Observing, Step::Ending) => Some(State::Draining),
            (State::Draining, Step::Drained) => Some(State::Dead),
            (State::Arming | State::Observing | State::Draining, Step::Faulted) => Some(State::Off),
            (State::Cold | State::Off | State::Dead | State::Child, Step::Faulted) => None,
            (
                State::Arming | State::Off | State::Observing | State::Draining,
                Step::Initialised,
            ) => None,
            (_, Step::Armed | Step::StandAside | Step::Ending | Step::Drained) => None,
        }
    }
}

static STATE: AtomicU8 = AtomicU8::new(State::Cold as u8);
/// Counts lives; 0 is none. A thread's ring belongs to the life it was taken in.
static LIFE: AtomicU64 = AtomicU64::new(0);
static CURRENT: AtomicPtr<Life> = AtomicPtr::new(ptr::null_mut());

/// What one life owns.
pub struct Life {
    /// Which life it is.
    pub number: u64,
    /// True where another process of MPI has spawned this one.
    pub spawned: bool,
    /// The process that it belongs to.
    pub pid: u32,
    /// The MPI.
    pub mpi: Mpi,
    /// Its communicators.
    pub comms: Comms,
    /// Its windows.
    pub windows: Windows,
    /// Its persistent requests.
    pub persistent: Persistent,
    /// The threads' rings.
    pub rings: Rings,
    /// The variables in force.
    pub settings: Settings,
    /// Who this rank is.
    pub job: Job,
    /// What the detector must know of this process.
    pub detecting: detector::Settings,
    /// The clock; its zero is the end of `MPI_Init`.
    pub scale: Scale,
    /// The worker's letter box and its figures.
    pub worker: Control,
}

/// The state now.
pub fn state() -> State {
    let number = STATE.load(Ordering::Acquire);
    State::ALL.into_iter().find(|state| *state as u8 == number).unwrap_or(State::Off)
}

/// True while wrappers record: the one test of the hot path. Relaxed: a wrapper that sees the
/// old state for a moment records into a ring that nobody drains any more, or misses one record.
#[inline(always)]
pub fn recording() -> bool {
    STATE.load(Ordering::Relaxed) == State::Observing as u8
}

/// Moves the state; answers the new one where the step changed it.
pub fn step(step: Step) -> Option<State> {
    let mut new = None;
    // AcqRel: whoever sees Observing also sees the life that was set before it.
    let _ = STATE.fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| {
        let old = State::ALL.into_iter().find(|state| *state as u8 == old)?;
        new = old.next(step);
        new.map(|state| state as u8)
    });
    new
}

/// The number that the next life will have.
pub fn next_number() -> u64 {
    LIFE.load(Ordering::Relaxed) + 1
}

/// Makes `life` the current one.
pub fn begin(life: &'static Life) {
    CURRENT.store(ptr::from_ref(life).cast_mut(), Ordering::Release);
    LIFE.store(life.number, Ordering::Relaxed);
}

/// The current life, if there is one.
#[inline(always)]
pub fn current() -> Option<&'static Life> {
    // SAFETY: only `begin` stores here, and what it stores is never freed. Acquire pairs with its
    // Release: the life is whole before it is seen.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Runs a piece of our own code on a host thread: a panic turns PAS off and goes no further, and
/// errno is as it was.
pub fn guarded<T>(body: impl FnOnce() -> T) -> Option<T> {
    let result = crate::sys::with_errno_kept(|| catch_unwind(AssertUnwindSafe(body)));
    if result.is_err() {
        Fault::Panicked.count();
        step(Step::Faulted);
    }
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [Step; 7] = [
        Step::Initialised,
        Step::Armed,
        Step::StandAside,
        Step::Ending,
        Step::Drained,
        Step::Forked,
        Step::Faulted,
    ];

    /// Rows are states, columns the steps above; a dot is "nothing changes".
    const TABLE: [(State, &str); 7] = [
        (State::Cold, "A....C."),
        (State::Arming, ".RF..CF"),
        (State::Off, ".....C."),
        (State::Observing, "...D.CF"),
        (State::Draining, "....XCF"),
        (State::Dead, "A....C."),
        (State::Child, "A....C."),
    ];

    #[test]
    fn every_transition_is_as_the_table_says() {
        for (state, row) in TABLE {
            for (step, expected) in STEPS.into_iter().zip(row.chars()) {
                let expected = match expected {
                    'A' => Some(State::Arming),
                    'R' => Some(State::Observing),
                    'F' => Some(State::Off),
                    'D' => Some(State::Draining),
                    'X' => Some(State::Dead),
                    'C' => Some(State::Child),
                    _ => None,
                };
                assert_eq!(state.next(step), expected, "{state:?} {step:?}");
            }
        }
    }
}
