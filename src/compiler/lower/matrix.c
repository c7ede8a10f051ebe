/*
 * simdgroup_matrix: 8×8 tiles that lie over the lanes, two elements in each.
 *
 * Lane bits b4…b0 hold row 4·b4 + 2·b2 + b1 and columns 4·b3 + 2·b0 + {0, 1}: with 16 lanes to
 * a register, four rows each. A multiply-add is, for each k, A's column k and B's row k
 * brought to the lanes by constant shuffles and one fma; LLVM shares the shuffles of a tile
 * that is used more than once. Loads and stores move whole rows of memory.
 *
 * The mask is not looked at: Metal wants all lanes to take part. Elements of 16 bits (half,
 * bfloat) are only moved here.
 */
#include <string.h>

#include "compiler/lower/lower.h"

enum { TILE = 8 };

static unsigned row_of(unsigned lane) {
    return ((lane >> 4) & 1) * 4 + ((lane >> 2) & 1) * 2 + ((lane >> 1) & 1);
}

static unsigned column_of(unsigned lane, unsigned which) {
    return ((lane >> 3) & 1) * 4 + (lane & 1) * 2 + which;
}

/* The lane that holds M[row][column], as its element column % 2. */
static unsigned lane_at(unsigned row, unsigned column) {
    return (row >> 2) << 4 | (column >> 2) << 3 | ((row >> 1) & 1) << 2 | (row & 1) << 1 |
           ((column >> 1) & 1);
}

/* A tile's registers: element 0 of all chunks, then element 1. */
struct tile {
    LLVMValueRef registers[2 * IGL_WIDTH];
};

static struct tile tile_of(struct igv_emit *emit, LLVMValueRef e0, LLVMValueRef e1) {
    struct tile tile = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++) {
        tile.registers[c] = igv_vector(emit, e0, c);
        tile.registers[emit->chunks + c] = igv_vector(emit, e1, c);
    }
    return tile;
}

static struct igl_pick pick_at(const struct igv_emit *emit, unsigned row, unsigned column) {
    unsigned lane = lane_at(row, column);
    return (struct igl_pick){(uint16_t)(column % 2 * emit->chunks + lane / emit->lanes),
                             (uint16_t)(lane % emit->lanes)};
}

/* ---- multiply-add ------------------------------------------------------------------------ */
/*
 * Multiply-adds of one block of code that share tiles are emitted together, k by k: two tiles of
 * A and two of B make four products, whose sums stay in registers while each k's shuffles serve
 * two of them. AVX2 has registers for one product only.
 */
enum { MAX_SIDE = 2, MAX_SCAN = 1024, MAX_PRODUCTS = MAX_SIDE * MAX_SIDE };

struct product {
    LLVMValueRef call[2]; /* by element; NULL: not wanted */
    struct igl_chunks sum[2];
};

struct products {
    LLVMValueRef first;                          /* the call that stands first in the block */
    unsigned side;                               /* tiles of A and of B at most */
    LLVMValueRef a[MAX_SIDE][2], b[MAX_SIDE][2]; /* the tiles' elements */
    struct product product[MAX_SIDE][MAX_SIDE];
    LLVMValueRef seen[MAX_SCAN]; /* what stands after the first call, up to where we look */
    unsigned seen_count;
};

static bool is_multiply(LLVMValueRef instruction, LLVMValueRef callee, uint64_t *which) {
    return LLVMIsACallInst(instruction) && LLVMGetCalledValue(instruction) == callee &&
           igl_constant(igl_operand(instruction, 5), which);
}

static bool is_seen(const struct products *products, LLVMValueRef value) {
    for (unsigned i = 0; i < products->seen_count; i++)
        if (products->seen[i] == value)
            return true;
    return false;
}

/* Which of the tiles it is; a free place is taken when there is one. MAX_SIDE: none. */
static unsigned tile_index(LLVMValueRef tiles[MAX_SIDE][2], unsigned side, LLVMValueRef call,
                           unsigned operand) {
    LLVMValueRef e0 = igl_operand(call, operand), e1 = igl_operand(call, operand + 1);
    for (unsigned i = 0; i < side; i++) {
        if (!tiles[i][0]) {
            tiles[i][0] = e0;
            tiles[i][1] = e1;
        }
        if (tiles[i][0] == e0 && tiles[i][1] == e1)
            return i;
    }
    return MAX_SIDE;
}

/* A call belongs when its tiles are those of the first, or it brings a second one that it
 * multiplies by one already known. */
