// More than 64 columns, in launches:
//   1. `columns` (a column of the matrix per row) and `plain` (a row per row) are filled and
//   scaled;
//   2. a'a is formed and eigh finds its eigenvectors;
//   3. `work` gets the columns times the eigenvectors, and these behind them as V'; where columns
//   differ
//      much in length, the columns as they are and V' = 1 (see svd_alike);
//   4. sweeps of Jacobi, a launch per round of disjoint pairs of blocks of 32 columns, a SIMD-group
//   per
//      pair; a sweep finds out at its start whether the one before was the last;
//   5. lengths, order, completion of what has no length, output.
#ifndef INGOT_KERNELS_SVD_LARGE_H
#define INGOT_KERNELS_SVD_LARGE_H

struct svd_own {
    device svd_state *state;
    device float *values;
    device uint *order;
};

inline svd_own svd_own_of(device float *states, constant svd_args &args, uint matrix) {
    device float *at = states + ulong(matrix) * (sizeof(svd_state) / 4 + 2 * ulong(args.count));
    device float *values = at + sizeof(svd_state) / 4;
    return {(device svd_state *)at, values, (device uint *)(values + args.count)};
}

inline device float *svd_columns_of(device float *columns, constant svd_args &args, uint matrix) {
    return columns + ulong(matrix) * args.count * args.columns_row;
}

inline device float *svd_work_of(device float *work, constant svd_args &args, uint matrix) {
    return work + ulong(matrix) * args.count * args.row;
}

