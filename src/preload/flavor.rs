//! What MPI is below us, and how its handles are read.
//!
//! Everywhere else a handle is an opaque machine word that is passed on as it came. Only this
//! file knows that MPICH's are 32 bits wide (the upper half of the register is then noise), that
//! Open MPI's are addresses, and how to ask a library for what a handle stands for.
#![expect(unsafe_code, reason = "calls the MPI's local queries, reads handles from memory")]

pub mod facts;

use super::handle_map::HandleMap;
use super::real;
use crate::life;
use facts::{Constant, Facts, Predefined};
use pas_core::members::Members;
use pas_core::wire::validate::{NAME_BYTES_MAX, plain};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::NonNull;

/// A handle as the program passed it: 64 bits of a register, of which 32 may count.
pub type RawHandle = usize;

type QueryInt = unsafe extern "C-unwind" fn(RawHandle, *mut c_int) -> c_int;
type QueryHandle = unsafe extern "C-unwind" fn(RawHandle, *mut RawHandle) -> c_int;
type QuerySet = unsafe extern "C-unwind" fn(RawHandle, *const c_char, *mut RawHandle) -> c_int;
type QueryOwn = unsafe extern "C-unwind" fn(*mut RawHandle) -> c_int;
type QueryPair = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int) -> c_int;
type QueryName = unsafe extern "C-unwind" fn(RawHandle, *mut c_char, *mut c_int) -> c_int;
type LibraryVersion = unsafe extern "C-unwind" fn(*mut c_char, *mut c_int) -> c_int;
type TranslateRanks =
    unsafe extern "C-unwind" fn(RawHandle, c_int, *const c_int, RawHandle, *mut c_int) -> c_int;

/// The local queries that PAS makes of the MPI. None of them communicates (MPI-4.1 section 7.4.1
/// and 6.3.1 call them local).
struct Queries {
    comm_size: QueryInt,
    comm_rank: QueryInt,
    comm_remote_size: QueryInt,
    comm_test_inter: QueryInt,
    comm_get_name: QueryName,
    comm_group: QueryHandle,
    comm_get_parent: QueryOwn,
    group_size: QueryInt,
    group_rank: QueryInt,
    /// Not in an MPI before version 4.
    group_from_session_pset: Option<QuerySet>,
    group_translate_ranks: TranslateRanks,
    group_free: QueryOwn,
    type_size: QueryInt,
}

/// The MPI of this process.
pub struct Mpi {
    /// A copy: the hot path has one pointer less to follow.
    facts: Facts,
    /// The bits of a register that a handle has.
    handle_mask: usize,
    /// The first line of what it says of itself.
    pub library: String,
    queries: Queries,
    world: usize,
    null: usize,
    /// Sizes of predefined datatypes, where the handle does not tell them.
    datatypes: HandleMap<1024>,
    /// Predefined operations, likewise.
    ops: HandleMap<512>,
    world_group: RawHandle,
}

/// How the program has initialised MPI (MPI-4.1, 11.2 and 11.3).
#[derive(Clone, Copy, Debug)]
pub enum Model {
    /// By `MPI_Init`: there is an `MPI_COMM_WORLD`.
    World,
    /// By this session only: there is none.
    Session(RawHandle),
}

/// What is known of a communicator after the local queries.
pub struct CommFacts {
    /// Ranks; of an inter-communicator, those of the remote group.
    pub size: u32,
    /// True for an inter-communicator.
    pub is_inter: bool,
    /// This process's rank in it.
    pub rank: u32,
    /// Its name, if it has one.
    pub name: String,
    /// World ranks in its order; `None` for inter-communicators and scattered ones.
    pub members: Option<Members>,
}

/// Ranks translated at a time: a communicator of any size costs so little of the caller's stack,
/// which may be of the least size that there is.
const TRANSLATE_CHUNK: usize = 128;

impl Mpi {
    /// Recognises the MPI that is loaded. To be called once it is initialised. `None` for one that
    /// PAS does not know, or whose queries cannot be found.
    pub fn recognise(model: Model) -> Option<Mpi> {
        let (facts, library) = loaded()?;
        let queries = Queries::resolve()?;
        let world = resolve(facts.comm_world)?;
        let null = resolve(facts.comm_null)?;
        let mut mpi = Mpi {
            facts: *facts,
            handle_mask: if facts.handle_bytes == 4 { 0xffff_ffff } else { usize::MAX },
            library,
            queries,
            world,
            null,
            datatypes: HandleMap::new(),
            ops: HandleMap::new(),
            world_group: 0,
        };
        mpi.learn_predefined();
        mpi.world_group = mpi.group_of_all(model)?;
        Some(mpi)
    }

