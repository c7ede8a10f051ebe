/*
 * One dispatch: the kernel's parameter block (base/cuda_abi.h), then its launch.
 *
 * Bytes go into the block where the kernel looks for them there. Others are copied to the
 * stream's staging memory: the stream runs in order, so what an earlier dispatch had there is
 * done with when the copy happens.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cuda_abi.h"
#include "runtime/cuda/cuda.h"

enum { STAGING_ALIGNMENT = 256, FIRST_STAGING = 64 << 10 };

static uint64_t staged_size(size_t size) {
    return ((uint64_t)size + STAGING_ALIGNMENT - 1) & ~(uint64_t)(STAGING_ALIGNMENT - 1);
}

static const ingot_arg *argument_of(const struct ig_launch *launch,
                                    const struct cuda_place *place) {
    static const ingot_arg absent = {0};
    return place->index < launch->arg_count ? &launch->args[place->index] : &absent;
}

static bool is_staged(const struct cuda_place *place, const ingot_arg *arg) {
    return !arg->buffer && arg->size > place->room;
}

static ingot_status reserve_staging(struct cuda_stream *stream, const char *kernel, uint64_t size,
                                    struct ig_error *error) {
    const struct cuda_driver *driver = stream->device->driver;
    if (size <= stream->staging_size) {
        return INGOT_OK;
    }
    uint64_t wanted = size < FIRST_STAGING ? FIRST_STAGING : size;
    cu_pointer memory = 0;
    cu_result result = driver->memory_allocate(&memory, wanted);
    if (result != CU_SUCCESS) {
        return cuda_fail(stream->device, result, error,
                         "kernel \"%s\": no memory for %llu bytes of arguments", kernel,
                         (unsigned long long)size);
    }
    if (stream->staging) {
        driver->memory_free(stream->staging);
    }
    stream->staging = memory;
    stream->staging_size = wanted;
    return INGOT_OK;
}

/* The bytes may change when the dispatch has returned. The driver has read them by then, unless
 * they are page-locked. */
static cu_result upload_now(const struct cuda_stream *stream, cu_pointer to, const void *bytes,
                            size_t size) {
    const struct cuda_driver *driver = stream->device->driver;
    if (!cuda_is_page_locked(driver, bytes)) {
        return driver->memory_upload(to, bytes, size, stream->handle);
    }
    void *copy = malloc(size);
    if (!copy) {
        return CU_OUT_OF_MEMORY;
    }
    memcpy(copy, bytes, size);
    cu_result result = driver->memory_upload(to, copy, size, stream->handle);
    free(copy);
    return result;
}

static ingot_status stage_bytes(struct cuda_stream *stream, const struct ig_launch *launch,
                                const struct cuda_code *code, unsigned char *block,
                                struct ig_error *error) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < code->place_count; i++) {
        const ingot_arg *arg = argument_of(launch, &code->places[i]);
        total += is_staged(&code->places[i], arg) ? staged_size(arg->size) : 0;
    }
    if (!total) {
        return INGOT_OK;
    }
    if (cuda_stream_is_captured(stream)) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "kernel \"%s\": %llu bytes of arguments do not fit into the launch, and "
                       "cannot be copied while the stream is captured into a graph",
                       code->kernel, (unsigned long long)total);
    }
    ingot_status status = reserve_staging(stream, code->kernel, total, error);
    uint64_t at = 0;
    for (uint32_t i = 0; i < code->place_count && status == INGOT_OK; i++) {
        const ingot_arg *arg = argument_of(launch, &code->places[i]);
        if (!is_staged(&code->places[i], arg)) {
            continue;
        }
        uint64_t address = stream->staging + at;
        cu_result result = upload_now(stream, address, arg->bytes, arg->size);
        if (result != CU_SUCCESS) {
            status = cuda_fail(stream->device, result, error,
                               "kernel \"%s\": %zu bytes of argument %u cannot be copied",
                               code->kernel, arg->size, code->places[i].index);
        }
        memcpy(block + code->places[i].at, &address, sizeof address);
        at += staged_size(arg->size);
    }
    return status;
}

static uint32_t whole_units(uint32_t bytes) {
    return (bytes + INGOT_CUDA_PANEL_UNIT - 1) / INGOT_CUDA_PANEL_UNIT * INGOT_CUDA_PANEL_UNIT;
}

/* A threadgroup of a launch: its threads, its dynamic threadgroup memory with room for panels
 * behind, and what the launch's flags say of the panels. */
struct cuda_group {
    uint32_t threads, dynamic, panels;
};

