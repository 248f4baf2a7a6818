//! Chapter 6: blocking collectives.

macro_rules! rows {
    ($expand:ident) => {
        $expand! {
            MPI_Barrier(comm: Handle) Barrier v3 { comm }
            MPI_Bcast(buffer: Out, count: Count, datatype: Handle, root: Int, comm: Handle)
                Bcast v3_large { comm, count, datatype, peer: root, in_place_count: count,
                                 in_place_datatype: datatype }
            MPI_Gather(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                       recvcount: Count, recvtype: Handle, root: Int, comm: Handle)
                Gather v3_large { comm, count: sendcount, datatype: sendtype, peer: root,
                                  in_place: sendbuf, in_place_count: recvcount,
                                  in_place_datatype: recvtype }
            MPI_Gatherv(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                        recvcounts: Counts, displs: Displs, recvtype: Handle, root: Int,
                        comm: Handle)
                Gatherv v3_large { comm, count: sendcount, datatype: sendtype, peer: root,
                                   in_place: sendbuf }
            MPI_Scatter(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                        recvcount: Count, recvtype: Handle, root: Int, comm: Handle)
                Scatter v3_large { comm, count: recvcount, datatype: recvtype, peer: root,
                                   in_place: recvbuf, in_place_count: sendcount,
                                   in_place_datatype: sendtype }
            MPI_Scatterv(sendbuf: In, sendcounts: Counts, displs: Displs, sendtype: Handle,
                         recvbuf: Out, recvcount: Count, recvtype: Handle, root: Int, comm: Handle)
                Scatterv v3_large { comm, count: recvcount, datatype: recvtype, peer: root,
                                    in_place: recvbuf }
            MPI_Allgather(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                          recvcount: Count, recvtype: Handle, comm: Handle)
                Allgather v3_large { comm, count: sendcount, datatype: sendtype, in_place: sendbuf,
                                     in_place_count: recvcount, in_place_datatype: recvtype }
            MPI_Allgatherv(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                           recvcounts: Counts, displs: Displs, recvtype: Handle, comm: Handle)
                Allgatherv v3_large { comm, count: sendcount, datatype: sendtype,
                                      in_place: sendbuf }
            MPI_Alltoall(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                         recvcount: Count, recvtype: Handle, comm: Handle)
                Alltoall v3_large { comm, count: sendcount, datatype: sendtype, in_place: sendbuf,
                                    in_place_count: recvcount, in_place_datatype: recvtype }
            MPI_Alltoallv(sendbuf: In, sendcounts: Counts, sdispls: Displs, sendtype: Handle,
                          recvbuf: Out, recvcounts: Counts, rdispls: Displs, recvtype: Handle,
                          comm: Handle)
                Alltoallv v3_large { comm, counts: sendcounts, datatype: sendtype,
                                     in_place: sendbuf, in_place_counts: recvcounts,
                                     in_place_datatype: recvtype }
            MPI_Alltoallw(sendbuf: In, sendcounts: Counts, sdispls: Displs, sendtypes: In,
                          recvbuf: Out, recvcounts: Counts, rdispls: Displs, recvtypes: In,
                          comm: Handle)
                Alltoallw v3_large { comm, counts: sendcounts, datatypes: sendtypes,
                                     in_place: sendbuf, in_place_counts: recvcounts,
                                     in_place_datatypes: recvtypes }
            MPI_Reduce(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                       root: Int, comm: Handle)
                Reduce v3_large { comm, count, datatype, peer: root, op, in_place: sendbuf,
                                  in_place_count: count, in_place_datatype: datatype }
            MPI_Allreduce(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                          comm: Handle)
                Allreduce v3_large { comm, count, datatype, op, in_place: sendbuf,
                                     in_place_count: count, in_place_datatype: datatype }
            MPI_Reduce_scatter_block(sendbuf: In, recvbuf: Out, recvcount: Count, datatype: Handle,
                                     op: Handle, comm: Handle)
                ReduceScatterBlock v3_large { comm, count: recvcount, datatype, op,
                                              in_place: sendbuf, in_place_count: recvcount,
                                              in_place_datatype: datatype }
            MPI_Reduce_scatter(sendbuf: In, recvbuf: Out, recvcounts: Counts, datatype: Handle,
                               op: Handle, comm: Handle)
                ReduceScatter v3_large { comm, counts: recvcounts, datatype, op, in_place: sendbuf,
                                         in_place_counts: recvcounts, in_place_datatype: datatype }
            MPI_Scan(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                     comm: Handle)
                Scan v3_large { comm, count, datatype, op, in_place: sendbuf, in_place_count: count,
                                in_place_datatype: datatype }
            MPI_Exscan(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                       comm: Handle)
                Exscan v3_large { comm, count, datatype, op, in_place: sendbuf,
                                  in_place_count: count, in_place_datatype: datatype }
        }
    };
}
pub(in crate::preload) use rows;
