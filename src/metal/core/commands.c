/*
 * The commands of a command buffer: recorded by encoders, kept in chunks of memory, and given to a
 * stream when the command buffer is submitted.
 *
 * A kernel's arguments are taken from the encoder's bindings by the kernel's own list, so bindings
 * that the kernel lacks do not matter. Not checked here: what a launch must be; the stream does
 * that.
 */
#include <stdlib.h>
#include <string.h>

#include "metal/core/core.h"

enum { CHUNK = 8 << 10, ALIGNMENT = 16 };

struct im_chunk {
    struct im_chunk *next;
    size_t used, size;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

static void *take(struct im_commands *commands, size_t size) {
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct im_chunk *chunk = commands->chunks;
    if (!chunk || chunk->size - chunk->used < size) {
        size_t room = size > CHUNK ? size : CHUNK;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk) {
            return NULL;
        }
        *chunk = (struct im_chunk){.next = commands->chunks, .size = room};
        commands->chunks = chunk;
    }
    void *memory = chunk->bytes + chunk->used;
    chunk->used += size;
    return memory;
}

static struct im_command *add(struct im_commands *commands, enum im_command_kind kind) {
    struct im_command *command = take(commands, sizeof *command);
    if (command) {
        memset(command, 0, sizeof *command);
        command->kind = kind;
        if (commands->last) {
            commands->last->next = command;
        } else {
            commands->first = command;
        }
        commands->last = command;
    }
    return command;
}

ingot_status im_pipeline_init(struct im_pipeline *pipeline, ingot_kernel *kernel) {
    *pipeline = (struct im_pipeline){.kernel = kernel};
    ingot_status status = ingot_kernel_get_info(kernel, &pipeline->info);
    for (uint32_t i = 0; status == INGOT_OK && i < pipeline->info.argument_count; i++) {
        ingot_argument_info argument;
        status = ingot_kernel_argument_info(kernel, i, &argument);
        if (status != INGOT_OK || !argument.active || argument.index >= IM_BUFFERS) {
            continue;
        }
        if (argument.kind == INGOT_ARGUMENT_THREADGROUP) {
            pipeline->threadgroup_buffers |= 1u << argument.index;
        } else if (argument.used) { /* at the index of others may be what another kernel had */
            pipeline->buffers |= 1u << argument.index;
            pipeline->most_bytes[argument.index] =
                argument.is_reference ? (uint32_t)argument.type_size : 0;
        }
    }
    return status;
}

static uint32_t count_of(uint32_t bits) { /* one past the highest */
    return bits ? 32u - (uint32_t)__builtin_clz(bits) : 0;
}

/* False without memory; the arguments so far are in the command then. */
static bool bind(struct im_commands *commands, const struct im_dispatch *dispatch,
                 struct im_command *command) {
    uint32_t bits = dispatch->pipeline->buffers, count = count_of(bits);
    ingot_arg *args = take(commands, count * sizeof *args + 1);
    if (!args) {
        return false;
    }
    memset(args, 0, count * sizeof *args);
    command->u.dispatch.desc.args = args;
    command->u.dispatch.desc.arg_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct im_binding *binding = &dispatch->bindings[i];
        if (!(bits >> i & 1)) {
            continue;
        }
        if (binding->buffer) {
            ingot_buffer_retain(binding->buffer);
            args[i] = (ingot_arg){.buffer = binding->buffer, .offset = binding->offset};
        } else if (binding->size) {
            const uint32_t most = dispatch->pipeline->most_bytes[i];
            const uint32_t size = most && most < binding->size ? most : binding->size;
            void *bytes = take(commands, size);
            if (!bytes) {
                return false;
            }
            memcpy(bytes, binding->bytes, size);
            args[i] = (ingot_arg){.bytes = bytes, .size = size};
        }
    }
    bits = dispatch->pipeline->threadgroup_buffers;
    count = count_of(bits);
    uint32_t *lengths = take(commands, count * sizeof *lengths + 1);
    if (!lengths) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        lengths[i] = bits >> i & 1 ? dispatch->threadgroup_lengths[i] : 0;
    }
    command->u.dispatch.desc.threadgroup_lengths = lengths;
    command->u.dispatch.desc.threadgroup_length_count = count;
    return true;
}

bool im_commands_dispatch(struct im_commands *commands, const struct im_dispatch *dispatch) {
    struct im_command *command =
        add(commands, dispatch->indirect ? IM_COMMAND_DISPATCH_INDIRECT : IM_COMMAND_DISPATCH);
    if (!command) {
        return false;
    }
    ingot_dispatch_desc *desc = &command->u.dispatch.desc;
    desc->kernel = dispatch->pipeline->kernel;
    ingot_kernel_retain(desc->kernel);
    memcpy(dispatch->in_threads ? desc->threads : desc->threadgroups, dispatch->grid,
           sizeof dispatch->grid);
    memcpy(desc->group, dispatch->group, sizeof desc->group);
    if (dispatch->indirect) {
        command->u.dispatch.sizes = dispatch->indirect;
        command->u.dispatch.sizes_offset = dispatch->indirect_offset;
        ingot_buffer_retain(dispatch->indirect);
        commands->has_blocking = true;
    }
    return bind(commands, dispatch, command);
}

