/*
 * simdgroup_matrix: 8×8 tiles that lie over the lanes, two elements in each.
 *
 * A load, a store and a multiply-add of a whole tile become one call each (tiles.h), which
 * tiles.c makes code of when it can see how tiles travel. Where it is only known at run time
 * whether a tile in memory is transposed, its elements are gathered and scattered here.
 *
 * The mask is not looked at: Metal wants all lanes to take part. Elements of 16 bits (half,
 * bfloat) are only moved here.
 */
#include <string.h>

#include "compiler/cpu/lower/tiles.h"
#include "compiler/ir/builtins.h"

unsigned igt_row_of(unsigned lane) {
    return ((lane >> 4) & 1) * 4 + ((lane >> 2) & 1) * 2 + ((lane >> 1) & 1);
}

unsigned igt_column_of(unsigned lane, unsigned which) {
    return ((lane >> 3) & 1) * 4 + (lane & 1) * 2 + which;
}

struct igl_pick igt_pick_at(const struct igv_emit *emit, unsigned row, unsigned column) {
    unsigned lane = (row >> 2) << 4 | (column >> 2) << 3 | ((row >> 1) & 1) << 2 | (row & 1) << 1 |
                    ((column >> 1) & 1);
    return (struct igl_pick){(uint16_t)(column % 2 * emit->chunks + lane / emit->lanes),
                             (uint16_t)(lane % emit->lanes)};
}

/* ---- the calls ------------------------------------------------------------------------------- */
static LLVMTypeRef tile_type(struct igv_emit *emit, LLVMTypeRef element) {
    LLVMTypeRef types[IGT_MAX_REGISTERS];
    for (unsigned i = 0; i < 2 * emit->chunks; i++) {
        types[i] = igv_vector_type(emit, element);
    }
    return LLVMStructTypeInContext(emit->context, types, 2 * emit->chunks, false);
}

static LLVMValueRef call_tile(struct igv_emit *emit, enum igi_builtin tile, LLVMTypeRef result,
                              LLVMValueRef *args, unsigned count) {
    LLVMTypeRef types[3 * IGT_MAX_REGISTERS];
    const struct igi_facts *facts = igi_facts(tile);
    for (unsigned i = 0; i < count; i++) {
        types[i] = LLVMTypeOf(args[i]);
    }
    LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
    LLVMValueRef function = igi_find(emit->module, tile);
    if (!function) {
        uint64_t memory;
        function = LLVMAddFunction(emit->module, facts->name, type);
        igi_memory_attribute(facts->memory, &memory);
        igi_add_attribute(function, "memory", memory);
        igi_add_attribute(function, "nounwind", 0);
        igi_add_attribute(function, "willreturn", 0);
    }
    return LLVMBuildCall2(emit->builder, type, function, args, count, "");
}

static struct igl_chunks element_of(struct igv_emit *emit, LLVMValueRef tile, unsigned which) {
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        result.chunk[c] = LLVMBuildExtractValue(emit->builder, tile, which * emit->chunks + c, "");
    }
    return result;
}

/* Lane by lane one of two results, where `which` is not a constant. */
static struct igl_chunks choose(struct igv_emit *emit, LLVMValueRef which,
                                const struct igl_chunks *first, const struct igl_chunks *second) {
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef index = igv_vector(emit, which, c);
        LLVMValueRef is_second =
            LLVMBuildICmp(emit->builder, LLVMIntNE, index, LLVMConstNull(LLVMTypeOf(index)), "");
        result.chunk[c] =
            LLVMBuildSelect(emit->builder, is_second, second->chunk[c], first->chunk[c], "");
    }
    return result;
}

static void define_element(struct igv_emit *emit, LLVMValueRef call, LLVMValueRef which,
                           LLVMValueRef tile) {
    uint64_t number;
    struct igl_chunks result;
    if (igl_constant(which, &number)) {
        result = element_of(emit, tile, number & 1);
    } else {
        struct igl_chunks first = element_of(emit, tile, 0), second = element_of(emit, tile, 1);
        result = choose(emit, which, &first, &second);
    }
    igl_define_chunks(emit, call, &result);
}

