/*
 * The swizzle members of vec<T, 2…4> and packed_vec: every word of two to four letters over
 * xyzw, and the same over rgba. __INGOT_SWIZZLES_N expands to
 *   __INGOT_SWIZZLE_GET(n, xy…, x, y, …)  __INGOT_SWIZZLE_PUT(n, xy…, x, y, …)
 * and two properties for each word, where the class defines what GET and PUT are. For editors a
 * word is a member, since plain clang forgets about properties in some templates.
 */
#pragma once

#ifdef __INGOT_EDITOR__
#define __INGOT_SWIZZLE(n, xyzw, rgba, ...)                                                        \
    static vec<T, n> xyzw;                                                                         \
    static vec<T, n> rgba;
#else
#define __INGOT_SWIZZLE(n, xyzw, rgba, ...)                                                        \
    __INGOT_SWIZZLE_GET(n, xyzw, __VA_ARGS__)                                                      \
    __INGOT_SWIZZLE_PUT(n, xyzw, __VA_ARGS__)                                                      \
    __declspec(property(get = __ingot_get_##xyzw, put = __ingot_put_##xyzw)) vec<T, n> xyzw;       \
    __declspec(property(get = __ingot_get_##xyzw, put = __ingot_put_##xyzw)) vec<T, n> rgba;
#endif

/* One letter more at each level; each letter comes as its xyzw and its rgba name. */
#define __INGOT_WORD2(a, A, b, B)             __INGOT_SWIZZLE(2, a##b, A##B, a, b)
#define __INGOT_WORD3(a, A, b, B, c, C)       __INGOT_SWIZZLE(3, a##b##c, A##B##C, a, b, c)
#define __INGOT_WORD4(a, A, b, B, c, C, d, D) __INGOT_SWIZZLE(4, a##b##c##d, A##B##C##D, a, b, c, d)

#define __INGOT_LETTERS1_2(F)                 F(x, r) F(y, g)
#define __INGOT_LETTERS2_2(F, ...)            F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g)
#define __INGOT_LETTERS3_2(F, ...)            F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g)
#define __INGOT_LETTERS4_2(F, ...)            F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g)
#define __INGOT_LETTERS1_3(F)                 __INGOT_LETTERS1_2(F) F(z, b)
#define __INGOT_LETTERS2_3(F, ...)            __INGOT_LETTERS2_2(F, __VA_ARGS__) F(__VA_ARGS__, z, b)
#define __INGOT_LETTERS3_3(F, ...)            __INGOT_LETTERS3_2(F, __VA_ARGS__) F(__VA_ARGS__, z, b)
#define __INGOT_LETTERS4_3(F, ...)            __INGOT_LETTERS4_2(F, __VA_ARGS__) F(__VA_ARGS__, z, b)
#define __INGOT_LETTERS1_4(F)                 __INGOT_LETTERS1_3(F) F(w, a)
#define __INGOT_LETTERS2_4(F, ...)            __INGOT_LETTERS2_3(F, __VA_ARGS__) F(__VA_ARGS__, w, a)
#define __INGOT_LETTERS3_4(F, ...)            __INGOT_LETTERS3_3(F, __VA_ARGS__) F(__VA_ARGS__, w, a)
#define __INGOT_LETTERS4_4(F, ...)            __INGOT_LETTERS4_3(F, __VA_ARGS__) F(__VA_ARGS__, w, a)

#define __INGOT_WORDS2_2(...)                 __INGOT_LETTERS2_2(__INGOT_WORD2, __VA_ARGS__)
#define __INGOT_WORDS3B_2(...)                __INGOT_LETTERS3_2(__INGOT_WORD3, __VA_ARGS__)
#define __INGOT_WORDS3_2(...)                 __INGOT_LETTERS2_2(__INGOT_WORDS3B_2, __VA_ARGS__)
#define __INGOT_WORDS4C_2(...)                __INGOT_LETTERS4_2(__INGOT_WORD4, __VA_ARGS__)
#define __INGOT_WORDS4B_2(...)                __INGOT_LETTERS3_2(__INGOT_WORDS4C_2, __VA_ARGS__)
#define __INGOT_WORDS4_2(...)                 __INGOT_LETTERS2_2(__INGOT_WORDS4B_2, __VA_ARGS__)

#define __INGOT_WORDS2_3(...)                 __INGOT_LETTERS2_3(__INGOT_WORD2, __VA_ARGS__)
#define __INGOT_WORDS3B_3(...)                __INGOT_LETTERS3_3(__INGOT_WORD3, __VA_ARGS__)
#define __INGOT_WORDS3_3(...)                 __INGOT_LETTERS2_3(__INGOT_WORDS3B_3, __VA_ARGS__)
#define __INGOT_WORDS4C_3(...)                __INGOT_LETTERS4_3(__INGOT_WORD4, __VA_ARGS__)
#define __INGOT_WORDS4B_3(...)                __INGOT_LETTERS3_3(__INGOT_WORDS4C_3, __VA_ARGS__)
#define __INGOT_WORDS4_3(...)                 __INGOT_LETTERS2_3(__INGOT_WORDS4B_3, __VA_ARGS__)

#define __INGOT_WORDS2_4(...)                 __INGOT_LETTERS2_4(__INGOT_WORD2, __VA_ARGS__)
#define __INGOT_WORDS3B_4(...)                __INGOT_LETTERS3_4(__INGOT_WORD3, __VA_ARGS__)
#define __INGOT_WORDS3_4(...)                 __INGOT_LETTERS2_4(__INGOT_WORDS3B_4, __VA_ARGS__)
#define __INGOT_WORDS4C_4(...)                __INGOT_LETTERS4_4(__INGOT_WORD4, __VA_ARGS__)
#define __INGOT_WORDS4B_4(...)                __INGOT_LETTERS3_4(__INGOT_WORDS4C_4, __VA_ARGS__)
#define __INGOT_WORDS4_4(...)                 __INGOT_LETTERS2_4(__INGOT_WORDS4B_4, __VA_ARGS__)

#define __INGOT_SWIZZLES_2                                                                         \
    __INGOT_LETTERS1_2(__INGOT_WORDS2_2)                                                           \
    __INGOT_LETTERS1_2(__INGOT_WORDS3_2)                                                           \
    __INGOT_LETTERS1_2(__INGOT_WORDS4_2)
#define __INGOT_SWIZZLES_3                                                                         \
    __INGOT_LETTERS1_3(__INGOT_WORDS2_3)                                                           \
    __INGOT_LETTERS1_3(__INGOT_WORDS3_3)                                                           \
    __INGOT_LETTERS1_3(__INGOT_WORDS4_3)
#define __INGOT_SWIZZLES_4                                                                         \
    __INGOT_LETTERS1_4(__INGOT_WORDS2_4)                                                           \
    __INGOT_LETTERS1_4(__INGOT_WORDS3_4)                                                           \
    __INGOT_LETTERS1_4(__INGOT_WORDS4_4)
