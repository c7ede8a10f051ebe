#!/bin/bash
# `make test`: every test there is, in steps, of which two run at a time. The output of a step is kept in
# build/test-logs/; that of a step that fails is shown. Ends with `N passed, N failed`.
# `tools/test.sh STEP...` runs only the steps named. `tools/test.sh --shard I/N` is one of N machines that share the
# work: the tests of steps with many are dealt out, other steps go to one of them, builds to whoever needs them. Each
# leaves build/test-logs/tests.xml (JUnit); `ingot merge` makes one of all.
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p build/test-logs
version=$(tools/llvm-version) || exit 1
jobs=${JOBS:-$(nproc)}
fuzz_seconds=${FUZZ_SECONDS:-12}
torch=${TORCH:-} # a version of torch, such as 2.7.*; empty: the current release
venv=build/venv${torch:+-torch-${torch%.\*}}
passed=0
failed=0
failures=""
shard=1
shards=1
if [ "${1:-}" = --shard ]; then
    shard=${2%%/*} shards=${2##*/}
    if ! [[ ${2:-} =~ ^[1-9][0-9]*/[1-9][0-9]*$ ]] || [ "$shard" -gt "$shards" ]; then
        echo "--shard ${2:-}: expected two numbers I/N, with 1 <= I <= N" >&2
        exit 2
    fi
    shift 2
