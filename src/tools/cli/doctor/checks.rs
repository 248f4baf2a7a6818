//! The checks, each on its own: none needs another one's outcome.

use super::{Arguments, Check};
use crate::cli::{launcher, on_path, place, preload, process};
use crate::client::{self, Client, ClientError};
use crate::daemon::fabric_file;
use crate::report::words;
use object::{Object, ObjectSymbol};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a program or the daemon may take to answer.
const DEADLINE: Duration = Duration::from_secs(10);
/// Largest libpas.so that is read.
const LIBRARY_BYTES_MAX: u64 = 256 << 20;
/// What a libpas.so must define to be of use: an entry of each kind.
const SYMBOLS: &[&str] = &[
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Allreduce",
    "MPI_Finalize",
    "pas_version",
    "pas_report_loss",
];
/// Launchers that are looked for.
const LAUNCHERS: &[&str] = &[
    "mpirun",
    "mpiexec",
    "mpirun.openmpi",
    "mpirun.mpich",
    "mpiexec.hydra",
    "orterun",
    "prterun",
    "srun",
];

/// Every check, in the order in which a person would mend things.
pub(super) fn all(arguments: &Arguments) -> Vec<Check> {
    let mut checks = vec![kernel()];
    match find_library() {
        Ok(path) => {
            checks.push(library(&path));
            checks.push(silence(&path));
        }
        Err(why) => checks.push(Check::fail("libpas", why, "")),
    }
    checks.extend(other_preloads());
    checks.extend(launchers());
    checks.push(libraries());
    checks.push(daemon(arguments.url.as_deref()));
    checks.push(port());
    checks.push(reports());
    checks.extend(arguments.fabric.as_deref().map(fabric));
    checks
}

fn kernel() -> Check {
    let system = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let found = format!(
        "{} {} on {}; PAS needs no ptrace, no seccomp and no privilege, only LD_PRELOAD",
        text(system.sysname()),
        text(system.release()),
        text(system.machine()),
    );
    match text(system.sysname()).as_str() {
        "Linux" => Check::ok("kernel", found),
        _ => Check::fail("kernel", found, "libpas.so is made for Linux; run the job there"),
    }
}

fn find_library() -> Result<PathBuf, String> {
    let pas = env::current_exe().map_err(|error| error.to_string())?;
    let named = env::var_os("PAS_LIB").filter(|value| !value.is_empty());
    preload::find(named.as_deref(), &pas)
}

/// Is the file what it should be, and of this version?
pub(super) fn library(path: &Path) -> Check {
    let build = "build libpas.so and pas from one source: cargo build --release";
    let bytes = match read_bounded(path) {
        Ok(bytes) => bytes,
        Err(why) => return Check::fail("libpas", format!("{}: {why}", path.display()), build),
    };
    let file = match object::File::parse(bytes.as_slice()) {
        Ok(file) => file,
        Err(error) => {
            return Check::fail(
                "libpas",
                format!("{} is no library ({error})", path.display()),
                build,
            );
        }
    };
    let machine = format!("{:?}", file.architecture()).to_lowercase();
    if machine != env::consts::ARCH {
        let found =
            format!("{} is for {machine}, this machine is {}", path.display(), env::consts::ARCH);
        return Check::fail("libpas", found, build);
    }
    let defined: Vec<&str> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok())
        .collect();
    let missing: Vec<&str> =
        SYMBOLS.iter().copied().filter(|name| !defined.contains(name)).collect();
    if !missing.is_empty() {
        let found = format!("{} does not define {}", path.display(), missing.join(", "));
        return Check::fail("libpas", found, build);
    }
    let ours = env!("CARGO_PKG_VERSION");
    let calls = defined.iter().filter(|name| name.starts_with("MPI_")).count();
    match version_mark(&bytes) {
        Some(version) if version == ours => {
            let found = format!("{} {version}, watches {calls} MPI calls", path.display());
            Check::ok("libpas", found)
        }
        Some(version) => {
            let found = format!("{} is version {version}, pas is {ours}", path.display());
            Check::fail("libpas", found, build)
        }
        None => {
            let found = format!("{} does not tell its version", path.display());
            Check::warn("libpas", found, build)
        }
    }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > LIBRARY_BYTES_MAX {
        return Err(format!("is {} long, which no libpas.so is", words::bytes(length)));
    }
    fs::read(path).map_err(|error| error.to_string())
}

/// The version, from the line with which the library introduces itself (`libpas.so 0.1.0`).
/// Read and not asked for: nothing of the file is run.
pub(super) fn version_mark(bytes: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"libpas.so ";
    let starts = bytes.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    starts
        .filter_map(|(at, _)| {
            let rest = &bytes[at + MARK.len()..];
            let part = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
            let version: Vec<u8> = rest.iter().take_while(part).take(32).copied().collect();
            let version = String::from_utf8(version).ok()?;
            (version.split('.').filter(|number| !number.is_empty()).count() == 3).then_some(version)
        })
        .next()
}

