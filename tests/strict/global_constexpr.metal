#include <metal_stdlib>
using namespace metal;
namespace sizes {
inline constexpr int tile = 8; // REFUSED: outside of functions to be in the constant address space
}
kernel void k(device int *x [[buffer(0)]]) { x[0] = sizes::tile; }
