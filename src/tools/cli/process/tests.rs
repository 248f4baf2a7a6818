use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn the_exit_code_is_the_jobs_as_a_shell_says_it() {
    for (script, code) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
    ] {
        let status = run_foreground(&mut shell(script)).expect("started");
        assert_eq!(exit_code(status), code, "{script}");
    }
}

#[test]
fn what_cannot_be_started_is_an_error() {
    let error = run_foreground(&mut Command::new("/nowhere/mpirun")).expect_err("not there");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_short_answer_is_read_and_a_hanging_one_is_not_waited_for() {
    let patient = Duration::from_secs(30);
    let answer = ask(&mut shell("echo out; echo err >&2; exit 3"), patient).expect("answered");
    assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(exit_code(answer.status), 3);

    let error = ask(&mut shell("exec sleep 600"), Duration::from_millis(50)).expect_err("hangs");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[test]
fn a_flood_is_cut_and_does_not_block_the_writer() {
    let flood = "head -c 1000000 /dev/zero";
    let answer = ask(&mut shell(flood), Duration::from_secs(30)).expect("answered");
    assert_eq!(answer.stdout.len() as u64, ANSWER_BYTES_MAX);
    assert!(answer.status.success());
}
