/*
 * The functions of tensors.metal by the names that Apple's compiler calls them: a line for each type,
 * address space and kind of operand that compiled libraries use.
 */
#pragma once
#include "tensors.metal"

#define __INGOT_AIR_INDEX(I, i)                                                                    \
    AIR(void, "air.init_strided_private_tensor." i ".global",                                      \
        (thread __ingot_air_tensor * t, ushort rank, device char *p, const thread I *e,            \
         const thread I *s, uchar),                                                                \
        __ingot_air_init(t, rank, p, e, s))                                                        \
    AIR(void, "air.init_strided_private_tensor." i ".local",                                       \
        (thread __ingot_air_tensor * t, ushort rank, threadgroup char *p, const thread I *e,       \
         const thread I *s, uchar),                                                                \
        __ingot_air_init(t, rank, p, e, s))                                                        \
    AIR(I, "air.get_extent_private_tensor." i,                                                     \
        (const thread __ingot_air_tensor *t, ushort, ushort dimension),                            \
        (I)__ingot_air_extent(t, dimension))                                                       \
    AIR(void, "air.slice_private_tensor_private_tensor.s." i,                                      \
        (thread __ingot_air_tensor * t, const thread __ingot_air_tensor *from, ushort rank,        \
         const thread I *o, const thread I *e),                                                    \
        __ingot_air_slice(t, from, rank, o, e))
__INGOT_AIR_INDEX(int, "i32")
__INGOT_AIR_INDEX(long, "i64")
AIR(ushort, "air.get_descriptor_size_tensor", (ushort, ushort), (ushort)sizeof(__ingot_air_tensor))

#define OPERAND int op, int m, int n, int k, uchar left, uchar right, uchar, int
#define SHAPE   __ingot_air_shape(op, m, n, k, left, right)
#define MATMUL  "__tensorops_impl_matmul2d_op_"
AIR(ulong, MATMUL "cooperative_tensor_data_size", (OPERAND, uint l, uint r, uint d, uint threads),
    (ulong)SHAPE.elements(threads) * __ingot_air_bytes(op, l, r, d))
AIR(void, MATMUL "cooperative_tensor_init", (OPERAND, thread char *, uint, uint, uint, uint),
    (void)0)
AIR(thread char *, MATMUL "cooperative_tensor_get_element_pointer",
    (OPERAND, thread char *p, ushort i, uint l, uint r, uint d),
    i == 0xffff ? p : p + (uint)i * __ingot_air_bytes(op, l, r, d))
AIR(ushort, MATMUL "cooperative_tensor_num_elements",
    (OPERAND, thread char *, uint, uint, uint threads), (ushort)SHAPE.elements(threads))
__ingot_inline bool __ingot_air_is_valid(__ingot_air_shape shape, uint element, uint threads) {
    __ingot_air_place at(shape, element, threads);
    return at.row < shape.rows && at.column < shape.columns;
}
AIR(bool, MATMUL "cooperative_tensor_is_valid_element",
    (OPERAND, thread char *, ushort i, uint, uint, uint, uint threads),
    __ingot_air_is_valid(SHAPE, i, threads))
__ingot_inline void __ingot_air_coordinate(__ingot_air_shape shape, uint element, thread int *at,
                                           uint threads) {
    __ingot_air_place place(shape, element, threads);
    at[0] = (int)place.column;
    at[1] = (int)place.row;
}
AIR(void, MATMUL "cooperative_tensor_get_coordinate",
    (OPERAND, thread char *, ushort i, thread int *at, uint, uint threads, uint, uint, uint),
    __ingot_air_coordinate(SHAPE, i, at, threads))

#define COPIES(T, t, space, s)                                                                     \
    AIR(void, MATMUL "cooperative_tensor_load_" s "_" t,                                           \
        (OPERAND, thread T * c, const thread __ingot_air_tensor *from, int, int, uint, uint, uint, \
         uint threads),                                                                            \
        (__ingot_air_load<T, space T *>(SHAPE, c, from, threads)))                                 \
    AIR(void, MATMUL "cooperative_tensor_store_" s "_" t,                                          \
        (OPERAND, thread T * c, const thread __ingot_air_tensor *to, int, uint, uint, uint,        \
         uint threads),                                                                            \
        (__ingot_air_store<T, space T *>(SHAPE, c, to, threads)))
#define COPIES_OF(T, t) COPIES(T, t, device, "dv") COPIES(T, t, threadgroup, "tg")
COPIES_OF(float, "f32")
COPIES_OF(half, "f16")
COPIES_OF(bfloat, "b16")
COPIES_OF(int, "i32") COPIES_OF(char, "i8") COPIES_OF(uchar, "u8")

/* The same for macOS 26.0 and 26.1, which have cooperative tensors for results only: no operand, and
 * the type of the result is not said where it is not needed. */
#define RESULT          int m, int n, int k, uchar left, uchar right, uchar, int
#define RESULT_SHAPE    __ingot_air_shape(2, m, n, k, left, right)
#define RESULT_BYTES(d) __ingot_air_bytes(2, 0, 0, d)
AIR(ulong, MATMUL "cooperative_destination_data_size", (RESULT, uint, uint, uint d, uint threads),
    (ulong)RESULT_SHAPE.elements(threads) * RESULT_BYTES(d))
