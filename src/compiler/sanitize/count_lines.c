/*
 * Counters of lines: how often each line of the user's files runs, and with how many lanes.
 *
 * Requires a kernel with everything inlined and nothing simplified but registers: a line is counted
 * once in each block that has code of it, where the first instruction of that line stands. What is
 * unrolled or copied later takes its counter along, so that the sums stay those of the source. A
 * line with code in several blocks (the parts of a for statement) has several places: the reader
 * takes the largest of those with the same calls inlined (base/profile.h).
 *
 * Does not count: lines without code of their own.
 */
#include <llvm-c/DebugInfo.h>

#include "base/profile.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

/* Lines of the block that have their counter. A block with more of them than this may count one
 * twice, which the reader sees as two places of one line. */
enum { MOST_SEEN = 64 };

struct seen {
    LLVMMetadataRef scopes[MOST_SEEN], inlined[MOST_SEEN];
    unsigned lines[MOST_SEEN];
    unsigned count;
};

static bool is_seen(struct seen *seen, LLVMMetadataRef location) {
    LLVMMetadataRef scope = LLVMDIScopeGetFile(LLVMDILocationGetScope(location));
    LLVMMetadataRef inlined = LLVMDILocationGetInlinedAt(location);
    unsigned line = LLVMDILocationGetLine(location);
    for (unsigned i = 0; i < seen->count && i < MOST_SEEN; i++) {
        if (seen->lines[i] == line && seen->scopes[i] == scope && seen->inlined[i] == inlined) {
            return true;
        }
    }
    unsigned at = seen->count++ % MOST_SEEN;
    seen->scopes[at] = scope;
    seen->inlined[at] = inlined;
    seen->lines[at] = line;
    return false;
}

/* Does the instruction do what its line says, or does it only lead on? */
static bool is_work(LLVMValueRef instruction) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMPHI:
    case LLVMAlloca:
    case LLVMUnreachable:
    case LLVMRet:
        return false;
    case LLVMBr:
        return LLVMIsConditional(instruction);
    case LLVMCall:
        return !igi_is_intrinsic(instruction) ||
               !(igi_intrinsic_flags_of(instruction) & IGI_I_INFORMS);
    default:
        return true;
    }
}

static void count_block(struct igc_kernel *kernel, LLVMBasicBlockRef block) {
    struct seen seen = {.count = 0};
    LLVMMetadataRef last = NULL;
    igi_each_in_block(instruction, block) {
        LLVMMetadataRef location = LLVMInstructionGetDebugLoc(instruction);
        if (!is_work(instruction) || !location || location == last) {
            continue;
        }
        last = location;
        location = igs_users_location(kernel, instruction);
        if (!location || !LLVMDILocationGetLine(location) || is_seen(&seen, location)) {
            continue;
        }
        uint32_t number;
        if (!igs_place_of(kernel, (enum ig_sanitize_kind)IG_COUNT_LINE, instruction, &number)) {
            return;
        }
        LLVMPositionBuilderBefore(kernel->builder, instruction);
        igs_count(kernel, number);
    }
}

enum igc_result igs_count_lines(struct igc_kernel *kernel) {
    igi_each_block(block, kernel->function) {
        count_block(kernel, block);
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}
