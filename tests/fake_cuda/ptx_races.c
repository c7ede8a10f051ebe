/*
 * Races in threadgroup memory ($PTX_RACES=1): two threads at the same byte, one of them writing,
 * with neither a barrier of the threadgroup nor, in one SIMD-group, an instruction with .sync of
 * both in between. What the schedule happened to do does not matter.
 *
 * Per byte it is known who wrote last and who read last. A barrier begins a new epoch. Inside a
 * SIMD-group, a thread's clock counts its instructions with .sync, and `seen` what it knows of
 * the clocks of the other lanes. Volatile and atomic accesses are no races among each other.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

struct ptx_shade {
    uint32_t write_epoch, write_clock, read_epoch, read_clock;
    uint16_t writer, reader;
    bool many;   /* read by more than one SIMD-group in this epoch */
    bool atomic; /* the write */
};

bool ptx_races_start(struct ptx_machine *machine) {
    const char *wanted = getenv("PTX_RACES");
    if (!wanted || !*wanted || !strcmp(wanted, "0")) {
        return true;
    }
    machine->shades = calloc(machine->shared_bytes, sizeof *machine->shades);
    return machine->shades != NULL;
}

void ptx_races_synced(struct ptx_machine *machine, struct ptx_thread *threads, uint32_t mask) {
    uint32_t known[PTX_LANES] = {0};
    if (!machine->shades) {
        return;
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        threads[lane].seen[lane] = threads[lane].clock++;
        for (uint32_t i = 0; i < PTX_LANES; i++) {
            known[i] = threads[lane].seen[i] > known[i] ? threads[lane].seen[i] : known[i];
        }
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        memcpy(threads[__builtin_ctz(rest)].seen, known, sizeof known);
    }
}

/* An access of `other` at its `clock`, in this epoch, is not known to have been before now. */
static bool is_open(const struct ptx_thread *thread, uint32_t other, uint32_t clock) {
    if (other == thread->index) {
        return false;
    }
    return other / PTX_LANES != thread->index / PTX_LANES ||
           thread->seen[other % PTX_LANES] < clock;
}

static bool is_atomic(const struct ptx_instruction *in) {
    static const char *const words[] = {".volatile", ".relaxed", ".acquire", ".release"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(in->name, words[i])) {
            return true;
        }
    }
    return in->opcode == PTX_ATOM || in->opcode == PTX_RED;
}

static void fail(struct ptx_machine *machine, const struct ptx_thread *thread,
                 const struct ptx_instruction *in, uint32_t at, const char *what, uint32_t other) {
    ptx_fail(machine, thread, in, PTX_RACE,
             "shared address %x %s thread %u with nothing that orders them", at, what, other);
}

void ptx_races_access(struct ptx_machine *machine, const struct ptx_thread *thread,
                      const struct ptx_instruction *in, uint32_t at, size_t bytes, bool writes) {
    bool atomic = is_atomic(in);
    for (size_t i = 0; machine->shades && i < bytes; i++) {
        struct ptx_shade *shade = &machine->shades[at + i];
        bool written = shade->write_epoch == machine->epoch;
        bool read = shade->read_epoch == machine->epoch;
        if (written && !(atomic && shade->atomic) &&
            is_open(thread, shade->writer, shade->write_clock)) {
            fail(machine, thread, in, at, writes ? "is written also by" : "was written by",
                 shade->writer);
            return;
        }
        if (writes && read && !atomic &&
            (shade->many || is_open(thread, shade->reader, shade->read_clock))) {
            fail(machine, thread, in, at, "was read by", shade->reader);
            return;
        }
        if (writes) {
            shade->write_epoch = machine->epoch;
            shade->write_clock = thread->clock;
            shade->writer = (uint16_t)thread->index;
            shade->atomic = atomic;
        } else if (!atomic) {
            shade->many =
                read && (shade->many || shade->reader / PTX_LANES != thread->index / PTX_LANES);
            shade->read_epoch = machine->epoch;
            shade->read_clock = thread->clock;
            shade->reader = (uint16_t)thread->index;
        }
    }
}
