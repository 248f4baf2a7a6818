use super::*;
use pas_core::wire::Circuits;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread::{self, JoinHandle};

const SOON: Duration = Duration::from_secs(20);

/// Reads a request's head, answers with `answer`, and gives the head back.
fn serve_one(mut peer: impl Read + Write, answer: &str) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && peer.read(&mut byte).expect("a request") == 1 {
        head.push(byte[0]);
    }
    peer.write_all(answer.as_bytes()).expect("an answer");
    String::from_utf8(head).expect("text")
}

fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn tcp_daemon(answer: String) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let daemon = thread::spawn(move || serve_one(listener.accept().expect("a client").0, &answer));
    (url, daemon)
}

const NO_CIRCUITS: &str = r#"{"version":1,"circuits":[],"foreign":[]}"#;

#[test]
fn an_answer_is_decoded_over_tcp() {
    let (url, daemon) = tcp_daemon(http("200 OK", NO_CIRCUITS));
    let circuits: Circuits =
        Client::new(&url, SOON).expect("an address").get("/v1/circuits").expect("an answer");
    assert!(circuits.circuits.is_empty());
    assert!(daemon.join().expect("daemon").starts_with("GET /v1/circuits HTTP/1.1\r\n"));
}

#[test]
fn an_answer_is_decoded_over_a_unix_socket() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pasd.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let daemon = thread::spawn(move || {
        serve_one(listener.accept().expect("a client").0, &http("200 OK", NO_CIRCUITS))
    });
    let client = Client::new(&format!("unix:{}", path.display()), SOON).expect("an address");
    let circuits: Circuits = client.get("/v1/circuits").expect("an answer");
    assert!(circuits.foreign.is_empty());
    assert!(daemon.join().expect("daemon").starts_with("GET /v1/circuits"));
}

#[test]
fn a_refusal_keeps_the_daemons_words() {
    let problem = r#"{"version":1,"error":"unknown_job","message":"no job \"x\" here"}"#;
    let (url, _daemon) = tcp_daemon(http("404 Not Found", problem));
    let client = Client::new(&url, SOON).expect("an address");
    let error = client.get::<Circuits>("/v1/jobs/x").expect_err("refused");
    let text = error.to_string();
    assert!(text.contains("404 (unknown_job): no job \"x\" here"), "{text}");
}

#[test]
fn what_is_no_daemon_is_told_apart_from_nobody() {
    let (url, _daemon) = tcp_daemon(http("200 OK", "<html>hello</html>"));
    let error = Client::new(&url, SOON).expect("an address").get::<Circuits>("/v1/circuits");
    assert!(matches!(error, Err(ClientError::Garbage { .. })), "{error:?}");

    let (url, _daemon) = tcp_daemon(http("500 Oh", "boom"));
    let error = Client::new(&url, SOON).expect("an address").get::<Circuits>("/v1/circuits");
    assert!(matches!(error, Err(ClientError::Garbage { .. })), "{error:?}");

    let missing = Client::new("unix:/nowhere/pasd.sock", SOON).expect("an address");
    let error = missing.get::<Circuits>("/v1/circuits");
    assert!(matches!(error, Err(ClientError::Unreachable { .. })), "{error:?}");
}

#[test]
fn a_silent_daemon_costs_the_deadline_and_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mute.sock");
    // Bound and never accepted: connects, then silence.
    let _mute = UnixListener::bind(&path).expect("a socket");
    let silent_tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let tcp = format!("http://{}", silent_tcp.local_addr().expect("bound"));
    for url in [format!("unix:{}", path.display()), tcp] {
        let client = Client::new(&url, Duration::from_millis(50)).expect("an address");
        let error = client.get::<Circuits>("/v1/circuits");
        assert!(matches!(error, Err(ClientError::Unreachable { .. })), "{error:?}");
    }
}

#[test]
fn what_is_no_address_is_said_before_any_request() {
    for url in ["", "7447", "https://host:1", "ftp://x", "unix:relative", "http://h:1/path"] {
        let answer = Client::new(url, SOON);
        assert!(matches!(answer, Err(ClientError::BadUrl(_))), "{url:?}");
    }
    for url in ["http://h:1", "http://h:1/", "unix:/a", "unix:///a", DEFAULT_URL] {
        assert!(Client::new(url, SOON).is_ok(), "{url:?}");
    }
}

#[test]
fn a_segment_cannot_leave_its_place() {
    assert_eq!(segment("job-1.a:b@c"), "job-1.a:b@c");
    assert_eq!(segment("../x y?"), "..%2Fx%20y%3F");
}
