/* The tensors of one case: memory, input values, results as doubles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "harness/internal.h"

/* ---- random numbers: splitmix64, the same everywhere ---- */

static uint64_t next_bits(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double next_uniform(uint64_t *state) {
    return (double)(next_bits(state) >> 11) * 0x1p-53;
}

double igh_random(struct igh_run *run) {
    return next_uniform(&run->seed);
}

/* The sum of four uniforms, scaled: close enough to a bell, cheap, and bounded. */
static double next_normal(uint64_t *state) {
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += next_uniform(state);
    }
    return (sum - 2) * 1.7320508075688772;
}

static double fill_value(const struct igh_fill *fill, uint64_t *state) {
    switch (fill->kind) {
    case IGH_UNIFORM:
        return fill->a + (fill->b - fill->a) * next_uniform(state);
    case IGH_INTEGER:
        return floor(fill->a + (fill->b - fill->a) * next_uniform(state));
    case IGH_CONSTANT:
        return fill->a;
    case IGH_NORMAL:
        break;
    }
    return fill->a + (fill->b == 0 ? 1 : fill->b) * next_normal(state);
}

/* ---- elements ---- */

double igh_load(ingot_scalar_type type, const void *at) {
    switch (type) {
    case INGOT_SCALAR_F32: {
        float value;
        memcpy(&value, at, 4);
        return value;
    }
    case INGOT_SCALAR_F16:
    case INGOT_SCALAR_BF16: {
        uint16_t bits;
        memcpy(&bits, at, 2);
        return type == INGOT_SCALAR_F16 ? ig_half_value(bits) : ig_bfloat_value(bits);
    }
    case INGOT_SCALAR_I32: {
        int32_t value;
        memcpy(&value, at, 4);
        return value;
    }
    case INGOT_SCALAR_U32: {
        uint32_t value;
        memcpy(&value, at, 4);
        return value;
    }
    case INGOT_SCALAR_I64: {
        int64_t value;
        memcpy(&value, at, 8);
        return (double)value;
    }
    case INGOT_SCALAR_U8:
    case INGOT_SCALAR_BOOL:
        return *(const uint8_t *)at;
    case INGOT_SCALAR_I8:
        return *(const int8_t *)at;
    default:
        return NAN;
    }
}

void igh_store(ingot_scalar_type type, void *at, double value) {
    switch (type) {
    case INGOT_SCALAR_F32: {
        float f = (float)value;
        memcpy(at, &f, 4);
        return;
    }
    case INGOT_SCALAR_F16:
    case INGOT_SCALAR_BF16: {
        uint16_t bits = type == INGOT_SCALAR_F16 ? ig_half_bits(value) : ig_bfloat_bits(value);
        memcpy(at, &bits, 2);
        return;
    }
    case INGOT_SCALAR_I32: {
        int32_t i = (int32_t)value;
        memcpy(at, &i, 4);
        return;
    }
    case INGOT_SCALAR_U32: {
        uint32_t u = (uint32_t)value;
        memcpy(at, &u, 4);
        return;
    }
    case INGOT_SCALAR_I64: {
        int64_t i = (int64_t)value;
        memcpy(at, &i, 8);
        return;
    }
    case INGOT_SCALAR_U8:
    case INGOT_SCALAR_BOOL:
        *(uint8_t *)at = (uint8_t)value;
        return;
    case INGOT_SCALAR_I8:
        *(int8_t *)at = (int8_t)value;
        return;
    default:
        return;
    }
}

double igh_ulp(ingot_scalar_type type, double x) {
    const int digits = type == INGOT_SCALAR_F16 ? 11 : type == INGOT_SCALAR_BF16 ? 8 : 24;
    const int lowest = type == INGOT_SCALAR_F16 ? -14 : -126;
    int exponent;
    if (!isfinite(x)) {
        return 0;
    }
    frexp(x, &exponent);
    exponent = x == 0 || exponent - 1 < lowest ? lowest : exponent - 1;
    return ldexp(1, exponent - digits + 1);
}

/* ---- walking a tensor in dense order ---- */

static int64_t count_of(const ingot_tensor *t) {
    int64_t count = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        count *= t->shape[i];
    }
    return count;
}

struct walk {
    const ingot_tensor *tensor;
    int64_t index[INGOT_MAX_RANK];
    int64_t element; /* offset from the first, in elements */
};

static void walk_next(struct walk *w) {
    for (uint32_t d = w->tensor->rank; d-- > 0;) {
        w->element += w->tensor->strides[d];
        if (++w->index[d] < w->tensor->shape[d]) {
            return;
        }
        w->element -= w->tensor->strides[d] * w->tensor->shape[d];
        w->index[d] = 0;
    }
}

