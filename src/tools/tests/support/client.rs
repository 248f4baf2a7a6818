//! A client of pasd that hides nothing: bytes out, bytes in, a connection a request.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Nothing here takes so long unless it is broken.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Where a daemon listens.
#[derive(Clone, Debug)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    content_type: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        assert_eq!(self.content_type, "application/json", "{}", self.text());
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The body, of an answer that must be 2xx.
    pub fn good(self) -> Answer {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.text());
        self
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Address {
    /// Sends a request with a JSON body, or with none; `None` where the daemon broke off.
    pub fn try_ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: pasd\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.send(&[head.as_bytes(), body.as_bytes()].concat(), false)
    }

    /// As [`Address::try_ask`], where the daemon must answer.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let answer = self.try_ask(method, path, body);
        answer.unwrap_or_else(|| panic!("{method} {path}: no answer from {self:?}"))
    }

    /// `GET path`, which must succeed.
    pub fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None).good().json()
    }

    /// Sends bytes and reads to the end of the connection; `None` where no answer came. With
    /// `close` the daemon sees the end of what it is sent at once.
    pub fn send(&self, bytes: &[u8], close: bool) -> Option<Answer> {
        let mut answer = Vec::new();
        match self {
            Address::Tcp(address) => {
                let mut stream = TcpStream::connect(address).ok()?;
                stream.set_read_timeout(Some(PATIENCE)).ok()?;
                // The daemon may refuse, and close, before it was sent everything.
                let _ = stream.write_all(bytes);
                if close {
                    let _ = stream.shutdown(Shutdown::Write);
                }
                let _ = stream.read_to_end(&mut answer);
            }
            Address::Unix(path) => {
                let mut stream = UnixStream::connect(path).ok()?;
                stream.set_read_timeout(Some(PATIENCE)).ok()?;
                let _ = stream.write_all(bytes);
                if close {
                    let _ = stream.shutdown(Shutdown::Write);
                }
                let _ = stream.read_to_end(&mut answer);
            }
        }
        let split = answer.windows(4).position(|part| part == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&answer[..split]).into_owned();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let body = answer.split_off(split + 4);
        let field = |name| head.lines().find_map(|line| line.strip_prefix(name));
        let content_type = field("content-type: ").unwrap_or_default().to_owned();
        let length = field("content-length: ");
        // An answer that was cut off is none.
        let whole = length.is_none_or(|length| length.parse() == Ok(body.len()));
        whole.then_some(Answer { status, content_type, body })
    }

    /// Registers a rank and answers with the job's incarnation.
    pub fn register(&self, job: &str, rank: u32, world_size: u32) -> u64 {
        let answer = self.ask("POST", &ranks(job), Some(&registration(rank, world_size)));
        answer.good().json()["incarnation"].as_u64().expect("a number")
    }

    /// Puts the golden phase, a ring of four ranks, into a job.
    pub fn put_phase(&self, job: &str, incarnation: u64) {
        let path = format!("/v1/jobs/{job}/phases/{PHASE}");
        self.ask("PUT", &path, Some(&phase(incarnation))).good();
    }

    /// Asks for the golden phase's circuits, and waits for them up to a minute.
    pub fn prestage(&self, job: &str, incarnation: u64, request: u64) -> Value {
        let mut body = golden(include_str!("../../../core/tests/golden/prestage.json"));
        body["incarnation"] = json!(incarnation);
        body["request"] = json!(request);
        body["wait_ns"] = json!(50_000_000_000_u64);
        self.ask("POST", &format!("/v1/jobs/{job}/prestage"), Some(&body)).good().json()
    }
}

/// The name of the golden phase.
pub const PHASE: &str = "00c0ffee00c0ffee.2";

/// A golden message, to be varied.
pub fn golden(text: &str) -> Value {
    serde_json::from_str(text).expect("golden")
}

/// Where ranks register.
pub fn ranks(job: &str) -> String {
    format!("/v1/jobs/{job}/ranks")
}

/// The golden phase in a job's life.
pub fn phase(incarnation: u64) -> Value {
    let mut phase = golden(include_str!("../../../core/tests/golden/phase.json"));
    phase["incarnation"] = json!(incarnation);
    phase
}

/// The registration of a rank on the host of its number.
pub fn registration(rank: u32, world_size: u32) -> Value {
    let mut body = golden(include_str!("../../../core/tests/golden/register_rank.json"));
    body["rank"] = json!(rank);
    body["world_size"] = json!(world_size);
    body["host"] = json!(format!("host{}", rank % 4));
    body["pid"] = json!(1000 + rank);
    body
}
