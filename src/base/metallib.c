/* Reads the container of Apple's compiled libraries: see metallib.h. */
#include "base/metallib.h"

#include <inttypes.h>
#include <string.h>

#include "base/macho.h"

enum {
    MAGIC_BYTES = IG_METALLIB_START,
    HEADER_BYTES = 88,
    TAG_BYTES = 6,       /* four letters and a length */
    SMALLEST_ENTRY = 8,  /* its size and ENDT */
    LARGEST_NAME = 4096, /* of a function: longer ones are damage */
};

static const char magic[MAGIC_BYTES + 1] = "MTLB";

struct section {
    uint64_t offset, size;
};

struct reader {
    const uint8_t *bytes;
    uint64_t size;
    struct section list, bitcode;
    struct ig_error *error;
};

#define BAD(r, ...) ig_fail((r)->error, INGOT_BAD_ARCHIVE, __VA_ARGS__)

static uint16_t get_u16(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get_u32(const uint8_t *p) {
    return (uint32_t)get_u16(p) | (uint32_t)get_u16(p + 2) << 16;
}

static uint64_t get_u64(const uint8_t *p) {
    return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

static bool begins_with(const void *bytes, size_t size, const char magics[][MAGIC_BYTES + 1],
                        size_t count) {
    for (size_t i = 0; size >= MAGIC_BYTES && i < count; i++) {
        if (!memcmp(bytes, magics[i], MAGIC_BYTES)) {
            return true;
        }
    }
    return false;
}

bool ig_metallib_is(const void *bytes, size_t size) {
    return size >= MAGIC_BYTES && !memcmp(bytes, magic, MAGIC_BYTES);
}

bool ig_metallib_is_image(const void *bytes, size_t size) {
    static const char images[][MAGIC_BYTES + 1] = {
        "\xcf\xfa\xed\xfe", /* Mach-O of 64 bits */
        "\xca\xfe\xba\xbe", /* fat binary */
        "\xca\xfe\xba\xbf", /* fat binary with offsets of 64 bits */
        "\xcb\xfe\xba\xbe", /* fat binary of Metal libraries */
    };
    return begins_with(bytes, size, images, sizeof images / sizeof *images);
}

bool ig_metallib_is_bitcode(const void *bytes, size_t size) {
    static const char modules[][MAGIC_BYTES + 1] = {"\xde\xc0\x17\x0b", "BC\xc0\xde"};
    return begins_with(bytes, size, modules, sizeof modules / sizeof *modules);
}

static ingot_status read_section(struct reader *r, const char *name, unsigned at,
                                 struct section *section) {
    section->offset = get_u64(r->bytes + at);
    section->size = get_u64(r->bytes + at + 8);
    if (section->offset > r->size || section->size > r->size - section->offset) {
        return BAD(r,
                   "the Metal library is damaged: its %s begins at byte %" PRIu64
                   " and has %" PRIu64 " bytes, but the library has %" PRIu64,
                   name, section->offset, section->size, r->size);
    }
    return INGOT_OK;
}

static ingot_status read_header(struct reader *r, struct ig_metallib *library) {
    if (!ig_metallib_is(r->bytes, r->size)) {
        return BAD(r, "not a Metal library: it does not begin with \"%s\"", magic);
    }
    if (r->size < HEADER_BYTES) {
        return BAD(r, "the Metal library is cut short: it has %" PRIu64 " bytes, its header has %d",
                   r->size, HEADER_BYTES);
    }
    const uint64_t said = get_u64(r->bytes + 16);
    if (said > r->size || said < HEADER_BYTES) {
        return BAD(r,
                   "the Metal library is cut short or damaged: it has %" PRIu64
                   " bytes, its header says %" PRIu64,
                   r->size, said);
    }
    r->size = said; /* what follows belongs to somebody else */
    library->file_major = get_u16(r->bytes + 6);
    library->file_minor = get_u16(r->bytes + 8);
    library->os_major = get_u16(r->bytes + 12);
    library->os_minor = get_u16(r->bytes + 14);
    ingot_status status = read_section(r, "list of functions", 24, &r->list);
    return status ? status : read_section(r, "bitcode", 72, &r->bitcode);
}

struct entry { /* what the tags of a function say */
    struct ig_metallib_function *function;
    bool has_module_size, has_offsets;
    uint64_t module_offset, module_size;
};

static ingot_status wrong_length(const struct reader *r, const uint8_t *tag, unsigned length,
                                 const char *wanted) {
    return BAD(r, "the Metal library is damaged: tag %.4s at byte %zu has %u bytes, not %s",
               (const char *)tag, (size_t)(tag - r->bytes), length, wanted);
}

static ingot_status read_tag(const struct reader *r, const uint8_t *tag, unsigned length,
                             struct entry *entry) {
    const uint8_t *value = tag + TAG_BYTES;
    struct ig_metallib_function *function = entry->function;
    if (!memcmp(tag, "NAME", 4)) {
        if (length < 2 || length > LARGEST_NAME || memchr(value, 0, length) != value + length - 1) {
            return wrong_length(r, tag, length, "a name that ends in a NUL");
        }
        function->name = (const char *)value;
    } else if (!memcmp(tag, "TYPE", 4)) {
        if (length != 1) {
            return wrong_length(r, tag, length, "1");
        }
        function->type = value[0];
    } else if (!memcmp(tag, "HASH", 4)) {
        if (length != 32) {
            return wrong_length(r, tag, length, "32");
        }
        function->digest = value;
    } else if (!memcmp(tag, "OFFT", 4)) {
        if (length != 24) {
            return wrong_length(r, tag, length, "24");
        }
        entry->module_offset = get_u64(value + 16);
        entry->has_offsets = true;
    } else if (!memcmp(tag, "VERS", 4)) {
        if (length != 8) {
            return wrong_length(r, tag, length, "8");
        }
        function->air_major = get_u16(value);
        function->air_minor = get_u16(value + 2);
        function->language_major = get_u16(value + 4);
        function->language_minor = get_u16(value + 6);
    } else if (!memcmp(tag, "MDSZ", 4)) {
        if (length != 8) {
            return wrong_length(r, tag, length, "8");
        }
        entry->module_size = get_u64(value);
        entry->has_module_size = true;
    } /* others belong to newer compilers, or do not matter here */
    return INGOT_OK;
}

static ingot_status take_module(const struct reader *r, const struct entry *entry) {
    struct ig_metallib_function *function = entry->function;
    if (!function->name || !entry->has_offsets || !entry->has_module_size) {
        return BAD(r, "the Metal library is damaged: a function%s%s has no %s",
                   function->name ? " named " : "", function->name ? function->name : "",
                   !function->name       ? "name"
                   : !entry->has_offsets ? "offsets (OFFT)"
                                         : "size (MDSZ)");
    }
    if (entry->module_offset > r->bitcode.size ||
        entry->module_size > r->bitcode.size - entry->module_offset) {
        return BAD(r,
                   "the Metal library is damaged: the module of %s begins at byte %" PRIu64
                   " of the bitcode and has %" PRIu64 " bytes, but the bitcode has %" PRIu64,
                   function->name, entry->module_offset, entry->module_size, r->bitcode.size);
    }
    function->module = r->bytes + r->bitcode.offset + entry->module_offset;
    function->module_size = (size_t)entry->module_size;
    return INGOT_OK;
}

/* The entry at *at, which is left behind it. */
static ingot_status read_entry(const struct reader *r, uint64_t *at, uint64_t end,
                               struct ig_metallib_function *function) {
    if (end - *at < SMALLEST_ENTRY) {
        return BAD(r,
                   "the Metal library is damaged: its list of functions ends at byte %" PRIu64
                   ", within an entry",
                   end);
    }
    const uint64_t size = get_u32(r->bytes + *at), stop = *at + size;
    if (size < SMALLEST_ENTRY || size > end - *at) {
        return BAD(r,
                   "the Metal library is damaged: the entry at byte %" PRIu64 " says %" PRIu64
                   " bytes, and its list has %" PRIu64 " left",
                   *at, size, end - *at);
    }
    struct entry entry = {.function = function};
    *function = (struct ig_metallib_function){.type = IG_METALLIB_UNQUALIFIED};
    uint64_t tag = *at + 4;
    for (;;) {
        if (stop - tag < 4) {
            return BAD(r, "the Metal library is damaged: the entry at byte %" PRIu64 " has no end",
                       *at);
        }
        if (!memcmp(r->bytes + tag, "ENDT", 4)) {
            break;
        }
        const uint64_t length = stop - tag < TAG_BYTES ? 0 : get_u16(r->bytes + tag + 4);
        if (stop - tag < TAG_BYTES || length > stop - tag - TAG_BYTES) {
            return BAD(r,
                       "the Metal library is damaged: the tag at byte %" PRIu64 " has %" PRIu64
                       " bytes, more than its entry",
                       tag, length);
        }
        ingot_status status = read_tag(r, r->bytes + tag, (unsigned)length, &entry);
        if (status) {
            return status;
        }
        tag += TAG_BYTES + length;
    }
    *at = stop;
    return take_module(r, &entry);
}

ingot_status ig_metallib_read(struct ig_arena *arena, const void *bytes, size_t size,
                              struct ig_metallib *library, struct ig_error *error) {
    *library = (struct ig_metallib){0};
    struct reader r = {.bytes = bytes, .size = size, .error = error};
    ingot_status status = read_header(&r, library);
    if (status) {
        return status;
    }
    /* The size of the list does not count the number that it begins with. */
    const uint64_t room = r.size - r.list.offset;
    if (room < 4 || r.list.size > room - 4) {
        return BAD(&r,
                   "the Metal library is damaged: its list of functions has %" PRIu64
                   " bytes, and %" PRIu64 " are left",
                   r.list.size, room);
    }
    const uint64_t count = get_u32(r.bytes + r.list.offset);
    if (count > r.list.size / SMALLEST_ENTRY) {
        return BAD(&r,
                   "the Metal library is damaged: %" PRIu64
                   " functions do not fit a list of %" PRIu64 " bytes",
                   count, r.list.size);
    }
    library->functions = ig_arena_array(arena, (size_t)count + 1, sizeof *library->functions);
    if (!library->functions) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a list of %" PRIu64 " functions",
                       count);
    }
    uint64_t at = r.list.offset + 4, end = at + r.list.size;
    for (uint64_t i = 0; i < count && !status; i++) {
        status = read_entry(&r, &at, end, &library->functions[library->function_count]);
        library->function_count += !status;
    }
    return status;
}

