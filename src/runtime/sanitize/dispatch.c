/* One dispatch of sanitized code: what is bound, and whose function a call is for. */
#include <stdlib.h>
#include <string.h>

#include "runtime/sanitize/sanitizer.h"

/* What is bound, in bytes from the argument's address on. */
static uint64_t bound_bytes(const struct ig_launch *launch, const struct ig_argument *argument) {
    if (argument->index >= launch->arg_count) {
        return 0;
    }
    const ingot_arg *arg = &launch->args[argument->index];
    return arg->buffer ? arg->buffer->length - arg->offset : arg->size;
}

static void fill_bytes(struct ig_sanitized *sanitized, const struct ig_launch *launch) {
    const struct ig_variant *variant = launch->kernel->variant;
    for (uint32_t i = 0; i < variant->argument_count; i++) {
        const struct ig_argument *argument = &variant->arguments[i];
        if (!argument->active) {
            continue;
        }
        if (argument->kind == INGOT_ARGUMENT_BUFFER) {
            sanitized->buffer_bytes[argument->slot] = bound_bytes(launch, argument);
        } else if (argument->index < launch->threadgroup_length_count) {
            sanitized->threadgroup_bytes[argument->slot] =
                launch->threadgroup_lengths[argument->index];
        }
    }
}

ingot_status ig_sanitized_open(const struct ig_launch *launch,
                               const struct ingot_cpu_places *places,
                               const struct ingot_cpu_sanitizer *table, void *const *buffers,
                               struct ig_sanitized **result, struct ig_error *error) {
    uint32_t slots = launch->kernel->buffer_slots, groups = launch->kernel->threadgroup_slots;
    struct ig_sanitized *sanitized =
        calloc(1, sizeof *sanitized + ((size_t)slots + groups) * sizeof(uint64_t));
    if (!sanitized) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to check kernel \"%s\"",
                       launch->kernel->variant->kernel);
    }
    sanitized->table = *table;
    sanitized->sanitizer = launch->kernel->device->sanitizer;
    sanitized->places = places;
    sanitized->kernel = launch->kernel;
    sanitized->buffer_slots = slots;
    sanitized->threadgroup_slots = groups;
    sanitized->buffers = buffers;
    sanitized->buffer_bytes = (uint64_t *)(sanitized + 1);
    sanitized->threadgroup_bytes = sanitized->buffer_bytes + slots;
    sanitized->threadgroup_memory = launch->threadgroup_bytes;
    memcpy(sanitized->groups, launch->groups, sizeof sanitized->groups);
    memcpy(sanitized->group, launch->group, sizeof sanitized->group);
    sanitized->table.buffer_bytes = sanitized->buffer_bytes;
    sanitized->table.threadgroup_bytes = sanitized->threadgroup_bytes;
    fill_bytes(sanitized, launch);
    for (uint32_t kind = 0; kind < IG_SANITIZE_COUNT; kind++) {
        if (sanitized->sanitizer->kinds >> kind & 1 && ig_sanitize_kinds[kind].open &&
            !ig_sanitize_kinds[kind].open(sanitized)) {
            ig_sanitized_close(sanitized);
            return ig_fail(error, INGOT_OUT_OF_MEMORY,
                           "no memory for the %s checks of kernel \"%s\"", ig_sanitize_name(kind),
                           launch->kernel->variant->kernel);
        }
    }
    *result = sanitized;
    return INGOT_OK;
}

void ig_sanitized_close(struct ig_sanitized *sanitized) {
    if (!sanitized) {
        return;
    }
    for (uint32_t kind = 0; kind < IG_SANITIZE_COUNT; kind++) {
        if (sanitized->states[kind] && ig_sanitize_kinds[kind].close) {
            ig_sanitize_kinds[kind].close(sanitized);
        }
    }
    free(sanitized);
}

void ig_sanitized_begin_group(const struct ingot_cpu_group *group) {
    struct ig_sanitized *sanitized = ig_sanitized_of(group);
    uint64_t change = atomic_load_explicit(&sanitized->sanitizer->change, memory_order_acquire);
    if (group->ranges->change != change) { /* a buffer came or went */
        *group->ranges = (struct ingot_cpu_ranges){.change = change};
    }
    for (uint32_t kind = 0; kind < IG_SANITIZE_COUNT; kind++) {
        if (sanitized->states[kind] && ig_sanitize_kinds[kind].begin_group) {
            ig_sanitize_kinds[kind].begin_group(sanitized, group);
        }
    }
}

void ig_sanitized_end_group(const struct ingot_cpu_group *group) {
    struct ig_sanitized *sanitized = ig_sanitized_of(group);
    for (uint32_t kind = 0; kind < IG_SANITIZE_COUNT; kind++) {
        if (sanitized->states[kind] && ig_sanitize_kinds[kind].end_group) {
            ig_sanitize_kinds[kind].end_group(sanitized, group);
        }
    }
}

/* ---- calls of kernel code ---- */

static struct ig_check check_of(const struct ingot_cpu_group *group, uint32_t simdgroup,
                                uint32_t mask, uint32_t place) {
    struct ig_sanitized *dispatch = ig_sanitized_of(group);
    return (struct ig_check){.group = group,
                             .dispatch = dispatch,
                             .simdgroup = simdgroup,
                             .mask = mask,
                             .number = place,
                             .place = &dispatch->places->items[place]};
}

void ig_sanitized_report(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                         uint32_t place, const uint64_t *values) {
    struct ig_check check = check_of(group, simdgroup, mask, place);
    check.first = values;
    ig_sanitize_found(&check, mask, NULL);
}

void ig_sanitized_tell(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                       uint32_t place, const uint64_t *first, const uint64_t *second) {
    struct ig_check check = check_of(group, simdgroup, mask, place);
    check.first = first;
    check.second = second;
    const struct ig_sanitize_kind_ops *ops = &ig_sanitize_kinds[check.place->kind];
    if (ops->tell) {
        ops->tell(&check);
    }
}

uint32_t ig_sanitized_ask(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask,
                          uint32_t place, const uint64_t *first, const uint64_t *second) {
    struct ig_check check = check_of(group, simdgroup, mask, place);
    check.first = first;
    check.second = second;
    const struct ig_sanitize_kind_ops *ops = &ig_sanitize_kinds[check.place->kind];
    return ops->ask ? ops->ask(&check) : mask;
}
