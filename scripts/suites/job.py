"""One run of one unit: start it, bound its time, collect its output, leave nothing behind."""

import itertools
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from suites import normal

PER_RANK = Path(__file__).with_name("per-rank")
# In the environment of a run's processes alone. Launchers put ranks into process groups and
# sessions of their own, so that neither finds them all.
MARK = "SUITE_RUN"
numbers = itertools.count()


@dataclass(frozen=True)
class Unit:
    """One test: a program with its arguments and a number of ranks."""

    name: str
    ranks: int
    program: tuple
    env: tuple = ()
    # Ranks to take where it natively fails with those, for it may demand more; None: no others.
    more: int | None = None
    # Further words for the launcher.
    launcher: tuple = ()
    # What is in this folder is in the working directory, as links; None: nothing is.
    around: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """What is compared of a run: the launcher's exit code and the normalised output."""

    code: int | None
    lines: tuple
    seconds: float = field(compare=False)
    reports: int = field(compare=False, default=0)

    @property
    def timed_out(self):
        return self.code is None


def environment(mpi, unit, mode, libpas):
    """The same for all modes but for what a user would set to have PAS."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PAS_")}
    env.pop("LD_PRELOAD", None)
    # Python's buffers would be lost where a rank is killed, more or less of them by chance.
    env |= {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    env |= mpi.env
    env |= dict(unit.env)
    if mode != "native":
        env |= {"LD_PRELOAD": str(libpas), "PAS_MODE": mode}
    return env


def run(mpi, unit, mode, libpas, limit, want_reports=False):
    """Runs a unit once, in an empty folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="suite-", ignore_cleanup_errors=True) as scratch:
        folders = {name: Path(scratch, name) for name in ("out", "cwd", "tmp", "rep")}
        for folder in folders.values():
            folder.mkdir()
        for entry in unit.around.iterdir() if unit.around else []:
            (folders["cwd"] / entry.name).symlink_to(entry)
        env = environment(mpi, unit, mode, libpas)
        mark = f"{os.getpid()}-{next(numbers)}"
        env |= {"TMPDIR": str(folders["tmp"]), MARK: mark}
        if want_reports:
            env["PAS_REPORT_DIR"] = str(folders["rep"])
        rank = [str(PER_RANK), str(folders["out"]), *unit.program]
        command = mpi.launch(unit.ranks, [*unit.launcher, *rank])
        started = time.monotonic()
        code = _bounded(command, folders, env, limit, mark)
        seconds = time.monotonic() - started
        reports = len(list(folders["rep"].glob("rank-*.json")))
        lines = _collect(folders["out"], scratch, bool(code))
        return Outcome(code, lines, seconds, reports)


def shown(mpi, unit, mode, libpas):
    """The command of a run, for a person to type."""
    words = [f"{key}={value}" for key, value in (mpi.env | dict(unit.env)).items()]
    if mode != "native":
        words += [f"LD_PRELOAD={libpas}", f"PAS_MODE={mode}"]
    return ["env", *words, *mpi.launch(unit.ranks, [*unit.launcher, *unit.program])]


def _bounded(command, folders, env, limit, mark):
    """Exit code of the command, or None if it took longer than the limit."""
    with (
        open(folders["out"] / "launcher.out", "wb") as out,
        open(folders["out"] / "launcher.err", "wb") as err,
    ):
        process = subprocess.Popen(
            command,
            cwd=folders["cwd"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            # The launcher's own clean-up first; whoever does not heed it is killed below.
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                pass
            return None
        finally:
            _kill_marked(mark)
            process.wait()


def _kill_marked(mark):
    """Kills what is left of a run and removes its shared memory, which would stay for ever."""
    wanted = f"{MARK}={mark}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted not in (process / "environ").read_bytes().split(b"\0"):
                continue
            maps = (process / "maps").read_text(errors="replace")
            os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            # It has ended meanwhile, or is somebody else's.
            continue
        for line in maps.splitlines():
            path = line.partition("/dev/shm/")[2]
            if path and not path.endswith(" (deleted)"):
                Path("/dev/shm", path).unlink(missing_ok=True)


def _collect(folder, scratch, failed):
    """All output, a stream after the other, each line behind the name of its stream.

    The launcher's own streams are sorted: processes that a test spawned write there as they come.
    And of a job that failed, what the launcher says on standard error is left out: which of the
    ranks is named, how many more are said to have failed, and whether anything is said at all is
    a race between the first rank's end and the others'.
    """
    found = []
    for path in sorted(folder.iterdir()):
        lines = normal.lines(path.read_text(errors="replace"), scratch)
        if path.name.startswith("launcher"):
            lines.sort()
        if path.name == "launcher.err" and failed:
            lines = normal.ours(lines)
        found += [f"{path.name}: {line}" for line in lines]
    return tuple(found)
