//! libpas.so: watches the communication of an unmodified MPI job and asks for circuits ahead of
//! it.
//!
//! # One intercepted call, end to end
//!
//! 1. The program calls `MPI_Allreduce`; the loader bound it to the function of that name here,
//!    expanded by [`preload::entry`] from its row in [`preload::table`].
//! 2. Off the record (before `MPI_Init`, mode `off`, in a forked child) it is one load, one
//!    branch and a jump to the real function, which [`preload::real`] resolved.
//! 3. On the record, [`preload::guard`] admits the outermost call of a thread only, so that what
//!    a library does inside its own calls is not taken for the program's.
//! 4. The real function runs, once, with the arguments untouched.
//! 5. After it has succeeded, the facts that the row names (count, datatype, communicator) are
//!    read through [`preload::flavor`], and a 40-byte record goes into the thread's own
//!    [`preload::ring`]. A full ring drops it and counts that.
//! 6. The one [`worker`] thread drains the rings, turns ticks into nanoseconds, and feeds the
//!    detector of `pas-core` and the sums of the rank's report.
//! 7. When the detector forecasts a phase, the worker's [`agent`] asks pasd to pre-stage its
//!    circuits, early by the fabric's delays. While it waits for an answer it goes on draining.
//! 8. At `MPI_Finalize` the worker gets a bounded time to send what it has; then silence.
//!
//! # What holds everywhere
//!
//! * The host's call is made exactly once, whatever happens to us; ours is before and after it.
//! * Nothing of ours communicates in the job's MPI: only local queries (`PMPI_Comm_size`, ...).
//! * No wait without a deadline; no buffer of the program is ever read, so a device pointer is
//!   as good as any.
//! * Whatever was not done has a name and a counter in [`skip`].

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "a cdylib has no public Rust interface: its documentation is for its builders"
)]

mod agent;
mod arming;
mod capi;
mod identity;
mod knobs;
mod life;
mod preload;
mod report;
mod say;
mod skip;
mod sys;
mod worker;
