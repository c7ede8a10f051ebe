/*
 * What LLVM cannot know of vectorised code: the group's tables of buffers and offsets have a
 * known size, and a buffer bound to a reference holds at least one value. Loads through them may
 * then leave loops and branches. Requires functions as igv_vectorise leaves them: parameter 0 is
 * the group, and its fields are read at constant offsets.
 */
#include <stddef.h>

#include "compiler/cpu/cpu.h"
#include "compiler/ir/walk.h"

struct facts {
    LLVMContextRef context;
    unsigned dereferenceable, align; /* metadata kinds */
    const struct igc_reflection *reflection;
    uint64_t buffer_count, threadgroup_count;
};

static void attach_number(const struct facts *facts, LLVMValueRef load, unsigned kind,
                          uint64_t number) {
    LLVMTypeRef i64 = LLVMInt64TypeInContext(facts->context);
    LLVMMetadataRef value = LLVMValueAsMetadata(LLVMConstInt(i64, number, false));
    LLVMMetadataRef node = LLVMMDNodeInContext2(facts->context, &value, 1);
    LLVMSetMetadata(load, kind, LLVMMetadataAsValue(facts->context, node));
}

/* The pointer loaded is good for reads of so many bytes. */
static void attach(const struct facts *facts, LLVMValueRef load, uint64_t bytes, uint64_t align) {
    attach_number(facts, load, facts->dereferenceable, bytes);
    attach_number(facts, load, facts->align, align);
}

/* *offset is the constant distance in bytes from the pointer returned. */
static LLVMValueRef strip_offset(LLVMTargetDataRef layout, LLVMValueRef pointer, uint64_t *offset) {
    *offset = 0;
    while (LLVMIsAGetElementPtrInst(pointer) && LLVMGetNumOperands(pointer) == 2 &&
           LLVMIsAConstantInt(LLVMGetOperand(pointer, 1))) {
        *offset += LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(pointer)) *
                   LLVMConstIntGetZExtValue(LLVMGetOperand(pointer, 1));
        pointer = LLVMGetOperand(pointer, 0);
    }
    return pointer;
}

/* True when the pointer is the table that the group holds at `field`. */
static bool is_table(LLVMTargetDataRef layout, LLVMValueRef pointer, LLVMValueRef group,
                     size_t field) {
    uint64_t offset;
    return LLVMIsALoadInst(pointer) &&
           strip_offset(layout, LLVMGetOperand(pointer, 0), &offset) == group && offset == field;
}

static const struct ig_argument *find_reference(const struct facts *facts, uint64_t slot) {
    for (uint32_t i = 0; i < facts->reflection->argument_count; i++) {
        const struct ig_argument *a = &facts->reflection->arguments[i];
        if (a->kind == INGOT_ARGUMENT_BUFFER && a->slot == slot) {
            return a->is_reference && a->active && a->type_size && a->type_align ? a : NULL;
        }
    }
    return NULL;
}

static void visit_load(const struct facts *facts, LLVMTargetDataRef layout, LLVMValueRef group,
                       LLVMValueRef load) {
    const size_t buffers = offsetof(struct ingot_cpu_group, buffers);
    const size_t offsets = offsetof(struct ingot_cpu_group, threadgroup_offsets);
    uint64_t offset;
    LLVMValueRef base = strip_offset(layout, LLVMGetOperand(load, 0), &offset);
    if (LLVMGetTypeKind(LLVMTypeOf(load)) != LLVMPointerTypeKind) {
        return;
    }
    if (base == group && offset == buffers && facts->buffer_count) {
        attach(facts, load, facts->buffer_count * sizeof(void *), sizeof(void *));
    } else if (base == group && offset == offsets && facts->threadgroup_count) {
        attach(facts, load, facts->threadgroup_count * sizeof(uint32_t), sizeof(uint32_t));
    } else if (is_table(layout, base, group, buffers)) {
        const struct ig_argument *a = find_reference(facts, offset / sizeof(void *));
        if (a) {
            attach(facts, load, a->type_size, a->type_align);
        }
    }
}

void igc_add_facts(LLVMModuleRef module, const struct igc_reflection *reflection) {
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    struct facts facts = {.context = LLVMGetModuleContext(module), .reflection = reflection};
    facts.dereferenceable = LLVMGetMDKindIDInContext(facts.context, "dereferenceable", 15);
    facts.align = LLVMGetMDKindIDInContext(facts.context, "align", 5);
    for (uint32_t i = 0; i < reflection->argument_count; i++) {
        bool is_buffer = reflection->arguments[i].kind == INGOT_ARGUMENT_BUFFER;
        *(is_buffer ? &facts.buffer_count : &facts.threadgroup_count) += 1;
    }
    igi_each_function(f, module) {
        igi_each_instruction(in, f) {
            if (LLVMIsALoadInst(in)) {
                visit_load(&facts, layout, LLVMGetParam(f, 0), in);
            }
        }
    }
}
