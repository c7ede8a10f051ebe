// Counts of the Mandelbrot set: every thread loops as long as its own point needs.
#include <metal_stdlib>
using namespace metal;

kernel void mandelbrot(device uchar *counts [[buffer(0)]],
                       uint2 p [[thread_position_in_grid]],
                       uint2 size [[threads_per_grid]]) {
    float2 c = float2(p) / float2(size) * float2(3.5, 2.4) - float2(2.5, 1.2);
    float2 z = 0;
    uint n = 0;
    while (n < 255 && dot(z, z) < 4) {
        z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
        n++;
    }
    counts[p.y * size.x + p.x] = uchar(n);
}
