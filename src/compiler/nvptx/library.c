/*
 * The built-ins of prelude/ingot_builtins.h for NVIDIA GPUs, as LLVM IR: arguments, positions,
 * synchronisation, tiles in memory. What passes between lanes is in library_lanes.c.
 *
 * Functions named nv.b (the parameter block), nv.t (the thread's index in its threadgroup), nv.x,
 * nv.y, nv.z, nv.group.D, nv.size.D, nv.count, nv.present, nv.whole and nv.read.N have no body:
 * they stand for values of the entry point (entry.c), which nvptx.c puts in their place once all is
 * inlined.
 */
#include <stddef.h>
#include <string.h>

#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

#define INLINE     "alwaysinline nounwind"
#define TEXT(x)    #x
#define TEXT_OF(x) TEXT(x)
#define LANES      "convergent alwaysinline nounwind"

/* ---- what the others are written with ---- */
static const char common[] =
    "declare ptr addrspace(101) @nv.b() memory(none) nounwind willreturn\n"
    "declare i32 @nv.t() memory(none) nounwind willreturn\n"
    "declare i32 @nv.x() memory(none) nounwind willreturn\n"
    "declare i32 @nv.y() memory(none) nounwind willreturn\n"
    "declare i32 @nv.z() memory(none) nounwind willreturn\n"
    "declare i32 @nv.group.0() memory(none) nounwind willreturn\n"
    "declare i32 @nv.group.1() memory(none) nounwind willreturn\n"
    "declare i32 @nv.group.2() memory(none) nounwind willreturn\n"
    "declare i32 @nv.size.0() memory(none) nounwind willreturn\n"
    "declare i32 @nv.size.1() memory(none) nounwind willreturn\n"
    "declare i32 @nv.size.2() memory(none) nounwind willreturn\n"
    "declare i32 @nv.count() memory(none) nounwind willreturn\n"
    "declare i32 @nv.present() memory(none) nounwind willreturn\n"
    "declare i1 @nv.whole() memory(none) nounwind willreturn\n"
    "declare ptr addrspace(1) @nv.staying(ptr addrspace(1)) memory(none) nounwind willreturn\n"
    "!ingot.empty = !{!90000}\n"
    "!90000 = !{}\n"
    "define internal i32 @nv.word(i64 %at) " INLINE " {\n"
    "  %b = call ptr addrspace(101) @nv.b()\n"
    "  %p = getelementptr i8, ptr addrspace(101) %b, i64 %at\n"
    "  %v = load i32, ptr addrspace(101) %p, align 4, !invariant.load !90000\n"
    "  ret i32 %v\n}\n"
    /* one of three words */
    "define internal i32 @nv.word3(i64 %at, i32 %dim) " INLINE " {\n"
    "  %d = zext i32 %dim to i64\n"
    "  %o = shl i64 %d, 2\n"
    "  %w = add i64 %at, %o\n"
    "  %v = call i32 @nv.word(i64 %w)\n"
    "  ret i32 %v\n}\n"
    "define internal i32 @nv.pick(i32 %d, i32 %x, i32 %y, i32 %z) " INLINE " {\n"
    "  %is0 = icmp eq i32 %d, 0\n"
    "  %is1 = icmp eq i32 %d, 1\n"
    "  %yz = select i1 %is1, i32 %y, i32 %z\n"
    "  %v = select i1 %is0, i32 %x, i32 %yz\n"
    "  ret i32 %v\n}\n"
    "define internal i32 @nv.ctaid(i32 %d) " INLINE " {\n"
    "  %x = call i32 @nv.group.0()\n"
    "  %y = call i32 @nv.group.1()\n"
    "  %z = call i32 @nv.group.2()\n"
    "  %v = call i32 @nv.pick(i32 %d, i32 %x, i32 %y, i32 %z)\n"
    "  ret i32 %v\n}\n"
    "define internal i32 @nv.lane() " INLINE " {\n"
    "  %t = call i32 @nv.t()\n"
    "  %l = and i32 %t, 31\n"
    "  ret i32 %l\n}\n";

/* Lanes as Metal numbers them, and the hardware's: see matrix.c. */
static const char same_lanes[] =
    "define internal i32 @nv.hw(i32 %m) " INLINE " {\n  ret i32 %m\n}\n"
    "define internal i32 @nv.metal_mask(i32 %h) " INLINE " {\n  ret i32 %h\n}\n";
