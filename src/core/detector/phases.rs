//! The phases that are known, and how they are told.

use super::Counters;
use super::calls::{Calls, Group};
use super::p2p::{self, Sent};
use super::samples::Samples;
use crate::pattern::{Pattern, Source};
use crate::schedule::Shape;
use crate::units::Nanos;
use crate::wire;
use std::collections::BTreeMap;

/// Most phases that are known; more are not told, and counted.
pub(super) const PHASES_MAX: usize = 512;
/// Messages of a phase that are looked at to name its pattern.
const MESSAGES_MAX: usize = 4096;

/// One known phase.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The group, as it was when the phase was found: groups may be forgotten.
    group: Group,
    name: String,
    calls: Vec<wire::Call>,
    pattern: Pattern,
    because: String,
    pairs: Vec<(u32, u32, u64)>,
    confidence: f64,
    /// Part of an iteration, as against a run outside of any.
    repeats: bool,
    /// It was told of.
    pub(super) told: bool,
    pub(super) durations: Samples,
    pub(super) period: Option<Nanos>,
    pub(super) seen: u64,
}

impl Known {
    /// A phase of `group` made of the calls `numbers`, in order.
    fn new(number: usize, group: &Group, numbers: &[u32], calls: &Calls) -> Known {
        let mut known = Known {
            group: group.clone(),
            name: format!("{:016x}.{number}", group.info.key),
            calls: Vec::new(),
            pattern: group.pattern,
            because: group.because.clone(),
            pairs: Vec::new(),
            confidence: group.confidence,
            repeats: false,
            told: false,
            durations: Samples::default(),
            period: None,
            seen: 0,
        };
        known.hold(numbers, calls);
        known
    }

