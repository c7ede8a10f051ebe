#!/bin/sh
# Compiles the kernels beside this file for sm_80 and sm_90 and looks at the PTX: lines
#   // WANT: REGEX     of a source must be found in it,
#   // NEVER: REGEX    must not.
# Ends with "N passed, N failed".
set -u
ingotc=${1:?usage: check.sh INGOTC}
here=$(cd "$(dirname "$0")" && pwd) || exit 1
ptx=$(mktemp) || exit 1
trap 'rm -f "$ptx"' EXIT
passed=0
failed=0

result() { # result NAME STATUS
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1"
    fi
}

for source in "$here"/*.metal; do
    for target in sm_80 sm_90; do
        name="$(basename "$source") $target"
        "$ingotc" "$source" --target "$target" --emit asm -o "$ptx"
        result "$name: does not compile" $?
        while IFS= read -r pattern; do
            grep -Eq -- "$pattern" "$ptx"
            result "$name: there is no $pattern" $?
        done <<EOF
$(sed -n 's,^// WANT: ,,p' "$source")
EOF
        for pattern in $(sed -n 's,^// NEVER: ,,p' "$source"); do
            ! grep -Eq -- "$pattern" "$ptx"
            result "$name: there is $pattern" $?
        done
    done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
