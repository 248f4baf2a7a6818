"""The suites by name, as scripts/suite takes them."""

from suites.benchmarks import Imb, Osu
from suites.mpich import Mpich
from suites.programs import OmpiTests, OpenMpi
from suites.python import Mpi4py

SUITES = {suite.name: suite for suite in (Mpi4py, Mpich, OpenMpi, Osu, Imb, OmpiTests)}
