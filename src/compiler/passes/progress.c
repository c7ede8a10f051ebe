/*
 * What a process of the compiler is doing, in memory that it shares with the one that started it:
 * that one can say it when the process has been ended for taking too long.
 */
#include <sys/mman.h>

#include "compiler/passes/passes.h"

static struct igc_progress alone;
static struct igc_progress *own = &alone;

struct igc_progress *igc_progress_create(void) {
    void *memory = mmap(NULL, sizeof(struct igc_progress), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void igc_progress_free(struct igc_progress *progress) {
    if (progress) {
        munmap(progress, sizeof *progress);
    }
}

void igc_progress_keep(struct igc_progress *progress) {
    own = progress ? progress : &alone;
}

void igc_progress_at(const char *stage) {
    atomic_store(&own->stage, stage);
}

const char *igc_progress_stage(const struct igc_progress *progress) {
    const char *stage = atomic_load(progress ? &progress->stage : &own->stage);
    return stage ? stage : "its start";
}
