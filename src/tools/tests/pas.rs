//! `pas` as a user starts it: exit codes, streams, signals, launchers, reports.
//!
//! The preloaded library is an empty one, so that these tests need no MPI: what libpas.so does in
//! a rank has its own tests.

use pas_tools::report::sample;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder with everything that a run needs.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a folder") };
        let lib = place.path("libpas.so");
        let built = Command::new("cc")
            .args(["-shared", "-x", "c", "/dev/null", "-o"])
            .arg(&lib)
            .status()
            .expect("a C compiler");
        assert!(built.success(), "an empty library");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn lib(&self) -> String {
        self.path("libpas.so").canonicalize().expect("built").display().to_string()
    }

    /// `pas run ARGUMENTS`, with nothing of the tester's own environment in the way.
    fn run(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pas"));
        command.arg("run").args(arguments);
        for name in ["LD_PRELOAD", "PAS_URL", "PAS_JOB_ID", "PAS_MODE", "PAS_HOST", "SLURM_JOB_ID"]
        {
            command.env_remove(name);
        }
        command.env("PAS_LIB", self.lib()).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    /// A program of that name that runs a shell script. Another process writes it: were it open
    /// for writing here while another test forks, it could not be started ("text file busy").
    fn script(&self, name: &str, text: &str) -> String {
        let (source, path) = (self.path(&format!("{name}.sh")), self.path(name));
        fs::write(&source, format!("#!/bin/sh\n{text}\n")).expect("written");
        let copied = Command::new("install").arg("-m755").args([&source, &path]).status();
        assert!(copied.expect("started").success(), "installed");
        path.display().to_string()
    }

    /// A folder of rank reports, as ranks would have written them.
    fn reports(&self) -> PathBuf {
        let folder = self.path("ranks");
        fs::create_dir_all(&folder).expect("a folder");
        for rank in sample::job_report().ranks {
            let path = folder.join(format!("rank-{}.json", rank.registered.rank));
            fs::write(path, serde_json::to_vec(&rank).expect("json")).expect("written");
        }
        folder
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const QUIET: &[&str] = &["--no-daemon", "--quiet", "--"];

fn quiet<'a>(job: &[&'a str]) -> Vec<&'a str> {
    QUIET.iter().chain(job).copied().collect()
}

#[test]
fn the_exit_code_is_the_jobs() {
    let place = Place::new();
    for (job, code) in [
        (&["sh", "-c", "exit 7"][..], 7),
        (&["true"], 0),
        (&["sh", "-c", "kill -9 $$"], 137),
        (&["/nowhere/mpirun", "-n", "2", "./app"], 127),
        (&["/dev/null"], 126),
    ] {
        let output = place.run(&quiet(job)).output().expect("started");
        assert_eq!(output.status.code(), Some(code), "{job:?}: {}", stderr(&output));
    }
}

#[test]
fn the_streams_are_the_jobs() {
    let place = Place::new();
    let mut child = place
        .run(&quiet(&["sh", "-c", "cat; echo to-stderr >&2"]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let text = b"binary \x00\xff and\nlines";
    child.stdin.take().expect("piped").write_all(text).expect("read by cat");
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.stdout, text);
    assert_eq!(stderr(&output), "to-stderr\n");
}

#[test]
fn the_ranks_get_our_variables_and_keep_their_own() {
    let place = Place::new();
    let output = place
        .run(&["--no-daemon", "-q", "--mode", "observe", "--hosts", "n{rank}", "--", "env"])
        .env("LD_PRELOAD", "libm.so.6")
        .env("PAS_LOG", "info")
        .env("PAS_JOB_ID", "mine-1")
        .output()
        .expect("started");
    let text = stdout(&output);
    for line in [
        &format!("LD_PRELOAD=libm.so.6:{}", place.lib()),
        "PAS_JOB_ID=mine-1",
        "PAS_MODE=observe",
        "PAS_HOST=n{rank}",
        "PAS_LOG=info",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} is missing in\n{text}");
    }
    assert!(text.contains("PAS_REPORT_DIR=/"), "an absolute folder:\n{text}");
    assert!(!text.contains("PAS_URL="), "there is no daemon:\n{text}");
    let foreign = |line: &&str| line.starts_with("LD_") && !line.starts_with("LD_PRELOAD=");
    let before = std::env::vars().filter(|(name, _)| name.starts_with("LD_")).count();
    let added = text.lines().filter(foreign).count();
    assert!(added <= before, "no loader variable but LD_PRELOAD is set:\n{text}");
}

