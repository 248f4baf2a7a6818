//! Holds the wrapper table against the standard: every function is wrapped or left out for a stated
//! reason, and each wrapper's parameters are those of the standard and of every installed `mpi.h`.

use crate::run::{Mpi, finish, top};
use crate::trial;
use libtest_mimic::Trial;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("standard::every_call_is_wrapped_or_has_a_reason", every_call),
        trial("standard::parameters_are_those_of_the_standard", parameters),
    ];
    for mpi in Mpi::ALL {
        let title = format!("standard::parameters_are_those_of_mpi_h::{}", mpi.name());
        trials.push(trial(title, move || header(mpi)));
    }
    trials
}

/// C types of parameters, by function.
type Calls = BTreeMap<String, Vec<String>>;

fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(top().join(file)).map_err(|error| format!("{file}: {error}"))
}

/// The functions of the standard.
fn standard() -> Result<Calls, String> {
    let text = read("c-tests/harness/standard/calls.txt")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let calls = lines.map(|line| {
        let (name, rest) = line.split_once('(').ok_or(format!("{line:?}"))?;
        let types = rest.trim_end_matches(')').split(", ").filter(|kind| !kind.is_empty());
        Ok((name.to_owned(), types.map(str::to_owned).collect()))
    });
    calls.collect()
}

/// A wrapper: parameters by type, and whether there is a twin ending in `_c`.
struct Wrapper {
    types: Vec<String>,
    large: bool,
}

