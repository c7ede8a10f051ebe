/*
 * One function in one form: every stride-th float (or every half), the special values, and for
 * two arguments all pairs of special values and random pairs; in blocks, on several threads.
 */
#include "measure.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 15 };

static const float special_values[] = {
    0.0f,
    1.0f,
    0.5f,
    2.0f,
    3.0f,
    4.0f,
    1.5f,
    2.5f,
    0.25f,
    0.75f,
    10.0f,
    7.0f,
    0x1p-149f,
    0x1.8p-148f,
    0x1.fffffcp-127f,
    0x1p-126f,
    0x1.fffffep-126f,
    0x1p-125f,
    0x1.fffffep127f,
    0x1p127f,
    0x1p126f,
    0x1p64f,
    0x1p-64f,
    0x1p23f,
    0x1.000002p23f,
    0x1p24f,
    0x1.000002p24f,
    0x1p22f,
    8388607.5f,
    0x1p31f,
    0x1p32f,
    0x1.fffffep-1f,
    0x1.000002p0f,
    0x1.fffffep-2f,
    0x1.000002p-1f,
    1e-3f,
    1e-5f,
    1e-10f,
    1e-20f,
    1e-30f,
    0x1.921fb6p1f,
    0x1.921fb6p0f,
    0x1.921fb6p-1f,
    0x1.2d97c8p1f,
    88.72283f,
    88.72284f,
    87.33654f,
    87.33655f,
    103.97208f,
    103.97209f,
    127.99999f,
    128.0f,
    126.0f,
    149.0f,
    150.0f,
    38.531837f,
    38.53184f,
    44.8534f,
    105614.99f,
    105615.0f,
    105615.01f,
    71476.0625f,
    33.0f,
    1e6f,
    1e10f,
    1e20f,
    INFINITY,
    NAN,
};
enum { SPECIAL_COUNT = 2 * sizeof special_values / sizeof special_values[0] };

static float special(size_t i) {
    float v = special_values[i / 2];
    return i & 1 ? -v : v;
}

static float from_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float half_from_bits(uint32_t bits) {
    uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    double v = exponent == 0    ? ldexp(fraction, -24)
               : exponent == 31 ? (fraction ? NAN : INFINITY)
                                : ldexp(1024 + fraction, (int)exponent - 25);
    return (float)(bits & 0x8000 ? -v : v);
}

/* A number from a counter (SplitMix64), so that every thread can make any of them. */
static uint64_t scramble(uint64_t n) {
    n = (n + 1) * 0x9e3779b97f4a7c15u;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
    n = (n ^ n >> 27) * 0x94d049bb133111ebu;
    return n ^ n >> 31;
}

/* Pair number n: all bit patterns, near magnitudes, small integers, and for powers a y that
 * brings the result into range. */
static void make_pair(const accuracy_function *f, uint64_t n, float *x, float *y) {
    uint64_t a = scramble(2 * n), b = scramble(2 * n + 1);
    *x = from_bits((uint32_t)a);
    *y = from_bits((uint32_t)b);
    double unit = (double)(b >> 11) * 0x1p-53;
    bool power = strncmp(f->name, "pow", 3) == 0;
    switch (a >> 32 & 3) {
    case 0:
        break;
    case 1:
        *x = (float)ldexp(1.0 + (double)(a >> 40) * 0x1p-24, (int)(b & 31) - 16);
        *y = power ? (float)((unit - 0.5) * 64.0) : *x * (float)(unit * 8.0 + 0.01);
        break;
    case 2:
        if (power) {
            double range = 155.0 * (2.0 * unit - 1.0), l = log2(fabs((double)*x));
            *y = (float)(l != 0.0 ? range / l : range);
        } else {
            *y = from_bits(((uint32_t)a & 0x7f800000u) ^ ((uint32_t)b & 0x83ffffffu));
        }
        break;
    default:
        *x = power ? 1.0f + (float)((double)(int32_t)(uint32_t)a * 0x1p-33)
                   : (float)(int)((a >> 8 & 1023) - 512) * 0.5f;
        *y = power ? (float)((unit - 0.5) * 600.0) : (float)((int)(b >> 8 & 1023) - 512) * 0.25f;
    }
}

/* ---- the error of one result --------------------------------------------------------- */
static double unit_in_last_place(double exact, int mantissa_bits, int minimum_exponent) {
    int e = 0;
    frexp(exact, &e);
    e = e - 1 < minimum_exponent || exact == 0.0 ? minimum_exponent : e - 1;
    return ldexp(1.0, e - mantissa_bits);
}