static const char permuted_lanes[] =
    "define internal i32 @nv.hw(i32 %m) " INLINE " {\n"
    "  %a = and i32 %m, 17\n"
    "  %b = and i32 %m, 6\n"
    "  %c = and i32 %m, 8\n"
    "  %bs = shl i32 %b, 1\n"
    "  %cs = lshr i32 %c, 2\n"
    "  %ab = or i32 %a, %bs\n"
    "  %h = or i32 %ab, %cs\n"
    "  ret i32 %h\n}\n"
    "define internal i32 @nv.swap(i32 %x, i32 %by, i32 %which) " INLINE " {\n"
    "  %s = lshr i32 %x, %by\n"
    "  %d = xor i32 %s, %x\n"
    "  %t = and i32 %d, %which\n"
    "  %u = shl i32 %t, %by\n"
    "  %v = xor i32 %t, %u\n"
    "  %r = xor i32 %x, %v\n"
    "  ret i32 %r\n}\n"
    "define internal i32 @nv.metal_mask(i32 %h) " INLINE " {\n"
    "  %a = call i32 @nv.swap(i32 %h, i32 2, i32 202116108)\n"
    "  %b = call i32 @nv.swap(i32 %a, i32 4, i32 15728880)\n"
    "  ret i32 %b\n}\n";

/* ---- arguments ---- */
static void write_arguments(const struct igc_kernel *k, struct ig_text *out) {
    const struct igc_reflection *r = k->reflection;
    ig_text_printf(out,
                   "define internal i64 @nv.address(i32 %%slot) " INLINE " {\n"
                   "  %%b = call ptr addrspace(101) @nv.b()\n"
                   "  %%s = zext i32 %%slot to i64\n"
                   "  %%o = shl i64 %%s, 3\n"
                   "  %%w = add i64 %%o, %u\n"
                   "  %%p = getelementptr i8, ptr addrspace(101) %%b, i64 %%w\n"
                   "  %%v = load i64, ptr addrspace(101) %%p, align 8, !invariant.load !90000\n"
                   "  ret i64 %%v\n}\n",
                   ingot_cuda_buffers_at());
    ig_text_puts(out, "define internal ptr addrspace(1) @nv.buffer(i32 %slot) " INLINE " {\n"
                      "  %v = call i64 @nv.address(i32 %slot)\n"
                      "  %p = inttoptr i64 %v to ptr addrspace(1)\n"
                      "  ret ptr addrspace(1) %p\n}\n"
                      "define internal ptr @nv.constant_buffer(i32 %slot) " INLINE " {\n"
                      "  %p = call ptr addrspace(1) @nv.buffer(i32 %slot)\n"
                      "  %g = addrspacecast ptr addrspace(1) %p to ptr\n"
                      "  ret ptr %g\n}\n"
                      /* bytes of the block, or a buffer */
                      "define internal ptr @nv.constant(i32 %slot) " INLINE " {\n"
                      "  %v = call i64 @nv.address(i32 %slot)\n"
                      "  %here = icmp ult i64 %v, 65536\n"
                      "  %base = call i64 asm \"cvta.param.u64 $0, " INGOT_CUDA_KERNEL_SYMBOL
                      "_param_0;\", \"=l\"()\n"
                      "  %in = add i64 %base, %v\n"
                      "  %at = select i1 %here, i64 %in, i64 %v\n"
                      "  %p = inttoptr i64 %at to ptr\n"
                      "  ret ptr %p\n}\n");
    ig_text_printf(out,
                   "define internal ptr addrspace(3) @nv.threadgroup(i32 %%slot) " INLINE " {\n"
                   "  %%s = zext i32 %%slot to i64\n"
                   "  %%o = shl i64 %%s, 2\n"
                   "  %%w = add i64 %%o, %u\n"
                   "  %%v = call i32 @nv.word(i64 %%w)\n"
                   "  %%p = getelementptr i8, ptr addrspace(3) @ingot_dynamic, i32 %%v\n"
                   "  ret ptr addrspace(3) %%p\n}\n",
                   ingot_cuda_threadgroups_at(r->arguments, r->argument_count));
}

/* ---- positions ---- */
#define WORD3(field) "  %v = call i32 @nv.word3(i64 " field ", i32 %d)\n  ret i32 %v\n"
#define THREADS      "0"
#define GROUP        "12"
#define GROUPS       "24"
_Static_assert(offsetof(struct ingot_cuda_launch, group) == 12, "GROUP");
_Static_assert(offsetof(struct ingot_cuda_launch, groups) == 24, "GROUPS");
_Static_assert(offsetof(struct ingot_cuda_launch, flags) == 36, "flags, in entry.c");
_Static_assert(offsetof(struct ingot_cuda_launch, zero) == 40, "the zero of __ingot_never");

#define POSITION                                                                                   \
    "  %x = call i32 @nv.x()\n"                                                                    \
    "  %y = call i32 @nv.y()\n"                                                                    \
    "  %z = call i32 @nv.z()\n"                                                                    \
    "  %p = call i32 @nv.pick(i32 %d, i32 %x, i32 %y, i32 %z)\n"

