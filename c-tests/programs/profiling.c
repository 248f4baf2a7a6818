/* Calls under their PMPI_ names mixed with MPI_ ones, as a profiler's library makes them: each is
 * seen once, under either name.
 *
 * counts: MPI_Allreduce 40, MPI_Comm_dup 2, MPI_Comm_free 2, MPI_Isend 10, MPI_Irecv 10,
 * MPI_Waitall 10, MPI_Barrier 3.
 * counts, rank 0: MPI_Send 20, MPI_Recv 21.
 * counts, other ranks: MPI_Send 21, MPI_Recv 20. */
#include "check.h"

static int rank, size, inside;

/* A wrapper in the program itself, before every library: what it calls is the call. */
int MPI_Barrier(MPI_Comm comm) {
    inside++;
    return PMPI_Barrier(comm);
}

int main(int argc, char **argv) {
    PMPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm a, b;
    PMPI_Comm_dup(MPI_COMM_WORLD, &a), MPI_Comm_dup(a, &b);
    int sum, total = 0, got, right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < 20; i++) {
        PMPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, i % 2 ? a : b), total += sum;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, i % 2 ? b : a), total += sum;
    }
    EXPECT(total == 20 * size * (size - 1));
    for (int i = 0; i < 20; i++) {
        int mine = rank * 100 + i, wanted = left * 100 + i;
        if (rank == 0) {
            i % 2 ? PMPI_Send(&mine, 1, MPI_INT, right, 1, a)
                : MPI_Send(&mine, 1, MPI_INT, right, 1, a);
            i % 3 ? PMPI_Recv(&got, 1, MPI_INT, left, 1, a, MPI_STATUS_IGNORE)
                : MPI_Recv(&got, 1, MPI_INT, left, 1, a, MPI_STATUS_IGNORE);
        } else {
            i % 3 ? PMPI_Recv(&got, 1, MPI_INT, left, 1, a, MPI_STATUS_IGNORE)
                : MPI_Recv(&got, 1, MPI_INT, left, 1, a, MPI_STATUS_IGNORE);
            i % 2 ? PMPI_Send(&mine, 1, MPI_INT, right, 1, a)
                : MPI_Send(&mine, 1, MPI_INT, right, 1, a);
        }
        EXPECT(got == wanted);
    }
    for (int i = 0; i < 10; i++) {
        MPI_Request r[2];
        i % 2 ? PMPI_Irecv(&got, 1, MPI_INT, left, 2, b, &r[0])
            : MPI_Irecv(&got, 1, MPI_INT, left, 2, b, &r[0]);
        i % 3 ? PMPI_Isend(&rank, 1, MPI_INT, right, 2, b, &r[1])
            : MPI_Isend(&rank, 1, MPI_INT, right, 2, b, &r[1]);
        i % 4 ? PMPI_Waitall(2, r, MPI_STATUSES_IGNORE) : MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        EXPECT(got == left);
    }
    MPI_Barrier(a), PMPI_Barrier(a), MPI_Barrier(b);
    EXPECT(inside == 2);
    PMPI_Comm_free(&a), MPI_Comm_free(&b);
    note("total %d, in the wrapper %d", total, inside);
    print_notes();
    PMPI_Finalize();
    return check_wrong;
}
