/* Functions that libpas.so does not wrap must stay reachable, bound at once or lazily (FB-003). */
#include <mpi.h>
#include <stdio.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, bytes, cuda = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sizes[] = {8, 8}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
    int args[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {size, 1};
    MPI_Datatype type;
    MPI_Type_create_darray(size, rank, 2, sizes, kinds, args, grid, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_size(type, &bytes);
    MPI_Type_free(&type);
    MPI_Win win;
    int *memory;
    MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_free(&win);
#ifdef OPEN_MPI
    cuda = MPIX_Query_cuda_support();
#endif
    if (rank == 0) printf("%d bytes, cuda %d\n", bytes, cuda);
    MPI_Finalize();
    return 0;
}
