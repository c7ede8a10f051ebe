/* What igv_prepare promises: nothing but scalars and plain branches is left, and the kernel
 * still does the same. Each kernel runs as it is and prepared, on the same bytes. */
#include "analysis_harness.h"

#include <llvm-c/ExecutionEngine.h>

#define LAYOUT                                                                                     \
    "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-"        \
    "n8:16:32:64-S128\"\ntarget triple = \"x86_64-unknown-linux-gnu\"\n"
#define BYTES 2048

static bool is_odd_width(LLVMTypeRef type) {
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind) {
        return false;
    }
    unsigned width = LLVMGetIntTypeWidth(type);
    return width != 8 && width != 16 && width != 32 && width != 64;
}

static bool is_forbidden(LLVMValueRef i) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(i));
    if (kind == LLVMVectorTypeKind || opcode == LLVMSwitch || opcode == LLVMUnreachable) {
        return true;
    }
    if ((kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind) && opcode != LLVMAtomicCmpXchg) {
        return true;
    }
    if (opcode == LLVMStore && is_odd_width(LLVMTypeOf(LLVMGetOperand(i, 0)))) {
        return true;
    }
    if (opcode == LLVMLoad && is_odd_width(LLVMTypeOf(i))) {
        return true;
    }
    if (LLVMIsACallInst(i)) {
        size_t length;
        const char *name = LLVMGetValueName2(LLVMGetCalledValue(i), &length);
        return strstr(name, "mem") || strstr(name, "overflow") || strstr(name, "lifetime") ||
               strstr(name, "assume") || strstr(name, "reduce");
    }
    return false;
}

static bool is_clean(LLVMValueRef kernel) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b; b = LLVMGetNextBasicBlock(b)) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            if (is_forbidden(i)) {
                char *text = LLVMPrintValueToString(i);
                fprintf(stderr, "left over:%s\n", text);
                LLVMDisposeMessage(text);
                return false;
            }
        }
    }
    return true;
}

/* Takes the module. */
static void execute(LLVMModuleRef module, unsigned char *bytes) {
    LLVMExecutionEngineRef engine;
    char *message = NULL;
    struct LLVMMCJITCompilerOptions options;
    LLVMLinkInMCJIT();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeMCJITCompilerOptions(&options, sizeof options);
    if (LLVMCreateMCJITCompilerForModule(&engine, module, &options, sizeof options, &message)) {
        fprintf(stderr, "%s\n", message);
        exit(2);
    }
    uint64_t address = LLVMGetFunctionAddress(engine, "k");
    void (*function)(unsigned char *);
    memcpy(&function, &address, sizeof function);
    function(bytes);
    LLVMDisposeExecutionEngine(engine);
}

static void fill(unsigned char *bytes, unsigned seed) {
    for (unsigned i = 0; i < BYTES; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(seed >> 24);
    }
}

/* The body works on %p, 16-byte aligned. */
static void same_before_and_after(const char *name, const char *text) {
    static _Alignas(64) unsigned char before[BYTES], after[BYTES];
    for (unsigned seed = 1; seed < 4; seed++) {
        fill(before, seed);
        fill(after, seed);
        struct analysed plain = {.context = LLVMContextCreate()};
        char *message = NULL;
        LLVMMemoryBufferRef buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
        if (LLVMParseIRInContext(plain.context, buffer, &plain.module, &message)) {
            fprintf(stderr, "%s: the test's IR is wrong: %s\n", name, message);
            exit(2);
        }
        struct analysed prepared = analyse_text(text, true);
        CHECK(prepared.status == INGOT_OK);
        if (prepared.status) {
            fprintf(stderr, "%s: %s\n", name, ig_error_text(&prepared.error));
            return;
        }
        CHECK(is_clean(prepared.kernel));
        execute(plain.module, before);
        LLVMContextDispose(plain.context);
        execute(prepared.module, after);
        CHECK(!memcmp(before, after, BYTES));
        if (memcmp(before, after, BYTES)) {
            fprintf(stderr, "%s: the prepared kernel gives other bytes\n", name);
        }
        ig_arena_free(&prepared.arena);
        LLVMDisposeTargetMachine(prepared.machine);
        LLVMContextDispose(prepared.context);
    }
}

