/*
 * The sanitizer's passes: checks in a kernel's code, kind by kind (docs/design/sanitizer.md).
 *
 * They run before everything else that the CPU back end does, on clang's own module, and only where
 * checks are asked for (igc_kernel.sanitize): a kernel without is not touched. A kind is a file
 * with a pass and a row of the table in passes.c. Its checks are calls of the four built-ins
 *     __ingot_san_expect(ok, place, value)      reports the place where ok is false
 *     __ingot_san_tell(place, first, second)    the device's function of the kind is called
 *     __ingot_san_ask(place, first, second)     so it is, and answers true or false
 *     __ingot_san_bound(ordinal, threadgroup)   the bytes of an argument as it is bound
 * which the CPU's lowerings turn into calls of the device for whole SIMD-groups, with masks. What a
 * check is about is a place (igs_place_of), by its number.
 */
#ifndef INGOT_COMPILER_SANITIZE_H
#define INGOT_COMPILER_SANITIZE_H

#include "base/cpu_abi.h"
#include "base/sanitize.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/map.h"
#include "compiler/middle/middle.h"
#include "compiler/passes/passes.h"

/* ---- passes.c: the order ---- */
extern const struct igc_pass igs_passes[];
static inline bool igs_wants(const struct igc_kernel *kernel, enum ig_sanitize_kind kind) {
    return (kernel->sanitize & ig_sanitize_bit(kind)) != 0;
}

/* ---- the kinds, a file each ---- */
/* Counters instead of checks: times by line, before anything is optimised; accesses, arithmetic and
 * barriers of the scalar kernel; what is left of private memory. */
igc_pass_fn igs_count_lines, igs_count_work, igs_count_private;
static inline bool igs_wants_counters(const struct igc_kernel *kernel) {
    return (kernel->sanitize & IG_SANITIZE_PROFILE) != 0;
}

igc_pass_fn igs_unwrap_pointers, igs_split_structs;
igc_pass_fn igs_check_bounds, igs_check_alignment, igs_check_arithmetic;
igc_pass_fn igs_check_race, igs_check_barrier;
igc_pass_fn igs_split_copies;
igc_pass_fn igs_mark_unwritten, igs_mark_members, igs_check_shadows, igs_check_lanes;
igc_pass_fn igs_mark_functions, igs_check_numeric;

/* ---- roots.c: where an address comes from ---- */
enum igs_root_kind {
    IGS_ROOT_UNKNOWN,  /* loaded from memory, made of a number, or of several roots */
    IGS_ROOT_ARGUMENT, /* a buffer or threadgroup argument */
    IGS_ROOT_PRIVATE,  /* a variable of the thread (alloca) */
    IGS_ROOT_VARIABLE, /* a threadgroup variable, or a constant of the program */
};
struct igs_root {
    enum igs_root_kind kind;
    LLVMValueRef base;   /* the call, alloca or global */
    uint32_t ordinal;    /* of an argument */
    uint32_t space;      /* ingot_address_space; 0: private */
    uint64_t bytes;      /* of a variable; of an argument by reference, those of its type; else 0 */
    LLVMValueRef offset; /* i64, from the base, in bytes; NULL unless igs_find_offset was called */
    bool is_constant;    /* the offset is, */
    int64_t constant;    /* and this is it */
};
struct igs_root igs_find_root(struct igc_kernel *kernel, LLVMValueRef pointer);
/* Sets the offset; makes code where the builder stands, which must be behind the pointer. */
void igs_find_offset(struct igc_kernel *kernel, struct igs_root *root, LLVMValueRef pointer);

/* ---- several_roots.c ---- */
/* Of a pointer into one of several variables, tables or arguments: i64, how far it is from the
 * start of that one, and how large that is, made before the instruction. False: nobody knows. */
bool igs_find_object(struct igc_kernel *kernel, LLVMValueRef pointer, LLVMValueRef before,
                     LLVMValueRef *offset, LLVMValueRef *bytes);
/* i1: is the address in a constant of the program? The device does not know where those are.
 * NULL: there are none. */
LLVMValueRef igs_in_table(struct igc_kernel *kernel, LLVMValueRef address, LLVMValueRef size);

/* ---- kept_variables.c ---- */
/* i1: is [address, address + size) in a private variable whose address is kept somewhere? True
 * where there are too many to compare with; NULL: there is none. */
LLVMValueRef igs_in_variable(struct igc_kernel *kernel, LLVMValueRef address, LLVMValueRef size);

/* ---- accesses.c: what reads and writes memory ---- */
struct igs_access {
    LLVMValueRef instruction, pointer;
    enum ingot_cpu_access access;
    LLVMValueRef size;  /* i64: bytes from the pointer on, usually constant */
    uint64_t bytes;     /* the same where it is constant, else 0 */
    uint32_t alignment; /* that the access asks for, in bytes */
    bool is_tile;       /* simdgroup_load or _store: the whole SIMD-group's, size is a span */
    bool is_copy;       /* memcpy, memmove or memset */
};
enum { IGS_MOST_ACCESSES = 2 };
/* The accesses of an instruction, at most two (a copy's: first what it reads); how many. Makes code
 * for sizes that are not constant, where the builder stands. */
unsigned igs_accesses_of(struct igc_kernel *kernel, LLVMValueRef instruction,
                         struct igs_access accesses[IGS_MOST_ACCESSES]);
