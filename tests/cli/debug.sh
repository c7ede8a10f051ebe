#!/bin/bash
# Checks of `ingot debug` with gdb and lldb, where they are installed. usage: tests/cli/debug.sh PATH_OF_INGOT
set -u
ingot=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# shellcheck source=tests/cli/checks.sh
. "$here/checks.sh"

cat >mean.metal <<'M'
#include <metal_stdlib>
using namespace metal;

struct Limits {
    uint count;
    float scale;
};

static float twice(float value) {
    float result = value * 2.0f;
    return result;
}

kernel void mean(device const float4 *x [[buffer(0)]], device float *y [[buffer(1)]],
                 constant Limits &limits [[buffer(2)]], uint i [[thread_position_in_grid]],
                 uint t [[thread_position_in_threadgroup]]) {
    threadgroup float sums[64];
    float4 four = x[i];
    half2 two = half2(four.xy);
    sums[t] = twice(four.x);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float all = simd_sum(sums[t]);
    for (uint j = 0; j < 2; j++)
        all += simd_shuffle_xor(all, ushort(j + 1)) * float(two.y > 1e4h);
    if (i < limits.count)
        y[i] = all * limits.scale;
}
M
x=f32:$(seq -s, 0 511)
launch=(mean.metal mean --threads 128 --group 64 "$x" 'f32[128]=y.npy' hex:8000000000000040)

# ---- the same results, whether or not there is a debugger -----------------------------
check "optimised" 0 "f32(128,) = 7936" -- "$ingot" run "${launch[@]}"
cp y.npy expected.npy
check "thread by thread" 0 "-debug)" "f32(128,) = 7936" -- env INGOT_DEBUG=1 "$ingot" run "${launch[@]}"
same "results" "$(cmp y.npy expected.npy && echo equal)" equal
check "no sanitizer" 1 "INGOT_DEBUG" "sanitizer" -- env INGOT_DEBUG=1 "$ingot" run --sanitize "${launch[@]}"

# ---- the command line ------------------------------------------------------------------
check "debug without a kernel" 2 "expected FILE and KERNEL" -- "$ingot" debug mean.metal
check "bad thread" 2 "--thread 1,x: expected X[,Y[,Z]]" -- "$ingot" debug --thread 1,x "${launch[@]}"
check "a thread that is not there" 2 "--thread 128: the grid has 128×1×1 threads" -- "$ingot" debug --thread 128 "${launch[@]}"
check "a threadgroup that is not there" 2 "--threadgroup 2: the grid has 128×1×1 threads in groups of 64×1×1" \
    -- "$ingot" debug --threadgroup 2 "${launch[@]}"
for option in --isolated --device=cuda "--device cuda" "--cpu x86-64-v3"; do
    # shellcheck disable=SC2086 # an option and its value
    check "no $option" 2 "${option%%[ =]*}: kernels are stepped through on the CPU" -- "$ingot" debug $option "${launch[@]}"
done
check "no such debugger" 1 "no-such-debugger cannot be started" -- "$ingot" debug --debugger no-such-debugger "${launch[@]}"
check "help of debug" 0 "usage:" "ingot watch" -- "$ingot" debug --help

