/*
 * The entry point, as LLVM IR: finds where the thread stands, ends it if it is past the end of a
 * partial threadgroup, reads `constant` references, and calls the kernel. Its values with names
 * nv.X are what the library's functions of those names stand for.
 */
#include <stddef.h>
#include <stdio.h>

#include "compiler/nvptx/nvptx.h"

/* What the reflection says where the source says nothing. */
enum { UNLIMITED_THREADS = 1024 };

/* A multiprocessor has 65536 registers, which threads get by eights, 24 at least. */
static uint32_t registers_for(uint32_t threads) {
    const uint32_t all = 65536, least = 24, most = 255;
    uint32_t registers = threads ? all / threads / 8 * 8 : most;
    return registers < least ? least : registers > most ? most : registers;
}

/* The thread's index in its threadgroup: %tid.x, or with the lanes of Apple's tiles (matrix.c). */
static const char same_index[] = "  %nv.t = add i32 %tid, 0\n";
static const char permuted_index[] = "  %ta = and i32 %tid, -15\n"
                                     "  %tb = and i32 %tid, 12\n"
                                     "  %tc = and i32 %tid, 2\n"
                                     "  %tbs = lshr i32 %tb, 1\n"
                                     "  %tcs = shl i32 %tc, 2\n"
                                     "  %tab = or i32 %ta, %tbs\n"
                                     "  %nv.t = or i32 %tab, %tcs\n";

/* Threads of a group of several dimensions. Numbers are below 1025, so that the rounded quotient
 * of floats is exact: (t + 1/2) / n is 1/(2 n) away from an integer at least. */
static const char positions[] = "start:\n"
                                "  %first = and i32 %nv.t, -32\n"
                                "  %left = sub i32 %nv.count, %first\n"
                                "  %whole = icmp uge i32 %left, 32\n"
                                "  %shift = and i32 %left, 31\n"
                                "  %one = shl i32 1, %shift\n"
                                "  %some = sub i32 %one, 1\n"
                                "  %rest = and i32 %nv.count, 31\n"
                                "  %nv.whole = icmp eq i32 %rest, 0\n"
                                "  %nv.present = select i1 %whole, i32 -1, i32 %some\n"
                                "  %fl1 = and i32 %flags, 2\n"
                                "  %linear = icmp ne i32 %fl1, 0\n"
                                "  br i1 %linear, label %placed, label %split\n"
                                "split:\n"
                                "  %tf = uitofp i32 %nv.t to float\n"
                                "  %th = fadd float %tf, 5.0e-1\n"
                                "  %s0f = uitofp i32 %nv.size.0 to float\n"
                                "  %s0r = call float @llvm.nvvm.rcp.approx.ftz.f(float %s0f)\n"
                                "  %qf = fmul float %th, %s0r\n"
                                "  %q = fptoui float %qf to i32\n"
                                "  %qs = mul i32 %q, %nv.size.0\n"
                                "  %sx = sub i32 %nv.t, %qs\n"
                                "  %qf2 = uitofp i32 %q to float\n"
                                "  %qh = fadd float %qf2, 5.0e-1\n"
                                "  %s1f = uitofp i32 %nv.size.1 to float\n"
                                "  %s1r = call float @llvm.nvvm.rcp.approx.ftz.f(float %s1f)\n"
                                "  %zf = fmul float %qh, %s1r\n"
                                "  %sz = fptoui float %zf to i32\n"
                                "  %zs = mul i32 %sz, %nv.size.1\n"
                                "  %sy = sub i32 %q, %zs\n"
                                "  br label %placed\n"
                                "placed:\n"
                                "  %nv.x = phi i32 [ %nv.t, %start ], [ %sx, %split ]\n"
                                "  %nv.y = phi i32 [ 0, %start ], [ %sy, %split ]\n"
                                "  %nv.z = phi i32 [ 0, %start ], [ %sz, %split ]\n";

static void write_word(struct ig_text *out, const char *name, unsigned at) {
    ig_text_printf(out,
                   "  %%%s_at = getelementptr i8, ptr addrspace(101) %%nv.b, i64 %u\n"
                   "  %%%s = load i32, ptr addrspace(101) %%%s_at, align 4, !invariant.load "
                   "!90000\n",
                   name, at, name, name);
}

/* The threadgroup's position. Few grids have more rows than the hardware counts: they come in
 * parts, each with its first row. */
