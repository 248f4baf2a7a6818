/* Communicators: every way to make one, ranks left out, two idups completed in reverse order
 * (FB-061), inter-communicators (FB-058), freed parents, null handles written back (FB-062), names,
 * topologies with neighbourhood collectives, and many dup/free cycles. */
#include "check.h"

static void use(const char *name, MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) {
        note("%s null", name);
        return;
    }
    int rank, size, sum = -1, inter;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_test_inter(comm, &inter);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    note("%s %d of %d sum %d inter %d", name, rank, size, sum, inter);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm a, b, c, d;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, -rank, &a), use("split", a);
    MPI_Comm_dup(MPI_COMM_WORLD, &b), MPI_Comm_set_name(b, "twin"), use("dup", b);
    MPI_Comm_dup_with_info(b, MPI_INFO_NULL, &c), use("dup_with_info", c);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &d), use("split_type", d);
    MPI_Comm_free(&b), MPI_Comm_free(&d);
    note("freed %d %d", b == MPI_COMM_NULL, d == MPI_COMM_NULL);
    MPI_Request r[2];
    MPI_Comm_idup(MPI_COMM_WORLD, &b, &r[0]), MPI_Comm_idup(c, &d, &r[1]);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE), MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    use("idup", b), use("idup of a dup", d);
    MPI_Comm_disconnect(&b), MPI_Comm_free(&d);

    MPI_Group all, some;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int last = size - 1;
    MPI_Group_incl(all, 1, &last, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &b), use("create", b);
    if (rank == last) MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &d), use("create_group", d), MPI_Comm_free(&d);
    if (b != MPI_COMM_NULL) MPI_Comm_free(&b);
    MPI_Group_free(&all), MPI_Group_free(&some);

    if (size > 1) {
        MPI_Comm half, inter, merged;
        int left = rank < size / 2;
        MPI_Comm_split(MPI_COMM_WORLD, left, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, left ? size / 2 : 0, 8, &inter);
        MPI_Comm_free(&half);
        int mine = rank, got = -1;
        MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, inter);
        MPI_Bcast(&mine, 1, MPI_INT, left ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
        note("inter sum %d bcast %d", got, mine);
        MPI_Barrier(inter);
        MPI_Intercomm_merge(inter, !left, &merged), use("merged", merged);
        MPI_Comm_free(&merged), MPI_Comm_free(&inter);
    }

    MPI_Comm cart, row, graph;
    int dims[1] = {size}, periods[1] = {1}, keep[1] = {1};
    double mine[4] = {rank, rank + 0.5, 1, 2}, around[8] = {0};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart);
    MPI_Cart_sub(cart, keep, &row), use("cart_sub", row);
    MPI_Neighbor_allgather(mine, 2, MPI_DOUBLE, around, 2, MPI_DOUBLE, cart);
    note("neighbor_allgather %016lx", bits(around, sizeof around));
    MPI_Neighbor_alltoall(mine, 2, MPI_DOUBLE, around, 2, MPI_DOUBLE, cart);
    note("neighbor_alltoall %016lx", bits(around, sizeof around));
    int two[2] = {2, 2}, at[2] = {0, 2};
    MPI_Neighbor_alltoallv(mine, two, at, MPI_DOUBLE, around, two, at, MPI_DOUBLE, cart);
    MPI_Request request;
    MPI_Ineighbor_allgatherv(mine, 2, MPI_DOUBLE, around, two, at, MPI_DOUBLE, cart, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    note("ineighbor_allgatherv %016lx", bits(around, sizeof around));
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Ineighbor_alltoall(mine, 1, MPI_DOUBLE, around, 1, MPI_DOUBLE, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    note("ineighbor_alltoall %.2f", around[0]);
    MPI_Comm_free(&graph), MPI_Comm_free(&row), MPI_Comm_free(&cart);

    int total = 0;
    for (int i = 0; i < 200; i++) {
        int sum;
        MPI_Comm_dup(c, &b);
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, b);
        MPI_Comm_free(&b);
        total += sum;
    }
    note("cycles %d", total);
    if (a != MPI_COMM_NULL) MPI_Comm_free(&a);
    MPI_Comm_free(&c);
    print_notes();
    MPI_Finalize();
    return 0;
}
