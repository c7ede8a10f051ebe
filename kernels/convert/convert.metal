// Copies with conversion between the float types. convert_line: both sides dense, four elements per
// thread. convert_strided: any strides in up to four dimensions, one element per thread; x is the
// innermost dimension, y the next, z the two outer ones. convert_tile: the two inner dimensions are
// dense the other way round in `from`; a SIMD-group turns a tile of 32 by 32 in threadgroup memory.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "convert/convert_args.h"

template <typename From, typename To>
kernel void convert_line(device const From *from [[buffer(0)]],
                         device To *to [[buffer(1)]],
                         constant convert_line_args &args [[buffer(2)]],
                         uint2 position [[thread_position_in_grid]],
                         uint2 grid [[threads_per_grid]]) {
    ulong at = (ulong(position.y) * grid.x + position.x) * 4;
    if (at + 4 <= args.count) {
        *(device vec<To, 4> *)(to + at) = vec<To, 4>(float4(*(device const vec<From, 4> *)(from + at)));
    } else {
        for (ulong i = at; i < args.count; i++)
            to[i] = To(float(from[i]));
    }
}

template <typename From, typename To>
kernel void convert_strided(device const From *from [[buffer(0)]],
                            device To *to [[buffer(1)]],
                            constant convert_args &args [[buffer(2)]],
                            uint3 position [[thread_position_in_grid]]) {
    if (position.x >= args.extents[3] || position.y >= args.extents[2])
        return;
    uint outer = position.z / args.extents[1], middle = position.z % args.extents[1];
    long source = outer * args.from_strides[0] + middle * args.from_strides[1] +
                  position.y * args.from_strides[2] + position.x * args.from_strides[3];
    long target = outer * args.to_strides[0] + middle * args.to_strides[1] +
                  position.y * args.to_strides[2] + position.x * args.to_strides[3];
    to[target] = To(float(from[source]));
}

template <typename From, typename To>
kernel void convert_tile(device const From *from [[buffer(0)]],
                         device To *to [[buffer(1)]],
                         constant convert_args &args [[buffer(2)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float tile[32 * 33];
    const uint outer = group.z / args.extents[1], middle = group.z % args.extents[1];
    const uint row = group.y * 32, column = group.x * 32; // dense in `from` along rows, in `to` along columns
    const uint rows = min(32u, args.extents[2] - row), columns = min(32u, args.extents[3] - column);
    device const From *source = from + outer * args.from_strides[0] + middle * args.from_strides[1] +
                                column * args.from_strides[3] + row;
    device To *target = to + outer * args.to_strides[0] + middle * args.to_strides[1] +
                        row * args.to_strides[2] + column;
    for (uint i = 0; i < columns; i++)
        if (lane < rows)
            tile[i * 33 + lane] = float(source[i * args.from_strides[3] + lane]);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < rows; i++)
        if (lane < columns)
            target[i * args.to_strides[2] + lane] = To(tile[lane * 33 + i]);
}

#define CONVERT(name, from, to, From, To)                                                          \
    INSTANTIATE_KERNEL(#name "_" #from "_" #to, name<From, To>)
#define CONVERT_ALL(name)                                                                          \
    CONVERT(name, f32, f32, float, float)                                                          \
    CONVERT(name, f32, f16, float, half)                                                           \
    CONVERT(name, f32, bf16, float, bfloat)                                                        \
    CONVERT(name, f16, f32, half, float)                                                           \
    CONVERT(name, f16, f16, half, half)                                                            \
    CONVERT(name, f16, bf16, half, bfloat)                                                         \
    CONVERT(name, bf16, f32, bfloat, float)                                                        \
    CONVERT(name, bf16, f16, bfloat, half)                                                         \
    CONVERT(name, bf16, bf16, bfloat, bfloat)
CONVERT_ALL(convert_line)
CONVERT_ALL(convert_strided)
CONVERT_ALL(convert_tile)