/// A program that is no MPI program must not notice the preload.
pub(super) fn silence(path: &Path) -> Check {
    let mut command = Command::new("sh");
    command.args(["-c", "true; echo said"]).env("LD_PRELOAD", path);
    let lead = "a shell and `true` with the library preloaded";
    match process::ask(&mut command, DEADLINE) {
        Ok(answer)
            if answer.status.success() && answer.stdout == "said\n" && answer.stderr.is_empty() =>
        {
            Check::ok("preload", format!("{lead} run as without it"))
        }
        Ok(answer) => {
            let first = answer.stderr.lines().chain(answer.stdout.lines()).next().unwrap_or("");
            let code = process::exit_code(answer.status);
            Check::fail(
                "preload",
                format!("{lead}: exit code {code}, {first:?}"),
                "the line says what the loader minds; a library built on a newer system needs a \
                 newer glibc: build it here",
            )
        }
        Err(error) => Check::fail("preload", format!("{lead}: {error}"), "see whether sh starts"),
    }
}

/// Other preloaded libraries stay; somebody who looks for a fault wants to know them.
fn other_preloads() -> Option<Check> {
    let list = env::var("LD_PRELOAD").ok().filter(|list| !list.is_empty())?;
    Some(Check::ok("others", format!("LD_PRELOAD is {list}: kept, in this order, by pas run")))
}

fn launchers() -> Vec<Check> {
    let mut found: BTreeMap<PathBuf, String> = BTreeMap::new();
    for name in LAUNCHERS {
        let Some(path) = on_path(name) else {
            continue;
        };
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if let Some(names) = found.get_mut(&real) {
            names.push_str(&format!(", {name}"));
            continue;
        }
        let answer = process::ask(Command::new(&path).arg("--version"), DEADLINE);
        let text = answer.map_or(String::new(), |answer| answer.stdout);
        let family = launcher::identify(name, &text);
        found.insert(real, format!("{}: {name}", family.words()));
    }
    if found.is_empty() {
        return vec![Check::warn(
            "mpirun",
            "no launcher is on PATH",
            "install one (apt install openmpi-bin, or mpich), or put its folder on PATH",
        )];
    }
    found
        .into_iter()
        .map(|(path, what)| Check::ok("mpirun", format!("{what} ({})", path.display())))
        .collect()
}

fn libraries() -> Check {
    let none = "a program may bring its own; else: apt install libopenmpi-dev, or libmpich-dev";
    let mut answer = process::ask(Command::new("ldconfig").arg("-p"), DEADLINE);
    if answer.is_err() {
        answer = process::ask(Command::new("/sbin/ldconfig").arg("-p"), DEADLINE);
    }
    let Ok(answer) = answer else {
        return Check::warn("libmpi", "ldconfig cannot be asked for installed MPIs", none);
    };
    let is_mpi = |line: &&str| {
        ["libmpi.so.", "libmpich.so.", "libmpi_abi.so."].iter().any(|name| line.starts_with(name))
    };
    let mut libraries: Vec<String> = answer
        .stdout
        .lines()
        .map(str::trim)
        .filter(is_mpi)
        .filter_map(|line| line.split(" => ").nth(1).map(str::to_string))
        .collect();
    libraries.sort();
    libraries.dedup();
    match libraries.is_empty() {
        true => Check::warn("libmpi", "the loader knows no MPI library", none),
        false => Check::ok("libmpi", libraries.join(", ")),
    }
}

/// A daemon that was named must answer; the default one may be absent.
pub(super) fn daemon(named: Option<&str>) -> Check {
    let url = named.unwrap_or(client::DEFAULT_URL);
    let answer = Client::new(url, DEADLINE).and_then(|client| client.get_text("/healthz"));
    match answer {
        Ok(_) => Check::ok("daemon", format!("pasd answers at {url}")),
        Err(ClientError::Unreachable { .. }) if named.is_none() => {
            Check::ok("daemon", format!("none at {url}; pas run starts its own for each job"))
        }
        Err(error) => Check::fail(
            "daemon",
            error.to_string(),
            "jobs run without it, and get no circuits; start it, or unset PAS_URL",
        ),
    }
}

fn port() -> Check {
    match TcpListener::bind("127.0.0.1:0") {
        Ok(_) => Check::ok("port", "a port of 127.0.0.1 can be had for the daemon of pas run"),
        Err(error) => Check::fail(
            "port",
            format!("no port of 127.0.0.1 can be had ({error})"),
            "bring up the loopback interface: ip link set lo up",
        ),
    }
}

fn reports() -> Check {
    match place::try_root() {
        Ok(root) => Check::ok("reports", format!("kept in {}", root.display())),
        Err(why) => {
            Check::warn("reports", why, "name a folder for each job: pas run --report DIR -- ...")
        }
    }
}

/// Is this host in the fabric?
pub(super) fn fabric(path: &Path) -> Check {
    let shown = path.display();
    let fabric = match fabric_file::read(path) {
        Ok(fabric) => fabric,
        Err(faults) => return Check::fail("fabric", faults.to_string(), "mend the file"),
    };
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let hosts = words::plural(fabric.hosts.len() as u64, "host");
    match fabric.host(&here) {
        Some(_) => Check::ok("fabric", format!("{shown}: {hosts}, {here} (this one) among them")),
        None => Check::warn(
            "fabric",
            format!("{shown}: {hosts}, and {here} (this one) is not among them"),
            "add it, or give ranks the fabric's names: PAS_HOST, pas run --hosts",
        ),
    }
}
