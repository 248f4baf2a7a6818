//! Starting and ending a life: what happens around `MPI_Init`, `MPI_Finalize`, exit and fork.

use crate::identity::Job;
use crate::knobs::{self, Settings};
use crate::life::{self, Life, State, Step};
use crate::preload::clock::Scale;
use crate::preload::comms::Comms;
use crate::preload::flavor::{Model, Mpi};
use crate::preload::guard::Rings;
use crate::preload::persistent::Persistent;
use crate::preload::real;
use crate::preload::windows::Windows;
use crate::skip::{Bypass, Fault};
use crate::worker::{self, Control};
use crate::{say, sys};
use pas_core::detector;
use pas_core::library::{Forced, Library};
use pas_core::wire::Mode;
use std::sync::Once;
use std::time::{Duration, Instant};

/// Sets a life up; to be called when `MPI_Init` has succeeded, or a session has given its first
/// communicator. Whatever is missing, the library stands aside and the job goes on.
pub fn arm(model: Model) {
    if real::several() {
        Bypass::SeveralMpis.count();
        say::warn(format_args!(
            "two MPI libraries are loaded: each call goes to its own, nothing is recorded"
        ));
        life::step(Step::Faulted);
        return;
    }
    if life::step(Step::Initialised).is_none() {
        return;
    }
    let armed = match build(model) {
        Some(life) => {
            life::begin(life);
            register_hooks();
            worker::start(life)
        }
        None => false,
    };
    life::step(if armed { Step::Armed } else { Step::StandAside });
}

/// Everything but the worker; `None`, counted and where useful said, for each reason not to.
fn build(model: Model) -> Option<&'static Life> {
    if sys::is_secure_execution() {
        Bypass::SecureExecution.count();
        return None;
    }
    if !sys::stdio_was_open() {
        Bypass::StdioClosed.count();
        return None;
    }
    if !real::is_first_copy() {
        Bypass::LoadedTwice.count();
        return None;
    }
    quiet_panics();
    let Some(mpi) = Mpi::recognise(model) else {
        Fault::UnknownMpi.count();
        Settings::from_env(false);
        say::info(format_args!("this MPI is not known: calls are forwarded, nothing is recorded"));
        return None;
    };
    let comms = Comms::new();
    if let Model::World = model {
        // The first of them all.
        comms.lookup(&mpi, mpi.world())?;
    }
    let (rank, size) = mpi.rank_and_size()?;
    let settings = Settings::from_env(rank == 0);
    if settings.help && rank == 0 {
        knobs::print_help();
    }
    if settings.mode == Mode::Off {
        Bypass::ModeOff.count();
        return None;
    }
    let job = Job::identify(&settings, rank, size);
    let spawned = matches!(model, Model::World) && mpi.is_spawned();
    let number = life::next_number();
    let (rings, worker) = (Rings::new(), Control::new());
    let (windows, persistent) = (Windows::new(), Persistent::new());
    let scale = Scale::start();
    let detecting = detector_settings(&mpi);
    let pid = std::process::id();
    let life = Life {
        number,
        spawned,
        pid,
        mpi,
        comms,
        windows,
        persistent,
        rings,
        settings,
        job,
        detecting,
        scale,
        worker,
    };
    Some(Box::leak(Box::new(life)))
}

/// What the detector must know of this process. Read here, on the thread that called `MPI_Init`:
/// the program may change its environment later, and a worker that reads it then would race.
fn detector_settings(mpi: &Mpi) -> detector::Settings {
    let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    detector::Settings {
        library: Library::parse(&mpi.library),
        forced: Forced::from_env(std::env::vars_os().map(|(k, v)| (lossy(k), lossy(v)))),
        // Open MPI's name, then hydra's.
        ranks_per_host: number("OMPI_COMM_WORLD_LOCAL_SIZE").or_else(|| number("MPI_LOCALNRANKS")),
    }
}

/// The library's own panics are caught and counted; their text would be noise to the user.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| say::info(format_args!("a fault of PAS: {panic}"))));
}

/// Hooks for fork and exit, once a process: they are inherited by forked children.
fn register_hooks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        sys::at_fork_child(on_fork_child);
        sys::at_exit(on_exit);
    });
}

extern "C" fn on_fork_child() {
    life::step(Step::Forked);
    Bypass::Forked.count();
}

/// The program ends without `MPI_Finalize`: the last messages get their time here.
extern "C" fn on_exit() {
    life::guarded(|| {
        // A child of `_Fork` or of the bare system call, of which `on_fork_child` heard nothing:
        // there is no worker here that could send anything.
        if life::current().is_some_and(|life| life.pid != std::process::id()) {
            return on_fork_child();
        }
        if let Some(deadline) = begin_end() {
            wait_end(deadline);
        }
    });
}

/// Stops the recording and lets the worker send what it has. Answers until when it may.
pub fn begin_end() -> Option<Instant> {
    if life::step(Step::Ending) != Some(State::Draining) {
        return None;
    }
    let life = life::current()?;
    let deadline = Instant::now() + life.settings.drain;
    life.worker.begin_drain(deadline);
    Some(deadline)
}

/// Waits for the worker's last message, until the deadline.
pub fn wait_end(deadline: Instant) {
    let Some(life) = life::current() else { return };
    if !life.worker.wait_drained(deadline + Duration::from_millis(10)) {
        Fault::DrainLate.count();
    }
    life::step(Step::Drained);
}
