/*
 * Calls of the sanitizer's built-ins, and instructions that run only where a check holds.
 *
 * What LLVM is told of the built-ins stands here, since clang does not declare them: they touch no
 * memory that code can see, so that loads and stores around them are optimised as before.
 */
#include <llvm-c/DebugInfo.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/edit.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

static void describe(LLVMValueRef function, enum igi_builtin builtin) {
    const struct igi_facts *facts = igi_facts(builtin);
    uint64_t memory = 0;
    igi_add_attribute(function, "nounwind", 0);
    if (facts->family == IGI_FAMILY_SANITIZE) {
        igi_memory_attribute(facts->memory, &memory);
        igi_add_attribute(function, "memory", memory);
        igi_add_attribute(function, "willreturn", 0);
        igi_add_attribute(function, "nocallback", 0);
    } else { /* as clang declares it; what it does is described with the others */
        igi_add_attribute(function, facts->flags & IGI_PURE ? "willreturn" : "convergent", 0);
        if (facts->flags & IGI_PURE && igi_memory_attribute(IGI_MEMORY_NONE, &memory)) {
            igi_add_attribute(function, "memory", memory);
        }
    }
}

LLVMValueRef igs_call(struct igc_kernel *kernel, enum igi_builtin builtin, LLVMValueRef *args,
                      unsigned count) {
    LLVMValueRef function = igi_find(kernel->module, builtin);
    if (!function) {
        function = igi_declare(kernel->module, builtin);
        describe(function, builtin);
    }
    return LLVMBuildCall2(kernel->builder, LLVMGlobalGetValueType(function), function, args, count,
                          "");
}

static LLVMValueRef number(struct igc_kernel *kernel, uint32_t value) {
    return igc_integer(kernel->i32, value);
}

void igs_expect(struct igc_kernel *kernel, LLVMValueRef ok, uint32_t place, LLVMValueRef value) {
    LLVMValueRef args[] = {ok, number(kernel, place), value};
    igs_call(kernel, IGI_san_expect, args, 3);
}

void igs_tell(struct igc_kernel *kernel, uint32_t place, LLVMValueRef first, LLVMValueRef second) {
    LLVMValueRef args[] = {number(kernel, place), first, second};
    igs_call(kernel, IGI_san_tell, args, 3);
}

void igs_count(struct igc_kernel *kernel, uint32_t place) {
    LLVMValueRef args[] = {number(kernel, place)};
    igs_call(kernel, IGI_san_count, args, 1);
}

void igs_access(struct igc_kernel *kernel, uint32_t place, uint32_t ordinal, LLVMValueRef address,
                LLVMValueRef value) {
    LLVMValueRef args[] = {number(kernel, place), number(kernel, ordinal), address, value};
    igs_call(kernel, IGI_san_access, args, 4);
}

LLVMValueRef igs_ask(struct igc_kernel *kernel, uint32_t place, LLVMValueRef first,
                     LLVMValueRef second) {
    LLVMValueRef args[] = {number(kernel, place), first, second};
    return igs_call(kernel, IGI_san_ask, args, 3);
}

LLVMValueRef igs_bound(struct igc_kernel *kernel, const struct igs_root *root) {
    LLVMValueRef args[] = {number(kernel, root->ordinal),
                           igc_integer(kernel->i1, root->space == INGOT_SPACE_THREADGROUP)};
    return igs_call(kernel, IGI_san_bound, args, 2);
}

/* A compare-and-exchange makes a struct, which no phi may have: the parts are taken behind it. */
static void take_parts(struct igc_kernel *kernel, LLVMValueRef exchange, LLVMValueRef parts[2]) {
    LLVMPositionBuilderBefore(kernel->builder, LLVMGetNextInstruction(exchange));
    for (unsigned i = 0; i < 2; i++) {
        parts[i] = LLVMBuildExtractValue(kernel->builder, exchange, i, "");
    }
    igi_each_use_safe(use, exchange) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAExtractValueInst(user) && user != parts[0] && user != parts[1]) {
            igi_replace(user, parts[*LLVMGetIndices(user)]);
        }
    }
}

/* What the value is where its instruction does not run: `other`; NULL: zero. */
static void join(struct igc_kernel *kernel, LLVMValueRef value, LLVMValueRef other,
                 LLVMBasicBlockRef body, LLVMBasicBlockRef before, LLVMBasicBlockRef rest) {
    LLVMTypeRef type = LLVMTypeOf(value);
    if (LLVMGetTypeKind(type) == LLVMVoidTypeKind || !LLVMGetFirstUse(value)) {
        return;
    }
    LLVMPositionBuilderBefore(kernel->builder, LLVMGetFirstInstruction(rest));
    LLVMValueRef result = LLVMBuildPhi(kernel->builder, type, "");
    LLVMReplaceAllUsesWith(value, result);
    LLVMValueRef values[] = {value, other ? other : LLVMConstNull(type)};
    LLVMBasicBlockRef blocks[] = {body, before};
    LLVMAddIncoming(result, values, blocks, 2);
}

