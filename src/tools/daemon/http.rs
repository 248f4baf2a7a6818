//! HTTP and JSON over TCP and a Unix socket.
//!
//! [`routes`] is the one table: the router and the OpenAPI document are made from it. Handlers
//! decode, ask the engine's thread, encode. Whatever is wrong with a request is answered with a
//! [`Problem`], and nothing else changes.

mod handlers;
mod latency;

use super::control::Control;
use super::{DaemonConfig, StartError, openapi};
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post, put};
use axum::{Extension, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use latency::Latency;
use pas_core::wire::{BODY_BYTES_MAX, Problem, VERSION};
use std::any::Any;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutLayer};

/// Connections at one time; further ones wait to be accepted.
const CONNECTIONS_MAX: usize = 32_768;
/// A client must send its request's head within this.
const HEAD: Duration = Duration::from_secs(5);
/// A client must go on sending its body within this.
const BODY: Duration = Duration::from_secs(5);
/// A request is answered within this, whatever it waits for.
const ANSWER: Duration = Duration::from_secs(60);

/// One row of the table of routes.
pub struct Route {
    /// The HTTP method.
    pub method: &'static str,
    /// The path, with its parameters in braces.
    pub path: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Query parameters: name and meaning.
    pub query: Query,
    /// An example of the request's body.
    pub request: Option<&'static str>,
    /// An example of the answer's.
    pub response: Option<&'static str>,
    handler: fn() -> MethodRouter<Control>,
}

/// Query parameters: name and meaning.
type Query = &'static [(&'static str, &'static str)];

/// The golden file of a message.
macro_rules! golden {
    ($name:literal) => {
        Some(include_str!(concat!("../../core/tests/golden/", $name, ".json")))
    };
}

/// The table of routes.
#[rustfmt::skip]
pub fn routes() -> Vec<Route> {
    let row = |method, path, about, query, request, response, handler| Route {
        method, path, about, query, request, response, handler,
    };
    const INCARNATION: Query = &[("incarnation", "from the registration; required")];
    const PHASE: Query = &[("phase", "only those set up for this phase")];
    vec![
        row("POST", "/v1/jobs/{job}/ranks", "A rank says that it is there.",
            &[], golden!("register_rank"), golden!("registered"), || post(handlers::register)),
        row("POST", "/v1/jobs/{job}/ranks/{rank}/heartbeat", "Renews a rank's lease.",
            &[], golden!("heartbeat"), None, || post(handlers::heartbeat)),
        row("DELETE", "/v1/jobs/{job}/ranks/{rank}", "A rank says good-bye.",
            INCARNATION, None, None, || delete(handlers::good_bye)),
        row("PUT", "/v1/jobs/{job}/ranks/{rank}/report", "What a rank tells at its end.",
            &[], golden!("rank_report"), None, || put(handlers::put_report)),
        row("PUT", "/v1/jobs/{job}/phases/{phase}", "A phase as the detector found it.",
            &[], golden!("phase"), None, || put(handlers::put_phase)),
        row("GET", "/v1/jobs/{job}/phases", "A job's phases.",
            &[], None, None, || get(handlers::phases)),
        row("POST", "/v1/jobs/{job}/prestage", "Circuits for a phase that is about to begin.",
            &[], golden!("prestage"), golden!("prestage_reply"), || post(handlers::prestage)),
        row("POST", "/v1/jobs/{job}/hints", "How the training goes.",
            &[], golden!("hint"), None, || post(handlers::hint)),
        row("DELETE", "/v1/jobs/{job}/circuits", "The job gives its circuits back.",
            PHASE, None, None, || delete(handlers::release)),
        row("GET", "/v1/jobs", "All jobs, without phases and circuits.",
            &[], None, None, || get(handlers::jobs)),
        row("GET", "/v1/jobs/{job}", "A job.",
            &[], None, golden!("job_status"), || get(handlers::job)),
        row("DELETE", "/v1/jobs/{job}", "Ends a job: its circuits are released.",
            &[], None, None, || delete(handlers::end_job)),
        row("GET", "/v1/jobs/{job}/report", "All that is known of a job.",
            &[], None, golden!("job_report"), || get(handlers::report)),
        row("GET", "/v1/leases", "Jobs with their living ranks, and the terms of leases.",
            &[], None, None, || get(handlers::leases)),
        row("GET", "/v1/circuits", "All circuits as read back.",
            &[], None, golden!("circuits"), || get(handlers::circuits)),
        row("GET", "/v1/fabric", "The fabric: planes, hosts, rates and delays.",
            &[], None, None, || get(handlers::fabric)),
        row("GET", "/v1/paths", "The last moves of traffic between EPS and circuits.",
            &[], None, None, || get(handlers::paths)),
        row("GET", "/healthz", "200 while the engine answers.",
            &[], None, None, || get(handlers::healthz)),
        row("GET", "/readyz", "200 once every switch was read back, else 503.",
            &[], None, None, || get(handlers::readyz)),
        row("GET", "/metrics", "Counters and gauges in Prometheus' text format.",
            &[], None, None, || get(handlers::metrics)),
        row("GET", "/openapi.json", "This document.",
            &[], None, None, || get(|| async { axum::Json(openapi::document()) })),
    ]
}

