// Functions are called by their names, or are arguments of templates.
// ALL PASSES
#include <metal_stdlib>
using namespace metal;
float twice(float a) { return 2 * a; }
template <float (*F)(float)> float by_template(float a) { return F(a); }
struct functor {
    float operator()(float a) const { return a + 1; }
};
template <class F> float apply(F f, float a) { return f(a); }
kernel void k(device float *x [[buffer(0)]]) {
    x[0] = by_template<twice>(x[1]) + apply(functor(), x[2]);
    float (*pointer)(float) = twice; // REFUSED: pointers to [[visible]] functions only
    x[3] = pointer(x[4]);
    x[5] = apply(twice, x[6]); // REFUSED: pointers to [[visible]] functions only
}
