//! `pas run`: starts a job under PAS, with whatever launcher it uses.
//!
//! 1. Find libpas.so, the launcher's family, a place for the ranks' reports, and a daemon: the one
//!    that is named, or one of our own for the time of the job.
//! 2. Start the launcher as it was written, with its own flags for exporting the preload added
//!    ([`launcher`]). Standard streams are the job's; PAS speaks on standard error alone, before
//!    and after.
//! 3. When the job has ended, gather what is known and print it; exit as the job did.
//!
//! The job comes first: whatever of PAS cannot be had is said in one line, and the job runs
//! without it. Only a missing libpas.so ends the run before it begins, since then nothing of what
//! was asked for could be done.

use crate::cli::launcher::{self, Exports, Launcher, Variable};
use crate::cli::{Failure, embedded, linkage, output, place, preload, process};
use crate::client::{Client, segment};
use crate::report::digest::Digest;
use crate::report::load::{self, Loaded};
use crate::report::text;
use clap::ValueEnum;
use pas_core::wire::JobReport;
use pas_core::wire::validate;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the daemon may take to tell of the job once it has ended.
const REPORT_DEADLINE: Duration = Duration::from_secs(10);
/// How long a launcher may take to tell its version.
pub const VERSION_DEADLINE: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "\
Examples:
  pas run -- mpirun -n 4 ./train --epochs 3
  pas run --hosts 'host{rank}' -- mpirun -n 4 ./train   one machine stands for four hosts
  pas run --mode observe -- srun -n 64 ./train          watch only, ask for nothing
  pas run --url http://head:7447 -- mpiexec -n 8 ./train   use a daemon that runs already
  pas run --report out -- ./train && pas report out --html report.html

Exit code: the job's; 128 + N where signal N ended it; 127 where it was not found.";

/// The arguments of `pas run`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What libpas.so does in the ranks.
    #[arg(long, value_enum, value_name = "MODE")]
    mode: Option<Mode>,
    /// A daemon that runs already; default: $PAS_URL, or one of our own for the time of the job.
    #[arg(long)]
    url: Option<String>,
    /// Fabric file of the job's own daemon; default: a made-up fabric with an emulated switch.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "no_daemon"])]
    fabric: Option<PathBuf>,
    /// Where reports are kept; default: a folder for each job under ~/.local/state/pas/reports.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// The ranks' host names in the fabric; {rank} is replaced by the rank, so that one machine can
    /// stand for several hosts.
    #[arg(long, value_name = "PATTERN")]
    hosts: Option<String>,
    /// Start no daemon: detect and report only.
    #[arg(long)]
    no_daemon: bool,
    /// Print no summary.
    #[arg(long, short)]
    quiet: bool,
    /// The job, as it is started without PAS.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// `PAS_MODE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Forward every call, do nothing else.
    Off,
    /// Detect patterns and report, ask for nothing.
    Observe,
    /// Also ask for circuits ahead of time; never make the job wait.
    Advise,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Observe => "observe",
            Mode::Advise => "advise",
        }
    }
}

/// What is there for the job.
struct Setting {
    lib: PathBuf,
    launcher: Launcher,
    job: String,
    /// Where the ranks write, if anywhere.
    folder: Option<PathBuf>,
    /// The daemon's address, if there is one.
    url: Option<String>,
    /// Our own daemon; it ends when this is dropped.
    _daemon: Option<embedded::Daemon>,
}

/// Runs `pas run`.
///
/// # Errors
///
/// libpas.so is not there, or the job could not be started.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let setting = prepare(arguments)?;
    let environment = variables(arguments, &setting, env::vars_os());
    let exports = Exports {
        variables: &environment,
        lib: &setting.lib,
        slurm_export_env: env::var("SLURM_EXPORT_ENV").ok(),
    };
    let line = launcher::rewrite(&setting.launcher, &arguments.command, &exports);
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).envs(environment.iter().map(|(name, value)| (name, value)));
    let status =
        process::run_foreground(&mut command).map_err(|error| not_started(&line[0], &error))?;
    if !arguments.quiet {
        summarize(&setting);
    }
    Ok(ExitCode::from(process::exit_code(status)))
}

fn not_started(program: &OsStr, error: &io::Error) -> Failure {
    let code = match error.kind() {
        io::ErrorKind::NotFound => process::EXIT_NOT_FOUND,
        _ => process::EXIT_NOT_STARTED,
    };
    Failure { message: format!("cannot start {} ({error})", program.to_string_lossy()), code }
}

