/*
 * The names of textures and samplers, and a few of meshes and rays. None can be used: these
 * declarations are for the functions and constants of a program whose other kernels have nothing to
 * do with textures. A kernel that has a texture as a parameter is refused by the front end, and one
 * that calls a member of
 * __ingot_texture by the driver (calls.c).
 */
#pragma once
#include "ingot_types.h"

namespace metal {
enum class access { sample, read, write, read_write };
enum memory_coherence { memory_coherence_threadgroup, memory_coherence_device };
enum class coord { normalized, pixel };
enum class address { clamp_to_zero, clamp_to_edge, clamp_to_border, repeat, mirrored_repeat };
enum class s_address { clamp_to_zero, clamp_to_edge, clamp_to_border, repeat, mirrored_repeat };
enum class t_address { clamp_to_zero, clamp_to_edge, clamp_to_border, repeat, mirrored_repeat };
enum class r_address { clamp_to_zero, clamp_to_edge, clamp_to_border, repeat, mirrored_repeat };
enum class border_color { transparent_black, opaque_black, opaque_white };
enum class filter { nearest, linear, bicubic };
enum class mag_filter { nearest, linear, bicubic };
enum class min_filter { nearest, linear, bicubic };
enum class mip_filter { none, nearest, linear };
enum class component { x, y, z, w };
enum class compare_func {
    never,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,
    always
};

struct max_anisotropy {
    constexpr max_anisotropy(int) {}
};
struct lod_clamp {
    constexpr lod_clamp(float, float) {}
};
struct level {
    constexpr level(float) {}
};
struct bias {
    constexpr bias(float) {}
};
template <int N> struct __ingot_gradient {
    constexpr __ingot_gradient(vec<float, N>, vec<float, N>) {}
};
using gradient2d = __ingot_gradient<2>;
using gradient3d = __ingot_gradient<3>;
using gradientcube = __ingot_gradient<3>;

struct sampler {
    template <class... A> constexpr sampler(A...) {}
};

struct min_lod_clamp {
    constexpr min_lod_clamp(float) {}
};
template <class T> struct sparse_color {
    bool resident() const;
    T value() const;
};

/* Nothing is defined: a call of any of these never gets as far as code. */
template <class R> struct __ingot_texture {
    template <class... A> R sample(A...) const;
    template <class... A> R sample_compare(A...) const;
    template <class... A> R gather(A...) const;
    template <class... A> R gather_compare(A...) const;
    template <class... A> sparse_color<R> sparse_sample(A...) const;
    template <class... A> sparse_color<R> sparse_sample_compare(A...) const;
    template <class... A> sparse_color<R> sparse_gather(A...) const;
    template <class... A> sparse_color<R> sparse_read(A...) const;
    template <class... A> float calculate_clamped_lod(A...) const;
    template <class... A> float calculate_unclamped_lod(A...) const;
    template <class... A> R read(A...) const;
    template <class... A> void write(A...) const;
    template <class... A> R atomic_load(A...) const;
    template <class... A> void atomic_store(A...) const;
    template <class... A> R atomic_fetch_add(A...) const;
    template <class... A> R atomic_fetch_sub(A...) const;
    template <class... A> R atomic_fetch_and(A...) const;
    template <class... A> R atomic_fetch_or(A...) const;
    template <class... A> R atomic_fetch_xor(A...) const;
    template <class... A> R atomic_exchange(A...) const;
    template <class... A> bool atomic_compare_exchange_weak(A...) const;
    template <class... A> R atomic_fetch_max(A...) const;
    template <class... A> R atomic_fetch_min(A...) const;
    uint get_width(uint lod = 0) const;
    uint get_height(uint lod = 0) const;
    uint get_depth(uint lod = 0) const;
    uint get_array_size() const;
    uint get_num_mip_levels() const;
    uint get_num_samples() const;
    void fence() const;
};

template <class T> using __ingot_texel = vec<T, 4>;
#define __INGOT_TEXTURE(name, result)                                                              \
    template <class T, access = access::sample, memory_coherence = memory_coherence_threadgroup>   \
    struct name : __ingot_texture<result> {};
__INGOT_TEXTURE(texture1d, __ingot_texel<T>)
__INGOT_TEXTURE(texture1d_array, __ingot_texel<T>)
__INGOT_TEXTURE(texture2d, __ingot_texel<T>)
__INGOT_TEXTURE(texture2d_array, __ingot_texel<T>)
__INGOT_TEXTURE(texture2d_ms, __ingot_texel<T>)
__INGOT_TEXTURE(texture2d_ms_array, __ingot_texel<T>)
__INGOT_TEXTURE(texture3d, __ingot_texel<T>)
__INGOT_TEXTURE(texturecube, __ingot_texel<T>)
__INGOT_TEXTURE(texturecube_array, __ingot_texel<T>)
__INGOT_TEXTURE(texture_buffer, __ingot_texel<T>)
__INGOT_TEXTURE(depth2d, T)
__INGOT_TEXTURE(depth2d_array, T)
__INGOT_TEXTURE(depth2d_ms, T)
__INGOT_TEXTURE(depth2d_ms_array, T)
__INGOT_TEXTURE(depthcube, T)
__INGOT_TEXTURE(depthcube_array, T)
#undef __INGOT_TEXTURE

/* ---- names in declarations around mesh functions, which are skipped ---- */
enum class topology { point, line, triangle };
template <class V, class P, int VERTICES, int PRIMITIVES, topology T> struct mesh {
    static constexpr uint max_vertices = VERTICES;
    static constexpr uint max_primitives = PRIMITIVES;
    void set_primitive_count(uint) const;
    template <class... A> void set_vertex(A...) const;
    template <class... A> void set_primitive(A...) const;
    template <class... A> void set_index(A...) const;
    template <class... A> void set_indices(A...) const;
};
struct mesh_grid_properties {
    void set_threadgroups_per_grid(vec<uint, 3>) const;
};

/* ---- ray tracing: a kernel that uses it is refused (frontend/msl/unsupported.c) ---- */
namespace raytracing {
struct ray {
    vec<float, 3> origin, direction;
    float min_distance, max_distance;
};
} // namespace raytracing
} // namespace metal
