! MPI from Fortran by `use mpi_f08`: see calls.inc.
module usempif08_callbacks
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer :: copies = 0, deletions = 0
contains
  subroutine copied(comm, key, extra, old, new, flag, ierr)
    type(MPI_Comm) :: comm
    integer :: key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: extra, old, new
    logical :: flag
    copies = copies + 1
    new = old + extra
    flag = comm /= MPI_COMM_NULL .and. key /= MPI_KEYVAL_INVALID
    ierr = MPI_SUCCESS
  end subroutine

  subroutine deleted(comm, key, value, extra, ierr)
    type(MPI_Comm) :: comm
    integer :: key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    if (comm /= MPI_COMM_NULL .and. key /= MPI_KEYVAL_INVALID) deletions = deletions + 1
    if (value < extra) deletions = -100
    ierr = MPI_SUCCESS
  end subroutine

  subroutine add(from, into, length, kind)
    type(c_ptr), value :: from, into
    integer :: length
    type(MPI_Datatype) :: kind
    integer, pointer :: source(:), sum(:)
    call c_f_pointer(from, source, [length])
    call c_f_pointer(into, sum, [length])
    if (kind == MPI_INTEGER) sum = sum + source
  end subroutine
end module

program usempif08
  use mpi_f08
  use usempif08_callbacks
  implicit none
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: types(2), out_type, in_type
  type(MPI_Comm) :: graph, first, second
  type(MPI_Op) :: op
  integer :: key
  include 'calls.inc'
end program
