/*
 * The functions that Metal's library ends in: what the prelude calls and the back ends
 * implement. This is the whole contract between MSL headers and code generation. The table of
 * built-ins, src/compiler/ir/builtins.def, is its source.
 *
 * All take and return scalars (or pointers) by value. In clang's SYCL device mode every
 * function is convergent already. "uniform": the result is the same in all active lanes.
 */
#pragma once

#define __ingot_device      __attribute__((opencl_global))
#define __ingot_threadgroup __attribute__((opencl_local))
#define __ingot_constant    const __attribute__((opencl_global_host))
#define __ingot_pure        __attribute__((const))

typedef unsigned int __ingot_u32;
typedef unsigned long __ingot_u64;

extern "C" {
/* ---- from src/compiler/ir/builtins.def, by tools/language-tables ---- */
/* ---- arguments: `ordinal` counts the kernel's parameters, built-ins included -------- */
/* Reflection. One call per non-built-in parameter at the top of a kernel; all operands are
 * constants, except `active`, which folds to one once function constants have values.
 * index ~0u: implicit numbering. kind: 1 buffer, 2 threadgroup. space: 1, 3, 6.
 * flags: 1 reference, 2 writable. The compiler reads and deletes these calls. */
void __ingot_param(__ingot_u32 ordinal, __ingot_u32 kind, __ingot_u32 space, __ingot_u32 index,
                   __ingot_u64 size, __ingot_u64 align, __ingot_u32 scalar, __ingot_u32 components,
                   __ingot_u32 flags, bool active, const char *name, const char *type);
/* [[max_total_threads_per_threadgroup(n)]]; read and deleted too. */
void __ingot_max_threads(__ingot_u32 count);
/* So many of the kernel's threads should fit a GPU's core at once, which bounds their registers;
 * 0 says nothing. At the top of a kernel; read and deleted too. */
void __ingot_threads_at_once(__ingot_u32 count);
/* The kernel's threadgroups have multiples of 32 threads: what all SIMD-groups reduce alike is then
 * the same in all of them. Anywhere in a kernel; read and deleted too. */
void __ingot_whole_simdgroups(void);
/* The kernel's threadgroups have exactly as many threads as
 * [[max_total_threads_per_threadgroup(n)]] says. Anywhere in a kernel; read and deleted too. */
void __ingot_full_threadgroups(void);
/* The argument's address (uniform). */
__ingot_device char *__ingot_arg_device(__ingot_u32 ordinal) __ingot_pure;
__ingot_constant char *__ingot_arg_constant(__ingot_u32 ordinal) __ingot_pure;
__ingot_threadgroup char *__ingot_arg_threadgroup(__ingot_u32 ordinal) __ingot_pure;

/* ---- positions; dim 0, 1, 2 ---------------------------------------------------------- */
__ingot_u32 __ingot_thread_position_in_grid(__ingot_u32 dim) __ingot_pure;
__ingot_u32 __ingot_thread_position_in_threadgroup(__ingot_u32 dim) __ingot_pure;
__ingot_u32 __ingot_thread_index_in_threadgroup(void) __ingot_pure;
/* The lane: 0 … 31. */
__ingot_u32 __ingot_thread_index_in_simdgroup(void) __ingot_pure;
/* These are uniform. */
__ingot_u32 __ingot_threadgroup_position_in_grid(__ingot_u32 dim) __ingot_pure;
__ingot_u32 __ingot_threads_per_threadgroup(__ingot_u32 dim) __ingot_pure;
__ingot_u32 __ingot_dispatch_threads_per_threadgroup(__ingot_u32 dim) __ingot_pure;
__ingot_u32 __ingot_threads_per_grid(__ingot_u32 dim) __ingot_pure;
__ingot_u32 __ingot_threadgroups_per_grid(__ingot_u32 dim) __ingot_pure;
__ingot_u32 __ingot_simdgroup_index_in_threadgroup(void) __ingot_pure;
__ingot_u32 __ingot_simdgroups_per_threadgroup(void) __ingot_pure;
__ingot_u32 __ingot_dispatch_simdgroups_per_threadgroup(void) __ingot_pure;
/* Quad-group indices follow from the lane: lane & 3, index_in_threadgroup >> 2, … */

/* ---- synchronisation ------------------------------------------------------------------ */
/* scope: 1 SIMD-group, 2 threadgroup; flags as metal::mem_flags. */
void __ingot_barrier(__ingot_u32 scope, __ingot_u32 flags);
void __ingot_fence(__ingot_u32 flags, __ingot_u32 order, __ingot_u32 scope);

/* ---- across the lanes of a SIMD-group; only active lanes take part ----------------------- */
/* x of lane `lane & 31`; what an inactive lane holds is undefined. Everything else that
 * moves data (xor, up, down, rotate, fill, broadcast, quads) is this with an index. */
unsigned short __ingot_simd_shuffle_b16(unsigned short x, __ingot_u32 lane);
__ingot_u32 __ingot_simd_shuffle_b32(__ingot_u32 x, __ingot_u32 lane);
__ingot_u64 __ingot_simd_shuffle_b64(__ingot_u64 x, __ingot_u32 lane);
float __ingot_simd_shuffle_f32(float x, __ingot_u32 lane);
/* Bit i: lane i is active and its p is true (uniform). ballot(true) is the active mask. */
__ingot_u32 __ingot_simd_ballot(bool p);
/* Reductions (uniform), in the order of a halving tree: lane i with i+16, then i+8, … ,
 * inactive lanes counting as the identity. min and max of f32 ignore NaNs. */
float __ingot_simd_sum_f32(float x);
int __ingot_simd_sum_i32(int x);
__ingot_u32 __ingot_simd_sum_u32(__ingot_u32 x);
long __ingot_simd_sum_i64(long x);
__ingot_u64 __ingot_simd_sum_u64(__ingot_u64 x);
float __ingot_simd_product_f32(float x);
int __ingot_simd_product_i32(int x);
__ingot_u32 __ingot_simd_product_u32(__ingot_u32 x);
long __ingot_simd_product_i64(long x);
__ingot_u64 __ingot_simd_product_u64(__ingot_u64 x);
float __ingot_simd_min_f32(float x);
int __ingot_simd_min_i32(int x);
__ingot_u32 __ingot_simd_min_u32(__ingot_u32 x);
long __ingot_simd_min_i64(long x);
__ingot_u64 __ingot_simd_min_u64(__ingot_u64 x);
float __ingot_simd_max_f32(float x);
int __ingot_simd_max_i32(int x);
__ingot_u32 __ingot_simd_max_u32(__ingot_u32 x);
long __ingot_simd_max_i64(long x);
__ingot_u64 __ingot_simd_max_u64(__ingot_u64 x);
__ingot_u32 __ingot_simd_and_u32(__ingot_u32 x);
__ingot_u32 __ingot_simd_or_u32(__ingot_u32 x);
__ingot_u32 __ingot_simd_xor_u32(__ingot_u32 x);
__ingot_u64 __ingot_simd_and_u64(__ingot_u64 x);
__ingot_u64 __ingot_simd_or_u64(__ingot_u64 x);
__ingot_u64 __ingot_simd_xor_u64(__ingot_u64 x);
/* Prefix over the active lanes below (exclusive) or up to (inclusive) the own lane. */
float __ingot_simd_prefix_inclusive_sum_f32(float x);
__ingot_u32 __ingot_simd_prefix_inclusive_sum_u32(__ingot_u32 x);
__ingot_u64 __ingot_simd_prefix_inclusive_sum_u64(__ingot_u64 x);
float __ingot_simd_prefix_exclusive_sum_f32(float x);
__ingot_u32 __ingot_simd_prefix_exclusive_sum_u32(__ingot_u32 x);
__ingot_u64 __ingot_simd_prefix_exclusive_sum_u64(__ingot_u64 x);
float __ingot_simd_prefix_inclusive_product_f32(float x);
__ingot_u32 __ingot_simd_prefix_inclusive_product_u32(__ingot_u32 x);
__ingot_u64 __ingot_simd_prefix_inclusive_product_u64(__ingot_u64 x);
float __ingot_simd_prefix_exclusive_product_f32(float x);
__ingot_u32 __ingot_simd_prefix_exclusive_product_u32(__ingot_u32 x);
__ingot_u64 __ingot_simd_prefix_exclusive_product_u64(__ingot_u64 x);

/* ---- simdgroup_matrix: 8×8, two elements per lane in Apple's layout ------------------------ */
/* Lane bits b4…b0: row 4·b4 + 2·b2 + b1, columns 4·b3 + 2·b0 + {0, 1}. Element `which` (a
 * constant, 0 or 1) of this lane in A·B + C; k is summed in ascending order with fma. */
float __ingot_simdgroup_mma(float a0, float a1, float b0, float b1, float c, __ingot_u32 which);
/* Element `which` of this lane of the tile at p: M[row][col] is p[row * stride + col], or
 * p[col * stride + row] when transpose (a constant) is true. p, stride: uniform. */
__ingot_u32 __ingot_simdgroup_load_device_b32(const __ingot_device __ingot_u32 *p,
                                              __ingot_u64 stride, bool transpose,
                                              __ingot_u32 which);
unsigned short __ingot_simdgroup_load_device_b16(const __ingot_device unsigned short *p,
                                                 __ingot_u64 stride, bool transpose,
                                                 __ingot_u32 which);
__ingot_u32 __ingot_simdgroup_load_threadgroup_b32(const __ingot_threadgroup __ingot_u32 *p,
                                                   __ingot_u64 stride, bool transpose,
                                                   __ingot_u32 which);
unsigned short __ingot_simdgroup_load_threadgroup_b16(const __ingot_threadgroup unsigned short *p,
                                                      __ingot_u64 stride, bool transpose,
                                                      __ingot_u32 which);
unsigned char __ingot_simdgroup_load_device_b8(const __ingot_device unsigned char *p,
                                               __ingot_u64 stride, bool transpose,
                                               __ingot_u32 which);
unsigned char __ingot_simdgroup_load_threadgroup_b8(const __ingot_threadgroup unsigned char *p,
                                                    __ingot_u64 stride, bool transpose,
                                                    __ingot_u32 which);
/* The same of a tile whose rows lie two by two, as matrix units of CPUs take the right side:
 * M[row][col] is p[row / 2 * stride + 2 * col + row % 2], or that of M[col][row] when transpose is
 * true. */
unsigned short __ingot_simdgroup_load_pairs_device_b16(const __ingot_device unsigned short *p,
                                                       __ingot_u64 stride, bool transpose,
                                                       __ingot_u32 which);
unsigned short
__ingot_simdgroup_load_pairs_threadgroup_b16(const __ingot_threadgroup unsigned short *p,
                                             __ingot_u64 stride, bool transpose, __ingot_u32 which);
void __ingot_simdgroup_store_device_b32(__ingot_device __ingot_u32 *p, __ingot_u64 stride,
                                        bool transpose, __ingot_u32 e0, __ingot_u32 e1);
void __ingot_simdgroup_store_device_b16(__ingot_device unsigned short *p, __ingot_u64 stride,
                                        bool transpose, unsigned short e0, unsigned short e1);
void __ingot_simdgroup_store_threadgroup_b32(__ingot_threadgroup __ingot_u32 *p, __ingot_u64 stride,
                                             bool transpose, __ingot_u32 e0, __ingot_u32 e1);
void __ingot_simdgroup_store_threadgroup_b16(__ingot_threadgroup unsigned short *p,
                                             __ingot_u64 stride, bool transpose, unsigned short e0,
                                             unsigned short e1);

/* The bfloat nearest to x, as bits, which is a sum of products of bfloat: an x too small to be
 * normal may count as zero, and a NaN has zeros behind what a bfloat has of it. */
unsigned short __ingot_bfloat_of_sum(float x) __ingot_pure;

/* ---- the rest ------------------------------------------------------------------------------- */
/* True when the default (neither precise:: nor fast::) maths is the fast one; a constant
 * by the time the optimiser runs. */
bool __ingot_fast_math(void) __ingot_pure;
/* is_function_constant_defined; folds to a constant. */
bool __ingot_constant_defined(__ingot_u32 index) __ingot_pure;
/* Panels: threadgroup memory for operands on their way to matrix units, which no argument and no
 * variable is. Are there so many bytes of it for this launch, and is the threadgroup of exactly so
 * many threads? Both operands are constants. Folds to false for back ends that have none (CPUs).
 * Whoever uses panels has a barrier before and after. */
bool __ingot_has_panels(__ingot_u32 threads, __ingot_u32 bytes) __ingot_pure;
/* The address so many bytes from their start, a multiple of 1024 where that is one. Only where
 * has_panels has said so, of so many threads. What two calls with different offsets give are
 * different objects. */
__ingot_threadgroup char *__ingot_panel(__ingot_u32 offset, __ingot_u32 threads) __ingot_pure;
/* *p = x; where `past` is not 0, preferably past the caches. */
void __ingot_stream_b32(__ingot_u32 x, __ingot_device __ingot_u32 *p, __ingot_u32 past);
void __ingot_stream_b16(unsigned short x, __ingot_device unsigned short *p, __ingot_u32 past);
/* What lies at p is read soon. Where p is uniform, CPUs bring its line into the caches; p may be
 * any address, and nothing else happens. */
void __ingot_prefetch(const __ingot_device char *p);
/* p; what is loaded through it leaves a GPU's caches last. */
const __ingot_device char *__ingot_staying(const __ingot_device char *p) __ingot_pure;
/* Anywhere in a kernel: its time goes to loads and stores that follow each other, so the width of
 * vectors should be what memory likes. Does nothing else. */
void __ingot_streaming(void);
/* os_log: args are `count` 8-byte slots in thread memory, see ingot_cpu_services.log. */
void __ingot_log(__ingot_u32 level, const char *format, __ingot_u32 count, const __ingot_u64 *args);

/* ---- end ---- */
}
/* Atomics need no built-ins: the prelude uses clang's __atomic_* on address-space pointers,
 * which arrive as LLVM atomic instructions. fma, sqrt, floor, ceil, trunc, rint, fabs,
 * copysign, min and max of IEEE numbers arrive as LLVM intrinsics. Everything else of the
 * maths library is ordinary scalar code in the prelude, vectorised with the kernel. */
