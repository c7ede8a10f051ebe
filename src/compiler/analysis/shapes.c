/*
 * The shape of every value over the lanes: a forward data-flow analysis that starts with the
 * best case and only ever gives up, run to a fixpoint together with divergence.c.
 *
 * Requires: the order of emission, private_layout.c's decisions. Provides: shape, stride,
 * align_log2 and no_wrap of every instruction.
 */
#include "compiler/analysis/shapes.h"
#include "base/cpu_abi.h"
#include "compiler/ir/builtins.h"

static struct igv_fact fact_of(struct igv_work *work, LLVMValueRef operand) {
    struct igv_value *value = igv_value_of(work->analysis, operand);
    if (!value) {
        if (!LLVMIsAConstantInt(operand) || LLVMGetIntTypeWidth(LLVMTypeOf(operand)) > 64) {
            return igv_uniform(LLVMIsAConstantPointerNull(operand) ? IGV_MAX_ALIGN : 0);
        }
        uint64_t bits = LLVMConstIntGetZExtValue(operand);
        return igv_uniform(bits ? (unsigned)__builtin_ctzll(bits) : IGV_MAX_ALIGN);
    }
    size_t number = (size_t)(value - work->analysis->values);
    return (struct igv_fact){.shape = value->shape,
                             .stride = value->stride,
                             .align = value->align_log2,
                             .no_wrap = value->no_wrap || value->shape == IGV_V_UNIFORM,
                             .no_signed_wrap =
                                 work->no_signed_wrap[number] || value->shape == IGV_V_UNIFORM,
                             .unknown = !work->visited[number]};
}

static struct igv_fact fact_from_operands(struct igv_work *work, LLVMValueRef instruction,
                                          unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (fact_of(work, LLVMGetOperand(instruction, i)).shape != IGV_V_UNIFORM) {
            return igv_varying();
        }
    }
    return igv_uniform(0);
}

/* Two values, one of which all lanes take. */
static struct igv_fact either(const struct igv_fact *a, const struct igv_fact *b) {
    if (a->unknown || b->unknown) {
        return a->unknown ? *b : *a;
    }
    if (a->shape != b->shape || a->stride != b->stride || a->shape > IGV_V_LINEAR) {
        return igv_varying();
    }
    struct igv_fact result = *a;
    result.align = a->align < b->align ? a->align : b->align;
    result.no_wrap = a->no_wrap && b->no_wrap;
    result.no_signed_wrap = a->no_signed_wrap && b->no_signed_wrap;
    return result;
}

/* ---- phis -------------------------------------------------------------------------------------
 */
/* Is `incoming` computed inside a divergent loop that the edge from → to leaves? Then lanes
 * took it in different iterations. */
static bool taken_at_different_times(struct igv_work *work, LLVMValueRef incoming, unsigned from,
                                     unsigned to) {
    const struct igv_analysis *analysis = work->analysis;
    const struct igv_value *value = igv_value_of(analysis, incoming);
    if (!value) {
        return false;
    }
    for (unsigned l = analysis->blocks[from].loop; l != IGV_NONE; l = analysis->loops[l].parent) {
        const struct igv_loop *loop = &analysis->loops[l];
        if (igv_in_loop(loop, to)) {
            return false;
        }
        if (loop->divergent && igv_in_loop(loop, value->block)) {
            return true;
        }
    }
    return false;
}

static struct igv_fact phi_fact(struct igv_work *work, const struct igv_value *phi) {
    struct igv_analysis *analysis = work->analysis;
    const struct igv_block *block = &analysis->blocks[phi->block];
    struct igv_fact result = {.unknown = true};
    LLVMValueRef first = NULL;
    unsigned count = LLVMCountIncoming(phi->value);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef incoming = LLVMGetIncomingValue(phi->value, i);
        unsigned from = igv_block_of(analysis, LLVMGetIncomingBlock(phi->value, i));
        if (from == IGV_NONE) {
            continue; /* an unreachable block */
        }
        if (block->phis_divergent && first && incoming != first) {
            return igv_varying();
        }
        first = incoming;
        if (taken_at_different_times(work, incoming, from, phi->block)) {
            return igv_varying();
        }
        struct igv_fact fact = fact_of(work, incoming);
        if (LLVMIsUndef(incoming) || LLVMIsPoison(incoming)) {
            fact.unknown = true; /* as good as any other */
        }
        if (!fact.unknown && fact.shape == IGV_V_CHECKED) {
            return igv_varying();
        }
        result = either(&result, &fact);
    }
    return result.unknown ? igv_uniform(0) : result;
}

