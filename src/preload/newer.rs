//! Names that not every MPI has must not seem to be there where the MPI below lacks them.
//!
//! Programs probe: mpi4py's wheels refer to `MPI_Allreduce_c` weakly and call it where its address
//! is not null, others ask dlsym. A name exported here would answer for a library that has no such
//! call. Which library that is may not be known yet when we are loaded: Python loads it later.
//!
//! So at load each such symbol of ours is turned into an *indirect function* (`STT_GNU_IFUNC`): the
//! loader, when it binds a reference to it, and dlsym, when it is asked, call its resolver, which
//! answers our wrapper where a loaded object defines the name, and null where none does. References
//! that were bound before, those of the program and its libraries at start, are as they were:
//! a program that refers to a name strongly has an MPI that has it. It is done to the symbol table
//! in memory and not when linking, since the loader must not call a resolver of an object that is
//! not relocated yet, which at start could happen.
#![expect(unsafe_code, reason = "edits our own symbol table in memory")]

use super::elf::{self, Object, STT_GNU_IFUNC};
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A name that not every MPI has.
pub struct Newer {
    name: &'static CStr,
    /// Our function of that name; null until it has been hidden behind its resolver.
    wrapper: AtomicPtr<c_void>,
}

/// What the loader calls to bind a name.
pub type Resolver = extern "C" fn() -> *mut c_void;
/// Takes each such name.
pub type Visit<'a> = dyn FnMut(&'static Newer, Resolver) + 'a;

impl Newer {
    /// A name that is not hidden yet.
    pub const fn new(name: &'static CStr) -> Newer {
        Newer { name, wrapper: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Our function where some object has the real one; null where none does.
    pub fn resolve(&self) -> *mut c_void {
        // Relaxed: written at load, before anybody can ask.
        match elf::find(|object| object.symbol(self.name)) {
            Some(_) => self.wrapper.load(Ordering::Relaxed),
            None => ptr::null_mut(),
        }
    }

    /// Puts the resolver in the place of our function.
    fn hide(&self, resolver: Resolver, ours: &Object) {
        let Some(symbol) = ours.symbol(self.name) else { return };
        // SAFETY: our own entry; `hide_newer` has made it writable, and nobody reads it meanwhile:
        // constructors run under the loader's lock.
        unsafe {
            self.wrapper.store(ours.address_at((*symbol).st_value), Ordering::Relaxed);
            (*symbol).st_value = ours.value_of(resolver as *const c_void);
            (*symbol).st_info = (*symbol).st_info & 0xf0 | STT_GNU_IFUNC;
        }
    }
}

/// Hides every newer name behind its resolver. Called once, at load. Where the table cannot be made
/// writable (a hardened kernel may forbid it) all stays as it is: names then are answered for that
/// the MPI may lack, and calls of them fail with the MPI's own error code.
pub fn hide_newer(each_newer: impl Fn(&mut Visit<'_>)) {
    let Some(ours) = elf::ours() else { return };
    let (mut first, mut last) = (usize::MAX, 0);
    each_newer(&mut |newer, _| {
        if let Some(symbol) = ours.symbol(newer.name) {
            first = first.min(symbol as usize);
            last = last.max(symbol as usize + size_of::<libc::Elf64_Sym>());
        }
    });
    if first >= last {
        return;
    }
    // SAFETY: a query.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let start = first / page * page;
    let protect = |protection| {
        // SAFETY: pages of our own read-only segment, which holds no code (the linker is told to
        // keep them apart).
        unsafe { libc::mprotect(start as *mut c_void, last - start, protection) == 0 }
    };
    if protect(libc::PROT_READ | libc::PROT_WRITE) {
        each_newer(&mut |newer, resolver| newer.hide(resolver, &ours));
        protect(libc::PROT_READ);
    }
}

/// Shows a name to `$visit`, with a resolver of its own.
macro_rules! newer {
    ($visit:expr, $name:expr) => {{
        static NEWER: $crate::preload::newer::Newer =
            $crate::preload::newer::Newer::new($crate::preload::real::c_name(concat!($name, "\0")));
        extern "C" fn resolver() -> *mut ::std::ffi::c_void {
            NEWER.resolve()
        }
        $visit(&NEWER, resolver);
    }};
}
pub(super) use newer;
