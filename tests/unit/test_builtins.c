/*
 * The table of built-ins and that of LLVM's intrinsics: every row is found by its name, with and
 * without a suffix; types follow from signatures; what a thread remembers of a function does not
 * outlive its name; each back end has what the table says it has.
 */
#include <string.h>

#include "check.h"

#include "compiler/cpu/lower/lower.h"
#include "compiler/ir/builtins.h"
#include "compiler/nvptx/nvptx.h"

static struct igi_name read_text(const char *text) {
    return igi_name_read(text, strlen(text));
}

static void test_every_row(void) {
    for (unsigned row = IGI_NO_BUILTIN + 1; row < IGI_BUILTIN_COUNT; row++) {
        const struct igi_facts *facts = igi_facts((enum igi_builtin)row);
        struct igi_name name = {.builtin = (enum igi_builtin)row, .numbers = {3, 12}};
        unsigned words = 0, numbers = 0;
        for (const char *part = facts->suffix; *part; part += *part == ',') {
            *(*part == '#' ? &numbers : &words) += 1;
            part += strcspn(part, ",");
        }
        for (name.words = 0; name.words < 1u << words; name.words++) {
            char text[IGI_MOST_LETTERS];
            size_t length = igi_name_write(name, text);
            struct igi_name found = igi_name_read(text, length);
            CHECK(length && found.builtin == row && found.words == name.words);
            CHECK(found.numbers[0] == (numbers > 0 ? 3u : 0u) &&
                  found.numbers[1] == (numbers > 1 ? 12u : 0u));
        }
        CHECK(igi_is_library_name(facts->name));
        CHECK(!facts->in_prelude || facts->signature);
        CHECK(!(facts->flags & IGI_PURE) || facts->memory == IGI_MEMORY_NONE);
    }
}

static void test_names(void) {
    static const char *const unknown[] = {
        "",
        "__ingot_",
        "__ingot_simd_sum",
        "__ingot_simd_sum_f32_",
        "__ingot_simd_sum_f32.",
        "__ingot_simd_sum_f32.1",
        "__ingot_simd_sum_f32.alls",
        "__ingot_arg_device.all",
        "__ingot_quad_sum_f32",
        "nv.read",
        "nv.read.",
        "nv.read.x",
        "nv.read.1.2",
        "nv.read.4294967296",
        "nv.mma.bf16.k16",
        "nv.wgmma.f16",
        "nv.body",
        "llvm.fma.f32",
        "air.simd_sum.f32",
        "main",
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct igi_name name = read_text(unknown[i]);
        if (name.builtin) {
            fprintf(stderr, "%s is taken for %s\n", unknown[i], igi_facts(name.builtin)->name);
        }
        CHECK(!name.builtin && !name.words);
    }
    struct igi_name name = read_text("__ingot_barrier_counted.some");
    CHECK(name.builtin == IGI_barrier_counted && name.words == IGI_SOME);
    name = read_text("nv.mma.k16.bf16");
    CHECK(name.builtin == IGI_nv_mma && name.words == (IGI_MMA_K16 | IGI_MMA_BF16));
    name = read_text("nv.ldmatrix.x4.trans");
    CHECK(name.builtin == IGI_nv_ldmatrix && name.words == (IGI_LDMATRIX_X4 | IGI_LDMATRIX_TRANS));
    name = read_text("nv.wgmma.fenced.f16.m.n.16");
    CHECK(name.builtin == IGI_nv_wgmma && name.numbers[0] == 16 &&
          name.words == (IGI_WGMMA_FENCED | IGI_WGMMA_F16 | IGI_WGMMA_M | IGI_WGMMA_N));
    name = read_text("nv.wgmma_wait.late.2.64");
    CHECK(name.builtin == IGI_nv_wgmma_wait && name.words == IGI_WGMMA_WAIT_LATE &&
          name.numbers[0] == 2 && name.numbers[1] == 64);
    char text[IGI_MOST_LETTERS];
    CHECK(!igi_name_write((struct igi_name){.builtin = IGI_log, .words = 1}, text));
    CHECK(igi_is_reserved_name("llvm.fma.f32") && igi_is_reserved_name("air.x") &&
          !igi_is_library_name("llvm.fma.f32") && !igi_is_reserved_name("ingot"));
}

