#!/bin/sh
# Everything about the CUDA device in one go.
#
#   bench/gpu.sh pack FOLDER         where the compiler is: archives of the kernels, of tests/msl, of tests/random, of
#                                    tests/python, of tests/accuracy and of the benches go to FOLDER. INGOTC names
#                                    ingotc, RUN_MSL, RANDOM_KERNELS and ACCURACY the tests.
#   bench/gpu.sh run FOLDER OUTPUT   on the machine with the GPU, which needs gcc, cmake and Python: builds the
#                                    runtime, runs tests/msl, health and bench, and writes a table (stdout)
#                                    and OUTPUT/gpu.json.
#
# TARGETS: code levels (sm_90). KERNELS: folders of kernels/ (*). CUBINS: those that are packed as the card's own code, which
# spares the machine there the compilation (half a minute for attention_backward). DEVICE: cuda. BENCH_TIME: seconds per row.
# JOBS: processes at once. SEEDS: random kernels (200). STEPS: those of run (launch msl random accuracy health large bench), and,
# when they are named:
#   faults         kernels that fail, after which the device goes on; launches in a process of the device's own
#   torch          torch and ingot side by side (gpu_torch.py; COMPILE_JOBS: processes that compile its rows before)
#   torch_tests    tests/python/test_cuda.py
#   sanitizer      compute-sanitizer over all operations (gpu_sanitizer.sh)
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
command=${1:-} folder=${2:-} output=${3:-}
[ -n "$folder" ] || { sed -n '2,19s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$folder" && folder=$(cd "$folder" && pwd) || exit 1
targets=${TARGETS:-sm_90}
device=${DEVICE:-cuda}
jobs=${JOBS:-$(nproc)}
options=
for target in $targets; do options="$options --target $target"; done

# archive NAME SOURCE [VARIANTS]
archive() {
    case " ${CUBINS:-} " in *" $1 "*) kind=.cubin ;; *) kind= ;; esac
    levels=
    for target in $targets; do
        levels="$levels --target $target$kind"
        [ "$target" != sm_90 ] || [ -z "${3:-}" ] || ! grep -q '^sm_90a:' "$3" || levels="$levels --target sm_90a$kind"
    done
    "${INGOTC:-ingotc}" "$2" -o "$folder/kernels/$1.ingot" --name "$1.metal" --include "$root/kernels" \
        --include "$(dirname "$2")" ${3:+--variants "$3"} $levels || { echo "gpu.sh: $1 does not compile" >&2; return 1; }
}

