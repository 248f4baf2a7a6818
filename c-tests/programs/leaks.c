/* A million requests ended in every way: memory must not grow with them, whatever is kept of
 * requests (FB-070). A datatype freed while requests use it, and its handle used again for another
 * size: bytes are those of the call (FB-075).
 * counts: MPI_Isend 300200, MPI_Irecv 300200, MPI_Send_init 20000 */
#include "check.h"

static void cycle(int way) {
    int in = way, out = -1, flag = 0, count, index;
    MPI_Request r[2];
    MPI_Irecv(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]);
    MPI_Isend(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[1]);
    if (way == 0) {
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    } else if (way == 1) {
        while (!flag) MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
    } else {
        int done = 0, indices[2];
        while (done < 2) MPI_Testsome(2, r, &count, indices, MPI_STATUSES_IGNORE), done += count > 0 ? count : 0;
        MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
        if (index != MPI_UNDEFINED) note("index %d", index);
    }
    if (out != way) note("got %d", out);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    long before = 0;
    for (int i = 0; i < 100000; i++) {
        if (i == 10000) before = resident_kib();
        for (int way = 0; way < 3; way++) cycle(way);
    }
    for (int i = 0; i < 20000; i++) {
        MPI_Request r;
        MPI_Send_init(&i, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &r);
        MPI_Request_free(&r);
        if (r != MPI_REQUEST_NULL) note("not null");
    }
    for (int i = 0; i < 200; i++) {
        char in[4096] = {0}, out[4096];
        MPI_Datatype type;
        MPI_Request r[2];
        MPI_Type_contiguous(1 + i % 2 * 1023, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Irecv(out, 1, type, 0, 3, MPI_COMM_SELF, &r[0]);
        MPI_Isend(in, 1, type, 0, 3, MPI_COMM_SELF, &r[1]);
        MPI_Type_free(&type);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    note("grown by less than 5 MB: %d", resident_kib() - before < 5000);
    print_notes();
    MPI_Finalize();
    return 0;
}
