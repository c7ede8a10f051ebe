#!/bin/sh
# Installs what building and testing ingot needs, when it is missing. Quick when nothing is.
# `tools/setup.sh --check` installs nothing, and exits 1 when something is missing; `--arm` asks only for what
# tests of aarch64 need on another machine, `--bench` for what `make bench-engine` compares with.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
missing=""

need() { # need PACKAGE COMMAND
    command -v "$2" >/dev/null 2>&1 || missing="$missing $1"
}

if [ "$(uname -s)" = Darwin ]; then
    # The compiler is Xcode's (tools/mac); LLVM is not needed, since Metal's compiler compiles kernels.
    for pair in cmake:cmake ninja:ninja python@3:python3; do need "${pair%%:*}" "${pair##*:}"; done
    if [ -n "$missing" ]; then
        echo "ingot needs these packages; install them with: brew install$missing"
        exit 1
    fi
    exit 0
fi

if [ "${1:-}" = --arm ]; then
    need gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc
    need qemu-user qemu-aarch64
    [ -f /usr/aarch64-linux-gnu/include/stdio.h ] || missing="$missing libc6-dev-arm64-cross"
elif [ "${1:-}" = --bench ]; then
    need_library() { # need_library PACKAGE NAME
        ldconfig -p 2>/dev/null | grep -q "$2" || missing="$missing $1"
    }
    PATH=$PATH:/sbin:/usr/sbin
    need_library libopenblas0-pthread libopenblas.so.0
    need_library ocl-icd-libopencl1 libOpenCL.so.1
    ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1 || missing="$missing pocl-opencl-icd"
else
    need gcc gcc
    need cmake cmake
    need ninja-build ninja
    need g++ g++ # torch.compile uses it
    need gdb gdb # tests step through kernels
    need python3 python3
    # The package needs Python's headers, its tests a virtual environment.
    if command -v python3 >/dev/null 2>&1; then
        [ -f "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] || missing="$missing python3-dev"
        python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
    else
        missing="$missing python3-dev python3-venv"
    fi
    # Metal programs in Objective-C are part of the tests; the library itself does without.
    if [ "$(uname -m)" = x86_64 ] && [ ! -f /usr/include/GNUstep/Foundation/Foundation.h ]; then
        missing="$missing libgnustep-base-dev"
    fi
    # A bare gcc may lack the C library's headers.
    [ -f /usr/include/stdio.h ] || missing="$missing libc6-dev"
    if version=$("$here/llvm-version"); then
        need "clang-format-$version" "clang-format-$version"
        need "clangd-$version" "clangd-$version" # tests look at Metal sources as an editor does
        if ! ls "$("llvm-config-$version" --libdir)"/clang/*/lib/*/libclang_rt.fuzzer*.a >/dev/null 2>&1; then
            missing="$missing libclang-rt-$version-dev"
        fi
        # What ingotc has within itself (cmake/bundled.cmake); without, it runs clang and lld as programs.
        if [ "$version" = 19 ]; then
            [ -f "$(llvm-config-19 --includedir)/clang/CodeGen/CodeGenAction.h" ] || missing="$missing libclang-19-dev"
            [ -f "$(llvm-config-19 --includedir)/lld/Common/Driver.h" ] || missing="$missing liblld-19-dev"
        fi
    else
        missing="$missing clang-19 llvm-19-dev lld-19 clang-format-19 clangd-19 libclang-rt-19-dev libclang-19-dev liblld-19-dev"
    fi
fi

[ -n "$missing" ] || exit 0
if [ "${1:-}" = --check ]; then
    echo "missing:$missing"
    exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "ingot needs these packages (Debian names), and there is no apt-get here to get them:$missing"
    exit 1
fi
as_root=""
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "ingot needs packages, and this is neither root nor is there sudo. As root, run:"
        echo "  apt-get update && apt-get install --no-install-recommends$missing"
        exit 1
    fi
    as_root="sudo"
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
install_missing() {
    # shellcheck disable=SC2086 # a list of packages
    # Another installation may be under way: its lock is waited for.
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q \
        --no-install-recommends $missing
}
# The package lists may be absent or old: refresh them when the first try fails.
if ! install_missing >/dev/null 2>&1; then
    $as_root apt-get update -q || echo "some package lists could not be refreshed; going on with the others"
    install_missing
fi
echo "installed:$missing"
