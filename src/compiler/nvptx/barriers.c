/*
 * Barriers of the threadgroup that some of its threads may miss: they stand where a branch that is
 * not the same for the whole threadgroup leads to, or behind one after which some threads end. In
 * kernels that have such barriers all of them notice; in the others they are the hardware's as they
 * are.
 *
 * A SIMD-group that comes without all of its lanes is found by the mask of its lanes (masks.c). The
 * barrier itself counts who comes, since the hardware does not wait for threads that have ended:
 * where they are fewer than the threadgroup has, SIMD-groups have ended. Who finds out leaves what
 * base/cuda_abi.h describes for the host, and ends. So do the CPU's barriers, with the same words.
 */
#include <stddef.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

/* The scope of __ingot_barrier that is no more than a SIMD-group. */
enum { SIMDGROUP_SCOPE = 1 };

static bool is_group_barrier(LLVMValueRef in) {
    if (!igi_is_call_of(in, IGI_barrier)) {
        return false;
    }
    LLVMValueRef scope = LLVMGetOperand(in, 0);
    return !LLVMIsAConstantInt(scope) || LLVMConstIntGetZExtValue(scope) != SIMDGROUP_SCOPE;
}

struct missing {
    LLVMValueRef *calls;
    bool some;
};

static ingot_status look(struct igc_kernel *kernel, const struct igv_analysis *flow,
                         void *context) {
    (void)kernel;
    struct missing *missing = context;
    for (LLVMValueRef *call = missing->calls; *call; call++) {
        missing->some |= igv_is_divergent(flow, LLVMGetInstructionParent(*call));
    }
    return INGOT_OK;
}

/* What SIMD-groups compute together from what is the same for all of them, as the total of a row,
 * is the same for all only if they are all whole: the kernel may promise that. */
static ingot_status find(struct igc_kernel *kernel, struct missing *missing) {
    if (!kernel->reflection->whole_simdgroups) {
        return igp_with_flow(kernel, IGV_AMONG_THREADS, look, missing);
    }
    ingot_status status = igp_with_flow(kernel, IGV_AMONG_SIMDGROUPS, look, missing);
    return status ? status : igp_with_flow(kernel, IGV_AMONG_LANES, look, missing);
}

/* SIMD-groups that miss one barrier may meet the others at the next: all count, or none does. */
enum igc_result igp_check_barriers(struct igc_kernel *kernel) {
    struct missing missing = {.calls = igp_collect(kernel, is_group_barrier)};
    if (!missing.calls) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    ingot_status status = *missing.calls ? find(kernel, &missing) : INGOT_OK;
    for (LLVMValueRef *call = missing.calls; !status && missing.some && *call; call++) {
        LLVMTypeRef type = LLVMGlobalGetValueType(LLVMGetCalledValue(*call));
        LLVMSetOperand(*call, LLVMGetNumArgOperands(*call),
                       igp_declare(kernel, igi_plain(IGI_barrier_counted), type));
    }
    return status ? IGC_FAILED : missing.some ? IGC_CHANGED : IGC_UNCHANGED;
}

/* ---- the code ---- */
_Static_assert(offsetof(struct ingot_cuda_launch, stream) == 52, "nv.say");
_Static_assert(offsetof(struct ingot_cuda_failure, kind) == 8, "nv.say");
_Static_assert(offsetof(struct ingot_cuda_failure, stream) == 12, "nv.say");
_Static_assert(offsetof(struct ingot_cuda_failure, group) == 16, "nv.say");
_Static_assert(offsetof(struct ingot_cuda_failure, simdgroup) == 28, "nv.say");
_Static_assert(offsetof(struct ingot_cuda_failure, came) == 32, "nv.say");
_Static_assert(offsetof(struct ingot_cuda_failure, all) == 36, "nv.say");
_Static_assert(INGOT_CUDA_LENIENT_BARRIERS == 4, "nv.is_lenient");
_Static_assert(INGOT_CUDA_BARRIER_LANES == 1 && INGOT_CUDA_BARRIER_ENDED == 2, "nv.arrive");

#define LANES "convergent alwaysinline nounwind {\n"

