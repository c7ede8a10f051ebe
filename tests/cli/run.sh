#!/bin/bash
# Checks of the `ingot` command. usage: tests/cli/run.sh PATH_OF_INGOT
set -u
ingot=$1
here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../../examples
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" 2>/dev/null || { sleep 2; rm -rf "$work"; }' EXIT
cd "$work" || exit 1
# shellcheck source=tests/cli/checks.sh
. "$here/checks.sh"

# values FILE TYPE: the data of a .npy file, by od
values() {
    local header
    header=$(($(od -An -tu2 -j8 -N2 "$1") + 10))
    od -An -v -w1000000 "-t$2" -j"$header" "$1" | tr -s ' ' | sed 's/^ //;s/ $//'
}

cat >good.metal <<'M'
#include <metal_stdlib>
using namespace metal;
struct Params { int n; float f; };
constant bool flag [[function_constant(3)]];
kernel void ramp(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = float(i); }
kernel void scale(device float *x [[buffer(0)]], constant float &by [[buffer(1)]], uint i [[thread_position_in_grid]]) { x[i] *= by; }
kernel void params(device float *x [[buffer(0)]], constant Params &p [[buffer(1)]], uint i [[thread_position_in_grid]]) { x[i] = p.n * p.f; }
kernel void vec(device float *x [[buffer(0)]], constant float3 &v [[buffer(1)]]) { x[0] = v.x; x[1] = v.y; x[2] = v.z; }
kernel void reverse(device int *x [[buffer(0)]], threadgroup int *s [[threadgroup(0)]], uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    s[i] = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[n - 1 - i];
}
kernel void choose(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = flag ? 1 : 2; }
M
cat >bad.metal <<'M'
#include <metal_stdlib>
using namespace metal;
kernel void fine(device float *x) { x[0] = 1; }
kernel void broken(device float *x) { x[0] = missing_function(2); }
M

# ---- help and usage -------------------------------------------------------------------
# unsanitized check …: where the programs have AddressSanitizer, which needs more memory and more system calls than the
# check allows, it is left out.
unsanitized() {
    if ldd "$ingot" 2>/dev/null | grep -q libasan; then
        echo "left out with AddressSanitizer: $2"
    else
        "$@"
    fi
}

check "help" 0 devices inspect check run pack cache INGOT_CACHE_DIR INGOT_CACHE_LIMIT -- "$ingot" --help
check "no command" 2 usage -- "$ingot"
check "version" 0 "ingot 0." -- "$ingot" --version
check "unknown command" 2 'no command "frob"' -- "$ingot" frob
for c in devices inspect check run pack cache; do
    check "help of $c" 0 "usage:" "options:" -- "$ingot" $c --help
    check "unknown option of $c" 2 "there is no option --frob" -- "$ingot" $c --frob
done
check "help COMMAND" 0 "tg:4096" -- "$ingot" help run
check "no colour in a pipe" 0 "!$(printf '\033')" -- "$ingot" --help

# ---- devices ---------------------------------------------------------------------------
check "devices" 0 cpu "SIMD width" 32 -- "$ingot" devices
check "devices as JSON" 0 '"devices"' '"simd_width": 32' '"name": "cpu"' -- "$ingot" devices --json
check "devices with an argument" 2 unexpected -- "$ingot" devices extra

# ---- inspect ---------------------------------------------------------------------------
check "inspect" 0 ramp scale "buffer(1)" "constant float &" "function_constant(3)" flag -- "$ingot" inspect good.metal
check "inspect as JSON" 0 '"name": "params"' '"type": "Params"' '"size": 8' '"address_space": "constant"' '"reference": true' -- "$ingot" inspect good.metal --json
check "names only" 0 reverse '!buffer' -- "$ingot" inspect good.metal --names
check "inspect one kernel" 0 scale '!ramp' -- "$ingot" inspect good.metal --kernel scale
cat >many.metal <<'M'
#include <metal_stdlib>
using namespace metal;
constant bool large [[function_constant(0)]];
constant bool larger = large && true;
inline float help(uint i) { threadgroup float shared[4]; shared[i % 4] = i; return shared[i % 4]; }
template <typename T, int N>
[[kernel, max_total_threads_per_threadgroup(N)]] void sum(device const T *in [[buffer(2)]],
    device T *out [[buffer(0)]], device T *extra [[buffer(1), function_constant(larger)]],
    uint i [[thread_position_in_grid]]) {
    threadgroup T part[N];
    part[i % N] = in[i] + (larger ? help(i) : 0);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = part[0] + (larger ? extra[i] : 0);
}
template [[host_name("sum_float")]] kernel void sum<float, 64>(device const float *, device float *, device float *, uint);
template [[host_name("sum_half")]] kernel void sum<half, 32>(device const half *, device half *, device half *, uint);
M
check "inspect templates" 0 "sum_float" "at most 64 threads" "272 bytes of static" "device half *" "sum_half" "at most 32 threads" "80 bytes of static" '!absent' '!code for' -- "$ingot" inspect many.metal
check "inspect with a constant" 0 "256 bytes of static" "64 bytes of static" "(absent)" -- "$ingot" inspect many.metal --const large=0
check "inspect what does not compile" 1 "missing_function" -- "$ingot" inspect bad.metal
check "inspect an unknown kernel" 1 '"nothing"' -- "$ingot" inspect good.metal --kernel nothing
check "inspect a missing file" 1 nowhere.metal -- "$ingot" inspect nowhere.metal
check "inspect without a file" 2 "expected one FILE" -- "$ingot" inspect

# ---- check -----------------------------------------------------------------------------
check "check a good file" 0 "kernel ramp: ok" "6 passed, 0 failed" -- "$ingot" check good.metal
check "check a missing file" 1 "ingot: error: cannot open nowhere.metal: " "!ingotc" -- "$ingot" check nowhere.metal
check "check a bad file" 1 "bad.metal:4:" "missing_function" "^" -- "$ingot" check bad.metal
cat >doubtful.metal <<'M'
kernel void divide(device int *x [[buffer(0)]]) {
    int y;
    x[0] = x[1] / 0 + y;
}
M
check "check shows warnings" 0 "doubtful.metal:3:17: warning: division by zero" "'y' is uninitialized" "1 passed" -- "$ingot" check doubtful.metal
cat >lenient.metal <<'M'
#include <metal_stdlib>
using namespace metal;
constexpr float table[2] = {1, 2};
constant int fine = 4;
template <class T> constexpr bool also_fine = true;
kernel void a(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]], uint3 n [[threads_per_threadgroup]])
    [[max_total_threads_per_threadgroup(64)]] {
    uint half = 3;
    x[i] = table[0] + half + n.x;
}
[[max_total_threads_per_threadgroup(64)]] kernel void b(device half *x [[buffer(0)]],
    ushort2 i [[thread_position_in_grid]], uint2 n [[threads_per_grid]], uint lane [[thread_index_in_simdgroup]]) {
    constexpr int local = 2;
    x[i.x] = half(lane + n.y) + fine + local;
}
M
check "check --werror: warnings are errors" 1 "lenient.metal:3:17: error: Apple's compiler wants a variable" "1 failed" \
    -- "$ingot" check --werror --no-code lenient.metal
check "run --werror" 1 "lenient.metal:3:17: error: Apple's compiler wants a variable" \
    -- "$ingot" run --werror lenient.metal a --threads 2 'f32[2]'
check "pack --werror" 1 "lenient.metal:3:17: error: Apple's compiler wants a variable" \
    -- "$ingot" pack --werror lenient.metal --target x86-64-v3 -o lenient.ingot
cat > exclusive.metal <<'END'
constant bool as_float [[function_constant(0)]];
constant bool as_half [[function_constant(1)]];
kernel void k(device float *a [[buffer(0), function_constant(as_float)]],
              device half *b [[buffer(0), function_constant(as_half)]]) { if (as_float) a[0] = 1; else b[0] = 1; }
