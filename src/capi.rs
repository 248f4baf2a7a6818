//! The functions of `include/pas.h`.
//!
//! `c_fn!` is the only way to define one, and it is the panic boundary: what a function answers
//! when PAS itself is at fault stands in its definition.
#![expect(unsafe_code, reason = "exports C functions and reads the caller's strings")]

use crate::life::{self, State};
use crate::skip::{self, Bypass};
use crate::sys;
use crossbeam_channel::{Receiver, Sender, bounded};
use pas_core::op::Collective;
use pas_core::pattern::Pattern;
use pas_core::wire::validate::plain;
use pas_core::wire::{self, Mode};
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// The results of `pas.h`.
mod result {
    pub const OK: i32 = 0;
    pub const OFF: i32 = 2;
    pub const FULL: i32 = 3;
    pub const INVALID: i32 = 4;
    pub const INTERNAL: i32 = 5;
}

/// `PAS_NAME_BYTES_MAX`.
pub const NAME_BYTES_MAX: usize = 63;

/// Reports that wait for the worker. Before MPI is initialised they wait for it here.
const QUEUE_MAX: usize = 1024;

/// A name of at most [`NAME_BYTES_MAX`] bytes, without an allocation.
#[derive(Clone, Copy)]
pub struct Name {
    bytes: [u8; NAME_BYTES_MAX],
    length: u8,
}

impl Name {
    /// The name as text; what is no UTF-8 or would end a line is replaced.
    pub fn text(&self) -> String {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        plain(&String::from_utf8_lossy(bytes), wire::validate::NAME_BYTES_MAX)
    }
}

/// What the program says.
#[derive(Clone, Copy)]
pub enum Report {
    /// `pas_report_loss`.
    Loss { step: u64, loss: f64 },
    /// `pas_report_metric`.
    Metric { step: u64, name: Name, value: f64 },
    /// `pas_set_target`.
    Target { name: Name, value: f64 },
    /// `pas_mark_iteration`.
    Iteration { step: u64 },
    /// `pas_phase_begin`.
    PhaseBegin { name: Name },
    /// `pas_phase_end`.
    PhaseEnd,
    /// `pas_declare_pattern`.
    Declare { comm: Option<Name>, collective: Name, pattern: Name },
}

/// A report and when it was made, on the monotonic clock.
pub type Timed = (u64, Report);

static QUEUE: OnceLock<(Sender<Timed>, Receiver<Timed>)> = OnceLock::new();

/// The worker's end of the queue.
pub fn reports() -> &'static Receiver<Timed> {
    &QUEUE.get_or_init(|| bounded(QUEUE_MAX)).1
}

fn push(report: Report) -> i32 {
    if matches!(life::state(), State::Off | State::Draining | State::Dead | State::Child) {
        Bypass::ReportWhileOff.count();
        return result::OFF;
    }
    let queue = &QUEUE.get_or_init(|| bounded(QUEUE_MAX)).0;
    match queue.try_send((sys::monotonic_ns(), report)) {
        Ok(()) => result::OK,
        Err(_) => {
            Bypass::ReportQueueFull.count();
            result::FULL
        }
    }
}

/// Reads a caller's string, cut at [`NAME_BYTES_MAX`] at a character's border.
///
/// # Safety
/// `text` is null or a C string.
unsafe fn name(text: *const c_char) -> Option<Name> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's; strnlen reads no further than the closing zero.
    let given = unsafe {
        let length = libc::strnlen(text, NAME_BYTES_MAX + 1);
        std::slice::from_raw_parts(text.cast::<u8>(), length)
    };
    let mut length = given.len().min(NAME_BYTES_MAX);
    if length < given.len() {
        // Do not cut inside a UTF-8 sequence: its later bytes are 10xxxxxx.
        while length > 0 && given.get(length).is_some_and(|byte| byte & 0xc0 == 0x80) {
            length -= 1;
        }
    }
    let mut bytes = [0; NAME_BYTES_MAX];
    bytes.get_mut(..length)?.copy_from_slice(given.get(..length)?);
    (length > 0).then_some(Name { bytes, length: length as u8 })
}

/// Defines an exported function; a panic inside answers `PAS_INTERNAL` and turns PAS off.
macro_rules! c_fn {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> i32 {
            life::guarded(|| $body).unwrap_or(result::INTERNAL)
        }
    };
}

c_fn! {
    /// See `pas.h`.
    fn pas_report_loss(step: u64, loss: f64) {
        push(Report::Loss { step, loss })
    }
}

c_fn! {
    /// See `pas.h`.
    fn pas_report_metric(step: u64, name: *const c_char, value: f64) {
        // SAFETY: pas.h asks for a C string or NULL.
        match unsafe { self::name(name) } {
            Some(name) => push(Report::Metric { step, name, value }),
            None => result::INVALID,
        }
    }
}

