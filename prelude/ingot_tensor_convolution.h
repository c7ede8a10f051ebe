/*
 * mpp::tensor_ops::convolution2d: a product of matrices whose left one is gathered. Row p of the
 * result is pixel (p % W, p / W % H) of image p / (W * H), column o is a channel; for each place of
 * the window, channels of the activation times channels of the weights are added.
 *
 * Tensors have dimension 0 first: activation (channel, x, y, image), weights (output channel,
 * input channel, x, y), destination (output channel, x, y, image). What is outside the activation
 * is 0. The pixel of the activation in the middle of the window, at ceil((size - 1) * dilation /
 * 2), is that of the result times the stride, plus set_offsets().
 */
#pragma once
#include "ingot_tensor_ops.h"

namespace mpp {
namespace tensor_ops {
enum class convolution2d_activation_layout { nhwc };
enum class convolution2d_weights_layout { hwio };

struct __ingot_int2 {
    int x, y;
};
struct __ingot_int4 {
    int x, y, z, w;
};
struct convolution2d_descriptor {
    enum class mode { multiply, multiply_accumulate };
    __ingot_int4 destination_dimensions, source_dimensions;
    __ingot_int2 kernel_dimensions;
    convolution2d_activation_layout activation_layout;
    convolution2d_weights_layout weights_layout;
    __ingot_int2 strides, dilations;
    int groups;
    bool relaxed_precision;
    mode convolution2d_mode;
    constexpr convolution2d_descriptor(
        int4 destination, int4 source, int2 kernel,
        convolution2d_activation_layout activation_layout = convolution2d_activation_layout::nhwc,
        convolution2d_weights_layout weights_layout = convolution2d_weights_layout::hwio,
        int2 strides = int2(1, 1), int2 dilations = int2(1, 1), int groups = 1,
        bool relaxed_precision = false, mode convolution2d_mode = mode::multiply)
        : destination_dimensions{destination.x, destination.y, destination.z, destination.w},
          source_dimensions{source.x, source.y, source.z, source.w},
          kernel_dimensions{kernel.x, kernel.y}, activation_layout(activation_layout),
          weights_layout(weights_layout), strides{strides.x, strides.y},
          dilations{dilations.x, dilations.y}, groups(groups), relaxed_precision(relaxed_precision),
          convolution2d_mode(convolution2d_mode) {}
};

/* The activation as this SIMD-group's left operand at one place of the window: row i is a pixel. */
template <class C, class Tensor, int W, int H, int SX, int SY> struct __ingot_gathered_operand {
    static constexpr bool in_memory = true;
    const Tensor &activation;
    int first, channels, x, y; /* of the pixel for pixel (0, 0) of the result */
    template <bool WHOLE> __ingot_inline simdgroup_matrix<C, 8, 8> tile(int i, int k) const {
        int row = first + 8 * i + __ingot_lane_row(), channel = k + __ingot_lane_column();
        int px = x + row % W * SX, py = y + row / W % H * SY, image = row / (W * H);
        using value = decltype(activation.load(0, 0, 0, 0));
        __ingot_two<value> own = {value(0), value(0)};
        if (channel < channels) {
            own.x = activation.load(channel, px, py, image);
        }
        if (channel + 1 < channels) {
            own.y = activation.load(channel + 1, px, py, image);
        }
        return __ingot_tile_of<C>(own);
    }
    __ingot_inline bool is_whole(int) const {
        return false;
    }
};

template <convolution2d_descriptor Descriptor, class Scope, class... Args> class convolution2d {
    static_assert(is_execution_simdgroups_v<Scope>,
                  "the scope of convolution2d is execution_simdgroups<N>");
    static_assert(Descriptor.groups == 1, "convolution2d has one group of channels");
    static constexpr int simdgroups = int(Scope::static_size);
    static constexpr int O = Descriptor.destination_dimensions.x;
    static constexpr int W = Descriptor.destination_dimensions.y;
    static constexpr int H = Descriptor.destination_dimensions.z;
    static constexpr int images = Descriptor.destination_dimensions.w;
    static_assert(O > 0 && W > 0 && H > 0 && images > 0,
                  "convolution2d needs the size of what it gives");
    static constexpr int M = W * H * images;
    static constexpr int KW = Descriptor.kernel_dimensions.x, KH = Descriptor.kernel_dimensions.y;
    static constexpr int DX = Descriptor.dilations.x, DY = Descriptor.dilations.y;
    static constexpr bool accumulate =
        Descriptor.convolution2d_mode == convolution2d_descriptor::mode::multiply_accumulate;
    using layout = __ingot_image_layout<__ingot_tile_layout<M, O, simdgroups>, W, H>;
    template <class T, class Index>
    using result = cooperative_tensor<
        T, metal::extents<Index, size_t(O), size_t(W), size_t(H), size_t(images)>, layout>;
    __ingot_int2 offsets = {0, 0};

  public:
    static constexpr convolution2d_descriptor descriptor = Descriptor;
    using scope = Scope;
    template <class A, class B, class T, class Index = int, class... More>
    using cooperative_tensor_destination_t = result<T, Index>;

    convolution2d() = default;
    __ingot_inline void set_offsets(int2 pixels) {
        offsets = {pixels.x, pixels.y};
    }
    template <class A, class B, class T, class Index = int, class... More>
    __ingot_inline auto get_destination_cooperative_tensor() const {
        return result<T, Index>();
    }
    template <class A, class B, class D>
    __ingot_inline void run(const A &activation, const B &weights, D &destination) const {
        static_assert(A::__rank == 4 && B::__rank == 4, "convolution2d takes tensors of rank 4");
        if constexpr (__ingot_is_cooperative<D>) {
            add_up<accumulate>(activation, weights, destination);
        } else {
            result<typename D::value_type, int> made;
            if constexpr (accumulate) {
                made.load(destination);
            }
            add_up<accumulate>(activation, weights, made);
            made.store(destination);
        }
    }

  private:
    template <bool ACCUMULATE, class A, class B, class D>
    __ingot_inline void add_up(const A &activation, const B &weights, D &made) const {
        using C = __ingot_tile_element<typename A::value_type, typename B::value_type>;
        using T = typename D::value_type;
        using sum = conditional_t<__is_integral(T), T, float>;
        using place = __ingot_place<M, O, simdgroups>;
        using tiles = __ingot_tile_layout<M, O, simdgroups>;
        constexpr int rows = place::share.rows, columns = place::share.columns;
        using P = remove_reference_t<decltype(*weights.__data)>;
        int stated = Descriptor.source_dimensions.x;
        int channels = int(activation.__limits[0]);
        channels = __ingot_is_stated(stated) && stated < channels ? stated : channels;
        channels = int(weights.__limits[1]) < channels ? int(weights.__limits[1]) : channels;
        sum sums[tiles::capacity];
        __INGOT_UNROLL for (int i = 0; i < tiles::capacity; i++) {
            sums[i] = ACCUMULATE ? sum(made.__elements[i]) : sum(0);
        }
        for (int window = 0; window < KW * KH; window++) {
            int kx = window % KW, ky = window / KW;
            __ingot_gathered_operand<C, A, W, H, Descriptor.strides.x, Descriptor.strides.y> left =
                {activation, place::row(), channels, offsets.x + kx * DX - ((KW - 1) * DX + 1) / 2,
                 offsets.y + ky * DY - ((KH - 1) * DY + 1) / 2};
            bool inside = kx < int(weights.__limits[2]) && ky < int(weights.__limits[3]);
            __ingot_matrix<typename B::value_type, P> matrix = {
                weights.__data,
                weights.__origin + kx * long(weights.__strides[2]) +
                    ky * long(weights.__strides[3]),
                long(weights.__strides[0]),
                long(weights.__strides[1]),
                int(weights.__limits[0]),
                channels};
            __ingot_memory_operand<C, true, false, typename B::value_type, P> right = {
                matrix, place::column()};
            __ingot_multiply<tiles, rows, columns, 0, true, C>(left, right, sums,
                                                               inside ? channels : 0);
        }
        __INGOT_UNROLL for (int i = 0; i < tiles::capacity; i++) {
            made.__elements[i] = __ingot_converted<T>(sums[i]);
        }
    }
};
} // namespace tensor_ops
} // namespace mpp
