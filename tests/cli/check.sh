#!/bin/bash
# `ingot check` on whole projects: folders, stdin, ingot.toml, reports for code hosts. usage: check.sh PATH_OF_INGOT
set -u
ingot=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# shellcheck source=tests/cli/checks.sh
. "$here/checks.sh"

# A project whose program puts definitions before its sources, as MLX and llama.cpp do.
mkdir -p project/metal/deep project/include project/.hidden
cat >project/metal/scale.metal <<'M'
#include "amount.h"
kernel void scale(device SCALAR_T *x, uint i [[thread_position_in_grid]]) {
    x[i] = twice(x[i]) * SCALAR_T(AMOUNT);
}
M
echo '#define AMOUNT 3' >project/include/amount.h
printf '#include <metal_stdlib>\nusing namespace metal;\nstatic SCALAR_T twice(SCALAR_T x) { return x + x; }\n' >project/prefix.h
echo 'kernel void plain(device float *x) { x[0] = 1; }' >project/metal/deep/plain.metal
echo 'this is no kernel' >project/.hidden/not.metal
cat >project/ingot.toml <<'T'
# what the program defines
[[sources]]
files = ["metal/scale.metal"]
define = ["SCALAR_T=float"]
include = "include"
prepend = ["prefix.h"]

[[sources]]
files = 'metal/s*.metal'
define = [
    "SCALAR_T=half", # and the other type
]
include = ["include"]
prepend = ["prefix.h"]
T
cd project || exit 1
check "a project with defines" 0 "3 passed, 0 failed" "metal/scale.metal: kernel scale: ok" \
    "metal/deep/plain.metal: kernel plain: ok" -- "$ingot" check metal
: >empty.toml
check "without them" 1 "amount.h" -- "$ingot" check --project empty.toml metal/scale.metal
check "a hint at what defines macros" 1 "note: unknown, perhaps macros: SCALAR_T, AMOUNT" "-D SCALAR_T=VALUE" "in ingot.toml" \
    -- bash -c "echo 'kernel void k(device SCALAR_T *x) { x[0] = AMOUNT; }' | '$ingot' check --project empty.toml -"
check "which other names do not have" 1 "undeclared identifier 'y'" "!perhaps macros" \
    -- bash -c "echo 'kernel void k(device int *x) { x[0] = y; }' | '$ingot' check --project empty.toml -"
mkdir .four
printf '[[sources]]\nfiles = "4.metal"\nmsl = "4.0"\n' >.four/4.toml
echo 'kernel void k(device int (*x)[__METAL_VERSION__ == 400 ? 1 : -1]) { (*x)[0] = 1; }' >.four/4.metal
check "a version of the language" 0 "1 passed" -- "$ingot" check --project .four/4.toml .four/4.metal
check "another one" 1 "negative size" -- "$ingot" check --project empty.toml .four/4.metal
check "one file" 0 "2 passed" -- "$ingot" check ./metal/scale.metal
cd ..
check "from elsewhere" 0 "3 passed, 0 failed" -- "$ingot" check --project project/ingot.toml project
check "from elsewhere, with a dot" 0 "3 passed, 0 failed" -- "$ingot" check --project ./project/ingot.toml ./project
check "from a folder of the project" 0 "3 passed, 0 failed" \
    -- bash -c "cd project/metal && '$ingot' check --project ../ingot.toml scale.metal deep"
check "by the whole name" 0 "2 passed, 0 failed" \
    -- bash -c "cd project/metal && '$ingot' check --project '$work/project/ingot.toml' '$work/project/metal/scale.metal'"
mkdir nothing
check "a folder without kernels" 0 "warning: nothing has no .metal files" "0 passed, 0 failed" -- "$ingot" check nothing
sed -i 's/twice(x/thrice(x/' project/metal/scale.metal
check "diagnostics have the file's own lines" 1 "project/metal/scale.metal:3:12: error: use of undeclared identifier 'thrice'" \
    "::error file=project/metal/scale.metal,line=3,col=12::use of undeclared identifier 'thrice'" \
    -- "$ingot" check --project project/ingot.toml --annotations --sarif out.sarif --code-quality quality.json project
check "SARIF" 0 '"uri": "project/metal/scale.metal"' '"startLine": 3' '"startColumn": 12' '"level": "error"' '"version": "2.1.0"' -- cat out.sarif
check "code quality" 0 '"path": "project/metal/scale.metal"' '"begin": 3' '"severity": "major"' '"fingerprint": "' -- cat quality.json
same "one result for each place" "$(grep -c fingerprint quality.json)" 1
python3 -c 'import json; json.load(open("out.sarif")); json.load(open("quality.json"))' || { failed=$((failed + 1)); echo "FAIL reports are no JSON"; }
check "paths from the top" 1 "::error file=project/metal/scale.metal," -- "$ingot" check --project ./project/ingot.toml --annotations \
    --code-quality quality.json ./project/metal
