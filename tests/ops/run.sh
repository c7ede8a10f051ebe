#!/bin/bash
# `ingot health` on kernels that are wrong on purpose: it must turn red and name the right cases.
# usage: tests/ops/run.sh PATH_OF_INGOT_BROKEN PATH_OF_LIBFAKE_CUDA
set -u
ingot=$1
fake_cuda=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export NO_COLOR=1
passed=0
failed=0

say() { # say NAME GOOD
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1"
        sed 's/^/    /' out.txt | head -60
    fi
}

# health NAME STATUS OPTION...: runs it, and looks at the exit status
health() {
    local name=$1 status=$2 got
    shift 2
    "$ingot" health --device cpu "$@" >out.txt 2>&1 </dev/null
    got=$?
    [ "$got" = "$status" ]
    say "$name: exit status $got, expected $status" $?
}

# The cases that a JUnit file says have failed, as OPERATION:CASE
failures() {
    awk -F'"' '/<testcase/ { at = $2 ":" $4 } /<failure/ { print at }' "$1" | sed 's/^cpu\.//' | sort | tr '\n' ';'
}

health "the right kernel" 0 row_sum --junit right.xml
grep -q '4 passed, 0 failed' out.txt
say "the right kernel passes all cases" $?
[ -z "$(failures right.xml)" ]
say "no failure in JUnit" $?

health "all kernels" 1 'row_sum*' --junit all.xml --html all.html --no-bench
[ "$(failures all.xml)" = 'row_sum_no_nan:f32 2x96 specials;row_sum_no_tail:f32 3x33;row_sum_unsteady:f32 2x96 specials;row_sum_unsteady:f32 3x33;row_sum_unsteady:f32 4x64;' ]
say "JUnit names the right cases: $(failures all.xml)" $?
grep -q '11 passed, 5 failed' out.txt
say "the counts" $?
grep -qE '^row_sum_no_tail .* 3/4 .*FAILED$' out.txt
say "the table marks row_sum_no_tail" $?
grep -qE '^row_sum_no_nan .* yes +NO +yes ' out.txt && grep -qE '^row_sum_unsteady .* NO +yes +yes ' out.txt
say "the table says what is wrong with them" $?
grep -qE '^row_sum  .* 4/4 ' out.txt && ! grep -qE '^row_sum  .*FAILED' out.txt
say "the table leaves row_sum alone" $?
grep -A1 -F 'FAILED row_sum_no_tail f32 3x33 on cpu' out.txt | grep -qE 'out\[[0-9]+\] is [0-9.]+; expected [0-9.]+, within'
say "the wrong element is named" $?
grep -A1 -F 'FAILED row_sum_no_nan f32 2x96 specials' out.txt | grep -qE 'specials: out\[[0-9]+\] is 0; expected -?(nan|inf)'
say "a swallowed NaN is named" $?
grep -A9 -F 'FAILED row_sum_unsteady f32 4x64' out.txt | grep -qF 'runs that differ is 2; at most 0'
say "runs that differ are named" $?
grep -qF "again: ingot health row_sum_no_tail --type f32 --case '=3x33'" out.txt
say "the command that repeats it" $?
grep -qF 'id="verdict">failing<' all.html && grep -qF '<b>row_sum_no_tail f32 3x33</b>' all.html
say "the page is red and names the case" $?

level=$(sed -n 's/.* worker threads*, //p' out.txt)
health "two devices with one reference" 1 'row_sum*' --cpu "$level" --cpu "$level"
grep -q '22 passed, 10 failed.* on 2 devices' out.txt && grep -q "again: .* --cpu $level\$" out.txt
say "what fails on the first device fails on the second" $?

health "one case that is right" 0 row_sum_no_tail --case 4x64
health "JSON" 1 row_sum_no_tail --json
grep -qF '"failed": 1' out.txt && grep -qF '"passed": false' out.txt
say "JSON counts the failure" $?
health "an operation that is not there" 2 row_product
grep -qF 'there is no operation "row_product"' out.txt
say "and its message" $?

# A kernel that a GPU's context does not survive: only its own case fails, whatever ran beside it, in this
# process and when the device has had its own from the start.
for worker in "" 1; do
    for jobs in 1 4; do
        INGOT_CUDA_WORKER=$worker FAKE_CUDA_FAULTS_STAY=1 INGOT_CUDA_LIBRARY=$fake_cuda \
            "$ingot" health --device cuda strays row_sum --jobs $jobs >out.txt 2>&1 </dev/null
        [ $? = 1 ] && grep -q '7 passed, 1 failed' out.txt && grep -qE '^row_sum  .* 4/4 ' out.txt
        say "a fault, $jobs jobs: one case fails" $?
        grep -qE 'strays f32 3x33: kernel "strays" failed.*; the device was lost and is open again: .*in a process of its own' out.txt
        say "a fault, $jobs jobs: the device opens again" $?
        grep -A1 'FAILED strays f32 3x33 on cuda:0' out.txt | grep -q 'kernel "strays" failed: CUDA_ERROR_ILLEGAL_ADDRESS'
        say "a fault, $jobs jobs: the kernel is named" $?
    done
done
INGOT_CUDA_WORKER=0 FAKE_CUDA_FAULTS_STAY=1 INGOT_CUDA_LIBRARY=$fake_cuda \
    "$ingot" health --device cuda strays row_sum --jobs 1 >out.txt 2>&1 </dev/null
grep -q 'INGOT_CUDA_WORKER=0 the device gets no process of its own' out.txt && grep -qE '[2-7] failed' out.txt
say "a fault without another process: the cases after it fail, and it is said why" $?

health "under the sanitizer, a finding" 3 strays --sanitize=bounds --case 3x33
grep -qF 'store of 4 bytes at offset 1099511627776, outside of buffer(1) "out", which has 12 bytes' out.txt
say "health --sanitize names the store" $?
health "under the sanitizer, none" 0 row_sum --sanitize --case 3x33

# tune: what is refused or wrong must not win, however fast it is. Every candidate is checked, so that the
# counts do not depend on what is fast today.
"$ingot" tune axpy --device cpu --time 0.002 --check-all --verbose --output tuned.policy >out.txt 2>&1 </dev/null
say "tune: exit status" $?
grep -qE '\([0-9]+ tried, [1-9][0-9]* refused, [1-9][0-9]* wrong\)' out.txt
say "tune refuses and finds wrong results" $?
grep -qE 'wrong: .*runs that differ|wrong: .*y\[[0-9]+\] is' out.txt
say "tune says what is wrong" $?
! grep -qE 'wide=1|simd=32' out.txt && ! grep -qsE 'wide=1|simd=32' tuned.policy
say "neither wins" $?

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
