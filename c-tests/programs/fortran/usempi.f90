! MPI from Fortran by `use mpi`: see calls.inc.
module usempi_callbacks
  use mpi
  implicit none
  integer :: copies = 0, deletions = 0
contains
  subroutine copied(comm, key, extra, old, new, flag, ierr)
    integer :: comm, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: extra, old, new
    logical :: flag
    copies = copies + 1
    new = old + extra
    flag = comm /= MPI_COMM_NULL .and. key /= MPI_KEYVAL_INVALID
    ierr = MPI_SUCCESS
  end subroutine

  subroutine deleted(comm, key, value, extra, ierr)
    integer :: comm, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    if (comm /= MPI_COMM_NULL .and. key /= MPI_KEYVAL_INVALID) deletions = deletions + 1
    if (value < extra) deletions = -100
    ierr = MPI_SUCCESS
  end subroutine

  subroutine add(from, into, length, kind)
    integer :: length, from(length), into(length), kind
    if (kind == MPI_INTEGER) into = into + from
  end subroutine
end module

program usempi
  use mpi
  use usempi_callbacks
  implicit none
  integer :: requests(2), types(2), out_type, in_type, graph, first, second, op, key
  include 'calls.inc'
end program