/* Barriers of a SIMD-group; what follows is those of a threadgroup. */
#define BARRIER_HEAD(mask)                                                                         \
    "  %s = icmp eq i32 %scope, 1\n"                                                               \
    "  br i1 %s, label %simd, label %group\n"                                                      \
    "simd:\n"                                                                                      \
    "  call void @llvm.nvvm.bar.warp.sync(i32 " mask ")\n"                                         \
    "  ret void\n"                                                                                 \
    "group:\n"

/* The heads are printed with one %s, the name. */
struct text {
    const char *head, *body;
};
static const struct text texts[IGI_BUILTIN_COUNT] = {
    [IGI_thread_position_in_threadgroup] = {"i32 @%s(i32 %%d) " INLINE, POSITION "  ret i32 %p\n"},
    [IGI_thread_position_in_grid] = {"i32 @%s(i32 %%d) " INLINE,
                                     POSITION "  %c = call i32 @nv.ctaid(i32 %d)\n"
                                              "  %g = call i32 @nv.word3(i64 " GROUP ", i32 %d)\n"
                                              "  %o = mul i32 %c, %g\n"
                                              "  %v = add i32 %o, %p\n"
                                              "  ret i32 %v\n"},
    [IGI_threadgroup_position_in_grid] = {"i32 @%s(i32 %%d) " INLINE,
                                          "  %v = call i32 @nv.ctaid(i32 %d)\n  ret i32 %v\n"},
    [IGI_threads_per_threadgroup] = {"i32 @%s(i32 %%d) " INLINE,
                                     "  %x = call i32 @nv.size.0()\n"
                                     "  %y = call i32 @nv.size.1()\n"
                                     "  %z = call i32 @nv.size.2()\n"
                                     "  %v = call i32 @nv.pick(i32 %d, i32 %x, i32 %y, i32 %z)\n"
                                     "  ret i32 %v\n"},
    [IGI_dispatch_threads_per_threadgroup] = {"i32 @%s(i32 %%d) " INLINE, WORD3(GROUP)},
    [IGI_threads_per_grid] = {"i32 @%s(i32 %%d) " INLINE, WORD3(THREADS)},
    [IGI_threadgroups_per_grid] = {"i32 @%s(i32 %%d) " INLINE, WORD3(GROUPS)},
    [IGI_thread_index_in_threadgroup] = {"i32 @%s() " INLINE,
                                         "  %v = call i32 @nv.t()\n  ret i32 %v\n"},
    [IGI_thread_index_in_simdgroup] = {"i32 @%s() " INLINE,
                                       "  %v = call i32 @nv.lane()\n  ret i32 %v\n"},
    [IGI_simdgroup_index_in_threadgroup] =
        {"i32 @%s() " INLINE, "  %t = call i32 @nv.t()\n  %v = lshr i32 %t, 5\n  ret i32 %v\n"},
    [IGI_simdgroups_per_threadgroup] = {"i32 @%s() " INLINE, "  %n = call i32 @nv.count()\n"
                                                             "  %m = add i32 %n, 31\n"
                                                             "  %v = lshr i32 %m, 5\n"
                                                             "  ret i32 %v\n"},
    [IGI_dispatch_simdgroups_per_threadgroup] =
        {"i32 @%s() " INLINE, "  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n"
                              "  %m = add i32 %n, 31\n"
                              "  %v = lshr i32 %m, 5\n"
                              "  ret i32 %v\n"},
    [IGI_barrier] = {"void @%s(i32 %%scope, i32 %%flags) " LANES,
                     BARRIER_HEAD("-1") "  call void @llvm.nvvm.barrier0()\n"
                                        "  ret void\n"},
    /* those that notice who is missing: barriers.c */
    [IGI_barrier_counted] = {"void @%s(i32 %%scope, i32 %%flags) " LANES,
                             BARRIER_HEAD("-1") "  %m = call i32 @nv.present()\n"
                                                "  call void @nv.arrive(i32 %m)\n"
                                                "  ret void\n"},
    /* order 0 is relaxed; scopes: 2 device, 3 system, the others within the threadgroup */
    [IGI_fence] = {"void @%s(i32 %%flags, i32 %%order, i32 %%scope) " INLINE,
                   "  %relaxed = icmp eq i32 %order, 0\n"
                   "  br i1 %relaxed, label %done, label %real\n"
                   "real:\n"
                   "  %a = icmp eq i32 %scope, 2\n"
                   "  br i1 %a, label %device, label %other\n"
                   "other:\n"
                   "  %b = icmp eq i32 %scope, 3\n"
                   "  br i1 %b, label %system, label %group\n"
                   "device:\n"
                   "  call void @llvm.nvvm.membar.gl()\n"
                   "  ret void\n"
                   "system:\n"
                   "  call void @llvm.nvvm.membar.sys()\n"
                   "  ret void\n"
                   "group:\n"
                   "  call void @llvm.nvvm.membar.cta()\n"
                   "  ret void\n"
                   "done:\n"
                   "  ret void\n"},
    [IGI_bfloat_of_sum] = {"i16 @%s(float %%x) " INLINE, "  %h = fptrunc float %x to bfloat\n"
                                                         "  %r = bitcast bfloat %h to i16\n"
                                                         "  ret i16 %r\n"},
    [IGI_stream_b32] = {"void @%s(i32 %%x, ptr addrspace(1) %%p, i32 %%past) " INLINE,
                        "  store i32 %x, ptr addrspace(1) %p, align 4\n  ret void\n"},
    [IGI_stream_b16] = {"void @%s(i16 %%x, ptr addrspace(1) %%p, i32 %%past) " INLINE,
                        "  store i16 %x, ptr addrspace(1) %p, align 2\n  ret void\n"},
    [IGI_prefetch] = {"void @%s(ptr addrspace(1) %%p) " INLINE, "  ret void\n"},
    [IGI_streaming] = {"void @%s() " INLINE, "  ret void\n"},
    [IGI_has_panels] = {"i1 @%s(i32 %%threads, i32 %%bytes) " INLINE,
                        "  %f = call i32 @nv.word(i64 36)\n"
                        "  %p = and i32 %f, " TEXT_OF(
                            INGOT_CUDA_PANELS) "\n"
                                               "  %there = icmp ne i32 %p, 0\n"
                                               "  %n = call i32 @nv.count()\n"
                                               "  %whole = icmp eq i32 %n, %threads\n"
                                               "  %r = and i1 %there, %whole\n"
                                               "  ret i1 %r\n"},
    [IGI_panel] = {"ptr addrspace(3) @%s(i32 %%offset, i32 %%threads) " INLINE,
                   "  %f = call i32 @nv.word(i64 36)\n"
                   "  %base = and i32 %f, -1024\n"
                   "  %at = add i32 %base, %offset\n"
                   "  %p = getelementptr i8, ptr addrspace(3) @ingot_dynamic, i32 %at\n"
                   "  ret ptr addrspace(3) %p\n"},
    /* the pointer itself, which LLVM does not know: see cache_hints.c */
    [IGI_staying] = {"ptr addrspace(1) @%s(ptr addrspace(1) %%p) " INLINE,
                     "  %q = call ptr addrspace(1) @nv.staying(ptr addrspace(1) %p)\n"
                     "  ret ptr addrspace(1) %q\n"},
    [IGI_log] =
        {"void @%s(i32 %%level, ptr %%format, i32 %%count, ptr %%args) " INLINE,
         "  call void @nv.record(i32 %level, ptr %format, i32 %count, ptr %args)\n  ret void\n"},
    [IGI_too_deep] = {"void @%s(i32 %%levels) " INLINE,
                      "  %args = alloca i64, align 8\n"
                      "  %w = zext i32 %levels to i64\n"
                      "  store i64 %w, ptr %args, align 8\n"
                      "  call void @nv.record(i32 -1, ptr @nv.nothing, i32 1, ptr %args)\n"
                      "  call void asm sideeffect \"exit;\", \"\"()\n"
                      "  ret void\n"},
    [IGI_trap] = {"void @%s() " INLINE,
                  "  call void @nv.record(i32 -1, ptr @nv.nothing, i32 0, ptr null)\n"
                  "  call void asm sideeffect \"exit;\", \"\"()\n"
                  "  ret void\n"},
    [IGI_nv_vote] = {"i32 @%s(i32 %%m, i1 %%p) " LANES,
                     "  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 %m, i1 %p)\n  ret i32 %b\n"},
    /* false, but ptxas does not know: edges with this condition hold code in its loop */
    [IGI_never] = {"i1 @%s() " INLINE, "  %z = call i32 @nv.word(i64 40)\n"
                                       "  %v = icmp ne i32 %z, 0\n"
                                       "  ret i1 %v\n"},
};
/* With a mask of the lanes that are there. */
static const struct text texts_of_some[IGI_BUILTIN_COUNT] = {
    [IGI_barrier] = {"void @%s(i32 %%scope, i32 %%flags, i32 %%m) " LANES,
                     BARRIER_HEAD("%m") "  call void @llvm.nvvm.barrier.sync(i32 0)\n"
                                        "  ret void\n"},
    [IGI_barrier_counted] = {"void @%s(i32 %%scope, i32 %%flags, i32 %%m) " LANES,
                             BARRIER_HEAD("%m") "  %l = call i32 @nv.metal_mask(i32 %m)\n"
                                                "  call void @nv.arrive(i32 %l)\n"
                                                "  ret void\n"},
};

