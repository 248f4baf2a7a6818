/* Children: one, then two, started from this program with arguments of their own; merged with the
 * parents, in an allreduce with them, and let go. With argument `ports`: the two halves of the
 * world meet by MPI_Open_port, MPI_Comm_accept and MPI_Comm_connect.
 *
 * Natively not in MPICH 4 (with UCX), and the ports not in MPICH 5, unless built for the ABI: the
 * name of a port has no room.
 *
 * counts, without arguments, spawns: MPI_Comm_spawn 2, MPI_Intercomm_merge 2, MPI_Allreduce 2,
 * MPI_Comm_disconnect 2, MPI_Comm_free 2, MPI_Bcast 2.
 * counts, ports, rank 0, has ports: MPI_Comm_accept 1.
 * counts, ports, other ranks, has ports: MPI_Comm_connect 1.
 * counts, ports, has ports: MPI_Comm_split 1, MPI_Intercomm_merge 1, MPI_Allreduce 1,
 * MPI_Comm_disconnect 1, MPI_Comm_free 2. */
#include "check.h"

#if defined MPICH_NUMVERSION && !defined I_MPI_VERSION
#define PORTS 0
#define SPAWNS (MPICH_NUMVERSION >= 50000000)
#else
#define PORTS 1
#define SPAWNS 1
#endif

static int rank, size;

/* What parents and children do with what connects them; children are `high`. */
static int meet(MPI_Comm inter, int high) {
    MPI_Comm all;
    int one = 1, members = 0, inter_size, local;
    MPI_Intercomm_merge(inter, high, &all);
    MPI_Allreduce(&one, &members, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_remote_size(inter, &inter_size), MPI_Comm_size(inter, &local);
    EXPECT(members == inter_size + local);
    MPI_Comm_free(&all);
    return members;
}

static int child(MPI_Comm parent, int argc, char **argv) {
    int word = -1;
    EXPECT(argc == 3 && !strcmp(argv[1], "a child") && !strcmp(argv[2], "--of=two words"));
    meet(parent, 1);
    MPI_Bcast(&word, 1, MPI_INT, 0, parent), EXPECT(word == 23);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return check_wrong;
}

static void spawn(char *self, int children) {
    MPI_Comm inter;
    char *arguments[] = {"a child", "--of=two words", NULL};
    int errors[2] = {-1, -1}, word = 23;
    MPI_Comm_spawn(self, arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, errors);
    for (int i = 0; i < children; i++) EXPECT(errors[i] == MPI_SUCCESS);
    int members = meet(inter, 0);
    EXPECT(members == size + children);
    MPI_Bcast(&word, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    MPI_Comm_disconnect(&inter);
    note("%d children, %d together", children, members);
}

static void ports(void) {
    int second = rank >= (size + 1) / 2, other = (size + 1) / 2;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, inter;
    if (size == 1) return;
    MPI_Comm_split(MPI_COMM_WORLD, second, rank, &half);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, sizeof port, MPI_CHAR, other, 7, MPI_COMM_WORLD);
    }
    if (rank == other)
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (second) MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
    else MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
    int members = meet(inter, second);
    EXPECT(members == size);
    MPI_Comm_disconnect(&inter), MPI_Comm_free(&half);
    if (rank == 0) MPI_Close_port(port);
    note("port: %d together", members);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return child(parent, argc, argv);
    if (argc > 1 && !strcmp(argv[1], "ports")) PORTS ? ports() : skipped("ports");
    else if (!SPAWNS) skipped("MPI_Comm_spawn");
    else spawn(argv[0], 1), spawn(argv[0], 2);
    print_notes();
    MPI_Finalize();
    return check_wrong;
}