    /// The group of all ranks. Kept for the life of the MPI.
    fn group_of_all(&self, model: Model) -> Option<RawHandle> {
        let mut group: RawHandle = 0;
        // SAFETY: MPI is initialised in this model: the world, or the session, is valid. The name
        // is a C string of a set that every session has (MPI-4.1, 11.3.2).
        let error = unsafe {
            match model {
                Model::World => (self.queries.comm_group)(self.world, &mut group),
                Model::Session(session) => {
                    let all = c"mpi://WORLD".as_ptr();
                    (self.queries.group_from_session_pset?)(session, all, &mut group)
                }
            }
        };
        (error == 0).then_some(group)
    }

    /// This process's rank among all, and how many they are.
    pub fn rank_and_size(&self) -> Option<(u32, u32)> {
        // SAFETY: the group is ours.
        let ask = |query| unsafe { ask(query, self.world_group) };
        Some((ask(self.queries.group_rank)?, ask(self.queries.group_size)?))
    }

    fn learn_predefined(&mut self) {
        let Predefined::Listed { datatypes, ops } = self.facts.predefined else { return };
        for handle in datatypes.iter().copied().filter_map(resolve) {
            if let Some(bytes) = self.ask_type_bytes(handle) {
                self.datatypes.insert(handle, bytes);
            }
        }
        for handle in ops.iter().copied().filter_map(resolve) {
            self.ops.insert(handle, 1);
        }
    }

    /// A handle without the noise above its width.
    #[inline(always)]
    pub fn handle(&self, raw: RawHandle) -> usize {
        raw & self.handle_mask
    }

    /// The handle that a pointer argument of the program points to.
    ///
    /// # Safety
    /// `pointer` is a handle argument of an MPI call that has succeeded.
    #[inline]
    pub unsafe fn read_handle(&self, pointer: *const c_void, index: usize) -> usize {
        // SAFETY: the caller's; the width is that of the MPI that has just used the same memory.
        unsafe { read_handle(&self.facts, pointer, index) }
    }

    /// `MPI_COMM_WORLD`.
    pub fn world(&self) -> usize {
        self.world
    }

    /// True for `MPI_COMM_NULL`.
    pub fn is_null(&self, handle: usize) -> bool {
        handle == self.null
    }

    /// True for `MPI_IN_PLACE`.
    #[inline(always)]
    pub fn is_in_place(&self, buffer: *const c_void) -> bool {
        buffer as isize == self.facts.in_place
    }

    /// True for `MPI_PROC_NULL`: no message is sent.
    #[inline(always)]
    pub fn is_proc_null(&self, peer: c_int) -> bool {
        peer == self.facts.proc_null
    }

    /// True for `MPI_ROOT`: the caller is the root, over an inter-communicator.
    #[inline(always)]
    pub fn is_root(&self, peer: c_int) -> bool {
        peer == self.facts.root
    }

    /// The source that a receive named, or, where it named any, the one in its status.
    ///
    /// # Safety
    /// `status` is the status argument of a receive that has succeeded.
    #[inline]
    pub unsafe fn source(&self, asked: c_int, status: *const c_void) -> c_int {
        if asked != self.facts.any_source || status as isize == self.facts.status_ignore {
            return asked;
        }
        // SAFETY: the caller's; the MPI has just written a whole status there.
        unsafe { *status.byte_add(self.facts.status_source_offset).cast::<c_int>() }
    }

    /// The size of a datatype in bytes; `None` where the MPI cannot tell.
    #[inline]
    pub fn type_bytes(&self, raw: RawHandle) -> Option<u64> {
        let handle = self.handle(raw);
        match self.facts.predefined {
            Predefined::Encoded { datatype_mask, datatype, size_shift, size_mask, .. }
                if handle as u32 & datatype_mask == datatype =>
            {
                Some(u64::from((handle as u32 >> size_shift) & size_mask))
            }
            _ => self.datatypes.get(handle).or_else(|| self.ask_type_bytes(handle)),
        }
    }

    /// Derived types are asked for at each use: their handles are used again for other types.
    fn ask_type_bytes(&self, handle: usize) -> Option<u64> {
        let mut bytes: c_int = 0;
        // SAFETY: a query of a handle that the MPI has just accepted, into a live integer.
        let error = unsafe { (self.queries.type_size)(handle, &mut bytes) };
        // A type of 2 GiB and more answers MPI_UNDEFINED, which is negative.
        if error == 0 { u64::try_from(bytes).ok() } else { None }
    }

    /// True for the predefined reductions, all of which commute.
    #[inline]
    pub fn is_predefined_op(&self, raw: RawHandle) -> bool {
        let handle = self.handle(raw);
        match self.facts.predefined {
            Predefined::Encoded { op_mask, op, .. } => handle as u32 & op_mask == op,
            Predefined::Listed { .. } => self.ops.get(handle).is_some(),
        }
    }

