//! Lines for people, on standard error: few, whole, and never on the host's standard output.

use crate::sys;
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Nothing.
    Quiet,
    /// What a user should look into. The job's results are never affected.
    Warn,
    /// What PAS does, once per event.
    Info,
}

/// A process says at most so many lines; more are counted in the report's `lines_suppressed`.
const LINES_MAX: u32 = 20;

static LEVEL: AtomicU8 = AtomicU8::new(Level::Warn as u8);
static LINES: AtomicU32 = AtomicU32::new(0);

/// Sets how much is said from here on.
pub fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Says something that a user should look into.
pub fn warn(text: fmt::Arguments<'_>) {
    say(Level::Warn, text);
}

/// Says what PAS does.
pub fn info(text: fmt::Arguments<'_>) {
    say(Level::Info, text);
}

fn say(level: Level, text: fmt::Arguments<'_>) {
    if (level as u8) > LEVEL.load(Ordering::Relaxed) || !sys::stdio_was_open() {
        return;
    }
    if LINES.fetch_add(1, Ordering::Relaxed) < LINES_MAX {
        print(text);
    }
}

/// Prints a line whatever the level: for output that was asked for (`PAS_HELP=1`).
pub fn print(text: fmt::Arguments<'_>) {
    sys::write_stderr(format!("pas: {text}\n").as_bytes());
}

/// Lines that were not said.
pub fn suppressed() -> u64 {
    u64::from(LINES.load(Ordering::Relaxed).saturating_sub(LINES_MAX))
}
