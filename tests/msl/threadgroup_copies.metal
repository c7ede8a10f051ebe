// Copies from device to threadgroup memory, which GPUs may make in the background: whoever looks at
// one or changes its source before a barrier must not notice.

// Two buffers change places while one is read and the other is filled.
// RUN: kernel=in_turn threads=64 group=32
// ARG 0: f32[1024] = i
// ARG 1: f32[64]
// ARG 2: u32 = 4
// TG 0: 512
// TG 1: 512
// EXPECT 1: f32[64] = sum(p, 0, 4, ((31 - i % 32) * 4 + p * 128 + idiv(i, 32) * 512) * (p + 1))

// The same with the barrier at the start of a turn, and a third place that is read in all of them.
// RUN: kernel=barrier_first threads=64 group=32
// ARG 0: f32[1024] = i
// ARG 1: f32[64]
// ARG 2: u32 = 4
// TG 0: 512
// TG 1: 512
// TG 2: 512
// EXPECT 1: f32[64] = sum(p, 0, 4, (31 - i % 32) * 4 + p * 128 + idiv(i, 32) * 512 + (i % 32) * 4 + idiv(i, 32) * 512)

// Three places in turn: what is copied is read two turns later, or one and two turns later.
// RUN: kernel=two_ahead threads=64 group=32
// ARG 0: f32[1536] = i
// ARG 1: f32[64]
// ARG 2: u32 = 6
// TG 0: 512
// TG 1: 512
// TG 2: 512
// EXPECT 1: f32[64] = sum(p, 0, 6, ((31 - i % 32) * 4 + p * 128 + idiv(i, 32) * 768) * (p + 1))
// RUN: kernel=one_and_two_ahead threads=64 group=32
// ARG 0: f32[1536] = i
// ARG 1: f32[64]
// ARG 2: u32 = 6
// TG 0: 512
// TG 1: 512
// TG 2: 512
// EXPECT 1: f32[64] = sum(p, 0, 6, (31 - i % 32) * 4 + p * 128 + idiv(i, 32) * 768) + sum(p, 1, 5, (31 - i % 32) * 4 + p * 128 + idiv(i, 32) * 768)

// What was copied in one turn is looked at in the next before its barrier, by the same thread.
// RUN: kernel=looked_at threads=64 group=32
// ARG 0: f32[1024] = i
// ARG 1: f32[64]
// ARG 2: u32 = 4
// TG 0: 512
// TG 1: 512
// EXPECT 1: f32[64] = sum(p, 0, 4, (i % 32) * 4 + p * 128 + idiv(i, 32) * 512 + (31 - i % 32) * 4 + p * 128 + idiv(i, 32) * 512)

// The thread reads back what it has copied, without a barrier.
// RUN: kernel=read_back threads=64 group=64
// ARG 0: f32[256] = 3 * i
// ARG 1: f32[64]
// EXPECT 1: f32[64] = 4 * 3 * 4 * i + 18

// The source changes after the copy, and before the barrier.
// RUN: kernel=source_changes threads=64 group=64
// ARG 0: f32[256] = i
// ARG 1: f32[256]
// EXPECT 0: f32[256] = -1
// EXPECT 1: f32[256] = 4 * (63 - idiv(i, 4)) + i % 4

// The same place is written twice, from two sources, the second of them later: it stays.
// RUN: kernel=written_twice threads=64 group=64
// ARG 0: f32[256] = i
// ARG 1: f32[256] = 1000 + i
// ARG 2: f32[256]
// EXPECT 2: f32[256] = (idiv(i, 4) % 2 ? 1000 : 0) + 4 * (63 - idiv(i, 4)) + i % 4

// Zeros past the end, as one branch or another.
// RUN: kernel=guarded threads=64 group=64
// ARG 0: f32[150] = i + 1
// ARG 1: f32[256]
// ARG 2: u32 = 150
// EXPECT 1: f32[256] = i < 148 ? i + 1 : 0

// Some lanes copy, the others keep what was there.
// RUN: kernel=divergent threads=64 group=64
// ARG 0: f32[256] = i
// ARG 1: f32[256]
// EXPECT 1: f32[256] = (63 - idiv(i, 4)) % 3 == 1 ? 4 * (63 - idiv(i, 4)) + i % 4 : -5

