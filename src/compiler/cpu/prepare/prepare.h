/* What the files of igv_prepare share. Each takes the kernel one step nearer to the form that
 * vectorise.h requires; prepare.c has the order. */
#ifndef INGOT_COMPILER_PREPARE_H
#define INGOT_COMPILER_PREPARE_H

#include "compiler/cpu/vectorise/vectorise.h"
#include "compiler/ir/edit.h"

struct igv_prepare {
    struct ig_arena arena; /* lists of instructions */
    LLVMModuleRef module;
    LLVMValueRef kernel;
    LLVMContextRef context;
    LLVMTargetDataRef layout;
    LLVMTargetMachineRef machine;
    LLVMBuilderRef builder;
    LLVMTypeRef i1, i8, i32, i64;
    struct ig_error *error;
};

/* Instructions for which `wanted` holds, so that they can be replaced while walking. */
struct igv_list {
    LLVMValueRef *items;
    size_t count;
    bool failed; /* memory ran out */
};

struct igv_list igv_collect(struct igv_prepare *prepare,
                            bool (*wanted)(struct igv_prepare *prepare, LLVMValueRef instruction));
ingot_status igv_prepare_memory_out(struct igv_prepare *prepare);

/* prepare.c: small helpers */
bool igv_is_aggregate(LLVMTypeRef type); /* a struct or an array */
bool igv_is_vector(LLVMTypeRef type);
LLVMValueRef igv_integer(LLVMTypeRef type, uint64_t value);
LLVMValueRef igv_byte_offset(struct igv_prepare *prepare, LLVMValueRef pointer, uint64_t bytes);
/* What aliasing knows of the whole access holds for its pieces. */
void igv_copy_metadata(struct igv_prepare *prepare, LLVMValueRef from, LLVMValueRef to);
/* The name of what a call calls, "" for anything but a function. */
const char *igv_callee_name(LLVMValueRef call);
/* What the phi already takes from the block, or NULL. A switch may give a phi several entries
 * for one block, and these must agree. */
LLVMValueRef igv_earlier_incoming(LLVMValueRef phi, LLVMBasicBlockRef block);

ingot_status igv_prepare_calls(struct igv_prepare *prepare);       /* intrinsics that say nothing */
ingot_status igv_prepare_check_calls(struct igv_prepare *prepare); /* what cannot be run */
ingot_status igv_prepare_copies(struct igv_prepare *prepare);      /* memcpy, memmove, memset */
ingot_status igv_prepare_aggregates(struct igv_prepare *prepare);
/* The parts of a compare-and-exchange are taken where it is. */
ingot_status igv_prepare_exchanges(struct igv_prepare *prepare);
ingot_status igv_prepare_vectors(struct igv_prepare *prepare);
ingot_status igv_prepare_integers(struct igv_prepare *prepare); /* other than 8, 16, 32, 64 bits */
ingot_status igv_prepare_extensions(struct igv_prepare *prepare);
/* Branches only, one return, reducible loops in loop-simplify and LCSSA form. */
ingot_status igv_prepare_control(struct igv_prepare *prepare);
ingot_status igv_prepare_exits(struct igv_prepare *prepare);   /* unreachable → return */
ingot_status igv_prepare_endless(struct igv_prepare *prepare); /* a way out of every loop */
/* Unknown indices into private arrays are kept in range; `changed` if there are any. */
ingot_status igv_prepare_private(struct igv_prepare *prepare, bool *changed);
ingot_status igv_prepare_threadgroup(struct igv_prepare *prepare, uint32_t *bytes);

#endif