END
check "check: constants that exclude each other" 0 "1 passed, 0 failed" -- "$ingot" check --no-code exclusive.metal
check "check: a conflict names --const" 1 "b of kernel \"k\" has [[buffer(0)]], which a has already" "--const" \
    -- "$ingot" check --no-code exclusive.metal --const as_float=1 --const as_half=1
check "check warns of what Apple's compiler refuses" 0 "lenient.metal:3:17: warning: Apple's compiler wants a variable" \
    "lenient.metal:6:82: warning: Apple's compiler wants the positions" \
    "lenient.metal:7:7: warning: Apple's compiler takes [[max_total" \
    "lenient.metal:8:10: warning: Apple's compiler takes half" "2 passed" \
    "!lenient.metal:4:" "!lenient.metal:5:" "!lenient.metal:1" -- "$ingot" check lenient.metal
cat >limits.metal <<'M'
#include <metal_stdlib>
using namespace metal;
[[max_total_threads_per_threadgroup(2048)]] kernel void large(device float *x [[buffer(31)]],
    int i [[thread_position_in_threadgroup]]) {
    threadgroup float tile[8192];
    threadgroup float more[64];
    tile[i] = x[i];
    more[i] = x[i + 1];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = tile[31 - i] + more[31 - i];
}
kernel void same(device float *x [[buffer(0)]]) { x[0] = 1; }
kernel void same(device int *x [[buffer(0)]]) { x[0] = 1; }
kernel void wrong(device float *x [[buffer(0)]]) { x[0] = missing; }
kernel void wrong_too(float x) {}
M
check "check goes on after a wrong kernel, and warns of Apple's limits" 1 \
    'limits.metal:3:77: warning: x of kernel "large" has buffer index 31; Apple'"'"'s compiler takes 0 to 30' \
    'limits.metal:3:57: warning: kernel "large" has [[max_total_threads_per_threadgroup(2048)]]; a threadgroup has 1 to 1024' \
    'kernel "large" has 33024 bytes of threadgroup memory (tile: 32768, more: 256); Apple'"'"'s GPUs have 32768' \
    "limits.metal:4:5: warning: Apple's compiler takes positions, indices and sizes as ushort or uint" \
    "limits.metal:13:13: warning: another kernel before this one has its name" \
    "limits.metal:14:59: error: use of undeclared identifier 'missing'" \
    "limits.metal:15:29: error: a kernel parameter must be a built-in value with its attribute" \
    "kernel large: ok" "kernel wrong: failed" "kernel wrong_too: failed" "2 passed, 2 failed" -- "$ingot" check limits.metal
check "check finds as much without code" 1 "limits.metal:3:77: warning: " "33024 bytes of threadgroup memory" \
    "limits.metal:14:59: error: " "kernel large: ok" "2 passed, 2 failed" -- "$ingot" check limits.metal --no-code
for ((k = 0; k < 40; k++)); do
    body='x[i] *= 2'
    [ $k = 17 ] && body='x[i] = missing'
    [ $k = 30 ] && body='int y; x[i] = y'
    echo "kernel void k$k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { $body; }"
done >forty.metal
check "check many kernels, one of them wrong" 1 "forty.metal:18:" "undeclared identifier 'missing'" "forty.metal:31:" \
    "'y' is uninitialized" "kernel k16: ok" "kernel k17: failed" "39 passed, 1 failed" -- "$ingot" check forty.metal
# a linker that ends the compiler which called it, once
cat >deadly-linker <<M
#!/bin/sh
mkdir "$work/killed" 2>/dev/null && kill -ABRT \$PPID && sleep 10
exec "$(command -v ld.lld-19 || command -v ld.lld || echo /usr/lib/llvm-19/bin/ld.lld)" "\$@"
M
chmod +x deadly-linker
sed -i 's/missing/1/' forty.metal
check "a crash costs one kernel" 1 "the compiler crashed (signal 6)" -- \
    env INGOT_LLD="$work/deadly-linker" "${INGOTC:-$(dirname "$ingot")/ingotc}" forty.metal -o forty.ingot
same "the others have code" "$("$ingot" inspect forty.ingot --json | grep -c '"compiled": true')" 39
rm -r killed
check "and is tried again by pack" 0 "40 kernels" -- \
    env INGOT_LLD="$work/deadly-linker" "$ingot" pack forty.metal -o forty.ingot --target x86-64-v3
check "assembly" 0 -- "${INGOTC:-$(dirname "$ingot")/ingotc}" good.metal --kernel scale --emit asm -o scale.s
same "code has lines of the source" "$(grep -qE '\.loc[[:space:]]+[0-9]+ 6 ' scale.s && echo yes)" yes
for level in x86-64-v3 x86-64-v4; do
    for kernel in floats thirty_two; do
        check "assembly of a table for $level" 0 -- "${INGOTC:-$(dirname "$ingot")/ingotc}" "$here/../msl/memory_table_constant.metal" --kernel $kernel --target $level --emit asm -o table.s
        same "a table is permuted, not gathered ($kernel, $level)" "$(grep -qE 'vperm[ti0-9]*(ps|d)' table.s && ! grep -q gather table.s && echo yes)" yes
    done
done
check "check two files" 1 good.metal bad.metal -- "$ingot" check good.metal bad.metal
cat >caller.metal <<'M'
#include <metal_stdlib>
using namespace metal;
#include "shared.h"
extern constant float weights[2];
float outer(float x);
kernel void linked(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = in_header(outer(x[i])) + weights[i & 1];
}
M
cat >outer.metal <<'M'
#include <metal_stdlib>
using namespace metal;
#include "shared.h"
constant int shift [[function_constant(5)]];
float inner(float2 x);
float outer(float x) { return inner(float2(x, 10)) + (is_function_constant_defined(shift) ? float(shift) : 0.0f); }
kernel void beside(device float *x [[buffer(0)]]) { x[0] = 5; }
M
cat >inner.metal <<'M'
extern constant float weights[2];
constant float weights[2] = {0.25f, 0.5f};
float inner(metal::float2 x) { return x.x * x.y; }
M
echo 'float in_header(float x) { return x + 1; }' >shared.h
check "a function that no file defines" 1 "caller.metal:7:22: error: 'outer': declared, but defined nowhere" -- "$ingot" check caller.metal
check "a function that another file lacks too" 1 "error: 'inner': declared, but defined nowhere" -- "$ingot" check caller.metal outer.metal
check "functions of other files" 0 "2 passed" -- "$ingot" check caller.metal outer.metal inner.metal
check "files are linked" 0 "2 kernels" -- "$ingot" pack caller.metal outer.metal inner.metal --target x86-64-v3 --target sm_80 -o linked.ingot
check "and run" 0 "1.25 1.5 1.25 1.5" -- "$ingot" run linked.ingot linked --threads 4 --cpu x86-64-v3 'f32[4]'
sed 's/x.x \* x.y/x.x/' inner.metal >inner2.metal
check "a function that two files define" 1 "weights, which caller.metal declares, is defined in inner.metal and in inner2.metal: make one of them static" "kernel beside: ok" \
    -- "$ingot" check caller.metal outer.metal inner.metal inner2.metal
printf 'float broken( {\n' >broken.metal
check "a file that does not compile defines nothing" 1 "kernel linked: ok" "broken.metal:1:" -- "$ingot" check caller.metal outer.metal inner.metal broken.metal
check "a kernel with what is not supported is left out" 0 'warning: '"$here"'/../msl/unsupported_beside.metal:39:50: kernel "table" has a visible_function_table parameter; visible functions are not supported; kernel "table" is left out' \
    "5 kernels, 1 with code" -- "$ingot" pack "$here/../msl/unsupported_beside.metal" --target x86-64-v3 -o beside.ingot