fi
rm -f build/test-logs/*.xml

configure() { # configure FOLDER OPTION...
    local folder=$1
    shift
    cmake -S . -B "$folder" -G Ninja -Wno-dev "$@"
}

# Sanitized builds: -O1 compiles faster than -O2, the tests take about as long, and reports need lines only.
sanitized=(-DINGOT_PYTHON=OFF "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -g1 -DNDEBUG")

run_ctest() { # run_ctest FOLDER OPTION...
    local folder=$1
    shift
    ctest --test-dir "$folder" -j "$jobs" --output-on-failure --no-tests=error -I "$shard,,$shards" \
        --output-junit "$PWD/build/test-logs/$folder.xml" "$@"
}

build_normal() {
    configure build -DCMAKE_C_COMPILER=gcc && cmake --build build -j "$jobs"
}

tests() {
    run_ctest build
}

# Other builds take the kernels that the normal one has compiled, and what its clang remembers.
with_kernels() { # with_kernels FOLDER OPTION...
    [ -f build/kernels/axpy.ingot ] || build_normal || return 1
    configure "$@" "-DINGOT_KERNEL_ARCHIVES=$PWD/build/kernels" "-DINGOT_TEST_CLANG=$PWD/build/bin/clang-memo" \
        "-DINGOT_TEST_CLANG_MEMO=$PWD/build/clang-memo"
}

build_sanitized() {
    with_kernels build-asan -DCMAKE_C_COMPILER=gcc "${sanitized[@]}" -DINGOT_SANITIZE=address,undefined &&
        cmake --build build-asan -j "$jobs"
}

tests_sanitized() {
    ASAN_OPTIONS=detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1 run_ctest build-asan
}

build_threads() {
    with_kernels build-tsan -DCMAKE_C_COMPILER=gcc "${sanitized[@]}" -DINGOT_SANITIZE=thread \
        -DINGOT_COMPILER=OFF -DINGOT_TEST_COMPILER="$PWD/build/bin/ingotc" && cmake --build build-tsan -j "$jobs"
}

tests_threads() {
    run_ctest build-tsan -R 'test_runtime|test_ops|test_cache|ops.broken'
}

build_fuzz() { # the parsers, and of the library what they need: one operation
    with_kernels build-fuzz "-DCMAKE_C_COMPILER=clang-$version" -DINGOT_PYTHON=OFF -DINGOT_FUZZ=ON -DINGOT_KERNELS=axpy \
        "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG" \
        -DINGOT_SANITIZE=address,undefined,fuzzer-no-link && cmake --build build-fuzz -j "$jobs" --target fuzzers
}

fuzz_one() { # fuzz_one TARGET
    local name seeds=() log
    name=$(basename "$1")
    log=build/test-logs/$name.log
    mkdir -p "build-fuzz/corpus/$name"
    rm -f "build-fuzz/$name"-*
    [ -d "tests/fuzz/seeds/$name" ] && seeds=("tests/fuzz/seeds/$name")
    echo "$name, $fuzz_seconds s"
    INGOT_AIR_LIBRARY=$PWD/build/share/ingot/air.bc "$1" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="build-fuzz/$name-" "build-fuzz/corpus/$name" "${seeds[@]}" >"$log" 2>&1
}

# What a target found, with the input: the run that found it may not find it again.
show_found() { # show_found TARGET
    local name input
    name=$(basename "$1")
    echo "failed: $name"
    grep -v '^stat::\|^"\|^#####' "build/test-logs/$name.log" | head -n 60
    for input in "build-fuzz/$name"-*; do
        [ ! -f "$input" ] || { echo "$input, in base64:" && head -c 6000 "$input" | base64; }
    done
}

fuzz() { # as many at once as there are processors
    local target i good=true targets=() processes=()
    for target in build-fuzz/bin/fuzz_*; do
        [ -x "$target" ] || continue
        [ ${#processes[@]} -lt "$jobs" ] || wait "${processes[${#processes[@]} - jobs]}"
        fuzz_one "$target" &
        targets+=("$target")
        processes+=($!)
    done
    for i in "${!processes[@]}"; do
        wait "${processes[i]}" || { good=false && show_found "${targets[i]}"; }
    done
    [ ${#processes[@]} -gt 0 ] && $good
}

build_clang() { # for its warnings, which come from the front end, but for a few
    with_kernels build-clang "-DCMAKE_C_COMPILER=clang-$version" -DCMAKE_C_FLAGS_RELWITHDEBINFO=-O0 &&
        cmake --build build-clang -j "$jobs"
}

aarch64() {
    JOBS=$jobs tools/test-arm
}

# Python keeps what it compiles, out of the sources: torch takes twice as long to import without, and is by many processes.
export PYTHONPYCACHEPREFIX="$PWD/build/pycache" PYTHONDONTWRITEBYTECODE=

venv() {
    tools/venv "$venv" "$torch"
}

pytest_process() { # pytest_process OPTION... against the package in build/python, not an installed one
    PYTHONPATH="$PWD/build/python" INGOTC="$PWD/build/bin/ingotc" \
        INGOT_CACHE_DIR="$PWD/build/python-cache" INGOT_BUILD="$PWD/build" OMP_WAIT_POLICY=passive \
        TORCHINDUCTOR_CACHE_DIR="$PWD/build/inductor-cache" TORCHINDUCTOR_COMPILE_THREADS=1 \
        "$venv/bin/python" -m pytest tests/python -q -ra --durations=15 -p no:cacheprovider "$@"
}

python_tests() { # two processes, which share the files between them
    local share=build/test-logs/python-share first second
    rm -rf "$share" && mkdir -p "$share" || return 1
    pytest_process --share "$share" --shard "$shard/$shards" --junitxml build/test-logs/python-1.xml >"$share/1.log" 2>&1 &
    pytest_process --share "$share" --shard "$shard/$shards" --junitxml build/test-logs/python-2.xml >"$share/2.log" 2>&1
    second=$?
    wait $!
    first=$?
    # what failed comes last, where it is seen
    if [ "$first" = 0 ]; then cat "$share/1.log" "$share/2.log"; else cat "$share/2.log" "$share/1.log"; fi
    awk '/ in [0-9.]+s/ { for (i = 2; i <= NF; i++) if ($i ~ /^passed,?$/) sum += $(i - 1) }
        END { print sum + 0, "passed, by two processes" }' "$share/1.log" "$share/2.log"
    [ "$first" = 0 ] && [ "$second" = 0 ]
}

python_lint() {
    "$venv/bin/ruff" check --no-cache .
}

project() {
    tools/check-project "$venv"
}

format() {
    tools/format --check
}

layers() {
    tools/check-layers && tools/check-layers --self-test && tools/language-tables --check && tools/ops-table --check &&
        tools/pass-tables --check && tools/count --check &&
        tools/command-docs tables build/bin --check && tools/check-docs && tools/check-docs --self-test
}

# The end of a step's log; of CTest's the output of the tests that failed, which may stand far above.
what_failed() { # what_failed LOG LINES
    local of_tests
    of_tests=$(awk '/^ *[0-9]+\/[0-9]+ Test +#/ { shown = /\*\*\*/ } /^ +Start +[0-9]+:/ { shown = 0 } shown' "$1")
    if [ -n "$of_tests" ]; then
        tail -n "$2" <<<"$of_tests"
    else
        tail -n "$2" "$1"
    fi | sed 's/^/    /'
}

step() { # step FUNCTION DESCRIPTION
    local log="build/test-logs/$1.log" start=$SECONDS
    printf '%-16s %s …\n' "$1" "$2"
    if "$1" >"$log" 2>&1; then
        printf '%-16s ok (%s s)%s\n' "$1" "$((SECONDS - start))" \
            "$(grep -E '^([0-9]+% tests|[0-9]+) passed' "$log" | tail -1 | sed 's/^/: /')"
    else
        printf '%-16s FAILED (%s s)\n%s\n' "$1" "$((SECONDS - start))" "$(what_failed "$log" 200)"
        return 1
    fi
}

