/*
 * Shadows: which values nobody wrote, or came from a lane that is not there, on their way through a
 * kernel. What the kinds uninitialised and lanes are made of.
 *
 * The shadow of a scalar is an i32, that of a vector a vector of them: 0 where the value is good,
 * else the number of the place that it came from (igs_place_of) plus one, with
 * INGOT_CPU_NEVER_WRITTEN set where it comes from memory. Of two shadows the larger one goes on. A
 * byte of memory has a byte: private variables have another variable for that, threadgroup memory
 * has its own at a fixed distance, and the device keeps those of buffers.
 */
#ifndef INGOT_COMPILER_SANITIZE_SHADOW_H
#define INGOT_COMPILER_SANITIZE_SHADOW_H

#include "compiler/ir/graph.h"
#include "compiler/sanitize/sanitize.h"

/* What a value or a variable may be, by what the code says; 0: good whatever happens. */
enum igs_may {
    IGS_MAY_UNWRITTEN = 1, /* read before it was written */
    IGS_MAY_NO_LANE = 2,   /* from a lane that is inactive or not there */
};
/* The bytes of memory's shadows are the same numbers. */

/* Where memory is, as far as shadows go. */
enum igs_memory_kind {
    IGS_MEMORY_GOOD, /* constant, or nothing is known of it */
    IGS_MEMORY_THREADGROUP,
    IGS_MEMORY_DEVICE,
    IGS_MEMORY_ANY_PRIVATE, /* one of several variables */
    IGS_MEMORY_PRIVATE,     /* variable n is IGS_MEMORY_PRIVATE + n */
};

struct igs_variable {
    LLVMValueRef alloca;
    unsigned may;
    bool begins;         /* unwritten at its declaration, and not written at once */
    LLVMValueRef shadow; /* an alloca of the same form */
};

struct igs_shadow_value {
    LLVMValueRef value;
    unsigned may;
    LLVMValueRef shadow;
    LLVMValueRef raw; /* of a load: the bytes of its shadow, as loaded */
};

/* A branch whose ways meet again and do nothing but compute: what it decides is a value. */
struct igs_decision {
    unsigned branch, join; /* blocks */
    unsigned *between;     /* the blocks on the way, which may have branches themselves */
    unsigned count;
    unsigned may;      /* what values take on of the conditions of all these branches */
    LLVMValueRef slot; /* a variable that has their shadow, on the way */
};
struct igs_decided { /* by block */
    struct igs_decision *decision;
    struct igs_decided *next;
};

enum { IGS_MOST_POINTERS = 256 };
struct igs_shadows {
    struct igc_kernel *kernel;
    unsigned asked;         /* igs_may of the kinds that are asked for */
    struct igi_graph graph; /* blocks in reverse post-order */
    unsigned *idom, *ipdom;
    struct igi_map numbers; /* of values */
    struct igs_shadow_value *values;
    unsigned value_count, value_capacity;
    struct igi_map memories; /* by pointer: igs_memory_kind */
    struct igi_map variable_numbers;
    struct igs_variable *variables;
    unsigned variable_count;
    unsigned any_private, threadgroup; /* igs_may of what is there */
    struct igs_decision **own;         /* by block: the decision that its branch begins */
    bool *is_looked_at;                /* by block: whether its branch was */
    struct igs_decided **decided;      /* by block: stores there, and phis, depend on these */
    struct igi_map pointer_numbers;    /* of phis of pointers that have another beside them */
    LLVMValueRef pointers[IGS_MOST_POINTERS];
    unsigned pointer_count;
    bool changed;
};

/* ---- reach.c: which values may be other than good ---- */
bool igs_find_reach(struct igs_shadows *shadows);
unsigned igs_may_be(const struct igs_shadows *shadows, LLVMValueRef value);
unsigned igs_memory_may_be(const struct igs_shadows *shadows, unsigned memory);
/* enum igs_memory_kind, or IGS_MEMORY_PRIVATE and the variable's number. */
unsigned igs_memory_of(struct igs_shadows *shadows, LLVMValueRef pointer);
struct igs_shadow_value *igs_entry_of(struct igs_shadows *shadows, LLVMValueRef value);
/* What decisions add to a block's phis, or to what it stores. */
unsigned igs_decided_may_be(const struct igs_shadows *shadows, unsigned block, bool is_phi);

/* ---- decisions.c ---- */
/* The decision of a conditional branch, or NULL where its ways do more than compute. */
struct igs_decision *igs_decision_of(struct igs_shadows *shadows, LLVMValueRef branch);
bool igs_is_between(const struct igs_decision *decision, unsigned block);
/* Which part of its condition's shadow the values that a branch chooses take on. */
unsigned igs_taken_on(const struct igs_shadows *shadows, LLVMValueRef branch);

