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

/// The reductions that every MPI has.
const OPS: [&str; 12] =
    ["MAX", "MIN", "SUM", "PROD", "LAND", "BAND", "LOR", "BOR", "LXOR", "BXOR", "MINLOC", "MAXLOC"];

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = Vec::new();
    for mpi in Mpi::ALL {
        let title = |what: &str| format!("flavor::{what}::{}", mpi.name());
        trials.push(trial(title("layouts"), move || layouts(mpi, facts_of(mpi))));
        trials.push(trial(title("values"), move || values(mpi, facts_of(mpi))));
        trials.push(trial(title("predefined"), move || predefined(mpi, facts_of(mpi))));
    }
    trials
}

/// The facts that libpas.so takes for this MPI.
fn facts_of(mpi: Mpi) -> &'static Facts {
    match mpi {
        Mpi::OpenMpi | Mpi::OpenMpi5 => &facts::OPEN_MPI,
        Mpi::Mpich | Mpi::Mpich5 | Mpi::Intel => &facts::MPICH,
        Mpi::MpichAbi => &facts::STANDARD,
    }
}

fn output(command: Command) -> Result<String, String> {
    let outcome = finish(command, Duration::from_secs(60))?;
    match outcome.code {
        0 => Ok(outcome.stdout),
        code => Err(format!("ended with {code}: {}", outcome.stderr)),
    }
}

/// The folder of the MPI's mpi.h, as its compiler wrapper says.
fn include_folders(mpi: Mpi) -> Result<Vec<String>, String> {
    let mut wrapper = mpi.compiler();
    wrapper.arg(if mpi.is_open_mpi() { "--showme:compile" } else { "-show" });
    let line = output(wrapper)?;
    let mut flags: Vec<String> =
        line.replace('"', "").split_whitespace().map(str::to_owned).collect();
    flags.retain(|word| word.starts_with("-I") || word.starts_with("-D"));
    Ok(flags)
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
    let offset = format!("MPI_SOURCE) - {}", facts.status_source_offset);
    expect("MPI_SOURCE is where the table says", squeezed.contains(&offset), true)
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
    let mut compiler = mpi.compiler();
    compiler.arg("-w").arg("-o").arg(&program).arg(&source);
    output(compiler)?;
    let mut command = Command::new(&program);
    command.envs(mpi.environment());
    let lines = output(command)?;
    let pair = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    Ok(lines.lines().filter_map(pair).collect())
}

fn values(mpi: Mpi, facts: &Facts) -> Result<(), String> {
    let body = "P(\"in_place\", (intptr_t)MPI_IN_PLACE) P(\"ignore\", (intptr_t)MPI_STATUS_IGNORE) \
                P(\"source\", offsetof(MPI_Status, MPI_SOURCE)) P(\"handle\", sizeof(MPI_Comm)) \
                P(\"success\", MPI_SUCCESS) P(\"proc_null\", MPI_PROC_NULL) P(\"root\", MPI_ROOT) \
                P(\"any\", MPI_ANY_SOURCE) P(\"other\", MPI_ERR_OTHER) \
                P(\"name\", MPI_MAX_OBJECT_NAME) P(\"version\", MPI_MAX_LIBRARY_VERSION_STRING)";
    let found = printed(mpi, body)?;
    let get = |name: &str| found.get(name).copied().ok_or_else(|| format!("no {name}"));
    expect("MPI_IN_PLACE", get("in_place")?, facts.in_place as i64)?;
    expect("MPI_STATUS_IGNORE", get("ignore")?, facts.status_ignore as i64)?;
    expect("MPI_SOURCE's place", get("source")?, facts.status_source_offset as i64)?;
    expect("a handle's width", get("handle")?, facts.handle_bytes as i64)?;
    expect("MPI_SUCCESS", get("success")?, 0)?;
    expect("MPI_PROC_NULL", get("proc_null")?, facts.proc_null.into())?;
    expect("MPI_ROOT", get("root")?, facts.root.into())?;
    expect("MPI_ANY_SOURCE", get("any")?, facts.any_source.into())?;
    expect("MPI_ERR_OTHER", get("other")?, facts.err_other.into())?;
    expect("MPI_MAX_OBJECT_NAME", get("name")?, facts.object_name_bytes_max as i64)?;
    let version = get("version")?;
    expect("MPI_MAX_LIBRARY_VERSION_STRING", version, facts.library_version_bytes_max as i64)
}

/// Predefined datatypes and operations are told as the table says.
fn predefined(mpi: Mpi, facts: &Facts) -> Result<(), String> {
    match facts.predefined {
        Predefined::Encoded { .. } => mpich_encoding(mpi),
        Predefined::Listed { datatypes, ops } => listed(mpi, facts, datatypes, ops),
    }
}

/// Every handle of the table is there, and those that programs use are in the table.
fn listed(mpi: Mpi, facts: &Facts, datatypes: &[Constant], ops: &[Constant]) -> Result<(), String> {
    const TYPES: [&str; 14] = [
        "CHAR",
        "BYTE",
        "SHORT",
        "INT",
        "LONG",
        "LONG_LONG",
        "FLOAT",
        "DOUBLE",
        "INT32_T",
        "INT64_T",
        "UINT64_T",
        "C_DOUBLE_COMPLEX",
        "AINT",
        "C_BOOL",
    ];
    let mut body = String::from("void *dlsym(void *, const char *);");
    let mut number = 0;
    let mut print = |name: String, value: &Constant| {
        number += 1;
        match value {
            Constant::Value(value) => body.push_str(&format!("P(\"{name}\", {value})")),
            Constant::Symbol(symbol) => {
                let symbol = symbol.to_string_lossy();
                body.push_str(&format!("P(\"{name}\", (intptr_t)dlsym(0, \"{symbol}\"))"));
            }
        }
    };
    for (index, handle) in datatypes.iter().enumerate() {
        print(format!("t{index}"), handle);
    }
    for (index, handle) in ops.iter().enumerate() {
        print(format!("o{index}"), handle);
    }
    print("world".to_owned(), &facts.comm_world);
    print("null".to_owned(), &facts.comm_null);
    for name in TYPES.iter().chain(&OPS).chain(&["COMM_WORLD", "COMM_NULL"]) {
        body.push_str(&format!("P(\"{name}\", (intptr_t)MPI_{name})"));
    }
    let found = printed(mpi, &body)?;
    let get = |name: &str| found.get(name).copied().ok_or_else(|| format!("no {name}"));
    if let Some((name, _)) = found.iter().find(|(_, handle)| **handle == 0) {
        return Err(format!("{name} is not in the library"));
    }
    let all = |prefix: char| -> Vec<i64> {
        let of = found.iter().filter(|(name, _)| {
            name.starts_with(prefix) && name.chars().skip(1).all(|c| c.is_ascii_digit())
        });
        of.map(|(_, handle)| *handle).collect()
    };
    for (prefix, names) in [('t', &TYPES[..]), ('o', &OPS[..])] {
        let handles = all(prefix);
        for name in names {
            expect(name, handles.contains(&get(name)?), true)?;
        }
    }
    expect("MPI_COMM_WORLD", get("COMM_WORLD")?, get("world")?)?;
    expect("MPI_COMM_NULL", get("COMM_NULL")?, get("null")?)?;
    expect("handles of the table", number > 50, true)
}

/// The bits of MPICH's handles tell kind and size, for every basic datatype and operation.
fn mpich_encoding(mpi: Mpi) -> Result<(), String> {
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
    let found = printed(mpi, &format!("MPI_Init(0, 0); {body} MPI_Finalize();"))?;
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