/* ---- multiply-add ---------------------------------------------------------------------------- */
enum { MAX_SCAN = 64 };

static bool is_between(LLVMValueRef value, LLVMValueRef first, LLVMValueRef last) {
    LLVMValueRef i = LLVMGetNextInstruction(first);
    while (i != last && i != value) {
        i = LLVMGetNextInstruction(i);
    }
    return i != last;
}

/* Casts that mean the same on vectors as igv_vector gives them: not those of bfloat. */
static bool is_plain_cast(const struct igv_emit *emit, LLVMValueRef value) {
    if (!LLVMIsACastInst(value)) {
        return false;
    }
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    return opcode == LLVMBitCast ||
           (opcode == LLVMFPExt && LLVMTypeOf(LLVMGetOperand(value, 0)) == emit->f16);
}

/* The call for the other element of the same product, if all it needs is there already, or a cast
 * of what is; `source` is then what is there of the number it adds to. */
static LLVMValueRef other_element(struct igv_emit *emit, LLVMValueRef first, uint64_t which,
                                  LLVMValueRef *source) {
    LLVMValueRef callee = LLVMGetCalledValue(first), i = LLVMGetNextInstruction(first);
    for (unsigned n = 0; i && n < MAX_SCAN; n++, i = LLVMGetNextInstruction(i)) {
        uint64_t number;
        bool same = LLVMIsACallInst(i) && LLVMGetCalledValue(i) == callee &&
                    !igv_is_emitted(emit, i) && igl_constant(igl_operand(i, 5), &number) &&
                    (number & 1) != (which & 1);
        for (unsigned o = 0; same && o < 4; o++) {
            same = igl_operand(i, o) == igl_operand(first, o);
        }
        if (!same) {
            continue;
        }
        *source = igl_operand(i, 4);
        while (is_plain_cast(emit, *source) && is_between(*source, first, i)) {
            *source = LLVMGetOperand(*source, 0);
        }
        return is_between(*source, first, i) ? NULL : i;
    }
    return NULL;
}

/* A vector of `value`, which is `source` under casts. */
static LLVMValueRef cast_vector(struct igv_emit *emit, LLVMValueRef value, LLVMValueRef source,
                                unsigned chunk) {
    if (value == source) {
        return igv_vector(emit, value, chunk);
    }
    LLVMValueRef under = cast_vector(emit, LLVMGetOperand(value, 0), source, chunk);
    return LLVMBuildCast(emit->builder, LLVMGetInstructionOpcode(value), under,
                         igv_vector_type(emit, LLVMTypeOf(value)), "");
}

void igl_matrix_multiply(struct igv_emit *emit, LLVMValueRef call) {
    LLVMValueRef args[3 * IGT_MAX_REGISTERS], added[2], sources[2], other = NULL;
    unsigned chunks = emit->chunks;
    uint64_t which = 0;
    bool known = igl_constant(igl_operand(call, 5), &which);
    if (known) {
        other = other_element(emit, call, which, &sources[~which & 1]);
    }
    added[which & 1] = sources[which & 1] = igl_operand(call, 4);
    added[~which & 1] = other ? igl_operand(other, 4) : known ? NULL : added[0];
    if (!other) {
        sources[~which & 1] = added[~which & 1];
    }
    LLVMValueRef nothing = LLVMGetPoison(igv_vector_type(emit, emit->f32));
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned c = 0; c < chunks; c++) {
            args[i * chunks + c] = igv_vector(emit, igl_operand(call, i), c);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned c = 0; c < chunks; c++) {
            args[(4 + i) * chunks + c] =
                added[i] ? cast_vector(emit, added[i], sources[i], c) : nothing;
        }
    }
    LLVMValueRef tile =
        call_tile(emit, IGI_tile_multiply, tile_type(emit, emit->f32), args, 6 * chunks);
    define_element(emit, call, igl_operand(call, 5), tile);
    if (!other) {
        return;
    }
    define_element(emit, other, igl_operand(other, 5), tile);
    igv_mark_emitted(emit, other);
}

