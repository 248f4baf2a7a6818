//! `pasd`: the strategy daemon of PAS.

use clap::Parser;
use pas_core::engine::Limits;
use pas_core::units::Nanos;
use pas_tools::daemon::{self, DaemonConfig, Running, driver::emulated::Faults, fabric_file};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The strategy daemon: gives training jobs the optical circuits that their patterns need.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  pasd --check fabric.toml                     say what is wrong with a fabric file
  pasd --fabric fabric.toml                    serve on 127.0.0.1:7447, keep nothing
  pasd --fabric fabric.toml --state /var/lib/pasd --socket /run/pasd.sock
  pasd --demo --listen 127.0.0.1:0 --port-file address
                                               a built-in fabric of four hosts, any free port

The switches are emulated: drivers for real ones are not part of this version."
)]
struct Options {
    /// The fabric's file (TOML).
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    fabric: Option<PathBuf>,
    /// Use the built-in fabric: four hosts, two planes.
    #[arg(long)]
    demo: bool,
    /// Check a fabric file and exit: 0 where it is good, 1 with the faults where not.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// TCP address; port 0 takes any free one. There is no authentication: keep it inside.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7447")]
    listen: SocketAddr,
    /// Unix socket, beside TCP.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Write the TCP address to this file once it is served.
    #[arg(long, value_name = "FILE")]
    port_file: Option<PathBuf>,
    /// Folder of the store: jobs, phases and circuits survive the daemon.
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// A rank silent for so many milliseconds is dead.
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    lease_ms: u64,
    /// Seed of the emulated switches' delays.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pasd: {error}");
            ExitCode::FAILURE
        }
    }
}

type Failed = Box<dyn std::error::Error>;

/// How often it is looked whether the daemon is to end.
const SUPERVISION: Duration = Duration::from_millis(50);

fn run(options: Options) -> Result<(), Failed> {
    if let Some(file) = &options.check {
        let fabric = fabric_file::read(file)?;
        let (hosts, planes) = (fabric.hosts.len(), fabric.planes.len());
        println!("{}: good: {hosts} hosts, {planes} planes", file.display());
        return Ok(());
    }
    let fabric = match &options.fabric {
        Some(file) => fabric_file::read(file)?,
        None if options.demo => fabric_file::parse("the built-in fabric", fabric_file::DEMO)?,
        None => return Err("no fabric: give --fabric FILE, or --demo for a built-in one".into()),
    };
    let lease_ns = Nanos::from_millis(options.lease_ms);
    let limits = Limits { lease_ns, heartbeat_ns: Nanos(lease_ns.0 / 5), ..Limits::default() };
    let name = fabric.name.clone();
    allow_connections();
    if options.state.is_none() {
        eprintln!("pasd: no --state: a restart forgets all jobs");
    }
    let running = daemon::start(DaemonConfig {
        fabric,
        limits,
        listen: Some(options.listen),
        socket: options.socket,
        state: options.state,
        faults: Faults::default(),
        seed: options.seed,
    })?;
    if let Some(address) = running.tcp_address {
        eprintln!("pasd: fabric {name:?}, emulated switches, serving on http://{address}");
        if let Some(file) = &options.port_file {
            write_whole(file, &format!("{address}\n"))?;
        }
    }
    let ended = wait_for_end(&running);
    running.stop();
    ended
}

/// Takes as many descriptors as it may have: each connection is one, and the usual soft limit is
/// for programs that use select().
fn allow_connections() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Refused, it goes on with fewer: further connections wait until they are accepted.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Writes a file so that a reader sees all of it or nothing.
fn write_whole(file: &PathBuf, text: &str) -> std::io::Result<()> {
    let part = file.with_extension("part");
    std::fs::File::create(&part)?.write_all(text.as_bytes())?;
    std::fs::rename(part, file)
}

/// Returns at SIGTERM or SIGINT; fails when the engine has: whoever supervises the daemon shall
/// start it again.
fn wait_for_end(running: &Running) -> Result<(), Failed> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    while signals.pending().next().is_none() {
        if !running.lives() {
            return Err("the engine has failed, see above; start pasd again".into());
        }
        std::thread::sleep(SUPERVISION);
    }
    Ok(())
}
