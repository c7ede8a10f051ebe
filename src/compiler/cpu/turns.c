/*
 * SIMD-groups in turns: a function of one chunk of lanes, run for each chunk of a SIMD-group that
 * has an active lane. Requires a kernel whose lanes have nothing to do with each other, vectorised
 * for a target of one chunk. Provides a function of type ingot_cpu_simdgroup_fn.
 */
#include <string.h>

#include "compiler/cpu/cpu.h"

struct loop {
    LLVMBuilderRef ir;
    LLVMTypeRef i32;
    LLVMBasicBlockRef head, run, next, end;
};

static LLVMValueRef u32(const struct loop *loop, uint32_t value) {
    return LLVMConstInt(loop->i32, value, false);
}

/* The chunk's number among all chunks takes the place of the SIMD-group's. */
static void call_chunk(const struct loop *loop, LLVMValueRef function, LLVMValueRef chunk,
                       LLVMValueRef turn, const struct igv_target *target) {
    LLVMBuilderRef ir = loop->ir;
    LLVMValueRef shift = LLVMBuildMul(ir, turn, u32(loop, target->lanes), "");
    LLVMValueRef mask = LLVMBuildLShr(ir, LLVMGetParam(function, 2), shift, "");
    mask = LLVMBuildAnd(ir, mask, u32(loop, (1u << target->lanes) - 1), "");
    LLVMValueRef any = LLVMBuildICmp(ir, LLVMIntNE, mask, u32(loop, 0), "");
    LLVMBuildCondBr(ir, any, loop->run, loop->next);
    LLVMPositionBuilderAtEnd(ir, loop->run);
    LLVMValueRef first = LLVMBuildMul(ir, LLVMGetParam(function, 1),
                                      u32(loop, INGOT_SIMD_WIDTH / target->lanes), "");
    LLVMValueRef arguments[] = {LLVMGetParam(function, 0), LLVMBuildAdd(ir, first, turn, ""), mask};
    LLVMBuildCall2(ir, LLVMGlobalGetValueType(chunk), chunk, arguments, 3, "");
    LLVMBuildBr(ir, loop->next);
}

LLVMValueRef igv_run_in_turns(LLVMValueRef chunk, const char *name,
                              const struct igv_target *target) {
    LLVMModuleRef module = LLVMGetGlobalParent(chunk);
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMValueRef function = LLVMAddFunction(module, name, LLVMGlobalGetValueType(chunk));
    LLVMSetLinkage(function, LLVMInternalLinkage);
    igc_set_target_attributes(function, target);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(context, function, "entry");
    struct loop loop = {.ir = LLVMCreateBuilderInContext(context),
                        .i32 = LLVMInt32TypeInContext(context),
                        .head = LLVMAppendBasicBlockInContext(context, function, "turn"),
                        .run = LLVMAppendBasicBlockInContext(context, function, "run"),
                        .next = LLVMAppendBasicBlockInContext(context, function, "next"),
                        .end = LLVMAppendBasicBlockInContext(context, function, "end")};
    LLVMPositionBuilderAtEnd(loop.ir, entry);
    LLVMBuildBr(loop.ir, loop.head);
    LLVMPositionBuilderAtEnd(loop.ir, loop.head);
    LLVMValueRef turn = LLVMBuildPhi(loop.ir, loop.i32, "");
    call_chunk(&loop, function, chunk, turn, target);
    LLVMPositionBuilderAtEnd(loop.ir, loop.next);
    LLVMValueRef after = LLVMBuildAdd(loop.ir, turn, u32(&loop, 1), "");
    LLVMValueRef last = u32(&loop, INGOT_SIMD_WIDTH / target->lanes);
    LLVMBuildCondBr(loop.ir, LLVMBuildICmp(loop.ir, LLVMIntEQ, after, last, ""), loop.end,
                    loop.head);
    LLVMValueRef values[] = {u32(&loop, 0), after};
    LLVMBasicBlockRef blocks[] = {entry, loop.next};
    LLVMAddIncoming(turn, values, blocks, 2);
    LLVMPositionBuilderAtEnd(loop.ir, loop.end);
    LLVMBuildRetVoid(loop.ir);
    LLVMDisposeBuilder(loop.ir);
    return function;
}
