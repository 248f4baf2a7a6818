//! A blocking HTTP client for pasd, over TCP or a Unix socket, every request with a deadline.
//!
//! ureq carries the protocol; it speaks TCP only, so the Unix socket is a transport of ours.

use pas_core::wire::Problem;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// Where a daemon is looked for when nobody says where it is.
pub const DEFAULT_URL: &str = "http://127.0.0.1:7447";

/// The longest answer that is read. A job's report is the longest: some MiB for each rank that
/// kept a time line.
pub const RESPONSE_BYTES_MAX: u64 = 256 << 20;

/// Longest part of an answer that is not JSON, as quoted in an error.
const QUOTE_CHARS_MAX: usize = 120;

/// Why a request yielded nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none.
    #[error("{0:?} is no daemon address; write http://HOST:PORT or unix:/PATH/TO/SOCKET")]
    BadUrl(String),
    /// Nobody answered.
    #[error("no daemon answers at {url} ({why}); start one with `pasd`, or name another: --url")]
    Unreachable {
        /// The address.
        url: String,
        /// What the system said.
        why: String,
    },
    /// The daemon refused, in its own words.
    #[error("the daemon at {url} answered {status} ({error}): {message}")]
    Refused {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The problem's stable name.
        error: String,
        /// Its words.
        message: String,
    },
    /// The answer is not what a pasd of this version says.
    #[error("what answers at {url}{path} is no pasd of this version ({why})")]
    Garbage {
        /// The address.
        url: String,
        /// The path.
        path: String,
        /// What is wrong with the answer.
        why: String,
    },
}

/// A daemon's address, and how to talk to it.
pub struct Client {
    agent: Agent,
    base: String,
    url: String,
}

impl Client {
    /// A client for the daemon at `url`; each request is given up after `deadline`. Connects to
    /// nothing yet.
    ///
    /// # Errors
    ///
    /// [`ClientError::BadUrl`].
    pub fn new(url: &str, deadline: Duration) -> Result<Client, ClientError> {
        // A proxy of the environment is for the outside world; the daemon is not there.
        let config = Agent::config_builder()
            .timeout_global(Some(deadline))
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .user_agent(concat!("pas/", env!("CARGO_PKG_VERSION")))
            .build();
        let bad = || ClientError::BadUrl(url.to_string());
        if let Some(path) = url.strip_prefix("unix:") {
            let path = Path::new(path.strip_prefix("//").unwrap_or(path));
            if !path.is_absolute() {
                return Err(bad());
            }
            let connector = UnixConnector { path: path.to_path_buf() };
            let agent = Agent::with_parts(config, connector, NoResolver);
            return Ok(Client { agent, base: "http://pasd".into(), url: url.into() });
        }
        let base = url.trim_end_matches('/');
        let uri: Uri = base.parse().map_err(|_| bad())?;
        if uri.scheme_str() != Some("http") || uri.host().is_none() || uri.path() != "/" {
            return Err(bad());
        }
        Ok(Client { agent: Agent::new_with_config(config), base: base.into(), url: url.into() })
    }

    /// The address as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// `GET path`, decoded.
    ///
    /// # Errors
    ///
    /// Nobody there, a refusal, or an answer that is not the JSON asked for.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let text = self.get_text(path)?;
        serde_json::from_str(&text).map_err(|error| self.garbage(path, error.to_string()))
    }

    /// `GET path` as text.
    ///
    /// # Errors
    ///
    /// As [`Client::get`].
    pub fn get_text(&self, path: &str) -> Result<String, ClientError> {
        let unreachable = |why: ureq::Error| ClientError::Unreachable {
            url: self.url.clone(),
            why: why.to_string(),
        };
        let mut answer = self.agent.get(self.base.clone() + path).call().map_err(unreachable)?;
        let status = answer.status();
        let text = answer
            .body_mut()
            .with_config()
            .limit(RESPONSE_BYTES_MAX)
            .read_to_string()
            .map_err(|error| self.garbage(path, error.to_string()))?;
        if status.is_success() {
            return Ok(text);
        }
        match serde_json::from_str::<Problem>(&text) {
            Ok(problem) => Err(ClientError::Refused {
                url: self.url.clone(),
                status: status.as_u16(),
                error: problem.error,
                message: problem.message,
            }),
            Err(_) => {
                let quote: String = text.chars().take(QUOTE_CHARS_MAX).collect();
                Err(self.garbage(path, format!("status {status}, body {quote:?}")))
            }
        }
    }

    fn garbage(&self, path: &str, why: String) -> ClientError {
        ClientError::Garbage { url: self.url.clone(), path: path.to_string(), why }
    }
}

/// Percent-encodes one segment of a path. Job ids need no escaping when they are valid; what a
/// person types may not be.
pub fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@-".contains(&byte);
    text.bytes().fold(String::new(), |mut out, byte| {
        match plain(byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

/// Connects to one Unix socket, whatever host the address names.
#[derive(Debug)]
struct UnixConnector {
    path: PathBuf,
}

impl<In: Transport> Connector<In> for UnixConnector {
    type Out = UnixTransport;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _chained: Option<In>,
    ) -> Result<Option<UnixTransport>, ureq::Error> {
        let stream = UnixStream::connect(&self.path)?;
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(UnixTransport { stream, buffers }))
    }
}

/// ureq's view of the socket.
#[derive(Debug)]
struct UnixTransport {
    stream: UnixStream,
    buffers: LazyBuffers,
}

/// A timed-out socket says "would block"; ureq's word for it is its own.
fn timed_out(error: io::Error, timeout: &NextTimeout) -> ureq::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ureq::Error::Timeout(timeout.reason),
        _ => error.into(),
    }
}

impl Transport for UnixTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.set_write_timeout(timeout.not_zero().map(|after| *after))?;
        let output = &self.buffers.output()[..amount];
        self.stream.write_all(output).map_err(|error| timed_out(error, &timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.stream.set_read_timeout(timeout.not_zero().map(|after| *after))?;
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input).map_err(|error| timed_out(error, &timeout))?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        // Never reused: each request opens its own, and a local socket costs nothing to open.
        false
    }
}

/// A Unix socket needs no address, but ureq wants one.
#[derive(Debug)]
struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(
        &self,
        _uri: &Uri,
        _config: &Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addrs = self.empty();
        addrs.push(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
        Ok(addrs)
    }
}

#[cfg(test)]
mod tests;
