/*
 * Packs greedily: of the places that begin with the same four bytes, which a chain links from the
 * newest to the oldest, the one that repeats longest is taken.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"

enum {
    WINDOW = 1 << 16,  /* a distance has 16 bits */
    SHORTEST = 4,      /* repetition */
    LAST_LITERALS = 5, /* the last bytes are literals */
    LAST_START = 12,   /* no repetition begins in the last bytes */
    HASH_BITS = 15,
    TRIES = 64, /* places that are looked at */
    LONG = 15,  /* a length from here on goes on in further bytes */
};

/* The newest place of each hash, and for each place the one before; places count from 1. */
struct chains {
    uint32_t *newest, *before;
};

static uint32_t get_word(const uint8_t *p) {
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static uint32_t hash_word(uint32_t word) {
    return word * 2654435761u >> (32 - HASH_BITS);
}

static void put_byte(struct ig_text *out, size_t value) {
    const uint8_t byte = (uint8_t)value;
    ig_text_append(out, &byte, 1);
}

static void put_more(struct ig_text *out, size_t length) {
    if (length < LONG) {
        return;
    }
    for (length -= LONG; length >= 255; length -= 255) {
        put_byte(out, 255);
    }
    put_byte(out, length);
}

/* Literals, and a repetition behind them unless `length` is 0. */
static void put_sequence(struct ig_text *out, const uint8_t *literals, size_t count,
                         size_t distance, size_t length) {
    const size_t repeated = length ? length - SHORTEST : 0;
    put_byte(out, (count < LONG ? count : LONG) << 4 | (repeated < LONG ? repeated : LONG));
    put_more(out, count);
    ig_text_append(out, literals, count);
    if (length) {
        put_byte(out, distance);
        put_byte(out, distance >> 8);
        put_more(out, repeated);
    }
}

static void note(struct chains *chains, const uint8_t *bytes, size_t at) {
    uint32_t *newest = &chains->newest[hash_word(get_word(bytes + at))];
    chains->before[at % WINDOW] = *newest;
    *newest = (uint32_t)at + 1;
}

/* The longest repetition of what stands at `at`: its length, and how far back it is. */
static size_t find(const struct chains *chains, const uint8_t *bytes, size_t at, size_t end,
                   size_t *distance) {
    size_t best = SHORTEST - 1;
    uint32_t place = chains->newest[hash_word(get_word(bytes + at))];
    for (int tries = TRIES; place && at - (place - 1) < WINDOW && tries; tries--) {
        const size_t from = place - 1;
        if (at + best < end && bytes[from + best] == bytes[at + best] &&
            get_word(bytes + from) == get_word(bytes + at)) {
            size_t length = SHORTEST;
            while (at + length < end && bytes[from + length] == bytes[at + length]) {
                length++;
            }
            if (length > best) {
                best = length;
                *distance = at - from;
            }
        }
        const uint32_t older = chains->before[from % WINDOW];
        place = older < place ? older : 0; /* else the place was used again */
    }
    return best < SHORTEST ? 0 : best;
}

static void pack_with(struct chains *chains, const uint8_t *bytes, size_t size,
                      struct ig_text *out) {
    const size_t end = size > LAST_LITERALS ? size - LAST_LITERALS : 0;
    size_t at = 0, literals = 0; /* where those begin that were not written yet */
    while (size > LAST_START && at < size - LAST_START) {
        size_t distance = 0;
        const size_t length = find(chains, bytes, at, end, &distance);
        if (!length) {
            note(chains, bytes, at++);
            continue;
        }
        put_sequence(out, bytes + literals, at - literals, distance, length);
        for (const size_t behind = at + length; at < behind; at++) {
            if (at < size - SHORTEST) {
                note(chains, bytes, at);
            }
        }
        literals = at;
    }
    put_sequence(out, bytes + literals, size - literals, 0, 0);
}

void ig_pack(const void *bytes, size_t size, struct ig_text *packed) {
    struct chains chains = {.newest = calloc((size_t)1 << HASH_BITS, sizeof *chains.newest),
                            .before = calloc(WINDOW, sizeof *chains.before)};
    if (!chains.newest || !chains.before || size >= UINT32_MAX) {
        packed->failed = true;
    } else {
        pack_with(&chains, bytes, size, packed);
    }
    free(chains.newest);
    free(chains.before);
}

/* ---- unpacking ---- */

struct unpacker {
    const uint8_t *p, *end;
    uint8_t *begin, *to, *stop;
};

/* The rest of a length; false where the bytes end, or where it is longer than the result. */
static bool get_more(struct unpacker *u, size_t *length) {
    if (*length < LONG) {
        return true;
    }
    uint8_t byte = 255;
    while (byte == 255) {
        if (u->p == u->end || *length > (size_t)(u->stop - u->begin)) {
            return false;
        }
        byte = *u->p++;
        *length += byte;
    }
    return true;
}

static bool copy_literals(struct unpacker *u, size_t count) {
    if (!get_more(u, &count) || count > (size_t)(u->end - u->p) ||
        count > (size_t)(u->stop - u->to)) {
        return false;
    }
    if (count) {
        memcpy(u->to, u->p, count);
    }
    u->p += count;
    u->to += count;
    return true;
}

static bool copy_repetition(struct unpacker *u, size_t length) {
    if (u->end - u->p < 2) {
        return false;
    }
    const size_t distance = (size_t)u->p[0] | (size_t)u->p[1] << 8;
    u->p += 2;
    if (!get_more(u, &length)) {
        return false;
    }
    length += SHORTEST;
    if (!distance || distance > (size_t)(u->to - u->begin) || length > (size_t)(u->stop - u->to)) {
        return false;
    }
    if (distance >= length) {
        memcpy(u->to, u->to - distance, length);
        u->to += length;
        return true;
    }
    for (; length; length--, u->to++) { /* what is copied may be what was copied just now */
        *u->to = *(u->to - distance);
    }
    return true;
}

bool ig_unpack(const void *packed, size_t packed_size, void *bytes, size_t size) {
    struct unpacker u = {packed, (const uint8_t *)packed + packed_size, bytes, bytes,
                         (uint8_t *)bytes + size};
    while (u.p < u.end) {
        const uint8_t token = *u.p++;
        if (!copy_literals(&u, token >> 4)) {
            return false;
        }
        if (u.p == u.end) { /* the last sequence has no repetition */
            return u.to == u.stop;
        }
        if (!copy_repetition(&u, token & LONG)) {
            return false;
        }
    }
    return false;
}
