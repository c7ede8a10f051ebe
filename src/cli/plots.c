/* Plots as inline SVG: colours are CSS classes, so that they follow the page's light and dark
 * schemes; every mark has a title that says what it is. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/page.h"

enum { WIDTH = 960, RIGHT = 24, TOP = 16, LEFT = 80, BOTTOM = 420, HEIGHT = 470 };
enum { LETTER = 7, LABEL = 15, MARK = 5, MOST_LABELS = 64 };

/* ---- axes ---- */

struct axes {
    double x0, x1, y0, y1; /* logarithms of the range */
    double left, right, top, bottom;
};

static double axis_x(const struct axes *a, double value) {
    return a->left + (log10(value) - a->x0) / (a->x1 - a->x0) * (a->right - a->left);
}

static double axis_y(const struct axes *a, double value) {
    return a->bottom - (log10(value) - a->y0) / (a->y1 - a->y0) * (a->bottom - a->top);
}

static void names(const struct axes *a, struct ig_text *out, const char *x, const char *y) {
    ig_text_printf(out,
                   "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n"
                   "<text class=\"tick\" transform=\"translate(18 %.1f) rotate(-90)\" "
                   "text-anchor=\"middle\">%s</text>\n",
                   (a->left + a->right) / 2, a->bottom + 36, x, (a->top + a->bottom) / 2, y);
}

static void vertical(const struct axes *a, double value, const char *shown, struct ig_text *out) {
    ig_text_printf(out,
                   "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                   "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                   axis_x(a, value), axis_x(a, value), a->top, a->bottom, axis_x(a, value),
                   a->bottom + 16, shown);
}

static void horizontal(const struct axes *a, double value, const char *shown, struct ig_text *out) {
    ig_text_printf(out,
                   "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                   "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                   a->left, a->right, axis_y(a, value), axis_y(a, value), a->left - 8,
                   axis_y(a, value) + 4, shown);
}

static void begin(struct ig_text *out, const char *class_name, const char *about) {
    ig_text_printf(out,
                   "<div class=\"wide\"><svg class=\"plot %s\" viewBox=\"0 0 %d %d\" role=\"img\" "
                   "aria-label=\"%s\">\n",
                   class_name, WIDTH, HEIGHT, about);
}

/* ---- labels that do not cover each other ---- */

struct box {
    double left, right, top, bottom;
};
struct labels {
    struct box boxes[MOST_LABELS];
    size_t count;
};

static bool is_free(const struct labels *labels, const struct box *box) {
    for (size_t i = 0; i < labels->count; i++) {
        const struct box *other = &labels->boxes[i];
        if (box->left < other->right && other->left < box->right && box->top < other->bottom &&
            other->top < box->bottom) {
            return false;
        }
    }
    return true;
}

static void take(struct labels *labels, const struct box *box) {
    if (labels->count < MOST_LABELS) {
        labels->boxes[labels->count++] = *box;
    }
}

/* Beside its mark: the first place that is free, further and further up and down. */
static void label(const struct axes *a, struct labels *labels, double x, double y, const char *name,
                  struct ig_text *out) {
    double width = LETTER * (double)strlen(name);
    for (int try = 0; try < 24; try++) {
        bool is_right = try % 2 == 0;
        double shift = (try / 4 + 1) / 2 * LABEL * ((try / 2) % 2 ? -1.0 : 1.0);
        double left = is_right ? x + MARK + 4 : x - MARK - 4 - width, middle = y + shift;
        struct box box = {left, left + width, middle - LABEL / 2.0, middle + LABEL / 2.0};
        bool fits = box.left >= a->left && box.right <= a->right + RIGHT && box.top >= 0 &&
                    box.bottom <= a->bottom;
        if (fits && is_free(labels, &box)) {
            take(labels, &box);
            ig_text_printf(out, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\">", left, middle + 4);
            page_escape(out, name);
            ig_text_puts(out, "</text>\n");
            return;
        }
    }
}

static void mark(struct ig_text *out, double x, double y, const char *class_name,
                 const char *title) {
    ig_text_printf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>", class_name,
                   x, y, MARK);
    page_escape(out, title);
    ig_text_puts(out, "</title></circle>\n");
}

/* ---- the roofline ---- */

static bool is_shown(const struct plot_point *point) {
    return point->flops > 0 && point->bytes > 0 && point->seconds > 0;
}

static struct axes make_axes(const struct igh_ceilings *ceilings, const struct plot_point *points,
                             size_t count) {
    double peak = ceilings->flops_per_second, copy = ceilings->bytes_per_second;
    struct axes a = {.x0 = -1,
                     .x1 = log10(peak / copy) + 0.5,
                     .left = LEFT,
                     .right = WIDTH - RIGHT,
                     .top = TOP,
                     .bottom = BOTTOM,
                     .y1 = log10(peak) + 0.15};
    a.y0 = a.y1 - 2;
    for (size_t i = 0; i < count; i++) {
        if (!is_shown(&points[i])) {
            continue;
        }
        double x = log10(points[i].flops / points[i].bytes);
        double y = log10(points[i].flops / points[i].seconds);
        a.x0 = fmin(a.x0, x - 0.2);
        a.x1 = fmax(a.x1, x + 0.2);
        a.y0 = fmin(a.y0, y - 0.2);
        a.y1 = fmax(a.y1, y + 0.15);
    }
    return a;
}