// A SIMD-group per matrix.
kernel void svd_scale(device const float *in [[buffer(0)]], device float *states [[buffer(1)]],
                      constant svd_args &args [[buffer(2)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    ulong size = ulong(args.length) * args.count;
    in += ulong(group.y) * size;
    float largest = 0;
    bool odd = false;
    for (ulong i = lane; i < size; i += 32) {
        float x = in[i];
        largest = max(largest, abs(x));
        odd = odd || !isfinite(x);
    }
    largest = simd_max(largest);
    odd = simd_any(odd);
    device svd_state *state = svd_own_of(states, args, group.y).state;
    if (lane == 0) {
        state->scale = spectral_scale(largest);
        state->odd = odd;
        state->alike = 0;
    }
    if (lane < SVD_MAX_SWEEPS) {
        state->worst[lane] = 0;
    }
}

// Row group.x of `columns`, and of `plain` when there is one. SIMD-groups: as many as a column is
// long.
kernel void svd_fill(device const float *in [[buffer(0)]], device float *states [[buffer(1)]],
                     device float *columns [[buffer(2)]], device float *plain [[buffer(3)]],
                     constant svd_args &args [[buffer(4)]],
                     uint3 group [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
    device const svd_state *state = svd_own_of(states, args, group.y).state;
    float scale = state->scale;
    bool odd = state->odd;
    uint length = args.length, count = args.count, i = group.x;
    in += ulong(group.y) * length * count;
    if (i < count) {
        device float *to = svd_columns_of(columns, args, group.y) + ulong(i) * args.columns_row;
        for (uint l = lane; l < args.padded; l += 32) {
            float x = l < length ? in[args.wide ? ulong(i) * length + l : ulong(l) * count + i] : 0;
            to[l] = odd ? 0 : x * scale;
        }
    }
    device float *to = plain + (ulong(group.y) * length + i) * args.plain_row;
    for (uint k = lane; k < args.plain_row; k += 32) {
        float x = k < count ? in[args.wide ? ulong(k) * length + i : ulong(i) * count + k] : 0;
        to[k] = odd ? 0 : x * scale;
    }
}

// A SIMD-group per matrix.
kernel void svd_compare(device float *states [[buffer(0)]], device float *columns [[buffer(1)]],
                        constant svd_args &args [[buffer(2)]],
                        uint3 group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]]) {
    device const float *own = svd_columns_of(columns, args, group.y);
    float least = INFINITY, most = 0;
    for (uint i = 0; i < args.count; i++) {
        device const float *column = own + ulong(i) * args.columns_row;
        float square = svd_product<0>(column, column, args.padded / 32, lane);
        least = min(least, square);
        most = max(most, square);
    }
    if (lane == 0) {
        svd_own_of(states, args, group.y).state->alike = most <= svd_alike * least;
    }
}

// Four rows, 64 columns from `column` on, of p times x, where p(r, i) is p[r * p_row + i * p_step]:
// sums[r * 2 + c] for chunks c of 32.
inline void svd_tile(device const float *p, ulong p_row, ulong p_step, device const float *x,
                     ulong x_row, uint inner, thread float *sums) {
    for (uint i = 0; i < 8; i++) {
        sums[i] = 0;
    }
    for (uint i = 0; i < inner; i++) {
        float x0 = x[0], x1 = x[32];
        for (uint r = 0; r < 4; r++) {
            float factor = p[r * p_row];
            sums[r * 2] += factor * x0;
            sums[r * 2 + 1] += factor * x1;
        }
        p += p_step;
        x += x_row;
    }
}

// a'a, 4 rows and 64 columns by a SIMD-group. `columns` has 3 rows more than are used.
kernel void svd_form_gram(device float *states [[buffer(0)]], device float *columns [[buffer(1)]],
                          device const float *plain [[buffer(2)]], device float *gram [[buffer(3)]],
                          constant svd_args &args [[buffer(4)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
    uint count = args.count, strips = (count + 63) / 64;
    uint first = group.x / strips * 4, column = group.x % strips * 64;
    device const float *p =
        svd_columns_of(columns, args, group.y) + ulong(first) * args.columns_row;
    device const float *x = plain + ulong(group.y) * args.length * args.plain_row + column + lane;
    device float *to = gram + ulong(group.y) * count * count;
    float sums[8];
    svd_tile(p, args.columns_row, 1, x, args.plain_row, args.length, sums);
    for (uint r = 0; r < 4; r++) {
        for (uint c = 0; c < 2; c++) {
            uint k = column + c * 32 + lane;
            if (first + r < count && k < count) {
                to[ulong(first + r) * count + k] = sums[r * 2 + c];
            }
        }
    }
}

// `work`: 4 rows and 64 columns by a SIMD-group. `vectors` are eigenvectors of a'a, in columns.
kernel void svd_start(device float *states [[buffer(0)]], device float *columns [[buffer(1)]],
                      device const float *vectors [[buffer(2)]], device float *work [[buffer(3)]],
                      constant svd_args &args [[buffer(4)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    uint count = args.count, strips = (args.padded + 63) / 64;
    uint first = group.x / strips * 4, column = group.x % strips * 64;
    bool alike = svd_own_of(states, args, group.y).state->alike;
    device const float *from = svd_columns_of(columns, args, group.y) + column + lane;
    device float *to = svd_work_of(work, args, group.y);
    vectors += ulong(group.y) * count * count;
    float sums[8];
    if (alike) {
        svd_tile(vectors + first, 1, count, from, args.columns_row, count, sums);
    } else {
        for (uint r = 0; r < 4; r++) {
            device const float *x = from + ulong(min(first + r, count - 1)) * args.columns_row;
            sums[r * 2] = x[0];
            sums[r * 2 + 1] = x[32];
        }
    }
    uint rows = min(4u, count - first);
    for (uint r = 0; r < rows; r++) {
        device float *row = to + ulong(first + r) * args.row;
        for (uint c = 0; c < 2 && column + c * 32 < args.padded; c++) {
            row[column + c * 32 + lane] = sums[r * 2 + c];
        }
        if (column == 0) {
            for (uint k = lane; k < args.vector; k += 32) {
                float unit = k == first + r ? 1 : 0;
                float x = alike && k < count ? vectors[ulong(k) * count + first + r] : 0;
                row[args.padded + k] = alike ? x : unit;
            }
        }
    }
}

// One round: a SIMD-group for each pair of blocks. Round 0 also does the pairs within blocks.
kernel void svd_rotate(device float *states [[buffer(0)]], device float *work [[buffer(1)]],
                       constant svd_args &args [[buffer(2)]],
                       threadgroup svd_shared *shared [[threadgroup(0)]],
                       uint3 group [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    device svd_state *state = svd_own_of(states, args, group.y).state;
    bool done = args.sweep > 0 && as_type<float>(state->worst[args.sweep - 1]) <= svd_close;
    uint2 pair = svd_pair<false>(args.round, group.x, args.blocks, false) * 32;
    bool alone = pair.y >= args.count;
    if (done || state->odd || (alone && args.round > 0)) {
        return;
    }
    device float *own = svd_work_of(work, args, group.y);
    svd_columns<true, device float *> columns = {own + ulong(pair.x) * args.row,
                                                 own + ulong(pair.y) * args.row,
                                                 alone ? 32 : 32 + min(32u, args.count - pair.y),
                                                 min(32u, args.count - pair.x),
                                                 args.row,
                                                 args.padded / 32,
                                                 args.row / 32};
    svd_squares<0>(columns, shared, lane);
    float tolerance = svd_tolerance(args.length), worst = 0;
    uint rounds = args.round == 0 ? 63 : 32;
    for (uint round = 0; round < rounds; round++) {
        worst = max(worst,
                    svd_round<0, 0>(columns, shared, round, 64, args.round > 0, tolerance, lane));
    }
    worst = simd_max(worst);
    if (lane == 0) {
        atomic_fetch_max_explicit((device atomic_uint *)&state->worst[args.sweep],
                                  as_type<uint>(worst), memory_order_relaxed);
    }
}

// A SIMD-group per column.
kernel void svd_measure(device float *states [[buffer(0)]], device float *work [[buffer(1)]],
                        constant svd_args &args [[buffer(2)]],
                        uint3 group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]]) {
    device const float *column = svd_work_of(work, args, group.y) + ulong(group.x) * args.row;
    float value = svd_length(column, args.padded / 32, lane);
    if (lane == 0) {
        svd_own_of(states, args, group.y).values[group.x] = value;
    }
}

// A SIMD-group for 32 singular values.
kernel void svd_order(device float *states [[buffer(0)]], device float *s [[buffer(1)]],
                      constant svd_args &args [[buffer(2)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    svd_own own = svd_own_of(states, args, group.y);
    uint count = args.count, j = group.x * 32 + lane, rank = 0;
    float x = j < count ? own.values[j] : 0;
    for (uint i = 0; i < count; i++) {
        float y = own.values[i];
        rank += y > x || (y == x && i < j);
    }
    if (j < count) {
        bool odd = own.state->odd;
        rank = odd ? j : rank;
        own.order[rank] = j;
        s[ulong(group.y) * count + rank] = odd ? NAN : x / own.state->scale;
    }
}

// A SIMD-group per column.
kernel void svd_normalise(device float *states [[buffer(0)]], device float *work [[buffer(1)]],
                          constant svd_args &args [[buffer(2)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
    svd_own own = svd_own_of(states, args, group.y);
    device float *column = svd_work_of(work, args, group.y) + ulong(group.x) * args.row;
    float value = own.values[group.x], largest = own.values[own.order[0]];
    if (value > largest * svd_negligible) {
        float inverse = 1 / value;
        for (uint l = lane; l < args.padded; l += 32) {
            column[l] *= inverse;
        }
    }
}

// Makes up columns that have no length. A SIMD-group per matrix.
kernel void svd_make_up(device float *states [[buffer(0)]], device float *work [[buffer(1)]],
                        constant svd_args &args [[buffer(2)]],
                        uint3 group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]]) {
    svd_own own = svd_own_of(states, args, group.y);
    float least = own.values[own.order[0]] * svd_negligible;
    for (uint first = 0; first < args.count && !own.state->odd; first += 32) {
        const uint mine = min(first + lane, args.count - 1);
        if (!simd_any(!(own.values[own.order[mine]] > least))) {
            continue;
        }
        for (uint place = first; place < min(first + 32, args.count); place++) {
            if (own.values[own.order[place]] > least) {
                continue;
            }
            svd_complete(svd_work_of(work, args, group.y), own.order, place, args.length, args.row,
                         args.padded / 32, lane);
            simdgroup_barrier(mem_flags::mem_device);
        }
    }
}

// Row group.x of u and of vh: a SIMD-group for each, as many as the longer side.
kernel void svd_store(device float *states [[buffer(0)]], device float *work [[buffer(1)]],
                      device float *u [[buffer(2)]], device float *vh [[buffer(3)]],
                      constant svd_args &args [[buffer(4)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    svd_own own = svd_own_of(states, args, group.y);
    uint count = args.count, length = args.length, i = group.x;
    device const float *from = svd_work_of(work, args, group.y);
    ulong tall = ulong(length) * count, square = ulong(count) * count;
    u += ulong(group.y) * (args.wide ? square : tall);
    vh += ulong(group.y) * (args.wide ? tall : square);
    bool odd = own.state->odd;
    uint columns_at = args.wide ? args.padded : 0, rows_at = args.wide ? 0 : args.padded;
    uint columns_length = args.wide ? count : length, rows_length = args.wide ? length : count;
    if (i < columns_length) {
        for (uint j = lane; j < count; j += 32) {
            u[ulong(i) * count + j] =
                odd ? NAN : from[ulong(own.order[j]) * args.row + columns_at + i];
        }
    }
    if (i < count) {
        device const float *row = from + ulong(own.order[i]) * args.row + rows_at;
        for (uint l = lane; l < rows_length; l += 32) {
            vh[ulong(i) * rows_length + l] = odd ? NAN : row[l];
        }
    }
}

#endif