/* ---- tiles in memory: two elements per lane, in Apple's layout ---- */
static const char tile_place[] =
    "define internal i64 @nv.tile(i64 %stride, i1 %transpose) " INLINE " {\n"
    "  %l = call i32 @nv.lane()\n"
    "  %r2 = lshr i32 %l, 2\n"
    "  %r2b = and i32 %r2, 4\n"
    "  %r1 = lshr i32 %l, 1\n"
    "  %r1b = and i32 %r1, 3\n"
    "  %row = or i32 %r2b, %r1b\n"
    "  %c2 = lshr i32 %l, 1\n"
    "  %c2b = and i32 %c2, 4\n"
    "  %c1 = shl i32 %l, 1\n"
    "  %c1b = and i32 %c1, 2\n"
    "  %column = or i32 %c2b, %c1b\n"
    "  %far = select i1 %transpose, i32 %column, i32 %row\n"
    "  %near = select i1 %transpose, i32 %row, i32 %column\n"
    "  %farw = zext i32 %far to i64\n"
    "  %nearw = zext i32 %near to i64\n"
    "  %o = mul i64 %farw, %stride\n"
    "  %v = add i64 %o, %nearw\n"
    "  ret i64 %v\n}\n";

/* The second element is beside the first, or below it when the tile is transposed. */
static void write_tile(const struct igc_kernel *k, const struct igp_function *f,
                       struct ig_text *out) {
    (void)k;
    const char *name = f->text;
    const enum igi_builtin builtin = f->name.builtin;
    const enum igi_family family = igi_facts(builtin)->family;
    const bool loads = family == IGI_FAMILY_LOAD_DEVICE || family == IGI_FAMILY_LOAD_THREADGROUP;
    const bool device = family == IGI_FAMILY_LOAD_DEVICE || family == IGI_FAMILY_STORE_DEVICE;
    const unsigned space = device ? INGOT_SPACE_DEVICE : INGOT_SPACE_THREADGROUP;
    const bool narrow =
        builtin == IGI_simdgroup_load_device_b16 || builtin == IGI_simdgroup_load_threadgroup_b16 ||
        builtin == IGI_simdgroup_store_device_b16 || builtin == IGI_simdgroup_store_threadgroup_b16;
    const bool bytes =
        builtin == IGI_simdgroup_load_device_b8 || builtin == IGI_simdgroup_load_threadgroup_b8;
    const unsigned bits = bytes ? 8 : narrow ? 16 : 32;
    if (loads) {
        ig_text_printf(out,
                       "define internal i%u @%s(ptr addrspace(%u) %%p, i64 %%stride, i1 %%t, i32 "
                       "%%which) " INLINE " {\n"
                       "  %%at = call i64 @nv.tile(i64 %%stride, i1 %%t)\n"
                       "  %%w = zext i32 %%which to i64\n"
                       "  %%s = select i1 %%t, i64 %%stride, i64 1\n"
                       "  %%ws = mul i64 %%w, %%s\n"
                       "  %%q = getelementptr i%u, ptr addrspace(%u) %%p, i64 %%at\n"
                       "  %%e = getelementptr i%u, ptr addrspace(%u) %%q, i64 %%ws\n"
                       "  %%v = load i%u, ptr addrspace(%u) %%e, align %u\n"
                       "  ret i%u %%v\n}\n",
                       bits, name, space, bits, space, bits, space, bits, space, bits / 8, bits);
        return;
    }
    ig_text_printf(out,
                   "define internal void @%s(ptr addrspace(%u) %%p, i64 %%stride, i1 %%t, i%u "
                   "%%e0, i%u %%e1) " INLINE " {\n"
                   "  %%at = call i64 @nv.tile(i64 %%stride, i1 %%t)\n"
                   "  %%s = select i1 %%t, i64 %%stride, i64 1\n"
                   "  %%q = getelementptr i%u, ptr addrspace(%u) %%p, i64 %%at\n"
                   "  %%r = getelementptr i%u, ptr addrspace(%u) %%q, i64 %%s\n"
                   "  store i%u %%e0, ptr addrspace(%u) %%q, align %u\n"
                   "  store i%u %%e1, ptr addrspace(%u) %%r, align %u\n"
                   "  ret void\n}\n",
                   name, space, bits, bits, bits, space, bits, space, bits, space, bits / 8, bits,
                   space, bits / 8);
}

