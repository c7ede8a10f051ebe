/*
 * Tables of addresses and sizes that kernels read, on devices with memory of their own.
 *
 * A step over many tensors has the same table as the last one as long as the tensors stay where
 * they are. So a table that is met a second time is written to memory that is kept: it is never
 * changed, and any stream may read it. One that is met once goes to scratch memory by way of the
 * stream, which is less to do. While a stream is captured into a graph nothing can be copied by way
 * of it, and the graph reads the table whenever it runs: such tables are kept as long as the ops.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"
#include "runtime/objects.h"

enum { KEPT_TABLES = 16 };

struct igo_kept_table {
    ingot_buffer *buffer;
    void *bytes;
    size_t size;
    uint64_t hash, last_use;
    bool is_captured; /* a graph reads it */
};

void igo_tables_open(struct igo_tables *tables) {
    pthread_mutex_init(&tables->lock, NULL);
    ig_fork_guard_mutex(&tables->fork, &tables->lock);
}

void igo_tables_close(struct igo_tables *tables) {
    for (size_t i = 0; i < tables->count; i++) {
        ingot_buffer_release(tables->kept[i].buffer);
        free(tables->kept[i].bytes);
    }
    free(tables->kept);
    ig_fork_remove(&tables->fork);
    pthread_mutex_destroy(&tables->lock);
}

/* FNV-1a by words of eight bytes; what is found is compared. */
static uint64_t hash_of(const void *bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u ^ size, word;
    const unsigned char *at = bytes;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    for (; size; size--) {
        hash = (hash ^ *at++) * 0x100000001b3u;
    }
    return hash;
}

/* With the lock held, as the next two. */
static struct igo_kept_table *find(struct igo_tables *tables, const void *bytes, size_t size,
                                   uint64_t hash) {
    for (size_t i = 0; i < tables->count; i++) {
        struct igo_kept_table *table = &tables->kept[i];
        if (table->hash == hash && table->size == size && !memcmp(table->bytes, bytes, size)) {
            return table;
        }
    }
    return NULL;
}

static bool was_met(struct igo_tables *tables, uint64_t hash) {
    for (size_t i = 0; i < IGO_MET_TABLES; i++) {
        if (tables->met[i] == hash) {
            return true;
        }
    }
    tables->met[tables->met_count++ % IGO_MET_TABLES] = hash;
    return false;
}

/* A place for one more: a new one, or, when there are many, that of the one not used for longest,
 * whose buffer comes back for release. NULL when there is no memory. */
static struct igo_kept_table *place(struct igo_tables *tables, bool is_captured,
                                    ingot_buffer **dropped) {
    struct igo_kept_table *oldest = NULL;
    size_t free_to_go = 0;
    for (size_t i = 0; i < tables->count; i++) {
        struct igo_kept_table *table = &tables->kept[i];
        free_to_go += !table->is_captured;
        if (!table->is_captured && (!oldest || table->last_use < oldest->last_use)) {
            oldest = table;
        }
    }
    if (!is_captured && free_to_go >= KEPT_TABLES) {
        *dropped = oldest->buffer;
        free(oldest->bytes);
        return oldest;
    }
    struct igo_kept_table *more = realloc(tables->kept, (tables->count + 1) * sizeof *more);
    if (!more) {
        return NULL;
    }
    tables->kept = more;
    return &more[tables->count++];
}

static ingot_buffer *keep(struct igo_call *call, const void *bytes, size_t size, uint64_t hash,
                          bool is_captured) {
    struct igo_tables *tables = &call->ops->tables;
    ingot_buffer *buffer = NULL, *dropped = NULL;
    void *copy = malloc(size);
    ingot_status status = copy ? ig_buffer_create_with(call->ops->device, bytes, size, &buffer)
                               : ig_api_fail(INGOT_OUT_OF_MEMORY, "no memory for its copy");
    if (status) {
        free(copy);
        igo_fail(call, status, "a table of %zu bytes: %s", size, ingot_error_message());
        return NULL;
    }
    memcpy(copy, bytes, size);
    pthread_mutex_lock(&tables->lock);
    struct igo_kept_table *table = place(tables, is_captured, &dropped);
    if (table) {
        *table = (struct igo_kept_table){buffer, copy, size, hash, ++tables->uses, is_captured};
        ingot_buffer_retain(buffer);
    }
    pthread_mutex_unlock(&tables->lock);
    ingot_buffer_release(dropped);
    if (!table) {
        free(copy);
        if (is_captured) { /* without the ops the graph would read memory that is freed */
            ingot_buffer_release(buffer);
            igo_fail(call, INGOT_OUT_OF_MEMORY, "no memory to keep a table of %zu bytes", size);
            return NULL;
        }
    }
    return buffer;
}

ingot_buffer *igo_table(struct igo_call *call, const void *bytes, size_t size) {
    if (call->failed || !size) {
        return NULL;
    }
    struct igo_tables *tables = &call->ops->tables;
    const uint64_t hash = hash_of(bytes, size);
    const bool is_captured = ig_stream_is_captured(call->stream);
    ingot_buffer *buffer = NULL;
    pthread_mutex_lock(&tables->lock);
    struct igo_kept_table *table = find(tables, bytes, size, hash);
    if (table) {
        buffer = table->buffer;
        table->last_use = ++tables->uses;
        table->is_captured |= is_captured;
        ingot_buffer_retain(buffer);
    }
    const bool is_kept = !table && (was_met(tables, hash) || is_captured);
    pthread_mutex_unlock(&tables->lock);
    if (buffer) {
        return buffer;
    }
    if (is_kept) {
        return keep(call, bytes, size, hash, is_captured);
    }
    buffer = igo_scratch(call, size);
    ingot_status status =
        buffer ? ingot_stream_upload(call->stream, buffer, 0, bytes, size) : INGOT_OK;
    if (status) {
        igo_fail(call, status, "a table of %zu bytes: %s", size, ingot_error_message());
    }
    return buffer;
}
