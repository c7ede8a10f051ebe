#!/bin/bash
# What `make install` gives to other projects: the command, pkg-config, the CMake package, and an
# archive in a C program, from a folder that was moved. usage: install.sh BUILD_FOLDER C_COMPILER
set -u
build=$1
cc=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# shellcheck source=tests/cli/checks.sh
. "$here/checks.sh"
export INGOT_CACHE_DIR=$work/cache
unset INGOTC INGOT_PRELUDE

check "install" 0 -- cmake --install "$build" --prefix "$work/first"
mv first moved
prefix=$work/moved
lib=$(dirname "$(find "$prefix" -name libingot.so)")
for file in bin/ingot bin/ingotc bin/ingot-cuda-worker include/ingot/ingot.h include/ingot/ops.h share/ingot/prelude/metal_stdlib \
    share/man/man1/ingot-run.1 share/man/man1/ingotc.1 share/bash-completion/completions/ingot share/zsh/site-functions/_ingot \
    share/fish/vendor_completions.d/ingot.fish; do
    check "$file is there" 0 -- test -f "$prefix/$file"
done
check "libingot.a is there" 0 -- test -f "$lib/libingot.a"

cp "$here/../../examples/c/first.c" .
cat >scale.metal <<'M'
kernel void scale(device float *x, constant float &by, uint i [[thread_position_in_grid]]) { x[i] *= by; }
M
check "the installed command" 0 "= 3 6" -- "$prefix/bin/ingot" run scale.metal scale --threads 2 f32:1,2 f32:3

# ---- pkg-config ----------------------------------------------------------------------------
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH=$lib/pkgconfig
    same "pkg-config's version" "$(pkg-config --modversion ingot)" "$("$prefix/bin/ingot" --version | cut -d' ' -f2)"
    # shellcheck disable=SC2046 # a list of options
    check "a program by pkg-config" 0 -- "$cc" -Wall -Wextra -Werror first.c $(pkg-config --cflags --libs ingot) -o by_pkg_config
    check "runs" 0 "0 1 4 9 16" -- env LD_LIBRARY_PATH="$lib" ./by_pkg_config
else
    echo "skipped: pkg-config is not installed"
fi

# ---- CMake ---------------------------------------------------------------------------------
mkdir project && cp first.c project/
cat >project/CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.18)
project(other C)
find_package(ingot 0.1 REQUIRED)
add_executable(shared first.c)
target_link_libraries(shared ingot::ingot)
add_executable(static first.c)
target_link_libraries(static ingot::ingot_static)
C
check "find_package" 0 -- cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc"
check "and build" 0 -- cmake --build project/build
check "the shared library" 0 "0 1 4 9 16" -- project/build/shared
check "the static one, which has no compiler beside it" 1 "ingotc was not found" -- env PATH=/usr/bin:/bin project/build/static
check "and is told where one is" 0 "0 1 4 9 16" -- env INGOTC="$prefix/bin/ingotc" project/build/static
sed -i 's/ingot 0.1 REQUIRED/ingot 7.5 REQUIRED/' project/CMakeLists.txt
version=$("$prefix/bin/ingot" --version | sed 's/^ingot //')
check "a version that it is not" 1 "7.5" "$version" -- cmake -S project -B project/other -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc"

# ---- an archive inside a C program ------------------------------------------------------------
check "an archive as C" 0 -- "$prefix/bin/ingot" pack scale.metal -o kernels.ingot --emit-c
cat >embedded.c <<'C'
#include <ingot/ingot.h>
#include <stdio.h>
#include "kernels.h"
int main(void) {
    ingot_device *device = NULL;
    ingot_library *library = NULL;
    ingot_kernel *kernel = NULL;
    ingot_stream *stream = NULL;
    ingot_buffer *buffer = NULL;
    float values[4] = {1, 2, 3, 4}, by = 10;
    bool good = !ingot_device_open("cpu", NULL, &device) &&
                !ingot_library_create_from_memory(device, kernels, kernels_size, &library) &&
                !ingot_kernel_create(library, &(ingot_kernel_desc){.name = "scale"}, &kernel) &&
                !ingot_buffer_wrap(device, values, sizeof values, NULL, NULL, &buffer) &&
                !ingot_stream_create(device, &stream);
    ingot_arg args[] = {{.buffer = buffer}, {.bytes = &by, .size = sizeof by}};
    ingot_dispatch_desc desc = {.kernel = kernel, .threads = {4}, .args = args, .arg_count = 2};
    if (!good || ingot_stream_dispatch(stream, &desc) || ingot_stream_wait(stream))
        return printf("%s\n", ingot_error_message()), 1;
    printf("%g %g %g %g\n", values[0], values[1], values[2], values[3]);
    ingot_stream_release(stream);
    ingot_buffer_release(buffer);
    ingot_kernel_release(kernel);
    ingot_library_release(library);
    ingot_device_release(device);
    return 0;
}
C
check "a program with it" 0 -- "$cc" -std=c11 -Wall -Wextra -Werror embedded.c kernels.c -I"$prefix/include" -L"$lib" -lingot -Wl,-rpath,"$lib" -o embedded
check "needs no compiler" 0 "10 20 30 40" -- env PATH=/nowhere INGOTC=/nowhere/ingotc ./embedded

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
