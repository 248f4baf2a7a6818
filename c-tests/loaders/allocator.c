/* An allocator that asks MPI something at its first call: whoever allocates while it looks a
 * function up would be called again inside of itself (FB-012). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);

void *malloc(size_t bytes) {
    static __thread int asking;
    static int (*ask)(int *);
    static int tries;
    if (!asking && tries < 3) {
        asking = 1;
        tries++;
        int flag;
        if (!ask) *(void **)&ask = dlsym(RTLD_DEFAULT, "MPI_Initialized");
        if (ask) ask(&flag);
        asking = 0;
    }
    return __libc_malloc(bytes);
}
