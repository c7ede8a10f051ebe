/*
 * Loads, stores and private arrays.
 *
 * uniform address        one scalar access (the block is guarded, so a lane is active); a store
 *                        of a varying value keeps the highest active lane's
 * linear, unit stride    one masked vector access per chunk
 * checked, unit stride   the same behind a test that no index wraps, gather or scatter otherwise
 * small constant stride  wide accesses and shuffles, see strided.c
 * small uniform table    one load and permutations, see tables.c
 * anything else          gather or scatter
 */
#include "compiler/cpu/vectorise/state.h"

static long size_of(struct igv_emit *emit, LLVMTypeRef type) {
    return (long)LLVMStoreSizeOfType(emit->layout, type);
}

/* bool in memory is a byte; prepare.c leaves no i1 accesses, other types map as values do. */
static LLVMTypeRef memory_type(struct igv_emit *emit, LLVMTypeRef type) {
    return igv_mapped_type(emit, type);
}

void igv_copy_invariance(struct igv_emit *emit, LLVMValueRef from, LLVMValueRef to) {
    unsigned kind = LLVMGetMDKindIDInContext(emit->context, "invariant.load", 14);
    LLVMValueRef metadata = LLVMGetMetadata(from, kind);
    if (metadata && LLVMIsALoadInst(to)) {
        LLVMSetMetadata(to, kind, metadata);
    }
}

void igv_emit_alloca(struct igv_emit *emit, LLVMValueRef instruction) {
    struct igv_value *known = igv_lookup(emit, instruction);
    LLVMTypeRef type = LLVMGetAllocatedType(instruction);
    uint64_t size = LLVMABISizeOfType(emit->layout, type);
    uint64_t lane = known->private_granule ? size : (uint64_t)known->stride;
    uint64_t bytes = (lane > size ? lane : size) * INGOT_SIMD_WIDTH;
    LLVMValueRef array = igv_entry_alloca(emit, LLVMArrayType2(emit->i8, bytes), 64);
    emit->state->private_bytes += bytes;
    igv_define_scalar(emit, instruction, array);
}

/* ---- vector accesses of one chunk ------------------------------------------------------------ */

/* AVX2 has masked accesses of 32 and 64 bits only. */
static bool has_masked_access(struct igv_emit *emit, LLVMTypeRef type) {
    return emit->request->target->bit_masks || size_of(emit, type) >= 4;
}

static LLVMValueRef plain_load(struct igv_emit *emit, LLVMTypeRef type, LLVMValueRef pointer,
                               unsigned align) {
    LLVMValueRef load = LLVMBuildLoad2(emit->builder, igv_vector_type(emit, type), pointer, "");
    LLVMSetAlignment(load, align);
    return load;
}

LLVMValueRef igv_masked_load(struct igv_emit *emit, LLVMTypeRef type, LLVMValueRef pointer,
                             unsigned align, unsigned chunk) {
    if (igv_mask_is_full(emit)) {
        return plain_load(emit, type, pointer, align);
    }
    LLVMTypeRef vector = igv_vector_type(emit, type);
    LLVMTypeRef types[] = {vector, emit->ptr};
    LLVMValueRef args[] = {pointer, igv_u32(emit, align), igv_mask(emit, chunk),
                           LLVMGetPoison(vector)};
    if (has_masked_access(emit, type)) {
        return igv_intrinsic(emit, "llvm.masked.load", types, 2, args, 4);
    }

    LLVMBasicBlockRef fast = igv_append_block(emit, "load.all");
    LLVMBasicBlockRef slow = igv_append_block(emit, "load.some");
    LLVMBasicBlockRef join = igv_append_block(emit, "load.done");
    LLVMBuildCondBr(emit->builder, igv_all(emit, igv_mask(emit, chunk)), fast, slow);
    LLVMPositionBuilderAtEnd(emit->builder, fast);
    LLVMValueRef values[2] = {plain_load(emit, type, pointer, align), NULL};
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, slow);
    values[1] = igv_intrinsic(emit, "llvm.masked.load", types, 2, args, 4);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
    LLVMValueRef phi = LLVMBuildPhi(emit->builder, vector, "");
    LLVMBasicBlockRef from[2] = {fast, slow};
    LLVMAddIncoming(phi, values, from, 2);
    return phi;
}

