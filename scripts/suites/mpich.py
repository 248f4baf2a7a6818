"""MPICH's own tests, test/mpi: a line of a `testlist` is one unit.

Its makefiles build all or nothing, and with some MPIs that is nothing. So its configure script is
run for the values that it finds, and each program is then compiled directly, with what its
Makefile.am says of it. One that does not compile, for it uses what an MPI does not have, is
counted as not built.
"""

import re
import shutil
from functools import cache

from suites import fetch
from suites.base import Suite
from suites.job import Unit
from suites.mpis import Missing

FOLDERS = [
    *["attr", "coll", "comm", "cxx", "datatype", "errhan", "errors", "f08", "f77", "f90", "ft"],
    *["group", "info", "init", "io", "mpi_t", "part", "pt2pt", "rma", "spawn", "threads", "topo"],
]
# Lines ask for up to 16 ranks, to reach other algorithms, or odd numbers. Ranks that wait spin, so
# that more of them than cores take minutes: 2 are taken, and more where a test fails with those.
RANKS, RANKS_MORE = 2, 4
# What of a testlist's line is a part of the unit; the rest says how to judge it, or how long it may
# take.
PARTS = ("arg=", "env=", "mpiexecarg=")
QUICK = [
    *["attr/attrt 2", "coll/allred 2 arg=-count=10", "coll/alltoallw1 2", "coll/icallreduce 2"],
    *["coll/nonblocking3 2", "coll/neighb_alltoallw 2", "coll/p_allred 2", "coll/red_scat_block 2"],
    *["comm/cmsplit 2", "comm/comm_idup 2", "comm/dup_with_info 2"],
    *["datatype/hindexed_block 1", "errhan/adderr 1", "errors/coll/noalias 2", "info/infotest 1"],
    *["init/finalized 1", "init/session 2", "io/rdwrord 2", "pt2pt/bsend1 1", "pt2pt/mprobe 2"],
    *["pt2pt/sendrecv2 2", "pt2pt/waitany_null 1", "rma/lockcontention 2"],
    *["threads/pt2pt/multisend 2", "topo/cartmap1 2", "topo/distgraph1 2"],
]
# Open MPI's mpi.h and the standard ABI have none of the names that MPI-3 removed, and MPICH's
# generator of datatypes uses these.
REMOVED = """#include <mpi.h>
#if defined(OPEN_MPI) || defined(MPI_ABI)
#undef MPI_UB
#undef MPI_LB
#undef MPI_Type_hvector
#undef MPI_Type_hindexed
#undef MPI_Type_struct
#define MPI_UB MPI_DATATYPE_NULL
#define MPI_LB MPI_DATATYPE_NULL
#define MPI_Type_hvector MPI_Type_create_hvector
#define MPI_Type_hindexed MPI_Type_create_hindexed
#define MPI_Type_struct MPI_Type_create_struct
#endif
"""


