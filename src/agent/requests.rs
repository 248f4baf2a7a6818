//! Pre-stage requests: which are worth sending, and what came of them.

use super::http::Failure;
use crate::worker::Figures;
use pas_core::units::Nanos;
use pas_core::wire::{Decision, Prestage, PrestageReply, REPORT_REQUESTS_MAX, RequestReport};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;

/// A phase that was held or refused is asked for again after 2, 4, 8, ... occurrences, at most
/// this many: the daemon's mind changes with other jobs, but not at every iteration.
const SKIP_MAX: u32 = 64;
/// Phases whose refusals are remembered.
const PHASES_MAX: usize = 256;

/// The requests of one rank.
pub struct Requests {
    rank: u32,
    sent: u32,
    refusals: BTreeMap<String, Refusal>,
    log: VecDeque<RequestReport>,
}

#[derive(Clone, Copy, Default)]
struct Refusal {
    skip: u32,
    skipped: u32,
}

impl Requests {
    /// No requests yet.
    pub fn new(rank: u32) -> Requests {
        Requests { rank, sent: 0, refusals: BTreeMap::new(), log: VecDeque::new() }
    }

    /// True where the phase is to be asked for at this occurrence.
    pub fn admit(&mut self, phase: &str) -> bool {
        let Some(refusal) = self.refusals.get_mut(phase) else { return true };
        refusal.skipped += 1;
        if refusal.skipped <= refusal.skip {
            return false;
        }
        refusal.skipped = 0;
        true
    }

    /// True where the last answer for the phase was a hold or a refusal.
    pub fn was_held(&self, phase: &str) -> bool {
        self.refusals.contains_key(phase)
    }

    /// A number that no other request of the job has.
    pub fn next_number(&mut self) -> u64 {
        self.sent = self.sent.wrapping_add(1);
        u64::from(self.rank) << 32 | u64::from(self.sent)
    }

    /// A new daemon, or one that forgot: earlier refusals are void.
    pub fn forget_answers(&mut self) {
        self.refusals.clear();
    }

    /// Notes what became of a request.
    pub fn note(
        &mut self,
        at: Nanos,
        took: Nanos,
        request: &Prestage,
        answer: &Result<PrestageReply, Failure>,
        figures: &Figures,
    ) {
        let decision = answer.as_ref().ok().map(|reply| reply.decision);
        let figure = match decision {
            Some(Decision::Granted | Decision::Partial) => &figures.granted,
            Some(Decision::Hold) => &figures.held,
            Some(Decision::Refused) => &figures.refused,
            None => &figures.unanswered,
        };
        figure.fetch_add(1, Ordering::Relaxed);
        match decision {
            Some(Decision::Hold | Decision::Refused) => self.grow_refusal(&request.phase),
            Some(Decision::Granted | Decision::Partial) => {
                self.refusals.remove(&request.phase);
            }
            None => {}
        }
        if self.log.len() == REPORT_REQUESTS_MAX {
            self.log.pop_front();
        }
        self.log.push_back(RequestReport {
            at_ns: at.minus(took),
            phase: request.phase.clone(),
            starts_in_ns: request.starts_in_ns,
            answered_in_ns: answer.is_ok().then_some(took),
            reply: answer.as_ref().ok().cloned(),
            error: answer.as_ref().err().map(ToString::to_string),
        });
    }

    fn grow_refusal(&mut self, phase: &str) {
        if self.refusals.len() >= PHASES_MAX && !self.refusals.contains_key(phase) {
            self.refusals.clear();
        }
        let refusal = self.refusals.entry(phase.to_owned()).or_default();
        refusal.skip = (refusal.skip * 2).clamp(1, SKIP_MAX);
        refusal.skipped = 0;
    }

    /// The last requests, oldest first.
    pub fn log(&self) -> impl Iterator<Item = &RequestReport> {
        self.log.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pas_core::wire::{Reason, VERSION};

    fn answered(requests: &mut Requests, decision: Decision) {
        let request = Prestage {
            version: VERSION,
            incarnation: 1,
            request: requests.next_number(),
            phase: "p".to_owned(),
            starts_in_ns: Nanos(1),
            duration_ns: Nanos(1),
            wait_ns: Nanos(0),
        };
        let reply = PrestageReply {
            version: VERSION,
            request: request.request,
            decision,
            reason: Reason::TooSmall,
            words: String::new(),
            circuits: Vec::new(),
            ready_in_ns: Nanos(0),
            gain_ns: Nanos(0),
        };
        requests.note(Nanos(5), Nanos(1), &request, &Ok(reply), &Figures::default());
    }

    /// Asks at each of `occurrences`; answers how often it was admitted, held every time.
    fn held_over(occurrences: u32) -> u32 {
        let mut requests = Requests::new(0);
        let mut asked = 0;
        for _ in 0..occurrences {
            if requests.admit("p") {
                asked += 1;
                answered(&mut requests, Decision::Hold);
            }
        }
        asked
    }

    #[test]
    fn a_held_phase_is_asked_for_ever_less_often_but_never_given_up() {
        assert_eq!(held_over(1), 1);
        assert_eq!(held_over(10), 3);
        let (shorter, longer) = (held_over(1_000), held_over(2_000));
        assert!((10..30).contains(&shorter), "{shorter}");
        assert!(longer > shorter + 10, "{longer}");
    }

    #[test]
    fn a_grant_ends_the_patience() {
        let mut requests = Requests::new(3);
        answered(&mut requests, Decision::Hold);
        assert!(requests.was_held("p") && !requests.admit("p"));
        answered(&mut requests, Decision::Granted);
        assert!(!requests.was_held("p") && requests.admit("p"));
        assert_eq!(requests.next_number() >> 32, 3, "the rank is part of the number");
    }

    #[test]
    fn the_log_is_bounded() {
        let mut requests = Requests::new(0);
        for _ in 0..2 * REPORT_REQUESTS_MAX {
            answered(&mut requests, Decision::Granted);
        }
        assert_eq!(requests.log().count(), REPORT_REQUESTS_MAX);
    }
}