// In a loop with a varying number of rounds, barrier after it; and the value is used as well.
// RUN: kernel=loops threads=32 group=32
// ARG 0: f32[128] = i
// ARG 1: f32[128]
// ARG 2: f32[32]
// ARG 3: u32 = 128
// EXPECT 1: f32[128] = 127 - i
// EXPECT 2: f32[32] = i + (i + 32) + (i + 64) + (i + 96)

// A copy that is still under way when its thread ends, and one from a device buffer that the same
// thread has written before.
// RUN: kernel=written_before threads=64 group=64
// ARG 0: f32[256] = i
// ARG 1: f32[256]
// EXPECT 1: f32[256] = 4 * (63 - idiv(i, 4)) + i % 4 + 0.5

// What a thread has copied in one round of a loop it reads in the next one, with no barrier in
// between, from the same distance to another place; and through pointers that change places.
// RUN: kernel=across_rounds threads=32 group=32
// ARG 0: f32[512] = i
// ARG 1: f32[32]
// ARG 2: u32 = 3
// EXPECT 1: f32[32] = (4 * i) + (128 + 4 * i) + (256 + 4 * i)
// RUN: kernel=swapped_before threads=32 group=32
// ARG 0: f32[512] = i
// ARG 1: f32[32]
// ARG 2: u32 = 3
// TG 0: 512
// TG 1: 512
// EXPECT 1: f32[32] = (4 * i) + (128 + 4 * i) + (256 + 4 * i)

// Words and pairs of words.
// RUN: kernel=narrow threads=64 group=64
// ARG 0: f32[192] = i
// ARG 1: f32[192]
// EXPECT 1: f32[192] = i < 64 ? 63 - i : 64 + 2 * (63 - idiv(i - 64, 2)) + (i - 64) % 2
#include <metal_stdlib>
using namespace metal;

kernel void in_turn(device const float4 *x, device float *y, constant uint &panels,
                    threadgroup float4 *a [[threadgroup(0)]],
                    threadgroup float4 *b [[threadgroup(1)]], uint t [[thread_index_in_threadgroup]],
                    uint g [[threadgroup_position_in_grid]]) {
    x += 128 * g;
    threadgroup float4 *now = a, *next = b;
    now[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint p = 0; p < panels; p++) {
        if (p + 1 < panels)
            next[t] = x[(p + 1) * 32 + t];
        sum += now[31 - t].x * float(p + 1);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        threadgroup float4 *used = now;
        now = next;
        next = used;
    }
    y[32 * g + t] = sum;
}

