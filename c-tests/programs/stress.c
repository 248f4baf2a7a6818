/* Eight threads at MPI_THREAD_MULTIPLE, each with 500 mixed calls on a communicator of its own,
 * while a timer interrupts them a thousand times a second, without SA_RESTART. The last of them is
 * no pthread: clone() makes it, with a stack of its own, and it works in the thread-local storage
 * of the one that made it, which sleeps meanwhile.
 *
 * counts: MPI_Comm_dup 8, MPI_Allreduce 800, MPI_Irecv 800, MPI_Isend 800, MPI_Waitall 800,
 * MPI_Bcast 800, MPI_Comm_free 8. */
#define _GNU_SOURCE
#include "check.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { THREADS = 8, ROUNDS = 100, STACK = 1 << 20 };
static MPI_Comm comms[THREADS];
static int rank, size, wrong[THREADS], cloned;
static volatile sig_atomic_t ticks;

static void tick(int number) {
    (void)number, ticks++;
}

static void *work(void *arg) {
    long mine = (long)arg;
    MPI_Comm comm = comms[mine];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < ROUNDS; i++) {
        int out = rank * 1000 + i, in = -1, sum = -1, word = rank == i % size ? i : -1;
        MPI_Request r[2];
        MPI_Irecv(&in, 1, MPI_INT, left, i, comm, &r[0]);
        MPI_Isend(&out, 1, MPI_INT, right, i, comm, &r[1]);
        MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Bcast(&word, 1, MPI_INT, i % size, comm);
        wrong[mine] += in != left * 1000 + i || word != i
            || sum != size * (size - 1) / 2 * 1000 + size * i;
    }
    return NULL;
}

static int bare(void *arg) {
    sigset_t none;
    sigemptyset(&none), pthread_sigmask(SIG_SETMASK, &none, NULL);
    work(arg);
    return 0;
}

/* Makes the thread and sleeps until it has ended. Nothing here may touch what the two share, errno
 * among it: the signals are for the others. */
static void *carry(void *arg) {
    static int alive = 1;
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM
        | CLONE_CHILD_CLEARTID;
    sigset_t all;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
                       -1, 0);
    sigfillset(&all), pthread_sigmask(SIG_SETMASK, &all, NULL);
    cloned = clone(bare, stack + STACK, flags, arg, NULL, NULL, &alive) > 0;
    while (cloned && __atomic_load_n(&alive, __ATOMIC_ACQUIRE)) {
#ifdef __x86_64__
        long result;
        register long timeout __asm__("r10") = 0;
        __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_futex), "D"(&alive), "S"(FUTEX_WAIT),
                         "d"(1), "r"(timeout) : "rcx", "r11", "memory");
#endif
    }
    munmap(stack, STACK);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < MPI_THREAD_MULTIPLE) {
        skipped("MPI_THREAD_MULTIPLE");
    } else {
        pthread_t t[THREADS];
        struct sigaction action = {.sa_handler = tick}; /* no SA_RESTART */
        struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
        for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        sigaction(SIGALRM, &action, NULL), setitimer(ITIMER_REAL, &every, NULL);
        for (long i = 0; i < THREADS; i++)
            pthread_create(&t[i], NULL, i == THREADS - 1 ? carry : work, (void *)i);
        for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
        setitimer(ITIMER_REAL, &never, NULL);
        for (int i = 0; i < THREADS; i++) EXPECT(wrong[i] == 0), MPI_Comm_free(&comms[i]);
        EXPECT(ticks > 0 && cloned);
        note("interrupted %d, bare thread %d", ticks > 0, cloned);
    }
    print_notes();
    MPI_Finalize();
    return check_wrong;
}