static void test_vectors(void) {
    same_before_and_after(
        "bitcasts", LAYOUT
        "define void @k(ptr %p) {\n"
        "  %a = load <4 x i8>, ptr %p\n  %i = bitcast <4 x i8> %a to i32\n"
        "  %q1 = getelementptr i8, ptr %p, i64 16\n  store i32 %i, ptr %q1\n"
        "  %b = load i64, ptr %p\n  %v = bitcast i64 %b to <2 x float>\n"
        "  %w = bitcast <2 x float> %v to <4 x half>\n"
        "  %h = extractelement <4 x half> %w, i32 2\n"
        "  %q2 = getelementptr i8, ptr %p, i64 32\n  store half %h, ptr %q2\n"
        "  %c = load <4 x i32>, ptr %p\n  %d = bitcast <4 x i32> %c to <8 x i16>\n"
        "  %q3 = getelementptr i8, ptr %p, i64 48\n  store <8 x i16> %d, ptr %q3\n"
        "  %x = bitcast <4 x i32> %c to i128\n  %y = lshr i128 %x, 40\n"
        "  %q4 = getelementptr i8, ptr %p, i64 80\n  store i128 %y, ptr %q4\n"
        "  %m = icmp ult <8 x i16> %d, <i16 9, i16 99, i16 999, i16 9999, i16 20000, i16 30000, "
        "i16 40000, i16 50000>\n"
        "  %n = bitcast <8 x i1> %m to i8\n"
        "  %q5 = getelementptr i8, ptr %p, i64 112\n  store i8 %n, ptr %q5\n"
        "  %s = shufflevector <8 x i16> %d, <8 x i16> poison, <3 x i32> <i32 5, i32 0, i32 7>\n"
        "  %q6 = getelementptr i8, ptr %p, i64 128\n  store <3 x i16> %s, ptr %q6\n"
        "  ret void\n}\n");
    same_before_and_after(
        "dynamic elements", LAYOUT
        "define void @k(ptr %p) {\n  %v = load <4 x float>, ptr %p\n"
        "  %q = getelementptr i8, ptr %p, i64 20\n  %i = load i32, ptr %q\n  %j = and i32 %i, 3\n"
        "  %e = extractelement <4 x float> %v, i32 %j\n"
        "  %j2 = xor i32 %j, 1\n"
        "  %w = insertelement <4 x float> %v, float %e, i32 %j2\n"
        "  %c = icmp sgt i32 %i, 0\n"
        "  %s = select i1 %c, <4 x float> %w, <4 x float> %v\n"
        "  %f = freeze <4 x float> %s\n"
        "  %r = getelementptr i8, ptr %p, i64 64\n  store <4 x float> %f, ptr %r\n"
        "  ret void\n}\n");
    same_before_and_after(
        "reductions and intrinsics", LAYOUT
        "declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>)\n"
        "declare i32 @llvm.vector.reduce.umax.v4i32(<4 x i32>)\n"
        "declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)\n"
        "declare <4 x i32> @llvm.umin.v4i32(<4 x i32>, <4 x i32>)\n"
        "declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)\n"
        "define void @k(ptr %p) {\n  %v = load <4 x i32>, ptr %p\n"
        "  %q = getelementptr i8, ptr %p, i64 16\n  %w = load <4 x i32>, ptr %q\n"
        "  %m = call <4 x i32> @llvm.umin.v4i32(<4 x i32> %v, <4 x i32> %w)\n"
        "  %a = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %m)\n"
        "  %b = call i32 @llvm.vector.reduce.umax.v4i32(<4 x i32> %v)\n"
        "  %s = sub i32 %a, %b\n"
        "  %f = uitofp <4 x i32> %v to <4 x float>\n  %g = sitofp <4 x i32> %w to <4 x float>\n"
        "  %h = call <4 x float> @llvm.fma.v4f32(<4 x float> %f, <4 x float> %g, <4 x float> %f)\n"
        "  %r = call float @llvm.vector.reduce.fadd.v4f32(float 1.5, <4 x float> %h)\n"
        "  %t = getelementptr i8, ptr %p, i64 64\n  store i32 %s, ptr %t\n"
        "  %u = getelementptr i8, ptr %p, i64 68\n  store float %r, ptr %u\n  ret void\n}\n");
}

