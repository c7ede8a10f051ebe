/* Between the files of products of four SIMD-groups: see warpgroup_mma.c. */
#ifndef INGOT_COMPILER_NVPTX_WARPGROUP_MMA_H
#define INGOT_COMPILER_NVPTX_WARPGROUP_MMA_H

#include "compiler/nvptx/nvptx.h"

enum {
    IGP_WARPGROUP_LEFT = 4, /* operands of nv.mma.k16.* and nv.wgmma.* that are A */
    IGP_WARPGROUP_SUMS = 4, /* of a lane, for each tile of B */
    IGP_WARPGROUP_FIRST =
        7, /* the first sum of the operands of nv.wgmma.*: A, then the place of B in three */
    IGP_WARPGROUP_MOST = 256,
};

/* A call with any number of operands that gives `sums` floats, at the builder's place. */
LLVMValueRef igp_call_for_sums(struct igc_kernel *kernel, struct igi_name name, LLVMValueRef *args,
                               unsigned count, unsigned sums);
/* A copy that is a call. */
bool igp_is_copy(LLVMValueRef instruction);
/* Can an instruction be at the end of its block? Sums are put into vectors that go on to others. */
bool igp_can_sink(LLVMValueRef instruction);
/* Where a store or a copy writes threadgroup memory; NULL for others. */
LLVMValueRef igp_written(LLVMValueRef instruction);
bool igp_is_group_barrier(LLVMValueRef instruction);
/* May it write threadgroup memory, and nobody knows where? Not stores and copies. */
bool igp_may_write(LLVMValueRef instruction);
bool igp_has_left_in_memory(LLVMValueRef product);
/* The products that there are get what they wait for, and what waits for them
 * (warpgroup_mma_order.c). */
ingot_status igp_order_warpgroup_products(struct igc_kernel *kernel);

#endif