static void write_group_position(struct ig_text *out, unsigned d) {
    if (!d) {
        ig_text_puts(out, "  %nv.group.0 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n");
        return;
    }
    char name[8];
    snprintf(name, sizeof name, "f%u", d);
    write_word(out, name, (unsigned)offsetof(struct ingot_cuda_launch, first) + 4 * (d - 1));
    ig_text_printf(out,
                   "  %%c%u = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.%c()\n"
                   "  %%nv.group.%u = add i32 %%c%u, %%f%u\n",
                   d, "xyz"[d], d, d, d);
}

static void write_sizes(struct ig_text *out) {
    for (unsigned d = 0; d < 3; d++) {
        char name[8];
        write_group_position(out, d);
        snprintf(name, sizeof name, "n%u", d);
        write_word(out, name, 4 * d);
        snprintf(name, sizeof name, "g%u", d);
        write_word(out, name, 12 + 4 * d);
        ig_text_printf(out,
                       "  %%o%u = mul i32 %%nv.group.%u, %%g%u\n"
                       "  %%l%u = sub i32 %%n%u, %%o%u\n"
                       "  %%nv.size.%u = call i32 @llvm.umin.i32(i32 %%g%u, i32 %%l%u)\n",
                       d, d, d, d, d, d, d, d, d);
    }
}

/* Both ways of reading what the kernel wants to know of `constant` references. */
static void write_reads(const struct igc_kernel *k, struct ig_text *out) {
    const struct igc_reflection *r = k->reflection;
    ig_text_puts(out, "  %fl0 = and i32 %flags, 1\n"
                      "  %near = icmp ne i32 %fl0, 0\n"
                      "  br i1 %near, label %inline, label %elsewhere\n"
                      "inline:\n");
    for (unsigned i = 0; i < igp_facts(k)->read_count; i++) {
        const struct igp_read *read = &igp_facts(k)->reads[i];
        uint32_t room;
        uint32_t at =
            ingot_cuda_inline_offset(r->arguments, r->argument_count, read->argument, &room);
        char *type = LLVMPrintTypeToString(read->type);
        ig_text_printf(out,
                       "  %%ip%u = getelementptr i8, ptr addrspace(101) %%nv.b, i64 %u\n"
                       "  %%iv%u = load %s, ptr addrspace(101) %%ip%u, align %u, !invariant.load "
                       "!90000\n",
                       i, at + read->offset, i, type, i, read->align);
        LLVMDisposeMessage(type);
    }
    ig_text_puts(out, "  br label %run\nelsewhere:\n");
    for (unsigned i = 0; i < igp_facts(k)->read_count; i++) {
        const struct igp_read *read = &igp_facts(k)->reads[i];
        char *type = LLVMPrintTypeToString(read->type);
        ig_text_printf(out,
                       "  %%ea%u = call ptr @nv.constant(i32 %u)\n"
                       "  %%ep%u = getelementptr i8, ptr %%ea%u, i64 %u\n"
                       "  %%ev%u = load %s, ptr %%ep%u, align %u, !invariant.load !90000\n",
                       i, r->arguments[read->argument].slot, i, i, read->offset, i, type, i,
                       read->align);
        LLVMDisposeMessage(type);
    }
    ig_text_puts(out, "  br label %run\nrun:\n");
    for (unsigned i = 0; i < igp_facts(k)->read_count; i++) {
        char *type = LLVMPrintTypeToString(igp_facts(k)->reads[i].type);
        ig_text_printf(out,
                       "  %%nv.read.%u = phi %s [ %%iv%u, %%inline ], [ %%ev%u, %%elsewhere ]\n", i,
                       type, i, i);
        LLVMDisposeMessage(type);
    }
}

/* Places in threadgroup memory that are not where warpgroup_mma.c wants them are nobody's fault but
 * the host code's. */
