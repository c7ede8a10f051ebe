/*
 * services->log: one message of a thread.
 *
 * The kernel says where the format and its strings are, and may be wrong. They are read as the
 * kernel would read them (in_kernel), so that a fault ends the launch; copies are made before
 * anything else is done with them. What is allocated meanwhile belongs to the executor: a fault
 * leaves from here for good. The user's function and malloc run outside of the kernel, since the
 * watchdog must not leave them half-way.
 */
#include <string.h>

#include "base/text.h"
#include "runtime/cpu/cpu.h"

void cpu_service_log(const struct ingot_cpu_group *group, uint32_t level, const char *format,
                     uint32_t count, const uint64_t *args);

/* Byte by byte: no function of a library is to be left half-way, or to know better. */
__attribute__((no_sanitize("address", "thread"))) static size_t
kernel_text_length(struct cpu_executor *executor, const volatile char *text) {
    size_t length = 0;
    executor->in_kernel = 1;
    while (text[length]) {
        length++;
    }
    executor->in_kernel = 0;
    return length;
}

__attribute__((no_sanitize("address", "thread"))) static void
kernel_text_copy(struct cpu_executor *executor, const volatile char *text, size_t length,
                 char *copy) {
    executor->in_kernel = 1;
    for (size_t i = 0; i < length; i++) {
        copy[i] = text[i];
    }
    executor->in_kernel = 0;
}

/* `copy` becomes the kernel's text, or "" if there is no memory for it. */
static const char *take_text(struct cpu_executor *executor, uint64_t address,
                             struct ig_text *copy) {
    static const char zeros[256];
    const volatile char *text = (const volatile char *)(uintptr_t)address;
    copy->size = 0;
    size_t length = kernel_text_length(executor, text);
    for (size_t have = 0; have < length; have += sizeof zeros) {
        size_t more = length - have;
        ig_text_append(copy, zeros, more < sizeof zeros ? more : sizeof zeros);
    }
    if (copy->failed || !length) {
        ig_text_free(copy);
        return "";
    }
    kernel_text_copy(executor, text, length, copy->data);
    return copy->data;
}

static const char *string_argument(void *context, uint64_t address) {
    struct cpu_executor *executor = context;
    return take_text(executor, address, &executor->log.string);
}

void cpu_service_log(const struct ingot_cpu_group *group, uint32_t level, const char *format,
                     uint32_t count, const uint64_t *args) {
    struct cpu_executor *executor = group->runtime;
    struct ig_text *message = &executor->log.message;
    executor->in_kernel = 0;
    ig_text_free(message);
    ig_log_format(message,
                  format ? take_text(executor, (uintptr_t)format, &executor->log.format) : "",
                  count, args, string_argument, executor);
    ig_log_message((int)level, ig_text_string(message));
    cpu_reenter_kernel(executor);
}

void cpu_log_free(struct cpu_executor *executor) {
    ig_text_free(&executor->log.format);
    ig_text_free(&executor->log.string);
    ig_text_free(&executor->log.message);
}
