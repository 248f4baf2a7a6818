//! The `PAS_*` variables: one table of name, type, default and meaning.
//!
//! A value that cannot be used costs one line and is replaced by the default; the job goes on.
//! `PAS_HELP=1` prints the table. The README's table is this one.

use crate::say::{self, Level};
use crate::skip::Fault;
use pas_core::wire::Mode;
use std::time::Duration;

/// A row of the table.
pub struct Knob {
    /// The variable.
    pub name: &'static str,
    /// What a value looks like.
    pub values: &'static str,
    /// What holds where it is unset.
    pub default: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// The table.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "PAS_MODE",
        values: "off | observe | advise",
        default: "advise",
        about: "off: forward only; observe: detect and report; advise: also ask for circuits",
    },
    Knob {
        name: "PAS_URL",
        values: "http://HOST:PORT | unix:/PATH",
        default: "none",
        about: "where pasd listens; none: detect and report, ask nobody",
    },
    Knob {
        name: "PAS_JOB_ID",
        values: "1 to 128 of A-Z a-z 0-9 . _ : @ -",
        default: "from the launcher",
        about: "the job's name at pasd; the same in all its ranks",
    },
    Knob {
        name: "PAS_HOST",
        values: "a name; {rank} is replaced by the world rank",
        default: "the host name",
        about: "this rank's host in the fabric; {rank} lets one machine stand for several hosts",
    },
    Knob {
        name: "PAS_REPORT_DIR",
        values: "a folder",
        default: "none",
        about: "where each rank writes rank-N.json at its end, for pas report",
    },
    Knob {
        name: "PAS_DRAIN_MS",
        values: "0 to 10000",
        default: "500",
        about: "longest wait for the last messages at MPI_Finalize or exit, milliseconds",
    },
    Knob {
        name: "PAS_LOG",
        values: "quiet | warn | info",
        default: "warn",
        about: "what is said on standard error",
    },
    Knob {
        name: "PAS_HELP",
        values: "1",
        default: "unset",
        about: "print this table once, at MPI_Init of rank 0",
    },
];

/// The values in force.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `PAS_MODE`.
    pub mode: Mode,
    /// `PAS_URL`.
    pub url: Option<String>,
    /// `PAS_JOB_ID`.
    pub job_id: Option<String>,
    /// `PAS_HOST`.
    pub host: Option<String>,
    /// `PAS_REPORT_DIR`.
    pub report_dir: Option<std::path::PathBuf>,
    /// `PAS_DRAIN_MS`.
    pub drain: Duration,
    /// `PAS_LOG`.
    pub log: Level,
    /// `PAS_HELP`.
    pub help: bool,
}

impl Settings {
    /// Reads the environment. `speaks` is true in the one rank that tells of bad values.
    pub fn from_env(speaks: bool) -> Settings {
        let read = |name: &str| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned());
        let (settings, problems) = Settings::from_values(read);
        say::set_level(settings.log);
        for problem in problems {
            Fault::BadKnob.count();
            if speaks {
                say::warn(format_args!("{problem}"));
            }
        }
        settings
    }

    /// Reads values from `read`; answers one line for each that could not be used. An empty
    /// value is as good as none: many launchers cannot unset a variable.
    pub fn from_values(read: impl Fn(&str) -> Option<String>) -> (Settings, Vec<String>) {
        let mut reader = Reader { read, problems: Vec::new() };
        let mode = reader.get("PAS_MODE", |value| match value {
            "off" => Some(Mode::Off),
            "observe" => Some(Mode::Observe),
            "advise" => Some(Mode::Advise),
            _ => None,
        });
        let log = reader.get("PAS_LOG", |value| match value {
            "quiet" => Some(Level::Quiet),
            "warn" => Some(Level::Warn),
            "info" => Some(Level::Info),
            _ => None,
        });
        let text = |value: &str| Some(value.to_owned());
        let settings = Settings {
            mode: mode.unwrap_or(Mode::Advise),
            url: reader.get("PAS_URL", |value| is_url(value).then(|| value.to_owned())),
            job_id: reader.get("PAS_JOB_ID", |value| is_job_id(value).then(|| value.to_owned())),
            host: reader.get("PAS_HOST", text),
            // The program may change its folder before the report is written.
            report_dir: reader.get("PAS_REPORT_DIR", |value| std::path::absolute(value).ok()),
            drain: reader
                .get("PAS_DRAIN_MS", |value| value.parse().ok().filter(|ms| *ms <= 10_000))
                .map_or(Duration::from_millis(500), Duration::from_millis),
            log: log.unwrap_or(Level::Warn),
            help: reader.get("PAS_HELP", text).is_some_and(|value| value != "0"),
        };
        (settings, reader.problems)
    }
}