/* ---- shadow_values.c ---- */
LLVMTypeRef igs_shadow_type(const struct igs_shadows *shadows, LLVMTypeRef type);
/* Zero where the value is good. */
LLVMValueRef igs_shadow_of(struct igs_shadows *shadows, LLVMValueRef value);
void igs_set_shadow(struct igs_shadows *shadows, LLVMValueRef value, LLVMValueRef shadow);
LLVMValueRef igs_larger(struct igs_shadows *shadows, LLVMValueRef a, LLVMValueRef b);
/* One shadow for all elements. */
LLVMValueRef igs_any_element(struct igs_shadows *shadows, LLVMValueRef shadow);
/* The same shadow for all elements of a type. */
LLVMValueRef igs_spread(struct igs_shadows *shadows, LLVMValueRef shadow, LLVMTypeRef type);
/* i1 or a vector of them: is it other than zero; is it one of the number that igs_may says? */
LLVMValueRef igs_is_bad(struct igs_shadows *shadows, LLVMValueRef shadow);
/* `number` is a place; may: which one of igs_may. */
LLVMValueRef igs_source(const struct igs_shadows *shadows, uint32_t number, unsigned may);
/* Shadows of everything that is neither memory's nor other lanes'. */
void igs_shadow_arithmetic(struct igs_shadows *shadows, LLVMValueRef instruction);

/* ---- shadow_pointers.c ---- */
/* Where the shadow of private or threadgroup memory is, made before an instruction, where the
 * builder stands then; NULL where nobody knows. */
LLVMValueRef igs_shadow_pointer(struct igs_shadows *shadows, LLVMValueRef pointer,
                                LLVMValueRef before);
/* The constant offset of a pointer from a variable; false: another one, or not constant. */
bool igs_constant_offset(struct igc_kernel *kernel, LLVMValueRef pointer, LLVMValueRef variable,
                         uint64_t *offset);
/* Is the variable written whole behind its declaration, before anything reads it? */
bool igs_is_written_at_once(struct igc_kernel *kernel, LLVMValueRef variable,
                            LLVMValueRef declared);

/* ---- marks.c ---- */
/* Is the first access of a variable behind its declaration a store of all of it? */
bool igs_is_stored_first(LLVMValueRef declaration, LLVMValueRef variable);
/* Is the variable one that gets marks, member by member? Others are too large for that. */
bool igs_is_marked(LLVMValueRef variable);

/* ---- shadow_copies.c ---- */
void igs_shadow_copy(struct igs_shadows *shadows, LLVMValueRef copy);

/* ---- shadow_tiles.c ---- */
void igs_shadow_tile_load(struct igs_shadows *shadows, LLVMValueRef call);
void igs_shadow_tile_store(struct igs_shadows *shadows, LLVMValueRef call);

/* ---- shadow_memory.c: loads, stores, atomics ---- */
void igs_shadow_load(struct igs_shadows *shadows, LLVMValueRef load);
void igs_shadow_store(struct igs_shadows *shadows, LLVMValueRef store);
void igs_shadow_atomic(struct igs_shadows *shadows, LLVMValueRef atomic);
/* Of what has one access. */
struct igs_access igs_access_of(struct igc_kernel *kernel, LLVMValueRef instruction);
/* The number of the place that an instruction's value comes from, and what it accesses. */
uint32_t igs_origin_of(struct igs_shadows *shadows, LLVMValueRef instruction,
                       const struct igs_access *access);
/* From bytes of memory's shadow, as an integer or a vector of them, to that of a value, and back.
 */
LLVMValueRef igs_from_bytes(struct igs_shadows *shadows, LLVMValueRef bytes, uint32_t origin,
                            unsigned may);
LLVMValueRef igs_to_bytes(struct igs_shadows *shadows, LLVMValueRef shadow, LLVMTypeRef bytes,
                          unsigned may);
/* Buffers: i1, was none of these bytes written? And: now they are. */
LLVMValueRef igs_is_unwritten(struct igs_shadows *shadows, const struct igs_access *access,
                              LLVMValueRef address, uint32_t place);
void igs_is_written(struct igs_shadows *shadows, const struct igs_access *access,
                    LLVMValueRef address, uint32_t place);
/* The decision's variable; the builder stands before the instruction then. */
LLVMValueRef igs_decision_slot(struct igs_shadows *shadows, struct igs_decision *decision,
                               LLVMValueRef before);
/* What the decisions around a store add to it. */
LLVMValueRef igs_decided_shadow(struct igs_shadows *shadows, LLVMValueRef instruction);
/* Checks the address of an access. */
/* What of its address may be bad, such that an access is a use of it: a choice between private
 * variables hands on what no lane gave. */
unsigned igs_used_in_address(struct igs_shadows *shadows, LLVMValueRef instruction);
void igs_check_address(struct igs_shadows *shadows, const struct igs_access *access);

/* ---- shadow_lanes.c ---- */
void igs_shadow_lanes(struct igs_shadows *shadows, LLVMValueRef call);

/* ---- uses.c: where a bad value is a finding ---- */
enum igs_use { IGS_USE_STORE = 0, IGS_USE_BRANCH = 1, IGS_USE_ADDRESS = 2, IGS_USE_LANE = 3 };
/* `access` may be NULL. */
void igs_check_use(struct igs_shadows *shadows, LLVMValueRef instruction, LLVMValueRef shadow,
                   unsigned may, enum igs_use use, const struct igs_access *access);

#endif
