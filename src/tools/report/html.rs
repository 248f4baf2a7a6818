//! The report as one page: no request goes out of it, it prints, and it works without JavaScript
//! (zooming the time line apart).
//!
//! [`maud`] escapes every value that is put in, so that no name of a program, host or communicator
//! can become markup; a Content-Security-Policy in the page forbids every request besides.

mod circuits;
mod patterns;
mod tables;
mod timeline;
mod training;

use crate::report::digest::Digest;
use crate::report::{text, words};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use pas_core::wire::Decision;
use std::collections::BTreeMap;

/// Hues that can be told apart; phases beyond share them.
const HUES: usize = 8;
/// Hosts whose names the head of the page spells out.
const HOSTS_MAX: usize = 8;

/// Which hue each phase has, everywhere on the page.
struct Hues(BTreeMap<String, usize>);

impl Hues {
    fn new(digest: &Digest) -> Hues {
        let phases = digest.comms.iter().flat_map(|comm| &comm.phases);
        Hues((0..).zip(phases).map(|(at, found)| (found.phase.phase.clone(), at % HUES)).collect())
    }

    /// The CSS class of a phase; the neutral one where a call belongs to none.
    fn class(&self, phase: Option<&str>) -> String {
        match phase.and_then(|phase| self.0.get(phase)) {
            Some(hue) => format!("h{hue}"),
            None => "hx".to_string(),
        }
    }
}

/// The whole page.
pub fn render(digest: &Digest) -> String {
    let hues = Hues::new(digest);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
                    style-src 'unsafe-inline'; script-src 'unsafe-inline'";
                meta name="color-scheme" content="light dark";
                title { "PAS report: " (digest.job) }
                style { (PreEscaped(include_str!("html/page.css"))) }
            }
            body {
                main {
                    (head(digest))
                    (notes(digest))
                    (timeline::section(digest, &hues))
                    (patterns::section(digest, &hues))
                    (circuits::section(digest, &hues))
                    (training::section(digest))
                    (tables::marks(digest))
                    (tables::calls(digest))
                    (tables::counters(digest))
                    (glossary())
                }
                footer {
                    "Made by pas " (env!("CARGO_PKG_VERSION")) ". This file needs no network."
                }
                script { (PreEscaped(include_str!("html/page.js"))) }
            }
        }
    };
    page.into_string()
}

/// A section's title and its explanation for somebody who sees it for the first time.
fn titled(id: &str, title: &str, what: Markup, body: Markup) -> Markup {
    html! {
        section id=(id) {
            h2 { (title) }
            details class="what" { summary { "What is this?" } (what) }
            (body)
        }
    }
}

/// What a phase is called in pictures and lists.
fn phase_label(digest: &Digest, phase: &str) -> String {
    match digest.phase(phase) {
        Some(found) => {
            format!("{} {}", words::collective(found.collective), words::pattern(found.pattern))
        }
        None => phase.to_string(),
    }
}

fn head(digest: &Digest) -> Markup {
    let ranks = words::plural(u64::from(digest.world_size), "rank");
    let hosts = words::plural(digest.hosts.len() as u64, "host");
    let names = digest.hosts.iter().take(HOSTS_MAX).cloned().collect::<Vec<_>>().join(", ");
    let more = digest.hosts.len().saturating_sub(HOSTS_MAX);
    html! {
        header {
            h1 { "Job " (digest.job) }
            p class="lead" {
                b { (digest.program) } " ran for " b { (words::duration(digest.lifetime)) }
                " as " (ranks) " on " (hosts) " (" (names)
                @if more > 0 { " and " (words::count(more as u64)) " more" }
                ") with " (words::library(&digest.library)) "."
                @if let Some(mode) = digest.mode { " PAS ran in mode " (words::mode(mode)) "." }
            }
            details class="what" {
                summary { "What is this page?" }
                p {
                    "A training job runs as many processes (" b { "ranks" } ") that exchange data \
                    again and again, always in the same way. PAS watches these exchanges, finds \
                    their pattern, and asks a daemon to join the machines that talk most by direct \
                    light paths (" b { "optical circuits" } ") before the next exchange begins. \
                    The ordinary packet network is always there too, and carries whatever has no \
                    circuit. This page shows what was found, what was asked for, and what came of \
                    it. The job's own results are not touched by any of this."
                }
            }
            (tiles(digest))
        }
    }
}

