//! Chapters 3 and 4: point-to-point, probes, completion, partitioned.
//!
//! `MPI_Start`, `MPI_Startall` and `MPI_Request_free` are in [`super::super::special`].

macro_rules! rows {
    ($expand:ident) => {
        $expand! {
            MPI_Send(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                Send v3_large { comm, count, datatype, peer: dest }
            MPI_Bsend(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                Bsend v3_large { comm, count, datatype, peer: dest }
            MPI_Ssend(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                Ssend v3_large { comm, count, datatype, peer: dest }
            MPI_Rsend(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                Rsend v3_large { comm, count, datatype, peer: dest }
            MPI_Recv(buf: Out, count: Count, datatype: Handle, source: Int, tag: Int, comm: Handle,
                     status: Out)
                Recv v3_large { comm, count, datatype, peer: source, status }
            MPI_Isend(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle,
                      request: Out)
                Isend v3_large { comm, count, datatype, peer: dest }
            MPI_Ibsend(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle,
                       request: Out)
                Ibsend v3_large { comm, count, datatype, peer: dest }
            MPI_Issend(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle,
                       request: Out)
                Issend v3_large { comm, count, datatype, peer: dest }
            MPI_Irsend(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int, comm: Handle,
                       request: Out)
                Irsend v3_large { comm, count, datatype, peer: dest }
            MPI_Irecv(buf: Out, count: Count, datatype: Handle, source: Int, tag: Int, comm: Handle,
                      request: Out)
                Irecv v3_large { comm, count, datatype, peer: source }
            MPI_Sendrecv(sendbuf: In, sendcount: Count, sendtype: Handle, dest: Int, sendtag: Int,
                         recvbuf: Out, recvcount: Count, recvtype: Handle, source: Int,
                         recvtag: Int, comm: Handle, status: Out)
                Sendrecv v3_large { comm, count: sendcount, datatype: sendtype, peer: dest }
            MPI_Sendrecv_replace(buf: Out, count: Count, datatype: Handle, dest: Int, sendtag: Int,
                                 source: Int, recvtag: Int, comm: Handle, status: Out)
                SendrecvReplace v3_large { comm, count, datatype, peer: dest }
            MPI_Isendrecv(sendbuf: In, sendcount: Count, sendtype: Handle, dest: Int, sendtag: Int,
                          recvbuf: Out, recvcount: Count, recvtype: Handle, source: Int,
                          recvtag: Int, comm: Handle, request: Out)
                Isendrecv v4_large { comm, count: sendcount, datatype: sendtype, peer: dest }
            MPI_Isendrecv_replace(buf: Out, count: Count, datatype: Handle, dest: Int, sendtag: Int,
                                  source: Int, recvtag: Int, comm: Handle, request: Out)
                IsendrecvReplace v4_large { comm, count, datatype, peer: dest }
            MPI_Probe(source: Int, tag: Int, comm: Handle, status: Out)
                Probe v3 { comm, peer: source, status }
            MPI_Iprobe(source: Int, tag: Int, comm: Handle, flag: IntOut, status: Out)
                Iprobe v3 { comm, peer: source, flag, status }
            MPI_Mprobe(source: Int, tag: Int, comm: Handle, message: Out, status: Out)
                Mprobe v3 { comm, peer: source, status }
            MPI_Improbe(source: Int, tag: Int, comm: Handle, flag: IntOut, message: Out,
                        status: Out)
                Improbe v3 { comm, peer: source, flag, status }
            // A matched message no longer names its communicator or its source.
            MPI_Mrecv(buf: Out, count: Count, datatype: Handle, message: Out, status: Out)
                Mrecv v3_large { count, datatype }
            MPI_Imrecv(buf: Out, count: Count, datatype: Handle, message: Out, request: Out)
                Imrecv v3_large { count, datatype }
            MPI_Send_init(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int,
                          comm: Handle, request: Out)
                SendInit v3_large { comm, count, datatype, peer: dest, request }
            MPI_Bsend_init(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int,
                           comm: Handle, request: Out)
                BsendInit v3_large { comm, count, datatype, peer: dest, request }
            MPI_Ssend_init(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int,
                           comm: Handle, request: Out)
                SsendInit v3_large { comm, count, datatype, peer: dest, request }
            MPI_Rsend_init(buf: In, count: Count, datatype: Handle, dest: Int, tag: Int,
                           comm: Handle, request: Out)
                RsendInit v3_large { comm, count, datatype, peer: dest, request }
            MPI_Recv_init(buf: Out, count: Count, datatype: Handle, source: Int, tag: Int,
                          comm: Handle, request: Out)
                RecvInit v3_large { comm, count, datatype, peer: source, request }
            MPI_Wait(request: Out, status: Out) Wait v3 {}
            MPI_Test(request: Out, flag: IntOut, status: Out) Test v3 { flag }
            MPI_Waitany(count: Int, requests: Out, indx: IntOut, status: Out) Waitany v3 {}
            MPI_Testany(count: Int, requests: Out, indx: IntOut, flag: IntOut, status: Out)
                Testany v3 { flag }
            MPI_Waitall(count: Int, requests: Out, statuses: Out) Waitall v3 {}
            MPI_Testall(count: Int, requests: Out, flag: IntOut, statuses: Out) Testall v3 { flag }
            MPI_Waitsome(incount: Int, requests: Out, outcount: IntOut, indices: IntOut,
                         statuses: Out)
                Waitsome v3 { outcount }
            MPI_Testsome(incount: Int, requests: Out, outcount: IntOut, indices: IntOut,
                         statuses: Out)
                Testsome v3 { outcount }
            MPI_Request_get_status(request: Handle, flag: IntOut, status: Out)
                RequestGetStatus v3 { flag }
            MPI_Request_get_status_any(count: Int, requests: In, indx: IntOut, flag: IntOut,
                                       status: Out)
                RequestGetStatusAny v4 { flag }
            MPI_Request_get_status_all(count: Int, requests: In, flag: IntOut, statuses: Out)
                RequestGetStatusAll v4 { flag }
            MPI_Request_get_status_some(incount: Int, requests: In, outcount: IntOut,
                                        indices: IntOut, statuses: Out)
                RequestGetStatusSome v4 { outcount }
            // The count is an int in some headers and an MPI_Count in others.
            MPI_Psend_init(buf: In, partitions: Int, count: Unsure, datatype: Handle, dest: Int,
                           tag: Int, comm: Handle, info: Handle, request: Out)
                PsendInit v4 { comm, count, datatype, partitions, peer: dest, request }
            MPI_Precv_init(buf: Out, partitions: Int, count: Unsure, datatype: Handle, source: Int,
                           tag: Int, comm: Handle, info: Handle, request: Out)
                PrecvInit v4 { comm, count, datatype, partitions, peer: source, request }
            MPI_Pready(partition: Int, request: Handle) Pready v4 {}
            MPI_Pready_range(partition_low: Int, partition_high: Int, request: Handle)
                PreadyRange v4 {}
            MPI_Pready_list(length: Int, array_of_partitions: Ints, request: Handle)
                PreadyList v4 {}
            MPI_Parrived(request: Handle, partition: Int, flag: IntOut) Parrived v4 { flag }
        }
    };
}
pub(in crate::preload) use rows;
