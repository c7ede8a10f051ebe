/*
 * Kernels whose threads ended because of a barrier that not all of them reached: what they left in
 * their modules (base/cuda_abi.h) becomes the error of the stream that ran them.
 */
#include "base/cuda_abi.h"
#include "base/text.h"
#include "runtime/cuda/cuda.h"

ingot_status cuda_stop_open(struct cuda_device *device, struct cuda_code *code,
                            const struct ig_code *image, struct ig_error *error) {
    ingot_status status = cuda_code_variable(device, code, image, INGOT_CUDA_FAILURE_SYMBOL,
                                             sizeof(struct ingot_cuda_failure), &code->stop, error);
    if (status != INGOT_OK || !code->stop) {
        return status;
    }
    pthread_mutex_lock(&device->lock);
    code->next_stopping = device->stopping;
    device->stopping = code;
    pthread_mutex_unlock(&device->lock);
    return INGOT_OK;
}

void cuda_stop_close(struct cuda_device *device, struct cuda_code *code) {
    pthread_mutex_lock(&device->lock);
    struct cuda_code **link = &device->stopping;
    while (*link && *link != code) {
        link = &(*link)->next_stopping;
    }
    if (*link) {
        *link = code->next_stopping;
    }
    pthread_mutex_unlock(&device->lock);
}

static void describe(const struct cuda_code *code, const struct ingot_cuda_failure *failure,
                     struct ig_error *error) {
    const uint32_t *at = failure->group;
    struct ig_text text = {0};
    ig_text_printf(&text, "kernel \"%s\", threadgroup (%u, %u, %u): ", code->kernel, at[0], at[1],
                   at[2]);
    if (failure->kind == INGOT_CUDA_BARRIER_LANES) {
        ig_say_lanes_missing(&text, failure->simdgroup, failure->came, failure->all);
    } else {
        ig_say_simdgroups_ended(&text, failure->came, failure->all);
    }
    ig_fail(error, INGOT_BARRIER_ERROR, "%s", ig_text_string(&text));
    ig_text_free(&text);
}

static bool all_idle(struct cuda_device *device) {
    for (struct cuda_stream *s = device->streams; s; s = s->next) {
        if (cuda_stream_works(s)) {
            return false;
        }
    }
    return true;
}

static cu_result clear(struct cuda_device *device, const struct cuda_code *code) {
    cu_result result = device->driver->memory_fill(code->stop, 0, sizeof(struct ingot_cuda_failure),
                                                   device->own_stream);
    return result == CU_SUCCESS ? device->driver->stream_synchronize(device->own_stream) : result;
}

/* What one kernel left. While its stream works there may be more to come. */
static cu_result read_one(struct cuda_device *device, struct cuda_code *code, bool idle,
                          struct cuda_stream *waiting) {
    struct ingot_cuda_failure failure;
    cu_result result = cuda_fetch(device, code->stop, &failure, sizeof failure);
    if (result != CU_SUCCESS) {
        return result;
    }
    if (!failure.claim) {
        code->may_have_stopped = !idle || code->is_in_graph;
        return CU_SUCCESS;
    }
    struct cuda_stream *stream = device->streams;
    while (stream && stream->number != failure.stream) {
        stream = stream->next;
    }
    if (stream ? cuda_stream_works(stream) : !idle) {
        return CU_SUCCESS;
    }
    stream = stream ? stream : waiting;
    if (stream && stream->error.status == INGOT_OK) {
        describe(code, &failure, &stream->error);
    }
    return clear(device, code);
}

ingot_status cuda_stop_read(struct cuda_device *device, struct cuda_stream *waiting,
                            struct ig_error *error) {
    struct cuda_scope scope;
    cu_result result = CU_SUCCESS;
    bool looked = false, idle = false;
    for (struct cuda_code *c = device->stopping; c && result == CU_SUCCESS; c = c->next_stopping) {
        if (!c->may_have_stopped || cuda_enter_relaxed(device, &scope, NULL) != INGOT_OK) {
            continue;
        }
        idle = looked ? idle : all_idle(device);
        looked = true;
        result = read_one(device, c, idle, waiting);
        cuda_leave(device, &scope);
    }
    return result == CU_SUCCESS
               ? INGOT_OK
               : cuda_fail(device, result, error, "the failures of kernels cannot be read");
}
