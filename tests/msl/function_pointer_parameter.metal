// A parameter that points to a function: `T (*op)(T, T)` is no cast of `*op`.
// RUN: kernel=apply threads=4 group=4
// ARG 0: f32 [1 2 3 4]
// EXPECT 0: f32 [3 4 5 6]
#include <metal_stdlib>
using namespace metal;

template <typename T>
static inline void apply_to(device T *data, T value, T (*op)(T, T)) {
    *data = op(*data, value);
}

static inline float add(float a, float b) {
    return a + b;
}

kernel void apply(device float *data, uint i [[thread_position_in_grid]]) {
    apply_to<float>(data + i, 2.0f, add);
}
