//! Interposition: everything that runs on the host's own threads.
//!
//! # Rules of the hot path
//!
//! 1. The host's call is made exactly once, with its arguments untouched, whatever becomes of us.
//! 2. Off the record a wrapper is one load, one branch, one jump. Each real pointer starts at a
//!    cold resolver of the same signature, so there is no NULL to test for.
//! 3. On the record: no lock, system call, formatting or environment read. A thread's first
//!    record takes a ring from the pool, a communicator's first use registers it: both are cold.
//! 4. A full ring drops the record and counts it. It never blocks and never overwrites.
//! 5. What is decided before the call is kept for after it; the state is not read twice.
//! 6. Facts of the arguments are read *after* the call and only if it succeeded: a handle that
//!    the MPI refused is never shown to the MPI again by us.
//! 7. `extern "C-unwind"` on both sides: an exception of the host passes through as before.
//! 8. errno is as the host's call left it: between its return and ours there is no system call,
//!    and the cold parts save it.
//! 9. A panic of our own is caught at the boundary of the cold parts, turns PAS off, and is
//!    counted; the hot part has nothing that can panic.

pub mod clock;
pub mod comms;
pub mod elf;
pub mod entry;
pub mod flavor;
pub mod guard;
pub mod handle_map;
pub mod load;
pub mod newer;
pub mod persistent;
pub mod real;
pub mod record;
pub mod ring;
pub mod sessions;
pub mod special;
pub mod table;
pub mod windows;
