#!/bin/bash
# Checks of `ingot ops`, `bench`, `tune` and `health`. usage: tests/cli/tools.sh PATH_OF_INGOT
set -u
ingot=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# shellcheck source=tests/cli/checks.sh
. "$here/checks.sh"
export INGOT_POLICY="" NO_COLOR=1

check "ops" 0 "quick start" "axpy" "y = alpha * x + y" "block 128 to 65536, powers of two" -- "$ingot" ops
same "ops fits 100 columns" "$("$ingot" ops | LC_ALL=C.UTF-8 grep -E "^.{101}")" ""
check "ops, one" 0 "axpy" "!rms_norm" -- "$ingot" ops axpy
check "ops, JSON" 0 '"name": "axpy"' '"power_of_two": true' -- "$ingot" ops axpy --json
check "ops, Markdown" 0 "# Operations: the table" '| `axpy` |' -- "$ingot" ops --markdown
check "ops, unknown" 2 'there is no operation "axpo"' -- "$ingot" ops axpo

quick=(--case "=1M" --type f32 --time 0.01 --device cpu)
check "bench" 0 "GFLOP/s of multiply-adds" "axpy" "1M" "axpy/f32/n1048576/simd" "groups of" "copy" "!bf16 " \
    -- "$ingot" bench axpy "${quick[@]}" --verbose
check "bench, JSON" 0 '"ceilings"' '"bytes": 12582912' '"flops": 2097152' '"variant": "axpy/f32' '"shape": [' '"p90"' \
    -- "$ingot" bench axpy "${quick[@]}" --json
check "bench, CSV" 0 "device,operation,type,case,seconds,p10,p90" "cpu,axpy,f32,1M," -- "$ingot" bench axpy "${quick[@]}" --csv
check "bench, a page" 0 "axpy" -- "$ingot" bench axpy "${quick[@]}" --html bench.html
check "bench, what the page has" 0 'class="plot roofline"' "<circle" "<td>axpy</td>" "</html>" "!https://" "!quick look" "</i>f32</span>" "!</i>bf16</span>" \
    -- cat bench.html
check "bench, a page that cannot be written" 1 "no/bench.html" \
    -- "$ingot" bench axpy "${quick[@]}" --no-ceilings --html no/bench.html
check "bench, pattern" 0 "axpy" -- "$ingot" bench 'ax?y' "${quick[@]}" --no-ceilings
check "bench, threads" 0 "1 worker thread" -- "$ingot" bench axpy "${quick[@]}" --threads 1 --no-ceilings
check "bench, unknown operation" 2 'there is no operation "axpo"' -- "$ingot" bench axpo
check "bench, unknown type" 2 "--type f33: expected a type" -- "$ingot" bench --type f33
check "bench, nothing fits" 1 "no case that is measured fits" -- "$ingot" bench axpy --case "no such case"
check "bench, both forms" 2 "exclude each other" -- "$ingot" bench --json --csv
check "bench, no time" 2 "--time 0: expected seconds" -- "$ingot" bench --time 0
check "bench, save" 0 -- "$ingot" bench axpy "${quick[@]}" --save base.csv
# A baseline of a machine that is a thousand times as slow, and one that is a thousand times as fast.
awk -F, -v OFS=, 'NR > 1 { for (i = 5; i <= 8; i++) $i *= 1000 } 1' base.csv >slow.csv
awk -F, -v OFS=, 'NR > 1 { for (i = 5; i <= 8; i++) $i /= 1000 } 1' base.csv >fast.csv
check "bench, faster than the baseline" 0 "1 rows compared with slow.csv, 0 slower" "!SLOWER" \
    -- "$ingot" bench axpy "${quick[@]}" --compare slow.csv
check "bench, slower than the baseline" 1 "1 rows compared with fast.csv, 1 slower" "SLOWER" \
    -- "$ingot" bench axpy "${quick[@]}" --compare fast.csv
