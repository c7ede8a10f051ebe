#!/bin/sh
# Compiles the kernels beside this file for sm_80 and sm_90 and looks at the PTX: lines
#   // WANT: REGEX     of a source must be found in it,
#   // NEVER: REGEX    must not,
#   // TARGETS: LEVEL…  for others than these two.
# Also: instructions of the library's kernels (library.txt), and variants for some of the targets only. Ends with "N passed, N failed".
set -u
ingotc=${1:?usage: check.sh INGOTC}
here=$(cd "$(dirname "$0")" && pwd) || exit 1
ptx=$(mktemp) || exit 1
trap 'rm -f "$ptx"' EXIT
passed=0
failed=0

result() { # result NAME STATUS
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1"
    fi
}

for source in "$here"/*.metal; do
    targets=$(sed -n 's,^// TARGETS: ,,p' "$source")
    for target in ${targets:-sm_80 sm_90}; do
        name="$(basename "$source") $target"
        "$ingotc" "$source" --target "$target" --emit asm -o "$ptx"
        result "$name: does not compile" $?
        while IFS= read -r pattern; do
            grep -Eq -- "$pattern" "$ptx"
            result "$name: there is no $pattern" $?
        done <<EOF
$(sed -n 's,^// WANT: ,,p' "$source")
EOF
        for pattern in $(sed -n 's,^// NEVER: ,,p' "$source"); do
            ! grep -Eq -- "$pattern" "$ptx"
            result "$name: there is $pattern" $?
        done
    done
done
# Kernels of the library: how often an instruction is there.
root=$(cd "$here/../.." && pwd) || exit 1
made=
while read -r file kernel options count pattern; do
    case $file in '' | '#'*) continue ;; esac
    [ "$options" = - ] && options=
    case $options in *--target*) ;; *) options=$options,--target,sm_90 ;; esac
    if [ "$made" != "$kernel $options" ]; then
        # shellcheck disable=SC2046 # a list of options
        "$ingotc" "$root/$file" --include "$root/kernels" --kernel "$kernel" $(echo "$options" | tr ',' ' ') \
            --emit asm -o "$ptx"
        result "$kernel: does not compile" $?
        made="$kernel $options"
    fi
    found=$(grep -Ec -- "$pattern" "$ptx")
    [ "$found" = "$count" ]
    result "$kernel: $pattern is there $found times, not $count" $?
done <"$here/library.txt"

# Code for sm_90 waits for the kernels before it with its first instruction (base/cuda_abi.h); sm_80 knows none.
for target in sm_80 sm_90; do
    "$ingotc" "$here/stream.metal" --target "$target" --emit asm -o "$ptx"
    first=$(grep -Ev '^[[:space:]]*(//|\.|$)' "$ptx" | sed -n '/^{/{n;p;q;}' | tr -d '\t;')
    case $target.$first in
    sm_90.griddepcontrol.wait) result "" 0 ;;
    sm_80.griddepcontrol* | sm_90.*) result "stream.metal $target: begins with $first" 1 ;;
    *) result "" 0 ;;
    esac
done

if command -v "${INGOT_PTXAS:-ptxas}" >/dev/null; then
    "$ingotc" "$here/stream.metal" --target sm_90.cubin -o "$ptx"
    grep -aq 'griddepcontrol.wait' "$ptx"
    result "stream.metal: the cubin does not say that it waits" $?
else
    echo "left out: what a cubin says of itself; there is no ptxas"
fi

# Of three kernels, one is for GPUs, one for CPUs and one for both.
source=$(mktemp --suffix=.metal) && variants=$(mktemp) || exit 1
trap 'rm -f "$ptx" "$source" "$variants"' EXIT
cat >"$source" <<'EOF'
#include <metal_stdlib>
using namespace metal;
constant int n [[function_constant(0)]];
kernel void for_gpu(device int *x [[buffer(0)]]) { x[0] = n; }
kernel void for_cpu(device int *x [[buffer(0)]]) { x[0] = n + 1; }
kernel void for_both(device int *x [[buffer(0)]]) { x[0] = n + 2; }
EOF
printf 'cuda: for_gpu n={1,2}\ncpu: for_cpu n=1\nfor_both n=3\ncuda: for_both n=3\n' >"$variants"
"$ingotc" "$source" --variants "$variants" --target x86-64-v3 --target sm_90 -o "$ptx"
result "variants by target: do not compile" $?
[ "$(grep -a -c '^\.visible \.entry' "$ptx")" = 3 ]
result "variants by target: not three kernels for GPUs" $?
[ "$(LC_ALL=C grep -a -o "$(printf '\177ELF')" "$ptx" | wc -l)" = 2 ]
result "variants by target: not two kernels for CPUs" $?
echo 'gpu: for_gpu n=1' >"$variants"
"$ingotc" "$source" --variants "$variants" --target sm_90 -o "$ptx" 2>&1 | grep -q ':1: no "cpu", "cuda",.* or code level: "gpu"'
result "variants by target: a wrong word is not named" $?

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
