/*
 * Everything the vectoriser wants to know about a prepared kernel, in one linear function.
 *
 * Requires: what cpu/prepare provides. Provides: struct igv_analysis.
 * Does not: change the kernel.
 */
#include "compiler/analysis/analysis_internal.h"
#include "compiler/ir/walk.h"

struct igv_value *igv_value_of(const struct igv_analysis *analysis, LLVMValueRef value) {
    unsigned number = igi_map_get(&analysis->value_numbers, value);
    return number == IGV_NONE ? NULL : &analysis->values[number];
}

unsigned igv_block_of(const struct igv_analysis *analysis, LLVMBasicBlockRef block) {
    return igi_map_get(&analysis->block_numbers, block);
}

bool igv_is_divergent(const struct igv_analysis *analysis, LLVMBasicBlockRef block) {
    return analysis->blocks[igv_block_of(analysis, block)].divergent;
}

bool igv_branch_varies(const struct igv_analysis *analysis, LLVMBasicBlockRef block) {
    return analysis->blocks[igv_block_of(analysis, block)].branch_divergent;
}

ingot_status igv_collect_values(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    size_t count = 0;
    for (unsigned b = 0; b < analysis->block_count; b++) {
        count += igi_block_length(analysis->blocks[b].block);
    }
    analysis->values = ig_arena_array(work->arena, count + 1, sizeof *analysis->values);
    igi_map_start(&analysis->value_numbers, work->arena, count + 1);
    if (!analysis->values || analysis->value_numbers.failed) {
        return igi_out_of_memory(work->error);
    }
    for (unsigned b = 0; b < analysis->block_count; b++) {
        igi_each_in_block(in, analysis->blocks[b].block) {
            struct igv_value *value = &analysis->values[analysis->value_count];
            value->value = in;
            value->block = b;
            igi_map_put(&analysis->value_numbers, in, analysis->value_count++);
        }
    }
    return INGOT_OK;
}

ingot_status igv_analyse_shapes(struct ig_arena *arena, const struct igv_subject *subject,
                                struct igv_analysis *analysis, struct ig_error *error) {
    struct igv_work work = {.arena = arena,
                            .options = {IGV_AMONG_LANES, IGV_MEET_IN_ITERATION, false},
                            .subject = subject,
                            .analysis = analysis,
                            .layout = LLVMGetModuleDataLayout(subject->module),
                            .error = error};
    *analysis = (struct igv_analysis){0};
    ingot_status status = igv_control_find(arena, subject->kernel, analysis, error);
    status = status ? status : igv_collect_values(&work);
    status = status ? status : igv_shapes_start(&work);
    status = status ? status : igv_private_plan(&work);
    status = status ? status : igv_divergence_start(&work);
    if (status) {
        return status;
    }
    bool changed = true;
    while (changed) { /* ends: shapes only fall and flags are only set */
        changed = igv_shapes_step(&work);
        changed = igv_divergence_step(&work) || changed;
    }
    igv_masks_alias(analysis);
    return INGOT_OK;
}
