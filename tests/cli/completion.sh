#!/bin/bash
# Man pages and shell completion, as the build made them. usage: completion.sh BUILD_FOLDER SOURCE_FOLDER
set -u
build=$(cd "$1" && pwd)
source_folder=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# shellcheck source=tests/cli/checks.sh
. "$here/checks.sh"
export PATH=$build/bin:$PATH INGOT_CACHE_DIR=$work/cache

# ---- bash: the completion is sourced and asked, as readline would ask it ----------------------
compopt() { :; } # only readline has it
# shellcheck disable=SC1091
. "$build/share/bash-completion/completions/ingot"
complete_words() { # complete_words PROGRAM WORD...: what could stand in place of the last word
    local program=$1
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    "_$program"
    echo "${COMPREPLY[*]}"
}
cat >two.metal <<'M'
kernel void first(device float *x) { x[0] = 1; }
kernel void second(device float *x) { x[0] = 2; }
M
same "commands" "$(complete_words ingot he)" "health"
same "all commands, as --help lists them" \
    "$(complete_words ingot '' | tr ' ' '\n' | grep -v '^-' | sort | paste -sd' ')" \
    "$(ingot --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | sort | paste -sd' ')"
same "options" "$(complete_words ingot run --threadg)" "--threadgroups --threadgroup-memory"
for command in $(ingot --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'); do
    same "options of $command, as --help lists them" \
        "$(complete_words ingot "$command" -- | tr ' ' '\n' | sort | paste -sd' ')" \
        "$(ingot "$command" --help | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE -- '--[a-z-]+' | sort | paste -sd' ')"
done
same "values" "$(complete_words ingot check --target sm_90a)" "sm_90a sm_90a.cubin"
same "values of --type" "$(complete_words ingot bench --type b)" "bf16"
same "files" "$(complete_words ingot run tw)" "two.metal"
same "kernels of the file" "$(complete_words ingot run two.metal '')" "first second"
same "one kernel" "$(complete_words ingot run two.metal se)" "second"
same "kernels behind --kernel" "$(complete_words ingot check two.metal --kernel f)" "first"
same "operations" "$(complete_words ingot health log_softmax_)" "log_softmax_backward"
same "the compiler's options" "$(complete_words ingotc --time)" "--time-report"
same "passes of the compiler" "$(complete_words ingotc --emit bitc)" "bitcode"
same "what clang gets" "$(complete_words ingotc --emit cp)" "cpp"
same "an unknown command" "$(complete_words ingot nonsense '')" ""

# ---- the other shells, where they are installed -------------------------------------------------
command -v zsh >/dev/null && check "zsh reads it" 0 -- zsh -n "$build/share/zsh/site-functions/_ingot"
if command -v fish >/dev/null; then
    check "fish reads it" 0 -- fish -n "$build/share/fish/vendor_completions.d/ingot.fish"
    check "fish completes options" 0 "--threadgroup-memory" -- \
        fish --no-config -c "source $build/share/fish/vendor_completions.d/ingot.fish; complete -C 'ingot run --threadg'"
    check "fish completes kernels" 0 second -- \
        fish --no-config -c "source $build/share/fish/vendor_completions.d/ingot.fish; complete -C 'ingot run two.metal se'"
fi

# ---- man pages ----------------------------------------------------------------------------------
for command in $(ingot --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'); do
    page=$build/share/man/man1/ingot-$command.1
    check "man page of $command" 0 '.SH SYNOPSIS' '.SH OPTIONS' '.SH EXIT STATUS' -- cat "$page"
    same "its options" "$(grep -c '^\.TP' "$page")" "$(ingot "$command" --help | grep -cE '^  (-.,|   ) --[a-z-]+')"
done
check "man page of ingot" 0 'INGOT_CACHE_DIR' 'health' -- cat "$build/share/man/man1/ingot.1"
check "man page of ingotc" 0 'time\-report' -- cat "$build/share/man/man1/ingotc.1"
if command -v man >/dev/null; then
    check "man shows it" 0 "ingot run FILE KERNEL" "threads per threadgroup" -- env MANPAGER=cat man "$build/share/man/man1/ingot-run.1"
fi

# ---- the tables of the guide ----------------------------------------------------------------------
check "tables of options in the guide" 0 "up to date" -- "$source_folder/tools/command-docs" tables "$build/bin" --check

echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
