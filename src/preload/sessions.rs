//! What holds MPI open: the world model (`MPI_Init`) and sessions. The job ends with the last.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Sessions that are told apart at one time; programs have one or two.
const SESSIONS_MAX: usize = 16;
/// No session's handle.
const NONE: usize = 0;

static WORLD: AtomicBool = AtomicBool::new(false);
static SESSIONS: [AtomicUsize; SESSIONS_MAX] = [const { AtomicUsize::new(NONE) }; SESSIONS_MAX];

/// `MPI_Init` has succeeded.
pub fn world_opened() {
    WORLD.store(true, Ordering::Relaxed);
}

/// `MPI_Finalize` begins. Answers whether nothing holds MPI open any more.
pub fn world_closing() -> bool {
    WORLD.store(false, Ordering::Relaxed);
    first_session().is_none()
}

/// `MPI_Session_init` has made this session. Telling it again (the call may come through both of
/// its names) changes nothing.
pub fn session_opened(session: usize) {
    if SESSIONS.iter().any(|slot| slot.load(Ordering::Relaxed) == session) {
        return;
    }
    let _ = SESSIONS.iter().find(|slot| {
        slot.compare_exchange(NONE, session, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    });
}

/// `MPI_Session_finalize` of this session begins. Answers whether nothing holds MPI open any more.
pub fn session_closing(session: usize) -> bool {
    for slot in &SESSIONS {
        let _ = slot.compare_exchange(session, NONE, Ordering::Relaxed, Ordering::Relaxed);
    }
    first_session().is_none() && !WORLD.load(Ordering::Relaxed)
}

/// An open session.
pub fn first_session() -> Option<usize> {
    SESSIONS.iter().map(|slot| slot.load(Ordering::Relaxed)).find(|session| *session != NONE)
}
