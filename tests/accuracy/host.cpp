/*
 * The host back end: the prelude's maths headers as ordinary C++, compiled by the clang that
 * compiles kernels.
 */
#include "ingot_types.h"

#include "ingot_math.h"

#include "accuracy.h"
#include "names.h"

extern "C" bool __ingot_fast_math(void) {
    return false;
}

namespace {
typedef void (*array_function)(const float *x, const float *y, float *out, size_t count);

#define UNARY(name, ...)                                                                           \
    void name##_precise(const float *x, const float *, float *out, size_t count) {                 \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = metal::precise::name(x[i]);                                                   \
    }                                                                                              \
    void name##_fast(const float *x, const float *, float *out, size_t count) {                    \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = metal::fast::name(x[i]);                                                      \
    }                                                                                              \
    void name##_half(const float *x, const float *, float *out, size_t count) {                    \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = (float)metal::name((half)x[i]);                                               \
    }
#define BINARY(name, ...)                                                                          \
    void name##_precise(const float *x, const float *y, float *out, size_t count) {                \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = metal::precise::name(x[i], y[i]);                                             \
    }                                                                                              \
    void name##_fast(const float *x, const float *y, float *out, size_t count) {                   \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = metal::fast::name(x[i], y[i]);                                                \
    }                                                                                              \
    void name##_half(const float *x, const float *y, float *out, size_t count) {                   \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = (float)metal::name((half)x[i], (half)y[i]);                                   \
    }
ACCURACY_UNARY(UNARY)
ACCURACY_BINARY(BINARY)

#define ENTRY(name, ...) {name##_precise, name##_fast, name##_half},
const array_function table[][FORM_COUNT] = {ACCURACY_UNARY(ENTRY) ACCURACY_BINARY(ENTRY)};
} // namespace

extern "C" bool accuracy_host_evaluate(const accuracy_function *function, accuracy_form form,
                                       const float *x, const float *y, float *out, size_t count) {
    table[function - accuracy_functions][form](x, y, out, count);
    return true;
}