static struct cuda_group group_of(const struct cuda_stream *stream, const struct ig_launch *launch,
                                  const struct cuda_code *code) {
    const uint32_t most = stream->device->base.capabilities.max_threadgroup_memory;
    const uint32_t own = launch->threadgroup_bytes > code->static_bytes
                             ? launch->threadgroup_bytes - code->static_bytes
                             : 0;
    struct cuda_group group = {.threads = launch->group[0] * launch->group[1] * launch->group[2],
                               .dynamic = own};
    if (!code->panel_bytes) {
        return group;
    }
    const uint32_t before = whole_units(own), all = before + code->panel_bytes;
    if (whole_units(code->static_bytes) + all <= most) {
        group.panels = INGOT_CUDA_PANELS | before;
        group.dynamic = all;
    } else {
        group.dynamic = before ? before : INGOT_CUDA_PANEL_UNIT;
    }
    return group;
}

/* Everything but staged bytes; says whether there are any. */
static bool fill_block(const struct cuda_stream *stream, const struct ig_launch *launch,
                       const struct cuda_code *code, uint32_t panels, unsigned char *block) {
    struct ingot_cuda_launch header = {.flags = INGOT_CUDA_REFERENCES_INLINE | panels,
                                       .stream = stream->number};
    bool staged = false;
    memset(block, 0, code->block_bytes);
    memcpy(header.threads, launch->threads, sizeof header.threads);
    memcpy(header.group, launch->group, sizeof header.group);
    memcpy(header.groups, launch->groups, sizeof header.groups);
    if (launch->group[1] == 1 && launch->group[2] == 1) {
        header.flags |= INGOT_CUDA_ONE_DIMENSION;
    }
    if (stream->device->lenient_barriers) {
        header.flags |= INGOT_CUDA_LENIENT_BARRIERS;
    }
    for (uint32_t i = 0; i < code->place_count; i++) {
        const struct cuda_place *place = &code->places[i];
        const ingot_arg *arg = argument_of(launch, place);
        uint64_t address = 0;
        if (arg->buffer) {
            address = arg->buffer->address + arg->offset;
        } else if (arg->size && arg->size <= place->room) {
            address = place->bytes_at;
            memcpy(block + place->bytes_at, arg->bytes, arg->size);
        } else {
            staged |= arg->size != 0;
        }
        if (place->is_constant_reference && address != place->bytes_at) {
            header.flags &= ~(uint32_t)INGOT_CUDA_REFERENCES_INLINE;
        }
        memcpy(block + place->at, &address, sizeof address);
    }
    for (uint32_t i = 0; i < code->threadgroup_slots && i < launch->threadgroup_slots; i++) {
        uint32_t offset = launch->threadgroup_offsets[i];
        offset -= offset < code->static_bytes ? offset : code->static_bytes;
        memcpy(block + code->threadgroups_at + 4 * i, &offset, sizeof offset);
    }
    memcpy(block, &header, sizeof header);
    return staged;
}

static ingot_status check_grid(const struct cuda_device *device, const struct ig_launch *launch,
                               const struct cuda_code *code, struct ig_error *error) {
    if (launch->groups[0] > device->max_grid[0]) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\": %u threadgroups along axis 0 are more than the %u that "
                       "device \"%s\" allows",
                       code->kernel, launch->groups[0], device->max_grid[0],
                       device->base.info.name);
    }
    return INGOT_OK;
}

