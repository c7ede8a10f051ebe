/*
 * Counted code on the CPU device: its table of functions, which leave the kernel for as long as
 * they take (they allocate, and must not be left half-way by the watchdog).
 */
#include "runtime/cpu/cpu.h"
#include "runtime/profile/counters.h"

static void tell(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                 uint32_t place, const uint64_t *addresses, const uint64_t *sizes) {
    struct cpu_executor *executor = group->runtime;
    executor->in_kernel = 0;
    ig_counted_tell(group, simdgroup, mask, place, addresses, sizes);
    cpu_reenter_kernel(executor);
}

/* Touches what belongs to the worker only, and allocates nothing: it may be left at any time. */
static void count(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                  uint32_t place) {
    ig_counted_count(group, simdgroup, mask, place);
}

const struct ingot_cpu_sanitizer cpu_counters = {.tell = tell, .count = count};

void cpu_trace_part(const struct cpu_executor *executor, const struct cpu_command *command,
                    uint64_t start, uint64_t end) {
    bool is_kernel = command->kind == CPU_DISPATCH;
    ig_trace_work(&executor->device->base, executor->index, is_kernel ? "kernel" : "copy",
                  is_kernel                   ? command->u.dispatch.kernel->variant->kernel
                  : command->kind == CPU_COPY ? "copy"
                                              : "fill",
                  start, end);
}
