//! HTTP over TCP or a Unix socket, from the worker thread only.
//!
//! ureq speaks HTTP; the connection below it is ours for two reasons. It reaches Unix sockets, and
//! it never sleeps for long: every wait is cut into slices, and between slices the caller's `pump`
//! runs, so that a daemon that hangs does not make rings overflow. Proxy variables are ignored: a
//! cluster's proxy knows nothing of its control plane.

use crate::skip::Fault;
use crate::sys;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// Longest sleep between two runs of the pump, milliseconds.
const SLICE_MS: i32 = 2;
/// Longest time for a TCP connection to come up. (The look-up of its name is the only wait without
/// a pump.)
const CONNECT: Duration = Duration::from_millis(100);
/// An answer longer than this is not read on.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Why there is no answer.
#[derive(Debug)]
pub enum Failure {
    /// No connection.
    Unreachable(String),
    /// No (whole) answer in time.
    Late,
    /// An answer that is none.
    Garbled(String),
    /// The daemon says no: its status and its words.
    Refused(u16, String),
}

impl Failure {
    /// The counter it goes to.
    pub fn fault(&self) -> Fault {
        match self {
            Failure::Unreachable(_) => Fault::Unreachable,
            Failure::Late => Fault::Late,
            Failure::Garbled(_) => Fault::Garbled,
            Failure::Refused(..) => Fault::RefusedMessage,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unreachable(why) => write!(f, "no connection ({why})"),
            Failure::Late => write!(f, "no answer in time"),
            Failure::Garbled(why) => write!(f, "an answer that cannot be read ({why})"),
            Failure::Refused(status, why) => write!(f, "refused with {status}: {why}"),
        }
    }
}

/// Runs between two slices of a wait.
pub type Pump = Arc<dyn Fn() + Send + Sync>;

/// A client of one daemon.
pub struct Http {
    agent: ureq::Agent,
    base: String,
    line: Arc<Line>,
}

/// What the connections share.
struct Line {
    target: Target,
    pump: Pump,
    /// On the monotonic clock.
    deadline_ns: AtomicU64,
}

#[derive(Debug)]
enum Target {
    Tcp { authority: String },
    Unix(PathBuf),
}

impl Http {
    /// A client for `url`, which [`crate::knobs`] has found good.
    pub fn new(url: &str, pump: Pump) -> Http {
        let (target, base) = match url.strip_prefix("unix:") {
            Some(path) => (Target::Unix(path.into()), "http://pasd".to_owned()),
            None => {
                let base = url.trim_end_matches('/').to_owned();
                let authority = base.trim_start_matches("http://");
                let port = authority.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
                let default = if port.is_some() { "" } else { ":80" };
                (Target::Tcp { authority: format!("{authority}{default}") }, base)
            }
        };
        let line = Arc::new(Line { target, pump, deadline_ns: AtomicU64::new(0) });
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .user_agent(concat!("libpas/", env!("CARGO_PKG_VERSION")))
            .build();
        let agent = ureq::Agent::with_parts(config, Dialler(Arc::clone(&line)), NoNames);
        Http { agent, base, line }
    }

    /// Sends a message and reads the answer, within `limit`.
    pub fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<T, Failure> {
        let answer = self.exchange(method, path, body, limit)?;
        serde_json::from_slice(&answer).map_err(|error| Failure::Garbled(error.to_string()))
    }

    /// Sends a message whose answer says no more than that it was taken.
    pub fn tell(
        &self,
        method: &str,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<(), Failure> {
        self.exchange(method, path, body, limit).map(drop)
    }

    fn exchange(
        &self,
        method: &str,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = sys::monotonic_ns().saturating_add(limit_ns);
        self.line.deadline_ns.store(deadline_ns, Ordering::Relaxed);
        let body = serde_json::to_vec(body).map_err(|e| Failure::Garbled(e.to_string()))?;
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("content-type", "application/json")
            .body(body)
            .map_err(|error| Failure::Garbled(error.to_string()))?;
        let mut response = self.agent.run(request).map_err(failure)?;
        let status = response.status().as_u16();
        let reader = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let answer = reader.read_to_vec().map_err(failure)?;
        match status {
            200..300 => Ok(answer),
            400..600 => Err(Failure::Refused(status, words_of(&answer))),
            _ => Err(Failure::Garbled(format!("status {status}"))),
        }
    }
}

/// What a refusal says: the problem's message, or the body's beginning.
fn words_of(answer: &[u8]) -> String {
    match serde_json::from_slice::<pas_core::wire::Problem>(answer) {
        Ok(problem) => format!("{}: {}", problem.error, problem.message),
        Err(_) => String::from_utf8_lossy(answer).chars().take(120).collect(),
    }
}

fn failure(error: ureq::Error) -> Failure {
    match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => Failure::Late,
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Failure::Garbled(error.to_string())
            }
            _ => Failure::Unreachable(error.to_string()),
        },
        ureq::Error::Timeout(_) => Failure::Late,
        other => Failure::Garbled(other.to_string()),
    }
}

