//! The rank's report: what it saw, asked for and did not do.

use crate::agent::Agent;
use crate::life::Life;
use crate::worker::Collector;
use crate::{say, skip, sys};
use pas_core::wire::{RankReport, VERSION};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// All that the rank tells at its end.
pub fn build(life: &'static Life, collector: &Collector, agent: &Agent) -> RankReport {
    let mut counters = skip::counters();
    counters.extend(collector.counters());
    counters.insert("lines_suppressed".to_owned(), say::suppressed());
    counters.retain(|_, count| *count > 0);
    RankReport {
        version: VERSION,
        job: life.job.id.clone(),
        registered: agent.registration(),
        started_unix_us: collector.started_unix_us(),
        lifetime_ns: collector.now(),
        comms: collector.comm_reports(),
        calls: collector.call_sums(),
        phases: collector.phases(),
        iteration: collector.iteration(),
        timeline: collector.timeline(),
        requests: agent.requests().log().cloned().collect(),
        marks: collector.marks(),
        losses: collector.reported().kept().to_vec(),
        hint: collector.reported().last_hint(agent.incarnation(), life.job.rank),
        counters,
    }
}

/// Where the report goes: into `named`, but that of a spawned process, or of a second life, into a
/// folder of its own in there: another one of the same rank writes its report too.
pub fn folder(life: &'static Life, named: &Path) -> PathBuf {
    match life.number {
        _ if life.spawned => named.join(&life.job.id),
        0 | 1 => named.to_owned(),
        number => named.join(format!("life-{number}")),
    }
}

/// Writes `rank-N.json` whole or not at all: readers never see half a report.
pub fn write(folder: &Path, report: &RankReport) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let rank = report.registered.rank;
    let whole = folder.join(format!("rank-{rank}.json"));
    let part = folder.join(format!(".rank-{rank}.json.part"));
    let result = write_part(&part, report).and_then(|()| fs::rename(&part, &whole));
    if result.is_err() {
        let _ = fs::remove_file(&part);
    }
    result
}

fn write_part(part: &Path, report: &RankReport) -> io::Result<()> {
    let mut file = fs::File::create(part)?;
    if sys::is_stdio(&file) {
        // A clone's number is 3 at least.
        file = file.try_clone()?;
    }
    file.write_all(&serde_json::to_vec(report)?)?;
    file.flush()
}
