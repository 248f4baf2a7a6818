//! Ways in which MPI and libpas.so come into a process: other tools before and behind it, libraries
//! that are loaded late or twice, static programs, sanitizers, interpreters.

use crate::fake_pasd::{FakePasd, Script};
use crate::reports::{self, expect, sum};
use crate::run::{Job, Mpi, Outcome, agree, finish, libpas, target, top};
use crate::trial;
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Those that can spawn processes here.
const SPAWNING: [Mpi; 5] = [Mpi::OpenMpi, Mpi::OpenMpi5, Mpi::Mpich5, Mpi::MpichAbi, Mpi::Intel];

type Test = fn(Mpi) -> Result<(), String>;

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    let each: [(&str, &[Mpi], Test); 14] = [
        ("spawned_jobs", &SPAWNING, spawned),
        ("no_communication_of_its_own", &Mpi::ALL, tripwire),
        ("ranks_of_one_job", &Mpi::ALL, one_job),
        ("tools_before_and_behind", &Mpi::ALL, stacked),
        ("a_constructor_that_asks_mpi", &Mpi::BOTH, early),
        ("an_allocator_that_asks_mpi", &Mpi::BOTH, allocator),
        ("newer_names_are_as_the_mpi_has_them", &Mpi::ALL, newer_names),
        ("functions_that_are_not_wrapped", &Mpi::BOTH, queries),
        ("every_way_of_binding", &Mpi::BOTH, binding_modes),
        ("a_sanitized_program", &Mpi::BOTH, sanitized),
        ("an_interpreter_with_a_local_library", &Mpi::BOTH, interpreter),
        ("debians_mpi4py", &[Mpi::OpenMpi], mpi4py),
        ("a_program_for_one_run_with_another", &[Mpi::Mpich5, Mpi::Intel], same_interface),
        ("a_program_of_another_mpi", &Mpi::BOTH, foreign),
    ];
    let mut trials = Vec::new();
    for (name, mpis, test) in each {
        for mpi in mpis.iter().copied() {
            let title = format!("loads::{name}::{}", mpi.name());
            trials.push(trial(title, move || test(mpi)));
        }
    }
    trials.push(trial("loads::two_mpis_in_one_process", two_mpis));
    trials.push(trial("loads::a_statically_linked_mpi", static_mpi));
    trials.push(trial("loads::a_static_program", static_program));
    trials.push(trial("loads::late_into_full_thread_storage", late_load));
    trials
}

/// Compiles a source of `c-tests/loaders`, by a compiler with more arguments.
fn build(
    source: &str,
    name: &str,
    mut compiler: Command,
    args: &[&str],
) -> Result<PathBuf, String> {
    let out = target().join("c-tests").join(name);
    let source = top().join("c-tests/loaders").join(source);
    compiler.args(["-O1", "-w", "-o"]).arg(&out).arg(source).args(args);
    let outcome = finish(compiler, Duration::from_secs(60))?;
    match outcome.code {
        0 => Ok(out),
        code => Err(format!("{name}: the compiler ended with {code}: {}", outcome.stderr)),
    }
}

fn shared(source: &str, name: &str, mpi: Mpi, args: &[&str]) -> Result<PathBuf, String> {
    let args = [&["-shared", "-fPIC"], args, &["-ldl"]].concat();
    build(source, &format!("{name}.{}.so", mpi.name()), mpi.compiler(), &args)
}

fn program_of(source: &str, mpi: Mpi, args: &[&str]) -> Result<PathBuf, String> {
    let args = [args, &["-ldl"]].concat();
    let name = format!("{}.{}", source.trim_end_matches(".c"), mpi.name());
    build(source, &name, mpi.compiler(), &args)
}

/// A job of a program that is none of `c-tests/programs`.
fn job(program: PathBuf, mpi: Mpi, ranks: u32, args: &[&str]) -> Job {
    Job { program, ..Job::new("", mpi, ranks, args) }
}

/// How often rank 0 made a call, whatever the communicator.
fn calls(report: &serde_json::Value, name: &str) -> u64 {
    sum(report, name, "count")
}

/// FB-001: in either order, each of two tools sees each call once, whichever way the other hands
/// on.
fn stacked(mpi: Mpi) -> Result<(), String> {
    let plain = Job::new("training", mpi, 2, &["5", "1000"]);
    let native = plain.run()?;
    for (name, args) in [("next", &[][..]), ("profiling", &["-DPROFILING"])] {
        let tool = shared("counter.c", &format!("counter-{name}"), mpi, args)?;
        let (ours, tool) = (libpas().display().to_string(), tool.display().to_string());
        for list in [format!("{ours}:{tool}"), format!("{tool}:{ours}")] {
            let (outcome, report) =
                reports::of_rank_0(&plain.clone().with("LD_PRELOAD", list.clone()))?;
            agree(&native, &outcome, 0).map_err(|error| format!("{list}: {error}"))?;
            let counted = outcome.stderr.lines().find(|line| line.starts_with("counter:"));
            expect(&format!("{list}: the tool"), counted, Some("counter: 1 20 1"))?;
            expect(&format!("{list}: PAS"), calls(&report, "MPI_Allreduce"), 20)?;
        }
    }
    Ok(())
}