/// One line of ours on standard error.
fn say(line: &str) {
    anstream::eprintln!("pas: {line}");
}

fn prepare(arguments: &Arguments) -> Result<Setting, Failure> {
    let pas = env::current_exe().map_err(Failure::new)?;
    let named = env::var_os("PAS_LIB").filter(|value| !value.is_empty());
    let lib = preload::find(named.as_deref(), &pas).map_err(Failure::new)?;
    let launcher = find_launcher(&arguments.command[0]);
    if let Launcher::Other(name) = &launcher {
        say(&format!(
            "{name} is a launcher that pas does not know; ranks on other hosts have libpas.so only \
             if it passes its environment on"
        ));
    }
    if let Some(program) = program_file(&arguments.command, &launcher)
        && let Some(why) = linkage::out_of_reach(&program)
    {
        say(&format!(
            "libpas.so will see nothing of {}: {why}; link it with -lpas and a shared MPI",
            program.display()
        ));
    }
    let job = job_id(&arguments.command, &launcher)?;
    let folder = report_folder(arguments.report.as_deref(), &job).map_or_else(
        |why| {
            say(&format!("{why}; the job runs, and there will be no report"));
            None
        },
        Some,
    );
    let (url, daemon) = daemon(arguments);
    Ok(Setting { lib, launcher, job, folder, url, _daemon: daemon })
}

/// The daemon for this job: a named one, one of our own, or none.
fn daemon(arguments: &Arguments) -> (Option<String>, Option<embedded::Daemon>) {
    let from_env = || env::var("PAS_URL").ok().filter(|url| !url.is_empty());
    if let Some(url) = arguments.url.clone().or_else(from_env) {
        return (Some(url), None);
    }
    if arguments.no_daemon || arguments.mode == Some(Mode::Off) {
        return (None, None);
    }
    let hosts = embedded::hosts(&arguments.command, arguments.hosts.as_deref());
    match embedded::start(arguments.fabric.as_deref(), &hosts) {
        Ok(daemon) => (Some(daemon.url().to_string()), Some(daemon)),
        Err(why) => {
            say(&format!("{why}; the job runs without a daemon: no circuits will be asked for"));
            (None, None)
        }
    }
}

fn find_launcher(program: &OsStr) -> Launcher {
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !launcher::is_launcher_name(&name) {
        return Launcher::Program;
    }
    let answer = process::ask(Command::new(program).arg("--version"), VERSION_DEADLINE);
    launcher::identify(&name, &answer.map_or(String::new(), |answer| answer.stdout))
}

/// `PAS_JOB_ID`, or the batch system's number, or the program's name and the time.
fn job_id(command: &[OsString], launcher: &Launcher) -> Result<String, Failure> {
    if let Some(id) = env::var("PAS_JOB_ID").ok().filter(|id| !id.is_empty()) {
        validate::id("PAS_JOB_ID", &id).map_err(|invalid| Failure::new(invalid.message))?;
        return Ok(id);
    }
    let name: String = program(command, launcher)
        .to_string_lossy()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_')
        .take(32)
        .collect();
    let batch = env::var("SLURM_JOB_ID").map_or(String::new(), |id| format!("slurm{id}-"));
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Ok(format!("{name}-{batch}{seconds}-{}", std::process::id()))
}

/// What the launcher starts, for a name that a person knows again.
fn program<'a>(command: &'a [OsString], launcher: &Launcher) -> &'a OsStr {
    let word = program_word(command, launcher);
    word.map_or(OsStr::new("job"), |word| Path::new(word).file_stem().unwrap_or_default())
}

/// Its file.
fn program_file(command: &[OsString], launcher: &Launcher) -> Option<PathBuf> {
    file_of(program_word(command, launcher)?)
}

/// The first word of the line that is a program.
fn program_word<'a>(command: &'a [OsString], launcher: &Launcher) -> Option<&'a OsString> {
    match launcher {
        Launcher::Program => command.first(),
        _ => command.iter().skip(1).find(|word| file_of(word).is_some()),
    }
}

/// The file that a shell would run for the word.
fn file_of(word: &OsString) -> Option<PathBuf> {
    let path = Path::new(word);
    match path.components().count() {
        1 => crate::cli::on_path(&word.to_string_lossy()),
        _ => Some(path.to_owned()).filter(|path| path.is_file()),
    }
}

