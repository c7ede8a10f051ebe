/*
 * LLVM's intrinsics by row of intrinsics.def. LLVM's numbers of them are looked up once per
 * process, since they change from one release to the next.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/builtins.h"

#define INFORMS               IGI_I_INFORMS
#define NO_RESULT             IGI_I_NO_RESULT
#define OPERAND               IGI_I_OPERAND
#define ZERO                  IGI_I_ZERO
#define COPIES                IGI_I_COPIES
#define MASKED                IGI_I_MASKED
#define TRAPS                 IGI_I_TRAPS
#define OVERFLOW              IGI_I_OVERFLOW
#define REDUCES               IGI_I_REDUCES
#define ARITHMETIC            IGI_I_ARITHMETIC
#define HALF_BY_FLOAT         IGI_I_HALF_BY_FLOAT
#define BY_OPERAND_TYPE       IGI_I_BY_OPERAND_TYPE
#define BY_RESULT_AND_OPERAND IGI_I_BY_RESULT_AND_OPERAND
#define BY_RESULT_AND_SECOND  IGI_I_BY_RESULT_AND_SECOND
#define SECOND_IMMEDIATE      IGI_I_SECOND_IMMEDIATE

static const struct {
    const char *name;
    unsigned flags;
} rows[IGI_INTRINSIC_COUNT] = {
    {NULL, 0},
#define INTRINSIC(id, name, flags) {name, flags},
#include "compiler/ir/intrinsics.def"
};

struct numbered {
    unsigned id;
    enum igi_intrinsic row;
};

static unsigned ids[IGI_INTRINSIC_COUNT];
static struct numbered by_id[IGI_INTRINSIC_COUNT]; /* sorted; those that LLVM does not know are 0 */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int compare(const void *a, const void *b) {
    const struct numbered *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void look_up(void) {
    for (unsigned row = IGI_NO_INTRINSIC + 1; row < IGI_INTRINSIC_COUNT; row++) {
        ids[row] = LLVMLookupIntrinsicID(rows[row].name, strlen(rows[row].name));
        by_id[row] = (struct numbered){ids[row], (enum igi_intrinsic)row};
    }
    qsort(by_id, IGI_INTRINSIC_COUNT, sizeof *by_id, compare);
}

unsigned igi_intrinsic_id(enum igi_intrinsic intrinsic) {
    pthread_once(&once, look_up);
    return ids[intrinsic];
}

unsigned igi_intrinsic_flags(enum igi_intrinsic intrinsic) {
    return rows[intrinsic].flags;
}

bool igi_is_intrinsic(LLVMValueRef call) {
    LLVMValueRef callee = igi_callee(call);
    return callee && LLVMGetIntrinsicID(callee);
}

enum igi_intrinsic igi_intrinsic_of(LLVMValueRef call) {
    LLVMValueRef callee = igi_callee(call);
    struct numbered wanted = {callee ? LLVMGetIntrinsicID(callee) : 0, IGI_NO_INTRINSIC};
    if (!wanted.id) {
        return IGI_NO_INTRINSIC;
    }
    pthread_once(&once, look_up);
    const struct numbered *found =
        bsearch(&wanted, by_id, IGI_INTRINSIC_COUNT, sizeof *by_id, compare);
    return found ? found->row : IGI_NO_INTRINSIC;
}

LLVMValueRef igi_declare_intrinsic(LLVMModuleRef module, enum igi_intrinsic intrinsic,
                                   LLVMTypeRef *types, unsigned count) {
    return LLVMGetIntrinsicDeclaration(module, igi_intrinsic_id(intrinsic), types, count);
}