static void take_call(struct products *products, LLVMValueRef call, unsigned which) {
    LLVMValueRef tiles_a[MAX_SIDE][2], tiles_b[MAX_SIDE][2];
    for (unsigned i = 0; i < 5; i++)
        if (is_seen(products, igl_operand(call, i)))
            return;
    memcpy(tiles_a, products->a, sizeof tiles_a);
    memcpy(tiles_b, products->b, sizeof tiles_b);
    unsigned a = tile_index(tiles_a, products->side, call, 0);
    unsigned b = tile_index(tiles_b, products->side, call, 2);
    bool new_a = a < MAX_SIDE && !products->a[a][0], new_b = b < MAX_SIDE && !products->b[b][0];
    if (a == MAX_SIDE || b == MAX_SIDE || (call != products->first && new_a && new_b) ||
        products->product[a][b].call[which])
        return;
    memcpy(products->a, tiles_a, sizeof tiles_a);
    memcpy(products->b, tiles_b, sizeof tiles_b);
    products->product[a][b].call[which] = call;
}

static void find_products(struct igv_emit *emit, LLVMValueRef first, struct products *products) {
    LLVMValueRef callee = LLVMGetCalledValue(first);
    uint64_t which;
    *products = (struct products){.first = first, .side = emit->lanes >= 2 * TILE ? 2 : 1};
    for (LLVMValueRef i = first; i && products->seen_count < MAX_SCAN;
         i = LLVMGetNextInstruction(i)) {
        if (is_multiply(i, callee, &which) && !igv_is_emitted(emit, i))
            take_call(products, i, which & 1);
        products->seen[products->seen_count++] = i;
    }
}

/* A's column k, or B's row k, brought to the lanes of a chunk. */
static LLVMValueRef operand_at(struct igv_emit *emit, const struct tile *tile, bool column,
                               unsigned k, unsigned which, unsigned chunk) {
    struct igl_pick picks[IGL_WIDTH];
    for (unsigned i = 0; i < emit->lanes; i++) {
        unsigned lane = chunk * emit->lanes + i;
        picks[i] =
            column ? pick_at(emit, row_of(lane), k) : pick_at(emit, k, column_of(lane, which));
    }
    return igl_permute(emit, tile->registers, emit->lanes, picks, emit->lanes);
}

static void add_column(struct igv_emit *emit, struct products *products, const struct tile *a,
                       const struct tile *b, unsigned k) {
    for (unsigned c = 0; c < emit->chunks; c++) {
        LLVMValueRef columns[MAX_SIDE] = {NULL}, rows[MAX_SIDE][2] = {{NULL}};
        for (unsigned n = 0; n < 2 * MAX_PRODUCTS; n++) {
            unsigned i = n / 4, j = n / 2 % 2, which = n % 2;
            struct product *product = &products->product[i][j];
            if (!product->call[which])
                continue;
            if (!columns[i])
                columns[i] = operand_at(emit, &a[i], true, k, 0, c);
            if (!rows[j][which])
                rows[j][which] = operand_at(emit, &b[j], false, k, which, c);
            LLVMValueRef *sum = &product->sum[which].chunk[c];
            LLVMValueRef args[] = {columns[i], rows[j][which], *sum};
            *sum = igl_call(emit, "llvm.fma", LLVMTypeOf(*sum), args, 3);
        }
    }
}

static void multiply_together(struct igv_emit *emit, LLVMValueRef first) {
    struct products products;
    struct tile a[MAX_SIDE] = {{{NULL}}}, b[MAX_SIDE] = {{{NULL}}};
    find_products(emit, first, &products);
    for (unsigned i = 0; i < MAX_SIDE; i++) {
        if (products.a[i][0])
            a[i] = tile_of(emit, products.a[i][0], products.a[i][1]);
        if (products.b[i][0])
            b[i] = tile_of(emit, products.b[i][0], products.b[i][1]);
    }
    for (unsigned n = 0; n < 2 * MAX_PRODUCTS; n++) {
        struct product *product = &products.product[n / 4][n / 2 % 2];
        if (product->call[n % 2])
            product->sum[n % 2] = igl_vectors(emit, igl_operand(product->call[n % 2], 4));
    }
    for (unsigned k = 0; k < TILE; k++)
        add_column(emit, &products, a, b, k);
    for (unsigned n = 0; n < 2 * MAX_PRODUCTS; n++) {
        struct product *product = &products.product[n / 4][n / 2 % 2];
        LLVMValueRef call = product->call[n % 2];
        if (!call)
            continue;
        igl_define_chunks(emit, call, &product->sum[n % 2]);
        igv_mark_emitted(emit, call);
    }
}

