"""Suites of plain programs, of which each compiles by itself and is one unit."""

import re

from suites import fetch
from suites.base import Suite
from suites.job import Unit
from suites.mpis import Missing

RANKS = 2
ENDINGS = [".c", ".cc", ".cpp", ".f", ".f90"]
# What begins MPI or OpenSHMEM, in any of the languages.
BEGINS = re.compile(
    r"\bmpi_(?:session_)?init(?:_thread)?\b|\bMPI::Init\b|\bshmem_init\b|\bstart_pes\b", re.I
)


class Programs(Suite):
    """Subclasses say where the sources are. They are few and short: --quick is all of them."""

    folders = ["."]
    # Parts of names that are left out.
    without = ()

    def sources(self):
        raise NotImplementedError

    def names(self):
        top, found = self.sources(), []
        for path in sorted(path for folder in self.folders for path in (top / folder).rglob("*")):
            name = str(path.relative_to(top))
            if path.suffix not in ENDINGS or any(word in name for word in self.without):
                continue
            if BEGINS.search(path.read_text(errors="replace")):
                found.append(f"{name} {RANKS}")
        return found

    def build(self, names):
        tree = self.root / "build" / self.name / self.with_mpi.name
        jobs, reasons, programs = [], {}, {}
        for name in names:
            source = self.sources() / name.split()[0]
            program = tree / name.split()[0].replace("/", "_").replace(".", "_")
            programs[name] = (str(program),)
            if compiler := self._compiler(source):
                command = [compiler, "-O1", "-w", "-pthread", source, "-lm", "-o", program]
                jobs.append((name, program, command))
            else:
                reasons[name] = f"{self.with_mpi.name} has no compiler for it"
        reasons |= fetch.compile_all(jobs, self.with_mpi)
        units = [Unit(name, RANKS, programs[name]) for name in names if name not in reasons]
        return units, [(name, reasons[name]) for name in names if name in reasons]

    def _compiler(self, source):
        mpi = self.with_mpi
        if "oshmem" in source.name:
            # OpenSHMEM in Open MPI is a layer above MPI, and starts it.
            return mpi.oshcc if source.suffix == ".c" else None
        kinds = {".c": mpi.cc, ".cc": mpi.cxx, ".cpp": mpi.cxx}
        return kinds.get(source.suffix, mpi.fortran)


class OpenMpi(Programs):
    """Open MPI's examples, and those programs of its test folder that are MPI programs."""

    name = "openmpi"
    folders = ["examples", "test"]

    def sources(self):
        return self.source or fetch.debian_source("openmpi", self.root)


class OmpiTests(Programs):
    """The public part of Open MPI's test suite (github.com/open-mpi/ompi-tests-public)."""

    name = "ompi-tests"
    # Those with more than 2^31 elements need more memory than a small machine has.
    without = ("big-count",)

    def sources(self):
        if not self.source:
            raise Missing("ompi-tests needs --from DIR, a clone of open-mpi/ompi-tests-public")
        return self.source
