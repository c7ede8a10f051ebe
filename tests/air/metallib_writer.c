#include "metallib_writer.h"

#include <string.h>

#include "base/hash.h"

enum { HEADER = 88 };

static void put_number(struct ig_text *out, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) {
        const char byte = (char)(value >> 8 * i);
        ig_text_append(out, &byte, 1);
    }
}

static void put_tag(struct ig_text *out, const char *tag, size_t size) {
    ig_text_append(out, tag, 4);
    put_number(out, size, 2);
}

static void put_entry(struct ig_text *list, const struct ig_metallib_function *function,
                      uint64_t offset) {
    struct ig_text entry = {0};
    struct ig_hash hash;
    uint8_t digest[32];
    ig_hash_begin(&hash);
    ig_hash_bytes(&hash, function->module, function->module_size);
    ig_hash_end(&hash, digest);
    const size_t length = strlen(function->name) + 1;
    put_tag(&entry, "NAME", length);
    ig_text_append(&entry, function->name, length);
    put_tag(&entry, "TYPE", 1);
    put_number(&entry, function->type, 1);
    put_tag(&entry, "HASH", sizeof digest);
    ig_text_append(&entry, (const char *)digest, sizeof digest);
    put_tag(&entry, "OFFT", 24);
    put_number(&entry, 0, 8); /* public and private metadata: none */
    put_number(&entry, 0, 8);
    put_number(&entry, offset, 8);
    put_tag(&entry, "VERS", 8);
    put_number(&entry, 0x00080002, 4); /* AIR 2.8 */
    put_number(&entry, 0x00000004, 4); /* Metal 4.0 */
    put_tag(&entry, "MDSZ", 8);
    put_number(&entry, function->module_size, 8);
    ig_text_append(&entry, "ENDT", 4);
    put_number(list, entry.size + 4, 4);
    ig_text_append(list, entry.data, entry.size);
    ig_text_free(&entry);
}

void metallib_write(const struct ig_metallib_function *functions, size_t count,
                    struct ig_text *out) {
    struct ig_text list = {0}, bitcode = {0};
    for (size_t i = 0; i < count; i++) {
        put_entry(&list, &functions[i], bitcode.size);
        ig_text_append(&bitcode, functions[i].module, functions[i].module_size);
    }
    const uint64_t metadata = HEADER + 4 + list.size, code = metadata + 8;
    ig_text_puts(out, "MTLB");
    put_number(out, 0x8001, 2);
    put_number(out, 2, 2);
    put_number(out, 9, 2);
    put_number(out, 0x8100, 2);
    put_number(out, 26, 2);
    put_number(out, 0, 2);
    put_number(out, code + bitcode.size, 8);
    const uint64_t sections[] = {HEADER,       list.size, metadata, 4,
                                 metadata + 4, 4,         code,     bitcode.size};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        put_number(out, sections[i], 8);
    }
    put_number(out, count, 4);
    ig_text_append(out, list.data, list.size);
    ig_text_puts(out, "ENDTENDT");
    ig_text_append(out, bitcode.data, bitcode.size);
    ig_text_free(&list);
    ig_text_free(&bitcode);
}
