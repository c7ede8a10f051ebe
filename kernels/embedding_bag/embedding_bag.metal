// Bags of embeddings. A SIMD-group takes one bag and 32 * width columns: the index of a step is the
// same in all lanes, and neighbouring lanes read neighbouring elements of the row.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "embedding_bag/embedding_bag_args.h"

constant int mode [[function_constant(0)]]; // 0 sum, 1 mean, 2 max
constant bool has_offsets [[function_constant(1)]];
constant bool has_weights [[function_constant(2)]];
constant bool has_largest [[function_constant(3)]];
constant bool has_errors [[function_constant(4)]];

template <typename I>
static ulong2 bag_range(device const I *offsets, constant embedding_bag_args &args, uint bag) {
    if (!has_offsets) {
        return ulong2(ulong(bag) * args.length, ulong(bag + 1) * args.length);
    }
    ulong end = bag + 1 < args.bags ? ulong(offsets[bag + 1]) : args.entries;
    return ulong2(min(ulong(offsets[bag]), args.entries), min(end, args.entries));
}

// What a lane has of a bag: WIDTH columns, 32 apart.
template <uint WIDTH>
struct bag_columns {
    float sum[WIDTH];
    int from[WIDTH]; // rows that the maxima come from

    template <typename T>
    void add(device const T *row, uint columns, uint lane, int index, float weight, bool whole) {
        for (uint k = 0; k < WIDTH; k++) {
            const bool inside = whole || k * 32 + lane < columns;
            const float value = inside ? float(row[k * 32 + lane]) : 0.0f;
            if (mode == 2) {
                // the first of equal ones wins; a NaN wins over all
                const bool more = !isnan(sum[k]) && (value > sum[k] || isnan(value) || from[k] < 0);
                sum[k] = select(sum[k], value, more);
                from[k] = select(from[k], index, more);
            } else {
                sum[k] = has_weights ? fma(value, weight, sum[k]) : sum[k] + value;
            }
        }
    }
};

template <typename T, typename I>
kernel void embedding_bag(device const T *table [[buffer(0)]],
                          device const I *indices [[buffer(1)]],
                          device const I *offsets [[buffer(2)]],
                          device const T *weights [[buffer(3)]],
                          device T *out [[buffer(4)]],
                          device int *largest [[buffer(5)]],
                          device atomic_int *errors [[buffer(6)]],
                          constant embedding_bag_args &args [[buffer(7)]],
                          uint2 group [[threadgroup_position_in_grid]],
                          uint2 size [[threads_per_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]],
                          uint simd [[simdgroup_index_in_threadgroup]]) {
    constexpr uint WIDTH = 4;
    const uint bag = group.x * (size.x / 32) + simd;
    const uint first = group.y * (32 * WIDTH);
    if (bag >= args.bags) {
        return;
    }
    const uint columns = args.columns - first;
    const bool whole = columns >= 32 * WIDTH;
    const ulong2 range = bag_range(offsets, args, bag);
    bag_columns<WIDTH> mine;
    for (uint k = 0; k < WIDTH; k++) {
        mine.sum[k] = 0;
        mine.from[k] = -1;
    }
    uint count = 0;
    for (ulong i = range.x; i < range.y; i++) {
        const long index = long(indices[i]);
        if (index < 0 || index >= args.rows) {
            if (has_errors && lane == 0 && group.y == 0) {
                atomic_fetch_add_explicit(errors, 1, memory_order_relaxed);
            }
            continue;
        }
        if (index == args.padding) {
            continue;
        }
        count++;
        const float weight = has_weights ? float(weights[i]) : 1.0f;
        device const T *row = table + ulong(index) * args.table_stride + first;
        if (whole) {
            mine.add(row, columns, lane, int(index), weight, true);
        } else {
            mine.add(row, columns, lane, int(index), weight, false);
        }
    }
    for (uint k = 0; k < WIDTH; k++) {
        if (k * 32 + lane < columns) {
            const ulong column = first + k * 32 + lane;
            const float result = mode == 1 && count > 1 ? mine.sum[k] / float(count) : mine.sum[k];
            out[ulong(bag) * args.out_stride + column] = T(result);
            if (has_largest) {
                largest[ulong(bag) * args.columns + column] = mine.from[k];
            }
        }
    }
}

