/*
 * Where the processor time of one ingotc run went: of this process and of the children that it
 * waited for. The table lies in memory that children share, so that their stages count too. Stages
 * whose time has grown faster than the code count steps as well, which do not depend on the
 * machine.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "compiler/passes/passes.h"

enum { MAX_STAGES = 128 }; /* the tables of passes have about 80 */

struct stage {
    _Atomic(const char *) name; /* a literal: at the same address in all children */
    atomic_uint_fast64_t nanoseconds, count, steps;
};

static struct stage *stages; /* NULL: nobody asked */

void igc_time_start(void) {
    void *memory = mmap(NULL, MAX_STAGES * sizeof *stages, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stages = memory == MAP_FAILED ? NULL : memory;
}

double igc_time_now(void) {
    struct timespec own;
    struct rusage ended;
    if (!stages) {
        return 0;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    getrusage(RUSAGE_CHILDREN, &ended);
    return (double)(own.tv_sec + ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) +
           1e-9 * (double)own.tv_nsec +
           1e-6 * (double)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec);
}

/* The stage's row, or the first free one, which is then its own. */
static struct stage *find(const char *name) {
    for (size_t i = 0; stages && i < MAX_STAGES; i++) {
        const char *there = NULL;
        if (atomic_compare_exchange_strong(&stages[i].name, &there, name) || !strcmp(there, name)) {
            return &stages[i];
        }
    }
    return NULL;
}

void igc_time_add(const char *stage, double seconds) {
    struct stage *row = find(stage);
    if (row) {
        atomic_fetch_add(&row->nanoseconds, seconds > 0 ? (uint64_t)(1e9 * seconds) : 0);
        atomic_fetch_add(&row->count, 1);
    }
}

void igc_work_add(const char *stage, uint64_t steps) {
    struct stage *row = find(stage);
    if (row) {
        atomic_fetch_add(&row->steps, steps);
    }
}

uint64_t igc_work_of(const char *stage) {
    struct stage *row = find(stage);
    return row ? row->steps : 0;
}

void igc_time_print(void) {
    double sum = 0;
    for (size_t i = 0; stages && i < MAX_STAGES && stages[i].name; i++) {
        double ms = 1e-6 * (double)stages[i].nanoseconds;
        fprintf(stderr, "%10.2f ms  %4u x  %s", ms, (unsigned)stages[i].count, stages[i].name);
        if (stages[i].steps) {
            fprintf(stderr, ", %llu steps", (unsigned long long)stages[i].steps);
        }
        fprintf(stderr, "\n");
        sum += ms;
    }
    fprintf(stderr, "%10.2f ms          in all\n", sum);
}
