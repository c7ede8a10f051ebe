/*
 * Warnings of what Apple's compiler refuses and only types tell: a pointer that leaves its address
 * space for thread's, as `thread float *p = device_pointer` or a reference does.
 *
 * Requires clang's own module, in which such a conversion is an addrspacecast at the user's line.
 * What the prelude converts is at its own lines. From Metal 4.1 on there are generic pointers,
 * which take any: nothing is said then.
 */
#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

enum { GENERIC_POINTERS = 410, PATH_SIZE = 4096 };

static bool leaves_its_space(LLVMTypeRef from, LLVMTypeRef to) {
    return LLVMGetTypeKind(from) == LLVMPointerTypeKind &&
           LLVMGetTypeKind(to) == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(from) != 0 &&
           LLVMGetPointerAddressSpace(to) == 0;
}

static const char *space_name(LLVMTypeRef pointer) {
    switch (LLVMGetPointerAddressSpace(pointer)) {
    case INGOT_SPACE_DEVICE:
        return "device";
    case INGOT_SPACE_THREADGROUP:
        return "threadgroup";
    default:
        return "constant";
    }
}

/* A function of the user's that is no member: _Z1fPf, not _ZN1S1fEv. Of members the front end makes
 * one for each space, and vectors' own are the prelude's. */
static bool is_plain_function(LLVMValueRef callee) {
    size_t size, plain_size;
    const char *name = LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &size) : "";
    const char *from = !strncmp(name, "_ZL", 3) ? name + 3 : name + 2;
    return !strncmp(name, "_Z", 2) && *from >= '1' && *from <= '9' &&
           !igi_is_library_name(igc_plain_name(name, &plain_size));
}

/* Does the instruction keep the pointer as one to thread, or hand it on as such? What only reads
 * through it is clang's own doing: a copy of a struct, a member of a vector. */
static bool is_kept_by(LLVMValueRef user, LLVMValueRef pointer) {
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMStore:
        return LLVMGetOperand(user, 0) == pointer;
    case LLVMRet:
        return true;
    case LLVMCall:
        return is_plain_function(LLVMGetCalledValue(user));
    default:
        return false;
    }
}

static bool is_kept(LLVMValueRef cast) {
    igi_each_use(use, cast) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAInstruction(user) && is_kept_by(user, cast)) {
            return true;
        }
    }
    return false;
}

/* The value that is converted by the instruction, or by a constant operand of it; NULL: none. */
static LLVMValueRef converted_by(LLVMValueRef in) {
    if (LLVMGetInstructionOpcode(in) == LLVMAddrSpaceCast) {
        LLVMValueRef from = LLVMGetOperand(in, 0);
        return leaves_its_space(LLVMTypeOf(from), LLVMTypeOf(in)) && is_kept(in) ? from : NULL;
    }
    for (int i = 0; i < LLVMGetNumOperands(in); i++) {
        LLVMValueRef operand = LLVMGetOperand(in, (unsigned)i);
        if (LLVMIsAConstantExpr(operand) && LLVMGetConstOpcode(operand) == LLVMAddrSpaceCast) {
            LLVMValueRef from = LLVMGetOperand(operand, 0);
            /* clang keeps strings in device memory, and nothing else is a constant there */
            if (leaves_its_space(LLVMTypeOf(from), LLVMTypeOf(operand)) &&
                LLVMGetPointerAddressSpace(LLVMTypeOf(from)) != INGOT_SPACE_DEVICE &&
                is_kept_by(in, operand)) {
                return from;
            }
        }
    }
    return NULL;
}

static void warn(const struct igc_job *job, LLVMValueRef in, const char *message) {
    LLVMMetadataRef location = LLVMInstructionGetDebugLoc(in);
    LLVMMetadataRef file = location ? LLVMDIScopeGetFile(LLVMDILocationGetScope(location)) : NULL;
    if (!file) {
        return;
    }
    char path[PATH_SIZE];
    unsigned name_size = 0, folder_size = 0;
    const char *name = LLVMDIFileGetFilename(file, &name_size);
    const char *folder =
        name_size && *name != '/' ? LLVMDIFileGetDirectory(file, &folder_size) : "";
    snprintf(path, sizeof path, "%.*s%s%.*s", (int)folder_size, folder, folder_size ? "/" : "",
             (int)name_size, name);
    struct ig_text text = {0};
    igc_source_warn_place(job->source, path, LLVMDILocationGetLine(location),
                          LLVMDILocationGetColumn(location), message, &text);
    /* several kernels call the same functions */
    if (text.size && !strstr(ig_text_string(job->warnings), ig_text_string(&text))) {
        ig_text_puts(job->warnings, ig_text_string(&text));
    }
    ig_text_free(&text);
}

void igc_warn_unportable_code(const struct igc_job *job, LLVMValueRef in) {
    unsigned version = igc_source_msl_version(job->source);
    if (!job->warnings || !version) {
        return;
    }
    LLVMValueRef from = version < GENERIC_POINTERS ? converted_by(in) : NULL;
    if (from) {
        char message[160];
        snprintf(message, sizeof message,
                 "a pointer or reference to %s becomes one to thread; Apple's compiler takes no "
                 "such conversion",
                 space_name(LLVMTypeOf(from)));
        warn(job, in, message);
    }
}
