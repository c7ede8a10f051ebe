/*
 * Tensors that the host binds, as parameters of kernels. The argument is one ingot_tensor
 * (ingot.h): the address of the data, then extents and strides in elements, dimension 0 first.
 */
#pragma once
#include "ingot_parameters.h"
#include "ingot_tensor.h"

template <class P> struct __ingot_bound_tensor {
    P *data;
    long extents[metal::__ingot_max_rank], strides[metal::__ingot_max_rank];
};

template <class T, class Extents, class... Tags>
struct __ingot_argument<metal::tensor<T, Extents, metal::tensor_handle, Tags...>> {
    using tensor = metal::tensor<T, Extents, metal::tensor_handle, Tags...>;
    using storage = metal::remove_reference_t<decltype(*typename tensor::data_handle_type())>;
    using bound = __ingot_bound_tensor<storage>;
    static_assert(__ingot_space<storage>::value == 1 || __ingot_space<storage>::value == 6,
                  "a kernel parameter must be a tensor of device or constant memory");
    template <uint ORDINAL, uint INDEX>
    static __ingot_inline tensor fetch(const char *name, bool active) {
        constexpr uint flags = 1 | (__is_const(storage) ? 0 : 2);
        __ingot_param(ORDINAL, 1, 6, INDEX, sizeof(bound), alignof(bound), 0, 0, flags, active,
                      name, __ingot_type_name<tensor>());
        __ingot_constant bound *from = (__ingot_constant bound *)__ingot_arg_constant(ORDINAL);
        tensor result;
        result.__data = from->data;
        result.__origin = 0;
        for (size_t r = 0; r < tensor::__rank; r++) {
            using index = typename tensor::index_type;
            index length = index(from->extents[r]);
            size_t stated = Extents::static_extent(r);
            bool shorter = stated != metal::dynamic_extent && index(stated) < length;
            result.__extents.__values[r] = length;
            result.__limits[r] = shorter ? index(stated) : length;
            result.__strides[r] = index(from->strides[r]);
        }
        return result;
    }
};
template <class T, class Extents, class... Tags>
struct __ingot_argument<const metal::tensor<T, Extents, metal::tensor_handle, Tags...>>
    : __ingot_argument<metal::tensor<T, Extents, metal::tensor_handle, Tags...>> {};