# ---- gdb -------------------------------------------------------------------------------
gdb_works() {
    command -v gdb >/dev/null || { echo "skipped: gdb is not installed"; return 1; }
    gdb -batch -ex 'python print(1)' -ex 'run' --args true 2>&1 | grep -q 'exited normally' ||
        { echo "skipped: gdb cannot run a program here"; return 1; }
}
cat >values.metal <<'M'
#include <metal_stdlib>
using namespace metal;
struct pair {
    float3 position;
    half2 spin;
};
kernel void values(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup pair tile[2];
    tile[i].position = float3(1, 2, 3);
    tile[i].spin = half2(0.5h, 4);
    bool3 flags = bool3(true, false, true);
    ulong2 large = ulong2(7);
    char3 small = char3(-1, 2, 3);
    bfloat brain = bfloat(2.5);
    bfloat2 brains = bfloat2(1.5, 2);
    packed_float3 packed = packed_float3(3, 2, 1);
    float2x2 unit = float2x2(1);
    x[i] = flags.x + large.x + small.x + float(brain) + float(brains.x) + packed.x + unit[0].x;
}
M
debug=("$ingot" debug --debugger gdb --batch --quiet)
if gdb_works; then
    check "values" 0 "flags = {true, false, true}" "large = {7, 7}" "brain = 2.5" "brains = {1.5, 2}" "packed = {3, 2, 1}" \
        "unit = {columns = {{1, 0}, {0, 1}}}" "\$1 = {position = {1, 2, 3}, spin = {0.5, 4}}" "\$2 = 3.5" \
        -- "${debug[@]}" --break 18 --command 'info locals' --command 'print tile[0]' --command 'print brain + 1' \
        values.metal values --threads 1 'f32[1]'
    check "stops where the kernel begins" 0 "mean () at mean.metal:18" "i = 64" "y = 0x" \
        "thread 64,0,0 (threadgroup 1,0,0, SIMD-group 0, lane 0)" "= {256, 257, 258, 259}" "type = half2" \
        "twice (value=256)" "#1 " "sums = {" \
        -- "${debug[@]}" --thread 64 --command 'info locals' --command 'ingot where' --command next --command 'print four' \
        --command 'whatis two' --command next --command 'print two' --command step --command 'bt 2' \
        "${launch[@]}"
    check "one thread of the grid" 0 "mean.metal:22" "thread 37,0,0 (threadgroup 0,0,0, SIMD-group 1, lane 5)" '$1 = 37' \
        '$2 = {148, 149, 150, 151}' '$3 = 296' '$4 = (const Limits &)' "count = 128, scale = 2}" \
        "lanes 0-4: waiting for other lanes, mean.metal:22" "lane 5: running, mean.metal:22" "lanes 6-31: may go on" \
        "lanes 0-31: at a barrier, mean.metal:21" '$5 = {144, 145, 146, 147}' '$6 = {0, 1, 2, 3}' \
        "\$7 = 44" "y[37]: 0 -> 24320, written by thread 37,0,0 (threadgroup 0,0,0, SIMD-group 1, lane 5) at mean.metal:26" \
        "exited normally" -- "${debug[@]}" --break 22 --thread 37,0,0 --command 'ingot where' --command 'print i' \
        --command 'print four' --command 'print sums[t]' --command 'print limits' --command 'ingot threads' \
        --command 'ingot apply 36 print four' --command 'ingot apply 0 print four' --command 'ingot apply 44 print i' --command 'ingot watch y[37]' \
        --command continue --command continue "${launch[@]}"
    check "conditions by position" 0 "thread 3,0,0" "thread 70,0,0" "thread 71,0,0" "exited normally" -- "${debug[@]}" --break mean.metal:26 \
        --thread 3 --command 'ingot where' --command 'ingot only' --command delete \
        --command 'break mean.metal:26 if $ingot_thread_is(70)' --command 'break mean.metal:26 if ingot_thread.position.x == 71' --command continue --command 'ingot where' \
        --command continue --command 'ingot where' --command continue "${launch[@]}"
    # Others of the grid do not run before it, or this would take minutes.
    check "one of a million threads" 0 "thread 999999,0,0 (threadgroup 15624,0,0" "\$1 = 999999" -- "${debug[@]}" --break 18 \
        --thread 999999 --command 'ingot where' --command 'print i' mean.metal mean --threads 1000000 --group 64 \
        'f32[1000000,4]' 'f32[1000000]' hex:8000000000000040
    check "one threadgroup" 0 "thread 96,0,0 (threadgroup 1,0,0" -- "${debug[@]}" --break 21 --threadgroup 1 \
        --command 'ingot where' "${launch[@]}"
    check "next goes over a barrier" 0 "22	" "thread 40,0,0" -- "${debug[@]}" --break 21 --thread 40 --command next \
        --command 'ingot where' "${launch[@]}"
    # Code from the cache that was made in another folder would name the files there.
    mkdir one two
    for folder in one two; do
        cat >$folder/two.metal <<'M'