check "but not one that was asked for" 1 'error: kernel "table"' -- "$ingot" pack "$here/../msl/unsupported_beside.metal" --kernel table --target x86-64-v3 -o beside.ingot
check "check one kernel" 0 "1 passed, 0 failed" -- "$ingot" check good.metal --kernel scale
check "check one kernel of two files" 0 "1 passed, 0 failed" -- "$ingot" check good.metal "$examples/saxpy.metal" --kernel saxpy
check "check a kernel that no file has" 1 'a kernel "frob"' -- "$ingot" check good.metal --kernel frob
check "check as JSON" 1 '"severity": "error"' '"line": 4' '"failed"' -- "$ingot" check bad.metal --json
check "check a missing file" 1 nowhere.metal -- "$ingot" check nowhere.metal
check "check standard input" 0 "<stdin>: no compute kernels" -- "$ingot" check -
check "inspect standard input" 1 "cannot open -" "not from standard input" -- "$ingot" inspect -
check "check quietly" 0 '!kernel ramp' "passed" -- "$ingot" check -q good.metal
printf '#include "nothing_here.h"\nkernel void k(device float *x) { x[0] = 1; }\n' >include.metal
check "a missing include" 1 "nothing_here.h" "include.metal:1:" -- "$ingot" check include.metal
mkdir -p inc && printf '#define VALUE 3\n' >inc/nothing_here.h
check "an include folder" 0 "1 passed" -- "$ingot" check include.metal --include inc
check "an include folder, short" 0 "1 passed" -- "$ingot" check include.metal -Iinc
printf 'kernel void k(device float *x) { x[0] = VALUE; }\n' >define.metal
check "without the macro" 1 VALUE -- "$ingot" check define.metal
check "with the macro" 0 "1 passed" -- "$ingot" check define.metal -D VALUE=7
printf 'vertex float4 corner(uint i [[vertex_id]]) { return float4(i); }\n' >vertex.metal
check "no kernels" 0 "no compute kernels" "0 passed, 0 failed" -- "$ingot" check vertex.metal
check "neither source nor archive" 1 "neither Metal source, nor a compiled library, nor" -- "$ingot" check "$ingot"
check "the same for inspect" 1 "neither Metal source, nor a compiled library, nor" -- "$ingot" inspect "$ingot"
check "no compiler" 1 "INGOTC" -- env INGOTC=/nowhere/ingotc "$ingot" check good.metal

# ---- run -------------------------------------------------------------------------------
check "run, zeros out" 0 "ramp" "x.npy" -- "$ingot" run good.metal ramp --threads 6 'f32[6]=x.npy'
same "x.npy" "$(values x.npy f4)" "0 1 2 3 4 5"
check "run, in and out" 0 -- "$ingot" run -q good.metal scale --threads 6 --group 4 x.npy=y.npy f32:2.5
same "y.npy" "$(values y.npy f4)" "0 2.5 5 7.5 10 12.5"
same "x.npy is untouched" "$(values x.npy f4)" "0 1 2 3 4 5"
check "run, 2-D shape" 0 "(2, 3)" -- "$ingot" run good.metal ramp --threads 6 'f32[2,3]=z.npy'
check "run, more threads than the buffer has elements" 1 'kernel "ramp"' 'past the end of argument 0 "x", a buffer of 24 bytes' -- "$ingot" run good.metal ramp --threads 100 'f32[6]'
check "run, struct bytes" 0 "7.5" -- "$ingot" run good.metal params --threads 1 'f32[1]' hex:030000000000_2040
check "run, a vector of three" 0 "1 2 3" -- "$ingot" run good.metal vec --threads 1 'f32[3]' f32:1,2,3
check "run, threadgroup memory" 0 -- "$ingot" run good.metal reverse --threadgroups 1 --group 5 'i32[5]=r.npy' tg:20
same "r.npy" "$(values r.npy d4)" "4 3 2 1 0"
check "run, more threadgroup memory than there is" 1 40000 32768 -- "$ingot" run good.metal reverse --threadgroups 1 --group 5 'i32[5]' tg:40000
check "run, more threadgroup memory when asked" 0 "= 4 3 2 1 0" -- "$ingot" run good.metal reverse --threadgroups 1 --group 5 'i32[5]' tg:40000 --threadgroup-memory 65536
check "run, too much threadgroup memory" 1 1073741824 1048576 -- "$ingot" run good.metal reverse --threadgroups 1 --group 5 'i32[5]' tg:40000 --threadgroup-memory 1073741824
check "run, constant by name" 0 "= 1 1" -- "$ingot" run good.metal choose --threads 2 'i32[2]' --const flag=1
check "run, constant by index" 0 "= 2 2" -- "$ingot" run good.metal choose --threads 2 'i32[2]' --const 3=false
cat >vector.metal <<'M'
#include <metal_stdlib>
constant metal::float3 v [[function_constant(0)]];
kernel void put(device float *x [[buffer(0)]]) { x[0] = v.x; x[1] = v.y; x[2] = v.z; }
M
check "run, constant vector of three" 0 "= 1 2.5 -3" -- "$ingot" run vector.metal put --threads 1 'f32[3]' --const v=1,2.5,-3
check "run, timed" 0 "median" -- "$ingot" run good.metal ramp --threads 64 --time --repeat 3 'f32[64]'
check "run, timed: values of the first run" 0 "= 3 3" -- "$ingot" run good.metal scale --threads 2 f32:1,1 f32:3 --time --repeat 4
check "run, timed no times" 2 "--repeat 0" "from 1" -- "$ingot" run good.metal ramp --threads 64 --time --repeat 0 'f32[64]'
check "run, repeated without a clock" 2 "--repeat is for --time" -- "$ingot" run good.metal ramp --threads 64 --repeat 3 'f32[64]'
check "run as JSON" 0 '"kernel": "ramp"' '"seconds"' '"file": "j.npy"' -- "$ingot" run good.metal ramp --threads 4 --json --time 'f32[4]=j.npy'
check "run at the lower level" 0 "x86-64-v3" -- "$ingot" run good.metal ramp --cpu x86-64-v3 --threads 4 'f32[4]'

check "run, unknown kernel" 1 nothing -- "$ingot" run good.metal nothing --threads 1
check "run, unknown constant" 1 frob -- "$ingot" run good.metal choose --threads 1 'i32[1]' --const frob=1
check "run, wrong constant" 1 "not a bool" -- "$ingot" run good.metal choose --threads 1 'i32[1]' --const flag=7
check "run, missing constant" 1 flag -- "$ingot" run good.metal choose --threads 1 'i32[1]'
check "run, too few arguments" 1 "takes 2 buffer arguments" "buffer(1) by" -- "$ingot" run good.metal scale --threads 1 'f32[1]'
check "run, too many arguments" 1 "takes 1 buffer argument" -- "$ingot" run good.metal ramp --threads 1 'f32[1]' f32:1
check "run, value of the wrong size" 1 by 8 4 -- "$ingot" run good.metal scale --threads 1 'f32[1]' i64:3
check "run, not an argument" 2 "expected FILE.npy" -- "$ingot" run good.metal ramp --threads 1 frob
check "run, not a number" 2 "not a number" -- "$ingot" run good.metal scale --threads 1 'f32[1]' f32:abc
check "run, does not fit" 2 "does not fit" -- "$ingot" run good.metal scale --threads 1 'f32[1]' u8:300
check "run, no value" 2 "a value is missing" f32 -- "$ingot" run good.metal scale --threads 1 'f32[1]' f32:
check "run, too large for a float" 2 "1e39 does not fit into f32" -- "$ingot" run good.metal scale --threads 1 'f32[1]' f32:1e39
check "run, too large for a half" 2 "70000 does not fit into f16" -- "$ingot" run good.metal scale --threads 1 'f32[1]' f16:70000
check "run, infinite by its name" 0 "= inf" -- "$ingot" run good.metal scale --threads 1 f32:1 f32:inf
check "run, an extent too large" 2 "4294967296" "to 4294967295" -- "$ingot" run good.metal ramp --threads 4294967296 'f32[1]'
for version in 99 999 315 frob; do
    check "run, not a version of Metal: $version" 2 "--msl-version $version" 310 -- "$ingot" run good.metal ramp --msl-version $version --threads 1 'f32[1]'
