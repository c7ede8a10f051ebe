/*
 * Arithmetic that C++ and LLVM leave undefined and Metal does not.
 *
 * - A shift counts modulo the width of what is shifted: `x << n` is `x << (n & 31)`.
 * - A division by zero, and the smallest integer divided by -1, have an unspecified value. LLVM
 *   takes a division as proof that the divisor is not 0, and drops the program's own test for that
 *   behind it. So a divisor of 0 counts as another while LLVM's passes run (igc_guard_arithmetic);
 *   igc_release_divisors takes the guard away in front of the vectoriser, whose own divisions
 *   harm nothing. For NVIDIA GPUs it stays: LLVM simplifies once more while it makes PTX.
 * - A float that an integer cannot hold converts to an unspecified value: an arbitrary one, but
 *   the same for all its uses.
 * - A bool in memory is true unless it is 0: a buffer may hold any bytes, and clang tells LLVM that
 *   it holds 0 or 1 (`b ? 1 : 0` was 2). One that is only copied keeps its byte, as on Apple's GPUs
 *   (igc_copy_bools).
 * - What clang folded to a value that LLVM calls poison (1 / 0) is 0.
 *
 * igc_guard_arithmetic requires clang's own module, before any pass that simplifies: there the
 * types are those of the program after promotion. Both parts take one walk. Not done here: shifts
 * of two constants, which clang folds before there is an instruction (frontend/msl/shifts.c), and
 * overflow of signed sums and products, which Metal leaves undefined too.
 */
#include <string.h>

#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

/* Not 1, with which a guard would become a maximum that cannot be told from the program's own. */
enum { INSTEAD_OF_ZERO = 3 };

static LLVMTypeRef scalar_of(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static LLVMValueRef number_like(struct igc_kernel *k, LLVMTypeRef type, uint64_t number) {
    LLVMValueRef value = LLVMConstInt(scalar_of(type), number, false);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) {
        return value;
    }
    unsigned count = LLVMGetVectorSize(type);
    LLVMValueRef *items = ig_arena_array(k->arena, count, sizeof *items);
    if (!items) {
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        items[i] = value;
    }
    return LLVMConstVector(items, count);
}

static bool is_power_of_two(unsigned n) {
    return n && !(n & (n - 1));
}

/* The second operand becomes another. Of a constant nothing else would be left: the sanitizer wants
 * to see what the program says. */
static void exchange_operand(struct igc_kernel *k, LLVMValueRef in, LLVMValueRef other) {
    LLVMValueRef own = LLVMGetOperand(in, 1);
    LLVMSetOperand(in, 1, other);
    if (LLVMIsConstant(own)) {
        unsigned kind =
            LLVMGetMDKindIDInContext(k->context, IGC_OWN_OPERAND, sizeof IGC_OWN_OPERAND - 1);
        LLVMMetadataRef value = LLVMValueAsMetadata(own);
        LLVMMetadataRef node = LLVMMDNodeInContext2(k->context, &value, 1);
        LLVMSetMetadata(in, kind, LLVMMetadataAsValue(k->context, node));
    }
}

/* The amount of a shift, in range. */
static bool guard_shift(struct igc_kernel *k, LLVMValueRef shift) {
    LLVMValueRef amount = LLVMGetOperand(shift, 1);
    LLVMTypeRef type = LLVMTypeOf(amount);
    unsigned width = LLVMGetIntTypeWidth(scalar_of(type));
    bool constant = LLVMIsAConstantInt(amount) != NULL;
    if (!is_power_of_two(width) ||
        (constant && width <= 64 && LLVMConstIntGetZExtValue(amount) < width)) {
        return false;
    }
    LLVMValueRef mask = number_like(k, type, width - 1);
    if (!mask) {
        return false;
    }
    LLVMPositionBuilderBefore(k->builder, shift);
    exchange_operand(k, shift, LLVMBuildAnd(k->builder, amount, mask, ""));
    return true;
}

static bool is_division(LLVMValueRef in) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
        return true;
    default:
        return false;
    }
}

/* Marks the selects that guard divisors: LLVM may write their tests in other ways. */
static unsigned guard_kind(LLVMModuleRef module) {
    static const char name[] = "ingot.guard";
    return LLVMGetMDKindIDInContext(LLVMGetModuleContext(module), name, sizeof name - 1);
}

