//! How fast pasd answers: a real daemon, real sockets, switches that take no time.
//!
//! `cargo run --release --example control`, after `cargo build --release` made the daemon.

use clap::Parser;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use ureq::Agent;

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Measures pasd: pre-stage requests at a fixed rate, with and without a store; ranks registered
/// and held; what the store's sync costs.
#[derive(Parser)]
struct Options {
    /// The daemon; by default the one that was built beside this program.
    #[arg(long)]
    pasd: Option<PathBuf>,
    /// Pre-stage requests a second.
    #[arg(long, default_value_t = 1000)]
    rate: u32,
    /// Length of each run of pre-stage requests, seconds.
    #[arg(long, default_value_t = 20)]
    seconds: u32,
    /// Ranks to register.
    #[arg(long, default_value_t = 100_000)]
    ranks: u32,
    /// Write the figures to this file, too.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Planes of the fabric; each has a quarter of the hosts.
const PLANES: u32 = 4;
/// Hosts of the fabric.
const HOSTS: u32 = 200;
/// Jobs of two ranks, each on two hosts of its own.
const JOBS: u32 = HOSTS / 2;
/// Threads that send requests.
const SENDERS: u32 = 16;
/// The size of the jobs that hold many ranks.
const WORLD: u32 = 1000;
/// Syncs that are timed.
const SYNCS: u32 = 500;

fn main() -> Result<(), Failed> {
    let options = Options::parse();
    let exe = match &options.pasd {
        Some(exe) => exe.clone(),
        None => std::env::current_exe()?.with_file_name("../pasd"),
    };
    let mut figures = Figures::default();
    prestages(&mut figures, "prestage", &Pasd::start(&exe, false)?, &options)?;
    prestages(&mut figures, "prestage_stored", &Pasd::start(&exe, true)?, &options)?;
    registrations(&mut figures, &Pasd::start(&exe, false)?, options.ranks)?;
    syncs(&mut figures, &Pasd::start(&exe, true)?)?;
    if let Some(file) = &options.json {
        let whole = json!({ "bench": "control", "figures": figures.0 });
        fs::write(file, serde_json::to_vec_pretty(&whole)?)?;
    }
    Ok(())
}

/// What was measured, printed as it comes.
#[derive(Default)]
struct Figures(Vec<Value>);

impl Figures {
    fn add(&mut self, name: &str, value: f64, unit: &str, note: &str) {
        println!("{:38} {value:12.1} {unit:4} {note}", format!("control.{name}"));
        let name = format!("control.{name}");
        self.0.push(json!({ "name": name, "value": value, "unit": unit, "note": note }));
    }

