//! Whether a program can be preloaded at all, told from its file.

use object::{Object, ObjectSymbol};
use std::io::Read;
use std::path::Path;

/// Bytes of a program that are read; a larger one is taken to be as others are.
const PROGRAM_BYTES_MAX: u64 = 256 << 20;

/// Why libpas.so will see nothing of this program; `None` where it will, or where the file is no
/// program that can be read (a script may start anything).
pub fn out_of_reach(program: &Path) -> Option<&'static str> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(program).ok()?;
    file.take(PROGRAM_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let file = object::File::parse(bytes.as_slice()).ok()?;
    reason(&file)
}

fn reason(file: &object::File<'_>) -> Option<&'static str> {
    // A section that only dynamically linked programs and libraries have.
    if file.section_by_name(".dynamic").is_none() {
        return Some("it is linked statically, and nothing can be preloaded into it");
    }
    let defines = |mut symbols: Box<dyn Iterator<Item = object::Symbol<'_, '_>> + '_>| {
        symbols.any(|symbol| symbol.is_definition() && symbol.name() == Ok("PMPI_Init"))
    };
    match defines(Box::new(file.symbols())) || defines(Box::new(file.dynamic_symbols())) {
        true => Some("MPI is linked statically into it, where no preloaded library is asked"),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_program_is_within_reach_and_a_script_is_not_judged() {
        let this = std::env::current_exe().expect("a program");
        assert_eq!(out_of_reach(&this), None);
        assert_eq!(out_of_reach(Path::new("/proc/self/cmdline")), None);
        assert_eq!(out_of_reach(Path::new("/no/such/file")), None);
    }
}
