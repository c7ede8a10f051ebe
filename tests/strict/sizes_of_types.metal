// Types of a size that there is not.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    x[0] = as_type<float>(half(1)); // ERROR: as_type needs types of the same size
    x[0] = as_type<float>(half2(1)) + as_type<float>(1);
    simdgroup_matrix<float, 4, 4> a; // ERROR: simdgroup_matrix is 8 by 8
    simdgroup_matrix<int, 8, 8> b; // ERROR: simdgroup_matrix holds float, half or bfloat
    simdgroup_matrix<half, 8, 8> c;
}
