/* The functions under test. X(name, reference, precise ulp, fast rule, fast bound, half ulp,
 * sign of zero checked); bounds as in the tables of the MSL specification, chapter "Numerical
 * Compliance". 0.5 means correctly rounded, 0 exact. */
#define ACCURACY_UNARY(X)                                                                          \
    X(acos, acos, 4, RULE_ULP, 5, 1, true)                                                         \
    X(acosh, acosh, 4, RULE_ULP, 5, 1, true)                                                       \
    X(asin, asin, 4, RULE_ULP, 5, 1, true)                                                         \
    X(asinh, asinh, 4, RULE_ULP, 5, 1, true)                                                       \
    X(atan, atan, 5, RULE_ULP, 5, 1, true)                                                         \
    X(atanh, atanh, 5, RULE_ULP, 5, 1, true)                                                       \
    X(ceil, ceil, 0, RULE_ULP, 0, 0, true)                                                         \
    X(cos, cos, 4, RULE_ANGLE, 3.15, 1, true)                                                      \
    X(cosh, cosh, 4, RULE_ULP, 5, 1, true)                                                         \
    X(cospi, reference_cospi, 4, RULE_ANGLE, 1, 1, false)                                          \
    X(exp, exp, 4, RULE_EXP, 3, 1, true)                                                           \
    X(exp10, reference_exp10, 4, RULE_EXP, 3, 1, true)                                             \
    X(exp2, exp2, 4, RULE_EXP, 3, 1, true)                                                         \
    X(fabs, fabs, 0, RULE_ULP, 0, 0, true)                                                         \
    X(floor, floor, 0, RULE_ULP, 0, 0, true)                                                       \
    X(fract, reference_fract, 0.5, RULE_ULP, 0.5, 0.5, false)                                      \
    X(log, log, 4, RULE_LOG, 3, 1, true)                                                           \
    X(log10, log10, 4, RULE_LOG, 3, 1, true)                                                       \
    X(log2, log2, 4, RULE_LOG, 3, 1, true)                                                         \
    X(rint, rint, 0, RULE_ULP, 0, 0, true)                                                         \
    X(round, round, 0, RULE_ULP, 0, 0, true)                                                       \
    X(rsqrt, reference_rsqrt, 0.5, RULE_ULP, 2, 1, true)                                           \
    X(saturate, reference_saturate, 0, RULE_ULP, 0, 0, false)                                      \
    X(sign, reference_sign, 0, RULE_ULP, 0, 0, true)                                               \
    X(sin, sin, 4, RULE_ANGLE, 3.15, 1, true)                                                      \
    X(sinh, sinh, 4, RULE_ULP, 5, 1, true)                                                         \
    X(sinpi, reference_sinpi, 4, RULE_ANGLE, 1, 1, true)                                           \
    X(sqrt, sqrt, 0.5, RULE_ULP, 2, 0.5, true)                                                     \
    X(tan, tan, 6, RULE_UNBOUNDED, 0, 1, true)                                                     \
    X(tanh, tanh, 5, RULE_ULP, 5, 1, true)                                                         \
    X(tanpi, reference_tanpi, 6, RULE_UNBOUNDED, 0, 1, false)                                      \
    X(trunc, trunc, 0, RULE_ULP, 0, 0, true)
#define ACCURACY_BINARY(X)                                                                         \
    X(atan2, atan2, 6, RULE_ULP, 6, 1, true)                                                       \
    X(copysign, copysign, 0, RULE_ULP, 0, 0, true)                                                 \
    X(divide, reference_divide, 0.5, RULE_ULP, 2.5, 0.5, true)                                     \
    X(fdim, fdim, 0.5, RULE_ULP, 0.5, 0.5, false)                                                  \
    X(fmax, fmax, 0, RULE_ULP, 0, 0, false)                                                        \
    X(fmin, fmin, 0, RULE_ULP, 0, 0, false)                                                        \
    X(fmod, fmod, 0, RULE_UNBOUNDED, 0, 0, true)                                                   \
    X(pow, pow, 16, RULE_UNBOUNDED, 0, 1, true)                                                    \
    X(powr, reference_powr, 16, RULE_UNBOUNDED, 0, 1, true)
