/* Profiles: the model, and the text file that carries it from libingot to the command. */
#include "base/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct ig_counter_facts ig_counters[IG_COUNTER_COUNT] = {
#define PROFILE_COUNTER(id, words, text)                                                           \
    [IG_COUNTER_##id] = {.name = #id, .title = (words), .about = (text)},
#include "base/profile_counters.def"
};

static const char *const move_names[IG_MOVE_COUNT] = {"copy", "fill", "upload", "download"};

const char *ig_move_name(enum ig_move move) {
    return move_names[move];
}

/* ---- the model ---- */

/* Room for one more item, in the arena. */
static void *grow(struct ig_profile *profile, void *items, size_t count, size_t *capacity,
                  size_t size) {
    if (count < *capacity) {
        return items;
    }
    size_t more = *capacity ? 2 * *capacity : 16;
    void *larger = ig_arena_array(&profile->arena, more, size);
    if (!larger) {
        profile->failed = true;
        return NULL;
    }
    if (count) {
        memcpy(larger, items, count * size);
    }
    *capacity = more;
    return larger;
}

static const char *keep(struct ig_profile *profile, const char *text) {
    const char *copy = ig_arena_string(&profile->arena, text ? text : "");
    profile->failed |= !copy;
    return copy ? copy : "";
}

struct ig_profile_kernel *ig_profile_kernel(struct ig_profile *profile,
                                            const struct ig_profile_kernel *key) {
    for (size_t i = 0; i < profile->kernel_count; i++) {
        struct ig_profile_kernel *kernel = &profile->kernels[i];
        if (!strcmp(kernel->name, key->name) && !strcmp(kernel->source, key->source) &&
            !strcmp(kernel->constants, key->constants) && !strcmp(kernel->device, key->device)) {
            return kernel;
        }
    }
    void *items = grow(profile, profile->kernels, profile->kernel_count, &profile->kernel_capacity,
                       sizeof *profile->kernels);
    if (!items) {
        return NULL;
    }
    profile->kernels = items;
    struct ig_profile_kernel *kernel = &profile->kernels[profile->kernel_count++];
    *kernel = (struct ig_profile_kernel){.name = keep(profile, key->name),
                                         .source = keep(profile, key->source),
                                         .constants = keep(profile, key->constants),
                                         .values = keep(profile, key->values),
                                         .device = keep(profile, key->device),
                                         .target = keep(profile, key->target)};
    return kernel;
}

/* Lines are kept in order; most are added at the end. */
struct ig_profile_line *ig_profile_line(struct ig_profile *profile,
                                        struct ig_profile_kernel *kernel, const char *file,
                                        uint32_t line) {
    size_t low = 0, high = kernel->line_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct ig_profile_line *at = &kernel->lines[middle];
        int order = strcmp(at->file, file);
        order = order ? order : (at->line > line) - (at->line < line);
        if (order == 0) {
            return at;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    void *items = grow(profile, kernel->lines, kernel->line_count, &kernel->line_capacity,
                       sizeof *kernel->lines);
    if (!items) {
        return NULL;
    }
    kernel->lines = items;
    memmove(&kernel->lines[low + 1], &kernel->lines[low],
            (kernel->line_count - low) * sizeof *kernel->lines);
    kernel->line_count++;
    kernel->lines[low] = (struct ig_profile_line){.file = keep(profile, file), .line = line};
    return &kernel->lines[low];
}

void ig_profile_add_source(struct ig_profile *profile, const char *file, uint32_t line,
                           const char *text) {
    void *items = grow(profile, profile->sources, profile->source_count, &profile->source_capacity,
                       sizeof *profile->sources);
    if (items) {
        profile->sources = items;
        profile->sources[profile->source_count++] = (struct ig_profile_source){
            .file = keep(profile, file), .line = line, .text = keep(profile, text)};
    }
}

void ig_profile_free(struct ig_profile *profile) {
    ig_arena_free(&profile->arena);
    *profile = (struct ig_profile){0};
}

/* ---- writing ---- */

static void word(struct ig_text *out, const char *text) {
    static const char from[] = "\t\n\\", to[] = "tn\\";
    ig_text_puts(out, "\t");
    while (*text) {
        size_t plain = strcspn(text, from);
        ig_text_append(out, text, plain);
        text += plain;
        if (*text) {
            ig_text_printf(out, "\\%c", to[strchr(from, *text) - from]);
            text++;
        }
    }
}

static void number(struct ig_text *out, uint64_t value) {
    ig_text_printf(out, "\t%llu", (unsigned long long)value);
}

static void write_kernel(const struct ig_profile_kernel *kernel, struct ig_text *out) {
    const char *const words[] = {kernel->name,   kernel->source, kernel->constants,
                                 kernel->device, kernel->target, kernel->values};
    const uint64_t numbers[] = {
        kernel->launches,      kernel->total_ns,          kernel->least_ns,
        kernel->median_ns,     kernel->most_ns,           kernel->threads,
        kernel->group[0],      kernel->group[1],          kernel->group[2],
        kernel->counted,       kernel->bytes_read,        kernel->bytes_written,
        kernel->private_bytes, kernel->threadgroup_bytes, kernel->counted_threads,
        kernel->can_be_counted};
    ig_text_puts(out, "kernel");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        word(out, words[i]);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        number(out, numbers[i]);
    }
    ig_text_puts(out, "\n");
    for (size_t i = 0; i < kernel->line_count; i++) {
        ig_text_puts(out, "line");
        word(out, kernel->lines[i].file);
        number(out, kernel->lines[i].line);
        for (int c = 0; c < IG_COUNTER_COUNT; c++) {
            number(out, kernel->lines[i].counts[c]);
        }
        ig_text_puts(out, "\n");
    }
}

