//! A pasd that plays a script: what libpas.so asks is kept, what it answers is up to the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// As pasd would.
    Good,
    /// As a busy pasd would that holds: later than one slice of a wait, and switching does not pay.
    Holds,
    /// Status 500.
    Broken,
    /// Bytes that are no HTTP.
    Garbage,
    /// JSON of the wrong types.
    WrongTypes,
    /// Half of an answer, then the end.
    Half,
    /// An answer of one byte a second.
    Trickle,
    /// Nothing at all.
    Silence,
    /// A redirection to itself.
    Redirect,
    /// Ten megabytes.
    Huge,
    /// The connection's end before an answer.
    HangUp,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub body: serde_json::Value,
}

/// A running fake.
pub struct FakePasd {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    script: Arc<Mutex<Script>>,
    ended: Arc<AtomicBool>,
}

impl FakePasd {
    /// Listens on any free TCP port.
    pub fn tcp(script: Script) -> FakePasd {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        FakePasd::on(listener, script)
    }

    /// Listens on a given listener.
    pub fn on(listener: TcpListener, script: Script) -> FakePasd {
        let address = listener.local_addr().expect("an address");
        let fake = FakePasd::new(format!("http://{address}"), script);
        let (requests, script) = (Arc::clone(&fake.requests), Arc::clone(&fake.script));
        let ended = Arc::clone(&fake.ended);
        listener.set_nonblocking(true).expect("a socket");
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let Ok((stream, _)) = listener.accept() else {
                    thread::sleep(Duration::from_millis(2));
                    continue;
                };
                stream.set_nonblocking(false).expect("a socket");
                let (requests, script) = (Arc::clone(&requests), Arc::clone(&script));
                let read = stream.try_clone().expect("a socket");
                thread::spawn(move || serve::<TcpStream>(read, stream, &requests, &script));
            }
        });
        fake
    }

    /// Listens on a Unix socket.
    pub fn unix(path: &Path, script: Script) -> FakePasd {
        let listener = UnixListener::bind(path).expect("a socket");
        let fake = FakePasd::new(format!("unix:{}", path.display()), script);
        let (requests, script) = (Arc::clone(&fake.requests), Arc::clone(&fake.script));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (requests, script) = (Arc::clone(&requests), Arc::clone(&script));
                let read = stream.try_clone().expect("a socket");
                thread::spawn(move || serve::<UnixStream>(read, stream, &requests, &script));
            }
        });
        fake
    }

    fn new(url: String, script: Script) -> FakePasd {
        FakePasd {
            url,
            requests: Arc::default(),
            script: Arc::new(Mutex::new(script)),
            ended: Arc::default(),
        }
    }

    /// Answers differently from here on.
    pub fn play(&self, script: Script) {
        *self.script.lock().expect("a lock") = script;
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("a lock").clone()
    }

    /// How many requests there were of a method, with a part in their path.
    pub fn count(&self, method: &str, part: &str) -> usize {
        let matches = |request: &&Request| request.method == method && request.path.contains(part);
        self.requests().iter().filter(matches).count()
    }
}

impl Drop for FakePasd {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

fn serve<S: Read + Write>(
    read: S,
    mut write: S,
    requests: &Mutex<Vec<Request>>,
    script: &Mutex<Script>,
) {
    let mut read = BufReader::new(read);
    while let Some(request) = read_request(&mut read) {
        let answer = good_answer(&request);
        requests.lock().expect("a lock").push(request);
        let script = *script.lock().expect("a lock");
        if answer_by(script, &answer, &mut write).is_none() {
            return;
        }
    }
}

fn read_request(read: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    read.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        read.read_line(&mut header).ok().filter(|bytes| *bytes > 0)?;
        let header = header.trim().to_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    read.read_exact(&mut body).ok()?;
    Some(Request { method, path, body: serde_json::from_slice(&body).unwrap_or_default() })
}

/// What pasd would say.
fn good_answer(request: &Request) -> String {
    let body = if request.path.ends_with("/ranks") {
        serde_json::json!({
            "version": 1, "incarnation": 1, "lease_ns": 2_000_000_000u64,
            "heartbeat_ns": 100_000_000u64,
            "fabric": { "name": "fake", "planes": 2, "hosts": 4, "optical_ns": 1_000_000,
                        "link_up_ns": 0, "circuit_bps": 100_000_000_000u64,
                        "eps_bps": 10_000_000_000u64 },
        })
    } else if request.path.ends_with("/prestage") {
        serde_json::json!({
            "version": 1, "request": request.body["request"], "decision": "granted",
            "reason": "switched", "words": "fake", "circuits": [], "ready_in_ns": 0,
            "gain_ns": 1_000_000,
        })
    } else {
        serde_json::json!({})
    };
    let body = body.to_string();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// `None` where the connection is to be closed.
fn answer_by(script: Script, good: &str, write: &mut impl Write) -> Option<()> {
    let mut send = |text: &str| write.write_all(text.as_bytes()).ok();
    let wrong = r#"{"version":"one","incarnation":-1,"lease_ns":{},"fabric":[]}"#;
    match script {
        Script::Good => send(good),
        Script::Holds => {
            thread::sleep(Duration::from_millis(10));
            // As long as the other word, so that the length holds.
            send(&good.replace("\"granted\"", "\"hold\"   "))
        }
        Script::Broken => send("HTTP/1.1 500 Oops\r\ncontent-length: 4\r\n\r\noops"),
        Script::Garbage => send("\u{1}\u{2}garbage\r\n\r\n\u{ff}").and(None),
        Script::WrongTypes => {
            send(&format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{wrong}", wrong.len()))
        }
        Script::Half => send(good.get(..good.len() / 2)?).and(None),
        Script::Trickle => {
            for byte in good.bytes().take(30) {
                send(&char::from(byte).to_string())?;
                thread::sleep(Duration::from_secs(1));
            }
            None
        }
        Script::Silence => {
            thread::sleep(Duration::from_secs(60));
            None
        }
        Script::Redirect => {
            send("HTTP/1.1 302 Found\r\nlocation: /v1/jobs\r\ncontent-length: 0\r\n\r\n")
        }
        Script::Huge => {
            send("HTTP/1.1 200 OK\r\ncontent-length: 10000000\r\n\r\n")?;
            send(&"x".repeat(10_000_000))
        }
        Script::HangUp => None,
    }
}
