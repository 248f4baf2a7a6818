//! pasd's interface over real sockets: what a job goes through, and what must change nothing.

#[path = "support/client.rs"]
mod client;

use client::{Address, PATIENCE, PHASE, golden, phase, ranks, registration};
use pas_core::units::Nanos;
use pas_core::wire::{BODY_BYTES_MAX, JobReport, Problem, VERSION};
use pas_tools::daemon::control::Unreached;
use pas_tools::daemon::driver::emulated::Faults;
use pas_tools::daemon::{DaemonConfig, Running, fabric_file, start};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The demo's fabric with a switch that takes no time, so that no test waits for delays.
fn config() -> DaemonConfig {
    let mut fabric = fabric_file::parse("demo", fabric_file::DEMO).expect("good");
    for plane in &mut fabric.planes {
        plane.optical_ns = pas_core::fabric::Delay::Fixed(Nanos(0));
        plane.link_up_ns = pas_core::fabric::Delay::Fixed(Nanos(0));
    }
    DaemonConfig::embedded(fabric)
}

fn tcp(daemon: &Running) -> Address {
    Address::Tcp(daemon.tcp_address.expect("listens"))
}

/// Four ranks of one job, with the golden phase.
fn job_of_four(pasd: &Address, job: &str) -> u64 {
    let lives: Vec<u64> = (0..4).map(|rank| pasd.register(job, rank, 4)).collect();
    assert!(lives.iter().all(|life| *life == lives[0]), "one life: {lives:?}");
    pasd.put_phase(job, lives[0]);
    lives[0]
}

/// Gets a page again and again until it is as it should come to be.
fn wait_for(pasd: &Address, path: &str, mut good: impl FnMut(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let page = pasd.get(path);
        if good(&page) {
            return page;
        }
        assert!(begun.elapsed() < PATIENCE, "{path} stays {page:#}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn states(circuits: &Value) -> Vec<&str> {
    let circuits = circuits.as_array().expect("a list").iter();
    circuits.map(|circuit| circuit["state"].as_str().expect("a name")).collect()
}

/// A job from its first rank's registration to its last one's good-bye.
fn whole_life(pasd: &Address, job: &str) {
    wait_for(pasd, "/v1/circuits", |page| page["circuits"] == json!([]));
    let life = job_of_four(pasd, job);
    assert_eq!(pasd.get(&format!("/v1/jobs/{job}/phases"))["phases"], json!([phase(life)]));

    let reply = pasd.prestage(job, life, 1);
    assert_eq!(reply["decision"], "granted", "{reply:#}");
    assert_eq!(states(&reply["circuits"]), ["up"; 4], "{reply:#}");
    assert_eq!(reply["ready_in_ns"], 0);
    assert!(reply["gain_ns"].as_u64() > Some(0), "{reply:#}");
    assert_eq!(pasd.prestage(job, life, 1), reply, "sent again, it is answered again");
    let shown = pasd.get("/v1/circuits");
    assert_eq!(shown["circuits"], reply["circuits"], "the truth is what was told");
    let on_circuit = |page: &Value| {
        let moves = page["moves"].as_array().expect("a list");
        moves.iter().filter(|moved| moved["job"] == job && moved["to"] != "eps").count() == 4
    };
    wait_for(pasd, "/v1/paths", on_circuit);

    let beat = json!({ "version": 1, "incarnation": life, "calls": 9 });
    pasd.ask("POST", &format!("/v1/jobs/{job}/ranks/2/heartbeat"), Some(&beat)).good();
    let mut hint = golden(include_str!("../../core/tests/golden/hint.json"));
    hint["incarnation"] = json!(life);
    pasd.ask("POST", &format!("/v1/jobs/{job}/hints"), Some(&hint)).good();
    assert_eq!(pasd.get(&format!("/v1/jobs/{job}"))["hint"], hint);

    for rank in 0..4 {
        let mut report = golden(include_str!("../../core/tests/golden/rank_report.json"));
        report["job"] = json!(job);
        report["registered"] = registration(rank, 4);
        let path = format!("/v1/jobs/{job}/ranks/{rank}/report");
        assert_eq!(pasd.ask("PUT", &path, Some(&report)).good().status, 204);
        let path = format!("/v1/jobs/{job}/ranks/{rank}?incarnation={life}");
        assert_eq!(pasd.ask("DELETE", &path, None).good().status, 204);
    }
    wait_for(pasd, "/v1/circuits", |page| page["circuits"] == json!([]));
    let report = pasd.get(&format!("/v1/jobs/{job}/report"));
    let report: JobReport = serde_json::from_value(report).expect("as the wire says");
    let reported: Vec<u32> = report.ranks.iter().map(|rank| rank.registered.rank).collect();
    assert_eq!(reported, [0, 1, 2, 3]);
    assert!(report.circuit_log.windows(2).all(|two| two[0].unix_us <= two[1].unix_us));
    assert!(report.circuit_log.len() >= 4 * 3, "each was set up, came up and went");
    let job = report.job.expect("known");
    assert_eq!((job.state, job.ranks_alive), (pas_core::wire::JobState::Ended, 0));
}

#[test]
fn a_job_gets_its_circuits_over_tcp_and_over_a_unix_socket() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("pasd.sock");
    let daemon = start(DaemonConfig { socket: Some(socket.clone()), ..config() }).expect("starts");
    whole_life(&tcp(&daemon), "by-tcp");
    whole_life(&Address::Unix(socket.clone()), "by-unix");
    daemon.stop();
    assert!(!socket.exists(), "the socket goes with the daemon");
}

#[test]
fn the_openapi_document_says_what_the_router_takes() {
    let daemon = start(config()).expect("starts");
    let pasd = tcp(&daemon);
    let document = pasd.get("/openapi.json");
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() >= 17, "{} paths", paths.len());
    for (path, operations) in paths {
        let filled = path.replace("{job}", "j").replace("{rank}", "0").replace("{phase}", "p");
        for method in ["GET", "PUT", "POST", "DELETE", "PATCH"] {
            let answer = pasd.ask(method, &filled, None);
            let error = serde_json::from_slice::<Problem>(&answer.body).map(|body| body.error);
            let error = error.unwrap_or_default();
            match operations.get(method.to_lowercase()) {
                Some(operation) => {
                    let there = error != "unknown_route" && error != "bad_method";
                    assert!(there, "{method} {path}: {answer:?}");
                    let names = operation["parameters"].as_array().expect("a list");
                    let said = names.iter().filter(|name| name["in"] == "path").count();
                    assert_eq!(said, path.matches('{').count(), "{method} {path}");
                }
                None => assert_eq!((answer.status, error.as_str()), (405, "bad_method")),
            }
        }
    }
}