void ig_profile_write(const struct ig_profile *profile, struct ig_text *out) {
    ig_text_puts(out, "ingot-profile 2\nprocess");
    word(out, profile->device ? profile->device : "");
    word(out, profile->description ? profile->description : "");
    word(out, profile->target ? profile->target : "");
    number(out, profile->compilations);
    number(out, profile->compile_ns);
    ig_text_puts(out, "\n");
    for (int i = 0; i < IG_MOVE_COUNT; i++) {
        ig_text_puts(out, "move");
        number(out, (uint64_t)i);
        number(out, profile->moves[i].count);
        number(out, profile->moves[i].bytes);
        number(out, profile->moves[i].ns);
        ig_text_puts(out, "\n");
    }
    for (size_t i = 0; i < profile->kernel_count; i++) {
        write_kernel(&profile->kernels[i], out);
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        ig_text_puts(out, "source");
        word(out, profile->sources[i].file);
        number(out, profile->sources[i].line);
        word(out, profile->sources[i].text);
        ig_text_puts(out, "\n");
    }
}

/* ---- reading ---- */

enum { MOST_WORDS = 40 };

struct record {
    char *words[MOST_WORDS]; /* without the first, which is the kind */
    size_t count;
    struct ig_profile *profile;
    struct ig_profile_kernel *kernel; /* the last one */
};

/* In place: the words of a line, without what escapes them. */
static void split(char *line, struct record *record, char **kind) {
    char *to = line;
    *kind = line;
    record->count = 0;
    for (char *at = line;; at++) {
        if (*at == '\t' || !*at) {
            bool is_last = !*at;
            *to++ = '\0';
            if (is_last) {
                return;
            }
            if (record->count < MOST_WORDS) {
                record->words[record->count] = to;
            }
            record->count++;
        } else if (*at == '\\' && at[1]) {
            at++;
            *to++ = *at == 't' ? '\t' : *at == 'n' ? '\n' : *at;
        } else {
            *to++ = *at;
        }
    }
}

/* Words [first, first + count) as numbers. */
static bool numbers(const struct record *record, size_t first, uint64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *text = first + i < record->count ? record->words[first + i] : "";
        char *end;
        errno = 0;
        values[i] = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || *end || errno) {
            return false;
        }
    }
    return true;
}

static bool read_process(struct record *record) {
    uint64_t values[2];
    struct ig_profile *profile = record->profile;
    if (record->count != 5 || !numbers(record, 3, values, 2)) {
        return false;
    }
    if (!profile->device || !*profile->device) {
        profile->device = keep(profile, record->words[0]);
        profile->description = keep(profile, record->words[1]);
        profile->target = keep(profile, record->words[2]);
    }
    profile->processes++;
    profile->compilations += values[0];
    profile->compile_ns += values[1];
    return true;
}

static bool read_move(struct record *record) {
    uint64_t values[4];
    if (record->count != 4 || !numbers(record, 0, values, 4) || values[0] >= IG_MOVE_COUNT) {
        return false;
    }
    record->profile->moves[values[0]].count += values[1];
    record->profile->moves[values[0]].bytes += values[2];
    record->profile->moves[values[0]].ns += values[3];
    return true;
}

