/* A program that closes its standard input once MPI is up, and so frees a low descriptor: what it
 * opens next gets it, natively and with PAS, whose connection to a daemon that comes and goes must
 * never take one of the three (FB-134). */
#include "check.h"
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int one = 1, sum, taken = 0;
    close(0);
    for (int i = 0; i < 200; i++) {
        usleep(5000);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        taken += fcntl(0, F_GETFD) != -1;
    }
    int opened = open("/dev/null", O_RDONLY);
    note("taken %d opened %d", taken, opened);
    print_notes();
    MPI_Finalize();
    return 0;
}
