// A member function qualified `constant` needs no `const` to be called on constant objects.
// RUN: kernel=k threads=1
// ARG 0: i32 [6 7]
// ARG 1: i32 [2 3]
// ARG 2: i32 [20 5]
// ARG 3: i32[6]
// EXPECT 3: i32 [42 6 25 15 13 13]
#include <metal_stdlib>
using namespace metal;

struct Shape {
    int a, b;
    int size() constant { return a * b; }
    int size() const device { return a + b; }
    int size() const thread { return a - b; }
};
struct Alone {
    int a, b;
    int sum() constant { return a + b; }
};
struct Alike {
    int a, b;
    int sum() constant { return a + b; }
    int sum() thread { return a + b; }
};

kernel void k(constant Shape *d [[buffer(0)]], constant Shape &e [[buffer(1)]],
              device const Shape *f [[buffer(2)]], device int *x [[buffer(3)]]) {
    x[0] = d->size();
    x[1] = e.size();
    x[2] = f->size();
    Shape own = *f;
    x[3] = own.size();
    x[4] = ((constant Alone *)d)->sum();
    Alike copy = {6, 7};
    x[5] = ((constant Alike *)d)->sum() == copy.sum() ? copy.sum() : -1;
}
