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

# README's first kernel by the command COMMAND, and an operation against its reference.
use_command() { # use_command COMMAND
    "$1" run /tmp/given/wave.metal wave --threads 64 'f32[64]=out.npy' f32:0.5 >said
    cat said
    grep -q "496 496.47943 496.84146" said
    "$1" run --isolated /tmp/given/wave.metal wave --threads 64 'f32[64]' f32:0.5
    "$1" pack /tmp/given/wave.metal -o wave.ingot --target cpu-levels --target sm_90
    "$1" health softmax --type f32 | tail -n 3
}

try_archive() {
    is_bare
    mkdir unpacked
    tar -xzf /tmp/given/packages/ingot-*.tar.gz -C unpacked --strip-components 1
    start=$(now)
    use_command unpacked/bin/ingot
    echo "tried: $(glibc), $(du -sm unpacked | cut -f1) MB; compiled and ran in $(seconds "$start" "$(now)")"
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

try_wheel() {
    is_bare
    python3 -m venv venv
    start=$(now)
    venv/bin/pip install --quiet --no-index --find-links /tmp/given/packages --disable-pip-version-check ingot
    installed=$(now)
    venv/bin/python /tmp/given/first.py
    end=$(now)
    use_command venv/bin/ingot
    echo "tried: $(glibc), $(venv/bin/python --version)," \
        "$(du -sm venv/lib/python3*/site-packages/ingot | cut -f1) MB; pip install $(seconds "$start" "$installed")," \
        "first kernel after it $(seconds "$installed" "$end")"
    awk "BEGIN { exit !($end - $start < 60) }" # from pip install to the first result
}