/* ---- tiles in memory ------------------------------------------------------------------------- */
struct place {
    LLVMTypeRef element;
    LLVMValueRef address, stride, transpose; /* uniform scalars */
    bool pairs;                              /* rows lie two by two */
};

static struct place place_of(struct igv_emit *emit, LLVMValueRef call, LLVMTypeRef element) {
    return (struct place){.element = element,
                          .address = igl_uniform(emit, igl_operand(call, 0)),
                          .stride = igl_uniform(emit, igl_operand(call, 1)),
                          .transpose = igl_uniform(emit, igl_operand(call, 2)),
                          .pairs = igi_is_call_of(call, IGI_simdgroup_load_pairs_device_b16) ||
                                   igi_is_call_of(call, IGI_simdgroup_load_pairs_threadgroup_b16)};
}

/* The addresses of the lanes' elements, for a transposition that is only known at run time. */
static LLVMValueRef element_addresses(struct igv_emit *emit, const struct place *place,
                                      unsigned which, unsigned chunk) {
    LLVMBuilderRef builder = emit->builder;
    LLVMValueRef rows[IGL_WIDTH], columns[IGL_WIDTH];
    for (unsigned i = 0; i < emit->lanes; i++) {
        rows[i] = igv_u64(emit, igt_row_of(chunk * emit->lanes + i));
        columns[i] = igv_u64(emit, igt_column_of(chunk * emit->lanes + i, which));
    }
    LLVMValueRef row = LLVMConstVector(rows, emit->lanes);
    LLVMValueRef column = LLVMConstVector(columns, emit->lanes);
    LLVMValueRef major = LLVMBuildSelect(builder, place->transpose, column, row, "");
    LLVMValueRef minor = LLVMBuildSelect(builder, place->transpose, row, column, "");
    if (place->pairs) {
        LLVMValueRef one = igv_splat(emit, igv_u64(emit, 1));
        minor = LLVMBuildAdd(builder, LLVMBuildShl(builder, minor, one, ""),
                             LLVMBuildAnd(builder, major, one, ""), "");
        major = LLVMBuildLShr(builder, major, one, "");
    }
    LLVMValueRef index = LLVMBuildMul(builder, major, igv_splat(emit, place->stride), "");
    index = LLVMBuildAdd(builder, index, minor, "");
    return LLVMBuildGEP2(builder, place->element, place->address, &index, 1, "");
}

static LLVMValueRef alignment_of(struct igv_emit *emit, LLVMTypeRef element) {
    return igv_u32(emit, LLVMABIAlignmentOfType(emit->layout, element));
}

static struct igl_chunks gather_element(struct igv_emit *emit, const struct place *place,
                                        unsigned which) {
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef addresses = element_addresses(emit, place, which, c);
        LLVMTypeRef types[] = {igv_vector_type(emit, place->element), LLVMTypeOf(addresses)};
        LLVMValueRef args[] = {addresses, alignment_of(emit, place->element),
                               igv_splat(emit, LLVMConstInt(emit->i1, 1, false)),
                               LLVMGetPoison(types[0])};
        result.chunk[c] = igv_intrinsic(emit, "llvm.masked.gather", types, 2, args, 4);
    }
    return result;
}

static void scatter_element(struct igv_emit *emit, const struct place *place, LLVMValueRef value,
                            unsigned which) {
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef vector = igv_vector(emit, value, c);
        LLVMValueRef addresses = element_addresses(emit, place, which, c);
        LLVMTypeRef types[] = {LLVMTypeOf(vector), LLVMTypeOf(addresses)};
        LLVMValueRef args[] = {vector, addresses, alignment_of(emit, place->element),
                               igv_splat(emit, LLVMConstInt(emit->i1, 1, false))};
        igv_intrinsic(emit, "llvm.masked.scatter", types, 2, args, 4);
    }
}

