// What orders accesses, or needs no order: nothing is to be found here.
// SANITIZE: race,barrier
// RUN: kernel=own_memory threads=256 group=64
// ARG 0: f32[256]
// RUN: kernel=with_barrier threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=with_simdgroup_barrier threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=both_flags threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=reduction threads=256 group=256
// ARG 0: f32[256]
// RUN: kernel=reduction_by_simdgroups threads=256 group=256
// ARG 0: f32[256]
// RUN: kernel=simdgroup_reduction threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=scan threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=tree_scan threads=64 group=64
// ARG 0: f32[128]
// RUN: kernel=matmul threads=32,32 group=16,16
// ARG 0: f32[1024]
// ARG 1: f32[1024]
// ARG 2: f32[1024]
// RUN: kernel=double_buffering threads=64 group=64
// ARG 0: f32[512]
// RUN: kernel=histogram threads=256 group=64
// ARG 0: u32[16]
// ARG 1: u32[256]
// RUN: kernel=same_value threads=256 group=64
// ARG 0: u32[1]
// RUN: kernel=same_vector threads=256 group=64
// ARG 0: f32[4]
// RUN: kernel=same_value_in_threadgroup_memory threads=64 group=64
// ARG 0: u32[64]
// RUN: kernel=readers_only threads=256 group=64
// ARG 0: f32[256]
// ARG 1: f32[256]
// RUN: kernel=neighbouring_bytes threads=256 group=64
// ARG 0: u8[256]
// RUN: kernel=neighbouring_halves threads=256 group=64
// ARG 0: f16[256]
// RUN: kernel=mixed_widths threads=64 group=64
// ARG 0: u8[256]
// RUN: kernel=packed_vectors threads=64 group=64
// ARG 0: f32[192]
// RUN: kernel=atomics_only threads=256 group=64
// ARG 0: u32[4]
// RUN: kernel=float_atomics threads=256 group=64
// ARG 0: f32[1]
// RUN: kernel=compare_and_exchange threads=256 group=64
// ARG 0: u32[1]
// RUN: kernel=last_block threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=last_block_of_all_threads threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=last_block_fence_then_barrier threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=message threads=128 group=64
// ARG 0: u32[2]
// RUN: kernel=message_in_a_threadgroup threads=64 group=64
// ARG 0: u32[2]
// RUN: kernel=message_in_threadgroup_memory threads=64 group=64
// ARG 0: u32[2]
// RUN: kernel=chain threads=256 group=64
// ARG 0: u32[8]
// RUN: kernel=message_and_answer threads=256 group=64
// ARG 0: u32[8]
// RUN: kernel=transposed threads=32,32 group=16,16
// ARG 0: f32[1024]
// ARG 1: f32[1024]
// RUN: kernel=tiles threads=64 group=32
// ARG 0: f32[128]
// RUN: kernel=tiles_through_threadgroup_memory threads=64 group=64
// ARG 0: f32[128]
// RUN: kernel=tile_in_place threads=32 group=32
// ARG 0: f32[64]
// RUN: kernel=phases threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=ping_pong threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=edge_threadgroup threads=100 group=64
// ARG 0: f32[100]
// RUN: kernel=dynamic_memory threads=64 group=64
// ARG 0: f32[64]
// TG 0: 256
// TG 1: 256
// RUN: kernel=argument_buffer threads=64 group=64
// ARG 0: bytes = addr:16
// ARG 16: f32[64]
// RUN: kernel=in_place threads=256 group=64
// ARG 0: f32[256]
// RUN: kernel=strided threads=256 group=64
// ARG 0: f32[1024]
// RUN: kernel=halo threads=128 group=64
// ARG 0: f32[130]
// ARG 1: f32[128]
// RUN: kernel=bitonic threads=64 group=64
// ARG 0: u32[128]
// RUN: kernel=softmax threads=128 group=64
// ARG 0: f32[128]
// RUN: kernel=compaction threads=64 group=64
// ARG 0: u32[64]
// ARG 1: u32[64]
// RUN: kernel=many_barriers threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=many_simdgroup_barriers threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=different_simdgroups threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=loop_with_break threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=uniform_branch threads=64 group=64
// ARG 0: f32[64]
// ARG 1: u32 [1]
// RUN: kernel=three_dimensions threads=8,8,4 group=4,4,4
// ARG 0: f32[256]
// RUN: kernel=ticket threads=256 group=64
// ARG 0: u32[257]
// RUN: kernel=copy_of_a_struct threads=64 group=64
// ARG 0: f32[128]
// RUN: kernel=queue threads=64 group=64
// ARG 0: u32[65]
// RUN: kernel=shared_constant_table threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=reads_then_barrier_then_store threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=simdgroups_apart threads=128 group=128
// ARG 0: f32[128]
// RUN: kernel=lane_zero_publishes threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=welford threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=all_load_between_barriers threads=32 group=32
// ARG 0: f32[32]
#include <metal_stdlib>
using namespace metal;

