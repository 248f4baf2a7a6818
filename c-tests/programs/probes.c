/* Probes from any source, on two communicators of which one is freed between probe and receive;
 * idups completed in reverse order by one Waitall; the non-blocking Sendrecv.
 *
 * Rank 0's are for two ranks.
 *
 * counts: MPI_Comm_idup 2, MPI_Allreduce 3, MPI_Comm_dup 2, MPI_Comm_free 5.
 * counts, MPI-4: MPI_Comm_idup_with_info 1, MPI_Isendrecv 1, MPI_Isendrecv_replace 1,
 * MPI_Waitall 3.
 * counts, MPIX: MPI_Waitall 2, MPI_Comm_dup_with_info 1.
 * counts, rank 0: MPI_Mprobe 2, MPI_Mrecv 3, MPI_Imrecv 4, MPI_Probe 1, MPI_Recv 3.
 * counts, other ranks: MPI_Probe 1, MPI_Isend 8. */
#include "check.h"

enum { N = 30000 }; /* integers: more than MPIs send unasked */
static int rank, size;

/* Every rank but 0 sends on both communicators; rank 0 takes what comes first. */
static void probe(void) {
    MPI_Comm comms[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]), MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    static int data[8][N], got[8][N];
    MPI_Request r[8];
    MPI_Status status;
    MPI_Message messages[2];
    int flag = 0, n = 0, count, bytes = 0;
    if (rank != 0) {
        for (int i = 0; i < 8; i++) {
            for (int j = 0; j < N; j++) data[i][j] = rank * 100 + i + j;
            MPI_Isend(data[i], i % 2 ? N : 10 + i, MPI_INT, 0, i / 2, comms[i / 4], &r[i]);
        }
        MPI_Comm_free(&comms[0]);
        MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
        int token;
        MPI_Probe(0, MPI_ANY_TAG, comms[1], &status);
        MPI_Recv(&token, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comms[1], &status);
        EXPECT(token == 77 && status.MPI_TAG == 5);
        MPI_Comm_free(&comms[1]);
        return;
    }
    long sum = 0, wanted = 0;
    for (int from = 1; from < size; from++)
        for (int i = 0; i < 8; i++) wanted += from * 100 + i;
    /* The first communicator's messages, matched before it is freed. */
    MPI_Message *held = malloc(4 * (size - 1) * sizeof *held);
    int *counts = malloc(4 * (size - 1) * sizeof *counts);
    for (int i = 0; i < 4 * (size - 1); i++, flag = 0) {
        if (i % 2) MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[0], &held[i], &status);
        else while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[0], &flag, &held[i], &status);
        MPI_Get_count(&status, MPI_INT, &counts[i]);
        EXPECT(status.MPI_TAG / 2 == 0 && status.MPI_SOURCE > 0);
    }
    MPI_Comm_free(&comms[0]);
    for (int i = 0; i < 4 * (size - 1); i++) {
        if (i % 2) MPI_Mrecv(got[0], counts[i], MPI_INT, &held[i], &status);
        else MPI_Imrecv(got[0], counts[i], MPI_INT, &held[i], &r[0]), MPI_Wait(&r[0], &status);
        sum += got[0][0], bytes += counts[i];
        EXPECT(held[i] == MPI_MESSAGE_NULL && got[0][counts[i] - 1] == got[0][0] + counts[i] - 1);
    }
    free(held), free(counts);
    /* The second one's, two ways by turns. */
    for (int i = 0; i < 4 * (size - 1); i++, flag = 0) {
        if (i % 4 == 0) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[1], &status);
        } else if (i % 4 == 1) {
            while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[1], &flag, &status);
        } else {
            while (!flag)
                MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[1], &flag, &messages[n], &status);
        }
        MPI_Get_count(&status, MPI_INT, &count), bytes += count;
        if (i % 4 < 2) {
            MPI_Recv(got[i % 4], count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comms[1],
                     &status);
            sum += got[i % 4][0];
        } else {
            MPI_Imrecv(got[4 + n], count, MPI_INT, &messages[n], &r[n]), n++;
        }
        if (n == 2) MPI_Waitall(2, r, MPI_STATUSES_IGNORE), sum += got[4][0] + got[5][0], n = 0;
    }
    EXPECT(sum == wanted);
    /* Nobody sends: neither finds anything. */
    MPI_Iprobe(MPI_ANY_SOURCE, 99, comms[1], &flag, &status), EXPECT(!flag);
    MPI_Improbe(MPI_PROC_NULL, 99, comms[1], &flag, &messages[0], &status);
    EXPECT(flag && messages[0] == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Mrecv(got[0], 1, MPI_INT, &messages[0], &status), EXPECT(messages[0] == MPI_MESSAGE_NULL);
    int token = 77;
    for (int to = 1; to < size; to++) MPI_Send(&token, 1, MPI_INT, to, 5, comms[1]);
    MPI_Comm_free(&comms[1]);
    note("sum %ld integers %d", sum, bytes);
}

static void idups(void) {
    MPI_Comm made[3];
    MPI_Request r[3], back[3];
    int n = 2, sum = -1;
    MPI_Comm_idup(MPI_COMM_WORLD, &made[0], &r[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &made[1], &r[1]);
#if MPI4
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made[n], &r[n]), n++;
#else
    skipped("MPI_Comm_idup_with_info");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made[n]), r[n++] = MPI_REQUEST_NULL;
#endif
    for (int i = 0; i < n; i++) back[i] = r[n - 1 - i];
    MPI_Waitall(n, back, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) {
        int mine = rank + i;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, made[i]);
        EXPECT(sum == size * (size - 1) / 2 + size * i);
        MPI_Comm_free(&made[i]);
    }
    note("idups %d", n);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    probe(), idups();
#if MPI4
    int right = (rank + 1) % size, left = (rank + size - 1) % size, mine = rank, got = -1,
        both = rank + 5;
    MPI_Request r[2];
    MPI_Isendrecv(&mine, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &r[0]);
    MPI_Isendrecv_replace(&both, 1, MPI_INT, left, 4, right, 4, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    EXPECT(got == left && both == right + 5);
    note("isendrecv %d %d", got, both);
#else
    skipped("MPI_Isendrecv");
#endif
    print_notes();
    MPI_Finalize();
    return check_wrong;
}
