//! Where the real functions are: the only symbol look-ups of the project.
//!
//! A wrapper's pointer starts at a cold resolver of its own signature (see [`super::entry`]),
//! which asks here. The order: the next object after us (so that other tools in the preload list
//! keep their turn), then every loaded object that defines the symbol (Python loads libmpi with
//! RTLD_LOCAL, where "next" finds nothing), then the same for the `PMPI_` name.
//!
//! Once two MPI libraries have been seen in the process, nothing is kept: each call is looked up by
//! who makes it.
#![expect(unsafe_code, reason = "dlsym, and the stack's return addresses")]

use super::elf;
use crate::skip::Fault;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The real address of one wrapped function.
pub struct Slot {
    name: &'static CStr,
    cold: *mut c_void,
    address: AtomicPtr<c_void>,
    /// The slot that was resolved before this one.
    previous: AtomicPtr<Slot>,
}

// SAFETY: `cold` is the address of a function.
unsafe impl Sync for Slot {}

/// The slots that hold a resolved address, linked through `previous`.
static RESOLVED: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());
/// Two MPI libraries are in this process.
static SEVERAL: AtomicBool = AtomicBool::new(false);

impl Slot {
    /// A slot that starts at `cold`, a function of the wrapped function's signature.
    pub const fn new(name: &'static CStr, cold: *mut c_void) -> Slot {
        Slot {
            name,
            cold,
            address: AtomicPtr::new(cold),
            previous: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// What to call. Relaxed: every value that was ever stored is callable.
    #[inline(always)]
    pub fn load(&self) -> *mut c_void {
        self.address.load(Ordering::Relaxed)
    }

    /// Looks the function up and keeps it; `None`, counted, where nobody defines it.
    #[cold]
    pub fn resolve(&'static self) -> Option<NonNull<c_void>> {
        let several = several();
        let for_caller = if several { find_for_caller(self.name) } else { None };
        let found = for_caller.or_else(|| find_real(self.name));
        match found {
            Some(address) if !several => self.keep(address),
            Some(_) => {}
            None => Fault::SymbolMissing.count(),
        }
        found
    }

    fn keep(&'static self, address: NonNull<c_void>) {
        // Of threads that race, one links the slot.
        if self.address.swap(address.as_ptr(), Ordering::Relaxed) != self.cold {
            return;
        }
        let this = ptr::from_ref(self).cast_mut();
        // Release pairs with the Acquire in `note_several`.
        let _ = RESOLVED.fetch_update(Ordering::Release, Ordering::Relaxed, |previous| {
            self.previous.store(previous, Ordering::Relaxed);
            Some(this)
        });
    }
}

/// Looks whether two MPI libraries are loaded, and if so forgets all real addresses: from here on
/// each call goes to the library of who makes it. To be asked before an MPI is initialised: a
/// second one is used for nothing that matters before that.
pub fn note_several() {
    let mut seen = 0;
    // Tools define MPI_Init too; PMPI_Init only an MPI does.
    let second: Option<()> = elf::find(|object| {
        seen += usize::from(object.symbol(c"PMPI_Init").is_some());
        (seen > 1).then_some(())
    });
    if second.is_some() && !SEVERAL.swap(true, Ordering::Release) {
        let mut next = RESOLVED.load(Ordering::Acquire);
        // SAFETY: only static slots are linked.
        while let Some(slot) = unsafe { next.as_ref() } {
            slot.address.store(slot.cold, Ordering::Relaxed);
            next = slot.previous.load(Ordering::Relaxed);
        }
    }
}

/// True once two MPI libraries have been seen.
pub fn several() -> bool {
    SEVERAL.load(Ordering::Acquire)
}

/// The function that the calling object would reach without us: the first of that name among the
/// objects that it depends on.
fn find_for_caller(name: &CStr) -> Option<NonNull<c_void>> {
    let caller = object_name(caller()?)?;
    // SAFETY: RTLD_NOLOAD only takes a reference to an object that is loaded already; it is given
    // back at once, and an object that is loaded stays so while its functions are used.
    unsafe {
        let handle = libc::dlopen(caller.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        let address = libc::dlsym(handle, name.as_ptr());
        libc::dlclose(handle);
        NonNull::new(address).filter(|address| !is_ours(address.as_ptr()))
    }
}

/// The first return address on the stack that is not in this library.
fn caller() -> Option<*const c_void> {
    #[repr(C)]
    struct Context {
        _opaque: [u8; 0],
    }
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            step: extern "C" fn(*mut Context, *mut c_void) -> c_int,
            found: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(context: *mut Context) -> usize;
    }
    extern "C" fn step(context: *mut Context, found: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes its own context, and `found` is the pointer below.
        unsafe {
            let address = _Unwind_GetIP(context) as *const c_void;
            if address.is_null() || is_ours(address) {
                return 0;
            }
            *found.cast::<*const c_void>() = address;
        }
        // _URC_END_OF_STACK: enough.
        5
    }
    let mut found: *const c_void = ptr::null();
    // SAFETY: `step` fits the callback's type, and `found` outlives the call.
    unsafe { _Unwind_Backtrace(step, (&raw mut found).cast()) };
    (!found.is_null()).then_some(found)
}

/// A function below us of that name, or of its `PMPI_` twin.
fn find_real(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: RTLD_NEXT is a pseudo handle; the name is a live C string.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    let foreign = NonNull::new(next).filter(|address| !is_ours(address.as_ptr()));
    foreign.or_else(|| find_symbol(name)).or_else(|| {
        let shifted = CString::new([b"P", name.to_bytes()].concat()).ok()?;
        find_symbol(&shifted)
    })
}

/// The first function or variable of that name in load order that is not our own.
pub fn find_symbol(name: &CStr) -> Option<NonNull<c_void>> {
    elf::find(|object| object.address_of(name))
}

/// What the loader knows of the object that holds an address.
fn object_of(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: all-zero is a valid Dl_info; dladdr takes any address.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(address, &mut info) != 0).then_some(info)
    }
}

