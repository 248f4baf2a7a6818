//! The calls that are no rows of the table, each with its reason.
//!
//! * `MPI_Init`, `MPI_Init_thread`, `MPI_Session_init`: begin something once they have succeeded.
//! * `MPI_Comm_create_from_group`, `MPI_Intercomm_create_from_groups`: the first communicator of a
//!   program that uses sessions only; nothing can be said of its ranks before.
//! * `MPI_Finalize`, `MPI_Session_finalize`, `MPI_Abort`: end the life before they begin.
//! * `MPI_Comm_free`, `MPI_Comm_disconnect`, `MPI_Win_free`, `MPI_Request_free`: the handle must be
//!   forgotten *before* the call, since after it another thread may be given the same handle for
//!   something new.
//! * `MPI_Start`, `MPI_Startall`: what they move was said when the request was made.
//! * `MPI_Comm_set_name`: carries no traffic, but declared patterns and reports go by the name.
#![expect(unsafe_code, reason = "exports C functions and calls the real ones through pointers")]

use super::entry::newer_names;
use super::flavor::{self, Model};
use super::guard::{self, Guard};
use super::newer::{Visit, newer};
use super::real::{self, real};
use super::record::{Facts, NONE, record, record_start};
use super::table::{Handle, In, Int, IntOut, Out};
use super::{clock, sessions};
use crate::life::Life;
use crate::skip::Bypass;
use crate::{arming, life};
use pas_core::event::Flags;
use pas_core::op::Op;
use pas_core::wire::validate::{NAME_BYTES_MAX, plain};
use std::ffi::{CStr, c_int};

/// Exports each call under its two names; the handler gets the arguments and the real function.
/// What stands in brackets is done before the real function is looked up.
macro_rules! special {
    ($before:tt $($name:ident $args:tt => $handler:ident;)*) => {$(
        special!(@one $before, stringify!($name), $args, $handler);
        special!(@one $before, concat!("P", stringify!($name)), $args, $handler);
    )*};
    (@one [$($before:expr)?], $name:expr, ($($arg:ident: $type:ty),* $(,)?), $handler:ident) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            pub unsafe extern "C-unwind" fn forward($($arg: $type),*) -> c_int {
                $($before;)?
                let real = real!($name, ($($arg: $type),*));
                // SAFETY: the program's own call, its arguments untouched.
                unsafe { $handler($($arg,)* real) }
            }
        };
    };
}

// A second MPI's first call must not go to the first one.
special! {
    [life::guarded(real::note_several)]
    MPI_Init(argc: IntOut, argv: Out) => init;
    MPI_Init_thread(argc: IntOut, argv: Out, required: Int, provided: IntOut) => init_thread;
    MPI_Session_init(info: Handle, errhandler: Handle, session: Out) => session_init;
}

special! {
    []
    MPI_Finalize() => finalize;
    MPI_Session_finalize(session: Out) => session_finalize;
    MPI_Abort(comm: Handle, errorcode: Int) => abort;
    MPI_Comm_create_from_group(group: Handle, stringtag: In, info: Handle, errhandler: Handle,
                               newcomm: Out) => comm_create_from_group;
    MPI_Intercomm_create_from_groups(local_group: Handle, local_leader: Int, remote_group: Handle,
                                     remote_leader: Int, stringtag: In, info: Handle,
                                     errhandler: Handle, newintercomm: Out)
        => intercomm_create_from_groups;
    MPI_Comm_free(comm: Out) => comm_free;
    MPI_Comm_disconnect(comm: Out) => comm_disconnect;
    MPI_Comm_set_name(comm: Handle, comm_name: In) => comm_set_name;
    MPI_Win_free(win: Out) => win_free;
    MPI_Start(request: Out) => start;
    MPI_Startall(count: Int, requests: Out) => startall;
    MPI_Request_free(request: Out) => request_free;
}

/// As [`super::entry::each_newer`], of the calls here.
pub fn each_newer(visit: &mut Visit<'_>) {
    newer_names!(visit, v4, MPI_Session_init);
    newer_names!(visit, v4, MPI_Session_finalize);
    newer_names!(visit, v4, MPI_Comm_create_from_group);
    newer_names!(visit, v4, MPI_Intercomm_create_from_groups);
}

/// The real function behind a handler.
type Real0 = unsafe extern "C-unwind" fn() -> c_int;
type Real1 = unsafe extern "C-unwind" fn(Out) -> c_int;
type RealInit = unsafe extern "C-unwind" fn(IntOut, Out) -> c_int;
type RealInitThread = unsafe extern "C-unwind" fn(IntOut, Out, Int, IntOut) -> c_int;
type RealSessionInit = unsafe extern "C-unwind" fn(Handle, Handle, Out) -> c_int;
type RealAbort = unsafe extern "C-unwind" fn(Handle, Int) -> c_int;
type RealFromGroup = unsafe extern "C-unwind" fn(Handle, In, Handle, Handle, Out) -> c_int;
type RealFromGroups =
    unsafe extern "C-unwind" fn(Handle, Int, Handle, Int, In, Handle, Handle, Out) -> c_int;
