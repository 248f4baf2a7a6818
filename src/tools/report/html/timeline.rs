//! The time line: calls of each rank, and below them, on the same clock, the phases, the requests
//! and the circuits.
//!
//! Everything is drawn once in units of time; zooming (page.js) only changes the part of the
//! picture that is looked at.

use super::{Hues, phase_label, px, titled};
use crate::report::digest::{Digest, Request};
use crate::report::timeline::{CircuitBar, LaneCall, PhaseBar};
use crate::report::words;
use maud::{Markup, html};
use pas_core::units::Nanos;
use pas_core::wire::{CircuitState, Decision};

/// A row's height and the bar's in it, in pixels.
const ROW: usize = 22;
const BAR: usize = 16;
/// Circuits that are drawn.
const CIRCUITS_MAX: usize = 48;

/// One row of the picture.
struct Row {
    /// The hue of what the row shows, where that is one thing.
    hue: String,
    label: String,
    note: String,
    /// A row that begins a new part is set apart.
    begins: bool,
    marks: Markup,
}

pub(super) fn section(digest: &Digest, hues: &Hues) -> Markup {
    let what = html! {
        p {
            "Time runs from left to right. Each of the upper rows is one rank; a bar is an MPI \
            call, as long as the rank spent in it, in the colour of the phase that it belongs to \
            (grey: none). Below, on the same clock: what the program itself marked \
            (pas_phase_begin in pas.h), when each phase was under way, when PAS asked for \
            circuits (green: granted, yellow: held or partly granted, red: refused or no \
            answer), and the life of each circuit. A circuit is of use where it is up while its \
            phase runs."
        }
        p {
            "Point at a bar for details. Zoom: click into the picture, then " kbd { "+" } " "
            kbd { "-" } " to zoom, " kbd { "←" } " " kbd { "→" } " to move, " kbd { "0" }
            " for everything; or drag."
        }
    };
    let line = &digest.timeline;
    if line.lanes.is_empty() {
        let body = html! { p class="empty" { "No rank kept a time line." } };
        return titled("timeline", "Time line", what, body);
    }
    let rows = rows(digest, hues);
    titled("timeline", "Time line", what, picture(digest, &rows))
}

fn picture(digest: &Digest, rows: &[Row]) -> Markup {
    let line = &digest.timeline;
    let span = line.until.minus(line.from).0.max(1_000) as f64 / 1e3;
    let height = rows.len() * ROW;
    let period = digest.iteration.as_ref().map_or(0.0, |found| found.period_ns.0 as f64 / 1e3);
    html! {
        div class="buttons" {
            button type="button" data-zoom="in" { "zoom in" }
            button type="button" data-zoom="out" { "zoom out" }
            button type="button" data-zoom="left" aria-label="earlier" { "←" }
            button type="button" data-zoom="right" aria-label="later" { "→" }
            button type="button" data-zoom="all" { "all" }
            span class="dim" data-shown {}
        }
        div class="timeline" {
            div class="labels" {
                @for row in rows {
                    @let class = if row.begins { "row begins" } else { "row" };
                    div class=(class) title=(format!("{} {}", row.label, row.note)) {
                        @if !row.hue.is_empty() { span class=(format!("swatch {}", row.hue)) {} }
                        (row.label) " " span class="dim" { (row.note) }
                    }
                }
            }
            div class="plot" tabindex="0" role="group"
                aria-label="Time line. Plus and minus zoom, arrows move, zero shows everything." {
                svg viewBox=(format!("0 0 {} {height}", px(span))) preserveAspectRatio="none"
                    height=(height) data-span=(px(span)) data-period=(px(period))
                    data-from=(px(line.from.0 as f64 / 1e3)) {
                    @for (at, row) in rows.iter().enumerate() {
                        @if row.begins {
                            line class="rule" x1="0" x2=(px(span)) y1=(at * ROW) y2=(at * ROW) {}
                        }
                        g transform=(format!("translate(0 {})", at * ROW + (ROW - BAR) / 2)) {
                            (row.marks)
                        }
                    }
                }
                div class="axis" {
                    @for tick in 0..=4u64 {
                        span style=(format!("left:{}%", tick * 25)) {
                            (words::duration(line.from.plus(Nanos((span * 250.0) as u64 * tick))))
                        }
                    }
                }
            }
        }
        (legend(digest))
    }
}

fn legend(digest: &Digest) -> Markup {
    let swatch = |class: &str, words: &str| {
        html! { span class="key" { span class=(format!("swatch {class}")) {} (words) } }
    };
    html! {
        p class="legend" {
            @if !digest.requests.is_empty() {
                span { "Requests: " }
                (swatch("good", "granted")) (swatch("fair", "held or partly granted"))
                (swatch("bad", "refused or no answer"))
            }
            @if !digest.timeline.circuits.is_empty() {
                span { "Circuits: " }
                @for state in [CircuitState::Switching, CircuitState::Lit, CircuitState::Up,
                    CircuitState::Failed] {
                    (swatch(state_class(state), state_words(state)))
                }
            }
        }
    }
}