    /// True for a process that another one has spawned (`MPI_Comm_spawn`).
    pub fn is_spawned(&self) -> bool {
        let mut parent: RawHandle = 0;
        // SAFETY: a local query, into a live handle; MPI is initialised.
        let error = unsafe { (self.queries.comm_get_parent)(&mut parent) };
        error == 0 && !self.is_null(self.handle(parent))
    }

    /// Asks for all that PAS keeps of a communicator; `None` where a query fails.
    pub fn comm_facts(&self, handle: usize) -> Option<CommFacts> {
        // SAFETY: a communicator that the MPI has just used or made.
        let ask = |query| unsafe { ask(query, handle) };
        let inter = ask(self.queries.comm_test_inter)? != 0;
        let size_query = match inter {
            true => self.queries.comm_remote_size,
            false => self.queries.comm_size,
        };
        let size = ask(size_query)?;
        Some(CommFacts {
            size,
            is_inter: inter,
            rank: ask(self.queries.comm_rank)?,
            name: self.comm_name(handle),
            members: if inter { None } else { self.comm_members(handle, size) },
        })
    }

    /// The communicator's name; empty where it has none.
    pub fn comm_name(&self, handle: usize) -> String {
        let mut buffer = [0u8; 512];
        debug_assert!(self.facts.object_name_bytes_max < buffer.len());
        let mut length: c_int = 0;
        // SAFETY: the buffer is longer than MPI_MAX_OBJECT_NAME of every known MPI.
        unsafe {
            (self.queries.comm_get_name)(handle, buffer.as_mut_ptr().cast(), &mut length);
        }
        let name = CStr::from_bytes_until_nul(&buffer).map(CStr::to_string_lossy);
        plain(&name.unwrap_or_default(), NAME_BYTES_MAX)
    }

    fn comm_members(&self, handle: usize, size: u32) -> Option<Members> {
        if handle == self.world {
            return Some(Members::world(size));
        }
        let mut group: RawHandle = 0;
        // SAFETY: as in `comm_facts`; the group is given back below.
        let error = unsafe { (self.queries.comm_group)(handle, &mut group) };
        if error != 0 {
            return None;
        }
        let members = self.translate(group, size);
        // SAFETY: the group was made above and nobody else has it.
        unsafe { (self.queries.group_free)(&mut group) };
        members
    }

    fn translate(&self, group: RawHandle, size: u32) -> Option<Members> {
        let mut members = Members::default();
        let mut ranks = [0 as c_int; TRANSLATE_CHUNK];
        let mut world_ranks = [0 as c_int; TRANSLATE_CHUNK];
        for first in (0..size).step_by(TRANSLATE_CHUNK) {
            let count = TRANSLATE_CHUNK.min((size - first) as usize);
            for (rank, value) in ranks.iter_mut().zip(first..) {
                *rank = value as c_int;
            }
            // SAFETY: both arrays hold `count` integers; both groups are valid.
            let error = unsafe {
                (self.queries.group_translate_ranks)(
                    group,
                    count as c_int,
                    ranks.as_ptr(),
                    self.world_group,
                    world_ranks.as_mut_ptr(),
                )
            };
            // A spawned or connected process is in no world of ours: MPI_UNDEFINED, negative.
            let translated = world_ranks.iter().take(count);
            let mut kept = translated.map(|rank| u32::try_from(*rank).ok());
            if error != 0 || !kept.all(|rank| rank.is_some_and(|r| members.push(r))) {
                return None;
            }
        }
        Some(members)
    }
}

/// A number that a local query tells of a handle; `None` where it fails or answers a negative one.
///
/// # Safety
/// The handle is valid, and of the kind that the query takes.
unsafe fn ask(query: QueryInt, handle: RawHandle) -> Option<u32> {
    let mut value: c_int = 0;
    // SAFETY: the caller's.
    let error = unsafe { query(handle, &mut value) };
    if error == 0 { u32::try_from(value).ok() } else { None }
}

/// The facts of the MPI that is loaded, and what it says of itself. May be asked for before it is
/// initialised.
fn loaded() -> Option<(&'static Facts, String)> {
    let version: LibraryVersion = function(c"PMPI_Get_library_version")?;
    let library = first_line_of(version);
    if has_standard_abi() {
        return Some((&facts::STANDARD, library));
    }
    let facts = match library.as_str() {
        text if text.contains("Open MPI") => &facts::OPEN_MPI,
        text if text.contains("MPICH") || text.contains("Intel") => &facts::MPICH,
        text if text.contains("MVAPICH") => &facts::MPICH,
        _ => return None,
    };
    Some((facts, library))
}

