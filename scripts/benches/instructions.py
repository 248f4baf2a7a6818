"""Instructions that libpas.so adds to a call, counted by callgrind.

They do not depend on the machine's load or clock, so they can have a limit in a test. Only the
calling thread is counted, inside the function `measured` of calls.c: not the worker, and not what
the first calls do. N and then 2 N calls are made, and their difference is that of N."""

import pathlib
import re
import tempfile

from . import common
from .common import Figure

CASES = ("send_null", "allreduce_self")
MODES = ("off", "observe")
# Two bursts fit into the ring.
CALLS = 2000


def counted(mpi, library=None, mode="off"):
    """Instructions a call by case, library and MPI together."""
    calls = common.compiled(mpi, "calls.c")
    preload = {"LD_PRELOAD": library, "PAS_MODE": mode} if library else {}
    with tempfile.TemporaryDirectory(prefix="pas-bench-") as folder:
        # A singleton: no launcher runs under valgrind.
        tool = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=measured"]
        tool += ["--dump-after=measured", f"--callgrind-out-file={folder}/out"]
        command = [*tool, calls, "count", CALLS, *CASES]
        common.output(command, env=common.environment(**preload), cwd=folder)
        # One dump each time that `measured` returns: N and 2 N of each case in turn.
        dumps = [pathlib.Path(folder, f"out.{i + 1}") for i in range(2 * len(CASES))]
        totals = [int(re.search(r"^totals: (\d+)", f.read_text(), re.M)[1]) for f in dumps]
    pairs = zip(totals[::2], totals[1::2])
    return {case: (twice - once) / CALLS for case, (once, twice) in zip(CASES, pairs)}


def measure(library, mpis):
    """A figure for each MPI, case and mode."""
    common.needs("valgrind", "valgrind")
    figures = []
    for mpi in mpis:
        common.say(f"counting instructions under callgrind, {mpi}")
        native = counted(mpi)
        for mode in MODES:
            preloaded = counted(mpi, library, mode)
            for case in CASES:
                name = f"overhead.instructions.{mpi}.{case}.{mode}"
                note = f"a call of the MPI alone: {native[case]:g}"
                figures.append(Figure(name, preloaded[case] - native[case], "instructions", note))
    return figures


def excesses(figures, limits):
    """What is over its mode's limit, in words."""
    over = []
    for figure in figures:
        limit = limits.get(figure.name.rsplit(".", 1)[1])
        if limit is not None and figure.value > limit:
            over.append(f"{figure.name}: {figure.value:g} instructions, limit {limit:g}")
    return over
