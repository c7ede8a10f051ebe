/*
 * Streams of the Metal device: a command queue each.
 *
 * Work is encoded into an open command buffer, which is committed when it holds MOST_ENCODED
 * commands, when an event is recorded, and when someone waits. Committed ones are kept until they
 * are over, so that the first error of the stream is found; it drops what comes behind it.
 *
 * A stream of another library (ingot_metal_stream) has no queue here. Each command is encoded into
 * the command buffer that the library names, with an encoder of its own; nothing is committed.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/metal/metal.h"

enum { MOST_ENCODED = 64 };

struct metal_command {
    atomic_uint references;
    const struct ig_metal_bridge *bridge;
    void *handle;
};

struct metal_stream {
    struct metal_device *device;
    struct metal_stream *next;         /* of the device's list */
    const ingot_metal_stream *foreign; /* of another library; NULL: `queue` is ours */
    void *queue;
    pthread_mutex_t lock; /* for all below */
    struct metal_command *open;
    unsigned encoded;                 /* in `open` */
    struct metal_command **in_flight; /* in order */
    size_t in_flight_count, in_flight_capacity;
    struct ig_error error;
};

/* ---- command buffers ---- */

struct metal_command *metal_command_retain(struct metal_command *command) {
    if (command) {
        ig_retain(&command->references);
    }
    return command;
}

void metal_command_release(struct metal_command *command) {
    if (command && ig_release(&command->references)) {
        command->bridge->release(command->handle);
        free(command);
    }
}

void metal_command_wait(struct metal_command *command) {
    command->bridge->command_wait(command->handle);
}

bool metal_command_done(struct metal_command *command, double *end) {
    char *message = NULL;
    bool done =
        command->bridge->command_outcome(command->handle, end, &message) != IG_METAL_RUNNING;
    free(message);
    return done;
}

static ingot_status status_of(enum ig_metal_outcome outcome) {
    switch (outcome) {
    case IG_METAL_RUNNING:
    case IG_METAL_DONE:
        return INGOT_OK;
    case IG_METAL_TIMEOUT:
        return INGOT_TIMEOUT;
    case IG_METAL_NO_MEMORY:
        return INGOT_OUT_OF_MEMORY;
    case IG_METAL_LOST:
        return INGOT_DEVICE_LOST;
    case IG_METAL_FAULT:
        break;
    }
    return INGOT_KERNEL_FAULT;
}

/* ---- with the stream's lock held ---- */

/* Takes those that are over off the list; the first failure becomes the stream's error. */
static void reap(struct metal_stream *stream) {
    size_t over = 0;
    while (over < stream->in_flight_count) {
        struct metal_command *command = stream->in_flight[over];
        char *message = NULL;
        double end;
        enum ig_metal_outcome outcome =
            command->bridge->command_outcome(command->handle, &end, &message);
        if (outcome == IG_METAL_RUNNING) {
            free(message);
            break;
        }
        if (outcome != IG_METAL_DONE && stream->error.status == INGOT_OK) {
            ig_fail(&stream->error, status_of(outcome), "%s",
                    message ? message : "Metal gave no reason for a failure");
        }
        free(message);
        metal_command_release(command);
        over++;
    }
    if (over) {
        stream->in_flight_count -= over;
        memmove(stream->in_flight, stream->in_flight + over,
                stream->in_flight_count * sizeof *stream->in_flight);
    }
}

static ingot_status make_open(struct metal_stream *stream, struct ig_error *error) {
    struct metal_command *command = calloc(1, sizeof *command);
    char *message = NULL;
    if (!command) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a command");
    }
    atomic_init(&command->references, 1);
    command->bridge = stream->device->bridge;
    command->handle = command->bridge->command_make(stream->queue, &message);
    if (!command->handle) {
        free(command);
        return metal_fail(error, INGOT_OUT_OF_MEMORY, message, "a command on device \"%s\"",
                          stream->device->base.info.name);
    }
    stream->open = command;
    stream->encoded = 0;
    return INGOT_OK;
}

static ingot_status commit(struct metal_stream *stream, struct ig_error *error) {
    struct metal_command *command = stream->open;
    char *message = NULL;
    if (!command) {
        return INGOT_OK;
    }
    if (stream->in_flight_count == stream->in_flight_capacity) {
        size_t capacity = 2 * stream->in_flight_capacity + 8;
        struct metal_command **grown = realloc(stream->in_flight, capacity * sizeof *grown);
        if (!grown) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a command");
        }
        stream->in_flight = grown;
        stream->in_flight_capacity = capacity;
    }
    stream->open = NULL;
    if (!command->bridge->command_commit(command->handle, &message)) {
        metal_command_release(command);
        return metal_fail(error, INGOT_INTERNAL_ERROR, message, "work for device \"%s\"",
                          stream->device->base.info.name);
    }
    stream->in_flight[stream->in_flight_count++] = command;
    return INGOT_OK;
}

