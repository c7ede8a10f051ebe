/* The plots of health's page, as inline SVG: colours are CSS classes, so that they follow the
 * page's light and dark schemes; every mark has a title that says what it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "cli/health.h"
#include "cli/page.h"

enum { WIDTH = 960, LEFT = 190, RIGHT = 24, TOP = 16, LINE = 20 };

static const char *type_class(ingot_scalar_type type) {
    return type == INGOT_SCALAR_F32    ? "t-f32"
           : type == INGOT_SCALAR_F16  ? "t-f16"
           : type == INGOT_SCALAR_BF16 ? "t-bf16"
                                       : "t-other";
}

/* The colours of the types that were measured. */
static void legend(struct ig_text *out, const struct health_device *device) {
    static const ingot_scalar_type types[] = {INGOT_SCALAR_F32, INGOT_SCALAR_F16,
                                              INGOT_SCALAR_BF16};
    bool has[3] = {false}, has_other = false;
    for (size_t i = 0; i < device->bench_count; i++) {
        const struct bench_row *row = &device->bench[i];
        int k = 0;
        while (k < 3 && types[k] != row->row.type) {
            k++;
        }
        *(k < 3 ? &has[k] : &has_other) |= !*row->error;
    }
    ig_text_puts(out, "<p class=\"legend\">");
    for (int i = 0; i < 3; i++) {
        if (has[i]) {
            ig_text_printf(out, "<span><i class=\"%s\"></i>%s</span>", type_class(types[i]),
                           ig_scalar_name(types[i]));
        }
    }
    if (has_other) {
        ig_text_puts(out, "<span><i class=\"t-other\"></i>others</span>");
    }
    ig_text_puts(out, "</p>\n");
}

static void describe(struct ig_text *out, const struct bench_row *row) {
    char name[160], time[32];
    ig_text_printf(out, "%s\n%s, %.1f GB/s, %.1f GFLOP/s, %.0f%% of %s\n%s",
                   tool_row_name(&row->row, name), tool_seconds(row->timing.median, time),
                   row->bytes / row->timing.median * 1e-9, row->flops / row->timing.median * 1e-9,
                   row->share * 100, row->by_bytes ? "copying" : "multiply-adds", row->variant);
}

static void mark(struct ig_text *out, double x, double y, const struct bench_row *row) {
    struct ig_text title = {0};
    ig_text_printf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
                   type_class(row->row.type), x, y);
    describe(&title, row);
    page_escape(out, ig_text_string(&title));
    ig_text_puts(out, "</title></circle>\n");
    ig_text_free(&title);
}

/* ---- the share of the ceiling, a line per operation ---- */

static bool starts_operation(const struct health_device *device, size_t i) {
    return i == 0 ||
           strcmp(device->bench[i].row.suite->operation, device->bench[i - 1].row.suite->operation);
}

static double largest_share(const struct health_device *device) {
    double largest = 1;
    for (size_t i = 0; i < device->bench_count; i++) {
        largest = fmax(largest, device->bench[i].share);
    }
    return fmin(largest, 4);
}

void health_bars(const struct health_device *device, struct ig_text *out) {
    size_t lines = 0;
    for (size_t i = 0; i < device->bench_count; i++) {
        lines += starts_operation(device, i);
    }
    double span = largest_share(device), width = WIDTH - LEFT - RIGHT;
    double bottom = TOP + (double)lines * LINE;
    legend(out, device);
    ig_text_printf(
        out,
        "<div class=\"wide\"><svg class=\"plot shares\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
        "aria-label=\"share of the ceiling by operation\">\n",
        WIDTH, bottom + 40);
    for (int percent = 0; percent <= (int)(span * 100 + 0.5); percent += span > 2 ? 50 : 20) {
        ig_text_printf(
            out,
            "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.0f\"/>"
            "<text class=\"tick\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%d%%</text>\n",
            percent == 100 ? "roof" : "grid", LEFT + width * percent / 100 / span,
            LEFT + width * percent / 100 / span, TOP, bottom, LEFT + width * percent / 100 / span,
            bottom + 16, percent);
    }
    double y = TOP - LINE / 2.0;
    for (size_t i = 0; i < device->bench_count; i++) {
        const struct bench_row *row = &device->bench[i];
        if (starts_operation(device, i)) {
            y += LINE;
            ig_text_printf(out, "<text class=\"name\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                           LEFT - 10, y + 4);
            page_escape(out, row->row.suite->operation);
            ig_text_printf(out,
                           "</text><line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
                           "y2=\"%.1f\"/>\n",
                           LEFT, WIDTH - RIGHT, y, y);
        }
        if (!*row->error && row->share > 0) {
            mark(out, LEFT + width * fmin(row->share, span) / span, y, row);
        }
    }
    ig_text_printf(out,
                   "<text class=\"tick\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">share of the "
                   "ceiling that limits it</text>\n</svg></div>\n",
                   LEFT + width / 2, bottom + 34);
}

/* ---- the roofline ---- */

void health_roofline(const struct health_device *device, struct ig_text *out) {
    struct plot_point *points = calloc(device->bench_count + 1, sizeof *points);
    struct ig_text *titles = calloc(device->bench_count + 1, sizeof *titles);
    legend(out, device);
    for (size_t i = 0; points && titles && i < device->bench_count; i++) {
        const struct bench_row *row = &device->bench[i];
        bool is_measured = !*row->error;
        if (is_measured) {
            describe(&titles[i], row);
        }
        points[i] = (struct plot_point){.name = "",
                                        .title = ig_text_string(&titles[i]),
                                        .class_name = type_class(row->row.type),
                                        .bytes = row->bytes,
                                        .flops = row->flops,
                                        .seconds = is_measured ? row->timing.median : 0};
    }
    if (points && titles) {
        plot_roofline(&device->ceilings, points, device->bench_count, out);
    }
    for (size_t i = 0; titles && i < device->bench_count; i++) {
        ig_text_free(&titles[i]);
    }
    free(titles);
    free(points);
}
