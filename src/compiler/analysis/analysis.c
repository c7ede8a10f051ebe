/*
 * Everything the emission wants to know about a prepared kernel, in one linear function.
 *
 * Requires: what prepare.c provides. Provides: struct igv_analysis.
 * Does not: change the kernel.
 */
#include "compiler/analysis/analysis_internal.h"
#include "compiler/ir/walk.h"

#include <stdint.h>
#include <string.h>

ingot_status igv_out_of_memory(struct ig_error *error) {
    return ig_fail(error, INGOT_OUT_OF_MEMORY, "memory ran out while a kernel was analysed");
}

/* ---- pointer → number ------------------------------------------------------------------ */
static size_t hash_of(const struct igv_index *index, LLVMValueRef key) {
    uint64_t bits = (uint64_t)(uintptr_t)key;
    bits ^= bits >> 17;
    bits *= 0x9E3779B97F4A7C15u;
    return (size_t)(bits >> 32) & (index->capacity - 1);
}

bool igv_index_create(struct ig_arena *arena, struct igv_index *index, size_t entries) {
    index->capacity = 16;
    while (index->capacity < 2 * entries) {
        index->capacity *= 2;
    }
    index->keys = ig_arena_array(arena, index->capacity, sizeof *index->keys);
    index->numbers = ig_arena_array(arena, index->capacity, sizeof *index->numbers);
    if (!index->keys || !index->numbers) {
        return false;
    }
    memset(index->numbers, 0xff, index->capacity * sizeof *index->numbers);
    return true;
}

void igv_index_put(struct igv_index *index, LLVMValueRef key, unsigned number) {
    size_t at = hash_of(index, key);
    while (index->numbers[at] != IGV_NONE && index->keys[at] != key) {
        at = (at + 1) & (index->capacity - 1);
    }
    index->keys[at] = key;
    index->numbers[at] = number;
}

unsigned igv_index_get(const struct igv_index *index, LLVMValueRef key) {
    size_t at = hash_of(index, key);
    while (index->numbers[at] != IGV_NONE) {
        if (index->keys[at] == key) {
            return index->numbers[at];
        }
        at = (at + 1) & (index->capacity - 1);
    }
    return IGV_NONE;
}

struct igv_value *igv_value_of(const struct igv_analysis *analysis, LLVMValueRef value) {
    const struct igv_indices *indices = analysis->index;
    unsigned number = igv_index_get(&indices->values, value);
    return number == IGV_NONE ? NULL : &analysis->values[number];
}

unsigned igv_block_of(const struct igv_analysis *analysis, LLVMBasicBlockRef block) {
    const struct igv_indices *indices = analysis->index;
    return igv_index_get(&indices->blocks, LLVMBasicBlockAsValue(block));
}

/* ---- the tables -------------------------------------------------------------------------- */
static ingot_status collect_values(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    struct igv_indices *indices = analysis->index;
    size_t count = 0;
    for (unsigned b = 0; b < analysis->block_count; b++) {
        igi_each_in_block(i, analysis->blocks[b].block) {
            count++;
        }
    }
    analysis->values = ig_arena_array(work->arena, count + 1, sizeof *analysis->values);
    work->visited = ig_arena_array(work->arena, count + 1, sizeof *work->visited);
    work->no_signed_wrap = ig_arena_array(work->arena, count + 1, sizeof *work->no_signed_wrap);
    if (!analysis->values || !work->visited || !work->no_signed_wrap ||
        !igv_index_create(work->arena, &indices->values, count) ||
        !igv_index_create(work->arena, &indices->blocks, analysis->block_count)) {
        return igv_out_of_memory(work->error);
    }
    for (unsigned b = 0; b < analysis->block_count; b++) {
        LLVMBasicBlockRef block = analysis->blocks[b].block;
        igv_index_put(&indices->blocks, LLVMBasicBlockAsValue(block), b);
        igi_each_in_block(i, block) {
            struct igv_value *value = &analysis->values[analysis->value_count];
            value->value = i;
            value->block = b;
            igv_index_put(&indices->values, i, analysis->value_count++);
        }
    }
    return INGOT_OK;
}

static ingot_status scratch_create(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    work->branch_done = ig_arena_array(work->arena, analysis->block_count, sizeof(bool));
    work->loop_done = ig_arena_array(work->arena, analysis->loop_count + 1u, sizeof(bool));
    work->label = ig_arena_array(work->arena, analysis->block_count, sizeof(unsigned));
    work->label_of = ig_arena_array(work->arena, analysis->block_count, sizeof(unsigned));
    if (!work->branch_done || !work->loop_done || !work->label || !work->label_of) {
        return igv_out_of_memory(work->error);
    }
    return INGOT_OK;
}

ingot_status igv_control_find(struct igv_work *work) {
    ingot_status status = igv_cfg_build(work);
    if (!status) {
        status = igv_dominators(work);
    }
    if (!status) {
        status = igv_loops_find(work);
    }
    if (!status) {
        status = igv_cfg_order(work);
    }
    if (!status) {
        status = igv_loop_exits_find(work);
    }
    if (!status) {
        status = igv_post_dominators(work);
    }
    return status;
}

ingot_status igv_analyse(struct ig_arena *arena, const struct igv_request *request,
                         struct igv_analysis *analysis, struct ig_error *error) {
    struct igv_work work = {.arena = arena,
                            .request = request,
                            .analysis = analysis,
                            .layout = LLVMGetModuleDataLayout(request->module),
                            .error = error};
    *analysis = (struct igv_analysis){.index = ig_arena_alloc(arena, sizeof(struct igv_indices))};
    if (!analysis->index) {
        return igv_out_of_memory(error);
    }
    ingot_status status = igv_control_find(&work);
    if (!status) {
        status = collect_values(&work);
    }
    if (!status) {
        status = scratch_create(&work);
    }
    if (!status) {
        status = igv_private_plan(&work);
    }
    if (!status) {
        status = igv_divergence_start(&work);
    }
    if (status) {
        return status;
    }
    bool changed = true;
    while (changed) { /* ends: shapes only fall and flags are only set */
        changed = igv_shapes_step(&work);
        changed = igv_divergence_step(&work) || changed;
    }
    igv_masks_alias(&work);
    return INGOT_OK;
}
