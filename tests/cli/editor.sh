#!/bin/bash
# `ingot editor`: clangd, where it is installed, reads unchanged Metal source without errors, and finds real ones.
# usage: tests/cli/editor.sh PATH_OF_INGOT
set -u
ingot=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# shellcheck source=tests/cli/checks.sh
. "$here/checks.sh"

check "a file for clangd" 0 "wrote ./.clangd" -- "$ingot" editor -D 'NAME=a"b' -I .
check "its flags" 0 "ingot_editor.h" '-DNAME=a\"b' "PathMatch" -- cat .clangd
check "which is not overwritten" 1 "exists" -- "$ingot" editor
cat >ingot.toml <<'T'
[[sources]]
files = ["k?.metal"]
define = ["SCALAR_T=float"]
include = ["include"]
prepend = ["prefix.h"]
msl = "4.0"
[[sources]]
files = ["k1.metal", "all*"]
define = ["SCALAR_T=half"]
T
check "but by --force" 0 "wrote" -- "$ingot" editor --force
check "what ingot.toml says of some files" 0 "    - 'k.\\.metal'" '"-DSCALAR_T=float"' "/include\"" "/prefix.h\"" \
    '"-D__METAL_VERSION__=400"' "    - 'all.*'" '"-DSCALAR_T=half"' "PathExclude" -- cat .clangd
echo 'files = 1' >wrong.toml
mkdir wrong && mv wrong.toml wrong/ingot.toml
check "a mistake in it" 1 "ingot.toml:1: a key before the first [[sources]]" -- "$ingot" editor wrong
printf '[[sources]]\n\nfiles = "a\\\n"\n' >wrong/ingot.toml
check "a string that goes on in the next line" 1 "ingot.toml:3: a string does not end on its line" -- "$ingot" editor wrong

clangd=$(find_clangd)
if [ -z "$clangd" ]; then
    echo "skipped: clangd 19 or newer is not installed"
else
    cat >all.metal <<'M'
#include <metal_stdlib>
using namespace metal;
constant bool flag [[function_constant(0)]];
constant float table[2] = {1.0f, 2.0f};
struct Point { float3 at; half2 h; float length() const { return metal::length(at); } };
template <typename T>
[[kernel]] void scale(device T *x [[buffer(0)]], constant float &by [[buffer(1)]], threadgroup float *dynamic [[threadgroup(0)]],
                      uint3 i [[thread_position_in_grid]], ushort lane [[thread_index_in_simdgroup]]) {
    threadgroup float tile[64];
    tile[lane] = float(x[i.x]) * by + table[i.y & 1] + 1.5h;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float4 v = float4(tile[0], dynamic[0], simd_sum(tile[lane]), 1).wzyx;
    x[i.x] = flag ? T(v.x) : T(dot(v, v));
}
template [[host_name("scale_float")]] kernel void scale<float>(device float *, constant float &, threadgroup float *, uint3, ushort);
struct Complex {
    float re, im;
    constexpr Complex(float x) thread : re(x), im(0) {}
    constexpr Complex(float x) threadgroup : re(x), im(0) {}
    constexpr Complex(float x) constant : re(x), im(0) {}
    constexpr operator float() const thread { return re; }
    constexpr operator float() const device { return re; }
};
static float sum(constant const int strides[2], thread const float *x) { return x[strides[0]] + x[strides[1]]; }
static float sum(constant const int strides[2], constant float *x) { return x[strides[0]] + x[strides[1]]; }
constant constexpr int width [[function_constant(1)]];
kernel void main0(device Complex *z, device const half2 *h, constant float *c, constant int *strides,
                  uint i [[thread_position_in_grid]]) {
    half2 two = i < 4 ? h[i] : half2(-MAXHALF);
    z[i] = Complex(sum(strides, c) + two.x + float(static_cast<bfloat>(two.y)) + width);
}
kernel void other(coherent(system) device int *x, coherent device long *y, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] + SCALAR_T(0);
}
enum named { SHIFTED = 1 << 33 }; // counts modulo the width
template <typename T> struct Pair {
    T a, b;
    constexpr Pair(vec<T, 2> v) constant : a(v.x), b(v.y) {}
};
constant Pair<float> both(float2(4, 5));
struct Numbers {
    float all[8];
    thread float &operator[](size_t i) thread { return all[i]; }
    threadgroup float &operator[](size_t i) threadgroup { return all[i]; }
};
threadgroup float *choose(bool first, threadgroup Numbers &n) { return first ? &n[6] : nullptr; }
Complex operator*(Complex a, Complex b) { return Complex(a.re * b.re - a.im * b.im); }
template <typename T> vec<T, 2> products(vec<T, 4> v) { return v.xy * v.zw; }
typedef half half8 __attribute__((ext_vector_type(8)));
typedef __attribute__((ext_vector_type(8))) float wide;
static constant vec<float, 9> weights{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5};
kernel void long_vectors(device const half *x, device half *y) {
    wide f = wide(*(device const half8 *)x) / 2.0f;
    f = max(f, wide(0, 1, 2, 3, 4, 5, 6, weights[8]));
    *(device half8 *)y = half8(f);
    y[8] = products(float4(1, 2, 3, 4)).x + all(f < wide(5));
}
kernel void count(device atomic_uint *n, uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(n, i, memory_order_relaxed);
    simdgroup_float8x8 m = simdgroup_float8x8(0.0f);
    simdgroup_multiply_accumulate(m, m, m, m);
}
M
    check "no false errors" 0 "All checks completed, 0 errors" -- "$clangd" --check=all.metal --check-locations=0
    # What a project says by ingot.toml holds in an editor too.
    mkdir include && echo '#define AMOUNT 3' >include/amount.h
    echo 'static SCALAR_T twice(SCALAR_T x) { static_assert(sizeof x == 4 && __METAL_VERSION__ == 400); return x + x; }' >prefix.h
    printf '#include "amount.h"\nkernel void k(device SCALAR_T *x) { x[0] = twice(x[0]) * AMOUNT; }\n' >k1.metal
    check "a project's own options" 0 "All checks completed, 0 errors" -- "$clangd" --check=k1.metal --check-locations=0
    sed 's/atomic_fetch_add_explicit/atomic_fetch_ad_explicit/' all.metal >all_wrong.metal
    cat >words.metal <<'M'
#include <metal_stdlib>
using namespace metal;
kernel void sums(device float *x, uint i [[thread_position_in_grid]]) {
    x[i] = simd_sum(x[i]);
}
M
    check "hover and completion" 0 "function simd_sum" "Parameters:" "simd_sum(T x)" -- \
        python3 "$here/clangd_session.py" "$clangd" words.metal 3 19
    check "real errors" 0 "'atomic_fetch_ad_explicit'" "1 errors" -- bash -c "$clangd --check=all_wrong.metal --check-locations=0; true"
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
