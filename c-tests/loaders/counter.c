/* Another tool in the preload list: counts calls, hands them on to the next library (or, built with
 * -DPROFILING, to the PMPI_ names, as most tools do), and says the counts at the end (FB-001). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int inits, allreduces;

#ifdef PROFILING
#define NEXT(name) P##name
#else
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#endif

int MPI_Init(int *argc, char ***argv) {
    inits++;
    return NEXT(MPI_Init)(argc, argv);
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    allreduces++;
    return NEXT(MPI_Allreduce)(in, out, n, type, op, comm);
}

int MPI_Finalize(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) fprintf(stderr, "counter: %d %d 1\n", inits, allreduces);
    return NEXT(MPI_Finalize)();
}
