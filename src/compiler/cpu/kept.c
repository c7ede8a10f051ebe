/*
 * Functions that stay functions, vectorised: once for all versions of a kernel that have the same
 * target. Requires prepared functions (prepare/kept.c). They take a mask, as the kernel does.
 */
#include "compiler/cpu/cpu.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"

static ingot_status make(struct igc_kernel *kernel, LLVMValueRef function, LLVMValueRef *made) {
    struct igv_facts *facts = igv_facts(kernel);
    struct igv_request request = facts->request;
    struct igv_result result = {0};
    size_t length;
    request.kernel = function;
    request.is_kept = true;
    request.full_mask = request.may_decline = false;
    request.name = ig_arena_printf(kernel->arena, "%s.lanes", LLVMGetValueName2(function, &length));
    request.description = NULL;
    if (!request.name) {
        return igc_out_of_memory(kernel);
    }
    ingot_status status = igv_vectorise(kernel->arena, &request, &result, kernel->error);
    if (status) {
        return status;
    }
    igc_set_target_attributes(result.function, request.target);
    LLVMSetLinkage(result.function, LLVMInternalLinkage);
    igi_add_attribute(result.function, "noinline", 0);
    LLVMAddTargetDependentFunctionAttr(result.function, IGV_KEPT_LANES, "");
    *made = result.function;
    return INGOT_OK;
}

ingot_status igv_make_kept(struct igc_kernel *kernel) {
    struct igv_facts *facts = igv_facts(kernel);
    unsigned count;
    if (!facts->kept.words || facts->kept_for == facts->request.target) {
        return INGOT_OK; /* there are none, or they are there */
    }
    LLVMValueRef *scalar = igc_kept_functions(kernel, &count);
    LLVMValueRef *made = ig_arena_array(kernel->arena, count + 1u, sizeof *made);
    if (!scalar || !made) {
        return igc_out_of_memory(kernel);
    }
    facts->kept.functions = made;
    facts->kept.count = count;
    facts->kept_for = facts->request.target;
    facts->request.kept = &facts->kept;
    for (unsigned i = 0; i < count; i++) {
        ingot_status status = scalar[i] ? make(kernel, scalar[i], &made[i]) : INGOT_OK;
        if (status) {
            return status;
        }
    }
    return INGOT_OK;
}

/* Where the words of the call end in a frame; 0 for anything else. */
static unsigned end_of_words(LLVMValueRef call) {
    enum igi_builtin builtin = igi_builtin_of(call);
    if (igi_facts(builtin)->family != IGI_FAMILY_KEPT || builtin == IGI_kept_call) {
        return 0;
    }
    bool is_long = builtin == IGI_kept_argument_b64 || builtin == IGI_kept_pass_b64 ||
                   builtin == IGI_kept_result_b64 || builtin == IGI_kept_return_b64;
    return (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0)) + (is_long ? 2 : 1);
}

unsigned igv_measure_kept(struct igc_kernel *kernel) {
    struct igv_kept *kept = &igv_facts(kernel)->kept;
    unsigned instructions = 0;
    igi_each_function(f, kernel->module) {
        const bool is_kept = igc_kept_number(f) != IGI_NONE;
        igi_each_instruction(in, f) {
            unsigned end = LLVMIsACallInst(in) ? end_of_words(in) : 0;
            kept->words = end > kept->words ? end : kept->words;
            instructions += is_kept;
        }
    }
    return instructions;
}

void igv_drop_kept(struct igc_kernel *kernel) {
    igi_each_function_safe(f, kernel->module) {
        if (igc_kept_number(f) != IGI_NONE) {
            LLVMDeleteFunction(f);
        }
    }
}