fn early(mpi: Mpi) -> Result<(), String> {
    let library = shared("early.c", "early", mpi, &[])?;
    let plain = Job::new("collectives", mpi, 2, &[]);
    let native = plain.run()?;
    let list = format!("{}:{}", libpas().display(), library.display());
    agree(&native, &plain.clone().with("LD_PRELOAD", list).run()?, 0)?;
    let list = format!("{}:{}", library.display(), libpas().display());
    agree(&native, &plain.with("LD_PRELOAD", list).run()?, 0)
}

fn allocator(mpi: Mpi) -> Result<(), String> {
    let library = shared("allocator.c", "allocator", mpi, &[])?;
    let plain = Job::new("collectives", mpi, 2, &[]);
    let native = plain.clone().with("LD_PRELOAD", library.display().to_string()).run()?;
    for list in [
        format!("{}:{}", libpas().display(), library.display()),
        format!("{}:{}", library.display(), libpas().display()),
    ] {
        agree(&native, &plain.clone().with("LD_PRELOAD", list).run()?, 0)?;
    }
    Ok(())
}

/// A program that asks by dlsym or by weak references sees what the MPI has, no more and no less.
fn newer_names(mpi: Mpi) -> Result<(), String> {
    let program = program_of("asking.c", mpi, &[])?;
    let late = shared("asking.c", "asking", mpi, &["-DLATE"])?.display().to_string();
    let job = job(program, mpi, 1, &[&late]);
    let native = job.run()?;
    if !native.stdout.contains("weak: ") {
        return Err(format!("natively: {}", native.stderr));
    }
    agree(&native, &job.preloaded().run()?, 0)
}

fn queries(mpi: Mpi) -> Result<(), String> {
    let job = job(program_of("queries.c", mpi, &[])?, mpi, 2, &[]);
    let native = job.run()?;
    expect("natively", native.code, 0)?;
    agree(&native, &job.clone().preloaded().run()?, 0)?;
    agree(&native, &job.preloaded().with("LD_BIND_NOW", "1").run()?, 0)
}

/// FB-008.
fn binding_modes(mpi: Mpi) -> Result<(), String> {
    let job = Job::new("nonblocking", mpi, 2, &[]);
    let native = job.run()?;
    for variable in ["LD_BIND_NOW", "LD_DYNAMIC_WEAK", "LD_BIND_NOT"] {
        let (outcome, report) = reports::of_rank_0(&job.clone().preloaded().with(variable, "1"))?;
        agree(&native, &outcome, 0).map_err(|error| format!("{variable}: {error}"))?;
        expect(variable, calls(&report, "MPI_Ibcast"), 4)?;
    }
    Ok(())
}

/// A program built with AddressSanitizer, whose run-time library must come first (FB-002).
fn sanitized(mpi: Mpi) -> Result<(), String> {
    let mut compiler = mpi.compiler();
    let source = top().join("c-tests/programs/collectives.c");
    let program = target().join("c-tests").join(format!("sanitized.{}", mpi.name()));
    compiler.args(["-O1", "-g", "-w", "-fsanitize=address", "-o"]).arg(&program).arg(source);
    expect("the compiler", finish(compiler, Duration::from_secs(60))?.code, 0)?;
    let mut ask = Command::new("gcc");
    ask.arg("-print-file-name=libasan.so");
    let asan = finish(ask, Duration::from_secs(10))?.stdout.trim().to_owned();
    // MPIs keep what they allocate.
    let job = job(program, mpi, 2, &[]).with("ASAN_OPTIONS", "detect_leaks=0");
    let native = job.run()?;
    expect("natively", native.code, 0)?;
    let list = format!("{asan}:{}", libpas().display());
    let (outcome, report) = reports::of_rank_0(&job.with("LD_PRELOAD", list))?;
    agree(&native, &outcome, 0)?;
    expect("seen", calls(&report, "MPI_Allreduce") > 0, true)
}

