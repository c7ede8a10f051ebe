// Pointers in buffers are to buffers.
#include <metal_stdlib>
using namespace metal;
struct tables {
    device float *values;
    constant int *sizes;
    device const float *const *rows;
};
struct shared {
    threadgroup float *tile;
    int size;
};
struct outer {
    int n;
    shared inner;
};
struct own {
    thread int &counter;
};
struct walk {
    device float *next;
    float first(threadgroup const float *p) { return *p; }
};
kernel void k(device float *x [[buffer(0)]], constant tables &t [[buffer(1)]],
              device shared *s [[buffer(2)]], // REFUSED: takes no buffer of structs that hold pointers
              constant outer &o [[buffer(3)]], // REFUSED: takes no buffer of structs that hold pointers
              constant own &w [[buffer(4)]], // REFUSED: takes no buffer of structs that hold pointers
              device walk *v [[buffer(5)]]) {
    shared local = {nullptr, 4};
    x[0] = t.values[0] + t.sizes[0] + s->size + o.n + local.size + v->next[0];
}
