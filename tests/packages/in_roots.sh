#!/bin/bash
# usage: in_roots.sh DIST ROOTS [NAME...]
# The packages of DIST (make wheel, make package) in bare systems: debootstrap's smallest, with Python and nothing else.
# There they are used by a user without rights, with no network, no compiler and an empty cache. ROOTS keeps the systems
# for the next time. Needs root, debootstrap, and a network before the packages are tried. Prints a line for each try
# with its times, and ends with `N passed, N failed`.
set -u
dist=$(cd "$1" && pwd) || exit 2
mkdir -p "$2" && roots=$(cd "$2" && pwd) || exit 2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
# name, suite, what is tried. Pythons before 3.10 are older than the package: those of Debian 10 and 11 and of
# Ubuntu 18.04, whose glibc is the oldest that the wheel's tag allows. debian12dev has a compiler of C.
systems=(
    "ubuntu1804 bionic archive deb"
    "debian10 buster archive deb"
    "debian11 bullseye archive deb"
    "debian12 bookworm archive deb wheel"
    "debian13 trixie archive deb wheel"
    "debiantesting testing archive deb wheel"
    "debian12dev bookworm program"
    "ubuntu2204 jammy archive deb wheel"
)
passed=0
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "bare systems are made by debootstrap, as root; debootstrap is a package of Debian and Ubuntu" >&2
    exit 1
fi

make_root() { # make_root NAME SUITE
    [ -f "$roots/$1.done" ] && return
    rm -rf "${roots:?}/$1"
    local packages=python3,python3-venv,python3-pip mirror='' components=main
    case $1 in
    ubuntu*) mirror=http://archive.ubuntu.com/ubuntu components=main,universe ;;
    esac
    case $1 in
    *dev) packages=gcc,libc6-dev,make,cmake,pkg-config ;;
    ubuntu1804) packages=python3 ;; # what is tried there needs none
    debian10) packages=python3 mirror=http://archive.debian.org/debian ;;
    esac
    # shellcheck disable=SC2086 # the mirror may be none
    debootstrap --variant=minbase --components="$components" --include="$packages" "$2" "$roots/$1" $mirror >"$roots/$1.log" 2>&1 &&
        touch "$roots/$1.done"
}

# NumPy for the root's Python, from PyPI, by the Python of this machine.
fetch_numpy() { # fetch_numpy NAME
    local version
    version=$(chroot "$roots/$1" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])') || return
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version "$version" \
        --dest "$work/wheels-$1" numpy
}

# In namespaces of its own, offline, with nothing of this machine but the folder `given`, read-only.
in_root() { # in_root NAME USER SCRIPT ARGUMENT...
    local root=$roots/$1 user=$2 script=$3
    shift 3
    # shellcheck disable=SC2016 # the inner shell's
    unshare --mount --net --pid --fork bash -euc '
        root=$1 user=$2 given=$3 script=$4
        shift 4
        mount --make-rprivate /
        mount -t proc proc "$root/proc"
        mount -t tmpfs tmpfs "$root/tmp"
        mkdir "$root/tmp/given" "$root/tmp/home"
        chmod 777 "$root/tmp/home"
        mount --bind -o ro "$given" "$root/tmp/given"
        exec chroot --userspec="$user" "$root" /usr/bin/env -i HOME=/tmp/home PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            LC_ALL=C.UTF-8 sh -euc "cd /tmp/home; . /tmp/given/tries.sh; $script \"\$@\"" try "$@"
    ' - "$root" "$user" "$given" "$script" "$@"
}

try() { # try NAME WHAT USER SCRIPT ARGUMENT...
    local log="$roots/$1-$2.log"
    if in_root "$1" "$3" "${@:4}" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "$1 $2: $(grep '^tried:' "$log" | cut -d' ' -f2-)"
    else
        failed=$((failed + 1))
        echo "$1 $2: FAILED"
        tail -n 20 "$log" | sed 's/^/    /'
    fi
}

given=$work/given
mkdir -p "$given"
cp "$here/tries.sh" "$here/wave.metal" "$here/first.py" "$here/threads.py" "$here/../../examples/c/first.c" "$given" ||
    exit 1
for system in "${systems[@]}"; do
    read -r name suite whats <<<"$system"
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
        continue
    fi
    if ! make_root "$name" "$suite"; then
        if [ "$name" = debian10 ]; then
            echo "$name: not tried: debootstrap could not get it from archive.debian.org; Ubuntu 18.04 is older"
            continue
        fi
        failed=$((failed + 1))
        echo "$name: FAILED: debootstrap could not make it; see $roots/$name.log"
        continue
    fi
    for what in $whats; do
        rm -rf "$given/packages"
        mkdir "$given/packages"
        case $what in
        archive)
            cp "$dist"/ingot-*-linux-*.tar.gz "$given/packages/"
            try "$name" archive 65534:65534 try_archive
            ;;
        deb)
            cp "$dist"/ingot_*.deb "$given/packages/"
            try "$name" deb 0:0 try_deb
            ;;
        program)
            cp "$dist"/ingot_*.deb "$dist"/ingot-*-linux-*.tar.gz "$given/packages/"
            try "$name" program 0:0 try_program
            ;;
        wheel)
            cp "$dist"/ingot-*.whl "$given/packages/"
            if fetch_numpy "$name"; then
                cp "$work/wheels-$name"/* "$given/packages/"
                try "$name" wheel 65534:65534 try_wheel
            else
                failed=$((failed + 1))
                echo "$name wheel: FAILED: there is no NumPy for its Python"
            fi
            ;;
        esac
    done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
