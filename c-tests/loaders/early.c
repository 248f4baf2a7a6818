/* A library whose constructor asks MPI questions before anybody has initialised it (FB-004). */
#include <mpi.h>
#include <stdlib.h>

int early_flags = -1;

__attribute__((constructor)) static void ask(void) {
    int initialized = 7, finalized = 7, version, subversion, length;
    char *text = malloc(MPI_MAX_LIBRARY_VERSION_STRING);
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    MPI_Get_version(&version, &subversion);
    MPI_Get_library_version(text, &length);
    early_flags = initialized + finalized + (length < 5) + (version < 3);
    free(text);
}
