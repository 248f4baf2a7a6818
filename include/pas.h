/* pas.h: what a program may tell PAS, and ask of it.
 *
 * Nothing here is needed for PAS to work: a preloaded libpas.so watches an unmodified program.
 * A program that says more (its loss, its iterations) is served better.
 *
 * Three ways to build with it
 *   linked     cc prog.c $(pkg-config --cflags --libs pas)    libpas.so must be there at run time
 *   preloaded  the same program under LD_PRELOAD=libpas.so    loaded once, counted once
 *   absent     #define PAS_WEAK before the #include, link nothing: every call answers PAS_ABSENT
 *              unless libpas.so was preloaded
 *
 * Rules that hold for every function
 *   - It never blocks and never ends the program. The first call of all sets a queue up; after it
 *     nothing is allocated on the caller's thread.
 *   - It may be called from any thread, before MPI_Init (kept, and sent after it), after
 *     MPI_Finalize (answers PAS_OFF) and in a forked child (answers PAS_OFF); not from a signal
 *     handler.
 *   - Strings are the caller's: read during the call, cut at PAS_NAME_BYTES_MAX bytes at a
 *     character's border, NULL and "" are PAS_INVALID.
 *   - Pointers for answers are written only where PAS_OK is returned.
 *   - A result may be ignored. The loss of a report is counted, and shown by `pas report`.
 */
#ifndef PAS_H
#define PAS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PAS_VERSION_MAJOR 0
#define PAS_VERSION_MINOR 1
#define PAS_VERSION_PATCH 0

/* Longest name, in bytes, without the closing zero. */
#define PAS_NAME_BYTES_MAX 63

/* Results. Values are never given a second meaning; new ones are added at the end. */
typedef int32_t pas_result;
#define PAS_OK 0       /* taken */
#define PAS_ABSENT 1   /* libpas.so is not loaded (PAS_WEAK only) */
#define PAS_OFF 2      /* loaded, but switched off (PAS_MODE=off, after MPI_Finalize, in a child) */
#define PAS_FULL 3     /* too many reports at once: this one was dropped, and counted */
#define PAS_INVALID 4  /* an argument is out of range: nothing was done */
#define PAS_INTERNAL 5 /* a fault of PAS itself: it has switched itself off */

/* What libpas.so does (see PAS_MODE). */
#define PAS_MODE_OFF 0
#define PAS_MODE_OBSERVE 1
#define PAS_MODE_ADVISE 2

/* How it stands with the daemon. */
#define PAS_DAEMON_NONE 0   /* none is configured */
#define PAS_DAEMON_ASKING 1 /* not yet registered */
#define PAS_DAEMON_UP 2     /* registered; leases are renewed */
#define PAS_DAEMON_LOST 3   /* was or should be there, does not answer; asked again now and then */

#if defined(PAS_WEAK)
#define PAS_API __attribute__((weak))
#else
#define PAS_API
#endif

/* Reports the training loss of optimiser step `step`. Not-a-number and infinite values are taken:
 * they tell of divergence. One rank's reports suffice; those of the lowest reporting rank count. */
PAS_API pas_result pas_report_loss(uint64_t step, double loss);

/* Reports a metric of the model, such as "accuracy", at step `step`. */
PAS_API pas_result pas_report_metric(uint64_t step, const char *name, double value);

/* Says that the training is for `metric` to reach `target`. */
PAS_API pas_result pas_set_target(const char *metric, double target);

/* Marks the start of an iteration. The detector finds iterations by itself; a mark is surer. */
PAS_API pas_result pas_mark_iteration(uint64_t step);

/* Brackets a phase with the program's own name for it, for the report. Phases of a rank do not nest:
 * a begin ends the one before it. */
PAS_API pas_result pas_phase_begin(const char *name);
PAS_API pas_result pas_phase_end(void);

/* Declares how a collective is carried out: `collective` such as "allreduce" on the communicators
 * named `comm_name` (MPI_Comm_set_name; NULL: on all) follows `pattern`, such as "ring" (the names
 * are in the README's table of patterns). A declared pattern goes before a predicted one. */
PAS_API pas_result pas_declare_pattern(const char *comm_name, const char *collective,
                                       const char *pattern);

/* What libpas.so is doing. `struct_bytes` is filled in by the caller with sizeof(pas_status):
 * fields that a later version adds are written only where there is room. */
typedef struct pas_status {
    uint32_t struct_bytes;
    uint32_t mode;                /* PAS_MODE_* */
    uint32_t daemon;              /* PAS_DAEMON_* */
    uint32_t rank;                /* in MPI_COMM_WORLD */
    uint32_t world_size;          /* 0 before MPI_Init */
    uint32_t phases_found;        /* phases the detector knows */
    uint64_t calls_recorded;
    uint64_t records_dropped;     /* ring full */
    uint64_t requests_granted;    /* pre-stage requests */
    uint64_t requests_held;       /* answered "switching does not pay" */
    uint64_t requests_refused;
    uint64_t requests_unanswered; /* daemon late or away */
} pas_status;
PAS_API pas_result pas_get_status(pas_status *out);

/* The version of the libpas.so that is loaded, such as "0.1.0"; static, never freed. Under PAS_WEAK
 * "" where it is absent. */
PAS_API const char *pas_version(void);

#if defined(PAS_WEAK)
/* A name inside its own macro is not expanded again, so each call tests the weak symbol first. */
#define pas_report_loss(step, loss) (pas_report_loss ? pas_report_loss(step, loss) : PAS_ABSENT)
#define pas_report_metric(step, name, value) \
    (pas_report_metric ? pas_report_metric(step, name, value) : PAS_ABSENT)
#define pas_set_target(metric, target) \
    (pas_set_target ? pas_set_target(metric, target) : PAS_ABSENT)
#define pas_mark_iteration(step) (pas_mark_iteration ? pas_mark_iteration(step) : PAS_ABSENT)
#define pas_phase_begin(name) (pas_phase_begin ? pas_phase_begin(name) : PAS_ABSENT)
#define pas_phase_end() (pas_phase_end ? pas_phase_end() : PAS_ABSENT)
#define pas_declare_pattern(comm_name, collective, pattern) \
    (pas_declare_pattern ? pas_declare_pattern(comm_name, collective, pattern) : PAS_ABSENT)
#define pas_get_status(out) (pas_get_status ? pas_get_status(out) : PAS_ABSENT)
#define pas_version() (pas_version ? pas_version() : "")
#endif

#ifdef __cplusplus
}
#endif

#endif /* PAS_H */