done
for limit in nan inf frob ''; do
    check "run, not a limit: $limit" 2 "expected a number" -- "$ingot" run good.metal ramp --time-limit "$limit" --threads 1 'f32[1]'
done
# names that would end where the preprocessor has them between quotes, or begin a line of their own
printf 'kernel void taken(device float *x) { x[0] = 7; }\n' >'be"side.h'
for name in 'quo"te.metal' 'back\slash.metal' $'line\n#define BROKEN\n# 1 "x.metal'; do
    cat >"$name" <<'M'
#define N 7
#include <be"side.h>
#ifdef BROKEN
#error broken
#endif
kernel void k(device float *x) { x[0] = N; }
M
    check "run, a name with ${name:0:5}…" 0 "= 7" -- "$ingot" run "$name" k -I . --threads 1 'f32[1]'
    printf 'kernel void k(device float *x) { x[0] = nothing; }\n' >"$name"
    check "run, its diagnostics" 1 "nothing" metal:1:41 -- "$ingot" run "$name" k --threads 1 'f32[1]'
done
check "run, a macro's name" 2 "-D" -- "$ingot" run good.metal ramp -D 'A B=1' --threads 1 'f32[1]'
check "run, a macro of two lines" 2 "-D" -- "$ingot" run good.metal ramp -D $'A=1\n#error broken' --threads 1 'f32[1]'
check "run, bad hex" 2 "hexadecimal" -- "$ingot" run good.metal params --threads 1 'f32[1]' hex:0g
check "run, bad shape" 2 "expected a shape" -- "$ingot" run good.metal ramp --threads 1 'f32[]'
check "run, no grid" 2 "--threads or --threadgroups" -- "$ingot" run good.metal ramp 'f32[1]'
check "run, both grids" 2 "--threads or --threadgroups" -- "$ingot" run good.metal ramp --threads 1 --threadgroups 1 'f32[1]'
check "run, bad extent" 2 "whole numbers" -- "$ingot" run good.metal ramp --threads 1,2,3,4 'f32[1]'
check "run, an empty grid" 2 "whole numbers from 1" -- "$ingot" run good.metal ramp --threads 0 'f32[1]'
check "run, value of another kind" 0 "u32:2 holds u32" "type float" -- "$ingot" run good.metal scale --threads 1 'f32[1]' u32:2
check "run, unknown device" 1 frob -- "$ingot" run good.metal ramp --device frob --threads 1 'f32[1]'
check "run, no such output folder" 1 "nowhere" -- "$ingot" run good.metal ramp --threads 1 'f32[1]=nowhere/x.npy'
check "run, group too large" 1 4096 1024 -- "$ingot" run good.metal ramp --threads 4096 --group 4096 'f32[4096]'

# ---- limits of compiling, and processes without rights -------------------------------------
cat >table.metal <<'M'
constant float t[300000000] = {1};
kernel void table(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = t[i]; }
M
cat >tower.metal <<'M'
template <int N, int M> struct t { static constexpr int v = t<N - 1, M>::v + t<N - 1, M + (1 << N)>::v; };
template <int M> struct t<0, M> { static constexpr int v = M & 1; };
kernel void tower(device int *x) { x[0] = t<22, 0>::v; }
M
unsanitized check "compiling needs too much memory" 1 table 734003200 INGOT_COMPILE_MEMORY -- env INGOT_COMPILE_MEMORY=700M "$ingot" run table.metal table --threads 1 'f32[1]'
check "compiling takes too long" 1 tower "limit of 1 s" INGOT_COMPILE_SECONDS -- env INGOT_COMPILE_SECONDS=1 "$ingot" run tower.metal tower --threads 1 'i32[1]'
check "Ctrl-C while compiling" 124 -- timeout -s INT -k 20 2 "$ingot" run tower.metal tower --threads 1 'i32[1]'
echo 'kernel void waits(device float *x, uint i [[thread_position_in_grid]]) { x[i] = i; }' >waits.metal
check "a kernel takes too long in a pass" 1 "kernel waits" "limit of 1 s" 'at "scalar"' -- env INGOT_PAUSE=scalar INGOT_COMPILE_SECONDS=1 "$ingot" run waits.metal waits --threads 1 'f32[1]'
printf 'kernel void endless(device int *x) { while (x[0] == 0) { x[1] += 1; } }\n' >endless.metal
check "a kernel takes too long" 1 "time limit of 0.25 s" -- env INGOT_KERNEL_SECONDS=0.25 "$ingot" run endless.metal endless --threads 1 'i32[2]'
for limit in soon 0 -1 5s 1e9 nan; do
    check "no such limit of a kernel: $limit" 1 INGOT_KERNEL_SECONDS "\"$limit\"" -- env INGOT_KERNEL_SECONDS=$limit "$ingot" run good.metal ramp --threads 1 'f32[1]'
done
check "no limit of a kernel" 0 "= 0" -- env INGOT_KERNEL_SECONDS=none "$ingot" run good.metal ramp --threads 1 'f32[1]'
check "no such limit" 1 INGOT_COMPILE_SECONDS soon -- env INGOT_COMPILE_SECONDS=soon "$ingot" run tower.metal tower --threads 1 'i32[1]'
mkdir given
echo '#define N 5' >given/five.h
echo '#define N 6' >six.h
printf '#include "five.h"\nkernel void k(device float *x) { x[0] = N; }\n' >five.metal
printf '#include "six.h"\nkernel void k(device float *x) { x[0] = N; }\n' >six.metal
printf '#include "/etc/passwd"\nkernel void k(device float *x) { x[0] = 1; }\n' >passwd.metal
printf 'kernel void k(device float *x) { x[0] = 1; *(device float *)8 = 1; }\n' >wild.metal
# what is no file is included by nobody: in quotes, by a macro, from an included file, or put together
mkfifo pipe.h
echo '#include "../pipe.h"' >given/leads.h
printf '#include "pipe.h"\n' >special1.metal
printf '#define NAME "pipe.h"\n#include NAME\n' >special2.metal
printf '#if __has_include("/dev/zero")\n#include "/dev/zero"\n#endif\n' >special3.metal
printf '#include <leads.h>\n' >special4.metal
printf '#define TEXT(x) #x\n#include TEXT(/dev/zero)\n' >special5.metal
for number in 1 2 3 4 5; do
    echo 'kernel void k(device float *x) { x[0] = 1; }' >>special$number.metal
    check "run, an include of no regular file ($number)" 1 "cannot be included: it is not a regular file" \
        -- timeout 20 "$ingot" run special$number.metal k -I given --threads 1 'f32[1]'
done
check "check, an include of a FIFO" 1 "special1.metal:1:1: error: ./pipe.h" -- timeout 20 "$ingot" check special1.metal
check "pack, an include of a FIFO" 1 "given/leads.h:1:1: error: given/../pipe.h" \
    -- timeout 20 "$ingot" pack special4.metal -I given -o special.ingot
printf 'constant int all[] = {\n#embed "/dev/zero" limit(4)\n};\nkernel void k(device float *x) { x[0] = all[0]; }\n' >embed.metal
check "run, #embed" 1 "embed.metal:2:1: error: #embed: Metal has no such directive" -- "$ingot" run embed.metal k --threads 1 'f32[1]'
printf '#define PAST(p) p[9]\nkernel void k(device float *x, device float *y) { device float *z = y; x[0] = z[0]; x[1] = PAST(y); }\n' >column.metal
check "run --sanitize: line, column and text are those of the source" 3 "column.metal:2:97: bounds" "x[1] = PAST(y);" \
    -- "$ingot" run column.metal k --sanitize=bounds --threads 1 'f32[4]' 'f32[4]'
