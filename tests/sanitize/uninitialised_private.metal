// Variables of a thread that are read before they are written, and then stored, branched on or indexed by.
// SANITIZE: uninitialised,bounds
// RUN: kernel=scalar threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=one_path threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=switch_without_default threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=branch threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=loop_bound threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=conditional_operator threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=index threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=index_of_private threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=arithmetic_on_it threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=accumulator threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=integer_accumulator threads=8 group=8
// ARG 0: i32[8]
// RUN: kernel=array_element threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=array_tail threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=large_array threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=array_of_arrays threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=vector_component threads=8 group=8
// ARG 0: f32[32]
// RUN: kernel=vector_sum threads=8 group=8
// ARG 0: f32[32]
// RUN: kernel=vector_of_three threads=8 group=8
// ARG 0: f32[32]
// RUN: kernel=half_vector threads=8 group=8
// ARG 0: f16[32]
// RUN: kernel=component_by_index threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=swizzle threads=8 group=8
// ARG 0: f32[16]
// RUN: kernel=struct_member threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=struct_copy threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=struct_whole threads=8 group=8
// ARG 0: f32[16]
// RUN: kernel=array_in_struct threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=returned threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=out_parameter threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=through_pointer threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=one_of_two_arrays threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=in_each_iteration threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=maths_of_it threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=maths_of_vector threads=8 group=8
// ARG 0: f32[32]
// RUN: kernel=converted threads=8 group=8
// ARG 0: i32[8]
// RUN: kernel=as_bits threads=8 group=8
// ARG 0: u32[8]
// RUN: kernel=atomic_operand threads=8 group=8
// ARG 0: u32[8]
// RUN: kernel=matrix_column threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=boolean threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=shuffled threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=reduced threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=voted threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=scanned threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=tile_accumulator threads=32 group=32
// ARG 0: f32[64]
// ARG 1: f32[64]
// RUN: kernel=switched threads=8 group=8
// ARG 0: f32[8]
#include <metal_stdlib>
using namespace metal;

