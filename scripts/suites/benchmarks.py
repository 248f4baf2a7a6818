"""OSU's and Intel's benchmarks, for what they call and not for their figures.

Those are fractions, which are not compared; sizes and the names of columns are.
"""

import os
import shutil

from suites import fetch, mpis
from suites.base import Suite
from suites.job import Unit
from suites.mpis import Missing

RANKS = 2
# Their sources have often lost their time stamps, which makes `make` look for automake.
MAKE = ["make", "-k", "AUTOMAKE=:", "AUTOCONF=:", "ACLOCAL=:", "AUTOHEADER=:"]
IMB = {
    "IMB-MPI1": [
        *["PingPong", "PingPing", "Sendrecv", "Exchange", "Allreduce", "Reduce", "Reduce_scatter"],
        *["Allgather", "Allgatherv", "Scatter", "Scatterv", "Gather", "Gatherv", "Alltoall"],
        *["Alltoallv", "Bcast", "Barrier"],
    ],
    "IMB-NBC": [
        *["Ibcast", "Iallgather", "Iallgatherv", "Igather", "Iscatter", "Ialltoall", "Ialltoallv"],
        *["Ireduce", "Ireduce_scatter", "Iallreduce", "Ibarrier"],
    ],
    "IMB-RMA": ["Unidir_put", "Unidir_get", "All_put_all", "Accumulate", "Fetch_and_op"],
}
QUICK = ["PingPong", "Exchange", "Allreduce", "Allgatherv", "Alltoall", "Iallreduce", "Unidir_put"]
QUICK += ["osu_latency", "osu_bw", "osu_allreduce", "osu_alltoallv", "osu_ibcast", "osu_put_bw"]


class Benchmarks(Suite):
    """What both have in common: a folder of sources that `make` builds as a whole."""

    def _made(self, make):
        """A copy of the sources, built with this MPI by make(folder, log)."""
        if not (self.source and self.source.is_dir()):
            raise Missing(f"{self.name} needs --from DIR, a folder with its sources")
        base = self.root / "build" / self.name

        def fill(part):
            shutil.copytree(self.source, part, symlinks=True)
            make(part, base / "logs" / f"{self.with_mpi.name}.log")

        return fetch.whole(base / self.with_mpi.name, fill)

    def _run(self, command, log, folder):
        fetch.quiet(command, log, cwd=folder, env=fetch.environment(self.with_mpi))


class Osu(Benchmarks):
    name = "osu"

    def _programs(self):
        found = {}
        for path in sorted(self._made(self._make).rglob("osu_*")):
            if path.is_file() and os.access(path, os.X_OK) and ".libs" not in path.parts:
                found.setdefault(path.name, path)
        return found

    def _make(self, folder, log):
        cxx = self.with_mpi.cxx or "c++"
        self._run(["./configure", f"CC={self.with_mpi.cc}", f"CXX={cxx}"], log, folder)
        self._run(MAKE, log, folder)

    def names(self):
        found = self._programs()
        return [f"{name} {RANKS}" for name in found if not self.quick or name in QUICK]

    def build(self, names):
        found = self._programs()
        units = []
        for name in names:
            path = found[name.split()[0]]
            # Old versions know a largest size for collectives only.
            largest = ("-m", "4096") if path.parent.name == "collective" else ()
            units.append(Unit(name, RANKS, (str(path), "-i", "10", "-x", "2", *largest)))
        return units, []


class Imb(Benchmarks):
    name = "imb"
    mpi = "impi"

    def _folder(self):
        if not self.source and self.with_mpi.name == "impi":
            # Intel MPI's wheel has them, built.
            return mpis.binaries(self.with_mpi)
        return self._made(self._make)

    def _make(self, folder, log):
        if not self.with_mpi.cxx:
            raise Missing(f"{self.with_mpi.name} has no C++ compiler, in which IMB is written")
        # One after the other, as one that does not compile ends the whole otherwise.
        compilers = [f"CC={self.with_mpi.cc}", f"CXX={self.with_mpi.cxx}"]
        for program in IMB:
            self._run(["make", program, *compilers], log.with_suffix(f".{program}.log"), folder)

    def names(self):
        return [
            f"{program}/{name} {RANKS}"
            for program, names in IMB.items()
            for name in names
            if not self.quick or name in QUICK
        ]

    def build(self, names):
        folder, units = self._folder(), []
        # The wheel's do not know where their library is.
        env = (("LD_LIBRARY_PATH", str(folder.parent / "lib")),) if not self.source else ()
        # A fixed number of repetitions: they are a column of the output.
        small = ("-npmin", str(RANKS), "-iter", "20", "-iter_policy", "off", "-msglog", "0:12")
        for name in names:
            program, benchmark = name.split()[0].split("/")
            units.append(Unit(name, RANKS, (str(folder / program), *small, benchmark), env))
        return units, []
