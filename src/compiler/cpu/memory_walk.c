/*
 * How much memory a kernel goes through as its threads follow each other in x. Requires a prepared
 * kernel. The runtime chooses by it the order of threads that memory likes (cpu_abi.h). Only
 * kernels whose every access is known count: no loops, and addresses that grow by a small stride
 * from one thread to the next, or are the same for all.
 */
#include <string.h>

#include "compiler/analysis/analysis.h"
#include "compiler/cpu/cpu.h"
#include "compiler/cpu/vectorise/emit.h"
#include "compiler/ir/builtins.h"

enum {
    MOST_ARRAYS = 16,
    MOST_STRIDE = 64, /* bytes: beyond, a thread leaves most of what is loaded for it */
    MOST_BYTES = 255,
};

struct arrays {
    unsigned count;
    LLVMValueRef base[MOST_ARRAYS]; /* the argument's number */
    uint32_t bytes[MOST_ARRAYS];    /* of one thread */
};

/* The number of the argument that an address is in, or NULL. */
static LLVMValueRef argument_of(LLVMValueRef address) {
    while (LLVMIsAGetElementPtrInst(address) || LLVMIsAAddrSpaceCastInst(address)) {
        address = LLVMGetOperand(address, 0);
    }
    enum igi_builtin builtin = igi_builtin_of(address);
    bool is_argument = builtin == IGI_arg_device || builtin == IGI_arg_constant;
    return is_argument ? LLVMGetOperand(address, 0) : NULL;
}

/* Where this array is noted, or the count. */
static unsigned find(const struct arrays *arrays, LLVMValueRef base) {
    unsigned i = 0;
    while (i < arrays->count && arrays->base[i] != base) {
        i++;
    }
    return i;
}

/* Several accesses of one array count once: they are beside each other, or the same. */
static bool note(struct arrays *arrays, LLVMValueRef base, uint32_t bytes) {
    unsigned i = find(arrays, base);
    if (i == MOST_ARRAYS) {
        return false;
    }
    if (i == arrays->count) {
        arrays->base[arrays->count++] = base;
        arrays->bytes[i] = 0;
    }
    arrays->bytes[i] = bytes > arrays->bytes[i] ? bytes : arrays->bytes[i];
    return true;
}

/* False: this access is none of those that count. */
static bool visit(const struct igv_analysis *analysis, struct arrays *arrays, LLVMValueRef in,
                  bool in_loops) {
    bool stores = LLVMIsAStoreInst(in) != NULL;
    if (!stores && !LLVMIsALoadInst(in)) {
        return true;
    }
    LLVMValueRef address = LLVMGetOperand(in, stores ? 1 : 0);
    const struct igv_value *value = igv_value_of(analysis, address);
    if (!value || value->shape == IGV_V_UNIFORM) {
        return !stores && !in_loops;
    }
    if (in_loops) {
        return find(arrays, argument_of(address)) < arrays->count;
    }
    if (value->shape == IGV_V_VARYING || value->private_granule) {
        return false;
    }
    long stride = value->stride < 0 ? -value->stride : value->stride;
    LLVMValueRef base = argument_of(address);
    return base && stride > 0 && stride <= MOST_STRIDE && note(arrays, base, (uint32_t)stride);
}

static bool visit_all(const struct igv_analysis *analysis, struct arrays *arrays, bool in_loops) {
    for (unsigned i = 0; i < analysis->value_count; i++) {
        const struct igv_value *value = &analysis->values[i];
        bool in_loop = analysis->blocks[value->block].loop != IGV_NONE;
        if (in_loop == in_loops && !visit(analysis, arrays, value->value, in_loops)) {
            return false;
        }
    }
    return true;
}

ingot_status igc_find_streams(struct ig_arena *arena, const struct igv_request *request,
                              uint32_t *flags, struct ig_error *error) {
    struct igv_request row = *request;
    struct igv_analysis analysis;
    struct arrays arrays = {0};
    row.ids = INGOT_CPU_IDS_ROW;
    row.full_mask = true;
    row.may_decline = false;
    ingot_status status = igv_analyse(arena, &row, &analysis, error);
    if (status) {
        return status;
    }
    if (!visit_all(&analysis, &arrays, false) || !visit_all(&analysis, &arrays, true)) {
        return INGOT_OK;
    }
    uint32_t bytes = 0;
    for (unsigned i = 0; i < arrays.count; i++) {
        bytes += arrays.bytes[i];
    }
    if (bytes <= MOST_BYTES) {
        *flags |=
            bytes * INGOT_CPU_KERNEL_BYTES_PER_THREAD + arrays.count * INGOT_CPU_KERNEL_ARRAYS;
    }
    return INGOT_OK;
}
