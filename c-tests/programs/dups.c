/* Communicators until there are no more (FB-063: whoever keeps some for itself has fewer left), and
 * many made and freed in turn: memory must not grow with them.
 * With argument `many`: 20,000 cycles. */
#include "check.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc > 1) {
        MPI_Comm dup;
        long before = 0;
        for (int i = 0; i < 20000; i++) {
            if (i == 2000) before = resident_kib();
            MPI_Comm_dup(MPI_COMM_WORLD, &dup);
            MPI_Barrier(dup);
            MPI_Comm_free(&dup);
            if (dup != MPI_COMM_NULL) note("not null");
        }
        long grown = resident_kib() - before;
        note("grown by less than 5 MB: %d", grown < 5000);
    } else {
        enum { MOST = 4200 };
        static MPI_Comm dups[MOST];
        int made = 0;
        while (made < MOST && MPI_Comm_dup(MPI_COMM_WORLD, &dups[made]) == MPI_SUCCESS) made++;
        note("made %d", made);
        for (int i = 0; i < made; i++) MPI_Comm_free(&dups[i]);
    }
    print_notes();
    MPI_Finalize();
    return 0;
}