/* 8 and 16 bits, for which there are no gather instructions: from the aligned 32-bit words
 * around them, which lie in the same page. */
static LLVMValueRef gather_narrow(struct igv_emit *emit, LLVMTypeRef type, LLVMValueRef pointers,
                                  unsigned chunk) {
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef words = igv_vector_type(emit, emit->i64);
    LLVMValueRef address = LLVMBuildPtrToInt(b, pointers, words, "");
    LLVMValueRef aligned = LLVMBuildAnd(b, address, igv_splat(emit, igv_u64(emit, ~3ull)), "");
    LLVMValueRef places = LLVMBuildIntToPtr(b, aligned, igv_vector_type(emit, emit->ptr), "");
    LLVMValueRef word = igv_gather(emit, emit->i32, places, 4, chunk);
    LLVMValueRef shift = LLVMBuildAnd(b, address, igv_splat(emit, igv_u64(emit, 3)), "");
    shift = LLVMBuildTrunc(b, shift, igv_vector_type(emit, emit->i32), "");
    shift = LLVMBuildShl(b, shift, igv_splat(emit, igv_u32(emit, 3)), "");
    word = LLVMBuildLShr(b, word, shift, "");
    LLVMTypeRef narrow = LLVMIntTypeInContext(emit->context, (unsigned)(8 * size_of(emit, type)));
    word = LLVMBuildTrunc(b, word, igv_vector_type(emit, narrow), "");
    return LLVMBuildBitCast(b, word, igv_vector_type(emit, type), "");
}

LLVMValueRef igv_gather(struct igv_emit *emit, LLVMTypeRef type, LLVMValueRef pointers,
                        unsigned align, unsigned chunk) {
    long size = size_of(emit, type);
    if (size < 4 && align >= (unsigned)size) {
        return gather_narrow(emit, type, pointers, chunk);
    }
    LLVMTypeRef vector = igv_vector_type(emit, type);
    LLVMTypeRef types[] = {vector, igv_vector_type(emit, emit->ptr)};
    LLVMValueRef args[] = {pointers, igv_u32(emit, align), igv_mask(emit, chunk),
                           LLVMGetPoison(vector)};
    return igv_intrinsic(emit, "llvm.masked.gather", types, 2, args, 4);
}

void igv_masked_store(struct igv_emit *emit, LLVMValueRef vector, LLVMValueRef pointer,
                      unsigned align, unsigned chunk) {
    if (igv_mask_is_full(emit)) {
        LLVMSetAlignment(LLVMBuildStore(emit->builder, vector, pointer), align);
        return;
    }
    LLVMTypeRef types[] = {LLVMTypeOf(vector), emit->ptr};
    LLVMValueRef args[] = {vector, pointer, igv_u32(emit, align), igv_mask(emit, chunk)};
    if (has_masked_access(emit, LLVMGetElementType(LLVMTypeOf(vector)))) {
        igv_intrinsic(emit, "llvm.masked.store", types, 2, args, 4);
        return;
    }
    LLVMBasicBlockRef fast = igv_append_block(emit, "store.all");
    LLVMBasicBlockRef slow = igv_append_block(emit, "store.some");
    LLVMBasicBlockRef join = igv_append_block(emit, "store.done");
    LLVMBuildCondBr(emit->builder, igv_all(emit, igv_mask(emit, chunk)), fast, slow);
    LLVMPositionBuilderAtEnd(emit->builder, fast);
    LLVMSetAlignment(LLVMBuildStore(emit->builder, vector, pointer), align);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, slow);
    igv_intrinsic(emit, "llvm.masked.store", types, 2, args, 4);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
}

void igv_scatter(struct igv_emit *emit, LLVMValueRef vector, LLVMValueRef pointers, unsigned align,
                 unsigned chunk) {
    LLVMTypeRef types[] = {LLVMTypeOf(vector), igv_vector_type(emit, emit->ptr)};
    LLVMValueRef args[] = {vector, pointers, igv_u32(emit, align), igv_mask(emit, chunk)};
    igv_intrinsic(emit, "llvm.masked.scatter", types, 2, args, 4);
}