static bool guard_division(struct igc_kernel *k, LLVMValueRef division) {
    LLVMValueRef divisor = LLVMGetOperand(division, 1);
    LLVMTypeRef type = LLVMTypeOf(divisor);
    if (LLVMIsAConstantInt(divisor) && !LLVMIsNull(divisor)) {
        return false;
    }
    LLVMValueRef other = number_like(k, type, INSTEAD_OF_ZERO);
    if (!other) {
        return false;
    }
    LLVMPositionBuilderBefore(k->builder, division);
    LLVMValueRef zero = LLVMBuildICmp(k->builder, LLVMIntEQ, divisor, LLVMConstNull(type), "");
    LLVMValueRef guard = LLVMBuildSelect(k->builder, zero, other, divisor, "");
    if (LLVMIsASelectInst(guard)) {
        LLVMValueRef mark =
            LLVMMetadataAsValue(k->context, LLVMMDNodeInContext2(k->context, NULL, 0));
        LLVMSetMetadata(guard, guard_kind(k->module), mark);
    }
    exchange_operand(k, division, guard);
    return true;
}

/* The result of a conversion, the same for all uses. */
static bool freeze_result(struct igc_kernel *k, LLVMValueRef conversion) {
    if (!LLVMGetFirstUse(conversion)) {
        return false;
    }
    LLVMPositionBuilderBefore(k->builder, LLVMGetNextInstruction(conversion));
    LLVMValueRef frozen = LLVMBuildFreeze(k->builder, conversion, "");
    LLVMReplaceAllUsesWith(conversion, frozen);
    LLVMSetOperand(frozen, 0, conversion);
    return true;
}

/* Vectors and structs are built up from poison; everywhere else it is an expression that clang
 * folded. */
static bool replace_poison(LLVMValueRef in) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMInsertElement:
    case LLVMInsertValue:
    case LLVMShuffleVector:
    case LLVMCall:
        return false;
    default:
        break;
    }
    bool changed = false;
    unsigned count = (unsigned)LLVMGetNumOperands(in);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(in, i);
        if (LLVMIsPoison(operand)) {
            LLVMSetOperand(in, i, LLVMConstNull(LLVMTypeOf(operand)));
            changed = true;
        }
    }
    return changed;
}

/* ---- bools ---- */

#define BOOL_MARK "ingot.bool" /* metadata of loads and stores of bools */

static unsigned bool_mark(struct igc_kernel *k) {
    return LLVMGetMDKindIDInContext(k->context, BOOL_MARK, sizeof BOOL_MARK - 1);
}

static void mark_bool(struct igc_kernel *k, LLVMValueRef access) {
    LLVMSetMetadata(access, bool_mark(k),
                    LLVMMetadataAsValue(k->context, LLVMMDNodeInContext2(k->context, NULL, 0)));
}

/* clang names the type that an access is by in its metadata: a base, that type, an offset. */
static bool stores_bool(struct igc_kernel *k, LLVMValueRef store) {
    LLVMValueRef tag = LLVMGetMetadata(store, LLVMGetMDKindIDInContext(k->context, "tbaa", 4));
    LLVMValueRef parts[4], names[4];
    if (!tag || LLVMGetMDNodeNumOperands(tag) < 3 || LLVMGetMDNodeNumOperands(tag) > 4) {
        return false;
    }
    LLVMGetMDNodeOperands(tag, parts);
    if (!parts[1] || !LLVMIsAMDNode(parts[1]) || LLVMGetMDNodeNumOperands(parts[1]) != 3) {
        return false;
    }
    LLVMGetMDNodeOperands(parts[1], names);
    unsigned length = 0;
    const char *name =
        names[0] && LLVMIsAMDString(names[0]) ? LLVMGetMDString(names[0], &length) : NULL;
    return name && length == 4 && !memcmp(name, "bool", 4);
}

/* Type names of accesses go before functions are inlined. */
static bool mark_bool_store(struct igc_kernel *k, LLVMValueRef store) {
    bool is_bool = stores_bool(k, store);
    if (is_bool) {
        mark_bool(k, store);
    }
    return is_bool;
}

/* A load of a bool: any byte, of which `trunc` must not take the lowest bit. */
static bool accept_any_bool(struct igc_kernel *k, LLVMValueRef load) {
    unsigned range = LLVMGetMDKindIDInContext(k->context, "range", 5);
    LLVMTypeRef type = LLVMTypeOf(load);
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) != 8 ||
        !LLVMGetMetadata(load, range)) {
        return false;
    }
    LLVMSetMetadata(load, range, NULL);
    mark_bool(k, load);
    igi_each_use_safe(use, load) {
        LLVMValueRef trunc = LLVMGetUser(use);
        if (LLVMIsATruncInst(trunc)) { /* which goes, unused, in the passes that follow */
            LLVMPositionBuilderBefore(k->builder, trunc);
            LLVMReplaceAllUsesWith(
                trunc, LLVMBuildICmp(k->builder, LLVMIntNE, load, LLVMConstNull(type), ""));
        }
    }
    return true;
}

