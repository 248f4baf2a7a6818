//! Which launcher starts the job, and how it is told to carry the preload to ranks elsewhere.
//!
//! Ranks on this machine inherit the launcher's environment. Ranks on others get what the launcher
//! was told to export, and every family has its own flag for that:
//!
//! * Open MPI 3 to 5 and PRRTE: `-x NAME`, the value is taken from the environment. Once for each
//!   part of an MPMD line; of a name given twice, version 4 takes the last and version 5 the first.
//! * MPICH, MVAPICH and Intel MPI (hydra): `-genv NAME VALUE`, for the whole line; the last counts.
//! * Slurm: `--export=ALL,NAME`, one flag with the whole list.
//!
//! A variable that the user exports himself keeps his value; his `LD_PRELOAD` is joined with ours.

use crate::cli::preload;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// How the job is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI's mpirun, with its version as it writes it.
    OpenMpi(String),
    /// PRRTE's prterun or prun by itself.
    Prrte(String),
    /// Hydra: MPICH and what is built from it.
    Mpich(String),
    /// Intel MPI's hydra.
    IntelMpi(String),
    /// Slurm's srun.
    Slurm(String),
    /// A launcher whose flags are not known here.
    Other(String),
    /// No launcher: the program itself, or a script that starts one.
    Program,
}

/// Names under which launchers are started; `mpirun.openmpi` and the like count by their beginning.
const LAUNCHER_NAMES: &[&str] = &[
    "mpirun",
    "mpiexec",
    "orterun",
    "prterun",
    "prun",
    "srun",
    "mpirun_rsh",
    "aprun",
    "jsrun",
    "ibrun",
    "flux",
];

/// True where a file of this name is a launcher, so that asking its `--version` is harmless: a
/// training program may do anything when it is given a flag that it does not know.
pub fn is_launcher_name(name: &str) -> bool {
    let base = name.split('.').next().unwrap_or(name);
    LAUNCHER_NAMES.contains(&base)
}

/// Tells the family from the launcher's name and from what it answers to `--version`.
///
/// The text decides where it says enough, because one name (`mpirun`) stands for every family; the
/// name decides where the text is empty or foreign.
pub fn identify(name: &str, version_text: &str) -> Launcher {
    if !is_launcher_name(name) {
        return Launcher::Program;
    }
    let first = version_text.lines().next().unwrap_or("").trim();
    let last_word = || first.split_whitespace().last().unwrap_or("").to_string();
    if first.contains("(Open MPI)") || first.contains("(OpenRTE)") {
        return Launcher::OpenMpi(last_word());
    }
    if first.contains("PRRTE") {
        return Launcher::Prrte(last_word());
    }
    if first.starts_with("Intel(R) MPI Library") {
        let after = first.split("Version").nth(1).unwrap_or("");
        return Launcher::IntelMpi(after.split_whitespace().next().unwrap_or("").to_string());
    }
    if first.starts_with("HYDRA") {
        let version = version_text.lines().find_map(|line| line.trim().strip_prefix("Version:"));
        return Launcher::Mpich(version.unwrap_or("").trim().to_string());
    }
    if first.starts_with("slurm") {
        return Launcher::Slurm(last_word());
    }
    match name {
        "orterun" | "mpirun.openmpi" | "mpiexec.openmpi" => Launcher::OpenMpi(String::new()),
        "prterun" | "prun" => Launcher::Prrte(String::new()),
        "mpiexec.hydra" | "mpirun.mpich" | "mpiexec.mpich" => Launcher::Mpich(String::new()),
        "srun" => Launcher::Slurm(String::new()),
        other => Launcher::Other(other.to_string()),
    }
}

impl Launcher {
    /// The family and its version, for people.
    pub fn words(&self) -> String {
        let named = |name: &str, version: &str| match version {
            "" => name.to_string(),
            version => format!("{name} {version}"),
        };
        match self {
            Launcher::OpenMpi(version) => named("Open MPI", version),
            Launcher::Prrte(version) => named("PRRTE", version),
            Launcher::Mpich(version) => named("MPICH (hydra)", version),
            Launcher::IntelMpi(version) => named("Intel MPI (hydra)", version),
            Launcher::Slurm(version) => named("Slurm srun", version),
            Launcher::Other(name) => format!("{name} (a launcher that pas does not know)"),
            Launcher::Program => "no launcher".to_string(),
        }
    }

    /// True where [`rewrite`] can tell the launcher to export variables.
    pub fn exports(&self) -> bool {
        !matches!(self, Launcher::Other(_) | Launcher::Program)
    }
}

/// A variable for the ranks, with the value that the launcher's own environment will have.
pub type Variable = (String, OsString);

