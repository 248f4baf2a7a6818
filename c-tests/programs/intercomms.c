/* Rooted collectives over an inter-communicator: the root passes MPI_ROOT, and arguments that the
 * MPI ignores there (and in the root's group) may be anything: a null datatype with a count. A
 * query about one of them would end the job: PMPI_Type_size takes the world's error handler. The
 * counts of a reduce-scatter are those of the local group, which may be the smaller one: they end
 * at a page that cannot be read. */
#include "check.h"
#include <sys/mman.h>
#include <unistd.h>

/* `count` integers of which nothing behind can be read. */
static int *at_the_edge(int count) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + page, page, PROT_NONE);
    return (int *)(pages + page) - count;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm half, inter;
    int left = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, left, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, left ? size / 2 : 0, 8, &inter);
    int mine[4] = {rank, 1, 2, 3}, got[16] = {0}, counts[8], displs[8];
    for (int i = 0; i < 8; i++) counts[i] = 2, displs[i] = 2 * i;
    MPI_Datatype none = MPI_DATATYPE_NULL;
    int root = left ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    MPI_Bcast(mine, 3, MPI_INT, root, inter);
    if (left) {
        MPI_Gather(NULL, 77, none, got, 2, MPI_INT, root, inter);
        MPI_Gatherv(NULL, 77, none, got + 8, counts, displs, MPI_INT, root, inter);
        MPI_Scatter(mine, 1, MPI_INT, NULL, 55, none, root, inter);
        MPI_Scatterv(mine, counts, displs, MPI_INT, NULL, 55, none, root, inter);
        MPI_Reduce(mine, got + 15, 1, MPI_INT, MPI_SUM, root, inter);
    } else {
        MPI_Gather(mine, 2, MPI_INT, NULL, 55, none, root, inter);
        MPI_Gatherv(mine, 2, MPI_INT, NULL, NULL, NULL, none, root, inter);
        MPI_Scatter(NULL, 99, none, got, 1, MPI_INT, root, inter);
        MPI_Scatterv(NULL, NULL, NULL, none, got + 2, 2, MPI_INT, root, inter);
        MPI_Reduce(mine, got + 15, 1, MPI_INT, MPI_SUM, root, inter);
    }
    note("bits %016lx", bits(got, sizeof got));
    MPI_Request request;
    if (left) MPI_Igather(NULL, 77, none, got, 2, MPI_INT, root, inter, &request);
    else MPI_Igather(mine, 2, MPI_INT, NULL, 55, none, root, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (left) MPI_Iscatter(mine, 1, MPI_INT, NULL, 55, none, root, inter, &request);
    else MPI_Iscatter(NULL, 99, none, got, 1, MPI_INT, root, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    note("bits %016lx", bits(got, sizeof got));
    int local, whole = 12;
    MPI_Comm_size(half, &local);
    int *parts = at_the_edge(local), data[12];
    for (int i = 0; i < local; i++) parts[i] = whole / local;
    for (int i = 0; i < whole; i++) data[i] = rank + i, got[i] = 0;
    MPI_Reduce_scatter(data, got, parts, MPI_INT, MPI_SUM, inter);
    note("reduce_scatter %016lx", bits(got, sizeof got));
    MPI_Ireduce_scatter(data, got, parts, MPI_INT, MPI_MAX, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    note("ireduce_scatter %016lx", bits(got, sizeof got));
    MPI_Comm_free(&inter), MPI_Comm_free(&half);
    print_notes();
    MPI_Finalize();
    return 0;
}