#[test]
fn a_launcher_is_told_to_export_them() {
    let place = Place::new();
    let answers = |text: &str| {
        format!("if [ \"$1\" = --version ]; then echo '{text}'; exit 0; fi\nprintf '%s\\n' \"$@\"")
    };
    let open_mpi = place.script("mpirun", &answers("mpirun (Open MPI) 4.1.4"));
    let output = place.run(&quiet(&[&open_mpi, "-n", "2", "./app"])).output().expect("started");
    assert_eq!(
        stdout(&output),
        "-x\nLD_PRELOAD\n-x\nPAS_JOB_ID\n-x\nPAS_REPORT_DIR\n-n\n2\n./app\n",
        "{}",
        stderr(&output)
    );
    let hydra = place.script("mpiexec", &answers("HYDRA build details:"));
    let output = place.run(&quiet(&[&hydra, "-n", "2", "./app"])).output().expect("started");
    let expected = format!("-genv\nLD_PRELOAD\n{}\n-genv\nPAS_JOB_ID\n", place.lib());
    assert!(stdout(&output).starts_with(&expected), "{}", stdout(&output));
    // A program is never asked for its version: it might do anything.
    let program = place.script("train", "printf '%s ' \"$@\" >> \"$0.log\"");
    place.run(&quiet(&[&program, "-n", "2"])).output().expect("started");
    assert_eq!(fs::read_to_string(format!("{program}.log")).expect("ran"), "-n 2 ");
}

#[test]
fn signals_are_handed_on() {
    let place = Place::new();
    // Not SIGINT: where the tester's shell has it ignored (a background job), it must stay so.
    for (signal, name, code) in [(Signal::TERM, "TERM", 41), (Signal::USR1, "USR1", 42)] {
        let script = format!("trap 'exit {code}' {name}; echo ready; while :; do sleep 0.02; done");
        let mut child = place
            .run(&quiet(&["sh", "-c", &script]))
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        out.read_line(&mut line).expect("the job is there");
        assert_eq!(line, "ready\n");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
        kill_process(pid, signal).expect("sent");
        assert_eq!(child.wait().expect("ended").code(), Some(code), "{name}");
    }
}

#[test]
fn what_is_ignored_stays_ignored() {
    let place = Place::new();
    let ask = "grep SigIgn /proc/self/status";
    let native = Command::new("sh")
        .args(["-c", &format!("trap '' HUP INT; exec sh -c '{ask}'")])
        .output()
        .expect("started");
    let command = place.run(&quiet(&["sh", "-c", ask]));
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let output = Command::new("sh")
        .args(["-c", &format!("trap '' HUP INT; exec {}", words.join(" "))])
        .env("PAS_LIB", place.lib())
        .env("XDG_STATE_HOME", place.path("state"))
        .output()
        .expect("started");
    assert_eq!(stdout(&output), stdout(&native), "{}", stderr(&output));
}