#[test]
fn metrics_are_prometheus_text() {
    let daemon = start(config()).expect("starts");
    let pasd = tcp(&daemon);
    let life = job_of_four(&pasd, "counted");
    pasd.prestage("counted", life, 1);
    let text = pasd.ask("GET", "/metrics", None).good().text();
    let mut kinds = BTreeMap::new();
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("name and kind");
            assert_eq!(kinds.insert(name.to_owned(), kind.to_owned()), None, "{name} twice");
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').expect("name and value");
            value.parse::<f64>().expect("a number");
            let name = name.split('{').next().expect("a name");
            let parts = ["_bucket", "_sum", "_count"];
            let whole = parts.iter().find_map(|part| name.strip_suffix(part));
            let Some(kind) = kinds.get(whole.unwrap_or(name)) else {
                panic!("{name} has no type before it")
            };
            assert_eq!(kind == "histogram", whole.is_some(), "{name}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
        }
    }
    assert!(text.contains(r#"pasd_decisions_total{decision="granted",reason="switched"} 1"#));
    assert!(text.contains(r#"pasd_circuits{state="up"} 4"#), "{text}");
    let path = r#"{method="POST",path="/v1/jobs/{job}/ranks"}"#;
    assert!(text.contains(&format!("pasd_request_seconds_count{path} 4\n")), "{text}");
}

/// A refusal is a [`Problem`] that says something.
fn assert_refused(what: &str, answer: &client::Answer, status: u16, error: &str) {
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    let problem: Problem = serde_json::from_value(answer.json()).expect(what);
    assert_eq!((problem.version, problem.error.as_str()), (VERSION, error), "{what}: {problem:?}");
    assert!(problem.message.len() > 10, "{what}: {problem:?}");
}

#[test]
fn a_wrong_request_is_told_what_is_wrong_and_changes_nothing() {
    let daemon = start(config()).expect("starts");
    let pasd = tcp(&daemon);
    let life = job_of_four(&pasd, "victim");
    let before = pasd.get("/v1/jobs/victim");
    let with = |field: &str, value: Value| {
        let mut body = registration(0, 4);
        body[field] = value;
        body
    };
    let mut other_phase = phase(life);
    other_phase["phase"] = json!("other");
    let report = golden(include_str!("../../core/tests/golden/rank_report.json"));
    let put_phase = format!("/v1/jobs/victim/phases/{PHASE}");
    let cases = [
        ("POST", "/v1/jobs/new/ranks", with("version", json!(2)), 400, "bad_version"),
        ("POST", "/v1/jobs/new/ranks", with("rank", json!("one")), 400, "bad_json"),
        ("POST", "/v1/jobs/new/ranks", with("rank", json!(-1)), 400, "bad_json"),
        ("POST", "/v1/jobs/new/ranks", with("rank", json!(4)), 400, "invalid_field"),
        ("POST", "/v1/jobs/new/ranks", with("mode", json!("loud")), 400, "bad_json"),
        ("POST", "/v1/jobs/new/ranks", json!([1, 2]), 400, "bad_json"),
        ("POST", "/v1/jobs/a%20b/ranks", registration(0, 4), 400, "invalid_field"),
        ("POST", "/v1/jobs/%FF/ranks", registration(0, 4), 400, "bad_path"),
        ("POST", "/v1/jobs/victim/ranks", with("pid", json!(1)), 409, "rank_taken"),
        ("POST", "/v1/jobs/victim/ranks", registration(0, 5), 409, "world_size_differs"),
        ("PUT", &put_phase, phase(life + 1), 409, "stale_incarnation"),
        ("PUT", &put_phase, other_phase, 400, "path_and_body_differ"),
        ("PUT", "/v1/jobs/victim/ranks/0/report", report.clone(), 400, "path_and_body_differ"),
        ("PUT", "/v1/jobs/victim/ranks/3/report", report, 400, "path_and_body_differ"),
        ("DELETE", "/v1/jobs/victim/ranks/x?incarnation=1", json!({}), 400, "bad_path"),
        ("DELETE", "/v1/jobs/victim/ranks/0", json!({}), 400, "no_incarnation"),
        ("DELETE", "/v1/jobs/victim/ranks/0?%FF&incarnation", json!({}), 400, "no_incarnation"),
        ("GET", "/v1/jobs/nobody", json!({}), 404, "unknown_job"),
        ("GET", "/v1/nothing", json!({}), 404, "unknown_route"),
        ("PATCH", "/v1/jobs", json!({}), 405, "bad_method"),
    ];
    for (method, path, body, status, error) in cases {
        let answer = pasd.ask(method, path, Some(&body));
        assert_refused(&format!("{method} {path} {body}"), &answer, status, error);
    }
    assert_eq!(pasd.get("/v1/jobs/victim"), before);
    let jobs = pasd.get("/v1/jobs")["jobs"].as_array().map(Vec::len);
    assert_eq!(jobs, Some(1), "nobody else came to be");
}

/// A registration whose body is those bytes.
fn post(body: &[u8], length: usize) -> Vec<u8> {
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: pasd\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n",
        ranks("garbage")
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn bytes_that_are_no_message_are_refused() {
    let daemon = start(config()).expect("starts");
    let pasd = tcp(&daemon);
    let good = registration(0, 4).to_string().into_bytes();
    let send = |bytes: &[u8]| pasd.send(bytes, false).expect("an answer");
    let mut bad_utf8 = good.clone();
    bad_utf8[good.iter().position(|byte| *byte == b'O').expect("the library")] = 0xff;
    assert_refused("bad UTF-8", &send(&post(&bad_utf8, good.len())), 400, "bad_json");
    let half = &good[..good.len() / 2];
    assert_refused("half a JSON", &send(&post(half, half.len())), 400, "bad_json");
    assert_refused("no JSON", &send(&post(b"", 0)), 400, "bad_json");
    let deep = "[".repeat(1 << 20);
    assert_refused("deep", &send(&post(deep.as_bytes(), deep.len())), 400, "bad_json");
    assert_refused("announced", &send(&post(b"", 10 << 20)), 413, "too_large");
    assert_refused("one more", &send(&post(b"", BODY_BYTES_MAX + 1)), 413, "too_large");

    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20));
    let head = "POST /v1/jobs/garbage/ranks HTTP/1.1\r\nhost: pasd\r\nconnection: close\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let endless = format!("{head}{}0\r\n\r\n", chunk.repeat(10));
    if let Some(answer) = pasd.send(endless.as_bytes(), false) {
        assert_refused("ten MiB in pieces", &answer, 413, "too_large");
    }
    // A body that never comes whole, with and without the end of the connection.
    for close in [true, false] {
        if let Some(answer) = pasd.send(&post(half, good.len()), close) {
            assert!(matches!(answer.status, 400 | 408), "half a body: {answer:?}");
        }
    }
    let not_http = pasd.send(b"\x16\x03\x01 not HTTP at all\r\n\r\n", false);
    assert!(not_http.is_none_or(|answer| answer.status == 400));
    let half_a_head = pasd.send(b"POST /v1/jobs/garbage/ranks HTTP/1.1\r\nhos", false);
    assert!(half_a_head.is_none_or(|answer| answer.status == 408), "given up, and told or not");
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20));
    let long = pasd.send(long.as_bytes(), false);
    assert!(long.is_none_or(|answer| matches!(answer.status, 414 | 431)));

    assert_eq!(pasd.get("/v1/jobs")["jobs"], json!([]), "nothing has come of all this");
    pasd.register("garbage", 0, 4);
}

