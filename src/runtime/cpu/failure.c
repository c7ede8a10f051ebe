/* What stopped a kernel, as a sentence: kernel, threadgroup, cause, nearest buffer. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "runtime/cpu/cpu.h"

#define NEAR_BYTES ((uintptr_t)1 << 20)

typedef unsigned long long ull;

static const struct ig_argument *argument_of_slot(const struct ig_variant *variant, uint32_t slot) {
    for (uint32_t i = 0; i < variant->argument_count; i++) {
        if (variant->arguments[i].kind == INGOT_ARGUMENT_BUFFER &&
            variant->arguments[i].slot == slot && variant->arguments[i].active) {
            return &variant->arguments[i];
        }
    }
    return NULL;
}

/* ", 24 bytes past the end of argument 1 "out" (4096 bytes)" when one is near. */
static void append_nearest(struct ig_text *text, const struct cpu_command *command,
                           uintptr_t address) {
    const struct ig_argument *nearest = NULL;
    uintptr_t distance = NEAR_BYTES;
    uint64_t length = 0;
    bool before = false;
    for (uint32_t slot = 0; slot < command->u.dispatch.slots; slot++) {
        const ingot_buffer *buffer = command->u.dispatch.retained[slot];
        const struct ig_argument *argument =
            argument_of_slot(command->u.dispatch.kernel->variant, slot);
        if (!buffer || !argument) {
            continue;
        }
        uintptr_t start = (uintptr_t)buffer->contents, end = start + buffer->length;
        bool below = address < start;
        uintptr_t gap = below ? start - address : address >= end ? address - end : 0;
        if (gap >= distance) {
            continue;
        }
        distance = gap;
        nearest = argument;
        length = buffer->length;
        before = below;
    }
    if (nearest) {
        ig_text_printf(text, ", %llu bytes %s argument %u \"%s\", a buffer of %llu bytes",
                       (ull)distance, before ? "before the start of" : "past the end of",
                       nearest->index, nearest->name, (ull)length);
    }
}

static const char *signal_meaning(int signal_number) {
    switch (signal_number) {
    case SIGSEGV:
        return "SIGSEGV, memory that is not there or not writable";
    case SIGBUS:
        return "SIGBUS, memory that cannot be reached";
    case SIGFPE:
        return "SIGFPE, an integer division by zero or overflow";
    case SIGILL:
        return "SIGILL, an instruction this CPU does not have";
    default:
        return "an unexpected signal";
    }
}

void cpu_describe_failure(const struct cpu_executor *executor, struct ig_error *error) {
    const struct cpu_command *command = executor->command;
    const struct cpu_failure *failure = &executor->failure;
    const uint32_t *at = executor->group.group_position;
    struct ig_text text = {0};
    ingot_status status = INGOT_KERNEL_FAULT;
    ig_text_printf(&text, "kernel \"%s\", threadgroup%s (%u, %u, %u)",
                   command->u.dispatch.kernel->variant->kernel, executor->run > 1 ? "s" : "", at[0],
                   at[1], at[2]);
    if (executor->run > 1) {
        ig_text_printf(&text, " to (%u, %u, %u)", at[0] + executor->run - 1, at[1], at[2]);
    }
    ig_text_puts(&text, ": ");
    switch (failure->kind) {
    case CPU_FAULT:
        ig_text_printf(&text, "stopped by signal %d (%s) at ", failure->signal,
                       signal_meaning(failure->signal));
        if (failure->no_address) {
            ig_text_puts(&text, "an address that no memory can have");
            break;
        }
        ig_text_printf(&text, "address 0x%llx", (ull)failure->address);
        if (failure->signal == SIGSEGV || failure->signal == SIGBUS) {
            append_nearest(&text, command, failure->address);
        }
        break;
    case CPU_TIMEOUT:
        status = INGOT_TIMEOUT;
        ig_text_printf(&text, "ran past its time limit of %g s", command->time_limit);
        break;
    case CPU_STOPPED:
        status = INGOT_CANCELLED;
        ig_text_puts(&text, "stopped by ingot_stream_cancel");
        break;
    case CPU_BARRIER_LANES: {
        status = INGOT_BARRIER_ERROR;
        uint32_t full = failure->simdgroup + 1 == executor->group.simdgroup_count
                            ? executor->last_mask
                            : UINT32_MAX;
        ig_say_lanes_missing(&text, failure->simdgroup, failure->mask, full);
        break;
    }
    case CPU_BARRIER_ENDED: {
        status = INGOT_BARRIER_ERROR;
        uint32_t count = executor->group.simdgroup_count;
        uint32_t all = count == 32 ? UINT32_MAX : (1u << count) - 1;
        ig_say_simdgroups_ended(&text, all & ~failure->mask, all);
        break;
    }
    case CPU_NO_MEMORY:
        status = INGOT_OUT_OF_MEMORY;
        ig_text_puts(&text, failure->reason);
        break;
    case CPU_TRAP:
    case CPU_NO_FAILURE:
        ig_text_puts(&text, failure->reason);
        break;
    }
    ig_fail(error, status, "%s", ig_text_string(&text));
    ig_text_free(&text);
}
