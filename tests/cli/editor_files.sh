#!/bin/bash
# clangd, by the flags of `ingot editor`, on all of tests/msl, kernels and examples: none of it is marked as wrong.
# usage: tests/cli/editor_files.sh PATH_OF_INGOT SOURCES [N]; with N only every Nth file, and one process at a time.
set -u
ingot=$1
sources=$(cd "$2" && pwd) || exit 2
every=${3:-1}
# shellcheck source=tests/cli/checks.sh
. "$(dirname "$0")/checks.sh"
clangd=$(find_clangd)
if [ -z "$clangd" ]; then
    echo "skipped: clangd 19 or newer is not installed"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$sources" && cp -r --parents ingot.toml tests/msl kernels examples "$work" && cd "$work" || exit 1
"$ingot" editor >/dev/null || exit 1

# Those that are meant to be refused: an error there is right.
refused='EXPECT-STATUS: INGOT_(COMPILE_ERROR|UNSUPPORTED)'
find tests kernels examples -name '*.metal' | LC_ALL=C sort >all
xargs grep -lE "$refused" <all >refused
grep -vxF -f refused all | awk -v n="$every" 'NR % n == 0' >files
echo "$(wc -l <files) files; left out: $(wc -l <refused) whose tests say that they do not compile"

one() { # one FILE
    if "$clangd" --check="$1" --check-locations=0 >"$2" 2>&1; then
        echo "ok $1"
    else
        echo "FAIL $1"
        grep '^E' "$2"
    fi
}
export -f one
export clangd
jobs=1
[ "$every" != 1 ] || jobs=$(nproc)
# shellcheck disable=SC2016 # the inner shell's
xargs -P "$jobs" -I{} bash -c 'one "$1" "$(mktemp -p .)"' - {} <files >results
grep -v '^ok' results
passed=$(grep -c '^ok' results)
failed=$(grep -c '^FAIL' results)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" = "$(wc -l <files)" ] && [ "$passed" -gt 0 ]