/* Facts that were once in different files. */
static void test_facts(void) {
    const struct igi_facts *sum = igi_facts(IGI_simd_sum_f32);
    CHECK(sum->memory == IGI_MEMORY_NONE && sum->lanes == IGI_LANES_ACTIVE &&
          sum->result == IGI_RESULT_SIMDGROUP && !(sum->flags & IGI_PURE) && igi_uses_lanes(sum));
    const struct igi_facts *shuffle = igi_facts(IGI_simd_shuffle_b16);
    CHECK(shuffle->lanes == IGI_LANES_OTHERS && shuffle->result == IGI_RESULT_SHUFFLED);
    CHECK(igi_facts(IGI_thread_index_in_simdgroup)->maximum == 31);
    CHECK(igi_facts(IGI_thread_position_in_grid)->maximum == 0);
    CHECK(igi_facts(IGI_barrier)->flags & IGI_BARRIER);
    CHECK(igi_facts(IGI_barrier_counted)->flags & IGI_BARRIER);
    CHECK(igi_facts(IGI_arg_threadgroup)->flags == IGI_PURE);
    CHECK(igi_facts(IGI_NO_BUILTIN)->memory == IGI_MEMORY_ANY);
    uint64_t value;
    CHECK(igi_memory_attribute(IGI_MEMORY_NONE, &value) && value == 0);
    CHECK(igi_memory_attribute(IGI_MEMORY_TELLS, &value) && value == 8);
    CHECK(!igi_memory_attribute(IGI_MEMORY_ANY, &value));
    CHECK(!igi_memory_attribute(IGI_MEMORY_ORDERS, &value));
    CHECK(igi_builtin_of_air_name("air.simd_max.u.i64") == IGI_simd_max_u64);
    CHECK(igi_builtin_of_air_name("air.simd_max") == IGI_NO_BUILTIN);
}

static bool has_type(LLVMContextRef context, enum igi_builtin builtin, const char *text) {
    LLVMTypeRef type = igi_builtin_type(context, builtin);
    char *printed = type ? LLVMPrintTypeToString(type) : NULL;
    bool same = printed && !strcmp(printed, text);
    if (!same) {
        fprintf(stderr, "%s is %s\n", igi_facts(builtin)->name, printed ? printed : "nothing");
    }
    LLVMDisposeMessage(printed);
    return same;
}

static void test_types(LLVMContextRef context) {
    CHECK(has_type(context, IGI_never, "i1 ()"));
    CHECK(has_type(context, IGI_param,
                   "void (i32, i32, i32, i32, i64, i64, i32, i32, i32, i1, ptr, ptr)"));
    CHECK(has_type(context, IGI_arg_constant, "ptr addrspace(6) (i32)"));
    CHECK(has_type(context, IGI_simdgroup_store_threadgroup_b16,
                   "void (ptr addrspace(3), i64, i1, i16, i16)"));
    CHECK(has_type(context, IGI_simdgroup_mma, "float (float, float, float, float, float, i32)"));
    CHECK(has_type(context, IGI_staying, "ptr addrspace(1) (ptr addrspace(1))"));
    CHECK(!igi_builtin_type(context, IGI_nv_read));
}

