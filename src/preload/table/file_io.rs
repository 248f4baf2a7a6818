//! Chapter 14: files. Their traffic goes to the storage; the rows are here since some MPIs carry
//! collective access out by public calls of their own, which are not the program's.

macro_rules! rows {
    ($expand:ident) => {
        $expand! {
            MPI_File_close(fh: Out) FileClose v3 {}
            MPI_File_delete(filename: In, info: Handle) FileDelete v3 {}
            MPI_File_get_position_shared(fh: Handle, offset: Out) FileGetPositionShared v3 {}
            MPI_File_iread(fh: Handle, buf: Out, count: Count, datatype: Handle, request: Out)
                FileIread v3_large { count, datatype }
            MPI_File_iread_all(fh: Handle, buf: Out, count: Count, datatype: Handle, request: Out)
                FileIreadAll v3_large { count, datatype }
            MPI_File_iread_at(fh: Handle, offset: Offset, buf: Out, count: Count, datatype: Handle,
                              request: Out)
                FileIreadAt v3_large { count, datatype }
            MPI_File_iread_at_all(fh: Handle, offset: Offset, buf: Out, count: Count,
                                  datatype: Handle, request: Out)
                FileIreadAtAll v3_large { count, datatype }
            MPI_File_iread_shared(fh: Handle, buf: Out, count: Count, datatype: Handle,
                                  request: Out)
                FileIreadShared v3_large { count, datatype }
            MPI_File_iwrite(fh: Handle, buf: In, count: Count, datatype: Handle, request: Out)
                FileIwrite v3_large { count, datatype }
            MPI_File_iwrite_all(fh: Handle, buf: In, count: Count, datatype: Handle, request: Out)
                FileIwriteAll v3_large { count, datatype }
            MPI_File_iwrite_at(fh: Handle, offset: Offset, buf: In, count: Count, datatype: Handle,
                               request: Out)
                FileIwriteAt v3_large { count, datatype }
            MPI_File_iwrite_at_all(fh: Handle, offset: Offset, buf: In, count: Count,
                                   datatype: Handle, request: Out)
                FileIwriteAtAll v3_large { count, datatype }
            MPI_File_iwrite_shared(fh: Handle, buf: In, count: Count, datatype: Handle,
                                   request: Out)
                FileIwriteShared v3_large { count, datatype }
            MPI_File_open(comm: Handle, filename: In, amode: Int, info: Handle, fh: Out)
                FileOpen v3 { comm }
            MPI_File_preallocate(fh: Handle, size: Offset) FilePreallocate v3 {}
            MPI_File_read(fh: Handle, buf: Out, count: Count, datatype: Handle, status: Out)
                FileRead v3_large { count, datatype }
            MPI_File_read_all(fh: Handle, buf: Out, count: Count, datatype: Handle, status: Out)
                FileReadAll v3_large { count, datatype }
            MPI_File_read_all_begin(fh: Handle, buf: Out, count: Count, datatype: Handle)
                FileReadAllBegin v3_large { count, datatype }
            MPI_File_read_all_end(fh: Handle, buf: Out, status: Out) FileReadAllEnd v3 {}
            MPI_File_read_at(fh: Handle, offset: Offset, buf: Out, count: Count, datatype: Handle,
                             status: Out)
                FileReadAt v3_large { count, datatype }
            MPI_File_read_at_all(fh: Handle, offset: Offset, buf: Out, count: Count,
                                 datatype: Handle, status: Out)
                FileReadAtAll v3_large { count, datatype }
            MPI_File_read_at_all_begin(fh: Handle, offset: Offset, buf: Out, count: Count,
                                       datatype: Handle)
                FileReadAtAllBegin v3_large { count, datatype }
            MPI_File_read_at_all_end(fh: Handle, buf: Out, status: Out) FileReadAtAllEnd v3 {}
            MPI_File_read_ordered(fh: Handle, buf: Out, count: Count, datatype: Handle, status: Out)
                FileReadOrdered v3_large { count, datatype }
            MPI_File_read_ordered_begin(fh: Handle, buf: Out, count: Count, datatype: Handle)
                FileReadOrderedBegin v3_large { count, datatype }
            MPI_File_read_ordered_end(fh: Handle, buf: Out, status: Out) FileReadOrderedEnd v3 {}
            MPI_File_read_shared(fh: Handle, buf: Out, count: Count, datatype: Handle, status: Out)
                FileReadShared v3_large { count, datatype }
            MPI_File_seek_shared(fh: Handle, offset: Offset, whence: Int) FileSeekShared v3 {}
            MPI_File_set_atomicity(fh: Handle, flag: Int) FileSetAtomicity v3 {}
            MPI_File_set_info(fh: Handle, info: Handle) FileSetInfo v3 {}
            MPI_File_set_size(fh: Handle, size: Offset) FileSetSize v3 {}
            MPI_File_set_view(fh: Handle, disp: Offset, etype: Handle, filetype: Handle,
                              datarep: In, info: Handle)
                FileSetView v3 {}
            MPI_File_sync(fh: Handle) FileSync v3 {}
            MPI_File_write(fh: Handle, buf: In, count: Count, datatype: Handle, status: Out)
                FileWrite v3_large { count, datatype }
            MPI_File_write_all(fh: Handle, buf: In, count: Count, datatype: Handle, status: Out)
                FileWriteAll v3_large { count, datatype }
            MPI_File_write_all_begin(fh: Handle, buf: In, count: Count, datatype: Handle)
                FileWriteAllBegin v3_large { count, datatype }
            MPI_File_write_all_end(fh: Handle, buf: In, status: Out) FileWriteAllEnd v3 {}
            MPI_File_write_at(fh: Handle, offset: Offset, buf: In, count: Count, datatype: Handle,
                              status: Out)
                FileWriteAt v3_large { count, datatype }
            MPI_File_write_at_all(fh: Handle, offset: Offset, buf: In, count: Count,
                                  datatype: Handle, status: Out)
                FileWriteAtAll v3_large { count, datatype }
            MPI_File_write_at_all_begin(fh: Handle, offset: Offset, buf: In, count: Count,
                                        datatype: Handle)
                FileWriteAtAllBegin v3_large { count, datatype }
            MPI_File_write_at_all_end(fh: Handle, buf: In, status: Out) FileWriteAtAllEnd v3 {}
            MPI_File_write_ordered(fh: Handle, buf: In, count: Count, datatype: Handle, status: Out)
                FileWriteOrdered v3_large { count, datatype }
            MPI_File_write_ordered_begin(fh: Handle, buf: In, count: Count, datatype: Handle)
                FileWriteOrderedBegin v3_large { count, datatype }
            MPI_File_write_ordered_end(fh: Handle, buf: In, status: Out) FileWriteOrderedEnd v3 {}
            MPI_File_write_shared(fh: Handle, buf: In, count: Count, datatype: Handle, status: Out)
                FileWriteShared v3_large { count, datatype }
        }
    };
}
pub(in crate::preload) use rows;
