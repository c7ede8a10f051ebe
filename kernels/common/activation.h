/* Activations of a float or a vector of floats, each with its slope: F::value(x), and
 * F::both(x, value, slope), which shares the exponential. Every finite number gives a finite
 * result. Infinities follow the formulas, where infinity times zero is NaN, except that gelu of
 * minus infinity is 0. */
#ifndef INGOT_KERNELS_COMMON_ACTIVATION_H
#define INGOT_KERNELS_COMMON_ACTIVATION_H

#include <metal_stdlib>
using namespace metal;

/* The arithmetic of float, and that of half and bfloat, whose digits are fewer. */
struct full_precision {
    template <typename V> static V exponential(V x) {
        return exp(x);
    }
    template <typename V> static V quotient(V x, V y) {
        return x / y;
    }
};
struct half_precision {
    template <typename V> static V exponential(V x) {
        return fast::exp2(x * V(1.44269504f));
    }
    template <typename V> static V quotient(V x, V y) {
        return fast::divide(x, y);
    }
};

/* Quotients by numbers that are neither very large nor very small: an approximation and a step of
 * Newton's, for GPUs. */
struct refined_precision : full_precision {
    template <typename V> static V quotient(V x, V y) {
        V r = fast::divide(V(1), y);
        return x * fma(fma(-y, r, V(1)), r, r);
    }
};

/* x, or 0 where it is negative. Component by component: vectors of bool cost GPUs more. */
inline float not_negative(float x) {
    return x < 0.0f ? 0.0f : x;
}
inline float4 not_negative(float4 x) {
    return float4(not_negative(x.x), not_negative(x.y), not_negative(x.z), not_negative(x.w));
}

/* 1 / (1 + exp(-x)), and one minus that without its cancellation. */
template <typename P, typename V> inline void sigmoids(V x, thread V &s, thread V &rest) {
    V e = P::exponential(-abs(x));
    V near = P::quotient(V(1), V(1) + e), far = e * near;
    s = select(near, far, x < V(0));
    rest = select(far, near, x < V(0));
}

/* x * sigmoid(x) */
template <typename P> struct silu_by {
    template <typename V> static V value(V x) {
        return P::quotient(x, V(1) + P::exponential(-x));
    }
    template <typename V> static void both(V x, thread V &value, thread V &slope) {
        V s, rest;
        sigmoids<P>(x, s, rest);
        value = x * s;
        slope = fma(value, rest, s);
    }
};
/* The same of a float on GPUs, by approximations that are refined. Where the exponential is
 * infinite the sigmoid is exactly 0: minus infinity gives NaN, and other numbers 0, whether or not
 * the device keeps subnormals. */
struct silu_refined_function {
    template <typename V> static V value(V x) {
        V y = V(1) + fast::exp(-x);
        V r = fast::divide(V(1), y);
        return x * fma(fma(-min(y, V(FLT_MAX)), r, V(1)), r, r);
    }
};
using silu_function = silu_by<full_precision>;
using silu_half_function = silu_by<half_precision>;

/* x * Phi(x), Phi the normal distribution. Phi(-t) = exp(-t*t/2) * R(t) for t >= 0, where R is
 * smooth and falls like 1/t: a polynomial in s = 1/(1 + c t). So the tail keeps its digits, which
 * 1 + erf(x) would lose; and x * Phi(x) = max(x, 0) - |x| * Phi(-|x|). TAIL has R, the exponential,
 * and where it has gone to nothing. */
template <typename TAIL> struct gelu_by {
    template <typename V> static V value(V x) {
        V t = min(abs(x), V(TAIL::END));
        V q = TAIL::exponential(V(-0.5f) * t * t) * TAIL::ratio(t);
        return fma(-t, q, not_negative(x));
    }
    template <typename V> static void both(V x, thread V &value, thread V &slope) {
        V t = min(abs(x), V(TAIL::END));
        V density = TAIL::exponential(V(-0.5f) * t * t);
        V q = density * TAIL::ratio(t);
        value = fma(-t, q, select(x, V(0), x < V(0)));
        slope = fma(x, V(0.398942280f) * density, select(V(1) - q, q, x < V(0)));
    }
};

/* R to 2e-8 of its value, with an exact quotient. */
template <typename P> struct gelu_tail_single {
    static constexpr constant float END = 15;
    template <typename V> static V exponential(V x) {
        return fast::exp(x);
    }
    template <typename V> static V ratio(V t) {
        V s = P::quotient(V(1), fma(t, V(0.345f), V(1)));
        V r = fma(s, V(-0.0282887910f), V(0.144857660f));
        r = fma(s, r, V(-0.270355612f));
        r = fma(s, r, V(0.186329171f));
        r = fma(s, r, V(-0.0370488688f));
        r = fma(s, r, V(0.111583695f));
        r = fma(s, r, V(0.117288597f));
        r = fma(s, r, V(0.138014510f));
        return fma(s, r, V(0.137619630f)) * s;
    }
};

/* The same for values in half and bfloat, without a quotient: Phi(-t) = 2^P(t), P a polynomial. t
 * ends where the results are 0 in the type; Phi(-t) is right to LOG's error before. Slopes cancel,
 * and need more. */
