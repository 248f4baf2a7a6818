/* Half a megabyte of thread-local variables, which glibc takes out of each thread's stack: PAS's
 * thread must ask for its own besides. And a thread with the least stack makes MPI calls, first
 * uses of a communicator among them. */
#include "check.h"
#include <limits.h>
#include <pthread.h>

static __thread volatile char large[500 << 10];
static MPI_Comm twin;
static int sum;

static void *little(void *arg) {
    (void)arg;
    int one = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, twin);
    MPI_Comm_free(&twin);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    large[0] = 1;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    /* Open MPI itself is content with 16 KiB. MPICH overflows at times even with 64. */
#ifdef OPEN_MPI
    pthread_attr_setstacksize(&attributes, sizeof large + (20 << 10));
#endif
    pthread_t thread;
    note("started %d", pthread_create(&thread, &attributes, little, NULL));
    pthread_join(thread, NULL);
    note("sum %d", sum);
    for (int i = 0; i < 50; i++) MPI_Allreduce(&provided, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    print_notes();
    MPI_Finalize();
    return 0;
}
