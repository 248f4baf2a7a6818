//! Instants and durations, in integer nanoseconds.
//!
//! Two types, so that an instant is never added to an instant. All arithmetic saturates: a clock
//! that steps or a hostile message can yield a wrong answer for itself, never a wrap or a panic.

use serde::{Deserialize, Serialize};

/// A duration in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// An instant: nanoseconds since an epoch that the caller chose (a process's start, say).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// A duration of whole milliseconds.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// A duration of whole microseconds.
    pub const fn from_micros(micros: u64) -> Nanos {
        Nanos(micros.saturating_mul(1_000))
    }

    /// The sum of two durations.
    pub const fn plus(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }

    /// The difference, or zero where `other` is longer.
    pub const fn minus(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// The duration in seconds, for people.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Time {
    /// The instant `delay` later.
    pub const fn after(self, delay: Nanos) -> Time {
        Time(self.0.saturating_add(delay.0))
    }

    /// The instant `lead` earlier, or the epoch.
    pub const fn before(self, lead: Nanos) -> Time {
        Time(self.0.saturating_sub(lead.0))
    }

    /// How long after `earlier` this is; zero where it is not after it.
    pub const fn since(self, earlier: Time) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The time that `bytes` take at `rate_bps` bits a second; the longest duration at rate zero.
pub fn transfer_time(bytes: u64, rate_bps: u64) -> Nanos {
    if rate_bps == 0 {
        return Nanos(u64::MAX);
    }
    let nanos = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate_bps);
    Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A 64-bit hash of bytes that is the same everywhere (FNV-1a): no seed, unlike a hash map's.
pub fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