template <typename LOG> struct gelu_by_log {
    template <typename V> static V value(V x) {
        V t = min(abs(x), V(LOG::END));
        return fma(-t, fast::exp2(LOG::value(t)), not_negative(x));
    }
};

/* to 5e-5 */
struct gelu_log_half {
    static constexpr constant float END = 6;
    template <typename V> static V value(V t) {
        V p = fma(t, V(2.29900634e-05f), V(-0.000611100055f));
        p = fma(t, p, V(0.00719556585f));
        p = fma(t, p, V(-0.051185336f));
        p = fma(t, p, V(-0.461271912f));
        p = fma(t, p, V(-1.15017426f));
        return fma(t, p, V(-1.00006473f));
    }
};

/* to 1.5e-4 */
struct gelu_log_bfloat {
    static constexpr constant float END = 13.2f;
    template <typename V> static V value(V t) {
        V p = fma(t, V(2.71626224e-08f), V(-1.73123237e-06f));
        p = fma(t, p, V(4.75493871e-05f));
        p = fma(t, p, V(-0.000743482378f));
        p = fma(t, p, V(0.00741625903f));
        p = fma(t, p, V(-0.0507947691f));
        p = fma(t, p, V(-0.462790489f));
        p = fma(t, p, V(-1.14903545f));
        return fma(t, p, V(-1.00018382f));
    }
};

/* R to 4e-5, which is enough for values in half and bfloat; slopes cancel, and need the other. */
struct gelu_tail_half {
    template <typename V> static V ratio(V t) {
        V s = fast::divide(V(1), fma(t, V(0.38f), V(1)));
        V r = fma(s, V(-0.0899293125f), V(0.188878804f));
        r = fma(s, r, V(0.0919777974f));
        r = fma(s, r, V(0.157830119f));
        return fma(s, r, V(0.151225075f)) * s;
    }
};

/* For devices without an instruction for exponentials: 2^n * e^r, for arguments from -87 to 0. */
struct gelu_tail_plain {
    static constexpr constant float END = 13.19f;
    static float power(float p, float n) {
        return as_type<float>(as_type<int>(p) + (as_type<int>(n) << 23));
    }
    static float4 power(float4 p, float4 n) {
        return as_type<float4>(as_type<int4>(p) + (as_type<int4>(n) << 23));
    }
    /* r, and n in the low bits of `rounded` */
    template <typename V> static V reduce(V x, thread V &rounded) {
        rounded = fma(x, V(1.44269504f), V(0x1.8p23f));
        return fma(rounded - V(0x1.8p23f), V(-0.693147181f), x);
    }
};

/* e^r to 3e-6 */
struct gelu_tail_half_plain : gelu_tail_plain {
    template <typename V> static V exponential(V x) {
        V n, r = reduce(x, n);
        V p = fma(r, V(0.0414581560f), V(0.167911544f));
        p = fma(p, r, V(0.500043750f));
        p = fma(p, r, V(0.999963284f));
        return power(fma(p, r, V(0.999999285f)), n);
    }
    template <typename V> static V ratio(V t) {
        return gelu_tail_half::ratio(t);
    }
};

/* e^r to 8e-5, R to 3e-4 */
struct gelu_tail_bfloat_plain : gelu_tail_plain {
    template <typename V> static V exponential(V x) {
        V n, r = reduce(x, n);
        V p = fma(r, V(0.165666208f), V(0.504973114f));
        p = fma(p, r, V(1.00016487f));
        return power(fma(p, r, V(0.999927819f)), n);
    }
    template <typename V> static V ratio(V t) {
        V s = fast::divide(V(1), fma(t, V(0.3f), V(1)));
        V r = fma(s, V(0.208846688f), V(0.0355841666f));
        r = fma(s, r, V(0.137480184f));
        return fma(s, r, V(0.118204057f)) * s;
    }
};

using gelu_function = gelu_by<gelu_tail_single<full_precision>>;
using gelu_refined_function = gelu_by<gelu_tail_single<refined_precision>>;
using gelu_half_slope_function = gelu_by<gelu_tail_single<half_precision>>;
using gelu_half_function = gelu_by_log<gelu_log_half>;
using gelu_bfloat_function = gelu_by_log<gelu_log_bfloat>;
using gelu_half_plain_function = gelu_by<gelu_tail_half_plain>;
using gelu_bfloat_plain_function = gelu_by<gelu_tail_bfloat_plain>;

/* x/2 * (1 + tanh(u)) = x * sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 x^3) */
template <typename P> struct gelu_tanh_by {
    template <typename V> static V value(V x) {
        V u = x * fma(x * x, V(0.0713548163f), V(1.59576912f));
        return P::quotient(x, V(1) + P::exponential(-u));
    }
    template <typename V> static void both(V x, thread V &value, thread V &slope) {
        V square = min(x * x, V(1024)); /* beyond, the sigmoid is 0 or 1 */
        V s, rest;
        sigmoids<P>(x * fma(square, V(0.0713548163f), V(1.59576912f)), s, rest);
        value = x * s;
        slope = fma(value * rest, fma(square, V(0.214064449f), V(1.59576912f)), s);
    }
};
using gelu_tanh_function = gelu_tanh_by<full_precision>;
using gelu_tanh_half_function = gelu_tanh_by<half_precision>;

#endif
