#!/bin/bash
# usage: llvm_builds.sh SOURCE ROOTS KERNELS [VERSION...]
# Builds ingotc with other versions of LLVM (20 and 21, where none are named) in a system of Ubuntu 25.10 made by
# debootstrap, and runs a part of tests/msl there. KERNELS are archives of the library's kernels. Needs root, and a
# network for the system; takes some minutes for each. Ends with `N passed, N failed`.
set -u
source=$(cd "$1" && pwd) || exit 2
mkdir -p "$2" && roots=$(cd "$2" && pwd) || exit 2
kernels=$(cd "$3" && pwd) || exit 2
shift 3
[ $# -gt 0 ] || set -- 20 21
passed=0
failed=0
scripts=/usr/share/debootstrap/scripts
if [ "$(id -u)" != 0 ] || [ ! -d $scripts ]; then
    echo "systems are made by debootstrap, as root; debootstrap is a package of Debian and Ubuntu" >&2
    exit 1
fi

make_root() { # make_root NAME VERSION
    [ -f "$roots/$1.done" ] && return
    rm -rf "${roots:?}/$1"
    debootstrap --variant=minbase --components=main,universe \
        --include="gcc,libc6-dev,cmake,ninja-build,python3,llvm-$2-dev,clang-$2,lld-$2" \
        questing "$roots/$1" http://archive.ubuntu.com/ubuntu $scripts/gutsy >"$roots/$1.log" 2>&1 &&
        touch "$roots/$1.done"
}

try() { # try NAME VERSION
    # shellcheck disable=SC2016 # the inner shell's
    unshare --mount --net bash -euc '
        root=$1 source=$2 kernels=$3 version=$4
        mkdir -p "$root/source" "$root/kernels" "$root/build"
        mount --make-rprivate /
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/tmp"
        mount --bind -o ro "$source" "$root/source"
        mount --bind -o ro "$kernels" "$root/kernels"
        exec chroot "$root" /usr/bin/env -i HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
            INGOTC=/build/bin/ingotc sh -euc "
                cmake -S /source -B /build -G Ninja -DCMAKE_C_COMPILER=gcc -DINGOT_METAL=OFF -DINGOT_PYTHON=OFF \
                    -DLLVM_CONFIG=/usr/bin/llvm-config-$version -DINGOT_KERNEL_ARCHIVES=/kernels
                ninja -C /build ingotc ingot run-msl
                /build/bin/ingotc --version
                cd /source
                for filter in simd_ atomic_ template vector err; do /build/bin/run-msl tests/msl \$filter; done"
    ' - "$roots/$1" "$source" "$kernels" "$2"
}

for version in "$@"; do
    name=llvm$version
    log=$roots/$name-build.log
    if make_root "$name" "$version" && try "$name" "$version" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "$(grep '^ingotc [0-9]' "$log"): $(awk '/ passed, .* failed$/ { n += $3 } END { print n }' "$log") cases of tests/msl"
    else
        failed=$((failed + 1))
        echo "LLVM $version: FAILED; see $roots/$name.log and $log"
        tail -n 20 "$log" 2>/dev/null | sed 's/^/    /'
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
