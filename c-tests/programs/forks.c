/* Children of a rank: fork and work (FB-043), fork and exec, system(): they see an inert library,
 * and no descriptor of PAS (FB-027). */
#define _GNU_SOURCE
#define PAS_WEAK
#include "../../include/pas.h"
#include "check.h"
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, sum, bad = 0, status;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 60; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        pid_t child = fork();
        if (child == 0) {
            char *text = malloc(200);
            snprintf(text, 200, "child %d", i);
            int flag = 0, result = pas_report_loss(1, 1.0);
            MPI_Initialized(&flag);
            _exit(flag && text[0] == 'c' && (result == PAS_OFF || result == PAS_ABSENT) ? 0 : 1);
        }
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    /* A child that no fork handler hears of, and that runs the exit handlers: it has nothing to
     * wait for there. */
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0) exit(0);
    waitpid(child, &status, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    note("bare child %d in time %d", status, seconds < 5);
    /* A rank's descriptors are close-on-exec: the shell sees those of the launcher only. */
    FILE *shell = popen("ls -l /proc/self/fd | grep -c socket: ; true", "r");
    int inherited = -1;
    if (fscanf(shell, "%d", &inherited) != 1) bad++;
    pclose(shell);
    bad += system("true") != 0;
    note("bad %d", bad);
    note("sockets that a shell inherits %d", inherited);
    print_notes();
    MPI_Finalize();
    return 0;
}