static char *first_element(const struct igh_tensor *slot) {
    return slot->host + slot->tensor.offset;
}

static void store_all(struct igh_tensor *slot, const double *values) {
    struct walk w = {.tensor = &slot->tensor};
    size_t size = ig_scalar_size(slot->tensor.type);
    char *at = first_element(slot);
    for (int64_t i = 0, n = count_of(&slot->tensor); i < n; i++, walk_next(&w)) {
        char *element = at + w.element * (int64_t)size;
        igh_store(slot->tensor.type, element, values[i]);
        if (slot->values) {
            slot->values[i] = igh_load(slot->tensor.type, element);
        }
    }
}

/* ---- the device's memory ---- */

static bool has_copy(const struct igh_tensor *slot) {
    return slot->host && slot->host != ingot_buffer_contents(slot->tensor.buffer);
}

static void free_memory(struct igh_tensor *slot) {
    if (has_copy(slot)) {
        free(slot->host);
    }
    slot->host = NULL;
    ingot_buffer_release(slot->tensor.buffer);
    slot->tensor.buffer = NULL;
}

static ingot_status move_part(const struct igh_run *run, const struct igh_tensor *slot,
                              bool to_device, uint64_t at, uint64_t length) {
    return to_device
               ? ingot_stream_upload(run->stream, slot->tensor.buffer, at, slot->host + at, length)
               : ingot_stream_download(run->stream, slot->tensor.buffer, at, slot->host + at,
                                       length);
}

/* Between the host's copy and the device. Of a very large buffer only the tensor's elements: the
 * rest is there to make strides long, and nobody touches it. */
static ingot_status move_bytes(const struct igh_run *run, const struct igh_tensor *slot,
                               bool to_device) {
    uint64_t length = ingot_buffer_length(slot->tensor.buffer);
    if (length <= (uint64_t)1 << 30) {
        return move_part(run, slot, to_device, 0, length);
    }
    struct walk w = {.tensor = &slot->tensor};
    uint64_t size = ig_scalar_size(slot->tensor.type), start = slot->tensor.offset, end = start;
    ingot_status status = INGOT_OK;
    for (int64_t i = 0, n = count_of(&slot->tensor); i <= n && !status; i++) {
        uint64_t at = slot->tensor.offset + (uint64_t)w.element * size;
        if (i == n || at != end) {
            status = end > start ? move_part(run, slot, to_device, start, end - start) : INGOT_OK;
            start = at;
        }
        end = at + size;
        if (i < n) {
            walk_next(&w);
        }
    }
    return status;
}

const char *igh_bytes(const struct igh_run *run, int index) {
    const struct igh_tensor *slot = &run->slots[index];
    return has_copy(slot) && move_bytes(run, slot, false) ? NULL : slot->host;
}

/* What was put into `host` goes to the device. */
static void send_inputs(struct igh_run *run) {
    for (int i = 0; i < IGH_MAX_SLOTS && !run->error.status; i++) {
        const struct igh_tensor *slot = &run->slots[i];
        if (!slot->input || slot->is_sent || !has_copy(slot)) {
            continue;
        }
        ingot_status status = move_bytes(run, slot, true);
        if (status) {
            ig_fail(&run->error, status, "%s: %s", slot->name, ingot_error_message());
        }
    }
}

double *igh_got(const struct igh_run *run, int index) {
    const struct igh_tensor *slot = &run->slots[index];
    int64_t count = count_of(&slot->tensor);
    double *values = malloc(((size_t)count + 1) * sizeof *values);
    struct walk w = {.tensor = &slot->tensor};
    size_t size = ig_scalar_size(slot->tensor.type);
    if (!values || !count) {
        return values;
    }
    if (!igh_bytes(run, index)) {
        free(values);
        return NULL;
    }
    const char *at = first_element(slot);
    for (int64_t i = 0; i < count; i++, walk_next(&w)) {
        values[i] = igh_load(slot->tensor.type, at + w.element * (int64_t)size);
    }
    return values;
}

/* ---- declaring ---- */

static bool failed(const struct igh_run *run) {
    return run->error.status != INGOT_OK;
}

static void fail_memory(struct igh_run *run, const char *name, int64_t count) {
    ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory for the %lld elements of %s",
            (long long)count, name);
}

