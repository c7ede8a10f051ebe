/*
 * simdgroup_matrix between the vectoriser and machine code.
 *
 * matrix.c leaves a tile's loads, stores and multiply-adds as calls of tile_load and so on
 * (ir/builtins.def), on the registers that hold the lanes' elements: element 0 of all chunks, then
 * element 1. Once the vectoriser's slots are gone, tiles.c finds the tiles (which registers travel
 * together), and tiles_emit.c gives them rows instead of lanes and makes code of the calls.
 */
#ifndef INGOT_COMPILER_TILES_H
#define INGOT_COMPILER_TILES_H

#include "base/arena.h"
#include "compiler/cpu/lower/lower.h"
#include "compiler/ir/builtins.h"

enum {
    IGT_SIDE = 8,          /* rows and columns of a tile */
    IGT_MAX_REGISTERS = 8, /* of a tile: two per chunk */
    IGT_MAX_MEMBERS = 256, /* multiply-adds that are emitted together */
    IGT_MAX_OPERANDS = 3,
};

/* ---- matrix.c: where the elements are -------------------------------------------------------- */
/* Lane bits b4…b0 hold row 4·b4 + 2·b2 + b1 and columns 4·b3 + 2·b0 + {0, 1}. */
unsigned igt_row_of(unsigned lane);
unsigned igt_column_of(unsigned lane, unsigned which);
/* The register and element of it that hold M[row][column]. */
struct igl_pick igt_pick_at(const struct igv_emit *emit, unsigned row, unsigned column);

/* ---- tiles.c --------------------------------------------------------------------------------- */
enum igt_kind {
    IGT_LANES,     /* registers of which nothing is known */
    IGT_FILL,      /* one number everywhere */
    IGT_PHI,       /* as many phis of one block as there are registers */
    IGT_LOADED,    /* what a load gives */
    IGT_PRODUCT,   /* what a multiply-add gives */
    IGT_OPERATION, /* the same operation on every register of other tiles */
};

struct igt_group;

struct igt_tile {
    enum igt_kind kind;
    LLVMValueRef registers[IGT_MAX_REGISTERS]; /* none of loads and products */
    LLVMTypeRef element;
    LLVMValueRef call;                           /* of a load or product */
    struct igt_tile *operands[IGT_MAX_OPERANDS]; /* A, B, C of a product; of an operation */
    struct igt_tile **incoming;                  /* of a phi */
    struct igt_tile *partner; /* the tile beside this one: rows of both share vectors */
    unsigned half;            /* which half of them is this one's; the first tile keeps `rows` */
    LLVMValueRef rows[IGT_SIDE];
    struct igt_group *group;   /* of a product */
    struct igt_tile *extended; /* of a product: the member of its group that adds to it */
    unsigned searched;         /* the last search that came by (tiles_pairs.c) */
    unsigned steady_for;       /* of a load: the group at which memory still holds the tile */
    LLVMValueRef copy;         /* on the stack, made for the group `copied_for` */
    unsigned copied_for;
    bool in_squares;         /* of a sum: `rows` are pairs of squares instead (tiles_squares.c) */
    unsigned squares_for[2]; /* of bfloat: its vectors as a left and a right side are in memory of
                              * this group … */
    unsigned squares_at[2];  /* … so many bytes behind its beginning */
    LLVMValueRef stored_by;  /* of a product: the store that matrix units have made */
    bool is_kept; /* of a phi: a sum that stays in the matrix units' registers (tiles_units.c) */
    struct igt_tile *hash_next, *next;
};

/* Products of one block that are emitted together, behind the last of them. */
struct igt_group {
    unsigned number; /* from 1 */
    bool emitted;
    bool pairs;        /* of bfloat only, two of k at a time (tiles_pairs.c) */
    bool squares;      /* of bfloat only, four of k at a time (tiles_squares.c) */
    bool bytes;        /* squares of 8-bit integers (tiles_bytes.c) */
    bool halves;       /* of half only, which are not made float before (tiles_halves.c) */
    bool units_of_cpu; /* the same, by matrix units (tiles_units.c); and of a block that is a loop:
                        */
    LLVMValueRef memory;                        /* on the stack, for operands of squares; or NULL */
    LLVMBasicBlockRef before_loop, behind_loop; /* sums stay in registers between these */
    LLVMValueRef after;                         /* the instruction behind the last call */
    LLVMValueRef last;                          /* what was emitted for it last */
    unsigned chain_count, row_count, unit_count;
    struct igt_tile **chains; /* the first product of each; `extended` leads on */
    unsigned *rows;           /* of a chain: which left sides it has … */
    unsigned *columns;        /* … and which right sides */
    unsigned (*units)[2];     /* columns that share vectors; IGT_NO_COLUMN: only one */
    struct igt_group *next;
};
#define IGT_NO_COLUMN  (~0u)
#define IGT_LINE_BYTES 64 /* of a matrix unit's registers, which have 16 lines */

