//! A known iteration: its calls in order, the phases they make, and when those come.

use super::calls::Calls;
use super::samples::Samples;
use crate::units::{Nanos, Time};

/// The symbol of the program's own iteration mark.
pub(super) const MARK: u32 = u32::MAX;
/// The symbol of a long silence between calls.
pub(super) const PAUSE: u32 = u32::MAX - 1;
/// Most phases in an iteration; a sequence that makes more is no iteration.
pub(super) const PARTS_MAX: usize = 256;
/// Silence between calls cuts a phase when it is at least this share of the period,
const CUT_SHARE: u64 = 10;
/// and at least so long.
const CUT_MIN: Nanos = Nanos::from_micros(100);
/// An iteration's longest silence is at least this share of it where it computes in earnest.
const SILENT_SHARE: u64 = 5;
/// A template that broke often must be seen this many times before it is trusted again, at most.
const NEED_MAX: u32 = 16;
/// After so many iterations in a row a template's breaks are forgotten.
const GOOD_MAX: u64 = 16;

/// One call that was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past {
    pub(super) symbol: u32,
    pub(super) start: Time,
    pub(super) end: Time,
}

/// A phase's place in an iteration.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The first slot, and the one after the last.
    pub(super) first: usize,
    pub(super) end: usize,
    /// The phase's number.
    pub(super) phase: usize,
    /// From the start of the part before this one to this one's.
    pub(super) intervals: Samples,
    /// The start that was told as due and has not come yet.
    pub(super) told: Option<Time>,
}

/// A known iteration.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub(super) slots: Vec<u32>,
    pub(super) parts: Vec<Part>,
    part_of: Vec<Option<usize>>,
    silent: bool,
    /// For each prefix the longest shorter one that it ends with (Knuth, Morris and Pratt).
    borders: Vec<usize>,
    /// The longest prefix that the calls so far end with.
    matched: usize,
    /// Whole iterations in a row, and when the last of them ended.
    whole: u32,
    whole_at: u64,
    /// How often it was trusted in vain.
    breaks: u32,
    good: u64,
    /// When it was last followed, for forgetting the oldest.
    pub(super) used: u64,
    /// From one iteration's start to the next one's.
    pub(super) periods: Samples,
    /// The period that was told last.
    pub(super) told_period: Nanos,
    /// Iterations.
    pub(super) seen: u64,
}

impl Template {
    /// The iteration of `period` symbols that `past` ends with several times over. Answers it and
    /// the slot that comes next. `None`: it has no phases, or too many.
    pub(super) fn learn(past: &[Past], period: usize, calls: &Calls) -> Option<(Template, usize)> {
        let last = past.len().checked_sub(period)?;
        let gaps = gaps(past, period);
        let slots: Vec<u32> = past[last..].iter().map(|call| call.symbol).collect();
        let marks: Vec<usize> = (0..period).filter(|slot| slots[*slot] == MARK).collect();
        // An iteration starts at the program's mark, else after its longest silence.
        let first = match marks[..] {
            [only] => only,
            _ => (0..period).max_by_key(|slot| (gaps[*slot], std::cmp::Reverse(*slot)))?,
        };
        let turn = |slot: usize| (first + slot) % period;
        let turned: Vec<u32> = (0..period).map(|slot| slots[turn(slot)]).collect();
        let span = past.last()?.end.since(past[last].start).plus(Nanos(gaps[0]));
        let cut = (span.0 / CUT_SHARE).max(CUT_MIN.0);
        let mut template = Template {
            parts: Vec::new(),
            part_of: Vec::new(),
            silent: gaps[first].saturating_mul(SILENT_SHARE) >= span.0
                || slots.iter().any(|symbol| !is_call(*symbol)),
            borders: borders(&turned),
            slots: turned,
            matched: 0,
            whole: 0,
            whole_at: 0,
            breaks: 0,
            good: 0,
            used: 0,
            periods: Samples::default(),
            told_period: Nanos::ZERO,
            seen: 0,
        };
        template.cut(calls, |slot| gaps[turn(slot)] >= cut);
        let fits = !template.parts.is_empty() && template.parts.len() <= PARTS_MAX;
        fits.then_some((template, (period - first) % period))
    }

