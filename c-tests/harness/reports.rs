//! Running jobs for the ranks' reports, and asking those.

use crate::run::{Job, Outcome};
use std::fmt::Debug;
use std::fs;
use std::path::Path;

/// The report of a rank, as libpas.so has written it into the folder.
pub fn read(folder: &Path, rank: u32) -> Result<serde_json::Value, String> {
    read_file(&folder.join(format!("rank-{rank}.json")))
}

/// A report in a file of any name.
pub fn read_file(file: &Path) -> Result<serde_json::Value, String> {
    let text = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Runs a job with a folder for its reports; the outcome, and what the ranks in question reported.
pub fn of_ranks(
    job: &Job,
    ranks: impl Iterator<Item = u32>,
) -> Result<(Outcome, Vec<Result<serde_json::Value, String>>), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().display().to_string();
    let outcome = job.clone().with("PAS_REPORT_DIR", path).run()?;
    Ok((outcome, ranks.map(|rank| read(folder.path(), rank)).collect()))
}

/// Runs a job under libpas.so, which must succeed, and reads the reports, by rank.
pub fn all(job: Job) -> Result<Vec<serde_json::Value>, String> {
    let ranks = job.ranks;
    let (outcome, reports) = of_ranks(&job.preloaded(), 0..ranks)?;
    match outcome.code {
        0 => reports.into_iter().collect(),
        code => Err(format!("exit code {code}: {}", outcome.stderr)),
    }
}

/// Runs a job as it is; the outcome, and the report of rank 0, null where there is none.
pub fn of_rank_0(job: &Job) -> Result<(Outcome, serde_json::Value), String> {
    let (outcome, mut reports) = of_ranks(job, 0..1)?;
    Ok((outcome, reports.remove(0).unwrap_or_default()))
}

/// The sum over communicators of a column of the calls' table.
pub fn sum(report: &serde_json::Value, call: &str, column: &str) -> u64 {
    let rows = report["calls"].as_array().into_iter().flatten();
    rows.filter(|row| row["call"] == call).filter_map(|row| row[column].as_u64()).sum()
}

/// An error where something is not what was wanted.
pub fn expect<T: PartialEq + Debug>(what: &str, got: T, wanted: T) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{what}: {got:?}, expected {wanted:?}")) }
}