# NAME:HOW:STEPS BEFORE IT:DESCRIPTION. Two steps run at a time, in this order as far as those before them have ended: one
# has the processors that the other leaves idle, at its end above all. HOW: "alone" for what is limited by time, not by
# work; "beside" for what waits for the network most of its time, and does not count as one of the two.
steps=(
    "venv:beside::a virtual environment with torch, NumPy and pytest"
    "build_normal:::gcc, warnings are errors"
    "tests::build_normal:unit, MSL and operations at each CPU level, command line"
    "format:::clang-format"
    "layers::build_normal:the dependency rule, the tables of docs/guide/reference/language.md, docs/guide/reference/operations.md"
    "python_tests::build_normal venv:the Python package, its examples, and a wheel"
    "python_lint::venv:ruff"
    "project::venv:workflows, issue forms, Dockerfile, shell scripts"
    "build_sanitized::build_normal:gcc with ASan and UBSan"
    "tests_sanitized::build_sanitized:all of the tests with ASan and UBSan"
    "build_threads::build_normal:the runtime with TSan"
    "tests_threads::build_threads:the tests of runtime and operations with TSan"
    "build_clang::build_normal:clang, warnings are errors"
    "aarch64::build_normal:code for 64-bit Arm, by an emulator"
    "build_fuzz::build_normal:the fuzz targets with clang"
    "fuzz:alone:build_fuzz:each parser, briefly"
)
at_once=2
declare -A running=() # process: step
declare -A how=()
waiting=()
dealt=" tests python_tests tests_sanitized tests_threads " # every machine has its share of these

# Whether this machine runs a step: one that is dealt out, its own, or one that such a step needs.
wanted=" "
want() { # want NAME NEEDS
    [[ $wanted != *" $1 "* ]] || return 0
    wanted="$wanted$1 "
    local need entry name needs
    for need in $2; do
        for entry in "${steps[@]}"; do
            IFS=: read -r name _ needs _ <<<"$entry"
            [ "$name" != "$need" ] || want "$name" "$needs"
        done
    done
}
turn=0
for entry in "${steps[@]}"; do
    IFS=: read -r name kind needs _ <<<"$entry"
    how[$name]=$kind
    case $name in
    venv | build_normal | build_sanitized | build_threads | build_fuzz) continue ;; # by need
    esac
    if [[ $dealt == *" $name "* ]] || [ $((turn++ % shards + 1)) = "$shard" ]; then
        want "$name" "$needs"
    fi
done
for entry in "${steps[@]}"; do
    name=${entry%%:*}
    if [ $# = 0 ] && [[ $wanted == *" $name "* ]] || [[ " $* " == *" $name "* ]]; then
        waiting+=("$entry")
    fi
done

# Whether a step may begin now: there is room, and nothing that it needs waits or runs.
may_begin() { # may_begin NAME NEEDS
    local step need count=0
    for step in "${running[@]}"; do
        [ "${how[$step]}" != alone ] && [ "${how[$1]}" != alone ] || return 1
        [ "${how[$step]}" = beside ] || count=$((count + 1))
    done
    [ "${how[$1]}" = beside ] || [ "$count" -lt "$at_once" ] || return 1
    for need in $2; do
        for step in "${running[@]}" "${waiting[@]%%:*}"; do
            [ "$step" != "$need" ] || return 1
        done
    done
}

begin_steps() { # as many as may
    local i name needs about
    for i in "${!waiting[@]}"; do
        IFS=: read -r name _ needs about <<<"${waiting[i]}"
        if may_begin "$name" "$needs"; then
            step "$name" "$about" &
            running[$!]=$name
            unset "waiting[i]"
        fi
    done
}

# Processes in the background do not get the interrupt of a terminal.
trap 'trap "" TERM; kill 0; exit 130' INT TERM
begin_steps
while [ ${#running[@]} -gt 0 ]; do
    wait -n -p process "${!running[@]}"
    status=$?
    name=${running[$process]}
    unset "running[$process]"
    if [ "$status" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures="$failures $name"
    fi
    begin_steps
done
for name in $failures; do # once more where one looks first: the step that failed may be far above
    echo "$name: from build/test-logs/$name.log"
    what_failed "build/test-logs/$name.log" 25
done
[ -z "$failures" ] || echo "failed:$failures (logs in build/test-logs)"
reports=(build/test-logs/*.xml)
if [ -f "${reports[0]}" ] && [ -x build/bin/ingot ]; then
    build/bin/ingot merge "${reports[@]}" -o build/test-logs/tests.xml >/dev/null 2>&1
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