/// Makes the folder for the ranks' reports, as an absolute path: ranks may change theirs.
fn report_folder(named: Option<&Path>, job: &str) -> Result<PathBuf, String> {
    let Some(named) = named else {
        return place::make(job);
    };
    let failed =
        |error: io::Error| format!("cannot use the report folder {} ({error})", named.display());
    fs::create_dir_all(named).map_err(failed)?;
    let folder = named.canonicalize().map_err(failed)?;
    place::try_writing(&folder).map_err(failed)?;
    Ok(folder)
}

/// Everything that the ranks get: the preload, what this run decided, and whatever else of `PAS_*`
/// the user has set.
fn variables(
    arguments: &Arguments,
    setting: &Setting,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<Variable> {
    let mut theirs: Vec<Variable> = environment
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name == "LD_PRELOAD" || (name.starts_with("PAS_") && name != "PAS_LIB"))
        .collect();
    theirs.sort();
    let preloaded = theirs.iter().find(|(name, _)| name == "LD_PRELOAD");
    let preload = preload::merge(preloaded.map(|(_, value)| value.as_os_str()), &setting.lib);
    let mut ours: Vec<Variable> =
        vec![("LD_PRELOAD".into(), preload), ("PAS_JOB_ID".into(), setting.job.clone().into())];
    ours.extend(setting.url.as_ref().map(|url| ("PAS_URL".into(), url.into())));
    ours.extend(setting.folder.as_ref().map(|path| ("PAS_REPORT_DIR".into(), path.into())));
    ours.extend(arguments.mode.map(|mode| ("PAS_MODE".into(), mode.name().into())));
    ours.extend(arguments.hosts.as_ref().map(|hosts| ("PAS_HOST".into(), hosts.into())));
    let named: Vec<String> = ours.iter().map(|(name, _)| name.clone()).collect();
    ours.extend(theirs.into_iter().filter(|(name, _)| !named.contains(name)));
    ours
}

/// Gathers what is known of the job, keeps it, and prints the summary.
fn summarize(setting: &Setting) {
    let Some(loaded) = gather(setting) else {
        return;
    };
    if let Some(folder) = &setting.folder {
        // Ranks whose file is here are read from it; of those on other disks the daemon knows.
        let mut job = loaded.report.clone();
        job.ranks.retain(|rank| !folder.join(load::rank_file(rank.registered.rank)).exists());
        keep(&folder.join(load::JOB_FILE), serde_json::to_vec(&job).unwrap_or_default());
    }
    let digest = Digest::new(loaded);
    anstream::eprint!("\n{}", text::summary(&digest));
    if let Some(folder) = &setting.folder {
        let page = folder.join(place::PAGE_FILE);
        if keep(&page, crate::report::html::render(&digest).into_bytes()) {
            anstream::eprintln!("\n  page     {}", page.display());
        }
        anstream::eprintln!("  details  pas report {}", folder.display());
    }
}

/// Writes a file of the report; a full disk costs a line, and leaves the job's exit code alone.
fn keep(path: &Path, bytes: Vec<u8>) -> bool {
    let written = output::file(path, &bytes);
    if let Err(failure) = &written {
        say(&failure.message);
    }
    written.is_ok()
}

/// The ranks' files, the daemon's part, or what there is of both.
fn gather(setting: &Setting) -> Option<Loaded> {
    let files = match &setting.folder {
        Some(folder) => load::from_folder(folder).map_err(|error| error.to_string()),
        None => Err("the job had no folder for its reports".to_string()),
    };
    let daemon = setting.url.as_ref().map(|url| {
        let client = Client::new(url, REPORT_DEADLINE)?;
        client.get::<JobReport>(&format!("/v1/jobs/{}/report", segment(&setting.job)))
    });
    match (files, daemon) {
        (Ok(files), Some(Ok(daemon))) => Some(load::with_daemon(files, daemon)),
        (Ok(mut files), Some(Err(error))) => {
            files.notes.push(format!("The daemon could not be asked: {error}."));
            Some(files)
        }
        (Ok(files), None) => Some(files),
        (Err(_), Some(Ok(daemon))) => Some(load::from_daemon(daemon)),
        (Err(_), _) => {
            say("no rank left a report: the job ran no MPI, ended before MPI_Finalize, or its \
                 ranks did not load libpas.so (`pas doctor` tells)");
            None
        }
    }
}
