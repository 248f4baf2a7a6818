//! Chapter 6: non-blocking collectives, recorded when they are posted.

macro_rules! rows {
    ($expand:ident) => {
        $expand! {
            MPI_Ibarrier(comm: Handle, request: Out) Ibarrier v3 { comm }
            MPI_Ibcast(buffer: Out, count: Count, datatype: Handle, root: Int, comm: Handle,
                       request: Out)
                Ibcast v3_large { comm, count, datatype, peer: root, in_place_count: count,
                                  in_place_datatype: datatype }
            MPI_Igather(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                        recvcount: Count, recvtype: Handle, root: Int, comm: Handle, request: Out)
                Igather v3_large { comm, count: sendcount, datatype: sendtype, peer: root,
                                   in_place: sendbuf, in_place_count: recvcount,
                                   in_place_datatype: recvtype }
            MPI_Igatherv(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                         recvcounts: Counts, displs: Displs, recvtype: Handle, root: Int,
                         comm: Handle, request: Out)
                Igatherv v3_large { comm, count: sendcount, datatype: sendtype, peer: root,
                                    in_place: sendbuf }
            MPI_Iscatter(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                         recvcount: Count, recvtype: Handle, root: Int, comm: Handle, request: Out)
                Iscatter v3_large { comm, count: recvcount, datatype: recvtype, peer: root,
                                    in_place: recvbuf, in_place_count: sendcount,
                                    in_place_datatype: sendtype }
            MPI_Iscatterv(sendbuf: In, sendcounts: Counts, displs: Displs, sendtype: Handle,
                          recvbuf: Out, recvcount: Count, recvtype: Handle, root: Int, comm: Handle,
                          request: Out)
                Iscatterv v3_large { comm, count: recvcount, datatype: recvtype, peer: root,
                                     in_place: recvbuf }
            MPI_Iallgather(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                           recvcount: Count, recvtype: Handle, comm: Handle, request: Out)
                Iallgather v3_large { comm, count: sendcount, datatype: sendtype, in_place: sendbuf,
                                      in_place_count: recvcount, in_place_datatype: recvtype }
            MPI_Iallgatherv(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                            recvcounts: Counts, displs: Displs, recvtype: Handle, comm: Handle,
                            request: Out)
                Iallgatherv v3_large { comm, count: sendcount, datatype: sendtype,
                                       in_place: sendbuf }
            MPI_Ialltoall(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                          recvcount: Count, recvtype: Handle, comm: Handle, request: Out)
                Ialltoall v3_large { comm, count: sendcount, datatype: sendtype, in_place: sendbuf,
                                     in_place_count: recvcount, in_place_datatype: recvtype }
            MPI_Ialltoallv(sendbuf: In, sendcounts: Counts, sdispls: Displs, sendtype: Handle,
                           recvbuf: Out, recvcounts: Counts, rdispls: Displs, recvtype: Handle,
                           comm: Handle, request: Out)
                Ialltoallv v3_large { comm, counts: sendcounts, datatype: sendtype,
                                      in_place: sendbuf, in_place_counts: recvcounts,
                                      in_place_datatype: recvtype }
            MPI_Ialltoallw(sendbuf: In, sendcounts: Counts, sdispls: Displs, sendtypes: In,
                           recvbuf: Out, recvcounts: Counts, rdispls: Displs, recvtypes: In,
                           comm: Handle, request: Out)
                Ialltoallw v3_large { comm, counts: sendcounts, datatypes: sendtypes,
                                      in_place: sendbuf, in_place_counts: recvcounts,
                                      in_place_datatypes: recvtypes }
            MPI_Ireduce(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                        root: Int, comm: Handle, request: Out)
                Ireduce v3_large { comm, count, datatype, peer: root, op, in_place: sendbuf,
                                   in_place_count: count, in_place_datatype: datatype }
            MPI_Iallreduce(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                           comm: Handle, request: Out)
                Iallreduce v3_large { comm, count, datatype, op, in_place: sendbuf,
                                      in_place_count: count, in_place_datatype: datatype }
            MPI_Ireduce_scatter_block(sendbuf: In, recvbuf: Out, recvcount: Count, datatype: Handle,
                                      op: Handle, comm: Handle, request: Out)
                IreduceScatterBlock v3_large { comm, count: recvcount, datatype, op,
                                               in_place: sendbuf, in_place_count: recvcount,
                                               in_place_datatype: datatype }
            MPI_Ireduce_scatter(sendbuf: In, recvbuf: Out, recvcounts: Counts, datatype: Handle,
                                op: Handle, comm: Handle, request: Out)
                IreduceScatter v3_large { comm, counts: recvcounts, datatype, op, in_place: sendbuf,
                                          in_place_counts: recvcounts, in_place_datatype: datatype }
            MPI_Iscan(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                      comm: Handle, request: Out)
                Iscan v3_large { comm, count, datatype, op, in_place: sendbuf,
                                 in_place_count: count, in_place_datatype: datatype }
            MPI_Iexscan(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                        comm: Handle, request: Out)
                Iexscan v3_large { comm, count, datatype, op, in_place: sendbuf,
                                   in_place_count: count, in_place_datatype: datatype }
        }
    };
}
pub(in crate::preload) use rows;
