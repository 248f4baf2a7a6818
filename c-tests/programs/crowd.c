/* Forty threads at once, more than there are rings: those without record nothing, which is counted,
 * and compute right. Each leaves when all have made their calls, so that all held what they had at
 * one time; in the next round rings change hands. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 40 };
static long sums[THREADS];
static pthread_barrier_t all;

static void *work(void *arg) {
    long mine = (long)arg;
    pthread_barrier_wait(&all);
    for (int i = 0; i < 100 + 10 * mine; i++) {
        double x = mine + i, y = 0;
        MPI_Sendrecv(&x, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, &y, 1, MPI_DOUBLE, MPI_PROC_NULL, 0,
                     MPI_COMM_SELF, MPI_STATUS_IGNORE);
        sums[mine] += (long)(x + y);
    }
    pthread_barrier_wait(&all);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_t threads[THREADS];
    pthread_barrier_init(&all, NULL, THREADS);
    for (int round = 0; round < 3; round++) {
        for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    note("bits %016lx", bits(sums, sizeof sums));
    print_notes();
    MPI_Finalize();
    return 0;
}
