//! What the program told of its training: kept for the report, summed up as a hint.
//!
//! The trend is a first reading of the curve: an exponentially weighted mean against its own
//! best. Nothing is concluded from a loss that is not a number, and nothing is guessed where the
//! program reports none.

use pas_core::units::Nanos;
use pas_core::wire::{Hint, LossReport, REPORT_LOSSES_MAX, Trend, VERSION};
use std::collections::BTreeMap;

/// Weight of the newest loss in the mean.
const WEIGHT: f64 = 0.1;
/// Losses before the trend is more than unknown.
const LOSSES_MIN: u64 = 10;
/// The mean must fall by this share of its best within [`PATIENCE`] losses to count as falling.
const PROGRESS: f64 = 0.001;
/// See [`PROGRESS`].
const PATIENCE: u64 = 50;
/// A mean this many times its best, or so many unusable losses in a row, is divergence.
const DIVERGED_FACTOR: f64 = 2.0;
/// See [`DIVERGED_FACTOR`].
const UNUSABLE_MAX: u64 = 10;
/// Names of metrics and targets that are kept.
const NAMES_MAX: usize = 32;

/// The program's reports.
#[derive(Default)]
pub struct Losses {
    kept: Vec<LossReport>,
    /// Every how many losses one is kept; doubled when the list is full.
    stride: u64,
    seen: u64,
    last_step: u64,
    last: Option<f64>,
    mean: Option<f64>,
    best: Option<f64>,
    since_progress: u64,
    unusable: u64,
    metrics: BTreeMap<String, f64>,
    targets: BTreeMap<String, f64>,
    fresh: bool,
}

impl Losses {
    /// Takes a loss.
    pub fn loss(&mut self, at: Nanos, step: u64, loss: f64) {
        let loss = Some(loss).filter(|loss| loss.is_finite());
        self.fresh = true;
        (self.last_step, self.last) = (step, loss);
        self.keep(LossReport { at_ns: at, step, loss, metrics: BTreeMap::new() });
        self.seen += 1;
        let Some(loss) = loss else {
            self.unusable += 1;
            return;
        };
        self.unusable = 0;
        let mean = self.mean.map_or(loss, |mean| mean + WEIGHT * (loss - mean));
        self.mean = Some(mean);
        let progress = self.best.is_none_or(|best| best - mean > PROGRESS * best.abs());
        self.since_progress = if progress { 0 } else { self.since_progress + 1 };
        if progress {
            self.best = Some(mean);
        }
    }

    /// Takes a metric; it joins the loss of the same step, or is kept by itself.
    pub fn metric(&mut self, at: Nanos, step: u64, name: String, value: f64) {
        let room = self.metrics.len() < NAMES_MAX || self.metrics.contains_key(&name);
        if !value.is_finite() || !room {
            return;
        }
        self.fresh = true;
        self.metrics.insert(name.clone(), value);
        match self.kept.last_mut() {
            Some(last) if last.step == step => {
                last.metrics.insert(name, value);
            }
            _ => {
                let metrics = BTreeMap::from([(name, value)]);
                self.keep_always(LossReport { at_ns: at, step, loss: None, metrics });
            }
        }
    }

    /// Takes a target.
    pub fn target(&mut self, name: String, value: f64) {
        if self.targets.len() < NAMES_MAX || self.targets.contains_key(&name) {
            self.targets.insert(name, value);
            self.fresh = true;
        }
    }

    fn keep(&mut self, report: LossReport) {
        if self.seen % self.stride.max(1) == 0 {
            self.keep_always(report);
        }
    }

    fn keep_always(&mut self, report: LossReport) {
        if self.kept.len() == REPORT_LOSSES_MAX {
            self.stride = self.stride.max(1) * 2;
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
        self.kept.push(report);
    }

    /// The losses and metrics that were kept.
    pub fn kept(&self) -> &[LossReport] {
        &self.kept
    }

    /// What to tell the daemon, if anything new was reported since the last time.
    pub fn take_hint(&mut self, incarnation: u64, rank: u32) -> Option<Hint> {
        std::mem::take(&mut self.fresh).then(|| self.hint(incarnation, rank))
    }

    /// The hint as it is now; `None` where the program never reported anything.
    pub fn last_hint(&self, incarnation: u64, rank: u32) -> Option<Hint> {
        let reported = self.seen > 0 || !self.metrics.is_empty() || !self.targets.is_empty();
        reported.then(|| self.hint(incarnation, rank))
    }

    fn hint(&self, incarnation: u64, rank: u32) -> Hint {
        Hint {
            version: VERSION,
            incarnation,
            rank,
            step: self.last_step,
            loss: self.last,
            smoothed: self.mean,
            best: self.best,
            trend: self.trend(),
            metrics: self.metrics.clone(),
            targets: self.targets.clone(),
        }
    }

    /// What the curve does.
    pub fn trend(&self) -> Trend {
        let diverged = self
            .mean
            .zip(self.best)
            .is_some_and(|(mean, best)| mean - best > (DIVERGED_FACTOR - 1.0) * best.abs());
        if self.unusable >= UNUSABLE_MAX {
            Trend::Diverged
        } else if self.seen < LOSSES_MIN || self.unusable > 0 {
            Trend::Unknown
        } else if diverged {
            Trend::Diverged
        } else if self.since_progress >= PATIENCE {
            Trend::Plateau
        } else {
            Trend::Improving
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(losses: impl IntoIterator<Item = f64>) -> Losses {
        let mut state = Losses::default();
        for (step, loss) in losses.into_iter().enumerate() {
            state.loss(Nanos(step as u64), step as u64, loss);
        }
        state
    }

    #[test]
    fn trends() {
        let falling = (0..200).map(|step| 1.0 / f64::from(step + 1));
        assert_eq!(after(falling.clone()).trend(), Trend::Improving);
        assert_eq!(after([1.0, 0.9]).trend(), Trend::Unknown);
        for flat in [0.0, 0.3] {
            assert_eq!(after([flat; 1000]).trend(), Trend::Plateau);
        }
        assert_eq!(after((0..200).map(|i| -0.1 * f64::from(i))).trend(), Trend::Improving);
        assert_eq!(after(falling.chain([9.0; 40])).trend(), Trend::Diverged);
    }

    #[test]
    fn not_a_number_is_never_the_best_and_recovery_counts() {
        let start = [1.0, 0.9, 0.8].into_iter().chain([0.8; 10]);
        let broken = after(start.clone().chain([f64::NAN; 50]));
        assert_eq!(broken.trend(), Trend::Diverged);
        assert!(broken.best.is_some_and(f64::is_finite));
        let recovered = after(start.chain([f64::NAN; 50]).chain([0.79]));
        assert_ne!(recovered.trend(), Trend::Diverged);
    }

    #[test]
    fn the_list_is_thinned_out_not_cut() {
        let state = after((0..10_000).map(f64::from));
        assert!(state.kept().len() <= REPORT_LOSSES_MAX);
        assert_eq!(state.kept().first().map(|loss| loss.step), Some(0));
        assert!(state.kept().last().is_some_and(|loss| loss.step > 9_900));
    }
}
