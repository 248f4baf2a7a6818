//! One call, one record: what the programs' heads say of their calls is what rank 0's report
//! counts.
//!
//! A head says `counts: MPI_Isend 2, MPI_Irecv 2.` or, for some runs only, `counts, MPI-4: ...`.

use crate::run::{Job, Mpi, finish, program, top};
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Programs whose heads tell their calls, and the ranks that they are run with.
pub const PROGRAMS: &[(&str, u32)] = &[
    ("persistent", 2),
    ("partitioned", 2),
    ("onesided", 2),
    ("probes", 2),
    ("neighbours", 2),
    ("large", 2),
    ("profiling", 2),
    ("stress", 2),
    ("leaks", 1),
    ("requests", 2),
    ("sessions", 2),
];

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for mpi in Mpi::ALL {
        for (name, ranks) in PROGRAMS {
            let title = format!("counts::{name}::{}", mpi.name());
            trials.push(Trial::test(title, move || counted(name, mpi, *ranks).map_err(Into::into)));
        }
    }
    for mpi in Mpi::BOTH {
        for language in ["twin", "mpif", "usempi", "usempif08"] {
            let title = format!("counts::fortran_{language}::{}", mpi.name());
            trials.push(Trial::test(title, move || fortran(language, mpi).map_err(Into::into)));
        }
    }
    trials
}

/// The counts that hold for rank 0 under an MPI. A list goes on over lines until a full stop.
fn promised(text: &str, mpi: Mpi) -> BTreeMap<String, u64> {
    let mut lists: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().map(|line| line.trim_start_matches([' ', '*', '/', '!'])) {
        if line.starts_with("counts") {
            lists.push(String::new());
            open = true;
        }
        if let Some(list) = lists.last_mut().filter(|_| open) {
            list.push_str(line);
            list.push(' ');
            open = !line.contains('.');
        }
    }
    let mut counts = BTreeMap::new();
    for (condition, list) in lists.iter().filter_map(|list| list.split_once(':')) {
        if holds(condition.trim_start_matches("counts"), mpi) {
            let list = list.split(['.', '/']).next().unwrap_or_default();
            let items = list.trim_end_matches(['*', ' ']).split(", ");
            let items = items.filter_map(|item| item.trim().split_once(' '));
            counts.extend(
                items.filter_map(|(name, count)| {
                    Some((name.to_owned(), count.trim().parse().ok()?))
                }),
            );
        }
    }
    counts
}

/// True where what stands behind `counts` is so in rank 0 under this MPI.
fn holds(condition: &str, mpi: Mpi) -> bool {
    condition.split(',').map(str::trim).filter(|word| !word.is_empty()).all(|word| match word {
        "rank 0" | "without arguments" => true,
        "MPI-4" => mpi != Mpi::OpenMpi,
        "MPIX" => mpi == Mpi::OpenMpi,
        "large counts" => !mpi.is_open_mpi(),
        "MPICH 4" => matches!(mpi, Mpi::Mpich | Mpi::Intel),
        "not MPICH 4" => !matches!(mpi, Mpi::Mpich | Mpi::Intel),
        "MPICH 5" => matches!(mpi, Mpi::Mpich5 | Mpi::MpichAbi),
        _ => false,
    })
}

/// Runs a job and compares its report with what was promised.
fn check(job: Job, promised: &BTreeMap<String, u64>) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let native = job.run()?;
    let job = job.preloaded().with("PAS_REPORT_DIR", folder.path().display().to_string());
    let outcome = job.run()?;
    crate::run::agree(&native, &outcome, 0)?;
    let text = fs::read_to_string(folder.path().join("rank-0.json")).map_err(|e| e.to_string())?;
    let report: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for row in report["calls"].as_array().into_iter().flatten() {
        let name = row["call"].as_str().unwrap_or_default();
        *seen.entry(name).or_default() += row["count"].as_u64().unwrap_or(0);
    }
    let dropped = report["counters"]["bypass.ring_full"].as_u64().unwrap_or(0);
    let mut faults = Vec::new();
    for (name, count) in promised {
        let got = seen.get(name.as_str()).copied().unwrap_or(0);
        // A busy machine may drop records, but never without counting them.
        if got != *count && !(got < *count && dropped >= *count - got) {
            faults.push(format!("{name}: {got}, expected {count}"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn counted(name: &str, mpi: Mpi, ranks: u32) -> Result<(), String> {
    let file = top().join("c-tests/programs").join(format!("{name}.c"));
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let head = text.split("#include").next().unwrap_or_default();
    check(Job::new(name, mpi, ranks, &[]), &promised(head, mpi))
}

/// The same calls in C and through each Fortran interface: one call, one record (FB-054, FB-080).
fn fortran(language: &str, mpi: Mpi) -> Result<(), String> {
    let folder = top().join("c-tests/programs/fortran");
    let out = program(&format!("fortran-{language}"), mpi);
    let mut compiler = match language {
        "twin" => mpi.compiler(),
        _ => Command::new(format!("mpif90.{}", mpi.name())),
    };
    let source = match language {
        "twin" => folder.join("twin.c"),
        _ => folder.join(format!("{language}.f90")),
    };
    if language != "twin" {
        compiler.arg("-fallow-argument-mismatch");
    }
    compiler.args(["-O1", "-w", "-o"]).arg(&out).arg(source).current_dir(&folder);
    let outcome = finish(compiler, Duration::from_secs(60))?;
    if outcome.code != 0 {
        return Err(format!("the compiler: {}", outcome.stderr));
    }
    let text = fs::read_to_string(folder.join("calls.inc")).map_err(|error| error.to_string())?;
    let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('!')).collect();
    let counts = promised(&head.join("\n"), mpi);
    if counts.len() < 10 {
        return Err(format!("the head promises {counts:?} only"));
    }
    check(Job { program: out, ..Job::new("", mpi, 2, &[]) }, &counts)
}
