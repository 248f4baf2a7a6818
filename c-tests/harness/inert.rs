//! Preloaded into what is no rank, libpas.so does nothing: no thread, file, connection, output.

use crate::fake_pasd::{FakePasd, Script};
use crate::reports;
use crate::run::{Job, Mpi, agree, finish, libpas};
use crate::trial;
use libtest_mimic::Trial;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(30);

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    vec![
        trial("inert::in_shells_and_compilers", shells),
        trial("inert::in_launchers_openmpi", || launchers(Mpi::OpenMpi)),
        trial("inert::in_launchers_mpich", || launchers(Mpi::Mpich)),
        trial("inert::in_every_form_of_the_list", lists),
        trial("inert::where_a_copy_is_loaded_before_openmpi", || copies(Mpi::OpenMpi)),
        trial("inert::where_a_copy_is_loaded_before_mpich", || copies(Mpi::Mpich)),
        trial("inert::with_a_full_stderr_openmpi", || stuck_stderr(Mpi::OpenMpi)),
        trial("inert::with_a_full_stderr_mpich", || stuck_stderr(Mpi::Mpich)),
        trial("inert::with_an_abandoned_stderr_openmpi", || abandoned_stderr(Mpi::OpenMpi)),
        trial("inert::with_an_abandoned_stderr_mpich", || abandoned_stderr(Mpi::Mpich)),
        trial("inert::with_closed_streams_openmpi", || closed_streams(Mpi::OpenMpi)),
        trial("inert::with_closed_streams_mpich", || closed_streams(Mpi::Mpich)),
    ]
}

/// Calls that would be more than loading: counted by strace with and without the library.
fn traced(words: &[&str], preload: Option<&str>) -> Result<Vec<(&'static str, usize)>, String> {
    let log = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o"]).arg(log.path());
    if let Some(preload) = preload {
        strace.args(["-E", &format!("LD_PRELOAD={preload}")]);
    }
    strace.args(words).env("PAS_URL", "http://127.0.0.1:1").env("PAS_LOG", "info");
    let outcome = finish(strace, LIMIT)?;
    if outcome.stderr.contains("pas:") || outcome.stdout.contains("pas:") {
        return Err(format!("{words:?}: it spoke: {}", outcome.stderr));
    }
    let text = std::fs::read_to_string(log.path()).map_err(|error| error.to_string())?;
    if text.is_empty() {
        return Err("strace saw nothing".to_owned());
    }
    const CALLS: [&str; 8] =
        ["clone(", "clone3(", "socket(", "connect(", "execve(", "O_WRONLY", "O_CREAT", "write("];
    Ok(CALLS.map(|call| (call, text.matches(call).count())).to_vec())
}

fn shells() -> Result<(), String> {
    let library = libpas().display().to_string();
    for words in [
        &["/bin/true"][..],
        &["bash", "-c", "ls / >/dev/null; true"],
        &["/usr/bin/python3", "-c", "print(1)"],
        &["gcc", "--version"],
    ] {
        let (without, with) = (traced(words, None)?, traced(words, Some(&library))?);
        if without != with {
            return Err(format!("{words:?}: {without:?} became {with:?}"));
        }
    }
    Ok(())
}

/// The launcher and its helpers inherit the preload; only the ranks register.
fn launchers(mpi: Mpi) -> Result<(), String> {
    let fake = FakePasd::tcp(Script::Good);
    let job = Job::new("endings", mpi, 3, &["return"]);
    let native = job.run()?;
    let outcome = job.preloaded().with("PAS_URL", fake.url.clone()).run()?;
    agree(&native, &outcome, 0)?;
    let requests = fake.requests();
    let registered = requests.iter().filter(|request| request.path.ends_with("/ranks"));
    // On busy cores a rank may give an answer up and register again.
    let mut who: Vec<String> = registered
        .map(|request| format!("{} of {}", request.body["rank"], request.body["program"]))
        .collect();
    who.sort();
    who.dedup();
    match who.len() {
        3 => Ok(()),
        _ => Err(format!("3 ranks, and these registered: {who:?}")),
    }
}

