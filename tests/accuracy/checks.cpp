/*
 * What a table of errors cannot show: which overload a call chooses, and the functions with
 * several results or integer arguments, against the C library.
 */
#include "ingot_types.h"

#include "ingot_packed.h"

#include "ingot_math.h"

#include "accuracy.h"

extern "C" {
int printf(const char *, ...);
float frexpf(float, int *);
float ldexpf(float, int);
int ilogbf(float);
float modff(float, float *);
float nextafterf(float, float);
float fmaf(float, float, float);
}

namespace {
/* ---- overloads ---------------------------------------------------------------------- */
template <class A, class B> constexpr bool same = __is_same(A, B);
float f;
half h;
bfloat b;
double d;
int i;
uint u;
metal::vec<float, 4> f4;
metal::vec<half, 2> h2;
metal::vec<bfloat, 3> b3;
metal::packed_vec<float, 3> p3;
static_assert(same<decltype(metal::exp(f)), float>);
static_assert(same<decltype(metal::exp(h)), half>);
static_assert(same<decltype(metal::exp(b)), bfloat>);
static_assert(same<decltype(metal::exp(d)), float>);
static_assert(same<decltype(metal::exp(i)), float>);
static_assert(same<decltype(metal::exp(f4)), metal::vec<float, 4>>);
static_assert(same<decltype(metal::precise::tanh(b3)), metal::vec<bfloat, 3>>);
static_assert(same<decltype(metal::fast::sin(h2)), metal::vec<half, 2>>);
static_assert(same<decltype(metal::max(f, 0)), float>);
static_assert(same<decltype(metal::max(h, 0)), half>);
static_assert(same<decltype(metal::max(b, 0)), bfloat>);
static_assert(same<decltype(metal::max(f, h)), float>);
static_assert(same<decltype(metal::max(h, b)), float>);
static_assert(same<decltype(metal::min(b, b)), bfloat>);
static_assert(same<decltype(metal::pow(2.0f, 3)), float>);
static_assert(same<decltype(metal::pow(i, u)), float>);
static_assert(same<decltype(metal::fmax(0, h)), half>);
static_assert(same<decltype(metal::max(f4, 0.0f)), metal::vec<float, 4>>);
static_assert(same<decltype(metal::max(0, f4)), metal::vec<float, 4>>);
static_assert(same<decltype(metal::clamp(h2, 0, 1)), metal::vec<half, 2>>);
static_assert(same<decltype(metal::clamp(f, 0, 1)), float>);
static_assert(same<decltype(metal::mix(f4, f4, 0.5f)), metal::vec<float, 4>>);
static_assert(same<decltype(metal::fma(2.0f, f4, f4)), metal::vec<float, 4>>);
static_assert(same<decltype(metal::sqrt(p3)), metal::vec<float, 3>>);
static_assert(same<decltype(metal::max(p3, 1)), metal::vec<float, 3>>);
static_assert(same<decltype(metal::ldexp(f4, 3)), metal::vec<float, 4>>);

/* A kernel's own overloads are preferred: these must not be ambiguous. */
struct complex {
    float re, im;
};
complex exp(complex x) {
    return x;
}
bfloat exp(bfloat x) {
    return x;
}
void user_overloads() {
    using namespace metal;
    static_assert(same<decltype(exp(complex())), complex>);
    (void)exp(b);
}

/* ---- values -------------------------------------------------------------------------- */
size_t passed, failed;

unsigned bits(float x) {
    return __builtin_bit_cast(unsigned, x);
}
bool equal(float a, float b2) {
    return (a != a && b2 != b2) || bits(a) == bits(b2);
}
void check(bool ok, const char *what, float x, float y) {
    (ok ? passed : failed) += 1;
    if (!ok) {
        printf("%s of %a, %a is wrong\n", what, (double)x, (double)y);
    }
}

void check_parts(float x) {
    int e = 0, expected_e = 0;
    float m = metal::frexp(x, e), expected = frexpf(x, &expected_e);
    bool finite = x - x == 0.0f;
    check(equal(m, expected) && (!finite || e == expected_e), "frexp", x, (float)e);
    if (finite && x != 0.0f) {
        check(metal::ilogb(x) == ilogbf(x), "ilogb", x, 0.0f);
    }
    float whole = 0.0f, expected_whole = 0.0f;
    float rest = metal::modf(x, whole), expected_rest = modff(x, &expected_whole);
    check(equal(rest, expected_rest) && equal(whole, expected_whole), "modf", x, whole);
    float c = 0.0f, s = metal::precise::sincos(x, c);
    check(equal(s, metal::precise::sin(x)) && equal(c, metal::precise::cos(x)), "sincos", x, c);
}

void check_pair(float x, float y, unsigned random) {
    check(equal(metal::nextafter(x, y), nextafterf(x, y)), "nextafter", x, y);
    int k = (int)(random % 620u) - 310;
    check(equal(metal::ldexp(x, k), ldexpf(x, k)), "ldexp", x, (float)k);
    float z = __builtin_bit_cast(float, random);
    check(equal(metal::fma(x, y, z), fmaf(x, y, z)), "fma", x, y);
    if (x == x && y == y && z == z) {
        float least = x < y ? x : y, most = x < y ? y : x;
        float middle = z < least ? least : (z > most ? most : z);
        check(metal::median3(x, y, z) == middle, "median3", x, y);
        check(metal::clamp(z, least, most) == middle, "clamp", z, least);
        check(metal::max3(x, y, z) == (most > z ? most : z), "max3", x, y);
        check(metal::min3(x, y, z) == (least < z ? least : z), "min3", x, y);
    }
}

void check_vectors() {
    metal::vec<float, 4> x(0.5f, -1.0f, 2.0f, 3.25f);
    metal::vec<float, 4> e = metal::precise::exp(x), m = metal::max(x, 1.0f);
    metal::vec<int, 4> k;
    metal::vec<float, 4> fraction = metal::frexp(x, k), again = metal::ldexp(fraction, k);
    for (int n = 0; n < 4; n++) {
        check(e[n] == metal::precise::exp(x[n]), "exp of a vector", x[n], e[n]);
        check(m[n] == (x[n] > 1.0f ? x[n] : 1.0f), "max of a vector", x[n], m[n]);
        check(again[n] == x[n], "frexp of a vector", x[n], again[n]);
    }
    check(metal::mix(1.0f, 3.0f, 0.25f) == 1.5f, "mix", 1.0f, 3.0f);
    check(metal::step(1.0f, 0.5f) == 0.0f && metal::step(1.0f, 1.0f) == 1.0f, "step", 1.0f, 1.0f);
    check(metal::smoothstep(0.0f, 2.0f, 1.0f) == 0.5f, "smoothstep", 0.0f, 2.0f);
    half next = metal::nextafter((half)1.0f, (half)2.0f);
    check((float)next == 1.0009765625f, "nextafter of half", 1.0f, (float)next);
    bfloat wide = metal::exp((bfloat)1.0f);
    check((float)wide == 2.71875f, "exp of bfloat", 1.0f, (float)wide);
}
} // namespace

extern "C" void accuracy_host_checks(size_t *passed_out, size_t *failed_out) {
    user_overloads();
    check_vectors();
    const float special[] = {
        0.0f, 1.0f, 0x1p-149f, 0x1.fffffcp-127f, 0x1p-126f,         0x1.fffffep127f,
        0.5f, 2.0f, 0x1p23f,   __builtin_inff(), __builtin_nanf("")};
    for (float x : special) {
        for (float y : special) {
            check_parts(x);
            check_parts(-x);
            check_pair(x, -y, 0x3f8ccccdu);
            check_pair(-x, y, 0xc1234567u);
        }
    }
    unsigned random = 12345u;
    for (int n = 0; n < 200000; n++) {
        float v[2];
        for (float &x : v) {
            random = random * 1664525u + 1013904223u;
            x = __builtin_bit_cast(float, random ^ random >> 15);
        }
        check_parts(v[0]);
        check_pair(v[0], v[1], random);
    }
    printf("%zu checks of overloads, parts and integers, %zu of them failed\n", passed + failed,
           failed);
    *(failed ? failed_out : passed_out) += 1;
}
