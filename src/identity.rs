//! Who this rank is, without asking another rank.
//!
//! All ranks of a job must come to the same job id by themselves. Launchers leave one in the
//! environment; MPICH's hydra does not, but its proxies carry the launcher's control port on
//! their command line, the same on all hosts.

use crate::knobs::{Settings, is_job_id};
use crate::sys;
use pas_core::wire::validate::{NAME_BYTES_MAX, plain};
use std::fs;

/// This rank.
#[derive(Clone, Debug)]
pub struct Job {
    /// The job's id, equal in all ranks.
    pub id: String,
    /// Rank in the world.
    pub rank: u32,
    /// Ranks in the world.
    pub world_size: u32,
    /// The host's name in the fabric.
    pub host: String,
    /// The program's name.
    pub program: String,
}

/// What a launcher says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Launch {
    id: String,
    world_size: Option<u32>,
}

impl Job {
    /// Finds out.
    pub fn identify(settings: &Settings, rank: u32, world_size: u32) -> Job {
        let env = |name: &str| std::env::var(name).ok();
        let launch = launch_from_env(env).or_else(|| launch_from_hydra(parent_command_lines()));
        let id = settings
            .job_id
            .clone()
            .unwrap_or_else(|| job_id(launch.as_ref(), world_size, &alone_id()));
        let host = settings.host.clone().unwrap_or_else(sys::host_name);
        let exe = std::env::current_exe().ok();
        let program = exe.as_deref().and_then(|path| path.file_name());
        Job {
            id,
            rank,
            world_size,
            host: plain(&host.replace("{rank}", &rank.to_string()), NAME_BYTES_MAX),
            program: plain(&program.unwrap_or_default().to_string_lossy(), NAME_BYTES_MAX),
        }
    }
}

/// The launcher's id, unless its size is not that of the world: then a program of another MPI
/// runs under it, as many worlds of one rank that must not be taken for one job.
fn job_id(launch: Option<&Launch>, world_size: u32, alone: &str) -> String {
    let id = match launch {
        Some(launch) if launch.world_size.is_none_or(|size| size == world_size) => {
            launch.id.clone()
        }
        Some(launch) => format!("{}-{alone}", launch.id),
        None => format!("single-{alone}"),
    };
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "._:@-".contains(c) { c } else { '-' };
    let id: String = id.chars().map(allowed).take(128).collect();
    debug_assert!(is_job_id(&id));
    id
}

/// What Slurm, Open MPI (4 and 5), other PMIx launchers and Intel MPI export.
fn launch_from_env(env: impl Fn(&str) -> Option<String>) -> Option<Launch> {
    let size = |name| env(name).and_then(|value| value.parse().ok());
    if let (Some(job), Some(step)) = (env("SLURM_JOB_ID"), env("SLURM_STEP_ID")) {
        return Some(Launch {
            id: format!("slurm-{job}.{step}"),
            world_size: size("SLURM_NTASKS"),
        });
    }
    let world_size = size("OMPI_COMM_WORLD_SIZE");
    if let Some(id) = env("PMIX_NAMESPACE").or_else(|| env("OMPI_MCA_ess_base_jobid")) {
        // Open MPI's number is unique on one host for a while only: add the launcher's address.
        let uri = env("OMPI_MCA_orte_hnp_uri").unwrap_or_default();
        let launcher = uri.rsplit(['/', ';']).next().unwrap_or_default();
        return Some(Launch { id: format!("ompi-{id}-{launcher}"), world_size });
    }
    // Intel MPI's hydra.
    let id = env("I_MPI_HYDRA_UUID")?;
    let group = later_group(env("HYDRA_BSTRAP_PGID").as_deref()).unwrap_or_default();
    Some(Launch { id: format!("impi-{id}{group}"), world_size: size("PMI_SIZE") })
}

/// What is added to a launcher's id for a process group of hydra's other than the first, which are
/// spawned processes, a job of their own.
fn later_group(number: Option<&str>) -> Option<String> {
    number.filter(|number| *number != "0").map(|number| format!(".{number}"))
}

