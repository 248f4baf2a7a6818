//! Every reason for which libpas.so did nothing, or failed at what it tried, with its counter.
//!
//! A hook ends in one of three ways: done, [`Bypass`] (rightly stood aside), [`Fault`] (should
//! have, could not). Both kinds are counted here and shown by `pas report`; neither ever
//! reaches the host program.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! reasons {
    ($(#[$doc:meta])* $kind:ident, $counters:ident, $prefix:literal:
        $($(#[$vdoc:meta])* $variant:ident $name:literal;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind { $($(#[$vdoc])* $variant,)* }

        static $counters: [AtomicU64; $kind::NAMES.len()] =
            [const { AtomicU64::new(0) }; $kind::NAMES.len()];

        impl $kind {
            const NAMES: &'static [&'static str] = &[$(concat!($prefix, $name),)*];

            /// Counts one occurrence. Relaxed: the counters order nothing.
            #[inline]
            pub fn count(self) {
                self.count_many(1);
            }

            /// Counts `n` occurrences.
            #[inline]
            pub fn count_many(self, n: u64) {
                $counters[self as usize].fetch_add(n, Ordering::Relaxed);
            }
        }
    };
}

reasons! {
    /// Stood aside, as it should be.
    Bypass, BYPASSES, "bypass.":
    /// The library called its own interface inside a call of the program.
    Nested "nested_call";
    /// A thread beyond the limit of rings.
    NoRing "no_ring_for_thread";
    /// The thread's ring was full: the record was dropped.
    RingFull "ring_full";
    /// A communicator beyond the limit of the table: its calls are recorded without it.
    CommTableFull "communicator_table_full";
    /// The call named no valid communicator after all.
    UnknownComm "unknown_communicator";
    /// The call named a window that was not seen being made.
    UnknownWindow "unknown_window";
    /// A window beyond the limit of the table: its calls are recorded without a communicator.
    WindowTableFull "window_table_full";
    /// A persistent request beyond the limit of the table: its starts are recorded without what
    /// they move.
    RequestTableFull "request_table_full";
    /// Requests of one `MPI_Startall` beyond the limit.
    StartallCut "startall_cut";
    /// A report through pas.h came when the queue was full.
    ReportQueueFull "report_queue_full";
    /// A report through pas.h came while PAS was off.
    ReportWhileOff "report_while_off";
    /// The forked child of a rank: inert until it initialises MPI itself.
    Forked "forked_child";
    /// The process runs set-user-id: the environment is not to be trusted.
    SecureExecution "secure_execution";
    /// A standard stream is closed: whatever PAS opened could become the program's output.
    StdioClosed "stdio_closed";
    /// Another libpas.so is loaded before this one and does the work.
    LoadedTwice "loaded_twice";
    /// Two MPI libraries are loaded: each call goes to its own, nothing is recorded.
    SeveralMpis "several_mpis";
    /// `PAS_MODE=off`.
    ModeOff "mode_off";
    /// A pre-stage request was not sent since the daemon is away.
    DaemonAway "daemon_away";
    /// A pre-stage request was not sent since the last answers said it does not pay.
    HeldBefore "held_before";
    /// A call sum beyond the limit of the table.
    SumTableFull "sum_table_full";
}

reasons! {
    /// Should have, could not.
    Fault, FAULTS, "fault.":
    /// No loaded object defines the function that the program called.
    SymbolMissing "symbol_missing";
    /// The MPI is none that PAS knows: forwarded, not recorded.
    UnknownMpi "unknown_mpi";
    /// A local query of the MPI failed.
    QueryFailed "mpi_query_failed";
    /// The worker thread could not be started.
    NoThread "no_worker_thread";
    /// A panic of our own was caught.
    Panicked "panicked";
    /// Memory for a ring could not be had.
    NoMemory "no_memory";
    /// A request to the daemon found no connection.
    Unreachable "daemon_unreachable";
    /// A request to the daemon was not answered in time.
    Late "daemon_late";
    /// The daemon answered what could not be understood.
    Garbled "daemon_garbled";
    /// The daemon refused a message.
    RefusedMessage "daemon_refused_message";
    /// The report's file could not be written.
    ReportFile "report_file";
    /// A `PAS_*` variable had a value that could not be used.
    BadKnob "bad_knob";
    /// The time for the last messages ran out at MPI_Finalize or exit.
    DrainLate "drain_late";
}

/// The non-zero counters, by name.
pub fn counters() -> BTreeMap<String, u64> {
    let bypasses = Bypass::NAMES.iter().zip(&BYPASSES);
    let faults = Fault::NAMES.iter().zip(&FAULTS);
    bypasses
        .chain(faults)
        .map(|(name, counter)| ((*name).to_owned(), read(counter)))
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// Records that were lost on their way into a ring.
pub fn records_dropped() -> u64 {
    let dropped = [Bypass::RingFull, Bypass::NoRing];
    dropped.iter().filter_map(|reason| BYPASSES.get(*reason as usize)).map(read).sum()
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
