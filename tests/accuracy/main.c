/*
 * accuracy [--engine] [--device NAME] [--archive FILE] [--cpu LEVEL] [--form precise|fast|half]
 *          [--stride N] [--pairs N] [--threads N] [--markdown] [FUNCTION]...
 * accuracy --source
 *
 * --archive: the kernels of --engine as ingotc made them of what --source prints.
 * Prints a table of the largest errors and ends with `N passed, N failed`; exit status 1 when
 * one is beyond its bound. --stride 1 tries every float.
 */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef ACCURACY_HOST
#define ACCURACY_EVALUATE_ON_HOST accuracy_host_evaluate
#else
#define ACCURACY_EVALUATE_ON_HOST NULL
#endif

typedef struct command {
    accuracy_options options;
    bool forms[FORM_COUNT];
    bool engine;
    bool markdown;
    bool source;
    const char *device, *cpu_level, *archive;
    const char **names;
    size_t name_count;
} command;

static const char *const form_names[FORM_COUNT] = {"precise", "fast", "half"};

static bool parse_number(const char *option, const char *text, uint64_t *value) {
    char *end = NULL;
    unsigned long long v = text ? strtoull(text, &end, 10) : 0;
    if (!text || end == text || *end != '\0' || v == 0) {
        fprintf(stderr, "accuracy: %s wants a positive number, not '%s'\n", option,
                text ? text : "");
        return false;
    }
    *value = v;
    return true;
}

static bool parse_form(command *c, const char *text) {
    for (int i = 0; text && i < FORM_COUNT; i++) {
        if (strcmp(text, form_names[i]) == 0) {
            c->forms[i] = true;
            return true;
        }
    }
    fprintf(stderr, "accuracy: --form is precise, fast or half, not '%s'\n", text ? text : "");
    return false;
}

static bool parse(int argc, char **argv, command *c) {
    uint64_t threads = 0;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(a, "--engine") == 0) {
            c->engine = true;
        } else if (strcmp(a, "--markdown") == 0) {
            c->markdown = true;
        } else if (strcmp(a, "--source") == 0) {
            c->source = true;
        } else if (strcmp(a, "--device") == 0 && value) {
            c->device = value;
            i++;
        } else if (strcmp(a, "--archive") == 0 && value) {
            c->archive = value;
            i++;
        } else if (strcmp(a, "--cpu") == 0 && value) {
            c->cpu_level = value;
            i++;
        } else if (strcmp(a, "--form") == 0) {
            if (!parse_form(c, value)) {
                return false;
            }
            i++;
        } else if (strcmp(a, "--stride") == 0 || strcmp(a, "--pairs") == 0 ||
                   strcmp(a, "--threads") == 0) {
            uint64_t *to = a[2] == 's'   ? &c->options.stride
                           : a[2] == 'p' ? &c->options.pairs
                                         : &threads;
            if (!parse_number(a, value, to)) {
                return false;
            }
            i++;
        } else if (a[0] == '-') {
            fprintf(stderr, "accuracy: unknown option '%s'\n", a);
            return false;
        } else {
            c->names[c->name_count++] = a;
        }
    }
    if (threads > 0) {
        c->options.threads = threads > 64 ? 64 : (unsigned)threads;
    }
    if (!c->forms[FORM_PRECISE] && !c->forms[FORM_FAST] && !c->forms[FORM_HALF]) {
        c->forms[FORM_PRECISE] = c->forms[FORM_FAST] = c->forms[FORM_HALF] = true;
    }
    return true;
}

static bool wanted(const command *c, const accuracy_function *f) {
    for (size_t i = 0; i < c->name_count; i++) {
        if (strcmp(c->names[i], f->name) == 0) {
            return true;
        }
    }
    return c->name_count == 0;
}