static void test_aggregates(void) {
    same_before_and_after(
        "structs",
        LAYOUT "%S = type { i32, { half, [2 x i8] }, <2 x float> }\n"
               "define void @k(ptr %p) {\nentry:\n  %a = load %S, ptr %p\n"
               "  %q = getelementptr i8, ptr %p, i64 32\n  %i = load i32, ptr %q\n"
               "  switch i32 %i, label %other [ i32 1, label %join\n i32 2, label %join ]\n"
               "other:\n  %b = load %S, ptr %q\n"
               "  %c = insertvalue %S %b, i8 77, 1, 1, 0\n  br label %join\n"
               "join:\n  %s = phi %S [ %a, %entry ], [ %a, %entry ], [ %c, %other ]\n"
               "  %n = icmp slt i32 %i, 5\n  %t = select i1 %n, %S %s, %S %a\n"
               "  %r = getelementptr i8, ptr %p, i64 96\n  store %S %t, ptr %r\n"
               "  %x = extractvalue %S %s, 1, 1, 0\n"
               "  %z = getelementptr i8, ptr %p, i64 150\n  store i8 %x, ptr %z\n  ret void\n}\n");
    same_before_and_after(
        "overflow", LAYOUT
        "declare { i32, i1 } @llvm.umul.with.overflow.i32(i32, i32)\n"
        "declare { i32, i1 } @llvm.ssub.with.overflow.i32(i32, i32)\n"
        "define void @k(ptr %p) {\n  %a = load i32, ptr %p\n"
        "  %q = getelementptr i8, ptr %p, i64 4\n  %b = load i32, ptr %q\n"
        "  %m = call { i32, i1 } @llvm.umul.with.overflow.i32(i32 %a, i32 %b)\n"
        "  %n = call { i32, i1 } @llvm.ssub.with.overflow.i32(i32 %a, i32 %b)\n"
        "  %m0 = extractvalue { i32, i1 } %m, 0\n  %m1 = extractvalue { i32, i1 } %m, 1\n"
        "  %n0 = extractvalue { i32, i1 } %n, 0\n  %n1 = extractvalue { i32, i1 } %n, 1\n"
        "  %x = zext i1 %m1 to i32\n  %y = zext i1 %n1 to i32\n"
        "  %r = getelementptr i8, ptr %p, i64 64\n  store i32 %m0, ptr %r\n"
        "  %r1 = getelementptr i8, ptr %p, i64 68\n  store i32 %n0, ptr %r1\n"
        "  %r2 = getelementptr i8, ptr %p, i64 72\n  store i32 %x, ptr %r2\n"
        "  %r3 = getelementptr i8, ptr %p, i64 76\n  store i32 %y, ptr %r3\n  ret void\n}\n");
}

static void test_integers(void) {
    same_before_and_after(
        "odd widths", LAYOUT
        "define void @k(ptr %p) {\nentry:\n  %a = load i24, ptr %p, align 1\n"
        "  %b = add i24 %a, 12345\n"
        "  %q = getelementptr i8, ptr %p, i64 64\n  store i24 %b, ptr %q, align 4\n"
        "  %c = load i128, ptr %p, align 4\n"
        "  %f = load i1, ptr %p\n  br i1 %f, label %one, label %two\n"
        "one:\n  %q1 = getelementptr i8, ptr %p, i64 16\n  %d = load i128, ptr %q1, align 8\n"
        "  br label %two\n"
        "two:\n  %e = phi i128 [ %c, %entry ], [ %d, %one ]\n"
        "  %g = xor i128 %e, %c\n  %h = or i128 %g, 255\n  %i = lshr i128 %h, 64\n"
        "  %j = trunc i128 %i to i64\n  %s = select i1 %f, i128 %h, i128 %e\n"
        "  %r = getelementptr i8, ptr %p, i64 80\n  store i64 %j, ptr %r\n"
        "  %r1 = getelementptr i8, ptr %p, i64 96\n  store i128 %s, ptr %r1, align 2\n"
        "  %k = load i96, ptr @q1x, align 4\n"
        "  %r2 = getelementptr i8, ptr %p, i64 128\n  store i96 %k, ptr %r2, align 4\n"
        "  ret void\n}\n"
        "@q1x = internal global i96 12345678901234567890123\n");
}

#define COPY                                                                                       \
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"                                     \
    "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)\n"                                    \
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"

