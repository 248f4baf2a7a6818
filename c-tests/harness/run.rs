//! Building and running: libpas.so, the programs, and MPI jobs under a time limit.

use std::fs;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// An MPI library: Debian's two, and four from PyPI's wheels (scripts/setup test installs them).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "Open MPI is its name")]
pub enum Mpi {
    OpenMpi,
    Mpich,
    OpenMpi5,
    Mpich5,
    /// MPICH 5 through the binary interface that MPI-5.0 fixes.
    MpichAbi,
    Intel,
}

impl Mpi {
    /// Debian's, under which everything is run.
    pub const BOTH: [Mpi; 2] = [Mpi::OpenMpi, Mpi::Mpich];
    pub const ALL: [Mpi; 6] =
        [Mpi::OpenMpi, Mpi::Mpich, Mpi::OpenMpi5, Mpi::Mpich5, Mpi::MpichAbi, Mpi::Intel];

    /// As Debian's alternatives name it, or for short.
    pub fn name(self) -> &'static str {
        match self {
            Mpi::OpenMpi => "openmpi",
            Mpi::Mpich => "mpich",
            Mpi::OpenMpi5 => "openmpi5",
            Mpi::Mpich5 => "mpich5",
            Mpi::MpichAbi => "mpich-abi",
            Mpi::Intel => "intel",
        }
    }

    /// True for Open MPI, whatever the version.
    pub fn is_open_mpi(self) -> bool {
        matches!(self, Mpi::OpenMpi | Mpi::OpenMpi5)
    }

    /// Where a wheel's environment is.
    fn wheel(self) -> PathBuf {
        let folder = match self {
            Mpi::OpenMpi | Mpi::Mpich => return PathBuf::from("/usr"),
            Mpi::OpenMpi5 => "openmpi5",
            Mpi::Mpich5 | Mpi::MpichAbi => "mpich5",
            Mpi::Intel => "impi",
        };
        target().join("mpi").join(folder)
    }

    /// Its main library.
    pub fn library(self) -> PathBuf {
        match self {
            Mpi::OpenMpi => PathBuf::from("/usr/lib/x86_64-linux-gnu/libmpi.so.40"),
            Mpi::Mpich => PathBuf::from("/usr/lib/x86_64-linux-gnu/libmpich.so.12"),
            Mpi::OpenMpi5 => self.wheel().join("lib/libmpi.so.40"),
            Mpi::Mpich5 | Mpi::Intel => self.wheel().join("lib/libmpi.so.12"),
            Mpi::MpichAbi => self.wheel().join("lib/libmpi_abi.so.1"),
        }
    }

    /// Its C compiler.
    pub fn compiler(self) -> Command {
        let mut command = match self {
            Mpi::OpenMpi | Mpi::Mpich => Command::new(format!("mpicc.{}", self.name())),
            Mpi::MpichAbi => Command::new(self.wheel().join("bin/mpicc_abi")),
            _ => Command::new(self.wheel().join("bin/mpicc")),
        };
        command.envs(self.environment());
        command
    }

    /// Its launcher, for so many ranks.
    pub fn launcher(self, ranks: u32) -> Command {
        let mut command = match self {
            Mpi::OpenMpi | Mpi::Mpich => Command::new(format!("mpirun.{}", self.name())),
            Mpi::OpenMpi5 => Command::new(self.wheel().join("bin/mpirun")),
            Mpi::Mpich5 | Mpi::MpichAbi => Command::new(self.wheel().join("bin/mpiexec")),
            Mpi::Intel => Command::new(self.wheel().join("bin/mpiexec.hydra")),
        };
        if self.is_open_mpi() {
            command.arg("--oversubscribe");
        }
        command.arg("-n").arg(ranks.to_string()).envs(self.environment());
        command
    }

    /// What its programs and tools need to be set.
    pub fn environment(self) -> Vec<(&'static str, String)> {
        match self {
            Mpi::OpenMpi | Mpi::OpenMpi5 => vec![
                ("OMPI_ALLOW_RUN_AS_ROOT", "1".to_owned()),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".to_owned()),
            ],
            // Shared memory alone starts in a tenth of the time that a search for a fabric takes.
            Mpi::Intel => vec![
                ("I_MPI_ROOT", self.wheel().display().to_string()),
                ("I_MPI_FABRICS", "shm".to_owned()),
            ],
            Mpi::Mpich | Mpi::Mpich5 | Mpi::MpichAbi => Vec::new(),
        }
    }
}

/// The repository.
pub fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top().join("target"), PathBuf::from)
}

/// The library under test.
pub fn libpas() -> PathBuf {
    target().join("release/libpas.so")
}

/// A program built for an MPI.
pub fn program(name: &str, mpi: Mpi) -> PathBuf {
    target().join("c-tests").join(format!("{name}.{}", mpi.name()))
}

