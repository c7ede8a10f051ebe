/*
 * Calls of functions that stay functions (cpu/prepare/kept.c): what one takes and gives is in its
 * caller's frame, word by word, each for all lanes side by side. Lanes that are not active hold
 * anything there.
 */
#include "compiler/cpu/lower/lower.h"
#include "compiler/ir/builtins.h"

static LLVMTypeRef words_type(struct igv_emit *emit, LLVMValueRef call) {
    switch (igi_builtin_of(call)) {
    case IGI_kept_argument_b64:
    case IGI_kept_pass_b64:
    case IGI_kept_result_b64:
    case IGI_kept_return_b64:
        return emit->i64;
    default:
        return emit->i32;
    }
}

/* Where the chunk of the call's words is. */
static LLVMValueRef place_of(struct igv_emit *emit, LLVMValueRef frame, LLVMValueRef call,
                             LLVMTypeRef type, unsigned chunk) {
    uint64_t place = 0;
    igl_constant(igl_operand(call, 0), &place);
    uint64_t lanes = (uint64_t)emit->lanes * emit->chunks;
    uint64_t size = type == emit->i64 ? 8 : 4;
    return igv_offset(emit, frame, (long)(place * 4 * lanes + chunk * size * emit->lanes));
}

static void load_words(struct igv_emit *emit, LLVMValueRef frame, LLVMValueRef call) {
    LLVMTypeRef type = words_type(emit, call);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef words = LLVMBuildLoad2(emit->builder, igv_vector_type(emit, type),
                                            place_of(emit, frame, call, type, chunk), "");
        LLVMSetAlignment(words, emit->lanes * 4);
        igv_define_vector(emit, call, chunk, words);
    }
}

static void store_words(struct igv_emit *emit, LLVMValueRef frame, LLVMValueRef call) {
    LLVMTypeRef type = words_type(emit, call);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef store =
            LLVMBuildStore(emit->builder, igv_vector(emit, igl_operand(call, 1), chunk),
                           place_of(emit, frame, call, type, chunk));
        LLVMSetAlignment(store, emit->lanes * 4);
    }
}

void igl_kept_argument(struct igv_emit *emit, LLVMValueRef call) {
    load_words(emit, igv_callers_frame(emit), call);
}

void igl_kept_return(struct igv_emit *emit, LLVMValueRef call) {
    store_words(emit, igv_callers_frame(emit), call);
}

void igl_kept_pass(struct igv_emit *emit, LLVMValueRef call) {
    store_words(emit, igv_frame(emit), call);
}

void igl_kept_result(struct igv_emit *emit, LLVMValueRef call) {
    load_words(emit, igv_frame(emit), call);
}

void igl_kept_call(struct igv_emit *emit, LLVMValueRef call) {
    uint64_t number = 0;
    igl_constant(igl_operand(call, 0), &number);
    LLVMValueRef function = emit->request->kept->functions[number];
    LLVMValueRef arguments[] = {emit->group, emit->simdgroup, igv_mask_bits(emit), igv_frame(emit)};
    LLVMBuildCall2(emit->builder, LLVMGlobalGetValueType(function), function, arguments, 4, "");
}