/* ---- interleaved private memory: accesses wider than the granule come in pieces -------------- */

/* The same element in every lane; otherwise, as with a[lane], the address has another stride. */
static bool lanes_are_neighbours(struct igv_emit *emit, LLVMValueRef pointer, unsigned granule) {
    long stride;
    return igv_exact_shape(emit, pointer, &stride) == IGV_V_LINEAR && stride == (long)granule;
}

static LLVMValueRef load_piece(struct igv_emit *emit, LLVMTypeRef type, LLVMValueRef pointer,
                               unsigned granule, long piece, unsigned chunk) {
    long step = (long)INGOT_SIMD_WIDTH * granule * piece;
    if (lanes_are_neighbours(emit, pointer, granule)) {
        LLVMValueRef base =
            igv_offset(emit, igv_scalar(emit, pointer), step + (long)chunk * emit->lanes * granule);
        return igv_masked_load(emit, type, base, granule, chunk);
    }
    LLVMValueRef offset = igv_splat(emit, igv_u64(emit, (uint64_t)step));
    LLVMValueRef pointers =
        LLVMBuildGEP2(emit->builder, emit->i8, igv_vector(emit, pointer, chunk), &offset, 1, "");
    return igv_gather(emit, type, pointers, granule, chunk);
}

static void store_piece(struct igv_emit *emit, LLVMValueRef vector, LLVMValueRef pointer,
                        unsigned granule, long piece, unsigned chunk) {
    long step = (long)INGOT_SIMD_WIDTH * granule * piece;
    if (lanes_are_neighbours(emit, pointer, granule)) {
        LLVMValueRef base =
            igv_offset(emit, igv_scalar(emit, pointer), step + (long)chunk * emit->lanes * granule);
        igv_masked_store(emit, vector, base, granule, chunk);
        return;
    }
    LLVMValueRef offset = igv_splat(emit, igv_u64(emit, (uint64_t)step));
    LLVMValueRef pointers =
        LLVMBuildGEP2(emit->builder, emit->i8, igv_vector(emit, pointer, chunk), &offset, 1, "");
    igv_scatter(emit, vector, pointers, granule, chunk);
}

static LLVMTypeRef integer_of(struct igv_emit *emit, long bytes) {
    return LLVMIntTypeInContext(emit->context, (unsigned)(8 * bytes));
}

/* integers of the same width, to take a value apart or put it together */
static LLVMValueRef as_integer(struct igv_emit *emit, LLVMValueRef vector, long size) {
    LLVMTypeRef type = igv_vector_type(emit, integer_of(emit, size));
    if (igv_is_pointer(LLVMGetElementType(LLVMTypeOf(vector)))) {
        return LLVMBuildPtrToInt(emit->builder, vector, type, "");
    }
    return LLVMBuildBitCast(emit->builder, vector, type, "");
}

static LLVMValueRef from_integer(struct igv_emit *emit, LLVMValueRef vector, LLVMTypeRef type) {
    if (igv_is_pointer(type)) {
        return LLVMBuildIntToPtr(emit->builder, vector, igv_vector_type(emit, type), "");
    }
    return LLVMBuildBitCast(emit->builder, vector, igv_vector_type(emit, type), "");
}

static void load_private(struct igv_emit *emit, LLVMValueRef instruction, LLVMTypeRef type,
                         unsigned granule) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef pointer = LLVMGetOperand(instruction, 0);
    long size = size_of(emit, type), pieces = size / granule;
    LLVMTypeRef wide = integer_of(emit, size), narrow = integer_of(emit, granule);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        if (pieces <= 1) {
            igv_define_vector(emit, instruction, chunk,
                              load_piece(emit, type, pointer, granule, 0, chunk));
            continue;
        }
        LLVMValueRef whole = LLVMConstNull(igv_vector_type(emit, wide));
        for (long piece = 0; piece < pieces; piece++) {
            LLVMValueRef part = load_piece(emit, narrow, pointer, granule, piece, chunk);
            part = LLVMBuildZExt(b, part, igv_vector_type(emit, wide), "");
            LLVMValueRef shift =
                igv_splat(emit, LLVMConstInt(wide, (uint64_t)(8 * piece * granule), 0));
            whole = LLVMBuildOr(b, whole, LLVMBuildShl(b, part, shift, ""), "");
        }
        igv_define_vector(emit, instruction, chunk, from_integer(emit, whole, type));
    }
}