// Per entry its bag, and per bag what its gradient is multiplied by: 1, or 1 / count for the mean.
template <typename I>
kernel void bag_of_entry(device const I *indices [[buffer(0)]],
                         device const I *offsets [[buffer(1)]],
                         device uint *bags [[buffer(2)]],
                         device float *factors [[buffer(3)]],
                         constant embedding_bag_args &args [[buffer(4)]],
                         uint bag [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    const ulong2 range = bag_range(offsets, args, bag);
    uint count = 0;
    for (ulong i = range.x + lane; i < range.y; i += 32) {
        const long index = long(indices[i]);
        bags[i] = bag;
        count += index >= 0 && index < args.rows && index != args.padding ? 1 : 0;
    }
    count = simd_sum(count);
    if (lane == 0) {
        factors[bag] = mode == 1 && count > 1 ? 1 / float(count) : 1.0f;
    }
}

// d_table, which was set to 0. The rows are shared out among `owners` SIMD-groups, row r to owner r % owners;
// each looks through all indices in order and adds up what its rows get. No two write the same row, and
// the order of additions is that of the entries.
template <typename T, typename I>
kernel void embedding_bag_backward(device const T *d_out [[buffer(0)]],
                                   device const I *indices [[buffer(1)]],
                                   device const uint *bags [[buffer(2)]],
                                   device const float *factors [[buffer(3)]],
                                   device const T *weights [[buffer(4)]],
                                   device float *d_table [[buffer(5)]],
                                   constant embedding_bag_args &args [[buffer(6)]],
                                   uint group [[threadgroup_position_in_grid]],
                                   uint lane [[thread_index_in_simdgroup]],
                                   uint simd [[simdgroup_index_in_threadgroup]],
                                   uint simds [[simdgroups_per_threadgroup]]) {
    const uint owner = group * simds + simd;
    for (ulong first = 0; first < args.entries; first += 32) {
        const ulong at = first + lane;
        const long mine = at < args.entries ? long(indices[at]) : -1;
        bool counts = mine >= 0 && mine < args.rows && mine != args.padding;
        counts = counts && uint(ulong(mine) % args.owners) == owner;
        uint pending = uint(ulong(simd_ballot(counts)));
        while (pending != 0) {
            const ulong i = first + ctz(pending);
            pending &= pending - 1;
            const uint bag = bags[i];
            const float factor = has_weights ? factors[bag] * float(weights[i]) : factors[bag];
            device const T *from = d_out + ulong(bag) * args.out_stride;
            device float *to = d_table + ulong(indices[i]) * args.table_stride;
            for (uint column = lane; column < args.columns; column += 32) {
                to[column] = fma(factor, float(from[column]), to[column]);
            }
        }
    }
}

// The maximum's: each column belongs to one thread, which goes through the bags in order.
template <typename T>
kernel void embedding_bag_max_backward(device const T *d_out [[buffer(0)]],
                                       device const int *largest [[buffer(1)]],
                                       device float *d_table [[buffer(2)]],
                                       constant embedding_bag_args &args [[buffer(3)]],
                                       uint column [[thread_position_in_grid]]) {
    for (uint bag = 0; bag < args.bags; bag++) {
        const int row = largest[ulong(bag) * args.columns + column];
        if (row >= 0 && row < args.rows) {
            d_table[ulong(row) * args.table_stride + column] += float(d_out[ulong(bag) * args.out_stride + column]);
        }
    }
}

template <typename T>
kernel void round_table(device const float *from [[buffer(0)]],
                        device T *to [[buffer(1)]],
                        constant embedding_bag_args &args [[buffer(2)]],
                        uint2 position [[thread_position_in_grid]]) {
    to[ulong(position.y) * args.out_stride + position.x] = T(from[ulong(position.y) * args.table_stride + position.x]);
}

// d_sample_weights[i] = d_out[bag of i] . table[index of i]
template <typename T, typename I>
kernel void embedding_bag_weights_backward(device const T *d_out [[buffer(0)]],
                                           device const I *indices [[buffer(1)]],
                                           device const uint *bags [[buffer(2)]],
                                           device const T *table [[buffer(3)]],
                                           device T *d_weights [[buffer(4)]],
                                           constant embedding_bag_args &args [[buffer(5)]],
                                           uint2 group [[threadgroup_position_in_grid]],
                                           uint2 groups [[threadgroups_per_grid]],
                                           uint lane [[thread_index_in_simdgroup]],
                                           uint simd [[simdgroup_index_in_threadgroup]],
                                           uint simds [[simdgroups_per_threadgroup]]) {
    const ulong i = (ulong(group.y) * groups.x + group.x) * simds + simd;
    if (i >= args.entries) {
        return;
    }
    const long index = long(indices[i]);
    float sum = 0;
    if (index >= 0 && index < args.rows && index != args.padding) {
        device const T *row = table + ulong(index) * args.table_stride;
        device const T *from = d_out + ulong(bags[i]) * args.out_stride;
        for (uint column = lane; column < args.columns; column += 32) {
            sum = fma(float(row[column]), float(from[column]), sum);
        }
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        d_weights[i] = T(sum);
    }
}

#define INSTANTIATE_INDEXED(name, t, type) \
    INSTANTIATE_KERNEL(#name "_" #t "_i32", name<type, int>) \
    INSTANTIATE_KERNEL(#name "_" #t "_i64", name<type, long>)
#define INSTANTIATE_INDEXED_FLOATS(name) \
    INSTANTIATE_INDEXED(name, f32, float) \
    INSTANTIATE_INDEXED(name, f16, half) \
    INSTANTIATE_INDEXED(name, bf16, bfloat)
INSTANTIATE_INDEXED_FLOATS(embedding_bag)
INSTANTIATE_INDEXED_FLOATS(embedding_bag_backward)
INSTANTIATE_INDEXED_FLOATS(embedding_bag_weights_backward)
INSTANTIATE_FLOATS(embedding_bag_max_backward)
INSTANTIATE_KERNEL("bag_of_entry_i32", bag_of_entry<int>)
INSTANTIATE_KERNEL("bag_of_entry_i64", bag_of_entry<long>)
INSTANTIATE_KERNEL("round_table_f16", round_table<half>)
INSTANTIATE_KERNEL("round_table_bf16", round_table<bfloat>)
