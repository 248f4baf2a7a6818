//! Chapters 7, 8 and 11: communicators by each way in which they come about.
//!
//! Those that begin or end with something of ours are in [`super::super::special`].

macro_rules! rows {
    ($expand:ident) => {
        $expand! {
            MPI_Comm_dup(comm: Handle, newcomm: Out) CommDup v3 { comm, new_comm: newcomm }
            MPI_Comm_dup_with_info(comm: Handle, info: Handle, newcomm: Out)
                CommDupWithInfo v3 { comm, new_comm: newcomm }
            // The new communicator exists once the request completes: registered at first use.
            MPI_Comm_idup(comm: Handle, newcomm: Out, request: Out) CommIdup v3 { comm }
            MPI_Comm_idup_with_info(comm: Handle, info: Handle, newcomm: Out, request: Out)
                CommIdupWithInfo v4 { comm }
            MPI_Comm_create(comm: Handle, group: Handle, newcomm: Out)
                CommCreate v3 { comm, new_comm: newcomm }
            MPI_Comm_create_group(comm: Handle, group: Handle, tag: Int, newcomm: Out)
                CommCreateGroup v3 { comm, new_comm: newcomm }
            MPI_Comm_split(comm: Handle, color: Int, key: Int, newcomm: Out)
                CommSplit v3 { comm, new_comm: newcomm }
            MPI_Comm_split_type(comm: Handle, split_type: Int, key: Int, info: Handle, newcomm: Out)
                CommSplitType v3 { comm, new_comm: newcomm }
            MPI_Intercomm_create(local_comm: Handle, local_leader: Int, peer_comm: Handle,
                                 remote_leader: Int, tag: Int, newintercomm: Out)
                IntercommCreate v3 { comm: local_comm, new_comm: newintercomm }
            MPI_Intercomm_merge(intercomm: Handle, high: Int, newintracomm: Out)
                IntercommMerge v3 { comm: intercomm, new_comm: newintracomm }
            MPI_Cart_create(comm_old: Handle, ndims: Int, dims: Ints, periods: Ints, reorder: Int,
                            comm_cart: Out)
                CartCreate v3 { comm: comm_old, new_comm: comm_cart }
            MPI_Cart_sub(comm: Handle, remain_dims: Ints, newcomm: Out)
                CartSub v3 { comm, new_comm: newcomm }
            MPI_Graph_create(comm_old: Handle, nnodes: Int, indx: Ints, edges: Ints, reorder: Int,
                             comm_graph: Out)
                GraphCreate v3 { comm: comm_old, new_comm: comm_graph }
            MPI_Dist_graph_create_adjacent(comm_old: Handle, indegree: Int, sources: Ints,
                                           sourceweights: Ints, outdegree: Int, destinations: Ints,
                                           destweights: Ints, info: Handle, reorder: Int,
                                           comm_dist_graph: Out)
                DistGraphCreateAdjacent v3 { comm: comm_old, new_comm: comm_dist_graph }
            MPI_Dist_graph_create(comm_old: Handle, n: Int, sources: Ints, degrees: Ints,
                                  destinations: Ints, weights: Ints, info: Handle, reorder: Int,
                                  comm_dist_graph: Out)
                DistGraphCreate v3 { comm: comm_old, new_comm: comm_dist_graph }
            MPI_Comm_spawn(command: In, argv: Out, maxprocs: Int, info: Handle, root: Int,
                           comm: Handle, intercomm: Out, array_of_errcodes: IntOut)
                CommSpawn v3 { comm, new_comm: intercomm }
            MPI_Comm_spawn_multiple(count: Int, array_of_commands: Out, array_of_argv: Out,
                                    array_of_maxprocs: Ints, array_of_info: In, root: Int,
                                    comm: Handle, intercomm: Out, array_of_errcodes: IntOut)
                CommSpawnMultiple v3 { comm, new_comm: intercomm }
            MPI_Comm_accept(port_name: In, info: Handle, root: Int, comm: Handle, newcomm: Out)
                CommAccept v3 { comm, new_comm: newcomm }
            MPI_Comm_connect(port_name: In, info: Handle, root: Int, comm: Handle, newcomm: Out)
                CommConnect v3 { comm, new_comm: newcomm }
            MPI_Comm_join(fd: Int, intercomm: Out) CommJoin v3 { new_comm: intercomm }
        }
    };
}
pub(in crate::preload) use rows;