    /// The median and the 99th percentile of some times.
    fn add_times(&mut self, name: &str, times: &mut [Duration], unit: &str, note: &str) {
        times.sort_unstable();
        for percent in [50, 99] {
            let time = times[(times.len() - 1) * percent / 100].as_secs_f64();
            let value = time * if unit == "us" { 1e6 } else { 1e3 };
            self.add(&format!("{name}_p{percent}_{unit}"), value, unit, note);
        }
    }
}

/// A daemon of its own, and the folder that it has.
struct Pasd {
    child: Child,
    url: String,
    folder: tempfile::TempDir,
}

impl Pasd {
    fn start(exe: &Path, with_store: bool) -> Result<Pasd, Failed> {
        // Beside the program: a temporary folder may be in memory, where a sync costs nothing.
        let folder = tempfile::tempdir_in(std::env::current_exe()?.with_file_name(""))?;
        let (fabric, port_file) = (folder.path().join("fabric"), folder.path().join("port"));
        fs::write(&fabric, fabric_file())?;
        let mut command = Command::new(exe);
        command.arg("--fabric").arg(&fabric).arg("--port-file").arg(&port_file);
        command.args(["--listen", "127.0.0.1:0", "--lease-ms", "3600000"]);
        if with_store {
            command.arg("--state").arg(folder.path().join("state"));
        }
        let child = command.stderr(Stdio::null()).stdin(Stdio::null()).spawn()?;
        let mut pasd = Pasd { child, url: String::new(), folder };
        while !port_file.exists() {
            if let Some(status) = pasd.child.try_wait()? {
                return Err(format!("{}: {status}", exe.display()).into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        pasd.url = format!("http://{}", fs::read_to_string(&port_file)?.trim());
        while ask(&agent(), "GET", &format!("{}/readyz", pasd.url), None).is_err() {
            thread::sleep(Duration::from_millis(5));
        }
        Ok(pasd)
    }

    /// The daemon's memory.
    fn rss_mib(&self) -> Result<f64, Failed> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?;
        Ok(kib.parse::<f64>()? / 1024.0)
    }
}

impl Drop for Pasd {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn fabric_file() -> String {
    let mut text =
        "name = \"bench\"\neps_bps = 10_000_000_000\neps_oversubscription = 4.0\n".to_owned();
    for plane in 0..PLANES {
        text += &format!(
            "[[planes]]\nname = \"p{plane}\"\ncircuit_bps = 100_000_000_000\n\
             optical_ns = {{ fixed = 0 }}\nlink_up_ns = {{ fixed = 0 }}\n[planes.ports]\n"
        );
        let share = HOSTS / PLANES;
        for host in plane * share..(plane + 1) * share {
            text += &format!("host{host} = {}\n", host + 1);
        }
    }
    text
}

fn agent() -> Agent {
    let config = Agent::config_builder().timeout_global(Some(Duration::from_secs(10)));
    Agent::new_with_config(config.build())
}

/// Sends a request on a connection that is kept; anything but success is an error.
fn ask(agent: &Agent, method: &str, url: &str, body: Option<&Value>) -> Result<String, Failed> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = ureq::http::Request::builder().method(method).uri(url).body(body)?;
    Ok(agent.run(request)?.body_mut().read_to_string()?)
}

fn register(agent: &Agent, url: &str, job: &str, rank: u32, world: u32) -> Result<(), Failed> {
    let mut body: Value =
        serde_json::from_str(include_str!("../../core/tests/golden/register_rank.json"))?;
    body["rank"] = json!(rank % world);
    body["world_size"] = json!(world);
    body["host"] = json!(format!("host{}", rank % HOSTS));
    ask(agent, "POST", &format!("{url}/v1/jobs/{job}/ranks"), Some(&body)).map(drop)
}

/// Sets the jobs up: two ranks each, and a phase that is worth a circuit.
fn set_up(url: &str) -> Result<String, Failed> {
    let mut phase: Value =
        serde_json::from_str(include_str!("../../core/tests/golden/phase.json"))?;
    phase["members"] = json!([{ "first": 0, "stride": 1, "count": 2 }]);
    let name = phase["phase"].as_str().ok_or("no name")?.to_owned();
    let agent = agent();
    for job in 0..JOBS {
        let id = format!("job{job}");
        for rank in 0..2 {
            let mut body: Value =
                serde_json::from_str(include_str!("../../core/tests/golden/register_rank.json"))?;
            body["rank"] = json!(rank);
            body["world_size"] = json!(2);
            body["host"] = json!(format!("host{}", 2 * job + rank));
            ask(&agent, "POST", &format!("{url}/v1/jobs/{id}/ranks"), Some(&body))?;
        }
        ask(&agent, "PUT", &format!("{url}/v1/jobs/{id}/phases/{name}"), Some(&phase))?;
    }
    Ok(name)
}

/// Pre-stage requests at a fixed rate, whatever the answers take; each makes a circuit, which is
/// given back once it was read back.
fn prestages(
    figures: &mut Figures,
    name: &str,
    pasd: &Pasd,
    options: &Options,
) -> Result<(), Failed> {
    let phase = &set_up(&pasd.url)?;
    let (rate, count) = (options.rate, options.rate * options.seconds);
    let begin = Instant::now() + Duration::from_millis(100);
    let next = &AtomicU32::new(0);
    let send = || -> Result<Vec<(Duration, Duration)>, Failed> {
        let (agent, mut times) = (agent(), Vec::new());
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= count {
                return Ok(times);
            }
            let due = begin + Duration::from_secs(1) * number / rate;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let sent = Instant::now();
            let job = format!("{}/v1/jobs/job{}", pasd.url, number % JOBS);
            let request = json!({
                "version": 1, "incarnation": 1, "request": number, "phase": phase,
                "starts_in_ns": 0, "duration_ns": 30_000_000, "wait_ns": 5_000_000_000_u64,
            });
            let answer = ask(&agent, "POST", &format!("{job}/prestage"), Some(&request))?;
            let done = Instant::now();
            let answer: Value = serde_json::from_str(&answer)?;
            if answer["reason"] != "switched" || answer["circuits"][0]["state"] != "up" {
                return Err(format!("no circuit was set up: {answer:#}").into());
            }
            times.push((done - sent, done - due));
            ask(&agent, "DELETE", &format!("{job}/circuits"), None)?;
        }
    };
    let times = in_threads(SENDERS, send)?;
    let (mut sent, mut due): (Vec<Duration>, Vec<Duration>) = times.into_iter().unzip();
    let note = format!("from sending to read back; {rate} a second, {count} in all");
    figures.add_times(name, &mut sent, "us", &note);
    let note = "from when it was due, waits of the sender included";
    figures.add_times(&format!("{name}_due"), &mut due, "us", note);
    Ok(())
}

/// Runs the same work in threads and puts their results together.
fn in_threads<T: Send>(
    threads: u32,
    work: impl Fn() -> Result<Vec<T>, Failed> + Sync,
) -> Result<Vec<T>, Failed> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut results = Vec::new();
        for thread in threads {
            results.extend(thread.join().map_err(|_| "a sender panicked")??);
        }
        Ok(results)
    })
}

