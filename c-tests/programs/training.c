/* The shape of a training job, for what PAS sees of it: iterations of computing (argument 2,
 * microseconds), three large allreduces and a small one; argument 1 is how many. Prints one line. */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv) {
    int iterations = argc > 1 ? atoi(argv[1]) : 50, pause_us = argc > 2 ? atoi(argv[2]) : 10000;
    enum { BUCKET = 1 << 18 };
    static float gradients[BUCKET], sums[BUCKET];
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < BUCKET; i++) gradients[i] = (float)rank + (float)i;
    double loss = rank, mean = 0;
    for (int i = 0; i < iterations; i++) {
        usleep((useconds_t)pause_us);
        for (int bucket = 0; bucket < 3; bucket++)
            MPI_Allreduce(gradients, sums, BUCKET, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&loss, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    note("iterations %d mean %.1f bits %016lx", iterations, mean, bits(sums, sizeof sums));
    print_notes();
    MPI_Finalize();
    return 0;
}