check "in reports too" 0 '"path": "project/metal/scale.metal"' -- cat quality.json
check "stdin" 0 "<stdin>: kernel k: ok" "1 passed" -- bash -c "echo 'kernel void k(device int *x) { x[0] = 1; }' | '$ingot' check -"
check "an error in stdin" 1 "<stdin>:1:" -- bash -c "echo 'kernel void k(device int *x) { x[0] = y; }' | '$ingot' check -"
# Kernels of a compiled library have function constants of their own: none is missing, however many kernels there are.
make_metallib=$(dirname "$ingot")/make_metallib
python3 - "$here/../air/constants.ll" >many.ll <<'P'
import re, sys
text = open(sys.argv[1]).read()
body = re.search(r"define void @scaled.*?\n}\n", text, re.S)[0]
more = "".join(body.replace("@scaled", f"@scaled{i}") for i in range(39))
names = ["scaled"] + [f"scaled{i}" for i in range(39)]
kernels = "".join(f"!{100 + i} = !{{ptr @{name}, !5, !4}}\n" for i, name in enumerate(names))
listed = ", ".join(f"!{100 + i}" for i in range(40))
text = text.replace(body, body + more).replace("!air.kernel = !{!6}", f"!air.kernel = !{{{listed}}}")
print(text.replace("!6 = !{ptr @scaled, !5, !4}\n", kernels))
P
check "a compiled library" 0 -- "$make_metallib" many.metallib many.ll
check "constants of many compiled kernels" 0 "40 passed, 0 failed" -- "$ingot" check -q --no-code many.metallib
check "of some by name" 0 "2 passed, 0 failed" -- "$ingot" check -q -k scaled -k scaled7 many.metallib
# In another module the same index is a constant of another type.
sed 's/@scaled/@turned/g; s/i32 7}/i32 70}/; s/i32 8}/i32 7}/; s/i32 70}/i32 8}/' "$here/../air/constants.ll" >turned.ll
check "two modules" 0 -- "$make_metallib" two.metallib "$here/../air/constants.ll" turned.ll
check "constants of two types under one index" 0 "2 passed, 0 failed" -- "$ingot" check -q --no-code -k scaled -k turned two.metallib
for name in first second; do
    printf 'kernel void %s_kernel_with_a_long_name(device float *x) { x[0] = 1; }\nkernel void %s_other(device int *x) { x[0] = 2; }\n' \
        $name $name >$name.metal
done
for columns in 10 40 80; do
    check "progress on $columns columns" 0 "redraws, widest" \
        -- python3 "$here/terminal.py" $columns "$ingot" check --no-code first.metal second.metal
done
check "progress of pack" 0 "redraws, widest" -- python3 "$here/terminal.py" 40 "$ingot" pack first.metal second.metal -o out.ingot
if [ -n "${INGOTC:-}" ]; then
    same "the compiler's help fits 100 columns" "$("$INGOTC" --help | LC_ALL=C.UTF-8 grep -E "^.{101}")" ""
else
    echo "skipped: the compiler's help: INGOTC is not set"
fi
mkdir -p links/deep "odd #1"
cp first.metal links/deep
ln -s ../../links links/deep/back
check "a folder with a link to itself" 0 "2 passed, 0 failed" -- "$ingot" check --no-code links
echo 'kernel void k(device int *x) { x[0] = y; }' >'odd #1/été.metal'
check "an odd name" 1 "odd #1/été.metal:1:39" -- "$ingot" check --sarif odd.sarif 'odd #1'
check "its URI" 0 '"uri": "odd%20%231/%C3%A9t%C3%A9.metal"' -- cat odd.sarif
check "a folder without sources" 0 "0 passed" -- "$ingot" check project/include
printf '\xef\xbb\xbf[[sources]]\r\nfiles = ["first.metal"]\r\ndefine = ["float=int"]\r\n' >windows.toml
check "a byte order mark and carriage returns" 0 "2 passed" -- "$ingot" check --no-code --project windows.toml first.metal
for wrong in 'files = 1' '[table]' 'define = ["A"' '[[sources]]
unknown = "x"' '[[sources]]
files = "a" "b"' '[[sources]]
msl = "7.5"'; do
    echo "$wrong" >wrong.toml
    check "wrong: $wrong" 1 "wrong.toml:" -- "$ingot" check --project wrong.toml project/metal
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
