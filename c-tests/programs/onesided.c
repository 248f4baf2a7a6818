/* One-sided communication: each way to make a window, each call that moves data, each kind of
 * epoch; a window whose communicator is freed before it is used.
 *
 * counts: MPI_Win_create 2, MPI_Win_allocate 1, MPI_Win_allocate_shared 1,
 * MPI_Win_create_dynamic 1, MPI_Win_free 5, MPI_Get 5, MPI_Accumulate 16, MPI_Get_accumulate 2,
 * MPI_Fetch_and_op 10, MPI_Rput 1, MPI_Rget 1, MPI_Raccumulate 1, MPI_Rget_accumulate 1,
 * MPI_Win_fence 9, MPI_Win_post 4, MPI_Win_start 4, MPI_Win_complete 4, MPI_Win_wait 2,
 * MPI_Win_lock 5, MPI_Win_unlock 5, MPI_Win_lock_all 3, MPI_Win_unlock_all 3, MPI_Win_flush 5,
 * MPI_Win_flush_local 1, MPI_Win_flush_all 1, MPI_Win_flush_local_all 1.
 * counts, MPI-4: MPI_Put 14, MPI_Compare_and_swap 1.
 * counts, MPIX: MPI_Put 15. */
#include "check.h"

enum { N = 256 };
static int rank, size, left, right;

