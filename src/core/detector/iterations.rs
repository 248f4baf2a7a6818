//! Follows the iterations of a training loop and forecasts their phases.
//!
//! Without a known iteration the calls go to [`Rhythm`], which looks for a period. Once there is
//! one, a [`Template`] is made of it and *followed*: each call must be the template's next one.
//! Silences that are much longer than usual are symbols too: without them the equal buckets of one
//! iteration could not be told from those of the next.
//! The first other call ends that; a known template is followed again as soon as it has been seen
//! whole once (more often where it broke before), so a loop that is resumed after an evaluation or
//! a checkpoint is not learned anew.

use super::calls::Calls;
use super::phases::{self, Known};
use super::rhythm::{HISTORY_MAX, Rhythm};
use super::samples::Samples;
use super::template::{MARK, PAUSE, Past, Template};
use super::{Counters, Due, Notice};
use crate::units::{Nanos, Time};
use crate::wire;
use std::collections::VecDeque;

/// Known iterations that are kept; the one not followed for longest is forgotten.
pub(super) const TEMPLATES_MAX: usize = 8;
/// A forecast is right within this share of the period,
const TOLERANCE_SHARE: u64 = 10;
/// and within so much in any case.
const TOLERANCE_MIN: Nanos = Nanos::from_micros(200);
/// A phase that was told as due is given up after this share of the period, and twice its
/// duration: its first call is only known when it has returned.
const GRACE_SHARE: u64 = 4;
/// A period that differs by more than this share from the one told last is told again.
const DRIFT_SHARE: u64 = 4;

/// Silence is a pause when it is so many times as long as usual,
const PAUSE_TIMES: u64 = 8;
/// and no shorter than this,
const PAUSE_MIN: Nanos = Nanos::from_micros(200);
/// and no shorter than this share of the usual pause.
const PAUSE_SHARE: u64 = 4;

/// An iteration without silence may be but a piece of one: it has to agree so often first.
const PATIENCE: u64 = 64;

/// What the iterations are made of and tell to.
pub(super) struct Surroundings<'a> {
    pub(super) calls: &'a Calls,
    pub(super) phases: &'a mut Vec<Known>,
    pub(super) notices: &'a mut Vec<Notice>,
    pub(super) counters: &'a mut Counters,
}

/// The template that is being followed.
#[derive(Clone, Copy, Debug)]
struct Follow {
    template: usize,
    /// The slot that comes next.
    next: usize,
    /// Symbols that came as expected.
    agreed: u64,
    /// The part that began last, and when.
    part: usize,
    part_start: Time,
    /// A told phase did not come: nothing is told until something comes.
    paused: bool,
    /// When the iteration began, if it was followed from its beginning.
    iteration_start: Option<Time>,
    /// A part that ended: its phase, start and end so far. Waiting for requests prolongs it.
    ended: Option<(usize, Time, Time)>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Iterations {
    rhythm: Rhythm,
    past: VecDeque<Past>,
    count: u64,
    templates: Vec<Template>,
    follow: Option<Follow>,
    /// When the last call ended, and the silences before the last calls: all, and the pauses.
    last_end: Option<Time>,
    silences: Samples,
    pauses: Samples,
}

impl Iterations {
    /// A non-blocking phase that has ended is being waited for.
    pub(super) fn completed(&mut self, end: Time) {
        if let Some(Follow { ended: Some((_, _, until)), .. }) = &mut self.follow {
            *until = end.max(*until);
        }
    }

    /// The program says that an iteration starts.
    pub(super) fn mark(&mut self, at: Time, around: &mut Surroundings) {
        if self.past.back().is_none_or(|last| last.symbol != MARK) {
            self.push(Past { symbol: MARK, start: at, end: at }, around);
        }
    }

    /// Takes the next call; true where it belongs to an iteration that is followed.
    pub(super) fn take(&mut self, call: Past, around: &mut Surroundings) -> bool {
        if self.after_pause(&call) && self.minds_pause() {
            self.push(Past { symbol: PAUSE, start: call.start, end: call.start }, around);
        }
        self.push(call, around)
    }

    /// Measures the silence before a call; true where it is a pause.
    fn after_pause(&mut self, call: &Past) -> bool {
        let Some(before) = self.last_end.replace(call.end) else { return false };
        let silence = call.start.since(before);
        let usual = self.silences.lower_quartile();
        self.silences.push(silence);
        let pause = usual.is_some_and(|usual| silence.0 / PAUSE_TIMES >= usual.0)
            && silence >= PAUSE_MIN
            && self.pauses.median().is_none_or(|pause| silence.0 >= pause.0 / PAUSE_SHARE);
        if pause {
            self.pauses.push(silence);
        }
        pause
    }

