//! Gathers a job's report from the files that its ranks wrote and from what the daemon knows.
//!
//! Whatever is missing or broken is said in a note and the rest is shown: a report is most wanted
//! after a run that went wrong.

use pas_core::wire::{BODY_BYTES_MAX, JobReport, RankReport, VERSION};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The daemon's part, in a report folder.
pub const JOB_FILE: &str = "report.json";
/// A rank's file, in a report folder.
pub fn rank_file(rank: u32) -> String {
    format!("rank-{rank}.json")
}

/// Ranks whose time line is kept; those of a larger job are sampled evenly.
pub const TIMELINE_RANKS_MAX: usize = 16;
/// Longest job file that is read.
const JOB_FILE_BYTES_MAX: u64 = crate::client::RESPONSE_BYTES_MAX;
/// Notes of one kind that are spelt out; the others are counted.
const NOTES_MAX: usize = 5;

/// A report, and what is to be said about its making.
#[derive(Debug)]
pub struct Loaded {
    /// The report.
    pub report: JobReport,
    /// What is missing or was left out, in sentences.
    pub notes: Vec<String>,
}

/// Why there is no report at all.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The folder cannot be read.
    #[error("cannot read the report folder {path}: {why}")]
    Folder {
        /// The folder.
        path: String,
        /// What the system said.
        why: io::Error,
    },
    /// It holds nothing of ours.
    #[error(
        "{path} holds no rank-N.json: no rank has written a report there. Run the job with \
         `pas run --report {path} -- ...`, or preload libpas.so with PAS_REPORT_DIR={path}{more}"
    )]
    Empty {
        /// The folder.
        path: String,
        /// What was wrong with the files that are there.
        more: String,
    },
}

/// Reads a report folder.
///
/// # Errors
///
/// Where not one rank's report can be read.
pub fn from_folder(folder: &Path) -> Result<Loaded, LoadError> {
    let (files, has_job_file) = list(folder)
        .map_err(|why| LoadError::Folder { path: folder.display().to_string(), why })?;
    let mut notes = Notes::default();
    let mut report = empty();
    if has_job_file {
        match read_json::<JobReport>(&folder.join(JOB_FILE), JOB_FILE_BYTES_MAX) {
            Ok(read) if read.version == VERSION => report = read,
            Ok(read) => notes.bad(JOB_FILE, &other_version(read.version)),
            Err(why) => notes.bad(JOB_FILE, &why),
        }
    }
    let kept = sample(files.keys().copied());
    let mut ranks: Vec<RankReport> = Vec::new();
    for (number, path) in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match read_json::<RankReport>(path, BODY_BYTES_MAX as u64) {
            Ok(rank) if rank.version != VERSION => notes.bad(&name, &other_version(rank.version)),
            Ok(mut rank) => {
                if !kept.contains(number) {
                    rank.timeline = Vec::new();
                }
                ranks.push(rank);
            }
            Err(why) => notes.bad(&name, &why),
        }
    }
    let ranks = one_job(ranks, &mut notes);
    let loaded = join(Loaded { report, notes: notes.into_sentences() }, ranks);
    if loaded.report.ranks.is_empty() && loaded.report.job.is_none() {
        let more: String = loaded.notes.iter().map(|note| format!(". {note}")).collect();
        return Err(LoadError::Empty { path: folder.display().to_string(), more });
    }
    Ok(loaded)
}

/// Makes a report of what the daemon answered.
pub fn from_daemon(report: JobReport) -> Loaded {
    join(Loaded { report, notes: Vec::new() }, Vec::new())
}

/// Adds the daemon's part to a report that came from files.
pub fn with_daemon(files: Loaded, daemon: JobReport) -> Loaded {
    let ranks = files.report.ranks;
    join(Loaded { report: daemon, notes: files.notes }, ranks)
}

/// A report without anything, as there is where no daemon was.
pub fn empty() -> JobReport {
    JobReport {
        version: VERSION,
        job: None,
        fabric: None,
        ranks: Vec::new(),
        circuit_log: Vec::new(),
    }
}

