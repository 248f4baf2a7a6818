//! One call, one record: what the programs' heads say of their calls is what rank 0's report
//! counts.
//!
//! A head says `counts: MPI_Isend 2, MPI_Irecv 2.` or, for some runs only, `counts, MPI-4: ...`.

use crate::reports;
use crate::run::{Job, Mpi, agree, finish, program, top};
use crate::trial;
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
            trials.push(trial(title, move || counted(name, mpi, *ranks)));
        }
    }
    for mpi in Mpi::BOTH {
        for language in ["twin", "mpif", "usempi", "usempif08"] {
            let title = format!("counts::fortran_{language}::{}", mpi.name());
            trials.push(trial(title, move || fortran(language, mpi)));
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
    let native = job.run()?;
    let (outcome, mut reports) = reports::of_ranks(&job.preloaded(), 0..1)?;
    agree(&native, &outcome, 0)?;
    let report = reports.remove(0)?;
    let dropped = report["counters"]["bypass.ring_full"].as_u64().unwrap_or(0);
    let mut faults = Vec::new();
    for (name, count) in promised {
        let got = reports::sum(&report, name, "count");
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
    let modules = tempfile::tempdir().map_err(|error| error.to_string())?;
    if language != "twin" {
        compiler.args(["-fallow-argument-mismatch", "-J"]).arg(modules.path());
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
