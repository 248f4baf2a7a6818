//! What differs between the binary interfaces of the MPI libraries, as plain data.
//!
//! Proved against each library's installed `mpi.h` by `c-tests/harness`, which includes this very
//! file: it uses nothing of the crate.

/// A predefined handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// The handle is the address of this symbol.
    Symbol(&'static std::ffi::CStr),
    /// The handle is this number.
    Value(u32),
}

/// How predefined datatypes and operations are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predefined {
    /// By the addresses of these symbols.
    Symbols {
        /// Datatypes.
        datatypes: &'static [&'static std::ffi::CStr],
        /// Operations.
        ops: &'static [&'static std::ffi::CStr],
    },
    /// By the bits of the handle: MPICH keeps kind, class and, for basic datatypes, the size in
    /// it (`mpir_handlemem.h`, `HANDLE_KIND_BUILTIN`).
    Encoded {
        /// Bits that are equal in all basic datatypes.
        datatype_mask: u32,
        /// Their value.
        datatype: u32,
        /// The size in bytes is `(handle >> size_shift) & size_mask`.
        size_shift: u32,
        /// See `size_shift`.
        size_mask: u32,
        /// Bits that are equal in all predefined operations.
        op_mask: u32,
        /// Their value.
        op: u32,
    },
}

/// The facts of one binary interface.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Width of a handle in memory.
    pub handle_bytes: usize,
    /// `MPI_IN_PLACE` as an address.
    pub in_place: isize,
    /// `MPI_STATUS_IGNORE` as an address.
    pub status_ignore: isize,
    /// Where `MPI_SOURCE` is in it.
    pub status_source_offset: usize,
    /// `MPI_PROC_NULL`.
    pub proc_null: i32,
    /// `MPI_ANY_SOURCE`.
    pub any_source: i32,
    /// `MPI_ROOT`: the root of a collective over an inter-communicator, in its own group.
    pub root: i32,
    /// `MPI_ERR_OTHER`, for a call that the library below does not have.
    pub err_other: i32,
    /// `MPI_MAX_OBJECT_NAME`.
    pub object_name_bytes_max: usize,
    /// `MPI_MAX_LIBRARY_VERSION_STRING`.
    pub library_version_bytes_max: usize,
    /// `MPI_COMM_WORLD`.
    pub comm_world: Constant,
    /// `MPI_COMM_NULL`.
    pub comm_null: Constant,
    /// Predefined datatypes and operations.
    pub predefined: Predefined,
}

/// Open MPI 4 and 5.
pub const OPEN_MPI: Facts = Facts {
    handle_bytes: 8,
    in_place: 1,
    status_ignore: 0,
    status_source_offset: 0,
    proc_null: -2,
    any_source: -1,
    root: -4,
    err_other: 16,
    object_name_bytes_max: 64,
    library_version_bytes_max: 256,
    comm_world: Constant::Symbol(c"ompi_mpi_comm_world"),
    comm_null: Constant::Symbol(c"ompi_mpi_comm_null"),
    predefined: Predefined::Symbols { datatypes: OPEN_MPI_DATATYPES, ops: OPEN_MPI_OPS },
};

/// MPICH 3.4 to 5 and what keeps to its ABI (Intel MPI, MVAPICH).
pub const MPICH: Facts = Facts {
    handle_bytes: 4,
    in_place: -1,
    status_ignore: 1,
    status_source_offset: 8,
    proc_null: -1,
    any_source: -2,
    root: -3,
    err_other: 15,
    object_name_bytes_max: 128,
    library_version_bytes_max: 8192,
    comm_world: Constant::Value(0x4400_0000),
    comm_null: Constant::Value(0x0400_0000),
    predefined: Predefined::Encoded {
        datatype_mask: 0xff00_0000,
        datatype: 0x4c00_0000,
        size_shift: 8,
        size_mask: 0xff,
        op_mask: 0xff00_0000,
        op: 0x5800_0000,
    },
};

const OPEN_MPI_DATATYPES: &[&std::ffi::CStr] = &[
    c"ompi_mpi_aint",
    c"ompi_mpi_byte",
    c"ompi_mpi_c_bool",
    c"ompi_mpi_c_complex",
    c"ompi_mpi_c_double_complex",
    c"ompi_mpi_c_float_complex",
    c"ompi_mpi_c_long_double_complex",
    c"ompi_mpi_char",
    c"ompi_mpi_character",
    c"ompi_mpi_count",
    c"ompi_mpi_dblprec",
    c"ompi_mpi_double",
    c"ompi_mpi_double_int",
    c"ompi_mpi_float",
    c"ompi_mpi_float_int",
    c"ompi_mpi_2int",
    c"ompi_mpi_int",
    c"ompi_mpi_int16_t",
    c"ompi_mpi_int32_t",
    c"ompi_mpi_int64_t",
    c"ompi_mpi_int8_t",
    c"ompi_mpi_integer",
    c"ompi_mpi_logical",
    c"ompi_mpi_long",
    c"ompi_mpi_long_double",
    c"ompi_mpi_long_int",
    c"ompi_mpi_long_long_int",
    c"ompi_mpi_offset",
    c"ompi_mpi_packed",
    c"ompi_mpi_real",
    c"ompi_mpi_real4",
    c"ompi_mpi_real8",
    c"ompi_mpi_short",
    c"ompi_mpi_short_int",
    c"ompi_mpi_signed_char",
    c"ompi_mpi_uint16_t",
    c"ompi_mpi_uint32_t",
    c"ompi_mpi_uint64_t",
    c"ompi_mpi_uint8_t",
    c"ompi_mpi_unsigned",
    c"ompi_mpi_unsigned_char",
    c"ompi_mpi_unsigned_long",
    c"ompi_mpi_unsigned_long_long",
    c"ompi_mpi_unsigned_short",
    c"ompi_mpi_wchar",
];

const OPEN_MPI_OPS: &[&std::ffi::CStr] = &[
    c"ompi_mpi_op_band",
    c"ompi_mpi_op_bor",
    c"ompi_mpi_op_bxor",
    c"ompi_mpi_op_land",
    c"ompi_mpi_op_lor",
    c"ompi_mpi_op_lxor",
    c"ompi_mpi_op_max",
    c"ompi_mpi_op_maxloc",
    c"ompi_mpi_op_min",
    c"ompi_mpi_op_minloc",
    c"ompi_mpi_op_prod",
    c"ompi_mpi_op_sum",
];