/* Locks the stream, with a command buffer open. False: it stays unlocked, and *status says whether
 * that is an error or the work is dropped behind one. */
static bool begin(struct metal_stream *stream, ingot_status *status, struct ig_error *error) {
    pthread_mutex_lock(&stream->lock);
    reap(stream);
    *status = INGOT_OK;
    if (stream->error.status == INGOT_OK) {
        *status = stream->open ? INGOT_OK : make_open(stream, error);
        if (*status == INGOT_OK) {
            return true;
        }
    }
    pthread_mutex_unlock(&stream->lock);
    return false;
}

/* Behind one command: `good` or `message` is what the bridge said. */
static ingot_status end(struct metal_stream *stream, bool good, char *message, const char *what,
                        struct ig_error *error) {
    ingot_status status = INGOT_OK;
    if (!good) {
        status = metal_fail(error, INGOT_LAUNCH_ERROR, message, "%s on device \"%s\"", what,
                            stream->device->base.info.name);
    } else if (++stream->encoded >= MOST_ENCODED) {
        status = commit(stream, error);
    }
    pthread_mutex_unlock(&stream->lock);
    return status;
}

/* ---- one command ---- */

typedef bool add_function(const struct ig_metal_bridge *bridge, void *command, const void *about,
                          char **message);

struct encoding {
    struct metal_stream *stream;
    add_function *add;
    const void *about;
    bool good;
    char *message;
};

static void encode_foreign(void *argument) {
    struct encoding *encoding = argument;
    const struct ig_metal_bridge *bridge = encoding->stream->device->bridge;
    const ingot_metal_stream *foreign = encoding->stream->foreign;
    void *command =
        bridge->command_adopt(foreign->command_buffer(foreign->context), &encoding->message);
    if (command) {
        encoding->good = encoding->add(bridge, command, encoding->about, &encoding->message);
        if (!bridge->command_end(command, &encoding->message)) {
            encoding->good = false;
        }
        bridge->release(command);
    }
}

/* Adds what `add` does with `about`; `what` is its name in messages. */
static ingot_status encode(struct metal_stream *stream, add_function *add, const void *about,
                           const char *what, struct ig_error *error) {
    struct encoding encoding = {.stream = stream, .add = add, .about = about};
    const ingot_metal_stream *foreign = stream->foreign;
    ingot_status status;
    if (foreign && foreign->run) {
        foreign->run(foreign->context, encode_foreign, &encoding);
    } else if (foreign) {
        encode_foreign(&encoding);
    } else {
        if (!begin(stream, &status, error)) {
            return status;
        }
        encoding.good = add(stream->device->bridge, stream->open->handle, about, &encoding.message);
        return end(stream, encoding.good, encoding.message, what, error);
    }
    return encoding.good ? INGOT_OK
                         : metal_fail(error, INGOT_LAUNCH_ERROR, encoding.message,
                                      "%s on device \"%s\"", what, stream->device->base.info.name);
}

/* ---- the stream ---- */

/* With neither a queue nor another library's stream yet. */
static struct metal_stream *new_stream(struct metal_device *device, struct ig_error *error) {
    struct metal_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a stream");
        return NULL;
    }
    stream->device = device;
    return stream;
}

static void add_to_device(struct metal_stream *stream, void **result) {
    struct metal_device *device = stream->device;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_mutex_lock(&device->lock);
    stream->next = device->streams;
    device->streams = stream;
    pthread_mutex_unlock(&device->lock);
    *result = stream;
}

ingot_status metal_stream_open(ingot_device *base, void **result, struct ig_error *error) {
    struct metal_device *device = (struct metal_device *)base;
    struct metal_stream *stream = new_stream(device, error);
    char *message = NULL;
    if (!stream) {
        return error->status;
    }
    stream->queue = device->bridge->queue_make(device->handle, &message);
    if (!stream->queue) {
        free(stream);
        return metal_fail(error, INGOT_OUT_OF_MEMORY, message, "a stream on device \"%s\"",
                          base->info.name);
    }
    add_to_device(stream, result);
    return INGOT_OK;
}