fn rows(digest: &Digest, hues: &Hues) -> Vec<Row> {
    let line = &digest.timeline;
    let x = |at: Nanos| at.minus(line.from).0 as f64 / 1e3;
    let bar = |from: Nanos, until: Nanos, class: &str, title: String| {
        let (from, until) = (x(from.max(line.from)), x(until.min(line.until)));
        html! {
            @if until >= from {
                rect class=(class) x=(px(from)) width=(px((until - from).max(0.1))) height=(BAR) {
                    title { (title) }
                }
            }
        }
    };
    let mut rows = Vec::new();
    for lane in &line.lanes {
        let marks = html! {
            @for call in &lane.calls {
                (bar(call.entry.start_ns, call.entry.start_ns.plus(call.entry.duration_ns),
                    &hues.class(call.phase.as_deref()), call_title(digest, call)))
            }
        };
        let (label, note) = (format!("rank {}", lane.rank), lane.host.clone());
        rows.push(Row { hue: String::new(), label, note, begins: false, marks });
    }
    if !line.marks.is_empty() {
        let marks = html! {
            @for mark in &line.marks {
                (bar(mark.from, mark.until, "marked", format!("{}: {} from {}", mark.name,
                    words::duration(mark.until.minus(mark.from)), words::duration(mark.from))))
            }
        };
        let (label, note) = ("marks".to_string(), "of the program".to_string());
        rows.push(Row { hue: String::new(), label, note, begins: true, marks });
    }
    for (at, phase) in phases(digest).into_iter().enumerate() {
        let of_phase = line.phases.iter().filter(|bar| bar.phase == phase);
        let hue = hues.class(Some(&phase));
        let marks = html! {
            @for found in of_phase {
                (bar(found.from, found.until, &hue, phase_title(digest, found)))
            }
        };
        let label = phase_label(digest, &phase);
        rows.push(Row { hue, label, note: "phase".into(), begins: at == 0, marks });
    }
    if !digest.requests.is_empty() {
        let marks = html! {
            @for request in digest.requests.iter().filter(|request| request.at >= line.from) {
                (request_mark(digest, request, &px(x(request.at))))
            }
        };
        let label = "requests".to_string();
        rows.push(Row { hue: String::new(), label, note: String::new(), begins: true, marks });
    }
    for (at, bars) in circuits(digest).into_iter().enumerate() {
        let marks = html! {
            @for found in bars {
                (bar(found.from, found.until, state_class(found.state), circuit_title(found)))
            }
        };
        let label = bars.first().map_or(String::new(), |bar| format!("{} to {}", bar.a, bar.b));
        let note = bars.first().map_or(String::new(), |bar| bar.plane.clone());
        rows.push(Row { hue: String::new(), label, note, begins: at == 0, marks });
    }
    rows
}

/// A request is a moment: a line, as thick at every zoom.
fn request_mark(digest: &Digest, request: &Request, x: &str) -> Markup {
    let decision = request.report.reply.as_ref().map(|reply| reply.decision);
    let title = format!(
        "{}: {} at {}",
        decision.map_or("no answer", words::decision),
        phase_label(digest, &request.report.phase),
        words::duration(request.at),
    );
    html! {
        line class=(format!("mark {}", request_class(decision))) x1=(x) x2=(x) y1="0" y2=(BAR) {
            title { (title) }
        }
    }
}

/// Phases that have a bar, in the order of the page.
fn phases(digest: &Digest) -> Vec<String> {
    let all = digest.comms.iter().flat_map(|comm| &comm.phases);
    let drawn = |phase: &String| digest.timeline.phases.iter().any(|bar| bar.phase == *phase);
    all.map(|found| found.phase.phase.clone()).filter(drawn).collect()
}

/// The bars of each circuit, one row for each pair of hosts on each plane.
fn circuits(digest: &Digest) -> Vec<&[CircuitBar]> {
    let same = |x: &CircuitBar, y: &CircuitBar| (&x.plane, &x.a, &x.b) == (&y.plane, &y.a, &y.b);
    digest.timeline.circuits.chunk_by(same).take(CIRCUITS_MAX).collect()
}

fn call_title(digest: &Digest, call: &LaneCall) -> String {
    let entry = &call.entry;
    let comm = digest.comms.iter().find(|comm| comm.key == entry.comm);
    format!(
        "{} on {}: {}, {} from {}",
        entry.call,
        comm.map_or("?", |comm| comm.name.as_str()),
        words::bytes(entry.bytes),
        words::duration(entry.duration_ns),
        words::duration(entry.start_ns),
    )
}

fn phase_title(digest: &Digest, bar: &PhaseBar) -> String {
    format!(
        "{}: {}, {} from {}",
        phase_label(digest, &bar.phase),
        words::plural(u64::from(bar.calls), "call"),
        words::duration(bar.until.minus(bar.from)),
        words::duration(bar.from),
    )
}

fn circuit_title(bar: &CircuitBar) -> String {
    format!(
        "{} to {} on {}: {} for {} from {} ({})",
        bar.a,
        bar.b,
        bar.plane,
        state_words(bar.state),
        words::duration(bar.until.minus(bar.from)),
        words::duration(bar.from),
        bar.why,
    )
}

pub(super) fn request_class(decision: Option<Decision>) -> &'static str {
    match decision {
        Some(Decision::Granted) => "good",
        Some(Decision::Partial | Decision::Hold) => "fair",
        Some(Decision::Refused) | None => "bad",
    }
}

fn state_class(state: CircuitState) -> &'static str {
    match state {
        CircuitState::Switching => "dark",
        CircuitState::Lit => "lit",
        CircuitState::Up => "good",
        CircuitState::Draining => "dark",
        CircuitState::Failed => "bad",
    }
}

fn state_words(state: CircuitState) -> &'static str {
    match state {
        CircuitState::Switching => "switching (dark)",
        CircuitState::Lit => "light is there, link coming up",
        CircuitState::Up => "up",
        CircuitState::Draining => "about to be removed",
        CircuitState::Failed => "lost",
    }
}
