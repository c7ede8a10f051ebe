#!/bin/sh
# compute-sanitizer over the case tables of all operations.
#
#   bench/gpu_sanitizer.sh BUILD OUTPUT   BUILD has bin/ingot; what the tools say goes to OUTPUT, a file for each process.
#                                         Prints a line for everything that is not clean or not done, then a table:
#                                         cases by operation and tool. memcheck looks for memory that is not freed, too.
#
# OPERATIONS: names (all). TOOLS: racecheck memcheck initcheck. DEVICE: cuda. JOBS: processes at once (one per core).
# SANITIZER_LIMIT: seconds of one process (90). SANITIZER_SECONDS: of everything (unlimited); what has not begun by then is left out.
# Operations that take long have a process for each type, or several.
set -u
[ $# -ge 2 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 output=$2

# TOOL OPERATION TYPE PART, for which this script is started again; - is any type.
if [ $# -ge 6 ]; then
    tool=$3 operation=$4 type=${5#-} part=$6 started=$(date +%s) limit=${SANITIZER_LIMIT:-90}
    what="$operation $tool${type:+ $type}, part $part"
    log=$output/$operation${type:+.$type}.$(echo "$part" | tr / -).$tool
    left=$((${SANITIZER_END:-$((started + limit))} - started))
    [ "$left" -ge "$limit" ] || limit=$left
    status=none
    if [ "$limit" -gt 0 ]; then
        set -- --tool "$tool" --error-exitcode 9
        [ "$tool" != memcheck ] || set -- "$@" --leak-check full
        timeout "$limit" stdbuf -oL compute-sanitizer "$@" "$build/bin/ingot" health "$operation" ${type:+--type "$type"} --part "$part" \
            --device "${DEVICE:-cuda}" --jobs 1 --repeat 1 --verbose >"$log" 2>&1
        status=$?
    fi
    # A few cases want GiB, which the others at work may have: again at the end, alone.
    if [ "$status" != 0 ] && [ -z "${SANITIZER_AGAIN:-}" ] && grep -qiE 'out.of.memory|no memory for a buffer' "$log" 2>/dev/null; then
        echo "$tool $operation ${type:--} $part" >>"$output/again"
        exit 0
    fi
    cases=$(grep -c '^ok' "$log" 2>/dev/null)
    echo "$(($(date +%s) - started)) $operation $tool $status ${cases:-0}" >>"$output/times"
    case $status in
    0) ;;
    9) echo "$what: not clean: $(grep -E '^========= [A-Z]' "$log" | sed -n 2p | cut -c1-150)" ;;
    124) echo "$what: not done in $limit s; $cases cases were" ;;
    none) echo "$what: not begun, for lack of time" ;;
    *) echo "$what: status $status: $(tail -n 1 "$log" | cut -c1-150)" ;;
    esac
    exit 0
fi

mkdir -p "$output"
: >"$output/times"
[ -z "${SANITIZER_SECONDS:-}" ] || export SANITIZER_END=$(($(date +%s) + SANITIZER_SECONDS))
names=$(printf '%s\n' ${OPERATIONS:-$("$build/bin/ingot" ops --json | sed -n 's/^      "name": "\([a-z_0-9]*\)",$/\1/p' | sort -u)})
tools=${TOOLS:-racecheck initcheck memcheck}
# The longest first: OPERATION PARTS, for each type, from the operations' own files. A tool prepares every kernel again
# in each process, for seconds where kernels are large.
root=$(cd "$(dirname "$0")/.." && pwd)
long=$(sed -n 's/^GPU_SANITIZER_PARTS = {\(.*\)}$/\1/p' "$root"/kernels/*/*_bench.py | tr ',' '\n' |
    sed 's/^ *"\(.*\)": /\1 /' | sort -k 2,2nr)
: >"$output/list"
echo "$long" | while read -r operation parts; do
    echo "$names" | grep -qx "$operation" || continue
    for tool in $tools; do
        for type in f32 f16 bf16; do
            for part in $(seq "$parts"); do echo "$tool $operation $type $part/$parts"; done
        done
    done
done >>"$output/list"
for operation in $(echo "$names" | grep -vxF "$(echo "$long" | cut -d' ' -f1)"); do
    for tool in $tools; do echo "$tool $operation - 1/1"; done
done >>"$output/list"
: >"$output/again"
xargs -P "${JOBS:-$(nproc)}" -L 1 sh "$0" "$build" "$output" <"$output/list"
SANITIZER_AGAIN=1 xargs -r -L 1 sh "$0" "$build" "$output" <"$output/again"

awk -v tools="$tools" '
    {
        seconds += $1; cases[$2, $3] += $5; names[$2] = 1
        if ($4 == 9) bad[$2, $3] = " not clean"
        else if ($4 != 0 && !bad[$2, $3]) bad[$2, $3] = " not all"
        clean += $4 == 0
    }
    END {
        count = split(tools, columns, " ")
        printf "%-26s", "cases"
        for (i = 1; i <= count; i++) printf " %16s", columns[i]
        printf "\n"
        fflush()
        order = "sort"
        for (name in names) {
            line = sprintf("%-26s", name)
            for (i = 1; i <= count; i++) line = line sprintf(" %16s", cases[name, columns[i]] bad[name, columns[i]])
            print line | order
        }
        close(order)
        printf "compute-sanitizer: %d runs, %d clean, %d s of processes\n", NR, clean, seconds
        exit clean != NR
    }' "$output/times"
