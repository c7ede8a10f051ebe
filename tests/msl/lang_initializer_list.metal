// Lists of values in braces, for operators and constructors that take std::initializer_list.
// RUN: kernel=lists threads=1
// ARG 0: f32[9]
// EXPECT 0: f32 [1 2 3 4 10 3 20 20 6]
#include <metal_stdlib>
#include <metal_initializer_list>
using namespace metal;

template <typename T, int COLUMNS> struct storage {
    vec<T, 2> columns[COLUMNS];
    storage() thread = default;
    thread storage &operator=(initializer_list<vec<T, 2>> given) thread {
        size_t i;
        thread vec<T, 2> *one;
        for (i = 0, one = given.begin(); i < COLUMNS; ++i, ++one) {
            columns[i] = *one;
        }
        return *this;
    }
};
struct total {
    float sum;
    size_t count;
    total(initializer_list<float> given) : sum(0), count(given.size()) {
        for (float x : given) {
            sum += x;
        }
    }
};

kernel void lists(device float *out [[buffer(0)]]) {
    storage<float, 2> m;
    m = {float2(1, 2), float2(3, 4)};
    out[0] = m.columns[0].x;
    out[1] = m.columns[0].y;
    out[2] = m.columns[1].x;
    out[3] = m.columns[1].y;
    total t{2, 3, 5};
    out[4] = t.sum;
    out[5] = t.count;
    total u = {out[4], out[4]};
    out[6] = u.sum;
    total *p = &u;
    out[7] = p->sum;
    int n = 0;
    for (int x : {1, 2, 3}) {
        n += x;
    }
    out[8] = n;
}