static void store_private(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef pointer,
                          LLVMTypeRef type, unsigned granule) {
    LLVMBuilderRef b = emit->builder;
    long size = size_of(emit, type), pieces = size / granule;
    LLVMTypeRef wide = integer_of(emit, size), narrow = integer_of(emit, granule);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef vector = igv_vector(emit, value, chunk);
        if (pieces <= 1) {
            store_piece(emit, vector, pointer, granule, 0, chunk);
            continue;
        }
        vector = as_integer(emit, vector, size);
        for (long piece = 0; piece < pieces; piece++) {
            LLVMValueRef shift =
                igv_splat(emit, LLVMConstInt(wide, (uint64_t)(8 * piece * granule), 0));
            LLVMValueRef part = LLVMBuildLShr(b, vector, shift, "");
            part = LLVMBuildTrunc(b, part, igv_vector_type(emit, narrow), "");
            store_piece(emit, part, pointer, granule, piece, chunk);
        }
    }
}

/* ---- loads -------------------------------------------------------------------------------------
 */

static void load_chunks(struct igv_emit *emit, LLVMValueRef instruction, LLVMTypeRef type,
                        bool masked, LLVMValueRef *results) {
    LLVMValueRef base = igv_scalar(emit, LLVMGetOperand(instruction, 0));
    unsigned align = LLVMGetAlignment(instruction);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef place =
            igv_offset(emit, base, (long)(chunk * emit->lanes) * size_of(emit, type));
        results[chunk] = masked ? igv_masked_load(emit, type, place, align, chunk)
                                : plain_load(emit, type, place, align);
        igv_copy_invariance(emit, instruction, results[chunk]);
    }
}

/* i1, for sign masks: all lanes are active. Masked accesses of AVX2 take tens of cycles on some
 * CPUs: worth a branch. */
static LLVMValueRef all_active(struct igv_emit *emit) {
    LLVMValueRef all = igv_mask(emit, 0);
    for (unsigned chunk = 1; chunk < emit->chunks; chunk++) {
        all = LLVMBuildAnd(emit->builder, all, igv_mask(emit, chunk), "");
    }
    return igv_all(emit, all);
}

static void load_contiguous(struct igv_emit *emit, LLVMValueRef instruction, LLVMTypeRef type,
                            LLVMValueRef *results) {
    if (igv_mask_is_full(emit) || emit->request->target->bit_masks) {
        load_chunks(emit, instruction, type, true, results);
        return;
    }
    LLVMBasicBlockRef fast = igv_append_block(emit, "load.all"), from[2];
    LLVMBasicBlockRef slow = igv_append_block(emit, "load.some");
    LLVMBasicBlockRef join = igv_append_block(emit, "load.done");
    LLVMValueRef some[IGV_MAX_CHUNKS];
    LLVMBuildCondBr(emit->builder, all_active(emit), fast, slow);
    LLVMPositionBuilderAtEnd(emit->builder, fast);
    load_chunks(emit, instruction, type, false, results);
    from[0] = fast;
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, slow);
    load_chunks(emit, instruction, type, true, some);
    from[1] = LLVMGetInsertBlock(emit->builder);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef incoming[] = {results[chunk], some[chunk]};
        results[chunk] = LLVMBuildPhi(emit->builder, LLVMTypeOf(some[chunk]), "");
        LLVMAddIncoming(results[chunk], incoming, from, 2);
    }
}

void igv_load_gathered(struct igv_emit *emit, LLVMValueRef instruction, LLVMTypeRef type,
                       LLVMValueRef *results) {
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef pointers = igv_vector(emit, LLVMGetOperand(instruction, 0), chunk);
        results[chunk] = igv_gather(emit, type, pointers, LLVMGetAlignment(instruction), chunk);
        igv_copy_invariance(emit, instruction, results[chunk]);
    }
}

