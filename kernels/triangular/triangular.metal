// Triangular systems. A lane owns a column of the right-hand side, a SIMD-group 32 of them; eight
// rows at a time take the products with the rows solved before, then are solved in registers. Only
// the lower form is written: the host gives strides that turn the others into it.
#include <metal_stdlib>
using namespace metal;
#include "triangular/triangular_args.h"
#include "triangular/product_tiles.h"
#include "triangular/triangular_blocks.h"
#include "triangular/reflector_blocks.h"

kernel void triangular_solve(device const float *a_all [[buffer(0)]],
                             device const float *b_all [[buffer(1)]],
                             device float *x_all [[buffer(2)]],
                             constant triangular_args &args [[buffer(3)]],
                             uint2 group [[threadgroup_position_in_grid]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]],
                             uint simdgroups [[simdgroups_per_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]]) {
    const uint start = (group.y * simdgroups + simdgroup) * 32;
    if (start >= args.columns)
        return;
    const bool inside = start + lane < args.columns;
    const long a_row = args.a_row, a_column = args.a_column, x_row = args.x_row;
    device const float *a = a_all + args.a_first + group.x * args.a_matrix;
    device const float *b = b_all + args.x_first + group.x * args.x_matrix + start + lane;
    device float *x = x_all + args.x_first + group.x * args.x_matrix + start + lane;
    const bool unit = args.unit;
    uint k = 0;
    for (; k + 8 <= args.n; k += 8) {
        device const float *rows = a + k * a_row;
        float rest[8];
        for (uint r = 0; r < 8; r++)
            rest[r] = inside ? b[(k + r) * x_row] : 0;
        for (uint p = 0; p < k; p++) {
            float solved = inside ? x[p * x_row] : 0;
            device const float *at = rows + p * a_column;
            for (uint r = 0; r < 8; r++)
                rest[r] = fma(-at[r * a_row], solved, rest[r]);
        }
        device const float *block = rows + k * a_column;
        for (uint r = 0; r < 8; r++) {
            if (!unit)
                rest[r] /= block[r * (a_row + a_column)];
            for (uint q = r + 1; q < 8; q++)
                rest[q] = fma(-block[q * a_row + r * a_column], rest[r], rest[q]);
        }
        if (inside)
            for (uint r = 0; r < 8; r++)
                x[(k + r) * x_row] = rest[r];
    }
    for (; k < args.n; k++) {
        device const float *row = a + k * a_row;
        float rest = inside ? b[k * x_row] : 0, other = 0;
        uint p = 0;
        for (; p + 2 <= k; p += 2) {
            rest = fma(-row[p * a_column], inside ? x[p * x_row] : 0, rest);
            other = fma(-row[(p + 1) * a_column], inside ? x[(p + 1) * x_row] : 0, other);
        }
        if (p < k)
            rest = fma(-row[p * a_column], inside ? x[p * x_row] : 0, rest);
        rest += other;
        if (!unit)
            rest /= row[k * a_column];
        if (inside)
            x[k * x_row] = rest;
    }
}
