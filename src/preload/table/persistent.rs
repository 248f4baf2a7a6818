//! Chapter 6: persistent collectives. What the call says is kept with its request and recorded
//! each time that is started.

macro_rules! rows {
    ($expand:ident) => {
        $expand! {
            MPI_Barrier_init(comm: Handle, info: Handle, request: Out)
                BarrierInit v4(MPIX_Barrier_init) { comm, request }
            MPI_Bcast_init(buffer: Out, count: Count, datatype: Handle, root: Int, comm: Handle,
                           info: Handle, request: Out)
                BcastInit v4_large(MPIX_Bcast_init) { comm, count, datatype, peer: root,
                                                      in_place_count: count,
                                                      in_place_datatype: datatype, request }
            MPI_Gather_init(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                            recvcount: Count, recvtype: Handle, root: Int, comm: Handle,
                            info: Handle, request: Out)
                GatherInit v4_large(MPIX_Gather_init) { comm, count: sendcount, datatype: sendtype,
                                                        peer: root, in_place: sendbuf,
                                                        in_place_count: recvcount,
                                                        in_place_datatype: recvtype, request }
            MPI_Gatherv_init(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                             recvcounts: Counts, displs: Displs, recvtype: Handle, root: Int,
                             comm: Handle, info: Handle, request: Out)
                GathervInit v4_large(MPIX_Gatherv_init) { comm, count: sendcount,
                                                          datatype: sendtype, peer: root,
                                                          in_place: sendbuf, request }
            MPI_Scatter_init(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                             recvcount: Count, recvtype: Handle, root: Int, comm: Handle,
                             info: Handle, request: Out)
                ScatterInit v4_large(MPIX_Scatter_init) { comm, count: recvcount,
                                                          datatype: recvtype, peer: root,
                                                          in_place: recvbuf,
                                                          in_place_count: sendcount,
                                                          in_place_datatype: sendtype, request }
            MPI_Scatterv_init(sendbuf: In, sendcounts: Counts, displs: Displs, sendtype: Handle,
                              recvbuf: Out, recvcount: Count, recvtype: Handle, root: Int,
                              comm: Handle, info: Handle, request: Out)
                ScattervInit v4_large(MPIX_Scatterv_init) { comm, count: recvcount,
                                                            datatype: recvtype, peer: root,
                                                            in_place: recvbuf, request }
            MPI_Allgather_init(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                               recvcount: Count, recvtype: Handle, comm: Handle, info: Handle,
                               request: Out)
                AllgatherInit v4_large(MPIX_Allgather_init) { comm, count: sendcount,
                                                              datatype: sendtype, in_place: sendbuf,
                                                              in_place_count: recvcount,
                                                              in_place_datatype: recvtype, request }
            MPI_Allgatherv_init(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                                recvcounts: Counts, displs: Displs, recvtype: Handle, comm: Handle,
                                info: Handle, request: Out)
                AllgathervInit v4_large(MPIX_Allgatherv_init) { comm, count: sendcount,
                                                                datatype: sendtype,
                                                                in_place: sendbuf, request }
            MPI_Alltoall_init(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                              recvcount: Count, recvtype: Handle, comm: Handle, info: Handle,
                              request: Out)
                AlltoallInit v4_large(MPIX_Alltoall_init) { comm, count: sendcount,
                                                            datatype: sendtype, in_place: sendbuf,
                                                            in_place_count: recvcount,
                                                            in_place_datatype: recvtype, request }
            MPI_Alltoallv_init(sendbuf: In, sendcounts: Counts, sdispls: Displs, sendtype: Handle,
                               recvbuf: Out, recvcounts: Counts, rdispls: Displs, recvtype: Handle,
                               comm: Handle, info: Handle, request: Out)
                AlltoallvInit v4_large(MPIX_Alltoallv_init) { comm, counts: sendcounts,
                                                              datatype: sendtype, in_place: sendbuf,
                                                              in_place_counts: recvcounts,
                                                              in_place_datatype: recvtype, request }
            MPI_Alltoallw_init(sendbuf: In, sendcounts: Counts, sdispls: Displs, sendtypes: In,
                               recvbuf: Out, recvcounts: Counts, rdispls: Displs, recvtypes: In,
                               comm: Handle, info: Handle, request: Out)
                AlltoallwInit v4_large(MPIX_Alltoallw_init) { comm, counts: sendcounts,
                                                              datatypes: sendtypes,
                                                              in_place: sendbuf,
                                                              in_place_counts: recvcounts,
                                                              in_place_datatypes: recvtypes,
                                                              request }
            MPI_Reduce_init(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                            root: Int, comm: Handle, info: Handle, request: Out)
                ReduceInit v4_large(MPIX_Reduce_init) { comm, count, datatype, peer: root, op,
                                                        in_place: sendbuf, in_place_count: count,
                                                        in_place_datatype: datatype, request }
            MPI_Allreduce_init(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle,
                               op: Handle, comm: Handle, info: Handle, request: Out)
                AllreduceInit v4_large(MPIX_Allreduce_init) { comm, count, datatype, op,
                                                              in_place: sendbuf,
                                                              in_place_count: count,
                                                              in_place_datatype: datatype, request }
            MPI_Reduce_scatter_block_init(sendbuf: In, recvbuf: Out, recvcount: Count,
                                          datatype: Handle, op: Handle, comm: Handle, info: Handle,
                                          request: Out)
                ReduceScatterBlockInit v4_large(MPIX_Reduce_scatter_block_init) {
                    comm, count: recvcount, datatype, op, in_place: sendbuf,
                    in_place_count: recvcount, in_place_datatype: datatype, request }
            MPI_Reduce_scatter_init(sendbuf: In, recvbuf: Out, recvcounts: Counts, datatype: Handle,
                                    op: Handle, comm: Handle, info: Handle, request: Out)
                ReduceScatterInit v4_large(MPIX_Reduce_scatter_init) { comm, counts: recvcounts,
                                                                       datatype, op,
                                                                       in_place: sendbuf,
                                                                       in_place_counts: recvcounts,
                                                                       in_place_datatype: datatype,
                                                                       request }
            MPI_Scan_init(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                          comm: Handle, info: Handle, request: Out)
                ScanInit v4_large(MPIX_Scan_init) { comm, count, datatype, op, in_place: sendbuf,
                                                    in_place_count: count,
                                                    in_place_datatype: datatype, request }
            MPI_Exscan_init(sendbuf: In, recvbuf: Out, count: Count, datatype: Handle, op: Handle,
                            comm: Handle, info: Handle, request: Out)
                ExscanInit v4_large(MPIX_Exscan_init) { comm, count, datatype, op,
                                                        in_place: sendbuf, in_place_count: count,
                                                        in_place_datatype: datatype, request }
        }
    };
}
pub(in crate::preload) use rows;