static void test_copies(void) {
    same_before_and_after(
        "short", LAYOUT COPY
        "%S = type { float, i16, [3 x i8] }\n"
        "define void @k(ptr %p) {\n  %a = alloca [3 x %S]\n"
        "  %q = getelementptr i8, ptr %p, i64 200\n"
        "  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %a, ptr align 4 %p, i64 36, i1 false)\n"
        "  %i = load i32, ptr %q\n  %j = and i32 %i, 1\n  %l = zext i32 %j to i64\n"
        "  %e = getelementptr [3 x %S], ptr %a, i64 0, i64 %l\n"
        "  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %q, ptr align 4 %e, i64 12, i1 false)\n"
        "  %r = getelementptr i8, ptr %p, i64 101\n"
        "  call void @llvm.memset.p0.i64(ptr %r, i8 7, i64 19, i1 false)\n"
        "  %b = load i8, ptr %p\n  %r2 = getelementptr i8, ptr %p, i64 128\n"
        "  call void @llvm.memset.p0.i64(ptr align 4 %r2, i8 %b, i64 22, i1 false)\n"
        "  ret void\n}\n");
    same_before_and_after(
        "long and overlapping", LAYOUT COPY
        "define void @k(ptr %p) {\nentry:\n  %q = getelementptr i8, ptr %p, i64 100\n"
        "  %c = load i8, ptr %p\n  %n = zext i8 %c to i64\n  %m = add i64 %n, 300\n"
        "  call void @llvm.memmove.p0.p0.i64(ptr align 4 %q, ptr align 4 %p, i64 603, i1 false)\n"
        "  %r = getelementptr i8, ptr %p, i64 801\n"
        "  call void @llvm.memcpy.p0.p0.i64(ptr %r, ptr %p, i64 %m, i1 false)\n"
        "  %s = getelementptr i8, ptr %p, i64 790\n"
        "  call void @llvm.memmove.p0.p0.i64(ptr %s, ptr %r, i64 %m, i1 false)\n"
        "  %t = icmp ugt i8 %c, 100\n  br i1 %t, label %more, label %done\n"
        "more:\n  %u = getelementptr i8, ptr %p, i64 1600\n"
        "  call void @llvm.memset.p0.i64(ptr align 8 %u, i8 %c, i64 401, i1 false)\n"
        "  br label %done\n"
        "done:\n  %v = phi i8 [ 1, %entry ], [ 2, %more ]\n"
        "  %w = getelementptr i8, ptr %p, i64 2040\n  store i8 %v, ptr %w\n  ret void\n}\n");
}

static void test_control(void) {
    same_before_and_after(
        "switch and several returns", LAYOUT
        "declare void @llvm.assume(i1)\ndeclare void @llvm.trap()\n"
        "define void @k(ptr %p) {\nentry:\n  %a = load i8, ptr %p\n  %b = and i8 %a, 7\n"
        "  %q = getelementptr i8, ptr %p, i64 64\n"
        "  switch i8 %b, label %other [ i8 0, label %zero\n i8 1, label %one\n i8 2, label %one\n"
        " i8 3, label %three\n i8 9, label %never ]\n"
        "zero:\n  store i8 1, ptr %q\n  ret void\n"
        "one:\n  %v = phi i8 [ 5, %entry ], [ 5, %entry ], [ 6, %three ]\n"
        "  store i8 %v, ptr %q\n  br label %other\n"
        "three:\n  %c = icmp ult i8 %a, 100\n  br i1 %c, label %one, label %zero\n"
        "never:\n  call void @llvm.trap()\n  unreachable\n"
        "other:\n  %t = icmp ne i8 %b, 100\n  call void @llvm.assume(i1 %t)\n"
        "  %r = getelementptr i8, ptr %p, i64 65\n  store i8 9, ptr %r\n  ret void\n}\n");
    same_before_and_after(
        "irreducible", LAYOUT
        "define void @k(ptr %p) {\nentry:\n  %a = load i8, ptr %p\n  %c = icmp ult i8 %a, 100\n"
        "  br i1 %c, label %x, label %y\n"
        "x:\n  %i = phi i8 [ 0, %entry ], [ %j2, %y ]\n  %i2 = add i8 %i, 1\n"
        "  %d = icmp ult i8 %i2, 30\n  br i1 %d, label %y, label %end\n"
        "y:\n  %j = phi i8 [ 5, %entry ], [ %i2, %x ]\n  %j2 = add i8 %j, 3\n"
        "  %e = icmp ult i8 %j2, 40\n  br i1 %e, label %x, label %end\n"
        "end:\n  %r = phi i8 [ %i2, %x ], [ %j2, %y ]\n"
        "  %q = getelementptr i8, ptr %p, i64 64\n  store i8 %r, ptr %q\n  ret void\n}\n");
}

