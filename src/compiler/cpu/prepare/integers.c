/*
 * Integers of other widths than 8, 16, 32 and 64 bits, which merged copies of small structs
 * leave behind.
 *
 * In memory: accesses become those of whole bytes in ordinary widths. In registers: phis,
 * selects and bit operations of more than 64 bits are split into words; simplification then
 * sees that a shift and a truncation just take one of the words. What is left (rare arithmetic)
 * LLVM expands itself. And, last of all, zext nneg becomes sext.
 */
#include "compiler/cpu/prepare/prepare.h"

#define WORD 64u

static unsigned width_of(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

static bool is_ordinary(unsigned width) {
    return width == 0 || width == 8 || width == 16 || width == 32 || width == 64;
}

static bool is_odd(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMLoad:
        return !is_ordinary(width_of(LLVMTypeOf(instruction)));
    case LLVMStore:
        return !is_ordinary(width_of(LLVMTypeOf(LLVMGetOperand(instruction, 0))));
    case LLVMPHI:
    case LLVMSelect:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMFreeze:
        return width_of(LLVMTypeOf(instruction)) > WORD;
    default:
        return false;
    }
}

/* Bits [start, …) of the value as an integer of `width` bits. */
static LLVMValueRef part(struct igc_kernel *kernel, LLVMValueRef value, unsigned start,
                         unsigned width) {
    LLVMTypeRef type = LLVMTypeOf(value);
    unsigned whole = width_of(type);
    if (start) {
        value = LLVMBuildLShr(kernel->builder, value, igc_integer(type, start), "");
    }
    LLVMTypeRef narrow = LLVMIntTypeInContext(kernel->context, width);
    return width < whole   ? LLVMBuildTrunc(kernel->builder, value, narrow, "")
           : width > whole ? LLVMBuildZExt(kernel->builder, value, narrow, "")
                           : value;
}

static LLVMValueRef join(struct igc_kernel *kernel, LLVMValueRef whole, LLVMValueRef piece,
                         LLVMTypeRef type, unsigned start) {
    LLVMBuilderRef builder = kernel->builder;
    unsigned width = width_of(LLVMTypeOf(piece));
    piece = width < width_of(type)   ? LLVMBuildZExt(builder, piece, type, "")
            : width > width_of(type) ? LLVMBuildTrunc(builder, piece, type, "")
                                     : piece;
    if (start) {
        piece = LLVMBuildShl(builder, piece, igc_integer(type, start), "");
    }
    return whole ? LLVMBuildOr(builder, whole, piece, "") : piece;
}

/* The widest ordinary piece that is left and aligned. */
static unsigned next_piece(unsigned bytes_left, unsigned align, unsigned offset) {
    unsigned piece = 8;
    while (piece > 1 && (piece > bytes_left || piece > align || offset % piece)) {
        piece /= 2;
    }
    return piece;
}

static void split_load(struct igc_kernel *kernel, LLVMValueRef load) {
    LLVMTypeRef type = LLVMTypeOf(load);
    unsigned bytes = (width_of(type) + 7) / 8, align = LLVMGetAlignment(load), piece;
    LLVMValueRef whole = NULL;
    for (unsigned at = 0; at < bytes; at += piece) {
        piece = next_piece(bytes - at, align, at);
        LLVMValueRef pointer = igc_byte_offset(kernel, LLVMGetOperand(load, 0), at);
        LLVMValueRef value = LLVMBuildLoad2(
            kernel->builder, LLVMIntTypeInContext(kernel->context, piece * 8), pointer, "");
        LLVMSetAlignment(value, piece);
        igv_copy_metadata(kernel, load, value);
        whole = join(kernel, whole, value, type, at * 8);
    }
    igi_replace(load, whole);
}

static void split_store(struct igc_kernel *kernel, LLVMValueRef store) {
    LLVMValueRef value = LLVMGetOperand(store, 0);
    unsigned width = width_of(LLVMTypeOf(value));
    unsigned bytes = (width + 7) / 8, align = LLVMGetAlignment(store), piece;
    if (width % 8) {
        value = LLVMBuildZExt(kernel->builder, value,
                              LLVMIntTypeInContext(kernel->context, bytes * 8), "");
    }
    for (unsigned at = 0; at < bytes; at += piece) {
        piece = next_piece(bytes - at, align, at);
        LLVMValueRef pointer = igc_byte_offset(kernel, LLVMGetOperand(store, 1), at);
        LLVMValueRef stored =
            LLVMBuildStore(kernel->builder, part(kernel, value, at * 8, piece * 8), pointer);
        LLVMSetAlignment(stored, piece);
        igv_copy_metadata(kernel, store, stored);
    }
    LLVMInstructionEraseFromParent(store);
}