/// What hydra's proxy among our ancestors was started with.
fn launch_from_hydra(command_lines: impl IntoIterator<Item = Vec<String>>) -> Option<Launch> {
    let world_size = std::env::var("PMI_SIZE").ok().and_then(|value| value.parse().ok());
    command_lines.into_iter().find_map(|words| {
        let proxy = words.first().is_some_and(|word| word.ends_with("hydra_pmi_proxy"));
        let port = words.iter().skip_while(|word| *word != "--control-port").nth(1);
        let port = port.filter(|_| proxy)?;
        let group = words.iter().skip_while(|word| *word != "--pgid").nth(1);
        // MPICH 5 tells nothing but that they are spawned: two spawns of one size have one id.
        let spawned = || {
            let is_spawned = std::env::var("PMI_SPAWNED").is_ok_and(|value| value == "1");
            is_spawned.then(|| format!(".spawned-{}", world_size.unwrap_or_default()))
        };
        let group = later_group(group.map(String::as_str)).or_else(spawned).unwrap_or_default();
        Some(Launch { id: format!("hydra-{port}{group}"), world_size })
    })
}

/// The command lines of the ancestors, nearest first, as far as they can be read. Wrapper scripts
/// stand between a rank and its launcher.
fn parent_command_lines() -> impl Iterator<Item = Vec<String>> {
    const ANCESTORS_MAX: usize = 8;
    let parent = |pid: u32| -> Option<u32> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        line.trim().parse().ok().filter(|pid| *pid > 1)
    };
    let ancestors = std::iter::successors(Some(std::process::id()), move |pid| parent(*pid));
    ancestors.skip(1).take(ANCESTORS_MAX).map(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    })
}

/// An id for a process that is a job by itself.
fn alone_id() -> String {
    format!("{}-{}-{}", sys::host_name(), std::process::id(), sys::monotonic_ns() / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn ranks_of_one_launcher_agree() {
        let env = |name: &str| match name {
            "PMIX_NAMESPACE" => Some("3466919937".to_owned()),
            "OMPI_COMM_WORLD_SIZE" => Some("4".to_owned()),
            "OMPI_MCA_orte_hnp_uri" => Some("52900.0;tcp://10.0.0.1:3333".to_owned()),
            _ => None,
        };
        let launch = launch_from_env(env).expect("a launcher");
        assert_eq!(job_id(Some(&launch), 4, "x"), "ompi-3466919937-10.0.0.1:3333");
    }

    #[test]
    fn intel_ranks_agree_by_their_launchers_uuid() {
        let env = |name: &str| match name {
            "I_MPI_HYDRA_UUID" => Some("7c240000-6617".to_owned()),
            "PMI_SIZE" => Some("2".to_owned()),
            _ => None,
        };
        let launch = launch_from_env(env).expect("a launcher");
        assert_eq!(job_id(Some(&launch), 2, "x"), "impi-7c240000-6617");
    }

    #[test]
    fn a_program_of_another_mpi_is_a_job_by_itself() {
        let launch = Launch { id: "ompi-7".to_owned(), world_size: Some(4) };
        assert_eq!(job_id(Some(&launch), 1, "host-12-5"), "ompi-7-host-12-5");
        assert_eq!(job_id(None, 1, "host-12-5"), "single-host-12-5");
    }

    #[test]
    fn hydra_is_found_behind_a_wrapper_script() {
        let lines = [
            words("bash run.sh"),
            words("/usr/bin/hydra_pmi_proxy --control-port head:38957 --rmk user"),
        ];
        assert_eq!(
            launch_from_hydra(lines).map(|launch| launch.id),
            Some("hydra-head:38957".into())
        );
        assert_eq!(launch_from_hydra([words("bash --control-port x")]), None);
        let spawned = words("/usr/bin/hydra_pmi_proxy --control-port head:38957 --pgid 1");
        assert_eq!(launch_from_hydra([spawned]).map(|l| l.id), Some("hydra-head:38957.1".into()));
    }

    #[test]
    fn an_id_fits_the_interface_whatever_the_launcher_says() {
        let launch = Launch { id: "a/b c\u{e9}".repeat(40), world_size: None };
        assert!(is_job_id(&job_id(Some(&launch), 2, "x")));
    }
}