bool im_commands_copy(struct im_commands *commands, ingot_buffer *source, uint64_t source_offset,
                      ingot_buffer *destination, uint64_t destination_offset, uint64_t length) {
    struct im_command *command = add(commands, IM_COMMAND_COPY);
    if (!command) {
        return false;
    }
    ingot_buffer_retain(source);
    ingot_buffer_retain(destination);
    command->u.transfer.source = source;
    command->u.transfer.source_offset = source_offset;
    command->u.transfer.destination = destination;
    command->u.transfer.destination_offset = destination_offset;
    command->u.transfer.length = length;
    return true;
}

bool im_commands_fill(struct im_commands *commands, ingot_buffer *buffer, uint64_t offset,
                      uint64_t length, uint8_t value) {
    struct im_command *command = add(commands, IM_COMMAND_FILL);
    if (!command) {
        return false;
    }
    ingot_buffer_retain(buffer);
    command->u.transfer.destination = buffer;
    command->u.transfer.destination_offset = offset;
    command->u.transfer.length = length;
    command->u.transfer.value = value;
    return true;
}

bool im_commands_event(struct im_commands *commands, struct im_timeline *timeline, uint64_t value,
                       bool is_signal, bool is_shared) {
    struct im_command *command = add(commands, is_signal ? IM_COMMAND_SIGNAL : IM_COMMAND_WAIT);
    if (!command) {
        return false;
    }
    im_timeline_retain(timeline);
    command->u.event.timeline = timeline;
    command->u.event.value = value;
    command->u.event.is_shared = is_shared;
    commands->has_waits |= !is_signal;
    commands->has_shared_signals |= is_signal && is_shared;
    return true;
}

bool im_commands_sample(struct im_commands *commands, struct im_samples *samples, size_t index) {
    struct im_command *command = add(commands, IM_COMMAND_SAMPLE);
    if (!command) {
        return false;
    }
    im_samples_retain(samples);
    command->u.samples.samples = samples;
    command->u.samples.first = index;
    return true;
}

bool im_commands_resolve(struct im_commands *commands, struct im_samples *samples, size_t first,
                         size_t count, ingot_buffer *buffer, uint64_t offset) {
    struct im_command *command = add(commands, IM_COMMAND_RESOLVE);
    if (!command) {
        return false;
    }
    im_samples_retain(samples);
    ingot_buffer_retain(buffer);
    command->u.samples.samples = samples;
    command->u.samples.first = first;
    command->u.samples.count = count;
    command->u.samples.buffer = buffer;
    command->u.samples.offset = offset;
    commands->has_blocking = true;
    return true;
}

static void release_command(struct im_command *command) {
    switch (command->kind) {
    case IM_COMMAND_DISPATCH:
    case IM_COMMAND_DISPATCH_INDIRECT:
        for (size_t i = 0; i < command->u.dispatch.desc.arg_count; i++) {
            ingot_buffer_release(command->u.dispatch.desc.args[i].buffer);
        }
        ingot_buffer_release(command->u.dispatch.sizes);
        ingot_kernel_release(command->u.dispatch.desc.kernel);
        break;
    case IM_COMMAND_COPY:
    case IM_COMMAND_FILL:
        ingot_buffer_release(command->u.transfer.source);
        ingot_buffer_release(command->u.transfer.destination);
        break;
    case IM_COMMAND_SIGNAL:
    case IM_COMMAND_WAIT:
        ingot_event_release(command->u.event.reached);
        im_timeline_release(command->u.event.timeline);
        break;
    case IM_COMMAND_SAMPLE:
    case IM_COMMAND_RESOLVE:
        ingot_buffer_release(command->u.samples.buffer);
        im_samples_release(command->u.samples.samples);
        break;
    }
}

void im_commands_clear(struct im_commands *commands) {
    for (struct im_command *command = commands->first; command; command = command->next) {
        release_command(command);
    }
    while (commands->chunks) {
        struct im_chunk *next = commands->chunks->next;
        free(commands->chunks);
        commands->chunks = next;
    }
    *commands = (struct im_commands){0};
}

/* Would submitting it wait for somebody? */
static bool blocks(const struct im_command *command) {
    if (command->kind != IM_COMMAND_WAIT) {
        return command->kind == IM_COMMAND_DISPATCH_INDIRECT || command->kind == IM_COMMAND_RESOLVE;
    }
    ingot_event *event;
    bool is_found =
        im_timeline_find(command->u.event.timeline, command->u.event.value, false, &event);
    ingot_event_release(event);
    return !is_found;
}

bool im_commands_block(const struct im_commands *commands) {
    if (commands->has_blocking) {
        return true;
    }
    struct im_command *command = commands->has_waits ? commands->first : NULL;
    while (command && !blocks(command)) {
        command = command->next;
    }
    return command != NULL;
}