static void multiply(struct igv_emit *emit, const struct tile *a, const struct tile *b,
                     unsigned which, struct igl_chunks *sum) {
    for (unsigned k = 0; k < TILE; k++)
        for (unsigned c = 0; c < emit->chunks; c++) {
            LLVMValueRef args[] = {operand_at(emit, a, true, k, 0, c),
                                   operand_at(emit, b, false, k, which, c), sum->chunk[c]};
            sum->chunk[c] = igl_call(emit, "llvm.fma", LLVMTypeOf(sum->chunk[c]), args, 3);
        }
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

void igl_matrix_multiply(struct igv_emit *emit, LLVMValueRef call) {
    uint64_t which;
    if (igl_constant(igl_operand(call, 5), &which)) {
        multiply_together(emit, call);
        return;
    }
    struct tile a = tile_of(emit, igl_operand(call, 0), igl_operand(call, 1));
    struct tile b = tile_of(emit, igl_operand(call, 2), igl_operand(call, 3));
    struct igl_chunks first = igl_vectors(emit, igl_operand(call, 4)), second = first;
    multiply(emit, &a, &b, 0, &first);
    multiply(emit, &a, &b, 1, &second);
    struct igl_chunks result = choose(emit, igl_operand(call, 5), &first, &second);
    igl_define_chunks(emit, call, &result);
}

/* ---- tiles in memory --------------------------------------------------------------------- */
struct place {
    LLVMTypeRef element;
    LLVMValueRef address, stride; /* of uniform scalars */
    bool known, transpose;        /* known at compile time? */
    LLVMValueRef transpose_flag;  /* if not: an i1 */
    LLVMValueRef rows[TILE];      /* of memory, once loaded */
};

static struct place place_of(struct igv_emit *emit, LLVMValueRef call, LLVMTypeRef element) {
    struct place place = {.element = element};
    uint64_t transpose;
    place.address = igl_uniform(emit, igl_operand(call, 0));
    place.stride = igl_uniform(emit, igl_operand(call, 1));
    place.known = igl_constant(igl_operand(call, 2), &transpose);
    if (place.known)
        place.transpose = transpose != 0;
    else
        place.transpose_flag = igl_uniform(emit, igl_operand(call, 2));
    return place;
}

static LLVMValueRef row_address(struct igv_emit *emit, const struct place *place, unsigned row) {
    LLVMValueRef index = row == 0
                             ? igv_u64(emit, 0)
                             : LLVMBuildMul(emit->builder, place->stride, igv_u64(emit, row), "");
    return LLVMBuildGEP2(emit->builder, place->element, place->address, &index, 1, "");
}

static LLVMValueRef memory_row(struct igv_emit *emit, struct place *place, unsigned row) {
    if (!place->rows[row]) {
        place->rows[row] = LLVMBuildLoad2(emit->builder, LLVMVectorType(place->element, TILE),
                                          row_address(emit, place, row), "");
        LLVMSetAlignment(place->rows[row], LLVMABIAlignmentOfType(emit->layout, place->element));
    }
    return place->rows[row];
}

/* The addresses of the lanes' elements, for a transposition that is only known at run time. */
static LLVMValueRef element_addresses(struct igv_emit *emit, const struct place *place,
                                      unsigned which, unsigned chunk) {
    LLVMBuilderRef builder = emit->builder;
    LLVMValueRef rows[IGL_WIDTH], columns[IGL_WIDTH];
    for (unsigned i = 0; i < emit->lanes; i++) {
        rows[i] = igv_u64(emit, row_of(chunk * emit->lanes + i));
        columns[i] = igv_u64(emit, column_of(chunk * emit->lanes + i, which));
    }
    LLVMValueRef row = LLVMConstVector(rows, emit->lanes);
    LLVMValueRef column = LLVMConstVector(columns, emit->lanes);
    LLVMValueRef major = LLVMBuildSelect(builder, place->transpose_flag, column, row, "");
    LLVMValueRef minor = LLVMBuildSelect(builder, place->transpose_flag, row, column, "");
    LLVMValueRef index = LLVMBuildMul(builder, major, igv_splat(emit, place->stride), "");
    index = LLVMBuildAdd(builder, index, minor, "");
    return LLVMBuildGEP2(builder, place->element, place->address, &index, 1, "");
}

static LLVMValueRef gather_element(struct igv_emit *emit, struct place *place, unsigned which,
                                   unsigned chunk) {
    LLVMValueRef addresses = element_addresses(emit, place, which, chunk);
    LLVMTypeRef types[] = {igv_vector_type(emit, place->element), LLVMTypeOf(addresses)};
    LLVMValueRef args[] = {
        addresses, igv_u32(emit, LLVMABIAlignmentOfType(emit->layout, place->element)),
        igv_splat(emit, LLVMConstInt(emit->i1, 1, false)), LLVMGetPoison(types[0])};
    return igv_intrinsic(emit, "llvm.masked.gather", types, 2, args, 4);
}

static void scatter_element(struct igv_emit *emit, struct place *place, LLVMValueRef value,
                            unsigned which, unsigned chunk) {
    LLVMValueRef addresses = element_addresses(emit, place, which, chunk);
    LLVMTypeRef types[] = {LLVMTypeOf(value), LLVMTypeOf(addresses)};
    LLVMValueRef args[] = {value, addresses,
                           igv_u32(emit, LLVMABIAlignmentOfType(emit->layout, place->element)),
                           igv_splat(emit, LLVMConstInt(emit->i1, 1, false))};
    igv_intrinsic(emit, "llvm.masked.scatter", types, 2, args, 4);
}

/* ---- loads ------------------------------------------------------------------------------- */
/* A chunk's elements lie in two or four rows of memory. Wide registers take two rows each. */
static LLVMValueRef load_element(struct igv_emit *emit, struct place *place, unsigned which,
                                 unsigned chunk) {
    if (!place->known)
        return gather_element(emit, place, which, chunk);
    unsigned per_source = emit->lanes >= 2 * TILE ? 2 : 1;
    unsigned needed[TILE], needed_count = 0;
    struct igl_pick picks[IGL_WIDTH];
    for (unsigned i = 0; i < emit->lanes; i++) {
        unsigned row = row_of(chunk * emit->lanes + i);
        unsigned column = column_of(chunk * emit->lanes + i, which);
        unsigned memory_line = place->transpose ? column : row;
        unsigned offset = place->transpose ? row : column;
        unsigned n = 0;
        while (n < needed_count && needed[n] != memory_line)
            n++;
        if (n == needed_count)
            needed[needed_count++] = memory_line;
        picks[i] = (struct igl_pick){(uint16_t)(n / per_source),
                                     (uint16_t)(n % per_source * TILE + offset)};
    }
    LLVMValueRef sources[TILE];
    for (unsigned n = 0; n < needed_count; n += per_source) {
        LLVMValueRef row = memory_row(emit, place, needed[n]);
        if (per_source == 2)
            row = igl_join(emit, row,
                           n + 1 < needed_count ? memory_row(emit, place, needed[n + 1]) : row);
        sources[n / per_source] = row;
    }
    return igl_permute(emit, sources, per_source * TILE, picks, emit->lanes);
}

static struct igl_chunks load_tile(struct igv_emit *emit, struct place *place, unsigned which) {
    struct igl_chunks result = {{NULL}};
    for (unsigned c = 0; c < emit->chunks; c++)
        result.chunk[c] = load_element(emit, place, which, c);
    return result;
}

void igl_matrix_load(struct igv_emit *emit, LLVMValueRef call) {
    struct place place = place_of(emit, call, LLVMTypeOf(call));
    uint64_t which;
    struct igl_chunks result;
    if (igl_constant(igl_operand(call, 3), &which)) {
        result = load_tile(emit, &place, which & 1);
    } else {
        struct igl_chunks first = load_tile(emit, &place, 0);
        struct igl_chunks second = load_tile(emit, &place, 1);
        result = choose(emit, igl_operand(call, 3), &first, &second);
    }
    igl_define_chunks(emit, call, &result);
}

/* ---- stores ------------------------------------------------------------------------------ */
static void store_row(struct igv_emit *emit, const struct place *place, unsigned row,
                      LLVMValueRef value) {
    LLVMValueRef store = LLVMBuildStore(emit->builder, value, row_address(emit, place, row));
    LLVMSetAlignment(store, LLVMABIAlignmentOfType(emit->layout, place->element));
}

void igl_matrix_store(struct igv_emit *emit, LLVMValueRef call) {
    LLVMValueRef e0 = igl_operand(call, 3), e1 = igl_operand(call, 4);
    struct place place = place_of(emit, call, LLVMTypeOf(e0));
    struct tile tile = tile_of(emit, e0, e1);
    if (!place.known) {
        for (unsigned r = 0; r < 2 * emit->chunks; r++)
            scatter_element(emit, &place, tile.registers[r], r / emit->chunks, r % emit->chunks);
        return;
    }
    /* rows of memory in an order that keeps those from the same registers together */
    static const uint8_t plain[TILE] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const uint8_t transposed[TILE] = {0, 2, 4, 6, 1, 3, 5, 7};
    const uint8_t *order = place.transpose ? transposed : plain;
    unsigned together = emit->lanes >= 2 * TILE ? 2 : 1;
    for (unsigned n = 0; n < TILE; n += together) {
        struct igl_pick picks[2 * TILE];
        for (unsigned i = 0; i < together * TILE; i++) {
            unsigned line = order[n + i / TILE], offset = i % TILE;
            picks[i] = place.transpose ? pick_at(emit, offset, line) : pick_at(emit, line, offset);
        }
        LLVMValueRef rows = igl_permute(emit, tile.registers, emit->lanes, picks, together * TILE);
        for (unsigned t = 0; t < together; t++)
            store_row(emit, &place, order[n + t], igl_part(emit, rows, t * TILE, TILE));
    }
}
