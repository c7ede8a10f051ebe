#!/bin/sh
# compute-sanitizer over the case tables of all operations.
#
#   bench/gpu_sanitizer.sh BUILD OUTPUT   BUILD has bin/ingot; what the tools say goes to OUTPUT/OPERATION.TOOL.
#                                         Prints a line for everything that is not clean or not done, and a count.
#
# OPERATIONS: names (all). TOOLS: racecheck memcheck initcheck. DEVICE: cuda. JOBS: processes at once (one per core).
# SANITIZER_LIMIT: seconds of one process (60).
set -u
[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
build=$1 output=$2

# One operation with one tool, for which this script is started again.
if [ $# -eq 4 ]; then
    tool=$3 operation=$4 log=$output/$4.$3 started=$(date +%s)
    timeout "${SANITIZER_LIMIT:-60}" compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/bin/ingot" health \
        "$operation" --device "${DEVICE:-cuda}" --jobs 1 --repeat 1 >"$log" 2>&1
    status=$?
    echo "$(($(date +%s) - started)) $operation $tool $status" >>"$output/times"
    case $status in
    0) ;;
    9) echo "$operation $tool: not clean: $(grep -E -m 2 '^========= [A-Z]' "$log" | tail -n 1 | cut -c1-150)" ;;
    124) echo "$operation $tool: not done in ${SANITIZER_LIMIT:-60} s" ;;
    *) echo "$operation $tool: status $status: $(tail -n 1 "$log" | cut -c1-150)" ;;
    esac
    exit 0
fi

mkdir -p "$output"
: >"$output/times"
names=$(printf '%s\n' ${OPERATIONS:-$("$build/bin/ingot" ops --json | sed -n 's/^      "name": "\([a-z_0-9]*\)",$/\1/p' | sort -u)})
slow="attention_backward attention attention_paged matmul quantised_matmul softmax svd eigh lstsq" # these go first
for operation in $(printf '%s\n' $slow | grep -xF "$names") $(echo "$names" | grep -vxF "$(printf '%s\n' $slow)"); do
    for tool in ${TOOLS:-racecheck memcheck initcheck}; do echo "$tool $operation"; done
done | xargs -P "${JOBS:-$(nproc)}" -L 1 sh "$0" "$build" "$output"
clean=$(grep -c ' 0$' "$output/times")
echo "compute-sanitizer: $(wc -l <"$output/times") runs, $clean clean"
[ "$clean" -eq "$(wc -l <"$output/times")" ]
