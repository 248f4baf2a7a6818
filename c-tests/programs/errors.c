/* Errors are the MPI's own: same codes and classes, the user's handler called once for each, the
 * handler of the communicator left alone (FB-076); a second MPI_Init as the MPI reports it. */
#include "check.h"

static int handled;
static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    handled++;
}

static void show(const char *what, int code) {
    int class = -1;
    MPI_Error_class(code, &class);
    note("%s class %d handled %d", what, class, handled);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Errhandler mine;
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int x = 1, y = 2, size;
    MPI_Comm_size(comm, &size);
    show("bad rank", MPI_Send(&x, 1, MPI_INT, size + 5, 0, comm));
    show("bad count", MPI_Send(&x, -3, MPI_INT, 0, 0, comm));
    show("bad type", MPI_Allreduce(&x, &y, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
    show("bad operation", MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_OP_NULL, comm));
    show("bad root", MPI_Bcast(&x, 1, MPI_INT, size + 1, comm));
    show("null communicator", MPI_Barrier(MPI_COMM_NULL));
    show("good", MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, comm));
    MPI_Errhandler now;
    MPI_Comm_get_errhandler(comm, &now);
    note("handler kept %d sum %d", now == mine, y);
    MPI_Errhandler_free(&now), MPI_Errhandler_free(&mine);
    MPI_Comm_free(&comm);
    print_notes();
    MPI_Finalize();
    return 0;
}
