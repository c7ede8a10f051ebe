// Asynchronous copies declared by their symbol: a tile in with zero padding, a tile out, a line.
// RUN: kernel=floats threads=32 group=32
// ARG 0: f32[10] = i + 1
// ARG 1: f32[16]
// ARG 2: f32[10]
// EXPECT 1: f32 [1 2 3 0 6 7 8 0 0 0 0 0 0 0 0 0]
// EXPECT 2: f32[10] = i + 1
// RUN: kernel=halves threads=32 group=32
// ARG 0: f16[10] = i + 1
// ARG 1: f16[16]
// ARG 2: f16[10]
// EXPECT 1: f16 [1 2 3 0 6 7 8 0 0 0 0 0 0 0 0 0]
// EXPECT 2: f16[10] = i + 1
// RUN: kernel=longs threads=32 group=32
// ARG 0: i64[10] = i + 1
// ARG 1: i64[16]
// ARG 2: i64[10]
// EXPECT 1: i64 [1 2 3 0 6 7 8 0 0 0 0 0 0 0 0 0]
// EXPECT 2: i64[10] = i + 1
#include <metal_stdlib>
using namespace metal;

struct event;
thread event *copy_in(ulong, ulong, threadgroup void *, ulong, ulong, ulong2, const device void *, ulong, ulong, ulong2,
                      long2, int) __asm("air.simdgroup_async_copy_2d.p3i8.p1i8");
thread event *copy_out(ulong, ulong, device void *, ulong, ulong, ulong2, const threadgroup void *, ulong, ulong,
                       ulong2, long2, int) __asm("air.simdgroup_async_copy_2d.p1i8.p3i8");
thread event *copy_line(ulong, ulong, threadgroup void *, const device void *,
                        ulong) __asm("air.simdgroup_async_copy_1d.p3i8.p1i8");
void wait_for(int, thread event **) __asm("air.wait_simdgroup_events");

template <typename T> void through(device const T *in, device T *out, device T *line, threadgroup T *t) {
    thread event *e =
        copy_in(sizeof(T), alignof(T), t, 4, 1, ulong2(4, 4), in, 5, 1, ulong2(3, 2), long2(0), 0);
    wait_for(1, &e);
    e = copy_out(sizeof(T), alignof(T), out, 4, 1, ulong2(4, 4), t, 4, 1, ulong2(4, 4), long2(0), 0);
    wait_for(1, &e);
    e = copy_line(sizeof(T), alignof(T), t, in, 10);
    wait_for(1, &e);
    for (uint i = 0; i < 10; i++)
        line[i] = t[i];
}
kernel void floats(device const float *in, device float *out, device float *line) {
    threadgroup float t[16];
    through(in, out, line, t);
}
kernel void halves(device const half *in, device half *out, device half *line) {
    threadgroup half t[16];
    through(in, out, line, t);
}
kernel void longs(device const long *in, device long *out, device long *line) {
    threadgroup long t[16];
    through(in, out, line, t);
}
