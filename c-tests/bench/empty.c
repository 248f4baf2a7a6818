/* What any preload library costs at the least: the measured calls, each a jump to the real one.
 * A pointer starts at a cold resolver of the same signature, so that the path afterwards holds
 * nothing but a load and a jump. The same file for both MPIs: handles only pass through. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

#define EMPTY(name, parameters, arguments)                    \
    static int name##_resolve parameters;                     \
    static int(*name##_real) parameters = name##_resolve;     \
    static int name##_resolve parameters {                    \
        *(void **)&name##_real = dlsym(RTLD_NEXT, #name);     \
        return name##_real arguments;                         \
    }                                                         \
    int name parameters { return name##_real arguments; }

EMPTY(MPI_Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))
EMPTY(MPI_Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s), (b, n, t, from, tag, c, s))
EMPTY(MPI_Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r), (b, n, t, to, tag, c, r))
EMPTY(MPI_Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r), (b, n, t, from, tag, c, r))
EMPTY(MPI_Waitall, (int n, MPI_Request *r, MPI_Status *s), (n, r, s))
EMPTY(MPI_Barrier, (MPI_Comm c), (c))
EMPTY(MPI_Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
EMPTY(MPI_Allreduce, (const void *from, void *to, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (from, to, n, t, o, c))