enum { IGT_BUCKETS = 1024, IGT_ROOMS = 64 };

struct igt_pass {
    struct igv_emit emit;
    struct ig_arena arena;
    unsigned registers;
    bool failed; /* memory ran out */
    struct igt_tile *buckets[IGT_BUCKETS];
    struct igt_tile *first_tile, **last_tile;
    struct igt_group *first_group, **last_group;
    unsigned group_count;
    unsigned current_group; /* the number of the one being emitted, or 0 */
    LLVMValueRef operands;  /* the memory of the group being emitted, by another name */
    unsigned searches;
    LLVMValueRef stored_with; /* the store that was emitted with the one before it */
    bool uses_units;
    LLVMValueRef rooms[IGT_ROOMS]; /* on the stack: what matrix units read and write */
};

/* The tile in these registers. NULL only when memory ran out. */
struct igt_tile *igt_tile_of(struct igt_pass *pass, const LLVMValueRef *registers);
struct igt_tile *igt_tile_of_call(struct igt_pass *pass, LLVMValueRef call);
/* The chain in row and column of the group, or NULL. */
struct igt_tile *igt_chain_at(const struct igt_group *group, unsigned row, unsigned column);
/* Does `right` lie beside `left` in memory, row by row? */
bool igt_is_beside(const struct igt_pass *pass, struct igt_tile *left, struct igt_tile *right);
/* Do two loads or two stores of tiles, as they lie, touch memory so many bytes apart? */
bool igt_calls_are_apart(const struct igt_pass *pass, LLVMValueRef left, LLVMValueRef right,
                         uint64_t bytes);
/* A load under casts that change nothing. */
struct igt_tile *igt_loaded(struct igt_tile *tile);
/* May memory that tiles were loaded from be another after it? */
bool igt_may_write(LLVMValueRef instruction);
/* The block that alone leads to this one, or NULL. */
LLVMBasicBlockRef igt_only_predecessor(LLVMBasicBlockRef block);
/* The tile under casts that change nothing. */
struct igt_tile *igt_under_casts(struct igt_tile *tile);

/* ---- tiles_partners.c -------------------------------------------------------------------------
 */
/* The group's columns two by two, where vectors hold the rows of two tiles. */
void igt_pair_columns(struct igt_pass *pass, struct igt_group *group);
/* Phis of partners are partners. */
void igt_find_phi_partners(struct igt_pass *pass);

/* ---- tiles_pairs.c --------------------------------------------------------------------------- */
/* The tile of bfloat, as 16 bits, that this one is as floats; or NULL. */
struct igt_tile *igt_narrow(const struct igt_pass *pass, const struct igt_tile *tile);
/* Are all operands of a group with chains bfloat, of which lanes made nothing? */
bool igt_is_of_bfloat(struct igt_pass *pass, const struct igt_group *group);
bool igt_pair_needs_copy(const struct igt_pass *pass, struct igt_tile *narrow);
/* Elements k and k + 1 of a row, as one of 32 bits. */
LLVMValueRef igt_pair_left(struct igt_pass *pass, const struct igt_tile *left, unsigned row,
                           unsigned k);
/* Rows k and k + 1 of a tile, or of two side by side, interleaved. */
LLVMValueRef igt_pair_right(struct igt_pass *pass, const struct igt_tile *left,
                            const struct igt_tile *right, unsigned k);
LLVMValueRef igt_pair_product(struct igt_pass *pass, LLVMValueRef left, LLVMValueRef right,
                              LLVMValueRef sum);

