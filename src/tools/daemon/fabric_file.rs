//! The fabric's TOML file: read, checked, and every fault told with its line.

use pas_core::fabric::{Fabric, FabricSpec};
use std::fmt;
use std::path::Path;

/// The fabric of `pasd --demo` and of the demo script.
pub const DEMO: &str = include_str!("../../../scripts/fabric-demo.toml");

/// A file longer than this is refused: the largest fabric takes 4 MiB.
const BYTES_MAX: u64 = 16 << 20;

/// What is wrong with a file.
#[derive(Debug)]
pub struct FabricFileError {
    file: String,
    /// Line (from 1; 0: the file as a whole) and reason.
    faults: Vec<(usize, String)>,
}

impl fmt::Display for FabricFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (line, reason)) in self.faults.iter().enumerate() {
            let end = if index + 1 < self.faults.len() { "\n" } else { "" };
            match line {
                0 => write!(f, "{}: {reason}{end}", self.file)?,
                line => write!(f, "{}:{line}: {reason}{end}", self.file)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for FabricFileError {}

/// Reads and checks a file.
pub fn read(path: &Path) -> Result<Fabric, FabricFileError> {
    let file = path.display().to_string();
    let whole = |reason: String| FabricFileError { file: file.clone(), faults: vec![(0, reason)] };
    let size = std::fs::metadata(path).map_err(|error| whole(error.to_string()))?.len();
    if size > BYTES_MAX {
        return Err(whole(format!("{size} bytes; a fabric file has {BYTES_MAX} at most")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| whole(error.to_string()))?;
    parse(&file, &text)
}

/// Checks a file's text; `file` is its name in messages.
pub fn parse(file: &str, text: &str) -> Result<Fabric, FabricFileError> {
    let fault = |faults| FabricFileError { file: file.to_owned(), faults };
    let spec: FabricSpec = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(0, |span| line_of(text, span.start));
        fault(vec![(line, error.message().to_owned())])
    })?;
    spec.validate().map_err(|problems| {
        let with_line = |problem: pas_core::fabric::SpecProblem| {
            (line_of_path(text, &problem.path), format!("{}: {}", problem.path, problem.reason))
        };
        fault(problems.into_iter().map(with_line).collect())
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The line of the value at a path such as `planes[1].ports.host3`; of the nearest value around
/// it where the file has none at the path itself; 0 where there is nothing.
fn line_of_path(text: &str, path: &str) -> usize {
    let Ok(document) = toml::de::DeTable::parse(text) else { return 0 };
    let mut line = 0;
    let mut value: Option<&toml::de::DeValue<'_>> = None;
    for step in path.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
        let next = match (value, step.parse::<usize>()) {
            (None, _) => document.get_ref().get(step),
            (Some(toml::de::DeValue::Table(table)), _) => table.get(step),
            (Some(toml::de::DeValue::Array(array)), Ok(index)) => array.get(index),
            _ => None,
        };
        let Some(next) = next else { break };
        line = line_of(text, next.span().start);
        value = Some(next.get_ref());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        parse("fabric.toml", text).expect_err("a faulty file").to_string()
    }

    #[test]
    fn the_demo_fabric_is_good() {
        let fabric = parse("demo", DEMO).expect("a good file");
        assert_eq!(fabric.hosts, ["host0", "host1", "host2", "host3"]);
        assert_eq!(fabric.planes.len(), 2);
    }

    #[test]
    fn faults_are_told_with_their_line() {
        let unknown = DEMO.replacen("circuit_bps", "circuit_bsp", 1);
        let line = DEMO.lines().position(|line| line.starts_with("circuit_bps")).expect("a line");
        assert!(complaint(&unknown).starts_with(&format!("fabric.toml:{}: ", line + 1)));
        assert!(complaint(&unknown).contains("circuit_bsp"));
        let twice = DEMO.replacen("host1 = 2", "host1 = 1", 1);
        let line = DEMO.lines().position(|line| line.starts_with("host1 = 2")).expect("a line");
        let told = complaint(&twice);
        assert!(told.contains(&format!("fabric.toml:{}: ", line + 1)), "{told}");
    }

    #[test]
    fn what_is_no_toml_is_told_too() {
        assert!(complaint("name = ").starts_with("fabric.toml:1: "));
        assert!(complaint("").contains("missing field"));
    }
}
