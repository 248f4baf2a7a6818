/* Ways to start: argument 0 to 3 is the level of MPI_Init_thread, "null" is MPI_Init(NULL, NULL),
 * "twice" is a second MPI_Init, which is the MPI's to report.
 * Queries before MPI_Init and after MPI_Finalize answer as without PAS (FB-004, FB-029, FB-033). */
#include "check.h"

__attribute__((constructor)) static void before_main(void) {
    int flag = -1, major, minor;
    MPI_Initialized(&flag);
    MPI_Get_version(&major, &minor);
    if (flag != 0 || major < 3) abort();
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "0";
    int provided = -1, level = -1, is_main = -1, flag = -1, rank;
    if (!strcmp(way, "null") || !strcmp(way, "twice")) MPI_Init(NULL, NULL);
    else MPI_Init_thread(&argc, &argv, atoi(way), &provided);
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&is_main);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    note("way %s provided %d level %d main %d", way, provided, level, is_main);
    if (!strcmp(way, "twice")) {
        int class = -1;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Error_class(MPI_Init(NULL, NULL), &class);
        note("twice: class %d", class);
    }
    int sum;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    note("sum %d", sum);
    print_notes();
    MPI_Finalize();
    MPI_Finalized(&flag);
    if (rank == 0) printf("finalized %d\n", flag);
    return 0;
}
