"""Open MPI's examples, and those programs of its test folder that are MPI programs."""

import re

from suites import fetch
from suites.base import Suite
from suites.job import Unit

RANKS = 2
FOLDERS = ["examples", "test"]
ENDINGS = [".c", ".cc", ".f", ".f90"]


class OpenMpi(Suite):
    name = "openmpi"

    def sources(self):
        return self.source or fetch.debian_source("openmpi", self.root)

    def names(self):
        """One program is one unit; few and short, so that --quick is all of them."""
        found = []
        for folder in FOLDERS:
            for path in sorted((self.sources() / folder).rglob("*")):
                if path.suffix in ENDINGS and _is_program(path.read_text(errors="replace")):
                    found.append(f"{path.relative_to(self.sources())} {RANKS}")
        return found

    def build(self, names):
        tree = self.root / "build" / "openmpi" / self.with_mpi.name
        jobs, reasons = [], {}
        for name in names:
            source = self.sources() / name.split()[0]
            program = tree / name.split()[0].replace("/", "_").replace(".", "_")
            compiler = self._compiler(source)
            if compiler:
                jobs.append((name, program, [compiler, "-O1", "-w", source, "-o", program]))
            else:
                reasons[name] = f"{self.with_mpi.name} has no compiler for it"
        reasons |= fetch.compile_all(jobs)
        programs = {name: (str(program),) for name, program, _ in jobs}
        units = [
            Unit(name, RANKS, programs[name]) for name in names if name not in reasons
        ]
        return units, [(name, reasons[name]) for name in names if name in reasons]

    def _compiler(self, source):
        mpi = self.with_mpi
        if "oshmem" in source.name:
            # OpenSHMEM in Open MPI is a layer above MPI, and starts it.
            return mpi.oshcc if source.suffix == ".c" else None
        return {".c": mpi.cc, ".cc": mpi.cxx}.get(source.suffix, mpi.fortran)


def _is_program(text):
    """True for a source that begins MPI or OpenSHMEM itself, in any of the languages."""
    return bool(re.search(r"\bmpi_init\b|\bMPI::Init\b|\bshmem_init\b|\bstart_pes\b", text, re.I))