/* Rows lie two by two. */
static void write_tile_pairs(const struct igc_kernel *k, const struct igp_function *f,
                             struct ig_text *out) {
    (void)k;
    const bool device = igi_facts(f->name.builtin)->family == IGI_FAMILY_LOAD_DEVICE;
    const unsigned space = device ? INGOT_SPACE_DEVICE : INGOT_SPACE_THREADGROUP;
    ig_text_printf(out,
                   "define internal i16 @%s(ptr addrspace(%u) %%p, i64 %%stride, i1 %%t, i32 "
                   "%%which) " INLINE " {\n"
                   "  %%place = call i64 @nv.tile(i64 8, i1 %%t)\n"
                   "  %%pair = lshr i64 %%place, 4\n"
                   "  %%far = mul i64 %%pair, %%stride\n"
                   "  %%near = and i64 %%place, 7\n"
                   "  %%words = shl i64 %%near, 1\n"
                   "  %%row = lshr i64 %%place, 3\n"
                   "  %%odd = and i64 %%row, 1\n"
                   "  %%w = zext i32 %%which to i64\n"
                   "  %%step = select i1 %%t, i64 1, i64 2\n"
                   "  %%ws = mul i64 %%w, %%step\n"
                   "  %%a = add i64 %%far, %%words\n"
                   "  %%b = add i64 %%odd, %%ws\n"
                   "  %%at = add i64 %%a, %%b\n"
                   "  %%e = getelementptr i16, ptr addrspace(%u) %%p, i64 %%at\n"
                   "  %%v = load i16, ptr addrspace(%u) %%e, align 2\n"
                   "  ret i16 %%v\n}\n",
                   f->text, space, space, space);
}