constant int n [[function_constant(0)]];
kernel void first(device int *x, uint i [[thread_position_in_grid]]) {
    x[i] = i * n;
}
kernel void second(device int *x, uint i [[thread_position_in_grid]]) {
    x[i] = i + n;
}
M
        for kernel in first:3 second:6; do
            (cd $folder && "${debug[@]}" --command 'info source' two.metal ${kernel%:*} --const 0=2 --threads 4 'i32[4]') >said.txt 2>&1
            check "the source's folder, $folder, $kernel" 0 "two.metal:${kernel#*:}" "Located in $PWD/$folder/two.metal" -- cat said.txt
        done
        printf 'kernel void plain(device float *x, uint i [[thread_position_in_grid]]) {\n    x[i] = i;\n}\n' >$folder/plain.metal
        (cd $folder && "${debug[@]}" --break 2 --command 'info source' plain.metal plain --threads 4 'f32[4]') >said.txt 2>&1
        check "the source's folder, $folder" 0 "Located in $PWD/$folder/plain.metal" -- cat said.txt
    done
    check "an archive with the source" 0 "wrote mean.ingot" -- "$ingot" pack mean.metal -o mean.ingot
    check "steps too" 0 "thread 37,0,0" "\$1 = 37" -- "${debug[@]}" --break mean.metal:22 --thread 37 --command 'ingot where' \
        --command 'print i' mean.ingot "${launch[@]:1}"
    check "an archive without it" 0 -- "$ingot" pack mean.metal --no-source -o bare.ingot
    check "cannot" 1 "bare.ingot has no source" -- "$ingot" debug bare.ingot "${launch[@]:1}"
    cp mean.metal "the mean.metal"
    check "a name with a space" 0 "the mean.metal:22" "thread 37,0,0" -- "${debug[@]}" --break 22 --thread 37 \
        --command 'ingot where' "the mean.metal" "${launch[@]:1}"
    # as VS Code's extension for C++ talks to gdb
    check "a launch file for VS Code" 0 "wrote .vscode/launch.json" "wrote .vscode/settings.json" -- "$ingot" debug --vscode "${launch[@]}"
    check "which is not overwritten" 1 "exists" -- "$ingot" debug --vscode "${launch[@]}"
    python3 - >vscode.mi 2>vscode.env <<'P'
import json, sys
launch = json.load(open(".vscode/launch.json"))["configurations"][0]
assert launch["MIMode"] == "gdb" and launch["type"] == "cppdbg"
for command in launch["setupCommands"]:
    text = command["text"]
    print(text if text.startswith("-") else f'-interpreter-exec console "{text}"')
quoted = " ".join('"' + word + '"' for word in launch["args"])
print(f'-file-exec-and-symbols "{launch["program"]}"\n-exec-arguments {quoted}')
print("-break-insert -f mean.metal:23\n-exec-run")
print(*(f'{e["name"]}={e["value"]}' for e in launch["environment"]), file=sys.stderr)
P
    said() { # waits until gdb has said that; two minutes are enough on any machine
        for _ in $(seq 1200); do
            grep -qF -- "$1" mi.txt && break
            sleep 0.1
        done
    }
    : >mi.txt
    ( cat vscode.mi; said '*stopped'; echo '-stack-list-variables --simple-values'; said 'variables=['; echo -gdb-exit ) |
        env "$(cat vscode.env)" gdb -q --interpreter=mi3 >>mi.txt 2>&1
    check "VS Code's breakpoint" 0 'reason="breakpoint-hit"' 'file="mean.metal",' 'line="23"' 'name="four",type="float4"' -- cat mi.txt
fi

