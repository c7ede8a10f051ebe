// Singular values and vectors by one-sided Jacobi (jacobi.h): one SIMD-group per matrix up to 64
// columns, pairs of blocks of 32 columns beyond (svd_large.h). The matrix is taken as tall (svd_args.h).
#include <metal_stdlib>
using namespace metal;
#include "common/spectral.h"
#include "common/householder_ql.h"
#include "svd/svd_args.h"
#include "svd/jacobi.h"
#include "svd/svd_large.h"
#include "svd/svd_shared.h"

// What a matrix is while a SIMD-group has it.
template <typename P>
struct svd_problem {
    P work; // columns, each followed by its row of V'
    threadgroup svd_shared *shared;
    uint row, chunks, all_chunks;
    float scale;
    bool odd;
};

// The matrix's columns, not scaled yet, into rows of memory; finds scale and odd.
template <typename P>
inline void svd_load(thread svd_problem<P> &problem, device const float *in, P to, uint to_row,
                     constant svd_args &args, uint lane) {
    float largest = 0;
    bool odd = false;
    for (uint i = 0; i < args.count; i++) {
        for (uint c = 0; c < problem.chunks; c++) {
            uint l = c * 32 + lane;
            float x = 0;
            if (l < args.length) {
                x = in[args.wide ? ulong(i) * args.length + l : ulong(l) * args.count + i];
                largest = max(largest, abs(x));
                odd = odd || !isfinite(x);
            }
            to[ulong(i) * to_row + l] = x;
        }
    }
    problem.scale = spectral_scale(simd_max(largest));
    problem.odd = simd_any(odd);
    for (uint i = 0; i < args.count; i++) {
        for (uint c = 0; c < problem.chunks; c++) {
            to[ulong(i) * to_row + c * 32 + lane] *= problem.scale;
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
}

// V' = 1.
template <typename P>
inline void svd_unit(svd_problem<P> problem, uint count, uint lane) {
    for (uint i = 0; i < count; i++) {
        for (uint c = problem.chunks; c < problem.all_chunks; c++) {
            problem.work[i * problem.row + c * 32 + lane] = (c - problem.chunks) * 32 + lane == i ? 1 : 0;
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
}

template <uint C, uint D, typename P>
inline void svd_sweeps(svd_problem<P> problem, constant svd_args &args, uint lane) {
    svd_columns<false, P> columns = {problem.work, problem.work, args.count, 0, problem.row, problem.chunks,
                                     problem.all_chunks};
    uint even = max((args.count + 1) / 2 * 2, 2u);
    float tolerance = svd_tolerance(args.length);
    for (uint sweep = 0; sweep < SVD_MAX_SWEEPS && !problem.odd; sweep++) {
        float worst = 0;
        svd_squares<C>(columns, problem.shared, lane);
        for (uint round = 0; round < even - 1; round++) {
            worst = max(worst, svd_round<C, D>(columns, problem.shared, round, even, false, tolerance, lane));
        }
        if (simd_max(worst) <= svd_close) {
            break;
        }
    }
}

// Singular values and their order; columns of length 1; everything to where it belongs.
template <typename P>
inline void svd_finish(svd_problem<P> problem, device float *u, device float *s, device float *vh,
                       constant svd_args &args, uint lane) {
    uint count = args.count, row = problem.row, chunks = problem.chunks;
    P work = problem.work;
    bool odd = problem.odd;
    threadgroup float *lengths = problem.shared->squares;
    threadgroup uint *order = problem.shared->order;
    for (uint i = 0; i < count; i++) {
        float value = svd_length(work + i * row, chunks, lane);
        if (lane == 0) {
            lengths[i] = value;
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = lane; j < count; j += 32) {
        float x = lengths[j];
        uint rank = 0;
        for (uint i = 0; i < count; i++) {
            float y = lengths[i];
            rank += y > x || (y == x && i < j);
        }
        rank = odd ? j : rank;
        order[rank] = j;
        s[rank] = odd ? NAN : x / problem.scale;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (!args.vectors) {
        return;
    }
    float least = lengths[order[0]] * svd_negligible;
    for (uint place = 0; place < count && !odd; place++) {
        uint i = order[place];
        float value = lengths[i];
        if (value > least) {
            float inverse = 1 / value;
            for (uint c = 0; c < chunks; c++) {
                work[i * row + c * 32 + lane] *= inverse;
            }
        } else {
            svd_complete(work, order, place, args.length, row, chunks, lane);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    }
    // The columns are u's, or in a wide matrix vh's rows; V' the other way round.
    uint columns_at = args.wide ? chunks * 32 : 0, rows_at = args.wide ? 0 : chunks * 32;
    uint columns_length = args.wide ? count : args.length, rows_length = args.wide ? args.length : count;
    for (uint j = lane; j < count; j += 32) {
        uint from = order[j] * row + columns_at;
        for (uint l = 0; l < columns_length; l++) {
            u[ulong(l) * count + j] = odd ? NAN : work[from + l];
        }
    }
    for (uint k = 0; k < count; k++) {
        uint from = order[k] * row + rows_at;
        for (uint l = lane; l < rows_length; l += 32) {
            vh[ulong(k) * rows_length + l] = odd ? NAN : work[from + l];
        }
    }
}

// C: chunks of 32 of a column; D: of a column and its row of V'; 0: as args say.
template <uint C, uint D, typename P>
inline void svd_jacobi(device const float *in, device float *u, device float *s, device float *vh, P work,
                       threadgroup svd_shared *shared, constant svd_args &args, uint lane) {
    uint row = D > 0 ? D * 32 : args.row;
    svd_problem<P> problem = {work, shared, row, C > 0 ? C : args.padded / 32, row / 32, 1, false};
    svd_load(problem, in, work, row, args, lane);
    svd_unit(problem, args.count, lane);
    svd_sweeps<C, D>(problem, args, lane);
    svd_finish(problem, u, s, vh, args, lane);
}

// a'a of `count` columns into the lower triangle, and from there into the upper one.
template <uint C, uint ld>
inline void svd_gram(device const float *columns, uint chunks, device float *gram, uint count, uint lane) {
    for (uint i = 0; i < count; i++) {
        for (uint j = 0; j < ld / 32; j++) {
            float products = 0;
            for (uint k = j * 32; k < min(j * 32 + 32, i + 1); k++) {
                float g = svd_product<C>(columns + i * chunks * 32, columns + k * chunks * 32, chunks, lane);
                products = lane == k - j * 32 ? g : products;
            }
            gram[i * ld + j * 32 + lane] = products;
        }
    }
    simdgroup_barrier(mem_flags::mem_device);
    for (uint i = 0; i + 1 < count; i++) {
        for (uint k = i / 32 * 32 + lane; k < count; k += 32) {
            if (k > i) {
                gram[i * ld + k] = gram[k * ld + i];
            }
        }
    }
    simdgroup_barrier(mem_flags::mem_device);
}

// Row r of the product is the sum of q(r, i) times row i. q lies in tiles (eigh/tridiagonal.h).
template <uint C>
inline void svd_multiply(svd_problem<device float *> problem, device const float *columns,
                         device const float *q, uint tile, uint count, uint lane) {
    uint chunks = C > 0 ? C : problem.chunks, width = chunks * 32;
    for (uint first = 0; first < count; first += 4) {
        uint rows[4];
        for (uint r = 0; r < 4; r++) {
            rows[r] = min(first + r, count - 1);
        }
        for (uint c = 0; c < chunks; c++) {
            float sums[4] = {0, 0, 0, 0};
            for (uint i = 0; i < count; i++) {
                float x = columns[i * width + c * 32 + lane];
                device const float *factor = q + i / 32 * tile + i % 32;
                for (uint r = 0; r < 4; r++) {
                    sums[r] += factor[rows[r] * 32] * x;
                }
            }
            for (uint r = 0; r < 4; r++) {
                problem.work[rows[r] * problem.row + c * 32 + lane] = sums[r];
            }
        }
        for (uint r = 0; r < 4; r++) {
            for (uint c = chunks; c < problem.all_chunks; c++) {
                problem.work[rows[r] * problem.row + c * 32 + lane] =
                    (c - chunks) * 32 + lane < count ? q[(c - chunks) * tile + rows[r] * 32 + lane] : 0;
            }
        }
    }
    simdgroup_barrier(mem_flags::mem_device);
}

// Are all columns about equally long?
inline bool svd_columns_alike(threadgroup const float *squares, uint count, uint lane) {
    float least = INFINITY, most = 0;
    for (uint i = lane; i < count; i += 32) {
        least = min(least, squares[i]);
        most = max(most, squares[i]);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup); // others are stored there next
    return simd_max(most) <= svd_alike * simd_min(least);
}

// Jacobi after multiplication by the eigenvectors of a'a, by the methods of eigh, where columns are
// alike. E: chunks of 32 columns. Scratch memory: the columns, a'a and what belongs to it, the work space.
template <uint C, uint D, uint E>
inline void svd_after_gram(device const float *in, device float *u, device float *s, device float *vh,
                           device float *scratch, threadgroup svd_shared *shared, constant svd_args &args,
                           uint lane) {
    constexpr uint ld = 32 * E, tile = ld * 32 + 32;
    uint count = args.count, chunks = C > 0 ? C : args.padded / 32, row = D > 0 ? D * 32 : args.row;
    device float *vectors = scratch + count * chunks * 32, *gram = vectors + 5 * ld, *q = gram + ld * ld;
    ql_vectors own = {vectors, vectors + ld, vectors + 2 * ld, vectors + 3 * ld, vectors + 4 * ld};
    svd_problem<device float *> problem = {q + E * tile, shared, row, chunks, row / 32, 1, false};
    svd_load(problem, in, scratch, chunks * 32, args, lane);
    svd_columns<false, device float *> columns = {scratch, scratch, count, 0, chunks * 32, chunks, chunks};
    svd_squares<C>(columns, shared, lane);
    if (svd_columns_alike(shared->squares, count, lane) && !problem.odd) {
        svd_gram<C, ld>(scratch, chunks, gram, count, lane);
        ql_alone<E>(own, gram, q, count, true, lane);
        svd_multiply<C>(problem, scratch, q, tile, count, lane);
    } else {
        for (uint i = 0; i < count; i++) {
            for (uint c = 0; c < chunks; c++) {
                problem.work[i * row + c * 32 + lane] = scratch[(i * chunks + c) * 32 + lane];
            }
        }
        svd_unit(problem, count, lane);
    }
    svd_sweeps<C, D>(problem, args, lane);
    svd_finish(problem, u, s, vh, args, lane);
}

#define SVD_PARAMETERS                                                                             \
    device const float *a [[buffer(0)]], device float *u [[buffer(1)]],                            \
        device float *s [[buffer(2)]], device float *vh [[buffer(3)]],                             \
        device float *work [[buffer(4)]], constant svd_args &args [[buffer(5)]],                   \
        threadgroup float *memory [[threadgroup(0)]],                                              \
        uint3 group [[threadgroup_position_in_grid]],                                              \
        uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]

#define SVD_OWN                                                                                    \
    ulong matrix = ulong(group.x) * args.per_group + simd;                                         \
    if (matrix >= args.matrices) {                                                                 \
        return;                                                                                    \
    }                                                                                              \
    ulong tall = ulong(args.length) * args.count, square = ulong(args.count) * args.count;         \
    a += matrix * tall;                                                                            \
    u += matrix * (args.wide ? square : tall);                                                     \
    s += matrix * args.count;                                                                      \
    vh += matrix * (args.wide ? tall : square)

// Up to 32 x 32, in threadgroup memory: the shared part and 32 rows of 64 floats.
kernel void svd_jacobi_32(SVD_PARAMETERS) {
    SVD_OWN;
    threadgroup float *own = memory + simd * (sizeof(svd_shared) / 4 + 2048);
    svd_jacobi<1, 2>(a, u, s, vh, own + sizeof(svd_shared) / 4, (threadgroup svd_shared *)own, args, lane);
}

// In device memory: 64 is for up to 64 x 64, long for columns of any length (up to 64 of them).
#define SVD_KERNEL(name, function)                                                                 \
    kernel void name(SVD_PARAMETERS) {                                                             \
        SVD_OWN;                                                                                   \
        function(a, u, s, vh, work + matrix * args.matrix, (threadgroup svd_shared *)memory + simd, \
                 args, lane);                                                                      \
    }
#define SVD_JACOBI_64 svd_jacobi<2, 4>
#define SVD_JACOBI_LONG svd_jacobi<0, 0>
#define SVD_GRAM_32 svd_after_gram<1, 2, 1>
#define SVD_GRAM_64 svd_after_gram<2, 4, 2>
#define SVD_GRAM_LONG svd_after_gram<0, 0, 2>
SVD_KERNEL(svd_jacobi_64, SVD_JACOBI_64)
SVD_KERNEL(svd_jacobi_long, SVD_JACOBI_LONG)
SVD_KERNEL(svd_gram_32, SVD_GRAM_32)
SVD_KERNEL(svd_gram_64, SVD_GRAM_64)
SVD_KERNEL(svd_gram_long, SVD_GRAM_LONG)