typedef struct error {
    double ulp, absolute, allowed; /* allowed in ulp; < 0: judged by absolute/2^-13 or 2^-21 */
} error;

/* The result rounds beyond the largest number of the format: infinity is right. */
static double overflow_limit(accuracy_form form) {
    return form == FORM_HALF ? 65520.0 : 0x1.ffffffp127;
}

static error error_of(const accuracy_function *f, accuracy_form form, float x, double exact,
                      float got) {
    error e = {0.0, 0.0, 0.0};
    bool fast = form == FORM_FAST;
    double limit = overflow_limit(form);
    if (isnan(exact) || isnan(got)) {
        e.ulp = (isnan(exact) && isnan(got)) ? 0.0 : INFINITY;
    } else if (isinf(got)) {
        bool right = fabs(exact) >= limit * (1.0 - 0x1p-22) && (exact < 0) == (got < 0);
        e.ulp = right ? 0.0 : INFINITY;
    } else if (isinf(exact)) {
        e.ulp = INFINITY;
    } else {
        double unit = form == FORM_HALF ? unit_in_last_place(exact, 10, -14)
                                        : unit_in_last_place(exact, 23, -126);
        e.absolute = fabs((double)got - exact);
        e.ulp = e.absolute / unit;
        if (!fast && f->signed_zero && exact == 0.0 && got == 0.0f &&
            !signbit(exact) != !signbit(got)) {
            e.ulp = INFINITY;
        }
    }
    e.allowed = form == FORM_PRECISE ? f->precise_bound
                : form == FORM_HALF  ? f->half_bound
                                     : f->fast_bound;
    if (fast && f->fast_rule == RULE_EXP) {
        e.allowed += floor(fabs(2.0 * (double)x));
    }
    return e;
}

/* In fast maths infinities, NaNs and subnormal numbers have no fixed meaning. */
static bool judged(const accuracy_function *f, accuracy_form form, float x, float y, double exact,
                   float got) {
    if (form != FORM_FAST) {
        return true;
    }
    bool tiny = (x != 0.0f && fabsf(x) < 0x1p-126f) || (f->arity == 2 && fabsf(y) < 0x1p-126f);
    bool flushed = fabs(exact) < 0x1p-126 && got == 0.0f;
    bool ordinary = isfinite(x) && isfinite(exact) && fabs(exact) < 0x1.fffffep127 &&
                    (f->arity == 1 || isfinite(y));
    bool inside = f->fast_rule != RULE_ANGLE || fabs((double)x) <= f->fast_bound;
    if (strcmp(f->name, "divide") == 0) {
        inside = fabsf(y) >= 0x1p-126f && fabsf(y) <= 0x1p126f;
    }
    return !tiny && !flushed && ordinary && inside;
}

static void note(const accuracy_function *f, accuracy_form form, float x, float y, double exact,
                 float got, accuracy_result *result) {
    result->count++;
    /* The usual case, quickly: exact, or correctly rounded when half an ulp is known already. */
    if (form == FORM_PRECISE && exact != 0.0 &&
        ((double)got == exact || (result->ulp >= 0.5 && got == (float)exact))) {
        return;
    }
    if (!judged(f, form, x, y, exact, got)) {
        return;
    }
    error e = error_of(f, form, x, exact, got);
    bool absolute = false;
    double ratio;
    accuracy_rule rule = form == FORM_FAST ? f->fast_rule : RULE_ULP;
    if (rule == RULE_ANGLE) {
        absolute = true;
        ratio = isinf(e.ulp) ? INFINITY : e.absolute * 0x1p13;
    } else if (rule == RULE_LOG && x >= 0.5f && x <= 2.0f) {
        absolute = true;
        ratio = isinf(e.ulp) ? INFINITY : e.absolute * 0x1p21;
    } else if (rule == RULE_UNBOUNDED) {
        ratio = isinf(e.ulp) ? 0.0 : e.ulp * 0x1p-100;
    } else {
        ratio = e.allowed > 0.0 ? e.ulp / (e.allowed + 1e-8) : (e.ulp > 0.0 ? INFINITY : 0.0);
    }
    if (absolute) {
        result->absolute = fmax(result->absolute, e.absolute);
    } else {
        result->ulp = fmax(result->ulp, e.ulp);
    }
    if (ratio > result->ratio || result->count == 1) {
        result->ratio = ratio;
        result->x = x;
        result->y = y;
        result->got = got;
        result->expected = exact;
    }
}

