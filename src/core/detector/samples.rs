//! The last few measurements of one quantity, and their median.

use crate::units::Nanos;

/// How many measurements are kept: enough to outvote a few odd ones, few enough to follow a change.
const KEPT: usize = 15;

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
