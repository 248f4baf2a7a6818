//! Jobs with a daemon that is away, broken, slow, hostile, killed, stopped or back again: the job's
//! results and exit code are its own, and it does not take longer for it.

use crate::fake_pasd::{FakePasd, Script};
use crate::run::{Job, Mpi, Outcome, agree, finish, target};
use libtest_mimic::Trial;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A job may take so much longer with a broken daemon: the drain's half second and what two busy
/// cores make of it. (What a call costs is measured elsewhere.)
const EXTRA: Duration = Duration::from_secs(3);

/// A test of one MPI.
type Test = fn(Mpi) -> Result<(), String>;

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    const SCRIPTS: [Script; 10] = [
        Script::Good,
        Script::Broken,
        Script::Garbage,
        Script::WrongTypes,
        Script::Half,
        Script::Trickle,
        Script::Silence,
        Script::Redirect,
        Script::Huge,
        Script::HangUp,
    ];
    let mut trials = Vec::new();
    for mpi in Mpi::BOTH {
        for script in SCRIPTS {
            let title = format!("daemon::answers_{script:?}::{}", mpi.name()).to_lowercase();
            trials.push(Trial::test(title, move || survives(mpi, script).map_err(Into::into)));
        }
        let tests: [(&str, Test); 11] = [
            ("is_asked_what_it_should_be", is_asked),
            ("is_asked_over_a_unix_socket", is_asked_over_unix),
            ("is_asked_on_where_it_holds", is_asked_on),
            ("is_away_and_comes_back", comes_back),
            ("ends_in_the_run", ends_in_the_run),
            ("is_reached_past_a_proxy", ignores_proxies),
            ("is_not_on_a_standard_stream", leaves_standard_streams),
            ("real_is_stopped_and_goes_on", stopped),
            ("real_loses_a_rank_and_releases", loses_a_rank),
            ("real_grants_circuits", grants_circuits),
            ("real_takes_every_name", takes_every_name),
        ];
        for (name, test) in tests {
            let title = format!("daemon::{name}::{}", mpi.name());
            trials.push(Trial::test(title, move || test(mpi).map_err(Into::into)));
        }
    }
    trials
}

fn training(mpi: Mpi, iterations: u32, pause_us: u32) -> Job {
    Job::new("training", mpi, 2, &[&iterations.to_string(), &pause_us.to_string()])
}

/// The same job without PAS, and with it and a daemon at `url`.
fn both(job: &Job, url: &str) -> Result<(Outcome, Outcome), String> {
    let native = job.run()?;
    let other = job.clone().preloaded().with("PAS_URL", url).run()?;
    if other.took > native.took + EXTRA {
        return Err(format!("took {:?}, natively {:?}", other.took, native.took));
    }
    Ok((native, other))
}

fn survives(mpi: Mpi, script: Script) -> Result<(), String> {
    let fake = FakePasd::tcp(script);
    let (native, other) = both(&training(mpi, 30, 5_000), &fake.url)?;
    agree(&native, &other, if script == Script::Good { 0 } else { 2 })?;
    if fake.requests().is_empty() {
        return Err("nothing was asked: the test tests nothing".to_owned());
    }
    Ok(())
}

fn check(what: &str, holds: bool, fake: &FakePasd) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{what}; asked: {:#?}", brief(fake))) }
}

fn brief(fake: &FakePasd) -> Vec<String> {
    let line = |request: &crate::fake_pasd::Request| format!("{} {}", request.method, request.path);
    fake.requests().iter().map(line).collect()
}

