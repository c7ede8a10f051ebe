/*
 * The accuracy suite: every maths function of the prelude, measured in units in the last place
 * against the C library in double precision. What computes the results is a back end: the
 * prelude's headers compiled for the host, or kernels on an ingot device.
 */
#ifndef ACCURACY_H
#define ACCURACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum accuracy_form {
    FORM_PRECISE, /* metal::precise:: on float */
    FORM_FAST,    /* metal::fast:: on float */
    FORM_HALF,    /* metal:: on half; arguments and results travel as floats */
    FORM_COUNT
} accuracy_form;

/* How an error is judged. */
typedef enum accuracy_rule {
    RULE_ULP,      /* at most `bound` ulp */
    RULE_EXP,      /* at most bound + floor(2|x|) ulp */
    RULE_LOG,      /* absolute error 2^-21 in [½, 2], elsewhere at most bound ulp */
    RULE_ANGLE,    /* absolute error 2^-13 for |x| ≤ bound, elsewhere not judged */
    RULE_UNBOUNDED /* the specification gives no bound: shown, not judged */
} accuracy_rule;

typedef struct accuracy_function {
    const char *name;
    int arity;
    double (*reference1)(double x);
    double (*reference2)(double x, double y);
    double precise_bound;
    accuracy_rule fast_rule;
    double fast_bound;
    double half_bound;
    bool signed_zero; /* the sign of a zero result is checked (precise and half) */
} accuracy_function;

extern const accuracy_function accuracy_functions[];
extern const size_t accuracy_function_count;

/* out[i] = f(x[i]) or f(x[i], y[i]). Called from several threads at once. False: a message is on
 * stderr. */
typedef bool (*accuracy_evaluate)(const accuracy_function *function, accuracy_form form,
                                  const float *x, const float *y, float *out, size_t count);

bool accuracy_host_evaluate(const accuracy_function *function, accuracy_form form, const float *x,
                            const float *y, float *out, size_t count);
/* Overloads and the functions that are not in the table, on the host: adds one to either
 * count. */
void accuracy_host_checks(size_t *passed, size_t *failed);
/* The device back end; fast_math and friends do not matter, since kernels name their form. */
bool accuracy_engine_start(const char *device, const char *cpu_level, const char *archive);
extern const char accuracy_engine_source[];
bool accuracy_engine_evaluate(const accuracy_function *function, accuracy_form form, const float *x,
                              const float *y, float *out, size_t count);
void accuracy_engine_stop(void);

#ifdef __cplusplus
}
#endif
#endif
