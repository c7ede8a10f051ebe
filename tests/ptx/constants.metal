// What a kernel reads of a constant reference it reads from the parameter block.
// WANT: ld\.param\.(u32|f32|v2|v4)
// NEVER: ld\.const
// NEVER: \.local
#include <metal_stdlib>
using namespace metal;

struct settings {
    uint count;
    float scale;
};

kernel void constants(device float *x, constant settings &s, uint i [[thread_position_in_grid]]) {
    if (i < s.count)
        x[i] *= s.scale;
}