fn lists() -> Result<(), String> {
    let library = libpas().display().to_string();
    let other = "libstdbuf.so";
    let folder = "/usr/libexec/coreutils/libstdbuf.so";
    let other = if std::path::Path::new(folder).exists() { folder } else { other };
    let job = Job::new("p2p", Mpi::Mpich, 2, &[]);
    let native = job.run()?;
    for list in [
        format!("{library}:{other}"),
        format!("{other}:{library}"),
        format!("{other} {library}"),
        format!("{library}:{library}"),
    ] {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let reports = folder.path().display().to_string();
        let run = job.clone().with("LD_PRELOAD", list.clone()).with("PAS_REPORT_DIR", reports);
        agree(&native, &run.with("LD_BIND_NOW", "1").run()?, 0)
            .map_err(|error| format!("{list}: {error}"))?;
        let report = reports::read(folder.path(), 0).map_err(|error| format!("{list}: {error}"))?;
        let rows = report["calls"].as_array().into_iter().flatten();
        let barriers = rows.filter(|row| row["call"] == "MPI_Sendrecv_replace");
        let count: Vec<_> = barriers.filter_map(|row| row["count"].as_u64()).collect();
        if count != [20] {
            return Err(format!("{list}: counted {count:?} times 20 calls"));
        }
    }
    Ok(())
}

/// Two copies of the library, at two paths: one of them is the rank, the other forwards.
fn copies(mpi: Mpi) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let copy = folder.path().join("libpas-copy.so");
    std::fs::copy(libpas(), &copy).map_err(|error| error.to_string())?;
    let fake = FakePasd::tcp(Script::Good);
    let job = Job::new("endings", mpi, 2, &["return"]);
    let native = job.run()?;
    let list = format!("{}:{}", libpas().display(), copy.display());
    let job = job.with("LD_PRELOAD", list).with("PAS_URL", fake.url.clone());
    agree(&native, &job.run()?, 0)?;
    match fake.count("PUT", "/report") {
        2 => Ok(()),
        other => Err(format!("{other} reports of 2 ranks")),
    }
}

/// A rank whose standard streams are closed: nothing of ours may become one of them.
fn closed_streams(mpi: Mpi) -> Result<(), String> {
    let fake = FakePasd::tcp(Script::Good);
    let program = crate::run::program("endings", mpi);
    let mut job = Job::new("endings", mpi, 2, &[]);
    job.args = vec!["-c".to_owned(), format!("exec {} return <&- >&- 2>&-", program.display())];
    job.program = "/bin/sh".into();
    let native = job.run()?;
    let outcome = job.preloaded().with("PAS_URL", fake.url.clone()).run()?;
    agree(&native, &outcome, 0)?;
    match fake.requests().len() {
        0 => Ok(()),
        asked => Err(format!("{asked} requests: a socket may have become a standard stream")),
    }
}

/// A rank by itself, run by a shell that first does `before`, under libpas.so with something to
/// complain about; its standard error goes into a pipe that nobody reads.
fn complaining(mpi: Mpi, before: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before}; exec \"$0\" code")]);
    command.arg(crate::run::program("endings", mpi)).envs(Job::new("endings", mpi, 1, &[]).env);
    command.env("LD_PRELOAD", libpas()).env("PAS_MODE", "loud");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Waits for the end of a child, but not for ever.
fn code_of(mut child: Child) -> Result<Option<i32>, String> {
    let limit = Instant::now() + LIMIT;
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => return Ok(status.code()),
            None if Instant::now() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("it hangs".to_owned());
            }
            None => sleep(Duration::from_millis(10)),
        }
    }
}

fn stuck_stderr(mpi: Mpi) -> Result<(), String> {
    // As much as a pipe takes.
    let fill = "head -c 65536 /dev/zero >&2";
    let child = complaining(mpi, fill).spawn().map_err(|error| error.to_string())?;
    match code_of(child)? {
        Some(5) => Ok(()),
        other => Err(format!("{other:?} instead of 5")),
    }
}

fn abandoned_stderr(mpi: Mpi) -> Result<(), String> {
    let child = complaining(mpi, "read line").spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    drop(child.stderr.take());
    // Now that nobody reads its standard error, it may begin.
    drop(child.stdin.take());
    match code_of(child)? {
        Some(5) => Ok(()),
        other => Err(format!("{other:?} instead of 5: did a signal end it?")),
    }
}