/// The ranks of `files` take the place of what the report has for them; time lines are thinned out.
fn join(mut loaded: Loaded, files: Vec<RankReport>) -> Loaded {
    let job = files.first().map(|rank| rank.job.clone());
    let known = std::mem::take(&mut loaded.report.ranks);
    let known = known.into_iter().filter(|rank| job.as_ref().is_none_or(|job| *job == rank.job));
    let by_rank: BTreeMap<u32, RankReport> =
        known.chain(files).map(|rank| (rank.registered.rank, rank)).collect();
    let kept = sample(by_rank.keys().copied());
    loaded.report.ranks = by_rank
        .into_iter()
        .map(|(number, mut rank)| {
            if !kept.contains(&number) {
                rank.timeline = Vec::new();
            }
            rank
        })
        .collect();
    loaded
}

/// At most [`TIMELINE_RANKS_MAX`] of the ranks, evenly spread, the first and the last among them.
fn sample(ranks: impl Iterator<Item = u32>) -> BTreeSet<u32> {
    let ranks: Vec<u32> = ranks.collect();
    if ranks.len() <= TIMELINE_RANKS_MAX {
        return ranks.into_iter().collect();
    }
    let last = ranks.len() - 1;
    (0..TIMELINE_RANKS_MAX).map(|i| ranks[i * last / (TIMELINE_RANKS_MAX - 1)]).collect()
}

/// The rank files by rank, and whether there is a job file.
fn list(folder: &Path) -> io::Result<(BTreeMap<u32, PathBuf>, bool)> {
    let mut files = BTreeMap::new();
    let mut has_job_file = false;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        has_job_file |= name == JOB_FILE;
        let number = name.strip_prefix("rank-").and_then(|rest| rest.strip_suffix(".json"));
        if let Some(rank) = number.and_then(|number| number.parse().ok()) {
            files.insert(rank, path);
        }
    }
    Ok((files, has_job_file))
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path, bytes_max: u64) -> Result<T, String> {
    let mut text = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(bytes_max + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > bytes_max {
        return Err(format!("is longer than {bytes_max} bytes"));
    }
    if text.is_empty() {
        return Err("is empty: the rank may have been killed while it wrote".into());
    }
    serde_json::from_slice(&text).map_err(|error| format!("is no report ({error})"))
}

fn other_version(version: u32) -> String {
    format!("has version {version}, and this pas reads version {VERSION}: use one release for all")
}

/// Keeps the job that started last; a folder that was used twice holds files of two.
fn one_job(ranks: Vec<RankReport>, notes: &mut Notes) -> Vec<RankReport> {
    let last = ranks.iter().max_by_key(|rank| rank.started_unix_us).map(|rank| rank.job.clone());
    let (ours, others): (Vec<_>, Vec<_>) =
        ranks.into_iter().partition(|rank| Some(&rank.job) == last.as_ref());
    for other in others {
        let rank = other.registered.rank;
        notes.other_job(format!("rank {rank} of job {}", other.job));
    }
    ours
}

/// Collects notes, a bounded number of each kind.
#[derive(Default)]
struct Notes {
    bad: Vec<String>,
    other_jobs: Vec<String>,
}

impl Notes {
    fn bad(&mut self, file: &str, why: &str) {
        self.bad.push(format!("{file} {why}"));
    }

    fn other_job(&mut self, what: String) {
        self.other_jobs.push(what);
    }

    fn into_sentences(self) -> Vec<String> {
        let kinds = [
            ("Left out, since it cannot be used: ", self.bad),
            ("Left out, since it is an older job's file in the same folder: ", self.other_jobs),
        ];
        let mut sentences = Vec::new();
        for (lead, list) in kinds {
            let more = list.len().saturating_sub(NOTES_MAX);
            sentences.extend(list.into_iter().take(NOTES_MAX).map(|note| format!("{lead}{note}.")));
            if more > 0 {
                sentences.push(format!("{lead}{more} more of the kind."));
            }
        }
        sentences
    }
}

#[cfg(test)]
mod tests;