cat >races.metal <<'M'
#include <metal_stdlib>
using namespace metal;
kernel void mirror(device uint *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup uint s[64];
    s[i] = i;
    x[i] = s[63 - i];
}
kernel void misses(device uint *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    if (i < 40) threadgroup_barrier(mem_flags::mem_device);
    x[i] = i;
}
kernel void last_one(device uint *x [[buffer(0)]], uint g [[threadgroup_position_in_grid]]) {
    x[0] = g;
}
kernel void shared_flag(device uint *x [[buffer(0)]]) { x[0] = 7; }
M
check "run --sanitize=race names both sides" 3 "races.metal:5:10: race" "and races.metal:6:12, load:" \
    "by thread (31, 0, 0) of threadgroup (0, 0, 0)" "64 times in all" -- "$ingot" run races.metal mirror --sanitize=race --threads 64 --group 64 'u32[64]'
check "the other side in JSON" 3 '"other": {' '"line": 5' '"access": "store"' '"line": 6' '"access": "load"' \
    -- "$ingot" run races.metal mirror --sanitize=race --json --threads 64 --group 64 'u32[64]'
check "run --sanitize=barrier goes on" 3 "races.metal:9:17: barrier" "not reached by thread (40, 0, 0)" "= 0 1 2 3" \
    -- "$ingot" run races.metal misses --sanitize=barrier --threads 64 --group 64 'u32[64]'
check "SARIF of a thread that does not come" 3 -- "$ingot" run races.metal misses --sanitize=barrier,race --sarif out.sarif --quiet --threads 64 --group 64 'u32[64]'
check "names places only" 0 '"uri": "races.metal"' -- cat out.sarif
check "none is empty" 1 -- grep -e '"uri": ""' -e relatedLocations out.sarif
check "SARIF of a race" 3 -- "$ingot" run races.metal mirror --sanitize=race --sarif out.sarif --quiet --threads 64 --group 64 'u32[64]'
check "names the other side" 0 '"relatedLocations"' '"startLine": 6' -- cat out.sarif
check "stores of the same value are no race" 0 -- "$ingot" run races.metal shared_flag --sanitize=race --threads 64 'u32[1]'
check "unless that is asked for" 3 "races.metal:15" -- "$ingot" run races.metal shared_flag --sanitize=race,same_value --threads 64 'u32[1]'
cat > values.metal <<'M'
#include <metal_stdlib>
using namespace metal;
kernel void doubled(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    float v = x[i];
    y[i] = 2 * v;
}
kernel void inverse(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = 1 / x[i]; }
kernel void next(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = simd_shuffle_down(x[i], 1);
}
M
check "run --sanitize=uninitialised: a buffer that nobody has written" 3 "values.metal:5:10: uninitialised" \
    'a value that was never written, of buffer(0) "x", is stored to buffer(1) "y"; it comes from line 4' \
    -- "$ingot" run values.metal doubled --sanitize=uninitialised --threads 4 'f32[4]?' 'f32[4]'
check "where the value came from, in JSON" 3 '"kind": "uninitialised"' '"line": 5' '"other": {' '"line": 4' '"access": "load"' \
    -- "$ingot" run values.metal doubled --sanitize=uninitialised --json --threads 4 'f32[4]?' 'f32[4]'
check "a buffer of zeros is written" 0 -- "$ingot" run values.metal doubled --sanitize=uninitialised --threads 4 'f32[4]' 'f32[4]?'
check "run --sanitize=lanes" 3 "values.metal:9" "a value of a lane that is inactive or not there is stored" "by thread (31, 0, 0)" \
    -- "$ingot" run values.metal next --sanitize=lanes --threads 32 'f32[32]'
cat > pairs.metal <<'M'
#include <metal_stdlib>
using namespace metal;
struct pair { float a, b; };
inline pair both(pair x, device const float *p, uint i) { return { x.a, x.b + p[i] }; }
kernel void beyond(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    pair p = both({ 1, 2 }, x, i + 1);
    x[i] = p.b;
}
kernel void summed(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float part[32];
    float v = part[i];
    v = simd_sum(v);
    x[i] = v;
}
kernel void endless(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[40] = 1;
    while (x[i] == 0) {}
}
M
check "a function whose parameter is a struct, by its name" 3 "pairs.metal:4:" "in a call of both at pairs.metal:6" \
    -- "$ingot" run pairs.metal beyond --sanitize=bounds --threads 4 'f32[4]'
check "a sum of what nobody wrote comes from where that was read" 3 "pairs.metal:13:" 'of threadgroup variable "part"' "comes from line 11" \
    -- "$ingot" run pairs.metal summed --sanitize=uninitialised --threads 32 --group 32 'f32[32]'
check "findings in JSON of a kernel that was stopped" 3 '"failure": ' 'time limit' '"kind": "bounds"' '"line": 16' \
    -- "$ingot" run pairs.metal endless --sanitize=bounds --json --time-limit 0.3 --threads 4 'f32[4]'
check "run --sanitize=numeric names the operands" 3 "1 / 0 is infinity" "4 times in all" \
    -- "$ingot" run values.metal inverse --sanitize=numeric --threads 4 'f32[4]'
check "NaNs have to be asked for" 0 -- "$ingot" run values.metal inverse --sanitize --threads 4 'f32[4]'
check "an argument that says what it cannot" 2 "expected ?, =FILE.npy or nothing" -- "$ingot" run values.metal inverse --threads 4 'f32[4]!'
check "run --schedule explore: results that differ" 3 'buffer(0) "x": element 0 is 3 in the usual order' "with --schedule random:" \
    -- "$ingot" run races.metal last_one --workers 1 --schedule explore:8 --threads 128 --group 32 'u32[1]'
check "the same in JSON" 3 '"differences"' '"element": 0' '"usual": "3"' '"seed": ' \
    -- "$ingot" run races.metal last_one --workers 1 --schedule explore:8 --json --threads 128 --group 32 'u32[1]'
check "results that do not" 0 "the results of 4 orders are the same" \
    -- "$ingot" run races.metal shared_flag --schedule explore:3 --threads 128 --group 32 'u32[1]'
check "run --schedule random:SEED" 0 "= 7" -- "$ingot" run races.metal shared_flag --schedule random:5 --threads 128 --group 32 'u32[1]'
check "no such schedule" 2 "random:SEED" explore -- "$ingot" run races.metal shared_flag --schedule random:x --threads 1 'u32[1]'
check "no such schedule in the environment" 1 "random:SEED" nix -- env INGOT_SCHEDULE=nix "$ingot" run races.metal shared_flag --threads 1 'u32[1]'
# with the compiler's own clang: a clang that starts another program, as that of the tests may, is not let
isolated() { env -u INGOT_CLANG "$ingot" "$@"; }
unsanitized check "run isolated" 0 "= 0 1 2 3" -- isolated run good.metal ramp --isolated --threads 4 'f32[4]'
unsanitized check "run isolated, a given folder" 0 "= 5" -- isolated run five.metal k --isolated -I given --threads 1 'f32[1]'
check "run isolated, a folder that is not given" 1 "six.h" -- isolated run six.metal k --isolated --threads 1 'f32[1]'
check "run isolated, a file of the system" 1 "/etc/passwd" "!root:" -- isolated run passwd.metal k --isolated --threads 1 'f32[1]'
unsanitized check "run isolated, a fault" 1 'kernel "k"' 0x8 -- isolated run wild.metal k --isolated --threads 1 'f32[1]'
check "isolated, with a sanitizer" 1 "no sanitizer" bounds -- "$ingot" run good.metal ramp --isolated --sanitize=bounds --threads 4 'f32[4]'
check "isolated on a GPU" 1 'cannot be isolated' -- "$ingot" run good.metal ramp --isolated --device cuda --threads 4 'f32[4]'