/* A function that is deleted, and others in its place. */
static void test_functions(LLVMContextRef context) {
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("test", context);
    static const enum igi_builtin turns[] = {IGI_simd_sum_i32, IGI_simd_max_i32, IGI_simd_min_i32};
    for (unsigned i = 0; i < 300; i++) {
        enum igi_builtin builtin = turns[i % 3];
        LLVMValueRef function = igi_declare(module, builtin);
        CHECK(function && igi_builtin_of_function(function) == builtin);
        CHECK(igi_find(module, builtin) == function && igi_declare(module, builtin) == function);
        LLVMSetValueName2(function, "somebody", 8);
        CHECK(igi_builtin_of_function(function) == IGI_NO_BUILTIN);
        LLVMDeleteFunction(function);
    }
    char longest[200];
    memset(longest, 'x', sizeof longest);
    LLVMTypeRef type = igi_builtin_type(context, IGI_streaming);
    LLVMValueRef other = LLVMAddFunction(module, "", type);
    LLVMSetValueName2(other, longest, sizeof longest);
    CHECK(igi_builtin_of_function(other) == IGI_NO_BUILTIN);

    LLVMValueRef kernel = LLVMAddFunction(module, "kernel", type);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, kernel, ""));
    LLVMTypeRef i1 = LLVMInt1TypeInContext(context), f32 = LLVMFloatTypeInContext(context);
    LLVMValueRef never = LLVMBuildCall2(builder, LLVMFunctionType(i1, NULL, 0, false),
                                        igi_declare(module, IGI_never), NULL, 0, "");
    LLVMValueRef x = LLVMGetUndef(f32);
    LLVMValueRef root = igi_declare_intrinsic(module, IGI_LLVM_sqrt, &f32, 1);
    LLVMValueRef call = LLVMBuildCall2(builder, LLVMGlobalGetValueType(root), root, &x, 1, "");
    LLVMValueRef end = LLVMBuildRetVoid(builder);
    CHECK(igi_is_call_of(never, IGI_never) && !igi_is_intrinsic(never) &&
          igi_intrinsic_of(never) == IGI_NO_INTRINSIC && igi_callee_text(never)[0] == '_');
    CHECK(igi_is_intrinsic(call) && igi_intrinsic_of(call) == IGI_LLVM_sqrt &&
          igi_builtin_of(call) == IGI_NO_BUILTIN);
    CHECK(igi_builtin_of(end) == IGI_NO_BUILTIN && igi_builtin_of(x) == IGI_NO_BUILTIN &&
          igi_callee(kernel) == NULL && igi_facts_of(end)->family == IGI_NO_FAMILY);
    LLVMDisposeBuilder(builder);
    LLVMDisposeModule(module);
}

/* Each back end has code for the rows that it handles, and for no others. */
static void test_back_ends(void) {
    for (unsigned row = IGI_NO_BUILTIN + 1; row < IGI_BUILTIN_COUNT; row++) {
        enum igi_builtin builtin = (enum igi_builtin)row;
        const struct igi_facts *facts = igi_facts(builtin);
        bool both = facts->handled == IGI_HANDLED_BOTH;
        bool cpu = both || facts->handled == IGI_HANDLED_CPU;
        bool nvptx = both || facts->handled == IGI_HANDLED_NVPTX;
        bool shaped = facts->result == IGI_RESULT_THREAD || facts->result == IGI_RESULT_LANE;
        const struct igv_lowering *lowering = igl_lowerings.of(builtin);
        if (cpu != (lowering != NULL) || nvptx != igp_defines(builtin)) {
            fprintf(stderr, "%s: the CPU %s it, NVPTX %s it\n", facts->name,
                    lowering ? "has" : "lacks", igp_defines(builtin) ? "has" : "lacks");
        }
        CHECK(cpu == (lowering != NULL));
        CHECK(nvptx == igp_defines(builtin));
        CHECK(!cpu || !shaped || lowering->shape);
    }
    CHECK(!igl_lowerings.of(IGI_NO_BUILTIN) && !igp_defines(IGI_NO_BUILTIN));
}

/* LLVM knows every row, each by a number of its own. */
static void test_intrinsics(void) {
    for (unsigned row = IGI_NO_INTRINSIC + 1; row < IGI_INTRINSIC_COUNT; row++) {
        unsigned id = igi_intrinsic_id((enum igi_intrinsic)row);
        if (!id) {
            fprintf(stderr, "LLVM does not know row %u of intrinsics.def\n", row);
        }
        CHECK(id);
        for (unsigned other = IGI_NO_INTRINSIC + 1; other < row; other++) {
            CHECK(id != igi_intrinsic_id((enum igi_intrinsic)other));
        }
    }
    CHECK(!igi_intrinsic_flags(IGI_NO_INTRINSIC));
    CHECK(igi_intrinsic_flags(IGI_LLVM_memcpy) == IGI_I_COPIES);
}

int main(void) {
    LLVMContextRef context = LLVMContextCreate();
    test_every_row();
    test_names();
    test_facts();
    test_types(context);
    test_functions(context);
    test_back_ends();
    test_intrinsics();
    LLVMContextDispose(context);
    return check_report();
}
