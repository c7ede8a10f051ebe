// A kernel that reads a texture through a function is refused where the function does it; a kernel
// beside it, and one that could read a texture but is not given any, run.
// RUN: kernel=plain threads=4 group=4
// ARG 0: f32[4]
// EXPECT 0: f32 [0 2 4 6]
// RUN: kernel=scaled threads=4 group=4
// ARG 0: f32[4]
// EXPECT 0: f32 [0 3 6 9]
// RUN: kernel=reads threads=4 group=4
// ARG 0: f32[4]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: 'read': textures and samplers are not supported
// RUN: kernel=takes threads=4 group=4
// ARG 0: f32[4]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: kernel "takes" has a texture2d parameter; textures and samplers are not supported
// RUN: kernel=made threads=4 group=4
// ARG 0: f32[4]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: kernel "made" has a depth2d parameter; textures and samplers are not supported
#include <metal_stdlib>
using namespace metal;

constexpr sampler linear_sampler(coord::normalized, address::clamp_to_edge, filter::linear);

struct Image {
    texture2d<float, access::read> pixels;
    float at(uint2 p) const {
        return pixels.read(p).x + pixels.get_width();
    }
};
float4 bicubic(texture2d<float> t, float2 p) {
    constexpr sampler nearest(mip_filter::none, mag_filter::nearest);
    return t.sample(linear_sampler, p) + t.sample(nearest, p, level(0)) + t.gather(nearest, p);
}

kernel void plain(device float *x [[buffer(0), access(read_write)]],
                  uint i [[thread_position_in_grid]]) {
    x[i] = 2 * i;
}
kernel void reads(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    Image image;
    x[i] = image.at(uint2(i));
}
kernel void takes(texture2d<float> t [[texture(0)]], device float *x [[buffer(0)]],
                  uint i [[thread_position_in_grid]]) {
    x[i] = bicubic(t, float2(i)).x;
}
kernel void scaled(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 3 * i;
}
template <int N>
kernel void turned(depth2d<float> t [[texture(0)]], device float *x [[buffer(0)]],
                   uint i [[thread_position_in_grid]]) {
    x[i] = t.read(uint2(i, N));
}
typedef decltype(turned<3>) turned_t;
template [[host_name("made")]] kernel turned_t turned<3>;
kernel void fifth(device float *x [[buffer(0)]]) {
    x[0] = 1;
}
