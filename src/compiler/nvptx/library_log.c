/*
 * Messages of kernels, as LLVM IR: a record in the module's log (base/cuda_abi.h), with the
 * format's text, since the host cannot follow its address.
 */
#include <string.h>

#include "compiler/nvptx/nvptx.h"

static const char record[] =
    "@nv.nothing = internal addrspace(0) constant [1 x i8] zeroinitializer, align 8\n"
    "define internal void @nv.record(i32 %level, ptr %format, i32 %count, ptr %args) alwaysinline "
    "nounwind {\n"
    "entry:\n"
    "  %now = load volatile i32, ptr addrspace(1) @" INGOT_CUDA_LOG_SYMBOL ", align 16\n"
    "  %full = icmp uge i32 %now, %room\n"
    "  br i1 %full, label %lost, label %measure\n"
    "measure:\n"
    "  %n = phi i32 [ 0, %entry ], [ %n1, %measure ]\n"
    "  %nw = zext i32 %n to i64\n"
    "  %np = getelementptr i8, ptr %format, i64 %nw\n"
    "  %nc = load i8, ptr %np, align 1\n"
    "  %n1 = add i32 %n, 1\n"
    "  %last = icmp eq i8 %nc, 0\n"
    "  br i1 %last, label %reserve, label %measure\n"
    "reserve:\n"
    "  %slots = shl i32 %count, 3\n"
    "  %n7 = add i32 %n, 7\n"
    "  %padded = and i32 %n7, -8\n"
    "  %s16 = add i32 %slots, 16\n"
    "  %size = add i32 %s16, %padded\n"
    /* the first record finds 0 and steps over the log's own header */
    "  %before = atomicrmw add ptr addrspace(1) @" INGOT_CUDA_LOG_SYMBOL ", i32 %size monotonic, "
    "align 4\n"
    "  %at = add i32 %before, 16\n"
    "  %end = add i32 %at, %size\n"
    "  %fits = icmp ule i32 %end, %room\n"
    "  br i1 %fits, label %write, label %lost\n"
    "lost:\n"
    "  %lp = getelementptr i8, ptr addrspace(1) @" INGOT_CUDA_LOG_SYMBOL ", i64 4\n"
    "  %old = atomicrmw add ptr addrspace(1) %lp, i32 1 monotonic, align 4\n"
    "  ret void\n"
    "write:\n"
    "  %atw = zext i32 %at to i64\n"
    "  %r = getelementptr i8, ptr addrspace(1) @" INGOT_CUDA_LOG_SYMBOL ", i64 %atw\n"
    "  store i32 %size, ptr addrspace(1) %r, align 8\n"
    "  %r1 = getelementptr i8, ptr addrspace(1) %r, i64 4\n"
    "  store i32 %level, ptr addrspace(1) %r1, align 4\n"
    "  %r2 = getelementptr i8, ptr addrspace(1) %r, i64 8\n"
    "  store i32 %count, ptr addrspace(1) %r2, align 8\n"
    "  %r3 = getelementptr i8, ptr addrspace(1) %r, i64 12\n"
    "  store i32 %n, ptr addrspace(1) %r3, align 4\n"
    "  %r4 = getelementptr i8, ptr addrspace(1) %r, i64 16\n"
    "  br label %slot\n"
    "slot:\n"
    "  %i = phi i32 [ 0, %write ], [ %i1, %put ]\n"
    "  %more = icmp ult i32 %i, %count\n"
    "  br i1 %more, label %put, label %text\n"
    "put:\n"
    "  %iw = zext i32 %i to i64\n"
    "  %from = getelementptr i64, ptr %args, i64 %iw\n"
    "  %v = load i64, ptr %from, align 8\n"
    "  %to = getelementptr i64, ptr addrspace(1) %r4, i64 %iw\n"
    "  store i64 %v, ptr addrspace(1) %to, align 8\n"
    "  %i1 = add i32 %i, 1\n"
    "  br label %slot\n"
    "text:\n"
    "  %slotw = zext i32 %slots to i64\n"
    "  %r5 = getelementptr i8, ptr addrspace(1) %r4, i64 %slotw\n"
    "  br label %letter\n"
    "letter:\n"
    "  %k = phi i32 [ 0, %text ], [ %k1, %copy ]\n"
    "  %left = icmp ult i32 %k, %n\n"
    "  br i1 %left, label %copy, label %done\n"
    "copy:\n"
    "  %kw = zext i32 %k to i64\n"
    "  %cf = getelementptr i8, ptr %format, i64 %kw\n"
    "  %c = load i8, ptr %cf, align 1\n"
    "  %ct = getelementptr i8, ptr addrspace(1) %r5, i64 %kw\n"
    "  store i8 %c, ptr addrspace(1) %ct, align 1\n"
    "  %k1 = add i32 %k, 1\n"
    "  br label %letter\n"
    "done:\n"
    "  ret void\n}\n";

/* `%room` stands for the size of the log in the text above. */
void igp_write_log(struct ig_text *out) {
    ig_text_printf(out,
                   "@" INGOT_CUDA_LOG_SYMBOL
                   " = addrspace(1) externally_initialized global [%u x i8] zeroinitializer, align "
                   "16\n",
                   INGOT_CUDA_LOG_BYTES);
    for (const char *c = record; *c;) {
        if (!strncmp(c, "%room", 5)) {
            ig_text_printf(out, "%u", INGOT_CUDA_LOG_BYTES);
            c += 5;
        } else {
            ig_text_append(out, c++, 1);
        }
    }
}