static struct igv_fact select_fact(struct igv_work *work, LLVMValueRef instruction) {
    struct igv_fact condition = fact_of(work, LLVMGetOperand(instruction, 0));
    struct igv_fact a = fact_of(work, LLVMGetOperand(instruction, 1));
    struct igv_fact b = fact_of(work, LLVMGetOperand(instruction, 2));
    return condition.shape == IGV_V_UNIFORM ? either(&a, &b) : igv_varying();
}

/* ---- memory -------------------------------------------------------------------------------------
 */
static LLVMTypeRef element_of(LLVMTypeRef type, LLVMValueRef index) {
    if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
        return LLVMStructGetTypeAtIndex(type, (unsigned)LLVMConstIntGetZExtValue(index));
    }
    return LLVMGetElementType(type);
}

static struct igv_fact gep_fact(struct igv_work *work, const struct igv_value *gep) {
    LLVMValueRef instruction = gep->value;
    struct igv_fact base = fact_of(work, LLVMGetOperand(instruction, 0));
    bool checked = base.shape == IGV_V_CHECKED;
    if (base.shape == IGV_V_VARYING) {
        return igv_varying();
    }
    long total = base.stride, factor = gep->private_granule ? (long)INGOT_SIMD_WIDTH : 1;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(instruction);
    unsigned count = (unsigned)LLVMGetNumOperands(instruction);
    for (unsigned i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(instruction, i);
        bool field = i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind;
        if (i > 1) {
            type = element_of(type, index);
        }
        if (field) {
            continue;
        }
        struct igv_fact fact = fact_of(work, index), wide = fact;
        if (fact.shape == IGV_V_LINEAR) {
            wide = igv_sign_extended(index, &fact);
        }
        checked |= wide.shape == IGV_V_CHECKED;
        long bytes = (long)LLVMABISizeOfType(work->layout, type), step;
        if (wide.shape == IGV_V_VARYING || __builtin_mul_overflow(wide.stride, bytes, &step) ||
            __builtin_mul_overflow(step, factor, &step) ||
            __builtin_add_overflow(total, step, &total)) {
            return igv_varying();
        }
    }
    if (!checked) {
        return igv_linear(64, total, 0, false);
    }
    if (total == 0 || gep->private_granule) {
        return igv_varying();
    }
    return (struct igv_fact){.shape = IGV_V_CHECKED, .stride = total};
}

static struct igv_fact alloca_fact(struct igv_work *work, const struct igv_value *alloca) {
    if (alloca->private_granule) {
        return igv_linear(64, (long)alloca->private_granule, 0, false);
    }
    uint64_t size = LLVMABISizeOfType(work->layout, LLVMGetAllocatedType(alloca->value));
    LLVMValueRef count = LLVMGetOperand(alloca->value, 0);
    if (LLVMIsAConstantInt(count)) {
        size *= LLVMConstIntGetZExtValue(count);
    }
    uint64_t align = LLVMGetAlignment(alloca->value);
    if (align > 1) {
        size = (size + align - 1) / align * align;
    }
    return igv_linear(64, (long)(size ? size : 1), 0, false);
}

static struct igv_fact load_fact(struct igv_work *work, LLVMValueRef load) {
    struct igv_fact pointer = fact_of(work, LLVMGetOperand(load, 0));
    return pointer.shape == IGV_V_UNIFORM && !igv_reads_differ(&work->options, load)
               ? igv_uniform(0)
               : igv_varying();
}

/* ---- calls
 * ---------------------------------------------------------------------------------------- */
static bool has_uniform_operand(struct igv_work *work, LLVMValueRef call) {
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        if (fact_of(work, LLVMGetOperand(call, i)).shape == IGV_V_UNIFORM) {
            return true;
        }
    }
    return false;
}