static void write_check(const struct igc_kernel *k, struct ig_text *out) {
    const struct igc_reflection *r = k->reflection;
    const uint32_t slots = r->full_threadgroups ? ingot_cuda_slots(r->arguments, r->argument_count,
                                                                   INGOT_ARGUMENT_THREADGROUP)
                                                : 0; /* only panels are used so */
    ig_text_puts(out, "  %places.0 = ptrtoint ptr addrspace(3) @ingot_dynamic to i32\n");
    for (uint32_t i = 0; i < slots; i++) {
        ig_text_printf(out,
                       "  %%place.%u = call i32 @nv.word(i64 %u)\n"
                       "  %%places.%u = or i32 %%places.%u, %%place.%u\n",
                       i, ingot_cuda_threadgroups_at(r->arguments, r->argument_count) + 4 * i,
                       i + 1, i, i);
    }
    ig_text_printf(out,
                   "  %%apart = and i32 %%places.%u, 1023\n"
                   "  %%wrong = icmp ne i32 %%apart, 0\n"
                   "  br i1 %%wrong, label %%misplaced, label %%aligned\n"
                   "misplaced:\n"
                   "  call void asm sideeffect \"trap;\", \"\"()\n"
                   "  unreachable\n"
                   "aligned:\n",
                   slots);
}

static void write_call(const struct igc_kernel *k, struct ig_text *out) {
    ig_text_puts(out, "  call void @nv.body(");
    for (unsigned i = 0; i < LLVMCountParams(k->function); i++) {
        char *type = LLVMPrintTypeToString(LLVMTypeOf(LLVMGetParam(k->function, i)));
        ig_text_printf(out, "%s%s poison", i ? ", " : "", type);
        LLVMDisposeMessage(type);
    }
    ig_text_puts(out, ")\n  br label %exit\nexit:\n  ret void\n}\n");
}

void igp_write_entry(const struct igc_kernel *kernel, struct ig_text *out) {
    const bool waits = igp_target(kernel)->waits_for_kernels;
    const struct igc_reflection *r = kernel->reflection;
    ig_text_printf(out,
                   "define void @" INGOT_CUDA_KERNEL_SYMBOL
                   "(ptr byval([%u x i8]) align 16 %%block) convergent nounwind {\n"
                   "entry:\n"
                   "  %%nv.b = addrspacecast ptr %%block to ptr addrspace(101)\n",
                   ingot_cuda_block_bytes(r->arguments, r->argument_count));
    if (waits) {
        ig_text_puts(out, "  call void asm sideeffect \"" INGOT_CUDA_WAIT ";\", \"~{memory}\"()\n");
    }
    write_sizes(out);
    write_word(out, "flags", 36);
    ig_text_puts(out, "  %nv.rows = mul i32 %nv.size.0, %nv.size.1\n"
                      "  %nv.count = mul i32 %nv.rows, %nv.size.2\n"
                      "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n");
    ig_text_puts(out, igp_facts(kernel)->permuted ? permuted_index : same_index);
    ig_text_puts(out, "  %inside = icmp ult i32 %nv.t, %nv.count\n"
                      "  br i1 %inside, label %start, label %outside\n"
                      "outside:\n" /* at once: barriers do not wait for these threads */
                      "  call void @llvm.nvvm.exit()\n"
                      "  unreachable\n");
    ig_text_puts(out, positions);
    if (igp_facts(kernel)->read_count) {
        write_reads(kernel, out);
    }
    if (igp_facts(kernel)->uses_warpgroup_mma) {
        write_check(kernel, out);
    }
    write_call(kernel, out);
    const bool is_exact = igp_facts(kernel)->uses_warpgroup_mma && r->full_threadgroups;
    /* Told only a limit, ptxas would make room for two threadgroups of that size. */
    ig_text_printf(out, "!nvvm.annotations = !{!90001%s%s%s}\n", is_exact ? ", !90005" : "",
                   r->max_threads < UNLIMITED_THREADS && !is_exact ? ", !90002" : "",
                   r->threads_at_once                   ? ", !90004"
                   : r->max_threads < UNLIMITED_THREADS ? ", !90003"
                                                        : "");
    ig_text_printf(out,
                   "!90001 = !{ptr @" INGOT_CUDA_KERNEL_SYMBOL ", !\"kernel\", i32 1}\n"
                   "!90002 = !{ptr @" INGOT_CUDA_KERNEL_SYMBOL ", !\"maxntidx\", i32 %u}\n"
                   "!90003 = !{ptr @" INGOT_CUDA_KERNEL_SYMBOL ", !\"minctasm\", i32 1}\n"
                   "!90004 = !{ptr @" INGOT_CUDA_KERNEL_SYMBOL ", !\"maxnreg\", i32 %u}\n"
                   "!90005 = !{ptr @" INGOT_CUDA_KERNEL_SYMBOL ", !\"reqntidx\", i32 %u}\n",
                   r->max_threads, registers_for(r->threads_at_once), r->max_threads);
}
