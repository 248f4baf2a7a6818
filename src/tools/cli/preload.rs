//! Where libpas.so is, and how it joins the libraries that are preloaded already.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The library's file name.
pub const LIBRARY: &str = "libpas.so";

/// The preload list with our library in it exactly once.
///
/// The loader takes ':' and blanks for separators; entries that are there keep their order. Ours
/// goes last, because some libraries (sanitizers) insist on being first, and every wrapper hands
/// on to the next one anyway. An entry that is our library already, by whatever name, is replaced
/// where it stands: a second name of the same file would not load twice, but a second copy would.
pub fn merge(existing: Option<&OsStr>, lib: &Path) -> OsString {
    let mut entries: Vec<&[u8]> = Vec::new();
    let mut placed = false;
    let separator = |byte: &u8| *byte == b':' || byte.is_ascii_whitespace();
    for entry in existing.unwrap_or_default().as_bytes().split(separator) {
        if entry.is_empty() {
            continue;
        }
        if !is_ours(Path::new(OsStr::from_bytes(entry)), lib) {
            entries.push(entry);
        } else if !placed {
            placed = true;
            entries.push(lib.as_os_str().as_bytes());
        }
    }
    if !placed {
        entries.push(lib.as_os_str().as_bytes());
    }
    OsString::from_vec(entries.join(&b':'))
}

fn is_ours(entry: &Path, lib: &Path) -> bool {
    let same_file = match (entry.canonicalize(), lib.canonicalize()) {
        (Ok(entry), Ok(lib)) => entry == lib,
        _ => entry == lib,
    };
    same_file || entry.file_name() == Some(OsStr::new(LIBRARY))
}

/// The places where libpas.so is looked for, in order, by the path of the running `pas`.
fn places(pas: &Path) -> Vec<PathBuf> {
    let Some(folder) = pas.parent() else {
        return Vec::new();
    };
    ["", "../lib", "../lib/pas", "../release"]
        .iter()
        .map(|place| folder.join(place).join(LIBRARY))
        .chain([Path::new("target/release").join(LIBRARY)])
        .collect()
}

/// Finds libpas.so: the file that `PAS_LIB` names, or else near the `pas` at `pas`.
///
/// # Errors
///
/// What was looked for, and what to do.
pub fn find(named: Option<&OsStr>, pas: &Path) -> Result<PathBuf, String> {
    let tried = match named {
        Some(named) => vec![PathBuf::from(named)],
        None => places(pas),
    };
    let Some(found) = tried.iter().find(|place| place.is_file()) else {
        let list: Vec<String> = tried.iter().map(|place| place.display().to_string()).collect();
        let fix = match named {
            Some(_) => "PAS_LIB must name the file itself",
            None => "build it with `cargo build --release`, or name it: PAS_LIB=/PATH/TO/libpas.so",
        };
        return Err(format!("{LIBRARY} is not at {}; {fix}", list.join(", nor at ")));
    };
    let path = found
        .canonicalize()
        .map_err(|error| format!("{} cannot be resolved ({error})", found.display()))?;
    let split = |byte: &u8| *byte == b':' || byte.is_ascii_whitespace();
    if path.as_os_str().as_bytes().iter().any(split) {
        return Err(format!(
            "the loader cannot preload {}: its path holds a blank or ':'; copy the file elsewhere \
             and name it: PAS_LIB=/PATH/TO/{LIBRARY}",
            path.display()
        ));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn merged(existing: &str, lib: &Path) -> String {
        merge(Some(OsStr::new(existing)), lib).into_string().expect("text")
    }

    #[test]
    fn ours_is_in_the_list_once_and_the_others_keep_their_order() {
        let lib = Path::new("/opt/pas/libpas.so");
        assert_eq!(merge(None, lib), "/opt/pas/libpas.so");
        for (before, after) in [
            ("", "/opt/pas/libpas.so"),
            ("/a/x.so", "/a/x.so:/opt/pas/libpas.so"),
            ("/a/x.so:/b/y.so", "/a/x.so:/b/y.so:/opt/pas/libpas.so"),
            ("/a/x.so  /b/y.so\tz.so", "/a/x.so:/b/y.so:z.so:/opt/pas/libpas.so"),
            ("/opt/pas/libpas.so:/b/y.so", "/opt/pas/libpas.so:/b/y.so"),
            ("/a/x.so:/opt/pas/libpas.so:/b/y.so", "/a/x.so:/opt/pas/libpas.so:/b/y.so"),
            ("libpas.so:/b/y.so:/old/libpas.so", "/opt/pas/libpas.so:/b/y.so"),
            ("::/a/x.so::", "/a/x.so:/opt/pas/libpas.so"),
        ] {
            assert_eq!(merged(before, lib), after, "{before:?}");
        }
    }

    #[test]
    fn a_link_to_ours_is_ours() {
        let folder = tempfile::tempdir().expect("a folder");
        let lib = folder.path().join(LIBRARY);
        let link = folder.path().join("tool.so");
        fs::write(&lib, "").expect("a file");
        std::os::unix::fs::symlink(&lib, &link).expect("a link");
        let before = format!("/a/x.so:{}", link.display());
        assert_eq!(merged(&before, &lib), format!("/a/x.so:{}", lib.display()));
    }

    #[test]
    fn the_library_is_found_beside_the_binary_and_where_it_is_installed() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        let bin = root.join("bin");
        let lib = root.join("lib");
        fs::create_dir_all(&bin).expect("bin");
        fs::create_dir_all(&lib).expect("lib");
        let pas = bin.join("pas");
        let error = find(Some(OsStr::new("/nowhere/libpas.so")), &pas).expect_err("not there");
        assert!(error.contains("/nowhere/libpas.so") && error.contains("PAS_LIB"), "{error}");

        fs::write(lib.join(LIBRARY), "").expect("a file");
        assert_eq!(find(None, &pas), Ok(lib.join(LIBRARY)));
        fs::write(bin.join(LIBRARY), "").expect("a file");
        assert_eq!(find(None, &pas), Ok(bin.join(LIBRARY)));
        let named = lib.join(LIBRARY);
        assert_eq!(find(Some(named.as_os_str()), &pas), Ok(named));
    }

    #[test]
    fn a_path_that_the_loader_would_split_is_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("my libs");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(LIBRARY), "").expect("a file");
        let error = find(Some(folder.join(LIBRARY).as_os_str()), Path::new("/x/pas"));
        assert!(error.expect_err("refused").contains("blank"));
    }
}
