/* A runtime that binds MPI by itself: everything through dlsym on a handle of libmpi, so that no
 * wrapper is reached but MPI_Init's, called by name (FB-006). */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    Dl_info info;
    /* A name that libpas.so does not export. */
    void *real = dlsym(RTLD_DEFAULT, "MPI_Comm_rank");
    dladdr(real, &info);
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*finalize)(void);
    *(void **)&allreduce = dlsym(library, "MPI_Allreduce");
    *(void **)&finalize = dlsym(library, "MPI_Finalize");
    int one = 1, sum = 0;
    for (int i = 0; i < 20; i++) allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    note("sum %d", sum);
    print_notes();
    return finalize();
}
