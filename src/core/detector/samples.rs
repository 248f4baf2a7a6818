//! The last few measurements of one quantity, and their median.

use crate::units::Nanos;

/// How many measurements are kept: enough to outvote a few odd ones, few enough to follow a change.
const KEPT: usize = 15;

/// Measurements agree that differ by no more than this share.
const AGREE_SHARE: u64 = 8;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    kept: [u64; KEPT],
    seen: u64,
}

impl Samples {
    pub(super) fn push(&mut self, value: Nanos) {
        let at = self.seen % KEPT as u64;
        self.kept[at as usize] = value.0;
        self.seen += 1;
    }

    /// The median of those kept; nothing before the first. Of two middle ones it is the lower: a
    /// forecast that is early costs less than one too late.
    pub(super) fn median(&self) -> Option<Nanos> {
        self.quantile(2)
    }

    /// What comes next: the last three where they agree, for then the pace has changed; else the
    /// median.
    pub(super) fn forecast(&self) -> Option<Nanos> {
        let last = |back: u64| {
            let at = self.seen.checked_sub(back)? % KEPT as u64;
            Some(self.kept[at as usize])
        };
        if let (Some(a), Some(b), Some(c)) = (last(1), last(2), last(3)) {
            let (least, most) = (a.min(b).min(c), a.max(b).max(c));
            if most - least <= most / AGREE_SHARE {
                return Some(Nanos(a.max(b).min(a.min(b).max(c))));
            }
        }
        self.median()
    }

    /// What a quarter of those kept is below.
    pub(super) fn lower_quartile(&self) -> Option<Nanos> {
        self.quantile(4)
    }

    fn quantile(&self, of: usize) -> Option<Nanos> {
        let count = self.seen.min(KEPT as u64) as usize;
        let mut sorted = self.kept;
        let sorted = &mut sorted[..count];
        sorted.sort_unstable();
        sorted.get(count.saturating_sub(1) / of).map(|value| Nanos(*value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_ones_are_outvoted_and_a_new_pace_is_followed() {
        let mut samples = Samples::default();
        assert_eq!(samples.forecast(), None);
        for value in [100, 101, 20_000, 99, 100, 50, 100] {
            samples.push(Nanos(value));
        }
        assert_eq!(samples.median(), Some(Nanos(100)));
        assert_eq!(samples.forecast(), Some(Nanos(100)));
        for value in [200, 202, 201] {
            samples.push(Nanos(value));
        }
        assert_eq!(samples.median(), Some(Nanos(100)));
        assert_eq!(samples.forecast(), Some(Nanos(201)));
        samples.push(Nanos(u64::MAX));
        assert_eq!(samples.forecast(), Some(Nanos(101)));
    }
}
