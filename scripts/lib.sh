# Shared by the scripts here. Sourced, never run.
# shellcheck shell=bash disable=SC2034

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Cargo takes a relative folder from where it runs, which is $top.
target=${CARGO_TARGET_DIR:-target}
[[ $target = /* ]] || target=$top/$target

# A program that ends well after a Ctrl-C must not make the script go on.
trap 'exit 130' INT

# Says what is being done, with the seconds since the script began.
step() {
    printf '[%4d s] %s\n' "$SECONDS" "$*" >&2
}

# Ends the script with a reason.
die() {
    printf '[%4d s] failed: %s\n' "$SECONDS" "$*" >&2
    exit 1
}

# The launchers refuse root without these, and containers and CI are root. Open MPI would also
# refuse more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# launch MPI RANKS PROGRAM...: runs an MPI program, two minutes at the most. In the foreground, for
# otherwise a Ctrl-C would not reach it, and the script would wait for its end.
launch() {
    local mpi=$1 ranks=$2
    shift 2
    timeout --foreground --kill-after=5 120 "mpirun.$mpi" -n "$ranks" "$@"
}
