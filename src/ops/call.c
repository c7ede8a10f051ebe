/* One call of an operation: its failure, its knobs, its launches, its scratch memory. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "ops/ops.h"
#include "runtime/objects.h"

static _Thread_local char last_variant[IGO_KEY_SIZE];
static _Thread_local struct igo_extents last_launch;

const char *ingot_ops_last_variant(void) {
    return last_variant;
}

static void extent_text(const uint32_t e[3], char *text, size_t size) {
    if (e[2] > 1) {
        snprintf(text, size, "%ux%ux%u", e[0], e[1] ? e[1] : 1, e[2]);
    } else if (e[1] > 1) {
        snprintf(text, size, "%ux%u", e[0], e[1]);
    } else {
        snprintf(text, size, "%u", e[0]);
    }
}

const char *ingot_ops_last_launch(void) {
    static _Thread_local char text[IGO_KEY_SIZE];
    char grid[48], group[48];
    if (!last_launch.group[0]) {
        return "";
    }
    extent_text(last_launch.grid, grid, sizeof grid);
    extent_text(last_launch.group, group, sizeof group);
    snprintf(text, sizeof text, last_launch.threads ? "%s threads by %s" : "%s groups of %s", grid,
             group);
    return text;
}

bool igo_fail(struct igo_call *call, ingot_status status, const char *format, ...) {
    if (call->failed) {
        return false;
    }
    va_list list;
    char message[2048];
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    ig_fail(&call->error, status, "%s: %s", call->operation->name, message);
    call->failed = true;
    return false;
}

void igo_begin(struct igo_call *call, ingot_ops *ops, ingot_stream *stream,
               const struct igo_library *library, const struct ingot_ops_info *operation,
               const void *desc) {
    call->ops = ops;
    call->stream = stream;
    call->library = library;
    call->operation = operation;
    call->error = (struct ig_error){0};
    call->failed = call->empty = false;
    call->key[0] = 0;
    call->launch.group[0] = 0;
    if (!ops || !stream || !desc) {
        igo_fail(call, INGOT_INVALID_ARGUMENT, "%s is NULL",
                 !ops      ? "ops"
                 : !stream ? "stream"
                           : "desc");
    } else if (stream->device != ops->device) {
        igo_fail(call, INGOT_INVALID_ARGUMENT,
                 "the stream belongs to another opening of device \"%s\" than ops (\"%s\")",
                 stream->device->info.name, ops->info.name);
    }
}

void igo_keep_last_launch(struct igo_call *call) {
    call->launch = last_launch;
}

ingot_status igo_end(struct igo_call *call) {
    if (call->failed) {
        return ig_api_result(&call->error);
    }
    memcpy(last_variant, call->key, sizeof last_variant);
    last_launch = call->launch;
    return INGOT_OK;
}

/* ---- shape classes ---- */

static void class_append(struct igo_class *c, const char *text, size_t size) {
    if (c->size + size < sizeof c->text) {
        memcpy(c->text + c->size, text, size);
        c->size += size;
        c->text[c->size] = 0;
    }
}

void igo_class_word(struct igo_class *c, const char *word) {
    if (c->size) {
        class_append(c, "/", 1);
    }
    class_append(c, word, strlen(word));
}

void igo_class_number(struct igo_class *c, const char *word, uint64_t n) {
    char digits[24], *at = digits + sizeof digits;
    size_t size = 0;
    do {
        *--at = (char)('0' + n % 10);
        n /= 10;
        size++;
    } while (n);
    igo_class_word(c, word);
    class_append(c, at, size);
}

void igo_class_size(struct igo_class *c, const char *word, uint64_t n, uint64_t cap) {
    uint64_t size = n < 2 ? 1 : (uint64_t)1 << (64 - __builtin_clzll(n - 1));
    igo_class_number(c, word, cap && size > cap ? cap : size);
}

/* ---- policy ---- */

static uint64_t choice_hash(const struct ingot_ops_info *operation, const char *subject) {
    uint64_t hash = 14695981039346656037u ^ (uintptr_t)operation;
    for (; *subject; subject++) {
        hash = (hash ^ (unsigned char)*subject) * 1099511628211u;
    }
    return hash ^ hash >> 31;
}