    /// Divides the slots into parts: where the group changes, and at long silences.
    fn cut(&mut self, calls: &Calls, silent_before: impl Fn(usize) -> bool) {
        let group = |symbol: u32| is_call(symbol).then(|| calls.call(symbol).group);
        let mut open: Option<u32> = None;
        for slot in 0..self.slots.len() {
            let this = group(self.slots[slot]);
            if this.is_none() {
                open = None;
                self.part_of.push(None);
                continue;
            }
            if open != this || silent_before(slot) {
                let intervals = Samples::default();
                let part = Part { first: slot, end: slot, phase: 0, intervals, told: None };
                self.parts.push(part);
            }
            open = this;
            self.part_of.push(Some(self.parts.len() - 1));
            if let Some(part) = self.parts.last_mut() {
                part.end = slot + 1;
            }
        }
    }

    /// The median period; zero before the first.
    pub(super) fn period(&self) -> Nanos {
        self.periods.forecast().unwrap_or(Nanos::ZERO)
    }

    /// True where some of the iteration is silence, or its beginning was marked.
    pub(super) fn silent(&self) -> bool {
        self.silent
    }

    /// How many of the slots are calls.
    pub(super) fn calls(&self) -> usize {
        self.slots.iter().filter(|symbol| is_call(**symbol)).count()
    }

    /// True where `other` is but a piece of this iteration that was once taken for a whole one.
    pub(super) fn contains(&self, other: &Template) -> bool {
        other.slots.len() < self.slots.len()
            && self.slots.windows(other.slots.len()).any(|piece| piece == other.slots)
    }

    /// The part that a slot is in; none holds a mark or a pause.
    pub(super) fn part_of(&self, slot: usize) -> Option<usize> {
        self.part_of[slot]
    }

    /// Where `sequence` begins in this iteration, if it is the same one but for where it begins.
    pub(super) fn rotation_of(&self, sequence: &[u32]) -> Option<usize> {
        if sequence.len() != self.slots.len() {
            return None;
        }
        let period = sequence.len();
        // Looks for the template in two rounds of the sequence.
        let mut matched = 0;
        for index in 0..2 * period {
            matched = self.step(matched, sequence[index % period]);
            if matched == period {
                return Some((2 * period - 1 - index) % period);
            }
        }
        None
    }

    /// How long the match is after one more symbol.
    fn step(&self, mut matched: usize, symbol: u32) -> usize {
        if matched == self.slots.len() {
            matched = self.borders[matched - 1];
        }
        while matched > 0 && self.slots[matched] != symbol {
            matched = self.borders[matched - 1];
        }
        matched + usize::from(self.slots[matched] == symbol)
    }

    /// Takes a symbol, number `count` of all; true where the template has now been seen whole, so
    /// often in a row that it is to be trusted.
    pub(super) fn recognise(&mut self, symbol: u32, count: u64) -> bool {
        self.matched = self.step(self.matched, symbol);
        if self.matched < self.slots.len() {
            return false;
        }
        let in_a_row = count - self.whole_at == self.slots.len() as u64;
        self.whole = if in_a_row { self.whole + 1 } else { 1 };
        self.whole_at = count;
        self.whole >= 1u32.checked_shl(self.breaks).unwrap_or(NEED_MAX).min(NEED_MAX)
    }

    /// One iteration came as expected.
    pub(super) fn held(&mut self) {
        self.good += 1;
        if self.good >= GOOD_MAX {
            self.breaks = 0;
        }
    }

    /// Something else came than expected.
    pub(super) fn broke(&mut self) {
        if self.good < GOOD_MAX {
            self.breaks += 1;
        }
        self.good = 0;
        self.whole = 0;
    }
}

/// True of the symbols that are calls.
fn is_call(symbol: u32) -> bool {
    symbol < PAUSE
}

/// The median silence before each of the last `period` calls, over up to three periods.
fn gaps(past: &[Past], period: usize) -> Vec<u64> {
    let last = past.len() - period;
    let gap = |index: usize| match index.checked_sub(1) {
        Some(before) => past[index].start.since(past[before].end).0,
        None => 0,
    };
    let of_slot = |slot: usize| {
        let mut seen: Vec<u64> =
            (0..3).filter_map(|back| (last + slot).checked_sub(back * period)).map(gap).collect();
        seen.sort_unstable();
        seen[seen.len() / 2]
    };
    (0..period).map(of_slot).collect()
}

fn borders(slots: &[u32]) -> Vec<usize> {
    let mut borders = vec![0; slots.len()];
    let mut matched = 0;
    for index in 1..slots.len() {
        while matched > 0 && slots[matched] != slots[index] {
            matched = borders[matched - 1];
        }
        if slots[matched] == slots[index] {
            matched += 1;
        }
        borders[index] = matched;
    }
    borders
}
