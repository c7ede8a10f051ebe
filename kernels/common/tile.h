/*
 * Pieces of kernels on 8 by 8 tiles (simdgroup_matrix): panels of a matrix are staged in
 * threadgroup memory, as elements of any type, with zeros where the matrix has none.
 */
#ifndef INGOT_KERNELS_COMMON_TILE_H
#define INGOT_KERNELS_COMMON_TILE_H

#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

constexpr constant uint TILE = 8;

/* What a SIMD-group has of a panel, and the panel's place in the matrix. */
struct panel_place {
    uint rows, columns; /* that the matrix has from the panel's first element on */
    uint simd, simds, lane;
};

/* panel[r][c] = source[r * stride + c] for ROWS by COLUMNS; lanes along the columns. Only as many
 * rows are written as there are in whole tiles. */
template <uint ROWS, uint COLUMNS, uint STRIDE, typename P, typename T>
inline void stage_panel(threadgroup P *panel, device const T *source, ulong stride,
                        panel_place place) {
    uint rows = min(ROWS, (place.rows + (TILE - 1)) & ~(TILE - 1));
    for (uint r = place.simd; r < rows; r += place.simds) {
        device const T *line = source + r * stride;
        uint columns = r < place.rows ? place.columns : 0;
        for (uint c = 0; c < COLUMNS; c += 32) {
            threadgroup P *to = panel + r * STRIDE + c;
            if (c + 32 <= columns && c + 32 <= COLUMNS) {
                to[place.lane] = P(line[c + place.lane]);
            } else if (c + place.lane < COLUMNS) {
                to[place.lane] = c + place.lane < columns ? P(line[c + place.lane]) : P(0);
            }
        }
    }
}

/* panel[r][c] = source[c * stride + r]: tile by tile, each transposed on its way. */
template <uint ROWS, uint COLUMNS, uint STRIDE, typename P, typename T>
inline void stage_panel_transposed(threadgroup P *panel, device const T *source, ulong stride,
                                   panel_place place) {
    uint rows = min(ROWS, (place.rows + (TILE - 1)) & ~(TILE - 1)) / TILE;
    for (uint t = place.simd; t < rows * (COLUMNS / TILE); t += place.simds) {
        uint r = t % rows * TILE, c = t / rows * TILE;
        threadgroup P *to = panel + r * STRIDE + c;
        device const T *from = source + c * stride + r;
        if (r + TILE <= place.rows && c + TILE <= place.columns) {
            simdgroup_matrix<T, 8, 8> tile;
            simdgroup_matrix<P, 8, 8> transposed;
            simdgroup_load(tile, from, stride, ulong2(0), true);
            transposed.thread_elements() = vec<P, 2>(tile.thread_elements());
            simdgroup_store(transposed, to, STRIDE);
            continue;
        }
        for (uint e = place.lane; e < TILE * TILE; e += 32) {
            uint er = e % TILE, ec = e / TILE;
            bool inside = r + er < place.rows && c + ec < place.columns;
            to[er * STRIDE + ec] = inside ? P(from[ec * stride + er]) : P(0);
        }
    }
}

#endif
