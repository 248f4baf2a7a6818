"""The suites by name, as scripts/suite takes them."""

from suites.mpich import Mpich
from suites.openmpi import OpenMpi
from suites.python import Mpi4py

SUITES = {suite.name: suite for suite in (Mpi4py, Mpich, OpenMpi)}