c_fn! {
    /// See `pas.h`.
    fn pas_set_target(metric: *const c_char, target: f64) {
        // SAFETY: pas.h asks for a C string or NULL.
        match unsafe { self::name(metric) } {
            Some(name) if target.is_finite() => push(Report::Target { name, value: target }),
            _ => result::INVALID,
        }
    }
}

c_fn! {
    /// See `pas.h`.
    fn pas_mark_iteration(step: u64) {
        push(Report::Iteration { step })
    }
}

c_fn! {
    /// See `pas.h`.
    fn pas_phase_begin(name: *const c_char) {
        // SAFETY: pas.h asks for a C string or NULL.
        match unsafe { self::name(name) } {
            Some(name) => push(Report::PhaseBegin { name }),
            None => result::INVALID,
        }
    }
}

c_fn! {
    /// See `pas.h`.
    fn pas_phase_end() {
        push(Report::PhaseEnd)
    }
}

/// The collective and pattern of those names, as they stand in the wire messages.
pub fn parse_declared(collective: &str, pattern: &str) -> Option<(Collective, Pattern)> {
    let collective = serde_json::from_value(collective.into()).ok()?;
    Some((collective, serde_json::from_value(pattern.into()).ok()?))
}

c_fn! {
    /// See `pas.h`.
    fn pas_declare_pattern(
        comm_name: *const c_char, collective: *const c_char, pattern: *const c_char
    ) {
        // SAFETY: pas.h asks for C strings or NULL.
        let (comm, collective, pattern) = unsafe {
            (name(comm_name), name(collective), name(pattern))
        };
        let (Some(collective), Some(pattern)) = (collective, pattern) else {
            return result::INVALID;
        };
        let known = parse_declared(&collective.text(), &pattern.text()).is_some();
        match (comm_name.is_null() || comm.is_some()) && known {
            true => push(Report::Declare { comm, collective, pattern }),
            false => result::INVALID,
        }
    }
}

/// `pas_status` of `pas.h`; the harness compares the two.
#[repr(C)]
pub struct PasStatus {
    struct_bytes: u32,
    mode: u32,
    daemon: u32,
    rank: u32,
    world_size: u32,
    phases_found: u32,
    calls_recorded: u64,
    records_dropped: u64,
    requests_granted: u64,
    requests_held: u64,
    requests_refused: u64,
    requests_unanswered: u64,
}

/// Bytes of the first version of `pas_status`: less is no valid size.
const STATUS_BYTES_MIN: u32 = size_of::<PasStatus>() as u32;

c_fn! {
    /// See `pas.h`.
    fn pas_get_status(out: *mut PasStatus) {
        // SAFETY: pas.h asks for a pointer to a pas_status whose first field is filled in.
        let valid = !out.is_null() && unsafe { (*out).struct_bytes } >= STATUS_BYTES_MIN;
        if !valid {
            return result::INVALID;
        }
        let lives = !matches!(life::state(), State::Cold | State::Child);
        let Some(life) = life::current().filter(|_| lives) else {
            return result::OFF;
        };
        let figures = &life.worker.figures;
        let read = |figure: &std::sync::atomic::AtomicU64| figure.load(Ordering::Relaxed);
        // SAFETY: checked above; only the fields of this version are written.
        unsafe {
            *out = PasStatus {
                struct_bytes: STATUS_BYTES_MIN,
                mode: match life.settings.mode {
                    Mode::Off => 0,
                    Mode::Observe => 1,
                    Mode::Advise => 2,
                },
                daemon: figures.daemon.load(Ordering::Relaxed),
                rank: life.job.rank,
                world_size: life.job.world_size,
                phases_found: u32::try_from(read(&figures.phases)).unwrap_or(u32::MAX),
                calls_recorded: read(&figures.calls),
                records_dropped: skip::records_dropped(),
                requests_granted: read(&figures.granted),
                requests_held: read(&figures.held),
                requests_refused: read(&figures.refused),
                requests_unanswered: read(&figures.unanswered),
            };
        }
        result::OK
    }
}

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("the version has no zero inside"),
    };

/// See `pas.h`.
#[unsafe(no_mangle)]
pub extern "C" fn pas_version() -> *const c_char {
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters() {
        let long = "\u{e9}".repeat(40);
        let text = std::ffi::CString::new(long).expect("no zero");
        // SAFETY: C strings.
        let (cut, empty, null) =
            unsafe { (name(text.as_ptr()), name(c"".as_ptr()), name(std::ptr::null())) };
        assert_eq!(cut.expect("a name").text(), "\u{e9}".repeat(31));
        assert!(empty.is_none() && null.is_none());
    }
}
