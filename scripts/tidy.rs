//! The house rules that a compiler does not check: lengths, layers, words, and where unsafe lives.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file, of a function, and columns of a line.
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const COLUMNS_MAX: usize = 100;

/// Files that may hold unsafe code. A new one needs a reason in its first lines, and a row here.
const UNSAFE_FILES: &[&str] = &[
    "src/capi.rs",
    "src/life.rs",
    "src/preload/clock.rs",
    "src/preload/entry.rs",
    "src/preload/flavor.rs",
    "src/preload/guard.rs",
    "src/preload/real.rs",
    "src/preload/ring.rs",
    "src/preload/special.rs",
    "src/sys.rs",
];

/// What the top level holds; what is ignored by git does not count.
const TOP_LEVEL: &[&str] = &[
    ".ci",
    ".gitignore",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "build.rs",
    "c-tests",
    "include",
    "rustfmt.toml",
    "scripts",
    "src",
];

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The tracked or to-be-tracked files with one of the endings: path from the top, and text.
fn files(endings: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![top()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(top()).expect("inside").display().to_string();
            if path.is_dir() && !["target", "out", ".git"].contains(&name.as_str()) {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push((name, fs::read_to_string(&path).expect("a text file")));
            }
        }
    }
    found.sort();
    assert!(found.len() > 5, "the files were not found");
    found
}

fn nothing_found(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn files_functions_and_lines_are_short() {
    let mut faults = Vec::new();
    for (name, text) in files(&[".rs"]) {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > FILE_LINES_MAX {
            faults.push(format!("{name}: {} lines", lines.len()));
        }
        for (index, line) in lines.iter().enumerate() {
            if line.chars().count() > COLUMNS_MAX {
                faults.push(format!("{name}:{}: {} columns", index + 1, line.chars().count()));
            }
        }
        faults.extend(long_functions(&name, &lines));
    }
    nothing_found(faults);
}

/// Functions are taken to end at the first brace of their own indentation: rustfmt's layout.
fn long_functions(name: &str, lines: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let begins =
            ["fn ", "pub fn ", "pub(super) fn ", "async fn ", "pub async fn ", "unsafe fn "];
        if !begins.iter().any(|begin| code.starts_with(begin)) || code.ends_with(';') {
            continue;
        }
        let end = format!("{}}}", " ".repeat(line.len() - code.len()));
        let length = lines.iter().skip(start).position(|line| *line == end).unwrap_or(0);
        if length > FUNCTION_LINES_MAX {
            faults.push(format!("{name}:{}: a function of {length} lines", start + 1));
        }
    }
    faults
}

#[test]
fn unsafe_code_is_where_it_is_expected() {
    let mut faults = Vec::new();
    for (name, text) in files(&[".rs"]) {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let has = code.filter(|line| !line.contains("unsafe_code")).any(|line| {
            line.contains("unsafe {") || line.contains("unsafe fn") || line.contains("unsafe impl")
        });
        let may = UNSAFE_FILES.contains(&name.as_str()) || name == "scripts/tidy.rs";
        if has && !may {
            faults.push(format!("{name}: unsafe code outside of the listed files"));
        }
        if may && !has {
            faults.push(format!("{name}: listed for unsafe code, has none"));
        }
    }
    nothing_found(faults);
}

#[test]
fn the_core_is_pure() {
    let mut faults = Vec::new();
    for (name, text) in files(&[".rs"]) {
        let pure = name.starts_with("src/core/") && !name.contains("tests");
        for banned in ["std::fs", "std::net", "std::thread", "std::time", "std::env", "println!"] {
            if pure && text.contains(banned) {
                faults.push(format!("{name}: {banned} in the core: time and data are arguments"));
            }
        }
    }
    nothing_found(faults);
}

#[test]
fn nothing_is_left_unfinished() {
    // Spelt so that this file does not find itself.
    let banned = [
        concat!("to", "do!("),
        concat!("unimpl", "emented!("),
        concat!("FIX", "ME"),
        concat!("TO", "DO"),
        concat!("#[ig", "nore"),
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
    ];
    let mut faults = Vec::new();
    for (name, text) in files(&[".rs", ".c", ".h", ".cpp", ".hpp", ".sh", ".md", ".toml"]) {
        for word in banned.iter().filter(|word| text.contains(**word)) {
            faults.push(format!("{name}: {word}"));
        }
    }
    nothing_found(faults);
}

#[test]
fn every_variable_is_in_the_table_and_the_readme() {
    let table = fs::read_to_string(top().join("src/knobs.rs")).expect("the table");
    let readme = fs::read_to_string(top().join("README.md")).expect("the README");
    let rows = table.lines().filter_map(|line| line.trim().strip_prefix("name: \""));
    let names: Vec<&str> = rows.filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 5, "the table was not found");
    let missing = names.iter().filter(|name| !readme.contains(&format!("`{name}`")));
    nothing_found(missing.map(|name| format!("README.md says nothing of {name}")).collect());
}

#[test]
fn the_top_level_is_small() {
    let entries = fs::read_dir(top()).expect("the top").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let ignored = [".git", "target", "out"];
    let new = names
        .filter(|name| !TOP_LEVEL.contains(&name.as_str()) && !ignored.contains(&name.as_str()));
    nothing_found(new.map(|name| format!("{name}: not a place of its own at the top")).collect());
}

#[test]
fn packages_know_only_whom_they_may() {
    let depends = |file: &str, on: &str| {
        let text = fs::read_to_string(top().join(Path::new(file))).expect("a manifest");
        text.lines().any(|line| line.starts_with(on))
    };
    assert!(
        !depends("src/core/Cargo.toml", "pas-tools") && !depends("src/core/Cargo.toml", "pas ")
    );
    assert!(!depends("Cargo.toml", "pas-tools"), "libpas.so must not carry the tools");
    assert!(depends("src/tools/Cargo.toml", "pas-core") && depends("Cargo.toml", "pas-core"));
}
