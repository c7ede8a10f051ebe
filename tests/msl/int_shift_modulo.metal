// Shifts count modulo the width: constants, template arguments, constexpr, unrolled loops, vectors, narrow types.
// RUN: kernel=constants threads=1 group=1
// ARG 0: u64[24]
// EXPECT 0: u64 [2 2 2 6 2 2 3221225487 8 2 4294967292 2 2 2 9223372036854775808 12 1 64 2 8 4]
//
// RUN: kernel=amounts threads=130 group=64
// ARG 0: u32[130]
// ARG 1: i32[130]
// ARG 2: u64[130]
// ARG 3: u32[130]
// EXPECT 0: u32[130] = 1 << (i % 32)
// EXPECT 1: i32[130] = floor((0 - 1000000) / pow(2, i % 32))
// EXPECT 2: u64[130] = pow(2, i % 64)
// EXPECT 3: u32[130] = (1 << (i % 8)) + 65536 * (1 << (i % 16))
//
// RUN: kernel=folded threads=8 group=8
// ARG 0: u32[8]
// ARG 1: u32 = 5
// EXPECT 0: u32[8] = idiv((i % 2 ? 2147483648 : 0) + (idiv(i, 2) % 2 ? 1073741824 : 0) + (idiv(i, 4) % 2 ? 536870912 : 0), 1073741824)
//
// RUN: kernel=constant_amount threads=4 group=4
// CONST amount: u32 = 35
// ARG 0: u32[4]
// EXPECT 0: u32[4] = 8 * (i + 1)
#include <metal_stdlib>
using namespace metal;

template <uint N> uint by_argument(uint x) { return x << N; }
template <uint N> constexpr uint of_arguments() { return 1u << N; }
template <int V> struct holds { static constexpr constant int value = V; };
constexpr uint assigned(uint n) {
    uint x = 1;
    x <<= n;
    return x;
}
constant uint table[2] = {1u << 33, 4u >> 33};
constexpr constant uint at_compile_time = 1u << 33;
enum named { NAMED = 1 << 33 };

kernel void constants(device ulong *x [[buffer(0)]]) {
    x[0] = 1u << 33;
    x[1] = table[0];
    x[2] = table[1];
    x[3] = by_argument<33>(3);
    x[4] = of_arguments<33>();
    x[5] = at_compile_time;
    uint sum = 0;
#pragma unroll
    for (int j = 30; j < 36; j++) {
        sum += 1u << j; // FINDS: arithmetic
    }
    x[6] = sum;
    constexpr uint a = assigned(35);
    x[7] = a;
    x[8] = 1ul << 65;
    x[9] = uint(-8 >> 33);
    x[10] = 1u << -31;
    constexpr uint4 v = uint4(1) << uint4(33);
    x[11] = v.x;
    x[12] = (uint4(1) << uint4(33)).y; // FINDS: arithmetic
    x[13] = 1ul << 63 << 64;
    x[14] = 1 + 1 << 33 + 1 << 32 | 8 >> 33; // (((1 + 1) << 34) << 32) | (8 >> 33)
    x[15] = ushort(1) << 32;
    x[16] = holds<(1 << 38)>::value;
    x[17] = NAMED;
    uchar c = 1;
    c <<= 35; // FINDS: arithmetic
    x[18] = c;
    x[19] = (ushort2(1) << ushort2(18)).x; // FINDS: arithmetic
}

kernel void amounts(device uint *x [[buffer(0)]], device int *y [[buffer(1)]],
                    device ulong *z [[buffer(2)]], device uint *w [[buffer(3)]],
                    uint i [[thread_position_in_grid]]) {
    x[i] = 1u << i; // FINDS: arithmetic
    y[i] = -1000000 >> i; // FINDS: arithmetic
    z[i] = 1ul << i; // FINDS: arithmetic
    uchar2 narrow = uchar2(1) << uchar2(i); // FINDS: arithmetic
    ushort2 wider = ushort2(1);
    wider <<= i; // FINDS: arithmetic
    w[i] = narrow.y + 65536 * wider.x;
}

// clz gives 61 here: LLVM knows that the amount is more than 32, and has a shift of 30.
kernel void folded(device uint *x [[buffer(0)]], constant uint &n [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    x[i] = reverse_bits(i) >> (clz(ulong(n)) + 1); // FINDS: arithmetic
}

constant uint amount [[function_constant(0)]];
kernel void constant_amount(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = (i + 1) << amount; // FINDS: arithmetic
}
