//! What a message must hold to before anything is done with it.
//!
//! Serde has seen to the types; these are the limits. A message that breaks one is answered with a
//! 400 that says what, which value, and what to do, and changes nothing.

use super::{
    CALLS_MAX, Heartbeat, Hint, PAIRS_MAX, Phase, Prestage, REPORT_COMMS_MAX, REPORT_LOSSES_MAX,
    REPORT_MARKS_MAX, REPORT_REQUESTS_MAX, REPORT_TIMELINE_MAX, RankReport, RegisterRank, VERSION,
};
use crate::members::Members;
use crate::units::Nanos;
use std::collections::BTreeMap;

/// Longest job id and phase name, in bytes.
pub const ID_BYTES_MAX: usize = 128;
/// Longest name of a host, a program or a communicator, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// Longest text: a library's version line, a finding's reason.
pub const TEXT_BYTES_MAX: usize = 2048;
/// Most metrics, and most targets, in a [`Hint`].
pub const METRICS_MAX: usize = 64;
/// Most sums of calls in a [`RankReport`].
pub const REPORT_CALLS_MAX: usize = 16_384;
/// Most phases in a [`RankReport`].
pub const REPORT_PHASES_MAX: usize = 1024;
/// Most counters in a [`RankReport`].
pub const REPORT_COUNTERS_MAX: usize = 1024;
/// Largest world, and so largest communicator.
pub const WORLD_MAX: u32 = 1 << 24;
/// Longest time in a message: a day.
pub const SPAN_NS_MAX: Nanos = Nanos(86_400_000_000_000);

/// What is wrong with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// A stable name, for [`super::Problem::error`].
    pub error: &'static str,
    /// What, which value, and what to do.
    pub message: String,
}

type Checked = Result<(), Invalid>;

fn invalid(message: String) -> Checked {
    Err(Invalid { error: "invalid_field", message })
}

/// Checks the version of a message.
///
/// # Errors
///
/// `bad_version`, where it is not [`VERSION`].
pub fn version(version: u32) -> Checked {
    if version == VERSION {
        return Ok(());
    }
    Err(Invalid {
        error: "bad_version",
        message: format!(
            "version is {version}, and only version {VERSION} is spoken here; use libpas.so, pas \
             and pasd of one release"
        ),
    })
}

/// Checks a job's id or a phase's name: 1 to 128 of `A-Z a-z 0-9 . _ : @ -`.
///
/// # Errors
///
/// `invalid_field`.
pub fn id(field: &str, id: &str) -> Checked {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
    if (1..=ID_BYTES_MAX).contains(&id.len()) && id.chars().all(allowed) {
        return Ok(());
    }
    invalid(format!(
        "{field} is {:?}; use 1 to {ID_BYTES_MAX} letters, digits and . _ : @ -",
        shortened(id)
    ))
}

fn text(field: &str, text: &str, least: usize, most: usize) -> Checked {
    if (least..=most).contains(&text.len()) && !text.contains(char::is_control) {
        return Ok(());
    }
    invalid(format!(
        "{field} is {:?} ({} bytes); use {least} to {most} bytes without control characters",
        shortened(text),
        text.len()
    ))
}

/// A text of the world outside as the messages take it: control characters become question marks,
/// and what goes beyond `most` bytes is cut between characters.
pub fn plain(text: &str, most: usize) -> String {
    let mut plain = String::new();
    for c in text.chars().map(|c| if c.is_control() { '?' } else { c }) {
        if plain.len() + c.len_utf8() > most {
            break;
        }
        plain.push(c);
    }
    plain
}

/// The beginning of a text that may be long.
fn shortened(text: &str) -> &str {
    let end = (0..=64.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

fn span(field: &str, span: Nanos) -> Checked {
    if span <= SPAN_NS_MAX {
        return Ok(());
    }
    invalid(format!("{field} is {}; a day ({}) is the most", span.0, SPAN_NS_MAX.0))
}

fn finite(field: &str, value: Option<f64>) -> Checked {
    match value {
        Some(value) if !value.is_finite() => {
            invalid(format!("{field} is {value}; leave out what is not a finite number"))
        }
        _ => Ok(()),
    }
}

fn count(field: &str, length: usize, most: usize) -> Checked {
    if length <= most {
        return Ok(());
    }
    invalid(format!("{field} has {length} entries; {most} is the most"))
}

impl RegisterRank {
    /// Checks the message.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn validate(&self) -> Checked {
        version(self.version)?;
        if !(1..=WORLD_MAX).contains(&self.world_size) {
            return invalid(format!(
                "world_size is {}; it must be 1 to {WORLD_MAX}",
                self.world_size
            ));
        }
        if self.rank >= self.world_size {
            return invalid(format!(
                "rank is {} in a world of {}; ranks count from 0",
                self.rank, self.world_size
            ));
        }
        text("host", &self.host, 1, NAME_BYTES_MAX)?;
        text("program", &self.program, 0, NAME_BYTES_MAX)?;
        text("library", &self.library, 0, TEXT_BYTES_MAX)
    }
}

impl Heartbeat {
    /// Checks the message.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn validate(&self) -> Checked {
        version(self.version)
    }
}

