// Bags of embeddings. A SIMD-group takes one bag and 128 columns: the index of a step is the same in
// all lanes, and neighbouring lanes read neighbouring elements of the row. CPUs go from index to index;
// GPUs look 32 indices up at once and have several rows under way (ahead). Both add in the same order.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "common/memory_hints.h"
#include "embedding_bag/embedding_bag_args.h"

constant int mode [[function_constant(0)]]; // 0 sum, 1 mean, 2 max
constant bool has_offsets [[function_constant(1)]];
constant bool has_weights [[function_constant(2)]];
constant bool has_largest [[function_constant(3)]];
constant bool has_errors [[function_constant(4)]];
constant bool ahead [[function_constant(5)]];
constant bool wide [[function_constant(6)]]; // a lane's columns are neighbours, and aligned to four

template <typename I>
static ulong2 bag_range(device const I *offsets, constant embedding_bag_args &args, uint bag) {
    if (!has_offsets) {
        return ulong2(ulong(bag) * args.length, ulong(bag + 1) * args.length);
    }
    ulong end = bag + 1 < args.bags ? ulong(offsets[bag + 1]) : args.entries;
    return ulong2(min(ulong(offsets[bag]), args.entries), min(end, args.entries));
}

constexpr constant uint WIDTH = 4;
constexpr constant uint COLUMNS = 32 * WIDTH;

// What a lane has of a bag: four columns, side by side (wide) or 32 apart.
struct bag_columns {
    float4 sum;
    int4 from; // rows that the maxima come from
    uint count;
};

static uint column_of(uint k, uint lane) {
    return wide ? lane * WIDTH + k : k * 32 + lane;
}

// A row's values in the lane's columns, `row` being where the SIMD-group's columns begin.
template <typename T>
static float4 bag_load(device const T *row, uint columns, uint lane, bool whole) {
    if (wide && (whole || lane * WIDTH < columns)) {
        return float4(((device const vec<T, 4> *)row)[lane]);
    }
    float4 values = 0;
    for (uint k = 0; k < WIDTH && !wide; k++) {
        if (whole || k * 32 + lane < columns) {
            values[k] = float(row[k * 32 + lane]);
        }
    }
    return values;
}

static void bag_add(thread bag_columns &mine, float4 values, int index, float weight) {
    if (mode == 2) {
        // the first of equal ones wins; a NaN wins over all
        const bool4 more = !isnan(mine.sum) && (values > mine.sum || isnan(values) || mine.from < 0);
        mine.sum = select(mine.sum, values, more);
        mine.from = select(mine.from, int4(index), more);
    } else if (has_weights) {
        mine.sum = fma(values, float4(weight), mine.sum);
    } else {
        mine.sum += values;
    }
}

constexpr constant uint ENTRIES_AHEAD = 16;

// PIECES times 32 columns, or as many of them as there are. A piece without a column would bring lines of other rows.
template <uint PIECES, bool WHOLE, typename T, typename I>
static void bag_one_by_one(thread bag_columns &mine, device const T *table, device const I *indices,
                           device const T *weights, device atomic_int *errors,
                           constant embedding_bag_args &args, ulong2 range, uint columns, uint lane,
                           bool reports) {
    const ulong last = args.entries - 1;
    for (ulong i = range.x; i < range.y; i++) {
        device const T *soon = table + ulong(long(indices[min(i + ENTRIES_AHEAD, last)])) * args.table_stride;
        prefetch<32 * PIECES>(soon);
        if (!WHOLE) {
            prefetch<1>(soon + columns - 1); // such rows rarely begin with a line
        }
        const long index = long(indices[i]);
        if (index < 0 || index >= args.rows) {
            if (reports && lane == 0) {
                atomic_fetch_add_explicit(errors, 1, memory_order_relaxed);
            }
            continue;
        }
        if (index == args.padding) {
            continue;
        }
        mine.count++;
        const float weight = has_weights ? float(weights[i]) : 1.0f;
        device const T *row = table + ulong(index) * args.table_stride;
        float4 values = 0;
#pragma unroll
        for (uint k = 0; k < PIECES; k++) {
            T value = T(0);
            if (WHOLE || k * 32 + lane < columns) {
                value = row[k * 32 + lane];
            }
            values[k] = float(value);
        }
        bag_add(mine, values, int(index), weight);
    }
}

