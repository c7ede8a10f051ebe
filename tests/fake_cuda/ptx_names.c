/* The names of types and instructions, such as add.rn.f32: see ptx.h. */
#include <stdio.h>
#include <string.h>

#include "ptx.h"

/* ---- types ---- */

bool ptx_type_of(const char *text, struct ptx_type *type) {
    static const struct {
        const char *name;
        struct ptx_type type;
    } types[] = {
        {"b8", {PTX_BITS, 8, 0}},        {"b16", {PTX_BITS, 16, 0}},
        {"b32", {PTX_BITS, 32, 0}},      {"b64", {PTX_BITS, 64, 0}},
        {"b128", {PTX_BITS, 128, 0}},    {"u8", {PTX_UNSIGNED, 8, 0}},
        {"u16", {PTX_UNSIGNED, 16, 0}},  {"u32", {PTX_UNSIGNED, 32, 0}},
        {"u64", {PTX_UNSIGNED, 64, 0}},  {"s8", {PTX_SIGNED, 8, 0}},
        {"s16", {PTX_SIGNED, 16, 0}},    {"s32", {PTX_SIGNED, 32, 0}},
        {"s64", {PTX_SIGNED, 64, 0}},    {"f16", {PTX_FLOAT, 16, 0}},
        {"f32", {PTX_FLOAT, 32, 0}},     {"f64", {PTX_FLOAT, 64, 0}},
        {"bf16", {PTX_BFLOAT, 16, 0}},   {"f16x2", {PTX_FLOAT, 16, 1}},
        {"bf16x2", {PTX_BFLOAT, 16, 1}}, {"pred", {PTX_PREDICATE, 1, 0}},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, text) == 0) {
            *type = types[i].type;
            return true;
        }
    }
    return false;
}

/* ---- the pieces of an instruction's name ---- */

#define MEANS(text, member, value)                                                                 \
    if (strcmp(piece, text) == 0) {                                                                \
        (member) = (value);                                                                        \
        return true;                                                                               \
    }

static bool compare_piece(const char *piece, struct ptx_instruction *to) {
    static const char *const names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                        "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        MEANS(names[i], to->compare, (uint8_t)i);
    }
    MEANS("lo", to->compare, PTX_LT);
    MEANS("ls", to->compare, PTX_LE);
    MEANS("hi", to->compare, PTX_GT);
    MEANS("hs", to->compare, PTX_GE);
    MEANS("and", to->combine, PTX_WITH_AND);
    MEANS("or", to->combine, PTX_WITH_OR);
    MEANS("xor", to->combine, PTX_WITH_XOR);
    return false;
}

static bool operation_piece(const char *piece, struct ptx_instruction *to) {
    MEANS("add", to->operation, PTX_OP_ADD);
    MEANS("min", to->operation, PTX_OP_MIN);
    MEANS("max", to->operation, PTX_OP_MAX);
    MEANS("and", to->operation, PTX_OP_AND);
    MEANS("or", to->operation, PTX_OP_OR);
    MEANS("xor", to->operation, PTX_OP_XOR);
    MEANS("exch", to->operation, PTX_OP_EXCHANGE);
    MEANS("cas", to->operation, PTX_OP_CAS);
    MEANS("inc", to->operation, PTX_OP_INC);
    MEANS("dec", to->operation, PTX_OP_DEC);
    MEANS("all", to->operation, PTX_OP_ALL);
    MEANS("any", to->operation, PTX_OP_ANY);
    MEANS("uni", to->operation, PTX_OP_UNI);
    MEANS("ballot", to->operation, PTX_OP_BALLOT);
    MEANS("up", to->operation, PTX_OP_UP);
    MEANS("down", to->operation, PTX_OP_DOWN);
    MEANS("bfly", to->operation, PTX_OP_BFLY);
    MEANS("idx", to->operation, PTX_OP_IDX);
    MEANS("commit_group", to->operation, PTX_OP_COMMIT);
    MEANS("wait_group", to->operation, PTX_OP_WAIT);
    MEANS("wait_all", to->operation, PTX_OP_WAIT_ALL);
    MEANS("async", to->operation, PTX_OP_COPY);
    return false;
}

static bool rounding_piece(const char *piece, struct ptx_instruction *to) {
    static const char *const names[] = {"rn", "rz", "rm", "rp", "rna"};
    size_t length = strlen(piece);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        MEANS(names[i], to->rounding, (uint8_t)i);
        if (length == 3 && piece[2] == 'i' && strncmp(piece, names[i], 2) == 0) {
            to->rounding = (uint8_t)i;
            return to->integer_rounding = true;
        }
    }
    return false;
}

static bool space_piece(const char *piece, struct ptx_instruction *to) {
    if (strncmp(piece, "shared", 6) == 0) {
        piece = "shared";
    }
    MEANS("global", to->space, PTX_GLOBAL);
    MEANS("shared", to->space, PTX_SHARED);
    MEANS("local", to->space, PTX_LOCAL);
    MEANS("param", to->space, PTX_PARAM);
    MEANS("const", to->space, PTX_CONST);
    return false;
}