/// FB-006: nothing of it is seen, nothing breaks.
fn interpreter(mpi: Mpi) -> Result<(), String> {
    let script = top().join("c-tests/loaders/binding.py").display().to_string();
    let library = mpi.library().display().to_string();
    let mut args = vec![script.as_str(), library.as_str()];
    args.extend(mpi.is_open_mpi().then_some("addresses"));
    let job = job("/usr/bin/python3".into(), mpi, 2, &args);
    let native = job.run()?;
    expect("natively", native.stdout.as_str(), "ranks 2\n")?;
    agree(&native, &job.preloaded().run()?, 0)
}

/// Python's binding from Debian, which is linked with the MPI and is seen.
fn mpi4py(mpi: Mpi) -> Result<(), String> {
    let script = "from mpi4py import MPI; import array\n\
                  a, b = array.array('d', [1] * 100), array.array('d', [0] * 100)\n\
                  for _ in range(20): MPI.COMM_WORLD.Allreduce(a, b)\n\
                  if MPI.COMM_WORLD.rank == 0: print(b[0])\n";
    let job = job("/usr/bin/python3".into(), mpi, 2, &["-c", script]);
    let native = job.run()?;
    expect("natively", native.stdout.as_str(), "2.0\n")?;
    let (outcome, report) = reports::of_rank_0(&job.preloaded())?;
    agree(&native, &outcome, 0)?;
    expect("seen", calls(&report, "MPI_Allreduce"), 20)
}

/// A program compiled for one MPI, run with another of the same binary interface.
fn same_interface(mpi: Mpi) -> Result<(), String> {
    let other = if mpi == Mpi::Intel { Mpi::Mpich5 } else { Mpi::Intel };
    let folder = mpi.library().parent().map(|path| path.display().to_string());
    let job = job(crate::run::program("collectives", other), mpi, 2, &[]);
    let job = job.with("LD_LIBRARY_PATH", folder.ok_or("a library is in a folder")?);
    let native = job.run()?;
    expect("natively", native.code, 0)?;
    let (outcome, report) = reports::of_rank_0(&job.preloaded())?;
    agree(&native, &outcome, 0)?;
    let library = report["registered"]["library"].as_str().unwrap_or_default();
    let says = if mpi == Mpi::Intel { "Intel" } else { "MPICH" };
    expect(library, library.contains(says), true)?;
    expect("seen", calls(&report, "MPI_Allreduce") > 0, true)
}

/// FB-028: under the other MPI's launcher, each process is a world of one.
fn foreign(mpi: Mpi) -> Result<(), String> {
    let other = if mpi == Mpi::Mpich { Mpi::OpenMpi } else { Mpi::Mpich };
    let mut job = Job::new("collectives", mpi, 2, &[]);
    job.program = crate::run::program("collectives", other);
    // Open MPI's programs need leave to run as root, whoever starts them.
    let job = job.with("OMPI_ALLOW_RUN_AS_ROOT", "1").with("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let native = job.run()?;
    let (outcome, report) = reports::of_rank_0(&job.preloaded())?;
    agree(&native, &outcome, 0)?;
    expect("ranks of the world", report["registered"]["world_size"].as_u64(), Some(1))
}

/// Each part's calls go to its own MPI; it is said once, and nothing is recorded after that.
fn two_mpis() -> Result<(), String> {
    let mut compiler = Command::new("cc");
    compiler.arg("-w");
    let program = build("sides.c", "sides", compiler, &["-ldl"])?;
    let mut args = Vec::new();
    // Open MPI makes itself visible to everybody once it is initialised, so it comes second.
    for (mpi, says) in [(Mpi::Mpich, "MPICH"), (Mpi::OpenMpi, "Open MPI")] {
        args.push(shared("side.c", "side", mpi, &[])?.display().to_string());
        args.push(says.to_owned());
    }
    let run = |preload: Option<PathBuf>| {
        let mut command = Command::new(&program);
        command.args(&args).envs(Mpi::OpenMpi.environment());
        if let Some(preload) = preload {
            command.env("LD_PRELOAD", preload);
        }
        finish(command, Duration::from_secs(60))
    };
    let native = run(None)?;
    if native.stdout != "MPICH runs: 0\nOpen MPI runs: 0\nOpen MPI ends: 0\nMPICH ends: 0\n" {
        return Err(format!("natively: {native:?}"));
    }
    let outcome = run(Some(libpas()))?;
    agree(&native, &outcome, 1)?;
    expect("said", outcome.stderr.matches("two MPI libraries").count(), 1)
}

/// FB-013: an MPI inside the program is not reached by preloading.
fn static_mpi() -> Result<(), String> {
    let mut compiler = Command::new("cc");
    let source = top().join("c-tests/programs/training.c");
    let program = target().join("c-tests/static-mpi");
    let library = "/usr/lib/x86_64-linux-gnu/libmpich.a";
    compiler.args(["-O1", "-w", "-I/usr/include/x86_64-linux-gnu/mpich", "-o"]).arg(&program);
    compiler.arg(source).arg(library).args(["-lhwloc", "-lucp", "-lucs", "-lm", "-lpthread"]);
    let outcome = finish(compiler, Duration::from_secs(120))?;
    expect(&format!("the compiler: {}", outcome.stderr), outcome.code, 0)?;
    let job = job(program, Mpi::Mpich, 2, &["5", "1000"]);
    let native = job.run()?;
    expect("natively", native.code, 0)?;
    let (outcome, report) = reports::of_rank_0(&job.preloaded())?;
    agree(&native, &outcome, 0)?;
    expect("a report", report, serde_json::Value::Null)
}

fn static_program() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, program) = (folder.path().join("static.c"), folder.path().join("static"));
    let text = "#include <stdio.h>\nint main(void) { puts(\"static\"); return 3; }\n";
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    let mut compiler = Command::new("cc");
    compiler.args(["-static", "-o"]).arg(&program).arg(&source);
    expect("the compiler", finish(compiler, Duration::from_secs(60))?.code, 0)?;
    let job = job(program, Mpi::Mpich, 2, &[]);
    agree(&job.run()?, &job.preloaded().run()?, 0)
}