static const struct igo_choice *find_choice(const ingot_ops *ops,
                                            const struct ingot_ops_info *operation,
                                            const char *subject, uint64_t hash) {
    for (size_t i = hash; ops->choice_capacity; i++) {
        const struct igo_choice *c = ops->choices[i & (ops->choice_capacity - 1)];
        if (!c) {
            return NULL;
        }
        if (c->operation == operation && !strcmp(c->subject, subject)) {
            return c;
        }
    }
    return NULL;
}

static bool grow_choices(ingot_ops *ops) {
    size_t capacity = ops->choice_capacity ? 2 * ops->choice_capacity : 256;
    struct igo_choice **table = calloc(capacity, sizeof(struct igo_choice *));
    if (!table) {
        return false;
    }
    for (size_t i = 0; i < ops->choice_capacity; i++) {
        struct igo_choice *c = ops->choices[i];
        size_t at = c ? choice_hash(c->operation, c->subject) : 0;
        while (c && table[at & (capacity - 1)]) {
            at++;
        }
        if (c) {
            table[at & (capacity - 1)] = c;
        }
    }
    free(ops->choices);
    ops->choices = table;
    ops->choice_capacity = capacity;
    return true;
}

static const struct igo_choice *make_choice(ingot_ops *ops, const struct ingot_ops_info *operation,
                                            const char *subject, uint64_t hash) {
    struct igo_choice *c = calloc(1, sizeof *c);
    if (!c || (2 * ops->choice_count >= ops->choice_capacity && !grow_choices(ops))) {
        free(c);
        return NULL;
    }
    c->operation = operation;
    snprintf(c->subject, sizeof c->subject, "%s", subject);
    const struct igo_policy_device device = {ops->device->kind, ops->info.target};
    igo_policy_resolve(&ops->policy, &device, operation, subject, c->knobs);
    int at = snprintf(c->key, sizeof c->key, "%s/%s", operation->name, subject);
    for (size_t k = 0; k < operation->knob_count && at > 0 && (size_t)at < sizeof c->key; k++) {
        at += snprintf(c->key + at, sizeof c->key - (size_t)at, "%c%s%u", k ? '.' : '/',
                       operation->knobs[k].name, c->knobs[k]);
    }
    size_t slot = hash;
    while (ops->choices[slot & (ops->choice_capacity - 1)]) {
        slot++;
    }
    ops->choices[slot & (ops->choice_capacity - 1)] = c;
    ops->choice_count++;
    return c;
}

bool igo_policy(struct igo_call *call, ingot_scalar_type type, const struct igo_class *class_text) {
    if (call->failed) {
        return false;
    }
    ingot_ops *ops = call->ops;
    struct igo_class subject = {0};
    igo_class_word(&subject, ig_scalar_name(type));
    if (class_text && class_text->size) {
        igo_class_word(&subject, class_text->text);
    }
    uint64_t hash = choice_hash(call->operation, subject.text);
    pthread_rwlock_rdlock(&ops->choices_lock);
    const struct igo_choice *choice = find_choice(ops, call->operation, subject.text, hash);
    pthread_rwlock_unlock(&ops->choices_lock);
    if (!choice) {
        pthread_rwlock_wrlock(&ops->choices_lock);
        choice = find_choice(ops, call->operation, subject.text, hash);
        if (!choice) {
            choice = make_choice(ops, call->operation, subject.text, hash);
        }
        pthread_rwlock_unlock(&ops->choices_lock);
    }
    if (!choice) {
        return igo_fail(call, INGOT_OUT_OF_MEMORY, "no memory for the launch policy");
    }
    memcpy(call->knobs, choice->knobs, sizeof call->knobs);
    memcpy(call->key, choice->key, sizeof call->key);
    return true;
}

/* ---- launches ---- */

/* Digits of a number, from the end of `digits` backwards. */
static const char *number_text(uint32_t number, char digits[11]) {
    char *at = digits + 10;
    for (*at = 0; at == digits + 10 || number; number /= 10) {
        *--at = (char)('0' + number % 10);
    }
    return at;
}

/* Only %s and %u. (vsnprintf takes longer than a small kernel, the more so beside libraries that
 * have added conversions to it.) */
