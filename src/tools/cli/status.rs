//! `pas status`: what a running daemon knows, as tables.

use crate::cli::{Failure, output};
use crate::client::{self, Client};
use crate::report::table::Table;
use crate::report::words;
use anstyle::{AnsiColor, Style};
use pas_core::wire::{CircuitState, Circuits, Decision, JobState, JobStatus};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// How long the daemon may take.
const DEADLINE: Duration = Duration::from_secs(5);
/// Between two looks with `--watch`.
const WATCH_EVERY: Duration = Duration::from_secs(1);
/// Jobs, and circuits, that are listed.
const ROWS_MAX: usize = 200;

const EXAMPLES: &str = "\
Examples:
  pas status                                    the daemon at $PAS_URL, or at the default address
  pas status --url unix:/run/pasd.sock --watch  again every second, until Ctrl-C
  pas status --json | jq '.jobs[].circuits | length'";

/// The arguments of `pas status`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The daemon's address.
    #[arg(long, env = "PAS_URL", default_value = client::DEFAULT_URL)]
    url: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Look again every second.
    #[arg(long, short)]
    watch: bool,
}

/// What the daemon knows.
#[derive(Debug, Serialize)]
struct Status {
    jobs: Vec<JobStatus>,
    circuits: Circuits,
}

/// Runs `pas status`.
///
/// # Errors
///
/// No daemon answers.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let client = Client::new(&arguments.url, DEADLINE).map_err(Failure::new)?;
    loop {
        let status = look(&client);
        if !arguments.watch {
            return show(&status?, arguments).map(|()| ExitCode::SUCCESS);
        }
        // A watcher stays when the daemon is away: that it comes back is what he waits for.
        match status {
            Ok(status) => {
                if !arguments.json {
                    output::clear()?;
                }
                show(&status, arguments)?;
            }
            Err(failure) => anstream::eprintln!("pas: {}", failure.message),
        }
        thread::sleep(WATCH_EVERY);
    }
}

/// `GET /v1/jobs`: without phases and circuits.
#[derive(Deserialize)]
struct Jobs {
    jobs: Vec<JobStatus>,
}

fn look(client: &Client) -> Result<Status, Failure> {
    Ok(Status {
        jobs: client.get::<Jobs>("/v1/jobs").map_err(Failure::new)?.jobs,
        circuits: client.get("/v1/circuits").map_err(Failure::new)?,
    })
}

fn show(status: &Status, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.json {
        return output::json(status);
    }
    output::text(&render(status, &arguments.url))
}

fn render(status: &Status, url: &str) -> String {
    let heading = Style::new().bold();
    let circuits = &status.circuits.circuits;
    let mut out = format!(
        "{heading}pasd at {}{heading:#}: {}, {}, {} of others on the switches\n",
        words::printable(url),
        words::plural(status.jobs.len() as u64, "job"),
        words::plural(circuits.len() as u64, "circuit"),
        words::plural(status.circuits.foreign.len() as u64, "cross-connect"),
    );
    let mut part = |title: &str, table: Table, rows: usize| {
        let _ = write!(out, "\n{heading}{title}{heading:#}\n");
        match rows {
            0 => out.push_str("  none\n"),
            _ => out.push_str(&table.render("  ")),
        }
        if rows > ROWS_MAX {
            let _ = writeln!(
                out,
                "  and {} more (--json has all)",
                words::count((rows - ROWS_MAX) as u64)
            );
        }
    };
    part("Jobs", jobs(status), status.jobs.len());
    part("Circuits", circuit_table(status), circuits.len());
    let decisions: usize = status.jobs.iter().map(|job| job.decisions.len()).sum();
    part("Decisions", decision_table(&status.jobs), decisions);
    out
}

fn jobs(status: &Status) -> Table {
    let mut table = Table::new(6).right(3).right(5);
    table.row(["job", "state", "program", "ranks", "hosts", "circuits"]);
    let held = |job: &JobStatus| {
        let circuits = status.circuits.circuits.iter();
        circuits.filter(|circuit| circuit.job.as_ref() == Some(&job.job)).count()
    };
    for job in status.jobs.iter().take(ROWS_MAX) {
        let (state, colour) = match job.state {
            JobState::Running => ("running", AnsiColor::Green.on_default()),
            JobState::Ended => ("ended", Style::new()),
            JobState::Expired => ("lost (leases ran out)", AnsiColor::Red.on_default()),
        };
        let more = job.hosts.len().saturating_sub(2);
        let mut hosts = job.hosts.iter().take(2).cloned().collect::<Vec<_>>().join(", ");
        if more > 0 {
            let _ = write!(hosts, " and {more} more");
        }
        table.styled(
            colour,
            [
                job.job.clone(),
                state.to_string(),
                job.program.clone(),
                format!("{}/{}", job.ranks_alive, job.world_size),
                hosts,
                held(job).to_string(),
            ],
        );
    }
    table
}

fn circuit_table(status: &Status) -> Table {
    let mut table = Table::new(5);
    table.row(["circuit", "plane", "hosts", "state", "job"]);
    for circuit in status.circuits.circuits.iter().take(ROWS_MAX) {
        let (state, colour) = match circuit.state {
            CircuitState::Switching => ("switching", AnsiColor::Yellow.on_default()),
            CircuitState::Lit => ("lit, link coming up", AnsiColor::Yellow.on_default()),
            CircuitState::Up => ("up", AnsiColor::Green.on_default()),
            CircuitState::Draining => ("about to be removed", Style::new()),
            CircuitState::Failed => ("failed", AnsiColor::Red.on_default()),
        };
        table.styled(
            colour,
            [
                circuit.id.to_string(),
                circuit.plane.clone(),
                format!("{} - {}", circuit.a, circuit.b),
                state.to_string(),
                circuit.job.clone().unwrap_or_default(),
            ],
        );
    }
    table
}

fn decision_table(jobs: &[JobStatus]) -> Table {
    let mut table = Table::new(4).right(2);
    table.row(["job", "answer", "times", "why"]);
    let decisions = jobs.iter().flat_map(|job| job.decisions.iter().map(move |made| (job, made)));
    for (job, made) in decisions.take(ROWS_MAX) {
        let colour = match made.decision {
            Decision::Granted => AnsiColor::Green.on_default(),
            Decision::Partial | Decision::Hold => AnsiColor::Yellow.on_default(),
            Decision::Refused => AnsiColor::Red.on_default(),
        };
        table.styled(
            colour,
            [
                job.job.clone(),
                words::decision(made.decision).to_string(),
                words::count(made.count),
                words::reason(made.reason).to_string(),
            ],
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use pas_core::wire::VERSION;

    #[test]
    fn a_job_its_circuits_and_its_decisions_are_shown() {
        let job = sample::job_report().job.expect("a daemon");
        let circuits = job.circuits.clone();
        let status = Status {
            jobs: vec![job],
            circuits: Circuits { version: VERSION, circuits, foreign: Vec::new() },
        };
        let text =
            anstream::adapter::strip_str(&render(&status, "unix:/run/pasd.sock")).to_string();
        for part in [
            "pasd at unix:/run/pasd.sock: 1 job, 2 circuits",
            "example-1  ended  train-cnn",
            "host0 - host1",
            "too few bytes to pay for switching",
        ] {
            assert!(text.contains(part), "{part:?} is missing in\n{text}");
        }
        let nothing = Status {
            jobs: Vec::new(),
            circuits: Circuits { version: VERSION, circuits: Vec::new(), foreign: Vec::new() },
        };
        assert_eq!(render(&nothing, "u").matches("  none\n").count(), 3);
    }
}