# ---- .npy files that cannot be read --------------------------------------------------------
npy() { # npy FILE HEADER: version 1.0 with 16 bytes of data
    local length=${#2}
    printf '\223NUMPY\001\000' >"$1"
    # shellcheck disable=SC2059 # the format holds the escapes
    printf "\\x$(printf %02x $((length % 256)))\\x$(printf %02x $((length / 256)))" >>"$1"
    printf '%s\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' "$2" >>"$1"
}
npy big.npy "{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }"
npy fortran.npy "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }"
npy double.npy "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"
npy object.npy "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"
npy short.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }"
printf 'hello' >text.npy
for pair in big:big-endian fortran:Fortran double:float64 object:objects short:"cut short" text:"not a .npy"; do
    check "${pair%%:*}.npy" 1 "${pair##*:}" "${pair%%:*}.npy" -- "$ingot" run good.metal ramp --threads 1 "${pair%%:*}.npy"
done
check "missing.npy" 1 missing.npy -- "$ingot" run good.metal ramp --threads 1 missing.npy

# ---- what an archive says about this machine ---------------------------------------------
ingotc=${INGOTC:-$(dirname "$ingot")/ingotc}
mkdir -p tree/inner
printf 'constant int two = 2;\nkernel void within(device int *x) { x[0] = two; }\n' >tree/inner/two.h
printf '#include <metal_stdlib>\n#include "two.h"\nkernel void k(device int *x) { x[0] = two; }\n' >tree/k.metal
check "names of files from a root" 0 -- "$ingotc" tree/k.metal --name k.metal --root "$work" --include "$work/tree/inner" -o root.ingot
same "are in the archive" "$(grep -ac '<tree/inner/two.h>' root.ingot)" 1
same "and the folder is not" "$(grep -ac -F "$work" root.ingot)" 0
check "without a root" 0 -- "$ingotc" tree/k.metal --include "$work/tree/inner" -o root.ingot
same "it is" "$(grep -aqF "$work/tree/inner/two.h" root.ingot && echo yes)" yes
same "but not the prelude's" "$(grep -aE -c '/(prelude|metal_stdlib)"' root.ingot)" 0
levels="x86-64-v3 x86-64-v4"
[ "$(uname -m)" = x86_64 ] || levels=aarch64
check "pack without a target" 0 -- "$ingot" pack tree/k.metal -I tree/inner -o levels.ingot
"$ingot" inspect levels.ingot >levels.txt
same "has all levels of this kind of CPU" "$(grep -o 'code for [^ ,:;]*' levels.txt | sed 's/code for //' | sort -u | xargs)" "$levels"

# ---- code at once, where it can be kept ---------------------------------------------------
printf 'kernel void plain(device int *x) { x[0] = 1; }\n' >plain.metal
printf 'constant int n [[function_constant(0)]];\nkernel void counted(device int *x) { x[0] = n; }\n' >counted.metal
check "a small source at once" 0 "machine code" -- "$ingotc" plain.metal --jit --time-report -o jit.ingot
check "one whose constants have no values yet" 0 "clang" "!scalar" -- "$ingotc" counted.metal --jit --time-report -o jit.ingot
check "is listed" 0 "kernel counted" -- "$ingot" inspect jit.ingot

# ---- targets of NVIDIA GPUs --------------------------------------------------------------
check "check for GPUs" 0 "1 passed" -- "$ingot" check good.metal --kernel ramp --target sm_80 --target sm_90
check "pack for GPUs" 0 "1 with code" -- "$ingot" pack good.metal --kernel ramp --target sm_80 --target sm_90 --target x86-64-v3 -o gpu.ingot
check "code for GPUs" 0 "code for sm_80" "code for sm_90" "code for x86-64-v3" -- "$ingot" inspect gpu.ingot
check "an unknown target" 1 "sm_12" "sm_90" -- "$ingot" pack good.metal --kernel ramp --target sm_12 -o gpu.ingot
check "an unknown target, for many kernels" 1 "sm_12" -- "$ingot" check good.metal --target sm_12
same "is named once" "$(grep -c sm_12 out.txt)" 1
check "pack for one card" 0 -- "$ingot" pack good.metal --kernel ramp --target sm_90 --no-source -o card.ingot
check "no code for the CPU" 1 'kernel "ramp" for x86-64-v' "only for sm_90" "no source" -- "$ingot" run card.ingot ramp --threads 1 'f32[1]'
check "check for all levels" 0 "1 passed" -- "$ingot" check good.metal --kernel ramp --target sm_80 --target sm_90 --target x86-64-v3 --target x86-64-v4
check "a machine without a GPU" 1 "there is no CUDA device" nowhere.so -- env INGOT_CUDA_LIBRARY=/nowhere.so "$ingot" run good.metal ramp --device cuda --threads 4 'f32[4]'
check "no library of CUDA is needed" 0 libingot "!libcuda" "!libnv" -- ldd "$ingot"
check "is as it was" 0 "cpu" "!cuda" "!rror" -- env INGOT_CUDA_LIBRARY=/nowhere.so "$ingot" devices
if [ -n "${FAKE_CUDA:-}" ]; then
    gpu() { env INGOT_CUDA_LIBRARY="$FAKE_CUDA" "$@"; }
    check "code for the card, no compiler" 0 "0 1 2 3" -- gpu INGOTC=/nowhere "$ingot" run card.ingot ramp --device cuda --threads 4 'f32[4]'
    check "no code for the card" 1 'kernel "ramp" for sm_80' "only for sm_90" "no source" -- gpu FAKE_CUDA_CAPABILITY=80 "$ingot" run card.ingot ramp --device cuda --threads 4 'f32[4]'
    check "no memory on the card" 1 "no memory for a buffer of 4000000 bytes" 'device "cuda:0"' "of its 1048576 bytes are free" \
        -- gpu FAKE_CUDA_MEMORY=1 "$ingot" run card.ingot ramp --device cuda --threads 4 'f32[1000000]'
    cat >large.metal <<'M'
#include <metal_stdlib>
using namespace metal;
kernel void large(device uint *out, threadgroup uint *a [[threadgroup(0)]], threadgroup uint *b [[threadgroup(1)]],
                  uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    for (uint i = t; i < 15000; i += n)
        a[i] = b[i] = i + 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = a[14999 - t] + b[t];
}
kernel void variables(device uint *out, threadgroup uint *a [[threadgroup(0)]], uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    threadgroup uint b[15000];
    for (uint i = t; i < 15000; i += n)
        a[i] = b[i] = i + 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = a[14999 - t] + b[t];
}
M
    large() { gpu "$ingot" run large.metal "$@" --device cuda --threads 96 --group 96 'u32[96]'; }
    for kernel in large variables; do
        memory="tg:60000"
        [ $kernel = variables ] || memory="$memory tg:60000"
        # shellcheck disable=SC2086 # a list
        check "$kernel: more than 48 KiB of threadgroup memory on a GPU" 0 "15001 15001 15001 15001" -- large $kernel --threadgroup-memory 120000 $memory
        # shellcheck disable=SC2086
        check "$kernel: not unless it was asked for" 1 120000 "more than the 32768" -- large $kernel $memory
    done
else
    echo "code on a GPU: not run, FAKE_CUDA does not name the fake driver"
fi
check "pack for the lower level" 0 -- "$ingot" pack good.metal --kernel ramp --target x86-64-v3 --no-source -o low.ingot
check "which higher ones run too" 0 "0 1 2 3" -- env INGOTC=/nowhere "$ingot" run low.ingot ramp --threads 4 'f32[4]'

