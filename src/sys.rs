//! The few system calls that std does not offer, each in a safe wrapper.
#![expect(unsafe_code, reason = "system calls through libc")]

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Nanoseconds of CLOCK_MONOTONIC: never stepped, the same in all processes of a machine.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// Writes bytes to standard error in one call, so that lines of several ranks do not mix.
/// What is not taken at once is lost: a full pipe must not hold a rank, nor may one that nobody
/// reads any more kill it.
pub fn write_stderr(bytes: &[u8]) {
    // A pipe that can be written at all takes this much without waiting.
    let bytes = bytes.get(..libc::PIPE_BUF).unwrap_or(bytes);
    let mut poll = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one live pollfd.
    if unsafe { libc::poll(&mut poll, 1, 0) } < 1 {
        return;
    }
    with_signals_blocked(|| {
        // SAFETY: the pointers and lengths are those of live objects.
        unsafe {
            let written = libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len());
            if written < 0 && *libc::__errno_location() == libc::EPIPE {
                // The signal that came with it is ours to take.
                let mut pipe = std::mem::zeroed();
                libc::sigemptyset(&mut pipe);
                libc::sigaddset(&mut pipe, libc::SIGPIPE);
                let no_time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                libc::sigtimedwait(&pipe, std::ptr::null_mut(), &no_time);
            }
        }
    });
}

static STDIO_WAS_OPEN: AtomicBool = AtomicBool::new(false);

/// True where standard input, output and error were open when the library was loaded. Where one
/// was not, the next file or socket that anybody opens becomes that stream.
pub fn stdio_was_open() -> bool {
    STDIO_WAS_OPEN.load(Ordering::Relaxed)
}

/// Asks for it. Called once, at load.
pub fn note_stdio() {
    // SAFETY: F_GETFD takes no third argument and any descriptor number may be asked about.
    let open = |fd| unsafe { libc::fcntl(fd, libc::F_GETFD) } != -1;
    STDIO_WAS_OPEN.store((0..3).all(open), Ordering::Relaxed);
}

/// True for set-user-id programs and the like, whose environment is not to be trusted.
pub fn is_secure_execution() -> bool {
    // SAFETY: a query without side effects.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The machine's host name up to the first dot.
pub fn host_name() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the length is the buffer's, less one so that a cut name still ends in a zero.
    unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let name = CStr::from_bytes_until_nul(&buffer).map(CStr::to_string_lossy);
    let name = name.map(|name| name.split('.').next().unwrap_or_default().to_owned());
    name.ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown-host".to_owned())
}

/// Runs `child` in every forked child, before fork returns there.
pub fn at_fork_child(child: extern "C" fn()) {
    // SAFETY: the handler is a function of this library, which is never unmapped (-z nodelete).
    unsafe { libc::pthread_atfork(None, None, Some(child)) };
}

/// Runs `hook` when the process ends by exit or by return from main.
pub fn at_exit(hook: extern "C" fn()) {
    // SAFETY: as for `at_fork_child`.
    unsafe { libc::atexit(hook) };
}

/// Runs `body` with every signal blocked on this thread: a thread that it starts inherits the
/// mask, so the host's signals go to the host's threads only.
pub fn with_signals_blocked<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are live; sigfillset initialises the first, pthread_sigmask the second.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = body();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}

/// errno, kept over a piece of our own code on a host thread.
pub fn with_errno_kept<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: __errno_location answers the calling thread's own variable.
    unsafe {
        let errno = *libc::__errno_location();
        let result = body();
        *libc::__errno_location() = errno;
        result
    }
}

/// A key whose `destructor` runs at the end of each thread that set it.
pub fn thread_key(destructor: unsafe extern "C" fn(*mut c_void)) -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: the pointer is to a live key; the destructor is never unmapped.
    let error = unsafe { libc::pthread_key_create(&mut key, Some(destructor)) };
    (error == 0).then_some(key)
}

