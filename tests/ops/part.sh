#!/bin/bash
# A build with one operation: -DINGOT_KERNELS=cholesky takes along what cholesky.needs names and nothing else, links
# without an undefined symbol, and works. And what is not declared, or not there, is refused by name.
# usage: tests/ops/part.sh SOURCE_FOLDER BUILD_FOLDER FOLDER_OF_ARCHIVES C_COMPILER
set -u
source=$1
build=$2
archives=$3
compiler=$4
passed=0
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export NO_COLOR=1

say() { # say NAME GOOD
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1"
        tail -n 40 "$work/out.txt" | sed 's/^/    /'
    fi
}

one_line() { # CMake breaks its messages
    tr '\n' ' ' <"$work/out.txt" | tr -s ' '
}

configure() { # configure SOURCE BUILD KERNELS
    cmake -S "$1" -B "$2" -G Ninja -Wno-dev "-DCMAKE_C_COMPILER=$compiler" -DCMAKE_C_FLAGS_RELWITHDEBINFO=-O0 \
        -DINGOT_COMPILER=OFF -DINGOT_TESTS=OFF "-DINGOT_KERNEL_ARCHIVES=$archives" "-DINGOT_KERNELS=$3" >"$work/out.txt" 2>&1
}

configure "$source" "$build" cholesky
say "it configures" $?
grep -qF 'a part of the operations, from kernels/: cholesky, convert' "$work/out.txt"
say "with what it needs, and no more" $?
cmake --build "$build" -j 2 --target ingot_command >"$work/out.txt" 2>&1
say "it builds and links" $?
"$build/bin/ingot" ops --json >"$work/out.txt" 2>&1
[ "$(grep -oE '"name": "(cholesky|convert|softmax|matmul)"' "$work/out.txt" | sort -u | tr '\n' ' ')" = '"name": "cholesky" "name": "convert" ' ]
say "it has these operations only" $?
"$build/bin/ingot" health --device cpu --case 33 --repeat 1 >"$work/out.txt" 2>&1
say "they pass their cases" $?
grep -qE '^[1-9][0-9]* passed, 0 failed' "$work/out.txt"
say "and there were some" $?

configure "$source" "$work/none" cholesy
[ $? != 0 ] && one_line | grep -qF 'there is no folder kernels/cholesy; there are: adamw, '
say "a folder that is not there is named" $?

# A copy of the tree in which cholesky no longer says what it needs.
mkdir "$work/copy" && cp -r "$source"/{CMakeLists.txt,cmake,kernels,src,include,prelude} "$work/copy/" &&
    rm "$work/copy/kernels/cholesky/cholesky.needs" && mkdir "$work/copy/bench" && : >"$work/copy/bench/CMakeLists.txt"
configure "$work/copy" "$work/undeclared" cholesky
[ $? != 0 ] && one_line |
    grep -qE 'cholesky\.c has #include "convert/convert\.h", but kernels/cholesky/cholesky\.needs does not name convert'
say "a need that is not declared is named" $?

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
