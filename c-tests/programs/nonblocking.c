/* Every non-blocking collective of MPI-3.1, several outstanding at once, completed in turn by
 * Wait, Waitall, Test and Waitsome; a derived type freed while in use (FB-075). */
#include "check.h"

enum { N = 64, OPS = 18 };
static double in[OPS][N * 16], out[OPS][N * 16];

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int counts[16], displs[16], byte_displs[16];
    MPI_Datatype types[16];
    for (int i = 0; i < size; i++) {
        counts[i] = 3 + i, displs[i] = i * 20, types[i] = MPI_DOUBLE, byte_displs[i] = i * 20 * 8;
    }
    int same[16];
    for (int i = 0; i < size; i++) same[i] = 4;
    for (int way = 0; way < 4; way++) {
        for (int o = 0; o < OPS; o++)
            for (int i = 0; i < N * 16; i++) in[o][i] = rank + o * 0.5 + i, out[o][i] = -1;
        MPI_Request r[OPS];
        MPI_Comm w = MPI_COMM_WORLD;
        int n = 0;
        MPI_Datatype pair;
        MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
        MPI_Type_commit(&pair);
        MPI_Ibarrier(w, &r[n++]);
        MPI_Ibcast(out[n], 10, pair, way % size, w, &r[n]), n++;
        MPI_Type_free(&pair);
        MPI_Igather(in[n], 4, MPI_DOUBLE, out[n], 4, MPI_DOUBLE, 0, w, &r[n]), n++;
        MPI_Igatherv(in[n], counts[rank], MPI_DOUBLE, out[n], counts, displs, MPI_DOUBLE, 0, w, &r[n]), n++;
        MPI_Iscatter(in[n], 4, MPI_DOUBLE, out[n], 4, MPI_DOUBLE, 0, w, &r[n]), n++;
        MPI_Iscatterv(in[n], counts, displs, MPI_DOUBLE, out[n], counts[rank], MPI_DOUBLE, 0, w, &r[n]), n++;
        MPI_Iallgather(in[n], 4, MPI_DOUBLE, out[n], 4, MPI_DOUBLE, w, &r[n]), n++;
        MPI_Iallgatherv(in[n], counts[rank], MPI_DOUBLE, out[n], counts, displs, MPI_DOUBLE, w, &r[n]), n++;
        MPI_Ialltoall(in[n], 4, MPI_DOUBLE, out[n], 4, MPI_DOUBLE, w, &r[n]), n++;
        MPI_Ialltoallv(in[n], same, displs, MPI_DOUBLE, out[n], same, displs, MPI_DOUBLE, w, &r[n]), n++;
        MPI_Ialltoallw(in[n], same, byte_displs, types, out[n], same, byte_displs, types, w, &r[n]), n++;
        MPI_Ireduce(in[n], out[n], N, MPI_DOUBLE, MPI_SUM, 0, w, &r[n]), n++;
        MPI_Iallreduce(in[n], out[n], N, MPI_DOUBLE, MPI_SUM, w, &r[n]), n++;
        MPI_Ireduce_scatter_block(in[n], out[n], 4, MPI_DOUBLE, MPI_SUM, w, &r[n]), n++;
        MPI_Ireduce_scatter(in[n], out[n], counts, MPI_DOUBLE, MPI_SUM, w, &r[n]), n++;
        MPI_Iscan(in[n], out[n], N, MPI_DOUBLE, MPI_SUM, w, &r[n]), n++;
        MPI_Iallreduce(MPI_IN_PLACE, out[n], N, MPI_DOUBLE, MPI_MIN, w, &r[n]), n++;
        MPI_Iexscan(in[n], out[n], N, MPI_DOUBLE, MPI_SUM, w, &r[n]), n++;
        if (way == 0) {
            for (int i = 0; i < n; i++) MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        } else if (way == 1) {
            MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
        } else if (way == 2) {
            for (int i = 0, flag = 0; i < n; i++, flag = 0)
                while (!flag) MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE);
        } else {
            int done = 0, some, which[OPS];
            while (done < n) MPI_Waitsome(n, r, &some, which, MPI_STATUSES_IGNORE), done += some;
        }
        int null = 0;
        for (int i = 0; i < n; i++) null += r[i] == MPI_REQUEST_NULL;
        if (rank == 0) memset(out[n - 1], 0, sizeof out[0]); /* exscan leaves it undefined */
        note("way %d null %d of %d bits %016lx", way, null, n, bits(out, sizeof out));
    }
    print_notes();
    MPI_Finalize();
    return 0;
}
