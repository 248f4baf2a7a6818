//! What was asked of the optical fabric, and what came of it.

use super::timeline::request_class;
use super::{Hues, phase_label, px, titled};
use crate::report::digest::{Digest, OutcomeKind, Request};
use crate::report::{text, words};
use maud::{Markup, html};
use pas_core::wire::FabricSummary;

/// Rows that are shown without asking.
const OPEN_ROWS_MAX: usize = 12;

pub(super) fn section(digest: &Digest, hues: &Hues) -> Markup {
    let what = html! {
        p {
            "Before a phase begins, PAS asks the daemon for circuits between the hosts that will \
            talk. The daemon weighs the time saved against the time lost while mirrors turn and \
            links come up, and against what other jobs hold. Each answer comes with its reason. \
            An answer that is not a grant costs the job nothing: its data takes the packet \
            network, as it would without PAS."
        }
    };
    let body = html! {
        @match &digest.fabric {
            Some(fabric) => (fabric_facts(fabric)),
            None => p class="empty" { "No daemon told of a fabric." },
        }
        @if digest.outcomes.is_empty() {
            p class="empty" { (text::never_asked(digest)) "." }
        } @else {
            (bar(digest))
            (outcomes(digest))
            (requests(digest, hues))
        }
    };
    titled("circuits", "Circuits", what, body)
}

fn fabric_facts(fabric: &FabricSummary) -> Markup {
    html! {
        p {
            "Fabric " b { (fabric.name) } ": " (words::plural(u64::from(fabric.planes), "plane"))
            ", " (words::plural(u64::from(fabric.hosts), "host")) ". A circuit carries "
            (words::rate(fabric.circuit_bps)) "; of the shared packet network a host gets "
            (words::rate(fabric.eps_bps)) ". Turning the mirrors takes "
            (words::duration(fabric.optical_ns)) ", and then the link needs "
            (words::duration(fabric.link_up_ns)) " to come up."
            @if fabric.switches == "emulated" {
                " " b { "The switches are emulated" } ": circuits are planned, switched and read \
                 back with those delays, and the job's own traffic goes where it went before."
            }
        }
    }
}

fn outcome_class(what: OutcomeKind) -> &'static str {
    match what {
        OutcomeKind::Decided(decision, _) => request_class(Some(decision)),
        OutcomeKind::Unanswered => request_class(None),
    }
}

/// All requests as one bar, in the proportions of what came of them.
fn bar(digest: &Digest) -> Markup {
    let total = digest.asked().max(1) as f64;
    let mut at = 0.0;
    let parts: Vec<(&str, f64, f64)> = digest
        .outcomes
        .iter()
        .map(|outcome| {
            let width = outcome.count as f64 / total * 1000.0;
            at += width;
            (outcome_class(outcome.what), at - width, width)
        })
        .collect();
    html! {
        svg class="share" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img"
            aria-label="Requests by what came of them; the table below has the figures." {
            @for (class, x, width) in parts {
                rect class=(class) x=(px(x)) width=(px((width - 2.0).max(1.0))) height="16" {}
            }
        }
    }
}

fn outcomes(digest: &Digest) -> Markup {
    html! {
        div class="scroll" { table {
            thead { tr { th { "answer" } th class="num" { "times" } th { "why" } } }
            tbody {
                @for outcome in &digest.outcomes {
                    @let (name, why, advice) = match outcome.what {
                        OutcomeKind::Decided(decision, reason) => (
                            words::decision(decision),
                            words::reason(reason),
                            words::reason_advice(reason),
                        ),
                        OutcomeKind::Unanswered => ("no answer", text::NO_ANSWER, ""),
                    };
                    @let badge = format!("badge {}", outcome_class(outcome.what));
                    tr {
                        td { span class=(badge) { (name) } }
                        td class="num" { (words::count(outcome.count)) }
                        td { (why) @if !advice.is_empty() { br; span class="dim" { (advice) } } }
                    }
                }
            }
        } }
    }
}

fn requests(digest: &Digest, hues: &Hues) -> Markup {
    let list = &digest.requests;
    html! {
        @if !list.is_empty() {
            details open[list.len() <= OPEN_ROWS_MAX] {
                summary {
                    "Every request, one by one (" (words::count(list.len() as u64))
                    @if digest.requests_left_out > 0 {
                        " of " (words::count((list.len() + digest.requests_left_out) as u64))
                        ", the last ones"
                    }
                    ")"
                }
                div class="scroll" { table {
                    thead { tr {
                        th class="num" { "at" } th { "phase" } th { "answer" } th { "in words" }
                        th class="num" { "begins in" } th class="num" { "answered in" }
                        th class="num" { "saves" } th class="num" { "rank" }
                    } }
                    tbody { @for request in list { (request_row(digest, hues, request)) } }
                } }
            }
        }
    }
}

fn request_row(digest: &Digest, hues: &Hues, request: &Request) -> Markup {
    let report = &request.report;
    let reply = report.reply.as_ref();
    let decision = reply.map(|reply| reply.decision);
    html! {
        tr {
            td class="num" { (words::duration(request.at)) }
            td {
                span class=(format!("swatch {}", hues.class(Some(&report.phase)))) {}
                (phase_label(digest, &report.phase))
            }
            td {
                span class=(format!("badge {}", request_class(decision))) {
                    (decision.map_or("no answer", words::decision))
                }
            }
            td { (reply.map_or(report.error.as_deref().unwrap_or(""), |reply| &reply.words)) }
            td class="num" { (words::duration(report.starts_in_ns)) }
            td class="num" { (report.answered_in_ns.map_or(String::new(), words::duration)) }
            td class="num" {
                @if let Some(reply) = reply.filter(|reply| reply.gain_ns.0 > 0) {
                    (words::duration(reply.gain_ns))
                }
            }
            td class="num" { (request.rank) }
        }
    }
}