/// Builds libpas.so and the tools in release, and every program for both MPIs. Ends the process
/// with what is missing where that fails: no test could mean anything.
pub fn build() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let args = ["build", "--release", "--quiet", "--workspace", "--lib", "--bins"];
    must(Command::new(cargo).args(args).current_dir(top()), "cargo build --release");
    let folder = target().join("c-tests");
    fs::create_dir_all(&folder).expect("a folder for the programs");
    let sources = fs::read_dir(top().join("c-tests/programs")).expect("the programs");
    let mut sources: Vec<PathBuf> = sources.flatten().map(|entry| entry.path()).collect();
    sources.retain(|path| path.extension().is_some_and(|ending| ending == "c"));
    sources.sort();
    for mpi in Mpi::ALL {
        for source in &sources {
            compile(source, mpi);
        }
    }
}

fn compile(source: &Path, mpi: Mpi) {
    let name = source.file_stem().and_then(|name| name.to_str()).expect("a name");
    let out = program(name, mpi);
    let age = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let newest = [source.to_owned(), source.with_file_name("check.h"), top().join("include/pas.h")];
    let newest = newest.iter().filter_map(|path| age(path)).max();
    if age(&out) > newest {
        return;
    }
    let mut command = mpi.compiler();
    command.args(["-O1", "-Wall", "-Wextra", "-Wno-stringop-overflow", "-Wno-stringop-overread"]);
    command.arg("-o").arg(&out).arg(source);
    if name == "linked" {
        let libs = target().join("release");
        command.arg(format!("-L{}", libs.display())).arg("-lpas");
        command.arg(format!("-Wl,-rpath,{}", libs.display()));
    }
    command.args(["-lpthread", "-ldl"]);
    let what = format!("{command:?} (scripts/setup test installs it)");
    must(&mut command, &what);
}

fn must(command: &mut Command, what: &str) {
    let done = command.status();
    if !done.as_ref().is_ok_and(|status| status.success()) {
        eprintln!("harness: {what} failed: {done:?}");
        std::process::exit(2);
    }
}

/// A job to run.
#[derive(Clone)]
pub struct Job {
    pub mpi: Mpi,
    pub ranks: u32,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub limit: Duration,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Job {
    /// `name` is one of the programs.
    pub fn new(name: &str, mpi: Mpi, ranks: u32, args: &[&str]) -> Job {
        Job {
            mpi,
            ranks,
            program: program(name, mpi),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: Vec::new(),
            limit: Duration::from_secs(60),
        }
    }

    /// The same job with a variable set.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Job {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// The same job under libpas.so.
    pub fn preloaded(self) -> Job {
        self.with("LD_PRELOAD", libpas().display().to_string())
    }

    /// The launcher's command, to be run or spawned.
    pub fn command(&self) -> Command {
        let mut command = self.mpi.launcher(self.ranks);
        command.arg(&self.program).args(&self.args);
        // Some MPIs leave files where they are when a rank crashes.
        command.current_dir(target().join("c-tests"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PAS_") {
                command.env_remove(name);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end; an error where the time limit ends it.
    pub fn run(&self) -> Result<Outcome, String> {
        finish(self.command(), self.limit)
    }
}

/// Runs a command in a process group of its own, under a time limit.
pub fn finish(mut command: Command, limit: Duration) -> Result<Outcome, String> {
    let mut stdout = tempfile::tempfile().map_err(|error| error.to_string())?;
    let mut stderr = tempfile::tempfile().map_err(|error| error.to_string())?;
    command.stdin(Stdio::null()).process_group(0);
    command.stdout(stdout.try_clone().map_err(|error| error.to_string())?);
    command.stderr(stderr.try_clone().map_err(|error| error.to_string())?);
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if start.elapsed() > limit {
            kill_group(child.id());
            let _ = child.wait();
            return Err(format!("{command:?}: not done after {limit:?}"));
        }
        sleep(Duration::from_millis(5));
    };
    let took = start.elapsed();
    let read = |file: &mut fs::File| {
        let mut bytes = Vec::new();
        let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
        read.map(|_| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(|error| error.to_string())
    };
    let code = status.code().unwrap_or(128 + status.signal().unwrap_or(0));
    Ok(Outcome { code, stdout: read(&mut stdout)?, stderr: read(&mut stderr)?, took })
}

fn kill_group(leader: u32) {
    let _ = Command::new("kill").args(["-9", "--", &format!("-{leader}")]).status();
}

/// Demands that two runs of a job agree, and that PAS said no more than `lines_max` lines.
pub fn agree(native: &Outcome, other: &Outcome, lines_max: usize) -> Result<(), String> {
    if native.code != other.code {
        let tail = other.stderr.lines().rev().take(5).collect::<Vec<_>>().join("\n");
        return Err(format!("exit code {}, natively {}; {tail}", other.code, native.code));
    }
    if native.stdout != other.stdout {
        return Err(format!(
            "standard output differs\n--- native\n{}--- with PAS\n{}",
            native.stdout, other.stdout
        ));
    }
    let said: Vec<&str> = other.stderr.lines().filter(|line| line.contains("pas: ")).collect();
    if said.len() > lines_max {
        return Err(format!("{} lines of PAS: {said:#?}", said.len()));
    }
    match other.stderr.contains("panicked") {
        true => Err(format!("a panic: {}", other.stderr)),
        false => Ok(()),
    }
}
