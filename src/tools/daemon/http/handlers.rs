//! The handlers: decode, ask the engine's thread, encode.

use super::latency::Latency;
use super::problem;
use crate::daemon::control::{Answer, Control, Unreached, View};
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::{Extension, Json};
use pas_core::engine::{Command, Response};
use pas_core::units::Nanos;
use pas_core::wire::{self, BODY_BYTES_MAX, JobReport, RankReport, VERSION};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::HashMap;
use std::fmt::{Display, Write};
use std::sync::Arc;

/// A request waits no longer for its circuits, so that it is answered within [`super::ANSWER`].
const WAIT_NS_MAX: Nanos = Nanos::from_millis(50_000);

type Body = Result<Bytes, BytesRejection>;

/// What is wrong with a request.
pub struct Wrong {
    status: StatusCode,
    error: &'static str,
    message: String,
}

/// What a handler comes to.
type Handled = Result<HttpResponse, Wrong>;

impl Wrong {
    fn new(status: StatusCode, error: &'static str, message: impl Into<String>) -> Wrong {
        Wrong { status, error, message: message.into() }
    }

    fn request(error: &'static str, message: impl Into<String>) -> Wrong {
        Wrong::new(StatusCode::BAD_REQUEST, error, message)
    }

    fn unknown_job(job: &str) -> Wrong {
        let message = format!("there is no job {job:?}: GET /v1/jobs lists them");
        Wrong::new(StatusCode::NOT_FOUND, "unknown_job", message)
    }

    fn too_large() -> Wrong {
        let message = format!("a body has {BODY_BYTES_MAX} bytes at most");
        Wrong::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    fn path(what: &str, path: impl Display, body: impl Display) -> Wrong {
        let message = format!("the path says {what} {path}, the body {body}: they must agree");
        Wrong::request("path_and_body_differ", message)
    }
}

impl IntoResponse for Wrong {
    fn into_response(self) -> HttpResponse {
        problem(self.status, self.error, &self.message)
    }
}

impl From<Unreached> for Wrong {
    fn from(why: Unreached) -> Wrong {
        let (error, message) = match why {
            Unreached::Busy => ("busy", "too many requests at once: send it again a little later"),
            Unreached::Ending => ("ending", "the daemon is ending"),
        };
        Wrong::new(StatusCode::SERVICE_UNAVAILABLE, error, message)
    }
}

/// Refuses a body whose announced length is too large before any of it is read.
pub async fn limit_length(request: Request, next: Next) -> HttpResponse {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > BODY_BYTES_MAX) {
        return Wrong::too_large().into_response();
    }
    next.run(request).await
}

/// The path's parameters; axum's own extractor would answer a wrong one with plain text.
pub struct Path<T>(T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Wrong;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, Wrong> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(path)| Path(path))
            .map_err(|rejection| Wrong::request("bad_path", rejection.body_text()))
    }
}

/// Decodes a body, or says what is wrong with it.
fn decode<T: DeserializeOwned>(body: Body) -> Result<T, Wrong> {
    decode_whole(body).map(|(message, _)| message)
}

/// As [`decode`], with the body's bytes.
fn decode_whole<T: DeserializeOwned>(body: Body) -> Result<(T, Bytes), Wrong> {
    let bytes = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Wrong::too_large(),
        status => Wrong::new(status, "bad_body", "the body did not arrive whole"),
    })?;
    let message = serde_json::from_slice(&bytes)
        .map_err(|error| Wrong::request("bad_json", error.to_string()))?;
    Ok((message, bytes))
}

fn encode(answer: Answer) -> HttpResponse {
    match answer {
        Ok(Response::Done) => StatusCode::NO_CONTENT.into_response(),
        Ok(Response::Registered(body)) => Json(body).into_response(),
        Ok(Response::Prestage(body)) => Json(body).into_response(),
        Err(refusal) => {
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, Json(refusal.problem)).into_response()
        }
    }
}

async fn ask(control: &Control, command: impl FnOnce(u64) -> Command + Send + 'static) -> Handled {
    Ok(encode(control.ask(command).await?))
}

