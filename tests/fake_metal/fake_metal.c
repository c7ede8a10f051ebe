#include "fake_metal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DISPATCHES = 256, PAGE = 4096 };

struct object {
    unsigned references; /* under lock */
    void *memory;        /* freed with it */
    char *text;
    struct object *needs;  /* kept alive */
    uint64_t length, size; /* of a buffer: its address, its bytes */
    /* a command buffer: */
    struct object *data[MOST_DISPATCHES];
    uint64_t offsets[MOST_DISPATCHES];
    uint32_t threads[MOST_DISPATCHES];
    unsigned count;
    enum ig_metal_outcome outcome;
    bool is_over, is_adopted;
};

static struct fake_metal state = {.outcome = IG_METAL_DONE};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct fake_metal *fake_metal(void) {
    return &state;
}

static bool fails(const char *call, char **message) {
    if (!state.failing || strcmp(state.failing, call) != 0 || state.skipped-- > 0) {
        return false;
    }
    state.failing = NULL;
    state.skipped = 0;
    if (message && !state.is_silent && asprintf(message, "%s was told to fail", call) < 0) {
        *message = NULL;
    }
    return true;
}

static struct object *make(const char *call, char **message, struct object *needs) {
    struct object *object = NULL;
    pthread_mutex_lock(&lock);
    if (!fails(call, message)) {
        object = calloc(1, sizeof *object);
    }
    if (object) {
        object->references = 1;
        object->needs = needs;
        if (needs) {
            needs->references++;
        }
        state.live++;
    }
    pthread_mutex_unlock(&lock);
    return object;
}

static void let_go(struct object *object) { /* with the lock held */
    while (object && --object->references == 0) {
        struct object *needs = object->needs;
        for (unsigned i = 0; i < object->count; i++) {
            let_go(object->data[i]);
        }
        free(object->memory);
        free(object->text);
        free(object);
        state.live--;
        object = needs;
    }
}

static void release(void *object) {
    pthread_mutex_lock(&lock);
    let_go(object);
    pthread_mutex_unlock(&lock);
}

/* ---- devices and code ---- */

static size_t device_count(void) {
    return state.has_no_device ? 0 : 1;
}

static void *device_open(size_t index, struct ig_metal_device_info *info, char **message) {
    *info = (struct ig_metal_device_info){
        .name = "Fake GPU",
        .family = "apple9",
        .max_threads_per_threadgroup = 1024,
        .max_threadgroup_memory = 32768,
        .max_buffer_length = 1 << 30,
        .working_set = 1 << 30,
        .has_unified_memory = !state.has_own_memory,
    };
    return index ? NULL : make("device_open", message, NULL);
}

static void set_log_function(void (*message)(int level, const char *text)) {
    state.log = message;
}

static void *library_of(const char *call, void *device, const char *bytes, size_t size,
                        char **message) {
    struct object *library = make(call, message, device);
    if (library) {
        library->text = calloc(1, size + 1);
        for (size_t i = 0; library->text && i < size; i++) { /* of what is compiled, its letters */
            library->text[i] = bytes[i] ? bytes[i] : ' ';
        }
        state.last_source = library->text;
    }
    return library;
}

static void *library_from_source(void *device, const char *source, size_t length,
                                 const struct ig_metal_compile_options *options, char **message) {
    (void)options;
    return library_of("library_from_source", device, source, length, message);
}

static void *library_from_data(void *device, const void *bytes, size_t size, char **message) {
    return library_of("library_from_data", device, bytes, size, message);
}

static bool library_list(void *object, void *context, bool (*kernel)(void *, const char *name),
                         bool (*constant)(void *, const struct ig_metal_constant *)) {
    static const char words[] = "kernel void ";
    const struct object *library = object;
    const struct ig_metal_constant one = {.name = "scale", .index = 3, .data_type = 33};
    bool good = !fails("library_list", NULL);
    for (const char *at = library->text; good && (at = strstr(at, words)); at++) {
        char name[64];
        const char *start = at + sizeof words - 1;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "( "), start);
        good = kernel(context, name) && constant(context, &one);
    }
    return good;
}

static void *pipeline_make(void *library, const char *kernel, const struct ig_metal_value *values,
                           size_t value_count, struct ig_metal_binary *binary,
                           struct ig_metal_pipeline_info *info, void *context,
                           bool (*binding)(void *, const struct ig_metal_binding *),
                           char **message) {
    struct object *pipeline = make("pipeline_make", message, library);
    const struct ig_metal_binding data = {.name = "data",
                                          .data_type = 33,
                                          .size = 4,
                                          .alignment = 4,
                                          .is_writable = true,
                                          .is_used = true};
    (void)values;
    (void)value_count;
    if (!pipeline) {
        return NULL;
    }
    /* Its machine code is the kernel's name; what else was kept is of another system. */
    const bool is_kept = binary && binary->bytes && binary->size == strlen(kernel) &&
                         !memcmp(binary->bytes, kernel, binary->size) && !state.is_other_system;
    state.pipelines_compiled += !is_kept;
    if (binary && !is_kept) {
        binary->made = strdup(kernel);
        binary->made_size = strlen(kernel);
    }
    pipeline->text = strdup(kernel);
    *info = (struct ig_metal_pipeline_info){.max_threads = 256, .simd_width = 32};
    if (binding && !binding(context, &data)) {
        release(pipeline);
        return NULL;
    }
    return pipeline;
}

/* ---- memory ---- */

static void *buffer_make(void *device, uint64_t length, bool is_shared, char **message) {
    struct object *buffer = make("buffer_make", message, device);
    (void)is_shared;
    if (buffer) {
        buffer->memory = calloc(1, length);
        buffer->length = (uint64_t)(uintptr_t)buffer->memory;
        buffer->size = length;
    }
    return buffer;
}