static void grid(const struct axes *a, struct ig_text *out) {
    char shown[32];
    for (int e = (int)ceil(a->x0); e <= (int)floor(a->x1); e++) {
        snprintf(shown, sizeof shown, "%g", pow(10, e));
        vertical(a, pow(10, e), shown, out);
    }
    for (int e = (int)ceil(a->y0); e <= (int)floor(a->y1); e++) {
        snprintf(shown, sizeof shown, "%g", pow(10, e - 9));
        horizontal(a, pow(10, e), shown, out);
    }
    names(a, out, "operations per byte", "GFLOP/s");
}

void plot_roofline(const struct igh_ceilings *ceilings, const struct plot_point *points,
                   size_t count, struct ig_text *out) {
    double peak = ceilings->flops_per_second, copy = ceilings->bytes_per_second;
    if (!(peak > 0) || !(copy > 0)) {
        return;
    }
    struct axes a = make_axes(ceilings, points, count);
    struct labels labels = {.count = 0};
    double ridge = peak / copy, start = pow(10, a.x0);
    if (start * copy < pow(10, a.y0)) { /* where the slope enters the picture */
        start = pow(10, a.y0) / copy;
    }
    begin(out, "roofline", "roofline");
    grid(&a, out);
    ig_text_printf(out, "<polyline class=\"roof\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n",
                   axis_x(&a, start), axis_y(&a, start * copy), axis_x(&a, ridge), axis_y(&a, peak),
                   a.right, axis_y(&a, peak));
    ig_text_printf(out,
                   "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.0f GFLOP/s, "
                   "%.1f GB/s</text>\n",
                   a.right, axis_y(&a, peak) - 6, peak * 1e-9, copy * 1e-9);
    for (size_t i = 0; i < count; i++) {
        if (is_shown(&points[i])) {
            double x = axis_x(&a, points[i].flops / points[i].bytes);
            double y = axis_y(&a, points[i].flops / points[i].seconds);
            mark(out, x, y, points[i].class_name, points[i].title);
            take(&labels, &(struct box){x - MARK, x + MARK, y - MARK, y + MARK});
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (is_shown(&points[i]) && *points[i].name) {
            label(&a, &labels, axis_x(&a, points[i].flops / points[i].bytes),
                  axis_y(&a, points[i].flops / points[i].seconds), points[i].name, out);
        }
    }
    ig_text_puts(out, "</svg></div>\n");
}

/* ---- times by threadgroup ---- */

static const char *time_text(double seconds, char out[32]) {
    snprintf(out, 32,
             seconds < 1e-6   ? "%.0f ns"
             : seconds < 1e-3 ? "%.3g µs"
                              : "%.3g ms",
             seconds < 1e-6   ? seconds * 1e9
             : seconds < 1e-3 ? seconds * 1e6
                              : seconds * 1e3);
    return out;
}

void plot_times(const struct plot_time *points, size_t count, struct ig_text *out) {
    if (!count) {
        return;
    }
    struct axes a = {.x0 = log10(points[0].threads) - 0.05,
                     .x1 = log10(points[0].threads) + 0.05,
                     .y0 = log10(points[0].seconds) - 0.05,
                     .y1 = log10(points[0].seconds) + 0.05,
                     .left = LEFT,
                     .right = WIDTH - RIGHT,
                     .top = TOP,
                     .bottom = BOTTOM};
    for (size_t i = 1; i < count; i++) {
        a.x0 = fmin(a.x0, log10(points[i].threads) - 0.05);
        a.x1 = fmax(a.x1, log10(points[i].threads) + 0.05);
        a.y0 = fmin(a.y0, log10(points[i].seconds) - 0.05);
        a.y1 = fmax(a.y1, log10(points[i].seconds) + 0.05);
    }
    char shown[32];
    begin(out, "times", "time by threads of a threadgroup");
    for (uint32_t threads = 1; threads <= 1024; threads *= 2) {
        snprintf(shown, sizeof shown, "%u", threads);
        if (log10(threads) >= a.x0 && log10(threads) <= a.x1) {
            vertical(&a, threads, shown, out);
        }
    }
    for (int step = 0; step <= 4; step++) {
        double seconds = pow(10, a.y0 + (a.y1 - a.y0) * step / 4);
        horizontal(&a, seconds, time_text(seconds, shown), out);
    }
    names(&a, out, "threads of a threadgroup", "time of a launch");
    ig_text_puts(out, "<polyline class=\"curve\" points=\"");
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++) { /* the best of those with as many threads */
        if (points[i].threads != last) {
            double best = points[i].seconds;
            for (size_t j = i; j < count && points[j].threads == points[i].threads; j++) {
                best = fmin(best, points[j].seconds);
            }
            ig_text_printf(out, "%.1f,%.1f ", axis_x(&a, points[i].threads), axis_y(&a, best));
            last = points[i].threads;
        }
    }
    ig_text_puts(out, "\"/>\n");
    for (size_t i = 0; i < count; i++) {
        mark(out, axis_x(&a, points[i].threads), axis_y(&a, points[i].seconds), "t-f32",
             points[i].title);
    }
    ig_text_puts(out, "</svg></div>\n");
}
