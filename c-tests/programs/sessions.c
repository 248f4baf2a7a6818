/* Sessions without MPI_Init: each with a communicator made from mpi://WORLD; two in a row beside
 * one that stays open, then two at once, closed in the order of their opening. With argument
 * `both`: beside MPI_Init, opened inside, used after its end, and opened after it. With argument
 * `again`: opened after all was closed, and MPI_Init after that; for one rank of MPICH 5 only, as
 * others cannot natively (MPICH 4 and Open MPI 5 crash, Intel's answers an error, MPICH 5 fails
 * about one time in ten with more ranks).
 *
 * counts, without arguments, MPI-4: MPI_Comm_create_from_group 5, MPI_Comm_free 5,
 * MPI_Allreduce 60.
 * counts, both, MPI-4: MPI_Comm_create_from_group 6, MPI_Comm_free 6, MPI_Allreduce 100.
 * counts, again, MPICH 5: MPI_Comm_create_from_group 2, MPI_Comm_free 2, MPI_Allreduce 30. */
#include "check.h"

#if MPI4
static int rank, size;

/* What a program without a world must do itself. */
static MPI_Comm open_comm(MPI_Session *session, const char *tag) {
    MPI_Group group;
    MPI_Comm comm = MPI_COMM_NULL;
    int result = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session);
    if (result == MPI_SUCCESS)
        result = MPI_Group_from_session_pset(*session, "mpi://WORLD", &group);
    if (result == MPI_SUCCESS) {
        result = MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
        MPI_Group_free(&group);
    }
    if (result != MPI_SUCCESS) {
        fprintf(stderr, "session %s: error %d\n", tag, result);
        exit(3);
    }
    MPI_Comm_rank(comm, &rank), MPI_Comm_size(comm, &size);
    return comm;
}

static void use(MPI_Comm comm, const char *what) {
    int sum = 0, wrong = 0;
    for (int i = 0; i < 10; i++) {
        int mine = rank + i;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        wrong += sum != size * (size - 1) / 2 + size * i;
    }
    check_wrong += wrong;
    if (rank == 0) printf("%s: %d ranks, wrong %d\n", what, size, wrong), fflush(stdout);
}

static void one(const char *tag) {
    MPI_Session session;
    MPI_Comm comm = open_comm(&session, tag);
    use(comm, tag);
    MPI_Comm_free(&comm), MPI_Session_finalize(&session);
    check_wrong += session != MPI_SESSION_NULL;
}

static void world(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    use(MPI_COMM_WORLD, "world");
}

static void overlapping(int *argc, char ***argv, int both) {
    MPI_Session outer, a, b;
    if (both) world(argc, argv);
    MPI_Comm in_outer = open_comm(&outer, "outer");
    one("first"), one("second");
    use(in_outer, "outer");
    MPI_Comm in_a = open_comm(&a, "a"), in_b = open_comm(&b, "b");
    use(in_b, "b"), use(in_a, "a");
    MPI_Comm_free(&in_outer), MPI_Session_finalize(&outer);
    MPI_Comm_free(&in_a), MPI_Session_finalize(&a);
    use(in_b, "b alone");
    if (both) {
        use(MPI_COMM_WORLD, "world"), MPI_Finalize();
        use(in_b, "b after the world"), one("after the world");
    }
    MPI_Comm_free(&in_b), MPI_Session_finalize(&b);
}

static void again(int *argc, char ***argv) {
    one("first");
#if MPI_VERSION >= 5
    if (size == 1) {
        one("second");
        world(argc, argv), MPI_Finalize();
        return;
    }
#endif
    (void)argc, (void)argv, (void)world;
    if (rank == 0) printf("skipped: no second opening of all ranks in this MPI\n");
}
#endif

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
#if MPI4
    if (!strcmp(way, "again")) again(&argc, &argv);
    else overlapping(&argc, &argv, !strcmp(way, "both"));
#else
    MPI_Init(&argc, &argv);
    (void)way, skipped("sessions");
    print_notes();
    MPI_Finalize();
#endif
    return check_wrong;
}