async fn look<T: Serialize + Send + 'static>(
    control: &Control,
    look: impl FnOnce(&View<'_>) -> T + Send + 'static,
) -> Handled {
    Ok(Json(control.look(look).await?).into_response())
}

pub async fn register(
    State(control): State<Control>,
    Path(job): Path<String>,
    body: Body,
) -> Handled {
    let request = decode(body)?;
    ask(&control, |token| Command::Register { token, job, request }).await
}

pub async fn heartbeat(
    State(control): State<Control>,
    Path((job, rank)): Path<(String, u32)>,
    body: Body,
) -> Handled {
    let request = decode(body)?;
    ask(&control, move |token| Command::Heartbeat { token, job, rank, request }).await
}

pub async fn good_bye(
    State(control): State<Control>,
    Path((job, rank)): Path<(String, u32)>,
    Query(query): Query<HashMap<String, String>>,
) -> Handled {
    let incarnation = query.get("incarnation").and_then(|value| value.parse().ok());
    let message = "say ?incarnation=N with the number from the registration";
    let incarnation = incarnation.ok_or_else(|| Wrong::request("no_incarnation", message))?;
    ask(&control, move |token| Command::Deregister { token, job, rank, incarnation }).await
}

pub async fn put_report(
    State(control): State<Control>,
    Path((job, rank)): Path<(String, u32)>,
    body: Body,
) -> Handled {
    let (report, bytes): (Box<RankReport>, Bytes) = decode_whole(body)?;
    if report.registered.rank != rank {
        return Err(Wrong::path("rank", rank, report.registered.rank));
    }
    if report.job != job {
        return Err(Wrong::path("job", job, report.job));
    }
    report.validate().map_err(|invalid| Wrong::request(invalid.error, invalid.message))?;
    Ok(encode(control.keep(job, report, bytes).await?))
}

pub async fn put_phase(
    State(control): State<Control>,
    Path((job, name)): Path<(String, String)>,
    body: Body,
) -> Handled {
    let phase: wire::Phase = decode(body)?;
    if phase.phase != name {
        return Err(Wrong::path("phase", name, phase.phase));
    }
    ask(&control, |token| Command::PutPhase { token, job, phase }).await
}

pub async fn prestage(
    State(control): State<Control>,
    Path(job): Path<String>,
    body: Body,
) -> Handled {
    let mut request: wire::Prestage = decode(body)?;
    request.wait_ns = request.wait_ns.min(WAIT_NS_MAX);
    ask(&control, |token| Command::Prestage { token, job, request }).await
}

pub async fn hint(State(control): State<Control>, Path(job): Path<String>, body: Body) -> Handled {
    let hint = decode(body)?;
    ask(&control, |token| Command::Hint { token, job, hint }).await
}

pub async fn release(
    State(control): State<Control>,
    Path(job): Path<String>,
    Query(mut query): Query<HashMap<String, String>>,
) -> Handled {
    let phase = query.remove("phase");
    ask(&control, |token| Command::Release { token, job, phase }).await
}

pub async fn end_job(State(control): State<Control>, Path(job): Path<String>) -> Handled {
    ask(&control, |token| Command::EndJob { token, job }).await
}

pub async fn jobs(State(control): State<Control>) -> Handled {
    look(&control, |view| json!({ "version": VERSION, "jobs": view.engine.jobs() })).await
}

/// Looks a job up and shows a part of it.
async fn of_job<T: Serialize + Send + 'static>(
    control: &Control,
    job: String,
    part: impl FnOnce(&View<'_>, wire::JobStatus) -> T + Send + 'static,
) -> Handled {
    let asked = job.clone();
    let found = control.look(move |view| Some(part(view, view.engine.job_status(&asked)?))).await?;
    found.map(|body| Json(body).into_response()).ok_or_else(|| Wrong::unknown_job(&job))
}

pub async fn job(State(control): State<Control>, Path(job): Path<String>) -> Handled {
    of_job(&control, job, |_, status| status).await
}

