/* One block of memory holds the entries and the list of buffers to keep. A device that reads the
 * host's memory gets it as a buffer whose end releases them; others get a copy (igo_table), and
 * freeing a buffer there waits for the work that uses it. */
#include "adamw/adamw_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"

enum { PAGE = 4096 };

struct keeper {
    size_t count;
    struct adam_entry *entries; /* the start of the block */
    ingot_buffer *buffers[];
};

static void let_go(void *context) {
    struct keeper *keeper = context;
    for (size_t i = 0; i < keeper->count; i++) {
        ingot_buffer_release(keeper->buffers[i]);
    }
    free(keeper->entries);
}

static struct keeper *keeper_of(const struct adam_table *table) {
    return (struct keeper *)(table->entries + table->capacity);
}

void adam_table_open(struct igo_call *call, struct adam_table *table, size_t capacity) {
    *table = (struct adam_table){.capacity = capacity, .aligned = true};
    if (call->failed) {
        return;
    }
    size_t bytes = capacity * sizeof(struct adam_entry), size = bytes + sizeof(struct keeper);
    size += capacity * ADAM_TENSORS_PER_ENTRY * sizeof(ingot_buffer *);
    size = (size + PAGE - 1) / PAGE * PAGE;
    table->entries = aligned_alloc(PAGE, size);
    if (!table->entries) {
        igo_fail(call, INGOT_OUT_OF_MEMORY, "no memory for a table of %zu tensors", capacity);
        return;
    }
    memset(table->entries, 0, bytes);
    struct keeper *keeper = keeper_of(table);
    keeper->count = 0;
    keeper->entries = table->entries;
}

void adam_table_close(struct igo_call *call, struct adam_table *table) {
    if (!table->entries) {
        return;
    }
    struct keeper *keeper = keeper_of(table);
    size_t bytes = table->capacity * sizeof(struct adam_entry);
    bool is_shared = igo_device_info(call)->unified_memory;
    ingot_status status = INGOT_OK;
    if (!call->failed && is_shared) {
        status = ingot_buffer_wrap(ingot_ops_device(call->ops), table->entries, bytes, let_go,
                                   keeper, &table->buffer);
    } else {
        table->buffer = igo_table(call, table->entries, bytes);
    }
    if (status) {
        igo_fail(call, status, "the table of tensors: %s", ingot_error_message());
    }
    if (!is_shared || !table->buffer) {
        let_go(keeper);
    }
    table->entries = NULL;
}

struct adam_entry *adam_table_add(struct adam_table *table, uint64_t count, uint32_t block) {
    struct adam_entry *entry = &table->entries[table->count++];
    entry->count = count;
    entry->first_block = table->blocks;
    table->blocks += (count + block - 1) / block;
    return entry;
}

uint64_t adam_table_keep(struct adam_table *table, const ingot_tensor *tensor) {
    struct keeper *keeper = keeper_of(table);
    uint64_t address = ingot_buffer_address(tensor->buffer) + tensor->offset;
    ingot_buffer_retain(tensor->buffer);
    keeper->buffers[keeper->count++] = tensor->buffer;
    if (address % (4 * ig_scalar_size(tensor->type))) {
        table->aligned = false;
    }
    return address;
}
