use super::checks::{daemon, fabric, library, silence, version_mark};
use super::*;
use std::fs;
use std::path::Path;

#[test]
fn the_version_is_read_out_of_the_library() {
    assert_eq!(
        version_mark(b"..libpas.so libpas.so x\0libpas.so 0.12.3; its\0"),
        Some("0.12.3".into())
    );
    assert_eq!(version_mark(b"libpas.so 1.2\0libpas.so "), None);
    assert_eq!(version_mark(b""), None);
}

#[test]
fn what_is_no_libpas_is_said_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("libpas.so");
    fs::write(&text, "not a library").expect("written");
    let check = library(&text);
    assert_eq!(check.level, Level::Fail);
    assert!(check.found.contains("is no library"), "{}", check.found);

    // This test is a program of the right machine without any MPI function.
    let check = library(&std::env::current_exe().expect("a path"));
    assert_eq!(check.level, Level::Fail);
    assert!(check.found.contains("does not define MPI_Init"), "{}", check.found);

    let check = silence(&text);
    assert_eq!(check.level, Level::Fail, "the loader complains: {}", check.found);
}

#[test]
fn a_named_daemon_must_answer() {
    assert_eq!(daemon(Some("unix:/nowhere/pasd.sock")).level, Level::Fail);
    assert_eq!(daemon(Some("nonsense")).level, Level::Fail);
}

#[test]
fn a_fabric_file_is_checked_to_the_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fabric.toml");
    assert_eq!(fabric(Path::new("/nowhere.toml")).level, Level::Fail);
    fs::write(&file, "name = \"x\"\neps_bps = oops\n").expect("written");
    let check = fabric(&file);
    assert!(
        check.level == Level::Fail && check.found.contains("fabric.toml:2:"),
        "{}",
        check.found
    );

    let good = "name = \"x\"\neps_bps = 1000\n[[planes]]\nname = \"a\"\ncircuit_bps = 1000\n\
                optical_ns = { fixed = 1 }\nlink_up_ns = { fixed = 1 }\n\
                ports = { one = 1, two = 2 }\n";
    fs::write(&file, good).expect("written");
    let check = fabric(&file);
    assert_eq!(check.level, Level::Warn, "this machine is not called one or two: {}", check.found);
    fs::write(&file, good.replace("two = 2", "two = 1")).expect("written");
    let check = fabric(&file);
    assert!(
        check.level == Level::Fail && check.found.contains("planes[0].ports"),
        "{}",
        check.found
    );
}

#[test]
fn the_verdict_tells_what_is_to_be_done() {
    let text = render(&[
        Check::ok("kernel", "Linux"),
        Check::warn("mpirun", "none", "install one"),
        Check::fail("libpas", "gone", "build it"),
    ]);
    let text = anstream::adapter::strip_str(&text).to_string();
    assert_eq!(
        text,
        "ok    kernel    Linux\n\
         warn  mpirun    none\n                \
         -> install one\n\
         FAIL  libpas    gone\n                \
         -> build it\n\n\
         1 must be mended before PAS can work here\n"
    );
}
