/* services->log: one message of a thread. */
#include "base/text.h"
#include "runtime/cpu/cpu.h"

void cpu_service_log(const struct ingot_cpu_group *group, uint32_t level, const char *format,
                     uint32_t count, const uint64_t *args);

static const char *own_string(void *context, uint64_t address) {
    (void)context;
    return (const char *)(uintptr_t)address;
}

void cpu_service_log(const struct ingot_cpu_group *group, uint32_t level, const char *format,
                     uint32_t count, const uint64_t *args) {
    struct cpu_executor *executor = group->runtime;
    /* User code and malloc must not be left half-way by the watchdog. */
    executor->in_kernel = 0;
    struct ig_text message = {0};
    ig_log_format(&message, format ? format : "", count, args, own_string, NULL);
    ig_log_message((int)level, ig_text_string(&message));
    ig_text_free(&message);
    cpu_reenter_kernel(executor);
}
