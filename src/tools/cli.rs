//! The command line `pas`: the argument tree here, one module for each subcommand.

mod doctor;
mod embedded;
mod extras;
pub mod launcher;
mod linkage;
mod output;
mod place;
pub mod preload;
pub mod process;
mod run;
mod show;
mod status;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Pattern-aware optical switching for MPI training jobs.
#[derive(Debug, Parser)]
#[command(name = "pas", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  pas run -- mpirun -n 4 ./train        watch a job, ask for circuits, print a summary
  pas report --html report.html         the last job's report as a page
  pas report --example --html demo.html what a report looks like, without running anything
  pas doctor                            is everything here that PAS needs?
  pas status --watch                    what a running daemon does";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a job under PAS: preload libpas.so, start a daemon if none is named, print a summary.
    Run(run::Arguments),
    /// Show a job's report: patterns, circuits asked and granted, losses, drops.
    Report(show::Arguments),
    /// Check what PAS needs on this machine, and say what to do.
    Doctor(doctor::Arguments),
    /// Show what a running daemon does: jobs, circuits, decisions.
    Status(status::Arguments),
    /// Print a completion script for a shell.
    Completions(extras::Completions),
    /// Print the manual page, or write those of all subcommands.
    Man(extras::Man),
}

/// Parses the command line, does what it says, and answers the exit code.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Report(arguments) => show::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Completions(arguments) => extras::completions(&arguments),
        Command::Man(arguments) => extras::man(&arguments),
    };
    result.unwrap_or_else(|failure| {
        anstream::eprintln!("pas: {}", failure.message);
        ExitCode::from(failure.code)
    })
}

/// Why a subcommand ends early: a message for people and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// What, which value, what to do.
    pub message: String,
    /// The exit code.
    pub code: u8,
}

/// The file that a shell would take for a program's name.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

impl Failure {
    fn new(message: impl ToString) -> Failure {
        Failure { message: message.to_string(), code: 1 }
    }
}
