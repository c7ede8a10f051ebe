/* SHA-256 (FIPS 180-4): cache keys and archive checksums. */
#ifndef INGOT_BASE_HASH_H
#define INGOT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct ig_hash {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[64];
};

void ig_hash_begin(struct ig_hash *hash);
void ig_hash_bytes(struct ig_hash *hash, const void *bytes, size_t size);
/* A string with its length in front, so that "a","bc" and "ab","c" differ. NULL is "". */
void ig_hash_string(struct ig_hash *hash, const char *string);
void ig_hash_u64(struct ig_hash *hash, uint64_t value);
void ig_hash_end(struct ig_hash *hash, uint8_t digest[32]);
void ig_hash_hex(const uint8_t digest[32], char hex[65]);

#endif
