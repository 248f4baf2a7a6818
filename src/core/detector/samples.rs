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

    /// The median of those kept; nothing before the first.
    pub(super) fn median(&self) -> Option<Nanos> {
        let count = self.seen.min(KEPT as u64) as usize;
        let mut sorted = self.kept;
        let sorted = &mut sorted[..count];
        sorted.sort_unstable();
        // The lower of two middle ones: a forecast that is early costs less than one too late.
        sorted.get(count.saturating_sub(1) / 2).map(|value| Nanos(*value))
    }
}