/// True for a library with the binary interface of MPI-5.0, chapter 20: it tells its version, which
/// one with an interface of its own denies by a negative number, or lacks the function.
fn has_standard_abi() -> bool {
    let Some(query) = function::<QueryPair>(c"PMPI_Abi_get_version") else { return false };
    let (mut major, mut minor): (c_int, c_int) = (-1, -1);
    // SAFETY: two live integers; the function may be called at any time.
    unsafe { query(&mut major, &mut minor) };
    major >= 1
}

/// The handle that a pointer argument points to, where it is not known yet which MPI is there.
///
/// # Safety
/// `pointer` is null or points to a handle of the MPI that is loaded.
pub unsafe fn read_loaded(pointer: *const c_void) -> Option<usize> {
    let (facts, _) = loaded()?;
    // SAFETY: the caller's.
    (!pointer.is_null()).then(|| unsafe { read_handle(facts, pointer, 0) })
}

/// # Safety
/// `pointer` points to handles of an MPI of these facts, one at `index` among them.
#[inline(always)]
unsafe fn read_handle(facts: &Facts, pointer: *const c_void, index: usize) -> usize {
    // SAFETY: the caller's.
    unsafe {
        match facts.handle_bytes {
            4 => *pointer.cast::<u32>().add(index) as usize,
            _ => *pointer.cast::<usize>().add(index),
        }
    }
}

/// The error that a call answers when the library below does not have it. Before `MPI_Init` the
/// flavour is not known; Open MPI's number is an error to MPICH too.
#[cold]
pub fn missing_function_error() -> c_int {
    life::current().map_or(facts::OPEN_MPI.err_other, |life| life.mpi.facts.err_other)
}

impl Queries {
    fn resolve() -> Option<Queries> {
        Some(Queries {
            comm_size: function(c"PMPI_Comm_size")?,
            comm_rank: function(c"PMPI_Comm_rank")?,
            comm_remote_size: function(c"PMPI_Comm_remote_size")?,
            comm_test_inter: function(c"PMPI_Comm_test_inter")?,
            comm_get_name: function(c"PMPI_Comm_get_name")?,
            comm_group: function(c"PMPI_Comm_group")?,
            comm_get_parent: function(c"PMPI_Comm_get_parent")?,
            group_size: function(c"PMPI_Group_size")?,
            group_rank: function(c"PMPI_Group_rank")?,
            group_from_session_pset: function(c"PMPI_Group_from_session_pset"),
            group_translate_ranks: function(c"PMPI_Group_translate_ranks")?,
            group_free: function(c"PMPI_Group_free")?,
            type_size: function(c"PMPI_Type_size")?,
        })
    }
}

/// A function pointer type of one of the queries.
trait Function: Sized {
    /// # Safety
    /// The address is that of a function of this type.
    unsafe fn from_address(address: NonNull<c_void>) -> Self;
}

macro_rules! functions {
    ($($function:ty),*) => {$(
        impl Function for $function {
            unsafe fn from_address(address: NonNull<c_void>) -> Self {
                // SAFETY: the caller's.
                unsafe { transmute::<NonNull<c_void>, $function>(address) }
            }
        }
    )*};
}
functions!(QueryInt, QueryHandle, QuerySet, QueryPair, QueryName, LibraryVersion);
functions!(QueryOwn, TranslateRanks);

/// The query of that name: by its `PMPI_` name, which no tool wraps, or, where an MPI was built
/// without those, by the other (none of them is wrapped by PAS).
fn function<F: Function>(pmpi_name: &'static CStr) -> Option<F> {
    let plain = CStr::from_bytes_with_nul(pmpi_name.to_bytes_with_nul().get(1..)?).ok()?;
    let address = real::find_symbol(pmpi_name).or_else(|| real::find_symbol(plain))?;
    // SAFETY: the MPI standard fixes the signature behind the name.
    Some(unsafe { F::from_address(address) })
}

fn resolve(constant: Constant) -> Option<usize> {
    match constant {
        Constant::Value(value) => Some(value as usize),
        Constant::Symbol(name) => real::find_symbol(name).map(|address| address.as_ptr() as usize),
    }
}

/// What the MPI says of itself, up to the first line's end.
fn first_line_of(version: LibraryVersion) -> String {
    let bytes_max =
        facts::MPICH.library_version_bytes_max.max(facts::OPEN_MPI.library_version_bytes_max);
    let mut buffer = vec![0u8; bytes_max + 1];
    let mut length: c_int = 0;
    // SAFETY: the buffer is longer than MPI_MAX_LIBRARY_VERSION_STRING of every known MPI.
    unsafe { version(buffer.as_mut_ptr().cast(), &mut length) };
    let text = CStr::from_bytes_until_nul(&buffer).map(CStr::to_string_lossy).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}
