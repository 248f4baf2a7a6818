use super::*;
use crate::report::sample;

fn folder_with(ranks: &[RankReport]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for rank in ranks {
        let path = folder.path().join(rank_file(rank.registered.rank));
        fs::write(path, serde_json::to_vec(rank).expect("json")).expect("written");
    }
    folder
}

fn numbers(report: &JobReport) -> Vec<u32> {
    report.ranks.iter().map(|rank| rank.registered.rank).collect()
}

#[test]
fn ranks_alone_make_a_report() {
    let folder = folder_with(&sample::job_report().ranks);
    let loaded = from_folder(folder.path()).expect("a report");
    assert_eq!(numbers(&loaded.report), [0, 1, 2, 3]);
    assert_eq!(loaded.report.job, None);
    assert_eq!(loaded.notes, Vec::<String>::new());
}

#[test]
fn broken_files_are_named_and_the_rest_is_shown() {
    let ranks = sample::job_report().ranks;
    let folder = folder_with(&ranks[..1]);
    let newer = RankReport { version: VERSION + 1, ..ranks[1].clone() };
    let files: [(&str, Vec<u8>); 6] = [
        ("rank-1.json", serde_json::to_vec(&newer).expect("json")),
        ("rank-2.json", b"{\"version\":1,".to_vec()),
        ("rank-3.json", Vec::new()),
        ("rank-4.json", b"\xff\xfe\x00".to_vec()),
        (JOB_FILE, b"[]".to_vec()),
        ("rank-x.json", b"not ours".to_vec()),
    ];
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect("written");
    }
    fs::create_dir(folder.path().join("rank-5.json")).expect("a folder of that name");
    let loaded = from_folder(folder.path()).expect("a report");
    assert_eq!(numbers(&loaded.report), [0]);
    let notes = loaded.notes.join("\n");
    for name in ["rank-1.json has version 2", "rank-2.json", "rank-3.json is empty", JOB_FILE] {
        assert!(notes.contains(name), "{name:?} is missing in\n{notes}");
    }
    assert_eq!(loaded.notes.len(), NOTES_MAX + 1, "the sixth is only counted:\n{notes}");
}

#[test]
fn a_file_beyond_the_limit_is_not_read() {
    let folder = folder_with(&sample::job_report().ranks[..1]);
    let long = fs::File::create(folder.path().join("rank-1.json")).expect("made");
    long.set_len(BODY_BYTES_MAX as u64 + 1).expect("a hole of that size");
    let loaded = from_folder(folder.path()).expect("a report");
    assert_eq!(numbers(&loaded.report), [0]);
    assert!(loaded.notes[0].contains("is longer than"), "{:?}", loaded.notes);
}

#[test]
fn of_two_jobs_in_one_folder_the_later_one_is_shown() {
    let mut ranks = sample::job_report().ranks;
    ranks[0].job = "older".into();
    ranks[0].started_unix_us -= 60_000_000;
    let folder = folder_with(&ranks);
    let loaded = from_folder(folder.path()).expect("a report");
    assert_eq!(numbers(&loaded.report), [1, 2, 3]);
    assert!(loaded.notes[0].contains("rank 0 of job older"), "{:?}", loaded.notes);
}

#[test]
fn a_folder_without_reports_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = from_folder(folder.path()).expect_err("empty").to_string();
    assert!(error.contains("pas run --report"), "{error}");
    fs::write(folder.path().join("rank-0.json"), "{").expect("written");
    let error = from_folder(folder.path()).expect_err("garbage alone").to_string();
    assert!(error.contains("rank-0.json"), "{error}");
    let error = from_folder(Path::new("/nowhere")).expect_err("no folder");
    assert!(matches!(error, LoadError::Folder { .. }));
}

#[test]
fn files_go_before_what_the_daemon_was_told() {
    let mut report = sample::job_report();
    let files = folder_with(&report.ranks[1..3]);
    report.ranks.remove(2);
    report.ranks[1].counters.clear();
    let loaded = with_daemon(from_folder(files.path()).expect("a report"), report);
    assert_eq!(numbers(&loaded.report), [0, 1, 2, 3]);
    assert!(!loaded.report.ranks[1].counters.is_empty(), "the file's, not the daemon's");
    assert!(loaded.report.job.is_some());
}

#[test]
fn of_a_large_job_few_time_lines_are_kept() {
    let one = sample::job_report().ranks.remove(0);
    let ranks: Vec<RankReport> = (0..100)
        .map(|rank| {
            let mut report = one.clone();
            report.registered.rank = rank;
            report
        })
        .collect();
    let folder = folder_with(&ranks);
    let loaded = from_folder(folder.path()).expect("a report");
    let ranks = loaded.report.ranks.iter();
    let kept: Vec<u32> =
        ranks.filter(|rank| !rank.timeline.is_empty()).map(|rank| rank.registered.rank).collect();
    assert_eq!(kept.len(), TIMELINE_RANKS_MAX);
    assert_eq!((kept[0], kept[kept.len() - 1]), (0, 99));
    assert_eq!(loaded.report.ranks.len(), 100);
}
