/*
 * Warnings of what Apple's compiler refuses and only types tell: a pointer that leaves its address
 * space for thread's, as `thread float *p = device_pointer` or a reference does, and objects whose
 * member functions are for thread's only; and constant for device.
 *
 * Requires clang's own module, in which such a conversion is an addrspacecast at the user's line.
 * What the prelude converts is at its own lines. From Metal 4.1 on there are generic pointers,
 * which take any: nothing is said then.
 */
#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <stdlib.h>
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

static bool is_digit(char c) {
    return c >= '1' && c <= '9';
}

/* Past the template arguments that start at p, an I, in a mangled name. */
static const char *arguments_end(const char *p) {
    unsigned depth = 0;
    do {
        if (*p == 'L') { /* a value: Lb1E */
            p += strcspn(p, "E");
        } else if (is_digit(*p)) {
            char *name;
            size_t size = strtoul(p, &name, 10);
            p = name + (size < strlen(name) ? size : strlen(name)) - 1;
        } else if (*p == 'I' || *p == 'N' || *p == 'X' || *p == 'J') {
            depth++;
        } else if (*p == 'E') {
            depth--;
        }
        p += *p != 0;
    } while (*p && depth);
    return p;
}

/* The last name of a member, or of a function in a namespace: _ZNK1SIfE3getEv → get; size 0: an
 * operator, a conversion or a constructor. NULL: it is none, or the prelude's. */
static const char *last_name(const char *mangled, size_t *size) {
    const char *p = mangled + 3, *name = p;
    *size = 0;
    if (strncmp(mangled, "_ZN", 3) != 0) {
        return NULL;
    }
    p += strspn(p, "rVKRO");
    if (!strncmp(p, "5metal", 6)) {
        return NULL;
    }
    while (is_digit(*p) || *p == 'I') {
        if (*p == 'I') {
            p = arguments_end(p);
            continue;
        }
        char *text;
        *size = strtoul(p, &text, 10);
        *size = *size < strlen(text) ? *size : strlen(text);
        name = text;
        p = text + *size;
    }
    *size = *p == 'E' ? *size : 0;
    return name;
}

/* A function of the user's that takes a pointer to thread as argument `i`: a plain one, _Z1fPf; or
 * a member, if it is not one that the user made for objects in that space. */
static bool takes_thread(const struct igc_job *job, LLVMValueRef callee, unsigned i,
                         LLVMTypeRef from) {
    size_t size, name_size;
    const char *mangled = LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &size) : "";
    const char *start = !strncmp(mangled, "_ZL", 3) ? mangled + 3 : mangled + 2;
    if (!strncmp(mangled, "_Z", 2) && is_digit(*start)) {
        return !igi_is_library_name(igc_plain_name(mangled, &name_size));
    }
    const char *name = last_name(mangled, &name_size);
    if (!name || (name_size && igi_is_library_name(name))) {
        return false;
    }
    unsigned sret = LLVMGetEnumAttributeKindForName("sret", 4);
    unsigned object = LLVMGetEnumAttributeAtIndex(callee, 1, sret) ? 1 : 0;
    return i != object ||
           !igc_source_has_member(job->source, name, name_size, LLVMGetPointerAddressSpace(from));
}

/* Does the instruction keep the pointer as one to thread, or hand it on as such? What only reads
 * through it is clang's own doing: a copy of a struct, a member of a vector. */
static bool is_kept_by(const struct igc_job *job, LLVMValueRef user, LLVMValueRef pointer,
                       LLVMTypeRef from) {
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMStore:
        return LLVMGetOperand(user, 0) == pointer;
    case LLVMRet:
        return true;
    case LLVMCall:
        for (unsigned i = 0; i < LLVMGetNumArgOperands(user); i++) {
            if (LLVMGetOperand(user, i) == pointer) {
                return takes_thread(job, LLVMGetCalledValue(user), i, from);
            }
        }
        return false;
    default:
        return false;
    }
}

static bool is_kept(const struct igc_job *job, LLVMValueRef cast) {
    LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(cast, 0));
    igi_each_use(use, cast) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAInstruction(user) && is_kept_by(job, user, cast, from)) {
            return true;
        }
    }
    return false;
}

/* The value that is converted by the instruction, or by a constant operand of it; NULL: none. */
static LLVMValueRef converted_by(const struct igc_job *job, LLVMValueRef in) {
    if (LLVMGetInstructionOpcode(in) == LLVMAddrSpaceCast) {
        LLVMValueRef from = LLVMGetOperand(in, 0);
        return leaves_its_space(LLVMTypeOf(from), LLVMTypeOf(in)) && is_kept(job, in) ? from : NULL;
    }
    for (int i = 0; i < LLVMGetNumOperands(in); i++) {
        LLVMValueRef operand = LLVMGetOperand(in, (unsigned)i);
        if (LLVMIsAConstantExpr(operand) && LLVMGetConstOpcode(operand) == LLVMAddrSpaceCast) {
            LLVMValueRef from = LLVMGetOperand(operand, 0);
            /* clang keeps strings in device memory, and nothing else is a constant there */
            if (leaves_its_space(LLVMTypeOf(from), LLVMTypeOf(operand)) &&
                LLVMGetPointerAddressSpace(LLVMTypeOf(from)) != INGOT_SPACE_DEVICE &&
                is_kept_by(job, in, operand, LLVMTypeOf(from))) {
                return from;
            }
        }
    }
    return NULL;
}

/* Constants in memory are constants of the program, too: clang converts what device can hold. */
static bool becomes_device(LLVMValueRef in) {
    return LLVMGetInstructionOpcode(in) == LLVMAddrSpaceCast &&
           LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(in, 0))) == INGOT_SPACE_CONSTANT &&
           LLVMGetPointerAddressSpace(LLVMTypeOf(in)) == INGOT_SPACE_DEVICE;
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
    LLVMValueRef from = version < GENERIC_POINTERS ? converted_by(job, in) : NULL;
    if (from) {
        char message[160];
        snprintf(message, sizeof message,
                 "a pointer or reference to %s becomes one to thread; Apple's compiler takes no "
                 "such conversion",
                 space_name(LLVMTypeOf(from)));
        warn(job, in, message);
    } else if (becomes_device(in)) {
        warn(job, in,
             "a pointer or reference to constant becomes one to device; Apple's compiler takes no "
             "such conversion");
    }
}
