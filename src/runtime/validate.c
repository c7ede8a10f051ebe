/*
 * The launch validator: every check of a dispatch, before anything is queued.
 *
 * Requires a kernel whose launch tables kernel.c has filled. Provides a struct ig_launch in
 * which sizes are whole and positive, threadgroup memory is laid out, and every active
 * argument is present, large enough and aligned. Does not look at the contents of memory.
 * Each refusal names the kernel, the argument and both values.
 */
#include <string.h>

#include "runtime/objects.h"

#define DEFAULT_GROUP 256u

typedef unsigned long long ull;

static bool all_zero(const uint32_t extent[3]) {
    return extent[0] == 0 && extent[1] == 0 && extent[2] == 0;
}

static const char *kernel_name(const ingot_dispatch_desc *desc) {
    return desc->kernel->variant->kernel;
}

static uint32_t round_up_to_simd(uint32_t value) {
    return value > UINT32_MAX - 31 ? value : (value + 31) / 32 * 32;
}

/* {0} asks for a default: 1-D up to 256 threads, otherwise rows of 32. */
static void default_group(const ingot_dispatch_desc *desc, uint32_t limit, uint32_t group[3]) {
    group[0] = limit < DEFAULT_GROUP ? limit : DEFAULT_GROUP;
    group[1] = group[2] = 1;
    const uint32_t *threads = desc->threads;
    if (all_zero(threads)) {
        return;
    }
    if (threads[1] > 1 && limit >= 32) {
        uint32_t rows = group[0] / 32;
        group[0] = 32;
        group[1] = rows < threads[1] ? rows : threads[1];
        return;
    }
    uint32_t wanted = round_up_to_simd(threads[0]);
    if (wanted && wanted < group[0]) {
        group[0] = wanted;
    }
}

static ingot_status check_group(const ingot_dispatch_desc *desc, struct ig_launch *launch,
                                struct ig_error *error) {
    uint32_t limit = desc->kernel->max_threads;
    const uint32_t *group = desc->group;
    if (all_zero(group)) {
        default_group(desc, limit, launch->group);
        return INGOT_OK;
    }
    if (group[0] == 0) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\": the threadgroup size %u x %u x %u has no threads",
                       kernel_name(desc), group[0], group[1], group[2]);
    }
    uint64_t total = 1;
    for (int axis = 0; axis < 3; axis++) {
        launch->group[axis] = group[axis] ? group[axis] : 1;
        /* Saturates well below overflow: each factor is below 2^32, the limit at most 2^16. */
        if (total <= UINT32_MAX) {
            total *= launch->group[axis];
        }
    }
    if (total > limit) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\": a threadgroup of %u x %u x %u = %llu threads is more than "
                       "the kernel's limit of %u",
                       kernel_name(desc), launch->group[0], launch->group[1], launch->group[2],
                       (ull)total, limit);
    }
    return INGOT_OK;
}

static ingot_status check_grid(const ingot_dispatch_desc *desc, struct ig_launch *launch,
                               struct ig_error *error) {
    bool by_threads = !all_zero(desc->threads), by_groups = !all_zero(desc->threadgroups);
    if (by_threads == by_groups) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\": %s; set exactly one of the two (an empty grid is {0, 1, 1})",
                       kernel_name(desc),
                       by_threads ? "both threads and threadgroups are set"
                                  : "neither threads nor threadgroups is set");
    }
    const uint32_t *extent = by_threads ? desc->threads : desc->threadgroups;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t size = extent[axis], group = launch->group[axis];
        if (size == 0 && axis > 0) {
            size = 1;
        }
        if (by_threads) {
            launch->threads[axis] = size;
            launch->groups[axis] = size / group + (size % group != 0);
            continue;
        }
        uint64_t threads = (uint64_t)size * group;
        if (threads > UINT32_MAX) {
            return ig_fail(error, INGOT_LAUNCH_ERROR,
                           "kernel \"%s\": %u threadgroups of %u threads along axis %d are %llu "
                           "threads, more than the limit of %u",
                           kernel_name(desc), size, group, axis, (ull)threads, UINT32_MAX);
        }
        launch->threads[axis] = (uint32_t)threads;
        launch->groups[axis] = size;
    }
    return INGOT_OK;
}

static ingot_status check_bytes(const ingot_dispatch_desc *desc, const struct ig_argument *argument,
                                const ingot_arg *arg, struct ig_error *error) {
    uint64_t type_size = argument->type_size;
    if (!arg->bytes || !arg->size) {
        return ig_fail(
            error, INGOT_LAUNCH_ERROR,
            "kernel \"%s\", argument %u \"%s\": %s, but %llu bytes of type %s are needed",
            kernel_name(desc), argument->index, argument->name,
            arg->bytes ? "the size is 0" : "bytes is NULL", (ull)type_size, argument->type_name);
    }
    if (type_size == 0 || arg->size == type_size) {
        return INGOT_OK;
    }
    if (!argument->is_reference && arg->size > type_size && arg->size % type_size == 0) {
        return INGOT_OK;
    }
    return ig_fail(error, INGOT_LAUNCH_ERROR,
                   "kernel \"%s\", argument %u \"%s\": %zu bytes were given, but type %s has %llu "
                   "bytes%s",
                   kernel_name(desc), argument->index, argument->name, arg->size,
                   argument->type_name, (ull)type_size,
                   argument->is_reference ? "" : " and a multiple is needed");
}