/* ---- blocks on threads --------------------------------------------------------------- */
typedef struct work {
    const accuracy_function *function;
    accuracy_form form;
    const accuracy_options *options;
    uint64_t total;
    pthread_mutex_t lock;
    uint64_t next;
    accuracy_result result;
} work;

/* Argument number n of this run; the special values come first. */
static void make_argument(const work *w, uint64_t n, float *x, float *y) {
    const accuracy_function *f = w->function;
    uint64_t specials = f->arity == 1 ? SPECIAL_COUNT : SPECIAL_COUNT * SPECIAL_COUNT;
    *y = 0.0f;
    if (n < specials) {
        *x = special(n % SPECIAL_COUNT);
        *y = f->arity == 2 ? special(n / SPECIAL_COUNT) : 0.0f;
    } else if (f->arity == 2) {
        make_pair(f, n - specials, x, y);
    } else if (w->form == FORM_HALF) {
        *x = half_from_bits((uint32_t)(n - specials));
    } else {
        *x = from_bits((uint32_t)((n - specials) * w->options->stride));
    }
    if (w->form == FORM_HALF && (n < specials || f->arity == 2)) {
        /* Any half will do: take one from the bits of the float. */
        uint32_t bits;
        memcpy(&bits, x, sizeof bits);
        *x = half_from_bits(bits >> 16 ^ (bits & 0x3ff));
        memcpy(&bits, y, sizeof bits);
        *y = half_from_bits(bits >> 16 ^ (bits & 0x3ff));
    }
}

static uint64_t argument_count(const accuracy_function *f, accuracy_form form,
                               const accuracy_options *options) {
    if (f->arity == 2) {
        return (uint64_t)SPECIAL_COUNT * SPECIAL_COUNT + options->pairs;
    }
    if (form == FORM_HALF) {
        return SPECIAL_COUNT + 65536u;
    }
    return SPECIAL_COUNT + (0xffffffffull / options->stride) + 1;
}

static void merge(accuracy_result *into, const accuracy_result *from) {
    into->count += from->count;
    into->ulp = fmax(into->ulp, from->ulp);
    into->absolute = fmax(into->absolute, from->absolute);
    into->failed |= from->failed;
    if (from->ratio > into->ratio) {
        into->ratio = from->ratio;
        into->x = from->x;
        into->y = from->y;
        into->got = from->got;
        into->expected = from->expected;
    }
}

static void *run_blocks(void *argument) {
    work *w = argument;
    const accuracy_function *f = w->function;
    accuracy_result mine = {0};
    float *buffer = malloc(3 * BLOCK * sizeof *buffer);
    float *x = buffer, *y = buffer ? buffer + BLOCK : NULL, *out = buffer ? y + BLOCK : NULL;
    mine.failed = buffer == NULL;
    while (!mine.failed) {
        pthread_mutex_lock(&w->lock);
        uint64_t first = w->next;
        w->next += BLOCK;
        pthread_mutex_unlock(&w->lock);
        if (first >= w->total) {
            break;
        }
        size_t count = w->total - first < BLOCK ? (size_t)(w->total - first) : BLOCK;
        for (size_t i = 0; i < count; i++) {
            make_argument(w, first + i, &x[i], &y[i]);
        }
        mine.failed = !w->options->evaluate(f, w->form, x, y, out, count);
        for (size_t i = 0; i < count && !mine.failed; i++) {
            double exact = f->arity == 1 ? f->reference1((double)x[i])
                                         : f->reference2((double)x[i], (double)y[i]);
            note(f, w->form, x[i], y[i], exact, out[i], &mine);
        }
    }
    free(buffer);
    pthread_mutex_lock(&w->lock);
    merge(&w->result, &mine);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

accuracy_result accuracy_measure(const accuracy_function *function, accuracy_form form,
                                 const accuracy_options *options) {
    enum { MOST_THREADS = 64 };
    work w = {.function = function, .form = form, .options = options};
    w.total = argument_count(function, form, options);
    pthread_mutex_init(&w.lock, NULL);
    pthread_t threads[MOST_THREADS];
    unsigned started = 0;
    unsigned extra = options->threads > MOST_THREADS ? MOST_THREADS : options->threads;
    while (started + 1 < extra && pthread_create(&threads[started], NULL, run_blocks, &w) == 0) {
        started++;
    }
    run_blocks(&w);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_mutex_destroy(&w.lock);
    return w.result;
}
