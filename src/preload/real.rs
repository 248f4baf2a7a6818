//! Where the real functions are: the only symbol look-ups of the project.
//!
//! A wrapper's pointer starts at a cold resolver of its own signature (see [`super::entry`]),
//! which asks here. The order: the next object after us (so that other tools in the preload list
//! keep their turn), then every loaded object that defines the symbol (Python loads libmpi with
//! RTLD_LOCAL, where "next" finds nothing), then the same for the `PMPI_` name.
#![expect(unsafe_code, reason = "dlsym and the walk over loaded objects")]

use crate::skip::Fault;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The real address of one wrapped function.
pub struct Slot {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Slot {
    /// A slot that starts at `cold`, a function of the wrapped function's signature.
    pub const fn new(name: &'static CStr, cold: *mut c_void) -> Slot {
        Slot { name, address: AtomicPtr::new(cold) }
    }

    /// What to call. Relaxed: every value that was ever stored is callable.
    #[inline(always)]
    pub fn load(&self) -> *mut c_void {
        self.address.load(Ordering::Relaxed)
    }

    /// Looks the function up and keeps it; `None`, counted, where nobody defines it.
    #[cold]
    pub fn resolve(&self) -> Option<NonNull<c_void>> {
        let found = find_real(self.name);
        match found {
            Some(address) => self.address.store(address.as_ptr(), Ordering::Relaxed),
            None => Fault::SymbolMissing.count(),
        }
        found
    }
}

/// A function below us of that name, or of its `PMPI_` twin.
fn find_real(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: RTLD_NEXT is a pseudo handle; the name is a live C string.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    let foreign = NonNull::new(next).filter(|address| !is_ours(address.as_ptr()));
    foreign.or_else(|| find_loaded(name)).or_else(|| {
        let shifted = CString::new([b"P", name.to_bytes()].concat()).ok()?;
        find_symbol(&shifted)
    })
}

/// A symbol that we do not define ourselves: data, or a `PMPI_` function.
pub fn find_symbol(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: RTLD_DEFAULT is a pseudo handle; the name is a live C string.
    let global = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    NonNull::new(global).or_else(|| find_loaded(name))
}

/// The first loaded object other than us that answers to the name, local scopes included.
fn find_loaded(name: &CStr) -> Option<NonNull<c_void>> {
    loaded_objects().iter().find_map(|object| {
        // SAFETY: RTLD_NOLOAD only takes a reference to an object that is loaded already; it is
        // given back at once, and an object that is loaded stays so while its functions are used.
        unsafe {
            let handle = libc::dlopen(object.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if handle.is_null() {
                return None;
            }
            let address = libc::dlsym(handle, name.as_ptr());
            libc::dlclose(handle);
            NonNull::new(address).filter(|address| !is_ours(address.as_ptr()))
        }
    })
}

/// The paths of the loaded objects, in load order.
fn loaded_objects() -> Vec<CString> {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        list: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a live info; `list` is the Vec below; a name is a C string.
        unsafe {
            let list = &mut *list.cast::<Vec<CString>>();
            if !(*info).dlpi_name.is_null() {
                list.push(CStr::from_ptr((*info).dlpi_name).to_owned());
            }
        }
        0
    }
    let mut list: Vec<CString> = Vec::new();
    // SAFETY: `visit` fits the callback's type, and the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut list).cast()) };
    list.retain(|name| !name.is_empty());
    list
}

/// The start of the object that holds an address.
fn object_of(address: *const c_void) -> *mut c_void {
    // SAFETY: all-zero is a valid Dl_info; dladdr takes any address.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        match libc::dladdr(address, &mut info) {
            0 => ptr::null_mut(),
            _ => info.dli_fbase,
        }
    }
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
    object_of(address) == object_of(is_ours as *const c_void)
}

/// The real function of a wrapped name, as a callable pointer of the wrapper's own signature.
macro_rules! real {
    ($name:ident($($arg:ident: $type:ty),* $(,)?)) => {{
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

        const NAME: &::std::ffi::CStr =
            match ::std::ffi::CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => panic!("a function's name has no zero inside"),
            };
        static REAL: $crate::preload::real::Slot =
            $crate::preload::real::Slot::new(NAME, cold as Real as *mut ::std::ffi::c_void);

        // SAFETY: the slot holds the cold resolver or the real function, both of this type.
        unsafe { ::std::mem::transmute::<*mut ::std::ffi::c_void, Real>(REAL.load()) }
    }};
}
pub(super) use real;
