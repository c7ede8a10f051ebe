/*
 * Which values, variables and threadgroup memory may hold what nobody wrote, or what a lane that is
 * not there would have given: forwards from where such things begin, until nothing changes.
 *
 * Only what is reached gets a shadow. Variables count as a whole here.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/shadow.h"

struct igs_shadow_value *igs_entry_of(struct igs_shadows *shadows, LLVMValueRef value) {
    unsigned number = igi_map_get(&shadows->numbers, value);
    return number == IGI_NONE ? NULL : &shadows->values[number];
}

unsigned igs_may_be(const struct igs_shadows *shadows, LLVMValueRef value) {
    unsigned number = igi_map_get(&shadows->numbers, value);
    return number == IGI_NONE ? 0 : shadows->values[number].may;
}

static void add(struct igs_shadows *shadows, LLVMValueRef value, unsigned may) {
    if (!may || LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVoidTypeKind) {
        return;
    }
    struct igs_shadow_value *entry = igs_entry_of(shadows, value);
    if (!entry) {
        if (shadows->value_count == shadows->value_capacity) {
            unsigned capacity = shadows->value_capacity ? 2 * shadows->value_capacity : 1024;
            struct igs_shadow_value *values =
                ig_arena_array(shadows->kernel->arena, capacity, sizeof *values);
            if (!values) {
                shadows->numbers.failed = true;
                return;
            }
            for (unsigned i = 0; i < shadows->value_count; i++) {
                values[i] = shadows->values[i];
            }
            shadows->values = values;
            shadows->value_capacity = capacity;
        }
        entry = &shadows->values[shadows->value_count];
        *entry = (struct igs_shadow_value){.value = value};
        igi_map_put(&shadows->numbers, value, shadows->value_count++);
    }
    shadows->changed |= (entry->may | may) != entry->may;
    entry->may |= may;
}

/* ---- memory ---- */

static unsigned find_memory(struct igs_shadows *shadows, LLVMValueRef pointer) {
    struct igs_root root = igs_find_root(shadows->kernel, pointer);
    switch (root.kind) {
    case IGS_ROOT_PRIVATE: {
        unsigned number = igi_map_get(&shadows->variable_numbers, root.base);
        return number == IGI_NONE ? IGS_MEMORY_GOOD : IGS_MEMORY_PRIVATE + number;
    }
    case IGS_ROOT_ARGUMENT:
        if (root.space == INGOT_SPACE_CONSTANT && root.bytes) {
            return IGS_MEMORY_GOOD; /* a reference: the host has given a value */
        }
        break;
    case IGS_ROOT_VARIABLE:
        return root.space == INGOT_SPACE_THREADGROUP ? IGS_MEMORY_THREADGROUP : IGS_MEMORY_GOOD;
    case IGS_ROOT_UNKNOWN:
        break;
    }
    switch (root.space) {
    case 0:
        return IGS_MEMORY_ANY_PRIVATE;
    case INGOT_SPACE_THREADGROUP:
        return IGS_MEMORY_THREADGROUP;
    case INGOT_SPACE_DEVICE:
    case INGOT_SPACE_CONSTANT:
        return IGS_MEMORY_DEVICE;
    default:
        return IGS_MEMORY_GOOD;
    }
}

unsigned igs_memory_of(struct igs_shadows *shadows, LLVMValueRef pointer) {
    unsigned memory = igi_map_get(&shadows->memories, pointer);
    if (memory == IGI_NONE) {
        memory = find_memory(shadows, pointer);
        igi_map_put(&shadows->memories, pointer, memory);
    }
    return memory;
}

unsigned igs_memory_may_be(const struct igs_shadows *shadows, unsigned memory) {
    unsigned may = 0;
    switch (memory) {
    case IGS_MEMORY_GOOD:
        return 0;
    case IGS_MEMORY_THREADGROUP:
        return shadows->threadgroup;
    case IGS_MEMORY_DEVICE:
        return shadows->asked & IGS_MAY_UNWRITTEN;
    case IGS_MEMORY_ANY_PRIVATE:
        for (unsigned i = 0; i < shadows->variable_count; i++) {
            may |= shadows->variables[i].may;
        }
        return may | shadows->any_private;
    default:
        return shadows->variables[memory - IGS_MEMORY_PRIVATE].may | shadows->any_private;
    }
}