void igl_matrix_load(struct igv_emit *emit, LLVMValueRef call) {
    struct place place = place_of(emit, call, LLVMTypeOf(call));
    LLVMValueRef which = igl_operand(call, 3);
    uint64_t number;
    if (LLVMIsAConstantInt(place.transpose)) {
        LLVMValueRef args[] = {place.address, place.stride, place.transpose};
        enum igi_builtin load = place.pairs                  ? IGI_tile_load_pairs
                                : place.element == emit->i8  ? IGI_tile_load_b8
                                : place.element == emit->i16 ? IGI_tile_load_b16
                                                             : IGI_tile_load_b32;
        LLVMValueRef tile = call_tile(emit, load, tile_type(emit, place.element), args, 3);
        define_element(emit, call, which, tile);
        return;
    }
    struct igl_chunks result;
    if (igl_constant(which, &number)) {
        result = gather_element(emit, &place, number & 1);
    } else {
        struct igl_chunks first = gather_element(emit, &place, 0);
        struct igl_chunks second = gather_element(emit, &place, 1);
        result = choose(emit, which, &first, &second);
    }
    igl_define_chunks(emit, call, &result);
}

void igl_matrix_store(struct igv_emit *emit, LLVMValueRef call) {
    LLVMValueRef elements[] = {igl_operand(call, 3), igl_operand(call, 4)};
    struct place place = place_of(emit, call, LLVMTypeOf(elements[0]));
    if (!LLVMIsAConstantInt(place.transpose)) {
        for (unsigned which = 0; which < 2; which++) {
            scatter_element(emit, &place, elements[which], which);
        }
        return;
    }
    LLVMValueRef args[3 + IGT_MAX_REGISTERS] = {place.address, place.stride, place.transpose};
    for (unsigned which = 0; which < 2; which++) {
        for (unsigned c = 0; c < emit->chunks; c++) {
            args[3 + which * emit->chunks + c] = igv_vector(emit, elements[which], c);
        }
    }
    enum igi_builtin store = place.element == emit->i16 ? IGI_tile_store_b16 : IGI_tile_store_b32;
    call_tile(emit, store, LLVMVoidTypeInContext(emit->context), args, 3 + 2 * emit->chunks);
}

/* ---- sums on their way out ------------------------------------------------------------------- */
/* Where products of pairs take small numbers for zeros, the conversion may. Elsewhere an addition
 * rounds, to even in ties; it never carries out of a NaN that has zeros there. */
static LLVMValueRef nearest_bfloat(struct igv_emit *emit, LLVMValueRef sum) {
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef words = igv_vector_type(emit, emit->i16);
    if (emit->request->target->bfloat_pairs) {
        LLVMTypeRef bfloats =
            LLVMVectorType(LLVMBFloatTypeInContext(emit->context), LLVMGetVectorSize(words));
        return LLVMBuildBitCast(b, LLVMBuildFPTrunc(b, sum, bfloats, ""), words, "");
    }
    LLVMValueRef bits = LLVMBuildBitCast(b, sum, igv_vector_type(emit, emit->i32), "");
    LLVMValueRef sixteen = igv_splat(emit, igv_u32(emit, 16));
    LLVMValueRef odd =
        LLVMBuildAnd(b, LLVMBuildLShr(b, bits, sixteen, ""), igv_splat(emit, igv_u32(emit, 1)), "");
    bits = LLVMBuildAdd(b, bits, igv_splat(emit, igv_u32(emit, 0x7fff)), "");
    bits = LLVMBuildLShr(b, LLVMBuildAdd(b, bits, odd, ""), sixteen, "");
    return LLVMBuildTrunc(b, bits, words, "");
}

void igl_bfloat_of_sum(struct igv_emit *emit, LLVMValueRef call) {
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        result.chunk[c] = nearest_bfloat(emit, igv_vector(emit, igl_operand(call, 0), c));
    }
    igl_define_chunks(emit, call, &result);
}
