"""The suites by name, as scripts/suite takes them."""

from suites.python import Mpi4py

SUITES = {suite.name: suite for suite in (Mpi4py,)}
