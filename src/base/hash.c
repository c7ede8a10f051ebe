/* SHA-256 as FIPS 180-4 describes it. */
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, unsigned n) {
    return x >> n | x << (32 - n);
}

static void add_block(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64];
    for (int i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
    }
    uint32_t s[8];
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t t1 = s[7] + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                      ((e & s[5]) ^ (~e & s[6])) + round_constants[i] + w[i];
        uint32_t t2 = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) {
        state[i] += s[i];
    }
}

void ig_hash_begin(struct ig_hash *hash) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, start, sizeof start);
}

void ig_hash_bytes(struct ig_hash *hash, const void *bytes, size_t size) {
    const uint8_t *in = bytes;
    size_t fill = hash->length % 64;
    hash->length += size;
    if (fill) {
        size_t take = size < 64 - fill ? size : 64 - fill;
        if (take) {
            memcpy(hash->block + fill, in, take);
        }
        in += take;
        size -= take;
        if (fill + take < 64) {
            return;
        }
        add_block(hash->state, hash->block);
    }
    for (; size >= 64; in += 64, size -= 64) {
        add_block(hash->state, in);
    }
    if (size) {
        memcpy(hash->block, in, size);
    }
}

void ig_hash_string(struct ig_hash *hash, const char *string) {
    size_t length = string ? strlen(string) : 0;
    ig_hash_u64(hash, length);
    if (length) {
        ig_hash_bytes(hash, string, length);
    }
}

void ig_hash_u64(struct ig_hash *hash, uint64_t value) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
    ig_hash_bytes(hash, bytes, sizeof bytes);
}

void ig_hash_end(struct ig_hash *hash, uint8_t digest[32]) {
    uint64_t bits = hash->length * 8;
    static const uint8_t padding[64] = {0x80};
    size_t fill = hash->length % 64;
    ig_hash_bytes(hash, padding, fill < 56 ? 56 - fill : 120 - fill);
    uint8_t length[8];
    for (int i = 0; i < 8; i++) {
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    }
    ig_hash_bytes(hash, length, sizeof length);
    for (int i = 0; i < 32; i++) {
        digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
    }
}

void ig_hash_hex(const uint8_t digest[32], char hex[65]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[64] = 0;
}