static void describe_bound(const accuracy_function *f, accuracy_form form, char *text,
                           size_t size) {
    double bound = form == FORM_PRECISE ? f->precise_bound : f->half_bound;
    if (form != FORM_FAST || f->fast_rule == RULE_ULP) {
        snprintf(text, size, "%g", form == FORM_FAST ? f->fast_bound : bound);
    } else if (f->fast_rule == RULE_EXP) {
        snprintf(text, size, "%g+floor(abs(2x))", f->fast_bound);
    } else if (f->fast_rule == RULE_LOG) {
        snprintf(text, size, "2^-21 in [0.5,2], %g", f->fast_bound);
    } else if (f->fast_rule == RULE_ANGLE) {
        snprintf(text, size, "2^-13 to x=%g", f->fast_bound);
    } else {
        snprintf(text, size, "none");
    }
}

static bool report(const command *c, const accuracy_function *f, accuracy_form form,
                   const accuracy_result *r) {
    char bound[32], error[32], at[48];
    describe_bound(f, form, bound, sizeof bound);
    accuracy_rule rule = form == FORM_FAST ? f->fast_rule : RULE_ULP;
    if (rule == RULE_ANGLE) {
        snprintf(error, sizeof error, "2^%.1f", log2(r->absolute > 0 ? r->absolute : 0x1p-60));
    } else if (rule == RULE_LOG) {
        snprintf(error, sizeof error, "2^%.1f, %.2f", log2(r->absolute > 0 ? r->absolute : 0x1p-60),
                 r->ulp);
    } else {
        snprintf(error, sizeof error, "%.3f", r->ulp);
    }
    if (f->arity == 1) {
        snprintf(at, sizeof at, "%a", (double)r->x);
    } else {
        snprintf(at, sizeof at, "%a, %a", (double)r->x, (double)r->y);
    }
    bool ok = !r->failed && (rule == RULE_UNBOUNDED || r->ratio <= 1.0);
    const char *layout =
        c->markdown ? "| %s | %s | %s | %s | %s | %s |\n" : "%-9s %-8s %-14s %-34s %-20s %s\n";
    printf(layout, f->name, form_names[form], error, at, bound, ok ? "ok" : "FAILED");
    if (!ok) {
        printf("    got %a, exact %a\n", (double)r->got, r->expected);
    }
    fflush(stdout);
    return ok;
}

int main(int argc, char **argv) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    command c = {.options = {.stride = 1009, .pairs = 2000000}};
    c.options.threads = cores > 0 ? (unsigned)cores : 1;
    c.options.evaluate = ACCURACY_EVALUATE_ON_HOST;
    c.names = calloc((size_t)argc, sizeof *c.names);
    if (!c.names || !parse(argc, argv, &c)) {
        free(c.names);
        return 2;
    }
    if (c.source) {
        fputs(accuracy_engine_source, stdout);
        free(c.names);
        return 0;
    }
    if (!c.engine && !c.options.evaluate) {
        fputs("accuracy: built without clang, it has --engine only\n", stderr);
        free(c.names);
        return 2;
    }
    if (c.engine) {
        if (!accuracy_engine_start(c.device, c.cpu_level, c.archive)) {
            free(c.names);
            return 3;
        }
        c.options.evaluate = accuracy_engine_evaluate;
    }
    printf(c.markdown ? "| %s | %s | %s | %s | %s | %s |\n|---|---|---|---|---|---|\n"
                      : "%-9s %-8s %-14s %-34s %-20s %s\n",
           "function", "form", "max ulp", "at", "bound", "ok");
    size_t passed = 0, failed = 0;
    for (int form = 0; form < FORM_COUNT; form++) {
        for (size_t i = 0; i < accuracy_function_count && c.forms[form]; i++) {
            const accuracy_function *f = &accuracy_functions[i];
            if (wanted(&c, f)) {
                accuracy_result r = accuracy_measure(f, (accuracy_form)form, &c.options);
                *(report(&c, f, (accuracy_form)form, &r) ? &passed : &failed) += 1;
            }
        }
    }
    if (c.engine) {
        accuracy_engine_stop();
    }
#ifdef ACCURACY_HOST
    if (!c.engine && c.name_count == 0) {
        accuracy_host_checks(&passed, &failed);
    }
#endif
    free(c.names);
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed ? 1 : 0;
}