/// FB-011: loaded last, by dlopen, when others have used up the room for initial-exec variables.
fn late_load() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let source = folder.path().join("tls.c");
    let text = "static __thread char room[200] __attribute__((tls_model(\"initial-exec\")));\n\
                char *ROOM(void) { return room; }\n";
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    let mut script = String::from("import ctypes\n");
    for number in 0..6 {
        let library = folder.path().join(format!("tls{number}.so"));
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", &format!("-DROOM=room{number}"), "-o"]);
        compiler.arg(&library).arg(&source);
        expect("the compiler", finish(compiler, Duration::from_secs(60))?.code, 0)?;
        script.push_str(&format!("ctypes.CDLL('{}')\n", library.display()));
    }
    script.push_str(&format!("print(ctypes.CDLL('{}').pas_version() != 0)\n", libpas().display()));
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", &script]);
    let outcome = finish(python, Duration::from_secs(30))?;
    expect(&outcome.stderr, outcome.code, 0)
}

/// All ranks of a job come to one id by themselves.
fn one_job(mpi: Mpi) -> Result<(), String> {
    let reports = reports::all(Job::new("collectives", mpi, 2, &[]))?;
    let id = |rank: usize| reports[rank]["job"].as_str().unwrap_or_default().to_owned();
    expect("an id", id(0).is_empty(), false)?;
    expect("the other rank's job", id(1), id(0))
}

/// What is counted behind libpas.so is what the program's own calls make the MPI do.
fn tripwire(mpi: Mpi) -> Result<(), String> {
    let library = shared("tripwire.c", "tripwire", mpi, &[])?.display().to_string();
    let fake = FakePasd::tcp(Script::Good);
    for name in ["training", "comms"] {
        let job = Job::new(name, mpi, 2, if name == "training" { &["20", "100000"] } else { &[] });
        let counted = |outcome: &Outcome| -> Vec<String> {
            let lines = outcome.stderr.lines().filter(|line| line.starts_with("tripwire:"));
            lines.map(str::to_owned).collect()
        };
        let native = job.clone().with("LD_PRELOAD", library.clone()).run()?;
        let list = format!("{}:{library}", libpas().display());
        let outcome = job.with("LD_PRELOAD", list).with("PAS_URL", fake.url.as_str()).run()?;
        agree(&native, &outcome, 0)?;
        expect("lines", counted(&native).len(), 2)?;
        expect(name, counted(&outcome), counted(&native))?;
    }
    Ok(())
}

/// Parents and children are three jobs, with reports in folders of their own.
fn spawned(mpi: Mpi) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().display().to_string();
    let job = crate::cases::can_spawn(Job::new("spawn", mpi, 2, &[]));
    let job = job.preloaded().with("PAS_REPORT_DIR", path);
    expect("the job", job.run()?.code, 0)?;
    let mut jobs = std::collections::BTreeMap::new();
    let mut folders = vec![folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).map_err(|error| error.to_string())?.flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let report = reports::read_file(&entry.path())?;
            *jobs.entry(report["job"].as_str().unwrap_or_default().to_owned()).or_insert(0) += 1;
        }
    }
    let mut ranks: Vec<i32> = jobs.values().copied().collect();
    ranks.sort_unstable();
    expect(&format!("ranks of jobs {jobs:?}"), ranks, vec![1, 2, 2])
}