static bool guard_module(struct igc_kernel *k) {
    bool changed = false;
    igi_each_function(f, k->module) {
        igi_each_instruction(in, f) {
            changed |= replace_poison(in);
            switch (LLVMGetInstructionOpcode(in)) {
            case LLVMShl:
            case LLVMLShr:
            case LLVMAShr:
                changed |= guard_shift(k, in);
                break;
            case LLVMFPToSI:
            case LLVMFPToUI:
                changed |= freeze_result(k, in);
                break;
            case LLVMLoad:
                changed |= accept_any_bool(k, in);
                break;
            case LLVMStore:
                changed |= mark_bool_store(k, in);
                break;
            default:
                changed |= is_division(in) && guard_division(k, in);
            }
        }
    }
    return changed;
}

enum igc_result igc_guard_arithmetic(struct igc_kernel *k) {
    struct igc_kernel with_builder = *k; /* a kernel gets its own behind the first table */
    with_builder.builder = LLVMCreateBuilderInContext(k->context);
    bool changed = guard_module(&with_builder);
    LLVMDisposeBuilder(with_builder.builder);
    return changed ? IGC_CHANGED : IGC_UNCHANGED;
}

/* The number that a byte tells whether it is not 0, or NULL. */
static LLVMValueRef tested_byte(LLVMValueRef stored) {
    LLVMValueRef test = LLVMIsAZExtInst(stored) ? LLVMGetOperand(stored, 0) : NULL;
    LLVMValueRef byte = test && LLVMIsAICmpInst(test) ? LLVMGetOperand(test, 0) : NULL;
    return byte && LLVMGetICmpPredicate(test) == LLVMIntNE &&
                   LLVMTypeOf(byte) == LLVMTypeOf(stored) && LLVMIsNull(LLVMGetOperand(test, 1))
               ? byte
               : NULL;
}

/* The bool in memory that a stored byte is a copy of, by way of others maybe, or NULL. */
static LLVMValueRef copied_bool(struct igc_kernel *k, LLVMValueRef stored) {
    LLVMValueRef byte = stored;
    while ((byte = tested_byte(byte)) && !LLVMIsALoadInst(byte)) {
    }
    return byte && LLVMGetMetadata(byte, bool_mark(k)) ? byte : NULL;
}

enum igc_result igc_copy_bools(struct igc_kernel *k) {
    bool changed = false;
    igi_each_instruction(in, k->function) {
        bool is_store = LLVMIsAStoreInst(in) && LLVMGetMetadata(in, bool_mark(k));
        LLVMValueRef load = is_store ? copied_bool(k, LLVMGetOperand(in, 0)) : NULL;
        if (load) {
            LLVMSetOperand(in, 0, load);
            changed = true;
        }
    }
    return changed ? IGC_CHANGED : IGC_UNCHANGED;
}

static bool is_instead(LLVMValueRef value) {
    return LLVMIsAConstantInt(value) && LLVMConstIntGetZExtValue(value) == INSTEAD_OF_ZERO;
}

/* The divisor behind its guard, or NULL. Where the guard's own number would be taken the result is
 * unspecified. */
static LLVMValueRef guarded_divisor(LLVMValueRef divisor, unsigned kind) {
    if (!LLVMIsASelectInst(divisor) || !LLVMGetMetadata(divisor, kind)) {
        return NULL;
    }
    LLVMValueRef first = LLVMGetOperand(divisor, 1), second = LLVMGetOperand(divisor, 2);
    return is_instead(first) ? second : is_instead(second) ? first : NULL;
}

static void erase_if_unused(LLVMValueRef value) {
    if (LLVMIsAInstruction(value) && !LLVMGetFirstUse(value)) {
        LLVMInstructionEraseFromParent(value);
    }
}

enum igc_result igc_release_divisors(struct igc_kernel *k) {
    bool changed = false;
    unsigned kind = guard_kind(k->module);
    igi_each_instruction(in, k->function) {
        LLVMValueRef guard = is_division(in) ? LLVMGetOperand(in, 1) : NULL;
        LLVMValueRef plain = guard ? guarded_divisor(guard, kind) : NULL;
        if (!plain) {
            continue;
        }
        LLVMValueRef test = LLVMGetOperand(guard, 0);
        LLVMSetOperand(in, 1, plain);
        if (!LLVMGetFirstUse(guard)) {
            LLVMInstructionEraseFromParent(guard);
            if (LLVMIsAICmpInst(test)) {
                erase_if_unused(test);
            }
        }
        changed = true;
    }
    return changed ? IGC_CHANGED : IGC_UNCHANGED;
}