static ingot_status check_alignment(const ingot_device *device, const ingot_dispatch_desc *desc,
                                    const struct ig_argument *argument, const ingot_arg *arg,
                                    struct ig_error *error) {
    uint64_t minimum = device->info.min_offset_alignment;
    uint64_t needed = argument->type_align > minimum ? argument->type_align : minimum;
    if (needed <= 1) {
        return INGOT_OK;
    }
    if (arg->offset % needed) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\", argument %u \"%s\": offset %llu is not a multiple of %llu, "
                       "the alignment of type %s",
                       kernel_name(desc), argument->index, argument->name, (ull)arg->offset,
                       (ull)needed, argument->type_name);
    }
    if ((arg->buffer->address + arg->offset) % needed) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\", argument %u \"%s\": the wrapped memory at 0x%llx is not "
                       "aligned to %llu bytes, which type %s needs",
                       kernel_name(desc), argument->index, argument->name,
                       (ull)arg->buffer->address, (ull)needed, argument->type_name);
    }
    return INGOT_OK;
}

static ingot_status check_buffer(const ingot_device *device, const ingot_dispatch_desc *desc,
                                 const struct ig_argument *argument, const ingot_arg *arg,
                                 struct ig_error *error) {
    const ingot_buffer *buffer = arg->buffer;
    if (buffer->device != device) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\", argument %u \"%s\": the buffer belongs to another opened "
                       "device (\"%s\") than the stream (\"%s\")",
                       kernel_name(desc), argument->index, argument->name,
                       buffer->device->info.name, device->info.name);
    }
    if (arg->bytes || arg->size) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\", argument %u \"%s\": both a buffer and %zu bytes were given",
                       kernel_name(desc), argument->index, argument->name, arg->size);
    }
    if (arg->offset >= buffer->length) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\", argument %u \"%s\": offset %llu is past the end of the "
                       "buffer, which has %llu bytes",
                       kernel_name(desc), argument->index, argument->name, (ull)arg->offset,
                       (ull)buffer->length);
    }
    uint64_t room = buffer->length - arg->offset;
    if (room < argument->type_size) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\", argument %u \"%s\": the buffer has %llu bytes from offset "
                       "%llu, but type %s has %llu",
                       kernel_name(desc), argument->index, argument->name, (ull)room,
                       (ull)arg->offset, argument->type_name, (ull)argument->type_size);
    }
    ingot_status status = check_alignment(device, desc, argument, arg, error);
    return status == INGOT_OK && buffer->is_host ? ig_buffer_reach(arg->buffer, error) : status;
}

static bool is_absent(const ingot_arg *arg) {
    return !arg->buffer && !arg->bytes && !arg->size && !arg->offset;
}

static bool must_be_there(const struct ig_argument *argument) {
    return !argument->unused && !argument->optional;
}

static const struct ig_argument *argument_at(const uint8_t *table, size_t table_size,
                                             const ingot_kernel *kernel, size_t index) {
    if (index >= table_size || !table[index]) {
        return NULL;
    }
    return &kernel->variant->arguments[table[index] - 1];
}

static ingot_status missing_argument(const ingot_dispatch_desc *desc,
                                     const struct ig_argument *argument, struct ig_error *error) {
    return ig_fail(error, INGOT_LAUNCH_ERROR,
                   "kernel \"%s\", argument %u \"%s\" of type %s is missing: %zu arguments were "
                   "given, and this one is absent",
                   kernel_name(desc), argument->index, argument->name, argument->type_name,
                   desc->arg_count);
}