class Mpich(Suite):
    name = "mpich"
    mpi = "mpich"

    def sources(self):
        if self.source:
            inner = self.source / "test" / "mpi"
            return inner if inner.is_dir() else self.source
        return fetch.debian_source("mpich", self.root) / "test" / "mpi"

    def names(self):
        found = {}
        for folder in FOLDERS:
            # Where a configure script has run, the list without `.in` is made from the other one.
            lists = [
                path
                for path in (self.sources() / folder).rglob("testlist*")
                if path.suffix == ".in" or path.name == "testlist"
            ]
            for path in sorted(lists):
                where = path.parent.relative_to(self.sources())
                for line in path.read_text().splitlines():
                    if name := _name(where, line):
                        found[name] = None
        return [name for name in QUICK if name in found] if self.quick else list(found)

    def build(self, names):
        tree = self._configured()
        plan = {path: self._program(tree, path) for path in {name.split()[0] for name in names}}
        # Several units may be of one program.
        jobs = [(path, *job[1:]) for path, job in sorted(plan.items()) if not job[0]]
        reasons = {path: job[0] for path, job in plan.items() if job[0]}
        reasons |= fetch.compile_all(jobs, self.with_mpi)
        units, not_built = [], []
        for name in names:
            path = name.split()[0]
            if path in reasons:
                not_built.append((name, reasons[path]))
            else:
                units.append(self._unit(name, plan[path][1]))
        return units, not_built

    def _unit(self, name, program):
        _, ranks, *words = name.split()
        values = {key: [] for key in PARTS}
        for word in words:
            key, _, value = word.partition("=")
            values[key + "="].append(value)
        env = tuple(tuple(value.split("=", 1)) for value in values["env="])
        # They are options of Hydra, the launcher of all MPIs here but one.
        launcher = () if self.with_mpi.is_open_mpi else tuple(values["mpiexecarg="])
        # As its own script does: from the program's folder, which matters to those that spawn.
        command = (f"./{program.name}", *values["arg="])
        more = RANKS_MORE if int(ranks) == RANKS else None
        return Unit(name, int(ranks), command, env, more, launcher, program.parent)

    def _configured(self):
        """A copy of the tests with the headers that configure makes, and their library."""
        mpi = self.with_mpi
        base = self.root / "build" / "mpich"

        def make(part):
            # With their time stamps: otherwise make and configure want automake.
            shutil.copytree(self.sources(), part, symlinks=True)
            command = ["./configure", f"--with-mpi={mpi.prefix}", f"CC={mpi.cc}"]
            command += ["--disable-fortran", "--disable-cxx"]
            log = base / "logs" / f"{mpi.name}.configure.log"
            fetch.quiet(command, log, cwd=part, env=fetch.environment(mpi))

        tree = fetch.whole(base / mpi.name, make)
        (tree / "removed.h").write_text(REMOVED)
        self._library(tree)
        return tree

    def _library(self, tree):
        """What all programs are linked with; the generator of datatypes as far as it compiles."""
        jobs = []
        for path in [*(tree / "util").glob("*.c"), *(tree / "dtpools" / "src").glob("*.c")]:
            if path.name == "mtestcheck.c":
                continue
            out = tree / "lib" / (path.stem + ".o")
            command = [*self._cc(tree), "-DHAVE_CONFIG_H", f"-I{tree}/dtpools", "-c", path]
            jobs.append((path.name, out, [*command, "-include", tree / "removed.h", "-o", out]))
        failed = fetch.compile_all(jobs, self.with_mpi)
        needed = [f"{name}: {why}" for name, why in failed.items() if name.startswith("mtest")]
        if needed:
            raise Missing("the library of MPICH's tests does not compile: " + "; ".join(needed))

    def _cc(self, tree):
        include = [f"-I{tree}/include", f"-I{tree}/dtpools/include"]
        # Tests use old and implicit declarations, which newer compilers refuse.
        return [self.with_mpi.cc, "-O1", "-w", "-pthread", *include]

    def _program(self, tree, path):
        """(reason why not, program, command that makes it) of a test."""
        folder, _, name = path.rpartition("/")
        flags = _makefile(tree / folder / "Makefile.am")
        sources = flags.get(f"{name}_SOURCES", f"{name}.c").split()
        sources = [tree / folder / word for word in sources if not word.endswith(".h")]
        program = tree / "bin" / folder / name
        if any(source.suffix != ".c" or not source.exists() for source in sources):
            return f"no {name}.c", program, None
        threads = "Makefile_threads.mtest" in flags["include"]
        words = (flags.get(f"{name}_CPPFLAGS", "") + " " + flags.get("AM_CPPFLAGS", "")).split()
        words = [word for word in words if word.startswith("-D")]
        words += ["-DMTEST_USE_THREAD"] if threads else []
        library = set((tree / "lib").glob("*.o"))
        # Each program has one of the two: they define the same functions.
        library.discard(tree / "lib" / ("mtest_single.o" if threads else "mtest_thread.o"))
        command = [*self._cc(tree), *words, f"-I{tree / folder}", *sources, *sorted(library)]
        return None, program, [*command, "-lm", "-o", program]


def _name(where, line):
    """The unit of a testlist's line, named as it is there; None if it is not one for here."""
    # @largetest@gather_big 8: lines that configure leaves in or not. Further folders are such too.
    line = re.sub(r"@\w+@", "", line.split("#")[0])
    words = line.split()
    if len(words) < 2 or not words[1].isdigit() or any(word.startswith("mem=") for word in words):
        return None
    parts = [word for word in words[2:] if word.startswith(PARTS)]
    return " ".join([f"{where}/{words[0]}", str(min(int(words[1]), RANKS)), *parts])


@cache
def _makefile(path):
    """The variables of a Makefile.am, and its includes under `include`."""
    text = path.read_text().replace("\\\n", " ") if path.exists() else ""
    found = {"include": " ".join(re.findall(r"^include (\S+)", text, re.M))}
    for name, more, value in re.findall(r"^(\w+) *(\+?)= *(.*)$", text, re.M):
        found[name] = found.get(name, "") + " " + value if more else value
    return found
