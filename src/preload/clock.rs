//! The time stamp of a record: raw ticks, turned into nanoseconds by the worker.
#![expect(unsafe_code, reason = "reading the time-stamp counter")]

use crate::sys;

/// Ticks now. On x86-64 the time-stamp counter, which every kernel that runs MPI jobs keeps
/// invariant and synchronised across cores (where it does not, the kernel does not use it as its
/// clock source either; [`Scale`] then yields nonsense durations but nothing breaks).
/// Elsewhere nanoseconds of the monotonic clock.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the instruction exists on every x86-64 processor and touches no memory.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        sys::monotonic_ns()
    }
}

/// Converts ticks into nanoseconds since the scale was made.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    start_ticks: u64,
    start_ns: u64,
    /// Nanoseconds a tick, as a 32.32 fixed-point number.
    ns_per_tick_fixed: u64,
}

impl Scale {
    /// A scale that starts now. Its rate is a guess (3 GHz) until [`Scale::adjust`].
    pub fn start() -> Scale {
        let start_ticks = ticks();
        Scale { start_ticks, start_ns: sys::monotonic_ns(), ns_per_tick_fixed: (1 << 32) / 3 }
    }

    /// Takes the rate from all of the time since the start. The longer, the better.
    pub fn adjust(&mut self) {
        let ticks = ticks().saturating_sub(self.start_ticks);
        let elapsed_ns = sys::monotonic_ns().saturating_sub(self.start_ns);
        if ticks > 0 && elapsed_ns > 0 {
            let rate = (u128::from(elapsed_ns) << 32) / u128::from(ticks);
            self.ns_per_tick_fixed = u64::try_from(rate).unwrap_or(u64::MAX);
        }
    }

    /// Nanoseconds from the start to `ticks`; 0 for ticks before it.
    pub fn ns(&self, ticks: u64) -> u64 {
        let since = ticks.saturating_sub(self.start_ticks);
        let ns = (u128::from(since) * u128::from(self.ns_per_tick_fixed)) >> 32;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Nanoseconds from the start to a reading of the monotonic clock; 0 for one before it.
    pub fn since_start(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.start_ns)
    }
}
