/* Every blocking collective of MPI-3.1: plain, in place, with derived types, a user operation,
 * zero counts with null buffers (FB-074), every root. */
#include "check.h"

enum { N = 300 };
static double in[N * 16], out[N * 16];

static void fill(int rank) {
    for (int i = 0; i < N * 16; i++) in[i] = rank * 1000 + i * 0.25, out[i] = -1;
}

static void take_larger(void *a, void *b, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; i++)
        if (((double *)a)[i] > ((double *)b)[i]) ((double *)b)[i] = ((double *)a)[i];
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm world = MPI_COMM_WORLD;
    int counts[16], displs[16], zeros[16] = {0}, bytes[16], byte_displs[16];
    MPI_Datatype types[16];
    for (int i = 0; i < size; i++) {
        counts[i] = i == 1 ? 0 : 10 + i; /* rank 1 has nothing */
        displs[i] = i * 20;
        types[i] = MPI_DOUBLE;
        bytes[i] = 5;
        byte_displs[i] = i * 5 * (int)sizeof(double);
    }
    MPI_Op larger;
    MPI_Op_create(take_larger, 1, &larger);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
#define SHOW(name) note("%s %016lx", name, bits(out, sizeof out)), fill(rank)
    fill(rank);
    MPI_Barrier(world);
    for (int root = 0; root < size; root++) {
        memcpy(out, in, sizeof out);
        MPI_Bcast(out, N, MPI_DOUBLE, root, world), SHOW("bcast");
        MPI_Gather(in, 7, MPI_DOUBLE, out, 7, MPI_DOUBLE, root, world), SHOW("gather");
        MPI_Gatherv(in, counts[rank], MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, root, world), SHOW("gatherv");
        MPI_Scatter(in, 7, MPI_DOUBLE, out, 7, MPI_DOUBLE, root, world), SHOW("scatter");
        MPI_Scatterv(in, counts, displs, MPI_DOUBLE, out, counts[rank], MPI_DOUBLE, root, world), SHOW("scatterv");
        MPI_Reduce(in, out, N, MPI_DOUBLE, MPI_SUM, root, world), SHOW("reduce");
        MPI_Reduce(rank == root ? MPI_IN_PLACE : (void *)in, rank == root ? out : NULL, 9, MPI_DOUBLE, larger, root, world), SHOW("reduce in place");
        MPI_Gather(rank == root ? MPI_IN_PLACE : (void *)in, 7, MPI_DOUBLE, out, 7, MPI_DOUBLE, root, world), SHOW("gather in place");
    }
    MPI_Allgather(in, 5, MPI_DOUBLE, out, 5, MPI_DOUBLE, world), SHOW("allgather");
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 5, MPI_DOUBLE, world), SHOW("allgather in place");
    MPI_Allgatherv(counts[rank] ? in : NULL, counts[rank], MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, world), SHOW("allgatherv");
    MPI_Alltoall(in, 5, MPI_DOUBLE, out, 5, MPI_DOUBLE, world), SHOW("alltoall");
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 5, MPI_DOUBLE, world), SHOW("alltoall in place");
    MPI_Alltoallv(in, bytes, displs, MPI_DOUBLE, out, bytes, displs, MPI_DOUBLE, world), SHOW("alltoallv");
    MPI_Alltoallv(NULL, zeros, zeros, MPI_DOUBLE, out, zeros, zeros, MPI_DOUBLE, world), SHOW("alltoallv of nothing");
    MPI_Alltoallw(in, bytes, byte_displs, types, out, bytes, byte_displs, types, world), SHOW("alltoallw");
    MPI_Allreduce(in, out, N, MPI_DOUBLE, MPI_SUM, world), SHOW("allreduce");
    memcpy(out, in, sizeof out);
    MPI_Allreduce(MPI_IN_PLACE, out, N, MPI_DOUBLE, MPI_MAX, world), SHOW("allreduce in place");
    MPI_Allreduce(in, out, 40, MPI_DOUBLE, larger, world), SHOW("allreduce of a user's operation");
    MPI_Allreduce(NULL, NULL, 0, MPI_DOUBLE, MPI_SUM, world), SHOW("allreduce of nothing");
    MPI_Reduce_scatter_block(in, out, 6, MPI_DOUBLE, MPI_SUM, world), SHOW("reduce_scatter_block");
    MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, world), SHOW("reduce_scatter");
    MPI_Scan(in, out, N, MPI_DOUBLE, MPI_SUM, world), SHOW("scan");
    MPI_Exscan(in, out, N, MPI_DOUBLE, MPI_SUM, world);
    if (rank == 0) memset(out, 0, sizeof out); /* undefined there by the standard */
    SHOW("exscan");
    MPI_Bcast(out, 20, pair, 0, world);
    MPI_Type_free(&pair);
    note("pair %d op %d", pair == MPI_DATATYPE_NULL, (MPI_Op_free(&larger), larger == MPI_OP_NULL));
    print_notes();
    MPI_Finalize();
    return 0;
}