same "tables fit 100 columns" "$({ "$ingot" bench axpy "${quick[@]}" --compare fast.csv
    "$ingot" bench embedding_bag_backward --type f32 --time 0.001 --no-ceilings
    "$ingot" tune axpy --case "=1M" --type f32 --time 0.001 --dry-run; } | LC_ALL=C.UTF-8 grep -cE "^.{101}")" 0
check "bench, a row that the baseline has not" 0 "0 rows compared" "new" \
    -- "$ingot" bench axpy --case =1M --type bf16 --time 0.01 --compare fast.csv
echo "a,b" >bad.csv
check "bench, no baseline" 1 'bad.csv:1: there is no column "operation"' -- "$ingot" bench axpy --compare bad.csv
check "bench, a baseline that is not there" 1 "nowhere.csv" -- "$ingot" bench axpy --compare nowhere.csv
check "bench, a policy that is wrong" 1 "policy:2: block of axpy is 7; it must be 128 to 65536" -- \
    env INGOT_POLICY="$work/policy" bash -c 'printf "# mine\ncpu axpy block=7\n" >"$INGOT_POLICY"; '"'$ingot' bench axpy --case =1M"

tune=(axpy --case "=1M" --type f32 --time 0.002 --device cpu)
check "tune, dry run" 0 "axpy/f32/n1048576" "tried" "classes are faster" -- "$ingot" tune "${tune[@]}" --dry-run --output dry.policy
same "a dry run writes nothing" "$(ls dry.policy 2>/dev/null)" ""
# Knobs that are surely bad for this class, so that something better is found.
printf '# mine\ncpu axpy/f32/n<=8 block=256\n* axpy/f32/n1048576 simd=32 block=128\n' >own.policy
check "tune" 0 "block=" "1 of 1 classes are faster" "policy: own.policy" -- \
    env INGOT_POLICY="$work/own.policy" "$ingot" tune "${tune[@]}" --gain -1000 --output own.policy
check "tune keeps the other lines" 0 "# mine" "cpu axpy/f32/n<=8 block=256" "cpu:x86-64-v" "axpy/f32/n1048576 simd=" -- cat own.policy
rules=$(wc -l <own.policy)
check "tune again" 0 -- env INGOT_POLICY="$work/own.policy" "$ingot" tune "${tune[@]}" --gain -1000 --output own.policy
same "tune replaces its own rule" "$(wc -l <own.policy)" "$rules"
check "the tuned policy is used" 0 "axpy/f32/n1048576/$(sed -n 's/^cpu:.* simd=\(.*\) block=\(.*\) wide=/simd\1.block\2.wide/p' own.policy)" -- \
    env INGOT_POLICY="$work/own.policy" "$ingot" bench axpy "${quick[@]}" --no-ceilings --verbose
check "tune, nothing fits" 1 "no case that is tuned fits" -- "$ingot" tune axpy --case "no such case"

check "health" 0 "axpy" "passed, 0 failed" "deterministic" -- "$ingot" health axpy --device cpu
check "health, every case" 0 "ok     axpy bf16 1023" -- "$ingot" health axpy --device cpu --verbose
check "health, JSON" 0 '"failed": 0' '"name": "runs that differ"' '"specials": true' '"empty": true' \
    -- "$ingot" health axpy --device cpu --json
check "health, files" 0 "report: page.html" -- "$ingot" health axpy --device cpu --junit out.xml --html page.html --no-bench
check "health, JUnit" 0 '<testsuite name="cpu.axpy" tests="15" failures="0"' 'name="bf16 1023"' -- cat out.xml
check "health, the page" 0 'id="verdict">healthy<' "<style>" "!http" -- cat page.html
check "health, a file that cannot be written" 1 "nowhere/out.xml" -- "$ingot" health axpy --case =1 --junit nowhere/out.xml
check "health, nothing fits" 1 "no case fits" -- "$ingot" health axpy --case "no such case"
check "health, a part of the cases" 0 "4 passed, 0 failed" -- "$ingot" health axpy --device cpu --part 2/4
check "health, no such part" 2 "--part 5/4" "1 <= I <= N" -- "$ingot" health axpy --device cpu --part 5/4
for i in 1 2 3; do
    check "health, shard $i of 3" 0 '"failed": 0' -- "$ingot" health axpy --device cpu --shard $i/3 --junit $i.xml --json
    cp out.txt $i.json
