/*
 * What passes between the lanes of a SIMD-group, as LLVM IR: shuffles, votes, reductions, prefixes
 * and products of tiles.
 *
 * Only active lanes take part. Functions with the suffix ".all" are called where every lane that
 * exists gets to them together: the active lanes are then those of the (perhaps partial)
 * SIMD-group. Those with ".some" are told, by a last argument in the hardware's order of lanes
 * (masks.c). All else is in Metal's order.
 *
 * Reductions have the order of the halving tree that prelude/ingot_builtins.h wants. With all 32
 * lanes that is a butterfly. With fewer, after the step of distance d each active lane j holds the
 * value of tree node j mod d, and what it needs next, the value of node (j xor d/2) mod d, is held
 * by any active lane of that class; an empty class is the identity.
 */
#include <stdio.h>
#include <string.h>

#include "compiler/nvptx/nvptx.h"

#define INLINE "alwaysinline nounwind"
#define LANES  "convergent alwaysinline nounwind"

enum { WIDTH = 32 };

struct scalar {
    const char *type;
    bool floating, is_signed;
};
static const struct scalar f32 = {"float", true, true}, i32 = {"i32", false, true},
                           u32 = {"i32", false, false}, i64 = {"i64", false, true},
                           u64 = {"i64", false, false};

enum operation { SUM, PRODUCT, MIN, MAX, AND, OR, XOR };

