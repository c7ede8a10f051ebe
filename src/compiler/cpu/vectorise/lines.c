/*
 * Lines for debuggers: what is made of a scalar instruction gets its place in the kernel's own
 * file. Where functions were inlined that is the innermost place in that file, so that a helper
 * shows its lines and the prelude shows those that called it; scopes are flattened.
 */
#include <llvm-c/DebugInfo.h>

#include "compiler/cpu/vectorise/state.h"

void igv_lines_start(struct igv_emit *emit) {
    const struct igv_request *request = emit->request;
    LLVMMetadataRef described = LLVMGetSubprogram(request->kernel);
    if (!request->description || !described) {
        return;
    }
    emit->state->file = LLVMDIScopeGetFile(described);
    LLVMSetSubprogram(emit->function, request->description);
}

void igv_lines_set(struct igv_emit *emit, LLVMValueRef instruction) {
    LLVMMetadataRef file = emit->state->file, place = NULL;
    if (!file) {
        return;
    }
    place = LLVMInstructionGetDebugLoc(instruction);
    while (place && LLVMDIScopeGetFile(LLVMDILocationGetScope(place)) != file) {
        place = LLVMDILocationGetInlinedAt(place);
    }
    if (place) {
        place = LLVMDIBuilderCreateDebugLocation(emit->context, LLVMDILocationGetLine(place),
                                                 LLVMDILocationGetColumn(place),
                                                 emit->request->description, NULL);
    }
    if (place) { /* else it goes with what was before it */
        LLVMSetCurrentDebugLocation2(emit->builder, place);
    }
}
