// Kernels and functions that ingot does not take leave the others of their file alone.
// RUN: kernel=table threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: unsupported_beside.metal:39:50: error: kernel "table" has a visible_function_table parameter; visible functions are not supported
// RUN: kernel=encode threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: kernel "encode" has a command_buffer parameter; indirect command buffers are not supported
// RUN: kernel=blocks threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: kernel "blocks" has an imageblock parameter; imageblocks are not supported
// RUN: kernel=picture threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: kernel "picture" has a texture2d parameter; textures and samplers are not supported
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT 0: f32 [6]
#include <metal_mesh>
#include <metal_stdlib>
#include <metal_visible_function_table>
using namespace metal;

struct Vertex {
    float4 position [[position]];
};
using Triangles = metal::mesh<Vertex, void, 64, 64, topology::triangle>;

[[mesh]] void mesh_function(Triangles out, uint i [[thread_index_in_threadgroup]]) { out.set_primitive_count(1); }
[[object]] void object_function(object_data int *payload [[payload]], mesh_grid_properties grid) {
    grid.set_threadgroups_per_grid(uint3(1));
}
vertex Vertex vertex_function(uint i [[vertex_id]]) { return {float4(i)}; }

[[visible]] float twice(float x) { return 2 * x; }
struct render_command { // a type of the program's own
    float x;
};

kernel void table(device float *x [[buffer(0)]], visible_function_table<float(float)> f [[buffer(1)]]) { x[0] = f[0](1); }
kernel void encode(command_buffer commands [[buffer(0)]], uint i [[thread_position_in_grid]]) {}
kernel void blocks(imageblock<Vertex, imageblock_layout_implicit> b) {}
kernel void picture(texture2d<float, access::read> t [[texture(0)]]) {}
kernel void k(device float *x [[buffer(0)]]) {
    render_command c = {3};
    x[0] = twice(c.x);
}
