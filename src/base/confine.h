/*
 * Taking rights away from a process, for good: files by Landlock, system calls by seccomp.
 *
 * Requires Linux 5.13 with Landlock, and x86-64 or aarch64. Nothing here allocates or locks, so
 * that a child may call it between fork and exec. Does not hide memory: a process that was forked
 * has a copy of its parent's.
 */
#ifndef INGOT_BASE_CONFINE_H
#define INGOT_BASE_CONFINE_H

#include <stddef.h>

/* What a program may still do with files. Names that do not exist are skipped. */
struct ig_confinement {
    const char *const *readable; /* files, and folders with all in them: to read and to run */
    size_t readable_count;
    const char *writable; /* a folder, or NULL */
};

/* No other file, no network, no other process: for compilers and what they start. 0 or an errno. */
int ig_confine_program(const struct ig_confinement *files);
/* For code that computes: memory, its own threads, the clock, and files that are open. No other
 * system call; those that would start or reach something end the process by SIGSYS. For all threads
 * from now on, of which there must be one. 0 or an errno. */
int ig_confine_computation(void);

#endif
