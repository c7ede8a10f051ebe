// A member function without a space is for objects in thread memory.
// ALL PASSES
#include <metal_stdlib>
using namespace metal;
struct sample {
    float a;
    float get() const { return a; }
    float both() const thread { return a; }
    float both() const device { return a; }
    sample operator+(sample other) const { return {a + other.a}; }
    void add(thread const float &b) { a += b; }
};
template <typename T> struct pair {
    T a, b;
    T sum() const { return a + b; }
};
namespace tools {
float read(thread const float &x) { return x; }
float load(device const float *p) { return *p; }
}
kernel void k(device sample *s [[buffer(0)]], device float *x [[buffer(1)]], constant sample &c [[buffer(2)]]) {
    threadgroup pair<float> shared;
    sample local = s[1], other = s[2];
    shared.a = shared.b = 1;
    x[0] = s->get(); // REFUSED: device becomes one to thread
    x[1] = c.get(); // REFUSED: constant becomes one to thread
    x[2] = (s[0] + local).a; // REFUSED: device becomes one to thread
    x[3] = shared.sum(); // REFUSED: threadgroup becomes one to thread
    local.add(x[4]); // REFUSED: device becomes one to thread
    x[5] = tools::read(x[4]); // REFUSED: device becomes one to thread
    x[6] = s->both() + local.both() + local.get() + (local + other).a + tools::load(x);
    pair<float> mine = {1, 2};
    x[7] = mine.sum();
}