fn router(control: Control) -> Router {
    let mut paths: BTreeMap<&str, MethodRouter<Control>> = BTreeMap::new();
    for route in routes() {
        let before = paths.remove(route.path).unwrap_or_default();
        paths.insert(route.path, before.merge((route.handler)()));
    }
    let times = routes().into_iter().map(|route| (route.method, route.path));
    let latency = Arc::new(Latency::new(times));
    let mut router = Router::new();
    for (path, methods) in paths {
        router = router.route(path, methods);
    }
    router
        .route_layer(from_fn_with_state(Arc::clone(&latency), latency::time))
        .layer(Extension(latency))
        .fallback(|| async {
            problem(StatusCode::NOT_FOUND, "unknown_route", "see /openapi.json for what there is")
        })
        .method_not_allowed_fallback(|| async {
            let message = "the path does not take this method: see /openapi.json";
            problem(StatusCode::METHOD_NOT_ALLOWED, "bad_method", message)
        })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn(handlers::limit_length))
        .layer(RequestBodyTimeoutLayer::new(BODY))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, ANSWER))
        .layer(CatchPanicLayer::custom(panicked))
        .with_state(control)
}

fn panicked(_: Box<dyn Any + Send>) -> Response {
    let message = "a fault of pasd in this request; other requests are not affected";
    problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
}

/// An answer that is not 2xx.
fn problem(status: StatusCode, error: &str, message: &str) -> Response {
    let body = Problem { version: VERSION, error: error.into(), message: message.into() };
    (status, axum::Json(body)).into_response()
}

/// What the daemon listens on.
pub(super) struct Listeners {
    tcp: Option<TcpListener>,
    unix: Option<UnixListener>,
}

/// Binds the addresses; a socket file that nobody answers on is replaced.
pub(super) async fn listen(
    config: &DaemonConfig,
) -> Result<(Listeners, Option<SocketAddr>), StartError> {
    let failed = |address: String| move |error| StartError::Listen(address, error);
    let tcp = match config.listen {
        Some(address) => {
            Some(TcpListener::bind(address).await.map_err(failed(address.to_string()))?)
        }
        None => None,
    };
    let unix = match &config.socket {
        Some(path) => {
            let dead = path.exists() && std::os::unix::net::UnixStream::connect(path).is_err();
            if dead {
                let _ = std::fs::remove_file(path);
            }
            Some(UnixListener::bind(path).map_err(failed(path.display().to_string()))?)
        }
        None => None,
    };
    let address = tcp.as_ref().and_then(|tcp| tcp.local_addr().ok());
    Ok((Listeners { tcp, unix }, address))
}

/// Serves the listeners until the runtime ends.
pub(super) fn serve(runtime: &tokio::runtime::Runtime, listeners: Listeners, control: Control) {
    let router = router(control);
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    if let Some(tcp) = listeners.tcp {
        let (router, room) = (router.clone(), Arc::clone(&room));
        runtime.spawn(async move {
            loop {
                let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
                match tcp.accept().await {
                    Ok((stream, _)) => {
                        // Fails only on a connection that is gone already.
                        let _ = stream.set_nodelay(true);
                        tokio::spawn(connection(TokioIo::new(stream), router.clone(), permit));
                    }
                    Err(_) => breathe().await,
                }
            }
        });
    }
    if let Some(unix) = listeners.unix {
        runtime.spawn(async move {
            loop {
                let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
                match unix.accept().await {
                    Ok((stream, _)) => {
                        tokio::spawn(connection(TokioIo::new(stream), router.clone(), permit));
                    }
                    Err(_) => breathe().await,
                }
            }
        });
    }
}

/// Out of descriptors, most likely: the connection stays in the queue, and the loop does not spin.
async fn breathe() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

async fn connection(
    io: impl hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    router: Router,
    permit: OwnedSemaphorePermit,
) {
    let service = TowerToHyperService::new(router);
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(io, service);
    // A client that breaks off is its own business.
    let _ = connection.await;
    drop(permit);
}
