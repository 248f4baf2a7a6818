//! Proves `src/preload/flavor/facts.rs` against the `mpi.h` of each installed MPI.
//!
//! bindgen reads types, layouts and integer constants. Handles and addresses are casts, which no
//! header reader evaluates: a program compiled against the same header prints those.

#[path = "../../src/preload/flavor/facts.rs"]
mod facts;

use crate::run::{Mpi, finish};
use crate::trial;
use facts::{Constant, Facts, Predefined};
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    vec![
        trial("flavor::open_mpi_layouts", || layouts(Mpi::OpenMpi, &facts::OPEN_MPI)),
        trial("flavor::mpich_layouts", || layouts(Mpi::Mpich, &facts::MPICH)),
        trial("flavor::open_mpi_values", || values(Mpi::OpenMpi, &facts::OPEN_MPI)),
        trial("flavor::mpich_values", || values(Mpi::Mpich, &facts::MPICH)),
        trial("flavor::open_mpi_symbols", open_mpi_symbols),
        trial("flavor::mpich_encoding", mpich_encoding),
    ]
}

fn output(mut command: Command) -> Result<String, String> {
    let outcome = finish(command_quiet(&mut command), Duration::from_secs(60))?;
    match outcome.code {
        0 => Ok(outcome.stdout),
        code => Err(format!("ended with {code}: {}", outcome.stderr)),
    }
}

fn command_quiet(command: &mut Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    copy.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    copy
}

/// The folder of the MPI's mpi.h, as its compiler wrapper says.
fn include_folders(mpi: Mpi) -> Result<Vec<String>, String> {
    let mut wrapper = Command::new(format!("mpicc.{}", mpi.name()));
    wrapper.arg(if mpi == Mpi::OpenMpi { "--showme:compile" } else { "-compile_info" });
    let line = output(wrapper)?;
    Ok(line.split_whitespace().filter(|word| word.starts_with("-I")).map(str::to_owned).collect())
}

/// What bindgen makes of the header, as Rust text.
fn bindings(mpi: Mpi) -> Result<String, String> {
    let builder = bindgen::Builder::default()
        .header_contents("wrapper.h", "#include <mpi.h>\n")
        .clang_args(include_folders(mpi)?)
        .allowlist_type("MPI_Status|MPI_Comm|MPI_Datatype|MPI_Op")
        .allowlist_var("MPI_.*")
        .layout_tests(true);
    builder.generate().map(|made| made.to_string()).map_err(|error| error.to_string())
}

/// An integer constant of the header.
fn constant(bindings: &str, name: &str) -> Result<i64, String> {
    let line = bindings.lines().find(|line| line.starts_with(&format!("pub const {name}: ")));
    let value = line.and_then(|line| line.split_once(" = ")).map(|(_, value)| value);
    let value = value.ok_or_else(|| format!("bindgen gives no {name}"))?;
    value.trim_end_matches(';').parse().map_err(|error| format!("{name}: {error}"))
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, wanted: T) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{what}: {got:?}, the table has {wanted:?}")) }
}