static void allocate(struct igh_run *run, struct igh_tensor *slot, uint64_t elements) {
    uint64_t bytes = elements * ig_scalar_size(slot->tensor.type);
    ingot_status status = ingot_buffer_create(run->device, bytes ? bytes : 1, &slot->tensor.buffer);
    if (status) {
        ig_fail(&run->error, status, "%s: %s", slot->name, ingot_error_message());
        return;
    }
    slot->host = ingot_buffer_contents(slot->tensor.buffer);
    if (!slot->host) {
        slot->host = calloc(1, bytes ? bytes : 1);
    }
    if (!slot->host) {
        fail_memory(run, slot->name, (int64_t)elements);
    }
}

static void put_specials(struct igh_tensor *slot, double *values, int64_t count) {
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    ingot_scalar_type type = slot->tensor.type;
    bool is_float =
        type == INGOT_SCALAR_F32 || type == INGOT_SCALAR_F16 || type == INGOT_SCALAR_BF16;
    for (int i = 0; i < 3 && is_float && !slot->exact && count > 0; i++) {
        values[(count / 4 * (i + 1) + i) % count] = specials[i];
    }
}

/* For speed, in memory that the host cannot reach: the first elements are sent, and copied until
 * the buffer is full; or all of them are copied from the first set. */
static void fill_on_device(struct igh_run *run, struct igh_tensor *slot, uint64_t sent,
                           const struct igh_tensor *like) {
    ingot_buffer *buffer = slot->tensor.buffer;
    uint64_t length = ingot_buffer_length(buffer), done = like ? length : sent;
    ingot_status status =
        like ? ingot_stream_copy(run->stream, like->tensor.buffer, 0, buffer, 0, length)
             : ingot_stream_upload(run->stream, buffer, 0, slot->host, sent);
    while (!status && done < length) {
        uint64_t step = length - done < done ? length - done : done;
        status = ingot_stream_copy(run->stream, buffer, 0, buffer, done, step);
        done += step;
    }
    if (status) {
        ig_fail(&run->error, status, "%s: %s", slot->name, ingot_error_message());
    }
    slot->is_sent = true;
}

/* For speed the values need not be all different: a period of them, or a copy of the first set. */
static void fill_quickly(struct igh_run *run, struct igh_tensor *slot, uint64_t *state) {
    enum { PERIOD = 8191 };
    struct walk w = {.tensor = &slot->tensor};
    size_t size = ig_scalar_size(slot->tensor.type);
    char *at = first_element(slot);
    const struct igh_tensor *like = run->like ? &run->like->slots[slot - run->slots] : NULL;
    uint64_t length = ingot_buffer_length(slot->tensor.buffer);
    if (like && !like->output && ingot_buffer_length(like->tensor.buffer) == length) {
        if (like->is_sent) {
            fill_on_device(run, slot, 0, like);
        } else {
            memcpy(slot->host, like->host, length);
        }
        return;
    }
    unsigned char period[PERIOD][8];
    int64_t count = count_of(&slot->tensor), first = count < PERIOD ? count : PERIOD;
    for (int64_t i = 0; i < first; i++) {
        igh_store(slot->tensor.type, period[i], fill_value(&slot->fill, state));
    }
    bool dense = at - slot->host + count * (int64_t)size == (int64_t)length;
    for (int64_t i = 0; i < (dense ? first : count); i++, walk_next(&w)) {
        memcpy(at + w.element * (int64_t)size, period[i % PERIOD], size);
    }
    if (dense && has_copy(slot) && at == slot->host) {
        fill_on_device(run, slot, (uint64_t)first * size, NULL);
        return;
    }
    for (int64_t done = first, step; dense && done < count; done += step) {
        step = count - done < first ? count - done : first;
        memcpy(at + done * (int64_t)size, at, (size_t)step * size);
    }
}

