//! The command line `pas`: one module for each subcommand.

pub mod launcher;
pub mod preload;
pub mod process;