#[test]
fn a_silent_job_loses_its_circuits_and_nobody_elses() {
    let mut config = config();
    config.limits.lease_ns = Nanos::from_millis(3_000);
    config.limits.heartbeat_ns = Nanos::from_millis(600);
    let daemon = start(config).expect("starts");
    let pasd = tcp(&daemon);
    let pair = |job: &str, hosts: [&str; 2]| {
        let mut life = 0;
        for (rank, host) in (0..).zip(hosts) {
            let mut body = registration(rank, 2);
            body["host"] = json!(host);
            let answer = pasd.ask("POST", &ranks(job), Some(&body)).good().json();
            life = answer["incarnation"].as_u64().expect("a number");
        }
        let mut phase = phase(life);
        phase["members"] = json!([{ "first": 0, "stride": 1, "count": 2 }]);
        pasd.ask("PUT", &format!("/v1/jobs/{job}/phases/{PHASE}"), Some(&phase)).good();
        let reply = pasd.prestage(job, life, 1);
        assert_eq!(reply["decision"], "granted", "{reply:#}");
        life
    };
    let life = pair("lively", ["host0", "host1"]);
    pair("silent", ["host2", "host3"]);
    let beat = json!({ "version": 1, "incarnation": life, "calls": 1 });
    wait_for(&pasd, "/v1/jobs/silent", |job| {
        for rank in 0..2 {
            let path = format!("/v1/jobs/lively/ranks/{rank}/heartbeat");
            pasd.ask("POST", &path, Some(&beat)).good();
        }
        job["state"] == "expired"
    });
    let left = wait_for(&pasd, "/v1/circuits", |page| {
        let circuits = page["circuits"].as_array().expect("a list");
        circuits.iter().all(|circuit| circuit["job"] == "lively")
    });
    assert!(states(&left["circuits"]).contains(&"up"), "{left:#}");
    assert_eq!(pasd.get("/v1/jobs/lively")["ranks_alive"], 2);
}