fn layouts(mpi: Mpi, facts: &Facts) -> Result<(), String> {
    let text = bindings(mpi)?;
    let squeezed: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for handle in ["MPI_Comm", "MPI_Datatype", "MPI_Op"] {
        let alias = format!("pub type {handle} = ");
        let kind = squeezed.split(&alias).nth(1).and_then(|rest| rest.split(';').next());
        let bytes = match kind {
            Some("::std::os::raw::c_int") => 4,
            Some(kind) if kind.starts_with("*mut ") => 8,
            other => return Err(format!("{handle} is {other:?}")),
        };
        expect(handle, bytes, facts.handle_bytes)?;
    }
    let source = squeezed.contains(&format!("MPI_SOURCE) - {}", facts.status_source_offset))
        || squeezed.contains(&format!(
            "offset_of!(ompi_status_public_t, MPI_SOURCE) - {}usize",
            facts.status_source_offset
        ))
        || squeezed.contains(&format!(
            "offset_of!(MPI_Status, MPI_SOURCE) - {}usize",
            facts.status_source_offset
        ));
    expect("MPI_SOURCE is where the table says", source, true)?;
    expect("MPI_PROC_NULL", constant(&text, "MPI_PROC_NULL")?, facts.proc_null.into())?;
    expect("MPI_ANY_SOURCE", constant(&text, "MPI_ANY_SOURCE")?, facts.any_source.into())?;
    expect("MPI_ROOT", constant(&text, "MPI_ROOT")?, facts.root.into())?;
    expect("MPI_ERR_OTHER", constant(&text, "MPI_ERR_OTHER")?, facts.err_other.into())?;
    let longest = |name| constant(&text, name).map(|value| value as usize);
    let name = longest("MPI_MAX_OBJECT_NAME").or_else(|_| longest("OPAL_MAX_OBJECT_NAME"))?;
    expect("MPI_MAX_OBJECT_NAME", name, facts.object_name_bytes_max)?;
    let version = longest("MPI_MAX_LIBRARY_VERSION_STRING")?;
    expect("MPI_MAX_LIBRARY_VERSION_STRING", version, facts.library_version_bytes_max)
}

/// Compiles and runs a program that prints `name value` lines.
fn printed(mpi: Mpi, body: &str) -> Result<BTreeMap<String, i64>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, program) = (folder.path().join("values.c"), folder.path().join("values"));
    let text = format!(
        "#include <mpi.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n\
         #define P(name, value) printf(\"%s %lld\\n\", name, (long long)(value));\n\
         int main(void) {{ {body} return 0; }}\n"
    );
    fs::write(&source, text).map_err(|error| error.to_string())?;
    let mut compiler = Command::new(format!("mpicc.{}", mpi.name()));
    compiler.arg("-w").arg("-o").arg(&program).arg(&source);
    output(compiler)?;
    let lines = output(Command::new(&program))?;
    let pair = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    Ok(lines.lines().filter_map(pair).collect())
}

fn values(mpi: Mpi, facts: &Facts) -> Result<(), String> {
    let body = "P(\"in_place\", (intptr_t)MPI_IN_PLACE) P(\"ignore\", (intptr_t)MPI_STATUS_IGNORE) \
                P(\"source\", offsetof(MPI_Status, MPI_SOURCE)) P(\"handle\", sizeof(MPI_Comm)) \
                P(\"success\", MPI_SUCCESS)";
    let found = printed(mpi, body)?;
    let get = |name: &str| found.get(name).copied().ok_or_else(|| format!("no {name}"));
    expect("MPI_IN_PLACE", get("in_place")?, facts.in_place as i64)?;
    expect("MPI_STATUS_IGNORE", get("ignore")?, facts.status_ignore as i64)?;
    expect("MPI_SOURCE's place", get("source")?, facts.status_source_offset as i64)?;
    expect("a handle's width", get("handle")?, facts.handle_bytes as i64)?;
    expect("MPI_SUCCESS", get("success")?, 0)
}

/// Every symbol of the table is the address that the header's constant has.
fn open_mpi_symbols() -> Result<(), String> {
    let Predefined::Symbols { datatypes, ops } = facts::OPEN_MPI.predefined else {
        return Err("Open MPI's handles are symbols".to_owned());
    };
    let name = |symbol: &&std::ffi::CStr| symbol.to_string_lossy().into_owned();
    let mut declared: Vec<String> = datatypes.iter().chain(ops).map(name).collect();
    for constant in [facts::OPEN_MPI.comm_world, facts::OPEN_MPI.comm_null] {
        match constant {
            Constant::Symbol(symbol) => declared.push(symbol.to_string_lossy().into_owned()),
            Constant::Value(value) => return Err(format!("{value} is no symbol")),
        }
    }
    let pairs = [
        ("MPI_COMM_WORLD", "ompi_mpi_comm_world"),
        ("MPI_FLOAT", "ompi_mpi_float"),
        ("MPI_DOUBLE", "ompi_mpi_double"),
        ("MPI_LONG_LONG", "ompi_mpi_long_long_int"),
        ("MPI_SUM", "ompi_mpi_op_sum"),
        ("MPI_MINLOC", "ompi_mpi_op_minloc"),
    ];
    let found = printed_symbols(&declared, &pairs)?;
    match found.iter().find(|(_, holds)| **holds != 1) {
        Some((name, _)) => Err(format!("{name} is not what the header says")),
        None => Ok(()),
    }
}

