/* The calls ending in _c, with large integers for sizes, among the others: each gives what its twin
 * gives, and is seen as its twin.
 *
 * counts, large counts: MPI_Isend 2, MPI_Irecv 2, MPI_Sendrecv 1, MPI_Bcast 1, MPI_Allreduce 3,
 * MPI_Reduce 1, MPI_Allgatherv 1, MPI_Alltoallv 1, MPI_Alltoallw 1, MPI_Reduce_scatter 1,
 * MPI_Iallreduce 1, MPI_Allreduce_init 1, MPI_Start 3, MPI_Put 1, MPI_Win_create 1,
 * MPI_Neighbor_alltoallv 1.
 * counts, large counts, rank 0: MPI_Send 1, MPI_Recv 2.
 * counts, MPI-4, other ranks: MPI_Send 2, MPI_Recv 1. */
#include "check.h"

#if LARGE_COUNTS
enum { N = 4, MAX = 16 };

static void large(int rank, int size) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, sum = size * (size - 1) / 2;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Datatype d = MPI_INT, types[MAX];
    MPI_Count counts[MAX], n = N, got = -1;
    MPI_Aint displs[MAX], bytes[MAX];
    int in[MAX * N], out[MAX * N], odd = rank % 2;
    MPI_Status status;
    MPI_Request r[2];
    for (int i = 0; i < size; i++)
        counts[i] = N, displs[i] = i * N, bytes[i] = (MPI_Aint)sizeof(int) * i * N, types[i] = d;
    for (int i = 0; i < size * N; i++) out[i] = rank * 100 + i, in[i] = -1;

    /* In pairs; the last of an odd number of ranks talks to itself below. */
    int peer = odd ? rank - 1 : rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    if (odd) MPI_Recv_c(in, n, d, peer, 1, w, &status), MPI_Send_c(out, n, d, peer, 2, w);
    else MPI_Send_c(out, n, d, peer, 1, w), MPI_Recv_c(in, n, d, peer, 2, w, &status);
    MPI_Get_count_c(&status, d, &got);
    EXPECT(peer == MPI_PROC_NULL || (in[3] == peer * 100 + 3 && got == n));
    MPI_Irecv_c(in, n, d, left, 3, w, &r[0]), MPI_Isend_c(out, n, d, right, 3, w, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE), EXPECT(in[2] == left * 100 + 2);
    MPI_Irecv(in, N, d, left, 4, w, &r[0]), MPI_Isend(out + 4, N, d, right, 4, w, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE), EXPECT(in[2] == left * 100 + 6);
    MPI_Sendrecv_c(out, n, d, left, 5, in, n, d, right, 5, w, &status),
        EXPECT(in[1] == right * 100 + 1);

    int root = rank == 0 ? 41 : -1;
    MPI_Bcast_c(&root, 1, d, 0, w), EXPECT(root == 41);
    MPI_Allreduce_c(out, in, n, d, MPI_SUM, w), EXPECT(in[3] == sum * 100 + 3 * size);
    MPI_Allreduce(out, in, N, d, MPI_SUM, w), EXPECT(in[3] == sum * 100 + 3 * size);
    memcpy(in, out, sizeof in);
    MPI_Allreduce_c(MPI_IN_PLACE, in, n, d, MPI_MAX, w), EXPECT(in[0] == (size - 1) * 100);
    MPI_Reduce_c(out, in, n, d, MPI_SUM, 0, w), EXPECT(rank != 0 || in[1] == sum * 100 + size);
    MPI_Allgatherv_c(out, n, d, in, counts, displs, d, w), EXPECT(in[N * right] == right * 100);
    note("allgatherv bits %016lx", bits(in, sizeof *in * size * N));
    MPI_Alltoallv_c(out, counts, displs, d, in, counts, displs, d, w),
        EXPECT(in[N * left] == left * 100 + N * rank);
    memset(in, -1, sizeof in);
    MPI_Alltoallw_c(out, counts, bytes, types, in, counts, bytes, types, w),
        EXPECT(in[N * left] == left * 100 + N * rank);
    MPI_Reduce_scatter_c(out, in, counts, d, MPI_SUM, w),
        EXPECT(in[1] == sum * 100 + size * (N * rank + 1));
    MPI_Iallreduce_c(out, in, n, d, MPI_SUM, w, r), MPI_Wait(r, &status),
        EXPECT(in[2] == sum * 100 + 2 * size);

    int mine = rank, total = -1;
    MPI_Allreduce_init_c(&mine, &total, 1, d, MPI_SUM, w, MPI_INFO_NULL, r);
    for (int i = 0; i < 3; i++, mine++)
        MPI_Start(r), MPI_Wait(r, &status), EXPECT(total == sum + i * size);
    MPI_Request_free(r);

    MPI_Win win;
    MPI_Win_create_c(in, sizeof in, sizeof *in, MPI_INFO_NULL, w, &win);
    MPI_Win_fence(0, win);
    MPI_Put_c(out, n, d, right, 2, n, d, win);
    MPI_Win_fence(0, win), MPI_Win_free(&win), EXPECT(in[3] == left * 100 + 1);

    MPI_Comm ring;
    MPI_Cart_create(w, 1, &size, &(int){1}, 0, &ring);
    for (int i = 0; i < 2 * N; i++) out[i] = rank; /* left and right may be one */
    MPI_Neighbor_alltoallv_c(out, counts, displs, d, in, counts, displs, d, ring);
    EXPECT(in[0] == left && in[N] == right);
    MPI_Comm_free(&ring);
    note("all done, total %d", total);
}
#endif

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
#if LARGE_COUNTS
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    large(rank, size);
#else
    skipped("large counts");
#endif
    print_notes();
    MPI_Finalize();
    return check_wrong;
}
