"""MPI through ctypes, with a library that is loaded with RTLD_LOCAL: as Python's and Julia's
bindings do. Prints sums; the calls go straight to the library, past any preloaded one."""
import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL)
assert mpi.MPI_Init(None, None) == 0
world = ctypes.c_int(0x44000000)
if len(sys.argv) > 2:
    world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
rank, size = ctypes.c_int(), ctypes.c_int()
assert mpi.MPI_Comm_rank(world, ctypes.byref(rank)) == 0
assert mpi.MPI_Comm_size(world, ctypes.byref(size)) == 0
for _ in range(20):
    assert mpi.MPI_Barrier(world) == 0
if rank.value == 0:
    print("ranks", size.value)
assert mpi.MPI_Finalize() == 0
