// Threadgroup variables of more than 48 KiB are at the beginning of dynamic memory.
// WANT: \.extern \.shared \.align 16 \.b8 ingot_dynamic\[\]
// WANT: (shared|ingot_dynamic).*\+4[89][0-9][0-9][0-9]
// NEVER: \.shared.*ingot_global
#include <metal_stdlib>
using namespace metal;

kernel void large(device float *x [[buffer(0)]], threadgroup float *more [[threadgroup(0)]],
                  uint i [[thread_position_in_threadgroup]]) {
    threadgroup float a[12000], b[3000];
    for (uint j = i; j < 3000; j += 32) {
        a[4 * j] = j;
        b[j] = 2 * j;
    }
    more[i] = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = a[i * 300 + 8] + b[i * 90 + 3] + more[31 - i];
}