# ---- lldb ------------------------------------------------------------------------------
lldb=
for name in lldb lldb-19 lldb-20 lldb-21; do
    command -v "$name" >/dev/null && { lldb=$name; break; }
done
if [ -z "$lldb" ]; then
    echo "skipped: lldb is not installed"
else
    check "lldb" 0 "mean.metal:22" "thread 37,0,0 (threadgroup 0,0,0, SIMD-group 1, lane 5)" "(uint) i = 37" \
        "{148, 149, 150, 151}" "(float) 296" "lanes 0-4: waiting for other lanes, mean.metal:22" \
        "y[37]: 0 -> 24320, written by thread 37,0,0 (threadgroup 0,0,0, SIMD-group 1, lane 5) at mean.metal:26" \
        -- "$ingot" debug --debugger "$lldb" --batch --quiet --break 22 --thread 37 --command 'ingot where' \
        --command 'frame variable' --command 'print sums[37]' --command 'ingot threads' --command 'ingot watch y[37]' --command continue \
        "${launch[@]}"
    check "lldb, values" 0 "flags = {true, false, true}" "large = {7, 7}" "small = {-1, 2, 3}" "brain = 2.5" \
        "brains = {1.5, 2}" "packed = {3, 2, 1}" "unit = {{1, 0}, {0, 1}}" "(position = {1, 2, 3}, spin = {0.5, 4})" \
        -- "$ingot" debug --debugger "$lldb" --batch --quiet --break 18 --command 'frame variable' \
        --command 'print tile[0]' values.metal values --threads 1 'f32[1]'
    cp mean.metal "the mean.metal"
    check "lldb, a name with a space" 0 "the mean.metal:22" "thread 37,0,0" -- "$ingot" debug --debugger "$lldb" --batch \
        --quiet --break 22 --thread 37 --command 'ingot where' "the mean.metal" "${launch[@]:1}"
    # what VS Code's extension CodeLLDB does with its configuration, and a condition by position
    [ -f .vscode/launch.json ] || "$ingot" debug --vscode "${launch[@]}" >/dev/null
    python3 - >code.lldb <<'P'
import json
launch = json.load(open(".vscode/launch.json"))["configurations"][1]
assert launch["type"] == "lldb" and launch["request"] == "launch"
quoted = " ".join('"' + word + '"' for word in launch["args"])
print(*launch["initCommands"], f'target create "{launch["program"]}"', sep="\n")
print("settings set target.env-vars", *(f"{name}={value}" for name, value in launch["env"].items()))
print(f"settings set -- target.run-args {quoted}")
print("breakpoint set --file mean.metal --line 23 --condition 'ingot_thread.position.x == 70'")
print("process launch\ningot where\nframe variable four\ncontinue")
P
    check "CodeLLDB's breakpoint" 0 "mean.metal:23" "thread 70,0,0 (threadgroup 1,0,0, SIMD-group 0, lane 6)" \
        "{280, 281, 282, 283}" "exited with status = 0" -- "$lldb" -b -s code.lldb
fi

# ---- LLVM's adapter, by the protocol that VS Code speaks ---------------------------------
adapter=
for name in lldb-dap lldb-dap-19 lldb-dap-20 lldb-dap-21; do
    command -v "$name" >/dev/null && { adapter=$name; break; }
done
if [ -z "$adapter" ]; then
    echo "skipped: lldb-dap is not installed"
else
    [ -f .vscode/launch.json ] || "$ingot" debug --vscode "${launch[@]}" >/dev/null
    check "the debug adapter" 0 "stopped: breakpoint at mean.metal:23" "i = 70" "t = 6" "all = 20352" "= 281" \
        "thread 70,0,0 (threadgroup 1,0,0, SIMD-group 0, lane 6)" "lane 6: running, mean.metal:23" "exited with 0" \
        -- "$here/debug_adapter.py" "$adapter" lldb-dap mean.metal:23 'ingot_thread.position.x == 70' 'ingot where' \
        'ingot threads' four.y
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