type RealSetName = unsafe extern "C-unwind" fn(Handle, In) -> c_int;
type RealStartall = unsafe extern "C-unwind" fn(Int, Out) -> c_int;

/// # Safety
/// The program's own arguments, and the function that it called. So for all handlers here.
unsafe fn init(argc: IntOut, argv: Out, real: RealInit) -> c_int {
    // SAFETY: the caller's.
    initialised(unsafe { real(argc, argv) })
}

/// # Safety
/// As for [`init`].
unsafe fn init_thread(
    argc: IntOut,
    argv: Out,
    required: Int,
    provided: IntOut,
    real: RealInitThread,
) -> c_int {
    // SAFETY: the caller's.
    initialised(unsafe { real(argc, argv, required, provided) })
}

fn initialised(result: c_int) -> c_int {
    if result == 0 {
        sessions::world_opened();
        life::guarded(|| arming::arm(Model::World));
    }
    result
}

/// The worker sends its last messages while the MPI finalises; what is not out by the deadline
/// (`PAS_DRAIN_MS`) stays unsent.
///
/// # Safety
/// As for [`init`].
unsafe fn finalize(real: Real0) -> c_int {
    // SAFETY: the caller's.
    end(sessions::world_closing(), || unsafe { real() })
}

/// Ends the life around the call that closes MPI, if that is the last.
fn end(last: bool, real: impl FnOnce() -> c_int) -> c_int {
    let deadline = if last { life::guarded(arming::begin_end).flatten() } else { None };
    let result = real();
    if let Some(deadline) = deadline {
        life::guarded(|| arming::wait_end(deadline));
    }
    result
}

/// # Safety
/// As for [`init`].
unsafe fn session_init(
    info: Handle,
    errhandler: Handle,
    session: Out,
    real: RealSessionInit,
) -> c_int {
    // SAFETY: the caller's; the call that has succeeded has written the handle.
    unsafe {
        let result = real(info, errhandler, session);
        if result == 0 {
            life::guarded(|| flavor::read_loaded(session).map(sessions::session_opened));
        }
        result
    }
}

/// # Safety
/// As for [`init`].
unsafe fn session_finalize(session: Out, real: Real1) -> c_int {
    // SAFETY: the caller's; the MPI is about to read the same memory.
    let handle = life::guarded(|| unsafe { flavor::read_loaded(session) }).flatten();
    // SAFETY: the caller's.
    end(handle.is_some_and(sessions::session_closing), || unsafe { real(session) })
}

/// Nothing is waited for: the daemon takes the circuits back when the lease ends.
///
/// # Safety
/// As for [`init`].
unsafe fn abort(comm: Handle, errorcode: Int, real: RealAbort) -> c_int {
    life::guarded(arming::begin_end);
    // SAFETY: the caller's.
    unsafe { real(comm, errorcode) }
}

/// # Safety
/// As for [`init`].
unsafe fn comm_create_from_group(
    group: Handle,
    stringtag: In,
    info: Handle,
    errhandler: Handle,
    newcomm: Out,
    real: RealFromGroup,
) -> c_int {
    let facts = Facts { new_comm: newcomm, ..NONE };
    // SAFETY: the caller's.
    unsafe {
        first_comm(Op::CommCreateFromGroup, &facts, || {
            real(group, stringtag, info, errhandler, newcomm)
        })
    }
}

/// # Safety
/// As for [`init`].
#[expect(clippy::too_many_arguments, reason = "as many as the call has")]
unsafe fn intercomm_create_from_groups(
    local_group: Handle,
    local_leader: Int,
    remote_group: Handle,
    remote_leader: Int,
    stringtag: In,
    info: Handle,
    errhandler: Handle,
    newintercomm: Out,
    real: RealFromGroups,
) -> c_int {
    let facts = Facts { new_comm: newintercomm, ..NONE };
    // SAFETY: the caller's.
    unsafe {
        first_comm(Op::IntercommCreateFromGroups, &facts, || {
            real(
                local_group,
                local_leader,
                remote_group,
                remote_leader,
                stringtag,
                info,
                errhandler,
                newintercomm,
            )
        })
    }
}

