/* What an access of a SIMD-group costs a GPU of 32 lanes: lines of the cache, passes over banks of
 * threadgroup memory, atomics at one address. */
#include "runtime/profile/counters.h"

enum { LANES = 32 };

/* A small set of numbers; most accesses ask for them in ascending order. */
struct set {
    uint64_t items[LANES];
    uint32_t count;
    uint64_t extra; /* beyond the items, which are then not told apart */
};

static bool set_add(struct set *set, uint64_t item) {
    for (uint32_t i = set->count; i-- > 0;) {
        if (set->items[i] == item) {
            return false;
        }
    }
    if (set->count < LANES) {
        set->items[set->count++] = item;
    } else {
        set->extra++;
    }
    return true;
}

#define each_lane(lane, mask)                                                                      \
    for (uint32_t lane##_rest = (mask), lane; lane##_rest; lane##_rest &= lane##_rest - 1)         \
        if (lane = (uint32_t)__builtin_ctz(lane##_rest), true)

bool ig_access_is_run(uint32_t mask, const uint64_t *addresses, const uint64_t *sizes,
                      uint64_t *start, uint64_t *bytes) {
    uint32_t first = (uint32_t)__builtin_ctz(mask), end = LANES - (uint32_t)__builtin_clz(mask);
    if ((uint32_t)__builtin_popcount(mask) != end - first) {
        return false;
    }
    uint64_t size = sizes[first], differing = 0;
    for (uint32_t lane = first; lane < end; lane++) {
        differing |=
            (addresses[lane] ^ (addresses[first] + (lane - first) * size)) | (sizes[lane] ^ size);
    }
    *start = addresses[first];
    *bytes = (end - first) * size;
    return !differing && size;
}

uint32_t ig_access_lines(uint32_t mask, const uint64_t *addresses, const uint64_t *sizes) {
    struct set set = {.count = 0};
    each_lane(lane, mask) {
        uint64_t last = (addresses[lane] + (sizes[lane] ? sizes[lane] : 1) - 1) / IG_CACHE_LINE;
        for (uint64_t line = addresses[lane] / IG_CACHE_LINE; line <= last; line++) {
            set_add(&set, line);
        }
    }
    return set.count + (uint32_t)set.extra;
}

/* The most words that one bank has to give to these lanes. */
static uint32_t most_of_a_bank(uint32_t mask, const uint64_t *addresses, const uint64_t *sizes,
                               uint64_t base) {
    struct set words = {.count = 0};
    uint32_t banks[IG_BANKS] = {0}, most = 0;
    each_lane(lane, mask) {
        uint64_t offset = addresses[lane] - base, size = sizes[lane] ? sizes[lane] : 1;
        uint64_t last = (offset + size - 1) / IG_BANK_BYTES;
        for (uint64_t word = offset / IG_BANK_BYTES; word <= last; word++) {
            if (set_add(&words, word)) {
                uint32_t *bank = &banks[word % IG_BANKS];
                most = ++*bank > most ? *bank : most;
            }
        }
    }
    return most;
}

uint32_t ig_access_passes(uint32_t mask, const uint64_t *addresses, const uint64_t *sizes,
                          uint64_t base, uint32_t *least) {
    uint64_t words = 1, start, bytes;
    if (ig_access_is_run(mask, addresses, sizes, &start, &bytes) && (start - base) % 16 == 0 &&
        sizes[__builtin_ctz(mask)] == IG_BANK_BYTES) {
        *least = 1;
        return 1;
    }
    each_lane(lane, mask) {
        uint64_t own = (sizes[lane] + IG_BANK_BYTES - 1) / IG_BANK_BYTES;
        words = own > words ? own : words;
    }
    uint32_t at_a_time = words < LANES ? LANES / (uint32_t)words : 1, passes = 0;
    *least = 0;
    for (uint32_t first = 0; first < LANES; first += at_a_time) {
        uint32_t batch = at_a_time == LANES ? UINT32_MAX : ((1u << at_a_time) - 1) << first;
        if (mask & batch) {
            passes += most_of_a_bank(mask & batch, addresses, sizes, base);
            /* a lane that asks for more than all banks have in a row */
            *least += words > LANES ? (uint32_t)((words + LANES - 1) / LANES) : 1;
        }
    }
    return passes;
}

uint32_t ig_access_collisions(uint32_t mask, const uint64_t *addresses) {
    struct set set = {.count = 0};
    uint32_t collisions = 0;
    each_lane(lane, mask) {
        collisions += !set_add(&set, addresses[lane]);
    }
    return collisions;
}
