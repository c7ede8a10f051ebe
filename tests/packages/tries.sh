# What is tried in a bare system (in_roots.sh), by dash, in an empty folder. Each ends with a line `tried: …`.
# shellcheck shell=sh

now() {
    date +%s.%N
}

seconds() { # seconds START END
    awk "BEGIN { printf \"%.1f s\", $2 - $1 }"
}

glibc() {
    ldd --version | awk 'NR == 1 { print "glibc " $NF }'
}

is_bare() {
    for tool in gcc cc clang clang-19 ld ld.lld llvm-config; do
        if command -v "$tool" >/dev/null; then
            echo "there is a $tool here: this system is not bare"
            return 1
        fi
    done
}

# Programs of LLVM in PATH that are not ingot's, and fail: whoever runs one leaves a file. Packages have their own.
foreign_llvm() { # foreign_llvm COMMAND ARGUMENT...
    mkdir foreign
    for tool in clang clang-19 clang-20 clang-21 ld.lld ld.lld-19 ld.lld-20 ld.lld-21 llvm-config; do
        printf '#!/bin/sh\necho "%s" >>"%s/foreign/ran"\nexit 1\n' "$tool" "$PWD" >"foreign/$tool"
        chmod +x "foreign/$tool"
    done
    PATH=$PWD/foreign:$PATH INGOT_CACHE_DIR=$PWD/foreign/cache "$@"
    if [ -f foreign/ran ]; then
        echo "ran what is not its own:" && cat foreign/ran
        return 1
    fi
}

# README's first kernel by the command COMMAND, and an operation against its reference.
use_command() { # use_command COMMAND
    "$1" run /tmp/given/wave.metal wave --threads 64 'f32[64]=out.npy' f32:0.5 >said
    cat said
    grep -q "496 496.47943 496.84146" said
    "$1" run --isolated /tmp/given/wave.metal wave --threads 64 'f32[64]' f32:0.5
    "$1" pack /tmp/given/wave.metal -o wave.ingot --target cpu-levels --target sm_90
    foreign_llvm "$1" run /tmp/given/wave.metal wave --threads 64 'f32[64]' f32:0.5
    "$1" health softmax --type f32 | tail -n 3
}

try_archive() {
    is_bare
    mkdir unpacked
    tar -xzf /tmp/given/packages/ingot-*.tar.gz -C unpacked --strip-components 1
    start=$(now)
    use_command unpacked/bin/ingot
    echo "tried: $(glibc), $(du -s --block-size=1MB unpacked | cut -f1) MB; compiled and ran in $(seconds "$start" "$(now)")"
}

try_deb() { # as root; used as nobody
    is_bare
    dpkg -i /tmp/given/packages/ingot_*.deb
    start=$(now)
    mkdir nobody
    chown 65534:65534 nobody
    (cd nobody && chroot --userspec=65534:65534 / /usr/bin/env HOME=/tmp/home/nobody sh -euc \
        'cd /tmp/home/nobody; . /tmp/given/tries.sh; use_command ingot')
    end=$(now)
    dpkg -r ingot
    ! command -v ingot
    echo "tried: $(glibc); compiled and ran in $(seconds "$start" "$end")"
}

# A program of one's own on the package, by pkg-config and by CMake; it runs as nobody.
build_programs() { # build_programs FOLDER: the sources' and the programs'
    cat >"$1/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.18)
project(program C)
find_package(ingot 0.1 REQUIRED)
add_executable(by_cmake first.c)
target_link_libraries(by_cmake ingot::ingot)
C
    cp /tmp/given/first.c "$1"
    # shellcheck disable=SC2046 # a list of options
    cc -Wall -Wextra -Werror "$1/first.c" $(pkg-config --cflags --libs ingot) -o "$1/by_pkg_config"
    cmake -S "$1" -B "$1/build" >/dev/null
    cmake --build "$1/build"
}

run_programs() { # run_programs FOLDER
    mkdir "$1/nobody"
    chown 65534:65534 "$1/nobody"
    for program in "$1/by_pkg_config" "$1/build/by_cmake"; do
        chroot --userspec=65534:65534 / /usr/bin/env HOME="$PWD/$1/nobody" "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}" \
            "$PWD/$program" >said
        cat said
        grep -q "0 1 4 9 16 25 36 49 64 81" said
    done
}

try_program() { # as root, in a system with a compiler
    mkdir on_deb on_archive unpacked
    dpkg -i /tmp/given/packages/ingot_*.deb
    build_programs on_deb
    run_programs on_deb
    dpkg -r ingot
    tar -xzf /tmp/given/packages/ingot-*.tar.gz -C unpacked --strip-components 1
    export PKG_CONFIG_PATH="$PWD/unpacked/lib/pkgconfig" CMAKE_PREFIX_PATH="$PWD/unpacked"
    build_programs on_archive
    export LD_LIBRARY_PATH="$PWD/unpacked/lib"
    run_programs on_archive
    echo "tried: $(cc --version | head -n 1), pkg-config and CMake, on the .deb and on the .tar.gz"
}

try_wheel() {
    is_bare
    python3 -m venv venv
    start=$(now)
    venv/bin/pip install --quiet --no-index --find-links /tmp/given/packages --disable-pip-version-check ingot
    installed=$(now)
    venv/bin/python /tmp/given/first.py
    end=$(now)
    venv/bin/python /tmp/given/threads.py
    use_command venv/bin/ingot
    echo "tried: $(glibc), $(venv/bin/python --version)," \
        "$(du -s --block-size=1MB venv/lib/python3*/site-packages/ingot | cut -f1) MB; pip install $(seconds "$start" "$installed")," \
        "first kernel after it $(seconds "$installed" "$end"), $(seconds "$start" "$end") in all of 60"
    awk "BEGIN { exit !($end - $start < 60) }" # from pip install to the first result
}
