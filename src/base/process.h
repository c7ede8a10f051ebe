/* Child processes with limits. */
#ifndef INGOT_BASE_PROCESS_H
#define INGOT_BASE_PROCESS_H

#include <sys/types.h>

#include "base/confine.h"
#include "base/error.h"
#include "base/text.h"

struct ig_process {
    const char *const *arguments; /* argv, NULL-terminated; [0] is looked up in PATH */
    /* Or NULL: what the program's main would do, called in a fork of the caller in place of the
     * program, which has to be this one: nothing is loaded and relocated again. The caller has a
     * single thread. Not with a confinement. */
    int (*inside)(int argc, char **argv);
    const char *input; /* bytes for stdin; NULL = /dev/null */
    size_t input_size;
    double seconds;                           /* wall-clock limit; 0 = 300 */
    unsigned processor_seconds;               /* limit of processor time; 0 = none */
    size_t memory;                            /* address-space limit in bytes; 0 = 16 GiB */
    const char *const *environment;           /* NULL = the caller's */
    const struct ig_confinement *confinement; /* NULL = none; see confine.h */
    /* Or NULL: called with all of stderr so far whenever there is more of it. */
    void (*heard)(void *context, const char *errors);
    void *context;
};

struct ig_process_result {
    int exit_code;         /* valid when signal is 0 and not timed_out */
    int signal;            /* that ended it, or 0 */
    bool timed_out;        /* by either limit */
    struct ig_text output; /* stdout */
    struct ig_text errors; /* stderr */
};

/* vfork and exec, or fork; fails only when the program could not be started (INGOT_NOT_FOUND when
 * it is not there). Free the result's texts with ig_process_result_free. Thread-safe. */
ingot_status ig_process_run(const struct ig_process *process, struct ig_process_result *result,
                            struct ig_error *error);
void ig_process_result_free(struct ig_process_result *result);

/* Starts a program that goes on beside the caller, in a process group of its own, with the caller's
 * `files` as its files 0, 1, 2 … (8 at most). The caller ends it and waits for it. */
ingot_status ig_process_start(const char *const *arguments, const int *files, int file_count,
                              pid_t *pid, struct ig_error *error);

/* In a child, right after fork: ends it when the thread of `parent` that forked it ends. */
void ig_process_end_with(pid_t parent);

#endif
