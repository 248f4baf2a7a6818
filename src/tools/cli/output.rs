//! What goes to standard output and into files.

use crate::cli::Failure;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

/// Prints text; colours only where standard output is a terminal that wants them (`NO_COLOR`).
///
/// # Errors
///
/// Standard output cannot be written; that a reader (`head`) has had enough is no error.
pub fn text(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    told(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Clears the screen, where there is one.
///
/// # Errors
///
/// As [`text`].
pub fn clear() -> Result<(), Failure> {
    match io::stdout().is_terminal() {
        true => told(write!(io::stdout(), "\x1b[H\x1b[2J")),
        false => text("\n"),
    }
}

/// Prints a value as JSON.
///
/// # Errors
///
/// As [`text`].
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::new)?;
    let mut out = io::stdout().lock();
    told(writeln!(out, "{text}").and_then(|()| out.flush()))
}

fn told(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to standard output ({error})")))
        }
        _ => Ok(()),
    }
}

/// Writes a file whole or not at all, so that a full disk leaves the one before. What is no regular
/// file (`/dev/stdout`) is written to directly.
///
/// # Errors
///
/// What could not be written, and why.
pub fn file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!("cannot write {} ({error}); name another place", path.display()))
    };
    if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        return File::create(path).and_then(|mut file| file.write_all(bytes)).map_err(failed);
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    });
    written.map_err(|error| {
        // There may be no such file, and the first error is the one that tells.
        let _ = fs::remove_file(&part);
        failed(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_and_leaves_what_was_there() {
        let error = file(Path::new("/dev/full"), b"page").expect_err("always full");
        assert!(error.message.contains("/dev/full"), "{}", error.message);

        let folder = tempfile::tempdir().expect("a folder");
        let page = folder.path().join("page.html");
        file(&page, b"one").expect("written");
        file(&page, b"two").expect("written again");
        assert_eq!(fs::read(&page).expect("there"), b"two");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);

        let nowhere = folder.path().join("no/such/page.html");
        let error = file(&nowhere, b"page").expect_err("no folder");
        assert!(error.message.contains("no/such/page.html"), "{}", error.message);
    }
}