done
check "merge, JSON" 0 "all.json: 15 passed, 0 failed, of 3 reports" -- "$ingot" merge 1.json 2.json 3.json -o all.json
same "merge, JSON: each case once" "$(grep -c '"case":' all.json)" 15
same "merge, JSON: one device" "$(grep -c '"description":' all.json)" 1
check "merge, JUnit" 0 "all.xml: 15 passed, 0 failed, of 3 reports" -- "$ingot" merge 1.xml 2.xml 3.xml -o all.xml
check "merge, JUnit: a whole file" 0 "3 suites 15 cases" -- python3 -c 'import xml.etree.ElementTree as e
r = e.parse("all.xml").getroot(); print(len(r), "suites", len(r.findall("*/testcase")), "cases")'
check "merge, to standard output" 0 '"passed": 15' -- "$ingot" merge 1.json 2.json 3.json
sed 's/"failed": 0/"failed": 2/' 3.json >bad.json
check "merge, failures" 1 "failed, of 2 reports" -- "$ingot" merge 1.json bad.json -o all.json
printf '<testsuite name="a" tests="3" failures="1" errors="1" skipped="0" time="1.5"><testcase name="&lt;testsuite "/></testsuite>' >a.xml
check "merge, another program's JUnit" 1 "16 passed" -- "$ingot" merge 1.xml 2.xml 3.xml a.xml -o all.xml
check "merge, two formats" 1 "1.json is JSON, and 1.xml is XML" -- "$ingot" merge 1.json 1.xml
echo '{"a": 1}' >other.json
check "merge, no report" 1 'other.json is no report' -- "$ingot" merge other.json
echo '{"failed": 0, "seconds": 1e999}' >long.json
check "merge, a number that is too large" 0 '"seconds": 1.79769313e+308' "!inf" -- "$ingot" merge long.json long.json
echo '{"a": ' >cut.json
check "merge, cut" 1 'cut.json: line 2, column 1: expected a value, not the end' -- "$ingot" merge cut.json
echo '<testsuite name="a">' >cut.xml
check "merge, cut XML" 1 'cut.xml: the <testsuite> at byte 0 has no end' -- "$ingot" merge cut.xml
check "merge, nothing" 2 "expected at least one REPORT" -- "$ingot" merge
check "bench, a shard" 0 "!f32" "f16" -- "$ingot" bench axpy --case "=1M" --time 0.01 --device cpu --no-ceilings --shard 3/3
for i in 1 2; do
    "$ingot" bench axpy --case "=1M" --time 0.01 --device cpu --no-ceilings --shard $i/2 --json >bench$i.json
done
check "bench, shards merged" 0 "all.json: 3 measured, 0 failed, of 2 reports" -- "$ingot" merge bench1.json bench2.json -o all.json
for command in health "bench --time 0.01 --no-ceilings"; do # more machines than cases
    # shellcheck disable=SC2086 # options follow
    check "$command, an empty shard" 0 '"failed": 0' -- "$ingot" $command axpy --case "=1M" --type f32 --device cpu --shard 2/2 --json
    cp out.txt empty.json
    report=1.json
    [ "$command" = health ] || report=bench1.json
    check "$command, merged with an empty one" 0 "of 2 reports" -- "$ingot" merge $report empty.json -o all.json
done
check "health, another level" 0 "x86-64-v3" "0 failed" -- "$ingot" health axpy --case =1023 --cpu x86-64-v3
commands=$("$ingot" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p')
same "commands that have a help" "$(wc -w <<<"$commands")" 14
same "help fits 100 columns" "$(for command in "" $commands; do
    # shellcheck disable=SC2086 # none is the command's own
    "$ingot" $command --help
done | LC_ALL=C.UTF-8 grep -E "^.{101}")" ""
check "help" 0 "--compare" "--tolerance" -- "$ingot" bench --help

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