static void fill_input(struct igh_run *run, struct igh_tensor *slot) {
    int64_t count = count_of(&slot->tensor);
    if (!count) {
        return;
    }
    uint64_t state = run->seed;
    run->seed = run->seed * 6364136223846793005u + 1442695040888963407u;
    if (run->for_speed) {
        fill_quickly(run, slot, &state);
        return;
    }
    double *values = malloc((size_t)count * sizeof *values);
    if (!values) {
        fail_memory(run, slot->name, count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        values[i] = fill_value(&slot->fill, &state);
    }
    if (run->specials) {
        put_specials(slot, values, count);
    }
    store_all(slot, values);
    free(values);
}

static struct igh_tensor *declare(struct igh_run *run, int index, const char *name,
                                  ingot_scalar_type type, uint32_t rank, const int64_t *shape) {
    struct igh_tensor *slot = &run->slots[index];
    *slot = (struct igh_tensor){.name = name,
                                .tensor = ingot_tensor_contiguous(NULL, 0, type, rank, shape)};
    int64_t count = count_of(&slot->tensor);
    allocate(run, slot, (uint64_t)count);
    if (!failed(run) && !run->for_speed) {
        slot->values = calloc((size_t)count + 1, sizeof *slot->values);
        slot->expected = calloc((size_t)count + 1, sizeof *slot->expected);
        if (!slot->values || !slot->expected) {
            fail_memory(run, name, count);
        }
    }
    return slot;
}

void igh_input(struct igh_run *run, int index, const char *name, ingot_scalar_type type,
               uint32_t rank, const int64_t *shape, struct igh_fill fill) {
    if (failed(run)) {
        return;
    }
    struct igh_tensor *slot = declare(run, index, name, type, rank, shape);
    slot->input = true;
    slot->fill = fill;
}

void igh_output(struct igh_run *run, int index, const char *name, ingot_scalar_type type,
                uint32_t rank, const int64_t *shape) {
    if (failed(run)) {
        return;
    }
    declare(run, index, name, type, rank, shape)->output = true;
}

void igh_inout(struct igh_run *run, int index, const char *name, ingot_scalar_type type,
               uint32_t rank, const int64_t *shape, struct igh_fill fill) {
    igh_input(run, index, name, type, rank, shape, fill);
    run->slots[index].output = true;
}

void igh_strides(struct igh_run *run, int index, const int64_t *strides, int64_t first) {
    struct igh_tensor *slot = &run->slots[index];
    if (failed(run)) {
        return;
    }
    uint64_t reach = (uint64_t)first + 1;
    for (uint32_t i = 0; i < slot->tensor.rank; i++) {
        slot->tensor.strides[i] = strides[i];
        if (slot->tensor.shape[i] > 0) {
            reach += (uint64_t)(slot->tensor.shape[i] - 1) * (uint64_t)strides[i];
        }
    }
    free_memory(slot);
    allocate(run, slot, reach);
    slot->tensor.offset = (uint64_t)first * ig_scalar_size(slot->tensor.type);
}

void igh_no_specials(struct igh_run *run, int index) {
    run->slots[index].exact = true;
}

void igh_set(struct igh_run *run, int index, const double *values, bool always) {
    struct igh_tensor *slot = &run->slots[index];
    if (failed(run) || (run->for_speed && !always) || !count_of(&slot->tensor)) {
        return;
    }
    store_all(slot, values);
    slot->fill = (struct igh_fill){0};
    slot->exact = slot->is_set = true;
}

const ingot_tensor *igh_tensor(const struct igh_run *run, int index) {
    return run->slots[index].name ? &run->slots[index].tensor : NULL;
}

int64_t igh_count(const struct igh_run *run, int index) {
    return count_of(&run->slots[index].tensor);
}

const double *igh_values(const struct igh_run *run, int index) {
    return run->slots[index].values;
}

double *igh_expected(const struct igh_run *run, int index) {
    return run->slots[index].expected;
}

void igh_metric(struct igh_run *run, const char *name, double value, double bound) {
    if (run->metric_count == IGH_MAX_METRICS) {
        return;
    }
    struct igh_metric *metric = &run->metrics[run->metric_count++];
    snprintf(metric->name, sizeof metric->name, "%s", name);
    metric->value = value;
    metric->bound = bound;
}

/* ---- a whole run ---- */

ingot_status igh_run_open(struct igh_run *run, const struct igh_run_desc *desc) {
    *run = (struct igh_run){.ops = desc->options->ops,
                            .device = ingot_ops_device(desc->options->ops),
                            .stream = desc->options->stream,
                            .suite = desc->suite,
                            .test = desc->test,
                            .type = desc->type,
                            .for_speed = desc->for_speed,
                            .specials = desc->specials,
                            .like = desc->like,
                            .seed = 0x1234567};
    for (const char *c = desc->test->name; *c; c++) {
        run->seed = run->seed * 31 + (unsigned char)*c;
    }
    desc->suite->declare(run);
    for (int i = 0; i < IGH_MAX_SLOTS && !failed(run); i++) {
        if (run->slots[i].input && !run->slots[i].is_set) {
            fill_input(run, &run->slots[i]);
        }
    }
    send_inputs(run);
    return run->error.status;
}

void igh_run_close(struct igh_run *run) {
    for (int i = 0; i < IGH_MAX_SLOTS; i++) {
        free(run->slots[i].values);
        free(run->slots[i].expected);
        free_memory(&run->slots[i]);
        ingot_buffer_release(run->slots[i].pristine);
    }
    ig_error_clear(&run->error);
    free(run->own);
    memset(run, 0, sizeof *run);
}