/* What the reductions and prefixes of the table of built-ins compute. */
static const struct exchange {
    const struct scalar *scalar; /* NULL: it is another row */
    enum operation operation;
    bool exclusive;
} exchanges[IGI_BUILTIN_COUNT] = {
#define OF(name, operation, type) [IGI_simd_##name##_##type] = {&type, operation, false},
#define OF_NUMBERS(name, operation)                                                                \
    OF(name, operation, f32)                                                                       \
    OF(name, operation, i32)                                                                       \
    OF(name, operation, u32) OF(name, operation, i64) OF(name, operation, u64)
#define OF_BITS(name, operation) OF(name, operation, u32) OF(name, operation, u64)
#define PREFIX(name, operation, type)                                                              \
    [IGI_simd_prefix_inclusive_##name##_##type] = {&type, operation, false},                       \
    [IGI_simd_prefix_exclusive_##name##_##type] = {&type, operation, true},
#define PREFIXES(name, operation)                                                                  \
    PREFIX(name, operation, f32) PREFIX(name, operation, u32) PREFIX(name, operation, u64)
    OF_NUMBERS(sum, SUM) OF_NUMBERS(product, PRODUCT) OF_NUMBERS(min, MIN) OF_NUMBERS(max, MAX)
        OF_BITS(and, AND) OF_BITS(or, OR) OF_BITS(xor, XOR) PREFIXES(sum, SUM)
            PREFIXES(product, PRODUCT)};

static bool is_partial(const struct igp_function *f) {
    return f->name.words & IGI_SOME;
}

/* The last parameter where lanes may be missing: %hm, the hardware's mask for .sync. */
static const char *mask_parameter(const struct igp_function *f) {
    return is_partial(f) ? ", i32 %hm" : "";
}

/* %hm, and %m, the active lanes in Metal's order. */
static void write_masks(const struct igp_function *f, struct ig_text *out) {
    ig_text_puts(out, is_partial(f) ? "  %m = call i32 @nv.metal_mask(i32 %hm)\n"
                                    : "  %hm = add i32 0, -1\n"
                                      "  %m = call i32 @nv.present()\n");
}

/* %full: whether all 32 lanes are active. For ".all", a condition that is the same for the whole
 * threadgroup, so that ptxas sees that the branch on it is uniform. */
static void write_full(const struct igp_function *f, struct ig_text *out) {
    ig_text_puts(out, is_partial(f) ? "  %full = icmp eq i32 %m, -1\n"
                                    : "  %full = call i1 @nv.whole()\n");
}

/* A value of any type from the hardware lane %from, or by a butterfly: nv.KIND.TYPE. */
static void write_moves(struct ig_text *out) {
    static const char *const kinds[] = {"idx", "bfly", "up"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *kind = kinds[i];
        const int clamp = strcmp(kind, "up") ? 31 : 0;
        ig_text_printf(out,
                       "define internal i32 @nv.%s.i32(i32 %%m, i32 %%x, i32 %%by) " LANES " {\n"
                       "  %%v = call i32 @llvm.nvvm.shfl.sync.%s.i32(i32 %%m, i32 %%x, i32 %%by, "
                       "i32 %d)\n"
                       "  ret i32 %%v\n}\n"
                       "define internal float @nv.%s.float(i32 %%m, float %%x, i32 %%by) " LANES
                       " {\n"
                       "  %%v = call float @llvm.nvvm.shfl.sync.%s.f32(i32 %%m, float %%x, i32 "
                       "%%by, i32 %d)\n"
                       "  ret float %%v\n}\n"
                       "define internal i64 @nv.%s.i64(i32 %%m, i64 %%x, i32 %%by) " LANES " {\n"
                       "  %%a = trunc i64 %%x to i32\n"
                       "  %%s = lshr i64 %%x, 32\n"
                       "  %%b = trunc i64 %%s to i32\n"
                       "  %%c = call i32 @nv.%s.i32(i32 %%m, i32 %%a, i32 %%by)\n"
                       "  %%d = call i32 @nv.%s.i32(i32 %%m, i32 %%b, i32 %%by)\n"
                       "  %%cw = zext i32 %%c to i64\n"
                       "  %%dw = zext i32 %%d to i64\n"
                       "  %%ds = shl i64 %%dw, 32\n"
                       "  %%v = or i64 %%cw, %%ds\n"
                       "  ret i64 %%v\n}\n",
                       kind, kind, clamp, kind, kind, clamp, kind, kind, kind);
    }
}

/* ---- shuffles and votes ---- */
static void write_shuffle(const struct igp_function *f, struct ig_text *out) {
    const enum igi_builtin builtin = f->name.builtin;
    const bool half = builtin == IGI_simd_shuffle_b16;
    const char *type = half                              ? "i16"
                       : builtin == IGI_simd_shuffle_f32 ? "float"
                       : builtin == IGI_simd_shuffle_b64 ? "i64"
                                                         : "i32";
    ig_text_printf(out, "define internal %s @%s(%s %%x, i32 %%lane%s) " LANES " {\n", type, f->text,
                   type, mask_parameter(f));
    write_masks(f, out);
    ig_text_printf(out, "  %%l = and i32 %%lane, 31\n"
                        "  %%h = call i32 @nv.hw(i32 %%l)\n");
    if (half) {
        ig_text_puts(out, "  %w = zext i16 %x to i32\n"
                          "  %v = call i32 @nv.idx.i32(i32 %hm, i32 %w, i32 %h)\n"
                          "  %r = trunc i32 %v to i16\n"
                          "  ret i16 %r\n}\n");
    } else {
        ig_text_printf(out,
                       "  %%v = call %s @nv.idx.%s(i32 %%hm, %s %%x, i32 %%h)\n"
                       "  ret %s %%v\n}\n",
                       type, type, type, type);
    }
}

static void write_ballot(const struct igp_function *f, struct ig_text *out) {
    ig_text_printf(out, "define internal i32 @%s(i1 %%p%s) " LANES " {\n", f->text,
                   mask_parameter(f));
    write_masks(f, out);
    ig_text_puts(out, "  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 %hm, i1 %p)\n"
                      "  %r = call i32 @nv.metal_mask(i32 %b)\n"
                      "  ret i32 %r\n}\n");
}

/* ---- operators ---- */
/* "%TO = OP %A, %B". */
static void write_operator(const struct exchange *e, const char *to, const char *a, const char *b,
                           struct ig_text *out) {
    static const struct {
        const char *integer, *floating; /* NULL: a function */
    } plain[] = {[SUM] = {"add", "fadd"},
                 [PRODUCT] = {"mul", "fmul"},
                 [AND] = {"and", NULL},
                 [OR] = {"or", NULL},
                 [XOR] = {"xor", NULL}};
    const struct scalar *s = e->scalar;
    const char *type = s->type;
    const char *opcode = s->floating ? plain[e->operation].floating : plain[e->operation].integer;
    if (opcode) {
        ig_text_printf(out, "  %%%s = %s %s %%%s, %%%s\n", to, opcode, type, a, b);
        return;
    }
    const char *what = e->operation == MIN ? "min" : "max";
    ig_text_printf(out, "  %%%s = call %s @llvm.%s%s%s.%s(%s %%%s, %s %%%s)\n", to, type,
                   s->floating    ? ""
                   : s->is_signed ? "s"
                                  : "u",
                   what, s->floating ? "num" : "", s->floating ? "f32" : type, type, a, type, b);
}

/* One instruction for integers of 32 bits. */
static const char *redux_of(const struct exchange *e) {
    static const char *const names[] = {
        [SUM] = "add", [MIN] = "umin", [MAX] = "umax", [AND] = "and", [OR] = "or", [XOR] = "xor"};
    if (e->scalar != &i32 && e->scalar != &u32) {
        return NULL;
    }
    const char *name = names[e->operation];
    const bool compares = e->operation == MIN || e->operation == MAX;
    return compares && e->scalar->is_signed ? name + 1 : name;
}

/* ---- reductions ---- */
static unsigned hardware_distance(const struct igc_kernel *k, unsigned distance) {
    if (!igp_facts(k)->permuted) {
        return distance;
    }
    return (distance & 17) | (distance & 6) << 1 | (distance & 8) >> 2;
}

static void write_reduction(const struct igc_kernel *k, const struct igp_function *f,
                            struct ig_text *out) {
    const struct exchange *e = &exchanges[f->name.builtin];
    const char *type = e->scalar->type, *redux = redux_of(e);
    ig_text_printf(out, "define internal %s @%s(%s %%x%s) " LANES " {\n", type, f->text, type,
                   mask_parameter(f));
    write_masks(f, out);
    if (redux) {
        /* the operands of LLVM's intrinsic are the value and the mask */
        ig_text_printf(out,
                       "  %%r = call i32 @llvm.nvvm.redux.sync.%s(i32 %%x, i32 %%hm)\n"
                       "  ret i32 %%r\n}\n",
                       redux);
        return;
    }
    write_full(f, out);
    ig_text_puts(out, "  br i1 %full, label %fast, label %slow\n"
                      "fast:\n");
    char from[16] = "x", moved[16], to[16];
    for (unsigned d = WIDTH / 2, n = 0; d; d /= 2, n++) {
        snprintf(moved, sizeof moved, "y%u", n);
        snprintf(to, sizeof to, "f%u", n);
        ig_text_printf(out, "  %%%s = call %s @nv.bfly.%s(i32 -1, %s %%%s, i32 %u)\n", moved, type,
                       type, type, from, hardware_distance(k, d));
        write_operator(e, to, from, moved, out);
        strcpy(from, to);
    }
    ig_text_printf(out,
                   "  ret %s %%%s\n"
                   "slow:\n"
                   "  %%lane = call i32 @nv.lane()\n",
                   type, from);
    static const uint32_t classes[] = {0x1, 0x10001, 0x01010101, 0x11111111, 0x55555555};
    strcpy(from, "x");
    for (unsigned d = WIDTH / 2, n = 0; d; d /= 2, n++) {
        char with[16];
        snprintf(moved, sizeof moved, "s%u", n);
        snprintf(with, sizeof with, "t%u", n);
        snprintf(to, sizeof to, "v%u", n);
        ig_text_printf(out,
                       "  %%a%u = xor i32 %%lane, %u\n"
                       "  %%b%u = and i32 %%a%u, %u\n"
                       "  %%c%u = shl i32 %u, %%b%u\n"
                       "  %%d%u = and i32 %%m, %%c%u\n"
                       "  %%r%u = call i32 @llvm.bitreverse.i32(i32 %%d%u)\n"
                       "  %%e%u = call i32 @llvm.ctlz.i32(i32 %%r%u, i1 false)\n"
                       "  %%g%u = and i32 %%e%u, 31\n"
                       "  %%h%u = call i32 @nv.hw(i32 %%g%u)\n"
                       "  %%%s = call %s @nv.idx.%s(i32 %%hm, %s %%%s, i32 %%h%u)\n",
                       n, d, n, n, 2 * d - 1, n, classes[n], n, n, n, n, n, n, n, n, n, n, n, moved,
                       type, type, type, from, n);
        write_operator(e, with, from, moved, out);
        ig_text_printf(out,
                       "  %%i%u = icmp ne i32 %%d%u, 0\n"
                       "  %%%s = select i1 %%i%u, %s %%%s, %s %%%s\n",
                       n, n, to, n, type, with, type, from);
        strcpy(from, to);
    }
    ig_text_printf(out, "  ret %s %%%s\n}\n", type, from);
}

/* ---- prefixes ---- */
static void write_prefix_end(const struct exchange *e, const char *from, struct ig_text *out) {
    const struct scalar *s = e->scalar;
    const char *type = s->type;
    if (!e->exclusive) {
        ig_text_printf(out, "  ret %s %%%s\n", type, from);
        return;
    }
    const char *identity = e->operation == PRODUCT ? s->floating ? "1.0" : "1"
                           : s->floating           ? "0.0"
                                                   : "0";
    ig_text_printf(out,
                   "  %%%s_last = call %s @nv.idx.%s(i32 %%hm, %s %%%s, i32 %%hp)\n"
                   "  %%%s_out = select i1 %%has, %s %%%s_last, %s %s\n"
                   "  ret %s %%%s_out\n",
                   from, type, type, type, from, from, type, from, type, identity, type, from);
}

/* Lanes add what the lane below has, then what the lane that that one added has, and so on:
 * the distance in active lanes doubles. */
static void write_prefix(const struct igc_kernel *k, const struct igp_function *f,
                         struct ig_text *out) {
    const struct exchange *e = &exchanges[f->name.builtin];
    const char *type = e->scalar->type;
    ig_text_printf(out, "define internal %s @%s(%s %%x%s) " LANES " {\n", type, f->text, type,
                   mask_parameter(f));
    write_masks(f, out);
    ig_text_printf(out, "  %%lane = call i32 @nv.lane()\n"
                        "  %%one = shl i32 1, %%lane\n"
                        "  %%below = sub i32 %%one, 1\n"
                        "  %%lower = and i32 %%m, %%below\n"
                        "  %%zeros = call i32 @llvm.ctlz.i32(i32 %%lower, i1 false)\n"
                        "  %%p0 = sub i32 31, %%zeros\n"
                        "  %%has = icmp ne i32 %%lower, 0\n"
                        "  %%p31 = and i32 %%p0, 31\n"
                        "  %%hp = call i32 @nv.hw(i32 %%p31)\n");
    if (igp_facts(k)->permuted) {
        ig_text_puts(out, "  %full = icmp eq i32 %m, 0\n"); /* never: lanes are not in order */
    } else {
        write_full(f, out);
    }
    ig_text_puts(out, "  br i1 %full, label %fast, label %slow\n"
                      "fast:\n");
    char from[16] = "x", to[16], moved[16], with[16];
    for (unsigned d = 1, n = 0; d < WIDTH; d *= 2, n++) {
        snprintf(moved, sizeof moved, "u%u", n);
        snprintf(with, sizeof with, "w%u", n);
        snprintf(to, sizeof to, "f%u", n);
        ig_text_printf(out, "  %%%s = call %s @nv.up.%s(i32 -1, %s %%%s, i32 %u)\n", moved, type,
                       type, type, from, d);
        write_operator(e, with, moved, from, out);
        ig_text_printf(out,
                       "  %%k%u = icmp uge i32 %%lane, %u\n"
                       "  %%%s = select i1 %%k%u, %s %%%s, %s %%%s\n",
                       n, d, to, n, type, with, type, from);
        strcpy(from, to);
    }
    write_prefix_end(e, from, out);
    ig_text_puts(out, "slow:\n");
    strcpy(from, "x");
    for (unsigned n = 0; n < 5; n++) {
        snprintf(moved, sizeof moved, "s%u", n);
        snprintf(with, sizeof with, "t%u", n);
        snprintf(to, sizeof to, "v%u", n);
        ig_text_printf(out,
                       "  %%a%u = and i32 %%p%u, 31\n"
                       "  %%h%u = call i32 @nv.hw(i32 %%a%u)\n"
                       "  %%%s = call %s @nv.idx.%s(i32 %%hm, %s %%%s, i32 %%h%u)\n"
                       "  %%q%u = call i32 @nv.idx.i32(i32 %%hm, i32 %%p%u, i32 %%h%u)\n",
                       n, n, n, n, moved, type, type, type, from, n, n, n, n);
        write_operator(e, with, moved, from, out);
        ig_text_printf(out,
                       "  %%i%u = icmp sge i32 %%p%u, 0\n"
                       "  %%%s = select i1 %%i%u, %s %%%s, %s %%%s\n"
                       "  %%p%u = select i1 %%i%u, i32 %%q%u, i32 -1\n",
                       n, n, to, n, type, with, type, from, n + 1, n, n);
        strcpy(from, to);
    }
    write_prefix_end(e, from, out);
    ig_text_puts(out, "}\n");
}

/* ---- products of tiles ---- */
/* Returns %x0 … as one struct. */
static void write_struct(unsigned count, struct ig_text *out) {
    struct ig_text type = {0};
    for (unsigned i = 0; i < count; i++) {
        ig_text_puts(&type, i ? ", float" : "float");
    }
    const char *types = ig_text_string(&type);
    for (unsigned i = 0; i < count; i++) {
        ig_text_printf(out, "  %%r%u = insertvalue {%s} ", i, types);
        if (i) {
            ig_text_printf(out, "%%r%u, float %%x%u, %u\n", i - 1, i, i);
        } else {
            ig_text_puts(out, "poison, float %x0, 0\n");
        }
    }
    ig_text_printf(out, "  ret {%s} %%r%u\n}\n", types, count - 1);
    out->failed |= type.failed;
    ig_text_free(&type);
}

/* The elements of A of this lane's row, from the lanes that hold them. */
static void write_row(struct ig_text *out) {
    ig_text_puts(out, "define internal {float, float, float, float, float, float, float, float} "
                      "@nv.row(float %e0, float %e1) " LANES " {\n"
                      "  %lane = call i32 @nv.lane()\n"
                      "  %row = and i32 %lane, 22\n");
    for (unsigned p = 0; p < 4; p++) { /* columns 2 p and 2 p + 1 */
        ig_text_printf(out,
                       "  %%l%u = or i32 %%row, %u\n"
                       "  %%h%u = call i32 @nv.hw(i32 %%l%u)\n"
                       "  %%x%u = call float @nv.idx.float(i32 -1, float %%e0, i32 %%h%u)\n"
                       "  %%x%u = call float @nv.idx.float(i32 -1, float %%e1, i32 %%h%u)\n",
                       p, (p >> 1) << 3 | (p & 1), p, p, 2 * p, p, 2 * p + 1, p);
    }
    write_struct(8, out);
}

/* The elements of B of this lane's two columns, row by row. */
static void write_columns(struct ig_text *out) {
    ig_text_puts(out, "define internal {float, float, float, float, float, float, float, float, "
                      "float, float, float, float, float, float, float, float} "
                      "@nv.columns(float %e0, float %e1) " LANES " {\n"
                      "  %lane = call i32 @nv.lane()\n"
                      "  %column = and i32 %lane, 9\n");
    for (unsigned j = 0; j < 8; j++) {
        ig_text_printf(out,
                       "  %%l%u = or i32 %%column, %u\n"
                       "  %%h%u = call i32 @nv.hw(i32 %%l%u)\n"
                       "  %%x%u = call float @nv.idx.float(i32 -1, float %%e0, i32 %%h%u)\n"
                       "  %%x%u = call float @nv.idx.float(i32 -1, float %%e1, i32 %%h%u)\n",
                       j, (j >> 2) << 4 | ((j >> 1) & 1) << 2 | (j & 1) << 1, j, j, 2 * j, j,
                       2 * j + 1, j);
    }
    write_struct(16, out);
}

/* Two tiles of A, one above the other, times one tile of B, turned, on tensor cores. */
static void write_tensor_product(const char *name, const char *type, struct ig_text *out) {
    ig_text_printf(
        out,
        "define internal {float, float, float, float} @%s(i32 %%a0, i32 %%a1, i32 %%b, float %%c0, "
        "float %%c1, float %%c2, float %%c3) " LANES " {\n"
        "  %%r = call {float, float, float, float} asm "
        "\"mma.sync.aligned.m16n8k8.row.col.f32.%s.%s.f32 {$0,$1,$2,$3}, {$4,$5}, {$6}, "
        "{$7,$8,$9,$10};\", \"=f,=f,=f,=f,r,r,r,f,f,f,f\"(i32 %%a0, i32 %%a1, i32 %%b, float "
        "%%c0, float %%c1, float %%c2, float %%c3) convergent\n"
        "  ret {float, float, float, float} %%r\n}\n",
        name, type, type);
}

/* Two by two tiles of A times two of B, one above the other. */
static void write_long_tensor_product(const char *name, const char *type, struct ig_text *out) {
    ig_text_printf(
        out,
        "define internal {float, float, float, float} @%s(i32 %%a0, i32 %%a1, i32 %%a2, i32 %%a3, "
        "i32 %%b0, i32 %%b1, float %%c0, float %%c1, float %%c2, float %%c3) " LANES " {\n"
        "  %%r = call {float, float, float, float} asm "
        "\"mma.sync.aligned.m16n8k16.row.col.f32.%s.%s.f32 {$0,$1,$2,$3}, {$4,$5,$6,$7}, "
        "{$8,$9}, {$10,$11,$12,$13};\", \"=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f\"(i32 %%a0, i32 %%a1, "
        "i32 %%a2, i32 %%a3, i32 %%b0, i32 %%b1, float %%c0, float %%c1, float %%c2, float %%c3) "
        "convergent\n"
        "  ret {float, float, float, float} %%r\n}\n",
        name, type, type);
}

static const char turn[] =
    "define internal i32 @nv.turn(i32 %b) " LANES " {\n"
    "  %t = call i32 asm \"movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;\", \"=r,r\"(i32 %b) "
    "convergent\n"
    "  ret i32 %t\n}\n";

/* Tiles at %at, %at + %d1 and so on from %base; lanes 8 i to 8 i + 7 say where the rows of tile i
 * are. What depends on the lane does not depend on %at, so that it is computed once. */
static void write_matrix_load(const struct igc_kernel *k, const struct igp_function *f,
                              struct ig_text *out) {
    const char *name = f->text;
    const bool four = f->name.words & IGI_LDMATRIX_X4;
    const bool turned = f->name.words & IGI_LDMATRIX_TRANS;
    const char *words = four ? "{ i32, i32, i32, i32 }" : "{ i32, i32 }";
    ig_text_printf(
        out,
        "define internal %s @%s(ptr addrspace(3) %%base, i32 %%at, i32 %%d1, i32 %%d2, "
        "i32 %%d3, i32 %%stride) " LANES " {\n"
        "  %%l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
        "  %%row = and i32 %%l, 7\n"
        "  %%rows = mul i32 %%row, %%stride\n"
        "  %%l8 = and i32 %%l, 8\n"
        "  %%l16 = and i32 %%l, 16\n"
        "  %%odd = icmp ne i32 %%l8, 0\n"
        "  %%high = icmp ne i32 %%l16, 0\n"
        "  %%low01 = select i1 %%odd, i32 %%d1, i32 0\n"
        "  %%low23 = select i1 %%odd, i32 %%d3, i32 %%d2\n"
        "  %%tile = select i1 %%high, i32 %%low23, i32 %%low01\n"
        "  %%own = add i32 %%rows, %%tile\n"
        "  %%start = ptrtoint ptr addrspace(3) %%base to i32\n"
        "  %%place = add i32 %%start, %%own\n"
        "%s"
        "  %%v = call %s asm sideeffect "
        "\"ldmatrix.sync.aligned.m8n8.%s%s.shared.b16 {%s}, [$%d+$%d];\", "
        "\"%s,r,n,~{memory}\"(%s)\n"
        "  ret %s %%v\n}\n",
        words, name,
        igp_facts(k)->uses_warpgroup_mma ? "  %there = add i32 %place, %at\n" /* see swizzle.c */
                                           "  %shifted = lshr i32 %there, 3\n"
                                           "  %line = and i32 %shifted, 112\n"
                                           "  %permuted = xor i32 %there, %line\n"
                                         : "",
        words, four ? "x4" : "x2", turned ? ".trans" : "", four ? "$0, $1, $2, $3" : "$0, $1",
        four ? 4 : 2, four ? 5 : 3, four ? "=r,=r,=r,=r" : "=r,=r",
        igp_facts(k)->uses_warpgroup_mma ? "i32 %permuted, i32 0" : "i32 %place, i32 %at", words);
}

static void write_product(const struct igp_function *f, struct ig_text *out) {
    const char *type = f->name.words & IGI_MMA_F16 ? "f16" : "bf16";
    if (f->name.words & IGI_MMA_K16) {
        write_long_tensor_product(f->text, type, out);
    } else {
        write_tensor_product(f->text, type, out);
    }
}

bool igp_has_lane_text(enum igi_builtin builtin) {
    const enum igi_family family = igi_facts(builtin)->family;
    return exchanges[builtin].scalar ||
           (family != IGI_FAMILY_REDUCTION && family != IGI_FAMILY_PREFIX);
}

void igp_write_lanes(const struct igc_kernel *kernel, const struct igp_function *f,
                     struct ig_text *out) {
    if (!out->size || !strstr(out->data, "@nv.idx.i32(")) {
        write_moves(out);
    }
    switch (igi_facts(f->name.builtin)->family) {
    case IGI_FAMILY_SHUFFLE:
        write_shuffle(f, out);
        break;
    case IGI_FAMILY_VOTE:
        write_ballot(f, out);
        break;
    case IGI_FAMILY_REDUCTION:
        write_reduction(kernel, f, out);
        break;
    case IGI_FAMILY_PREFIX:
        write_prefix(kernel, f, out);
        break;
    case IGI_FAMILY_NV_MMA:
        write_product(f, out);
        break;
    case IGI_FAMILY_NV_LDMATRIX:
        write_matrix_load(kernel, f, out);
        break;
    default:
        if (f->name.builtin == IGI_nv_row) {
            write_row(out);
        } else if (f->name.builtin == IGI_nv_columns) {
            write_columns(out);
        } else {
            ig_text_puts(out, turn);
        }
        break;
    }
}