// STEP entries from lane `first` on; lane l has entry l's row and weight.
template <uint STEP, typename T>
static void bag_step(thread bag_columns &mine, device const T *table, constant embedding_bag_args &args,
                     uint row, float weight, uint first, uint columns, uint lane) {
    float4 values[STEP];
#pragma unroll
    for (uint e = 0; e < STEP; e++) {
        const ulong at = simd_shuffle(row, ushort(first + e)) * ulong(args.table_stride);
        values[e] = bag_load(table + at, columns, lane, columns >= COLUMNS);
    }
#pragma unroll
    for (uint e = 0; e < STEP; e++) {
        bag_add(mine, values[e], mode == 2 ? int(simd_shuffle(row, ushort(first + e))) : 0,
                has_weights ? simd_shuffle(weight, ushort(first + e)) : 1.0f);
    }
}

// The rows that count among 32 entries move to the first lanes, in their order.
template <typename T, typename I>
static void bag_ahead(thread bag_columns &mine, device const T *table, device const I *indices,
                      device const T *weights, device atomic_int *errors,
                      constant embedding_bag_args &args, ulong2 range, uint columns, uint lane,
                      bool reports) {
    uint bad = 0;
    for (ulong start = range.x; start < range.y; start += 32) {
        const bool inside = start + lane < range.y;
        const long index = inside ? long(indices[start + lane]) : 0;
        const bool outside = inside && (index < 0 || index >= args.rows);
        if (has_errors) {
            bad += popcount(uint(ulong(simd_vote::vote_t(simd_ballot(outside)))));
        }
        float weight = has_weights && inside ? float(weights[start + lane]) : 1.0f;
        uint row = uint(index), left = uint(min(range.y - start, 32ul));
        const uint counts = uint(ulong(simd_vote::vote_t(simd_ballot(inside && !outside && index != args.padding))));
        if (popcount(counts) < left) {
            uint rest = counts; // without the lowest `lane` bits
            for (uint l = 0; l < lane && rest != 0; l++) {
                rest &= rest - 1;
            }
            const uint from = rest != 0 ? ctz(rest) : 0;
            simdgroup_barrier(mem_flags::mem_none);
            row = simd_shuffle(row, ushort(from));
            weight = simd_shuffle(weight, ushort(from));
            left = popcount(counts);
        }
        mine.count += left;
        uint first = 0;
        for (; first + 8 <= left; first += 8) {
            bag_step<8>(mine, table, args, row, weight, first, columns, lane);
        }
        for (; first + 4 <= left; first += 4) {
            bag_step<4>(mine, table, args, row, weight, first, columns, lane);
        }
        for (; first < left; first++) {
            bag_step<1>(mine, table, args, row, weight, first, columns, lane);
        }
    }
    if (reports && bad != 0 && lane == 0) {
        atomic_fetch_add_explicit(errors, int(bad), memory_order_relaxed);
    }
}

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
    const uint bag = group.x * (size.x / 32) + simd;
    const uint first = group.y * COLUMNS;
    if (bag >= args.bags) {
        return;
    }
    const uint columns = args.columns - first;
    const bool reports = has_errors && group.y == 0;
    const ulong2 range = bag_range(offsets, args, bag);
    bag_columns mine = {0, -1, 0};
    if (ahead) {
        bag_ahead(mine, table + first, indices, weights, errors, args, range, columns, lane, reports);
    } else if (columns >= COLUMNS) {
        bag_one_by_one<4, true>(mine, table + first, indices, weights, errors, args, range, columns, lane, reports);
    } else if (columns <= 32) {
        bag_one_by_one<1, false>(mine, table + first, indices, weights, errors, args, range, columns, lane, reports);
    } else if (columns <= 64) {
        bag_one_by_one<2, false>(mine, table + first, indices, weights, errors, args, range, columns, lane, reports);
    } else if (columns <= 96) {
        bag_one_by_one<3, false>(mine, table + first, indices, weights, errors, args, range, columns, lane, reports);
    } else {
        bag_one_by_one<4, false>(mine, table + first, indices, weights, errors, args, range, columns, lane, reports);
    }
    for (uint k = 0; k < WIDTH; k++) {
        if (column_of(k, lane) < columns) {
            const ulong column = first + column_of(k, lane);
            const float result = mode == 1 && mine.count > 1 ? mine.sum[k] / float(mine.count) : mine.sum[k];
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

// ---- d_table by rows, for GPUs ------------------------------------------------------------------
//
// Entries are gathered by row: counted (bag_count), where each row's begin (bag_sums, bag_scan,
// bag_starts), put there (bag_place). Then a SIMD-group per row adds up what it gets, in the order of the
// entries, and writes the row once. Which entry of a row comes first is not fixed until then.

template <typename I>
kernel void bag_count(device const I *indices [[buffer(0)]],
                      device const I *offsets [[buffer(1)]],
                      device atomic_uint *counts [[buffer(2)]],
                      device uint *ranks [[buffer(3)]],
                      constant embedding_bag_args &args [[buffer(4)]],
                      uint bag [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    const ulong2 range = bag_range(offsets, args, bag);
    for (ulong i = range.x + lane; i < range.y; i += 32) {
        const long index = long(indices[i]);
        if (index >= 0 && index < args.rows && index != args.padding) {
            ranks[i] = atomic_fetch_add_explicit(&counts[index], 1u, memory_order_relaxed);
        }
    }
}

// The sum of each block of rows, a SIMD-group each.
kernel void bag_sums(device const uint *counts [[buffer(0)]],
                     device uint *sums [[buffer(1)]],
                     constant embedding_bag_args &args [[buffer(2)]],
                     uint block [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
    const ulong first = ulong(block) * BAG_BLOCK, end = min(first + BAG_BLOCK, ulong(args.rows));
    uint sum = 0;
    for (ulong row = first + lane; row < end; row += 32) {
        sum += counts[row];
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        sums[block] = sum;
    }
}

// What is before each block, in place, by one SIMD-group.
kernel void bag_scan(device uint *sums [[buffer(0)]],
                     constant embedding_bag_args &args [[buffer(1)]],
                     uint lane [[thread_index_in_simdgroup]]) {
    const uint blocks = uint((args.rows + BAG_BLOCK - 1) / BAG_BLOCK);
    uint before = 0;
    for (uint first = 0; first < blocks; first += 32) {
        const uint sum = first + lane < blocks ? sums[first + lane] : 0;
        const uint inside = simd_prefix_inclusive_sum(sum);
        if (first + lane < blocks) {
            sums[first + lane] = before + inside - sum;
        }
        before += simd_broadcast(inside, ushort(31));
    }
}

// Where each row's entries begin.
kernel void bag_starts(device const uint *counts [[buffer(0)]],
                       device const uint *sums [[buffer(1)]],
                       device uint *starts [[buffer(2)]],
                       constant embedding_bag_args &args [[buffer(3)]],
                       uint block [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    const ulong rows = ulong(args.rows), first = ulong(block) * BAG_BLOCK, end = min(first + BAG_BLOCK, rows);
    uint before = sums[block];
    for (ulong row = first; row < end; row += 32) {
        const uint count = row + lane < rows ? counts[row + lane] : 0;
        const uint inside = simd_prefix_inclusive_sum(count);
        if (row + lane < rows) {
            starts[row + lane] = before + inside - count;
        }
        before += simd_broadcast(inside, ushort(31));
    }
}

template <typename I>
kernel void bag_place(device const I *indices [[buffer(0)]],
                      device const I *offsets [[buffer(1)]],
                      device const uint *starts [[buffer(2)]],
                      device const uint *ranks [[buffer(3)]],
                      device uint *places [[buffer(4)]],
                      constant embedding_bag_args &args [[buffer(5)]],
                      uint bag [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    const ulong2 range = bag_range(offsets, args, bag);
    for (ulong i = range.x + lane; i < range.y; i += 32) {
        const long index = long(indices[i]);
        if (index >= 0 && index < args.rows && index != args.padding) {
            places[starts[index] + ranks[i]] = uint(i);
        }
    }
}

// Lane l gets the l-th smallest of the first `count` lanes' values, which differ.
static uint in_order(uint value, uint count, uint lane) {
    uint rank = lane, from = lane;
    if (count > 1) {
        rank = 0;
        for (uint l = 0; l < count; l++) {
            rank += simd_shuffle(value, ushort(l)) < value ? 1 : 0;
        }
        for (uint l = 0; l < count; l++) {
            from = simd_shuffle(rank, ushort(l)) == lane ? l : from;
        }
    }
    return simd_shuffle(value, ushort(from));
}

// What adds to a row, by groups of up to 32 entries.
template <typename T>
struct row_gradient {
    device const T *d_out;
    device const uint *bags;
    device const float *factors;
    device const T *weights;
    ulong stride;
    uint columns, lane;
    float4 sum;

    // The first `count` lanes' entries.
    void add(uint entry, uint count) {
        const bool mine = lane < count;
        const uint bag = mine ? bags[entry] : 0;
        float factor = mine ? factors[bag] : 0;
        if (has_weights && mine) {
            factor *= float(weights[entry]);
        }
        for (uint l = 0; l < count; l++) {
            device const T *from = d_out + simd_shuffle(bag, ushort(l)) * stride;
            sum = fma(float4(simd_shuffle(factor, ushort(l))), bag_load(from, columns, lane, columns >= COLUMNS),
                      sum);
        }
    }
};

template <typename T, typename I>
kernel void embedding_bag_rows(device const T *d_out [[buffer(0)]],
                               device const I *indices [[buffer(1)]],
                               device const uint *bags [[buffer(2)]],
                               device const float *factors [[buffer(3)]],
                               device const T *weights [[buffer(4)]],
                               device const uint *counts [[buffer(5)]],
                               device const uint *starts [[buffer(6)]],
                               device const uint *places [[buffer(7)]],
                               device T *d_table [[buffer(8)]],
                               constant embedding_bag_args &args [[buffer(9)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint3 groups [[threadgroups_per_grid]],
                               uint lane [[thread_index_in_simdgroup]],
                               uint simd [[simdgroup_index_in_threadgroup]],
                               uint simds [[simdgroups_per_threadgroup]]) {
    const ulong row = (ulong(group.y) * groups.x + group.x) * simds + simd;
    if (row >= ulong(args.rows)) {
        return;
    }
    const uint first = group.z * COLUMNS, count = counts[row];
    row_gradient<T> mine = {d_out + first, bags, factors, weights, args.out_stride, args.columns - first, lane, 0};
    places += starts[row];
    if (count <= 32) {
        const uint entry = lane < count ? places[lane] : 0xffffffffu;
        mine.add(in_order(entry, count, lane), count);
    } else if (ulong(count) * count < args.entries) {
        uint entry = 0; // the least that has not been added
        for (uint done = 0; done < count; done++) {
            uint least = 0xffffffffu;
            for (uint i = lane; i < count; i += 32) {
                const uint other = places[i];
                least = other >= entry ? min(least, other) : least;
            }
            entry = simd_min(least);
            mine.add(entry, 1);
            entry++;
        }
    } else { // faster to look through all
        for (ulong start = 0; start < args.entries; start += 32) {
            const ulong at = start + lane;
            uint pending = uint(ulong(simd_vote::vote_t(
                simd_ballot(at < args.entries && ulong(long(indices[min(at, ulong(args.entries) - 1)])) == row))));
            while (pending != 0) {
                mine.add(uint(start) + ctz(pending), 1);
                pending &= pending - 1;
            }
        }
    }
    device T *to = d_table + row * args.table_stride + first;
    if (wide) {
        if (lane * WIDTH < mine.columns) {
            ((device vec<T, 4> *)to)[lane] = vec<T, 4>(mine.sum);
        }
        return;
    }
    for (uint k = 0; k < WIDTH; k++) {
        if (k * 32 + lane < mine.columns) {
            to[k * 32 + lane] = T(mine.sum[k]);
        }
    }
}

#include "embedding_bag/embedding_bag_shares.h"

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
INSTANTIATE_INDEXED_FLOATS(embedding_bag_rows)
INSTANTIATE_INDEXED_FLOATS(embedding_bag_shares)
INSTANTIATE_FLOATS(embedding_bag_max_backward)
INSTANTIATE_KERNEL("bag_of_entry_i32", bag_of_entry<int>)
INSTANTIATE_KERNEL("bag_of_entry_i64", bag_of_entry<long>)
INSTANTIATE_KERNEL("bag_count_i32", bag_count<int>)
INSTANTIATE_KERNEL("bag_count_i64", bag_count<long>)
INSTANTIATE_KERNEL("bag_place_i32", bag_place<int>)
INSTANTIATE_KERNEL("bag_place_i64", bag_place<long>)
INSTANTIATE_KERNEL("round_table_f16", round_table<half>)
INSTANTIATE_KERNEL("round_table_bf16", round_table<bfloat>)
