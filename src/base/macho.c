/* Finds what is data in a Mach-O image: see macho.h. */
#include "base/macho.h"

#include <stdint.h>
#include <string.h>

enum {
    MAGIC_IMAGE = 0xfeedfacf, /* little-endian, 64 bits */
    MAGIC_FAT = 0xcafebabe,   /* big-endian */
    MAGIC_FAT_64 = 0xcafebabf,
    IMAGE_HEADER = 32,
    COMMAND_HEADER = 8,
    SEGMENT_64 = 0x19,
    SEGMENT_BYTES = 72,
    SECTION_BYTES = 80,
    SLICE_BYTES = 20,
    SLICE_64_BYTES = 32,
    /* Real images have some tens; what has more is searched as a whole. */
    MOST_SLICES = 8,
    MOST_COMMANDS = 1024,
    MOST_SECTIONS = 256, /* of all segments of an image */
};

static const uint32_t holds_instructions = 0x80000000u; /* nothing else: S_ATTR_PURE_INSTRUCTIONS */

struct search {
    const uint8_t *bytes;
    size_t size, at;
    size_t skip_to;   /* where the part without data that has `at` ends; `at`: there is none */
    size_t next_skip; /* where the first one behind `at` begins */
};

static uint32_t little(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t big(const uint8_t *p) {
    return p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
}

static uint64_t little64(const uint8_t *p) {
    return little(p) | (uint64_t)little(p + 4) << 32;
}

static uint64_t big64(const uint8_t *p) {
    return (uint64_t)big(p) << 32 | big(p + 4);
}

/* Bytes from `offset` on, relative to an image's first byte, hold no data. */
static void leave_out(struct search *search, size_t image, size_t image_size, uint64_t offset,
                      uint64_t size) {
    if (offset > image_size || size > image_size - offset || !size) {
        return; /* damaged */
    }
    const size_t begin = image + (size_t)offset, end = begin + (size_t)size;
    if (begin <= search->at && end > search->skip_to) {
        search->skip_to = end > search->at ? end : search->skip_to;
    } else if (begin > search->at && begin < search->next_skip) {
        search->next_skip = begin;
    }
}

/* Returns how many sections the segment has. */
static uint32_t walk_segment(struct search *search, size_t image, size_t image_size,
                             const uint8_t *command, uint32_t command_size) {
    if (command_size < SEGMENT_BYTES) {
        return 0;
    }
    if (!memcmp(command + COMMAND_HEADER, "__LINKEDIT", sizeof "__LINKEDIT")) {
        leave_out(search, image, image_size, little64(command + 40), little64(command + 48));
    }
    const uint32_t room = (command_size - SEGMENT_BYTES) / SECTION_BYTES;
    const uint32_t said = little(command + 64), count = said < room ? said : room;
    for (uint32_t i = 0; i < count && i < MOST_SECTIONS; i++) {
        const uint8_t *section = command + SEGMENT_BYTES + (size_t)i * SECTION_BYTES;
        if (little(section + 64) & holds_instructions) {
            leave_out(search, image, image_size, little(section + 48), little64(section + 40));
        }
    }
    return count;
}

static void walk_image(struct search *search, size_t image, size_t image_size) {
    const uint8_t *bytes = search->bytes + image;
    if (image_size < IMAGE_HEADER || little(bytes) != MAGIC_IMAGE) {
        return;
    }
    const uint32_t count = little(bytes + 16);
    uint32_t sections = 0;
    size_t at = IMAGE_HEADER;
    for (uint32_t i = 0; i < count && i < MOST_COMMANDS && sections < MOST_SECTIONS; i++) {
        if (image_size - at < COMMAND_HEADER) {
            return;
        }
        const uint32_t size = little(bytes + at + 4);
        if (size < COMMAND_HEADER || size > image_size - at) {
            return;
        }
        if (little(bytes + at) == SEGMENT_64) {
            sections += walk_segment(search, image, image_size, bytes + at, size);
        }
        at += size;
    }
}

static void walk_fat(struct search *search, bool is_64) {
    const size_t entry = is_64 ? SLICE_64_BYTES : SLICE_BYTES;
    const uint32_t count = big(search->bytes + 4);
    for (size_t i = 0; i < count && i < MOST_SLICES && (i + 1) * entry + 8 <= search->size; i++) {
        const uint8_t *slice = search->bytes + 8 + i * entry;
        const uint64_t offset = is_64 ? big64(slice + 8) : big(slice + 8);
        const uint64_t size = is_64 ? big64(slice + 16) : big(slice + 12);
        if (offset <= search->size && size <= search->size - offset) {
            walk_image(search, (size_t)offset, (size_t)size);
        }
    }
}

bool ig_macho_data(const void *bytes, size_t size, size_t at, size_t *begin, size_t *end) {
    struct search search = {.bytes = bytes, .size = size, .at = at};
    size_t before;
    do { /* parts without data may follow one another */
        before = search.at;
        search.skip_to = search.at;
        search.next_skip = size;
        const uint32_t fat = size < IMAGE_HEADER ? 0 : big(bytes);
        if (fat == MAGIC_FAT || fat == MAGIC_FAT_64) {
            walk_fat(&search, fat == MAGIC_FAT_64);
        } else {
            walk_image(&search, 0, size);
        }
        search.at = search.skip_to;
    } while (search.at != before);
    *begin = search.at;
    *end = search.next_skip;
    return search.at < size;
}
