#!/bin/bash
# A tour of ingot: runs the kernels of this folder on the CPU, and checks what comes out.
# usage: examples/tour.sh [BUILD_FOLDER]
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
ingot=$build/bin/ingot
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0
bold=""
plain=""
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$(printf '\033[1m')
    plain=$(printf '\033[0m')
fi

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

show() { # prints a command as a person would type it, and runs it
    printf '  $ ingot'
    printf ' %s' "$@" | sed "s#$folder/##g"
    printf '\n'
    "$ingot" "$@" | sed -e "s#$folder/##g" -e 's/^/    /'
    return "${PIPESTATUS[0]}"
}

expect() { # expect WHAT VALUE EXPECTED
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
        echo "    ✓ $1: $2"
    else
        failed=$((failed + 1))
        echo "    ✗ $1: $2, but $3 was expected"
    fi
}

must() {
    if ! "$@"; then
        failed=$((failed + 1))
        echo "    ✗ the command failed"
        return 1
    fi
}

# The values of a .npy file: values FILE TYPE(od's) [FIRST COUNT]
values() {
    local header
    header=$(($(od -An -tu2 -j8 -N2 "$1") + 10))
    od -An -v -w1000000 "-t$2" -j$((header + ${3:-0})) ${4:+-N$4} "$1" | tr -s ' ' | sed 's/^ //;s/ $//'
}

say "1. What can kernels run on here?"
must show devices

say "2. A first kernel: y = a * x + y (examples/saxpy.metal)"
must show inspect examples/saxpy.metal
# x and y come from a helper kernel of the tour: x[i] = i, y[i] = 1.
cat >"$folder/ramp.metal" <<'KERNEL'
#include <metal_stdlib>
using namespace metal;
kernel void ramp(device float *x, device float *ones, uint i [[thread_position_in_grid]]) {
    x[i] = i;
    ones[i] = 1;
}
KERNEL
must "$ingot" run -q "$folder/ramp.metal" ramp --threads 8 "f32[8]=$folder/x.npy" "f32[8]=$folder/y.npy"
must show run examples/saxpy.metal saxpy --threads 8 f32:2 "$folder/x.npy" "$folder/y.npy=$folder/out.npy" &&
    expect "2 * [0 … 7] + 1" "$(values "$folder/out.npy" f4)" "1 3 5 7 9 11 13 15"

say "3. Softmax of four rows, one threadgroup per row, SIMD-group reductions and barriers"
must "$ingot" run -q "$folder/ramp.metal" ramp --threads 1024 "f32[4,256]=$folder/rows.npy" "f32[1024]"
must show run examples/softmax.metal softmax --threadgroups 4 --group 256 "$folder/rows.npy" "f32[4,256]=$folder/soft.npy" u32:256 &&
    expect "sum of the 1024 results" \
        "$(values "$folder/soft.npy" f4 | tr ' ' '\n' | awk '{ s += $1 } END { printf "%.4f", s }')" "4.0000"

say "4. RMS normalisation: a template, host names, and an argument that a function constant removes"
must show run examples/rms_norm.metal rms_norm_float --threadgroups 2 --group 64 --const has_weight=0 \
    "$folder/x.npy" "f32[8]=$folder/norm.npy" u32:4 f32:0 &&
    expect "mean square of each row" \
        "$(values "$folder/norm.npy" f4 | tr ' ' '\n' | awk '{ s += $1 * $1 } NR % 4 == 0 { printf "%s%.3f", (NR > 4 ? " " : ""), s / 4; s = 0 }')" "1.000 1.000"

say "5. A histogram with atomics in threadgroup memory and in device memory"
cat >"$folder/bytes.metal" <<'KERNEL'
#include <metal_stdlib>
using namespace metal;
kernel void bytes(device uchar *x, uint i [[thread_position_in_grid]]) { x[i] = uchar(i % 4); }
KERNEL
must "$ingot" run -q "$folder/bytes.metal" bytes --threads 100000 "u8[100000]=$folder/bytes.npy"
must show run examples/histogram.metal histogram --threads 4096 --group 256 "$folder/bytes.npy" "u32[256]=$folder/bins.npy" u32:100000 &&
    expect "the first five bins" "$(values "$folder/bins.npy" u4 0 20)" "25000 25000 25000 25000 0"

say "6. A tiled matrix product with simdgroup_matrix"
cat >"$folder/matrices.metal" <<'KERNEL'
#include <metal_stdlib>
using namespace metal;
kernel void matrices(device float *a, device float *b, uint2 p [[thread_position_in_grid]], uint2 n [[threads_per_grid]]) {
    a[p.y * n.x + p.x] = float(p.y + 1);
    b[p.y * n.x + p.x] = float(p.x % 3);
}
KERNEL
must "$ingot" run -q "$folder/matrices.metal" matrices --threads 256,256 "f32[256,256]=$folder/a.npy" "f32[256,256]=$folder/b.npy"
must show run examples/matmul.metal matmul --threadgroups 8,8 --group 128 --time --repeat 5 \
    "$folder/a.npy" "$folder/b.npy" "f32[256,256]=$folder/c.npy" u32:256 &&
    expect "the start of the second row" "$(values "$folder/c.npy" f4 1024 20)" "0 512 1024 0 512"

say "7. Threads that go their own way: the Mandelbrot set"
if must "$ingot" run -q examples/mandelbrot.metal mandelbrot --threads 64,24 "u8[24,64]=$folder/m.npy"; then
    values "$folder/m.npy" u1 | tr ' ' '\n' |
        awk '{ c = $1 > 100 ? "#" : $1 > 20 ? "+" : $1 > 6 ? "." : " "; printf "%s%s", (NR % 64 == 1 ? "    " : ""), c }
             NR % 64 == 0 { print "" }'
    expect "points in the set's middle" "$(values "$folder/m.npy" u1 $((12 * 64 + 40)) 1)" "255"
fi

say "8. Compiled ahead of time: the archive needs no compiler"
must show pack examples/saxpy.metal examples/softmax.metal -o "$folder/kernels.ingot" &&
    must env INGOTC=/nowhere INGOT_CLANG=/nowhere INGOT_CACHE_DIR="$folder/cache" \
        "$ingot" run -q "$folder/kernels.ingot" saxpy --threads 8 f32:3 "$folder/x.npy" "$folder/y.npy=$folder/out.npy" &&
    expect "3 * [0 … 7] + 1, without ingotc or clang" "$(values "$folder/out.npy" f4)" "1 4 7 10 13 16 19 22"

say "9. The same from C (examples/c/first.c)"
if [ -x "$build/bin/example-first" ]; then
    expect "squares" "$("$build/bin/example-first")" "0 1 4 9 16 25 36 49 64 81 "
fi

echo
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
