/*
 * Copies of structs become copies of their members: what lies between these is never written, and
 * nobody means it. Where the members are is what clang says of a copy (tbaa.struct: offset, size
 * and type by member).
 *
 * Requires that bounds and races were looked at: a struct is one access to these. Does not: copies
 * of more than 32 parts, of unions and of what a program copies byte by byte.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/edit.h"
#include "compiler/sanitize/sanitize.h"

enum { MOST_PARTS = 32, WORDS = 3 };

struct part {
    uint64_t at, size;
};

static LLVMValueRef members_of(struct igc_kernel *kernel, LLVMValueRef copy) {
    return LLVMGetMetadata(copy, LLVMGetMDKindIDInContext(kernel->context, "tbaa.struct", 11));
}

static bool is_copy(struct igc_kernel *kernel, LLVMValueRef in) {
    return LLVMIsAMemCpyInst(in) && LLVMIsAConstantInt(LLVMGetOperand(in, 2)) &&
           members_of(kernel, in);
}

/* Neighbours are one part. How many; 0: too many. */
static unsigned parts_of(LLVMValueRef members, uint64_t bytes, struct part parts[MOST_PARTS]) {
    LLVMValueRef words[WORDS * MOST_PARTS];
    unsigned length = LLVMGetMDNodeNumOperands(members), count = 0;
    if (length > WORDS * MOST_PARTS) {
        return 0;
    }
    LLVMGetMDNodeOperands(members, words);
    for (unsigned i = 0; i + WORDS <= length; i += WORDS) {
        uint64_t at = LLVMConstIntGetZExtValue(words[i]);
        uint64_t size = LLVMConstIntGetZExtValue(words[i + 1]);
        if (at > bytes || size > bytes - at) {
            return 0;
        }
        if (count && parts[count - 1].at + parts[count - 1].size == at) {
            parts[count - 1].size += size;
        } else {
            parts[count++] = (struct part){at, size};
        }
    }
    return count;
}

/* What an alignment is at an offset. */
static unsigned alignment_at(unsigned alignment, uint64_t offset) {
    while (alignment > 1 && offset % alignment) {
        alignment /= 2;
    }
    return alignment ? alignment : 1;
}

static void split(struct igc_kernel *kernel, LLVMValueRef copy, const struct part *parts,
                  unsigned count) {
    LLVMBuilderRef b = kernel->builder;
    struct igs_access accesses[IGS_MOST_ACCESSES];
    LLVMPositionBuilderBefore(b, copy);
    igs_accesses_of(kernel, copy, accesses);
    const struct igs_access *from = &accesses[0], *to = &accesses[1];
    for (unsigned i = 0; i < count; i++) {
        LLVMBuildMemCpy(b, igc_byte_offset(kernel, to->pointer, parts[i].at),
                        alignment_at(to->alignment, parts[i].at),
                        igc_byte_offset(kernel, from->pointer, parts[i].at),
                        alignment_at(from->alignment, parts[i].at),
                        igc_integer(kernel->i64, parts[i].size));
    }
    LLVMInstructionEraseFromParent(copy);
}

enum igc_result igs_split_copies(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_copy);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    bool changed = false;
    for (size_t i = 0; i < list.count; i++) {
        LLVMValueRef copy = list.items[i];
        struct part parts[MOST_PARTS];
        uint64_t bytes = LLVMConstIntGetZExtValue(LLVMGetOperand(copy, 2));
        unsigned count = parts_of(members_of(kernel, copy), bytes, parts);
        if (count && (count > 1 || parts[0].size != bytes)) {
            split(kernel, copy, parts, count);
            changed = true;
        }
    }
    return changed ? IGC_CHANGED : IGC_UNCHANGED;
}
