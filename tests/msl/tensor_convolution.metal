// convolution2d: a window of 3 by 2, stride 2 across, dilation 2 down, what is outside is 0; a tensor
// that the host binds with strides; version 4.
// OPTIONS: msl=400
// RUN: kernel=convolve threads=64 group=64
// ARG 0: f32[210] = i % 7 - 3
// ARG 1: f32[180] = i % 5 - 2
// ARG 2: f32[60] = i
// EXPECT 2: f32[60] = i + sum(w, 0, 6, sum(c, 0, 6, (2 * (idiv(i, 5) % 3) + w % 3 - 1 < 0 ? 0 : 2 * (idiv(i, 5) % 3) + w % 3 - 1 > 6 ? 0 : idiv(i, 15) + 2 * idiv(w, 3) - 1 < 0 ? 0 : idiv(i, 15) + 2 * idiv(w, 3) - 1 > 4 ? 0 : (6 * (2 * (idiv(i, 5) % 3) + w % 3 - 1 + 7 * (idiv(i, 15) + 2 * idiv(w, 3) - 1)) + c) % 7 - 3) * ((5 * c + 30 * w + i % 5) % 5 - 2)))
#include <metal_stdlib>
#include <metal_tensor>
#include <metal_cooperative_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
#if !defined(__HAVE_TENSOR__) || __METAL_VERSION__ != 400
#error "no tensors"
#endif
using namespace metal;
using namespace mpp::tensor_ops;

[[kernel, required_threads_per_threadgroup(64, 1, 1)]]
void convolve(device float *x [[buffer(0)]], device float *weights [[buffer(1)]], device float *out [[buffer(2)]]) {
    using shape = dextents<int, 4>;
    auto activation = tensor(x, shape(6, 7, 5, 1));
    auto kernel_weights = tensor(weights, shape(5, 6, 3, 2));
    auto to = tensor(out, shape(5, 3, 4, 1));
    constexpr auto descriptor = convolution2d_descriptor(int4(5, 3, 4, 1), int4(6, 7, 5, 1), int2(3, 2),
        convolution2d_activation_layout::nhwc, convolution2d_weights_layout::hwio, int2(2, 1), int2(1, 2), 1, false,
        convolution2d_descriptor::mode::multiply_accumulate);
    convolution2d<descriptor, execution_simdgroups<2>> op;
    op.set_offsets(int2(0, 0));
    auto sums = op.get_destination_cooperative_tensor<decltype(activation), decltype(kernel_weights), float>();
    sums.load(to);
    op.run(activation, kernel_weights, sums);
    for (ushort i = 0; i < sums.get_capacity(); i++) {
        auto at = sums.get_multidimensional_index(i);
        if (sums.is_valid_element(i)) {
            to.store(sums[i], at);
        }
    }
}
