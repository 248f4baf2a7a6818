//! Chapter 12: one-sided communication. A window stands for the communicator that it was made
//! of.

macro_rules! rows {
    ($expand:ident) => {
        $expand! {
            MPI_Win_create(base: Out, size: Aint, disp_unit: Unit, info: Handle, comm: Handle,
                           win: Out)
                WinCreate v3_large { comm, new_win: win }
            MPI_Win_allocate(size: Aint, disp_unit: Unit, info: Handle, comm: Handle, baseptr: Out,
                             win: Out)
                WinAllocate v3_large { comm, new_win: win }
            MPI_Win_allocate_shared(size: Aint, disp_unit: Unit, info: Handle, comm: Handle,
                                    baseptr: Out, win: Out)
                WinAllocateShared v3_large { comm, new_win: win }
            MPI_Win_create_dynamic(info: Handle, comm: Handle, win: Out)
                WinCreateDynamic v3 { comm, new_win: win }
            MPI_Put(origin_addr: In, origin_count: Count, origin_datatype: Handle, target_rank: Int,
                    target_disp: Aint, target_count: Count, target_datatype: Handle, win: Handle)
                Put v3_large { win, count: origin_count, datatype: origin_datatype,
                               peer: target_rank }
            MPI_Get(origin_addr: Out, origin_count: Count, origin_datatype: Handle,
                    target_rank: Int, target_disp: Aint, target_count: Count,
                    target_datatype: Handle, win: Handle)
                Get v3_large { win, count: origin_count, datatype: origin_datatype,
                               peer: target_rank }
            MPI_Accumulate(origin_addr: In, origin_count: Count, origin_datatype: Handle,
                           target_rank: Int, target_disp: Aint, target_count: Count,
                           target_datatype: Handle, op: Handle, win: Handle)
                Accumulate v3_large { win, count: origin_count, datatype: origin_datatype,
                                      peer: target_rank, op }
            // Its origin buffer may be empty (`MPI_NO_OP`): the target arguments always hold.
            MPI_Get_accumulate(origin_addr: In, origin_count: Count, origin_datatype: Handle,
                               result_addr: Out, result_count: Count, result_datatype: Handle,
                               target_rank: Int, target_disp: Aint, target_count: Count,
                               target_datatype: Handle, op: Handle, win: Handle)
                GetAccumulate v3_large { win, count: target_count, datatype: target_datatype,
                                         peer: target_rank, op }
            MPI_Rput(origin_addr: In, origin_count: Count, origin_datatype: Handle,
                     target_rank: Int, target_disp: Aint, target_count: Count,
                     target_datatype: Handle, win: Handle, request: Out)
                Rput v3_large { win, count: origin_count, datatype: origin_datatype,
                                peer: target_rank }
            MPI_Rget(origin_addr: Out, origin_count: Count, origin_datatype: Handle,
                     target_rank: Int, target_disp: Aint, target_count: Count,
                     target_datatype: Handle, win: Handle, request: Out)
                Rget v3_large { win, count: origin_count, datatype: origin_datatype,
                                peer: target_rank }
            MPI_Raccumulate(origin_addr: In, origin_count: Count, origin_datatype: Handle,
                            target_rank: Int, target_disp: Aint, target_count: Count,
                            target_datatype: Handle, op: Handle, win: Handle, request: Out)
                Raccumulate v3_large { win, count: origin_count, datatype: origin_datatype,
                                       peer: target_rank, op }
            MPI_Rget_accumulate(origin_addr: In, origin_count: Count, origin_datatype: Handle,
                                result_addr: Out, result_count: Count, result_datatype: Handle,
                                target_rank: Int, target_disp: Aint, target_count: Count,
                                target_datatype: Handle, op: Handle, win: Handle, request: Out)
                RgetAccumulate v3_large { win, count: target_count, datatype: target_datatype,
                                          peer: target_rank, op }
            // One element, which is too little to matter: bytes are not told.
            MPI_Fetch_and_op(origin_addr: In, result_addr: Out, datatype: Handle, target_rank: Int,
                             target_disp: Aint, op: Handle, win: Handle)
                FetchAndOp v3 { win, datatype, peer: target_rank, op }
            MPI_Compare_and_swap(origin_addr: In, compare_addr: In, result_addr: Out,
                                 datatype: Handle, target_rank: Int, target_disp: Aint, win: Handle)
                CompareAndSwap v3 { win, datatype, peer: target_rank }
            MPI_Win_fence(assert: Int, win: Handle) WinFence v3 { win }
            MPI_Win_start(group: Handle, assert: Int, win: Handle) WinStart v3 { win }
            MPI_Win_complete(win: Handle) WinComplete v3 { win }
            MPI_Win_post(group: Handle, assert: Int, win: Handle) WinPost v3 { win }
            MPI_Win_wait(win: Handle) WinWait v3 { win }
            MPI_Win_test(win: Handle, flag: IntOut) WinTest v3 { win, flag }
            MPI_Win_lock(lock_type: Int, rank: Int, assert: Int, win: Handle)
                WinLock v3 { win, peer: rank }
            MPI_Win_lock_all(assert: Int, win: Handle) WinLockAll v3 { win }
            MPI_Win_unlock(rank: Int, win: Handle) WinUnlock v3 { win, peer: rank }
            MPI_Win_unlock_all(win: Handle) WinUnlockAll v3 { win }
            MPI_Win_flush(rank: Int, win: Handle) WinFlush v3 { win, peer: rank }
            MPI_Win_flush_all(win: Handle) WinFlushAll v3 { win }
            MPI_Win_flush_local(rank: Int, win: Handle) WinFlushLocal v3 { win, peer: rank }
            MPI_Win_flush_local_all(win: Handle) WinFlushLocalAll v3 { win }
        }
    };
}
pub(in crate::preload) use rows;