    /// A pause in the middle of a phase is a hiccup where the iteration has its pause elsewhere.
    fn minds_pause(&self) -> bool {
        self.follow.is_none_or(|follow| {
            let slots = &self.templates[follow.template].slots;
            slots[follow.next] == PAUSE || !slots.contains(&PAUSE)
        })
    }

    /// Takes the next symbol.
    fn push(&mut self, call: Past, around: &mut Surroundings) -> bool {
        if self.past.len() == HISTORY_MAX {
            self.past.pop_front();
        }
        self.past.push_back(call);
        self.count += 1;
        self.rhythm.push(call.symbol);
        let mut known: Option<usize> = None;
        for number in 0..self.templates.len() {
            let trusted = self.templates[number].recognise(call.symbol, self.count);
            let length = |number: usize| self.templates[number].slots.len();
            if trusted && known.is_none_or(|known| length(known) < length(number)) {
                known = Some(number);
            }
        }
        if let Some(follow) = self.follow {
            let came = self.templates[follow.template].slots[follow.next] == call.symbol;
            let outgrown = self.longer_period(&follow);
            if came && !outgrown {
                self.in_step(call, around);
                return true;
            }
            self.break_off(around);
            known = known.filter(|_| !outgrown);
        }
        if let Some(number) = known {
            self.start_following(number, 0);
            around.counters.iterations_resumed += 1;
        } else if let Some((period, matches)) = self.rhythm.found() {
            self.learn(period, matches, around);
        }
        self.follow.is_some()
    }

    /// True where a period that the one followed is no divisor of has held for longer.
    fn longer_period(&self, follow: &Follow) -> bool {
        let followed = self.templates[follow.template].slots.len();
        self.rhythm.found().is_some_and(|(period, matches)| {
            period > followed && period % followed != 0 && matches > follow.agreed
        })
    }

    /// Makes a template of the last `period` symbols, which agreed `matches` times, or finds it
    /// among those known, and follows it.
    fn learn(&mut self, period: usize, matches: u64, around: &mut Surroundings) {
        let Some(last) = self.past.len().checked_sub(period) else { return };
        let sequence: Vec<u32> = self.past.range(last..).map(|call| call.symbol).collect();
        let known = self.templates.iter().enumerate().find_map(|(number, template)| {
            template.rotation_of(&sequence).map(|rotation| (number, rotation))
        });
        if let Some((number, rotation)) = known {
            self.start_following(number, rotation);
            around.counters.iterations_resumed += 1;
            return;
        }
        let past: &[Past] = self.past.make_contiguous();
        let Some((mut template, next)) = Template::learn(past, period, around.calls) else {
            return;
        };
        if !template.silent() && matches < PATIENCE {
            return;
        }
        self.absorb(&template, around);
        for part in &mut template.parts {
            let numbers = &template.slots[part.first..part.end];
            match phases::find_or_add(numbers, around.calls, around.phases, around.counters) {
                Some(phase) => part.phase = phase,
                None => return,
            }
        }
        if self.templates.len() == TEMPLATES_MAX {
            let oldest = (0..TEMPLATES_MAX).min_by_key(|at| self.templates[*at].used);
            self.templates.remove(oldest.unwrap_or(0));
            around.counters.iterations_forgotten += 1;
        }
        self.templates.push(template);
        self.seed(self.templates.len() - 1, next, around);
        self.start_following(self.templates.len() - 1, next);
        around.counters.iterations_learned += 1;
        self.tell_phases(around);
    }

    /// Gives up the templates that were but pieces of this one; it takes over their phases.
    fn absorb(&mut self, whole: &Template, around: &mut Surroundings) {
        let before = self.templates.len();
        self.templates.retain(|template| {
            let piece = whole.contains(template);
            if piece {
                template.parts.iter().for_each(|part| around.phases[part.phase].release());
            }
            !piece
        });
        around.counters.iterations_forgotten += (before - self.templates.len()) as u64;
    }

    /// Takes times from the calls that the template was made of.
    fn seed(&mut self, number: usize, next: usize, around: &mut Surroundings) {
        let template = &mut self.templates[number];
        let period = template.slots.len();
        let rounds = (self.past.len() / period).min(3);
        let from = self.past.len() - rounds * period;
        let (mut part_start, mut iteration_start) = (None::<Time>, None::<Time>);
        for (index, call) in self.past.range(from..).enumerate() {
            let slot = (next + index) % period;
            if slot == 0 {
                if let Some(start) = iteration_start.replace(call.start) {
                    template.periods.push(call.start.since(start));
                }
            }
            let Some(part) = template.part_of(slot) else { continue };
            let part = &mut template.parts[part];
            if part.first == slot {
                if let Some(start) = part_start.replace(call.start) {
                    part.intervals.push(call.start.since(start));
                }
            }
            if part.end == slot + 1 {
                if let Some(start) = part_start {
                    let phase = &mut around.phases[part.phase];
                    phase.durations.push(call.end.since(start));
                    phase.seen += 1;
                }
            }
        }
        template.seen += rounds as u64;
    }