fn object_name(address: *const c_void) -> Option<CString> {
    let name = object_of(address)?.dli_fname;
    // SAFETY: a name that dladdr answers is a C string, or null.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_owned())
}

/// False where another libpas.so, of another path, is loaded before this one: the program's calls
/// go through its wrappers first, and both would be the same rank at pasd.
pub fn is_first_copy() -> bool {
    // SAFETY: RTLD_DEFAULT is a pseudo handle; the name is a C string.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"pas_version".as_ptr()) };
    first.is_null() || is_ours(first)
}

/// True for an address inside this library.
fn is_ours(address: *const c_void) -> bool {
    let base = |address| object_of(address).map(|info| info.dli_fbase);
    base(address) == base(is_ours as *const c_void)
}

/// A name with its zero, as a C string.
pub const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a function's name has one zero, at its end"),
    }
}

/// The real function of a wrapped name, as a callable pointer of the wrapper's own signature.
macro_rules! real {
    ($name:expr, ($($arg:ident: $type:ty),* $(,)?)) => {{
        type Real = unsafe extern "C-unwind" fn($($type),*) -> ::std::ffi::c_int;

        #[cold]
        unsafe extern "C-unwind" fn cold($($arg: $type),*) -> ::std::ffi::c_int {
            match REAL.resolve() {
                // SAFETY: the address is that of the function of this name.
                Some(real) => unsafe {
                    ::std::mem::transmute::<*mut ::std::ffi::c_void, Real>(real.as_ptr())($($arg),*)
                },
                None => $crate::preload::flavor::missing_function_error(),
            }
        }

        static REAL: $crate::preload::real::Slot = $crate::preload::real::Slot::new(
            $crate::preload::real::c_name(concat!($name, "\0")),
            cold as Real as *mut ::std::ffi::c_void,
        );

        // SAFETY: the slot holds the cold resolver or the real function, both of this type.
        unsafe { ::std::mem::transmute::<*mut ::std::ffi::c_void, Real>(REAL.load()) }
    }};
}
pub(super) use real;