/// Begins a life with the first communicator that a session gives, and records its making.
///
/// # Safety
/// The facts are arguments of the program's call, which `call` makes.
unsafe fn first_comm(op: Op, facts: &Facts, call: impl FnOnce() -> c_int) -> c_int {
    let start_ticks = clock::ticks();
    let result = call();
    if result == 0
        && !life::recording()
        && let Some(session) = sessions::first_session()
    {
        life::guarded(|| arming::arm(Model::Session(session)));
    }
    if let Some(guard) = admitted(op) {
        // SAFETY: the caller's.
        unsafe { record(&guard, op, start_ticks, result, facts) };
    }
    result
}

/// Leave to record, where something is being recorded and this is not inside another call.
fn admitted(op: Op) -> Option<Guard> {
    if life::recording() { guard::enter(op) } else { None }
}

/// # Safety
/// As for [`init`].
unsafe fn comm_free(comm: Out, real: Real1) -> c_int {
    // SAFETY: the caller's.
    unsafe { release(Op::CommFree, comm, real, |life, handle| life.comms.remove(handle)) }
}

/// # Safety
/// As for [`init`].
unsafe fn comm_disconnect(comm: Out, real: Real1) -> c_int {
    // SAFETY: the caller's.
    unsafe { release(Op::CommDisconnect, comm, real, |life, handle| life.comms.remove(handle)) }
}

/// # Safety
/// As for [`init`].
unsafe fn win_free(win: Out, real: Real1) -> c_int {
    // SAFETY: the caller's.
    unsafe { release(Op::WinFree, win, real, |life, handle| life.windows.remove(handle)) }
}

/// # Safety
/// As for [`init`].
unsafe fn request_free(request: Out, real: Real1) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        release(Op::RequestFree, request, real, |life, handle| life.persistent.forget(handle))
    }
}

/// Forgets what the handle stands for, then lets the MPI do so. Where the MPI refuses, a
/// communicator is registered again at its next use; what moves by the others is then not told.
///
/// # Safety
/// `pointer` is the argument of the program's call, `real` the function that it called.
unsafe fn release(op: Op, pointer: Out, real: Real1, forget: impl FnOnce(&Life, usize)) -> c_int {
    let Some(guard) = admitted(op) else {
        // SAFETY: the caller's.
        return unsafe { real(pointer) };
    };
    if !pointer.is_null() {
        let life = guard.life();
        // SAFETY: not null; the MPI is about to read the same memory.
        let handle = unsafe { life.mpi.read_handle(pointer, 0) };
        life::guarded(|| forget(life, handle));
    }
    let start_ticks = clock::ticks();
    // SAFETY: the caller's.
    unsafe {
        let result = real(pointer);
        record(&guard, op, start_ticks, result, &NONE);
        result
    }
}

/// # Safety
/// As for [`init`].
unsafe fn start(request: Out, real: Real1) -> c_int {
    let Some(guard) = admitted(Op::Start) else {
        // SAFETY: the caller's.
        return unsafe { real(request) };
    };
    let ticks = clock::ticks();
    // SAFETY: the caller's; the handle of a persistent request is the same after its start.
    unsafe {
        let result = real(request);
        let known = result == 0 && {
            let handle = guard.life().mpi.read_handle(request, 0);
            record_start(&guard, handle, ticks, Flags::default())
        };
        if !known {
            record(&guard, Op::Start, ticks, result, &NONE);
        }
        result
    }
}

/// Requests of one `MPI_Startall` of which each is recorded.
const STARTED_MAX: usize = 1024;

/// # Safety
/// As for [`init`].
unsafe fn startall(count: Int, requests: Out, real: RealStartall) -> c_int {
    let Some(guard) = admitted(Op::Startall) else {
        // SAFETY: the caller's.
        return unsafe { real(count, requests) };
    };
    let ticks = clock::ticks();
    // SAFETY: the caller's; as for `start`, and the vector has `count` handles.
    unsafe {
        let result = real(count, requests);
        record(&guard, Op::Startall, ticks, result, &NONE);
        if result == 0 {
            let count = usize::try_from(count).unwrap_or(0);
            for index in 0..count.min(STARTED_MAX) {
                let handle = guard.life().mpi.read_handle(requests, index);
                record_start(&guard, handle, ticks, Flags::IN_STARTALL);
            }
            Bypass::StartallCut.count_many(count.saturating_sub(STARTED_MAX) as u64);
        }
        result
    }
}

/// # Safety
/// As for [`init`].
unsafe fn comm_set_name(comm: Handle, comm_name: In, real: RealSetName) -> c_int {
    // SAFETY: the caller's.
    let result = unsafe { real(comm, comm_name) };
    if result == 0 && life::recording() {
        life::guarded(|| {
            let Some(life) = life::current() else { return };
            // SAFETY: the MPI has just read the same string and found it good.
            let name = unsafe { CStr::from_ptr(comm_name.cast()) };
            life.comms
                .rename(life.mpi.handle(comm), plain(&name.to_string_lossy(), NAME_BYTES_MAX));
        });
    }
    result
}
