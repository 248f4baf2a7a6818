/* A rank dies; the others are told, revoke, shrink and go on with less (FB-077). Needs an MPI with
 * fault tolerance that is switched on (`mpirun --with-ft ulfm`); elsewhere it says so. */
#include "check.h"
#include <signal.h>
#include <unistd.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
#if defined(OMPI_HAVE_MPI_EXT_FTMPI)
    int rank, size, one = 1, sum = 0, failed = 0;
    MPI_Comm shrunk;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == sum - 1) kill(getpid(), SIGKILL);
    while (!failed) failed = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
    MPIX_Comm_revoke(MPI_COMM_WORLD);
    MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk);
    MPI_Comm_size(shrunk, &size);
    for (int i = 0; i < 100; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, shrunk);
    if (rank == 0) printf("%d left, sum %d\n", size, sum);
    MPI_Comm_free(&shrunk);
#else
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("skipped: no fault tolerance in this MPI\n");
#endif
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