static void load_checked(struct igv_emit *emit, LLVMValueRef instruction, LLVMTypeRef type,
                         LLVMValueRef *results) {
    LLVMBasicBlockRef fast = igv_append_block(emit, "load.linear");
    LLVMBasicBlockRef slow = igv_append_block(emit, "load.wraps");
    LLVMBasicBlockRef join = igv_append_block(emit, "load.done");
    LLVMValueRef wraps = igv_wraps(emit, LLVMGetOperand(instruction, 0));
    LLVMBuildCondBr(emit->builder, wraps, slow, fast);
    LLVMValueRef values[2][IGV_MAX_CHUNKS];
    LLVMBasicBlockRef from[2];
    LLVMPositionBuilderAtEnd(emit->builder, fast);
    load_contiguous(emit, instruction, type, values[0]);
    from[0] = LLVMGetInsertBlock(emit->builder);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, slow);
    igv_load_gathered(emit, instruction, type, values[1]);
    from[1] = LLVMGetInsertBlock(emit->builder);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        results[chunk] = LLVMBuildPhi(emit->builder, igv_vector_type(emit, type), "");
        LLVMValueRef incoming[2] = {values[0][chunk], values[1][chunk]};
        LLVMAddIncoming(results[chunk], incoming, from, 2);
    }
}

/* Volatile accesses must stay where they are, which masked intrinsics cannot say. */
static void volatile_fence(struct igv_emit *emit, LLVMValueRef instruction) {
    if (LLVMGetVolatile(instruction)) {
        LLVMBuildFence(emit->builder, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
    }
}

void igv_emit_load(struct igv_emit *emit, LLVMValueRef instruction) {
    struct igv_value *known = igv_lookup(emit, instruction);
    struct igv_slot *slot = igv_slot_of(known);
    if (slot->emitted) {
        return;
    }
    LLVMValueRef pointer = LLVMGetOperand(instruction, 0);
    LLVMTypeRef type = memory_type(emit, LLVMTypeOf(instruction));
    volatile_fence(emit, instruction);
    if (known->shape != IGV_V_VARYING) {
        LLVMValueRef load = LLVMBuildLoad2(emit->builder, type, igv_scalar(emit, pointer), "");
        LLVMSetAlignment(load, LLVMGetAlignment(instruction));
        LLVMSetVolatile(load, LLVMGetVolatile(instruction));
        igv_copy_invariance(emit, instruction, load);
        igv_define_scalar(emit, instruction, load);
        return;
    }
    struct igv_value *address = igv_lookup(emit, pointer);
    if (address && address->private_granule) {
        load_private(emit, instruction, type, address->private_granule);
        return;
    }
    if (igv_emit_strided_load(emit, instruction)) {
        return;
    }
    long stride;
    enum igv_value_shape shape = igv_exact_shape(emit, pointer, &stride);
    LLVMValueRef results[IGV_MAX_CHUNKS];
    if (shape == IGV_V_LINEAR && stride == size_of(emit, type)) {
        load_contiguous(emit, instruction, type, results);
    } else if (shape == IGV_V_CHECKED && stride == size_of(emit, type)) {
        load_checked(emit, instruction, type, results);
    } else if (!igv_emit_table_load(emit, instruction, results)) {
        igv_load_gathered(emit, instruction, type, results);
    }
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        igv_define_vector(emit, instruction, chunk, results[chunk]);
    }
}

/* ---- stores ------------------------------------------------------------------------------------
 */

static void store_chunks(struct igv_emit *emit, LLVMValueRef instruction, LLVMTypeRef type,
                         bool masked) {
    LLVMValueRef base = igv_scalar(emit, LLVMGetOperand(instruction, 1));
    unsigned align = LLVMGetAlignment(instruction);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef vector = igv_vector(emit, LLVMGetOperand(instruction, 0), chunk);
        LLVMValueRef place =
            igv_offset(emit, base, (long)(chunk * emit->lanes) * size_of(emit, type));
        if (masked) {
            igv_masked_store(emit, vector, place, align, chunk);
        } else {
            LLVMSetAlignment(LLVMBuildStore(emit->builder, vector, place), align);
        }
    }
}