/* A library whose first byte is in [from, end). */
static bool find_between(const uint8_t *bytes, size_t size, size_t from, size_t end, size_t *at,
                         size_t *length) {
    while (from < end) {
        const uint8_t *found = memmem(bytes + from, end - from, magic, MAGIC_BYTES);
        if (!found) {
            return false;
        }
        const size_t place = (size_t)(found - bytes);
        struct reader r = {.bytes = found, .size = size - place};
        struct ig_metallib header;
        if (!read_header(&r, &header)) {
            *at = place;
            *length = (size_t)r.size;
            return true;
        }
        from = place + MAGIC_BYTES;
    }
    return false;
}

bool ig_metallib_find(const void *bytes, size_t size, size_t *at, size_t *length) {
    size_t begin, end;
    for (size_t from = *at; ig_macho_data(bytes, size, from, &begin, &end); from = end) {
        if (find_between(bytes, size, begin, end, at, length)) {
            return true;
        }
    }
    return false;
}

ingot_status ig_metallib_none(const void *bytes, size_t size, struct ig_error *error) {
    struct reader r = {.bytes = bytes, .size = size, .error = error};
    struct ig_metallib header;
    const ingot_status status = ig_metallib_is(bytes, size) ? read_header(&r, &header) : INGOT_OK;
    return status ? status
                  : BAD(&r, "there is no whole Metal library in its %" PRIu64 " bytes", r.size);
}

const struct ig_metallib_function *ig_metallib_function(const struct ig_metallib *library,
                                                        const char *name) {
    for (size_t i = 0; i < library->function_count; i++) {
        if (!strcmp(library->functions[i].name, name)) {
            return &library->functions[i];
        }
    }
    return NULL;
}

const char *ig_metallib_type_name(uint32_t type) {
    static const char *const names[] = {"vertex", "fragment",     "kernel", "function", "visible",
                                        "extern", "intersection", "mesh",   "object"};
    return type < sizeof names / sizeof *names ? names[type] : "unknown";
}
