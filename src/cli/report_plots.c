/* The plots of health's page, as inline SVG: colours are CSS classes, so that they follow the
 * page's light and dark schemes; every mark has a title that says what it is. */
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "cli/health.h"

enum { WIDTH = 960, LEFT = 190, RIGHT = 24, TOP = 16, LINE = 20 };

static const char *type_class(ingot_scalar_type type) {
    return type == INGOT_SCALAR_F32    ? "t-f32"
           : type == INGOT_SCALAR_F16  ? "t-f16"
           : type == INGOT_SCALAR_BF16 ? "t-bf16"
                                       : "t-other";
}

static void legend(struct ig_text *out) {
    static const ingot_scalar_type types[] = {INGOT_SCALAR_F32, INGOT_SCALAR_F16,
                                              INGOT_SCALAR_BF16};
    ig_text_puts(out, "<p class=\"legend\">");
    for (int i = 0; i < 3; i++) {
        ig_text_printf(out, "<span><i class=\"%s\"></i>%s</span>", type_class(types[i]),
                       ig_scalar_name(types[i]));
    }
    ig_text_puts(out, "</p>\n");
}

static void mark(struct ig_text *out, double x, double y, const struct bench_row *row) {
    char name[160], time[32];
    ig_text_printf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
                   type_class(row->row.type), x, y);
    health_escape(out, tool_row_name(&row->row, name));
    ig_text_printf(out, "\n%s, %.1f GB/s, %.1f GFLOP/s, %.0f%% of %s\n",
                   tool_seconds(row->timing.median, time), row->bytes / row->timing.median * 1e-9,
                   row->flops / row->timing.median * 1e-9, row->share * 100,
                   row->by_bytes ? "copying" : "multiply-adds");
    health_escape(out, row->variant);
    ig_text_puts(out, "</title></circle>\n");
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
    legend(out);
    ig_text_printf(out,
                   "<svg class=\"plot shares\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
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
            health_escape(out, row->row.suite->operation);
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
                   "ceiling that limits it</text>\n</svg>\n",
                   LEFT + width / 2, bottom + 34);
}

/* ---- the roofline ---- */

struct axes {
    double x0, x1, y0, y1; /* logarithms of the range */
    double left, right, top, bottom;
};

static double axis_x(const struct axes *a, double intensity) {
    return a->left + (log10(intensity) - a->x0) / (a->x1 - a->x0) * (a->right - a->left);
}

static double axis_y(const struct axes *a, double rate) {
    return a->bottom - (log10(rate) - a->y0) / (a->y1 - a->y0) * (a->bottom - a->top);
}

static bool on_roofline(const struct bench_row *row) {
    return !*row->error && row->flops > 0 && row->bytes > 0 && row->timing.median > 0;
}

static struct axes make_axes(const struct health_device *device) {
    double peak = device->ceilings.flops_per_second, copy = device->ceilings.bytes_per_second;
    struct axes a = {.x0 = -1,
                     .x1 = log10(peak / copy) + 0.5,
                     .left = 80,
                     .right = WIDTH - RIGHT,
                     .top = TOP,
                     .bottom = 420,
                     .y1 = log10(peak) + 0.15};
    a.y0 = a.y1 - 2;
    for (size_t i = 0; i < device->bench_count; i++) {
        const struct bench_row *row = &device->bench[i];
        if (!on_roofline(row)) {
            continue;
        }
        a.x0 = fmin(a.x0, log10(row->flops / row->bytes) - 0.2);
        a.x1 = fmax(a.x1, log10(row->flops / row->bytes) + 0.2);
        a.y0 = fmin(a.y0, log10(row->flops / row->timing.median) - 0.2);
        a.y1 = fmax(a.y1, log10(row->flops / row->timing.median) + 0.15);
    }
    return a;
}

static void grid(const struct axes *a, struct ig_text *out) {
    for (int e = (int)ceil(a->x0); e <= (int)floor(a->x1); e++) {
        ig_text_printf(
            out,
            "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n",
            axis_x(a, pow(10, e)), axis_x(a, pow(10, e)), a->top, a->bottom, axis_x(a, pow(10, e)),
            a->bottom + 16, pow(10, e));
    }
    for (int e = (int)ceil(a->y0); e <= (int)floor(a->y1); e++) {
        ig_text_printf(out,
                       "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                       "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                       a->left, a->right, axis_y(a, pow(10, e)), axis_y(a, pow(10, e)), a->left - 8,
                       axis_y(a, pow(10, e)) + 4, pow(10, e - 9));
    }
    ig_text_printf(
        out,
        "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">operations per "
        "byte</text>\n<text class=\"tick\" transform=\"translate(18 %.1f) rotate(-90)\" "
        "text-anchor=\"middle\">GFLOP/s</text>\n",
        (a->left + a->right) / 2, a->bottom + 36, (a->top + a->bottom) / 2);
}

void health_roofline(const struct health_device *device, struct ig_text *out) {
    double peak = device->ceilings.flops_per_second, copy = device->ceilings.bytes_per_second;
    if (!(peak > 0) || !(copy > 0)) {
        return;
    }
    struct axes a = make_axes(device);
    double ridge = peak / copy, start = pow(10, a.x0);
    if (start * copy < pow(10, a.y0)) { /* where the slope enters the picture */
        start = pow(10, a.y0) / copy;
    }
    legend(out);
    ig_text_printf(out,
                   "<svg class=\"plot roofline\" viewBox=\"0 0 %d 470\" role=\"img\" "
                   "aria-label=\"roofline\">\n",
                   WIDTH);
    grid(&a, out);
    ig_text_printf(out, "<polyline class=\"roof\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n",
                   axis_x(&a, start), axis_y(&a, start * copy), axis_x(&a, ridge), axis_y(&a, peak),
                   a.right, axis_y(&a, peak));
    ig_text_printf(out,
                   "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.0f GFLOP/s, "
                   "%.1f GB/s</text>\n",
                   a.right, axis_y(&a, peak) - 6, peak * 1e-9, copy * 1e-9);
    for (size_t i = 0; i < device->bench_count; i++) {
        const struct bench_row *row = &device->bench[i];
        if (on_roofline(row)) {
            mark(out, axis_x(&a, row->flops / row->bytes),
                 axis_y(&a, row->flops / row->timing.median), row);
        }
    }
    ig_text_puts(out, "</svg>\n");
}
