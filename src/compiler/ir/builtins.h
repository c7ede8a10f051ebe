/*
 * Built-ins and LLVM's intrinsics by number. What is known of them stands in builtins.def and
 * intrinsics.def; no other file compares their names.
 *
 * A callee is resolved once: a thread remembers what it has found out about a function, and looks
 * again only when the function of that address has another name, so nothing goes stale when
 * functions are renamed or deleted.
 */
#ifndef INGOT_COMPILER_IR_BUILTINS_H
#define INGOT_COMPILER_IR_BUILTINS_H

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- built-ins: the columns of builtins.def, where they are explained ---- */
enum igi_builtin {
    IGI_NO_BUILTIN,
#define BUILTIN(id, ...) IGI_##id,
#define MARKER(id, ...)  IGI_##id,
#include "compiler/ir/builtins.def"
    IGI_BUILTIN_COUNT
};

enum igi_family {
    IGI_NO_FAMILY,
    IGI_FAMILY_REFLECTION,
    IGI_FAMILY_ARGUMENT,
    IGI_FAMILY_POSITION,
    IGI_FAMILY_SYNCHRONISATION,
    IGI_FAMILY_SHUFFLE,
    IGI_FAMILY_VOTE,
    IGI_FAMILY_REDUCTION,
    IGI_FAMILY_PREFIX,
    IGI_FAMILY_MATRIX_PRODUCT,
    IGI_FAMILY_LOAD_DEVICE, /* of a tile */
    IGI_FAMILY_LOAD_THREADGROUP,
    IGI_FAMILY_STORE_DEVICE,
    IGI_FAMILY_STORE_THREADGROUP,
    IGI_FAMILY_ROUNDING,
    IGI_FAMILY_CONSTANT,
    IGI_FAMILY_CACHE,
    IGI_FAMILY_LOG,
    IGI_FAMILY_MARK,
    IGI_FAMILY_KEPT,
    IGI_FAMILY_SANITIZE,
    IGI_FAMILY_TILE_LOAD, /* the CPU's, on registers */
    IGI_FAMILY_TILE_MULTIPLY,
    IGI_FAMILY_TILE_STORE,
    IGI_FAMILY_NV_LANES,
    IGI_FAMILY_NV_MMA,
    IGI_FAMILY_NV_LDMATRIX,
    IGI_FAMILY_NV_WGMMA,
    IGI_FAMILY_NV_WGMMA_ORDER,
    IGI_FAMILY_NV_ARGUMENT,
    IGI_FAMILY_NV_ENTRY_VALUE,
    IGI_FAMILY_NV_STOP,
};

enum igi_memory {
    IGI_MEMORY_NONE,
    IGI_MEMORY_READS,
    IGI_MEMORY_WRITES,
    IGI_MEMORY_UNSEEN,
    IGI_MEMORY_TELLS,
    IGI_MEMORY_ORDERS,
    IGI_MEMORY_ANY,
};

enum igi_lanes { IGI_LANES_OWN, IGI_LANES_WHOLE, IGI_LANES_OTHERS, IGI_LANES_ACTIVE };

enum igi_result {
    IGI_RESULT_NOTHING,
    IGI_RESULT_GROUP,
    IGI_RESULT_SIMDGROUP,
    IGI_RESULT_SHUFFLED,
    IGI_RESULT_LANE,
    IGI_RESULT_THREAD,
    IGI_RESULT_OPERAND,
    IGI_RESULT_VARYING,
};

enum igi_flags { IGI_PURE = 1, IGI_GRID = 2, IGI_BARRIER = 4, IGI_HINT = 8 };

enum igi_handled {
    IGI_HANDLED_BOTH,
    IGI_HANDLED_CPU,
    IGI_HANDLED_NVPTX,
    IGI_HANDLED_READ,
    IGI_HANDLED_FOLDED,
    IGI_HANDLED_PASSES,
};

struct igi_facts {
    const char *name, *suffix, *signature;
    enum igi_family family;
    enum igi_memory memory;
    enum igi_lanes lanes;
    enum igi_result result;
    uint64_t maximum;
    unsigned flags; /* enum igi_flags */
    enum igi_handled handled;
    bool in_prelude;
};

/* A function's name, taken apart: the row, which words of its suffix there are (bit i for word i),
 * and its numbers. */
enum { IGI_MOST_NUMBERS = 2 };
struct igi_name {
    enum igi_builtin builtin;
    unsigned words;
    uint32_t numbers[IGI_MOST_NUMBERS];
};

static inline struct igi_name igi_plain(enum igi_builtin builtin) {
    return (struct igi_name){.builtin = builtin};
}
static inline struct igi_name igi_with_words(enum igi_builtin builtin, unsigned words) {
    return (struct igi_name){.builtin = builtin, .words = words};
}

/* The words of suffixes. */
enum igi_lane_words { IGI_ALL = 1, IGI_SOME = 2 };
enum igi_mma_words { IGI_MMA_K16 = 1, IGI_MMA_F16 = 2, IGI_MMA_BF16 = 4 };
enum igi_ldmatrix_words { IGI_LDMATRIX_X2 = 1, IGI_LDMATRIX_X4 = 2, IGI_LDMATRIX_TRANS = 4 };
enum igi_wgmma_words {
    IGI_WGMMA_FENCED = 1,
    IGI_WGMMA_F16 = 2,
    IGI_WGMMA_BF16 = 4,
    IGI_WGMMA_REGISTERS = 8,
    IGI_WGMMA_M = 16,
    IGI_WGMMA_N = 32,
};
enum igi_wgmma_wait_words { IGI_WGMMA_WAIT_LATE = 1 };

