/* Pages of HTML: one file without anything from outside, readable without JavaScript; with it,
 * tables can be sorted and filtered. */
#include "cli/page.h"

#include <math.h>

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fcfcfb;--panel:#fff;--ink:#1d1f23;--dim:#62666d;"
    "--line:#e2e3e6;--good:#1a7f4b;--bad:#c62f2f;--f32:#2f6fdb;--f16:#c9681b;--bf16:#1f8f7a;"
    "--other:#8a5cc2;--tint:#f1f3f6}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#15171a;--panel:#1c1f23;--ink:#e6e7e9;"
    "--dim:#9aa0a8;--line:#31353b;--good:#4cc38a;--bad:#ff7b72;--f32:#79a8ff;--f16:#f0a35e;"
    "--bf16:#56c7b0;--other:#b996ef;--tint:#23272c}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);"
    "font:15px/1.5 system-ui,sans-serif}main{max-width:1360px;margin:0 auto;padding:24px 20px "
    "64px}\n"
    "h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:36px 0 10px}"
    "h3{font-size:16px;margin:24px 0 6px}p{margin:6px 0}.dim{color:var(--dim)}\n"
    ".pill{display:inline-block;padding:2px 12px;border-radius:99px;color:var(--bg);"
    "font-weight:600;vertical-align:4px;font-size:15px;margin-left:10px}"
    ".pill.good{background:var(--good)}.pill.bad{background:var(--bad)}\n"
    ".good{color:var(--good)}.bad{color:var(--bad)}.pill.good,.pill.bad{color:var(--bg)}\n"
    ".cards{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}.card{background:var(--panel);"
    "border:1px solid var(--line);border-radius:10px;padding:10px 16px;min-width:130px}"
    ".card b{display:block;font-size:22px;font-variant-numeric:tabular-nums}\n"
    ".scroll{overflow-x:auto;background:var(--panel);border:1px solid var(--line);"
    "border-radius:10px}table{border-collapse:collapse;width:100%;"
    "font-variant-numeric:tabular-nums;font-size:14px}th,td{padding:5px 9px;text-align:left;"
    "border-bottom:1px solid var(--line);white-space:nowrap}tr:last-child td{border-bottom:0}"
    "th{color:var(--dim);font-weight:600;background:var(--tint);position:sticky;top:0}"
    "th button{all:unset;cursor:pointer}th button:focus-visible{outline:2px solid var(--f32)}"
    "td.n,th.n{text-align:right}td.types{white-space:normal}td.key{font:12px "
    "ui-monospace,monospace;color:var(--dim)}"
    "tr.failed td:first-child{box-shadow:inset 3px 0 var(--bad)}\n"
    ".bar{display:inline-block;width:90px;height:8px;border-radius:4px;background:var(--tint);"
    "margin-right:8px;overflow:hidden}.bar i{display:block;height:100%;background:var(--f32)}\n"
    "details{margin:6px 0}summary{cursor:pointer}details .scroll{margin:8px 0 16px}\n"
    "pre{white-space:pre-wrap;background:var(--panel);border:1px solid var(--line);"
    "border-left:3px solid var(--bad);border-radius:8px;padding:10px "
    "14px;font-size:13px;margin:8px 0}\n"
    "input{font:inherit;color:inherit;background:var(--panel);border:1px solid var(--line);"
    "border-radius:8px;padding:5px 10px;margin:0 0 8px;min-width:260px}\n"
    ".plot{width:100%;height:auto;background:var(--panel);border:1px solid var(--line);"
    "border-radius:10px}.plot text{font:12px system-ui,sans-serif;fill:var(--ink)}"
    ".plot text.tick{fill:var(--dim)}.plot .grid{stroke:var(--line)}"
    ".plot .roof{stroke:var(--ink);stroke-width:1.5;fill:none}"
    ".plot circle{stroke:var(--panel);stroke-width:1}.plot circle:hover{stroke:var(--ink);r:6px}\n"
    ".t-f32{fill:var(--f32);background:var(--f32)}.t-f16{fill:var(--f16);background:var(--f16)}"
    ".t-bf16{fill:var(--bf16);background:var(--bf16)}.t-other{fill:var(--other);"
    "background:var(--other)}.legend span{margin-right:16px}.legend i{display:inline-block;"
    "width:10px;height:10px;border-radius:5px;margin-right:6px}\n"
    ".code{font-size:13px}.code th{white-space:normal}.code td{padding:1px "
    "9px;border-bottom:0}.code td.src{font:13px/1.5 "
    "ui-monospace,monospace;white-space:pre;tab-size:4;min-width:360px;max-width:68ch;"
    "overflow:hidden;text-overflow:ellipsis}.code "
    "td.no{color:var(--dim);"
    "text-align:right}.code tr.hot td.src,.code tr:hover td{background:var(--tint)}"
    ".heat{width:64px;padding:1px 6px!important}.heat "
    "i{display:block;height:10px;border-radius:2px;"
    "background:var(--f16)}.heat i:not([style]){background:none}\n"
    "ul.hints{padding-left:0;list-style:none;margin:8px 0}ul.hints li{background:var(--panel);"
    "border:1px solid var(--line);border-left:3px solid var(--f16);border-radius:8px;"
    "padding:6px 12px;margin:6px 0;font-size:14px}ul.hints a{color:inherit}"
    "tr:target td{background:var(--tint);box-shadow:inset 0 1px var(--f16),inset 0 -1px var(--f16)}"
    ".plot text.label{font-size:12px}.plot .curve{fill:none;stroke:var(--f32);stroke-width:2}"
    ".wide{overflow-x:auto}.wide .plot{min-width:680px}\n"
    "@media(max-width:600px){main{padding:16px 12px "
    "48px}h1{font-size:22px}.card{min-width:calc(50% "
    "- 6px);flex:1;padding:8px 12px}.card b{font-size:18px}.code td.src{min-width:280px}}\n";

