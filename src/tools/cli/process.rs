//! Child processes: the job in the foreground, and short questions to other programs.

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// What a shell answers where a program is not found.
pub const EXIT_NOT_FOUND: u8 = 127;
/// What a shell answers where a program cannot be started.
pub const EXIT_NOT_STARTED: u8 = 126;

/// Signals that are meant for the job and so are handed on.
const HANDED_ON: &[i32] = &[SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// Most bytes that are kept of a program's answer.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// The exit code that a shell gives a process that ended so: its own, or 128 + the signal.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code & 0xff).unwrap_or(u8::MAX)
}

/// Runs the job with our standard streams until it ends; signals for it are handed on.
///
/// One thread does all: it sleeps until a signal comes, and only it reaps the child, so that no
/// signal can be sent to a process id that has passed to another process.
///
/// # Errors
///
/// Why it could not be started.
pub fn run_foreground(command: &mut Command) -> io::Result<ExitStatus> {
    let ignored = ignored_signals();
    let ours = HANDED_ON.iter().copied().filter(|signal| !ignored.contains(signal));
    let mut signals = SignalsInfo::<WithOrigin>::new(ours.chain([SIGCHLD]))?;
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        for origin in signals.wait() {
            if origin.signal != SIGCHLD && !reached_the_job_already(&origin) {
                hand_on(&child, origin.signal);
            }
        }
    }
}

/// The terminal sends its signals (Ctrl-C) to every process in the foreground, the job among them.
/// Handing them on as well would make two, and a launcher takes the second for "kill at once".
fn reached_the_job_already(origin: &Origin) -> bool {
    origin.cause == Cause::Kernel
}

fn hand_on(child: &Child, signal: i32) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
        // It fails where the job ended at this moment, which the next look will see.
        let _ = kill_process(pid, signal);
    }
}

/// Signals that whoever started us wants ignored (`nohup`, a shell's background job). Ignoring is
/// inherited by the job, and a handler of ours would undo that.
fn ignored_signals() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    (1..=64).filter(|signal| mask & (1 << (signal - 1)) != 0).collect()
}

/// What a program answered.
#[derive(Debug)]
pub struct Answer {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote on standard output.
    pub stdout: String,
    /// What it wrote on standard error.
    pub stderr: String,
}

/// Runs a short program without input, and gives up after `deadline`.
///
/// # Errors
///
/// It could not be started, or did not end in time (and was killed).
pub fn ask(command: &mut Command, deadline: Duration) -> io::Result<Answer> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let end = Instant::now() + deadline;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no answer within {} s", deadline.as_secs()),
            ));
        }
        thread::sleep(Duration::from_millis(5));
    };
    // A grandchild may hold the pipes open for ever: they are waited for no longer than the rest.
    let text = |pipe: mpsc::Receiver<Vec<u8>>| {
        let rest = end.saturating_duration_since(Instant::now());
        String::from_utf8_lossy(&pipe.recv_timeout(rest).unwrap_or_default()).into_owned()
    };
    Ok(Answer { status, stdout: text(stdout), stderr: text(stderr) })
}

/// Reads a pipe to its end, keeping only its beginning.
fn drain(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut pipe) = pipe {
            let mut head = (&mut pipe).take(ANSWER_BYTES_MAX);
            let complete = head.read_to_end(&mut kept).is_ok();
            if complete {
                let _ = io::copy(&mut pipe, &mut io::sink());
            }
        }
        let _ = send.send(kept);
    });
    receive
}

#[cfg(test)]
mod tests;
