/* What calls.inc does, in C: the same output, and the same calls.
 *
 * counts: MPI_Allreduce 102, MPI_Irecv 11, MPI_Isend 10, MPI_Waitall 10, MPI_Wait 1, MPI_Bcast 1,
 * MPI_Dist_graph_create_adjacent 1, MPI_Neighbor_allgather 1, MPI_Gather 1, MPI_Scatter 1,
 * MPI_Alltoall 1, MPI_Allgather 1, MPI_Comm_dup 2, MPI_Comm_free 3, MPI_Send 6, MPI_Recv 5. */
#include "../check.h"

static int copies, deletions;

static int copied(MPI_Comm comm, int key, void *extra, void *old, void *new, int *flag) {
    copies++;
    *(MPI_Aint *)new = (MPI_Aint)old + *(MPI_Aint *)extra;
    *flag = comm != MPI_COMM_NULL && key != MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra) {
    deletions += comm != MPI_COMM_NULL && key != MPI_KEYVAL_INVALID;
    if ((MPI_Aint)value < *(MPI_Aint *)extra) deletions = -100;
    return MPI_SUCCESS;
}

static void add(void *from, void *into, int *length, MPI_Datatype *kind) {
    for (int i = 0; i < *length && *kind == MPI_INT; i++) ((int *)into)[i] += ((int *)from)[i];
}

int main(int argc, char **argv) {
    int provided, rank, size, sent[4], received[4], total, mine, got, lengths[2] = {4, 2},
        wrong = 0;
    double sent_more[2] = {0, 0}, received_more[2] = {-1, -1};
    MPI_Comm w = MPI_COMM_WORLD, graph, first, second;
    MPI_Request r[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(w, &rank), MPI_Comm_size(w, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size,
        expected = size * (size - 1) / 2;
    wrong += provided < MPI_THREAD_FUNNELED;

    for (int i = 1; i <= 100; i++) {
        total = mine = rank + i;
        MPI_Allreduce(i % 2 ? &mine : MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, w);
        wrong += total != expected + size * i;
    }

    for (int i = 1; i <= 10; i++) {
        for (int j = 0; j < 4; j++) sent[j] = rank * 100 + i, received[j] = -1;
        MPI_Irecv(received, 4, MPI_INT, left, i, w, &r[0]);
        MPI_Isend(sent, 4, MPI_INT, right, i, w, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        wrong += received[3] != left * 100 + i;
    }
    for (int i = 1; i <= 5; i++) {
        mine = rank + i;
        if (rank == 0) MPI_Send(&mine, 1, MPI_INT, right, i, w);
        MPI_Recv(&got, 1, MPI_INT, left, i, w, MPI_STATUS_IGNORE);
        if (rank != 0) MPI_Send(&mine, 1, MPI_INT, right, i, w);
        wrong += got != left + i;
    }

    MPI_Aint places[2], extra = 5;
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, out_type, in_type;
    MPI_Get_address(sent, &places[0]), MPI_Get_address(sent_more, &places[1]);
    MPI_Type_create_struct(2, lengths, places, types, &out_type);
    MPI_Get_address(received, &places[0]), MPI_Get_address(received_more, &places[1]);
    MPI_Type_create_struct(2, lengths, places, types, &in_type);
    MPI_Type_commit(&out_type), MPI_Type_commit(&in_type);
    for (int j = 0; j < 4; j++) sent[j] = rank + 7, received[j] = -1;
    sent_more[0] = sent_more[1] = rank + 0.5;
    MPI_Irecv(MPI_BOTTOM, 1, in_type, left, 20, w, &r[0]);
    MPI_Send(MPI_BOTTOM, 1, out_type, right, 20, w);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    wrong += received[3] != left + 7 || received_more[1] != left + 0.5;
    MPI_Bcast(MPI_BOTTOM, 1, out_type, 0, w);
    wrong += sent[0] != 7 || sent_more[0] != 0.5;
    MPI_Type_free(&out_type), MPI_Type_free(&in_type);

    MPI_Dist_graph_create_adjacent(w, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    mine = rank + 30;
    MPI_Neighbor_allgather(&mine, 1, MPI_INT, &got, 1, MPI_INT, graph);
    wrong += got != left + 30;
    MPI_Comm_free(&graph);

    int *many = malloc(size * sizeof *many), *all = malloc(size * sizeof *all);
    mine = rank + 40;
    for (int i = 0; i < size; i++) all[i] = mine;
    if (rank == 0) {
        MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, all, 1, MPI_INT, 0, w);
        for (int i = 0; i < size; i++) wrong += all[i] != i + 40;
        MPI_Scatter(all, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, w);
    } else {
        MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, w);
        MPI_Scatter(all, 1, MPI_INT, &got, 1, MPI_INT, 0, w);
        wrong += got != rank + 40;
    }
    for (int i = 0; i < size; i++) many[i] = rank * 100 + i;
    MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, many, 1, MPI_INT, w);
    for (int i = 0; i < size; i++) wrong += many[i] != i * 100 + rank;
    for (int i = 0; i < size; i++) all[i] = rank;
    MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, all, 1, MPI_INT, w);
    for (int i = 0; i < size; i++) wrong += all[i] != i;

    int key, found = 0, name_length;
    char name[MPI_MAX_OBJECT_NAME];
    void *value = NULL;
    MPI_Op op;
    MPI_Comm_create_keyval(copied, deleted, &key, &extra);
    MPI_Comm_dup(w, &first);
    MPI_Comm_set_attr(first, key, (void *)50);
    MPI_Comm_dup(first, &second);
    MPI_Comm_get_attr(second, key, &value, &found);
    wrong += !found || (MPI_Aint)value != 55;
    MPI_Comm_set_name(second, "trailing blanks"), MPI_Comm_get_name(second, name, &name_length);
    wrong += strcmp(name, "trailing blanks") != 0 || name_length != 15;
    MPI_Op_create(add, 1, &op);
    mine = rank + 1;
    MPI_Allreduce(&mine, &total, 1, MPI_INT, op, second);
    wrong += total != expected + size;
    MPI_Op_free(&op);
    MPI_Comm_free(&second), MPI_Comm_free(&first), MPI_Comm_free_keyval(&key);
    wrong += copies != 1 || deletions != 2;

    MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, w);
    if (rank == 0) {
        printf("ranks %d wrong %d\nall ", size, total);
        for (int i = 0; i < size; i++) printf("%d%s", all[i], i < size - 1 ? " " : "\n");
        printf("copies %d deletions %d\n", copies, deletions);
    }
    MPI_Finalize();
    return total != 0;
}
