/* Times MPI calls in bursts. What a preloaded library adds to a call is the difference between two
 * runs of this program.
 *
 *   calls time BURSTS CASE...          a line "burst CASE NS" a burst: ns a call of rank 0
 *   calls count CALLS CASE...          CALLS and then twice as many of each case, for callgrind,
 *                                      which looks at the function `measured`
 *   calls grow FIRST CALLS             "rss FIRST KIB" and "rss CALLS KIB": memory after so many
 *
 * A burst is shorter than libpas.so's ring of 8,192 records, and a pause follows each, in which its
 * worker empties the ring: else most calls would find it full and take the shorter way. The case
 * send_flood leaves the pause out. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Short where ranks wait for each other, so that fewer bursts meet an interrupt of either. */
enum { BURST = 3000, SHORT = 1000, FLOOD = 200000, WARM = 200, PAUSE_MS = 7 };

static int rank;
static double in = 1, out;

static void pause_ms(long ms) {
    struct timespec time = {0, ms * 1000000};
    nanosleep(&time, NULL);
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void send_null(int turns) {
    for (int i = 0; i < turns; i++) MPI_Send(&in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void allreduce_self(int turns) {
    for (int i = 0; i < turns; i++) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void allreduce(int turns) {
    for (int i = 0; i < turns; i++) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void pingpong(int turns) {
    for (int i = 0; i < turns; i++) {
        if (rank == 0) MPI_Send(&in, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&out, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
}

static void exchange(int turns) {
    for (int i = 0; i < turns; i++) {
        MPI_Request requests[2];
        MPI_Irecv(&out, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&in, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void barrier(int turns) {
    for (int i = 0; i < turns; i++) MPI_Barrier(MPI_COMM_WORLD);
}

/* The root alternates: one that only sends would run ahead of its receiver. */
static void bcast(int turns) {
    for (int i = 0; i < turns; i++) MPI_Bcast(&in, 1, MPI_DOUBLE, i % 2, MPI_COMM_WORLD);
}

/* What a turn is made of in a training program: two collectives and a message. */
static void mixed(int turns) {
    for (int i = 0; i < turns; i++) {
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        MPI_Send(&in, 1, MPI_DOUBLE, MPI_PROC_NULL, i % 7, MPI_COMM_WORLD);
        MPI_Bcast(&in, i % 2, MPI_DOUBLE, 0, MPI_COMM_SELF);
    }
}

static const struct Case {
    const char *name;
    void (*turns)(int);
    int calls, ranks, burst; /* Calls of one rank in a turn; ranks needed; calls in a burst. */
} cases[] = {
    {"send_null", send_null, 1, 1, BURST},
    {"allreduce_self", allreduce_self, 1, 1, BURST},
    {"send_flood", send_null, 1, 1, FLOOD},
    {"allreduce", allreduce, 1, 2, SHORT},
    {"pingpong", pingpong, 2, 2, SHORT},
    {"exchange", exchange, 3, 2, SHORT},
    {"barrier", barrier, 1, 2, SHORT},
    {"bcast", bcast, 1, 2, SHORT},
};

static const struct Case *find(const char *name) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].name, name) && size >= cases[i].ranks) return &cases[i];
    fprintf(stderr, "calls: no case %s on %d ranks\n", name, size);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return NULL;
}

static void time_bursts(const struct Case *c, int bursts) {
    int turns = c->burst / c->calls;
    for (int burst = 0; burst < bursts; burst++) {
        if (c->burst != FLOOD) pause_ms(PAUSE_MS);
        /* The pause has cooled the caches, and the ranks wake at different times. */
        if (c->ranks > 1) MPI_Barrier(MPI_COMM_WORLD);
        c->turns(WARM);
        double start = now_ns();
        c->turns(turns);
        double end = now_ns();
        if (rank == 0) printf("burst %s %.2f\n", c->name, (end - start) / turns / c->calls);
    }
}

/* A function of its own, told to callgrind by name. */
__attribute__((noinline)) void measured(void (*turns)(int), int count) {
    turns(count);
    /* Or the call would be a jump, and callgrind would see no return. */
    __asm__ volatile("");
}

static void count_instructions(const struct Case *c, int calls) {
    c->turns(calls / c->calls);
    for (int twice = 0; twice < 2; twice++) {
        pause_ms(100);
        measured(c->turns, (calls << twice) / c->calls);
    }
}

static long rss_kib(void) {
    long kib = -1;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &kib);
    if (status) fclose(status);
    return kib;
}

static void grow(long first, long calls) {
    const long stops[] = {first, calls};
    long made = 0;
    for (int i = 0; i < 2; i++) {
        /* Paced as the bursts are: a record that was dropped can cost no memory. */
        for (; made < stops[i]; made += BURST) mixed(BURST / 3), pause_ms(1);
        pause_ms(100);
        printf("rss %ld %ld\n", stops[i], rss_kib());
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *what = argc > 2 ? argv[1] : "";
    if (!strcmp(what, "grow") && argc == 4) {
        grow(atol(argv[2]), atol(argv[3]));
    } else if (!strcmp(what, "time") || !strcmp(what, "count")) {
        for (int i = 3; i < argc; i++)
            (*what == 't' ? time_bursts : count_instructions)(find(argv[i]), atoi(argv[2]));
    } else {
        fputs("usage: calls time|count|grow ...: see the head of calls.c\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