/* Of several processes the sums; the median is that of the one with most launches. */
static bool read_kernel(struct record *record) {
    enum { WORDS = 6, NUMBERS = 16 };
    uint64_t v[NUMBERS];
    if (record->count != WORDS + NUMBERS || !numbers(record, WORDS, v, NUMBERS)) {
        return false;
    }
    char *const *w = record->words;
    struct ig_profile_kernel *kernel =
        ig_profile_kernel(record->profile, &(struct ig_profile_kernel){.name = w[0],
                                                                       .source = w[1],
                                                                       .constants = w[2],
                                                                       .device = w[3],
                                                                       .target = w[4],
                                                                       .values = w[5]});
    record->kernel = kernel;
    if (!kernel) {
        return true; /* the profile says that memory is out */
    }
    kernel->median_ns = v[0] >= kernel->launches ? v[3] : kernel->median_ns;
    kernel->least_ns = !kernel->launches || v[2] < kernel->least_ns ? v[2] : kernel->least_ns;
    kernel->most_ns = v[4] > kernel->most_ns ? v[4] : kernel->most_ns;
    kernel->launches += v[0];
    kernel->total_ns += v[1];
    kernel->threads += v[5];
    for (int i = 0; i < 3; i++) {
        kernel->group[i] = (uint32_t)v[6 + i];
    }
    kernel->counted += v[9];
    kernel->bytes_read += v[10];
    kernel->bytes_written += v[11];
    kernel->private_bytes = v[12];
    kernel->threadgroup_bytes = v[13];
    kernel->counted_threads += v[14];
    kernel->can_be_counted |= v[15] != 0;
    return true;
}

static bool read_line(struct record *record) {
    uint64_t values[1 + IG_COUNTER_COUNT];
    if (record->count != 2 + IG_COUNTER_COUNT || !record->kernel ||
        !numbers(record, 1, values, 1 + IG_COUNTER_COUNT) || values[0] > UINT32_MAX) {
        return false;
    }
    struct ig_profile_line *line =
        ig_profile_line(record->profile, record->kernel, record->words[0], (uint32_t)values[0]);
    for (int c = 0; line && c < IG_COUNTER_COUNT; c++) {
        line->counts[c] += values[1 + c];
    }
    return true;
}

static bool read_source(struct record *record) {
    uint64_t line;
    if (record->count != 3 || !numbers(record, 1, &line, 1) || line > UINT32_MAX) {
        return false;
    }
    ig_profile_add_source(record->profile, record->words[0], (uint32_t)line, record->words[2]);
    return true;
}

static const struct {
    const char *name;
    bool (*read)(struct record *record);
} record_kinds[] = {
    {"process", read_process}, {"move", read_move},     {"kernel", read_kernel},
    {"line", read_line},       {"source", read_source},
};

static bool read_record(char *text, struct record *record) {
    char *kind;
    split(text, record, &kind);
    if (record->count > MOST_WORDS) {
        return false;
    }
    for (size_t i = 0; i < sizeof record_kinds / sizeof *record_kinds; i++) {
        if (!strcmp(kind, record_kinds[i].name)) {
            return record_kinds[i].read(record);
        }
    }
    return false;
}

ingot_status ig_profile_read(struct ig_profile *profile, const char *bytes, size_t size,
                             struct ig_error *error) {
    static const char head[] = "ingot-profile 2\n";
    if (size < sizeof head - 1 || memcmp(bytes, head, sizeof head - 1) != 0) {
        return ig_fail(error, INGOT_BAD_ARCHIVE, "is no profile of this version of ingot");
    }
    char *copy = malloc(size + 1);
    if (!copy) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a profile of %zu bytes", size);
    }
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    struct record record = {.profile = profile};
    ingot_status status = INGOT_OK;
    size_t line = 2;
    for (char *at = copy + sizeof head - 1; !status && at < copy + size; line++) {
        char *end = memchr(at, '\n', (size_t)(copy + size - at));
        if (!end || memchr(at, '\0', (size_t)(end - at))) {
            status = ig_fail(error, INGOT_BAD_ARCHIVE, "line %zu of the profile is cut", line);
            break;
        }
        *end = '\0';
        if (!read_record(at, &record)) {
            status =
                ig_fail(error, INGOT_BAD_ARCHIVE, "line %zu of the profile is no record", line);
        }
        at = end + 1;
    }
    free(copy);
    if (!status && profile->failed) {
        status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a profile of %zu bytes", size);
    }
    return status;
}
