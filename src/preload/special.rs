//! The calls that are no rows of the table, each with its reason.
//!
//! * `MPI_Init`, `MPI_Init_thread`: start a life once they have succeeded.
//! * `MPI_Finalize`, `MPI_Abort`: end it before they begin.
//! * `MPI_Comm_free`, `MPI_Comm_disconnect`: the handle must be forgotten *before* the call, since
//!   after it another thread may be given the same handle for a new communicator.
//! * `MPI_Comm_set_name`: carries no traffic, but declared patterns and reports go by the name.
#![expect(unsafe_code, reason = "exports C functions and calls the real ones through pointers")]

use super::entry::{NONE, record};
use super::real::real;
use super::table::{Handle, In, Int, IntOut, Out};
use super::{clock, guard};
use crate::{arming, life};
use pas_core::op::Op;
use pas_core::wire::validate::{NAME_BYTES_MAX, plain};
use std::ffi::{CStr, c_int};

/// `MPI_Init`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Init(argc: IntOut, argv: Out) -> c_int {
    let real = real!(MPI_Init(argc: IntOut, argv: Out));
    // SAFETY: the program's own call, its arguments untouched.
    let result = unsafe { real(argc, argv) };
    if result == 0 {
        life::guarded(arming::arm);
    }
    result
}

/// `MPI_Init_thread`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Init_thread(
    argc: IntOut,
    argv: Out,
    required: Int,
    provided: IntOut,
) -> c_int {
    let real = real!(MPI_Init_thread(argc: IntOut, argv: Out, required: Int, provided: IntOut));
    // SAFETY: the program's own call, its arguments untouched.
    let result = unsafe { real(argc, argv, required, provided) };
    if result == 0 {
        life::guarded(arming::arm);
    }
    result
}

/// `MPI_Finalize`. The worker sends its last messages while the MPI finalises; what is not out
/// by the deadline (`PAS_DRAIN_MS`) stays unsent.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Finalize() -> c_int {
    let deadline = life::guarded(arming::begin_end).flatten();
    let real = real!(MPI_Finalize());
    // SAFETY: the program's own call.
    let result = unsafe { real() };
    if let Some(deadline) = deadline {
        life::guarded(|| arming::wait_end(deadline));
    }
    result
}

/// `MPI_Abort`. Nothing is waited for: the daemon takes the circuits back when the lease ends.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Abort(comm: Handle, errorcode: Int) -> c_int {
    life::guarded(arming::begin_end);
    let real = real!(MPI_Abort(comm: Handle, errorcode: Int));
    // SAFETY: the program's own call, its arguments untouched.
    unsafe { real(comm, errorcode) }
}

/// `MPI_Comm_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Comm_free(comm: Out) -> c_int {
    let real = real!(MPI_Comm_free(comm: Out));
    // SAFETY: the program's own call, its arguments untouched.
    unsafe { release(Op::CommFree, comm, real) }
}

/// `MPI_Comm_disconnect`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Comm_disconnect(comm: Out) -> c_int {
    let real = real!(MPI_Comm_disconnect(comm: Out));
    // SAFETY: the program's own call, its arguments untouched.
    unsafe { release(Op::CommDisconnect, comm, real) }
}

/// Forgets the communicator, then lets the MPI do so. Where the MPI refuses, the communicator is
/// registered again at its next use.
///
/// # Safety
/// `comm` is the argument of the program's call, `real` the function it called.
unsafe fn release(op: Op, comm: Out, real: unsafe extern "C-unwind" fn(Out) -> c_int) -> c_int {
    let admitted = if life::recording() { guard::enter() } else { None };
    let Some(guard) = admitted else {
        // SAFETY: the caller's.
        return unsafe { real(comm) };
    };
    if !comm.is_null() {
        let life = guard.life();
        // SAFETY: not null; the MPI is about to read the same memory.
        let handle = unsafe { life.mpi.read_handle(comm, 0) };
        life::guarded(|| life.comms.remove(handle));
    }
    let start_ticks = clock::ticks();
    // SAFETY: the caller's.
    unsafe {
        let result = real(comm);
        record(&guard, op, start_ticks, result, &NONE);
        result
    }
}

/// `MPI_Comm_set_name`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Comm_set_name(comm: Handle, comm_name: In) -> c_int {
    let real = real!(MPI_Comm_set_name(comm: Handle, comm_name: In));
    // SAFETY: the program's own call, its arguments untouched.
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
