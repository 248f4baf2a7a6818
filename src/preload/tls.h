/* Per-thread state; src/preload/guard.rs declares the same struct. */
#ifndef PAS_TLS_H
#define PAS_TLS_H

struct pas_tls {
    void *ring;          /* this thread's ring, or NULL */
    unsigned long owner; /* the life (a counter) that the ring belongs to: forks begin a new one */
    void *frame;         /* stack address of the outermost wrapper now running, or NULL */
    unsigned long nested_left; /* calls that may still be found inside that wrapper */
};

struct pas_tls *pas_tls_get(void);

#endif
