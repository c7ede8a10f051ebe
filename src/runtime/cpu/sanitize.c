/*
 * Sanitized code on the CPU device: its table of functions, which leave the kernel for as long as
 * they take (they lock and allocate, and must not be left half-way by the watchdog).
 */
#include "runtime/cpu/cpu.h"
#include "runtime/sanitize/sanitizer.h"

static struct cpu_executor *leave(const struct ingot_cpu_group *group) {
    struct cpu_executor *executor = group->runtime;
    executor->in_kernel = 0;
    return executor;
}

static void report(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                   uint32_t place, const uint64_t *values) {
    struct cpu_executor *executor = leave(group);
    ig_sanitized_report(group, simdgroup, mask, place, values);
    cpu_reenter_kernel(executor);
}

static void tell(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                 uint32_t place, const uint64_t *first, const uint64_t *second) {
    struct cpu_executor *executor = leave(group);
    ig_sanitized_tell(group, simdgroup, mask, place, first, second);
    cpu_reenter_kernel(executor);
}

static uint32_t ask(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                    uint32_t place, const uint64_t *first, const uint64_t *second) {
    struct cpu_executor *executor = leave(group);
    uint32_t answer = ig_sanitized_ask(group, simdgroup, mask, place, first, second);
    cpu_reenter_kernel(executor);
    return answer;
}

static void note_access(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                        uint32_t place, uint64_t base, int64_t stride, const uint64_t *values) {
    struct cpu_executor *executor = leave(group);
    ig_race_access(group, simdgroup, mask, place, base, stride, values);
    cpu_reenter_kernel(executor);
}

const struct ingot_cpu_sanitizer cpu_sanitizer = {
    .report = report,
    .tell = tell,
    .ask = ask,
    .access = note_access,
};
