// Each of several functions ends by calling itself, and calls the next of them before: a counter of four digits.
// RUN: kernel=k threads=72 group=36
// ARG 0: i32[72]
// ARG 1: i32 [9 2 3 2]
// EXPECT 0: i32[72] = i % 2 + 10 * (idiv(i, 2) % 3) + 100 * (idiv(i, 6) % 2) + 1000 * idiv(i, 12)
#include <metal_stdlib>
using namespace metal;

template <int N> struct digits {
    digits<N - 1> above;
    int at = 0;
    void next(int n, constant int *sizes) thread {
        at += n;
        if (at >= sizes[N - 1]) {
            int extra = at - sizes[N - 1];
            if (extra >= sizes[N - 1]) {
                above.next(1 + extra / sizes[N - 1], sizes);
                extra = extra % sizes[N - 1];
            } else {
                above.next(1, sizes);
            }
            at = 0;
            if (extra > 0) {
                next(extra, sizes);
            }
        }
    }
    int shown() const thread { return at + 10 * above.shown(); }
};
template <> struct digits<1> {
    int at = 0;
    void next(int n, constant int *) thread { at += n; }
    int shown() const thread { return at; }
};

kernel void k(device int *x, constant int *sizes, uint i [[thread_position_in_grid]]) {
    digits<4> counter;
    counter.next(int(i), sizes);
    x[i] = counter.shown();
}
