// Rows of new tokens written into their slots of a paged cache. One SIMD-group to a token and
// head; a slot that is negative or past the end is left out.
#include <metal_stdlib>
using namespace metal;
#include "attention_paged/attention_paged_args.h"
#include "common/instantiate.h"

template <typename T>
inline void write_row(device const T *from, device T *cache, constant cache_rows &rows, uint token,
                      uint head, ulong to, uint lane) {
    from += token * rows.token_stride + head * rows.head_stride;
    cache += to * rows.depth;
    for (uint d = lane; d < rows.depth; d += 32)
        cache[d] = from[d];
}

template <typename T, typename Slot>
kernel void cache_write(device const T *key [[buffer(0)]],
                        device const T *value [[buffer(1)]],
                        device const Slot *slots [[buffer(2)]],
                        device T *key_cache [[buffer(3)]],
                        device T *value_cache [[buffer(4)]],
                        constant cache_write_args &args [[buffer(5)]],
                        uint2 group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]]) {
    uint token = group.x, head = group.y;
    long slot = long(slots[token]);
    if (slot < 0 || slot >= args.slots)
        return;
    ulong block = ulong(slot) / args.block, within = ulong(slot) % args.block;
    ulong to = (block * args.heads + head) * args.block + within;
    write_row(key, key_cache, args.key, token, head, to, lane);
    write_row(value, value_cache, args.value, token, head, to, lane);
}

// Elements are moved as they are: by size, not by type.
INSTANTIATE_KERNEL("cache_write_4_i32", cache_write<uint, int>)
INSTANTIATE_KERNEL("cache_write_4_i64", cache_write<uint, long>)
INSTANTIATE_KERNEL("cache_write_2_i32", cache_write<ushort, int>)
INSTANTIATE_KERNEL("cache_write_2_i64", cache_write<ushort, long>)
