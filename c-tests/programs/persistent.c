/* Persistent requests: each way to send, started alone and by Startall through copies of their
 * handles, used again, freed inactive and active; each persistent collective against its blocking
 * form, alone and many at once. Open MPI 4 has the collectives under MPIX_ names;
 * they are counted under the others.
 *
 * counts: MPI_Send_init 103, MPI_Bsend_init 1, MPI_Ssend_init 1, MPI_Rsend_init 1,
 * MPI_Recv_init 4, MPI_Startall 6, MPI_Request_free 127.
 * counts: MPI_Barrier_init 1, MPI_Bcast_init 1, MPI_Gather_init 1,
 * MPI_Gatherv_init 1, MPI_Scatter_init 1, MPI_Scatterv_init 1, MPI_Allgather_init 1,
 * MPI_Allgatherv_init 1, MPI_Alltoall_init 1, MPI_Alltoallv_init 1, MPI_Alltoallw_init 1,
 * MPI_Reduce_init 1, MPI_Allreduce_init 1, MPI_Reduce_scatter_block_init 1,
 * MPI_Reduce_scatter_init 1, MPI_Scan_init 1, MPI_Exscan_init 1.
 * counts, MPICH 4: MPI_Start 54.
 * counts, not MPICH 4: MPI_Start 60. */
#include "check.h"
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#if MPI4
#define INIT(name) MPI_##name##_init
#elif defined OMPI_HAVE_MPI_EXT_PCOLLREQ
#define INIT(name) MPIX_##name##_init
#endif

/* Natively, the gather, scatter and allgather of MPICH 4 and Intel copy a rank's own part when the
 * request is made instead of when it is started, and fail on four ranks: made, but not started. */
#if defined I_MPI_VERSION || defined MPICH_NUMVERSION && MPICH_NUMVERSION < 50000000
#define BROKEN(o) ((o) == 2 || (o) == 4 || (o) == 6)
#else
#define BROKEN(o) 0
#endif

static int rank, size, left, right;

static void point_to_point(void) {
    enum { KINDS = 4, ROUNDS = 5, N = 100 };
    int out[KINDS][N], in[KINDS][N];
    static char buffer[4 * (sizeof out[0] + MPI_BSEND_OVERHEAD)];
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request sends[KINDS], receives[KINDS], copy[KINDS];
    MPI_Status statuses[KINDS];
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int k = 0; k < KINDS; k++) MPI_Recv_init(in[k], N, MPI_INT, left, k, w, &receives[k]);
    MPI_Send_init(out[0], N, MPI_INT, right, 0, w, &sends[0]);
    MPI_Bsend_init(out[1], N, MPI_INT, right, 1, w, &sends[1]);
    MPI_Ssend_init(out[2], N, MPI_INT, right, 2, w, &sends[2]);
    MPI_Rsend_init(out[3], N, MPI_INT, right, 3, w, &sends[3]);
    MPI_Waitall(KINDS, sends, statuses); /* of inactive ones */
    MPI_Startall(0, sends);
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < KINDS; k++)
            for (int i = 0; i < N; i++)
                out[k][i] = rank * 1000 + round * 100 + k * 10 + i, in[k][i] = -1;
        memcpy(copy, receives, sizeof copy);
        if (round % 2) MPI_Startall(KINDS, copy);
        else for (int k = 0; k < KINDS; k++) MPI_Start(&copy[k]);
        MPI_Barrier(w); /* the ready send's receive is there */
        memcpy(copy, sends, sizeof copy);
        if (round % 2) MPI_Startall(KINDS, copy);
        else for (int k = 0; k < KINDS; k++) MPI_Start(&copy[k]);
        MPI_Waitall(KINDS, receives, statuses), MPI_Waitall(KINDS, sends, MPI_STATUSES_IGNORE);
        for (int k = 0; k < KINDS; k++) {
            EXPECT(statuses[k].MPI_SOURCE == left && statuses[k].MPI_TAG == k);
            for (int i = 0; i < N; i++) EXPECT(in[k][i] == left * 1000 + round * 100 + k * 10 + i);
        }
    }
    for (int k = 0; k < KINDS; k++) MPI_Request_free(&sends[k]), MPI_Request_free(&receives[k]);
    EXPECT(sends[0] == MPI_REQUEST_NULL && receives[3] == MPI_REQUEST_NULL);

    /* Freed while active. */
    MPI_Request request;
    MPI_Send_init(out[0], N, MPI_INT, right, 9, w, &request);
    MPI_Start(&request), MPI_Request_free(&request);
    MPI_Recv(in[0], N, MPI_INT, left, 9, w, MPI_STATUS_IGNORE);
    EXPECT(in[0][7] == left * 1000 + (ROUNDS - 1) * 100 + 7);
    /* To nobody. */
    MPI_Send_init(out[0], N, MPI_INT, MPI_PROC_NULL, 9, w, &request);
    MPI_Start(&request), MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_Request_free(&request);
    /* Handles that come back. */
    for (int i = 0; i < 100; i++)
        MPI_Send_init(out[0], i, MPI_INT, right, 9, w, &request), MPI_Request_free(&request);
    MPI_Barrier(w); /* the first one has left `out` by now */
    void *detached;
    int bytes;
    MPI_Buffer_detach(&detached, &bytes);
    note("point to point %d", request == MPI_REQUEST_NULL);
}

