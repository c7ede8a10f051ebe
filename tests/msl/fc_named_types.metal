// A function constant's type may be a name for one, an enumeration, a vec<T, N>, or two words.
// RUN: kernel=k threads=1 group=1
// CONST count: u16 = 3
// CONST scale: f32 [1.5 2.5]
// CONST mode: u8 = 2
// CONST plain: i32 = 1
// CONST three: i16 [-1 -2 -3 0]
// CONST mask: u32 = 4000000000
// ARG 0: f32[8]
// EXPECT 0: f32 [3 2.5 2 1 -3 4000000000 6 0]
#include <metal_stdlib>
using namespace metal;

typedef ushort count_t;
using scale_t = float2;
using pair_t = scale_t;
enum class Mode : uchar { none, some, all };
enum Plain { first, second };
constant count_t count [[function_constant(0)]];
constant pair_t scale [[function_constant(1)]];
constant Mode mode [[function_constant(2)]];
constant Plain plain [[function_constant(3)]];
constant vec<short, 3> three [[function_constant(4)]];
constant unsigned int mask [[function_constant(5)]];
kernel void k(device float *x [[buffer(0)]]) {
    x[0] = count;
    x[1] = scale.y;
    x[2] = mode == Mode::all ? 2 : 0;
    x[3] = plain == second;
    x[4] = three.z;
    x[5] = mask;
    x[6] = sizeof(count) + sizeof(mask);
}