/// Compares addresses through dlsym, as libpas.so does.
fn printed_symbols(
    symbols: &[String],
    pairs: &[(&str, &str)],
) -> Result<BTreeMap<String, i64>, String> {
    let mut body = String::from("void *dlsym(void *, const char *);");
    for symbol in symbols {
        body.push_str(&format!("P(\"{symbol}\", dlsym(0, \"{symbol}\") != 0)"));
    }
    for (constant, symbol) in pairs {
        body.push_str(&format!("P(\"{constant}\", (void *){constant} == dlsym(0, \"{symbol}\"))"));
    }
    printed(Mpi::OpenMpi, &body)
}

/// The bits of MPICH's handles tell kind and size, for every basic datatype and operation.
fn mpich_encoding() -> Result<(), String> {
    const TYPES: [&str; 24] = [
        "CHAR",
        "SIGNED_CHAR",
        "UNSIGNED_CHAR",
        "BYTE",
        "WCHAR",
        "SHORT",
        "UNSIGNED_SHORT",
        "INT",
        "UNSIGNED",
        "LONG",
        "UNSIGNED_LONG",
        "FLOAT",
        "DOUBLE",
        "LONG_DOUBLE",
        "LONG_LONG",
        "INT8_T",
        "INT16_T",
        "INT32_T",
        "INT64_T",
        "UINT64_T",
        "C_BOOL",
        "C_DOUBLE_COMPLEX",
        "AINT",
        "COUNT",
    ];
    const OPS: [&str; 12] = [
        "MAX", "MIN", "SUM", "PROD", "LAND", "BAND", "LOR", "BOR", "LXOR", "BXOR", "MINLOC",
        "MAXLOC",
    ];
    let Predefined::Encoded { datatype_mask, datatype, size_shift, size_mask, op_mask, op } =
        facts::MPICH.predefined
    else {
        return Err("MPICH's handles are numbers".to_owned());
    };
    let mut body = String::from("int n;");
    for name in TYPES {
        body.push_str(&format!("P(\"T{name}\", (unsigned)MPI_{name})"));
        body.push_str(&format!("MPI_Type_size(MPI_{name}, &n); P(\"S{name}\", n)"));
    }
    for name in OPS {
        body.push_str(&format!("P(\"O{name}\", (unsigned)MPI_{name})"));
    }
    body.push_str("P(\"world\", (unsigned)MPI_COMM_WORLD) P(\"null\", (unsigned)MPI_COMM_NULL)");
    let found = printed(Mpi::Mpich, &format!("MPI_Init(0, 0); {body} MPI_Finalize();"))?;
    let get = |name: String| found.get(&name).copied().ok_or(format!("no {name}"));
    for name in TYPES {
        let handle = get(format!("T{name}"))? as u32;
        expect(name, handle & datatype_mask, datatype)?;
        let bytes = i64::from((handle >> size_shift) & size_mask);
        expect(&format!("size of {name}"), bytes, get(format!("S{name}"))?)?;
    }
    for name in OPS {
        expect(name, get(format!("O{name}"))? as u32 & op_mask, op)?;
    }
    expect("world", Constant::Value(get("world".into())? as u32), facts::MPICH.comm_world)?;
    expect("null", Constant::Value(get("null".into())? as u32), facts::MPICH.comm_null)
}