/* nv.stop, which does not come back, is declared only: all calls of it share one nv.say. */
static const char arrive[] =
    "declare void @nv.stop(i32 %kind, i32 %came)\n"
    "define internal i1 @nv.is_lenient() alwaysinline nounwind {\n"
    "  %flags = call i32 @nv.word(i64 36)\n"
    "  %bit = and i32 %flags, 4\n"
    "  %v = icmp ne i32 %bit, 0\n"
    "  ret i1 %v\n}\n"
    /* %lanes: those of this SIMD-group that are here, in Metal's order */
    "define internal void @nv.arrive(i32 %lanes) " LANES "  %present = call i32 @nv.present()\n"
    "  %whole = icmp eq i32 %lanes, %present\n"
    "  br i1 %whole, label %wait, label %partial\n"
    "partial:\n"
    "  %lenient = call i1 @nv.is_lenient()\n"
    "  br i1 %lenient, label %wait, label %lanes_missing\n"
    "lanes_missing:\n"
    "  call void @nv.stop(i32 1, i32 %lanes)\n"
    "  unreachable\n"
    "wait:\n"
    "  %here = call i32 asm sideeffect \"barrier.red.popc.u32 $0, 0, $1;\", "
    "\"=r,b,~{memory}\"(i1 true) convergent nounwind\n"
    "  %count = call i32 @nv.count()\n"
    "  %all = icmp eq i32 %here, %count\n"
    "  br i1 %all, label %go_on, label %fewer\n"
    "fewer:\n"
    "  %allowed = call i1 @nv.is_lenient()\n"
    "  br i1 %allowed, label %go_on, label %ended\n"
    "ended:\n"
    "  call void @nv.stop(i32 2, i32 0)\n"
    "  unreachable\n"
    "go_on:\n"
    "  ret void\n}\n";

/* The first threads that fail claim the place, by a number that only those have who fail in the
 * same way at the same place: of the threadgroup, and of the SIMD-group whose lanes are missing. */
static const char claim[] =
    "define void @nv.say(i32 %kind, i32 %lanes) " LANES "  %t = call i32 @nv.t()\n"
    "  %count = call i32 @nv.count()\n"
    "  %x = call i32 @nv.group.0()\n"
    "  %y = call i32 @nv.group.1()\n"
    "  %z = call i32 @nv.group.2()\n"
    "  %columns = call i32 @nv.word(i64 24)\n"
    "  %rows = call i32 @nv.word(i64 28)\n"
    "  %simdgroup = lshr i32 %t, 5\n"
    "  %of_lanes = icmp eq i32 %kind, 1\n"
    "  %first = and i32 %t, -32\n"
    "  %left = sub i32 %count, %first\n"
    "  %more = add i32 %count, 31\n"
    "  %groups = lshr i32 %more, 5\n"
    "  %there = select i1 %of_lanes, i32 %left, i32 %groups\n"
    "  %most = call i32 @llvm.umin.i32(i32 %there, i32 32)\n"
    "  %unused = sub i32 32, %most\n"
    "  %all = lshr i32 -1, %unused\n"
    "  %bit = shl i32 1, %simdgroup\n"
    "  %came = select i1 %of_lanes, i32 %lanes, i32 %bit\n"
    "  %which = select i1 %of_lanes, i32 %simdgroup, i32 0\n"
    "  %xw = zext i32 %x to i64\n"
    "  %yw = zext i32 %y to i64\n"
    "  %zw = zext i32 %z to i64\n"
    "  %columnsw = zext i32 %columns to i64\n"
    "  %rowsw = zext i32 %rows to i64\n"
    "  %planes = mul i64 %zw, %rowsw\n"
    "  %row = add i64 %planes, %yw\n"
    "  %before = mul i64 %row, %columnsw\n"
    "  %place = add i64 %before, %xw\n"
    "  %places = shl i64 %place, 7\n"
    "  %whichw = zext i32 %which to i64\n"
    "  %whichs = shl i64 %whichw, 2\n"
    "  %kindw = zext i32 %kind to i64\n"
    "  %who = or i64 %whichs, %kindw\n"
    "  %claim = or i64 %places, %who\n"
    "  %pair = cmpxchg ptr addrspace(1) @" INGOT_CUDA_FAILURE_SYMBOL
    ", i64 0, i64 %claim monotonic monotonic, align 8\n"
    "  %old = extractvalue { i64, i1 } %pair, 0\n"
    "  %won = extractvalue { i64, i1 } %pair, 1\n"
    "  %same = icmp eq i64 %old, %claim\n"
    "  %mine = or i1 %won, %same\n"
    "  br i1 %mine, label %say, label %end\n"
    "say:\n"
    "  %stream = call i32 @nv.word(i64 52)\n";