static LLVMValueRef word_phi(struct igc_kernel *kernel, LLVMValueRef phi, unsigned start,
                             unsigned width) {
    LLVMPositionBuilderBefore(kernel->builder, phi);
    LLVMValueRef word =
        LLVMBuildPhi(kernel->builder, LLVMIntTypeInContext(kernel->context, width), "");
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMBasicBlockRef block = LLVMGetIncomingBlock(phi, i);
        LLVMPositionBuilderBefore(kernel->builder, LLVMGetBasicBlockTerminator(block));
        LLVMValueRef value = igv_earlier_incoming(word, block);
        if (!value) {
            value = part(kernel, LLVMGetIncomingValue(phi, i), start, width);
        }
        LLVMAddIncoming(word, &value, &block, 1);
    }
    return word;
}

static LLVMValueRef word_of(struct igc_kernel *kernel, LLVMValueRef instruction, unsigned start,
                            unsigned width) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    LLVMValueRef a = LLVMGetOperand(instruction, 0);
    if (opcode == LLVMFreeze) {
        return LLVMBuildFreeze(kernel->builder, part(kernel, a, start, width), "");
    }
    LLVMValueRef b = part(kernel, LLVMGetOperand(instruction, 1), start, width);
    if (opcode == LLVMSelect) {
        return LLVMBuildSelect(kernel->builder, a, b,
                               part(kernel, LLVMGetOperand(instruction, 2), start, width), "");
    }
    return LLVMBuildBinOp(kernel->builder, opcode, part(kernel, a, start, width), b, "");
}

static ingot_status split_words(struct igc_kernel *kernel, LLVMValueRef instruction) {
    LLVMTypeRef type = LLVMTypeOf(instruction);
    unsigned width = width_of(type), count = (width + WORD - 1) / WORD;
    bool phi = LLVMGetInstructionOpcode(instruction) == LLVMPHI;
    LLVMValueRef *words = ig_arena_array(kernel->arena, count, sizeof *words), whole = NULL;
    if (!words) {
        return igc_out_of_memory(kernel);
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned part_width = width - i * WORD < WORD ? width - i * WORD : WORD;
        words[i] = phi ? word_phi(kernel, instruction, i * WORD, part_width)
                       : word_of(kernel, instruction, i * WORD, part_width);
    }
    if (phi) {
        igi_after_phis(kernel->builder, LLVMGetInstructionParent(instruction));
    }
    for (unsigned i = 0; i < count; i++) {
        whole = join(kernel, whole, words[i], type, i * WORD);
    }
    igi_replace(instruction, whole);
    return INGOT_OK;
}

/* ---- sign extensions that LLVM wrote as zero extensions -------------------------------------- */
static bool is_non_negative_zext(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    return LLVMGetInstructionOpcode(instruction) == LLVMZExt && LLVMGetNNeg(instruction) &&
           width_of(LLVMTypeOf(LLVMGetOperand(instruction, 0))) == 32;
}

/* Both mean the same in active lanes, but what lane 0 would hold is then right for signed
 * indices even where lane 0 is not active: `if (i >= 5) x[i - 5]`. */
enum igc_result igv_prepare_extensions(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_non_negative_zext);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        LLVMValueRef zext = list.items[i];
        LLVMPositionBuilderBefore(kernel->builder, zext);
        igi_replace(zext,
                    LLVMBuildSExt(kernel->builder, LLVMGetOperand(zext, 0), LLVMTypeOf(zext), ""));
    }
    return list.count ? IGC_CHANGED : IGC_UNCHANGED;
}

enum igc_result igv_prepare_integers(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_odd);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        LLVMValueRef instruction = list.items[i];
        LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
        LLVMPositionBuilderBefore(kernel->builder, instruction);
        if (opcode == LLVMLoad) {
            split_load(kernel, instruction);
        } else if (opcode == LLVMStore) {
            split_store(kernel, instruction);
        } else {
            ingot_status status = split_words(kernel, instruction);
            if (status) {
                return igc_result_of(status);
            }
        }
    }
    return list.count ? IGC_CHANGED : IGC_UNCHANGED;
}
