/* Names that a program may well give: no UTF-8, control characters, a line's end, markup. */
#define PAS_WEAK
#include "../../include/pas.h"
#include "check.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    char latin[MPI_MAX_OBJECT_NAME];
    memset(latin, 0xfe, sizeof latin - 1), latin[sizeof latin - 1] = 0;
    const char *names[] = {latin, "\033[2Jtwo\nlines", "<script>alert(1)</script>", ""};
    double in[5000] = {1}, out[5000];
    for (int i = 0; i < 4; i++) {
        MPI_Comm comm;
        char kept[MPI_MAX_OBJECT_NAME];
        int length;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_name(comm, names[i]);
        for (int round = 0; round < 20; round++) MPI_Allreduce(in, out, 5000, MPI_DOUBLE, MPI_SUM, comm);
        MPI_Comm_get_name(comm, kept, &length);
        note("kept %d", !strcmp(kept, names[i]));
        (void)pas_report_metric(1, names[i], 1);
        (void)pas_phase_begin(names[i]);
    }
    (void)pas_phase_end();
    print_notes();
    MPI_Finalize();
    return 0;
}