static ingot_status check_arguments(const ingot_device *device, const ingot_dispatch_desc *desc,
                                    struct ig_error *error) {
    const ingot_kernel *kernel = desc->kernel;
    if (desc->arg_count && !desc->args) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\": args is NULL, but arg_count is %zu", kernel_name(desc),
                       desc->arg_count);
    }
    for (size_t index = 0; index < desc->arg_count; index++) {
        const ingot_arg *arg = &desc->args[index];
        const struct ig_argument *argument =
            argument_at(kernel->buffer_at, IG_MAX_BUFFER_INDEX, kernel, index);
        bool absent = is_absent(arg);
        if (!argument) {
            if (absent) {
                continue;
            }
            return ig_fail(error, INGOT_LAUNCH_ERROR,
                           "kernel \"%s\": an argument was given for buffer index %zu, but the "
                           "kernel has no argument there; its highest index is %d",
                           kernel_name(desc), index, (int)kernel->buffer_end - 1);
        }
        if (!argument->active || (absent && !must_be_there(argument))) {
            continue;
        }
        if (absent) {
            return missing_argument(desc, argument, error);
        }
        ingot_status status = arg->buffer ? check_buffer(device, desc, argument, arg, error)
                                          : check_bytes(desc, argument, arg, error);
        if (status != INGOT_OK) {
            return status;
        }
    }
    for (size_t index = desc->arg_count; index < kernel->buffer_end; index++) {
        const struct ig_argument *argument =
            argument_at(kernel->buffer_at, IG_MAX_BUFFER_INDEX, kernel, index);
        if (argument && argument->active && must_be_there(argument)) {
            return missing_argument(desc, argument, error);
        }
    }
    return INGOT_OK;
}

/* Lays dynamic threadgroup memory out after the static part, 16-byte aligned each. */
static ingot_status check_threadgroup_memory(const ingot_device *device, uint32_t most,
                                             const ingot_dispatch_desc *desc,
                                             struct ig_launch *launch, uint32_t *offsets,
                                             struct ig_error *error) {
    const ingot_kernel *kernel = desc->kernel;
    size_t given = desc->threadgroup_length_count;
    if (given && !desc->threadgroup_lengths) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\": threadgroup_lengths is NULL, but its count is %zu",
                       kernel_name(desc), given);
    }
    uint32_t fixed = kernel->variant->static_threadgroup_bytes;
    uint64_t total = ((uint64_t)fixed + 15) & ~(uint64_t)15;
    memset(offsets, 0, kernel->threadgroup_slots * sizeof *offsets);
    for (size_t index = 0; index < given || index < kernel->threadgroup_end; index++) {
        const struct ig_argument *argument =
            argument_at(kernel->threadgroup_at, IG_MAX_THREADGROUP_INDEX, kernel, index);
        uint32_t length = index < given ? desc->threadgroup_lengths[index] : 0;
        if (!argument) {
            if (length) {
                return ig_fail(error, INGOT_LAUNCH_ERROR,
                               "kernel \"%s\": %u bytes were given for threadgroup index %zu, but "
                               "the kernel has no argument there",
                               kernel_name(desc), length, index);
            }
            continue;
        }
        if (!argument->active || (!length && argument->unused)) {
            continue;
        }
        if (length == 0 || length < argument->type_size) {
            return ig_fail(error, INGOT_LAUNCH_ERROR,
                           "kernel \"%s\", threadgroup argument %u \"%s\": a length of %u bytes "
                           "was given, but type %s needs at least %llu",
                           kernel_name(desc), argument->index, argument->name, length,
                           argument->type_name,
                           (ull)(argument->type_size ? argument->type_size : 1));
        }
        offsets[argument->slot] = (uint32_t)total;
        total += ((uint64_t)length + 15) & ~(uint64_t)15;
        if (total > UINT32_MAX) {
            break;
        }
    }
    if (total > most) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\": %llu bytes of threadgroup memory (%u static, the rest "
                       "dynamic) are more than the %u that device \"%s\" has",
                       kernel_name(desc), (ull)total, fixed, most, device->info.name);
    }
    launch->threadgroup_bytes = (uint32_t)total;
    launch->threadgroup_offsets = offsets;
    launch->threadgroup_slots = kernel->threadgroup_slots;
    launch->threadgroup_lengths = desc->threadgroup_lengths;
    launch->threadgroup_length_count = given;
    return INGOT_OK;
}

ingot_status ig_validate_dispatch(const ingot_device *device, uint32_t memory,
                                  const ingot_dispatch_desc *desc, struct ig_launch *launch,
                                  uint32_t *offsets, struct ig_error *error) {
    if (!desc->kernel) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "ingot_stream_dispatch: desc->kernel is NULL");
    }
    if (desc->kernel->device != device) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\" belongs to another opened device (\"%s\") than the stream "
                       "(\"%s\")",
                       kernel_name(desc), desc->kernel->device->info.name, device->info.name);
    }
    launch->kernel = desc->kernel;
    launch->args = desc->args;
    launch->arg_count = desc->arg_count;
    double limit = desc->time_limit_seconds;
    launch->time_limit_seconds = limit != 0 ? limit : device->time_limit_seconds;
    ingot_status status = check_group(desc, launch, error);
    if (status == INGOT_OK) {
        status = check_grid(desc, launch, error);
    }
    if (status == INGOT_OK) {
        status = check_threadgroup_memory(device, memory, desc, launch, offsets, error);
    }
    if (status == INGOT_OK) {
        status = check_arguments(device, desc, error);
    }
    return status;
}
