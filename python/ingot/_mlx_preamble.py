"""The Metal source that stands in front of every kernel of `ingot.metal_kernel`.

MLX puts functions of its own in front of a custom kernel's source, and kernels use them by name: the
types float16_t, bfloat16_t and complex64_t, elem_to_loc and its variants, ceildiv, Limits, log1p,
and simd shuffles of 64-bit values. This is ingot's own text of them.
"""

COMMON = """\
#include <metal_stdlib>
using namespace metal;

typedef half float16_t;
typedef bfloat bfloat16_t;

#define MTL_CONST constant
#define MLX_MTL_CONST static constant constexpr const
#define MLX_MTL_PRAGMA_UNROLL _Pragma("clang loop unroll(full)")
#define MLX_MTL_LOOP_UNROLL _Pragma("clang loop unroll(full)")

template <typename U>
struct Limits {
  static constexpr constant U max = metal::numeric_limits<U>::max();
  static constexpr constant U min = metal::numeric_limits<U>::min();
  static constexpr constant U finite_max = metal::numeric_limits<U>::max();
  static constexpr constant U finite_min = metal::numeric_limits<U>::min();
};
#define INGOT_MLX_FLOAT_LIMITS(U)                                              \\
  template <>                                                                  \\
  struct Limits<U> {                                                           \\
    static constexpr constant U max = metal::numeric_limits<U>::infinity();    \\
    static constexpr constant U min = -metal::numeric_limits<U>::infinity();   \\
    static constexpr constant U finite_max = metal::numeric_limits<U>::max();  \\
    static constexpr constant U finite_min = -metal::numeric_limits<U>::max(); \\
  };
INGOT_MLX_FLOAT_LIMITS(half)
INGOT_MLX_FLOAT_LIMITS(float)
INGOT_MLX_FLOAT_LIMITS(bfloat16_t)
template <>
struct Limits<bool> {
  static constexpr constant bool max = true;
  static constexpr constant bool min = false;
};

template <typename N, typename M>
inline N ceildiv(N n, M m) {
  return (n + m - 1) / m;
}

/* Where element `elem`, counted in row-major order, lies in an array with these strides. */
template <typename Index = int64_t>
METAL_FUNC Index elem_to_loc(Index elem, constant const int *shape, constant const int64_t *strides, int ndim) {
  Index place = 0;
  for (int axis = ndim - 1; axis >= 0 && elem > 0; axis--) {
    Index extent = shape[axis];
    place += elem % extent * Index(strides[axis]);
    elem /= extent;
  }
  return place;
}
/* x runs over the last axis, y over the one before it, z over all the others. */
template <typename Index = int64_t>
METAL_FUNC Index elem_to_loc(uint3 elem, constant const int *shape, constant const int64_t *strides, int ndim) {
  Index place = elem.x * Index(strides[ndim - 1]) + elem.y * Index(strides[ndim - 2]);
  for (int axis = ndim - 3; axis >= 0; axis--) {
    place += elem.z % shape[axis] * Index(strides[axis]);
    elem.z /= shape[axis];
  }
  return place;
}
template <typename Index = int64_t>
METAL_FUNC Index elem_to_loc_1(uint elem, constant const int64_t &stride) {
  return elem * Index(stride);
}
template <typename Index = int64_t>
METAL_FUNC Index elem_to_loc_2(uint2 elem, constant const int64_t *strides) {
  return elem.x * Index(strides[1]) + elem.y * Index(strides[0]);
}
template <typename Index = int64_t>
METAL_FUNC Index elem_to_loc_3(uint3 elem, constant const int64_t *strides) {
  return elem.x * Index(strides[2]) + elem.y * Index(strides[1]) + elem.z * Index(strides[0]);
}
template <typename Index = int64_t>
METAL_FUNC vec<Index, 2> elem_to_loc_2_nd(uint3 elem, constant const int *shape, constant const int64_t *a_strides,
                                          constant const int64_t *b_strides, int ndim) {
  return vec<Index, 2>(elem_to_loc<Index>(elem, shape, a_strides, ndim),
                       elem_to_loc<Index>(elem, shape, b_strides, ndim));
}
template <typename Index = int64_t>
METAL_FUNC vec<Index, 3> elem_to_loc_3_nd(uint3 elem, constant const int *shape, constant const int64_t *a_strides,
                                          constant const int64_t *b_strides, constant const int64_t *c_strides,
                                          int ndim) {
  return vec<Index, 3>(elem_to_loc<Index>(elem, shape, a_strides, ndim),
                       elem_to_loc<Index>(elem, shape, b_strides, ndim),
                       elem_to_loc<Index>(elem, shape, c_strides, ndim));
}

/* log(1 + x) without the loss near 0: the rounding error of 1 + x is divided out. */
inline float log1p(float x) {
  float sum = 1.0f + x;
  if (sum == 1.0f) return x;
  if (sum == Limits<float>::max) return sum;
  return x * (metal::log(sum) / (sum - 1.0f));
}
inline bfloat16_t log1p(bfloat16_t x) { return bfloat16_t(log1p(float(x))); }
inline float16_t log1p(float16_t x) { return float16_t(log1p(float(x))); }

inline uint16_t bfloat16_to_uint16(bfloat16_t x) { return as_type<uint16_t>(x); }
inline bfloat16_t uint16_to_bfloat16(uint16_t x) { return as_type<bfloat16_t>(x); }

/* Metal shuffles values of at most 32 bits; these take the two halves of longer ones. */
#define INGOT_MLX_SHUFFLE(NAME, T)                                      \\
  inline T NAME(T data, uint16_t lane) {                                \\
    return as_type<T>(metal::NAME(as_type<uint2>(data), lane));         \\
  }
INGOT_MLX_SHUFFLE(simd_shuffle, uint64_t)
INGOT_MLX_SHUFFLE(simd_shuffle, int64_t)
INGOT_MLX_SHUFFLE(simd_shuffle_up, uint64_t)
INGOT_MLX_SHUFFLE(simd_shuffle_up, int64_t)
INGOT_MLX_SHUFFLE(simd_shuffle_down, uint64_t)
INGOT_MLX_SHUFFLE(simd_shuffle_down, int64_t)
inline bool simd_shuffle(bool data, uint16_t lane) { return metal::simd_shuffle(uint(data), lane); }
inline bool simd_shuffle_up(bool data, uint16_t lane) { return metal::simd_shuffle_up(uint(data), lane); }
inline bool simd_shuffle_down(bool data, uint16_t lane) { return metal::simd_shuffle_down(uint(data), lane); }

template <bool condition, typename T, typename U>
struct ConditionalType {
  using type = U;
};
template <typename T, typename U>
struct ConditionalType<true, T, U> {
  using type = T;
};
"""