void igo_launch_kernel(struct igo_launch *launch, const char *format, ...) {
    char digits[11];
    size_t size = 0;
    va_list list;
    va_start(list, format);
    for (; *format; format++) {
        const bool converts = *format == '%';
        const char *text = format;
        if (converts) {
            text = *++format == 's' ? va_arg(list, const char *)
                                    : number_text(va_arg(list, uint32_t), digits);
        }
        const size_t length = converts ? strlen(text) : 1;
        if (size + length < sizeof launch->name) {
            memcpy(launch->name + size, text, length);
        }
        size += size + length < sizeof launch->name ? length : 0;
    }
    va_end(list);
    launch->name[size] = 0;
    launch->kernel = launch->name;
}

void igo_launch_threads(struct igo_launch *launch, uint64_t threads, uint32_t group) {
    const uint64_t row = (uint64_t)1 << 30;
    uint64_t rows = (threads + row - 1) / row;
    launch->threads[0] = (uint32_t)(rows > 1 ? row : threads);
    launch->threads[1] = (uint32_t)(rows > 1 ? rows : 1);
    launch->threads[2] = 1;
    launch->group[0] = group;
    launch->group[1] = launch->group[2] = 1;
}

static void add_constant(struct igo_launch *launch, struct igo_constant constant) {
    if (launch->constant_count < IGO_MAX_CONSTANTS) {
        launch->constants[launch->constant_count] = constant;
    }
    launch->constant_count++;
}

void igo_launch_constant_bool(struct igo_launch *launch, const char *name, bool value) {
    struct igo_constant c = {.name = name, .type = INGOT_SCALAR_BOOL};
    c.u = 0;
    c.b = value;
    add_constant(launch, c);
}

void igo_launch_constant_u32(struct igo_launch *launch, const char *name, uint32_t value) {
    add_constant(launch, (struct igo_constant){name, INGOT_SCALAR_U32, {.u = value}});
}

void igo_launch_constant_i32(struct igo_launch *launch, const char *name, int32_t value) {
    add_constant(launch, (struct igo_constant){name, INGOT_SCALAR_I32, {.i = value}});
}

void igo_launch_constant_f32(struct igo_launch *launch, const char *name, float value) {
    add_constant(launch, (struct igo_constant){name, INGOT_SCALAR_F32, {.f = value}});
}

static void add_arg(struct igo_launch *launch, ingot_arg arg) {
    if (launch->arg_count < IGO_MAX_ARGS) {
        launch->args[launch->arg_count] = arg;
    }
    launch->arg_count++;
}

void igo_launch_tensor(struct igo_launch *launch, const ingot_tensor *tensor,
                       const ingot_tensor *instead) {
    const ingot_tensor *bound = tensor && tensor->buffer ? tensor : instead;
    add_arg(launch,
            bound ? (ingot_arg){.buffer = bound->buffer, .offset = bound->offset} : (ingot_arg){0});
}

/* What stands for an absent tensor. Where such bytes would have to be sent to the device first,
 * which a stream that is captured cannot do, igo_dispatch puts a buffer in their place. */
static const uint64_t nothing[2];

void igo_launch_optional(struct igo_launch *launch, const ingot_tensor *tensor) {
    if (tensor && tensor->buffer) {
        igo_launch_tensor(launch, tensor, NULL);
    } else {
        igo_launch_bytes(launch, nothing, sizeof nothing);
    }
}

void igo_launch_bytes(struct igo_launch *launch, const void *bytes, size_t size) {
    add_arg(launch, (ingot_arg){.bytes = bytes, .size = size});
}

void igo_launch_buffer(struct igo_launch *launch, ingot_buffer *buffer, uint64_t offset) {
    add_arg(launch, (ingot_arg){.buffer = buffer, .offset = offset});
}

static void note_launch(struct igo_call *call, const struct igo_launch *launch) {
    struct igo_extents *last = &call->launch;
    last->threads = launch->threads[0] != 0;
    memcpy(last->grid, last->threads ? launch->threads : launch->threadgroups, sizeof last->grid);
    memcpy(last->group, launch->group, sizeof last->group);
}

