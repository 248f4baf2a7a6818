/* One of two parts of a program, each linked with an MPI of its own and loaded with RTLD_LOCAL: its
 * calls must reach that MPI whatever the other part has loaded. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* 0 where everything is right; `name` is in what this part's own MPI says of itself. */
int run_side(const char *name) {
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, size = 0, one = 1, sum = 0, flag = 1;
    MPI_Get_library_version(text, &length);
    if (!strstr(text, name)) return 1;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return 2;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    for (int i = 0; i < 10; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup);
    MPI_Request request;
    MPI_Ibarrier(dup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&dup);
    MPI_Finalized(&flag);
    return size != 1 || sum != 1 || flag ? 3 : 0;
}

int end_side(void) { return MPI_Finalize() == MPI_SUCCESS ? 0 : 4; }
