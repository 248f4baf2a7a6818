//! The calls that PAS records, and what kind of call each is.

use serde::{Deserialize, Serialize};

/// Expands the one list of recorded calls into [`Op`], its names and its kinds.
macro_rules! ops {
    ($($(#[$doc:meta])* $variant:ident $name:literal $kind:expr;)*) => {
        /// A recorded call. The numbers are for one process's memory only; names go on the wire.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u16)]
        pub enum Op {
            $(#[doc = $name] #[serde(rename = $name)] $variant,)*
        }

        impl Op {
            /// Every recorded call, in the order of the MPI standard's chapters.
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];

            /// The call's name as the standard spells it.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => $name,)* }
            }

            /// What kind of call it is.
            pub const fn kind(self) -> Kind {
                match self { $(Op::$variant => $kind,)* }
            }
        }
    };
}

/// What a call does, as far as the detector must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A blocking collective.
    Blocking(Collective),
    /// A non-blocking collective, recorded when it is posted.
    Nonblocking(Collective),
    /// The making of a persistent collective: traffic only where the record says that it was
    /// started ([`crate::event::Flags::STARTED`]).
    Persistent(Collective),
    /// A message sent by this rank.
    Send,
    /// The making of a persistent or partitioned send, as for [`Kind::Persistent`].
    PersistentSend,
    /// A message to be received by this rank; its bytes are an upper bound.
    Receive,
    /// The making of a persistent or partitioned receive.
    PersistentReceive,
    /// A send and a receive in one call; bytes are those sent.
    SendReceive,
    /// Access to another rank's memory. A read's bytes come from there: to a circuit, which joins
    /// two ports both ways, that is the same.
    OneSided,
    /// A call that waits for or tests requests, or ends an epoch of a window.
    Completion,
    /// Asks or marks; what it is about is recorded elsewhere.
    Local,
    /// A file: traffic to the storage, not to other ranks.
    File,
    /// Creation or release of a window.
    Window,
    /// Creation or release of a communicator.
    Communicator,
    /// Start or end of MPI itself.
    Life,
}

/// The operation behind a blocking collective, its non-blocking and its later variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is the collective of that name in MPI-3.1 chapter 5 and 7")]
pub enum Collective {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    ReduceScatterBlock,
    ReduceScatter,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
}

