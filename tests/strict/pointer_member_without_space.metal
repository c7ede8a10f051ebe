#include <metal_stdlib>
using namespace metal;
struct view {
    float4 *data; // REFUSED: what a pointer points to
    int size;
};
kernel void k(device float4 *x [[buffer(0)]]) {
    view v = {x, 4};
    v.data[0] = float4(v.size);
}
