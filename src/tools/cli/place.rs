//! Where `pas run` keeps reports when nobody says where: a folder for each job under the user's
//! state folder, the last [`KEPT`] of them.

use crate::report::load::JOB_FILE;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Reports that are kept.
pub const KEPT: usize = 20;

const NO_HOME: &str = "neither XDG_STATE_HOME nor HOME names a folder";

/// `$XDG_STATE_HOME/pas/reports`, by default in the home folder.
fn root() -> Option<PathBuf> {
    let folder =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("pas/reports"))
}

/// Makes the folder for a job's report, and forgets the oldest beyond [`KEPT`].
///
/// # Errors
///
/// There is no home, or it cannot be written.
pub fn make(job: &str) -> Result<PathBuf, String> {
    let root = root().ok_or(NO_HOME)?;
    make_in(&root, job).map_err(|error| format!("cannot make {}/{job} ({error})", root.display()))
}

/// The folder that holds the reports, once it is known that it can be written.
///
/// # Errors
///
/// As [`make`].
pub fn try_root() -> Result<PathBuf, String> {
    let root = root().ok_or(NO_HOME)?;
    let tried = fs::create_dir_all(&root).and_then(|()| try_writing(&root));
    tried
        .map(|()| root.clone())
        .map_err(|error| format!("cannot write {} ({error})", root.display()))
}

/// Tries whether a folder can be written, before a long run and not after it.
///
/// # Errors
///
/// What the system says.
pub fn try_writing(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".pas-{}", std::process::id()));
    fs::write(&probe, b"")?;
    fs::remove_file(&probe)
}

fn make_in(root: &Path, job: &str) -> io::Result<PathBuf> {
    let folder = root.join(job);
    fs::create_dir_all(&folder)?;
    let mut kept = by_age(root)?;
    kept.retain(|(_, path)| *path != folder);
    let excess = (kept.len() + 1).saturating_sub(KEPT);
    for (_, old) in kept.into_iter().take(excess) {
        forget(&old);
    }
    Ok(folder)
}

/// The folders of reports, the oldest first.
fn by_age(root: &Path) -> io::Result<Vec<(SystemTime, PathBuf)>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    folders.sort();
    Ok(folders)
}

/// Removes a report's files, and its folder where nothing else is in it. A file that cannot be
/// removed costs disk space, no more.
fn forget(folder: &Path) {
    let ours = |name: &str| {
        [JOB_FILE, PAGE_FILE].contains(&name)
            || (name.starts_with("rank-") && name.ends_with(".json"))
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(ours) {
            let _ = fs::remove_file(entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

/// The page in a report's folder.
pub const PAGE_FILE: &str = "report.html";

/// The folder of the last job that `pas run` started.
///
/// # Errors
///
/// There is none.
pub fn latest() -> Result<PathBuf, String> {
    let none = "no job of `pas run` is remembered here; name the folder: pas report DIR, or see \
                what a report looks like: pas report --example";
    let root = root().ok_or(none)?;
    let last = by_age(&root).ok().and_then(|mut folders| folders.pop());
    last.map(|(_, path)| path).ok_or_else(|| none.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::FileTimes;
    use std::time::Duration;

    #[test]
    fn the_oldest_reports_are_forgotten_and_foreign_files_stay() {
        let root = tempfile::tempdir().expect("a folder");
        for job in 0..KEPT as u64 {
            let folder = make_in(root.path(), &format!("job-{job}")).expect("made");
            fs::write(folder.join("rank-0.json"), "{}").expect("written");
            if job == 1 {
                fs::write(folder.join("notes.txt"), "mine").expect("written");
            }
            let age = SystemTime::UNIX_EPOCH + Duration::from_secs(job);
            let times = FileTimes::new().set_modified(age);
            fs::File::open(&folder).and_then(|file| file.set_times(times)).expect("aged");
        }
        for job in ["new-1", "new-2"] {
            make_in(root.path(), job).expect("made");
        }
        let left = |job: &str| root.path().join(job).exists();
        assert!(!left("job-0"), "the oldest is forgotten");
        assert!(left("job-1") && left("job-1/notes.txt"), "a foreign file is not ours to remove");
        assert!(!left("job-1/rank-0.json"));
        assert!(left("job-2/rank-0.json") && left("new-1") && left("new-2"));
    }
}
