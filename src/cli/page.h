/* Pages of HTML that health, bench and profile write. */
#ifndef INGOT_CLI_PAGE_H
#define INGOT_CLI_PAGE_H

#include "base/text.h"
#include "harness/harness.h"

void page_begin(struct ig_text *out, const char *title);
void page_end(struct ig_text *out);
/* Text in XML and HTML: & < > " and characters that they do not allow. */
void page_escape(struct ig_text *out, const char *text);
void page_cell(struct ig_text *out, const char *text);
/* A number to sort by and how it is shown. */
void page_number(struct ig_text *out, double value, const char *shown);
/* A figure with its name; `kind`: "", "good" or "bad". */
void page_card(struct ig_text *out, const char *value, const char *name, const char *kind);

/* ---- plots (plots.c): inline SVG ---- */

struct plot_point {
    const char *name;       /* of the label; "": none */
    const char *title;      /* says what it is */
    const char *class_name; /* "t-f32" */
    double bytes, flops, seconds;
};
/* Arithmetic intensity against performance, with both ceilings. Points that lack one of the three
 * are left out. */
void plot_roofline(const struct igh_ceilings *ceilings, const struct plot_point *points,
                   size_t count, struct ig_text *out);

/* Seconds against threads of a threadgroup, one curve. */
struct plot_time {
    uint32_t threads;
    double seconds;
    const char *title;
};
void plot_times(const struct plot_time *points, size_t count, struct ig_text *out);

#endif