pub async fn phases(State(control): State<Control>, Path(job): Path<String>) -> Handled {
    of_job(&control, job, |_, status| json!({ "version": VERSION, "phases": status.phases })).await
}

pub async fn report(State(control): State<Control>, Path(job): Path<String>) -> Handled {
    let asked = job.clone();
    let found = control.look(move |view| {
        let status = view.engine.job_status(&asked)?;
        let changes = view.reports.changes_of(&asked);
        Some((status, fabric_summary(view), view.reports.of(&asked), changes))
    });
    let found = found.await?;
    let (status, fabric, ranks, circuit_log) = found.ok_or_else(|| Wrong::unknown_job(&job))?;
    // The reports are long: they are copied and encoded here, where the engine does not wait.
    let report = JobReport {
        version: VERSION,
        job: Some(status),
        fabric: Some(fabric),
        ranks: ranks.iter().map(|report| RankReport::clone(report)).collect(),
        circuit_log,
    };
    Ok(Json(report).into_response())
}

/// The fabric, and that its switches are emulated: the one driver that there is.
fn fabric_summary(view: &View<'_>) -> wire::FabricSummary {
    wire::FabricSummary { switches: "emulated".to_owned(), ..view.engine.fabric_summary() }
}

pub async fn leases(State(control): State<Control>) -> Handled {
    look(&control, |view| {
        let limits = view.engine.limits();
        let jobs: Vec<_> = view
            .engine
            .jobs()
            .into_iter()
            .map(|job| {
                json!({ "job": job.job, "incarnation": job.incarnation, "state": job.state,
                        "world_size": job.world_size, "ranks_alive": job.ranks_alive })
            })
            .collect();
        json!({ "version": VERSION, "lease_ns": limits.lease_ns,
                "heartbeat_ns": limits.heartbeat_ns, "jobs": jobs })
    })
    .await
}

pub async fn circuits(State(control): State<Control>) -> Handled {
    look(&control, |view| view.engine.circuits()).await
}

pub async fn fabric(State(control): State<Control>) -> Handled {
    look(&control, |view| {
        json!({ "version": VERSION, "summary": fabric_summary(view),
                "fabric": view.engine.fabric() })
    })
    .await
}

pub async fn paths(State(control): State<Control>) -> Handled {
    look(&control, |view| json!({ "version": VERSION, "moves": view.paths })).await
}

pub async fn healthz(State(control): State<Control>) -> Handled {
    control.look(|_| ()).await?;
    Ok("ok\n".into_response())
}

pub async fn readyz(State(control): State<Control>) -> Handled {
    if control.look(|view| view.engine.is_ready()).await? {
        return Ok("ready\n".into_response());
    }
    let message = "not every switch has been read back yet";
    Err(Wrong::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", message))
}

pub async fn metrics(
    State(control): State<Control>,
    Extension(latency): Extension<Arc<Latency>>,
) -> Handled {
    let text = control.look(prometheus).await? + &latency.prometheus();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

/// The metrics in Prometheus' text format, families together as it asks for.
fn prometheus(view: &View<'_>) -> String {
    let mut text = String::new();
    let mut last = "";
    for metric in view.engine.metrics() {
        let (suffix, kind) = if metric.counter { ("_total", "counter") } else { ("", "gauge") };
        if metric.name != last {
            last = metric.name;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# HELP pasd_{last}{suffix} {}", metric.help);
            let _ = writeln!(text, "# TYPE pasd_{last}{suffix} {kind}");
        }
        let labels: Vec<String> =
            metric.labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(text, "pasd_{last}{suffix}{labels} {}", metric.value);
    }
    let own = [
        (
            "store_errors",
            "Journal batches or snapshots that could not be written.",
            view.store_errors,
        ),
        ("dropped_reports", "Reports given up for newer ones.", view.reports.dropped_reports),
        ("dropped_circuit_changes", "Log entries given up.", view.reports.dropped_changes),
    ];
    for (name, help, value) in own {
        let _ = writeln!(text, "# HELP pasd_{name}_total {help}");
        let _ = writeln!(text, "# TYPE pasd_{name}_total counter\npasd_{name}_total {value}");
    }
    text
}