/// What the ranks are to get.
pub struct Exports<'a> {
    /// The variables.
    pub variables: &'a [Variable],
    /// Our library, for joining it with an `LD_PRELOAD` that the command line itself exports.
    pub lib: &'a Path,
    /// `SLURM_EXPORT_ENV`, which srun obeys where the command line has no `--export`.
    pub slurm_export_env: Option<String>,
}

/// The launcher's command line with the flags that export the variables to every rank.
pub fn rewrite(launcher: &Launcher, command: &[OsString], exports: &Exports) -> Vec<OsString> {
    let Some((program, arguments)) = command.split_first() else {
        return Vec::new();
    };
    let arguments = match launcher {
        Launcher::OpenMpi(_) | Launcher::Prrte(_) => open_mpi(arguments, exports),
        Launcher::Mpich(_) | Launcher::IntelMpi(_) => hydra(arguments, exports),
        Launcher::Slurm(_) => slurm(arguments, exports),
        Launcher::Other(_) | Launcher::Program => arguments.to_vec(),
    };
    std::iter::once(program.clone()).chain(arguments).collect()
}

/// `-x NAME` at the start of each part of the line, unless that part has it.
fn open_mpi(arguments: &[OsString], exports: &Exports) -> Vec<OsString> {
    let mut out = Vec::with_capacity(arguments.len() + 2 * exports.variables.len());
    for (number, part) in arguments.split(|argument| argument == ":").enumerate() {
        if number > 0 {
            out.push(":".into());
        }
        let mut part = part.to_vec();
        let mut theirs = Vec::new();
        for at in 1..part.len() {
            if part[at - 1] != "-x" && part[at - 1] != "--x" {
                continue;
            }
            let (name, value) = assignment(&part[at]);
            if name == "LD_PRELOAD" {
                if let Some(value) = value {
                    part[at] = joined("LD_PRELOAD=", &value, exports.lib);
                }
            }
            theirs.push(name);
        }
        for (name, _) in exports.variables.iter().filter(|(name, _)| !theirs.contains(name)) {
            out.extend(["-x".into(), name.into()]);
        }
        out.append(&mut part);
    }
    out
}

/// `-genv NAME VALUE` first in the line; later ones of the user count more.
fn hydra(arguments: &[OsString], exports: &Exports) -> Vec<OsString> {
    let mut rest = arguments.to_vec();
    for at in 2..rest.len() {
        let flag = &rest[at - 2];
        let sets = ["-genv", "--genv", "-env", "--env"].iter().any(|name| flag == name);
        if sets && rest[at - 1] == "LD_PRELOAD" {
            rest[at] = joined("", &rest[at].clone(), exports.lib);
        }
    }
    let flags = exports
        .variables
        .iter()
        .flat_map(|(name, value)| [OsString::from("-genv"), name.into(), value.clone()]);
    flags.chain(rest).collect()
}

/// One `--export` with the user's list and ours; Slurm takes the values from the environment.
fn slurm(arguments: &[OsString], exports: &Exports) -> Vec<OsString> {
    let mut rest = Vec::with_capacity(arguments.len() + 1);
    let mut theirs: Option<String> = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        match text.strip_prefix("--export=") {
            Some(list) => theirs = Some(list.to_string()),
            None if text == "--export" => {
                theirs = arguments.next().map(|list| list.to_string_lossy().into_owned());
            }
            None => rest.push(argument.clone()),
        }
    }
    let base = theirs.or_else(|| exports.slurm_export_env.clone());
    let mut list: Vec<String> = match base.as_deref() {
        None | Some("") => vec!["ALL".into()],
        Some("NONE" | "NIL") => Vec::new(),
        Some(list) => list.split(',').map(str::to_string).collect(),
    };
    for entry in &mut list {
        if let Some(value) = entry.strip_prefix("LD_PRELOAD=") {
            *entry = joined("LD_PRELOAD=", OsStr::new(value), exports.lib)
                .to_string_lossy()
                .into_owned();
        }
    }
    for (name, _) in exports.variables {
        if !list.iter().any(|entry| entry.split('=').next() == Some(name)) {
            list.push(name.clone());
        }
    }
    let mut out = vec![OsString::from(format!("--export={}", list.join(",")))];
    out.append(&mut rest);
    out
}

/// `NAME` or `NAME=VALUE`, apart.
fn assignment(argument: &OsStr) -> (String, Option<OsString>) {
    let bytes = argument.as_bytes();
    let (name, value) = match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => (&bytes[..at], Some(OsString::from_vec(bytes[at + 1..].to_vec()))),
        None => (bytes, None),
    };
    (String::from_utf8_lossy(name).into_owned(), value)
}

/// `prefix` and the user's preload list with ours in it.
fn joined(prefix: &str, theirs: &OsStr, lib: &Path) -> OsString {
    let mut out = OsString::from(prefix);
    out.push(preload::merge(Some(theirs), lib));
    out
}

#[cfg(test)]
mod tests;