/// Registers many ranks as fast as a few senders can.
fn registrations(figures: &mut Figures, pasd: &Pasd, ranks: u32) -> Result<(), Failed> {
    let next = &AtomicU32::new(0);
    let begin = Instant::now();
    let mut times = in_threads(4, || {
        let (agent, mut times) = (agent(), Vec::new());
        loop {
            let rank = next.fetch_add(1, Relaxed);
            if rank >= ranks {
                return Ok(times);
            }
            let sent = Instant::now();
            register(&agent, &pasd.url, &format!("job{}", rank / WORLD), rank, WORLD)?;
            times.push(sent.elapsed());
        }
    })?;
    let rate = f64::from(ranks) / begin.elapsed().as_secs_f64();
    let metrics = ask(&agent(), "GET", &format!("{}/metrics", pasd.url), None)?;
    let held = metrics.lines().find_map(|line| line.strip_prefix("pasd_ranks "));
    let held: f64 = held.ok_or("pasd_ranks is not in /metrics")?.parse()?;
    figures.add("ranks", held, "", "registered and held");
    figures.add("register_rate", rate, "1/s", "by four senders, one request after the other");
    figures.add_times("register", &mut times, "ms", "among them");
    figures.add("rss_mib", pasd.rss_mib()?, "MiB", "of the daemon that holds them");
    Ok(())
}

/// What it costs that an answer is a promise: a registration with a store, and a bare sync of the
/// same disk.
fn syncs(figures: &mut Figures, pasd: &Pasd) -> Result<(), Failed> {
    let agent = agent();
    let mut times = Vec::new();
    for rank in 0..SYNCS {
        let sent = Instant::now();
        register(&agent, &pasd.url, "train", rank, WORLD)?;
        times.push(sent.elapsed());
    }
    figures.add_times("register_stored", &mut times, "us", "a registration that is on the disk");
    let mut file = File::create(pasd.folder.path().join("bare"))?;
    times.clear();
    for _ in 0..SYNCS {
        let begin = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(begin.elapsed());
    }
    figures.add_times("sync", &mut times, "us", "4 KiB written and synced, for comparison");
    Ok(())
}
