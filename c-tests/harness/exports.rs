//! What libpas.so exports and needs: golden lists, and agreement with pas.h.

use crate::run::{finish, libpas, top};
use crate::trial;
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    vec![
        trial("exports::equal_the_golden_list", equal_the_golden_list),
        trial("exports::hold_every_function_of_the_header", hold_the_header),
        trial("exports::agree_with_the_header_on_sizes", agree_on_sizes),
        trial("needs::only_the_c_library", only_libc),
        trial("needs::only_the_listed_packages", only_listed_packages),
    ]
}

fn output(words: &[&str]) -> Result<String, String> {
    let (program, args) = words.split_first().ok_or("no program")?;
    let mut command = Command::new(program);
    command.args(args).current_dir(top());
    let outcome = finish(command, Duration::from_secs(60))?;
    match outcome.code {
        0 => Ok(outcome.stdout),
        code => Err(format!("{words:?} ended with {code}: {}", outcome.stderr)),
    }
}

fn exported() -> Result<BTreeSet<String>, String> {
    let library = libpas().display().to_string();
    let text = output(&["nm", "-D", "--defined-only", &library])?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect())
}

/// The lines of a golden file, without its comments.
fn golden(file: &str) -> Result<BTreeSet<String>, String> {
    let text = fs::read_to_string(top().join(file)).map_err(|error| format!("{file}: {error}"))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

fn equal(what: &str, got: &BTreeSet<String>, golden: &BTreeSet<String>) -> Result<(), String> {
    if got == golden {
        return Ok(());
    }
    let new: Vec<_> = got.difference(golden).collect();
    let gone: Vec<_> = golden.difference(got).collect();
    Err(format!("{what}: not in the list: {new:?}; in the list only: {gone:?}"))
}

fn equal_the_golden_list() -> Result<(), String> {
    equal("exported symbols", &exported()?, &golden("include/pas.symbols")?)
}

fn hold_the_header() -> Result<(), String> {
    let header = fs::read_to_string(top().join("include/pas.h")).map_err(|e| e.to_string())?;
    let declared = header.lines().filter_map(|line| line.strip_prefix("PAS_API "));
    let names = declared.filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    let exported = exported()?.into_iter().filter(|name| name.starts_with("pas_")).collect();
    equal("functions of pas.h", &exported, &names)
}

/// The layout of `pas_status` as C sees it; the shim writes the whole struct.
fn agree_on_sizes() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, program) = (folder.path().join("sizes.c"), folder.path().join("sizes"));
    let text = r#"
        #include <pas.h>
        #include <stddef.h>
        #include <stdio.h>
        int main(void) {
            pas_status s = { .struct_bytes = sizeof s };
            printf("%zu %zu %zu %d %d", sizeof s, offsetof(pas_status, phases_found),
                   offsetof(pas_status, requests_unanswered), (int)sizeof(pas_result),
                   pas_get_status(&s));
            return 0;
        }"#;
    fs::write(&source, text).map_err(|error| error.to_string())?;
    let include = format!("-I{}", top().join("include").display());
    let (source, program) = (source.display().to_string(), program.display().to_string());
    let library = libpas().display().to_string();
    let folder = libpas().parent().map(|path| path.display().to_string()).unwrap_or_default();
    let rpath = format!("-Wl,-rpath,{folder}");
    output(&[
        "cc", "-Wall", "-Wextra", "-Werror", &include, "-o", &program, &source, &library, &rpath,
    ])?;
    // 4 bytes x 6, then 8 bytes x 6; before MPI_Init the status is not to be had: PAS_OFF.
    match output(&[&program])?.as_str() {
        "72 20 64 4 2" => Ok(()),
        other => Err(format!("{other:?}: does src/capi.rs still agree with pas.h?")),
    }
}

fn only_libc() -> Result<(), String> {
    let library = libpas().display().to_string();
    let dynamic = output(&["readelf", "-d", &library])?;
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    for line in needed {
        if !["libc.so", "libgcc_s.so", "ld-linux"].iter().any(|name| line.contains(name)) {
            return Err(format!("it needs {line}"));
        }
    }
    for flag in ["TEXTREL", "STATIC_TLS", "RUNPATH", "RPATH"] {
        if dynamic.contains(flag) {
            return Err(format!("it has {flag}"));
        }
    }
    if !dynamic.contains("NODELETE") {
        return Err("it can be unloaded, with its thread running".to_owned());
    }
    let undefined = output(&["nm", "-D", "--undefined-only", &library])?;
    let foreign = undefined.lines().filter(|line| line.contains(" U "));
    let foreign: Vec<_> =
        foreign.filter(|line| !line.contains("@GLIBC_") && !line.contains("@GCC_")).collect();
    if foreign.is_empty() { Ok(()) } else { Err(format!("undefined: {foreign:?}")) }
}

fn only_listed_packages() -> Result<(), String> {
    let tree =
        output(&["cargo", "tree", "-p", "pas", "-e", "normal", "--prefix", "none", "--locked"])?;
    let names = tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned);
    equal("packages in libpas.so", &names.collect(), &golden("scripts/libpas-packages.txt")?)
}
