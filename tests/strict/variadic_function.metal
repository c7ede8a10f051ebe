// Functions have as many arguments as they say; packs of templates are something else.
#include <metal_stdlib>
using namespace metal;
int count(int n, ...) { // REFUSED: has no functions with a variable number of arguments
    return n;
}
template <typename... A> float sum(A... all) {
    float s = 0;
    ((s += all), ...);
    return s;
}
kernel void k(device float *x [[buffer(0)]]) { x[0] = count(1, 2) + sum(1.0f, 2.0f); }
