/* An error handler that leaves MPI calls by longjmp, as the wrappers of some languages do; what
 * comes after it is seen all the same. MPICH holds its global lock then: only Open MPI is asked. */
#include "check.h"
#include <setjmp.h>

static jmp_buf back;

static void leave(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    longjmp(back, 1);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, sum;
    volatile int jumps = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (setjmp(back) == 0) MPI_Send(&rank, 1, MPI_INT, 999, 0, MPI_COMM_WORLD);
    else jumps++;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int i = 0; i < 500; i++) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    note("jumps %d sum %d", jumps, sum);
    print_notes();
    MPI_Finalize();
    return 0;
}
