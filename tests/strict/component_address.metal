// A component of a vector has no address.
#include <metal_stdlib>
using namespace metal;
struct point { float x, y; };
kernel void k(device float *x [[buffer(0)]], device float4 *all [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    float4 v = all[i];
    point p = {v.x, v.y};
    thread float *one = &v.x; // REFUSED: no address of a vector's component
    thread float2 *two = (thread float2 *)(&v.xy); // REFUSED: no address of a vector's component
    thread float &three = v.z; // REFUSED: no reference to a vector's component
    thread float *four = &v[i & 3]; // REFUSED: no address of a vector's component
    device float *five = &all->x; // REFUSED: no address of a vector's component
    device float *six = &all[i].y; // REFUSED: no address of a vector's component
    float4 rows[2] = {v, v};
    thread float4 *row = &rows[i & 1];
    device float4 *next = &all[1];
    float mask = (v.x) > 0 ? x[0] : x[1];
    thread float *whole = (thread float *)&v, *member = &p.x;
    thread float &other = p.y;
    uint bits = i & uint(v.x);
    x[i] = *one + two->x + three + whole[1] + *member + other + bits + *four + *five + *six + row->x + next->y + mask;
}