/* ---- all of it ---- */
/* What was written before a barrier of the threadgroup is what the matrix units see after it. */
static void write_body(const struct igc_kernel *k, enum igi_builtin builtin, const char *body,
                       struct ig_text *out) {
    static const char label[] = "group:\n";
    const bool fences = igp_facts(k)->uses_warpgroup_mma && igi_facts(builtin)->flags & IGI_BARRIER;
    const char *group = fences ? strstr(body, label) : NULL;
    if (group) {
        group += sizeof label - 1;
        ig_text_append(out, body, (size_t)(group - body));
        ig_text_puts(out, "  call void asm sideeffect \"fence.proxy.async.shared::cta;\", "
                          "\"~{memory}\"()\n");
        body = group;
    }
    ig_text_puts(out, body);
}

static void write_text(const struct igc_kernel *k, const struct igp_function *f,
                       struct ig_text *out) {
    const struct text *text = &(f->name.words & IGI_SOME ? texts_of_some : texts)[f->name.builtin];
    if (!text->head) {
        return; /* LLVM then says that nobody has defined it */
    }
    ig_text_puts(out, "define internal ");
    for (const char *c = text->head; *c; c++) {
        if (c[0] == '%' && c[1] == 's') {
            ig_text_puts(out, f->text);
            c++;
        } else if (c[0] == '%' && c[1] == '%') {
            ig_text_puts(out, "%");
            c++;
        } else {
            ig_text_append(out, c, 1);
        }
    }
    ig_text_puts(out, " {\n");
    write_body(k, f->name.builtin, text->body, out);
    ig_text_puts(out, "}\n");
}

/* What has no body: entry.c has the value. */
static void write_declaration(const struct igc_kernel *k, const struct igp_function *f,
                              struct ig_text *out) {
    (void)k;
    char *type = LLVMPrintTypeToString(LLVMGetReturnType(LLVMGlobalGetValueType(f->function)));
    ig_text_printf(out, "declare %s @%s() memory(none) nounwind willreturn\n", type, f->text);
    LLVMDisposeMessage(type);
}

/* Text that is always there (`common`, write_arguments), or calls that passes have replaced. */
static void write_nothing(const struct igc_kernel *k, const struct igp_function *f,
                          struct ig_text *out) {
    (void)k;
    (void)f;
    (void)out;
}