fn asks_all(fake: &FakePasd, mpi: Mpi) -> Result<(), String> {
    let job = training(mpi, 80, 10_000).with("PAS_JOB_ID", "asked").with("PAS_HOST", "host{rank}");
    let (native, other) = both(&job, &fake.url)?;
    agree(&native, &other, 0)?;
    check("each rank registers once", fake.count("POST", "/v1/jobs/asked/ranks") >= 2, fake)?;
    let registered = fake.requests();
    let registered = registered.iter().filter(|request| request.path == "/v1/jobs/asked/ranks");
    let mut hosts: Vec<_> = registered.map(|request| request.body["host"].to_string()).collect();
    hosts.sort();
    hosts.dedup();
    check("under its own host", hosts == ["\"host0\"", "\"host1\""], fake)?;
    check("heartbeats", fake.count("POST", "/heartbeat") >= 2, fake)?;
    check("reports", fake.count("PUT", "/report") == 2, fake)?;
    check("good-byes", fake.count("DELETE", "?incarnation=1") == 2, fake)?;
    let phases = fake.requests();
    let phases: Vec<_> = phases.iter().filter(|r| r.path.contains("/phases/")).collect();
    check(
        "a phase of allreduces",
        phases.iter().any(|r| r.body["collective"] == "allreduce"),
        fake,
    )?;
    check("with its period", phases.iter().any(|r| !r.body["period_ns"].is_null()), fake)?;
    check("circuits ahead of it", fake.count("POST", "/prestage") >= 5, fake)
}

fn is_asked(mpi: Mpi) -> Result<(), String> {
    asks_all(&FakePasd::tcp(Script::Good), mpi)
}

fn is_asked_over_unix(mpi: Mpi) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    asks_all(&FakePasd::unix(&folder.path().join("pasd.sock"), Script::Good), mpi)
}

/// A phase that was held is told anew and asked for again, however long the answers take: the
/// worker must not wait for itself then.
fn is_asked_on(mpi: Mpi) -> Result<(), String> {
    let fake = FakePasd::tcp(Script::Holds);
    let (native, other) = both(&training(mpi, 80, 20_000), &fake.url)?;
    agree(&native, &other, 0)?;
    // The pauses between the requests double: there are four or five of them in so many iterations.
    check("asked again", fake.count("POST", "/prestage") >= 3, &fake)?;
    check("reports", fake.count("PUT", "/report") == 2, &fake)?;
    check("good-byes", fake.count("DELETE", "/ranks/") == 2, &fake)
}

/// Broken at first and good later: the ranks register then, without the job noticing.
fn comes_back(mpi: Mpi) -> Result<(), String> {
    let fake = FakePasd::tcp(Script::Broken);
    let job = training(mpi, 100, 20_000).preloaded().with("PAS_URL", fake.url.clone());
    let running = std::thread::spawn(move || job.run());
    wait_for(|| fake.count("POST", "/ranks") >= 2)?;
    fake.play(Script::Good);
    let outcome = running.join().map_err(|_| "a panic".to_owned())??;
    agree(&training(mpi, 100, 20_000).run()?, &outcome, 2)?;
    check("heartbeats in the end", fake.count("POST", "/heartbeat") >= 1, &fake)?;
    check("good-byes", fake.count("DELETE", "/ranks/") == 2, &fake)
}

/// Good at first, and gone when everybody has registered.
fn ends_in_the_run(mpi: Mpi) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let fake = FakePasd::on(listener, Script::Good);
    let job = training(mpi, 60, 10_000).preloaded().with("PAS_URL", fake.url.clone());
    let running = std::thread::spawn(move || job.run());
    wait_for(|| fake.count("POST", "/ranks") >= 2)?;
    fake.play(Script::HangUp);
    drop(fake);
    let outcome = running.join().map_err(|_| "a panic".to_owned())??;
    agree(&training(mpi, 60, 10_000).run()?, &outcome, 2)
}

fn ignores_proxies(mpi: Mpi) -> Result<(), String> {
    let fake = FakePasd::tcp(Script::Good);
    let mut job = training(mpi, 20, 5_000).preloaded().with("PAS_URL", fake.url.clone());
    for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"] {
        job = job.with(name, "http://127.0.0.1:9");
    }
    agree(&training(mpi, 20, 5_000).run()?, &job.run()?, 0)?;
    check("good-byes", fake.count("DELETE", "/ranks/") == 2, &fake)
}

/// A daemon that takes connections and answers nothing: there is a new connection most of the time,
/// while the program's standard input is free.
fn leaves_standard_streams(mpi: Mpi) -> Result<(), String> {
    let fake = FakePasd::tcp(Script::Silence);
    let (native, other) = both(&Job::new("descriptors", mpi, 2, &[]), &fake.url)?;
    agree(&native, &other, 1)?;
    check("a second try", fake.count("POST", "/ranks") > 2, &fake)
}