AIR(void, MATMUL "cooperative_destination_tensor_init",
    (RESULT, thread char *, uint, uint, uint, uint), (void)0)
AIR(thread char *, MATMUL "cooperative_destination_tensor_get_element_pointer",
    (RESULT, thread char *p, ushort i, uint, uint, uint d),
    i == 0xffff ? p : p + (uint)i * RESULT_BYTES(d))
AIR(ushort, MATMUL "cooperative_destination_tensor_get_element_index",
    (RESULT, const thread char *p, const thread char *element, uint, uint, uint d),
    (ushort)((uint)(element - p) / RESULT_BYTES(d)))
AIR(ushort, MATMUL "cooperative_destination_tensor_num_elements",
    (RESULT, const thread char *, uint, uint, uint threads), (ushort)RESULT_SHAPE.elements(threads))
AIR(bool, MATMUL "cooperative_destination_tensor_is_valid_element",
    (RESULT, const thread char *, ushort i, uint, uint, uint, uint threads),
    __ingot_air_is_valid(RESULT_SHAPE, i, threads))
AIR(void, MATMUL "cooperative_destination_tensor_get_coordinate",
    (RESULT, const thread char *, ushort i, thread int *at, uint, uint threads, uint, uint, uint),
    __ingot_air_coordinate(RESULT_SHAPE, i, at, threads))
#define RESULT_COPIES(T, t, space, s)                                                              \
    AIR(void, MATMUL "cooperative_destination_tensor_load_" s "_" t,                               \
        (RESULT, thread T * c, const thread __ingot_air_tensor *from, int, int, uint, uint,        \
         uint threads),                                                                            \
        (__ingot_air_load<T, space T *>(RESULT_SHAPE, c, from, threads)))                          \
    AIR(void, MATMUL "cooperative_destination_tensor_store_" s "_" t,                              \
        (RESULT, const thread T *c, const thread __ingot_air_tensor *to, int, uint, uint,          \
         uint threads),                                                                            \
        (__ingot_air_store<T, space T *>(RESULT_SHAPE, c, to, threads)))
#define RESULT_COPIES_OF(T, t)                                                                     \
    RESULT_COPIES(T, t, device, "dv") RESULT_COPIES(T, t, threadgroup, "tg")
RESULT_COPIES_OF(float, "f32")
RESULT_COPIES_OF(half, "f16") RESULT_COPIES_OF(bfloat, "b16") RESULT_COPIES_OF(int, "i32")

#define DESCRIPTOR const thread __ingot_air_descriptor *d
#define TENSOR(x)  const thread __ingot_air_tensor *x, int
#define MEMORY(A, a, PA, pa, B, b, PB, pb, C, c)                                                   \
    AIR(void, MATMUL "run_cooperative_" pa "_" a "_" pb "_" b "_" c,                               \
        (DESCRIPTOR, TENSOR(x), TENSOR(y), thread C * z, uint threads),                            \
        (__ingot_air_run_memory<A, PA A *, B, PB B *, C>(d, x, y, z, threads)))
#define TO_MEMORY(A, a, PA, pa, B, b, PB, pb, C, c, PC, pc)                                        \
    AIR(void, MATMUL "run_" pa "_" a "_" pb "_" b "_" pc "_" c,                                    \
        (DESCRIPTOR, TENSOR(x), TENSOR(y), TENSOR(z), uint threads),                               \
        (__ingot_air_run_to_memory<A, PA A *, B, PB B *, C, PC C *>(d, x, y, z, threads)))
#define TO_MEMORIES(A, a, PA, pa, B, b, PB, pb, C, c)                                              \
    TO_MEMORY(A, a, PA, pa, B, b, PB, pb, C, c, device, "dv")                                      \
    TO_MEMORY(A, a, PA, pa, B, b, PB, pb, C, c, threadgroup, "tg")
#define ALL_IN_MEMORY(A, a, B, b, C, c)                                                            \
    TO_MEMORIES(A, a, device, "dv", B, b, device, "dv", C, c)                                      \
    TO_MEMORIES(A, a, device, "dv", B, b, threadgroup, "tg", C, c)                                 \
    TO_MEMORIES(A, a, threadgroup, "tg", B, b, device, "dv", C, c)                                 \
    TO_MEMORIES(A, a, threadgroup, "tg", B, b, threadgroup, "tg", C, c)
#define MEMORIES(A, a, B, b, C, c)                                                                 \
    MEMORY(A, a, device, "dv", B, b, device, "dv", C, c)                                           \
    MEMORY(A, a, device, "dv", B, b, threadgroup, "tg", C, c)                                      \
    MEMORY(A, a, threadgroup, "tg", B, b, device, "dv", C, c)                                      \
    MEMORY(A, a, threadgroup, "tg", B, b, threadgroup, "tg", C, c)
