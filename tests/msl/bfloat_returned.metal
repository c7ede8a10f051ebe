// bfloats that functions return, and that go straight to other functions. Unoptimised code (INGOT_DEBUG) had taken
// the bits of such a result for those of a float: -1 became -1.0078125.
// RUN: kernel=returned threads=8
// ARG 0: bf16[8] = i - 5
// ARG 1: f32[16]
// EXPECT 1: f32[16] = idiv(i, 2) + i % 2 == 8 ? 0 : idiv(i, 2) + i % 2 - 5
#include <metal_stdlib>
using namespace metal;

struct row {
    device const bfloat *data;
    uint count;
    bfloat load(uint i) const thread {
        return i < count ? same(data[i]) : bfloat(0);
    }
    static bfloat same(bfloat x) {
        return x;
    }
};

static vec<bfloat, 2> pair(thread const row &from, uint i) {
    uint j = i + 1;
    return vec<bfloat, 2>(row::same(from.load(i)), row::same(from.load(j)));
}

kernel void returned(device const bfloat *x, device float *y, uint i [[thread_position_in_grid]]) {
    row r = {x, 8};
    vec<bfloat, 2> two = pair(r, i);
    y[2 * i] = two.x;
    y[2 * i + 1] = two.y;
}
