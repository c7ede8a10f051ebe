// Messages go to a variable of the module; kernels without any have none (stream.metal).
// WANT: \.visible \.global \.align 16 \.b8 ingot_log\[65536\]
// WANT: atom\.(relaxed\.)?(gpu\.|sys\.)?global\.add\.u32
#include <metal_logging>
#include <metal_stdlib>
using namespace metal;

kernel void messages(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (x[i] < 0)
        os_log_default.log_error("thread %u has %d", i, x[i]);
}
