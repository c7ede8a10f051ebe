// The blocked form on GPUs, of matrices with up to 4096 rows: one threadgroup of up to 512 threads
// factors a panel of 32 columns, each thread with ROWS rows of WIDTH columns at a time in
// registers; its reflections go to the other columns as products (triangular/reflectors.h).
#ifndef INGOT_KERNELS_QR_PRODUCTS_H
#define INGOT_KERNELS_QR_PRODUCTS_H

// work = a with scaled columns; a threadgroup of 1024 for 32 columns.
[[max_total_threads_per_threadgroup(1024)]]
kernel void qr_scale_shared(device const float *a [[buffer(0)]], device float *work [[buffer(1)]],
                            device float *scales [[buffer(2)]],
                            constant qr_matrix_args &args [[buffer(3)]],
                            uint2 group [[threadgroup_position_in_grid]],
                            uint simd [[simdgroup_index_in_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float largests[32][32];
    const ulong column = ulong(group.y) * 32 + lane, stride = args.columns;
    const ulong at = ulong(group.x) * args.rows * stride + column;
    const bool inside = column < args.columns;
    float largest = 0;
    for (uint i = simd; i < args.rows; i += 32) {
        largest = max(largest, inside ? abs(a[at + i * stride]) : 0);
    }
    largests[simd][lane] = largest;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 0; s < 32; s++) {
        largest = max(largest, largests[s][lane]);
    }
    const float scale = column_scale(largest);
    if (!inside) {
        return;
    }
    if (simd == 0) {
        scales[ulong(group.x) * stride + column] = scale;
    }
    for (uint i = simd; i < args.rows; i += 32) {
        work[at + i * stride] = a[at + i * stride] * scale;
    }
}

// Sums of WIDTH values over a threadgroup, for which SIMD-groups leave theirs in `partial`.
template <uint WIDTH> struct column_sums {
    float partial[16][WIDTH];
    float top[WIDTH]; // a row that all need
};

// With each exchange a lane keeps half of the values.
template <uint KEPT, uint APART, uint WIDTH> void halve(thread float (&values)[WIDTH], uint lane) {
    const bool upper = lane & APART;
#pragma unroll
    for (uint k = 0; k < KEPT; k++) {
        const float low = values[k], high = values[k + KEPT];
        const float other = simd_shuffle_xor(upper ? low : high, ushort(APART));
        values[k] = (upper ? high : low) + other;
    }
    if constexpr (KEPT > 1) {
        halve<KEPT / 2, APART / 2, WIDTH>(values, lane);
    }
}

template <uint WIDTH>
void leave_sums(thread float (&values)[WIDTH], threadgroup column_sums<WIDTH> &sums, uint simd,
                uint lane) {
    halve<WIDTH / 2, 16, WIDTH>(values, lane);
    if (WIDTH <= 16) {
        values[0] += simd_shuffle_xor(values[0], ushort(1));
    }
    if (WIDTH <= 8) {
        values[0] += simd_shuffle_xor(values[0], ushort(2));
    }
    if (lane % (32 / WIDTH) == 0) {
        sums.partial[simd][lane / (32 / WIDTH)] = values[0];
    }
}

// The sum of value number lane % WIDTH, after a barrier.
template <uint WIDTH>
float take_sum(threadgroup const column_sums<WIDTH> &sums, uint simds, uint lane) {
    float sum = 0;
    for (uint s = lane / WIDTH; s < simds; s += 32 / WIDTH) {
        sum += sums.partial[s][lane % WIDTH];
    }
#pragma unroll
    for (uint apart = WIDTH; apart < 32; apart *= 2) {
        sum += simd_shuffle_xor(sum, ushort(apart));
    }
    return sum;
}

// Columns C and after of those in registers, of which `done` were before.
template <uint C, uint ROWS, uint WIDTH>
void qr_steps(thread float (&x)[ROWS][WIDTH], threadgroup column_sums<WIDTH> (&sums)[2],
              threadgroup float *gs, device float *v, ulong line, device float *taus, uint rows,
              uint done, uint width, uint me, uint simd, uint simds, uint lane) {
    if (C >= width) {
        return;
    }
    const uint j = done + C, threads = simds * 32;
    threadgroup column_sums<WIDTH> &turn = sums[C % 2];
    float products[WIDTH];
#pragma unroll
    for (uint k = 0; k < WIDTH; k++) {
        products[k] = 0;
#pragma unroll
        for (uint i = 0; i < ROWS; i++) {
            const float mine = i > 0 || me >= j ? x[i][C] : 0;
            products[k] = k >= C ? fma(mine, x[i][k], products[k]) : 0;
        }
    }
    leave_sums<WIDTH>(products, turn, simd, lane);
    if (me == j) {
#pragma unroll
        for (uint k = C; k < WIDTH; k++) {
            turn.top[k] = x[0][k];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float sum = take_sum<WIDTH>(turn, simds, lane);
    const reflector h = make_reflector(turn.top[C], simd_broadcast(sum, ushort(C)));
    if (me == 0) {
        gs[j] = h.g;
        taus[j] = h.g;
    }
    float mine[ROWS];
#pragma unroll
    for (uint i = 0; i < ROWS; i++) {
        const uint row = me + i * threads;
        mine[i] = h.g == 0 || row < j ? 0 : row == j ? h.first : x[i][C];
        if (row < rows) {
            v[j * line + row] = mine[i];
        }
    }
    x[0][C] = me == j ? h.diagonal : x[0][C];
#pragma unroll
    for (uint k = C + 1; k < WIDTH; k++) {
        const float factor = h.g * (simd_broadcast(sum, ushort(k)) - h.diagonal * turn.top[k]);
#pragma unroll
        for (uint i = 0; i < ROWS; i++) {
            x[i][k] = fma(-mine[i], factor, x[i][k]);
        }
    }
    if constexpr (C + 1 < WIDTH) {
        qr_steps<C + 1>(x, sums, gs, v, line, taus, rows, done, width, me, simd, simds, lane);
    }
}

// Reflections go to v, by columns, with zeros above; one that does nothing is zero.
template <uint ROWS, uint WIDTH>
[[max_total_threads_per_threadgroup(512)]]
kernel void
qr_columns(device float *work_all [[buffer(0)]], device float *v_all [[buffer(1)]],
           device float *taus_all [[buffer(2)]], constant qr_panel_args &args [[buffer(3)]],
           uint matrix [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]],
           uint simd [[simdgroup_index_in_threadgroup]], uint simds [[simdgroups_per_threadgroup]],
           uint lane [[thread_index_in_simdgroup]]) {
    threadgroup column_sums<WIDTH> sums[2];
    threadgroup float gs[QR_PANEL];
    const uint rows = args.rows - args.first, threads = simds * 32;
    device float *work = work_all + matrix * (ulong(args.rows) * args.columns) +
                         ulong(args.first) * args.columns + args.first;
    device float *v = v_all + matrix * args.v_stride + args.v_first;
    device float *taus = taus_all + matrix * args.t_stride + args.t_first;
    for (uint i = me; i < args.above * args.width; i += threads) {
        v[ulong(i / args.above) * args.v_line + i % args.above - args.above] = 0;
    }
    float x[ROWS][WIDTH];
    for (uint done = 0; done < args.width; done += WIDTH) {
        const uint width = min(args.width - done, WIDTH);
#pragma unroll
        for (uint i = 0; i < ROWS; i++)
#pragma unroll
            for (uint k = 0; k < WIDTH; k++) {
                const uint row = me + i * threads;
                x[i][k] = row < rows && k < width ? work[ulong(row) * args.columns + done + k] : 0;
            }
        // What the reflections before do to these columns.
        for (uint l = 0; l < done; l++) {
            threadgroup column_sums<WIDTH> &turn = sums[l % 2];
            float products[WIDTH], mine[ROWS];
#pragma unroll
            for (uint i = 0; i < ROWS; i++) {
                const uint row = me + i * threads;
                mine[i] = row < rows ? v[l * ulong(args.v_line) + row] : 0;
            }
#pragma unroll
            for (uint k = 0; k < WIDTH; k++) {
                products[k] = 0;
#pragma unroll
                for (uint i = 0; i < ROWS; i++) {
                    products[k] = fma(mine[i], x[i][k], products[k]);
                }
            }
            leave_sums<WIDTH>(products, turn, simd, lane);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            const float sum = gs[l] * take_sum<WIDTH>(turn, simds, lane);
#pragma unroll
            for (uint k = 0; k < WIDTH; k++) {
                const float factor = simd_broadcast(sum, ushort(k));
#pragma unroll
                for (uint i = 0; i < ROWS; i++) {
                    x[i][k] = fma(-mine[i], factor, x[i][k]);
                }
            }
        }
        qr_steps<0>(x, sums, gs, v, args.v_line, taus, rows, done, width, me, simd, simds, lane);
        if (me < QR_PANEL && me < rows) { // r's part of the panel
#pragma unroll
            for (uint k = 0; k < WIDTH; k++) {
                if (k < width) {
                    work[ulong(me) * args.columns + done + k] = x[0][k];
                }
            }
        }
    }
}
INSTANTIATE_KERNEL("qr_columns_2", qr_columns<2, 32>)
INSTANTIATE_KERNEL("qr_columns_4", qr_columns<4, 16>)
INSTANTIATE_KERNEL("qr_columns_8", qr_columns<8, 8>)

#endif
