// Very many loops one after the other, of which some are unrolled: a kernel of such a kind takes passes of its own.
// RUN: kernel=many threads=40 group=40
// ARG 0: u32[640]
// EXPECT 0: u32[640] = u32(sum(j, 0, 160, (j + i % 16) * ((idiv(i, 16) + j) & 3) - ((idiv(i, 16) ^ j) & 4 ? j : 0) + (i % 16 == 3 && j % 8 == 0 ? 5 * j : 0)))
#include <metal_stdlib>
using namespace metal;

#define EACH(DO, K)                                                                                                    \
    DO(0, K) DO(1, K) DO(2, K) DO(3, K) DO(4, K) DO(5, K) DO(6, K) DO(7, K)                                            \
    DO(8, K) DO(9, K) DO(10, K) DO(11, K) DO(12, K) DO(13, K) DO(14, K) DO(15, K)
#define DECLARE(M, K) uint v##M = 0;
#define ADD(M, K) v##M += (K) + M##u;
#define TAKE(M, K) v##M -= (K);
#define STORE(M, K) out[id * 16 + M] = v##M;
#define PIECE(K)                                                                                                       \
    for (uint j = 0; j < ((id + (K)) & 3u); j++) { EACH(ADD, K) }                                                      \
    if ((id ^ (K)) & 4u) { EACH(TAKE, K) }
#define EIGHT(K)                                                                                                       \
    PIECE(K) PIECE(K + 1u) PIECE(K + 2u) PIECE(K + 3u) PIECE(K + 4u) PIECE(K + 5u) PIECE(K + 6u) PIECE(K + 7u)         \
    for (uint j = 0; j < 5u; j++) { v3 += K; }

kernel void many(device uint *out [[buffer(0)]], uint id [[thread_position_in_grid]]) {
    EACH(DECLARE, 0)
    EIGHT(0u) EIGHT(8u) EIGHT(16u) EIGHT(24u) EIGHT(32u) EIGHT(40u) EIGHT(48u) EIGHT(56u) EIGHT(64u) EIGHT(72u)
    EIGHT(80u) EIGHT(88u) EIGHT(96u) EIGHT(104u) EIGHT(112u) EIGHT(120u) EIGHT(128u) EIGHT(136u) EIGHT(144u) EIGHT(152u)
    EACH(STORE, 0)
}