    /// Follows a template of which slot `next` comes next; the slots before it have just come.
    fn start_following(&mut self, number: usize, next: usize) {
        let template = &mut self.templates[number];
        template.used = self.count;
        let period = template.slots.len();
        // The part that began last, as far back as the slots go.
        let back = (1..=period.min(self.past.len())).find_map(|back| {
            let slot = (next + period - back) % period;
            let part = template.part_of(slot)?;
            (template.parts[part].first == slot)
                .then(|| (part, self.past[self.past.len() - back].start))
        });
        let Some((part, part_start)) = back else { return };
        for part in &mut template.parts {
            part.told = None;
        }
        self.follow = Some(Follow {
            template: number,
            next,
            agreed: 0,
            part,
            part_start,
            paused: false,
            iteration_start: None,
            ended: None,
        });
    }

    /// The call is the one that was expected.
    fn in_step(&mut self, call: Past, around: &mut Surroundings) {
        let Some(mut follow) = self.follow else { return };
        let template = &mut self.templates[follow.template];
        let period = template.period();
        let slot = follow.next;
        follow.next = (slot + 1) % template.slots.len();
        follow.agreed += 1;
        if let Some((phase, start, end)) = follow.ended.take() {
            around.phases[phase].durations.push(end.since(start));
        }
        if slot == 0 {
            if let Some(start) = follow.iteration_start {
                template.periods.push(call.start.since(start));
            }
            follow.iteration_start = Some(call.start);
            template.seen += 1;
            template.used = self.count;
            template.held();
        }
        if let Some(number) = template.part_of(slot) {
            let part = &mut template.parts[number];
            if part.first == slot {
                let usual = part.intervals.forecast().map(|gap| follow.part_start.after(gap));
                if let Some(expected) = part.told.take().or(usual.filter(|_| !follow.paused)) {
                    judge(expected, call.start, period, around.counters);
                }
                // A single odd interval does not count, and of a new pace this is the first.
                part.intervals.push(call.start.since(follow.part_start));
                (follow.part, follow.part_start) = (number, call.start);
                follow.paused = false;
            }
            if part.end == slot + 1 {
                around.phases[part.phase].seen += 1;
                follow.ended = Some((part.phase, follow.part_start, call.end));
            }
        }
        let (now, told) = (template.period().0, template.told_period.0);
        self.follow = Some(follow);
        if slot == 0 && now.abs_diff(told) > told / DRIFT_SHARE {
            self.tell_phases(around);
        }
    }

    /// Tells the phases of the followed template again, with what is known now.
    fn tell_phases(&mut self, around: &mut Surroundings) {
        let Some(follow) = self.follow else { return };
        let template = &mut self.templates[follow.template];
        template.told_period = template.period();
        let period = template.periods.forecast();
        let mut phases: Vec<usize> = template.parts.iter().map(|part| part.phase).collect();
        phases.sort_unstable();
        phases.dedup();
        for number in phases {
            let phase = &mut around.phases[number];
            phase.period = period;
            let notice = if phase.told { Notice::PhaseChanged } else { Notice::PhaseFound };
            phase.told = true;
            around.notices.push(notice(phase.wire()));
        }
    }

    /// The followed template does not hold: forecasts made by it are withdrawn.
    fn break_off(&mut self, around: &mut Surroundings) {
        let Some(follow) = self.follow.take() else { return };
        around.counters.iterations_broken += 1;
        if let Some((phase, start, end)) = follow.ended {
            around.phases[phase].durations.push(end.since(start));
        }
        let template = &mut self.templates[follow.template];
        template.broke();
        for part in &mut template.parts {
            if let Some(expected) = part.told.take() {
                around.counters.forecasts_wrong += 1;
                let phase = around.phases[part.phase].name().to_owned();
                around.notices.push(Notice::ForecastMissed { phase, expected });
            }
        }
    }