/// Reads one value at a time and keeps the problems.
struct Reader<F> {
    read: F,
    problems: Vec<String>,
}

impl<F: Fn(&str) -> Option<String>> Reader<F> {
    fn get<T>(&mut self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let value = (self.read)(name).filter(|value| !value.is_empty())?;
        let parsed = parse(&value);
        if parsed.is_none() {
            let knob = KNOBS.iter().find(|knob| knob.name == name);
            let (values, default) = knob.map_or(("", ""), |knob| (knob.values, knob.default));
            self.problems.push(format!(
                "{name}={value:?} is not one of: {values}. Going on with the default, {default}."
            ));
        }
        parsed
    }
}

/// True for an address that the agent can talk to.
fn is_url(value: &str) -> bool {
    match value.strip_prefix("unix:") {
        Some(path) => path.starts_with('/'),
        None => {
            let host = value.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
            host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '@', ' ']))
        }
    }
}

/// True for a name that can stand in a path of the interface as it is.
pub fn is_job_id(value: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
    (1..=128).contains(&value.len()) && value.chars().all(allowed)
}

/// Prints the table.
pub fn print_help() {
    say::print(format_args!("libpas.so {}; its variables:", env!("CARGO_PKG_VERSION")));
    for knob in KNOBS {
        say::print(format_args!("  {:<15} {} (default: {})", knob.name, knob.values, knob.default));
        say::print(format_args!("  {:<15}   {}", "", knob.about));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::from_values(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn unset_and_empty_are_the_defaults() {
        for pairs in [&[][..], &[("PAS_MODE", ""), ("PAS_URL", ""), ("PAS_HELP", "")][..]] {
            let (settings, problems) = settings(pairs);
            assert_eq!(settings.mode, Mode::Advise);
            assert_eq!(settings.url, None);
            assert!(!settings.help);
            assert!(problems.is_empty());
        }
    }

    #[test]
    fn every_bad_value_costs_one_line_and_gives_the_default() {
        let bad = [
            ("PAS_MODE", "steeer"),
            ("PAS_URL", "ftp://x"),
            ("PAS_JOB_ID", "a/b"),
            ("PAS_DRAIN_MS", "-1"),
            ("PAS_LOG", "loud"),
        ];
        let (settings, problems) = settings(&bad);
        assert_eq!(problems.len(), bad.len());
        for ((name, value), problem) in bad.iter().zip(["PAS_MODE"; 5]) {
            let line = problems.iter().find(|line| line.starts_with(name)).expect(problem);
            assert!(line.contains(value), "{line}");
        }
        assert_eq!(settings.mode, Mode::Advise);
        assert_eq!(settings.job_id, None);
        assert_eq!(settings.drain, Duration::from_millis(500));
    }

    #[test]
    fn addresses() {
        for good in ["http://127.0.0.1:7447", "http://[::1]:1/", "http://pasd", "unix:/run/pasd"] {
            assert!(is_url(good), "{good}");
        }
        for bad in ["", "http://", "https://x", "unix:rel", "http://a/b", "http://u@h", "pasd"] {
            assert!(!is_url(bad), "{bad}");
        }
    }
}
