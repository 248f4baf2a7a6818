//! Runs the programs of `c-tests/programs` natively and with libpas.so, under both MPIs, and
//! demands that nothing differs; plays broken daemons; checks what the library exports and needs.
//!
//! `cargo test` does not build a cdylib for an integration test, so the harness builds it first.
//! An MPI that is missing is a failure and not a skip.

#[path = "harness/cases.rs"]
mod cases;
#[path = "harness/counts.rs"]
mod counts;
#[path = "harness/daemons.rs"]
mod daemons;
#[path = "harness/exports.rs"]
mod exports;
#[path = "harness/fake_pasd.rs"]
mod fake_pasd;
#[path = "harness/flavors.rs"]
mod flavors;
#[path = "harness/inert.rs"]
mod inert;
#[path = "harness/loaders.rs"]
mod loaders;
#[path = "harness/reports.rs"]
mod reports;
#[path = "harness/run.rs"]
mod run;
#[path = "harness/standard.rs"]
mod standard;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let mut arguments = Arguments::from_args();
    // The ranks of one job already share the cores, and MPICH's spin while they wait: two jobs at
    // once would test the scheduler.
    arguments.test_threads.get_or_insert(1);
    if !arguments.list {
        run::build();
    }
    let mut trials: Vec<Trial> = Vec::new();
    trials.extend(cases::trials());
    trials.extend(daemons::trials());
    trials.extend(inert::trials());
    trials.extend(exports::trials());
    trials.extend(flavors::trials());
    trials.extend(standard::trials());
    trials.extend(loaders::trials());
    trials.extend(counts::trials());
    trials.push(field_bugs(&trials));
    libtest_mimic::run(&arguments, trials).exit();
}

/// Every test that `c-tests/field-bugs.md` names is there.
fn field_bugs(trials: &[Trial]) -> Trial {
    let names: Vec<String> = trials.iter().map(|trial| trial.name().to_owned()).collect();
    trial("standard::field_bugs_name_tests_that_are_there", move || {
        let text = std::fs::read_to_string(run::top().join("c-tests/field-bugs.md"));
        let text = text.map_err(|error| error.to_string())?;
        let quoted = text.lines().skip(6).flat_map(|line| line.split('`').skip(1).step_by(2));
        let tests: Vec<&str> = quoted.filter(|name| name.contains("::")).collect();
        let gone = |name: &&&str| !names.iter().any(|there| there.starts_with(**name));
        match tests.iter().find(gone) {
            Some(name) => Err(format!("{name}: no such test")),
            None if tests.len() < 60 => Err("the table was not found".to_owned()),
            None => Ok(()),
        }
    })
}

/// A named test.
fn trial(
    name: impl Into<String>,
    body: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Trial {
    Trial::test(name, move || body().map_err(Into::into))
}
