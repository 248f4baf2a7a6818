//! The house rules that a compiler does not check: lengths, layers, words, and where unsafe lives.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file, of a function, and columns of a line.
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const COLUMNS_MAX: usize = 100;

/// Files that may hold unsafe code, and how many lines with the word. A new file needs a reason in
/// its first lines and a row here; a number that rises is to be looked at, one that falls is kept.
const UNSAFE_FILES: &[(&str, usize)] = &[
    ("src/capi.rs", 10),
    ("src/life.rs", 1),
    ("src/preload/clock.rs", 1),
    ("src/preload/elf.rs", 15),
    ("src/preload/entry.rs", 8),
    ("src/preload/flavor.rs", 32),
    ("src/preload/guard.rs", 10),
    ("src/preload/newer.rs", 3),
    ("src/preload/real.rs", 14),
    ("src/preload/record.rs", 16),
    ("src/preload/ring.rs", 4),
    ("src/preload/special.rs", 50),
    ("src/sys.rs", 22),
];

/// Variables of the tests alone, which no user needs to know.
const TEST_VARIABLES: &[&str] = &["PAS_BLESS", "PAS_GOLDEN"];

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

/// The programs without an ending, which are scripts.
fn scripts() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["scripts", ".ci", "c-tests/trainer"] {
        for entry in fs::read_dir(top().join(folder)).expect("a folder").flatten() {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            if text.starts_with("#!") {
                found.push((name, text));
            }
        }
    }
    assert!(found.len() > 3, "the scripts were not found");
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
        if !is_function(code) {
            continue;
        }
        // One of a trait may end in a semicolon, and a short one on its own first line.
        let indent = " ".repeat(line.len() - code.len());
        let mut rest = lines.iter().skip(start);
        let ends = |line: &&str| {
            let same = line.strip_prefix(indent.as_str()).filter(|code| !code.starts_with(' '));
            same.is_some_and(|code| code.ends_with(['}', ';']))
        };
        let Some(length) = rest.position(ends) else {
            faults.push(format!("{name}:{}: a function without an end", start + 1));
            continue;
        };
        if length > FUNCTION_LINES_MAX {
            faults.push(format!("{name}:{}: a function of {length} lines", start + 1));
        }
    }
    faults
}

/// True for the first line of a function, whatever its visibility and qualifiers.
fn is_function(code: &str) -> bool {
    let before = code.split_once("fn ").map(|(before, _)| before);
    let qualifier = |word: &str| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern"].contains(&word)
    };
    let is_abi = |word: &str| word.starts_with('"');
    before.is_some_and(|words| words.split_whitespace().all(|word| qualifier(word) || is_abi(word)))
}

#[test]
fn unsafe_code_is_where_it_is_expected() {
    let mut faults = Vec::new();
    for (name, text) in files(&[".rs"]) {
        if name == "scripts/tidy.rs" {
            continue;
        }
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        // As a word of its own: `unsafe_code` and the like are lints.
        let is_unsafe = |line: &&str| line.split_whitespace().any(|word| word == "unsafe");
        let lines = code.filter(is_unsafe).count();
        let row = UNSAFE_FILES.iter().find(|(file, _)| *file == name);
        let budget = row.map_or(0, |(_, budget)| *budget);
        if lines != budget {
            faults.push(format!("{name}: {lines} lines of unsafe code, expected {budget}"));
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

/// Inside libpas.so: who may not use which of its modules. What runs on the host's threads knows
/// nothing of the worker, and the leaves know nobody.
#[test]
fn modules_know_only_whom_they_may() {
    let rules: [(&str, &[&str]); 4] = [
        ("src/preload/", &["agent", "capi", "identity", "knobs", "report", "worker"]),
        ("src/sys.rs", &["agent", "arming", "life", "preload", "say", "worker"]),
        ("src/say.rs", &["agent", "arming", "knobs", "life", "preload", "worker"]),
        ("src/agent", &["arming", "capi", "preload"]),
    ];
    let mut faults = Vec::new();
    for (name, text) in files(&[".rs"]) {
        let code: Vec<&str> =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for (_, banned) in rules.iter().filter(|(who, _)| name.starts_with(who)) {
            for module in *banned {
                let forms = [format!("crate::{module}"), format!("crate::{{{module}")];
                if code.iter().any(|line| forms.iter().any(|form| line.contains(form))) {
                    faults.push(format!("{name}: may not know {module}"));
                }
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
    let endings = [".rs", ".c", ".h", ".cpp", ".hpp", ".sh", ".md", ".toml"];
    for (name, text) in files(&endings).into_iter().chain(scripts()) {
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
    let mut faults: Vec<_> =
        missing.map(|name| format!("README.md says nothing of {name}")).collect();
    for (file, text) in files(&[".rs"]).into_iter().filter(|(file, _)| file.starts_with("src/")) {
        for name in text.split('"').filter(|text| is_variable(text)) {
            let known = names.contains(&name) || readme.contains(&format!("`{name}`"));
            if !known && !TEST_VARIABLES.contains(&name) {
                faults.push(format!("{file}: {name} is in no table"));
            }
        }
    }
    nothing_found(faults);
}

fn is_variable(text: &str) -> bool {
    let rest = text.strip_prefix("PAS_").unwrap_or_default();
    !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c == '_')
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
