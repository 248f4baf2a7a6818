/* Collective file input and output between the iterations' allreduces: what the MPI's own library
 * for it sends is not the program's (FB-079). Also calls that PAS does not wrap (FB-003). */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char path[64] = "/tmp/pas-fileio-XXXXXX";
    if (rank == 0) close(mkstemp(path));
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    int out[8], in[8], sum = 0, bad = 0;
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 8; k++) out[k] = 100 * i + 10 * rank + k;
        MPI_Offset at = (MPI_Offset)(rank * sizeof out);
        MPI_File_write_at_all(file, at, out, 8, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_read_at_all(file, at, in, 8, MPI_INT, MPI_STATUS_IGNORE);
        bad += memcmp(in, out, sizeof in) != 0;
        MPI_Allreduce(&bad, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    int sizes[1] = {8 * size}, kind[1] = {MPI_DISTRIBUTE_BLOCK}, bytes;
    int args[1] = {MPI_DISTRIBUTE_DFLT_DARG}, procs[1] = {size};
    MPI_Datatype block;
    MPI_Type_create_darray(size, rank, 1, sizes, kind, args, procs, MPI_ORDER_C, MPI_INT, &block);
    MPI_Type_size(block, &bytes);
    MPI_Type_free(&block);
    MPI_Win window;
    int *shared;
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(sizeof *shared, sizeof *shared, MPI_INFO_NULL, node, &shared, &window);
    MPI_Win_fence(0, window);
    *shared = rank;
    MPI_Win_fence(0, window);
    note("bad %d block %d shared %d", sum, bytes, *shared == rank);
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
    print_notes();
    MPI_Finalize();
    return 0;
}
