use super::*;
use crate::report::{load, sample};

fn plain(digest: &Digest) -> String {
    anstream::adapter::strip_str(&render(digest)).to_string()
}

/// The whole text, as a person sees it. A wanted change: `PAS_BLESS=1 cargo test -p pas-tools`.
#[test]
fn the_samples_report_is_the_golden_text() {
    let text = plain(&Digest::new(load::from_daemon(sample::job_report())));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/report/golden/sample.txt");
    if std::env::var_os("PAS_BLESS").is_some() {
        std::fs::write(path, &text).expect("blessed");
    }
    assert_eq!(text, std::fs::read_to_string(path).expect("the golden file"));
}

#[test]
fn a_report_without_a_daemon_says_what_to_do() {
    let mut report = sample::job_report();
    (report.job, report.fabric) = (None, None);
    report.circuit_log.clear();
    for rank in &mut report.ranks {
        rank.requests.clear();
        rank.losses.clear();
        rank.counters.clear();
    }
    report.ranks.remove(3);
    let text = plain(&Digest::new(load::from_daemon(report)));
    for part in [
        "none: no daemon told of one",
        "never asked: no daemon (set PAS_URL, or start the job with `pas run`)",
        "reports of 1 rank (3)",
        "the program does not call pas_report_loss",
        "nothing was dropped, bypassed or failed",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

#[test]
fn names_cannot_control_the_terminal() {
    let mut report = sample::job_report();
    for rank in &mut report.ranks {
        rank.job = "job\x1b[2J".into();
        rank.registered.program = "evil\x1b]0;owned\x07".into();
        for phase in &mut rank.phases {
            phase.comm_name = "row\r\x1b[1A".into();
        }
        for comm in &mut rank.comms {
            comm.name = "row\r\x1b[1A".into();
        }
        rank.counters.insert("bypass.\x1b[31m".into(), 1);
    }
    let text = render(&Digest::new(load::from_daemon(report)));
    let stripped = anstream::adapter::strip_str(&text).to_string();
    assert!(!stripped.chars().any(|c| c.is_control() && c != '\n'), "{stripped:?}");
    assert!(stripped.contains("job\u{fffd}[2J"), "shown, and harmless");
    assert!(!text.contains("\x1b[2J") && !text.contains("\x1b[1A") && !text.contains('\x07'));
}

#[test]
fn an_empty_report_can_be_shown() {
    let text = plain(&Digest::new(load::from_daemon(load::empty())));
    assert!(text.contains("0 ranks on 0 hosts"), "{text}");
}