    /// True where the phase is of this group.
    pub(super) fn of_group(&self, group: &Group) -> bool {
        self.group.same(group)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn comm(&self) -> crate::event::CommId {
        self.group.comm
    }

    /// Makes the phase hold these calls.
    pub(super) fn hold(&mut self, numbers: &[u32], calls: &Calls) {
        let mut sizes: BTreeMap<(u64, u32), u32> = BTreeMap::new();
        for number in numbers {
            let call = calls.call(*number);
            // A size too many counts as the nearest one that is there.
            let mut size = (call.bytes, call.elements);
            if sizes.len() == wire::CALLS_MAX && !sizes.contains_key(&size) {
                let near = sizes.range(..size).next_back().or_else(|| sizes.iter().next());
                size = near.map_or(size, |(near, _)| *near);
            }
            *sizes.entry(size).or_insert(0) += 1;
        }
        self.calls = sizes
            .into_iter()
            .map(|((bytes, elements), count)| wire::Call { bytes, count, elements })
            .collect();
        self.pairs.clear();
        if self.group.collective.is_none() {
            self.name_messages(numbers, calls);
        } else if let Some(leaders) = self.group.leaders.clone() {
            self.pair_leaders(&leaders);
        }
    }

    fn name_messages(&mut self, numbers: &[u32], calls: &Calls) {
        let info = &self.group.info;
        let sent: Vec<Sent> = numbers
            .iter()
            .take(MESSAGES_MAX)
            .map(|number| calls.call(*number))
            .filter_map(|call| call.to.map(|to| Sent { to, bytes: call.bytes }))
            .collect();
        self.pattern = p2p::recognise(info.rank, info.size, &sent);
        self.because = match self.pattern {
            Pattern::Irregular => "this rank's own messages, of no named pattern".to_owned(),
            named => format!("this rank's own {} messages make a {}", sent.len(), named.name()),
        };
        // Of an irregular phase only this rank's share is known.
        self.confidence = if self.pattern == Pattern::Irregular { 0.5 } else { 0.8 };
        let most = wire::PAIRS_MAX;
        self.pairs =
            p2p::pairs(self.pattern, info.rank, info.size, &sent, most).unwrap_or_default();
    }

    /// The pairs of a two-level collective: the pattern among the hosts' first ranks.
    fn pair_leaders(&mut self, leaders: &[u32]) {
        let Some(collective) = self.group.collective else { return };
        let mut pairs: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for call in &self.calls {
            let shape = Shape {
                collective,
                pattern: self.pattern,
                family: crate::library::Family::Mpich,
                nonblocking: self.group.nonblocking,
                ranks: leaders.len() as u32,
                root: 0,
                bytes: call.bytes,
                elements: call.elements,
                segment_bytes: self.group.segment_bytes,
            };
            let rank = |index: u32| leaders.get(index as usize).copied().unwrap_or(0);
            let told = shape.pair_bytes(|from, to, bytes| {
                let sum = pairs.entry((rank(from), rank(to))).or_insert(0);
                *sum = sum.saturating_add(bytes.saturating_mul(u64::from(call.count)));
            });
            if told.is_err() || pairs.len() > wire::PAIRS_MAX {
                return;
            }
        }
        self.pairs = pairs.into_iter().map(|((from, to), bytes)| (from, to, bytes)).collect();
    }

    /// The iteration that the phase was part of is given up: another one may take it over.
    pub(super) fn release(&mut self) {
        self.repeats = false;
        self.durations = Samples::default();
    }

    /// Counts a run outside of iterations; true where it is the first that is heard of the phase.
    pub(super) fn count_run(&mut self, duration: Nanos) -> bool {
        if !self.repeats {
            self.seen += 1;
            self.durations.push(duration);
        }
        !std::mem::replace(&mut self.told, true)
    }

    /// The message that tells of the phase.
    pub(super) fn wire(&self) -> wire::Phase {
        let group = &self.group;
        wire::Phase {
            version: wire::VERSION,
            incarnation: 0,
            phase: self.name.clone(),
            comm: format!("{:016x}", group.info.key),
            comm_name: group.info.name.clone(),
            members: group.info.members.clone().unwrap_or_default(),
            collective: group.collective,
            nonblocking: group.nonblocking,
            pattern: self.pattern,
            root: group.root,
            segment_bytes: group.segment_bytes,
            calls: self.calls.clone(),
            pairs: self.pairs.clone(),
            source: match group.collective {
                None => Source::Observed,
                Some(_) => group.source,
            },
            confidence: self.confidence,
            because: self.because.clone(),
            period_ns: self.period,
            duration_ns: self.durations.median().unwrap_or(Nanos::ZERO),
            seen: self.seen,
        }
    }
}

/// The phase of an iteration that these calls make: a known one; one of the same group that was
/// seen outside of any iteration, which it becomes; or a new one. `None`: no room.
pub(super) fn find_or_add(
    numbers: &[u32],
    calls: &Calls,
    phases: &mut Vec<Known>,
    counters: &mut Counters,
) -> Option<usize> {
    let group = calls.group(calls.call(*numbers.first()?).group);
    let made = Known::new(phases.len(), group, numbers, calls);
    let same = |known: &Known| {
        known.repeats
            && known.of_group(group)
            && known.calls == made.calls
            && known.pairs == made.pairs
    };
    if let Some(index) = phases.iter().position(same) {
        return Some(index);
    }
    if let Some(index) = phases.iter().position(|known| !known.repeats && known.of_group(group)) {
        phases[index].hold(numbers, calls);
        phases[index].repeats = true;
        return Some(index);
    }
    let index = add(made, phases, counters)?;
    phases[index].repeats = true;
    Some(index)
}

/// The phase that stands for runs of a group outside of iterations, or any other of the group.
pub(super) fn find_or_add_run(
    numbers: &[u32],
    calls: &Calls,
    phases: &mut Vec<Known>,
    counters: &mut Counters,
) -> Option<usize> {
    let group = calls.group(calls.call(*numbers.first()?).group);
    if let Some(index) = phases.iter().position(|known| known.of_group(group)) {
        return Some(index);
    }
    add(Known::new(phases.len(), group, numbers, calls), phases, counters)
}

fn add(made: Known, phases: &mut Vec<Known>, counters: &mut Counters) -> Option<usize> {
    if phases.len() == PHASES_MAX {
        counters.phases_dropped += 1;
        return None;
    }
    phases.push(made);
    Some(phases.len() - 1)
}
