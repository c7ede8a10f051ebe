#!/bin/bash
# Loads health's page in a real browser, without a network, and looks at what is there: counts, plots,
# sorting, no errors on the console. Exit status 77 when there is no browser.
# usage: tests/ops/page.sh PATH_OF_INGOT PATH_OF_INGOT_BROKEN
set -u
ingot=$1
broken=$2
browser=""
for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    command -v "$name" >/dev/null 2>&1 && browser=$name && break
done
if [ -z "$browser" ]; then
    echo "skipped: no browser (chromium or google-chrome) is installed"
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" 2>/dev/null || { sleep 2; rm -rf "$work"; }' EXIT
export NO_COLOR=1
passed=0
failed=0

check() { # check NAME GOT EXPECTED
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1: got \"$2\", expected \"$3\""
    fi
}

# look PAGE: loads it with a script of questions; answers go to $work/answers, NAME=VALUE per line
look() {
    {
        cat "$1"
        cat <<'SCRIPT'
<script>
const errors = [];
addEventListener('error', e => errors.push(e.message));
addEventListener('load', () => {
    const all = s => [...document.querySelectorAll(s)];
    const text = s => document.querySelector(s)?.textContent ?? 'missing';
    const answers = {
        verdict: text('#verdict'), passed: text('#passed'), failed: text('#failed'),
        operations: all('table.operations tbody tr').length,
        cases: all('table.cases tbody tr').length,
        red: all('table.operations tr.failed').map(r => r.cells[0].textContent).join(' '),
        failures: all('pre.failure b').map(b => b.textContent).join(';'),
        bench: all('table.bench tbody tr').length,
        roofline: all('svg.roofline circle').length, shares: all('svg.shares circle').length,
        outside: all('[src],link[href]').filter(e => !(e.src || e.href).startsWith('data:')).length,
        requests: performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length,
        ready: document.documentElement.dataset.ready,
        wide: document.documentElement.scrollWidth <= innerWidth,
        inside: all('svg.plot circle').every(c => {
            const box = c.ownerSVGElement.viewBox.baseVal, x = c.cx.baseVal.value, y = c.cy.baseVal.value;
            return x >= 0 && y >= 0 && x <= box.width && y <= box.height; }),
    };
    const table = document.querySelector('table.cases'), column = () => [...table.tBodies[0].rows].map(r => r.cells[1].textContent);
    const before = column(), button = table.querySelectorAll('th button')[1];
    button.click();
    answers.sorted = JSON.stringify(column()) === JSON.stringify([...before].sort((a, b) => (isNaN(a - b) ? a.localeCompare(b) : a - b)));
    const filter = document.querySelector('input');
    filter.value = 'no such operation'; filter.oninput();
    answers.filtered = all('table.operations tbody tr').every(r => r.hidden);
    answers.errors = errors.join(';');
    const out = document.createElement('pre');
    out.textContent = Object.entries(answers).map(([k, v]) => 'ANSWER ' + k + '=' + v).join('\n');
    document.body.append(out);
});
</script>
SCRIPT
    } >"$work/page.html"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
        --user-data-dir="$work/profile" --proxy-server=127.0.0.1:9 --enable-logging=stderr --v=0 --window-size=1200,900 \
        --virtual-time-budget=5000 --dump-dom "file://$work/page.html" >"$work/dom" 2>"$work/log"
    check "$1: the browser's exit status" $? 0
    sed -n 's/.*ANSWER \([a-z]*=.*\)/\1/p' "$work/dom" | sed 's/<\/pre>.*//' >"$work/answers"
    check "$1: errors on the console" "$(grep -c 'CONSOLE.*Error\|CONSOLE.*Refused\|CONSOLE.*Failed' "$work/log")" 0
}

answer() {
    sed -n "s/^$1=//p" "$work/answers"
}

common() { # what every page must have
    check "the script ran" "$(answer ready)" yes
    check "script errors" "$(answer errors)" ""
    check "nothing from outside" "$(answer outside) $(answer requests)" "0 0"
    check "the page fits the window" "$(answer wide)" true
    check "marks are inside their plots" "$(answer inside)" true
    check "sorting" "$(answer sorted)" true
    check "filtering" "$(answer filtered)" true
}

"$ingot" health axpy --device cpu --html "$work/good.html" >"$work/out" 2>&1
check "health" $? 0
look "$work/good.html"
common
check "verdict" "$(answer verdict)" healthy
check "operations" "$(answer operations)" 1
check "cases, passed" "$(answer cases)" "$(sed -n 's/^\([0-9]*\) passed, 0 failed.*/\1/p' "$work/out")"
check "counts" "$(answer passed) $(answer failed)" "$(answer cases) 0"
check "failures" "$(answer failures)$(answer red)" ""
check "roofline and shares show every row" "$(answer roofline) $(answer shares)" "$(answer bench) $(answer bench)"
check "there are rows" "$([ "$(answer bench)" -gt 0 ] && echo yes)" yes

"$broken" health 'row_sum*' --device cpu --html "$work/bad.html" >"$work/out" 2>&1
check "health of broken kernels" $? 1
look "$work/bad.html"
common
check "verdict" "$(answer verdict)" failing
check "operations" "$(answer operations)" 4
check "counts" "$(answer cases) $(answer passed) $(answer failed)" "16 11 5"
check "red operations" "$(answer red)" "row_sum_no_tail row_sum_no_nan row_sum_unsteady"
check "failures" "$(answer failures)" "row_sum_no_tail f32 3x33;row_sum_no_nan f32 2x96 specials;row_sum_unsteady f32 4x64;row_sum_unsteady f32 3x33;row_sum_unsteady f32 2x96 specials"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