kernel void barrier_first(device const float4 *x, device float *y, constant uint &panels,
                          threadgroup float4 *a [[threadgroup(0)]],
                          threadgroup float4 *b [[threadgroup(1)]],
                          threadgroup float4 *always [[threadgroup(2)]],
                          uint t [[thread_index_in_threadgroup]],
                          uint g [[threadgroup_position_in_grid]]) {
    x += 128 * g;
    threadgroup float4 *now = a, *next = b;
    always[31 - t] = x[31 - t];
    now[t] = x[t];
    float sum = 0;
    for (uint p = 0; p < panels; p++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (p + 1 < panels)
            next[t] = x[(p + 1) * 32 + t];
        sum += now[31 - t].x + always[t].x;
        threadgroup float4 *used = now;
        now = next;
        next = used;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[32 * g + t] = sum;
}

kernel void two_ahead(device const float4 *x, device float *y, constant uint &panels,
                      threadgroup float4 *a [[threadgroup(0)]],
                      threadgroup float4 *b [[threadgroup(1)]],
                      threadgroup float4 *c [[threadgroup(2)]],
                      uint t [[thread_index_in_threadgroup]],
                      uint g [[threadgroup_position_in_grid]]) {
    x += 192 * g;
    threadgroup float4 *now = a, *next = b, *last = c;
    now[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    next[t] = x[32 + t];
    float sum = 0;
    uint p = 2;
    for (; p < panels; p++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        last[t] = x[p * 32 + t];
        sum += now[31 - t].x * float(p - 1);
        threadgroup float4 *used = now;
        now = next;
        next = last;
        last = used;
    }
    do {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += now[31 - t].x * float(p - 1);
        now = next;
        p++;
    } while (p < panels + 2);
    y[32 * g + t] = sum;
}

kernel void one_and_two_ahead(device const float4 *x, device float *y, constant uint &panels,
                              threadgroup float4 *a [[threadgroup(0)]],
                              threadgroup float4 *b [[threadgroup(1)]],
                              threadgroup float4 *c [[threadgroup(2)]],
                              uint t [[thread_index_in_threadgroup]],
                              uint g [[threadgroup_position_in_grid]]) {
    x += 192 * g;
    threadgroup float4 *now = a, *next = b, *last = c;
    now[t] = x[t];
    next[t] = x[32 + t];
    float sum = 0;
    for (uint p = 2; p < panels; p++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        last[t] = x[p * 32 + t];
        sum += now[31 - t].x + next[31 - t].x;
        threadgroup float4 *used = now;
        now = next;
        next = last;
        last = used;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[32 * g + t] = sum + now[31 - t].x + next[31 - t].x;
}

kernel void looked_at(device const float4 *x, device float *y, constant uint &panels,
                      threadgroup float4 *a [[threadgroup(0)]],
                      threadgroup float4 *b [[threadgroup(1)]],
                      uint t [[thread_index_in_threadgroup]],
                      uint g [[threadgroup_position_in_grid]]) {
    x += 128 * g;
    threadgroup float4 *now = a, *next = b;
    now[t] = x[t];
    float sum = 0;
    for (uint p = 0; p < panels; p++) {
        sum += now[t].x;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (p + 1 < panels)
            next[t] = x[(p + 1) * 32 + t];
        sum += now[31 - t].x;
        threadgroup float4 *used = now;
        now = next;
        next = used;
    }
    y[32 * g + t] = sum;
}

kernel void read_back(device const float4 *x, device float *y,
                      uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 place[64];
    place[t] = x[t];
    threadgroup float *own = (threadgroup float *)(place + t);
    float sum = own[0] + own[1] + own[2] + own[3];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = sum + place[t].x - own[0];
}

kernel void source_changes(device float4 *x, device float4 *y,
                           uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 place[64];
    place[t] = x[t];
    x[t] = float4(-1);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = place[63 - t];
}

kernel void written_twice(device const float4 *x, device const float4 *other, device float4 *y,
                          uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 place[64];
    place[t] = x[t];
    if (t % 2 == 0)
        place[t] = other[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = place[63 - t];
}

kernel void guarded(device const float4 *x, device float4 *y, constant uint &count,
                    uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 place[64];
    float4 value = 0;
    if (4 * t + 4 <= count)
        value = x[t];
    place[t] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[63 - t] = place[63 - t];
}

kernel void divergent(device const float4 *x, device float4 *y,
                      uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 place[64];
    place[t] = float4(-5);
    if (t % 3 == 1)
        place[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = place[63 - t];
}

kernel void loops(device const float *x, device float *y, device float *sums, constant uint &count,
                  uint t [[thread_index_in_threadgroup]]) {
    threadgroup float place[128];
    float sum = 0;
    for (uint i = t; i < count; i += 32) {
        float value = x[i];
        place[i] = value;
        sum += value;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < count; i += 32)
        y[i] = place[count - 1 - i];
    sums[t] = sum;
}

kernel void written_before(device float4 *x, device float4 *y,
                           uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 place[64], unread[64];
    x[t] += 0.5f;
    place[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = place[63 - t];
    unread[t] = x[63 - t]; // FINDS: race
}

kernel void across_rounds(device const float4 *x, device float *y, constant uint &rounds,
                          uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 places[128];
    places[t] = x[t];
    float sum = 0;
    for (uint r = 0; r < rounds; r++) {
        threadgroup float4 *place = places + 32 * r + t;
        sum += place[0].x;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        place[32] = x[32 * (r + 1) + t];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = sum;
}

kernel void swapped_before(device const float4 *x, device float *y, constant uint &rounds,
                           threadgroup float4 *a [[threadgroup(0)]],
                           threadgroup float4 *b [[threadgroup(1)]],
                           uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 *now = a, *next = b;
    now[t] = x[t];
    float sum = 0;
    for (uint r = 0; r < rounds; r++) {
        sum += now[t].x;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        next[t] = x[32 * (r + 1) + t];
        threadgroup float4 *used = now;
        now = next;
        next = used;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = sum;
}

kernel void narrow(device const float *x, device float *y, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float words[64];
    threadgroup float2 pairs[64];
    words[t] = x[t];
    pairs[t] = ((device const float2 *)(x + 64))[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = words[63 - t];
    ((device float2 *)(y + 64))[t] = pairs[63 - t];
}
