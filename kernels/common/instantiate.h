/* Instantiates a kernel template for the three float types, as NAME_f32, NAME_f16, NAME_bf16. */
#ifndef INGOT_KERNELS_COMMON_INSTANTIATE_H
#define INGOT_KERNELS_COMMON_INSTANTIATE_H

#define INSTANTIATE_KERNEL(host, ...)                                                              \
    template [[host_name(host)]] [[kernel]] decltype(__VA_ARGS__) __VA_ARGS__;
#define INSTANTIATE_FLOATS(name)                                                                   \
    INSTANTIATE_KERNEL(#name "_f32", name<float>)                                                  \
    INSTANTIATE_KERNEL(#name "_f16", name<half>)                                                   \
    INSTANTIATE_KERNEL(#name "_bf16", name<bfloat>)

#endif