static void write_field(struct ig_text *out, const char *value, size_t at) {
    ig_text_printf(out,
                   "  %%p%zu = getelementptr i8, ptr addrspace(1) @" INGOT_CUDA_FAILURE_SYMBOL
                   ", i64 %zu\n"
                   "  store i32 %s, ptr addrspace(1) %%p%zu, align 4\n",
                   at, at, value, at);
}

static void write_say(struct ig_text *out) {
    ig_text_puts(out, claim);
    write_field(out, "%kind", offsetof(struct ingot_cuda_failure, kind));
    write_field(out, "%stream", offsetof(struct ingot_cuda_failure, stream));
    write_field(out, "%x", offsetof(struct ingot_cuda_failure, group));
    write_field(out, "%y", offsetof(struct ingot_cuda_failure, group) + 4);
    write_field(out, "%z", offsetof(struct ingot_cuda_failure, group) + 8);
    write_field(out, "%which", offsetof(struct ingot_cuda_failure, simdgroup));
    write_field(out, "%all", offsetof(struct ingot_cuda_failure, all));
    ig_text_printf(out,
                   "  %%bits = getelementptr i8, ptr addrspace(1) @" INGOT_CUDA_FAILURE_SYMBOL
                   ", i64 %zu\n"
                   "  %%was = atomicrmw or ptr addrspace(1) %%bits, i32 %%came monotonic, align 4\n"
                   "  br label %%end\n"
                   "end:\n"
                   "  call void @llvm.nvvm.exit()\n"
                   "  unreachable\n}\n",
                   offsetof(struct ingot_cuda_failure, came));
}

static bool notices(const struct igc_kernel *kernel) {
    return igi_find_named(kernel->module, igi_with_words(IGI_barrier_counted, IGI_ALL)) ||
           igi_find_named(kernel->module, igi_with_words(IGI_barrier_counted, IGI_SOME));
}

void igp_write_stop(const struct igc_kernel *kernel, struct ig_text *out) {
    if (!notices(kernel)) {
        return;
    }
    ig_text_printf(out,
                   "@" INGOT_CUDA_FAILURE_SYMBOL
                   " = addrspace(1) externally_initialized global [%zu x i8] zeroinitializer, "
                   "align 16\n",
                   sizeof(struct ingot_cuda_failure));
    ig_text_puts(out, arrive);
    write_say(out);
}

/* ---- one place for all that stop ---- */
static LLVMBasicBlockRef make_end(LLVMBuilderRef builder, LLVMValueRef entry, LLVMValueRef say,
                                  LLVMValueRef phis[2]) {
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(entry));
    LLVMTypeRef word = LLVMInt32TypeInContext(context);
    LLVMBasicBlockRef end = LLVMAppendBasicBlockInContext(context, entry, "stop");
    LLVMPositionBuilderAtEnd(builder, end);
    for (int i = 0; i < 2; i++) {
        phis[i] = LLVMBuildPhi(builder, word, "");
    }
    LLVMBuildCall2(builder, LLVMGlobalGetValueType(say), say, phis, 2, "");
    LLVMBuildUnreachable(builder);
    LLVMSetLinkage(say, LLVMInternalLinkage);
    return end;
}

enum igc_result igp_join_stops(struct igc_kernel *kernel) {
    LLVMValueRef stop = igi_find(kernel->module, IGI_nv_stop);
    LLVMValueRef say = igi_find(kernel->module, IGI_nv_say), phis[2];
    if (!stop || !say) {
        return IGC_UNCHANGED;
    }
    LLVMBuilderRef builder = kernel->builder;
    LLVMBasicBlockRef end = make_end(builder, kernel->function, say, phis);
    igi_while_used(use, stop) {
        LLVMValueRef call = LLVMGetUser(use);
        LLVMBasicBlockRef from = LLVMGetInstructionParent(call);
        for (unsigned i = 0; i < 2; i++) {
            LLVMValueRef value = LLVMGetOperand(call, i);
            LLVMAddIncoming(phis[i], &value, &from, 1);
        }
        LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(from));
        LLVMInstructionEraseFromParent(call);
        LLVMPositionBuilderAtEnd(builder, from);
        LLVMBuildBr(builder, end);
    }
    LLVMDeleteFunction(stop);
    return IGC_CHANGED;
}