static void store_contiguous(struct igv_emit *emit, LLVMValueRef instruction, LLVMTypeRef type) {
    if (igv_mask_is_full(emit) || emit->request->target->bit_masks) {
        store_chunks(emit, instruction, type, true);
        return;
    }
    LLVMBasicBlockRef fast = igv_append_block(emit, "store.all");
    LLVMBasicBlockRef slow = igv_append_block(emit, "store.some");
    LLVMBasicBlockRef join = igv_append_block(emit, "store.done");
    LLVMBuildCondBr(emit->builder, all_active(emit), fast, slow);
    LLVMPositionBuilderAtEnd(emit->builder, fast);
    store_chunks(emit, instruction, type, false);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, slow);
    store_chunks(emit, instruction, type, true);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
}

static void store_scattered(struct igv_emit *emit, LLVMValueRef instruction) {
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef vector = igv_vector(emit, LLVMGetOperand(instruction, 0), chunk);
        LLVMValueRef pointers = igv_vector(emit, LLVMGetOperand(instruction, 1), chunk);
        igv_scatter(emit, vector, pointers, LLVMGetAlignment(instruction), chunk);
    }
}

static void store_uniform(struct igv_emit *emit, LLVMValueRef instruction) {
    LLVMValueRef value = LLVMGetOperand(instruction, 0), scalar;
    if (igv_exact_shape(emit, value, NULL) == IGV_V_UNIFORM) {
        scalar = igv_scalar(emit, value);
    } else {
        LLVMValueRef args[] = {igv_mask_bits(emit), LLVMConstInt(emit->i1, 1, 0)};
        LLVMValueRef zeros = igv_intrinsic(emit, "llvm.ctlz", &emit->i32, 1, args, 2);
        LLVMValueRef last = LLVMBuildSub(emit->builder, igv_u32(emit, 31), zeros, "");
        scalar = igv_extract(emit, value, last);
    }
    LLVMValueRef pointer = igv_scalar(emit, LLVMGetOperand(instruction, 1));
    LLVMValueRef store = LLVMBuildStore(emit->builder, scalar, pointer);
    LLVMSetAlignment(store, LLVMGetAlignment(instruction));
    LLVMSetVolatile(store, LLVMGetVolatile(instruction));
}

static void store_checked(struct igv_emit *emit, LLVMValueRef instruction, LLVMTypeRef type) {
    LLVMBasicBlockRef fast = igv_append_block(emit, "store.linear");
    LLVMBasicBlockRef slow = igv_append_block(emit, "store.wraps");
    LLVMBasicBlockRef join = igv_append_block(emit, "store.done");
    LLVMValueRef wraps = igv_wraps(emit, LLVMGetOperand(instruction, 1));
    LLVMBuildCondBr(emit->builder, wraps, slow, fast);
    LLVMPositionBuilderAtEnd(emit->builder, fast);
    store_contiguous(emit, instruction, type);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, slow);
    store_scattered(emit, instruction);
    LLVMBuildBr(emit->builder, join);
    LLVMPositionBuilderAtEnd(emit->builder, join);
}

void igv_emit_store(struct igv_emit *emit, LLVMValueRef instruction) {
    LLVMValueRef value = LLVMGetOperand(instruction, 0);
    LLVMValueRef pointer = LLVMGetOperand(instruction, 1);
    LLVMTypeRef type = memory_type(emit, LLVMTypeOf(value));
    struct igv_value *self = igv_lookup(emit, instruction);
    if (self && igv_slot_of(self)->emitted) {
        return;
    }
    long stride;
    enum igv_value_shape shape = igv_exact_shape(emit, pointer, &stride);
    struct igv_value *address = igv_lookup(emit, pointer);
    if (address && address->private_granule) {
        store_private(emit, value, pointer, type, address->private_granule);
    } else if (shape == IGV_V_UNIFORM) {
        store_uniform(emit, instruction);
    } else if (shape == IGV_V_LINEAR && stride == size_of(emit, type)) {
        store_contiguous(emit, instruction, type);
    } else if (shape == IGV_V_CHECKED && stride == size_of(emit, type)) {
        store_checked(emit, instruction, type);
    } else if (!igv_emit_strided_store(emit, instruction)) {
        store_scattered(emit, instruction);
    }
    volatile_fence(emit, instruction);
}