ingot_status metal_stream_wrap(ingot_device *base, void *native, void **result,
                               struct ig_error *error) {
    const ingot_metal_stream *foreign = native;
    if (!foreign || !foreign->command_buffer || !foreign->wait) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "ingot_stream_wrap on device \"%s\": %s is NULL", base->info.name,
                       !foreign                   ? "the ingot_metal_stream"
                       : !foreign->command_buffer ? "command_buffer"
                                                  : "wait");
    }
    struct metal_stream *stream = new_stream((struct metal_device *)base, error);
    if (!stream) {
        return error->status;
    }
    stream->foreign = foreign;
    add_to_device(stream, result);
    return INGOT_OK;
}

/* Commits, and waits for everything that is in flight then; with the lock held at the end. */
static ingot_status drain(struct metal_stream *stream, struct ig_error *error) {
    if (stream->foreign) {
        stream->foreign->wait(stream->foreign->context);
    }
    pthread_mutex_lock(&stream->lock);
    ingot_status status = commit(stream, error);
    /* Not for what other threads queue meanwhile. */
    for (size_t left = stream->in_flight_count; left && stream->in_flight_count; left--) {
        struct metal_command *first = metal_command_retain(stream->in_flight[0]);
        pthread_mutex_unlock(&stream->lock);
        metal_command_wait(first);
        pthread_mutex_lock(&stream->lock);
        metal_command_release(first);
        reap(stream);
    }
    return status;
}

ingot_status metal_stream_wait(void *handle, struct ig_error *error) {
    struct metal_stream *stream = handle;
    ingot_status status = drain(stream, error);
    if (stream->error.status != INGOT_OK) {
        status = ig_fail(error, stream->error.status, "%s", ig_error_text(&stream->error));
        ig_error_clear(&stream->error);
    }
    pthread_mutex_unlock(&stream->lock);
    return status;
}

void metal_streams_drain(struct metal_device *device) {
    struct ig_error ignored = {0};
    pthread_mutex_lock(&device->lock); /* keeps streams from being closed */
    for (struct metal_stream *stream = device->streams; stream; stream = stream->next) {
        drain(stream, &ignored);
        pthread_mutex_unlock(&stream->lock);
    }
    pthread_mutex_unlock(&device->lock);
    ig_error_clear(&ignored);
}

void metal_stream_close(void *handle) {
    struct metal_stream *stream = handle;
    struct metal_device *device = stream->device;
    struct ig_error ignored = {0};
    drain(stream, &ignored);
    pthread_mutex_unlock(&stream->lock);
    ig_error_clear(&ignored);
    pthread_mutex_lock(&device->lock);
    struct metal_stream **link = &device->streams;
    while (*link != stream) {
        link = &(*link)->next;
    }
    *link = stream->next;
    pthread_mutex_unlock(&device->lock);
    device->bridge->release(stream->queue);
    pthread_mutex_destroy(&stream->lock);
    ig_error_clear(&stream->error);
    free(stream->in_flight);
    free(stream);
}

/* ---- commands ---- */

static void fill_dispatch(const struct ig_launch *launch, struct ig_metal_dispatch *dispatch) {
    const ingot_kernel *kernel = launch->kernel;
    const struct metal_pipeline *pipeline = kernel->loaded;
    memset(dispatch, 0, sizeof *dispatch);
    dispatch->pipeline = pipeline->handle;
    dispatch->name = kernel->variant->kernel;
    for (size_t i = 0; i < launch->arg_count && i < IG_METAL_BUFFERS; i++) {
        const ingot_arg *arg = &launch->args[i];
        struct ig_metal_argument *argument = &dispatch->arguments[i];
        if (arg->buffer) {
            argument->buffer = metal_memory_of(arg->buffer, &argument->offset)->buffer;
            argument->offset += arg->offset;
        } else {
            argument->bytes = arg->bytes;
            argument->size = arg->size;
        }
        dispatch->argument_count = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < launch->threadgroup_length_count && i < IG_METAL_THREADGROUP_ARGUMENTS;
         i++) {
        dispatch->threadgroup_lengths[i] = launch->threadgroup_lengths[i];
        dispatch->threadgroup_length_count = (uint32_t)i + 1;
    }
    memcpy(dispatch->threads, launch->threads, sizeof dispatch->threads);
    memcpy(dispatch->group, launch->group, sizeof dispatch->group);
}

static bool add_dispatch(const struct ig_metal_bridge *bridge, void *command, const void *about,
                         char **message) {
    return bridge->command_dispatch(command, about, message);
}

