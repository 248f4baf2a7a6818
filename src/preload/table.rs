//! THE wrapper table: one row a call, in the order of the MPI-3.1 standard's chapters.
//!
//! A row reads `NAME(parameters) Op { fact: parameter, ... }`. Facts are those of
//! [`super::entry::Facts`]; a row holds no expression. A call that needs one, or that must do
//! something before the real call, is in [`super::special`], with the reason.
//!
//! To add a call: its row here, its `Op` in `src/core/op.rs`, its name in `include/pas.symbols`.
//! `MPI_Allreduce` is the example to follow: its count and datatype describe one block, its
//! communicator says who takes part, its send buffer may be `MPI_IN_PLACE` (the block is then the
//! same), and its operation tells whether the library may reorder.
//!
//! Not here since they carry no traffic: everything else; such calls reach the MPI directly.

use super::flavor::RawHandle;
use std::ffi::{c_int, c_void};

/// A buffer that the call reads, or any pointer that is only passed on.
pub type In = *const c_void;
/// A buffer, handle or status that the call writes.
pub type Out = *mut c_void;
/// An integer.
pub type Int = c_int;
/// A vector of integers that the call reads.
pub type Ints = *const c_int;
/// An integer that the call writes.
pub type IntOut = *mut c_int;
/// A handle.
pub type Handle = RawHandle;

