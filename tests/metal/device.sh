#!/bin/bash
# Archives and compiled libraries on the device "metal". usage: device.sh FOLDER_OF_INGOT (with INGOT_METAL_BRIDGE)
set -u
bin=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0
failed=0

check() { # check NAME TEXT COMMAND...: the output has the text
    local name=$1 text=$2 output
    shift 2
    output=$("$@" 2>&1)
    case $output in
    *"$text"*) passed=$((passed + 1)) ;;
    *)
        failed=$((failed + 1))
        printf 'failed: %s: "%s" is not in:\n%s\n' "$name" "$text" "$output"
        ;;
    esac
}

mkdir include
printf '#pragma once\n#ifdef __INGOT__\n#define OURS 1\n#else\n#define OURS 0\n#endif\n' >include/ours.h
cat >k.metal <<'M'
#include <metal_stdlib>
#include "ours.h"
#include "ours.h"
using namespace metal;
constant int by [[function_constant(0)]];
kernel void ramp(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = int(i) + ADDED; }
kernel void scaled(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = int(i) * by; }
M
ints() { # ints COUNT FILE KERNEL OPTION...: what the kernel leaves in a buffer of that many
    local count=$1
    shift
    rm -f out.npy
    "$bin/ingot" run "$@" --threads "$count" "i32[$count]=out.npy" --quiet || return 1
    od -An -v -w1000 -td4 -j"$(($(od -An -tu2 -j8 -N2 out.npy) + 10))" out.npy | tr -s ' '
}
check "pack for metal" "2 kernels" "$bin/ingot" pack k.metal -o metal.ingot --target metal -I include -D ADDED=7
check "its text keeps conditions" '#ifdef __INGOT__' grep -a '#ifdef __INGOT__' metal.ingot
rm -r include # the archive needs no file
check "an archive runs" " 7 8 9 10" ints 4 metal.ingot ramp --device metal
check "with a constant" " 0 3 6 9" ints 4 metal.ingot scaled --device metal --const by=3
check "without its constant" 'by' ints 4 metal.ingot scaled --device metal
check "an unknown kernel" 'no kernel "ramps"' ints 4 metal.ingot ramps --device metal
check "two sources" "takes one source" "$bin/ingot" pack k.metal k.metal -o two.ingot --target metal
printf '#include <metal_stdlib>\nkernel void one(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = 5; }\nkernel void two(device int *x [[buffer(0)]]) { x[0] = 6; }\n' >c.metal
check "pack for both" "2 with code" "$bin/ingot" pack c.metal -o both.ingot --target x86-64-v3 --target metal --kernel one --no-source
check "metal's of both" " 5 5" ints 2 both.ingot one --device metal
check "the CPU's of both" " 5 5" ints 2 both.ingot one --device cpu
# an archive of a build without ingotc, in which nobody has listed the kernels
mkdir headers && echo '#define ANSWER 42' >headers/answer.h
printf '#include <metal_stdlib>\n#include "answer.h"\nkernel void answer(device int *x [[buffer(0)]]) { x[0] = ANSWER; }\n' >a.metal
"$bin/metal-archive" a.metal -o a.ingot -I headers || failed=$((failed + 1))
check "an archive of text alone" " 42 0" ints 2 a.ingot answer --device metal
if [ -x "$bin/ingot-xcrun" ]; then
    "$bin/ingot-xcrun" metal -c c.metal -o c.air && "$bin/ingot-xcrun" metallib c.air -o c.metallib
    check "a compiled library" " 5 5" ints 2 c.metallib one --device metal
    check "its other kernel" " 6 0" ints 2 c.metallib two --device metal
fi
# The launch policy: its column for this device, and what the tuner puts in its place.
check "the shipped policy" "axpy/f32/n1024/simd8.block512.wide1" \
    "$bin/ingot" health axpy --type f32 --case 1023 --device metal --verbose
check "tuning" "1 of 1 classes are faster" "$bin/ingot" tune axpy --type f32 --case "=1M" --device metal --time 0.0005 \
    --gain -1000 --output own.policy
check "a rule of its own" "metal:metal axpy/f32/n1048576 simd=" cat own.policy
echo 'metal axpy simd=2 block=256' >>own.policy
check "the user's rule wins" "axpy/f32/n1024/simd2.block256.wide" env INGOT_POLICY="$work/own.policy" \
    "$bin/ingot" health axpy --type f32 --case 1023 --device metal --verbose
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
