//! Everything of PAS that is not inside a rank: the command line `pas` and the daemon `pasd`.

pub mod cli;
pub mod client;
pub mod daemon;
pub mod report;
