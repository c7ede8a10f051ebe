// Source without any include: types and attributes are there anyway.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32[4]
// EXPECT 0: f32 [0 1 2 3]
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = float(i); }
