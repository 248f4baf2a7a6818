//! Sums of the calls, and the counters.

use super::titled;
use crate::report::counters as explained;
use crate::report::digest::Digest;
use crate::report::words;
use maud::{Markup, html};

pub(super) fn marks(digest: &Digest) -> Markup {
    if digest.marks.is_empty() {
        return html! {};
    }
    let what = html! {
        p {
            "The program brackets these with " code { "pas_phase_begin" } " and "
            code { "pas_phase_end" } "; times are those of the lowest rank that did."
        }
    };
    let body = html! {
        div class="scroll" { table {
            thead { tr { th { "name" } th class="num" { "times" } th class="num" { "time" } } }
            tbody {
                @for mark in &digest.marks {
                    tr {
                        td { (mark.name) }
                        td class="num" { (words::count(mark.count)) }
                        td class="num" { (words::duration(mark.time)) }
                    }
                }
            }
        } }
    };
    titled("named", "Phases that the program named", what, body)
}

pub(super) fn calls(digest: &Digest) -> Markup {
    let what = html! {
        p {
            "Every MPI call that PAS saw, summed over all ranks that told. Bytes are what the \
            calls' arguments say, not what went over the wire: an allreduce moves its vector \
            about twice. Time is spent inside the calls, waiting for slower ranks included; that \
            of a non-blocking call is the time of posting it."
        }
    };
    let body = html! {
        div class="scroll" { table {
            thead { tr {
                th { "communicator" } th { "call" } th class="num" { "calls" }
                th class="num" { "failed" } th class="num" { "bytes" } th class="num" { "time" }
            } }
            tbody {
                @for comm in &digest.comms {
                    @for call in &comm.calls {
                        tr {
                            td { (comm.name) }
                            td { code { (call.call) } }
                            td class="num" { (words::count(call.count)) }
                            td class="num" { (words::count(call.failed)) }
                            td class="num" { (words::bytes(call.bytes)) }
                            td class="num" { (words::duration(call.time_ns)) }
                        }
                    }
                }
            }
        } }
        @if digest.comms_left_out > 0 {
            p class="dim" {
                (words::plural(digest.comms_left_out as u64, "more communicator"))
                " with less time in them."
            }
        }
    };
    titled("calls", "Calls", what, body)
}

pub(super) fn counters(digest: &Digest) -> Markup {
    let what = html! {
        p {
            "Whatever PAS dropped, left out or failed at is counted here, with the reason. Names \
            that begin with " code { "bypass." } " are cases in which it rightly stood aside; "
            code { "fault." } " is what it should have done and could not. None of them \
            touches the job's own results."
        }
    };
    let body = html! {
        @if digest.counters.is_empty() {
            p class="empty" { "Nothing was dropped, bypassed or failed." }
        } @else {
            div class="scroll" { table {
                thead { tr {
                    th { "counter" } th class="num" { "total" } th class="num" { "ranks" }
                    th { "what it counts" }
                } }
                tbody {
                    @for counter in &digest.counters {
                        tr {
                            td { code { (counter.name) } }
                            td class="num" { (words::count(counter.total)) }
                            td class="num" { (words::count(u64::from(counter.ranks))) }
                            td { (explained::about(&counter.name)) }
                        }
                    }
                }
            } }
        }
    };
    titled("counters", "Drops, bypasses and faults", what, body)
}