static void note_pending(struct cuda_stream *stream, const struct cuda_code *code, double limit) {
    struct cuda_pending *pending = &stream->pending;
    if (!pending->dispatches++ && !stream->is_wrapped) {
        pending->since = cuda_now();
    }
    pending->allowed += limit;
    pending->is_unlimited |= limit <= 0;
    stream->is_busy = true;
    stream->queued++;
    uint32_t at = 0;
    while (at < pending->recent_count && pending->recent[at] != code) {
        at++;
    }
    if (at == pending->recent_count) {
        if (pending->recent_count < CUDA_RECENT) {
            pending->recent_count++;
        } else {
            at--;
        }
    }
    for (; at; at--) {
        pending->recent[at] = pending->recent[at - 1];
    }
    pending->recent[0] = code;
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static cu_result launch_grid(const struct cuda_stream *stream, const struct cuda_code *code,
                             const uint32_t grid[3], struct cuda_group group, void **parameters) {
    static const cu_launch_attribute overlap = {.id = CU_LAUNCH_PROGRAMMATIC_SERIALIZATION,
                                                .value.allowed = 1};
    const struct cuda_driver *driver = stream->device->driver;
    if (!code->waits) {
        return driver->launch(code->function, grid[0], grid[1], grid[2], group.threads, 1, 1,
                              group.dynamic, stream->handle, parameters, NULL);
    }
    const cu_launch_config config = {.grid = {grid[0], grid[1], grid[2]},
                                     .block = {group.threads, 1, 1},
                                     .shared = group.dynamic,
                                     .stream = stream->handle,
                                     .attributes = &overlap,
                                     .attribute_count = 1};
    return driver->launch_with(&config, code->function, parameters, NULL);
}

/* The hardware counts fewer rows than there may be: a grid that has more goes in parts. */
static cu_result launch_parts(struct cuda_stream *stream, const struct ig_launch *launch,
                              const struct cuda_code *code, struct cuda_group group,
                              unsigned char *block) {
    const uint32_t *groups = launch->groups, *most = stream->device->max_grid;
    uint32_t size = code->block_bytes;
    void *parameters[] = {block, &size}; /* the second: see driver.h */
    cu_result result = CU_SUCCESS;
    for (uint32_t z = 0; z < groups[2] && result == CU_SUCCESS; z += most[2]) {
        for (uint32_t y = 0; y < groups[1] && result == CU_SUCCESS; y += most[1]) {
            const uint32_t first[2] = {y, z};
            if (y || z) {
                memcpy(block + offsetof(struct ingot_cuda_launch, first), first, sizeof first);
            }
            const uint32_t grid[3] = {groups[0], least(groups[1] - y, most[1]),
                                      least(groups[2] - z, most[2])};
            result = launch_grid(stream, code, grid, group, parameters);
        }
    }
    return result;
}

/* What the driver says of a launch when the thread has another context than the kernel, or none. */
static bool is_of_another_context(cu_result result) {
    return result == CU_INVALID_CONTEXT || result == CU_INVALID_HANDLE ||
           result == CU_CONTEXT_IS_DESTROYED;
}

/* The thread nearly always has the context, so the launch comes first and is the only call. */
static ingot_status launch_block(struct cuda_stream *stream, const struct ig_launch *launch,
                                 const struct cuda_code *code, struct cuda_group group,
                                 cu_result *result, struct ig_error *error) {
    _Alignas(16) unsigned char block[INGOT_CUDA_MAX_BLOCK];
    struct cuda_scope scope = {0};
    ingot_status status = INGOT_OK;
    if (fill_block(stream, launch, code, group.panels, block)) {
        status = cuda_enter_relaxed(stream->device, &scope, error);
        if (status == INGOT_OK) {
            status = stage_bytes(stream, launch, code, block, error);
        }
    }
    if (status == INGOT_OK) {
        *result = launch_parts(stream, launch, code, group, block);
    }
    if (status == INGOT_OK && is_of_another_context(*result) && !scope.is_pushed) {
        status = cuda_enter(stream->device, &scope, error);
        if (status == INGOT_OK) {
            *result = launch_parts(stream, launch, code, group, block);
        }
    }
    cuda_leave(stream->device, &scope);
    return status;
}

static ingot_status wait_for_launch(struct cuda_stream *stream, const struct cuda_code *code,
                                    struct ig_error *error) {
    cu_result result = cuda_stream_settle(stream);
    bool has_it = stream->error.status != INGOT_OK;
    return result == CU_SUCCESS || has_it
               ? INGOT_OK
               : cuda_fail(stream->device, result, error, "kernel \"%s\"", code->kernel);
}

ingot_status cuda_launch(struct cuda_stream *stream, const struct ig_launch *launch,
                         struct ig_error *error) {
    struct cuda_device *device = stream->device;
    struct cuda_code *code = launch->kernel->loaded;
    const struct cuda_group group = group_of(stream, launch, code);
    cu_result result = CU_SUCCESS;
    ingot_status status = check_grid(device, launch, code, error);
    if (status == INGOT_OK) {
        status = launch_block(stream, launch, code, group, &result, error);
    }
    if (status != INGOT_OK) {
        return status;
    }
    if (result != CU_SUCCESS) {
        return cuda_fail(device, result, error,
                         "kernel \"%s\": the launch of %u x %u x %u groups of %u threads with %u "
                         "bytes of dynamic threadgroup memory failed",
                         code->kernel, launch->groups[0], launch->groups[1], launch->groups[2],
                         group.threads, group.dynamic);
    }
    bool is_captured =
        (code->log || code->stop || device->is_blocking) && cuda_stream_is_recorded(stream);
    code->has_run = true;
    code->may_have_stopped = code->stop != 0;
    code->is_in_graph |= is_captured;
    note_pending(stream, code, launch->time_limit_seconds);
    return device->is_blocking && !is_captured ? wait_for_launch(stream, code, error) : INGOT_OK;
}
