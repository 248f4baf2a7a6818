//! A real pasd, killed and started again: what it acknowledged it still knows.

#[path = "support/client.rs"]
mod client;

use client::{Address, PATIENCE, PHASE, phase, ranks, registration};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A folder for everything that one test's daemons leave behind.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn store(&self) -> PathBuf {
        self.path("state").join("pasd.redb")
    }

    /// The fabric of the demo, whose switches take no time.
    fn fabric(&self) -> PathBuf {
        let path = self.path("fabric.toml");
        let hosts = "host0 = 1\nhost1 = 2\nhost2 = 3\nhost3 = 4\n";
        let plane = |name: &str| {
            format!(
                "[[planes]]\nname = {name:?}\ncircuit_bps = 100_000_000_000\n\
                 optical_ns = {{ fixed = 0 }}\nlink_up_ns = {{ fixed = 0 }}\n\
                 [planes.ports]\n{hosts}"
            )
        };
        let text = format!(
            "name = \"instant\"\neps_bps = 10_000_000_000\neps_oversubscription = 1.0\n{}{}",
            plane("a"),
            plane("b")
        );
        fs::write(&path, text).expect("written");
        path
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pasd"));
        self.options(&mut command);
        command
    }

    fn options(&self, command: &mut Command) {
        command
            .args(["--listen", "127.0.0.1:0", "--fabric"])
            .arg(self.fabric())
            .arg("--state")
            .arg(self.path("state"))
            .arg("--port-file")
            .arg(self.path("address"));
    }

    fn start(&self) -> Pasd {
        self.start_as(self.command())
    }

    /// Starts a daemon and waits until it has read its switches.
    fn start_as(&self, mut command: Command) -> Pasd {
        let (said, port_file) = (self.path("stderr"), self.path("address"));
        let _ = fs::remove_file(&port_file);
        let stderr = fs::File::create(&said).expect("a file");
        let child = command.stderr(stderr).stdin(Stdio::null()).spawn().expect("started");
        let mut pasd = Pasd { child, said, address: Address::Unix(PathBuf::new()) };
        let begun = Instant::now();
        loop {
            if let Ok(address) = fs::read_to_string(&port_file) {
                pasd.address = Address::Tcp(address.trim().parse().expect("an address"));
                break;
            }
            let ended = pasd.child.try_wait().expect("a child");
            assert!(ended.is_none(), "{ended:?}: {}", pasd.said());
            assert!(begun.elapsed() < PATIENCE, "does not start: {}", pasd.said());
            std::thread::sleep(Duration::from_millis(5));
        }
        while pasd.address.ask("GET", "/readyz", None).status != 200 {
            assert!(begun.elapsed() < PATIENCE, "does not get ready: {}", pasd.said());
        }
        pasd
    }
}

/// A daemon's process.
struct Pasd {
    child: Child,
    said: PathBuf,
    address: Address,
}

impl Pasd {
    fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap_or_default()
    }

    /// `kill -9`: no last word, no last write.
    fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("reaped");
    }

    fn end_with(mut self, signal: Signal) -> ExitStatus {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("sent");
        self.child.wait().expect("reaped")
    }
}