static void fences(MPI_Win win, long *base, const char *name) {
    long got[4] = {-1, -1, -1, -1}, mine[4] = {rank, rank + 10, rank + 20, rank + 30};
    for (int i = 0; i < N; i++) base[i] = 0;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(mine, 4, MPI_LONG, right, 0, 4, MPI_LONG, win);
    MPI_Put(mine, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win);
    for (int i = 0; i < 5; i++) MPI_Accumulate(mine, 2, MPI_LONG, 0, 8, 2, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    EXPECT(base[0] == left && base[3] == left + 30);
    if (rank == 0) EXPECT(base[8] == 5 * size * (size - 1) / 2);
    MPI_Get(got, 4, MPI_LONG, right, 0, 4, MPI_LONG, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    EXPECT(got[1] == rank + 10);
    note("%s fences bits %016lx", name, bits(base, N * sizeof *base));
}

static void groups(MPI_Win win, long *base) {
    MPI_Group all, to, from;
    long mine = 1000 + rank, before = base[20];
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &right, &to), MPI_Group_incl(all, 1, &left, &from);
    for (int round = 0, flag = 0; round < 4; round++, flag = 0, mine += 100) {
        MPI_Win_post(from, 0, win), MPI_Win_start(to, 0, win);
        MPI_Put(&mine, 1, MPI_LONG, right, 20 + round, 1, MPI_LONG, win);
        MPI_Win_complete(win);
        if (round % 2) MPI_Win_wait(win);
        else while (!flag) MPI_Win_test(win, &flag);
        EXPECT(base[20 + round] == 1000 + left + 100 * round);
    }
    MPI_Group_free(&all), MPI_Group_free(&to), MPI_Group_free(&from);
    note("groups %ld %ld", before, base[23]);
}

static void locks(MPI_Win win, long *base) {
    long one = 1, got = -1, two[2] = {-1, -1}, sum = 0;
    for (int i = 0; i < N; i++) base[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 10; i++) MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 30, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Accumulate(&one, 1, MPI_LONG, right, 31, 1, MPI_LONG, MPI_SUM, win),
        MPI_Win_flush_local(right, win);
    MPI_Win_flush_all(win), MPI_Win_flush_local_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get_accumulate(&one, 1, MPI_LONG, &sum, 1, MPI_LONG, 0, 30, 1, MPI_LONG, MPI_NO_OP, win);
    MPI_Win_flush(0, win);
    EXPECT(sum == 10 * size);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, &got, 1, MPI_LONG, right, 31, 1, MPI_LONG, MPI_NO_OP,
                       win);
    MPI_Win_flush(right, win);
    EXPECT(got == 1);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);

    /* A request for each. */
    MPI_Request r[2];
    long mine = rank + 50, swapped = -1, zero = 0;
    MPI_Win_lock_all(0, win);
    MPI_Rput(&mine, 1, MPI_LONG, right, 40, 1, MPI_LONG, win, &r[0]);
    MPI_Raccumulate(&mine, 1, MPI_LONG, right, 41, 1, MPI_LONG, MPI_SUM, win, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE), MPI_Win_flush(right, win);
    MPI_Rget(&two[0], 1, MPI_LONG, right, 40, 1, MPI_LONG, win, &r[0]);
    MPI_Rget_accumulate(&mine, 1, MPI_LONG, &two[1], 1, MPI_LONG, right, 41, 1, MPI_LONG, MPI_SUM,
                        win, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
#if defined OPEN_MPI && OMPI_MAJOR_VERSION == 4
    skipped("MPI_Compare_and_swap that does not crash"); /* in its btl/vader, natively */
    MPI_Put(&mine, 1, MPI_LONG, right, 42, 1, MPI_LONG, win), swapped = zero;
#else
    MPI_Compare_and_swap(&mine, &zero, &swapped, MPI_LONG, right, 42, win);
#endif
    MPI_Win_unlock_all(win);
    EXPECT(two[0] == mine && two[1] == mine && swapped == 0);
    MPI_Barrier(MPI_COMM_WORLD);

    for (int i = 0; i < 4; i++) {
        MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, right, 0, win);
        if (i < 3) MPI_Put(&mine, 1, MPI_LONG, right, 50 + i, 1, MPI_LONG, win);
        else MPI_Get(&got, 1, MPI_LONG, right, 50, 1, MPI_LONG, win);
        MPI_Win_unlock(right, win);
    }
    EXPECT(got == mine);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win); /* makes what came visible here */
    EXPECT(base[41] == 2 * (left + 50) && base[42] == left + 50 && base[52] == left + 50);
    note("locks bits %016lx", bits(base + 31, 100 * sizeof *base));
    MPI_Win_unlock(rank, win);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Comm comm, node;
    MPI_Win win;
    static long created[N];
    long *base;
    int unit = sizeof(long);

    MPI_Win_create(created, sizeof created, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    fences(win, created, "created"), groups(win, created);
    MPI_Win_free(&win);

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Win_create(created, sizeof created, unit, MPI_INFO_NULL, comm, &win);
#ifdef I_MPI_VERSION
    skipped("window that outlives its communicator"); /* its first put crashes, natively */
#else
    MPI_Comm_free(&comm);
#endif
    fences(win, created, "communicator freed");
    MPI_Win_free(&win);
    EXPECT(win == MPI_WIN_NULL);
#ifdef I_MPI_VERSION
    MPI_Comm_free(&comm);
#endif

    MPI_Win_allocate(N * sizeof *base, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    locks(win, base);
    MPI_Win_free(&win);

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int together;
    MPI_Comm_size(node, &together);
    EXPECT(together == size);
    MPI_Win_allocate_shared(N * sizeof *base, unit, MPI_INFO_NULL, node, &base, &win);
    fences(win, base, "shared");
    MPI_Aint bytes;
    long *theirs;
    MPI_Win_shared_query(win, right, &bytes, &unit, &theirs);
    EXPECT(theirs[0] == rank);
    MPI_Win_free(&win), MPI_Comm_free(&node);

    /* Addresses are displacements. */
    MPI_Aint mine, there;
    long value = rank + 7, got = -1;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, created, sizeof created), MPI_Get_address(created, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, left, 1, &there, 1, MPI_AINT, right, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Win_lock_all(0, win);
    MPI_Put(&value, 1, MPI_LONG, right, there, 1, MPI_LONG, win), MPI_Win_flush(right, win);
    MPI_Get(&got, 1, MPI_LONG, right, there, 1, MPI_LONG, win);
    MPI_Win_unlock_all(win);
    EXPECT(got == value);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, created), MPI_Win_free(&win);
    note("dynamic %ld", got);
    print_notes();
    MPI_Finalize();
    return check_wrong;
}
