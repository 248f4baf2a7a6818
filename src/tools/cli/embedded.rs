//! The daemon that `pas run` starts for the time of one job, when no other is named.

use crate::daemon::{self, DaemonConfig, Running, fabric_file};
use pas_core::fabric::{Fabric, FabricSpec};
use std::ffi::OsString;
use std::path::Path;

/// Hosts of the made-up fabric besides those that the command line names.
const DEMO_HOSTS: u32 = 64;
/// Hosts that are taken from a command line.
const HOSTS_MAX: usize = 4096;

/// A daemon in this process. It ends when it is dropped.
pub struct Daemon {
    url: String,
    _running: Running,
}

impl Daemon {
    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Starts a daemon with the fabric of a file, or with a made-up one that has these hosts.
///
/// # Errors
///
/// Why it could not be started.
pub fn start(fabric: Option<&Path>, hosts: &[String]) -> Result<Daemon, String> {
    let fabric = match fabric {
        Some(path) => fabric_file::read(path).map_err(|error| error.to_string())?,
        None => made_up(hosts)?,
    };
    let running = daemon::start(DaemonConfig::embedded(fabric))
        .map_err(|error| format!("the daemon does not start: {error}"))?;
    let address = running.tcp_address.ok_or("the daemon has no address")?;
    Ok(Daemon { url: format!("http://{address}"), _running: running })
}

/// The demo's planes and rates, with a port for each of the hosts on every plane.
fn made_up(hosts: &[String]) -> Result<Fabric, String> {
    let mut spec: FabricSpec =
        toml::from_str(fabric_file::DEMO).map_err(|error| error.to_string())?;
    spec.name = "made up by pas run, emulated switches".to_string();
    for plane in &mut spec.planes {
        plane.ports = hosts.iter().cloned().zip(1..).collect();
    }
    spec.validate().map_err(|problems| {
        let first = problems.into_iter().next();
        first.map_or(String::new(), |problem| format!("{}: {}", problem.path, problem.reason))
    })
}

/// Hosts that the job's ranks may be on: those that the launcher's flags name, this machine, and
/// what `--hosts` makes of the first ranks (`host0`, `host1`, ... where it is not given).
pub fn hosts(command: &[OsString], pattern: Option<&str>) -> Vec<String> {
    let mut hosts: Vec<String> = named_hosts(command);
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    hosts.push(here);
    let pattern = pattern.unwrap_or("host{rank}");
    hosts.extend((0..DEMO_HOSTS).map(|rank| pattern.replace("{rank}", &rank.to_string())));
    let mut seen = std::collections::BTreeSet::new();
    hosts.retain(|host| !host.is_empty() && seen.insert(host.clone()));
    hosts.truncate(HOSTS_MAX);
    hosts
}

/// Hosts of `-H a:2,b`, `--host a,b` and `-hosts a,b`.
fn named_hosts(command: &[OsString]) -> Vec<String> {
    let flags = ["-H", "-host", "--host", "-hosts", "--hosts"];
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let lists = words.windows(2).filter(|two| flags.contains(&two[0].as_ref())).map(|two| &two[1]);
    let hosts = lists.flat_map(|list| list.split(','));
    hosts.map(|host| host.split(':').next().unwrap_or(host).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_come_from_the_command_line_and_the_pattern() {
        let words = ["mpirun", "-H", "a:2,b", "--host", "c", "./app"].map(OsString::from);
        let found = hosts(&words, Some("n{rank}"));
        assert_eq!(found[..3], ["a", "b", "c"]);
        assert!(found.contains(&"n0".to_string()) && found.contains(&"n63".to_string()));
        let fixed = hosts(&words[..1], Some("one"));
        assert_eq!(fixed.len(), 2, "a pattern without {{rank}} names one host: {fixed:?}");
    }

    #[test]
    fn the_daemon_answers_with_the_hosts_asked_for() {
        let wanted = hosts(&[OsString::from("./app")], None);
        let daemon = start(None, &wanted).expect("started");
        let client = crate::client::Client::new(daemon.url(), std::time::Duration::from_secs(20));
        let fabric: serde_json::Value =
            client.expect("an address").get("/v1/fabric").expect("an answer");
        assert_eq!(fabric["summary"]["hosts"], wanted.len());
        let error = start(Some(Path::new("/nowhere.toml")), &[]).map(|_| ()).expect_err("no file");
        assert!(error.contains("/nowhere.toml"), "{error}");
    }
}
