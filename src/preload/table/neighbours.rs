//! Chapter 8: neighbourhood collectives.
//!
//! The vectors of `alltoallv` and `alltoallw` are as long as the number of neighbours, which is
//! not known here: their calls are counted, their bytes are not.

macro_rules! rows {
    ($expand:ident) => {
        $expand! {
            MPI_Neighbor_allgather(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                                   recvcount: Count, recvtype: Handle, comm: Handle)
                NeighborAllgather v3_large { comm, count: sendcount, datatype: sendtype }
            MPI_Neighbor_allgatherv(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                                    recvcounts: Counts, displs: Displs, recvtype: Handle,
                                    comm: Handle)
                NeighborAllgatherv v3_large { comm, count: sendcount, datatype: sendtype }
            MPI_Neighbor_alltoall(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                                  recvcount: Count, recvtype: Handle, comm: Handle)
                NeighborAlltoall v3_large { comm, count: sendcount, datatype: sendtype }
            MPI_Neighbor_alltoallv(sendbuf: In, sendcounts: Counts, sdispls: Displs,
                                   sendtype: Handle, recvbuf: Out, recvcounts: Counts,
                                   rdispls: Displs, recvtype: Handle, comm: Handle)
                NeighborAlltoallv v3_large { comm }
            MPI_Neighbor_alltoallw(sendbuf: In, sendcounts: Counts, sdispls: In, sendtypes: In,
                                   recvbuf: Out, recvcounts: Counts, rdispls: In, recvtypes: In,
                                   comm: Handle)
                NeighborAlltoallw v3_large { comm }
            MPI_Ineighbor_allgather(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                                    recvcount: Count, recvtype: Handle, comm: Handle, request: Out)
                IneighborAllgather v3_large { comm, count: sendcount, datatype: sendtype }
            MPI_Ineighbor_allgatherv(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                                     recvcounts: Counts, displs: Displs, recvtype: Handle,
                                     comm: Handle, request: Out)
                IneighborAllgatherv v3_large { comm, count: sendcount, datatype: sendtype }
            MPI_Ineighbor_alltoall(sendbuf: In, sendcount: Count, sendtype: Handle, recvbuf: Out,
                                   recvcount: Count, recvtype: Handle, comm: Handle, request: Out)
                IneighborAlltoall v3_large { comm, count: sendcount, datatype: sendtype }
            MPI_Ineighbor_alltoallv(sendbuf: In, sendcounts: Counts, sdispls: Displs,
                                    sendtype: Handle, recvbuf: Out, recvcounts: Counts,
                                    rdispls: Displs, recvtype: Handle, comm: Handle, request: Out)
                IneighborAlltoallv v3_large { comm }
            MPI_Ineighbor_alltoallw(sendbuf: In, sendcounts: Counts, sdispls: In, sendtypes: In,
                                    recvbuf: Out, recvcounts: Counts, rdispls: In, recvtypes: In,
                                    comm: Handle, request: Out)
                IneighborAlltoallw v3_large { comm }
            MPI_Neighbor_allgather_init(sendbuf: In, sendcount: Count, sendtype: Handle,
                                        recvbuf: Out, recvcount: Count, recvtype: Handle,
                                        comm: Handle, info: Handle, request: Out)
                NeighborAllgatherInit v4_large(MPIX_Neighbor_allgather_init) { comm,
                                                                               count: sendcount,
                                                                               datatype: sendtype,
                                                                               request }
            MPI_Neighbor_allgatherv_init(sendbuf: In, sendcount: Count, sendtype: Handle,
                                         recvbuf: Out, recvcounts: Counts, displs: Displs,
                                         recvtype: Handle, comm: Handle, info: Handle, request: Out)
                NeighborAllgathervInit v4_large(MPIX_Neighbor_allgatherv_init) { comm,
                                                                                 count: sendcount,
                                                                                 datatype: sendtype,
                                                                                 request }
            MPI_Neighbor_alltoall_init(sendbuf: In, sendcount: Count, sendtype: Handle,
                                       recvbuf: Out, recvcount: Count, recvtype: Handle,
                                       comm: Handle, info: Handle, request: Out)
                NeighborAlltoallInit v4_large(MPIX_Neighbor_alltoall_init) { comm, count: sendcount,
                                                                             datatype: sendtype,
                                                                             request }
            MPI_Neighbor_alltoallv_init(sendbuf: In, sendcounts: Counts, sdispls: Displs,
                                        sendtype: Handle, recvbuf: Out, recvcounts: Counts,
                                        rdispls: Displs, recvtype: Handle, comm: Handle,
                                        info: Handle, request: Out)
                NeighborAlltoallvInit v4_large(MPIX_Neighbor_alltoallv_init) { comm, request }
            MPI_Neighbor_alltoallw_init(sendbuf: In, sendcounts: Counts, sdispls: In, sendtypes: In,
                                        recvbuf: Out, recvcounts: Counts, rdispls: In,
                                        recvtypes: In, comm: Handle, info: Handle, request: Out)
                NeighborAlltoallwInit v4_large(MPIX_Neighbor_alltoallw_init) { comm, request }
        }
    };
}
pub(in crate::preload) use rows;