/// Sets the calling thread's value of `key`, so that the key's destructor will see it.
pub fn set_thread_value(key: libc::pthread_key_t, value: *const c_void) {
    // SAFETY: the key came from `thread_key`.
    unsafe { libc::pthread_setspecific(key, value) };
}

/// Bytes of thread-local variables of the loaded objects. glibc takes those of a new thread out
/// of the stack that it was asked for.
pub fn thread_local_bytes() -> usize {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        sum: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a live info with dlpi_phnum headers; `sum` is the one below.
        unsafe {
            let sum = &mut *sum.cast::<usize>();
            for index in 0..usize::from((*info).dlpi_phnum) {
                let header = &*(*info).dlpi_phdr.add(index);
                if header.p_type == libc::PT_TLS {
                    *sum += (header.p_memsz + header.p_align) as usize;
                }
            }
        }
        0
    }
    let mut sum = 0usize;
    // SAFETY: `visit` fits the callback's type, and the sum outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut sum).cast()) };
    sum
}

/// True for a descriptor that programs take for standard input, output or error. A program that
/// has closed one of the three must not find a file or socket of ours there.
pub fn is_stdio(fd: &impl AsRawFd) -> bool {
    fd.as_raw_fd() <= libc::STDERR_FILENO
}

/// A new non-blocking stream socket, above the standard streams.
fn stream_socket(family: c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: a plain system call, whose descriptor is owned at once.
    let socket = unsafe {
        match libc::socket(family, kind, 0) {
            -1 => return Err(io::Error::last_os_error()),
            fd => OwnedFd::from_raw_fd(fd),
        }
    };
    // A clone's number is 3 at least, and it is close-on-exec as well.
    if is_stdio(&socket) { socket.try_clone() } else { Ok(socket) }
}

/// Connects to a Unix socket without ever blocking: a stopped daemon with a full queue answers
/// `WouldBlock` here, where std's connect would hang.
pub fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = path.as_os_str().as_bytes();
    // SAFETY: all-zero is a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    if bytes.len() >= address.sun_path.len() || bytes.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "socket path too long"));
    }
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let socket = stream_socket(libc::AF_UNIX)?;
    connect(&socket, &address)?;
    Ok(UnixStream::from(socket))
}

/// Begins to connect to a TCP address. The connection is up, or has failed, when it can be
/// written; `take_error` tells which.
pub fn begin_connect_tcp(to: &SocketAddr) -> io::Result<TcpStream> {
    let (socket, result) = match to {
        SocketAddr::V4(to) => {
            // SAFETY: all-zero is a valid address.
            let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
            address.sin_family = libc::AF_INET as libc::sa_family_t;
            address.sin_port = to.port().to_be();
            address.sin_addr.s_addr = u32::from_ne_bytes(to.ip().octets());
            let socket = stream_socket(libc::AF_INET)?;
            let result = connect(&socket, &address);
            (socket, result)
        }
        SocketAddr::V6(to) => {
            // SAFETY: as above.
            let mut address: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
            address.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            address.sin6_port = to.port().to_be();
            address.sin6_addr.s6_addr = to.ip().octets();
            address.sin6_scope_id = to.scope_id();
            let socket = stream_socket(libc::AF_INET6)?;
            let result = connect(&socket, &address);
            (socket, result)
        }
    };
    match result {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(TcpStream::from(socket)),
    }
}

/// `address` is one of libc's address types, its family filled in.
fn connect<T>(socket: &OwnedFd, address: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the address is live and its length is that of its type.
    match unsafe { libc::connect(socket.as_raw_fd(), ptr::from_ref(address).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until the descriptor can be read (or written), at most `timeout_ms`.
pub fn wait_ready(fd: &impl AsRawFd, for_write: bool, timeout_ms: i32) -> io::Result<bool> {
    let events = if for_write { libc::POLLOUT } else { libc::POLLIN };
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    // SAFETY: one live pollfd.
    match unsafe { libc::poll(&mut poll, 1, timeout_ms) } {
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
        ready => Ok(ready > 0),
    }
}