fn wait_for(mut holds: impl FnMut() -> bool) -> Result<(), String> {
    let limit = Instant::now() + Duration::from_secs(20);
    while !holds() {
        if Instant::now() > limit {
            return Err("what was waited for did not come".to_owned());
        }
        sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// A real pasd.
struct Pasd {
    process: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Pasd {
    fn start(lease_ms: u32) -> Result<Pasd, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = folder.path().join("address");
        let process = Command::new(target().join("release/pasd"))
            .args(["--demo", "--listen", "127.0.0.1:0", "--lease-ms", &lease_ms.to_string()])
            .arg("--port-file")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("pasd: {error}"))?;
        let mut pasd = Pasd { process, url: String::new(), _folder: folder };
        wait_for(|| pasd.read_address(&file))?;
        Ok(pasd)
    }

    fn read_address(&mut self, file: &Path) -> bool {
        let text = fs::read_to_string(file).unwrap_or_default();
        self.url = format!("http://{}", text.trim());
        !text.is_empty()
    }

    fn get(&self, path: &str) -> Result<serde_json::Value, String> {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--max-time", "5", &format!("{}{path}", self.url)]);
        let answer = finish(curl, Duration::from_secs(6))?;
        serde_json::from_str(&answer.stdout).map_err(|error| format!("{path}: {error}"))
    }

    fn signal(&self, name: &str) {
        let _ = Command::new("kill").args([name, &self.process.id().to_string()]).status();
    }

    fn job(&self, id: &str) -> serde_json::Value {
        self.get(&format!("/v1/jobs/{id}")).unwrap_or_default()
    }

    fn up(&self, id: &str) -> usize {
        let circuits = self.job(id);
        let circuits = circuits["circuits"].as_array().into_iter().flatten();
        circuits.filter(|circuit| circuit["state"] == "up").count()
    }
}

impl Drop for Pasd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A job on the real daemon, ready to run; `host` as in `PAS_HOST`.
fn on(pasd: &Pasd, mpi: Mpi, id: &str, host: &str, iterations: u32) -> Job {
    let job = training(mpi, iterations, 20_000).preloaded().with("PAS_URL", pasd.url.clone());
    job.with("PAS_JOB_ID", id).with("PAS_HOST", host)
}

fn grants_circuits(mpi: Mpi) -> Result<(), String> {
    let pasd = Pasd::start(10_000)?;
    let job = on(&pasd, mpi, "granted", "host{rank}", 100);
    let native = training(mpi, 100, 20_000).run()?;
    agree(&native, &job.run()?, 0)?;
    let report = pasd.get("/v1/jobs/granted/report")?;
    let decisions = report["job"]["decisions"].as_array().cloned().unwrap_or_default();
    let granted = decisions.iter().filter(|row| row["decision"] == "granted");
    let granted: u64 = granted.filter_map(|row| row["count"].as_u64()).sum();
    if granted == 0 {
        return Err(format!("nothing was granted: {decisions:#?}"));
    }
    let log = report["circuit_log"].as_array().cloned().unwrap_or_default();
    if !log.iter().any(|change| change["circuit"]["state"] == "up") {
        return Err(format!("no circuit came up: {log:#?}"));
    }
    let ended = pasd.get("/v1/jobs/granted")?;
    match (&ended["state"], ended["circuits"].as_array().map(Vec::len)) {
        (state, Some(0)) if state == "ended" => Ok(()),
        other => Err(format!("after good-bye: {other:?}")),
    }
}

/// Names of the program's choice, and of the machine's, make no message one that pasd refuses.
fn takes_every_name(mpi: Mpi) -> Result<(), String> {
    let pasd = Pasd::start(10_000)?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let job = Job::new("names", mpi, 2, &[]);
    let native = job.run()?;
    let job = job.preloaded().with("PAS_URL", pasd.url.clone()).with("PAS_JOB_ID", "names");
    let job = job.with("PAS_REPORT_DIR", folder.path().display().to_string());
    agree(&native, &job.with("PAS_HOST", "a\tb\u{7}").run()?, 0)?;
    let text = fs::read_to_string(folder.path().join("rank-0.json"));
    let text = text.map_err(|error| error.to_string())?;
    if text.contains("fault.daemon_refused_message") {
        return Err(format!("pasd refused something: {text}"));
    }
    let report = pasd.get("/v1/jobs/names/report")?;
    match report["ranks"].as_array().map(Vec::len) {
        Some(2) => Ok(()),
        other => Err(format!("{other:?} reports of 2 ranks reached pasd: {report}")),
    }
}

fn stopped(mpi: Mpi) -> Result<(), String> {
    let pasd = Pasd::start(10_000)?;
    let job = on(&pasd, mpi, "stopped", "host{rank}", 120);
    let native = training(mpi, 120, 20_000).run()?;
    let running = std::thread::spawn(move || job.run());
    wait_for(|| pasd.job("stopped")["ranks_alive"] == 2)?;
    pasd.signal("-STOP");
    sleep(Duration::from_secs(1));
    pasd.signal("-CONT");
    let outcome = running.join().map_err(|_| "a panic".to_owned())??;
    agree(&native, &outcome, 2)?;
    wait_for(|| pasd.job("stopped")["state"] == "ended")
}

/// One job's ranks are killed: its lease ends and its circuits go; the other job keeps its own.
fn loses_a_rank(mpi: Mpi) -> Result<(), String> {
    let pasd = Pasd::start(1_000)?;
    let mut victim = Running::start(&on(&pasd, mpi, "victim", "host{rank}", 3_000))?;
    // The other two hosts. Under Open MPI, whose ranks yield: the two jobs share the cores.
    let mut keeper = on(&pasd, Mpi::OpenMpi, "keeper", "", 3_000);
    let words = "PAS_HOST=host$((OMPI_COMM_WORLD_RANK + 2)) exec \"$0\" \"$@\"".to_owned();
    let program = std::mem::replace(&mut keeper.program, "/bin/sh".into());
    let own = std::mem::take(&mut keeper.args);
    keeper.args = vec!["-c".to_owned(), words, program.display().to_string()];
    keeper.args.extend(own);
    let _keeper = Running::start(&keeper)?;
    let told = |job: &str, what: &str| format!("{job}: no {what}: {:#}", pasd.job(job));
    wait_for(|| pasd.up("victim") > 0).map_err(|_| told("victim", "circuits"))?;
    wait_for(|| pasd.up("keeper") > 0).map_err(|_| told("keeper", "circuits"))?;
    victim.kill();
    let expired = || pasd.job("victim")["state"] == "expired";
    wait_for(expired).map_err(|_| told("victim", "end of its lease"))?;
    let released = || pasd.job("victim")["circuits"].as_array().is_some_and(Vec::is_empty);
    wait_for(released).map_err(|_| told("victim", "release"))?;
    let kept = pasd.job("keeper");
    match (&kept["ranks_alive"], pasd.up("keeper")) {
        (alive, up) if alive == 2 && up > 0 => Ok(()),
        other => Err(format!("the other job has {other:?} ranks and circuits: {kept:#}")),
    }
}

/// A job that runs until it is killed, with everything that it has started: Open MPI gives its
/// ranks process groups of their own.
struct Running(Child);

impl Running {
    fn start(job: &Job) -> Result<Running, String> {
        let mut command = job.command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Running).map_err(|error| error.to_string())
    }

    fn kill(&mut self) {
        // Once it has ended its number may be another process's.
        if !matches!(self.0.try_wait(), Ok(None)) {
            return;
        }
        let mut family = vec![self.0.id()];
        while let Some(more) = Some(children_of(&family)).filter(|more| !more.is_empty()) {
            family.extend(more);
        }
        let ids = family.iter().map(u32::to_string);
        let _ = Command::new("kill").arg("-9").args(ids).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The processes whose parent is in `family`, and which are not in it themselves.
fn children_of(family: &[u32]) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |id: &u32| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        let parent = parent.and_then(|parent| parent.trim().parse().ok());
        parent.is_some_and(|parent| family.contains(&parent)) && !family.contains(id)
    };
    ids.filter(is_child).collect()
}
