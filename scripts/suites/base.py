"""What a suite is to scripts/suite."""


class Suite:
    """Subclasses have a name, the MPI that is taken if none is named, and the two methods."""

    name = ""
    mpi = "openmpi"
    # Words of the command line that repeat a unit needs as well.
    words = ()

    def __init__(self, mpi, root, source, quick):
        """`root` is target/suites, `source` the folder of --from or None."""
        self.with_mpi, self.root, self.source, self.quick = mpi, root, source, quick

    def names(self):
        """The names of all units, or of those of --quick."""
        raise NotImplementedError

    def build(self, names):
        """The units of these names, and of those that cannot be built (name, reason)."""
        raise NotImplementedError
