// Tiles by the names of Metal's internals, as libraries of matrix kernels have them: two elements in each lane.
// RUN: kernel=k threads=32 group=32
// ARG 0: f16[64] = (i % 8) + idiv(i, 8)
// ARG 1: f16[64] = i % 8 == idiv(i, 8) ? 2 : 0
// ARG 2: f32[64] = i
// EXPECT 2: f32[64] = i + 2 * ((i % 8) + idiv(i, 8))
#include <metal_stdlib>
#pragma METAL internals : enable
using namespace metal;

template <typename T> struct Tile {
    typedef vec<T, 64> storage_type;
    storage_type t;
    thread vec<T, 2> *elements() thread { return reinterpret_cast<thread vec<T, 2> *>(&t); }
    Tile() thread = default;
    Tile(vec<T, 2> values) thread { *elements() = values; }
    template <typename U, typename V> void multiply(Tile<U> a, Tile<V> b) {
        t = __metal_simdgroup_matrix_8x8_multiply_accumulate(a.t, b.t, t, typename Tile<T>::storage_type());
    }
};

kernel void k(device const half *a [[buffer(0)]], device const half *b [[buffer(1)]], device float *c [[buffer(2)]],
              ushort lane [[thread_index_in_simdgroup]]) {
    ushort row = (lane / 16) * 4 + (lane / 2) % 4, column = (lane / 8) % 2 * 4 + (lane % 2) * 2;
    uint at = row * 8 + column;
    Tile<half> left(half2(a[at], a[at + 1])), right(half2(b[at], b[at + 1]));
    Tile<float> sum(float2(c[at], c[at + 1]));
    sum.multiply(left, right);
    c[at] = sum.elements()[0][0];
    c[at + 1] = sum.elements()->y;
}
