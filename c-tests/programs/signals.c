/* A timer signal every millisecond, without SA_RESTART, over allreduces (FB-046): the handler runs
 * never on PAS's thread. (The MPI's own threads may get it, with and without PAS.) */
#include "check.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks, elsewhere;

static void tick(int signal) {
    (void)signal;
    ticks++;
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    elsewhere += !strcmp(name, "pas-worker");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    int one = 1, sum = 0, total = 0;
    while (ticks < 100) {
        MPI_Barrier(MPI_COMM_SELF);
    }
    for (int i = 0; i < 50; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), total += sum;
    every = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, NULL);
    note("total %d elsewhere %d", total, (int)elsewhere);
    print_notes();
    MPI_Finalize();
    return 0;
}
