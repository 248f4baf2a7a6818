/* Requests completed in each way through copies of their array that the program makes; nulls and
 * inactive ones among them; a communicator freed while its requests run; cancelled and generalised
 * requests. With argument `many`: 100,000 outstanding ones.
 *
 * counts, without arguments: MPI_Irecv 49, MPI_Isend 49, MPI_Iallreduce 1, MPI_Waitall 3,
 * MPI_Waitany 18, MPI_Comm_free 1, MPI_Wait 2, MPI_Recv_init 1, MPI_Request_get_status 2,
 * MPI_Start 1, MPI_Request_free 1. */
#include "check.h"

enum { HALF = 8, N = 2 * HALF };
static int rank, size, left, right, in[N], out[N];

/* Half of the requests receive from the left, half send to the right. */
static void post(MPI_Comm comm, MPI_Request *r, int round) {
    for (int i = 0; i < HALF; i++) {
        in[i] = -1, out[i] = rank * 1000 + round * 100 + i;
        MPI_Irecv(&in[i], 1, MPI_INT, left, i, comm, &r[i]);
        MPI_Isend(&out[i], 1, MPI_INT, right, i, comm, &r[HALF + i]);
    }
}

static void check(int round, const MPI_Request *r) {
    for (int i = 0; i < HALF; i++) EXPECT(in[i] == left * 1000 + round * 100 + i);
    for (int i = 0; i < N; i++) EXPECT(r[i] == MPI_REQUEST_NULL);
}

/* The handles leave the array that the MPI filled, and come back into another one. */
static void copies(void) {
    MPI_Request r[N], copy[N];
    MPI_Status statuses[N], status;
    int index, flag = 0, some, which[N], done = 0, seen[N] = {0};
    for (int round = 0; round < 5; round++, done = 0, flag = 0) {
        post(MPI_COMM_WORLD, r, round);
        for (int i = 0; i < N; i++) copy[i] = r[N - 1 - i];
        memset(r, 0x55, sizeof r); /* nobody has the first array any more */
        if (round == 0) {
            while (done < N) MPI_Waitany(N, copy, &index, &status), seen[index]++, done++;
            MPI_Waitany(N, copy, &index, &status), EXPECT(index == MPI_UNDEFINED);
        } else if (round == 1) {
            while (done < N) MPI_Waitsome(N, copy, &some, which, statuses), done += some;
            MPI_Waitsome(N, copy, &some, which, statuses), EXPECT(some == MPI_UNDEFINED);
        } else if (round == 2) {
            while (done < N)
                MPI_Testany(N, copy, &index, &flag, &status), done += flag && index >= 0;
            MPI_Testany(N, copy, &index, &flag, &status), EXPECT(flag && index == MPI_UNDEFINED);
        } else if (round == 3) {
            while (done < N) MPI_Testsome(N, copy, &some, which, MPI_STATUSES_IGNORE), done += some;
            MPI_Testsome(N, copy, &some, which, MPI_STATUSES_IGNORE), EXPECT(some == MPI_UNDEFINED);
        } else {
            while (!flag) MPI_Testall(N, copy, &flag, statuses);
            for (int i = HALF; i < N; i++)
                EXPECT(statuses[i].MPI_SOURCE == left && statuses[i].MPI_TAG == N - 1 - i);
        }
        check(round, copy);
    }
    for (int i = 0; i < N; i++) EXPECT(seen[i] == 1);
    note("copies bits %016lx", bits(in, sizeof in));
}

static void freed(void) {
    MPI_Comm comm;
    MPI_Request r[N + 1];
    int sum = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    post(comm, r, 7);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &r[N]);
    MPI_Comm_free(&comm);
    MPI_Waitall(N + 1, r, MPI_STATUSES_IGNORE);
    check(7, r);
    EXPECT(comm == MPI_COMM_NULL && sum == size * (size - 1) / 2);
    note("communicator freed, sum %d", sum);
}

static void nulls(void) {
    MPI_Request inactive, r[4], none = MPI_REQUEST_NULL;
    MPI_Status s[4];
    int got = -1, flag = 0, index = 0, sent = rank, count = 7;
    MPI_Recv_init(&got, 1, MPI_INT, left, 30, MPI_COMM_WORLD, &inactive);
    MPI_Request_get_status(none, &flag, &s[0]), EXPECT(flag);
    MPI_Request_get_status(inactive, &flag, MPI_STATUS_IGNORE), EXPECT(flag);
    r[0] = none, r[1] = inactive, r[2] = none, r[3] = inactive;
    MPI_Waitall(3, r, s), MPI_Get_count(&s[1], MPI_INT, &count);
    EXPECT(s[0].MPI_SOURCE == MPI_ANY_SOURCE && s[0].MPI_TAG == MPI_ANY_TAG && count == 0);
    EXPECT(r[1] == inactive && r[0] == MPI_REQUEST_NULL);
    MPI_Waitany(3, r, &index, &s[0]), EXPECT(index == MPI_UNDEFINED && r[1] == inactive);
    MPI_Testany(3, r, &index, &flag, &s[0]), EXPECT(flag && index == MPI_UNDEFINED);
    MPI_Testall(3, r, &flag, s), EXPECT(flag);
    /* Among them, two that run: one is started, with its handle in another place than the first. */
    MPI_Start(&r[1]), r[2] = r[1], r[1] = none;
    MPI_Isend(&sent, 1, MPI_INT, right, 30, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, s);
    EXPECT(got == left && s[2].MPI_SOURCE == left && s[2].MPI_TAG == 30 && r[2] == inactive
           && r[3] == none);
    MPI_Request_free(&r[2]);
    note("nulls %d", got);
}

static void cancelled(void) {
    MPI_Request r;
    MPI_Status s;
    int got = -1, flag = 0;
    MPI_Irecv(&got, 1, MPI_INT, left, 31, MPI_COMM_WORLD, &r); /* nobody sends */
    MPI_Cancel(&r), MPI_Wait(&r, &s), MPI_Test_cancelled(&s, &flag);
    EXPECT(flag && r == MPI_REQUEST_NULL);
    note("cancelled %d", flag);
}

static int query(void *state, MPI_Status *status) {
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = 5;
    return MPI_SUCCESS;
}

static int release(void *state) {
    *(int *)state += 100;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete) {
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void generalised(void) {
    MPI_Request r;
    MPI_Status s;
    int state = 3, flag = 1, count = -1;
    MPI_Grequest_start(query, release, cancel, &state, &r);
    MPI_Test(&r, &flag, &s), EXPECT(!flag);
    MPI_Grequest_complete(r);
    MPI_Wait(&r, &s), MPI_Get_count(&s, MPI_INT, &count);
    EXPECT(count == 3 && s.MPI_TAG == 5 && state == 103 && r == MPI_REQUEST_NULL);
    note("generalised %d %d", count, state);
}

static void many(void) {
    enum { MANY = 100000 };
    MPI_Request *r = malloc(MANY * sizeof *r);
    int *data = malloc(MANY * sizeof *data), good = 0;
    for (int i = 0; i < MANY; i++) MPI_Irecv(&data[i], 1, MPI_INT, left, 1, MPI_COMM_WORLD, &r[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0, mine = rank; i < MANY; i++, mine++)
        MPI_Send(&mine, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++) good += data[i] == left + i;
    EXPECT(good == MANY);
    note("many %d", good);
    free(r), free(data);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (argc > 1 && !strcmp(argv[1], "many")) many();
    else copies(), freed(), nulls(), cancelled(), generalised();
    print_notes();
    MPI_Finalize();
    return check_wrong;
}
