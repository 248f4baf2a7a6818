//! The pure half of PAS: what a training job's communication looks like, what it needs of the
//! fabric, and what the controller decides. The shim, the daemon and the simulator all run this
//! same code.
//!
//! No unsafe code, no input or output, no clock and no threads: time is an argument, and the same
//! inputs give the same outputs byte for byte.
//!
//! # Words (one noun per thing; the README's glossary has them all)
//!
//! * **collective, algorithm, step**: an MPI call such as `MPI_Allreduce`; how the library carries
//!   it out; one round of that, a set of (source, destination, bytes).
//! * **pattern**: the named sequence of steps ([`pattern::Pattern`]).
//! * **phase**: a maximal run of communication with one pattern on one communicator inside an
//!   iteration; **iteration**: the repeating unit of training.
//! * **finding**: what the detector says of a phase, with its source and its confidence.
//! * **demand**: what a phase needs of the fabric: bytes between hosts ([`demand`]).
//! * **plan**: which circuits on which planes, or *hold* with the reason ([`planner`]).
//! * **engine**: the controller's state machine ([`engine`]).

pub mod demand;
pub mod detector;
pub mod engine;
pub mod event;
pub mod fabric;
pub mod learned;
pub mod library;
pub mod members;
pub mod op;
pub mod pattern;
pub mod planner;
pub mod recognise;
pub mod rules;
pub mod schedule;
pub mod units;
pub mod wire;
