//! The patterns of each communicator, as pictures of who sends to whom.

use super::{Hues, px, titled};
use crate::report::digest::{Comm, Digest, FoundPhase};
use crate::report::steps::StepGroup;
use crate::report::{text, words};
use maud::{Markup, html};
use pas_core::wire::Phase;
use std::f64::consts::TAU;

/// Dots on a circle that can be told apart.
const DOTS_MAX: u32 = 128;
/// Dots that have room for a number.
const NUMBERS_MAX: u32 = 24;
/// Half the picture's side.
const HALF: f64 = 80.0;
/// The circle's radius.
const RADIUS: f64 = 58.0;

pub(super) fn section(digest: &Digest, hues: &Hues) -> Markup {
    let comms: Vec<&Comm> = digest.comms.iter().filter(|comm| !comm.phases.is_empty()).collect();
    let what = html! {
        p {
            "Each card is one phase: an exchange that the job repeats. The dots on a circle are \
            the ranks, and an arrow says that one sends to another in that step. Where the arrows \
            stay the same from step to step (a ring), one set of optical circuits serves the whole \
            exchange; where they change (recursive doubling), each step would like other circuits."
        }
        p {
            "How PAS knows: " b { "declared" } ", the program said so; "
            b { "predicted" } ", the MPI library's published rules say so; "
            b { "observed" } ", PAS saw the messages."
        }
    };
    let body = html! {
        @if comms.is_empty() {
            p class="empty" { "No pattern was found: no exchange repeated often enough." }
        }
        @for comm in comms {
            h3 {
                (comm.name) " "
                span class="dim" { (words::plural(u64::from(comm.size), "rank")) }
            }
            div class="cards" { @for found in &comm.phases { (card(found, hues)) } }
        }
    };
    titled("patterns", "Patterns", what, body)
}

fn card(found: &FoundPhase, hues: &Hues) -> Markup {
    let phase = &found.phase;
    let sure = format!("{:.0} %", phase.confidence * 100.0);
    html! {
        article class="card" {
            h4 {
                span class=(format!("swatch {}", hues.class(Some(&phase.phase)))) {}
                (words::collective(phase.collective)) ": " (words::pattern(phase.pattern))
            }
            p class="dim" { (words::pattern_about(phase.pattern)) }
            dl class="facts" {
                dt { "calls" } dd { (text::call_sizes(found)) " each time" }
                dt { "steps" } dd { (text::step_words(found)) " (the most that one rank sends)" }
                dt { "takes" } dd { (words::duration(phase.duration_ns)) ", seen "
                    (words::count(phase.seen)) " times"
                    @if let Some(period) = phase.period_ns { ", every " (words::duration(period)) }
                }
                dt { "known" } dd {
                    (words::source(phase.source)) " (" (words::source_about(phase.source)) "), "
                    (sure) " sure: " (phase.because)
                }
            }
            (pictures(found))
        }
    }
}

fn pictures(found: &FoundPhase) -> Markup {
    let steps = &found.steps;
    html! {
        div class="pictures" {
            @for group in &steps.groups {
                figure {
                    (circle(&found.phase, group))
                    figcaption { (caption(group)) }
                }
            }
        }
        @if steps.steps_left_out > 0 {
            p class="dim" {
                (words::plural(u64::from(steps.steps_left_out), "more step")) " not drawn."
            }
        }
        @if let Some(note) = steps.note { p class="dim" { (note) } }
    }
}

fn caption(group: &StepGroup) -> Markup {
    let last = group.first + group.steps - 1;
    html! {
        @if group.steps == 1 { "step " (group.first) }
        @else { "steps " (group.first) " to " (last) }
        ": " (words::bytes(group.bytes_max))
        @if group.arrows_left_out > 0 {
            br; span class="dim" {
                (group.arrows.len()) " of " (group.arrows.len() + group.arrows_left_out) " arrows"
            }
        }
    }
}

fn circle(phase: &Phase, group: &StepGroup) -> Markup {
    let ranks = u32::try_from(phase.members.len()).unwrap_or(u32::MAX).max(1);
    let view = format!("{0} {0} {1} {1}", px(-HALF), px(2.0 * HALF));
    let dots = (0..ranks.min(DOTS_MAX)).map(|dot| match ranks <= DOTS_MAX {
        true => dot,
        false => (u64::from(dot) * u64::from(ranks) / u64::from(DOTS_MAX)) as u32,
    });
    let radius = if ranks <= NUMBERS_MAX { 9.0 } else { 2.0 };
    let arrows: Vec<String> =
        group.arrows.iter().map(|(from, to)| arrow(*from, *to, ranks, radius)).collect();
    let label = format!("{} arrows between {ranks} ranks", group.arrows.len());
    html! {
        svg class="circle" viewBox=(view) role="img" aria-label=(label) {
            @for path in &arrows { path class="arrow" d=(path) {} }
            @for dot in dots {
                @let (x, y) = place(dot, ranks, RADIUS);
                circle class="dot" cx=(px(x)) cy=(px(y)) r=(px(radius)) {}
                @if ranks <= NUMBERS_MAX {
                    text x=(px(x)) y=(px(y + 3.5)) {
                        (phase.members.get(dot).unwrap_or(dot))
                    }
                }
            }
        }
    }
}

/// Where a rank stands: clockwise, the first one at the top.
fn place(rank: u32, ranks: u32, radius: f64) -> (f64, f64) {
    let angle = TAU * f64::from(rank) / f64::from(ranks) - TAU / 4.0;
    (radius * angle.cos(), radius * angle.sin())
}

/// A slightly bent arrow between two dots' rims, so that a pair that swaps shows two. A rank that
/// sends to itself has none.
fn arrow(from: u32, to: u32, ranks: u32, dot: f64) -> String {
    let (x0, y0) = place(from, ranks, RADIUS);
    let (x1, y1) = place(to, ranks, RADIUS);
    let (dx, dy) = (x1 - x0, y1 - y0);
    let length = dx.hypot(dy);
    if length < 1e-6 {
        return String::new();
    }
    let (ux, uy) = (dx / length, dy / length);
    let bend = (length * 0.12).min(12.0);
    let (mx, my) = ((x0 + x1) / 2.0 - uy * bend, (y0 + y1) / 2.0 + ux * bend);
    // The curve's tangents at both ends point to the control point.
    let toward = |x: f64, y: f64, away: f64| {
        let (tx, ty) = (mx - x, my - y);
        let t = tx.hypot(ty).max(1e-6);
        (x + tx / t * away, y + ty / t * away, tx / t, ty / t)
    };
    let (sx, sy, _, _) = toward(x0, y0, dot + 1.0);
    let (ex, ey, tx, ty) = toward(x1, y1, dot + 1.5);
    let head = if ranks <= NUMBERS_MAX { 6.0 } else { 3.5 };
    let wing = |side: f64| (ex + (tx - ty * 0.5 * side) * head, ey + (ty + tx * 0.5 * side) * head);
    let ((ax, ay), (bx, by)) = (wing(1.0), wing(-1.0));
    format!(
        "M{} {}Q{} {} {} {}M{} {}L{} {}L{} {}",
        px(sx),
        px(sy),
        px(mx),
        px(my),
        px(ex),
        px(ey),
        px(ax),
        px(ay),
        px(ex),
        px(ey),
        px(bx),
        px(by),
    )
}