ops! {
    Send "MPI_Send" Kind::Send;
    Bsend "MPI_Bsend" Kind::Send;
    Ssend "MPI_Ssend" Kind::Send;
    Rsend "MPI_Rsend" Kind::Send;
    Recv "MPI_Recv" Kind::Receive;
    Isend "MPI_Isend" Kind::Send;
    Ibsend "MPI_Ibsend" Kind::Send;
    Issend "MPI_Issend" Kind::Send;
    Irsend "MPI_Irsend" Kind::Send;
    Irecv "MPI_Irecv" Kind::Receive;
    Sendrecv "MPI_Sendrecv" Kind::SendReceive;
    SendrecvReplace "MPI_Sendrecv_replace" Kind::SendReceive;
    Isendrecv "MPI_Isendrecv" Kind::SendReceive;
    IsendrecvReplace "MPI_Isendrecv_replace" Kind::SendReceive;
    Probe "MPI_Probe" Kind::Local;
    Iprobe "MPI_Iprobe" Kind::Local;
    Mprobe "MPI_Mprobe" Kind::Local;
    Improbe "MPI_Improbe" Kind::Local;
    Mrecv "MPI_Mrecv" Kind::Receive;
    Imrecv "MPI_Imrecv" Kind::Receive;
    SendInit "MPI_Send_init" Kind::PersistentSend;
    BsendInit "MPI_Bsend_init" Kind::PersistentSend;
    SsendInit "MPI_Ssend_init" Kind::PersistentSend;
    RsendInit "MPI_Rsend_init" Kind::PersistentSend;
    RecvInit "MPI_Recv_init" Kind::PersistentReceive;
    Wait "MPI_Wait" Kind::Completion;
    Test "MPI_Test" Kind::Completion;
    Waitany "MPI_Waitany" Kind::Completion;
    Testany "MPI_Testany" Kind::Completion;
    Waitall "MPI_Waitall" Kind::Completion;
    Testall "MPI_Testall" Kind::Completion;
    Waitsome "MPI_Waitsome" Kind::Completion;
    Testsome "MPI_Testsome" Kind::Completion;
    RequestGetStatus "MPI_Request_get_status" Kind::Completion;
    RequestGetStatusAny "MPI_Request_get_status_any" Kind::Completion;
    RequestGetStatusAll "MPI_Request_get_status_all" Kind::Completion;
    RequestGetStatusSome "MPI_Request_get_status_some" Kind::Completion;
    PsendInit "MPI_Psend_init" Kind::PersistentSend;
    PrecvInit "MPI_Precv_init" Kind::PersistentReceive;
    Pready "MPI_Pready" Kind::Local;
    PreadyRange "MPI_Pready_range" Kind::Local;
    PreadyList "MPI_Pready_list" Kind::Local;
    Parrived "MPI_Parrived" Kind::Completion;
    Start "MPI_Start" Kind::Local;
    Startall "MPI_Startall" Kind::Local;
    RequestFree "MPI_Request_free" Kind::Local;
    Barrier "MPI_Barrier" Kind::Blocking(Collective::Barrier);
    Bcast "MPI_Bcast" Kind::Blocking(Collective::Bcast);
    Gather "MPI_Gather" Kind::Blocking(Collective::Gather);
    Gatherv "MPI_Gatherv" Kind::Blocking(Collective::Gatherv);
    Scatter "MPI_Scatter" Kind::Blocking(Collective::Scatter);
    Scatterv "MPI_Scatterv" Kind::Blocking(Collective::Scatterv);
    Allgather "MPI_Allgather" Kind::Blocking(Collective::Allgather);
    Allgatherv "MPI_Allgatherv" Kind::Blocking(Collective::Allgatherv);
    Alltoall "MPI_Alltoall" Kind::Blocking(Collective::Alltoall);
    Alltoallv "MPI_Alltoallv" Kind::Blocking(Collective::Alltoallv);
    Alltoallw "MPI_Alltoallw" Kind::Blocking(Collective::Alltoallw);
    Reduce "MPI_Reduce" Kind::Blocking(Collective::Reduce);
    Allreduce "MPI_Allreduce" Kind::Blocking(Collective::Allreduce);
    ReduceScatterBlock "MPI_Reduce_scatter_block" Kind::Blocking(Collective::ReduceScatterBlock);
    ReduceScatter "MPI_Reduce_scatter" Kind::Blocking(Collective::ReduceScatter);
    Scan "MPI_Scan" Kind::Blocking(Collective::Scan);
    Exscan "MPI_Exscan" Kind::Blocking(Collective::Exscan);
    Ibarrier "MPI_Ibarrier" Kind::Nonblocking(Collective::Barrier);
    Ibcast "MPI_Ibcast" Kind::Nonblocking(Collective::Bcast);
    Igather "MPI_Igather" Kind::Nonblocking(Collective::Gather);
    Igatherv "MPI_Igatherv" Kind::Nonblocking(Collective::Gatherv);
    Iscatter "MPI_Iscatter" Kind::Nonblocking(Collective::Scatter);
    Iscatterv "MPI_Iscatterv" Kind::Nonblocking(Collective::Scatterv);
    Iallgather "MPI_Iallgather" Kind::Nonblocking(Collective::Allgather);
    Iallgatherv "MPI_Iallgatherv" Kind::Nonblocking(Collective::Allgatherv);
    Ialltoall "MPI_Ialltoall" Kind::Nonblocking(Collective::Alltoall);
    Ialltoallv "MPI_Ialltoallv" Kind::Nonblocking(Collective::Alltoallv);
    Ialltoallw "MPI_Ialltoallw" Kind::Nonblocking(Collective::Alltoallw);
    Ireduce "MPI_Ireduce" Kind::Nonblocking(Collective::Reduce);
    Iallreduce "MPI_Iallreduce" Kind::Nonblocking(Collective::Allreduce);
    IreduceScatterBlock "MPI_Ireduce_scatter_block"
        Kind::Nonblocking(Collective::ReduceScatterBlock);
    IreduceScatter "MPI_Ireduce_scatter" Kind::Nonblocking(Collective::ReduceScatter);
    Iscan "MPI_Iscan" Kind::Nonblocking(Collective::Scan);
    Iexscan "MPI_Iexscan" Kind::Nonblocking(Collective::Exscan);
    BarrierInit "MPI_Barrier_init" Kind::Persistent(Collective::Barrier);
    BcastInit "MPI_Bcast_init" Kind::Persistent(Collective::Bcast);
    GatherInit "MPI_Gather_init" Kind::Persistent(Collective::Gather);
    GathervInit "MPI_Gatherv_init" Kind::Persistent(Collective::Gatherv);
    ScatterInit "MPI_Scatter_init" Kind::Persistent(Collective::Scatter);
    ScattervInit "MPI_Scatterv_init" Kind::Persistent(Collective::Scatterv);
    AllgatherInit "MPI_Allgather_init" Kind::Persistent(Collective::Allgather);
    AllgathervInit "MPI_Allgatherv_init" Kind::Persistent(Collective::Allgatherv);
    AlltoallInit "MPI_Alltoall_init" Kind::Persistent(Collective::Alltoall);
    AlltoallvInit "MPI_Alltoallv_init" Kind::Persistent(Collective::Alltoallv);
    AlltoallwInit "MPI_Alltoallw_init" Kind::Persistent(Collective::Alltoallw);
    ReduceInit "MPI_Reduce_init" Kind::Persistent(Collective::Reduce);
    AllreduceInit "MPI_Allreduce_init" Kind::Persistent(Collective::Allreduce);
    ReduceScatterBlockInit "MPI_Reduce_scatter_block_init"
        Kind::Persistent(Collective::ReduceScatterBlock);
    ReduceScatterInit "MPI_Reduce_scatter_init" Kind::Persistent(Collective::ReduceScatter);
    ScanInit "MPI_Scan_init" Kind::Persistent(Collective::Scan);
    ExscanInit "MPI_Exscan_init" Kind::Persistent(Collective::Exscan);
    CommDup "MPI_Comm_dup" Kind::Communicator;
    CommDupWithInfo "MPI_Comm_dup_with_info" Kind::Communicator;
    CommIdup "MPI_Comm_idup" Kind::Communicator;
    CommIdupWithInfo "MPI_Comm_idup_with_info" Kind::Communicator;
    CommCreate "MPI_Comm_create" Kind::Communicator;
    CommCreateGroup "MPI_Comm_create_group" Kind::Communicator;
    CommSplit "MPI_Comm_split" Kind::Communicator;
    CommSplitType "MPI_Comm_split_type" Kind::Communicator;
    IntercommCreate "MPI_Intercomm_create" Kind::Communicator;
    IntercommMerge "MPI_Intercomm_merge" Kind::Communicator;
    CartCreate "MPI_Cart_create" Kind::Communicator;
    CartSub "MPI_Cart_sub" Kind::Communicator;
    GraphCreate "MPI_Graph_create" Kind::Communicator;
    DistGraphCreateAdjacent "MPI_Dist_graph_create_adjacent" Kind::Communicator;
    DistGraphCreate "MPI_Dist_graph_create" Kind::Communicator;
    CommSpawn "MPI_Comm_spawn" Kind::Communicator;
    CommSpawnMultiple "MPI_Comm_spawn_multiple" Kind::Communicator;
    CommAccept "MPI_Comm_accept" Kind::Communicator;
    CommConnect "MPI_Comm_connect" Kind::Communicator;
    CommJoin "MPI_Comm_join" Kind::Communicator;
    CommFree "MPI_Comm_free" Kind::Communicator;
    CommDisconnect "MPI_Comm_disconnect" Kind::Communicator;
    CommCreateFromGroup "MPI_Comm_create_from_group" Kind::Communicator;
    IntercommCreateFromGroups "MPI_Intercomm_create_from_groups" Kind::Communicator;
    NeighborAllgather "MPI_Neighbor_allgather" Kind::Blocking(Collective::NeighborAllgather);
    NeighborAllgatherv "MPI_Neighbor_allgatherv" Kind::Blocking(Collective::NeighborAllgatherv);
    NeighborAlltoall "MPI_Neighbor_alltoall" Kind::Blocking(Collective::NeighborAlltoall);
    NeighborAlltoallv "MPI_Neighbor_alltoallv" Kind::Blocking(Collective::NeighborAlltoallv);
    NeighborAlltoallw "MPI_Neighbor_alltoallw" Kind::Blocking(Collective::NeighborAlltoallw);
    IneighborAllgather "MPI_Ineighbor_allgather" Kind::Nonblocking(Collective::NeighborAllgather);
    IneighborAllgatherv "MPI_Ineighbor_allgatherv"
        Kind::Nonblocking(Collective::NeighborAllgatherv);
    IneighborAlltoall "MPI_Ineighbor_alltoall" Kind::Nonblocking(Collective::NeighborAlltoall);
    IneighborAlltoallv "MPI_Ineighbor_alltoallv" Kind::Nonblocking(Collective::NeighborAlltoallv);
    IneighborAlltoallw "MPI_Ineighbor_alltoallw" Kind::Nonblocking(Collective::NeighborAlltoallw);
    NeighborAllgatherInit "MPI_Neighbor_allgather_init"
        Kind::Persistent(Collective::NeighborAllgather);
    NeighborAllgathervInit "MPI_Neighbor_allgatherv_init"
        Kind::Persistent(Collective::NeighborAllgatherv);
    NeighborAlltoallInit "MPI_Neighbor_alltoall_init"
        Kind::Persistent(Collective::NeighborAlltoall);
    NeighborAlltoallvInit "MPI_Neighbor_alltoallv_init"
        Kind::Persistent(Collective::NeighborAlltoallv);
    NeighborAlltoallwInit "MPI_Neighbor_alltoallw_init"
        Kind::Persistent(Collective::NeighborAlltoallw);
    WinCreate "MPI_Win_create" Kind::Window;
    WinAllocate "MPI_Win_allocate" Kind::Window;
    WinAllocateShared "MPI_Win_allocate_shared" Kind::Window;
    WinCreateDynamic "MPI_Win_create_dynamic" Kind::Window;
    Put "MPI_Put" Kind::OneSided;
    Get "MPI_Get" Kind::OneSided;
    Accumulate "MPI_Accumulate" Kind::OneSided;
    GetAccumulate "MPI_Get_accumulate" Kind::OneSided;
    Rput "MPI_Rput" Kind::OneSided;
    Rget "MPI_Rget" Kind::OneSided;
    Raccumulate "MPI_Raccumulate" Kind::OneSided;
    RgetAccumulate "MPI_Rget_accumulate" Kind::OneSided;
    FetchAndOp "MPI_Fetch_and_op" Kind::OneSided;
    CompareAndSwap "MPI_Compare_and_swap" Kind::OneSided;
    WinFence "MPI_Win_fence" Kind::Completion;
    WinStart "MPI_Win_start" Kind::Completion;
    WinComplete "MPI_Win_complete" Kind::Completion;
    WinPost "MPI_Win_post" Kind::Completion;
    WinWait "MPI_Win_wait" Kind::Completion;
    WinTest "MPI_Win_test" Kind::Completion;
    WinLock "MPI_Win_lock" Kind::Completion;
    WinLockAll "MPI_Win_lock_all" Kind::Completion;
    WinUnlock "MPI_Win_unlock" Kind::Completion;
    WinUnlockAll "MPI_Win_unlock_all" Kind::Completion;
    WinFlush "MPI_Win_flush" Kind::Completion;
    WinFlushAll "MPI_Win_flush_all" Kind::Completion;
    WinFlushLocal "MPI_Win_flush_local" Kind::Completion;
    WinFlushLocalAll "MPI_Win_flush_local_all" Kind::Completion;
    WinFree "MPI_Win_free" Kind::Window;
    FileClose "MPI_File_close" Kind::File;
    FileDelete "MPI_File_delete" Kind::File;
    FileGetPositionShared "MPI_File_get_position_shared" Kind::File;
    FileIread "MPI_File_iread" Kind::File;
    FileIreadAll "MPI_File_iread_all" Kind::File;
    FileIreadAt "MPI_File_iread_at" Kind::File;
    FileIreadAtAll "MPI_File_iread_at_all" Kind::File;
    FileIreadShared "MPI_File_iread_shared" Kind::File;
    FileIwrite "MPI_File_iwrite" Kind::File;
    FileIwriteAll "MPI_File_iwrite_all" Kind::File;
    FileIwriteAt "MPI_File_iwrite_at" Kind::File;
    FileIwriteAtAll "MPI_File_iwrite_at_all" Kind::File;
    FileIwriteShared "MPI_File_iwrite_shared" Kind::File;
    FileOpen "MPI_File_open" Kind::File;
    FilePreallocate "MPI_File_preallocate" Kind::File;
    FileRead "MPI_File_read" Kind::File;
    FileReadAll "MPI_File_read_all" Kind::File;
    FileReadAllBegin "MPI_File_read_all_begin" Kind::File;
    FileReadAllEnd "MPI_File_read_all_end" Kind::File;
    FileReadAt "MPI_File_read_at" Kind::File;
    FileReadAtAll "MPI_File_read_at_all" Kind::File;
    FileReadAtAllBegin "MPI_File_read_at_all_begin" Kind::File;
    FileReadAtAllEnd "MPI_File_read_at_all_end" Kind::File;
    FileReadOrdered "MPI_File_read_ordered" Kind::File;
    FileReadOrderedBegin "MPI_File_read_ordered_begin" Kind::File;
    FileReadOrderedEnd "MPI_File_read_ordered_end" Kind::File;
    FileReadShared "MPI_File_read_shared" Kind::File;
    FileSeekShared "MPI_File_seek_shared" Kind::File;
    FileSetAtomicity "MPI_File_set_atomicity" Kind::File;
    FileSetInfo "MPI_File_set_info" Kind::File;
    FileSetSize "MPI_File_set_size" Kind::File;
    FileSetView "MPI_File_set_view" Kind::File;
    FileSync "MPI_File_sync" Kind::File;
    FileWrite "MPI_File_write" Kind::File;
    FileWriteAll "MPI_File_write_all" Kind::File;
    FileWriteAllBegin "MPI_File_write_all_begin" Kind::File;
    FileWriteAllEnd "MPI_File_write_all_end" Kind::File;
    FileWriteAt "MPI_File_write_at" Kind::File;
    FileWriteAtAll "MPI_File_write_at_all" Kind::File;
    FileWriteAtAllBegin "MPI_File_write_at_all_begin" Kind::File;
    FileWriteAtAllEnd "MPI_File_write_at_all_end" Kind::File;
    FileWriteOrdered "MPI_File_write_ordered" Kind::File;
    FileWriteOrderedBegin "MPI_File_write_ordered_begin" Kind::File;
    FileWriteOrderedEnd "MPI_File_write_ordered_end" Kind::File;
    FileWriteShared "MPI_File_write_shared" Kind::File;
    Init "MPI_Init" Kind::Life;
    InitThread "MPI_Init_thread" Kind::Life;
    Finalize "MPI_Finalize" Kind::Life;
    SessionInit "MPI_Session_init" Kind::Life;
    SessionFinalize "MPI_Session_finalize" Kind::Life;
    Abort "MPI_Abort" Kind::Life;
}

impl Op {
    /// The collective that the call carries out, where it is one.
    pub const fn collective(self) -> Option<Collective> {
        match self.kind() {
            Kind::Blocking(collective)
            | Kind::Nonblocking(collective)
            | Kind::Persistent(collective) => Some(collective),
            _ => None,
        }
    }

    /// True for calls that make a persistent request.
    pub const fn is_persistent(self) -> bool {
        use Kind::{Persistent, PersistentReceive, PersistentSend};
        matches!(self.kind(), Persistent(_) | PersistentSend | PersistentReceive)
    }

    /// True for calls that only post what is done later: how long they take is of no interest.
    pub const fn posts(self) -> bool {
        use Op::{
            Ibsend, Imrecv, Irecv, Irsend, Isend, Isendrecv, IsendrecvReplace, Issend, Pready,
            PreadyList, PreadyRange,
        };
        match self {
            Isend | Ibsend | Issend | Irsend | Irecv | Imrecv | Isendrecv | IsendrecvReplace => {
                true
            }
            Pready | PreadyRange | PreadyList => true,
            _ => {
                self.is_persistent() || matches!(self.kind(), Kind::Nonblocking(_) | Kind::OneSided)
            }
        }
    }
}