static struct igv_fact call_fact(struct igv_work *work, LLVMValueRef call) {
    if (igi_is_intrinsic(call)) {
        return fact_from_operands(work, call, LLVMGetNumArgOperands(call));
    }
    struct igv_call_shape shape = work->subject->call_shape(work->subject->context, call);
    unsigned width = igv_integer_width(LLVMTypeOf(call));
    switch (shape.rule) {
    case IGV_CALL_UNIFORM:
        return igv_uniform(shape.align_log2);
    case IGV_CALL_BY_OPERANDS:
        return fact_from_operands(work, call, LLVMGetNumArgOperands(call));
    case IGV_CALL_BY_AN_OPERAND:
        return has_uniform_operand(work, call) ? igv_uniform(0) : igv_varying();
    case IGV_CALL_LINEAR: {
        struct igv_fact fact =
            igv_linear(width ? width : 64, shape.stride, shape.align_log2, shape.stride > 0);
        fact.no_signed_wrap |= igv_known_maximum(call) <= INT32_MAX;
        return fact;
    }
    default:
        return igv_varying();
    }
}

/* ---- one instruction
 * ------------------------------------------------------------------------------- */
static struct igv_fact transfer(struct igv_work *work, const struct igv_value *value) {
    LLVMValueRef instruction = value->value;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    struct igv_fact a, b;
    switch (opcode) {
    case LLVMPHI:
        return phi_fact(work, value);
    case LLVMSelect:
        return select_fact(work, instruction);
    case LLVMAlloca:
        return alloca_fact(work, value);
    case LLVMGetElementPtr:
        return gep_fact(work, value);
    case LLVMLoad:
        return load_fact(work, instruction);
    case LLVMCall:
        return call_fact(work, instruction);
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return igv_varying();
    case LLVMFreeze:
        a = fact_of(work, LLVMGetOperand(instruction, 0));
        a.no_wrap = a.no_signed_wrap = false;
        return a.shape <= IGV_V_LINEAR ? a : igv_varying();
    case LLVMBr:
    case LLVMRet:
    case LLVMStore:
    case LLVMFence:
    case LLVMUnreachable:
        return igv_uniform(0);
    case LLVMICmp:
        a = fact_of(work, LLVMGetOperand(instruction, 0));
        b = fact_of(work, LLVMGetOperand(instruction, 1));
        return igv_compare_fact(instruction, &a, &b);
    default:
        break;
    }
    if (LLVMIsABinaryOperator(instruction)) {
        a = fact_of(work, LLVMGetOperand(instruction, 0));
        b = fact_of(work, LLVMGetOperand(instruction, 1));
        return igv_binary_fact(instruction, &a, &b);
    }
    if (LLVMIsACastInst(instruction)) {
        a = fact_of(work, LLVMGetOperand(instruction, 0));
        return igv_cast_fact(instruction, &a);
    }
    return fact_from_operands(work, instruction, (unsigned)LLVMGetNumOperands(instruction));
}

/* Shapes only fall: a result better than the one before keeps the old one. */
static bool lower_to(struct igv_work *work, size_t number, struct igv_fact fact) {
    struct igv_value *value = &work->analysis->values[number];
    if (work->visited[number]) {
        bool other_stride = fact.shape == value->shape && fact.stride != value->stride;
        if (fact.shape < value->shape || other_stride) {
            fact = igv_varying();
        }
        if (fact.align > value->align_log2) {
            fact.align = value->align_log2;
        }
        fact.no_wrap = fact.no_wrap && value->no_wrap;
        fact.no_signed_wrap = fact.no_signed_wrap && work->no_signed_wrap[number];
    }
    if (fact.shape == IGV_V_VARYING) {
        fact = igv_varying();
    }
    bool same = work->visited[number] && fact.shape == value->shape &&
                fact.stride == value->stride && fact.align == value->align_log2 &&
                fact.no_wrap == value->no_wrap &&
                fact.no_signed_wrap == work->no_signed_wrap[number];
    work->visited[number] = true;
    value->shape = fact.shape;
    value->stride = fact.stride;
    value->align_log2 = fact.align;
    value->no_wrap = fact.no_wrap;
    work->no_signed_wrap[number] = fact.no_signed_wrap;
    return !same;
}

ingot_status igv_shapes_start(struct igv_work *work) {
    size_t count = work->analysis->value_count;
    work->visited = ig_arena_array(work->arena, count + 1, sizeof *work->visited);
    work->no_signed_wrap = ig_arena_array(work->arena, count + 1, sizeof *work->no_signed_wrap);
    return work->visited && work->no_signed_wrap ? INGOT_OK : igi_out_of_memory(work->error);
}

bool igv_shapes_step(struct igv_work *work) {
    bool changed = false;
    for (unsigned i = 0; i < work->analysis->value_count; i++) {
        changed = lower_to(work, i, transfer(work, &work->analysis->values[i])) || changed;
    }
    return changed;
}