# ---- pack -------------------------------------------------------------------------------
check "pack" 0 "wrote lib.ingot" -- "$ingot" pack good.metal -o lib.ingot
check "inspect an archive" 0 scale "x86-64-v3" "x86-64-v4" -- "$ingot" inspect lib.ingot
check "run an archive without a compiler" 0 "0 1 2 3" -- env INGOTC=/nowhere INGOT_CLANG=/nowhere INGOT_CACHE_DIR="$work/none" "$ingot" run lib.ingot ramp --threads 4 'f32[4]'
check "constants of an archive without a compiler" 1 'kernel "choose" with flag=true for' -- env INGOTC=/nowhere INGOT_CACHE_DIR="$work/none" "$ingot" run lib.ingot choose --threads 1 'i32[1]' --const flag=1
check "constants of an archive with a compiler" 0 "= 1" -- "$ingot" run lib.ingot choose --threads 1 'i32[1]' --const flag=1
check "pack a kernel with constants" 0 -- "$ingot" pack good.metal -k choose --const flag=1 -o flagged.ingot
check "they are shown by name" 0 "bytes, with flag=" -- "$ingot" inspect flagged.ingot
check "pack two files and an archive" 0 -- "$ingot" pack "$examples/saxpy.metal" "$examples/histogram.metal" -o two.ingot
check "merge archives" 0 -- "$ingot" pack lib.ingot two.ingot -o three.ingot --emit-c
check "merged archive runs" 0 "saxpy ran" -- "$ingot" run three.ingot saxpy --threads 2 f32:1 x.npy 'f32[6]'
check "pack, a constant's value that is none" 1 '"x" is not a whole number' -- "$ingot" pack "$here/../msl/fc_vector.metal" --const v=x,1 -o one.ingot
check "pack, a constant that is not there" 1 "there is no function constant w" -- "$ingot" pack "$here/../msl/fc_vector.metal" --const w=1 -o one.ingot
check "pack one kernel" 0 "1 kernel" -- "$ingot" pack good.metal -o one.ingot --kernel ramp
check "pack a kernel that no file has" 1 'a kernel "frob"' -- "$ingot" pack good.metal -o frob.ingot --kernel frob --kernel ramp
check "the same kernel twice" 1 "names must differ" -- "$ingot" pack good.metal lib.ingot -o twice.ingot
check "pack a bad file" 1 "bad.metal:4:" -- "$ingot" pack bad.metal -o bad.ingot
check "nothing is written then" 1 -- test -e bad.ingot
check "check an archive" 0 "kernel ramp: ok" "6 passed, 0 failed" -- "$ingot" check lib.ingot
check "check an archive for a card" 1 "kernel ramp: the archive has no code for sm_90" "0 passed, 1 failed" -- "$ingot" check lib.ingot --kernel ramp --target x86-64-v3 --target sm_90
check "check an archive for a kernel that it lacks" 1 'a kernel "frob"' -- "$ingot" check lib.ingot --kernel frob
check "pack over a source" 2 "is one of the sources" -- "$ingot" pack good.metal -o ./good.metal
check "pack over its own C file" 2 "--emit-c writes" -- "$ingot" pack good.metal -o lib.c --emit-c
check "pack without -o" 2 "expected -o" -- "$ingot" pack good.metal
check "a kernel that a merged archive lacks" 1 '"the archive" has no kernel "frob"' -- "$ingot" run three.ingot frob --threads 1
check "a name that is a word of C" 0 -- "$ingot" pack good.metal --kernel ramp -o for.ingot --emit-c
check "is made another" 0 -- "${CC:-gcc}" -std=c11 -Wall -Wextra -Werror -c for.c -o for.o
check "the C file compiles" 0 -- "${CC:-gcc}" -std=c11 -Wall -Wextra -Werror -c three.c -o three.o
head -c 1000 lib.ingot >cut.ingot
check "check a cut archive" 1 "cut.ingot" "cut short" "0 passed, 1 failed" -- "$ingot" check cut.ingot
check "a cut archive" 1 cut.ingot -- "$ingot" run cut.ingot ramp --threads 1 'f32[1]'
check "no compiler for source" 1 -- env INGOTC=/nowhere INGOT_CACHE_DIR="$work/empty" "$ingot" run good.metal ramp --threads 1 'f32[1]'
check "a read-only cache is no error" 0 -- env INGOT_CACHE_DIR=/proc/nowhere "$ingot" run good.metal ramp --threads 1 'f32[1]'

for version in 18 22; do
    printf '#!/bin/sh\necho "clang version %s.1.0"\n' "$version" >"clang-$version"
    chmod +x "clang-$version"
    check "clang $version is refused" 1 "of major version $version; 19" "is needed" -- \
        env INGOT_CLANG="$work/clang-$version" INGOT_CACHE_DIR="$work/empty2" "$ingot" run good.metal ramp --threads 1 'f32[1]'
done
check "no clang for source" 1 INGOT_CLANG -- env INGOT_CLANG=/nowhere INGOT_CACHE_DIR="$work/empty2" "$ingot" run good.metal ramp --threads 1 'f32[1]'

# ---- what clang made is kept ------------------------------------------------------------
# Kernels of a library of six are asked for one by one: clang sees the source for the list, and that is kept. Of more
# than 32 the list takes one kernel alone, and the others come in fours.
real_clang=${INGOT_CLANG:-$(command -v clang-19 clang-20 clang-21 | head -1)}
cat >counting-clang <<C
#!/bin/sh
case "\$*" in *-emit-llvm-bc*) echo run >>"$work/clang-runs" ;; esac
exec "$real_clang" "\$@"
C
chmod +x counting-clang
# clang_runs NUMBER NAME EXPECTED ARGUMENTS…: runs a kernel; NUMBER is how often clang ran until then
clang_runs() {
    local wanted=$1 name=$2 expected=$3
    shift 3
    check "$name" 0 "$expected" -- env INGOT_CLANG="$work/counting-clang" INGOT_CACHE_DIR="$work/modules" "$ingot" run "$@"
    same "$name: runs of clang" "$(wc -l <clang-runs)" "$wanted"
}
clang_runs 1 "the list of kernels, and the first kernel" "= 1 1" good.metal choose --threads 2 'i32[2]' --const flag=1
clang_runs 1 "another constant" "= 2 2" good.metal choose --threads 2 'i32[2]' --const flag=0
clang_runs 1 "a neighbour" "= 3 2 1 0" good.metal reverse --threadgroups 1 --group 4 'i32[4]' tg:16
clang_runs 1 "a kernel of the first four" "= 0 1" good.metal ramp --threads 2 'f32[2]'
{
    echo 'kernel void first(device float *x) { x[0] = 7; }'
    echo 'kernel void wrong(device float *x) { x[0] = missing_function(2); }'
    for i in $(seq 40); do echo "kernel void k$i(device float *x) { x[0] = $i; }"; done
} >many.metal
rm clang-runs
clang_runs 3 "beside a kernel that clang refuses" "= 1" many.metal k1 --threads 1 'f32[1]'
clang_runs 4 "the refusal is kept" "= 2" many.metal k2 --threads 1 'f32[1]'
check "the kernel itself" 1 missing_function -- "$ingot" run many.metal wrong --threads 1 'f32[1]'

# ---- barriers ---------------------------------------------------------------------------
cat >leave.metal <<'M'
#include <metal_stdlib>
using namespace metal;
kernel void leave(device uint *out, uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    threadgroup uint shared[128];
    if (t % 64 >= 40 || t < 32) return;
    shared[t] = t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[t == 32 ? 70 : 32];
}
M
check "threads that ended, strict" 1 leave barrier -- "$ingot" run leave.metal leave --threads 128 --group 128 'u32[128]'
check "threads that ended, lenient" 0 -- env INGOT_BARRIERS=lenient "$ingot" run leave.metal leave --threads 128 --group 128 'u32[128]=left.npy'
same "their values" "$(values left.npy u4 | cut -d' ' -f 31-34,65-66,104-105)" "0 0 70 32 32 32 32 0"
if [ -n "${FAKE_CUDA:-}" ]; then
    cat >loose.metal <<'M'
