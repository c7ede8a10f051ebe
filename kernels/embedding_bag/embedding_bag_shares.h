/*
 * d_table by rows, for CPUs. The rows are shared out among `owners` SIMD-groups, SHARE neighbours
 * at a time. Each looks through all indices twice: it counts the entries of its rows, and puts them
 * behind each other, row by row and in their order. Then it adds up what a row gets and writes the
 * row once. No two write the same row, and the order of additions is that of the entries.
 */
#ifndef INGOT_KERNELS_EMBEDDING_BAG_SHARES_H
#define INGOT_KERNELS_EMBEDDING_BAG_SHARES_H

constexpr constant uint SHARE = 64;

/* One SIMD-group's share of the rows. `owners` is a power of two. */
template <typename I> struct row_share {
    device const I *indices;
    device uint *ends;   // of each row's entries in `places`
    device uint *places; // entries
    uint owner, owners, lane;

    /* Which of 32 entries are of its rows, as bits; `earlier`: of those of owners before it. */
    uint which(ulong first, constant embedding_bag_args &args, thread uint &earlier) {
        const long index = first + lane < args.entries ? long(indices[first + lane]) : -1;
        const bool counts = index >= 0 && index < args.rows && index != args.padding;
        const uint whose = uint(index) / SHARE & (owners - 1);
        earlier = uint(ulong(simd_vote::vote_t(simd_ballot(counts && whose < owner))));
        return uint(ulong(simd_vote::vote_t(simd_ballot(counts && whose == owner))));
    }

    /* `ends` counts the entries of each row; how many owners before it have. */
    uint count(constant embedding_bag_args &args) {
        for (ulong block = owner; block * SHARE < ulong(args.rows); block += owners) {
            for (ulong row = block * SHARE + lane; row < min((block + 1) * SHARE, ulong(args.rows));
                 row += 32) {
                ends[row] = 0;
            }
        }
        simdgroup_barrier(mem_flags::mem_device);
        uint before = 0;
        for (ulong first = 0; first < args.entries; first += 32) {
            uint earlier, mine = which(first, args, earlier);
            before += popcount(earlier);
            while (mine != 0) {
                const ulong row = ulong(indices[first + ctz(mine)]);
                mine &= mine - 1;
                if (lane == 0) {
                    ends[row]++;
                }
            }
        }
        simdgroup_barrier(mem_flags::mem_device);
        return before;
    }

    /* The entries from place `before` on; where they end. */
    uint place(constant embedding_bag_args &args, uint before) {
        for (ulong block = owner; block * SHARE < ulong(args.rows); block += owners) {
            for (uint k = 0; k < SHARE; k += 32) {
                const ulong row = block * SHARE + k + lane;
                const uint entries = row < ulong(args.rows) ? ends[row] : 0;
                const uint inside = simd_prefix_inclusive_sum(entries);
                if (row < ulong(args.rows)) {
                    ends[row] = before + inside - entries; // where they begin, until they are there
                }
                before += simd_broadcast(inside, ushort(31));
            }
        }
        simdgroup_barrier(mem_flags::mem_device);
        for (ulong first = 0; first < args.entries; first += 32) {
            uint earlier, mine = which(first, args, earlier);
            while (mine != 0) {
                const ulong entry = first + ctz(mine), row = ulong(indices[entry]);
                mine &= mine - 1;
                if (lane == 0) {
                    places[ends[row]++] = uint(entry);
                }
            }
        }
        simdgroup_barrier(mem_flags::mem_device);
        return before;
    }
};

/* What the entries at places `begin` to `end` add to PIECES times 32 columns, all of them there; 0:
 * to as many of the 128 as there are. The places go on to `last`. */
template <uint PIECES, typename T>
static void add_up_row(device const T *d_out, device const uint *bags, device const float *factors,
                       device const T *weights, device const uint *places, device T *to,
                       constant embedding_bag_args &args, uint begin, uint end, uint last,
                       uint columns, uint lane) {
    constexpr uint pieces = PIECES == 0 ? WIDTH : PIECES;
    float4 sum = 0;
    for (uint at = begin; at < end; at++) {
        const uint soon = bags[places[min(at + ENTRIES_AHEAD, last - 1)]];
        prefetch<32 * max(PIECES, 1u)>(d_out + soon * args.out_stride);
        const uint entry = places[at], bag = bags[entry];
        const float factor = has_weights ? factors[bag] * float(weights[entry]) : factors[bag];
        device const T *from = d_out + bag * args.out_stride;
#pragma unroll
        for (uint k = 0; k < pieces; k++) {
            if (PIECES != 0 || k * 32 + lane < columns) {
                sum[k] = fma(factor, float(from[k * 32 + lane]), sum[k]);
            }
        }
    }
#pragma unroll
    for (uint k = 0; k < pieces; k++) {
        if (PIECES != 0 || k * 32 + lane < columns) {
            nontemporal_store(to + k * 32 + lane, T(sum[k]), args.past_caches);
        }
    }
}

template <typename T, typename I>
kernel void embedding_bag_shares(
    device const T *d_out [[buffer(0)]], device const I *indices [[buffer(1)]],
    device const uint *bags [[buffer(2)]], device const float *factors [[buffer(3)]],
    device const T *weights [[buffer(4)]], device uint *ends [[buffer(5)]],
    device uint *places [[buffer(6)]], device T *d_table [[buffer(7)]],
    constant embedding_bag_args &args [[buffer(8)]], uint group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
    uint simds [[simdgroups_per_threadgroup]]) {
    row_share<I> mine = {indices, ends, places, group * simds + simd, args.owners, lane};
    uint begin = mine.count(args);
    const uint last = mine.place(args, begin);
    for (ulong block = mine.owner; block * SHARE < ulong(args.rows); block += mine.owners) {
        for (ulong row = block * SHARE; row < min((block + 1) * SHARE, ulong(args.rows)); row++) {
            const uint end = ends[row];
            for (uint first = 0; first < args.columns; first += COLUMNS) {
                const uint columns = args.columns - first;
                device T *to = d_table + row * args.table_stride + first;
                if (columns >= COLUMNS) {
                    add_up_row<4>(d_out + first, bags, factors, weights, places, to, args, begin,
                                  end, last, columns, lane);
                } else if (columns == 64) {
                    add_up_row<2>(d_out + first, bags, factors, weights, places, to, args, begin,
                                  end, last, columns, lane);
                } else {
                    add_up_row<0>(d_out + first, bags, factors, weights, places, to, args, begin,
                                  end, last, columns, lane);
                }
            }
            begin = end;
        }
    }
}

#endif
