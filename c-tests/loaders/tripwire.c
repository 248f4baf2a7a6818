/* Loaded behind libpas.so: counts the PMPI_ functions that move data or make something, whoever
 * calls them. A program that uses MPI_ names only must leave the count at 0, or libpas.so
 * communicates by itself (FB-034, FB-066). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int calls;

#define COUNTED(name, declared, passed)                                                   \
    int P##name declared {                                                                \
        __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);                                  \
        return ((__typeof__(&name))dlsym(RTLD_NEXT, "P" #name)) passed;                   \
    }

COUNTED(MPI_Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))
COUNTED(MPI_Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s),
        (b, n, t, from, tag, c, s))
COUNTED(MPI_Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r),
        (b, n, t, to, tag, c, r))
COUNTED(MPI_Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r),
        (b, n, t, from, tag, c, r))
COUNTED(MPI_Barrier, (MPI_Comm c), (c))
COUNTED(MPI_Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
COUNTED(MPI_Allreduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (a, b, n, t, o, c))
COUNTED(MPI_Allgather, (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c),
        (a, n, t, b, m, u, c))
COUNTED(MPI_Comm_dup, (MPI_Comm c, MPI_Comm *d), (c, d))
COUNTED(MPI_Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *d), (c, color, key, d))
COUNTED(MPI_Probe, (int from, int tag, MPI_Comm c, MPI_Status *s), (from, tag, c, s))
COUNTED(MPI_Wait, (MPI_Request * r, MPI_Status *s), (r, s))

__attribute__((destructor)) static void tell(void) {
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized) fprintf(stderr, "tripwire: %d\n", calls);
}