#[test]
fn what_the_switch_did_is_told_and_not_what_it_said() {
    let faults = Faults { ignore_create: Some(1), ..Faults::default() };
    let mut config = DaemonConfig { faults, ..config() };
    config.fabric.planes.truncate(1);
    let daemon = start(config).expect("starts");
    let pasd = tcp(&daemon);
    for rank in 0..2 {
        pasd.register("deceived", rank, 2);
    }
    let mut phase = phase(1);
    phase["members"] = json!([{ "first": 0, "stride": 1, "count": 2 }]);
    pasd.ask("PUT", &format!("/v1/jobs/deceived/phases/{PHASE}"), Some(&phase)).good();
    let reply = pasd.prestage("deceived", 1, 1);
    assert_eq!(reply["decision"], "refused", "{reply:#}");
    assert_eq!(reply["reason"], "switch_failed", "{reply:#}");
    assert!(!states(&pasd.get("/v1/circuits")["circuits"]).contains(&"up"));
    // The switch has come to its senses: sooner or later the job gets its circuit.
    let mut request = 1;
    wait_for(&pasd, "/v1/circuits", |page| {
        request += 1;
        pasd.prestage("deceived", 1, request);
        states(&page["circuits"]).contains(&"up")
    });
}

#[test]
fn an_engine_that_failed_is_no_healthy_daemon() {
    let daemon = start(config()).expect("starts");
    let pasd = tcp(&daemon);
    assert_eq!(pasd.ask("GET", "/healthz", None).status, 200);
    assert!(daemon.lives());
    // The command is made in the engine's thread: what panics there is a fault of the engine.
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let answer = runtime.block_on(daemon.control().ask(|_| panic!("a fault, played by a test")));
    assert_eq!(answer.err(), Some(Unreached::Ending));
    assert_refused("ending", &pasd.ask("GET", "/healthz", None), 503, "ending");
    assert_refused("ending", &pasd.ask("GET", "/v1/jobs", None), 503, "ending");
    let begun = Instant::now();
    while daemon.lives() {
        assert!(begun.elapsed() < PATIENCE, "nobody notices");
        std::thread::sleep(Duration::from_millis(1));
    }
    daemon.stop();
}

#[test]
fn terms_that_cannot_work_are_refused_at_the_start() {
    let mut config = config();
    config.limits.lease_ns = Nanos(0);
    let error = start(config).err().expect("refused").to_string();
    assert!(error.contains("lease_ns is 0"), "{error}");
}
