// An atomic is where it is: nothing copies it.
#include <metal_stdlib>
using namespace metal;
struct counter {
    atomic_int n;
    int limit;
};
int count(atomic_int a) { return 1; }
int limit_of(device counter &c) { return c.limit; }
kernel void k(device atomic_int *a [[buffer(0)]], device counter *c [[buffer(1)]], device int *x [[buffer(2)]]) {
    atomic_int copy = a[0]; // ERROR: call to deleted constructor of 'atomic_int'
    a[0] = a[1]; // ERROR: deleted operator '='
    x[0] = count(a[0]); // ERROR: call to deleted constructor of 'atomic_int'
    counter local = c[0]; // ERROR: call to implicitly-deleted copy constructor of 'counter'
    c[1] = c[0]; // ERROR: copy assignment operator is implicitly deleted
    x[1] = limit_of(c[0]);
    c[1].limit = c[0].limit;
}