static ingot_status submit_indirect(struct im_command *command, ingot_stream *stream) {
    uint32_t sizes[3];
    ingot_status status = ingot_stream_download(
        stream, command->u.dispatch.sizes, command->u.dispatch.sizes_offset, sizes, sizeof sizes);
    if (status != INGOT_OK || !sizes[0] || !sizes[1] || !sizes[2]) {
        return status;
    }
    memcpy(command->u.dispatch.desc.threadgroups, sizes, sizeof sizes);
    return ingot_stream_dispatch(stream, &command->u.dispatch.desc);
}

static ingot_status submit_signal(struct im_command *command, ingot_device *device,
                                  ingot_stream *stream) {
    ingot_event *event = NULL;
    ingot_status status = ingot_event_create(device, &event);
    if (status == INGOT_OK) {
        status = ingot_stream_record(stream, event);
    }
    command->u.event.reached = event;
    if (status == INGOT_OK &&
        !im_timeline_promise(command->u.event.timeline, command->u.event.value, event)) {
        status = INGOT_OUT_OF_MEMORY;
    }
    return status;
}

void im_commands_tell(struct im_commands *commands, const struct im_command *end) {
    struct im_command *command = commands->has_shared_signals ? commands->first : NULL;
    for (; command && command != end; command = command->next) {
        bool is_new = command->kind == IM_COMMAND_SIGNAL && command->u.event.is_shared &&
                      !command->u.event.is_told;
        if (is_new) {
            if (command->u.event.reached) {
                ingot_event_wait(command->u.event.reached);
            }
            command->u.event.is_told = true;
            im_timeline_set(command->u.event.timeline, command->u.event.value);
        }
    }
}

static ingot_status submit_wait(struct im_command *command, ingot_stream *stream) {
    ingot_event *event;
    im_timeline_find(command->u.event.timeline, command->u.event.value, true, &event);
    ingot_status status = event ? ingot_stream_wait_event(stream, event) : INGOT_OK;
    ingot_event_release(event);
    return status;
}

static ingot_status submit_sample(struct im_command *command, ingot_device *device,
                                  ingot_stream *stream) {
    ingot_event *event = NULL;
    ingot_status status = ingot_event_create(device, &event);
    if (status == INGOT_OK) {
        status = ingot_stream_record(stream, event);
    }
    if (status == INGOT_OK) {
        im_samples_set(command->u.samples.samples, command->u.samples.first, event);
    }
    ingot_event_release(event);
    return status;
}

static ingot_status submit_resolve(struct im_command *command, ingot_stream *stream) {
    ingot_status status = INGOT_OK;
    for (size_t i = 0; i < command->u.samples.count && status == INGOT_OK; i++) {
        uint64_t value = im_samples_value(command->u.samples.samples, command->u.samples.first + i);
        status =
            ingot_stream_upload(stream, command->u.samples.buffer,
                                command->u.samples.offset + i * sizeof value, &value, sizeof value);
    }
    return status;
}

static ingot_status submit(struct im_command *command, ingot_device *device, ingot_stream *stream) {
    switch (command->kind) {
    case IM_COMMAND_DISPATCH:
        return ingot_stream_dispatch(stream, &command->u.dispatch.desc);
    case IM_COMMAND_DISPATCH_INDIRECT:
        return submit_indirect(command, stream);
    case IM_COMMAND_COPY:
        return ingot_stream_copy(stream, command->u.transfer.source,
                                 command->u.transfer.source_offset, command->u.transfer.destination,
                                 command->u.transfer.destination_offset,
                                 command->u.transfer.length);
    case IM_COMMAND_FILL:
        return ingot_stream_fill(stream, command->u.transfer.destination,
                                 command->u.transfer.destination_offset, command->u.transfer.length,
                                 command->u.transfer.value);
    case IM_COMMAND_SIGNAL:
        return submit_signal(command, device, stream);
    case IM_COMMAND_WAIT:
        return submit_wait(command, stream);
    case IM_COMMAND_SAMPLE:
        return submit_sample(command, device, stream);
    case IM_COMMAND_RESOLVE:
        return submit_resolve(command, stream);
    }
    return INGOT_INTERNAL_ERROR;
}

ingot_status im_commands_submit(struct im_commands *commands, ingot_device *device,
                                ingot_stream *stream, char **message) {
    ingot_status status = INGOT_OK;
    for (struct im_command *command = commands->first; command; command = command->next) {
        /* Others may wait for a signal: it comes even after a failure. */
        if (status != INGOT_OK && command->kind != IM_COMMAND_SIGNAL) {
            continue;
        }
        if (blocks(command)) { /* perhaps until the host has seen an earlier signal */
            im_commands_tell(commands, command);
        }
        ingot_status result = submit(command, device, stream);
        if (result != INGOT_OK && status == INGOT_OK) {
            status = result;
            *message = strdup(ingot_error_message());
        }
    }
    return status;
}
