/* Asks whether newer functions are there, as programs do that run with any MPI: by weak references
 * from a library that is loaded late (as mpi4py's wheels), and by dlsym. Prints what it found. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#ifdef LATE
#pragma weak MPI_Session_init
#pragma weak PMPI_Session_init
extern int MPI_Session_init();
extern int PMPI_Session_init();
#pragma weak MPI_Bcast_c
#pragma weak MPI_Win_create_c
#pragma weak MPI_Barrier_init
#pragma weak MPIX_Barrier_init
#pragma weak MPI_Psend_init
#pragma weak MPI_Isendrecv
extern int MPI_Bcast_c();
extern int MPI_Win_create_c();
extern int MPI_Barrier_init();
extern int MPIX_Barrier_init();
extern int MPI_Psend_init();
extern int MPI_Isendrecv();
#define THERE(name) (name != 0)
void ask_late(void) {
    printf("weak: %d %d %d %d %d %d %d %d\n", THERE(MPI_Session_init), THERE(PMPI_Session_init), THERE(MPI_Bcast_c),
           THERE(MPI_Win_create_c), THERE(MPI_Barrier_init), THERE(MPIX_Barrier_init), THERE(MPI_Psend_init),
           THERE(MPI_Isendrecv));
}
#else
int main(int argc, char **argv) {
    (void)argc;
    const char *names[] = {"MPI_Session_init", "PMPI_Session_init", "MPI_Bcast_c",    "MPI_Win_create_c",
                           "MPI_Barrier_init", "MPIX_Barrier_init", "MPI_Psend_init", "MPI_Isendrecv",
                           "MPI_Allreduce",    "PMPI_Allreduce",    "MPI_Nothing"};
    MPI_Init(NULL, NULL);
    printf("dlsym:");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) printf(" %d", dlsym(RTLD_DEFAULT, names[i]) != NULL);
    printf("\n");
    void *late = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!late) return fprintf(stderr, "%s\n", dlerror()), 9;
    void (*ask)(void);
    *(void **)&ask = dlsym(late, "ask_late");
    ask();
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
#endif
