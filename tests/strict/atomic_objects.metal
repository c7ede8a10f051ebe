// Atomics are used by the functions for them only.
#include <metal_stdlib>
using namespace metal;
kernel void k(device atomic_int *a [[buffer(0)]], device int *n [[buffer(1)]]) {
    atomic_int local;
    *a += 1; // ERROR: no viable overloaded '+='
    int y = *a; // ERROR: no viable conversion
    *a = 1; // ERROR: no viable overloaded '='
    atomic_fetch_add_explicit(a, 1); // ERROR: no matching function for call
    atomic_fetch_add(a, 1); // ERROR: undeclared identifier
    atomic_fetch_add_explicit(n, 1, memory_order_relaxed); // ERROR: no matching function for call
    atomic_store_explicit(&local, 1, memory_order_relaxed); // ERROR: no matching function for call
    atomic_fetch_add_explicit(a, 1, memory_order_relaxed);
    n[0] = atomic_load_explicit(a, memory_order_relaxed);
}
