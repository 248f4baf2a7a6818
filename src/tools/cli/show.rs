//! `pas report`: a job's report on the terminal, as a page, as JSON.

use crate::cli::{Failure, output, place};
use crate::client::{self, Client};
use crate::report::digest::Digest;
use crate::report::load::{self, Loaded};
use crate::report::{html, sample, text};
use pas_core::wire::JobReport;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How long the daemon may take for a report, which may be long.
const DEADLINE: Duration = Duration::from_secs(30);

const EXAMPLES: &str = "\
Examples:
  pas report                             the last job that `pas run` started here
  pas report out/                        the reports that the ranks wrote to out/
  pas report --html report.html          ... as one page, and the summary here
  pas report --job train-7 --url http://127.0.0.1:7447
  pas report out/ --json | jq .ranks[0].counters";

/// The arguments of `pas report`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Folder with the ranks' reports (PAS_REPORT_DIR of the job); default: the last `pas run`.
    folder: Option<PathBuf>,
    /// Ask the daemon for this job's report instead.
    #[arg(long, value_name = "ID", conflicts_with = "folder")]
    job: Option<String>,
    /// The daemon's address, for --job.
    #[arg(long, env = "PAS_URL", default_value = client::DEFAULT_URL)]
    url: String,
    /// Write the report as one self-contained page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the report's data as JSON instead of the summary.
    #[arg(long)]
    json: bool,
    /// Show a made-up job, to see what a report looks like.
    #[arg(long, conflicts_with_all = ["folder", "job"])]
    example: bool,
}

/// Runs `pas report`.
///
/// # Errors
///
/// No report there, or the page cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let loaded = load(arguments)?;
    if arguments.json {
        output::json(&loaded.report)?;
    }
    let digest = Digest::new(loaded);
    if !arguments.json {
        output::text(&text::render(&digest))?;
    }
    if let Some(path) = &arguments.html {
        write_page(path, &digest)?;
        anstream::eprintln!("page written: {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn load(arguments: &Arguments) -> Result<Loaded, Failure> {
    if arguments.example {
        return Ok(load::from_daemon(sample::job_report()));
    }
    if let Some(job) = &arguments.job {
        let client = Client::new(&arguments.url, DEADLINE).map_err(Failure::new)?;
        let path = format!("/v1/jobs/{}/report", client::segment(job));
        return client.get::<JobReport>(&path).map(load::from_daemon).map_err(Failure::new);
    }
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => place::latest().map_err(Failure::new)?,
    };
    load::from_folder(&folder).map_err(Failure::new)
}

/// Writes the page, whole or not at all.
///
/// # Errors
///
/// What could not be written, and why.
pub fn write_page(path: &Path, digest: &Digest) -> Result<(), Failure> {
    output::file(path, html::render(digest).as_bytes())
}
