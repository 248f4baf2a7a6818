/* Ways to end; the argument names it. Exit codes and output must be the MPI's own (FB-030, FB-032,
 * FB-038, FB-041): abort, exit without finalize, return without it, _exit after it, a C abort, a
 * collective inside MPI_Finalize (FB-031), a report from an exit handler. */
#define PAS_WEAK
#include "../../include/pas.h"
#include "check.h"
#include <unistd.h>

static int in_finalize(MPI_Comm comm, int key, void *value, void *state) {
    (void)key, (void)value, (void)state;
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    printf("in finalize %d\n", sum);
    fflush(stdout);
    return MPI_SUCCESS;
}

static void late_report(void) { (void)pas_report_loss(1, 0.5); }

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "return";
    atexit(late_report);
    MPI_Init(&argc, &argv);
    int rank, size, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20; i++) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int last = size - 1;
    if (!strcmp(way, "abort") && rank == last) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(way, "exit") && rank == last) exit(3);
    if (!strcmp(way, "crash") && rank == last) abort();
    if (!strcmp(way, "early")) return 0;
    if (!strcmp(way, "attribute")) {
        int key;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, in_finalize, &key, NULL);
        if (rank == 0) MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(way, "code")) {
        MPI_Finalize();
        return 5;
    }
    print_notes();
    MPI_Finalize();
    if (!strcmp(way, "quick")) _exit(0);
    return 0;
}