macro_rules! rows {
    ($expand:ident) => {
        $expand! {
            // ---- Chapter 3: point-to-point ------------------------------------------------
            MPI_Send(buf: In, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                Send { comm: comm, count: count, datatype: datatype, peer: dest }
            MPI_Recv(buf: Out, count: Int, datatype: Handle, source: Int, tag: Int, comm: Handle,
                     status: Out)
                Recv { comm: comm, count: count, datatype: datatype, peer: source, status: status }
            MPI_Isend(buf: In, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle,
                      request: Out)
                Isend { comm: comm, count: count, datatype: datatype, peer: dest }
            MPI_Irecv(buf: Out, count: Int, datatype: Handle, source: Int, tag: Int, comm: Handle,
                      request: Out)
                Irecv { comm: comm, count: count, datatype: datatype, peer: source }
            MPI_Wait(request: Out, status: Out) Wait {}
            MPI_Test(request: Out, flag: IntOut, status: Out) Test { flag: flag }
            MPI_Waitany(count: Int, requests: Out, index: IntOut, status: Out) Waitany {}
            MPI_Testany(count: Int, requests: Out, index: IntOut, flag: IntOut, status: Out)
                Testany { flag: flag }
            MPI_Waitall(count: Int, requests: Out, statuses: Out) Waitall {}
            MPI_Testall(count: Int, requests: Out, flag: IntOut, statuses: Out)
                Testall { flag: flag }
            MPI_Waitsome(incount: Int, requests: Out, outcount: IntOut, indices: IntOut,
                         statuses: Out)
                Waitsome { outcount: outcount }
            MPI_Testsome(incount: Int, requests: Out, outcount: IntOut, indices: IntOut,
                         statuses: Out)
                Testsome { outcount: outcount }
            MPI_Sendrecv(sendbuf: In, sendcount: Int, sendtype: Handle, dest: Int, sendtag: Int,
                         recvbuf: Out, recvcount: Int, recvtype: Handle, source: Int, recvtag: Int,
                         comm: Handle, status: Out)
                Sendrecv { comm: comm, count: sendcount, datatype: sendtype, peer: dest }
            MPI_Sendrecv_replace(buf: Out, count: Int, datatype: Handle, dest: Int, sendtag: Int,
                                 source: Int, recvtag: Int, comm: Handle, status: Out)
                SendrecvReplace { comm: comm, count: count, datatype: datatype, peer: dest }

            // ---- Chapter 5: collectives ---------------------------------------------------
            MPI_Barrier(comm: Handle) Barrier { comm: comm }
            MPI_Bcast(buffer: Out, count: Int, datatype: Handle, root: Int, comm: Handle)
                Bcast { comm: comm, count: count, datatype: datatype, peer: root,
                        in_place_count: count, in_place_datatype: datatype }
            MPI_Gather(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out, recvcount: Int,
                       recvtype: Handle, root: Int, comm: Handle)
                Gather { comm: comm, count: sendcount, datatype: sendtype, peer: root,
                         in_place: sendbuf, in_place_count: recvcount,
                         in_place_datatype: recvtype }
            MPI_Gatherv(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                        recvcounts: Ints, displs: Ints, recvtype: Handle, root: Int, comm: Handle)
                Gatherv { comm: comm, count: sendcount, datatype: sendtype, peer: root,
                          in_place: sendbuf }
            MPI_Scatter(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                        recvcount: Int, recvtype: Handle, root: Int, comm: Handle)
                Scatter { comm: comm, count: recvcount, datatype: recvtype, peer: root,
                          in_place: recvbuf, in_place_count: sendcount,
                          in_place_datatype: sendtype }
            MPI_Scatterv(sendbuf: In, sendcounts: Ints, displs: Ints, sendtype: Handle,
                         recvbuf: Out, recvcount: Int, recvtype: Handle, root: Int, comm: Handle)
                Scatterv { comm: comm, count: recvcount, datatype: recvtype, peer: root,
                           in_place: recvbuf }
            MPI_Allgather(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                          recvcount: Int, recvtype: Handle, comm: Handle)
                Allgather { comm: comm, count: sendcount, datatype: sendtype, in_place: sendbuf,
                            in_place_count: recvcount, in_place_datatype: recvtype }
            MPI_Allgatherv(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                           recvcounts: Ints, displs: Ints, recvtype: Handle, comm: Handle)
                Allgatherv { comm: comm, count: sendcount, datatype: sendtype, in_place: sendbuf }
            MPI_Alltoall(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                         recvcount: Int, recvtype: Handle, comm: Handle)
                Alltoall { comm: comm, count: sendcount, datatype: sendtype, in_place: sendbuf,
                           in_place_count: recvcount, in_place_datatype: recvtype }
            MPI_Alltoallv(sendbuf: In, sendcounts: Ints, sdispls: Ints, sendtype: Handle,
                          recvbuf: Out, recvcounts: Ints, rdispls: Ints, recvtype: Handle,
                          comm: Handle)
                Alltoallv { comm: comm, counts: sendcounts, datatype: sendtype, in_place: sendbuf,
                            in_place_counts: recvcounts, in_place_datatype: recvtype }
            MPI_Alltoallw(sendbuf: In, sendcounts: Ints, sdispls: Ints, sendtypes: In,
                          recvbuf: Out, recvcounts: Ints, rdispls: Ints, recvtypes: In,
                          comm: Handle)
                Alltoallw { comm: comm, counts: sendcounts, datatypes: sendtypes,
                            in_place: sendbuf, in_place_counts: recvcounts,
                            in_place_datatypes: recvtypes }
            MPI_Reduce(sendbuf: In, recvbuf: Out, count: Int, datatype: Handle, op: Handle,
                       root: Int, comm: Handle)
                Reduce { comm: comm, count: count, datatype: datatype, peer: root, op: op,
                         in_place: sendbuf, in_place_count: count, in_place_datatype: datatype }
            MPI_Allreduce(sendbuf: In, recvbuf: Out, count: Int, datatype: Handle, op: Handle,
                          comm: Handle)
                Allreduce { comm: comm, count: count, datatype: datatype, op: op,
                            in_place: sendbuf, in_place_count: count,
                            in_place_datatype: datatype }
            MPI_Reduce_scatter_block(sendbuf: In, recvbuf: Out, recvcount: Int, datatype: Handle,
                                     op: Handle, comm: Handle)
                ReduceScatterBlock { comm: comm, count: recvcount, datatype: datatype, op: op,
                                     in_place: sendbuf, in_place_count: recvcount,
                                     in_place_datatype: datatype }
            MPI_Reduce_scatter(sendbuf: In, recvbuf: Out, recvcounts: Ints, datatype: Handle,
                               op: Handle, comm: Handle)
                ReduceScatter { comm: comm, counts: recvcounts, datatype: datatype, op: op,
                                in_place: sendbuf, in_place_counts: recvcounts,
                                in_place_datatype: datatype }
            MPI_Scan(sendbuf: In, recvbuf: Out, count: Int, datatype: Handle, op: Handle,
                     comm: Handle)
                Scan { comm: comm, count: count, datatype: datatype, op: op, in_place: sendbuf,
                       in_place_count: count, in_place_datatype: datatype }
            MPI_Exscan(sendbuf: In, recvbuf: Out, count: Int, datatype: Handle, op: Handle,
                       comm: Handle)
                Exscan { comm: comm, count: count, datatype: datatype, op: op, in_place: sendbuf,
                         in_place_count: count, in_place_datatype: datatype }
            MPI_Ibarrier(comm: Handle, request: Out) Ibarrier { comm: comm }
            MPI_Ibcast(buffer: Out, count: Int, datatype: Handle, root: Int, comm: Handle,
                       request: Out)
                Ibcast { comm: comm, count: count, datatype: datatype, peer: root,
                         in_place_count: count, in_place_datatype: datatype }
            MPI_Igather(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                        recvcount: Int, recvtype: Handle, root: Int, comm: Handle, request: Out)
                Igather { comm: comm, count: sendcount, datatype: sendtype, peer: root,
                          in_place: sendbuf, in_place_count: recvcount,
                          in_place_datatype: recvtype }
            MPI_Igatherv(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                         recvcounts: Ints, displs: Ints, recvtype: Handle, root: Int,
                         comm: Handle, request: Out)
                Igatherv { comm: comm, count: sendcount, datatype: sendtype, peer: root,
                           in_place: sendbuf }
            MPI_Iscatter(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                         recvcount: Int, recvtype: Handle, root: Int, comm: Handle, request: Out)
                Iscatter { comm: comm, count: recvcount, datatype: recvtype, peer: root,
                           in_place: recvbuf, in_place_count: sendcount,
                           in_place_datatype: sendtype }
            MPI_Iscatterv(sendbuf: In, sendcounts: Ints, displs: Ints, sendtype: Handle,
                          recvbuf: Out, recvcount: Int, recvtype: Handle, root: Int,
                          comm: Handle, request: Out)
                Iscatterv { comm: comm, count: recvcount, datatype: recvtype, peer: root,
                            in_place: recvbuf }
            MPI_Iallgather(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                           recvcount: Int, recvtype: Handle, comm: Handle, request: Out)
                Iallgather { comm: comm, count: sendcount, datatype: sendtype, in_place: sendbuf,
                             in_place_count: recvcount, in_place_datatype: recvtype }
            MPI_Iallgatherv(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                            recvcounts: Ints, displs: Ints, recvtype: Handle, comm: Handle,
                            request: Out)
                Iallgatherv { comm: comm, count: sendcount, datatype: sendtype,
                              in_place: sendbuf }
            MPI_Ialltoall(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                          recvcount: Int, recvtype: Handle, comm: Handle, request: Out)
                Ialltoall { comm: comm, count: sendcount, datatype: sendtype, in_place: sendbuf,
                            in_place_count: recvcount, in_place_datatype: recvtype }
            MPI_Ialltoallv(sendbuf: In, sendcounts: Ints, sdispls: Ints, sendtype: Handle,
                           recvbuf: Out, recvcounts: Ints, rdispls: Ints, recvtype: Handle,
                           comm: Handle, request: Out)
                Ialltoallv { comm: comm, counts: sendcounts, datatype: sendtype,
                             in_place: sendbuf, in_place_counts: recvcounts,
                             in_place_datatype: recvtype }
            MPI_Ialltoallw(sendbuf: In, sendcounts: Ints, sdispls: Ints, sendtypes: In,
                           recvbuf: Out, recvcounts: Ints, rdispls: Ints, recvtypes: In,
                           comm: Handle, request: Out)
                Ialltoallw { comm: comm, counts: sendcounts, datatypes: sendtypes,
                             in_place: sendbuf, in_place_counts: recvcounts,
                             in_place_datatypes: recvtypes }
            MPI_Ireduce(sendbuf: In, recvbuf: Out, count: Int, datatype: Handle, op: Handle,
                        root: Int, comm: Handle, request: Out)
                Ireduce { comm: comm, count: count, datatype: datatype, peer: root, op: op,
                          in_place: sendbuf, in_place_count: count, in_place_datatype: datatype }
            MPI_Iallreduce(sendbuf: In, recvbuf: Out, count: Int, datatype: Handle, op: Handle,
                           comm: Handle, request: Out)
                Iallreduce { comm: comm, count: count, datatype: datatype, op: op,
                             in_place: sendbuf, in_place_count: count,
                             in_place_datatype: datatype }
            MPI_Ireduce_scatter_block(sendbuf: In, recvbuf: Out, recvcount: Int,
                                      datatype: Handle, op: Handle, comm: Handle, request: Out)
                IreduceScatterBlock { comm: comm, count: recvcount, datatype: datatype, op: op,
                                      in_place: sendbuf, in_place_count: recvcount,
                                      in_place_datatype: datatype }
            MPI_Ireduce_scatter(sendbuf: In, recvbuf: Out, recvcounts: Ints, datatype: Handle,
                                op: Handle, comm: Handle, request: Out)
                IreduceScatter { comm: comm, counts: recvcounts, datatype: datatype, op: op,
                                 in_place: sendbuf, in_place_counts: recvcounts,
                                 in_place_datatype: datatype }
            MPI_Iscan(sendbuf: In, recvbuf: Out, count: Int, datatype: Handle, op: Handle,
                      comm: Handle, request: Out)
                Iscan { comm: comm, count: count, datatype: datatype, op: op, in_place: sendbuf,
                        in_place_count: count, in_place_datatype: datatype }
            MPI_Iexscan(sendbuf: In, recvbuf: Out, count: Int, datatype: Handle, op: Handle,
                        comm: Handle, request: Out)
                Iexscan { comm: comm, count: count, datatype: datatype, op: op,
                          in_place: sendbuf, in_place_count: count, in_place_datatype: datatype }

            // ---- Chapter 6: groups and communicators ----------------------------------------
            MPI_Comm_dup(comm: Handle, newcomm: Out) CommDup { comm: comm, new_comm: newcomm }
            MPI_Comm_dup_with_info(comm: Handle, info: Handle, newcomm: Out)
                CommDupWithInfo { comm: comm, new_comm: newcomm }
            // The new communicator exists once the request completes: registered at first use.
            MPI_Comm_idup(comm: Handle, newcomm: Out, request: Out) CommIdup { comm: comm }
            MPI_Comm_create(comm: Handle, group: Handle, newcomm: Out)
                CommCreate { comm: comm, new_comm: newcomm }
            MPI_Comm_create_group(comm: Handle, group: Handle, tag: Int, newcomm: Out)
                CommCreateGroup { comm: comm, new_comm: newcomm }
            MPI_Comm_split(comm: Handle, color: Int, key: Int, newcomm: Out)
                CommSplit { comm: comm, new_comm: newcomm }
            MPI_Comm_split_type(comm: Handle, split_type: Int, key: Int, info: Handle,
                                newcomm: Out)
                CommSplitType { comm: comm, new_comm: newcomm }
            MPI_Intercomm_create(local_comm: Handle, local_leader: Int, peer_comm: Handle,
                                 remote_leader: Int, tag: Int, newintercomm: Out)
                IntercommCreate { comm: local_comm, new_comm: newintercomm }
            MPI_Intercomm_merge(intercomm: Handle, high: Int, newintracomm: Out)
                IntercommMerge { comm: intercomm, new_comm: newintracomm }

            // ---- Chapter 7: process topologies ----------------------------------------------
            MPI_Cart_create(comm_old: Handle, ndims: Int, dims: Ints, periods: Ints, reorder: Int,
                            comm_cart: Out)
                CartCreate { comm: comm_old, new_comm: comm_cart }
            MPI_Cart_sub(comm: Handle, remain_dims: Ints, newcomm: Out)
                CartSub { comm: comm, new_comm: newcomm }
            MPI_Graph_create(comm_old: Handle, nnodes: Int, index: Ints, edges: Ints,
                             reorder: Int, comm_graph: Out)
                GraphCreate { comm: comm_old, new_comm: comm_graph }
            MPI_Dist_graph_create_adjacent(comm_old: Handle, indegree: Int, sources: Ints,
                                           sourceweights: Ints, outdegree: Int,
                                           destinations: Ints, destweights: Ints, info: Handle,
                                           reorder: Int, comm_dist_graph: Out)
                DistGraphCreateAdjacent { comm: comm_old, new_comm: comm_dist_graph }
            MPI_Dist_graph_create(comm_old: Handle, n: Int, sources: Ints, degrees: Ints,
                                  destinations: Ints, weights: Ints, info: Handle, reorder: Int,
                                  comm_dist_graph: Out)
                DistGraphCreate { comm: comm_old, new_comm: comm_dist_graph }
            MPI_Neighbor_allgather(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                                   recvcount: Int, recvtype: Handle, comm: Handle)
                NeighborAllgather { comm: comm, count: sendcount, datatype: sendtype }
            MPI_Neighbor_allgatherv(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                                    recvcounts: Ints, displs: Ints, recvtype: Handle,
                                    comm: Handle)
                NeighborAllgatherv { comm: comm, count: sendcount, datatype: sendtype }
            MPI_Neighbor_alltoall(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                                  recvcount: Int, recvtype: Handle, comm: Handle)
                NeighborAlltoall { comm: comm, count: sendcount, datatype: sendtype }
            // The vectors of the next two are as long as the number of neighbours, which is not
            // known here: calls are counted, bytes are not.
            MPI_Neighbor_alltoallv(sendbuf: In, sendcounts: Ints, sdispls: Ints,
                                   sendtype: Handle, recvbuf: Out, recvcounts: Ints,
                                   rdispls: Ints, recvtype: Handle, comm: Handle)
                NeighborAlltoallv { comm: comm }
            MPI_Neighbor_alltoallw(sendbuf: In, sendcounts: Ints, sdispls: In, sendtypes: In,
                                   recvbuf: Out, recvcounts: Ints, rdispls: In, recvtypes: In,
                                   comm: Handle)
                NeighborAlltoallw { comm: comm }
            MPI_Ineighbor_allgather(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                                    recvcount: Int, recvtype: Handle, comm: Handle, request: Out)
                IneighborAllgather { comm: comm, count: sendcount, datatype: sendtype }
            MPI_Ineighbor_allgatherv(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                                     recvcounts: Ints, displs: Ints, recvtype: Handle,
                                     comm: Handle, request: Out)
                IneighborAllgatherv { comm: comm, count: sendcount, datatype: sendtype }
            MPI_Ineighbor_alltoall(sendbuf: In, sendcount: Int, sendtype: Handle, recvbuf: Out,
                                   recvcount: Int, recvtype: Handle, comm: Handle, request: Out)
                IneighborAlltoall { comm: comm, count: sendcount, datatype: sendtype }
            MPI_Ineighbor_alltoallv(sendbuf: In, sendcounts: Ints, sdispls: Ints,
                                    sendtype: Handle, recvbuf: Out, recvcounts: Ints,
                                    rdispls: Ints, recvtype: Handle, comm: Handle, request: Out)
                IneighborAlltoallv { comm: comm }
            MPI_Ineighbor_alltoallw(sendbuf: In, sendcounts: Ints, sdispls: In, sendtypes: In,
                                    recvbuf: Out, recvcounts: Ints, rdispls: In, recvtypes: In,
                                    comm: Handle, request: Out)
                IneighborAlltoallw { comm: comm }
        }
    };
}
pub(super) use rows;
