// The kernels of test_cuda.py, in a file so that they can be compiled ahead: the machine with a GPU may have no
// compiler (INGOT_CUDA_KERNELS names the archive there).
#include <metal_stdlib>
using namespace metal;

kernel void scale(device float *y, device const float *x, constant float &factor,
                  uint i [[thread_position_in_grid]]) {
    y[i] = factor * x[i];
}

kernel void add_index(device bfloat *y, constant int &first, uint i [[thread_position_in_grid]]) {
    y[i] = y[i] + bfloat(float(first + int(i)));
}

// Every SIMD-group adds up its numbers, every threadgroup those of its SIMD-groups.
kernel void group_sums(device float *sums, device const float *x, uint i [[thread_position_in_grid]],
                       uint group [[threadgroup_position_in_grid]], uint thread_number [[thread_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
                       uint simds [[simdgroups_per_threadgroup]]) {
    threadgroup float partial[32];
    float sum = simd_sum(x[i]);
    if (lane == 0)
        partial[simd] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (thread_number != 0)
        return;
    float total = 0;
    for (uint k = 0; k < simds; k++)
        total += partial[k];
    sums[group] = total;
}

// Waits, so that a stream has something to be in order with.
kernel void slow_fill(device float *y, constant float &value, constant int &rounds,
                      uint i [[thread_position_in_grid]]) {
    float x = value;
    for (int k = 0; k < rounds; k++)
        x = fma(x, 0.5f, value * 0.5f);
    y[i] = x;
}

struct Addresses {
    array<device const float *, 3> inputs;
};

kernel void add_three(device float *y, constant Addresses &addresses, uint i [[thread_position_in_grid]]) {
    y[i] = addresses.inputs[0][i] + addresses.inputs[1][i] + addresses.inputs[2][i];
}

constant int power [[function_constant(0)]];

kernel void raise(device float *y, device const float *x, uint i [[thread_position_in_grid]]) {
    float product = 1;
    for (int k = 0; k < power; k++)
        product *= x[i];
    y[i] = product;
}

kernel void reverse_in_group(device float *y, threadgroup float *room [[threadgroup(0)]],
                             uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                             uint size [[threads_per_threadgroup]]) {
    room[t] = y[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = room[size - 1 - t];
}
