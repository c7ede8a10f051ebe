/* Sets up the new function, runs the analyses, and emits: see vectorise.h. */
#include "compiler/cpu/vectorise/state.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

static void add_string_attribute(struct igv_emit *emit, const char *name, const char *value) {
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(
        emit->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(emit->function, LLVMAttributeFunctionIndex, attribute);
}

static void add_enum_attribute(struct igv_emit *emit, unsigned index, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(emit->function, index, LLVMCreateEnumAttribute(emit->context, kind, 0));
}

static void make_types(struct igv_emit *emit) {
    LLVMContextRef context = emit->context;
    emit->i1 = LLVMInt1TypeInContext(context);
    emit->i8 = LLVMInt8TypeInContext(context);
    emit->i16 = LLVMInt16TypeInContext(context);
    emit->i32 = LLVMInt32TypeInContext(context);
    emit->i64 = LLVMInt64TypeInContext(context);
    emit->f16 = LLVMHalfTypeInContext(context);
    emit->f32 = LLVMFloatTypeInContext(context);
    emit->f64 = LLVMDoubleTypeInContext(context);
    emit->ptr = LLVMPointerTypeInContext(context, 0);
}

static void make_function(struct igv_emit *emit) {
    LLVMTypeRef types[] = {emit->ptr, emit->i32, emit->i32, emit->ptr};
    LLVMTypeRef result =
        emit->request->may_decline ? emit->i1 : LLVMVoidTypeInContext(emit->context);
    LLVMTypeRef type = LLVMFunctionType(result, types, emit->request->is_kept ? 4 : 3, 0);
    emit->function = LLVMAddFunction(emit->module, emit->request->name, type);
    emit->group = LLVMGetParam(emit->function, 0);
    emit->simdgroup = LLVMGetParam(emit->function, 1);
    const struct igv_target *target = emit->request->target;
    add_string_attribute(emit, "target-cpu", target->common.processor.cpu);
    if (*target->common.processor.features) {
        add_string_attribute(emit, "target-features", target->common.processor.features);
    }
    const char *width = target->lanes == 16 ? "512" : "256";
    add_string_attribute(emit, "prefer-vector-width", width);
    add_string_attribute(emit, "min-legal-vector-width", width);
    add_enum_attribute(emit, LLVMAttributeFunctionIndex, "nounwind");
    add_enum_attribute(emit, 1, "noalias");
    add_enum_attribute(emit, 1, "nonnull");
}

/* The lanes that enter, from the mask parameter. */
static void make_entry_mask(struct igv_emit *emit) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef bits = LLVMGetParam(emit->function, 2);
    LLVMTypeRef narrow = LLVMIntTypeInContext(emit->context, emit->lanes);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        if (emit->request->full_mask) {
            emit->state->entry_mask[chunk] = LLVMConstAllOnes(igv_mask_type(emit));
            continue;
        }
        LLVMValueRef part = LLVMBuildLShr(b, bits, igv_u32(emit, chunk * emit->lanes), "");
        part = LLVMBuildTrunc(b, part, narrow, "");
        emit->state->entry_mask[chunk] = LLVMBuildBitCast(b, part, igv_mask_type(emit), "");
    }
}

static bool used_elsewhere(LLVMValueRef value) {
    if (LLVMIsAExtractValueInst(value)) {
        return true; /* defined where its cmpxchg is */
    }
    LLVMBasicBlockRef home = LLVMGetInstructionParent(value);
    if (LLVMGetInstructionOpcode(value) == LLVMPHI) {
        return true;
    }
    igi_each_use(use, value) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMGetInstructionParent(user) != home) {
            return true;
        }
        if (LLVMGetInstructionOpcode(user) == LLVMPHI) {
            return true;
        }
    }
    return false;
}

/* A CHECKED value used elsewhere is recomputed there from its operands. */
static void keep_operands(struct igv_state *state, struct igv_value *value) {
    if (value->shape != IGV_V_CHECKED) {
        return;
    }
    int count = LLVMGetNumOperands(value->value);
    for (int i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(value->value, (unsigned)i);
        struct igv_value *known =
            LLVMIsAInstruction(operand) ? igv_value_of(&state->analysis, operand) : NULL;
        if (!known || igv_slot_of(known)->escapes) {
            continue;
        }
        igv_slot_of(known)->escapes = true;
        keep_operands(state, known);
    }
}

