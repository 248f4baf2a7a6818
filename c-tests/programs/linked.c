/* Every function of pas.h, linked with -lpas. The results that do not depend on PAS_MODE are
 * printed; loaded once, though it may be preloaded as well. */
#include "../../include/pas.h"
#include "check.h"

int main(int argc, char **argv) {
    int early = pas_report_loss(0, 1.5);
    MPI_Init(&argc, &argv);
    int rank, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 30; i++) {
        pas_mark_iteration((uint64_t)i);
        pas_phase_begin("reduce");
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        pas_phase_end();
        pas_report_loss((uint64_t)i, 1.0 / (i + 1));
        pas_report_metric((uint64_t)i, "accuracy", i / 30.0);
    }
    pas_status status = {.struct_bytes = sizeof status};
    int asked = pas_get_status(&status);
    note("early %d target %d ask %d version %s", early, pas_set_target("accuracy", 0.9), asked, pas_version());
    note("declare %d %d", pas_declare_pattern(NULL, "allreduce", "ring"), pas_declare_pattern(NULL, "allreduce", "no such pattern"));
    note("invalid %d %d %d", pas_report_metric(1, NULL, 1), pas_report_metric(1, "", 1), pas_get_status(NULL));
    note("world %u rank %u", status.world_size, status.rank);
    print_notes();
    MPI_Finalize();
    int after = pas_report_loss(99, 1);
    if (rank == 0) printf("after %d\n", after);
    return 0;
}
