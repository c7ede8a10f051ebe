#!/bin/bash
# usage: image.sh SOURCE ROOTS KERNELS
# Builds the Dockerfile of SOURCE by buildah, as root, and uses the image as its user, who has no rights, offline. Where
# no registry can be reached, Debian's image is made by debootstrap, in ROOTS. Kernels that lie in KERNELS are not
# compiled anew. Ends with `N passed, N failed`.
set -u
source=$(cd "$1" && pwd) || exit 2
mkdir -p "$2" && roots=$(cd "$2" && pwd) || exit 2
kernels=$3
here=$(cd "$(dirname "$0")" && pwd)
base=docker.io/library/debian:12-slim
if [ "$(id -u)" != 0 ] || ! command -v buildah >/dev/null; then
    echo "the image was not built: that needs root and buildah, a package of Debian and Ubuntu"
    exit 0
fi
export BUILDAH_ISOLATION=chroot
passed=0
failed=0
work=$(mktemp -d) || exit 1
container=
cleanup() {
    [ -z "$container" ] || buildah rm "$container" >/dev/null
    rm -rf "$work"
}
trap cleanup EXIT

make_base() {
    buildah inspect --type image "$base" >/dev/null 2>&1 && return
    timeout 120 buildah pull --quiet "$base" >/dev/null 2>&1 && return
    echo "no registry has $base for this machine: debootstrap makes it"
    rm -rf "$roots/image" "$roots/image.tar"
    debootstrap --variant=minbase bookworm "$roots/image" >"$roots/image.log" 2>&1 || return
    rm -rf "$roots"/image/var/cache/apt/archives/*.deb "$roots"/image/var/lib/apt/lists/*
    tar -C "$roots/image" --exclude='./proc/*' --exclude='./sys/*' -cf "$roots/image.tar" . || return
    local empty
    empty=$(buildah from scratch) && buildah add --quiet "$empty" "$roots/image.tar" / >/dev/null &&
        buildah commit --quiet "$empty" "$base" >/dev/null && buildah rm "$empty" >/dev/null
}

check() { # check WHAT EXPECTED COMMAND...: its output has a line with EXPECTED
    local what=$1 expected=$2 status
    shift 2
    # buildah 1.28 loses a short output now and then, that of one of thirty `echo hello`: an empty one counts thrice.
    for _ in 1 2 3; do
        buildah run --network none --volume "$work/work:/work" "$container" -- "$@" >"$work/out" 2>&1
        status=$?
        if [ "$status" != 0 ] || [ -s "$work/out" ]; then
            break
        fi
    done
    if [ "$status" = 0 ] && grep -qe "$expected" "$work/out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what"
        sed 's/^/    /' "$work/out"
    fi
}

make_base || { echo "failed: the base image; see $roots/image.log" && exit 1; }
volume=()
if [ -f "$kernels/axpy.ingot" ]; then
    volume=(--volume "$(cd "$kernels" && pwd):/src/build/kernels:ro")
fi
start=$SECONDS
if ! buildah build --network host --pull-never --tag ingot "${volume[@]}" "$source" >"$roots/ingot-image.log" 2>&1; then
    echo "failed: buildah build; the end of $roots/ingot-image.log:"
    tail -n 20 "$roots/ingot-image.log"
    exit 1
fi
echo "built in $((SECONDS - start)) s: $(buildah images --format '{{.Size}}' ingot)"
container=$(buildah from --pull-never localhost/ingot) || exit 1
mkdir "$work/work"
cp "$here/wave.metal" "$work/work"
chown -R 1000:1000 "$work/work"
chmod 755 "$work"
check "a user without rights" '^1000$' id -u
check "in the folder that is given" '^/work$' pwd
check "no compiler but ingotc" '^none$' sh -c '! command -v cc gcc clang clang-19 ld.lld && echo none'
check "the command" '^ingot [0-9]' ingot --version
check "devices" cpu ingot devices
check "README's kernel" '496 496.47943 496.84146' ingot run wave.metal wave --threads 64 'f32[64]=out.npy' f32:0.5
check "its result, outside" 'out.npy' ls /work
check "an operation" ' 0 failed' ingot health softmax --type f32
check "the loader finds libingot" libingot ldconfig -p
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