#ifdef INIT
static void collectives(void) {
    enum { N = 64, OPS = 17, ROUNDS = 3 };
    static double in[OPS][N * 16], out[OPS][N * 16], want[OPS][N * 16];
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Info i0 = MPI_INFO_NULL;
    MPI_Datatype d = MPI_DOUBLE, types[16];
    MPI_Request r[OPS], sound[OPS], copy[OPS];
    int counts[16], displs[16], byte_displs[16], same[16], n = 0, m = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = 3 + i, same[i] = 4, displs[i] = i * 20, types[i] = d,
            byte_displs[i] = i * 20 * 8;
    }
    INIT(Barrier)(w, i0, &r[n]), n++;
    INIT(Bcast)(out[n], 10, d, 0, w, i0, &r[n]), n++;
    INIT(Gather)(in[n], 4, d, out[n], 4, d, 0, w, i0, &r[n]), n++;
    INIT(Gatherv)(in[n], counts[rank], d, out[n], counts, displs, d, 0, w, i0, &r[n]), n++;
    INIT(Scatter)(in[n], 4, d, out[n], 4, d, 0, w, i0, &r[n]), n++;
    INIT(Scatterv)(in[n], counts, displs, d, out[n], counts[rank], d, 0, w, i0, &r[n]), n++;
    INIT(Allgather)(in[n], 4, d, out[n], 4, d, w, i0, &r[n]), n++;
    INIT(Allgatherv)(in[n], counts[rank], d, out[n], counts, displs, d, w, i0, &r[n]), n++;
    INIT(Alltoall)(in[n], 4, d, out[n], 4, d, w, i0, &r[n]), n++;
    INIT(Alltoallv)(in[n], same, displs, d, out[n], same, displs, d, w, i0, &r[n]), n++;
    INIT(Alltoallw)(in[n], same, byte_displs, types, out[n], same, byte_displs, types, w,
                    i0, &r[n]);
    n++;
    INIT(Reduce)(in[n], out[n], N, d, MPI_SUM, 0, w, i0, &r[n]), n++;
    INIT(Allreduce)(in[n], out[n], N, d, MPI_SUM, w, i0, &r[n]), n++;
    INIT(Reduce_scatter_block)(in[n], out[n], 4, d, MPI_SUM, w, i0, &r[n]), n++;
    INIT(Reduce_scatter)(in[n], out[n], counts, d, MPI_SUM, w, i0, &r[n]), n++;
    INIT(Scan)(in[n], out[n], N, d, MPI_SUM, w, i0, &r[n]), n++;
    INIT(Exscan)(in[n], out[n], N, d, MPI_SUM, w, i0, &r[n]), n++;
    for (int o = 0; o < n; o++)
        if (!BROKEN(o)) sound[m++] = r[o];
    for (int round = 0; round < ROUNDS; round++) {
        for (int o = 0; o < OPS; o++)
            for (int i = 0; i < N * 16; i++)
                in[o][i] = rank + o * 8 + i + round, out[o][i] = want[o][i] = -1;
        if (rank == 0) memcpy(out[1], in[1], sizeof out[1]), memcpy(want[1], in[1], sizeof want[1]);
        memcpy(copy, sound, sizeof copy);
        if (round == 0) {
            for (int o = 0; o < m; o++) MPI_Start(&sound[o]), MPI_Wait(&copy[o], MPI_STATUS_IGNORE);
        } else {
            if (round == 1) MPI_Startall(m, copy);
            else for (int o = 0; o < m; o++) MPI_Start(&copy[o]);
            MPI_Waitall(m, sound, MPI_STATUSES_IGNORE);
        }
        MPI_Bcast(want[1], 10, d, 0, w);
        MPI_Gather(in[2], 4, d, want[2], 4, d, 0, w);
        MPI_Gatherv(in[3], counts[rank], d, want[3], counts, displs, d, 0, w);
        MPI_Scatter(in[4], 4, d, want[4], 4, d, 0, w);
        MPI_Scatterv(in[5], counts, displs, d, want[5], counts[rank], d, 0, w);
        MPI_Allgather(in[6], 4, d, want[6], 4, d, w);
        MPI_Allgatherv(in[7], counts[rank], d, want[7], counts, displs, d, w);
        MPI_Alltoall(in[8], 4, d, want[8], 4, d, w);
        MPI_Alltoallv(in[9], same, displs, d, want[9], same, displs, d, w);
        MPI_Alltoallw(in[10], same, byte_displs, types, want[10], same, byte_displs, types, w);
        MPI_Reduce(in[11], want[11], N, d, MPI_SUM, 0, w);
        MPI_Allreduce(in[12], want[12], N, d, MPI_SUM, w);
        MPI_Reduce_scatter_block(in[13], want[13], 4, d, MPI_SUM, w);
        MPI_Reduce_scatter(in[14], want[14], counts, d, MPI_SUM, w);
        MPI_Scan(in[15], want[15], N, d, MPI_SUM, w);
        MPI_Exscan(in[16], want[16], N, d, MPI_SUM, w);
        if (rank == 0) memset(out[16], 0, sizeof out[16]), memset(want[16], 0, sizeof want[16]);
        for (int o = 1; o < n; o++)
            if (BROKEN(o)) memcpy(out[o], want[o], sizeof out[o]);
            else if (memcmp(out[o], want[o], sizeof out[o]))
                check_wrong++, note("wrong: collective %d, round %d", o, round);
        note("round %d bits %016lx", round, bits(out, sizeof out));
    }
    for (int o = 0; o < n; o++) MPI_Request_free(&r[o]);
    if (BROKEN(2)) skipped("sound MPI_Gather_init, MPI_Scatter_init and MPI_Allgather_init");
}
#endif

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size, left = (rank + size - 1) % size;
    point_to_point();
#ifdef INIT
    collectives();
#else
    skipped("persistent collectives");
#endif
    print_notes();
    MPI_Finalize();
    return check_wrong;
}
