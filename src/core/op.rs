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
    /// A message sent by this rank.
    Send,
    /// A message to be received by this rank; its bytes are an upper bound.
    Receive,
    /// A send and a receive in one call; bytes are those sent.
    SendReceive,
    /// A call that waits for or tests requests.
    Completion,
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
    Recv "MPI_Recv" Kind::Receive;
    Isend "MPI_Isend" Kind::Send;
    Irecv "MPI_Irecv" Kind::Receive;
    Wait "MPI_Wait" Kind::Completion;
    Test "MPI_Test" Kind::Completion;
    Waitany "MPI_Waitany" Kind::Completion;
    Testany "MPI_Testany" Kind::Completion;
    Waitall "MPI_Waitall" Kind::Completion;
    Testall "MPI_Testall" Kind::Completion;
    Waitsome "MPI_Waitsome" Kind::Completion;
    Testsome "MPI_Testsome" Kind::Completion;
    Sendrecv "MPI_Sendrecv" Kind::SendReceive;
    SendrecvReplace "MPI_Sendrecv_replace" Kind::SendReceive;
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
    CommDup "MPI_Comm_dup" Kind::Communicator;
    CommDupWithInfo "MPI_Comm_dup_with_info" Kind::Communicator;
    CommIdup "MPI_Comm_idup" Kind::Communicator;
    CommCreate "MPI_Comm_create" Kind::Communicator;
    CommCreateGroup "MPI_Comm_create_group" Kind::Communicator;
    CommSplit "MPI_Comm_split" Kind::Communicator;
    CommSplitType "MPI_Comm_split_type" Kind::Communicator;
    CommFree "MPI_Comm_free" Kind::Communicator;
    CommDisconnect "MPI_Comm_disconnect" Kind::Communicator;
    IntercommCreate "MPI_Intercomm_create" Kind::Communicator;
    IntercommMerge "MPI_Intercomm_merge" Kind::Communicator;
    CartCreate "MPI_Cart_create" Kind::Communicator;
    CartSub "MPI_Cart_sub" Kind::Communicator;
    GraphCreate "MPI_Graph_create" Kind::Communicator;
    DistGraphCreate "MPI_Dist_graph_create" Kind::Communicator;
    DistGraphCreateAdjacent "MPI_Dist_graph_create_adjacent" Kind::Communicator;
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
    Init "MPI_Init" Kind::Life;
    InitThread "MPI_Init_thread" Kind::Life;
    Finalize "MPI_Finalize" Kind::Life;
    Abort "MPI_Abort" Kind::Life;
}

impl Op {
    /// The collective that the call carries out, where it is one.
    pub const fn collective(self) -> Option<Collective> {
        match self.kind() {
            Kind::Blocking(collective) | Kind::Nonblocking(collective) => Some(collective),
            _ => None,
        }
    }
}