#define REGISTERS(A, a, B, b, C, c)                                                                \
    AIR(void, MATMUL "run_cooperative_" a "_" b "_" c,                                             \
        (DESCRIPTOR, thread A * x, thread B * y, thread C * z, uint threads),                      \
        __ingot_air_run(d, x, y, z, threads))
#define MIXED(A, a, B, b, C, c, P, p)                                                              \
    AIR(void, MATMUL "run_cooperative_" a "_" p "_" b "_" c,                                       \
        (DESCRIPTOR, thread A * x, TENSOR(y), thread C * z, uint threads),                         \
        (__ingot_air_run_right<A, B, P B *, C>(d, x, y, z, threads)))                              \
    AIR(void, MATMUL "run_cooperative_" p "_" a "_" b "_" c,                                       \
        (DESCRIPTOR, TENSOR(x), thread B * y, thread C * z, uint threads),                         \
        (__ingot_air_run_left<A, P A *, B, C>(d, x, y, z, threads)))
#define PRODUCTS(A, a, B, b, C, c)                                                                 \
    MEMORIES(A, a, B, b, C, c)                                                                     \
    REGISTERS(A, a, B, b, C, c)                                                                    \
    MIXED(A, a, B, b, C, c, device, "dv") MIXED(A, a, B, b, C, c, threadgroup, "tg")
#define PRODUCTS_TO(A, a, B, b)                                                                    \
    PRODUCTS(A, a, B, b, float, "f32")                                                             \
    PRODUCTS(A, a, B, b, half, "f16") PRODUCTS(A, a, B, b, bfloat, "b16")
#define PRODUCTS_OF(A, a)                                                                          \
    PRODUCTS_TO(A, a, float, "f32") PRODUCTS_TO(A, a, half, "f16") PRODUCTS_TO(A, a, bfloat, "b16")
    PRODUCTS_OF(float, "f32") PRODUCTS_OF(half, "f16") PRODUCTS_OF(bfloat, "b16")
#define INTEGER_PRODUCT(A, a, B, b)                                                                \
    MEMORIES(A, a, B, b, int, "i32")                                                               \
    REGISTERS(A, a, B, b, int, "i32") ALL_IN_MEMORY(A, a, B, b, int, "i32")
        INTEGER_PRODUCT(char, "i8", char, "i8") INTEGER_PRODUCT(char, "i8", uchar, "u8")
            INTEGER_PRODUCT(uchar, "u8", char, "i8") INTEGER_PRODUCT(uchar, "u8", uchar, "u8")
/* results in memory: in float, or of the operands' type */
#define TO_FLOAT(A, a)                                                                             \
    ALL_IN_MEMORY(A, a, float, "f32", float, "f32")                                                \
    ALL_IN_MEMORY(A, a, half, "f16", float, "f32") ALL_IN_MEMORY(A, a, bfloat, "b16", float, "f32")
                TO_FLOAT(float, "f32") TO_FLOAT(half, "f16") TO_FLOAT(bfloat, "b16")
                    ALL_IN_MEMORY(half, "f16", half, "f16", half,
                                  "f16") ALL_IN_MEMORY(bfloat, "b16", bfloat, "b16", bfloat, "b16")

#define CONVOLUTION const thread __ingot_air_convolution *d
#define OUTPUTS     "__tensorops_impl_conv2d_cooperative_destination_"
                        AIR(ulong, OUTPUTS "data_size",
                            (CONVOLUTION, uint type, uint, uint, uint threads),
                            (ulong)__ingot_air_outputs(d).elements(threads) * ((type & 0xffu) >> 3))
                            AIR(void, OUTPUTS "tensor_init",
                                (thread char *, CONVOLUTION, uint, uint, uint, uint),
                                (void)0) AIR(void, OUTPUTS "tensor_destory",
                                             (thread char *, CONVOLUTION, uint), (void)0)
                                AIR(ushort, OUTPUTS "tensor_num_elements",
                                    (CONVOLUTION, thread char *, uint, uint, uint, uint threads),
                                    (ushort)__ingot_air_outputs(d).elements(threads))
                                    AIR(thread char *, OUTPUTS "tensor_elements",
                                        (thread char *p, ushort i, uint type, uint),
                                        i == 0xffff ? p : p + (uint)i * ((type & 0xffu) >> 3))
                                        AIR(void, OUTPUTS "tensor_get_coordinate",
                                            (CONVOLUTION, thread char *, ushort i, uint,
                                             thread int *at, uint, uint, uint, uint, uint threads),
                                            __ingot_air_output(d, i, at, threads))
#define CONVOLVE(A, a, B, b)                                                                       \
    AIR(void, "__tensorops_impl_convolution2d_op_run_cooperative_dv_" a "_dv_" b "_f32",           \
        (CONVOLUTION, TENSOR(x), TENSOR(w), thread float *c, uint threads,                         \
         const thread int2 *offsets),                                                              \
        (__ingot_air_convolve<A, B>(d, x, w, c, threads, offsets)))
                                            CONVOLVE(float, "f32", float, "f32")
                                                CONVOLVE(half, "f16", half, "f16")
                                                    CONVOLVE(bfloat, "bf", bfloat, "bf")
