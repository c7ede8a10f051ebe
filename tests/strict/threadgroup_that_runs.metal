// A threadgroup variable whose constructor or destructor is code can be nowhere.
#include <metal_stdlib>
using namespace metal;
struct constructed {
    float a;
    constructed() { a = 2; }
};
struct destructed {
    float a;
    ~destructed() { a = 0; }
};
template <typename T> kernel void made(device float *x [[buffer(0)]]) {
    threadgroup T one; // ERROR: a variable in threadgroup memory has no constructor
    threadgroup T some[4]; // ERROR: a variable in threadgroup memory has no constructor
    one.a = some[0].a = 1;
    x[0] = one.a + some[0].a;
}
template [[host_name("constructed")]] kernel void made<constructed>(device float *);
template [[host_name("destructed")]] kernel void made<destructed>(device float *);