ingot_status metal_stream_dispatch(void *handle, const struct ig_launch *launch,
                                   struct ig_error *error) {
    struct ig_metal_dispatch dispatch;
    if (launch->arg_count > IG_METAL_BUFFERS) {
        return ig_fail(error, INGOT_LAUNCH_ERROR,
                       "kernel \"%s\": %zu buffer arguments were given, but Metal has %d",
                       launch->kernel->variant->kernel, launch->arg_count, IG_METAL_BUFFERS);
    }
    fill_dispatch(launch, &dispatch);
    return encode(handle, add_dispatch, &dispatch, dispatch.name, error);
}

struct copying {
    void *source, *destination;
    uint64_t source_offset, destination_offset, length;
};

static bool add_copy(const struct ig_metal_bridge *bridge, void *command, const void *about,
                     char **message) {
    const struct copying *copying = about;
    return bridge->command_copy(command, copying->source, copying->source_offset,
                                copying->destination, copying->destination_offset, copying->length,
                                message);
}

ingot_status metal_stream_copy(void *handle, ingot_buffer *source, uint64_t source_offset,
                               ingot_buffer *destination, uint64_t destination_offset,
                               uint64_t length, struct ig_error *error) {
    struct copying copying = {.length = length};
    copying.source = metal_memory_of(source, &copying.source_offset)->buffer;
    copying.destination = metal_memory_of(destination, &copying.destination_offset)->buffer;
    copying.source_offset += source_offset;
    copying.destination_offset += destination_offset;
    return encode(handle, add_copy, &copying, "ingot_stream_copy", error);
}

struct filling {
    void *buffer;
    uint64_t offset, length;
    uint8_t value;
};

static bool add_fill(const struct ig_metal_bridge *bridge, void *command, const void *about,
                     char **message) {
    const struct filling *filling = about;
    return bridge->command_fill(command, filling->buffer, filling->offset, filling->length,
                                filling->value, message);
}

ingot_status metal_stream_fill(void *handle, ingot_buffer *buffer, uint64_t offset, uint64_t length,
                               uint8_t value, struct ig_error *error) {
    struct filling filling = {.length = length, .value = value};
    filling.buffer = metal_memory_of(buffer, &filling.offset)->buffer;
    filling.offset += offset;
    return encode(handle, add_fill, &filling, "ingot_stream_fill", error);
}

/* ---- events ---- */

static ingot_status record(struct metal_stream *stream, struct metal_event *event,
                           struct ig_error *error) {
    char *message = NULL;
    struct metal_command *command = metal_command_retain(stream->open);
    ingot_status status = INGOT_OK;
    pthread_mutex_lock(&event->lock);
    if (!command->bridge->command_signal(command->handle, event->handle, event->value + 1,
                                         &message)) {
        status = metal_fail(error, INGOT_INTERNAL_ERROR, message,
                            "ingot_stream_record on device \"%s\"", stream->device->base.info.name);
    } else {
        status = commit(stream, error);
    }
    if (status == INGOT_OK) {
        event->value++;
        metal_command_release(event->command);
        event->command = metal_command_retain(command);
        event->stream = stream;
    }
    pthread_mutex_unlock(&event->lock);
    metal_command_release(command);
    return status;
}

/* On a stream that has failed, it counts as reached: what comes before it is over or dropped. */
ingot_status metal_stream_record(void *handle, ingot_event *public_event, struct ig_error *error) {
    struct metal_stream *stream = handle;
    struct metal_event *event = public_event->state;
    ingot_status status;
    if (stream->foreign) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "ingot_stream_record on device \"%s\": the stream is another library's, "
                       "whose events have to be used",
                       stream->device->base.info.name);
    }
    pthread_mutex_lock(&stream->lock);
    status = stream->open ? INGOT_OK : make_open(stream, error);
    if (status == INGOT_OK) {
        status = record(stream, event, error);
    }
    pthread_mutex_unlock(&stream->lock);
    return status;
}

struct awaiting {
    void *event;
    uint64_t value;
};

static bool add_awaiting(const struct ig_metal_bridge *bridge, void *command, const void *about,
                         char **message) {
    const struct awaiting *awaiting = about;
    return bridge->command_wait_for(command, awaiting->event, awaiting->value, message);
}

ingot_status metal_stream_wait_event(void *handle, ingot_event *public_event,
                                     struct ig_error *error) {
    struct metal_event *event = public_event->state;
    pthread_mutex_lock(&event->lock);
    const struct awaiting awaiting = {event->handle, event->value};
    const bool is_own = event->stream == handle;
    pthread_mutex_unlock(&event->lock);
    if (!awaiting.value || is_own) {
        return INGOT_OK;
    }
    return encode(handle, add_awaiting, &awaiting, "ingot_stream_wait_event", error);
}