static const char script[] =
    "for(const t of document.querySelectorAll('table.sort')){"
    "t.querySelectorAll('th').forEach((h,c)=>{const b=document.createElement('button');"
    "b.type='button';b.textContent=h.textContent;h.textContent='';h.append(b);"
    "b.onclick=()=>{const up=h.getAttribute('aria-sort')!=='ascending';"
    "t.querySelectorAll('th').forEach(o=>o.removeAttribute('aria-sort'));"
    "h.setAttribute('aria-sort',up?'ascending':'descending');"
    "const v=r=>(r.cells[c]?.dataset.v??r.cells[c]?.textContent)||'';"
    "const rows=[...t.tBodies[0].rows].sort((x,y)=>{const a=v(x),d=v(y),n=a-d;"
    "return (isNaN(n)?a.localeCompare(d):n)*(up?1:-1)});t.tBodies[0].append(...rows)}})}\n"
    "for(const i of document.querySelectorAll('input[data-for]'))i.oninput=()=>{"
    "const w=i.value.toLowerCase().split(/\\s+/);"
    "for(const r of document.getElementById(i.dataset.for).tBodies[0].rows){"
    "const s=r.textContent.toLowerCase();r.hidden=!w.every(x=>s.includes(x))}};\n"
    "document.documentElement.dataset.ready='yes';\n";

void page_begin(struct ig_text *out, const char *title) {
    ig_text_puts(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                      "<title>");
    page_escape(out, title);
    ig_text_puts(out, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n");
    ig_text_puts(out, style);
    ig_text_puts(out, "</style></head><body><main>\n");
}

void page_end(struct ig_text *out) {
    ig_text_puts(out, "</main>\n<script>\n");
    ig_text_puts(out, script);
    ig_text_puts(out, "</script>\n</body></html>\n");
}

void page_escape(struct ig_text *out, const char *text) {
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '&':
            ig_text_puts(out, "&amp;");
            break;
        case '<':
            ig_text_puts(out, "&lt;");
            break;
        case '>':
            ig_text_puts(out, "&gt;");
            break;
        case '"':
            ig_text_puts(out, "&quot;");
            break;
        default: /* XML allows no control characters but these three */
            if ((unsigned char)*c >= 0x20 || *c == '\n' || *c == '\t' || *c == '\r') {
                ig_text_append(out, c, 1);
            }
        }
    }
}

void page_cell(struct ig_text *out, const char *text) {
    ig_text_puts(out, "<td>");
    page_escape(out, text);
    ig_text_puts(out, "</td>");
}

/* A number to sort by and how it is shown. */
void page_number(struct ig_text *out, double value, const char *shown) {
    ig_text_printf(out, "<td class=\"n\" data-v=\"%.9g\">", isfinite(value) ? value : 1e300);
    page_escape(out, shown);
    ig_text_puts(out, "</td>");
}

void page_card(struct ig_text *out, const char *value, const char *name, const char *kind) {
    ig_text_printf(out, "<div class=\"card\"><b class=\"%s\">", kind);
    page_escape(out, value);
    ig_text_puts(out, "</b>");
    page_escape(out, name);
    ig_text_puts(out, "</div>\n");
}