/* What is known of a row; of IGI_NO_BUILTIN: that it may do anything. */
const struct igi_facts *igi_facts(enum igi_builtin builtin);

/* The function that a call calls by name; NULL for anything else. */
LLVMValueRef igi_callee(LLVMValueRef value);
/* Its name, "" where there is none: for messages. */
const char *igi_callee_text(LLVMValueRef value);
/* The built-in that a value is a call of, or that a function is. */
enum igi_builtin igi_builtin_of(LLVMValueRef call);
enum igi_builtin igi_builtin_of_function(LLVMValueRef function);
/* The same with the suffix of its name. */
struct igi_name igi_name_of(LLVMValueRef call);
struct igi_name igi_name_of_function(LLVMValueRef function);
/* What is known of a call's callee; never NULL. */
const struct igi_facts *igi_facts_of(LLVMValueRef call);
static inline bool igi_is_call_of(LLVMValueRef call, enum igi_builtin builtin) {
    return igi_builtin_of(call) == builtin;
}
static inline enum igi_family igi_family_of(LLVMValueRef call) {
    return igi_facts_of(call)->family;
}
/* Takes part in an exchange between lanes, so that a mask of lanes belongs to it. */
static inline bool igi_uses_lanes(const struct igi_facts *facts) {
    return facts->lanes >= IGI_LANES_OTHERS;
}

/* A name that is no function's: the row IGI_NO_BUILTIN if it is none of the table. */
struct igi_name igi_name_read(const char *text, size_t length);
enum { IGI_MOST_LETTERS = 64 };
/* The name as text, and its length; 0 if the row has no such words or numbers. */
size_t igi_name_write(struct igi_name name, char text[IGI_MOST_LETTERS]);
/* Is the name one that only the compiler and its library give? LLVM's are not among them. */
bool igi_is_library_name(const char *text);
/* Is it one of LLVM's own, be it a function or a table of the module? */
bool igi_is_llvm_name(const char *text);
/* Is it one that no program can define: the library's, LLVM's, Apple's compiler's? */
bool igi_is_reserved_name(const char *text);

/* The type that a row's signature says, or NULL if it has none. */
LLVMTypeRef igi_builtin_type(LLVMContextRef context, enum igi_builtin builtin);
/* The module's function of that name; declared if it is not there, with the type of the signature.
 * NULL where the row has none. */
LLVMValueRef igi_declare(LLVMModuleRef module, enum igi_builtin builtin);
/* The module's function of that row and without a suffix, or of that name, or NULL. */
LLVMValueRef igi_find(LLVMModuleRef module, enum igi_builtin builtin);
LLVMValueRef igi_find_named(LLVMModuleRef module, struct igi_name name);
/* Adds an attribute without a value, or with one, to a function. */
void igi_add_attribute(LLVMValueRef function, const char *name, uint64_t value);
/* What LLVM's attribute `memory` says of this: two bits (1 reads, 2 writes) per kind of memory, the
 * lowest pair for what arguments point to, the next for what no code of the module can see. False:
 * it says nothing. */
bool igi_memory_attribute(enum igi_memory memory, uint64_t *value);

/* The row that Apple's compiler calls by this name (air_spellings.def). */
enum igi_builtin igi_builtin_of_air_name(const char *name);

/* ---- functions of the prelude's maths library that a back end may replace ---- */
enum igi_maths {
    IGI_NO_MATHS,
    IGI_MATHS_EXP_FAST,
    IGI_MATHS_EXP2_FAST,
    IGI_MATHS_RSQRT_FAST,
    IGI_MATHS_DIVIDE_FAST,
};
/* The definition of one of them, on floats. */
enum igi_maths igi_maths_of_function(LLVMValueRef function);

/* ---- LLVM's intrinsics ---- */
enum igi_intrinsic {
    IGI_NO_INTRINSIC,
#define INTRINSIC(id, ...) IGI_LLVM_##id,
#include "compiler/ir/intrinsics.def"
    IGI_INTRINSIC_COUNT
};

/* The columns of intrinsics.def. */
enum igi_intrinsic_flags {
    IGI_I_INFORMS = 1,
    IGI_I_NO_RESULT = 2,
    IGI_I_OPERAND = 4,
    IGI_I_ZERO = 8,
    IGI_I_COPIES = 16,
    IGI_I_MASKED = 32,
    IGI_I_TRAPS = 64,
    IGI_I_OVERFLOW = 128,
    IGI_I_REDUCES = 256,
    IGI_I_ARITHMETIC = 512,
    IGI_I_HALF_BY_FLOAT = 1024,
    IGI_I_BY_OPERAND_TYPE = 2048,
    IGI_I_BY_RESULT_AND_OPERAND = 4096,
    IGI_I_BY_RESULT_AND_SECOND = 8192,
    IGI_I_SECOND_IMMEDIATE = 16384,
};

/* Does the call call an intrinsic, whichever? */
bool igi_is_intrinsic(LLVMValueRef call);
/* The row of the table, or IGI_NO_INTRINSIC for others and for anything else. */
enum igi_intrinsic igi_intrinsic_of(LLVMValueRef call);
unsigned igi_intrinsic_flags(enum igi_intrinsic intrinsic);
static inline unsigned igi_intrinsic_flags_of(LLVMValueRef call) {
    return igi_intrinsic_flags(igi_intrinsic_of(call));
}
/* LLVM's own number of it. */
unsigned igi_intrinsic_id(enum igi_intrinsic intrinsic);
/* The intrinsic, declared for these types. */
LLVMValueRef igi_declare_intrinsic(LLVMModuleRef module, enum igi_intrinsic intrinsic,
                                   LLVMTypeRef *types, unsigned count);

#endif
