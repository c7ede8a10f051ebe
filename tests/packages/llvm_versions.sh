#!/bin/sh
# usage: llvm_versions.sh SOURCE_FOLDER
# What cmake/llvm.cmake says to versions of LLVM that do not fit, and to libraries that are not there: one sentence.
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
passed=0
failed=0
cat >CMakeLists.txt <<E
cmake_minimum_required(VERSION 3.22)
project(versions LANGUAGES C)
include($source/cmake/llvm.cmake)
E
cat >llvm-config <<'E'
#!/bin/sh
case $1 in
--version) echo "$FAKE_VERSION" ;;
--targets-built) echo X86 ;;
*) echo /nowhere/lib ;;
esac
E
chmod +x llvm-config
check() { # check WHAT VERSION EXPECTED OPTION...
    what=$1
    version=$2
    expected=$3
    shift 3
    if env FAKE_VERSION="$version" cmake -S . -B "build" -DLLVM_CONFIG="$work/llvm-config" "$@" >out 2>&1; then
        status=accepted
    else
        status=refused
    fi
    if tr -s '\n ' ' ' <out | grep -qF -- "$expected" && [ "$status" = "${expected_status:-refused}" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what: $status"
        cat out
    fi
}
check "LLVM 18" 18.1.8 "ingotc needs LLVM 19, 20 or 21;"
check "and its version" 18.1.8 "is of version 18.1.8"
check "LLVM 22" 22.1.0 "is of version 22.1.0"
check "no static libraries" 19.1.7 "INGOT_STATIC_LLVM=ON, but /nowhere/lib/libLLVMCore.a is missing" -DINGOT_STATIC_LLVM=ON
check "static libraries of LLVM 21" 21.1.0 "INGOT_STATIC_LLVM=ON, but it takes LLVM 19" -DINGOT_STATIC_LLVM=ON
expected_status=accepted
check "none asked for" 20.1.0 "LLVM 20.1.0 from" -DINGOT_STATIC_LLVM=OFF
check "none found" 19.1.7 "which it will look for when it runs" -DINGOT_STATIC_LLVM=AUTO
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
