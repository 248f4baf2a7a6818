//! What a plan says of itself, for people.

use crate::units::Nanos;
use crate::wire::Reason;

/// A duration with three to four figures and the unit that suits it.
pub fn show(duration: Nanos) -> String {
    let (whole, unit) = match duration.0 {
        ns @ 0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let hundredths = duration.0 / (whole / 100);
    format!("{}.{:02} {unit}", hundredths / 100, hundredths % 100)
}

pub(super) fn one_host() -> String {
    "all ranks of the communicator are on one host".into()
}

pub(super) fn no_bytes() -> String {
    "no bytes go between hosts in this phase".into()
}

pub(super) fn parked(eps: Nanos, now: Nanos, pairs: usize) -> String {
    format!(
        "all {pairs} host pairs have their circuit: {} instead of {} on the EPS",
        show(now),
        show(eps)
    )
}

pub(super) fn rest_too_small(kept: usize, pairs: usize, eps: Nanos, now: Nanos) -> String {
    format!(
        "{kept} of {pairs} host pairs have their circuit ({} instead of {} on the EPS); \
         more would not pay",
        show(now),
        show(eps)
    )
}

pub(super) fn switched(
    reason: Reason,
    (served, pairs): (usize, usize),
    (eps, after): (Nanos, Nanos),
    exposed: Nanos,
) -> String {
    let rest = match reason {
        Reason::Switched => String::new(),
        other => format!("; the others use the EPS: {}", because(other)),
    };
    format!(
        "{served} of {pairs} host pairs get a circuit: {} instead of {} on the EPS, {} of the \
         reconfiguration exposed{rest}",
        show(after),
        show(eps),
        show(exposed)
    )
}

pub(super) fn cannot(reason: Reason, kept: usize, pairs: usize, eps: Nanos) -> String {
    format!(
        "{kept} of {pairs} host pairs have a circuit, the phase takes {} on the EPS, and more \
         circuits cannot be had: {}",
        show(eps),
        because(reason)
    )
}

pub(super) fn hold(
    eps: Nanos,
    saved: Nanos,
    repeats: u64,
    exposed: Nanos,
    gain_min: Nanos,
) -> String {
    format!(
        "the phase takes {} on the EPS; circuits save {} each of {repeats} expected times, \
         against {} of the reconfiguration exposed (and {} is the least worth having)",
        show(eps),
        show(saved),
        show(exposed),
        show(gain_min)
    )
}

/// A reason for a missing circuit.
fn because(reason: Reason) -> &'static str {
    match reason {
        Reason::HostNotInFabric => "a host has no port in the fabric, or none on the same plane",
        Reason::PortsInUse => "the ports are in use",
        Reason::DegreeTooHigh => "the pattern needs more circuits of a host than it has planes",
        Reason::ShareUsed => "the job has its share of the hosts' ports",
        Reason::SwitchFailed => "the switch failed lately on these ports, or does not answer",
        _ => "see the reason",
    }
}
