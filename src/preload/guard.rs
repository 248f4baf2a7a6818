//! Who may record: the outermost wrapper of a thread, into that thread's own ring.
//!
//! A [`Guard`] is the only key to a ring, so re-entrancy cannot be forgotten: an MPI that calls
//! its own public functions inside a call of the program (MPICH's MPI-IO does) gets no guard.
#![expect(unsafe_code, reason = "the thread's slot is a C variable, its ring a raw pointer")]

use super::ring::{Pushed, RINGS_MAX, Record, Ring};
use crate::life::{self, Life};
use crate::skip::{Bypass, Fault};
use crate::sys;
use parking_lot::Mutex;
use pas_core::op::{Kind, Op};
use std::ffi::{c_ulong, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

/// The thread's slot; `tls.h` declares the same struct.
#[repr(C)]
struct Tls {
    ring: *const c_void,
    owner: c_ulong,
    frame: *const c_void,
    nested_left: c_ulong,
}

const _: () = assert!(size_of::<Tls>() == 4 * size_of::<*const c_void>());

unsafe extern "C" {
    fn pas_tls_get() -> *mut Tls;
}

/// The pool of rings of one life.
pub struct Rings {
    rings: Mutex<Vec<&'static Ring>>,
    key: Option<libc::pthread_key_t>,
}

impl Rings {
    /// An empty pool.
    pub fn new() -> Rings {
        Rings { rings: Mutex::default(), key: sys::thread_key(on_thread_end) }
    }

    /// All rings, for the worker.
    pub fn all(&self) -> Vec<&'static Ring> {
        self.rings.lock().clone()
    }

    /// A ring for the calling thread: one that an ended thread left and the worker has emptied,
    /// or a new one.
    fn take(&self) -> Option<&'static Ring> {
        let mut rings = self.rings.lock();
        let left = rings.iter().find(|ring| {
            // Acquire pairs with the Release in `on_thread_end`: the last pushes are visible.
            let free =
                ring.owned.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
            free.is_ok()
        });
        if let Some(ring) = left {
            return Some(ring);
        }
        if rings.len() == RINGS_MAX {
            return None;
        }
        let ring: &'static Ring = Box::leak(Box::new(Ring::new()));
        rings.push(ring);
        Some(ring)
    }
}

/// Gives the ring of a thread that ends back to the pool.
unsafe extern "C" fn on_thread_end(ring: *mut c_void) {
    // SAFETY: the value was set by `attach` and is a leaked ring; the slot is this thread's.
    unsafe {
        (*pas_tls_get()).ring = ptr::null();
        (*ring.cast::<Ring>()).owned.store(false, Ordering::Release);
    }
}

/// Leave to record one call.
pub struct Guard {
    tls: *mut Tls,
    life: &'static Life,
}

/// Admits the outermost wrapper of this thread; `None`, counted, inside another one.
///
/// The mark is a stack address and not a depth: a longjmp out of a call (error handlers do that)
/// leaves a mark behind that the next call sees to be stale if it is made from an older frame. If
/// not, it is taken for nested, but only [`nested_max`] times.
#[inline(always)]
pub fn enter(op: Op) -> Option<Guard> {
    let life = life::current()?;
    let here = 0u8;
    let frame = (&raw const here).cast::<c_void>();
    // SAFETY: the slot is the calling thread's own and lives as long as the thread.
    unsafe {
        let tls = pas_tls_get();
        if !(*tls).frame.is_null() && frame < (*tls).frame && is_nested(tls) {
            return None;
        }
        (*tls).frame = frame;
        (*tls).nested_left = nested_max(op);
        Some(Guard { tls, life })
    }
}

/// Calls that may be inside a call of this kind. After so many the mark is stale, and a thread is
/// not taken for nested for the rest of the job. Collective access to files makes some for each
/// piece of a file, and its non-blocking form makes them in a completion call.
const fn nested_max(op: Op) -> c_ulong {
    match op.kind() {
        Kind::File => 1 << 16,
        Kind::Completion => 1 << 10,
        _ => 32,
    }
}

/// Counts a call that seems to be inside another one; false where the mark has become incredible.
///
/// # Safety
/// `tls` is the calling thread's slot.
#[cold]
unsafe fn is_nested(tls: *mut Tls) -> bool {
    // SAFETY: the caller's.
    let left = unsafe { &mut (*tls).nested_left };
    if *left == 0 {
        return false;
    }
    *left -= 1;
    Bypass::Nested.count();
    true
}

impl Guard {
    /// The life that is recording.
    #[inline(always)]
    pub fn life(&self) -> &'static Life {
        self.life
    }

    /// Writes a record down, or counts why not.
    #[inline(always)]
    pub fn record(&self, record: Record) {
        // SAFETY: the slot is this thread's; a ring in it is leaked and owned by this thread.
        let ring = unsafe {
            if (*self.tls).ring.is_null() || (*self.tls).owner != self.life.number as c_ulong {
                attach(self.tls, self.life);
            }
            (*self.tls).ring.cast::<Ring>().as_ref()
        };
        match ring {
            Some(ring) => match ring.push(record) {
                Pushed::Kept => {}
                Pushed::KeptWake => wake(self.life),
                Pushed::Full => Bypass::RingFull.count(),
            },
            None => Bypass::NoRing.count(),
        }
    }
}

/// Wakes the worker before the ring is full.
#[cold]
fn wake(life: &'static Life) {
    sys::with_errno_kept(|| life.worker.wake());
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the slot is this thread's. Also runs when an exception of the host passes.
        unsafe { (*self.tls).frame = ptr::null() };
    }
}

/// Gives the thread a ring, if there is one to be had.
///
/// # Safety
/// `tls` is the calling thread's slot.
#[cold]
unsafe fn attach(tls: *mut Tls, life: &'static Life) {
    let ring = life::guarded(|| life.rings.take()).flatten();
    if ring.is_none() && life.rings.key.is_none() {
        Fault::NoMemory.count();
    }
    // SAFETY: the caller's.
    unsafe {
        (*tls).ring = ring.map_or(ptr::null(), |ring| ptr::from_ref(ring).cast());
        (*tls).owner = life.number as c_ulong;
    }
    if let (Some(ring), Some(key)) = (ring, life.rings.key) {
        sys::set_thread_value(key, ptr::from_ref(ring).cast());
    }
}
