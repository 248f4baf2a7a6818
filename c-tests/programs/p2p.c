/* A ring by Isend/Irecv+Waitall, by Sendrecv and by Sendrecv_replace; wildcards; MPI_PROC_NULL;
 * and the completion calls' corner cases (FB-067, FB-068): null and empty arrays, undefined
 * indices, statuses of many requests. */
#include "check.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double token = rank, got = -1;
    for (int round = 0; round < 20; round++) {
        MPI_Request r[2];
        MPI_Irecv(&got, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(&token, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        token = got + 1;
        MPI_Sendrecv(&token, 1, MPI_DOUBLE, right, 2, &got, 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token = got;
        MPI_Sendrecv_replace(&token, 1, MPI_DOUBLE, right, 3, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    note("token %.1f", token);

    MPI_Status status;
    if (rank == 0) {
        double sum = 0;
        for (int i = 1; i < size; i++) {
            MPI_Recv(&got, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            sum += got * (status.MPI_TAG == status.MPI_SOURCE);
        }
        note("wildcards %.1f", sum);
    } else {
        MPI_Send(&token, 1, MPI_DOUBLE, 0, rank, MPI_COMM_WORLD);
    }
    /* Or a later message to rank 0 could meet its wildcards. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    MPI_Send(&got, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    note("null source %d", status.MPI_SOURCE == MPI_PROC_NULL);

    enum { MANY = 600 };
    static MPI_Request r[MANY];
    static MPI_Status s[MANY];
    static int buffer[MANY], which[MANY];
    int index = 7, flag = 7, outcount = 7;
    for (int i = 0; i < MANY; i++) r[i] = MPI_REQUEST_NULL;
    MPI_Waitany(3, r, &index, &status), note("waitany of nulls %d", index == MPI_UNDEFINED);
    MPI_Testany(3, r, &index, &flag, &status), note("testany of nulls %d %d", index == MPI_UNDEFINED, flag);
    MPI_Waitsome(3, r, &outcount, which, s), note("waitsome of nulls %d", outcount == MPI_UNDEFINED);
    MPI_Testsome(3, r, &outcount, which, s), note("testsome of nulls %d", outcount == MPI_UNDEFINED);
    MPI_Waitall(0, r, s), MPI_Testall(0, r, &flag, s), note("none %d", flag);
    MPI_Test(&r[0], &flag, &status), MPI_Wait(&r[0], &status), note("null %d", flag);
    for (int i = 0; i < MANY; i += 2) MPI_Irecv(&buffer[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &r[i]);
    for (int i = 1; i < MANY; i += 2) {
        buffer[i] = rank * MANY + i;
        MPI_Isend(&buffer[i], 1, MPI_INT, right, i - 1, MPI_COMM_WORLD, &r[i]);
    }
    MPI_Waitall(MANY, r, s);
    int good = 0, count;
    for (int i = 0; i < MANY; i += 2) {
        MPI_Get_count(&s[i], MPI_INT, &count);
        good += s[i].MPI_SOURCE == left && s[i].MPI_TAG == i && count == 1 && r[i] == MPI_REQUEST_NULL;
    }
    note("many %d bits %016lx", good, bits(buffer, sizeof buffer));
    print_notes();
    MPI_Finalize();
    return 0;
}