static void add_to_memory(struct igs_shadows *shadows, unsigned memory, unsigned may) {
    unsigned *holder = memory == IGS_MEMORY_THREADGROUP   ? &shadows->threadgroup
                       : memory == IGS_MEMORY_ANY_PRIVATE ? &shadows->any_private
                       : memory >= IGS_MEMORY_PRIVATE
                           ? &shadows->variables[memory - IGS_MEMORY_PRIVATE].may
                           : NULL;
    if (holder && (*holder | may) != *holder) {
        *holder |= may;
        shadows->changed = true;
    }
}

/* ---- one instruction ---- */

static unsigned operands(const struct igs_shadows *shadows, LLVMValueRef instruction) {
    unsigned may = 0, count = (unsigned)LLVMGetNumOperands(instruction);
    for (unsigned i = 0; i < count; i++) {
        may |= igs_may_be(shadows, LLVMGetOperand(instruction, i));
    }
    return may;
}

unsigned igs_decided_may_be(const struct igs_shadows *shadows, unsigned block, bool is_phi) {
    unsigned may = 0;
    for (const struct igs_decided *d = shadows->decided[block]; d; d = d->next) {
        if (d->decision->join == block && !is_phi) {
            continue;
        }
        may |= d->decision->may;
    }
    return may;
}

static unsigned of_copy(struct igs_shadows *shadows, LLVMValueRef call, unsigned decided) {
    enum igi_intrinsic intrinsic = igi_intrinsic_of(call);
    bool sets = intrinsic == IGI_LLVM_memset || intrinsic == IGI_LLVM_memset_inline;
    unsigned from =
        sets ? igs_may_be(shadows, LLVMGetOperand(call, 1))
             : igs_memory_may_be(shadows, igs_memory_of(shadows, LLVMGetOperand(call, 1)));
    add_to_memory(shadows, igs_memory_of(shadows, LLVMGetOperand(call, 0)), from | decided);
    return 0;
}

static unsigned of_call(struct igs_shadows *shadows, LLVMValueRef call, unsigned decided) {
    if (igi_is_intrinsic(call)) {
        unsigned flags = igi_intrinsic_flags_of(call);
        return flags & IGI_I_COPIES                    ? of_copy(shadows, call, decided)
               : flags & (IGI_I_INFORMS | IGI_I_TRAPS) ? 0
                                                       : operands(shadows, call);
    }
    if (igi_is_call_of(call, IGI_san_unwritten)) {
        return IGS_MAY_UNWRITTEN;
    }
    switch (igi_family_of(call)) {
    case IGI_FAMILY_SHUFFLE:
        return igs_may_be(shadows, LLVMGetOperand(call, 0)) | (shadows->asked & IGS_MAY_NO_LANE);
    case IGI_FAMILY_LOAD_DEVICE:
        return shadows->asked & IGS_MAY_UNWRITTEN;
    case IGI_FAMILY_LOAD_THREADGROUP:
        return shadows->threadgroup;
    case IGI_FAMILY_STORE_THREADGROUP:
        add_to_memory(shadows, IGS_MEMORY_THREADGROUP,
                      igs_may_be(shadows, LLVMGetOperand(call, 3)) |
                          igs_may_be(shadows, LLVMGetOperand(call, 4)));
        return 0;
    case IGI_FAMILY_VOTE:
    case IGI_FAMILY_REDUCTION:
    case IGI_FAMILY_PREFIX:
    case IGI_FAMILY_MATRIX_PRODUCT:
    case IGI_NO_FAMILY:
        return operands(shadows, call);
    default:
        return 0;
    }
}

static void decide(struct igs_shadows *shadows, LLVMValueRef branch) {
    unsigned may = igs_taken_on(shadows, branch);
    struct igs_decision *decision = may ? igs_decision_of(shadows, branch) : NULL;
    if (decision && (decision->may | may) != decision->may) {
        decision->may |= may;
        shadows->changed = true;
    }
}