static void test_threadgroup(void) {
    struct analysed a = analyse_text(
        DECLARATIONS
        "@one = internal addrspace(3) global [5 x i8] undef, align 1\n"
        "@two = internal addrspace(3) global [8 x float] undef, align 64\n"
        "@unused = internal addrspace(3) global [8 x float] undef, align 64\n"
        "@table = internal addrspace(1) constant [2 x i32] [i32 5, i32 6]\n"
        "define void @k() {\nentry:\n  %p = call ptr @__ingot_arg_device(i32 0)\n"
        "  %n = load i32, ptr %p\n  store i8 1, ptr addrspace(3) getelementptr inbounds ([5 x i8], "
        "ptr addrspace(3) @one, i64 0, i64 3)\n"
        "  %c = icmp eq i32 %n, 0\n"
        "  switch i32 %n, label %b [ i32 1, label %join\n i32 2, label %join ]\n"
        "b:\n  br label %join\n"
        "join:\n  %q = phi ptr [ addrspacecast (ptr addrspace(3) getelementptr inbounds ([8 x "
        "float], ptr addrspace(3) @two, i64 0, i64 2) to ptr), %entry ], [ addrspacecast (ptr "
        "addrspace(3) getelementptr inbounds ([8 x float], ptr addrspace(3) @two, i64 0, i64 2) to "
        "ptr), %entry ], [ %p, %b ]\n"
        "  store float 1.0, ptr %q\n"
        "  store i64 ptrtoint (ptr addrspace(3) @two to i64), ptr %p\n"
        "  %t = load i32, ptr addrspace(1) getelementptr ([2 x i32], ptr addrspace(1) @table, i64 "
        "0, i64 1)\n"
        "  store i32 %t, ptr %p\n  ret void\n}\n",
        true);
    uint32_t offset = 99;
    CHECK(a.status == INGOT_OK);
    CHECK(a.threadgroup_bytes == 96);
    CHECK(igv_threadgroup_offset(LLVMGetNamedGlobal(a.module, "one"), &offset) && offset == 0);
    CHECK(igv_threadgroup_offset(LLVMGetNamedGlobal(a.module, "two"), &offset) && offset == 64);
    CHECK(!igv_threadgroup_offset(LLVMGetNamedGlobal(a.module, "unused"), &offset));
    CHECK(!igv_threadgroup_offset(LLVMGetNamedGlobal(a.module, "table"), &offset));
    for (unsigned i = 0; !a.status && i < a.analysis.value_count; i++) {
        LLVMValueRef value = a.analysis.values[i].value;
        for (int o = 0; o < LLVMGetNumOperands(value); o++) {
            LLVMValueRef operand = LLVMGetOperand(value, (unsigned)o);
            bool place = LLVMIsAGlobalVariable(operand) && igv_threadgroup_offset(operand, &offset);
            CHECK(!place || LLVMGetInstructionOpcode(value) == LLVMFreeze);
        }
    }
    analysed_free(&a);
}

static void refused(const char *text, const char *words) {
    struct analysed a = analyse_text(text, true);
    CHECK(a.status == INGOT_COMPILE_ERROR);
    CHECK(strstr(ig_error_text(&a.error), words));
    if (!strstr(ig_error_text(&a.error), words)) {
        fprintf(stderr, "said: %s\n", ig_error_text(&a.error));
    }
    analysed_free(&a);
}

static void test_refusals(void) {
    refused(LAYOUT "declare void @nowhere(i32)\ndefine void @k() {\n  call void @nowhere(i32 1)\n"
                   "  ret void\n}\n",
            "nowhere");
    refused(LAYOUT "define void @again(i32 %i) {\n  call void @again(i32 %i)\n  ret void\n}\n"
                   "define void @k() {\n  call void @again(i32 1)\n  ret void\n}\n",
            "recursive");
    refused(LAYOUT "define void @k(ptr %f) {\n  call void %f()\n  ret void\n}\n", "pointer");
    refused(LAYOUT "define void @k() {\n  call void asm sideeffect \"nop\", \"\"()\n"
                   "  ret void\n}\n",
            "assembly");
    refused(LAYOUT "define void @k(i32 %n) {\n  %a = alloca i32, i32 %n\n"
                   "  store volatile i32 1, ptr %a\n  ret void\n}\n",
            "lockstep");
}

static void test_endless(void) {
    struct analysed a = analyse_text(
        DECLARATIONS "define void @k() {\nentry:\n  %p = call ptr @__ingot_arg_device(i32 0)\n"
                     "  br label %loop\n"
                     "loop:\n  %v = load volatile i32, ptr %p\n  %c = icmp eq i32 %v, 1\n"
                     "  br i1 %c, label %loop, label %other\n"
                     "other:\n  store volatile i32 2, ptr %p\n  br label %loop\n}\n",
        true);
    CHECK(a.status == INGOT_OK);
    CHECK(a.analysis.loop_count == 1);
    analysed_free(&a);
}

int main(void) {
    test_vectors();
    test_aggregates();
    test_integers();
    test_copies();
    test_control();
    test_threadgroup();
    test_refusals();
    test_endless();
    return check_report();
}