static void *buffer_wrap(void *device, void *pages, uint64_t length, char **message) {
    struct object *buffer = make("buffer_wrap", message, device);
    (void)length;
    if (buffer) {
        buffer->length = (uint64_t)(uintptr_t)pages;
    }
    return buffer;
}

static void *buffer_adopt(void *device, void *object, uint64_t *length, char **message) {
    struct object *buffer = object;
    pthread_mutex_lock(&lock);
    if (fails("buffer_adopt", message) || buffer->needs != device) {
        buffer = NULL;
    } else {
        buffer->references++;
        *length = buffer->size;
    }
    pthread_mutex_unlock(&lock);
    return buffer;
}

static uint64_t buffer_address(void *buffer) {
    return ((struct object *)buffer)->length;
}

static void *buffer_contents(void *buffer) {
    return (void *)(uintptr_t)buffer_address(buffer);
}

/* ---- work ---- */

static void *queue_make(void *device, char **message) {
    return make("queue_make", message, device);
}

static void *command_make(void *queue, char **message) {
    return make("command_make", message, queue);
}

/* What is added goes to the other library's command buffer. */
static void *command_adopt(void *command_buffer, char **message) {
    struct object *command = make("command_adopt", message, command_buffer);
    if (command) {
        command->is_adopted = true;
    }
    return command;
}

static bool command_end(void *command, char **message) {
    (void)command;
    state.ends++;
    return !fails("command_end", message);
}

static void *event_make(void *device, char **message) {
    return make("event_make", message, device);
}

static void add_work(struct object *command, void *buffer, uint64_t offset, uint32_t threads) {
    if (command->is_adopted) {
        command = command->needs;
    }
    pthread_mutex_lock(&lock);
    if (command->count < MOST_DISPATCHES) {
        command->data[command->count] = buffer;
        command->offsets[command->count] = offset;
        command->threads[command->count++] = threads;
        command->data[command->count - 1]->references++;
    }
    pthread_mutex_unlock(&lock);
}

static bool command_dispatch(void *command, const struct ig_metal_dispatch *dispatch,
                             char **message) {
    if (fails("command_dispatch", message)) {
        return false;
    }
    add_work(command, dispatch->arguments[0].buffer, dispatch->arguments[0].offset,
             dispatch->threads[0]);
    return true;
}

static bool command_copy(void *command, void *source, uint64_t source_offset, void *destination,
                         uint64_t destination_offset, uint64_t length, char **message) {
    (void)source;
    (void)source_offset;
    (void)length;
    if (fails("command_copy", message)) {
        return false;
    }
    add_work(command, destination, destination_offset, 0);
    return true;
}

static bool command_fill(void *command, void *buffer, uint64_t offset, uint64_t length,
                         uint8_t value, char **message) {
    (void)length;
    (void)value;
    if (fails("command_fill", message)) {
        return false;
    }
    add_work(command, buffer, offset, 0);
    return true;
}

static bool command_signal(void *command, void *event, uint64_t value, char **message) {
    (void)command;
    (void)event;
    (void)value;
    return !fails("command_signal", message);
}

static bool command_wait_for(void *command, void *event, uint64_t value, char **message) {
    (void)command;
    (void)event;
    (void)value;
    return !fails("command_wait_for", message);
}

static bool command_commit(void *object, char **message) {
    struct object *command = object;
    if (fails("command_commit", message)) {
        return false;
    }
    state.commits++;
    command->outcome = state.outcome;
    for (unsigned i = 0; command->outcome == IG_METAL_DONE && i < command->count; i++) {
        uint32_t *data =
            (void *)(uintptr_t)(buffer_address(command->data[i]) + command->offsets[i]);
        for (uint32_t t = 0; t < command->threads[i]; t++) {
            data[t] = t + 1;
        }
    }
    command->is_over = !state.is_slow;
    return true;
}

static void command_wait(void *object) {
    ((struct object *)object)->is_over = true;
}

static enum ig_metal_outcome command_outcome(void *object, double *end, char **message) {
    const struct object *command = object;
    *end = 1;
    if (!command->is_over) {
        return IG_METAL_RUNNING;
    }
    if (command->outcome != IG_METAL_DONE && !state.is_silent &&
        asprintf(message, "kernel \"mark\" failed: outcome %d", (int)command->outcome) < 0) {
        *message = NULL;
    }
    return command->outcome;
}

const struct ig_metal_bridge *ig_metal_bridge_table(void) {
    static const struct ig_metal_bridge bridge = {
        .version = IG_METAL_BRIDGE_VERSION,
        .device_count = device_count,
        .device_open = device_open,
        .release = release,
        .set_log_function = set_log_function,
        .library_from_source = library_from_source,
        .library_from_data = library_from_data,
        .library_list = library_list,
        .pipeline_make = pipeline_make,
        .buffer_make = buffer_make,
        .buffer_wrap = buffer_wrap,
        .buffer_adopt = buffer_adopt,
        .buffer_contents = buffer_contents,
        .buffer_address = buffer_address,
        .page_size = PAGE,
        .queue_make = queue_make,
        .command_make = command_make,
        .command_adopt = command_adopt,
        .command_end = command_end,
        .command_dispatch = command_dispatch,
        .command_copy = command_copy,
        .command_fill = command_fill,
        .command_signal = command_signal,
        .command_wait_for = command_wait_for,
        .command_commit = command_commit,
        .command_wait = command_wait,
        .command_outcome = command_outcome,
        .event_make = event_make,
    };
    return &bridge;
}