#[test]
fn the_summary_and_the_page_come_after_the_job() {
    let place = Place::new();
    let copy = format!(
        "cp {}/rank-*.json \"$PAS_REPORT_DIR\"; echo trained; exit 3",
        place.reports().display()
    );
    let folder = place.path("out");
    let arguments =
        ["--no-daemon", "--report", folder.to_str().expect("text"), "--", "sh", "-c", &copy];
    let output = place.run(&arguments).output().expect("started");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stdout(&output), "trained\n", "standard output belongs to the job");
    let text = stderr(&output);
    assert!(text.contains("PAS report of job example-1") && text.contains("recursive doubling"));
    assert!(text.contains("report.html"), "{text}");
    let page = fs::read_to_string(folder.join("report.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>"));

    let report = Command::new(env!("CARGO_BIN_EXE_pas"))
        .args(["report", "--json"])
        .arg(&folder)
        .output()
        .expect("started");
    let value: serde_json::Value = serde_json::from_slice(&report.stdout).expect("JSON");
    assert_eq!(value["ranks"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_full_disk_costs_a_line_and_nothing_else() {
    let place = Place::new();
    let folder = place.path("out");
    fs::create_dir(&folder).expect("a folder");
    symlink("/dev/full", folder.join("report.html")).expect("a link");
    let copy = format!("cp {}/rank-*.json \"$PAS_REPORT_DIR\"; exit 4", place.reports().display());
    let arguments =
        ["--no-daemon", "--report", folder.to_str().expect("text"), "--", "sh", "-c", &copy];
    let output = place.run(&arguments).output().expect("started");
    assert_eq!(output.status.code(), Some(4));
    let text = stderr(&output);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("pas: ")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].contains("report.html") && lines[0].contains("No space left"), "{text}");

    let nowhere = ["--no-daemon", "--report", "/dev/null/x", "--", "sh", "-c", "exit 5"];
    let output = place.run(&nowhere).output().expect("started");
    assert_eq!(output.status.code(), Some(5));
    assert!(stderr(&output).contains("/dev/null/x"), "{}", stderr(&output));
}

#[test]
fn a_run_has_its_own_daemon_or_goes_on_without() {
    let place = Place::new();
    // The job asks the daemon that it was given.
    let pas = env!("CARGO_BIN_EXE_pas");
    let output = place.run(&["-q", "--", pas, "status", "--json"]).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(status["jobs"], serde_json::json!([]), "nobody has registered");

    let job = ["-q", "--fabric", "/nowhere.toml", "--", "sh", "-c", "echo \"[$PAS_URL]\"; exit 6"];
    let output = place.run(&job).output().expect("started");
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(6), "[]\n"));
    let text = stderr(&output);
    assert!(text.contains("/nowhere.toml") && text.contains("without a daemon"), "{text}");

    // A daemon that was named is used as it is, whether it answers or not.
    let job = ["-q", "--url", "unix:/nowhere/pasd.sock", "--", "sh", "-c", "echo $PAS_URL"];
    let output = place.run(&job).output().expect("started");
    assert_eq!(stdout(&output), "unix:/nowhere/pasd.sock\n", "{}", stderr(&output));
}

#[test]
fn without_libpas_nothing_is_started() {
    let place = Place::new();
    let touched = place.path("touched");
    let job = ["--no-daemon", "--", "touch", touched.to_str().expect("text")];
    let output = place.run(&job).env("PAS_LIB", "/nowhere/libpas.so").output().expect("started");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/nowhere/libpas.so"), "{}", stderr(&output));
    assert!(!touched.exists());
}

#[test]
fn every_subcommand_has_examples() {
    let help = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pas"))
            .args(words)
            .arg("--help")
            .output()
            .expect("help");
        stdout(&output)
    };
    for command in ["run", "report", "doctor", "status", "completions", "man"] {
        assert!(help(&[]).contains(&format!("\n  {command} ")), "{command} is listed");
        assert!(help(&[command]).contains("Examples:\n  pas "), "{command}");
    }
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pas"))
        .args(["report", "--example", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ended");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn pages_and_completions_are_made() {
    let place = Place::new();
    let folder = place.path("man");
    let pas = |words: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_pas")).args(words).output().expect("started")
    };
    assert!(pas(&["man", "--dir", folder.to_str().expect("text")]).status.success());
    assert!(Path::new(&folder.join("pas-run.1")).exists());
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(&pas(&["completions", shell])).contains("doctor"), "{shell}");
    }
}
