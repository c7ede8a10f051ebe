// Tensors without operations: bound by the host with strides, and made in place in every kind of memory; extents stated
// and not; slices of slices; loads and stores beyond the end; what the types say of themselves.
// OPTIONS: msl=410
// RUN: kernel=bound threads=1 group=1
// ARG 16: f32[35] = i
// ARG 0: bytes = addr:16 i64:5 i64:7 pad:112 i64:7 i64:1 pad:112
// ARG 1: f32[24] = -1
// EXPECT 1: f32 [5 7 7 1 16 0 0 0 3 6 17 24 2 3 3 2 29 0 1 1 0 1 0 -1]
// EXPECT 16: f32[35] = i == 34 ? 99 : i == 16 ? 50 : i
// RUN: kernel=spaces threadgroups=1 group=32
// ARG 0: i32[12] = 3 * i
// ARG 1: i32[40] = -1
// EXPECT 1: i32[40] = i < 12 ? 3 * i : i < 24 ? 3 * i - 36 + 1 : i < 36 ? 3 * i - 72 + 2 : i == 36 ? 33 : i == 37 ? 0 : i == 38 ? 4 : -1
// RUN: kernel=ranks threads=1 group=1
// ARG 0: i32[120] = i
// ARG 1: i32[8] = -1
// EXPECT 1: i32 [119 86 46 3 2 120 24 -1]
#include <metal_stdlib>
#include <metal_tensor>
#if !defined(__HAVE_TENSOR__) || __METAL_VERSION__ != 410
#error "no tensors"
#endif
using namespace metal;

// A matrix of 7 rows and 5 columns, stored by columns.
kernel void bound(tensor<device float, dextents<int, 2>> a [[buffer(0)]], device float *out [[buffer(1)]]) {
    using bound_t = decltype(a);
    out[0] = a.get_extent(0);
    out[1] = a.get_extent(1);
    out[2] = a.get_stride(0);
    out[3] = a.get_stride(1);
    out[4] = a[2, 2];
    out[5] = a.load(5, 0); // beyond
    out[6] = a.load(0, 7);
    out[7] = a.load(-1, 3);
    auto rest = a.slice(2, 1); // columns 2 to 4, rows 1 to 6
    out[8] = rest.get_extent(0);
    out[9] = rest.get_extent(1);
    out[10] = rest[array<int, 2>{0, 2}];
    out[11] = rest[1, 2];
    auto stated = rest.slice<2, 3>(1, 4); // more rows than there are
    static_assert(decltype(stated)::get_static_extent(0) == 2 && decltype(stated)::get_static_extent(1) == 3);
    out[12] = stated.get_extent(0);
    out[13] = stated.get_extent(1);
    out[14] = stated.get_extents().extent(1);
    out[15] = stated.get_rank();
    out[16] = stated.load(0, 2) + stated.load(0, 3) + stated.load(2, 0) + stated.load(0, 1) - stated[0, 1] + 29;
    out[17] = stated.load(0, 2); // row 7 is none
    out[18] = is_tensor_v<bound_t> && is_tensor_handle_v<bound_t> && !is_tensor_inline_v<bound_t>;
    out[19] = has_tensor_offset_v<decltype(rest)> && !has_tensor_offset_v<bound_t>;
    out[20] = is_tensor_v<float>;
    out[21] = is_same_v<bound_t::value_type, float> && is_same_v<bound_t::index_type, int>;
    out[22] = is_execution_thread_v<execution_simdgroup> || is_execution_simdgroups_v<execution_thread>;
    a.store(99.0f, 4, 6);
    a.store(77.0f, 4, 7); // beyond: nothing happens
    stated.store(77.0f, 0, 2);
    a[2, 2] = 50.0f;
}

constant int table[12] = {0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33};

kernel void spaces(device int *a [[buffer(0)]], device int *out [[buffer(1)]], uint lane [[thread_index_in_threadgroup]]) {
    threadgroup int shared[12];
    int own[12];
    using shape = extents<int, 4, 3>; // both stated
    auto in_device = tensor(a, shape());
    tensor<threadgroup int, shape, tensor_inline> in_threadgroup(shared, shape());
    tensor<thread int, extents<int, 4, dynamic_extent>, tensor_inline> in_thread(own, extents<int, 4, dynamic_extent>(3));
    auto in_constant = tensor(table, dextents<int, 2>(4, 3), array<int, 2>{1, 4});
    if (lane < 12) {
        in_threadgroup.store(in_device[lane % 4, lane / 4] + 1, lane % 4, lane / 4);
    }
    for (int i = 0; i < 12; i++) {
        in_thread[i % 4, i / 4] = in_device.load(i % 4, i / 4) + 2;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane < 12) {
        out[lane] = in_constant[lane % 4, lane / 4];
        out[12 + lane] = in_threadgroup.slice<4, 1>(0, lane / 4)[lane % 4, 0];
        out[24 + lane] = in_thread.load(lane % 4, lane / 4);
    }
    if (lane == 0) {
        out[36] = in_constant.load(3, 2);
        out[37] = in_constant.load(4, 0);
        out[38] = in_thread.get_static_extent(0);
    }
}

// One dimension, and five, with an index type of its own.
kernel void ranks(device int *a [[buffer(0)]], device int *out [[buffer(1)]]) {
    auto line = tensor(a, dextents<long, 1>(120));
    auto five = tensor(a, dextents<ushort, 5>(2, 3, 4, 5, 1));
    out[0] = line.slice(100)[19];
    out[1] = five[0, 1, 2, 3, 0]; // 2 + 12 + 72
    out[2] = five.slice(0, 1, 2, 0, 0).slice<1, 1>(0, 1, 1, 1, 0).data_handle()[0]; // 4 + 18 + 24
    out[3] = five.get_extent(1);
    out[4] = sizeof(decltype(five)::index_type);
    int product = 1;
    for (ushort r = 0; r < 5; r++) {
        product *= five.get_extent(r);
    }
    out[5] = product;
    out[6] = five.get_stride(3);
}