kernel void scalar(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    x[i] = v; // FINDS: uninitialised
}
kernel void one_path(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    if (i > 3) {
        v = 1;
    }
    x[i] = v; // FINDS: uninitialised
}
kernel void switch_without_default(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    switch (i & 3) {
    case 0:
        v = 1;
        break;
    case 1:
        v = 2;
        break;
    }
    x[i] = v; // FINDS: uninitialised
}
kernel void branch(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    if (v > 1) // FINDS: uninitialised
        x[i] = 1;
}
kernel void loop_bound(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int n;
    if (i == 3) {
        n = 2;
    }
    for (int k = 0; k < n; k++) { // FINDS: uninitialised
        x[i] += 1;
    }
}
kernel void conditional_operator(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int n;
    x[i] = n > 2 ? 1.0f : 2.0f; // FINDS: uninitialised
}
kernel void index(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint at;
    if (i < 2) {
        at = i;
    }
    x[at] = 1; // FINDS: uninitialised
}
kernel void index_of_private(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float table[4] = {1, 2, 3, 4};
    uint at;
    if (i < 2) {
        at = i;
    }
    x[i] = table[at]; // FINDS: uninitialised
}
kernel void arithmetic_on_it(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a, b = 2;
    float c = a * b + 3;
    x[i] = c - a; // FINDS: uninitialised
}
kernel void accumulator(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float sum;
    for (uint k = 0; k < 4; k++) {
        sum += x[k];
    }
    x[i] = sum; // FINDS: uninitialised
}
kernel void integer_accumulator(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int count;
    for (uint k = 0; k < i; k++) {
        count++;
    }
    x[i] = count; // FINDS: uninitialised
}
kernel void array_element(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4];
    a[0] = 1;
    a[1] = 2;
    a[2] = 3;
    x[i] = a[i & 3]; // FINDS: uninitialised
}
kernel void array_tail(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[8];
    for (uint k = 0; k < i; k++) {
        a[k] = float(k);
    }
    float sum = 0;
    for (uint k = 0; k < 8; k++) {
        sum += a[k];
    }
    x[i] = sum; // FINDS: uninitialised
}
kernel void large_array(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[100];
    for (uint k = 0; k < 99; k++) {
        a[k] = float(k);
    }
    x[i] = a[92 + i]; // FINDS: uninitialised
}
kernel void array_of_arrays(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[2][4];
    for (uint k = 0; k < 4; k++) {
        a[0][k] = 1;
    }
    a[1][0] = 1;
    x[i] = a[i >> 2][i & 3]; // FINDS: uninitialised
}
kernel void vector_component(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4 v;
    v.xyz = float3(1, 2, 3);
    x[i] = v; // FINDS: uninitialised
}
kernel void vector_sum(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4 v;
    v += float4(1);
    x[i] = v; // FINDS: uninitialised
}
kernel void vector_of_three(device float3 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float3 v;
    v.x = 1;
    v.y = 2;
    x[i] = v; // FINDS: uninitialised
}
kernel void half_vector(device half4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    half4 v;
    v.xy = half2(1);
    x[i] = v * 2.0h; // FINDS: uninitialised
}
kernel void component_by_index(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4 v;
    v[0] = 1;
    v[1] = 2;
    x[i] = v[i & 3]; // FINDS: uninitialised
}
kernel void swizzle(device float2 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4 v;
    v.xw = float2(1, 2);
    x[i] = v.wz; // FINDS: uninitialised
}
struct item {
    float value;
    int key;
};
kernel void struct_member(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    item it;
    it.key = int(i);
    x[i] = it.value; // FINDS: uninitialised
}
kernel void struct_copy(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    item it;
    it.key = int(i);
    item other = it;
    other.key += 1;
    x[i] = other.value * float(other.key); // FINDS: uninitialised
}
kernel void struct_whole(device item *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    item it;
    it.value = 1;
    x[i] = it; // FINDS: uninitialised
}
struct row {
    float values[4];
    uint count;
};
kernel void array_in_struct(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    row r;
    r.count = 3;
    for (uint k = 0; k < r.count; k++) {
        r.values[k] = 1;
    }
    x[i] = r.values[i & 3]; // FINDS: uninitialised
}
static item make(uint i) {
    item it;
    it.key = int(i);
    if (i & 1) {
        it.value = 2;
    }
    return it;
}
kernel void returned(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    item it = make(i);
    x[i] = it.value; // FINDS: uninitialised
}
static bool find(uint i, thread float &result) {
    if (i > 5) {
        return false;
    }
    result = float(i);
    return true;
}
kernel void out_parameter(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    find(i, v);
    x[i] = v; // FINDS: uninitialised
}
kernel void through_pointer(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4];
    thread float *p = a + 1;
    p[0] = 1;
    x[i] = p[1]; // FINDS: uninitialised
}
kernel void one_of_two_arrays(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4}, b[4];
    thread float *p = i & 1 ? a : b;
    x[i] = p[i & 3]; // FINDS: uninitialised
}
kernel void in_each_iteration(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < 4; k++) {
        float t;
        if (k == 0) {
            t = 1;
        }
        sum += t;
    }
    x[i] = sum; // FINDS: uninitialised
}
kernel void maths_of_it(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    x[i] = exp(v) + max(v, 1.0f); // FINDS: uninitialised
}
kernel void maths_of_vector(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4 v;
    v.xyz = float3(1);
    x[i] = sin(v); // FINDS: uninitialised
}
kernel void converted(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    half v;
    x[i] = int(v); // FINDS: uninitialised
}
kernel void as_bits(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    x[i] = as_type<uint>(v) >> 3; // FINDS: uninitialised
}
kernel void atomic_operand(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint v;
    atomic_fetch_add_explicit(&x[i], v, memory_order_relaxed); // FINDS: uninitialised
}
kernel void matrix_column(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float2x2 m;
    m[0] = float2(1, 2);
    x[i] = (m * float2(1, 1)).x; // FINDS: uninitialised
}
kernel void boolean(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    bool is;
    if (i < 4) {
        is = true;
    }
    if (is && x[i] == 0) // FINDS: uninitialised
        x[i] = 1;
}
kernel void shuffled(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    if (i != 7) {
        v = 1;
    }
    float other = simd_shuffle_xor(v, 1);
    if (i == 6) {
        x[i] = other; // FINDS: uninitialised
    } else if (i != 7) {
        x[i] = other;
    }
}
kernel void reduced(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    if (i != 7) {
        v = 1;
    }
    x[i] = simd_sum(v); // FINDS: uninitialised
}
kernel void voted(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    if (i > 7) {
        v = 1;
    }
    if (simd_any(v > 3)) // FINDS: uninitialised
        x[i] = 1;
}
kernel void scanned(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v;
    if (i != 20) {
        v = 1;
    }
    float before = simd_prefix_exclusive_sum(v);
    if (i <= 20) {
        x[i] = before;
    } else {
        x[i] = before + 1; // FINDS: uninitialised
    }
}
kernel void tile_accumulator(device float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 a, b, c;
    simdgroup_load(a, x, 8);
    simdgroup_load(b, x, 8);
    simdgroup_multiply_accumulate(c, a, b, c);
    simdgroup_store(c, y, 8); // FINDS: uninitialised
}
kernel void switched(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int mode;
    if (i == 100) {
        mode = 1;
    }
    switch (mode) { // FINDS: uninitialised
    case 0:
        x[i] = 1;
        break;
    case 5:
        x[i] = 2;
        break;
    }
}
