//! `pas doctor`: is everything here that PAS needs, and what to do where it is not.

mod checks;

use crate::cli::{Failure, output};
use crate::report::table::Table;
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  pas doctor                          this machine, and the daemon at $PAS_URL if set
  pas doctor --url http://head:7447   ... and that daemon
  pas doctor --fabric fabric.toml     ... and whether this host is in that fabric
  pas doctor --json | jq '.[] | select(.level == \"fail\")'

Exit code: 0 where nothing failed, 1 where something did.";

/// The arguments of `pas doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The daemon that the jobs are to use.
    #[arg(long, env = "PAS_URL")]
    url: Option<String>,
    /// Fabric file to look this host up in.
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// As it should be.
    Ok,
    /// PAS works, but something may surprise.
    Warn,
    /// PAS cannot work like this.
    Fail,
}

/// One line of the answer.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    level: Level,
    /// What was found.
    found: String,
    /// What to do; empty where nothing is.
    todo: String,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Check {
        Check { name, level: Level::Ok, found: found.into(), todo: String::new() }
    }

    fn warn(name: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Check {
        Check { name, level: Level::Warn, found: found.into(), todo: todo.into() }
    }

    fn fail(name: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Check {
        Check { name, level: Level::Fail, found: found.into(), todo: todo.into() }
    }
}

/// Runs `pas doctor`.
///
/// # Errors
///
/// Standard output cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let checks = checks::all(arguments);
    match arguments.json {
        true => output::json(&checks)?,
        false => output::text(&render(&checks))?,
    }
    let failed = checks.iter().any(|check| check.level == Level::Fail);
    Ok(ExitCode::from(u8::from(failed)))
}

fn render(checks: &[Check]) -> String {
    let mut out = String::new();
    for check in checks {
        let (word, colour) = match check.level {
            Level::Ok => ("ok", AnsiColor::Green.on_default()),
            Level::Warn => ("warn", AnsiColor::Yellow.on_default()),
            Level::Fail => ("FAIL", AnsiColor::Red.on_default().bold()),
        };
        // One table for each line keeps the level's column as wide in all of them.
        let mut table = Table::new(3);
        let name = format!("{:<8}", check.name);
        table.styled(colour, [format!("{word:<4}"), name, check.found.clone()]);
        if !check.todo.is_empty() {
            table.row(["", "", &format!("-> {}", check.todo)]);
        }
        out.push_str(&table.render(""));
    }
    let count = |level| checks.iter().filter(|check| check.level == level).count();
    let bold = Style::new().bold();
    let verdict = match (count(Level::Fail), count(Level::Warn)) {
        (0, 0) => "all is well: try `pas run -- mpirun -n 2 ./your-program`".to_string(),
        (0, warnings) => format!("PAS can work here; {warnings} to look at"),
        (failures, _) => format!("{failures} must be mended before PAS can work here"),
    };
    let _ = writeln!(out, "\n{bold}{verdict}{bold:#}");
    out
}

#[cfg(test)]
mod tests;