static bool allocate(struct igv_state *state) {
    struct ig_arena *arena = state->arena;
    unsigned blocks = state->analysis.block_count, loops = state->analysis.loop_count;
    state->words = (blocks + 63) / 64;
    state->blocks = ig_arena_array(arena, blocks, sizeof *state->blocks);
    state->leaves = ig_arena_array(arena, loops + 1, sizeof *state->leaves);
    state->mask_slots = ig_arena_array(arena, blocks, sizeof *state->mask_slots);
    state->entry_masked = ig_arena_array(arena, blocks, sizeof *state->entry_masked);
    state->guarded = ig_arena_array(arena, blocks, sizeof *state->guarded);
    state->deferred = ig_arena_array(arena, blocks, sizeof *state->deferred);
    state->exits = ig_arena_array(arena, loops + 1, sizeof *state->exits);
    if (!state->blocks || !state->leaves || !state->mask_slots || !state->entry_masked ||
        !state->guarded || !state->deferred || !state->exits) {
        return false;
    }
    for (unsigned i = 0; i < blocks; i++) {
        if (!(state->deferred[i] = ig_arena_array(arena, state->words, sizeof(uint64_t)))) {
            return false;
        }
    }
    for (unsigned i = 0; i < loops; i++) {
        if (!(state->exits[i] = ig_arena_array(arena, state->words, sizeof(uint64_t)))) {
            return false;
        }
    }
    for (unsigned i = 0; i < state->analysis.value_count; i++) {
        struct igv_slot *slot = ig_arena_alloc(arena, sizeof *slot);
        if (!slot) {
            return false;
        }
        slot->current_block = IGV_NONE;
        slot->escapes = used_elsewhere(state->analysis.values[i].value);
        state->analysis.values[i].emit = slot;
    }
    for (unsigned i = 0; i < state->analysis.value_count; i++) {
        if (igv_slot_of(&state->analysis.values[i])->escapes) {
            keep_operands(state, &state->analysis.values[i]);
        }
    }
    return true;
}

static void emit_function(struct igv_emit *emit) {
    struct igv_state *state = emit->state;
    make_function(emit);
    igv_lines_start(emit);
    state->entry = igv_append_block(emit, "slots");
    LLVMBasicBlockRef setup = igv_append_block(emit, "setup");
    for (unsigned i = 0; i < state->analysis.block_count; i++) {
        state->blocks[i] = igv_append_block(emit, "block");
    }
    LLVMPositionBuilderAtEnd(emit->builder, setup);
    state->block = IGV_NONE;
    make_entry_mask(emit);
    igv_control_plan(emit);
    igv_control_emit(emit);
    LLVMPositionBuilderAtEnd(emit->builder, state->entry);
    LLVMBuildBr(emit->builder, setup);
}

static struct igv_call_shape call_shape(const void *context, LLVMValueRef call) {
    static const enum igv_call_rule rules[] = {
        [IGI_RESULT_NOTHING] = IGV_CALL_UNIFORM,   [IGI_RESULT_GROUP] = IGV_CALL_BY_OPERANDS,
        [IGI_RESULT_SIMDGROUP] = IGV_CALL_UNIFORM, [IGI_RESULT_SHUFFLED] = IGV_CALL_BY_AN_OPERAND,
        [IGI_RESULT_LANE] = IGV_CALL_VARYING,      [IGI_RESULT_THREAD] = IGV_CALL_VARYING,
        [IGI_RESULT_OPERAND] = IGV_CALL_VARYING,   [IGI_RESULT_VARYING] = IGV_CALL_VARYING,
    };
    const enum igi_builtin builtin = igi_builtin_of(call);
    const struct igv_lowering *lowering = igv_lowerings(context)->of(builtin);
    struct igv_call_shape result = {rules[igi_facts(builtin)->result], 0, 0};
    if (lowering && lowering->shape) {
        enum igv_shape shape = lowering->shape(context, call, &result.stride, &result.align_log2);
        result.rule = shape == IGV_UNIFORM  ? IGV_CALL_UNIFORM
                      : shape == IGV_LINEAR ? IGV_CALL_LINEAR
                                            : IGV_CALL_VARYING;
    }
    return result;
}

ingot_status igv_analyse(struct ig_arena *arena, const struct igv_request *request,
                         struct igv_analysis *analysis, struct ig_error *error) {
    struct igv_subject subject = {request->module, request->kernel, call_shape, request};
    return igv_analyse_shapes(arena, &subject, analysis, error);
}

ingot_status igv_vectorise(struct ig_arena *arena, const struct igv_request *request,
                           struct igv_result *result, struct ig_error *error) {
    struct igv_state state = {.request = request, .arena = arena};
    struct igv_emit emit = {
        .context = LLVMGetModuleContext(request->module),
        .module = request->module,
        .layout = LLVMGetModuleDataLayout(request->module),
        .request = request,
        .lanes = request->target->lanes,
        .chunks = request->target->chunks,
        .state = &state,
    };
    struct ig_error trouble = {INGOT_OK, NULL};
    emit.error = &trouble;
    state.emit = &emit;
    ingot_status status = igv_analyse(arena, request, &state.analysis, error);
    if (status != INGOT_OK) {
        return status;
    }
    if (!allocate(&state)) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory while vectorising %s",
                       request->name);
    }
    make_types(&emit);
    emit.builder = LLVMCreateBuilderInContext(emit.context);
    emit_function(&emit);
    LLVMDisposeBuilder(emit.builder);
    if (trouble.status != INGOT_OK) {
        status = ig_fail(error, trouble.status, "%s", ig_error_text(&trouble));
        ig_error_clear(&trouble);
        return status;
    }
    uint64_t stack = state.private_bytes + 2 * state.slot_bytes + 4096;
    result->function = emit.function;
    result->has_barriers = state.has_barriers;
    result->streams = state.streams;
    result->stack_bytes = stack > UINT32_MAX ? UINT32_MAX : (uint32_t)stack;
    return INGOT_OK;
}
