#!/bin/sh
# usage: new_builtin.sh SOURCE_FOLDER LLVM_INCLUDE_FOLDER
# What it takes to add a built-in (CONTRIBUTING.md): in a copy of the sources a row is added to the table. The
# declaration in the prelude and the line in the reference come from it; each back end fails to compile, by the row's
# name, until it has a line of its own; then all that is made from the table compiles.
set -eu
source=$1
llvm=$2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/docs/guide" "$copy/src"
cp -R "$source/src/base" "$source/src/compiler" "$copy/src"
cp -R "$source/include" "$source/prelude" "$source/tools" "$source/.clang-format" "$copy"
cp -R "$source/docs/guide/reference" "$copy/docs/guide"
cd "$copy"
passed=0
failed=0
check() { # check WHAT COMMAND…
    what=$1
    shift
    if "$@" >out 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what"
        cat out
    fi
}
compiles() {
    "${CC:-cc}" -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -Isrc -Iinclude -isystem "$llvm" "$1"
}
lacks() { # lacks FILE NAME: the file does not compile, since NAME is not declared
    if compiles "$1" >errors 2>&1; then
        echo "$1 compiles without the row"
        return 1
    fi
    grep "$2" errors
}
cpu=src/compiler/cpu/lower/builtins.c
nvptx=src/compiler/nvptx/library.c

check 'the table, as it is' compiles src/compiler/ir/builtins.c
check 'the CPU, as it is' compiles "$cpu"
check 'NVPTX, as it is' compiles "$nvptx"
check 'generated files, as they are' tools/language-tables --check

# the row
sed -i.old '/^BUILTIN(simd_ballot,/a\
/* The number of active lanes below the own one. */\
BUILTIN(simd_rank, VOTE, NONE, ACTIVE, VARYING, 31, 0, BOTH, "u32 (bool p)")' src/compiler/ir/builtins.def
check 'the table with a row more' compiles src/compiler/ir/builtins.c
check 'the CPU lacks it, by name' lacks "$cpu" cpu_makes_simd_rank
check 'NVPTX lacks it, by name' lacks "$nvptx" nvptx_makes_simd_rank
check 'the generated files' tools/language-tables
check 'the declaration' grep -qx '__ingot_u32 __ingot_simd_rank(bool p);' prelude/ingot_builtins.h
check 'its comment' grep -q 'active lanes below the own one' prelude/ingot_builtins.h
check 'the reference' grep -q '^| `__ingot_simd_rank` | per lane | count as the identity |$' \
    docs/guide/reference/language.md

# a line per back end; the functions are those of a neighbour here
sed -i.old 's/^\( *\)X(simd_ballot, igl_ballot, NULL)/\1X(simd_rank, igl_ballot, NULL) &/' "$cpu"
sed -i.old 's/^\( *\)X(simd_ballot, igp_write_lanes)/\1X(simd_rank, igp_write_lanes) &/' "$nvptx"
check 'the CPU with it' compiles "$cpu"
check 'NVPTX with it' compiles "$nvptx"
for file in src/compiler/analysis/uniformity.c src/compiler/middle/optimise.c src/compiler/nvptx/library_lanes.c; do
    check "$file with it" compiles "$file"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
