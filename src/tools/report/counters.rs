//! What each counter of a rank's report counts, in a sentence.

/// Name and meaning. `bypass.` and `fault.` are the shim's, `detector.` the detector's.
const COUNTERS: &[(&str, &str)] = &[
    ("calls_recorded", "MPI calls that PAS saw and recorded."),
    ("lines_suppressed", "Log lines left out so as not to flood standard error."),
    ("bypass.nested_call", "The MPI library called itself; only the program's call counts."),
    ("bypass.no_ring_for_thread", "Calls of threads beyond the limit: not recorded."),
    ("bypass.ring_full", "Records dropped because they came faster than they were read."),
    ("bypass.communicator_table_full", "Calls on communicators beyond the table's limit."),
    ("bypass.unknown_communicator", "Calls whose communicator PAS could not name."),
    ("bypass.report_queue_full", "Reports through pas.h dropped: too many at once."),
    ("bypass.report_while_off", "Reports through pas.h while PAS was off."),
    ("bypass.forked_child", "Calls in a forked child, where PAS stands aside."),
    ("bypass.secure_execution", "The program runs set-user-id: PAS stands aside."),
    ("bypass.loaded_twice", "Another libpas.so is loaded before this one and does the work."),
    ("bypass.stdio_closed", "A standard stream is closed: PAS opens nothing then."),
    ("bypass.mode_off", "PAS_MODE=off."),
    ("bypass.daemon_away", "Requests not sent, since the daemon was away."),
    ("bypass.held_before", "Requests not sent, since the last answers were \"does not pay\"."),
    ("bypass.sum_table_full", "Calls that are missing from the sums: too many kinds."),
    ("fault.symbol_missing", "A called function exists in no loaded library."),
    ("fault.unknown_mpi", "The MPI is none that PAS knows; calls went through unrecorded."),
    ("fault.mpi_query_failed", "The MPI answered a harmless question with an error."),
    ("fault.no_worker_thread", "The worker thread could not be started."),
    ("fault.panicked", "A fault of PAS itself; the job went on. Please report it."),
    ("fault.no_memory", "Memory for records could not be had."),
    ("fault.daemon_unreachable", "Requests that found no daemon."),
    ("fault.daemon_late", "Requests that the daemon did not answer in time."),
    ("fault.daemon_garbled", "Answers of the daemon that could not be understood."),
    ("fault.daemon_refused_message", "Messages that the daemon refused."),
    ("fault.report_file", "The rank's report file could not be written."),
    ("fault.bad_knob", "A PAS_* variable had a value that could not be used."),
    ("fault.drain_late", "Last messages cut off, so as not to hold up the job's end."),
    ("detector.events", "Calls that the detector looked at."),
    ("detector.events_failed", "Calls that the MPI answered with an error; they are no step."),
    ("detector.events_unknown_comm", "Calls on a communicator that the detector does not know."),
    ("detector.calls_small", "Calls too small to set the iteration or to ask for circuits."),
    ("detector.calls_forgotten", "Times that the detector began anew: too many kinds of call."),
    ("detector.comms_dropped", "Communicators beyond the detector's limit."),
    ("detector.declared_dropped", "Declared patterns beyond the detector's limit."),
    ("detector.phases_dropped", "Phases beyond the detector's limit."),
    ("detector.iterations_learned", "Iterations (repeating units) that were learnt."),
    ("detector.iterations_resumed", "Times that a known iteration was taken up again."),
    ("detector.iterations_broken", "Times that something else came than the iteration foresaw."),
    ("detector.iterations_forgotten", "Known iterations given up for new ones."),
    ("detector.forecasts_right", "Forecast starts of phases that came true."),
    ("detector.forecasts_wrong", "Forecast starts that did not; the next one starts afresh."),
];

/// What a counter counts.
pub fn about(name: &str) -> &'static str {
    let known = COUNTERS.iter().find(|(other, _)| *other == name);
    match known {
        Some((_, about)) => about,
        None if name.starts_with("bypass.") => "PAS stood aside.",
        None if name.starts_with("fault.") => "Something that PAS should have done and could not.",
        None => "",
    }
}

/// True of a counter that tells of something not done.
pub fn is_loss(name: &str) -> bool {
    name.starts_with("bypass.") || name.starts_with("fault.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_of_the_detector_is_explained() {
        for (name, _) in pas_core::detector::Counters::default().named() {
            assert_ne!(about(&format!("detector.{name}")), "", "detector.{name}");
        }
        assert_eq!(about("bypass.of_a_later_version"), "PAS stood aside.");
        assert_eq!(about("unheard_of"), "");
    }
}