/* ---- the table of this back end ---- */
#define DEFINITIONS(X)                                                                             \
    X(arg_device, write_nothing)                                                                   \
    X(arg_constant, write_nothing)                                                                 \
    X(arg_threadgroup, write_nothing)                                                              \
    X(thread_position_in_grid, write_text)                                                         \
    X(thread_position_in_threadgroup, write_text)                                                  \
    X(thread_index_in_threadgroup, write_text)                                                     \
    X(thread_index_in_simdgroup, write_text)                                                       \
    X(threadgroup_position_in_grid, write_text)                                                    \
    X(threads_per_threadgroup, write_text)                                                         \
    X(dispatch_threads_per_threadgroup, write_text)                                                \
    X(threads_per_grid, write_text)                                                                \
    X(threadgroups_per_grid, write_text)                                                           \
    X(simdgroup_index_in_threadgroup, write_text)                                                  \
    X(simdgroups_per_threadgroup, write_text)                                                      \
    X(dispatch_simdgroups_per_threadgroup, write_text)                                             \
    X(barrier, write_text)                                                                         \
    X(fence, write_text)                                                                           \
    X(simd_shuffle_b16, igp_write_lanes)                                                           \
    X(simd_shuffle_b32, igp_write_lanes)                                                           \
    X(simd_shuffle_b64, igp_write_lanes)                                                           \
    X(simd_shuffle_f32, igp_write_lanes)                                                           \
    X(simd_ballot, igp_write_lanes)                                                                \
    X(simd_sum_f32, igp_write_lanes)                                                               \
    X(simd_sum_i32, igp_write_lanes)                                                               \
    X(simd_sum_u32, igp_write_lanes)                                                               \
    X(simd_sum_i64, igp_write_lanes)                                                               \
    X(simd_sum_u64, igp_write_lanes)                                                               \
    X(simd_product_f32, igp_write_lanes)                                                           \
    X(simd_product_i32, igp_write_lanes)                                                           \
    X(simd_product_u32, igp_write_lanes)                                                           \
    X(simd_product_i64, igp_write_lanes)                                                           \
    X(simd_product_u64, igp_write_lanes)                                                           \
    X(simd_min_f32, igp_write_lanes)                                                               \
    X(simd_min_i32, igp_write_lanes)                                                               \
    X(simd_min_u32, igp_write_lanes)                                                               \
    X(simd_min_i64, igp_write_lanes)                                                               \
    X(simd_min_u64, igp_write_lanes)                                                               \
    X(simd_max_f32, igp_write_lanes)                                                               \
    X(simd_max_i32, igp_write_lanes)                                                               \
    X(simd_max_u32, igp_write_lanes)                                                               \
    X(simd_max_i64, igp_write_lanes)                                                               \
    X(simd_max_u64, igp_write_lanes)                                                               \
    X(simd_and_u32, igp_write_lanes)                                                               \
    X(simd_or_u32, igp_write_lanes)                                                                \
    X(simd_xor_u32, igp_write_lanes)                                                               \
    X(simd_and_u64, igp_write_lanes)                                                               \
    X(simd_or_u64, igp_write_lanes)                                                                \
    X(simd_xor_u64, igp_write_lanes)                                                               \
    X(simd_prefix_inclusive_sum_f32, igp_write_lanes)                                              \
    X(simd_prefix_inclusive_sum_u32, igp_write_lanes)                                              \
    X(simd_prefix_inclusive_sum_u64, igp_write_lanes)                                              \
    X(simd_prefix_exclusive_sum_f32, igp_write_lanes)                                              \
    X(simd_prefix_exclusive_sum_u32, igp_write_lanes)                                              \
    X(simd_prefix_exclusive_sum_u64, igp_write_lanes)                                              \
    X(simd_prefix_inclusive_product_f32, igp_write_lanes)                                          \
    X(simd_prefix_inclusive_product_u32, igp_write_lanes)                                          \
    X(simd_prefix_inclusive_product_u64, igp_write_lanes)                                          \
    X(simd_prefix_exclusive_product_f32, igp_write_lanes)                                          \
    X(simd_prefix_exclusive_product_u32, igp_write_lanes)                                          \
    X(simd_prefix_exclusive_product_u64, igp_write_lanes)                                          \
    X(simdgroup_mma, write_nothing)                                                                \
    X(simdgroup_load_device_b32, write_tile)                                                       \
    X(simdgroup_load_device_b16, write_tile)                                                       \
    X(simdgroup_load_threadgroup_b32, write_tile)                                                  \
    X(simdgroup_load_threadgroup_b16, write_tile)                                                  \
    X(simdgroup_load_device_b8, write_tile)                                                        \
    X(simdgroup_load_threadgroup_b8, write_tile)                                                   \
    X(simdgroup_load_pairs_device_b16, write_tile_pairs)                                           \
    X(simdgroup_load_pairs_threadgroup_b16, write_tile_pairs)                                      \
    X(simdgroup_store_device_b32, write_tile)                                                      \
    X(simdgroup_store_device_b16, write_tile)                                                      \
    X(simdgroup_store_threadgroup_b32, write_tile)                                                 \
    X(simdgroup_store_threadgroup_b16, write_tile)                                                 \
    X(bfloat_of_sum, write_text)                                                                   \
    X(stream_b32, write_text)                                                                      \
    X(stream_b16, write_text)                                                                      \
    X(prefetch, write_text)                                                                        \
    X(staying, write_text)                                                                         \
    X(streaming, write_text)                                                                       \
    X(has_panels, write_text)                                                                      \
    X(panel, write_text)                                                                           \
    X(log, write_text)                                                                             \
    X(too_deep, write_text)                                                                        \
    X(trap, write_text)                                                                            \
    X(never, write_text)                                                                           \
    X(barrier_counted, write_text)                                                                 \
    X(nv_vote, write_text)                                                                         \
    X(nv_row, igp_write_lanes)                                                                     \
    X(nv_columns, igp_write_lanes)                                                                 \
    X(nv_mma, igp_write_lanes)                                                                     \
    X(nv_turn, igp_write_lanes)                                                                    \
    X(nv_ldmatrix, igp_write_lanes)                                                                \
    X(nv_wgmma, igp_write_wgmma)                                                                   \
    X(nv_wgmma_commit, igp_write_wgmma)                                                            \
    X(nv_wgmma_wait_before, igp_write_wgmma)                                                       \
    X(nv_wgmma_wait_all, igp_write_wgmma)                                                          \
    X(nv_wgmma_wait, igp_write_wgmma)                                                              \
    X(nv_buffer, write_nothing)                                                                    \
    X(nv_constant, write_nothing)                                                                  \
    X(nv_constant_buffer, write_nothing)                                                           \
    X(nv_threadgroup, write_nothing)                                                               \
    X(nv_read, write_declaration)                                                                  \
    X(nv_b, write_nothing)                                                                         \
    X(nv_t, write_nothing)                                                                         \
    X(nv_x, write_nothing)                                                                         \
    X(nv_y, write_nothing)                                                                         \
    X(nv_z, write_nothing)                                                                         \
    X(nv_group, write_nothing)                                                                     \
    X(nv_size, write_nothing)                                                                      \
    X(nv_count, write_nothing)                                                                     \
    X(nv_present, write_nothing)                                                                   \
    X(nv_whole, write_nothing)

