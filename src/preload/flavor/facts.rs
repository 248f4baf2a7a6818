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

use Constant::{Symbol, Value};

/// How predefined datatypes and operations are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predefined {
    /// By these handles.
    Listed {
        /// Datatypes.
        datatypes: &'static [Constant],
        /// Operations.
        ops: &'static [Constant],
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
    comm_world: Symbol(c"ompi_mpi_comm_world"),
    comm_null: Symbol(c"ompi_mpi_comm_null"),
    predefined: Predefined::Listed { datatypes: OPEN_MPI_DATATYPES, ops: OPEN_MPI_OPS },
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
    comm_world: Value(0x4400_0000),
    comm_null: Value(0x0400_0000),
    predefined: Predefined::Encoded {
        datatype_mask: 0xff00_0000,
        datatype: 0x4c00_0000,
        size_shift: 8,
        size_mask: 0xff,
        op_mask: 0xff00_0000,
        op: 0x5800_0000,
    },
};

/// The interface that MPI-5.0 fixes for every library (chapter 20): MPICH 5's and Intel's
/// `libmpi_abi.so`.
pub const STANDARD: Facts = Facts {
    handle_bytes: 8,
    in_place: 1,
    status_ignore: 0,
    status_source_offset: 0,
    proc_null: -3,
    any_source: -1,
    root: -4,
    err_other: 16,
    object_name_bytes_max: 128,
    library_version_bytes_max: 8192,
    comm_world: Value(0x101),
    comm_null: Value(0x100),
    predefined: Predefined::Listed { datatypes: STANDARD_DATATYPES, ops: STANDARD_OPS },
};

/// In the order of the standard's table; a library may lack some of Fortran's.
const STANDARD_DATATYPES: &[Constant] = &[
    Value(0x201),
    Value(0x202),
    Value(0x203),
    Value(0x207),
    Value(0x208),
    Value(0x209),
    Value(0x20a),
    Value(0x20b),
    Value(0x20c),
    Value(0x20d),
    Value(0x20e),
    Value(0x20f),
    Value(0x210),
    Value(0x212),
    Value(0x213),
    Value(0x214),
    Value(0x216),
    Value(0x217),
    Value(0x218),
    Value(0x219),
    Value(0x21a),
    Value(0x21b),
    Value(0x21c),
    Value(0x21d),
    Value(0x21e),
    Value(0x220),
    Value(0x224),
    Value(0x225),
    Value(0x228),
    Value(0x229),
    Value(0x22a),
    Value(0x22b),
    Value(0x22c),
    Value(0x22d),
    Value(0x230),
    Value(0x231),
    Value(0x232),
    Value(0x238),
    Value(0x239),
    Value(0x23c),
    Value(0x240),
    Value(0x241),
    Value(0x243),
    Value(0x244),
    Value(0x245),
    Value(0x247),
    Value(0x248),
    Value(0x249),
    Value(0x250),
    Value(0x251),
    Value(0x258),
    Value(0x259),
    Value(0x2c0),
    Value(0x2c1),
    Value(0x2c8),
    Value(0x2c9),
    Value(0x2ca),
    Value(0x2d0),
    Value(0x2d1),
    Value(0x2d2),
    Value(0x2d3),
    Value(0x2d8),
    Value(0x2d9),
    Value(0x2da),
    Value(0x2db),
    Value(0x2e0),
    Value(0x2e1),
    Value(0x2e2),
    Value(0x2e3),
    Value(0x2eb),
];

const STANDARD_OPS: &[Constant] = &[
    Value(0x21),
    Value(0x22),
    Value(0x23),
    Value(0x24),
    Value(0x28),
    Value(0x29),
    Value(0x2a),
    Value(0x30),
    Value(0x31),
    Value(0x32),
    Value(0x38),
    Value(0x39),
    Value(0x3c),
    Value(0x3d),
];

const OPEN_MPI_DATATYPES: &[Constant] = &[
    Symbol(c"ompi_mpi_aint"),
    Symbol(c"ompi_mpi_byte"),
    Symbol(c"ompi_mpi_c_bool"),
    Symbol(c"ompi_mpi_c_complex"),
    Symbol(c"ompi_mpi_c_double_complex"),
    Symbol(c"ompi_mpi_c_float_complex"),
    Symbol(c"ompi_mpi_c_long_double_complex"),
    Symbol(c"ompi_mpi_char"),
    Symbol(c"ompi_mpi_character"),
    Symbol(c"ompi_mpi_count"),
    Symbol(c"ompi_mpi_dblprec"),
    Symbol(c"ompi_mpi_double"),
    Symbol(c"ompi_mpi_double_int"),
    Symbol(c"ompi_mpi_float"),
    Symbol(c"ompi_mpi_float_int"),
    Symbol(c"ompi_mpi_2int"),
    Symbol(c"ompi_mpi_int"),
    Symbol(c"ompi_mpi_int16_t"),
    Symbol(c"ompi_mpi_int32_t"),
    Symbol(c"ompi_mpi_int64_t"),
    Symbol(c"ompi_mpi_int8_t"),
    Symbol(c"ompi_mpi_integer"),
    Symbol(c"ompi_mpi_logical"),
    Symbol(c"ompi_mpi_long"),
    Symbol(c"ompi_mpi_long_double"),
    Symbol(c"ompi_mpi_long_int"),
    Symbol(c"ompi_mpi_long_long_int"),
    Symbol(c"ompi_mpi_offset"),
    Symbol(c"ompi_mpi_packed"),
    Symbol(c"ompi_mpi_real"),
    Symbol(c"ompi_mpi_real4"),
    Symbol(c"ompi_mpi_real8"),
    Symbol(c"ompi_mpi_short"),
    Symbol(c"ompi_mpi_short_int"),
    Symbol(c"ompi_mpi_signed_char"),
    Symbol(c"ompi_mpi_uint16_t"),
    Symbol(c"ompi_mpi_uint32_t"),
    Symbol(c"ompi_mpi_uint64_t"),
    Symbol(c"ompi_mpi_uint8_t"),
    Symbol(c"ompi_mpi_unsigned"),
    Symbol(c"ompi_mpi_unsigned_char"),
    Symbol(c"ompi_mpi_unsigned_long"),
    Symbol(c"ompi_mpi_unsigned_long_long"),
    Symbol(c"ompi_mpi_unsigned_short"),
    Symbol(c"ompi_mpi_wchar"),
];

const OPEN_MPI_OPS: &[Constant] = &[
    Symbol(c"ompi_mpi_op_band"),
    Symbol(c"ompi_mpi_op_bor"),
    Symbol(c"ompi_mpi_op_bxor"),
    Symbol(c"ompi_mpi_op_land"),
    Symbol(c"ompi_mpi_op_lor"),
    Symbol(c"ompi_mpi_op_lxor"),
    Symbol(c"ompi_mpi_op_max"),
    Symbol(c"ompi_mpi_op_maxloc"),
    Symbol(c"ompi_mpi_op_min"),
    Symbol(c"ompi_mpi_op_minloc"),
    Symbol(c"ompi_mpi_op_prod"),
    Symbol(c"ompi_mpi_op_sum"),
];