impl Phase {
    /// Checks the message.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn validate(&self) -> Checked {
        version(self.version)?;
        id("phase", &self.phase)?;
        if self.comm.len() != 16 || !self.comm.bytes().all(|b| b.is_ascii_hexdigit()) {
            return invalid(format!(
                "comm is {:?}; it is the communicator's key, 16 hexadecimal digits",
                shortened(&self.comm)
            ));
        }
        text("comm_name", &self.comm_name, 0, NAME_BYTES_MAX)?;
        text("because", &self.because, 0, TEXT_BYTES_MAX)?;
        self.validate_members()?;
        count("calls", self.calls.len(), CALLS_MAX)?;
        count("pairs", self.pairs.len(), PAIRS_MAX)?;
        let size = self.members.len();
        for (index, (source, destination, _)) in self.pairs.iter().enumerate() {
            if u64::from(*source.max(destination)) >= size {
                return invalid(format!(
                    "pairs[{index}] is {source} to {destination} in a communicator of {size}; \
                     give ranks of the communicator"
                ));
            }
        }
        if let Some(root) = self.root.filter(|root| u64::from(*root) >= size) {
            return invalid(format!("root is {root} in a communicator of {size}"));
        }
        if !(0.0..=1.0).contains(&self.confidence) {
            return invalid(format!("confidence is {}; it is 0 to 1", self.confidence));
        }
        span("duration_ns", self.duration_ns)?;
        span("period_ns", self.period_ns.unwrap_or_default())
    }

    fn validate_members(&self) -> Checked {
        count("members", self.members.runs.len(), Members::RUNS_MAX)?;
        let size = self.members.len();
        if size == 0 || size > u64::from(WORLD_MAX) {
            return invalid(format!("members are {size} ranks; give 1 to {WORLD_MAX}"));
        }
        for (index, run) in self.members.runs.iter().enumerate() {
            let last =
                i64::from(run.first) + i64::from(run.stride) * (i64::from(run.count) - 1).max(0);
            let repeats = run.count > 1 && run.stride == 0;
            if run.count == 0 || repeats || !(0..i64::from(WORLD_MAX)).contains(&last) {
                return invalid(format!(
                    "members[{index}] is {} ranks from {} by {}; give runs of different ranks of \
                     the world",
                    run.count, run.first, run.stride
                ));
            }
        }
        Ok(())
    }
}

impl Prestage {
    /// Checks the message.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn validate(&self) -> Checked {
        version(self.version)?;
        id("phase", &self.phase)?;
        span("starts_in_ns", self.starts_in_ns)?;
        span("duration_ns", self.duration_ns)?;
        span("wait_ns", self.wait_ns)
    }
}

impl RankReport {
    /// Checks the message.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn validate(&self) -> Checked {
        version(self.version)?;
        id("job", &self.job)?;
        self.registered.validate()?;
        count("comms", self.comms.len(), REPORT_COMMS_MAX)?;
        count("calls", self.calls.len(), REPORT_CALLS_MAX)?;
        count("phases", self.phases.len(), REPORT_PHASES_MAX)?;
        count("timeline", self.timeline.len(), REPORT_TIMELINE_MAX)?;
        count("requests", self.requests.len(), REPORT_REQUESTS_MAX)?;
        count("marks", self.marks.len(), REPORT_MARKS_MAX)?;
        count("losses", self.losses.len(), REPORT_LOSSES_MAX)?;
        count("counters", self.counters.len(), REPORT_COUNTERS_MAX)?;
        self.phases.iter().try_for_each(Phase::validate)?;
        self.losses.iter().try_for_each(|report| finite("losses", report.loss))?;
        self.hint.iter().try_for_each(Hint::validate)
    }
}

impl Hint {
    /// Checks the message.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn validate(&self) -> Checked {
        version(self.version)?;
        for (field, value) in
            [("loss", self.loss), ("smoothed", self.smoothed), ("best", self.best)]
        {
            finite(field, value)?;
        }
        let figures = |field: &str, figures: &BTreeMap<String, f64>| {
            count(field, figures.len(), METRICS_MAX)?;
            figures.iter().try_for_each(|(name, value)| {
                text(field, name, 1, NAME_BYTES_MAX)?;
                finite(&format!("{field}[{name:?}]"), Some(*value))
            })
        };
        figures("metrics", &self.metrics)?;
        figures("targets", &self.targets)
    }
}

#[cfg(test)]
mod tests;