static igp_write_fn *const writers[IGI_BUILTIN_COUNT] = {
#define ENTRY(id, write) [IGI_##id] = write,
    DEFINITIONS(ENTRY)
#undef ENTRY
};

bool igp_defines(enum igi_builtin builtin) {
    const bool masked = igi_uses_lanes(igi_facts(builtin));
    if (writers[builtin] == write_text) {
        return texts[builtin].head && (!masked || texts_of_some[builtin].head);
    }
    return writers[builtin] && (writers[builtin] != igp_write_lanes || igp_has_lane_text(builtin));
}

/* A row that the table of built-ins gives to this back end and that is not above does not compile:
 * "nvptx_makes_NAME undeclared". */
enum {
#define MAKES(id, write) nvptx_makes_##id = IGI_##id,
    DEFINITIONS(MAKES)
#undef MAKES
};
#define CHECK(id)      _Static_assert(nvptx_makes_##id, "");
#define CHECK_BOTH(id) CHECK(id)
#define CHECK_CPU(id)
#define CHECK_NVPTX(id) CHECK(id)
#define CHECK_READ(id)
#define CHECK_FOLDED(id)
#define CHECK_PASSES(id)
#define BUILTIN(id, family, memory, lanes, result, maximum, flags, handled, signature)             \
    CHECK_##handled(id)
#define MARKER(id, name, family, memory, lanes, result, flags, handled, suffix, signature)         \
    CHECK_##handled(id)
#include "compiler/ir/builtins.def"

/* How much memory for panels a launch should have, as the size of a variable. */
static void write_panels(const struct igc_kernel *kernel, struct ig_text *out) {
    const uint64_t bytes = igp_panel_bytes(kernel);
    if (bytes) {
        ig_text_printf(
            out,
            "@" INGOT_CUDA_PANELS_SYMBOL
            " = addrspace(1) global [%llu x i8] zeroinitializer, align 1\n",
            (unsigned long long)((bytes + INGOT_CUDA_PANEL_UNIT - 1) / INGOT_CUDA_PANEL_UNIT));
    }
}

/* Dynamic threadgroup memory, the log and the place for failures, where the kernel has them. */
static void write_memory(const struct igc_kernel *kernel, struct ig_text *out) {
    if (!LLVMGetNamedGlobal(kernel->module, "ingot_dynamic")) {
        ig_text_printf(out, "@ingot_dynamic = external addrspace(3) global [0 x i8], align %u\n",
                       igp_facts(kernel)->uses_warpgroup_mma ? 1024 : 16);
    }
    if (igi_find(kernel->module, IGI_log) || igi_find(kernel->module, IGI_too_deep) ||
        igi_find(kernel->module, IGI_trap)) {
        igp_write_log(out);
    }
    igp_write_stop(kernel, out);
    write_panels(kernel, out);
}

void igp_write_library(const struct igc_kernel *kernel, struct ig_text *out) {
    ig_text_puts(out, common);
    write_memory(kernel, out);
    ig_text_puts(out, igp_facts(kernel)->permuted ? permuted_lanes : same_lanes);
    ig_text_puts(out, tile_place);
    write_arguments(kernel, out);
    igi_each_function(f, kernel->module) {
        size_t length;
        const struct igp_function function = {
            .function = f, .text = LLVMGetValueName2(f, &length), .name = igi_name_of_function(f)};
        igp_write_fn *write = writers[function.name.builtin];
        if (write && LLVMIsDeclaration(f) && LLVMGetFirstUse(f)) {
            write(kernel, &function, out);
        }
    }
}