fn tiles(digest: &Digest) -> Markup {
    let tile = |value: String, label: &str, note: String| {
        html! {
            div class="tile" {
                div class="value" { (value) }
                div class="label" { (label) }
                @if !note.is_empty() { div class="note" { (note) } }
            }
        }
    };
    let served = digest.decided(Decision::Granted) + digest.decided(Decision::Partial);
    let patterns: usize = digest.comms.iter().map(|comm| comm.phases.len()).sum();
    let held = digest.decided(Decision::Hold);
    let asked = digest.asked();
    let losses: Vec<f64> = digest.losses.iter().filter_map(|report| report.loss).collect();
    html! {
        div class="tiles" {
            @if let Some(iteration) = &digest.iteration {
                (tile(
                    words::duration(iteration.period_ns),
                    "one iteration takes",
                    format!("seen {} times", words::count(iteration.seen)),
                ))
            }
            (tile(words::count(patterns as u64), "patterns found", String::new()))
            @if asked > 0 {
                (tile(
                    format!("{} of {}", words::count(served), words::count(asked)),
                    "requests got circuits",
                    format!(
                        "{} held, {} refused or without answer",
                        words::count(held),
                        words::count(asked - served - held),
                    ),
                ))
            } @else {
                (tile("0".into(), "requests for circuits", text::never_asked(digest).into()))
            }
            @if let (Some(first), Some(last)) = (losses.first(), losses.last()) {
                @let note = format!("began at {}", words::figure(*first));
                (tile(words::figure(*last), "last loss", note))
            }
        }
    }
}

fn notes(digest: &Digest) -> Markup {
    let missing = (!digest.ranks_missing.is_empty()).then(|| text::missing(digest));
    html! {
        @if missing.is_some() || !digest.notes.is_empty() {
            div class="notes" role="note" {
                b { "Not everything is here" }
                ul {
                    @if let Some(missing) = missing { li { "Missing: " (missing) "." } }
                    @for note in &digest.notes { li { (note) } }
                }
            }
        }
    }
}

fn glossary() -> Markup {
    const WORDS: &[(&str, &str)] = &[
        ("rank", "One process of the job, numbered from 0."),
        ("host", "The machine that a rank runs on."),
        ("communicator", "A named group of ranks that exchange data together."),
        (
            "collective",
            "An exchange in which all ranks of a communicator take part, such as \
            summing a vector over all of them (MPI_Allreduce).",
        ),
        ("step", "One round of a collective: some ranks send to some others at the same time."),
        ("pattern", "The named sequence of steps, such as ring or recursive doubling."),
        ("phase", "A stretch of communication with one pattern on one communicator."),
        ("iteration", "The repeating unit of training: compute, exchange, update."),
        ("circuit", "A direct light path between two hosts through an optical switch."),
        (
            "plane",
            "One optical switch. It gives each attached host one port, so a host has at \
            most one circuit on each plane.",
        ),
        ("EPS, packet network", "The ordinary electrical network. Always there."),
        ("granted, partly granted", "The circuits are there or on their way; or some are."),
        ("held", "Nothing was changed, since switching would cost more time than it saves."),
        ("refused", "It would have paid, but could not be had."),
    ];
    html! {
        section id="words" {
            h2 { "Words on this page" }
            dl { @for (word, about) in WORDS { dt { (word) } dd { (about) } } }
        }
    }
}

/// A coordinate of a picture, in as few digits as are seen.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_string)
}

#[cfg(test)]
mod tests;
