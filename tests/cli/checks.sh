# shellcheck shell=bash
# Sourced by the scripts beside it: checks that count themselves in $passed and $failed.
passed=0
failed=0

# check NAME EXPECTED_EXIT TEXT... -- COMMAND: runs it, and looks at the status and for each TEXT
# in what it prints; a TEXT that starts with ! must not be there.
check() {
    local name=$1 status=$2 texts=() got text good=1
    shift 2
    while [ "$1" != -- ]; do
        texts+=("$1")
        shift
    done
    shift
    "$@" >out.txt 2>&1 </dev/null
    got=$?
    [ "$got" = "$status" ] || good=0
    for text in "${texts[@]}"; do
        case $text in
        !*) grep -qF -- "${text#!}" out.txt && good=0 ;;
        *) grep -qF -- "$text" out.txt || good=0 ;;
        esac
    done
    if [ "$good" = 1 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name: status $got (expected $status), texts: ${texts[*]}"
        sed 's/^/    /' out.txt | head -40
    fi
}

same() { # same NAME GOT EXPECTED
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1: got \"$2\", expected \"$3\""
    fi
}

find_clangd() { # the newest that is installed; nothing: there is none
    local name found=
    for name in clangd-19 clangd-20 clangd-21; do
        command -v "$name" >/dev/null && found=$name
    done
    echo "$found"
}
