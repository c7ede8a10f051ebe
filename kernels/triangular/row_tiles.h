// Rows of a row-major matrix for lanes that own one each: neighbours in memory are loaded by
// neighbouring lanes, eight columns of four rows at a time, and exchanged through threadgroup
// memory.
#ifndef INGOT_KERNELS_TRIANGULAR_ROW_TILES_H
#define INGOT_KERNELS_TRIANGULAR_ROW_TILES_H

constexpr constant uint ROW_TILE_FLOATS = 32 * 9; // of threadgroup memory for each SIMD-group

// Element number e of a lane on the way: row e % 8 * 4 + lane / 8 of 32, column e / 8 * 8 + lane
// % 8.
inline uint2 row_tile_place(uint e, uint lane) {
    return uint2(e % 8 * 4 + lane / 8, e / 8 * 8 + lane % 8);
}

// From those elements to the WIDTH elements of the lane's own row.
template <uint WIDTH>
inline void tile_to_rows(thread float (&x)[WIDTH], threadgroup float *tile, uint lane) {
#pragma unroll
    for (uint first = 0; first < WIDTH; first += 8) {
#pragma unroll
        for (uint t = 0; t < 8; t++) {
            tile[(t * 4 + lane / 8) * 9 + lane % 8] = x[first + t];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint t = 0; t < 8; t++) {
            x[first + t] = tile[lane * 9 + t];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
}

#endif