kernel void loose(device float4 *x, device const float *y, uint i [[thread_position_in_grid]]) {
    x[i] = *(device const float4 *)(y + 5 * i);
}
M
    check "vectors anywhere on a GPU, strict" 1 loose -- env INGOT_CUDA_LIBRARY="$FAKE_CUDA" "$ingot" run loose.metal loose \
        --device cuda --threads 2 'f32[8]' f32:0,1,2,3,4,5,6,7,8
    check "and loose" 0 "0 1 2 3 5 6 7 8" -- env INGOT_CUDA_LIBRARY="$FAKE_CUDA" INGOT_ALIGNMENT=loose "$ingot" run loose.metal loose \
        --device cuda --threads 2 'f32[8]' f32:0,1,2,3,4,5,6,7,8
    check "the same on a GPU, strict" 1 leave "reached a threadgroup barrier without its lanes 8-31" \
        -- env INGOT_CUDA_LIBRARY="$FAKE_CUDA" "$ingot" run leave.metal leave --device cuda --threads 128 --group 128 'u32[128]'
    check "and lenient" 0 -- env INGOT_CUDA_LIBRARY="$FAKE_CUDA" INGOT_BARRIERS=lenient "$ingot" run leave.metal leave --device cuda \
        --threads 128 --group 128 'u32[128]=left_gpu.npy'
    same "its values" "$(values left_gpu.npy u4)" "$(values left.npy u4)"
    cat >apart.metal <<'M'
#include <metal_stdlib>
using namespace metal;
kernel void apart(device uint *out, uint t [[thread_index_in_threadgroup]]) {
    if (t % 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[t] = 1;
    } else {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[t] = 2;
    }
}
M
    check "two barriers at once on a GPU" 1 apart "lanes of SIMD-group 0 reached different threadgroup barriers" \
        -- env INGOT_CUDA_LIBRARY="$FAKE_CUDA" "$ingot" run apart.metal apart --device cuda --threads 64 --group 64 'u32[64]'
else
    echo "barriers on a GPU: not run, FAKE_CUDA does not name the fake driver"
fi

# ---- the cache --------------------------------------------------------------------------
# A write that fails half-way, as on a full disk: the limit of a file's size stands in for it.
full_disk() {
    (
        trap '' XFSZ
        ulimit -f "$blocks"
        exec "$@"
    ) 2>&1 | cat
    return "${PIPESTATUS[0]}"
}
blocks=128 check "a full disk, the output" 1 full.npy -- full_disk "$ingot" run lib.ingot ramp --threads 4 'f32[200000]=full.npy'
check "leaves no file" 0 "!full.npy" -- ls -A
blocks=0 check "a full disk, an archive" 1 -- full_disk "$ingot" pack good.metal -o full.ingot
check "leaves no archive" 0 "!full.ingot" -- ls -A
if mkdir -p small && mount -t tmpfs -o size=16k none small 2>/dev/null; then
    check "a full temporary folder" 1 "pace left" "!PLEASE submit" "!kernel scale: kernel scale" -- env TMPDIR="$work/small" "$ingot" pack good.metal -o full.ingot
    same "is left empty" "$(ls -A small)" ""
    check "a full cache is no error" 0 "0 1 2 3" -- env INGOT_CACHE_DIR="$work/small" "$ingot" run good.metal ramp --threads 4 'f32[4]'
    same "and no temporary file stays there" "$(find small -type f ! -name '*.ingot' ! -name ledger)" ""
    umount small
else
    echo "skipped: a full cache folder (mounting a small file system is not allowed here)"
fi

fresh=$work/fresh
one() { env INGOT_CACHE_DIR="$fresh" "$ingot" run good.metal ramp --threads 4 'f32[4]'; }
at_once() {
    local first second
    one & first=$!
    one & second=$!
    wait "$first" && wait "$second"
}
check "two processes compile the same at once" 0 "0 1 2 3" -- at_once
for damage in 'truncate -s 100' 'truncate -s 0' 'dd if=/dev/urandom bs=64 count=1 seek=2 conv=notrunc status=none of='; do
    find "$fresh" -name '*.ingot' | while read -r entry; do
        case $damage in *of=) $damage"$entry" ;; *) $damage "$entry" ;; esac
    done
    check "a damaged cache entry ($damage) is rebuilt" 0 "0 1 2 3" "!rror" -- one
done
rm -rf "$fresh"
env INGOT_CACHE_DIR="$fresh" "$ingot" run good.metal ramp --threads 4 'f32[4]' >/dev/null 2>&1 & # not `one`: a shell's
victim=$!
sleep 0.05
kill -9 "$victim" 2>/dev/null
wait "$victim" 2>/dev/null
check "after a killed process" 0 "0 1 2 3" "!rror" -- one

cached() { env INGOT_CACHE_DIR="$fresh" "$ingot" cache "$@"; }
check "what is kept" 0 "folder   $fresh" "3 kernels, 1 precompiled header" "limit    1 GiB" "oldest   used" -- cached
check "as JSON" 0 "\"folder\": \"$fresh\"" '"limit": 1073741824' '"files": 3' '!"removed"' -- cached --json
find "$fresh" -name '*.pch*' -exec touch -d '1 week ago' {} +
check "trim" 0 ": 1 precompiled header" ": 3 kernels" -- cached --trim 1M
check "what was used last is still there" 0 "0 1 2 3" -- one
same "and was not compiled again" "$(find "$fresh" -name '*.pch')" ""
check "clear" 0 '"removed"' '"bytes": 0,' '"oldest": null' -- cached --clear --json
same "nothing is left" "$(find "$fresh" -mindepth 1)" ""
check "clear what is not there" 0 "removed  0 B in 0 files" "!oldest" -- env INGOT_CACHE_DIR="$work/none" "$ingot" cache --clear
check "a size that is none" 2 '--trim is "5x"' 500M -- cached --trim 5x
check "clear and trim" 2 "exclude each other" -- cached --clear --trim 5M
check "cache with an argument" 2 "unexpected argument all" -- cached all
check "a limit that is none" 1 'INGOT_CACHE_LIMIT is "5x"' 500M -- env INGOT_CACHE_LIMIT=5x "$ingot" cache
check "a limit that is none, run" 1 'INGOT_CACHE_LIMIT is "5x"' -- env INGOT_CACHE_LIMIT=5x "$ingot" run good.metal ramp --threads 4 'f32[4]'
check "no limit" 0 "limit    none" -- env INGOT_CACHE_LIMIT=none INGOT_CACHE_DIR="$fresh" "$ingot" cache
check "a cache of nothing" 0 "0 1 2 3" -- env INGOT_CACHE_LIMIT=0 INGOT_CACHE_DIR="$fresh" "$ingot" run good.metal ramp --threads 4 'f32[4]'
same "keeps nothing" "$(find "$fresh" -mindepth 1)" ""
one >/dev/null
for header in "$fresh"/prelude/*.pch; do rm "$header" && mkfifo "$header"; done
check "a FIFO in place of a precompiled header" 0 "0 1 2 3" -- timeout 60 env INGOT_CACHE_DIR="$fresh" "$ingot" run good.metal ramp -D A --threads 4 'f32[4]'
rm -rf "$fresh/prelude" && mkdir elsewhere && ln -s "$work/elsewhere" "$fresh/prelude"
check "a link in place of the folder of headers" 0 "0 1 2 3" -- env INGOT_CACHE_DIR="$fresh" "$ingot" run good.metal ramp -D B --threads 4 'f32[4]'
same "and nothing is written where it leads" "$(ls elsewhere)" ""
rm "$fresh/prelude"
chmod 777 "$fresh"
check "a folder that others can write" 1 "no cache folder" "written by others" -- cached

# A compiler that never ends is ended with the command that waits for it.
cat >sleeping-clang <<'S'
#!/bin/sh
echo $$ >clang.pid.new && mv clang.pid.new clang.pid
exec sleep 600
S
chmod +x sleeping-clang
INGOT_CLANG=$work/sleeping-clang INGOT_CACHE_DIR=$work/orphan "$ingot" check good.metal >/dev/null 2>&1 &
victim=$!
disown
for _ in $(seq 200); do
    [ -s clang.pid ] && break
    sleep 0.05
done
kill -9 "$victim"
gone() { # or a zombie, where nobody reaps orphans
    for _ in $(seq 200); do
        readlink "/proc/$1/exe" >exe.txt 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}
check "no compiler goes on after kill -9" 0 -- gone "$(cat clang.pid)"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