/// The names are looked up by [`Dialler`], once a connection and in the worker: ureq's own
/// resolver would start a thread for it.
#[derive(Debug)]
struct NoNames;

impl Resolver for NoNames {
    fn resolve(
        &self,
        _: &Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut none = self.empty();
        none.push(SocketAddr::from(([127, 0, 0, 1], 0)));
        Ok(none)
    }
}

struct Dialler(Arc<Line>);

impl fmt::Debug for Dialler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dialler({:?})", self.0.target)
    }
}

impl Connector for Dialler {
    type Out = Connection;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _: Option<()>,
    ) -> Result<Option<Connection>, ureq::Error> {
        let socket = match &self.0.target {
            Target::Unix(path) => Socket::Unix(sys::connect_unix(path)?),
            Target::Tcp { authority } => Socket::Tcp(connect_tcp(authority, &self.0.pump)?),
        };
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(Connection { socket, buffers, line: Arc::clone(&self.0) }))
    }
}

/// Tries each address of a name in turn: `localhost` may be `::1` first and served on 127.0.0.1.
fn connect_tcp(authority: &str, pump: &Pump) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in authority.to_socket_addrs()? {
        match connect_address(&address, pump) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn connect_address(address: &SocketAddr, pump: &Pump) -> io::Result<TcpStream> {
    let deadline = Instant::now() + CONNECT;
    let stream = sys::begin_connect_tcp(address)?;
    while !sys::wait_ready(&stream, true, SLICE_MS)? {
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        pump();
    }
    match stream.take_error()? {
        Some(error) => Err(error),
        None => stream.set_nodelay(true).map(|()| stream),
    }
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A non-blocking connection that waits in slices.
struct Connection {
    socket: Socket,
    buffers: LazyBuffers,
    line: Arc<Line>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({:?})", self.line.target)
    }
}

impl Connection {
    /// Waits for one slice at most; an error once the deadline is over.
    fn wait(&self, for_write: bool) -> io::Result<()> {
        if sys::monotonic_ns() >= self.line.deadline_ns.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let fd = match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        };
        if !sys::wait_ready(&fd, for_write, SLICE_MS)? {
            (self.line.pump)();
        }
        Ok(())
    }
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), ureq::Error> {
        let mut sent = 0;
        while sent < amount {
            let rest = self.buffers.output().get(sent..amount).unwrap_or_default();
            let result = match &mut self.socket {
                Socket::Tcp(stream) => stream.write(rest),
                Socket::Unix(stream) => stream.write(rest),
            };
            match result {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => sent += count,
                Err(error) if is_patience(&error) => self.wait(true)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, ureq::Error> {
        loop {
            let into = self.buffers.input_append_buf();
            let result = match &mut self.socket {
                Socket::Tcp(stream) => stream.read(into),
                Socket::Unix(stream) => stream.read(into),
            };
            match result {
                Ok(count) => {
                    self.buffers.input_appended(count);
                    return Ok(count > 0);
                }
                Err(error) if is_patience(&error) => self.wait(false)?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn is_open(&mut self) -> bool {
        let mut byte = [0];
        let peeked = match &mut self.socket {
            Socket::Tcp(stream) => stream.peek(&mut byte),
            // std has no stable peek for Unix sockets. A read that would block is the answer; a
            // byte that arrives without having been asked for makes the connection useless.
            Socket::Unix(stream) => stream.read(&mut byte),
        };
        peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
