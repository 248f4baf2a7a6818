/* The one thread-local variable of libpas.so.
 *
 * It is in C because stable Rust compiles thread_local! in a shared object to a call of
 * __tls_get_addr, and cannot choose the model: the cheap one (initial-exec) could not be loaded
 * by dlopen once the static TLS block is used up. See build.rs for the model chosen here.
 * Zero at a thread's start; never freed: what it points to belongs to the ring pool.
 */
#include "tls.h"

_Static_assert(sizeof(struct pas_tls) == 4 * sizeof(void *), "guard.rs has the same four fields");

static __thread struct pas_tls slot;

struct pas_tls *pas_tls_get(void) { return &slot; }