static unsigned guard_mark(LLVMContextRef context) {
    static const char name[] = "ingot.sanitize.guard";
    return LLVMGetMDKindIDInContext(context, name, sizeof name - 1);
}

static void mark_guard(struct igc_kernel *kernel, LLVMValueRef branch) {
    LLVMMetadataRef empty = LLVMMDNodeInContext2(kernel->context, NULL, 0);
    LLVMSetMetadata(branch, guard_mark(kernel->context),
                    LLVMMetadataAsValue(kernel->context, empty));
}

bool igs_is_guard(struct igc_kernel *kernel, LLVMValueRef branch) {
    return LLVMGetMetadata(branch, guard_mark(kernel->context)) != NULL;
}

/* [before; ok?] → [instruction] → [after], or straight to the last. */
void igs_only_where(struct igc_kernel *kernel, LLVMValueRef ok, LLVMValueRef instruction) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef parts[2] = {NULL, NULL}, last = instruction;
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(instruction);
    if (LLVMIsAAtomicCmpXchgInst(instruction)) {
        take_parts(kernel, instruction, parts);
        last = parts[1];
    }
    LLVMValueRef after = LLVMGetNextInstruction(last);
    LLVMSetCurrentDebugLocation2(b, NULL); /* what moves keeps its own */
    LLVMBasicBlockRef before = igi_split_before(b, instruction);
    LLVMBasicBlockRef body = igi_split_before(b, after);
    LLVMBasicBlockRef rest = LLVMGetInstructionParent(after);
    LLVMSetCurrentDebugLocation2(b, place);
    LLVMBuildBr(b, rest);
    LLVMPositionBuilderAtEnd(b, before);
    /* An exchange finds zero there: loops that expect it end. */
    LLVMValueRef is_zero = parts[0] ? LLVMBuildIsNull(b, LLVMGetOperand(instruction, 1), "") : NULL;
    mark_guard(kernel, LLVMBuildCondBr(b, ok, body, rest));
    if (parts[0]) {
        join(kernel, parts[0], NULL, body, before, rest);
        join(kernel, parts[1], is_zero, body, before, rest);
    } else {
        join(kernel, instruction, NULL, body, before, rest);
    }
    LLVMPositionBuilderBefore(b, after);
}

/* [before; all ok?] → [clone] → [after], or → [report; ok?] → [instruction] → [after]. */
void igs_guard(struct igc_kernel *kernel, LLVMValueRef ok, uint32_t number, LLVMValueRef value,
               LLVMValueRef instruction) {
    LLVMBuilderRef b = kernel->builder;
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(instruction);
    LLVMValueRef after = LLVMGetNextInstruction(instruction);
    LLVMSetCurrentDebugLocation2(b, NULL); /* what moves keeps its own */
    LLVMBasicBlockRef before = igi_split_before(b, instruction);
    LLVMBasicBlockRef body = igi_split_before(b, after);
    LLVMBasicBlockRef rest = LLVMGetInstructionParent(after);
    LLVMBasicBlockRef fast = LLVMInsertBasicBlockInContext(kernel->context, body, "");
    LLVMBasicBlockRef slow = LLVMInsertBasicBlockInContext(kernel->context, body, "");
    LLVMSetCurrentDebugLocation2(b, place);
    LLVMBuildBr(b, rest);
    LLVMPositionBuilderAtEnd(b, before);
    LLVMBuildCondBr(b, igs_call(kernel, IGI_san_all, &ok, 1), fast, slow);
    LLVMPositionBuilderAtEnd(b, slow);
    if (value) {
        igs_expect(kernel, ok, number, value);
    }
    LLVMBuildCondBr(b, ok, body, rest);
    LLVMPositionBuilderAtEnd(b, fast);
    LLVMValueRef clone = LLVMInstructionClone(instruction);
    LLVMInsertIntoBuilder(b, clone);
    LLVMInstructionSetDebugLoc(clone, place);
    LLVMBuildBr(b, rest);
    LLVMTypeRef type = LLVMTypeOf(instruction);
    if (LLVMGetTypeKind(type) != LLVMVoidTypeKind && LLVMGetFirstUse(instruction)) {
        LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(rest));
        LLVMValueRef result = LLVMBuildPhi(b, type, "");
        LLVMReplaceAllUsesWith(instruction, result);
        LLVMValueRef values[] = {instruction, LLVMConstNull(type), clone};
        LLVMBasicBlockRef blocks[] = {body, slow, fast};
        LLVMAddIncoming(result, values, blocks, 3);
    }
    LLVMPositionBuilderBefore(b, after);
}
