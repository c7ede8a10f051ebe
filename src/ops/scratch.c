/*
 * Scratch memory that is used again. The pool keeps one reference to each of its buffers; the call
 * and the CPU's queued work hold the others, so a buffer whose count is down to the pool's own is
 * free. Queued work of GPUs holds none: there a buffer serves only streams that run in order with
 * the one that had it last. Fresh pages cost more than most kernels, so what was used once is kept,
 * up to a limit.
 */
#include <stdlib.h>

#include "ops/ops.h"
#include "runtime/objects.h"

enum { POOL_BUFFERS = 32 };
#define POOL_BYTES ((uint64_t)512 << 20)

static uint64_t pool_limit(const ingot_device_info *device) {
    uint64_t share = device->unified_memory ? 0 : device->max_buffer_length / 16;
    return share > POOL_BYTES ? share : POOL_BYTES;
}

/* NULL where any stream may have a buffer that is free. */
static const void *order_of(const struct igo_call *call) {
    return call->stream->device->ops->work_holds_buffers ? NULL : call->stream->order;
}

void igo_scratch_pool_open(struct igo_scratch_pool *pool) {
    pthread_mutex_init(&pool->lock, NULL);
    ig_fork_guard_mutex(&pool->fork, &pool->lock);
}

void igo_scratch_pool_close(struct igo_scratch_pool *pool) {
    for (size_t i = 0; i < pool->count; i++) {
        ingot_buffer_release(pool->buffers[i]);
    }
    ig_fork_remove(&pool->fork);
    pthread_mutex_destroy(&pool->lock);
}

/* Sizes with three significant bits: little is wasted, and the next call's size often fits. */
static uint64_t rounded(uint64_t bytes) {
    uint64_t step = bytes < 4096 ? 512 : (uint64_t)1 << (61 - __builtin_clzll(bytes));
    return (bytes + step - 1) / step * step;
}

static bool is_free(const ingot_buffer *buffer) {
    return atomic_load_explicit(&buffer->references, memory_order_acquire) == 1;
}

/* A free buffer of at least `bytes`, and of no more than twice that. */
static ingot_buffer *take(struct igo_scratch_pool *pool, uint64_t bytes, const void *order) {
    ingot_buffer *best = NULL;
    for (size_t i = 0; i < pool->count; i++) {
        ingot_buffer *buffer = pool->buffers[i];
        if (buffer->length >= bytes && buffer->length <= 2 * bytes + 4096 && is_free(buffer) &&
            pool->orders[i] == order && (!best || buffer->length < best->length)) {
            best = buffer;
        }
    }
    if (best) {
        ingot_buffer_retain(best);
    }
    return best;
}

/* Makes room by letting free buffers go, the oldest first. */
static bool make_room(struct igo_scratch_pool *pool, uint64_t bytes, uint64_t limit) {
    for (size_t i = 0;
         i < pool->count && (pool->count == POOL_BUFFERS || pool->bytes + bytes > limit);) {
        ingot_buffer *buffer = pool->buffers[i];
        if (!is_free(buffer)) {
            i++;
            continue;
        }
        pool->bytes -= buffer->length;
        pool->count--;
        for (size_t k = i; k < pool->count; k++) {
            pool->buffers[k] = pool->buffers[k + 1];
            pool->orders[k] = pool->orders[k + 1];
        }
        ingot_buffer_release(buffer);
    }
    return pool->count < POOL_BUFFERS && pool->bytes + bytes <= limit;
}

/* From who made the ops: it sees to the memory's end. */
static ingot_buffer *borrow(struct igo_call *call, uint64_t bytes) {
    ingot_buffer *buffer = NULL;
    void *memory = call->ops->scratch_from(call->ops->scratch_context, bytes);
    if (!memory) {
        igo_fail(call, INGOT_OUT_OF_MEMORY, "no scratch memory of %llu bytes was given",
                 (unsigned long long)bytes);
    } else if (ingot_buffer_wrap(call->ops->device, memory, bytes, NULL, NULL, &buffer)) {
        igo_fail(call, INGOT_INVALID_ARGUMENT, "scratch memory: %s", ingot_error_message());
    }
    return buffer;
}

ingot_buffer *igo_scratch(struct igo_call *call, uint64_t bytes) {
    if (call->failed) {
        return NULL;
    }
    if (call->ops->scratch_from) {
        return borrow(call, bytes ? bytes : 1);
    }
    struct igo_scratch_pool *pool = &call->ops->scratch;
    uint64_t size = rounded(bytes ? bytes : 1);
    pthread_mutex_lock(&pool->lock);
    ingot_buffer *buffer = take(pool, size, order_of(call));
    pthread_mutex_unlock(&pool->lock);
    if (buffer) {
        return buffer;
    }
    ingot_status status = ingot_buffer_create(call->ops->device, size, &buffer);
    if (status) {
        igo_fail(call, status, "scratch memory: %s", ingot_error_message());
        return NULL;
    }
    pthread_mutex_lock(&pool->lock);
    if (make_room(pool, size, pool_limit(&call->ops->info))) {
        ingot_buffer_retain(buffer);
        pool->orders[pool->count] = order_of(call);
        pool->buffers[pool->count++] = buffer;
        pool->bytes += size;
    }
    pthread_mutex_unlock(&pool->lock);
    return buffer;
}

void igo_scratch_release(struct igo_call *call, ingot_buffer *scratch) {
    (void)call;
    ingot_buffer_release(scratch);
}
