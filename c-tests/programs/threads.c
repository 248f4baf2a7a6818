/* MPI_THREAD_MULTIPLE: four threads on communicators of their own, then many short-lived ones
 * (FB-050), with reports from all of them. */
#define PAS_WEAK
#include "../../include/pas.h"
#include "check.h"
#include <pthread.h>

static MPI_Comm comms[4];
static long sums[4];

static void *work(void *arg) {
    long mine = (long)arg;
    int rank, sum;
    MPI_Comm_rank(comms[mine], &rank);
    for (int i = 0; i < 50; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[mine]);
        sums[mine] += sum * (i + 1);
        (void)pas_report_metric((uint64_t)i, "sum", sum);
    }
    return NULL;
}

static void *brief(void *arg) {
    double x = 1, y;
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    *(double *)arg += y;
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        note("no threads");
    } else {
        pthread_t t[4];
        for (int i = 0; i < 4; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, (void *)i);
        for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
        note("sums %ld %ld %ld %ld", sums[0], sums[1], sums[2], sums[3]);
        double total = 0;
        for (int i = 0; i < 300; i++) pthread_create(&t[0], NULL, brief, &total), pthread_join(t[0], NULL);
        note("brief %.0f", total);
        for (int i = 0; i < 4; i++) MPI_Comm_free(&comms[i]);
    }
    print_notes();
    MPI_Finalize();
    return 0;
}