static bool check_launch(struct igo_call *call, const struct igo_launch *launch,
                         ingot_kernel *kernel) {
    ingot_kernel_info info;
    ingot_kernel_get_info(kernel, &info);
    uint64_t size = (uint64_t)launch->group[0] * (launch->group[1] ? launch->group[1] : 1) *
                    (launch->group[2] ? launch->group[2] : 1);
    if (launch->whole_simdgroups && size % info.thread_execution_width) {
        return igo_fail(call, INGOT_LAUNCH_ERROR,
                        "kernel %s works on whole SIMD-groups of %u threads, but a group of %llu "
                        "was chosen (%s)",
                        info.name, info.thread_execution_width, (unsigned long long)size,
                        call->key);
    }
    return true;
}

bool igo_has_kernel(struct igo_call *call, const struct igo_launch *launch) {
    ingot_kernel *kernel;
    struct ig_error error = {0};
    const bool found =
        !call->failed &&
        !igo_pipeline_get(call->ops, launch->library ? launch->library : call->library, launch,
                          &kernel, &error);
    ig_error_clear(&error);
    return found;
}

bool igo_dispatch(struct igo_call *call, const struct igo_launch *launch) {
    if (call->failed) {
        return false;
    }
    if (launch->arg_count > IGO_MAX_ARGS || launch->constant_count > IGO_MAX_CONSTANTS) {
        return igo_fail(call, INGOT_INTERNAL_ERROR, "kernel %s: %zu arguments and %zu constants",
                        launch->kernel, launch->arg_count, launch->constant_count);
    }
    ingot_kernel *kernel;
    ingot_status status =
        igo_pipeline_get(call->ops, launch->library ? launch->library : call->library, launch,
                         &kernel, &call->error);
    if (status) {
        ig_error_prefix(&call->error, "%s", call->operation->name);
        call->failed = true;
        return false;
    }
    if (!check_launch(call, launch, kernel)) {
        return false;
    }
    ingot_arg args[IGO_MAX_ARGS];
    for (size_t i = 0; i < launch->arg_count; i++) {
        args[i] = launch->args[i];
        if (args[i].bytes == nothing && call->ops->nothing) {
            args[i] = (ingot_arg){.buffer = call->ops->nothing};
        }
    }
    ingot_dispatch_desc desc = {
        .kernel = kernel,
        .args = args,
        .arg_count = launch->arg_count,
        .threadgroup_lengths = launch->threadgroup_lengths,
        .threadgroup_length_count = launch->threadgroup_length_count,
    };
    memcpy(desc.threads, launch->threads, sizeof desc.threads);
    memcpy(desc.threadgroups, launch->threadgroups, sizeof desc.threadgroups);
    memcpy(desc.group, launch->group, sizeof desc.group);
    status = ig_stream_dispatch_own(call->stream, &desc, igo_threadgroup_memory(call));
    if (status) {
        return igo_fail(call, status, "%s", ingot_error_message());
    }
    note_launch(call, launch);
    return true;
}

/* ---- memory ---- */

ingot_tensor igo_scratch_tensor(struct igo_call *call, ingot_scalar_type type, uint32_t rank,
                                const int64_t *shape) {
    ingot_tensor tensor = ingot_tensor_contiguous(NULL, 0, type, rank, shape);
    tensor.buffer = igo_scratch(call, (uint64_t)igo_count(&tensor) * ig_scalar_size(type));
    return tensor;
}

static uint64_t tensor_bytes(const ingot_tensor *tensor) {
    return (uint64_t)igo_count(tensor) * ig_scalar_size(tensor->type);
}

bool igo_blit_fill(struct igo_call *call, const ingot_tensor *tensor, uint8_t value) {
    if (call->failed || !igo_count(tensor)) {
        return !call->failed;
    }
    ingot_status status = ingot_stream_fill(call->stream, tensor->buffer, tensor->offset,
                                            tensor_bytes(tensor), value);
    return !status || igo_fail(call, status, "%s", ingot_error_message());
}

bool igo_blit_copy(struct igo_call *call, const ingot_tensor *from, const ingot_tensor *to) {
    if (call->failed || !igo_count(from)) {
        return !call->failed;
    }
    ingot_status status = ingot_stream_copy(call->stream, from->buffer, from->offset, to->buffer,
                                            to->offset, tensor_bytes(from));
    return !status || igo_fail(call, status, "%s", ingot_error_message());
}
