/*
 * Threadgroup variables: each gets an offset in the threadgroup's memory, noted in its section
 * name. In the kernel, its address is taken once, by a freeze at the top, and everything that
 * was a constant expression on it becomes instructions, so that emission meets the variable in
 * one place only.
 */
#include "compiler/analysis/analysis.h"
#include "compiler/cpu/prepare/prepare.h"
#include "compiler/ir/walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE_THREADGROUP 3u
#define LEAST_ALIGN       16u
#define MAX_BYTES         (1u << 30)
#define SECTION           "ingot.tg."

bool igv_threadgroup_offset(LLVMValueRef global, uint32_t *offset) {
    const char *section = LLVMIsAGlobalVariable(global) ? LLVMGetSection(global) : NULL;
    if (!section || strncmp(section, SECTION, strlen(SECTION))) {
        return false;
    }
    *offset = (uint32_t)strtoul(section + strlen(SECTION), NULL, 10);
    return true;
}

static bool is_threadgroup(LLVMValueRef value) {
    return LLVMIsAGlobalVariable(value) &&
           LLVMGetPointerAddressSpace(LLVMTypeOf(value)) == SPACE_THREADGROUP;
}

/* Does a constant (expression) name the variable? */
static bool mentions(LLVMValueRef constant, LLVMValueRef global) {
    if (constant == global) {
        return true;
    }
    if (!LLVMIsAConstantExpr(constant)) {
        return false;
    }
    for (int i = 0; i < LLVMGetNumOperands(constant); i++) {
        if (mentions(LLVMGetOperand(constant, (unsigned)i), global)) {
            return true;
        }
    }
    return false;
}

/* The constant expression as instructions at the builder, on `address` for the variable. */
static LLVMValueRef as_instructions(struct igc_kernel *kernel, LLVMValueRef constant,
                                    LLVMValueRef global, LLVMValueRef address) {
    if (constant == global) {
        return address;
    }
    if (!mentions(constant, global)) {
        return constant;
    }
    LLVMValueRef operands[8] = {NULL};
    int count = LLVMGetNumOperands(constant);
    if (count > 8) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        operands[i] =
            as_instructions(kernel, LLVMGetOperand(constant, (unsigned)i), global, address);
        if (!operands[i]) {
            return NULL;
        }
    }
    LLVMOpcode opcode = LLVMGetConstOpcode(constant);
    if (opcode == LLVMGetElementPtr) {
        return LLVMBuildGEP2(kernel->builder, LLVMGetGEPSourceElementType(constant), operands[0],
                             operands + 1, (unsigned)count - 1, "");
    }
    if (opcode == LLVMAdd || opcode == LLVMSub || opcode == LLVMXor) {
        return LLVMBuildBinOp(kernel->builder, opcode, operands[0], operands[1], "");
    }
    if (opcode == LLVMAddrSpaceCast || opcode == LLVMPtrToInt || opcode == LLVMIntToPtr ||
        opcode == LLVMTrunc || opcode == LLVMBitCast) {
        return LLVMBuildCast(kernel->builder, opcode, operands[0], LLVMTypeOf(constant), "");
    }
    return NULL;
}

static ingot_status rewrite_operand(struct igc_kernel *kernel, LLVMValueRef instruction,
                                    unsigned operand, LLVMValueRef global, LLVMValueRef address) {
    LLVMValueRef constant = LLVMGetOperand(instruction, operand), at = instruction;
    if (!mentions(constant, global)) {
        return INGOT_OK;
    }
    if (LLVMIsAPHINode(instruction)) {
        at = LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(instruction, operand));
    }
    LLVMPositionBuilderBefore(kernel->builder, at);
    LLVMValueRef value = NULL;
    for (unsigned i = 0; at != instruction && i < operand; i++) {
        if (LLVMGetIncomingBlock(instruction, i) == LLVMGetIncomingBlock(instruction, operand)) {
            value = LLVMGetOperand(instruction, i);
        }
    }
    if (!value) {
        value = as_instructions(kernel, constant, global, address);
    }
    if (!value) {
        char *text = LLVMPrintValueToString(constant);
        ig_fail(kernel->error, INGOT_COMPILE_ERROR,
                "the kernel computes a threadgroup address in a way that is not supported: %s",
                text);
        LLVMDisposeMessage(text);
        return INGOT_COMPILE_ERROR;
    }
    LLVMSetOperand(instruction, operand, value);
    return INGOT_OK;
}

static bool has_constant_operand(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        if (LLVMIsAConstantExpr(operand) || is_threadgroup(operand)) {
            return true;
        }
    }
    return false;
}

static bool is_used_by(const struct igc_list *users, LLVMValueRef global) {
    for (size_t i = 0; i < users->count; i++) {
        for (int o = 0; o < LLVMGetNumOperands(users->items[i]); o++) {
            if (mentions(LLVMGetOperand(users->items[i], (unsigned)o), global)) {
                return true;
            }
        }
    }
    return false;
}

static ingot_status take_address(struct igc_kernel *kernel, const struct igc_list *users,
                                 LLVMValueRef global) {
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(kernel->function);
    LLVMPositionBuilderBefore(kernel->builder, LLVMGetFirstInstruction(entry));
    size_t length;
    LLVMValueRef address =
        LLVMBuildFreeze(kernel->builder, global, LLVMGetValueName2(global, &length));
    for (size_t i = 0; i < users->count; i++) {
        for (int o = 0; o < LLVMGetNumOperands(users->items[i]); o++) {
            ingot_status status =
                rewrite_operand(kernel, users->items[i], (unsigned)o, global, address);
            if (status) {
                return status;
            }
        }
    }
    return INGOT_OK;
}

static uint64_t round_up(uint64_t value, uint64_t align) {
    return (value + align - 1) / align * align;
}

/* Variables that an earlier kernel of the module uses too keep their places. */
static ingot_status place(struct igc_kernel *kernel, const struct igc_list *users,
                          uint64_t *total) {
    for (int placed = 1; placed >= 0; placed--) {
        igi_each_global(g, kernel->module) {
            uint32_t known = 0;
            bool has_place = igv_threadgroup_offset(g, &known);
            if (!is_threadgroup(g) || has_place != (placed == 1) || !is_used_by(users, g)) {
                continue;
            }
            uint64_t size = LLVMABISizeOfType(kernel->layout, LLVMGlobalGetValueType(g));
            uint64_t align = LLVMGetAlignment(g);
            uint64_t offset =
                has_place ? known : round_up(*total, align > LEAST_ALIGN ? align : LEAST_ALIGN);
            if (size > MAX_BYTES || offset + size > MAX_BYTES) {
                return ig_fail(kernel->error, INGOT_COMPILE_ERROR,
                               "the kernel's threadgroup variables need more than %u bytes",
                               MAX_BYTES);
            }
            if (offset + size > *total) {
                *total = offset + size;
            }
            char section[32];
            snprintf(section, sizeof section, SECTION "%" PRIu64, offset);
            LLVMSetSection(g, section);
        }
    }
    return INGOT_OK;
}

enum igc_result igv_prepare_threadgroup(struct igc_kernel *kernel) {
    struct igc_list users = igc_collect(kernel, has_constant_operand);
    uint64_t total = 0;
    if (users.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    ingot_status status = place(kernel, &users, &total);
    igi_each_global(g, kernel->module) {
        if (!status && is_threadgroup(g) && is_used_by(&users, g)) {
            status = take_address(kernel, &users, g);
        }
    }
    kernel->threadgroup_bytes = (uint32_t)round_up(total, LEAST_ALIGN);
    return igc_result_of(status);
}
