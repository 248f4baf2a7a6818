/* Partitioned communication: a ring whose messages are made ready one by one, by ranges and by
 * lists, in any order and in another partitioning than the receiver's; started again, alone and by
 * Startall. One pair of requests at a time: with two Open MPI 5 waits for ever, natively, and also
 * where the partitionings differ.
 *
 * counts, MPI-4: MPI_Psend_init 2, MPI_Precv_init 2, MPI_Start 24, MPI_Startall 6, MPI_Pready 36,
 * MPI_Pready_range 12, MPI_Pready_list 12, MPI_Request_free 4. */
#include "check.h"

#if MPI4
static void ring(int parts, int rank, int left, int right) {
    enum { ROUNDS = 9, N = 400 };
    int received = 8;
#ifdef OPEN_MPI
    received = parts;
#endif
    static int out[N], in[N];
    MPI_Request r[2], copy[2];
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Psend_init(out, parts, N / parts, MPI_INT, right, parts, w, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, received, N / received, MPI_INT, left, parts, w, MPI_INFO_NULL, &r[1]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) out[i] = rank * 10000 + round * 1000 + i, in[i] = 7;
        memcpy(copy, r, sizeof copy);
        if (round % 3 == 0) MPI_Startall(2, copy);
        else if (round % 3 == 1) MPI_Start(&copy[0]), MPI_Start(&copy[1]);
        else MPI_Start(&r[1]), MPI_Start(&r[0]);
        if (round % 3 == 0) {
            for (int i = 0; i < parts; i++) MPI_Pready((i * 3 + 1) % parts, r[0]);
        } else if (round % 3 == 1) {
            MPI_Pready_range(3, parts - 1, r[0]), MPI_Pready_range(0, 2, copy[0]);
        } else {
            int odd[] = {3, 1, 5, 7}, even[] = {0, 2, 4, 6};
            MPI_Pready_list(parts / 2, odd, copy[0]), MPI_Pready_list(parts / 2, even, r[0]);
        }
        for (int i = 0, flag = 0; i < received; i++, flag = 0) {
            while (!flag) MPI_Parrived(r[1], i, &flag);
            for (int j = i * (N / received); j < (i + 1) * (N / received); j++)
                EXPECT(in[j] == left * 10000 + round * 1000 + j);
        }
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        note("%d partitions, round %d bits %016lx", parts, round, bits(in, sizeof in));
    }
    MPI_Request_free(&r[0]), MPI_Request_free(&r[1]);
}
#endif

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
#if MPI4
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ring(8, rank, (rank + size - 1) % size, (rank + 1) % size);
    ring(4, rank, (rank + size - 1) % size, (rank + 1) % size);
#ifdef OPEN_MPI
    skipped("partitioning that differs between sender and receiver");
#endif
#else
    skipped("partitioned communication");
#endif
    print_notes();
    MPI_Finalize();
    return check_wrong;
}