static void visit(struct igs_shadows *shadows, unsigned block, LLVMValueRef in) {
    unsigned decided = igs_decided_may_be(shadows, block, LLVMIsAPHINode(in)), memory;
    LLVMValueRef pointer = NULL;
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMLoad:
        pointer = LLVMGetOperand(in, 0);
        add(shadows, in, igs_memory_may_be(shadows, igs_memory_of(shadows, pointer)));
        return;
    case LLVMStore:
        memory = igs_memory_of(shadows, LLVMGetOperand(in, 1));
        add_to_memory(shadows, memory, igs_may_be(shadows, LLVMGetOperand(in, 0)) | decided);
        return;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        memory = igs_memory_of(shadows, LLVMGetOperand(in, 0));
        unsigned last = LLVMIsAAtomicCmpXchgInst(in) ? 2 : 1;
        add_to_memory(shadows, memory, igs_may_be(shadows, LLVMGetOperand(in, last)));
        add(shadows, in, igs_memory_may_be(shadows, memory));
        return;
    case LLVMPHI:
        add(shadows, in, operands(shadows, in) | decided);
        return;
    case LLVMCall:
        add(shadows, in, of_call(shadows, in, decided));
        return;
    case LLVMAlloca:
        return;
    case LLVMBr:
        if (LLVMIsConditional(in) && igs_may_be(shadows, LLVMGetCondition(in))) {
            decide(shadows, in);
        }
        return;
    default:
        add(shadows, in, operands(shadows, in));
        return;
    }
}

/* ---- where it begins ---- */

/* Can it be read before it is written? Temporaries have no declaration, and are written first. */
static bool begins_unwritten(struct igs_shadows *shadows, LLVMValueRef alloca) {
    igi_each_use(use, alloca) {
        LLVMValueRef user = LLVMGetUser(use);
        if (igi_intrinsic_of(user) == IGI_LLVM_lifetime_start &&
            !igs_is_written_at_once(shadows->kernel, alloca, user)) {
            return true;
        }
    }
    return false;
}

/* Is its address in memory, or somewhere else that nobody follows? Then it may be written by way of
 * there, and counts as good. */
static bool escapes(LLVMValueRef pointer, struct igi_map *seen) {
    igi_each_use(use, pointer) {
        LLVMValueRef user = LLVMGetUser(use);
        switch (LLVMIsAInstruction(user) ? LLVMGetInstructionOpcode(user) : LLVMRet) {
        case LLVMLoad:
        case LLVMICmp:
            break;
        case LLVMStore:
            if (LLVMGetOperand(user, 0) == pointer) {
                return true;
            }
            break;
        case LLVMGetElementPtr:
        case LLVMBitCast:
        case LLVMPHI:
        case LLVMSelect:
        case LLVMFreeze:
            if (igi_set_add(seen, user) && escapes(user, seen)) {
                return true;
            }
            break;
        case LLVMCall:
            if (!igi_is_intrinsic(user) && !igi_is_call_of(user, IGI_san_keep)) {
                return true;
            }
            break;
        default:
            return true;
        }
    }
    return false;
}

static bool find_variables(struct igs_shadows *shadows) {
    struct igc_kernel *kernel = shadows->kernel;
    unsigned count = 0;
    igi_each_instruction(in, kernel->function) {
        count += LLVMIsAAllocaInst(in) != NULL;
    }
    shadows->variables = ig_arena_array(kernel->arena, count + 1, sizeof *shadows->variables);
    if (!shadows->variables) {
        return false;
    }
    igi_each_instruction(in, kernel->function) {
        if (LLVMIsAAllocaInst(in)) {
            struct igi_map seen = {0};
            igi_map_start(&seen, kernel->arena, 8);
            if (escapes(in, &seen)) {
                continue;
            }
            bool begins = shadows->asked & IGS_MAY_UNWRITTEN && !igs_is_marked(in) &&
                          begins_unwritten(shadows, in);
            igi_map_put(&shadows->variable_numbers, in, shadows->variable_count);
            shadows->variables[shadows->variable_count++] = (struct igs_variable){
                .alloca = in, .may = begins ? IGS_MAY_UNWRITTEN : 0, .begins = begins};
        }
    }
    return !shadows->variable_numbers.failed;
}

bool igs_find_reach(struct igs_shadows *shadows) {
    if (!find_variables(shadows)) {
        return false;
    }
    shadows->threadgroup = shadows->asked & IGS_MAY_UNWRITTEN;
    do {
        shadows->changed = false;
        for (unsigned block = 0; block < shadows->graph.count; block++) {
            igi_each_in_block(in, shadows->graph.blocks[block]) {
                visit(shadows, block, in);
            }
        }
    } while (shadows->changed && !shadows->numbers.failed);
    return !shadows->numbers.failed && !shadows->memories.failed;
}