/// The rows of the table and the calls beside it, as their sources say.
fn wrappers() -> Result<BTreeMap<String, Wrapper>, String> {
    let folder = fs::read_dir(top().join("src/preload/table")).map_err(|e| e.to_string())?;
    let mut text = read("src/preload/special.rs")?;
    for entry in folder.flatten() {
        text += &fs::read_to_string(entry.path()).map_err(|error| error.to_string())?;
    }
    let mut found = BTreeMap::new();
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join(" ");
    for part in code.split(" MPI_").skip(1) {
        let Some((name, rest)) = part.split_once('(') else { continue };
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        let Some((parameters, after)) = rest.split_once(')') else { continue };
        let types = parameters.split(',').filter_map(|one| Some(one.split_once(':')?.1.trim()));
        let types = types.map(str::to_owned).collect();
        let until = after.find(['{', ';']).unwrap_or(0);
        let large = after[..until].contains("_large");
        found.insert(format!("MPI_{name}"), Wrapper { types, large });
    }
    match found.len() {
        0..200 => Err(format!("only {} wrappers were found", found.len())),
        _ => Ok(found),
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    match parts.len() {
        1 => pattern == name,
        _ => name.starts_with(first) && name.ends_with(last) && name.len() >= pattern.len() - 1,
    }
}

fn every_call() -> Result<(), String> {
    let (standard, wrappers) = (standard()?, wrappers()?);
    let reasons = read("c-tests/harness/standard/unwrapped.txt")?;
    let lines = reasons.lines().filter(|line| !line.starts_with(['#', '[']));
    let patterns: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let mut faults = Vec::new();
    let mut used = BTreeSet::new();
    let mut counts = [0, 0];
    for name in standard.keys() {
        let base = name.strip_suffix("_c").filter(|base| standard.contains_key(*base));
        let base = base.unwrap_or(name);
        let is_twin = base != name;
        let wrapped = wrappers.get(base).is_some_and(|wrapper| wrapper.large || !is_twin);
        // MPI_Psend_init's count is wide enough by its plain name.
        let wrapped = wrapped || (is_twin && ["MPI_Psend_init", "MPI_Precv_init"].contains(&base));
        let reason: Vec<_> = patterns.iter().filter(|pattern| matches(pattern, base)).collect();
        used.extend(reason.iter().map(|pattern| **pattern));
        counts[usize::from(wrapped)] += 1;
        match (wrapped, reason.is_empty()) {
            (true, true) | (false, false) => {}
            (true, false) => faults.push(format!("{name}: wrapped, and left out by {reason:?}")),
            (false, true) => faults.push(format!("{name}: neither wrapped nor given a reason")),
        }
    }
    let unknown = wrappers.keys().filter(|name| !standard.contains_key(*name));
    faults.extend(unknown.map(|name| format!("{name}: not a function of the standard")));
    let unused = patterns.iter().filter(|pattern| !used.contains(**pattern));
    faults.extend(unused.map(|pattern| format!("{pattern}: no function of the standard")));
    println!("{} functions: {} wrapped, {} left out", standard.len(), counts[1], counts[0]);
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// What a C type is to the table, in the plain name or in the twin.
fn fits(row: &str, kind: &str, twin: bool) -> bool {
    let kind = kind.replace(" *", "*");
    let pointer = kind.ends_with('*') || kind.ends_with("[]");
    let vector_of = |element: &str| {
        pointer && kind.trim_end_matches(['*', '[', ']']).trim() == format!("const {element}")
    };
    match row {
        "In" => pointer && kind.starts_with("const "),
        "Out" => pointer && !kind.starts_with("const "),
        "Int" => kind == "int",
        "IntOut" => pointer && kind.starts_with("int"),
        "Ints" => vector_of("int"),
        "Handle" => !pointer && kind.starts_with("MPI_") && kind != "MPI_Aint",
        "Aint" => kind == "MPI_Aint",
        "Offset" => kind == "MPI_Offset",
        "Count" => kind == if twin { "MPI_Count" } else { "int" },
        "Counts" => vector_of(if twin { "MPI_Count" } else { "int" }),
        "Displs" => vector_of(if twin { "MPI_Aint" } else { "int" }),
        "Unit" => kind == if twin { "MPI_Aint" } else { "int" },
        "Unsure" => kind == "int" || kind == "MPI_Count",
        _ => false,
    }
}

/// Compares wrappers with the functions of the same names that are in `calls`.
fn compare(calls: &Calls) -> Result<usize, String> {
    let mut faults = Vec::new();
    let mut compared = 0;
    for (name, wrapper) in wrappers()? {
        for (name, twin) in [(name.clone(), false), (format!("{name}_c"), true)] {
            let Some(types) = calls.get(&name).filter(|_| !twin || wrapper.large) else { continue };
            compared += 1;
            let fit = types.len() == wrapper.types.len()
                && wrapper.types.iter().zip(types).all(|(row, kind)| {
                    // What one header calls constant another does not.
                    let constant = format!("const {kind}");
                    let variable = kind.trim_start_matches("const ");
                    [kind.as_str(), &constant, variable].iter().any(|kind| fits(row, kind, twin))
                });
            if !fit {
                faults.push(format!("{name}: {:?}, declared {types:?}", wrapper.types));
            }
        }
    }
    if faults.is_empty() { Ok(compared) } else { Err(faults.join("\n")) }
}

fn parameters() -> Result<(), String> {
    let compared = compare(&standard()?)?;
    println!("{compared} functions compared");
    if compared > 300 { Ok(()) } else { Err(format!("only {compared} were compared")) }
}

/// The functions that an MPI's own header declares.
fn header(mpi: Mpi) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let source = folder.path().join("header.c");
    fs::write(&source, "#include <mpi.h>\n").map_err(|error| error.to_string())?;
    let mut compiler = mpi.compiler();
    compiler.args(["-E", "-P"]).arg(&source);
    let outcome = finish(compiler, Duration::from_secs(60))?;
    let text = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut calls = Calls::new();
    for part in text.split("int MPI_").skip(1) {
        let Some((name, rest)) = part.split_once('(') else { continue };
        let Some((parameters, _)) = rest.split_once(");").or_else(|| rest.split_once(") ")) else {
            continue;
        };
        let types = parameters.split(',').map(str::trim).filter(|one| *one != "void");
        calls.insert(format!("MPI_{}", name.trim()), types.map(without_name).collect());
    }
    let compared = compare(&calls)?;
    println!("{}: {compared} functions compared", mpi.name());
    if compared > 170 { Ok(()) } else { Err(format!("only {compared} were compared")) }
}

/// A parameter's type: `const int displs[]` is a `const int[]`, `MPI_Info info` an `MPI_Info`.
fn without_name(parameter: &str) -> String {
    let (text, array) = match parameter.split_once('[') {
        Some((text, _)) => (text.trim(), "[]"),
        None => (parameter, ""),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let kind = text.trim_end_matches(is_name).trim();
    // A parameter without a name, or whose type is one word.
    let kind = if kind.is_empty() || kind == "const" { text } else { kind };
    format!("{kind}{array}")
}