pack() {
    INGOT_PRELUDE=${INGOT_PRELUDE:-$root/prelude}
    export INGOT_PRELUDE
    mkdir -p "$folder/kernels" "$folder/msl"
    failed=0
    for source in "$root"/kernels/${KERNELS:-*}/*.metal; do
        name=$(basename "$source" .metal)
        [ "$(basename "$(dirname "$source")")" = "$name" ] || continue
        variants=${source%.metal}.variants
        [ -e "$variants" ] || variants=
        archive "$name" "$source" "$variants" || failed=$((failed + 1))
    done
    [ ! -e "$root/src/harness/ceilings.metal" ] || archive ceilings "$root/src/harness/ceilings.metal" || failed=$((failed + 1))
    archive gpu_launch "$root/bench/gpu_launch.metal" || failed=$((failed + 1))
    archive gpu_faults "$root/bench/gpu_faults.metal" || failed=$((failed + 1))
    archive cuda_kernels "$root/tests/python/cuda_kernels.metal" "$root/tests/python/cuda_kernels.variants" ||
        failed=$((failed + 1))
    "${ACCURACY:-accuracy}" --source >"$folder/accuracy.metal" && archive accuracy "$folder/accuracy.metal" || failed=$((failed + 1))
    "${RUN_MSL:-run-msl}" --pack "$folder/msl" $options --jobs "$jobs" "$root/tests/msl" || failed=$((failed + 1))
    mkdir -p "$folder/random"
    INGOTC=${INGOTC:-ingotc} "${RANDOM_KERNELS:-random_kernels}" --pack "$folder/random" --seed 1 --count "${SEEDS:-200}" ||
        failed=$((failed + 1))
    echo "gpu.sh: packed into $folder ($(du -sh "$folder" | cut -f1)), $failed failed"
    [ "$failed" -eq 0 ]
}

# step NAME COMMAND...: runs it, keeps its output and status.
step() {
    name=$1
    shift
    started=$(date +%s)
    "$@" >"$output/$name.out" 2>"$output/$name.err"
    echo "$?" >"$output/$name.status"
    echo "$name: status $(cat "$output/$name.status"), $(($(date +%s) - started)) s; $(tail -n 1 "$output/$name.out" | cut -c1-150)"
}

# A process per operation, since a fault ends one; four at once.
health_by_operation() {
    mkdir -p "$output/health"
    "$build/bin/ingot" ops --json | sed -n 's/^      "name": "\([a-z_0-9]*\)",$/\1/p' | sort -u |
        xargs -P 4 -I NAME sh -c "timeout ${HEALTH_LIMIT:-60} '$build/bin/ingot' health NAME --device '$device' --json \
            >'$output/health/NAME.out' 2>'$output/health/NAME.err' || echo \"NAME: status \$?\""
}

# Rows of torch.compile into its cache, several processes at once, while other things are built.
compile_for_torch() {
    parts=${COMPILE_JOBS:-6}
    for part in $(seq "$parts"); do
        PYTHONPATH=$1 python3 "$root/bench/gpu_torch.py" --compile-only "$part/$parts" &
    done
    wait
}

run() {
    [ -n "$output" ] || { echo "gpu.sh: run needs an OUTPUT folder" >&2; exit 2; }
    mkdir -p "$output" && output=$(cd "$output" && pwd) || exit 1
    build=${BUILD:-$root/build-gpu}
    # Only folders of kernels that were packed.
    kernels=
    for packed in "$folder"/kernels/*.ingot; do
        name=$(basename "$packed" .ingot)
        [ ! -d "$root/kernels/$name" ] || kernels="$kernels${kernels:+;}$name"
    done
    step configure cmake -S "$root" -B "$build" -DINGOT_COMPILER=OFF -DINGOT_KERNEL_ARCHIVES="$folder/kernels" \
        -DINGOT_KERNELS="${kernels:-none}"
    python=
    case " ${STEPS:-} " in *" torch"*) python=ingot_python ;; esac
    step build cmake --build "$build" -j "$jobs" --target run-msl random_kernels accuracy test_runtime_cuda test_runtime_cuda_failures \
        fake_cuda gpu_launch gpu_faults ingot_command $python
    [ "$(cat "$output/build.status")" = 0 ] || { tail -n 40 "$output/build.out" "$output/build.err" "$output/configure.err"; exit 1; }
    step devices "$build/bin/ingot" devices
    step fake "$build/bin/test_runtime_cuda"
    step fake_failures "$build/bin/test_runtime_cuda_failures"
    for which in ${STEPS:-launch msl random accuracy health large bench}; do
        case $which in
        launch) step launch "$build/bin/gpu_launch" "$folder/kernels/gpu_launch.ingot" "$device" ;;
        faults)
            step faults "$build/bin/gpu_faults" "$folder/kernels/gpu_faults.ingot" "$device"
            step faults_launch env INGOT_CUDA_WORKER=1 "$build/bin/gpu_launch" "$folder/kernels/gpu_launch.ingot" "$device"
            ;;
        msl)
            step msl "$build/bin/run-msl" --packed "$folder/msl" --device "$device" --jobs "$jobs" \
                --seconds 60 "$root/tests/msl"
            ;;
        random)
            step random "$build/bin/random_kernels" --device "$device" --packed "$folder/random" --seed 1 \
                --count "${SEEDS:-200}"
            ;;
        accuracy) step accuracy "$build/bin/accuracy" --engine --device "$device" --archive "$folder/kernels/accuracy.ingot" \
            --stride 20011 --pairs 100000 ;;
        health) step health health_by_operation ;;
        sanitizer) step sanitizer env JOBS="$jobs" DEVICE="$device" sh "$root/bench/gpu_sanitizer.sh" "$build" "$output/sanitizer" ;;
        torch)
            step compile compile_for_torch "$build/python"
            step torch env PYTHONPATH="$build/python" timeout "${TORCH_LIMIT:-240}" python3 "$root/bench/gpu_torch.py" \
                --json "$output/torch.json"
            ;;
        torch_tests)
            step torch_tests env PYTHONPATH="$build/python${PYTHONPATH:+:$PYTHONPATH}" INGOT_BUILD="$build" \
                INGOT_CUDA_KERNELS="$folder/kernels/cuda_kernels.ingot" \
                python3 -m pytest -q -p no:cacheprovider -rfE "$root/tests/python/test_cuda.py"
            ;;
        large | bench)
            [ "$which" = large ] && large=--large || large=
            step "$which" timeout "${BENCH_LIMIT:-240}" "$build/bin/ingot" bench --device "$device" $large \
                --time "${BENCH_TIME:-0.1}" --json
            ;;
        esac
    done
    python3 "$root/bench/gpu_table.py" "$output"
}

case $command in
pack) pack ;;
run) run ;;
*) sed -n '2,19s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