/* Is it one that igs_accesses_of knows? For igc_collect. */
bool igs_is_access(struct igc_kernel *kernel, LLVMValueRef instruction);

/* Of a simdgroup_load or _store: the number of the lane's element (`which` of the two, i64), from
 * the tile's first on, lane by lane as Apple's GPUs hold them. */
LLVMValueRef igs_tile_index(struct igc_kernel *kernel, LLVMValueRef call, LLVMValueRef lane,
                            LLVMValueRef which);

/* ---- indices.c: subscripts of an access that are not known to be inside of their array ---- */
enum { IGS_MOST_SUBSCRIPTS = 4 };
struct igs_subscripts {
    struct igs_subscript {
        LLVMValueRef index;
        uint64_t count, bytes; /* elements of the array, and its size */
    } items[IGS_MOST_SUBSCRIPTS];
    unsigned count;
};
void igs_find_subscripts(struct igc_kernel *kernel, const struct igs_access *access,
                         struct igs_subscripts *found);

/* ---- repeats.c: accesses that say nothing new to `race` ---- */
enum igs_repeat {
    IGS_TOLD,     /* or a barrier */
    IGS_REPEATED, /* another access of the thread says it */
    IGS_UPDATED,  /* a store to where the thread loads as well, which is not told */
};
/* Of accesses and barriers, in the order of the code, of a kernel without fences. */
void igs_find_repeats(struct igc_kernel *kernel, const struct igc_list *list,
                      enum igs_repeat *repeats);

/* ---- places.c ---- */
struct igs_place {
    struct ingot_cpu_place place;
    uint32_t ordinal; /* of the argument, whose slot becomes known later; or INGOT_CPU_NO_SLOT */
};
struct igs_places {
    struct igs_place *items;
    uint32_t count, capacity;
    struct igs_function { /* names by what debug locations know functions by */
        LLVMMetadataRef described;
        const char *name;
        bool is_operator; /* of the prelude's vectors */
    } *functions;
    size_t function_count;
    bool without_text;             /* the reader of the places has the source */
    struct igi_map by_description; /* numbers of functions */
    struct igs_several *several;   /* several_roots.c: what stands beside phis of pointers */
    struct igs_kept *kept;         /* kept_variables.c */
};
igc_pass_fn igs_start_places; /* before anything is inlined: needs the functions' names */
/* A new place of that kind, at the instruction: file, line, column, source line and inlined calls
 * filled in. The pointer is good until the next call. NULL when memory is out. */
struct igs_place *igs_place_of(struct igc_kernel *kernel, enum ig_sanitize_kind kind,
                               LLVMValueRef instruction, uint32_t *number);
/* The innermost location in one of the user's files; NULL: there is none. */
LLVMMetadataRef igs_users_location(struct igc_kernel *kernel, LLVMValueRef instruction);
/* Is its innermost location in one of the user's files, not in the prelude's? */
bool igs_is_users(struct igc_kernel *kernel, LLVMValueRef instruction);
/* Is it, or is it an operator or a conversion of the prelude's vectors that the user's code calls?
 */
bool igs_is_users_operation(struct igc_kernel *kernel, LLVMValueRef instruction);
/* What is known of an access and its root, into the place. */
void igs_describe_access(struct igc_kernel *kernel, struct igs_place *place,
                         const struct igs_access *access, const struct igs_root *root);
/* For the CPU back end, at its end: the table that the shared object exports. */
igc_pass_fn igs_emit_places;

/* ---- bounds.c ---- */
/* Does it point to the memory that a tile out of bounds is loaded from, or stored to, instead? */
bool igs_is_elsewhere(LLVMValueRef pointer);

/* ---- calls.c: the built-ins ---- */
/* A call of any built-in that has a signature. */
LLVMValueRef igs_call(struct igc_kernel *kernel, enum igi_builtin builtin, LLVMValueRef *args,
                      unsigned count);
void igs_expect(struct igc_kernel *kernel, LLVMValueRef ok, uint32_t place, LLVMValueRef value);
void igs_tell(struct igc_kernel *kernel, uint32_t place, LLVMValueRef first, LLVMValueRef second);
void igs_count(struct igc_kernel *kernel, uint32_t place);
/* An access at a place of `race`; ordinal UINT32_MAX: of no argument that is known. */
void igs_access(struct igc_kernel *kernel, uint32_t place, uint32_t ordinal, LLVMValueRef address,
                LLVMValueRef value);
LLVMValueRef igs_ask(struct igc_kernel *kernel, uint32_t place, LLVMValueRef first,
                     LLVMValueRef second);
/* i64: the bytes of the argument. */
LLVMValueRef igs_bound(struct igc_kernel *kernel, const struct igs_root *root);
/* Runs the instruction only where ok: its value is zero elsewhere. The builder stands behind it. */
void igs_only_where(struct igc_kernel *kernel, LLVMValueRef ok, LLVMValueRef instruction);
/* Is it a branch that igs_only_where made? */
bool igs_is_guard(struct igc_kernel *kernel, LLVMValueRef branch);
/* The same with the check itself: a SIMD-group in which it holds everywhere runs the instruction as
 * it would without, others report; value NULL: that has been done. Not for what makes a struct. */
void igs_guard(struct igc_kernel *kernel, LLVMValueRef ok, uint32_t place, LLVMValueRef value,
               LLVMValueRef instruction);

#endif
