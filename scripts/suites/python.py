"""mpi4py's own tests: one file is one unit, with one rank and with two."""

import os
import sys
import tarfile

from suites import fetch
from suites.base import Suite
from suites.job import Unit

VERSION = "4.1.2"
RANKS = (1, 2)
# Of each kind of call one file: collectives, point-to-point, communicators, windows, files, spawn.
QUICK = ["cco_buf", "cco_nb_buf", "comm", "errhandler", "p2p_buf", "request", "rma", "threads"]


class Mpi4py(Suite):
    name = "mpi4py"

    def sources(self):
        """The unpacked source distribution."""
        return fetch.whole(self.root / "sources" / f"mpi4py-{VERSION}", self._download)

    def _download(self, part):
        where = self.root / "pip"
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "mpi4py"]
        fetch.quiet([*command, "-d", where, f"mpi4py=={VERSION}"], where / "download.log")
        with tarfile.open(self._archive()) as archive:
            archive.extractall(part, filter="data")
        # The archive has one folder, and that is what is wanted.
        inner = part / f"mpi4py-{VERSION}"
        for entry in inner.iterdir():
            entry.rename(part / entry.name)
        inner.rmdir()

    def _archive(self):
        return self.root / "pip" / f"mpi4py-{VERSION}.tar.gz"

    def names(self):
        files = sorted((self.sources() / "test").glob("test_*.py"))
        if self.quick:
            files = [path for path in files if path.stem.removeprefix("test_") in QUICK]
        return [f"{path.stem} {ranks}" for path in files for ranks in RANKS]

    def build(self, names):
        python = self._installed() / "bin" / "python"
        env = {"PYTHONPATH": str(self.sources() / "test")}
        if self.with_mpi.library:
            env["MPI4PY_LIBMPI"] = self.with_mpi.library
        units = []
        for name in names:
            module, ranks = name.split()
            program = (str(python), "-m", "unittest", "-v", module)
            units.append(Unit(name, int(ranks), program, tuple(env.items())))
        return units, []

    def _installed(self):
        """A virtual environment with mpi4py for this MPI."""
        mpi = self.with_mpi
        folder = self.root / "build" / "mpi4py" / mpi.name
        ready = folder / "ready"
        if not ready.exists():
            logs = self.root / "build" / "mpi4py" / "logs"
            fetch.quiet([sys.executable, "-m", "venv", "--clear", folder], logs / "venv.log")
            pip = [folder / "bin" / "python", "-m", "pip", "install", "--no-deps"]
            env = os.environ | mpi.env
            if mpi.library:
                # The binary wheel finds its MPI when it is loaded.
                what = [f"mpi4py=={VERSION}"]
            else:
                # Built against this MPI alone. Pip would take another MPI's build from its cache.
                what = ["--no-cache-dir", "--no-binary", "mpi4py", self._archive()]
                env |= {"MPICC": mpi.cc}
            fetch.quiet([*pip, *what], logs / f"{mpi.name}.log", env=env)
            ready.touch()
        return folder
