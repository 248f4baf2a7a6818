"""What the benchmarks share: builds, MPI programs, statistics, figures."""

import contextlib
import hashlib
import os
import pathlib
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

TOP = pathlib.Path(__file__).resolve().parents[2]
# Cargo takes a relative folder from where it runs, which is TOP.
TARGET = TOP / os.environ.get("CARGO_TARGET_DIR", "target")
BUILT = TARGET / "bench"
MPIS = ("openmpi", "mpich")

# Unbound: a rank that is bound to a core shares it with its own worker thread, and with whatever
# else runs there. Root needs Open MPI's variables, and containers are root.
LAUNCH = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
    "mpich": ["mpirun.mpich", "-bind-to", "none"],
}
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Unable(Exception):
    """Why a benchmark cannot be run, and what to do about it."""


class Figure(NamedTuple):
    """One number of the result."""

    name: str
    value: float
    unit: str
    note: str = ""


class Result(NamedTuple):
    """What a benchmark answers."""

    figures: list
    excesses: list = []


class Spread(NamedTuple):
    """A median and its quartiles."""

    median: float
    low: float
    high: float

    def note(self, unit):
        """The spread in words."""
        return f"quartiles {self.low:.2f} to {self.high:.2f} {unit}"


def spread(values):
    """The spread of some values."""
    if len(values) < 2:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def say(text):
    """Tells what is being done."""
    print(text, file=sys.stderr, flush=True)


def needs(program, package):
    """Ends with the Debian package's name where a program is missing."""
    if not shutil.which(program):
        raise Unable(f"no {program}: apt-get install {package}")


def environment(**variables):
    """This process's environment without its own PAS and preloads, and with `variables`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PAS_") and k != "LD_PRELOAD"}
    return {**kept, **ROOT_MAY, **{name: str(value) for name, value in variables.items()}}


@contextlib.contextmanager
def started(command, **options):
    """A process that does not outlive the block, and neither do its children."""
    process = subprocess.Popen(list(map(str, command)), start_new_session=True, **options)
    try:
        yield process
    finally:
        # A launcher that is asked first takes its ranks with it.
        for how in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, how)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)


def output(command, limit_s=120, env=None, cwd=None):
    """The standard output of a command that succeeds within the limit."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started(command, env=env or environment(), cwd=cwd, **pipes) as process:
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise Unable(f"no end in {limit_s} s: {' '.join(map(str, command))}") from None
    if process.returncode != 0:
        tail = "\n".join((out + err).splitlines()[-15:])
        raise Unable(f"exit code {process.returncode}: {' '.join(map(str, command))}\n{tail}")
    return out


def mpirun(mpi, ranks, *command):
    """The command that runs an MPI program."""
    needs(LAUNCH[mpi][0], "openmpi-bin libopenmpi-dev mpich libmpich-dev")
    return [*LAUNCH[mpi], "-n", ranks, *command]


def compiled(mpi, source, *options):
    """Compiles c-tests/bench/SOURCE for an MPI, if it has changed; answers the file."""
    needs(f"mpicc.{mpi}", "libopenmpi-dev libmpich-dev")
    source = TOP / "c-tests/bench" / source
    made = BUILT / f"{source.stem}.{mpi}{'.so' if '-shared' in options else ''}"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        BUILT.mkdir(parents=True, exist_ok=True)
        # MPICH's header makes GCC warn of MPI_STATUSES_IGNORE.
        warnings = ["-Wall", "-Wextra", "-Wno-stringop-overflow"]
        output([f"mpicc.{mpi}", "-O2", *warnings, *options, source, "-o", made])
    return made


def libpas(args):
    """The library to measure; built only if there is none."""
    library = (args.libpas or TARGET / "release/libpas.so").resolve()
    if not library.exists():
        if args.libpas:
            raise Unable(f"no file {args.libpas}")
        say("building libpas.so (release)")
        needs("cargo", "rustup, or https://rustup.rs")
        output(["cargo", "build", "--release", "--quiet"], limit_s=1800, cwd=TOP)
    digest = hashlib.sha256(library.read_bytes()).hexdigest()[:12]
    say(f"measuring {library} (sha256 {digest})")
    return library


@contextlib.contextmanager
def closed_port():
    """The URL of a port that refuses connections: bound, so that nobody else gets it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


def commit():
    """What is measured, if the library was built from it."""
    try:
        name = output(["git", "-C", TOP, "rev-parse", "--short=12", "HEAD"]).strip()
        return name + ("-dirty" if output(["git", "-C", TOP, "status", "--porcelain"]) else "")
    except (Unable, FileNotFoundError):
        return "unknown"


def machine():
    """Where it is measured, and how busy that was before."""
    cpu = platform.processor()
    with contextlib.suppress(OSError):
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(": ")[1] for line in lines if line.startswith("model name")), cpu)
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "kernel": platform.release(),
        "load_before": round(os.getloadavg()[0], 2),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def busy_s():
    """Seconds of CPU time that the machine has spent on programs, and those of our children."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    spent = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    times = os.times()
    return spent, times.user + times.system + times.children_user + times.children_system


class Others:
    """How much of the machine other programs had since this was made."""

    def __init__(self):
        self.began, self.busy = time.monotonic(), busy_s()

    def percent(self):
        """Of the time of all cores."""
        spent, ours = (now - then for now, then in zip(busy_s(), self.busy))
        whole = (time.monotonic() - self.began) * os.cpu_count()
        return round(100 * max(0.0, spent - ours) / whole, 1)


def print_table(head, rows):
    """Columns as wide as they need to be; numbers to the right."""
    rows = [[cell if isinstance(cell, str) else f"{cell:.1f}" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    for row in [head, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join([row[0].ljust(widths[0]), *cells]).rstrip())
    print(flush=True)


def print_figures(figures):
    """The result."""
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        note = f"  {figure.note}" if figure.note else ""
        print(f"{figure.name.ljust(width)}  {figure.value:10.2f} {figure.unit}{note}".rstrip())