    /// Tells what is due, and what was due and did not come.
    pub(super) fn advance(&mut self, now: Time, lead: Nanos, around: &mut Surroundings) {
        self.give_up(now, around);
        let Some(mut follow) = self.follow.filter(|follow| !follow.paused) else { return };
        let confidence = trust(around.counters);
        for (number, expected) in self.forecasts(&follow) {
            if expected.before(lead) > now {
                break;
            }
            let grace = self.grace(follow.template, number, around.phases);
            let part = &mut self.templates[follow.template].parts[number];
            if part.told.is_some() {
                continue;
            }
            if now > expected.after(grace) {
                // Nobody asked in time: it is too late to tell, and nothing after it is sure.
                follow.paused = true;
                break;
            }
            part.told = Some(expected);
            let phase = &around.phases[part.phase];
            around.notices.push(Notice::PhaseDue(Due {
                phase: phase.name().to_owned(),
                comm: phase.comm(),
                starts_in: expected.since(now),
                duration: phase.durations.median().unwrap_or(Nanos::ZERO),
                confidence,
            }));
        }
        self.follow = Some(follow);
    }

    /// When [`Iterations::advance`] will have something to tell, if no call comes before.
    pub(super) fn next_due(&self, lead: Nanos, phases: &[Known]) -> Option<Time> {
        let follow = self.follow.filter(|follow| !follow.paused)?;
        let parts = &self.templates[follow.template].parts;
        let due = self
            .forecasts(&follow)
            .into_iter()
            .filter(|(number, _)| parts[*number].told.is_none())
            .map(|(_, expected)| expected.before(lead));
        let missed = parts.iter().enumerate().filter_map(|(number, part)| {
            let grace = self.grace(follow.template, number, phases);
            part.told.map(|told| told.after(grace).after(Nanos(1)))
        });
        due.chain(missed).min()
    }

    /// The next start of each part, soonest first, as far as intervals are known.
    fn forecasts(&self, follow: &Follow) -> Vec<(usize, Time)> {
        let parts = &self.templates[follow.template].parts;
        let mut at = follow.part_start;
        let mut forecasts = Vec::with_capacity(parts.len());
        for ahead in 1..=parts.len() {
            let number = (follow.part + ahead) % parts.len();
            let Some(interval) = parts[number].intervals.forecast() else { break };
            at = at.after(interval);
            forecasts.push((number, at));
        }
        forecasts
    }

    /// How long after its forecast a part is given up.
    fn grace(&self, template: usize, part: usize, phases: &[Known]) -> Nanos {
        let phase = &phases[self.templates[template].parts[part].phase];
        let duration = phase.durations.median().unwrap_or(Nanos::ZERO);
        Nanos(self.templates[template].period().0 / GRACE_SHARE)
            .plus(duration)
            .plus(duration)
            .plus(TOLERANCE_MIN)
    }

    /// Withdraws forecasts that did not come true.
    fn give_up(&mut self, now: Time, around: &mut Surroundings) {
        let Some(mut follow) = self.follow else { return };
        for number in 0..self.templates[follow.template].parts.len() {
            let grace = self.grace(follow.template, number, around.phases);
            let part = &mut self.templates[follow.template].parts[number];
            if part.told.is_none_or(|told| now <= told.after(grace)) {
                continue;
            }
            if let Some(expected) = part.told.take() {
                follow.paused = true;
                around.counters.forecasts_wrong += 1;
                let phase = around.phases[part.phase].name().to_owned();
                around.notices.push(Notice::ForecastMissed { phase, expected });
            }
        }
        self.follow = Some(follow);
    }

    /// Forgets everything: the symbols are about to get another meaning.
    pub(super) fn forget(&mut self, around: &mut Surroundings) {
        self.break_off(around);
        *self = Iterations::default();
    }

    /// The iteration that was seen most, for the report.
    pub(super) fn report(&self, counters: &Counters) -> Option<wire::IterationReport> {
        let most = self.templates.iter().max_by_key(|template| template.seen)?;
        Some(wire::IterationReport {
            period_ns: most.periods.forecast()?,
            seen: most.seen,
            calls: u32::try_from(most.calls()).unwrap_or(u32::MAX),
            forecasts_right: counters.forecasts_right,
            forecasts_wrong: counters.forecasts_wrong,
        })
    }
}

/// Counts a forecast as right or wrong.
fn judge(expected: Time, actual: Time, period: Nanos, counters: &mut Counters) {
    let error = expected.since(actual).plus(actual.since(expected));
    if error <= Nanos(period.0 / TOLERANCE_SHARE).max(TOLERANCE_MIN) {
        counters.forecasts_right += 1;
    } else {
        counters.forecasts_wrong += 1;
    }
}

/// How far forecasts came true so far: between never and always until there were some.
fn trust(counters: &Counters) -> f64 {
    let (right, wrong) = (counters.forecasts_right as f64, counters.forecasts_wrong as f64);
    (right + 1.0) / (right + wrong + 2.0)
}
