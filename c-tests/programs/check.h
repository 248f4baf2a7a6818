/* Shared by the test programs: every rank's lines, printed by rank 0 in rank order, so that
 * standard output is the same in every run. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI_STATUSES_IGNORE and MPI_UNWEIGHTED are no arrays, which gcc says of each call. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

static char check_lines[1 << 14];

/* Notes a line of this rank. */
static inline void note(const char *format, ...) {
    size_t used = strlen(check_lines);
    va_list args;
    va_start(args, format);
    vsnprintf(check_lines + used, sizeof check_lines - used - 1, format, args);
    va_end(args);
    strcat(check_lines, "\n");
}

/* Whether the calls of MPI-4 are there; Open MPI 5 has them and calls itself 3.1. Those with large
 * counts (MPI_Send_c) it has not. */
#if MPI_VERSION >= 4
#define MPI4 1
#define LARGE_COUNTS 1
#elif defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5
#define MPI4 1
#define LARGE_COUNTS 0
#else
#define MPI4 0
#define LARGE_COUNTS 0
#endif

static int check_wrong;

/* Notes a result that is not as it must be; `wrong` of them is the program's exit code. */
#define EXPECT(true_is) expect(true_is, #true_is, __LINE__)
static inline void expect(int is, const char *what, int line) {
    if (!is && check_wrong++ < 20) note("wrong in line %d: %s", line, what);
}

/* Says, once in a job, that a part of the program is left out. */
static inline void skipped(const char *what) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) note("skipped: no %s in this MPI", what);
}

/* The process's resident memory. */
static inline long resident_kib(void) {
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
    fclose(file);
    return pages * 4;
}

/* A fingerprint of a buffer's bits. */
static inline unsigned long bits(const void *buffer, size_t bytes) {
    unsigned long hash = 0xcbf29ce484222325ul;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)buffer)[i]) * 0x100000001b3ul;
    return hash;
}

/* Prints the noted lines of all ranks; collective over MPI_COMM_WORLD. */
static inline void print_notes(void) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != 0) {
        MPI_Send(check_lines, sizeof check_lines, MPI_CHAR, 0, 99, MPI_COMM_WORLD);
        return;
    }
    char *other = malloc(sizeof check_lines);
    printf("rank 0\n%s", check_lines);
    for (int from = 1; from < size; from++) {
        MPI_Recv(other, sizeof check_lines, MPI_CHAR, from, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("rank %d\n%s", from, other);
    }
    free(other);
    fflush(stdout);
}

#endif
