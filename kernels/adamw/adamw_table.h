/*
 * The table of parameters that a launch works through. It is memory that the device reads, and
 * keeps the tensors' buffers alive until the launch that reads it is done.
 */
#ifndef INGOT_KERNELS_ADAMW_TABLE_H
#define INGOT_KERNELS_ADAMW_TABLE_H

#include "adamw/adamw_args.h"
#include "ops/call.h"

enum { ADAM_TENSORS_PER_ENTRY = 6 };

struct adam_table {
    struct adam_entry *entries;
    size_t count, capacity;
    uint64_t blocks;      /* of all entries so far */
    bool aligned;         /* every tensor to four of its elements */
    ingot_buffer *buffer; /* what a launch binds; NULL before the table is closed */
};

/* Room for `capacity` entries. */
void adam_table_open(struct igo_call *call, struct adam_table *table, size_t capacity);
/* A new entry of `count` elements in blocks of `block`; all addresses are still 0. */
struct adam_entry *adam_table_add(struct adam_table *table, uint64_t count, uint32_t block);
/* The address of a dense tensor's first element, whose buffer the table keeps from now on. */
uint64_t adam_table_keep(struct adam_table *table, const ingot_tensor *tensor);
/* All entries are there: makes the buffer, which the caller releases after the launch. */
void adam_table_close(struct igo_call *call, struct adam_table *table);

#endif
