/* Running one function in one form over its arguments, and the error it makes. */
#ifndef ACCURACY_MEASURE_H
#define ACCURACY_MEASURE_H

#include "accuracy.h"

typedef struct accuracy_options {
    uint64_t stride; /* of float bit patterns for one-argument functions; 1 = all */
    uint64_t pairs;  /* random pairs for two-argument functions */
    unsigned threads;
    accuracy_evaluate evaluate;
} accuracy_options;

typedef struct accuracy_result {
    double ulp;      /* the largest error, in ulp of the exact result */
    double absolute; /* the largest absolute error (RULE_ANGLE and RULE_LOG, where that counts) */
    double ratio;    /* the largest error over what is allowed; passed when ≤ 1 */
    float x, y;      /* where that was */
    float got;
    double expected;
    uint64_t count;
    bool failed; /* the back end could not evaluate */
} accuracy_result;

accuracy_result accuracy_measure(const accuracy_function *function, accuracy_form form,
                                 const accuracy_options *options);

#endif