COMPLEX = """\
struct complex64_t {
  float real;
  float imag;
  complex64_t() = default;
  constexpr complex64_t(float r, float i) : real(r), imag(i) {}
  constexpr complex64_t(float r) : real(r), imag(0.0f) {}
};
inline complex64_t operator+(complex64_t a, complex64_t b) { return {a.real + b.real, a.imag + b.imag}; }
inline complex64_t operator-(complex64_t a, complex64_t b) { return {a.real - b.real, a.imag - b.imag}; }
inline complex64_t operator-(complex64_t a) { return {-a.real, -a.imag}; }
inline complex64_t operator*(complex64_t a, complex64_t b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
inline complex64_t operator/(complex64_t a, complex64_t b) {
  float square = b.real * b.real + b.imag * b.imag;
  return {(a.real * b.real + a.imag * b.imag) / square, (a.imag * b.real - a.real * b.imag) / square};
}
inline bool operator==(complex64_t a, complex64_t b) { return a.real == b.real && a.imag == b.imag; }
inline bool operator!=(complex64_t a, complex64_t b) { return !(a == b); }
inline bool operator>(complex64_t a, complex64_t b) {
  return a.real > b.real || (a.real == b.real && a.imag > b.imag);
}
inline bool operator<(complex64_t a, complex64_t b) { return b > a; }
inline bool operator>=(complex64_t a, complex64_t b) { return !(b > a); }
inline bool operator<=(complex64_t a, complex64_t b) { return !(a > b); }
"""


def preamble(generated: str) -> str:
    """The functions for a generated kernel; those of complex numbers only if it mentions them."""
    return COMMON + COMPLEX if "complex64_t" in generated else COMMON