impl Drop for Pasd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a daemon that must not start, and answers with what it says.
fn refusal(mut command: Command) -> String {
    let mut child = command.stderr(Stdio::piped()).spawn().expect("started");
    let begun = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{command:?} has started");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A job as it is kept: circuits are read back from the switches, which may have changed.
fn kept(pasd: &Pasd, job: &str) -> Value {
    let mut status = pasd.address.get(&format!("/v1/jobs/{job}"));
    let fields = status.as_object_mut().expect("an object");
    fields.remove("circuits");
    fields.remove("decisions");
    status
}

#[test]
fn what_was_acknowledged_survives_kill_9_at_any_step() {
    let place = Place::new();
    let pasd = place.start();
    for rank in 0..4 {
        assert_eq!(pasd.address.register("train", rank, 4), 1);
    }
    let before = kept(&pasd, "train");
    pasd.kill();

    let pasd = place.start();
    assert_eq!(kept(&pasd, "train"), before, "after registering");
    assert_eq!(pasd.address.register("train", 0, 4), 1, "the same rank, the same life");
    pasd.address.put_phase("train", 1);
    pasd.kill();

    let pasd = place.start();
    assert_eq!(pasd.address.get("/v1/jobs/train/phases")["phases"], json!([phase(1)]));
    let reply = pasd.address.prestage("train", 1, 7);
    assert_eq!(reply["decision"], "granted", "{reply:#}");
    let ask = json!({ "version": 1, "incarnation": 1, "calls": 2 });
    pasd.address.ask("POST", "/v1/jobs/train/ranks/0/heartbeat", Some(&ask)).good();
    let path = "/v1/jobs/train/ranks/3?incarnation=1";
    assert_eq!(pasd.address.ask("DELETE", path, None).status, 204);
    let before = kept(&pasd, "train");
    pasd.kill();

    let pasd = place.start();
    let after = kept(&pasd, "train");
    assert_eq!(after, before, "after a good-bye");
    assert_eq!(after["ranks_alive"], 3);
    // The emulated switches died with their daemon: what they do not have is not told as up.
    let circuits = pasd.address.get("/v1/circuits");
    let up = circuits["circuits"].as_array().expect("a list").iter();
    assert_eq!(up.filter(|circuit| circuit["state"] == "up").count(), 0, "{circuits:#}");
    assert_eq!(pasd.address.ask("DELETE", "/v1/jobs/train", None).status, 204);
    pasd.kill();

    let pasd = place.start();
    assert_eq!(kept(&pasd, "train")["state"], "ended");
    assert_eq!(pasd.address.register("train", 0, 4), 2, "a new life, counted on");
}

#[test]
fn nothing_acknowledged_is_lost_when_killed_under_load() {
    let place = Place::new();
    // A socket: a killed daemon's port could be another test's daemon's a moment later.
    let socket = place.path("pasd.sock");
    for round in 0..5_u32 {
        let mut command = place.command();
        command.arg("--socket").arg(&socket);
        let pasd = place.start_as(command);
        let address = Address::Unix(socket.clone());
        // Each round the daemon dies after another number of acknowledgements, others under way.
        let (sender, acknowledged) = std::sync::mpsc::channel();
        let jobs: Vec<_> = (0..3_u32)
            .map(|thread| {
                let (address, sender) = (address.clone(), sender.clone());
                std::thread::spawn(move || {
                    for rank in 0..10_000 {
                        let job = format!("load-{round}-{thread}");
                        let body = registration(rank, 10_000);
                        match address.try_ask("POST", &ranks(&job), Some(&body)) {
                            Some(answer) if answer.status == 200 => {
                                let _ = sender.send((job, rank));
                            }
                            Some(answer) => panic!("{answer:?}"),
                            None => return,
                        }
                    }
                })
            })
            .collect();
        drop(sender);
        let enough = 20 * (round as usize + 1);
        let mut promised: Vec<_> = acknowledged.iter().take(enough).collect();
        pasd.kill();
        promised.extend(acknowledged.iter());
        jobs.into_iter().for_each(|job| job.join().expect("no other answer"));

        let pasd = place.start();
        for thread in 0..3 {
            let job = format!("load-{round}-{thread}");
            let count = promised.iter().filter(|(other, _)| *other == job).count() as u64;
            if count > 0 {
                let alive = kept(&pasd, &job)["ranks_alive"].as_u64().expect("a number");
                // One more may have been written down and not yet answered.
                assert!((count..=count + 1).contains(&alive), "{alive} of {count}: {job}");
            }
        }
        pasd.kill();
    }
}

#[test]
fn a_report_that_was_acknowledged_survives() {
    let place = Place::new();
    let pasd = place.start();
    pasd.address.register("train-1", 3, 4);
    let report = client::golden(include_str!("../../core/tests/golden/rank_report.json"));
    pasd.address.ask("PUT", "/v1/jobs/train-1/ranks/3/report", Some(&report)).good();
    pasd.kill();
    let pasd = place.start();
    assert_eq!(pasd.address.get("/v1/jobs/train-1/report")["ranks"], json!([report]));
}

#[test]
fn it_ends_well_when_asked_to_and_goes_on_where_it_was() {
    let place = Place::new();
    for signal in [Signal::TERM, Signal::INT] {
        let socket = place.path("pasd.sock");
        let mut command = place.command();
        command.arg("--socket").arg(&socket);
        let pasd = place.start_as(command);
        Address::Unix(socket.clone()).register("train", 0, 1);
        let before = kept(&pasd, "train");
        assert_eq!(pasd.end_with(signal).code(), Some(0));
        assert!(!socket.exists(), "the socket goes with the daemon");
        let pasd = place.start();
        assert_eq!(kept(&pasd, "train"), before);
        assert_eq!(pasd.said().lines().count(), 1, "one line at the start: {}", pasd.said());
    }
}

#[test]
fn a_socket_that_a_killed_daemon_left_is_taken_over_and_a_living_one_is_not() {
    let place = Place::new();
    let socket = place.path("pasd.sock");
    let with_socket = || {
        let mut command = place.command();
        command.arg("--socket").arg(&socket);
        command
    };
    place.start_as(with_socket()).kill();
    assert!(socket.exists(), "killed, it could not remove it");
    let pasd = place.start_as(with_socket());
    Address::Unix(socket.clone()).register("train", 0, 1);
    let mut second = Command::new(env!("CARGO_BIN_EXE_pasd"));
    second.args(["--demo", "--listen", "127.0.0.1:0", "--socket"]).arg(&socket);
    let said = refusal(second);
    assert!(said.contains("pasd.sock"), "it names the socket: {said}");
    Address::Unix(socket).register("train", 0, 1);
    drop(pasd);
}

#[test]
fn two_daemons_never_share_a_state() {
    let place = Place::new();
    let pasd = place.start();
    pasd.address.register("train", 0, 1);
    let said = refusal(place.command());
    assert!(said.contains("in use by another pasd"), "{said}");
    assert!(said.contains(&place.store().display().to_string()), "{said}");
    assert_eq!(kept(&pasd, "train")["ranks_alive"], 1, "the first one is not disturbed");
    pasd.kill();
    assert_eq!(kept(&place.start(), "train")["ranks_alive"], 1);
}

/// The files that were set aside.
fn set_aside(place: &Place) -> Vec<PathBuf> {
    let files = fs::read_dir(place.path("state")).expect("a folder");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.retain(|file| *file != place.store());
    files.sort();
    files
}

/// A store that holds a job, as a killed daemon leaves it.
fn stored(place: &Place) -> Vec<u8> {
    let pasd = place.start();
    for rank in 0..4 {
        pasd.address.register("train", rank, 4);
    }
    pasd.address.put_phase("train", 1);
    pasd.kill();
    fs::read(place.store()).expect("written")
}

#[test]
fn a_bad_state_file_is_set_aside_and_named() {
    let place = Place::new();
    let good = stored(&place);
    let mut other_magic = good.clone();
    other_magic[0] ^= 0xff;
    let bad: [&[u8]; 5] = [
        b"this was never a store",
        &good[..100],
        &good[..good.len() / 2],
        &vec![0; 1 << 20],
        &other_magic,
    ];
    for (index, bytes) in bad.into_iter().enumerate() {
        fs::write(place.store(), bytes).expect("written");
        let before = set_aside(&place);
        let pasd = place.start();
        let new: Vec<_> =
            set_aside(&place).into_iter().filter(|file| !before.contains(file)).collect();
        let [file] = &new[..] else { panic!("case {index}: {new:?}: {}", pasd.said()) };
        let name = file.display().to_string();
        assert!(pasd.said().contains(&name), "case {index}: {name} not in {}", pasd.said());
        assert_eq!(pasd.address.get("/v1/jobs")["jobs"], json!([]), "case {index}");
        // What is promised from now on is kept.
        pasd.address.register("later", 0, 1);
        pasd.kill();
        let pasd = place.start();
        assert_eq!(kept(&pasd, "later")["ranks_alive"], 1, "case {index}");
        pasd.kill();
    }
}

#[test]
fn a_damaged_state_never_keeps_it_from_starting() {
    let place = Place::new();
    let good = stored(&place);
    let mut random = fastrand::Rng::with_seed(7);
    for case in 0..24 {
        let mut bytes = good.clone();
        // Only the beginning of the file is in use: most of it is room.
        let begin = random.usize(0..good.len().min(1 << 15));
        let end = (begin + random.usize(1..256)).min(bytes.len());
        bytes[begin..end].iter_mut().for_each(|byte| *byte = random.u8(..));
        fs::write(place.store(), bytes).expect("written");
        let pasd = place.start();
        let whole = pasd.address.get("/v1/jobs")["jobs"] != json!([]);
        assert!(
            whole || !set_aside(&place).is_empty(),
            "case {case}, {begin}..{end}: what was lost is set aside: {}",
            pasd.said()
        );
        pasd.address.register("later", 0, 1);
        pasd.kill();
        assert_eq!(kept(&place.start(), "later")["ranks_alive"], 1, "case {case}");
        for file in set_aside(&place) {
            fs::remove_file(file).expect("removed");
        }
    }
}

#[test]
fn a_state_that_cannot_be_read_is_left_alone() {
    let place = Place::new();
    fs::create_dir_all(place.store()).expect("a folder where the file should be");
    let said = refusal(place.command());
    assert!(said.contains(&place.store().display().to_string()), "{said}");
    assert!(place.store().is_dir() && set_aside(&place).is_empty(), "nothing was moved: {said}");
}

#[test]
fn what_cannot_be_written_is_not_acknowledged() {
    let place = Place::new();
    let on_a_full_disk = || {
        let mut command = Command::new("sh");
        // A file of 2 MiB at most, and an error instead of the signal: a disk that is full then.
        command.args(["-c", "trap '' XFSZ; ulimit -f 4096; exec \"$@\"", "sh"]);
        command.arg(env!("CARGO_BIN_EXE_pasd"));
        place.options(&mut command);
        command
    };
    let pasd = place.start_as(on_a_full_disk());
    let mut promised = 0;
    let refused = loop {
        let answer =
            pasd.address.ask("POST", &ranks("train"), Some(&registration(promised, 1 << 20)));
        if answer.status != 200 {
            break answer;
        }
        promised += 1;
        assert!(promised < 20_000, "the disk never fills");
    };
    assert_eq!((refused.status, &refused.json()["error"]), (503, &json!("store_failed")));
    assert!(pasd.said().contains("cannot be written"), "{}", pasd.said());
    assert_eq!(pasd.address.ask("GET", "/healthz", None).status, 200);
    pasd.kill();
    // Still full, it may start or not; the good file stays where it is.
    fs::remove_file(place.path("address")).expect("served before");
    let mut again = on_a_full_disk().stderr(Stdio::null()).spawn().expect("started");
    let begun = Instant::now();
    while !place.path("address").exists() && again.try_wait().expect("a child").is_none() {
        assert!(begun.elapsed() < PATIENCE, "neither serves nor ends");
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = again.kill();
    again.wait().expect("reaped");
    assert_eq!(set_aside(&place), Vec::<PathBuf>::new());
    let alive = kept(&place.start(), "train")["ranks_alive"].as_u64().expect("a number");
    assert!(alive >= u64::from(promised), "{alive} of {promised} are kept");
}

#[test]
fn terms_given_at_the_start_hold_after_a_restart_too() {
    let place = Place::new();
    let pasd = place.start();
    pasd.address.register("train", 0, 1);
    assert_eq!(pasd.end_with(Signal::TERM).code(), Some(0));
    let mut command = place.command();
    command.args(["--lease-ms", "60000"]);
    let pasd = place.start_as(command);
    assert_eq!(pasd.address.get("/v1/leases")["lease_ns"], 60_000_000_000_u64);
    assert_eq!(kept(&pasd, "train")["ranks_alive"], 1);
}

#[test]
fn a_fabric_that_changed_meanwhile_is_taken_as_it_is_now() {
    let place = Place::new();
    let pasd = place.start();
    for rank in 0..4 {
        pasd.address.register("train", rank, 4);
    }
    pasd.address.put_phase("train", 1);
    assert_eq!(pasd.address.prestage("train", 1, 1)["decision"], "granted");
    pasd.kill();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pasd"));
    command.args(["--demo", "--listen", "127.0.0.1:0", "--state"]).arg(place.path("state"));
    command.arg("--port-file").arg(place.path("address"));
    let pasd = place.start_as(command);
    assert_eq!(pasd.address.get("/v1/fabric")["summary"]["name"], "demo");
    assert_eq!(pasd.address.get("/v1/jobs/train/phases")["phases"][0]["phase"], PHASE);
}

#[test]
fn a_faulty_fabric_file_is_told_with_its_line() {
    let place = Place::new();
    let path = place.fabric();
    let check = |path: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pasd"));
        let output = command.arg("--check").arg(path).output().expect("started");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let (code, said) = check(&path);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("4 hosts, 2 planes"), "{said}");
    let text = fs::read_to_string(&path).expect("written");
    fs::write(&path, text.replacen("host1 = 2", "host1 = 1", 1)).expect("written");
    let line = text.lines().position(|line| line == "host1 = 2").expect("a line") + 1;
    let (code, said) = check(&path);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("fabric.toml:{line}: ")), "{said}");
}

#[test]
fn as_many_connections_as_may_be_are_taken() {
    let place = Place::new();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -S -n 64; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_pasd")]);
    place.options(&mut command);
    let pasd = place.start_as(command);
    let limits = fs::read_to_string(format!("/proc/{}/limits", pasd.child.id())).expect("Linux");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    let fields: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(fields[3], fields[4], "soft and hard: {line}");
}
