// A struct taken by value: its members, and those of structs in it, are the kernel's parameters.
// RUN: kernel=k_float threads=4 group=4
// ARG 0: f32 [10 20 30 40 50]
// ARG 1: u32 [2 1]
// ARG 2: i32[4]
// ARG 3: f32 [0.5]
// ARG 4: i32 [7]
// EXPECT 2: i32 [27 37 47 57]
#include <metal_stdlib>
using namespace metal;

struct layout {
    uint stride, offset;
};

template <typename T> struct array_view {
    device T *data;
    constant layout &shape;

    array_view(device T *d, constant layout &s) : data(d), shape(s) {}
    device T &at(uint i) const {
        return data[shape.offset + i * 1];
    }
};

template <typename T> struct arrays {
    array_view<const T> in;
    device int *out;
    uint i [[thread_position_in_grid]];
    constant T &scale [[buffer(3)]];

    static constexpr constant int half_of = 2;
};

template <typename T>
kernel void k(const arrays<T> a, constant int &more, uint lane [[thread_index_in_simdgroup]]) {
    a.out[a.i] = int(a.in.at(lane) * a.scale * T(a.in.shape.stride)) + more;
}
template [[host_name("k_float")]] kernel void k<float>(const arrays<float>, constant int &, uint);