/* Of the barriers with a result, that which counts. */
static bool barrier_piece(const char *piece, struct ptx_instruction *to) {
    MEANS("popc", to->operation, PTX_OP_COUNT);
    return strcmp(piece, "red") == 0;
}

static bool grid_piece(const char *piece, struct ptx_instruction *to) {
    MEANS("wait", to->operation, PTX_OP_WAIT_GRIDS);
    MEANS("launch_dependents", to->operation, PTX_OP_LET_START);
    return false;
}

static bool other_piece(const char *piece, struct ptx_instruction *to) {
    MEANS("ftz", to->ftz, true);
    MEANS("sat", to->saturate, true);
    MEANS("approx", to->approximate, true);
    MEANS("full", to->approximate, true);
    MEANS("to", to->to_space, true);
    MEANS("trans", to->transposed, true);
    MEANS("clamp", to->clamp, true);
    MEANS("v2", to->vector, 2);
    MEANS("v4", to->vector, 4);
    MEANS("x1", to->matrices, 1);
    MEANS("x2", to->matrices, 2);
    MEANS("x4", to->matrices, 4);
    MEANS("m16n8k8", to->depth, 8);
    MEANS("m16n8k16", to->depth, 16);
    if (sscanf(piece, "m64n%hu", &to->columns) == 1 && strstr(piece, "k16")) {
        to->depth = 16;
        return true;
    }
    MEANS("lo", to->wide, PTX_LOW);
    MEANS("hi", to->wide, PTX_HIGH);
    MEANS("wide", to->wide, PTX_WIDE);
    MEANS("l", to->wide, PTX_LOW);
    MEANS("r", to->wide, PTX_HIGH);
    return false;
}

/* Pieces that change nothing here: order and scope of memory accesses (the machine has one order),
 * caches, and what is said of the code. */
static bool harmless_piece(const char *piece) {
    static const char *const names[] = {"sync",
                                        "aligned",
                                        "uni",
                                        "volatile",
                                        "relaxed",
                                        "acquire",
                                        "release",
                                        "acq_rel",
                                        "sc",
                                        "cta",
                                        "gpu",
                                        "gl",
                                        "sys",
                                        "weak",
                                        "nc",
                                        "ca",
                                        "cg",
                                        "cs",
                                        "lu",
                                        "wt",
                                        "wb",
                                        "warp",
                                        "row",
                                        "col",
                                        "m8n8",
                                        "no_allocate",
                                        "evict_first",
                                        "evict_last",
                                        "L1::no_allocate",
                                        "L1::evict_first",
                                        "L1::evict_last",
                                        "L2::128B",
                                        "L2::256B",
                                        "L2::64B",
                                        "L2::evict_first",
                                        "L2::evict_last",
                                        "L2::cache_hint",
                                        "fractional",
                                        "mmio",
                                        "noftz",
                                        "proxy",
                                        "async",
                                        "mma_async",
                                        "fence",
                                        "wait"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], piece) == 0) {
            return true;
        }
    }
    return false;
}

/* False for a piece that is not known. */
static bool piece_of(const char *piece, struct ptx_instruction *to) {
    struct ptx_type type;
    int opcode = to->opcode;
    if (ptx_type_of(piece, &type)) {
        if (!to->type.bits) {
            to->type = type;
        } else if (!to->from.bits) {
            to->from = type;
        }
        return true;
    }
    if ((opcode == PTX_SETP || opcode == PTX_SET) && compare_piece(piece, to)) {
        return true;
    }
    if ((opcode == PTX_ATOM || opcode == PTX_RED || opcode == PTX_REDUX || opcode == PTX_VOTE ||
         opcode == PTX_SHFL || opcode == PTX_CP || opcode == PTX_MATCH || opcode == PTX_WGMMA) &&
        operation_piece(piece, to)) {
        return true;
    }
    if ((opcode == PTX_BAR || opcode == PTX_BARRIER) && barrier_piece(piece, to)) {
        return true;
    }
    if (opcode == PTX_GRIDDEPCONTROL) {
        return grid_piece(piece, to);
    }
    return rounding_piece(piece, to) || space_piece(piece, to) || other_piece(piece, to) ||
           harmless_piece(piece);
}

const char *ptx_read_name(char *text, struct ptx_instruction *to) {
    static const char *const names[] = {
#define X(enumerator, name) name,
#include "ptx_opcodes.def"
#undef X
    };
    snprintf(to->name, sizeof to->name, "%s", text);
    to->opcode = -1;
    to->vector = 1;
    char *rest = NULL, *piece = strtok_r(text, ".", &rest);
    for (int i = 0; piece && i < PTX_OPCODE_COUNT; i++) {
        if (strcmp(names[i], piece) == 0) {
            to->opcode = i;
        }
    }
    if (to->opcode < 0) {
        return to->name;
    }
    while ((piece = strtok_r(NULL, ".", &rest)) != NULL) {
        if (!piece_of(piece, to)) {
            return piece;
        }
    }
    return NULL;
}