kernel void own_memory(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = float(i);
    x[i] += 1;
}
kernel void with_barrier(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = float(i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[63 - i];
}
kernel void with_simdgroup_barrier(device float *x [[buffer(0)]],
                                   uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = float(i);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i ^ 31];
}
kernel void both_flags(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = float(i);
    x[i] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    float sum = s[63 - i] + x[63 - i];
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    x[i] = sum;
    s[i] = sum;
}
kernel void reduction(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[256];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = 128; n > 0; n /= 2) {
        if (i < n) {
            s[i] += s[i + n];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[i] = s[0];
}
kernel void reduction_by_simdgroups(device float *x [[buffer(0)]],
                                    uint i [[thread_position_in_threadgroup]],
                                    uint lane [[thread_index_in_simdgroup]],
                                    uint g [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[8];
    float sum = simd_sum(x[i]);
    if (lane == 0) {
        s[g] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = simd_sum(lane < 8 ? s[lane] : 0.0f);
}
kernel void simdgroup_reduction(device float *x [[buffer(0)]],
                                uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[i] = x[i];
    for (uint n = 16; n > 0; n /= 2) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        if (i < n) {
            s[i] += s[i + n];
        }
    }
    if (i == 0) {
        x[0] = s[0];
    }
}
kernel void scan(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = 1; n < 64; n *= 2) {
        float before = i >= n ? s[i - n] : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s[i] += before;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[i] = s[i];
}
kernel void tree_scan(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[128];
    s[2 * i] = x[2 * i];
    s[2 * i + 1] = x[2 * i + 1];
    uint step = 1;
    for (uint n = 64; n > 0; n /= 2, step *= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < n) {
            s[step * (2 * i + 2) - 1] += s[step * (2 * i + 1) - 1];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        s[127] = 0;
    }
    for (uint n = 1; n < 128; n *= 2) {
        step /= 2;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < n) {
            uint a = step * (2 * i + 1) - 1, b = step * (2 * i + 2) - 1;
            float t = s[a];
            s[a] = s[b];
            s[b] += t;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[2 * i] = s[2 * i];
    x[2 * i + 1] = s[2 * i + 1];
}
kernel void matmul(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]],
                   device float *c [[buffer(2)]], uint2 p [[thread_position_in_grid]],
                   uint2 l [[thread_position_in_threadgroup]]) {
    threadgroup float left[16][16], right[16][16];
    float sum = 0;
    for (uint k = 0; k < 32; k += 16) {
        left[l.y][l.x] = a[p.y * 32 + k + l.x];
        right[l.y][l.x] = b[(k + l.y) * 32 + p.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint n = 0; n < 16; n++) {
            sum += left[l.y][n] * right[n][l.x];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[p.y * 32 + p.x] = sum;
}
kernel void double_buffering(device float *x [[buffer(0)]],
                             uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[2][64];
    float sum = 0;
    s[0][i] = x[i];
    for (uint k = 0; k < 8; k++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (k < 7) {
            s[(k + 1) % 2][i] = x[64 * (k + 1) + i];
        }
        sum += s[k % 2][63 - i];
    }
    x[i] = sum;
}
kernel void histogram(device atomic_uint *bins [[buffer(0)]], const device uint *x [[buffer(1)]],
                      uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint own[16];
    if (l < 16) {
        atomic_store_explicit(&own[l], 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&own[(x[i] + i) % 16], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (l < 16) {
        uint n = atomic_load_explicit(&own[l], memory_order_relaxed);
        atomic_fetch_add_explicit(&bins[l], n, memory_order_relaxed);
    }
}
kernel void same_value(device uint *found [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i % 3 == 0) {
        found[0] = 1;
    }
}
kernel void same_vector(device float4 *x [[buffer(0)]]) {
    x[0] = float4(1, 2, 3, 4);
}
kernel void same_value_in_threadgroup_memory(device uint *x [[buffer(0)]],
                                             uint i [[thread_position_in_grid]]) {
    threadgroup uint s;
    s = 5;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s;
}
kernel void readers_only(const device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    y[i] = x[0] + x[255 - i];
}
kernel void neighbouring_bytes(device uchar *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = uchar(i) + x[i];
}
kernel void neighbouring_halves(device half *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] += half(i);
}
kernel void mixed_widths(device uchar *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    *(device uint *)(x + 4 * i) = i;
    x[4 * i + 1] = 3;
}
kernel void packed_vectors(device packed_float3 *x [[buffer(0)]],
                           uint i [[thread_position_in_grid]]) {
    x[i] = packed_float3(i, i, i);
    x[i].y = 2;
}
kernel void atomics_only(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&x[0], i, memory_order_relaxed);
    atomic_fetch_max_explicit(&x[1], i, memory_order_relaxed);
    atomic_store_explicit(&x[2], i, memory_order_relaxed);
    atomic_store_explicit(&x[3], atomic_load_explicit(&x[2], memory_order_relaxed),
                          memory_order_relaxed);
}
kernel void float_atomics(device atomic_float *x [[buffer(0)]],
                          uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(x, float(i), memory_order_relaxed);
}
kernel void compare_and_exchange(device atomic_uint *x [[buffer(0)]],
                                 uint i [[thread_position_in_grid]]) {
    uint old = atomic_load_explicit(x, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(x, &old, old + i, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}
kernel void last_block(device float *part [[buffer(0)]], device atomic_uint *count [[buffer(1)]],
                       device float *sum [[buffer(2)]], uint i [[thread_position_in_grid]],
                       uint l [[thread_index_in_threadgroup]]) {
    if (l == 0) {
        part[i / 64] = float(i);
        atomic_thread_fence(mem_flags::mem_device, memory_order_release, thread_scope_device);
        if (atomic_fetch_add_explicit(count, 1, memory_order_relaxed) == 3) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_acquire, thread_scope_device);
            sum[0] = part[0] + part[1] + part[2] + part[3];
        }
    }
}
kernel void last_block_of_all_threads(device float *part [[buffer(0)]],
                                      device atomic_uint *count [[buffer(1)]],
                                      device float *sum [[buffer(2)]],
                                      uint i [[thread_position_in_grid]],
                                      uint l [[thread_index_in_threadgroup]]) {
    threadgroup bool is_last;
    threadgroup float s[64];
    part[i] = float(i);
    threadgroup_barrier(mem_flags::mem_device);
    if (l == 0) {
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        is_last = atomic_fetch_add_explicit(count, 1, memory_order_relaxed) == 3;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    }
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    if (is_last) {
        s[l] = part[l] + part[l + 64] + part[l + 128] + part[255 - l];
    } else {
        s[l] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (is_last && l == 0) {
        for (uint k = 0; k < 64; k++) {
            sum[0] += s[k];
        }
    }
}
kernel void last_block_fence_then_barrier(device float *part [[buffer(0)]],
                                          device atomic_uint *count [[buffer(1)]],
                                          device float *sum [[buffer(2)]],
                                          uint i [[thread_position_in_grid]],
                                          uint l [[thread_index_in_threadgroup]]) {
    threadgroup bool is_last;
    part[i] = float(i);
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (l == 0) {
        is_last = atomic_fetch_add_explicit(count, 1, memory_order_relaxed) == 3;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (l == 0 && is_last) {
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        for (uint k = 0; k < 256; k++) {
            sum[0] += part[k];
        }
    }
}
kernel void message(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    device atomic_uint *flag = (device atomic_uint *)(x + 1);
    if (i == 0) {
        x[0] = 7;
        atomic_thread_fence(mem_flags::mem_device, memory_order_release, thread_scope_device);
        atomic_store_explicit(flag, 1, memory_order_relaxed);
    }
    if (i == 64) {
        if (atomic_load_explicit(flag, memory_order_relaxed) == 1) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_acquire, thread_scope_device);
            x[0] += 1;
        }
    }
}
kernel void message_in_a_threadgroup(device uint *x [[buffer(0)]],
                                     uint i [[thread_position_in_grid]]) {
    device atomic_uint *flag = (device atomic_uint *)(x + 1);
    if (i == 40) {
        x[0] = 7;
        atomic_thread_fence(mem_flags::mem_device, memory_order_release, thread_scope_threadgroup);
        atomic_store_explicit(flag, 1, memory_order_relaxed);
    }
    if (i == 3 && atomic_load_explicit(flag, memory_order_relaxed)) {
        atomic_thread_fence(mem_flags::mem_device, memory_order_acquire, thread_scope_threadgroup);
        x[0] += 1;
    }
}
kernel void message_in_threadgroup_memory(device uint *x [[buffer(0)]],
                                          uint i [[thread_position_in_grid]]) {
    threadgroup uint data;
    threadgroup atomic_uint flag;
    if (i == 0) {
        atomic_store_explicit(&flag, 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 40) {
        data = 7;
        atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_acq_rel,
                            thread_scope_threadgroup);
        atomic_store_explicit(&flag, 1, memory_order_relaxed);
    }
    if (i == 3 && atomic_load_explicit(&flag, memory_order_relaxed)) {
        atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_acq_rel,
                            thread_scope_threadgroup);
        x[0] = data;
    }
}
// Each threadgroup adds to what the one before it left, if that has come by.
kernel void chain(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                  uint l [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
    device atomic_uint *flags = (device atomic_uint *)(x + 4);
    if (l) {
        return;
    }
    uint before = 0;
    if (g && atomic_load_explicit(&flags[g - 1], memory_order_relaxed)) {
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        before = x[g - 1];
    }
    x[g] = before + g;
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    atomic_store_explicit(&flags[g], 1, memory_order_relaxed);
}
// What was read before a release may be stored to behind an acquire.
kernel void message_and_answer(device uint *x [[buffer(0)]],
                               uint l [[thread_index_in_threadgroup]],
                               uint g [[threadgroup_position_in_grid]]) {
    device atomic_uint *turn = (device atomic_uint *)(x + 4);
    if (l == 0) {
        uint mine = atomic_load_explicit(turn, memory_order_relaxed);
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        if (mine == g) {
            x[0] = x[0] * 2 + g;
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
            atomic_store_explicit(turn, g + 1, memory_order_relaxed);
        }
    }
}
kernel void transposed(const device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                       uint2 g [[threadgroup_position_in_grid]],
                       uint2 l [[thread_position_in_threadgroup]]) {
    threadgroup float s[16][17];
    s[l.y][l.x] = x[(g.y * 16 + l.y) * 32 + g.x * 16 + l.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[(g.x * 16 + l.y) * 32 + g.y * 16 + l.x] = s[l.x][l.y];
}
kernel void tiles(device float *x [[buffer(0)]], uint g [[threadgroup_position_in_grid]]) {
    simdgroup_float8x8 tile;
    simdgroup_load(tile, x + 64 * g, 8);
    simdgroup_store(tile, x + 64 * g, 8);
}
kernel void tiles_through_threadgroup_memory(device float *x [[buffer(0)]],
                                             uint i [[thread_position_in_threadgroup]],
                                             uint g [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[128];
    s[i] = x[i];
    s[i + 64] = x[i + 64];
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    simdgroup_float8x8 tile;
    simdgroup_load(tile, s + 64 * (1 - g), 8, ulong2(0), true);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_store(tile, s + 64 * g, 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[2 * i] = s[2 * i];
    x[2 * i + 1] = s[2 * i + 1];
}
kernel void tile_in_place(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    simdgroup_float8x8 tile;
    x[i] = 1;
    x[i + 32] = 2;
    simdgroup_barrier(mem_flags::mem_device);
    simdgroup_load(tile, x, 8);
    simdgroup_barrier(mem_flags::mem_device);
    simdgroup_store(tile, x, 8, ulong2(0), true);
    simdgroup_barrier(mem_flags::mem_device);
    x[i] += 1;
}
kernel void phases(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    for (uint k = 0; k < 10; k++) {
        float other = x[(i + k) % 64];
        threadgroup_barrier(mem_flags::mem_device);
        x[i] = other + 1;
        threadgroup_barrier(mem_flags::mem_device);
    }
}
kernel void ping_pong(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float a[64], b[64];
    threadgroup float *from = a, *to = b;
    from[i] = x[i];
    for (uint k = 0; k < 5; k++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        to[i] = from[(i + 1) % 64] + 1;
        threadgroup float *t = from;
        from = to;
        to = t;
    }
    x[i] = from[i];
}
kernel void edge_threadgroup(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                             uint l [[thread_index_in_threadgroup]],
                             uint n [[threads_per_threadgroup]]) {
    threadgroup float s[64];
    s[l] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[n - 1 - l];
}
kernel void dynamic_memory(device float *x [[buffer(0)]], threadgroup float *a [[threadgroup(0)]],
                           threadgroup float *b [[threadgroup(1)]],
                           uint i [[thread_position_in_threadgroup]]) {
    a[i] = x[i];
    b[63 - i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = a[63 - i] + b[i];
}
struct arguments {
    device float *x;
};
kernel void argument_buffer(device arguments &a [[buffer(0)]],
                            uint i [[thread_position_in_grid]]) {
    a.x[i] = float(i);
    threadgroup_barrier(mem_flags::mem_device);
    float other = a.x[63 - i];
    threadgroup_barrier(mem_flags::mem_device);
    a.x[i] = other;
}
kernel void in_place(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] * 2 + 1;
}
kernel void strided(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                    uint n [[threads_per_grid]]) {
    for (uint k = i; k < 1024; k += n) {
        x[k] += float(k);
    }
}
kernel void halo(const device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                 uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
    threadgroup float s[66];
    s[l + 1] = x[i + 1];
    if (l == 0) {
        s[0] = x[i];
    }
    if (l == 63) {
        s[65] = x[i + 2];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = s[l] + s[l + 1] + s[l + 2];
}
kernel void bitonic(device uint *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup uint s[128];
    s[i] = x[i] ^ (i * 37);
    s[i + 64] = x[i + 64] ^ (i * 11);
    for (uint k = 2; k <= 128; k *= 2) {
        for (uint j = k / 2; j > 0; j /= 2) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint a = 2 * j * (i / j) + i % j, b = a + j;
            if ((s[a] > s[b]) == ((a & k) == 0)) {
                uint t = s[a];
                s[a] = s[b];
                s[b] = t;
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i];
    x[i + 64] = s[i + 64];
}
kernel void softmax(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint g [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[2];
    float most = simd_max(x[i]);
    if (lane == 0) {
        s[g] = most;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    most = max(s[0], s[1]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float e = exp(x[i] - most), sum = simd_sum(e);
    if (lane == 0) {
        s[g] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = e / (s[0] + s[1]);
}
kernel void compaction(const device uint *x [[buffer(0)]], device uint *y [[buffer(1)]],
                       uint i [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint count;
    if (i == 0) {
        atomic_store_explicit(&count, 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if ((x[i] + i) % 3 == 0) {
        y[atomic_fetch_add_explicit(&count, 1, memory_order_relaxed)] = i;
    }
}
kernel void many_barriers(device float *x [[buffer(0)]],
                          uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = 0;
    for (uint k = 0; k < 70000; k++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i == k % 64) {
            s[k * 7 % 64] += 1;
        }
    }
    x[i] = 1;
}
kernel void many_simdgroup_barriers(device float *x [[buffer(0)]],
                                    uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[i] = 0;
    for (uint k = 0; k < 70000; k++) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        if (i == k % 32) {
            s[k * 7 % 32] += 1;
        }
    }
    x[i] = 1;
}
kernel void different_simdgroups(device float *x [[buffer(0)]],
                                 uint i [[thread_position_in_threadgroup]],
                                 uint g [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = 1;
    if (g == 1) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        x[i] = s[i ^ 1];
        simdgroup_barrier(mem_flags::mem_threadgroup);
        s[i ^ 1] = 2;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[63 - i];
}
kernel void loop_with_break(device float *x [[buffer(0)]],
                            uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    for (uint k = 0;; k++) {
        s[i] = float(k);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float other = s[63 - i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (other > 3) {
            break;
        }
    }
    x[i] = s[i];
}
kernel void uniform_branch(device float *x [[buffer(0)]], constant uint &n [[buffer(1)]],
                           uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    if (n) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        x[i] = s[63 - i];
    }
}
kernel void three_dimensions(device float *x [[buffer(0)]], uint3 p [[thread_position_in_grid]],
                             uint l [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[l] = float(l);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[(p.z * 8 + p.y) * 8 + p.x] = s[63 - l];
}
kernel void ticket(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint at = atomic_fetch_add_explicit((device atomic_uint *)x, 1, memory_order_relaxed);
    x[1 + at] = i;
}
struct pair {
    float a, b;
};
kernel void copy_of_a_struct(device pair *x [[buffer(0)]],
                             uint i [[thread_position_in_threadgroup]]) {
    threadgroup pair s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[63 - i];
}
kernel void queue(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup uint at[2];
    uint lane_sum = simd_prefix_exclusive_sum(i % 2);
    if (i % 32 == 31) {
        at[i / 32] = atomic_fetch_add_explicit((device atomic_uint *)x, lane_sum + i % 2,
                                               memory_order_relaxed);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (i % 2) {
        x[1 + at[i / 32] + lane_sum] = i;
    }
}
constant float table[4] = {1, 2, 3, 4};
kernel void shared_constant_table(device float *x [[buffer(0)]],
                                  uint i [[thread_position_in_grid]]) {
    x[i] = table[i % 4];
}
kernel void reads_then_barrier_then_store(device float *x [[buffer(0)]],
                                          uint i [[thread_position_in_threadgroup]]) {
    float first = x[0];
    threadgroup_barrier(mem_flags::mem_device);
    if (i == 5) {
        x[0] = first + 1;
    }
}
kernel void simdgroups_apart(device float *x [[buffer(0)]],
                             uint i [[thread_position_in_threadgroup]],
                             uint g [[simdgroup_index_in_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float s[4][32];
    for (uint k = 0; k < 4; k++) {
        s[g][lane] = x[i] + float(k);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        float other = s[g][31 - lane];
        simdgroup_barrier(mem_flags::mem_threadgroup);
        x[i] += other;
    }
}
kernel void lane_zero_publishes(device float *x [[buffer(0)]],
                                uint i [[thread_position_in_threadgroup]],
                                uint lane [[thread_index_in_simdgroup]],
                                uint g [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[2];
    if (lane == 0) {
        s[g] = float(g);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[g];
}
kernel void welford(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float3 s[64];
    s[i] = float3(1, x[i], 0);
    for (uint n = 32; n > 0; n /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < n) {
            float3 a = s[i], b = s[i + n];
            float d = b.y - a.y, c = a.x + b.x;
            s[i] = float3(c, a.y + d * b.x / c, a.z + b.z + d * d * a.x * b.x / c);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[0].z;
}
kernel void all_load_between_barriers(device float *x [[buffer(0)]],
                                      uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[i] = x[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    float v = s[5];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    s[i] = v;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    float w = s[7];
    if (i != 7) {
        s[i] = w;
    }
    x[i] = v;
}