/* ---- tiles_squares.c ------------------------------------------------------------------------- */
/* Which phis hold sums that squares are added to. */
void igt_find_square_phis(struct igt_pass *pass);
void igt_emit_squares(struct igt_pass *pass, struct igt_group *group);
/* Columns 4 * (slot % 2) to + 3 of rows 2 * (slot / 2) and the next, as two squares. */
LLVMValueRef igt_square_pair(struct igt_pass *pass, struct igt_tile *tile, unsigned slot);
/* A row of a tile that is in squares. */
LLVMValueRef igt_row_of_squares(struct igt_pass *pass, const struct igt_tile *tile, unsigned row);

/* ---- tiles_bytes.c --------------------------------------------------------------------------- */
/* Are all operands of a group with chains loaded bytes? */
bool igt_is_of_bytes(const struct igt_pass *pass, const struct igt_group *group);
void igt_emit_bytes(struct igt_pass *pass, struct igt_group *group);

/* ---- tiles_halves.c -------------------------------------------------------------------------- */
/* Are all operands of a group with chains half? */
bool igt_is_of_half(const struct igt_pass *pass, const struct igt_group *group);
/* Element k of a row of the left side, as often as a vector has elements. */
LLVMValueRef igt_half_left(struct igt_pass *pass, const struct igt_tile *left, unsigned row,
                           unsigned k);
LLVMValueRef igt_half_right(struct igt_pass *pass, const struct igt_tile *right, unsigned k);
LLVMValueRef igt_half_product(struct igt_pass *pass, LLVMValueRef left, LLVMValueRef right,
                              LLVMValueRef sum);

/* ---- tiles_address.c ------------------------------------------------------------------------- */
/* A sum of products of up to two values: an address or a number of bytes. */
enum { IGT_TERMS = 12 };
struct igt_sum {
    struct igt_term {
        LLVMValueRef first, second; /* or NULL; in the order of their addresses */
        int64_t factor;
    } terms[IGT_TERMS];
    unsigned count;
    bool failed; /* too many terms */
};
struct igt_sum igt_sum_of(const struct igt_pass *pass, LLVMValueRef value);
void igt_sum_add(struct igt_sum *sum, const struct igt_sum *other, int64_t factor);
void igt_sum_add_number(struct igt_sum *sum, int64_t number);
bool igt_sum_is_zero(const struct igt_sum *sum);

/* ---- tiles_units.c --------------------------------------------------------------------------- */
/* Can the products of a group with chains and columns be made by the CPU's matrix units? */
bool igt_can_use_units(const struct igt_pass *pass, const struct igt_group *group);
/* Finds loops through which the sums of such groups stay in registers. */
void igt_keep_sums(struct igt_pass *pass);
void igt_emit_on_units(struct igt_pass *pass, struct igt_group *group);

/* ---- tiles_emit.c ---------------------------------------------------------------------------- */
void igt_place_before(struct igt_pass *pass, LLVMValueRef instruction);
LLVMValueRef igt_element_address(struct igt_pass *pass, LLVMValueRef call, LLVMTypeRef element,
                                 unsigned line, unsigned offset);
LLVMValueRef igt_load_line(struct igt_pass *pass, const struct igt_tile *tile, unsigned line,
                           unsigned count);
/* May a row be read from memory at the builder? */
bool igt_is_steady(const struct igt_pass *pass, const struct igt_tile *tile);
bool igt_is_transposed(const struct igt_tile *load);
bool igt_is_paired(const struct igt_tile *load);
/* A row of a tile, or of two side by side. */
LLVMValueRef igt_unit_row(struct igt_pass *pass, struct igt_tile *left, struct igt_tile *right,
                          unsigned row);
/* A tile of one number, as a vector. */
LLVMValueRef igt_filled(struct igt_pass *pass, const struct igt_tile *tile, unsigned width);
/* The tile's operation on vectors of another width. */
LLVMValueRef igt_operate(struct igt_pass *pass, const struct igt_tile *tile, LLVMValueRef *operands,
                         unsigned width);
/* Makes the group of a product that may not be there yet. */
void igt_need_group(struct igt_pass *pass, const struct igt_tile *tile);
void igt_make_phis(struct igt_pass *pass);
void igt_fill_phis(struct igt_pass *pass);
void igt_emit_group(struct igt_pass *pass, struct igt_group *group);
void igt_emit_store(struct igt_pass *pass, LLVMValueRef call);
/* A register of the tile, in the lanes' layout. */
LLVMValueRef igt_lanes(struct igt_pass *pass, struct igt_tile *tile, unsigned index);

#endif
