/*
 * The profile of this process: a record for each kernel, with times of launches and, of counted
 * code, what its places did; and how it becomes the file that `ingot profile` reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu_abi.h"
#include "base/file.h"
#include "runtime/observe.h"

enum { MOST_TIMES = 1 << 16 }; /* of a kernel, that the median is taken of */

struct record {
    struct record *next;
    struct ig_blob *blob; /* retained: the variant and the source are in it */
    const struct ig_variant *variant;
    char device[64], target[64];
    bool can_be_counted;
    struct ig_profile_kernel sums; /* without names and lines */
    uint64_t *times;
    size_t time_count, time_capacity;
    struct ig_arena arena; /* of the places' texts */
    struct ingot_cpu_place *places;
    struct ig_place_counts *counts;
    uint64_t place_count;
};

static struct {
    pthread_mutex_t lock;
    struct ig_fork_hook fork;
    char *folder;
    struct record *records;
    ingot_device_info device;
    bool has_device, failed;
    bool is_changed; /* since it was saved */
    struct {
        uint64_t count, bytes, ns;
    } moves[IG_MOVE_COUNT];
    uint64_t compilations, compile_ns;
} profile = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ig_profile_set_folder(const char *folder) {
    profile.folder = strdup(folder);
    ig_fork_guard_mutex(&profile.fork, &profile.lock);
}

/* ---- records; under the lock ---- */

static bool is_of(const struct record *record, const ingot_kernel *kernel) {
    return !strcmp(record->variant->kernel, kernel->variant->kernel) &&
           !strcmp(record->variant->constants, kernel->variant->constants) &&
           !strcmp(record->blob->archive.source_name, kernel->blob->archive.source_name) &&
           !strcmp(record->device, kernel->device->info.name) &&
           !strcmp(record->blob->archive.options, kernel->blob->archive.options) &&
           (record->blob == kernel->blob ||
            !strcmp(record->blob->archive.source, kernel->blob->archive.source));
}

static struct record *record_of(const ingot_kernel *kernel) {
    for (struct record *record = profile.records; record; record = record->next) {
        if (is_of(record, kernel)) {
            return record;
        }
    }
    struct record *record = calloc(1, sizeof *record);
    if (!record) {
        profile.failed = true;
        return NULL;
    }
    ig_blob_retain(kernel->blob);
    record->blob = kernel->blob;
    record->variant = kernel->variant;
    snprintf(record->device, sizeof record->device, "%s", kernel->device->info.name);
    snprintf(record->target, sizeof record->target, "%s", kernel->device->info.target);
    record->can_be_counted = kernel->device->kind->can_be_counted;
    record->next = profile.records;
    profile.records = record;
    return record;
}

static void add_time(struct record *record, uint64_t ns) {
    if (record->time_count == record->time_capacity && record->time_capacity < MOST_TIMES) {
        size_t capacity = record->time_capacity ? 4 * record->time_capacity : 16;
        uint64_t *times = realloc(record->times, capacity * sizeof *times);
        if (times) {
            record->times = times;
            record->time_capacity = capacity;
        }
    }
    if (record->time_count < record->time_capacity) {
        record->times[record->time_count++] = ns;
    }
}

void ig_profile_add_time(const ingot_kernel *kernel, uint64_t ns, const uint32_t threads[3],
                         const uint32_t group[3], uint32_t threadgroup_bytes) {
    pthread_mutex_lock(&profile.lock);
    profile.is_changed = true;
    struct record *record = record_of(kernel);
    if (record) {
        struct ig_profile_kernel *sums = &record->sums;
        sums->least_ns = !sums->launches || ns < sums->least_ns ? ns : sums->least_ns;
        sums->most_ns = ns > sums->most_ns ? ns : sums->most_ns;
        sums->launches++;
        sums->total_ns += ns;
        sums->threads += (uint64_t)threads[0] * threads[1] * threads[2];
        sums->threadgroup_bytes = threadgroup_bytes;
        memcpy(sums->group, group, sizeof sums->group);
        add_time(record, ns);
    }
    pthread_mutex_unlock(&profile.lock);
}

void ig_profile_add_move(enum ig_move move, uint64_t bytes, uint64_t ns) {
    pthread_mutex_lock(&profile.lock);
    profile.is_changed = true;
    profile.moves[move].count++;
    profile.moves[move].bytes += bytes;
    profile.moves[move].ns += ns;
    pthread_mutex_unlock(&profile.lock);
}

void ig_profile_add_compilation(uint64_t ns) {
    pthread_mutex_lock(&profile.lock);
    profile.is_changed = true;
    profile.compilations++;
    profile.compile_ns += ns;
    pthread_mutex_unlock(&profile.lock);
}

void ig_profile_add_device(const ingot_device_info *info) {
    pthread_mutex_lock(&profile.lock);
    profile.is_changed = true;
    if (!profile.has_device) {
        profile.device = *info;
        profile.has_device = true;
    }
    pthread_mutex_unlock(&profile.lock);
}

/* ---- counters ---- */

/* Is `file` the name `given`, or that without the folder in front, which the compiler ran in? */
static bool is_end_of(const char *given, size_t length, const char *file) {
    size_t own = strlen(file);
    return own && length >= own && !strncmp(given + length - own, file, own) &&
           (length == own || (given[0] == '/' && given[length - own - 1] == '/'));
}

/* Debug information has names of files without that folder; the archive and the source's own
 * markers ("# LINE "FILE" …") have them as they were given. */
static const char *name_as_given(struct record *record, const char *file) {
    const struct ig_archive *archive = &record->blob->archive;
    if (is_end_of(archive->source_name, strlen(archive->source_name), file)) {
        return archive->source_name;
    }
    for (const char *at = archive->source; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        if (at[0] != '#' || at[1] != ' ') {
            continue;
        }
        const char *given = at + strcspn(at, "\"\n");
        size_t length = *given == '"' ? strcspn(++given, "\"\n") : 0;
        if (is_end_of(given, length, file)) {
            return ig_arena_copy(&record->arena, given, length);
        }
    }
    return ig_arena_string(&record->arena, file);
}

/* The code with its table may be gone when the profile is written: a copy. */
static bool copy_places(struct record *record, const struct ingot_cpu_places *places) {
    size_t count = places->count ? places->count : 1;
    record->places = ig_arena_array(&record->arena, count, sizeof *record->places);
    record->counts = ig_arena_array(&record->arena, count, sizeof *record->counts);
    if (!record->places || !record->counts) {
        return false;
    }
    for (uint64_t i = 0; i < places->count; i++) {
        struct ingot_cpu_place *place = &record->places[i];
        *place = places->items[i];
        place->file = i && !strcmp(place->file, places->items[i - 1].file)
                          ? record->places[i - 1].file
                          : name_as_given(record, place->file);
        place->inlined = ig_arena_string(&record->arena, place->inlined);
        place->variable = ig_arena_string(&record->arena, place->variable);
        place->text = place->message = "";
        if (!place->file || !place->inlined || !place->variable) {
            return false;
        }
    }
    record->place_count = places->count;
    return true;
}

static void add_counts(struct ig_place_counts *to, const struct ig_place_counts *from) {
    uint64_t *sums = (uint64_t *)to;
    const uint64_t *more = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *sums; i++) {
        sums[i] += more[i];
    }
}

void ig_profile_add_counts(const struct ig_counted_dispatch *dispatch) {
    pthread_mutex_lock(&profile.lock);
    profile.is_changed = true;
    struct record *record = record_of(dispatch->kernel);
    if (record && !record->places && !copy_places(record, dispatch->places)) {
        profile.failed = true;
        record->place_count = 0;
    }
    if (record && record->place_count == dispatch->places->count) {
        for (uint64_t i = 0; i < record->place_count; i++) {
            add_counts(&record->counts[i], &dispatch->counts[i]);
        }
        record->sums.counted++;
        record->sums.counted_threads += dispatch->threads;
        record->sums.bytes_read += dispatch->bytes_read;
        record->sums.bytes_written += dispatch->bytes_written;
    }
    pthread_mutex_unlock(&profile.lock);
}

/* ---- lines ---- */

/* Has another place of the same line and calls run more often? Of equal ones the first counts. */
static bool is_exceeded(const struct record *record, uint64_t number) {
    const struct ingot_cpu_place *place = &record->places[number];
    for (uint64_t i = 0; i < record->place_count; i++) {
        const struct ingot_cpu_place *other = &record->places[i];
        uint64_t times = record->counts[i].times, own = record->counts[number].times;
        if (i != number && other->kind == IG_COUNT_LINE && other->line == place->line &&
            (times > own || (times == own && i < number)) && !strcmp(other->file, place->file) &&
            !strcmp(other->inlined, place->inlined)) {
            return true;
        }
    }
    return false;
}

static void add_access(struct ig_profile_line *line, const struct ingot_cpu_place *place,
                       const struct ig_place_counts *counts) {
    uint64_t *sums = line->counts;
    if (place->space == 0) {
        sums[IG_COUNTER_private_accesses] += counts->times;
        sums[IG_COUNTER_private_bytes] += counts->lanes * place->bytes;
    } else if (place->space == INGOT_SPACE_THREADGROUP) {
        sums[IG_COUNTER_threadgroup_accesses] += counts->times;
        sums[IG_COUNTER_threadgroup_bytes] += counts->bytes;
        sums[IG_COUNTER_bank_passes] += counts->passes;
        sums[IG_COUNTER_bank_conflicts] += counts->conflicts;
    } else {
        sums[IG_COUNTER_device_accesses] += counts->times;
        if (place->access == INGOT_CPU_LOAD) {
            sums[IG_COUNTER_device_loads] += counts->times;
            sums[IG_COUNTER_device_load_bytes] += counts->bytes;
            sums[IG_COUNTER_device_load_lines] += counts->lines;
        }
        sums[IG_COUNTER_device_bytes] += counts->bytes;
        sums[IG_COUNTER_device_lines] += counts->lines;
    }
    if (place->access == INGOT_CPU_ATOMIC) {
        sums[IG_COUNTER_atomics] += counts->lanes;
        sums[IG_COUNTER_atomic_collisions] += counts->collisions;
    }
}

static void add_place(const struct record *record, uint64_t number, struct ig_profile_line *line) {
    const struct ingot_cpu_place *place = &record->places[number];
    const struct ig_place_counts *counts = &record->counts[number];
    switch ((enum ig_count_kind)place->kind) {
    case IG_COUNT_LINE:
        if (!is_exceeded(record, number)) {
            line->counts[IG_COUNTER_executed] += counts->times;
            line->counts[IG_COUNTER_lanes] += counts->lanes;
        }
        break;
    case IG_COUNT_ACCESS:
        add_access(line, place, counts);
        break;
    case IG_COUNT_FLOPS:
        line->counts[IG_COUNTER_flops] += counts->lanes * place->detail;
        break;
    case IG_COUNT_BARRIER:
        line->counts[IG_COUNTER_barriers] += counts->times;
        line->counts[IG_COUNTER_barrier_work] += counts->work;
        line->counts[IG_COUNTER_barrier_waits] += counts->waits;
        break;
    }
}

/* Variables of a thread that accesses go to. */
static uint64_t private_bytes(const struct record *record) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < record->place_count; i++) {
        const struct ingot_cpu_place *place = &record->places[i];
        bool is_new = place->kind == IG_COUNT_ACCESS && place->space == 0;
        for (uint64_t j = 0; is_new && j < i; j++) {
            const struct ingot_cpu_place *other = &record->places[j];
            is_new = other->kind != IG_COUNT_ACCESS || other->space != 0 ||
                     other->variable_bytes != place->variable_bytes ||
                     strcmp(other->variable, place->variable) != 0;
        }
        sum += is_new ? place->variable_bytes : 0;
    }
    return sum;
}

/* ---- the file ---- */

static int by_time(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void write_record(struct ig_profile *out, struct record *record) {
    struct ig_text values = {0};
    ig_archive_spell_constants(&record->blob->archive, record->variant->constants, &values);
    struct ig_profile_kernel *kernel = ig_profile_kernel(
        out, &(struct ig_profile_kernel){.name = record->variant->kernel,
                                         .source = record->blob->archive.source_name,
                                         .constants = record->variant->constants,
                                         .values = ig_text_string(&values),
                                         .device = record->device,
                                         .target = record->target});
    ig_text_free(&values);
    if (!kernel) {
        return;
    }
    struct ig_profile_kernel sums = record->sums;
    if (record->time_count) {
        qsort(record->times, record->time_count, sizeof *record->times, by_time);
    }
    kernel->median_ns = sums.launches >= kernel->launches && record->time_count
                            ? record->times[record->time_count / 2]
                            : kernel->median_ns;
    kernel->least_ns =
        !kernel->launches || sums.least_ns < kernel->least_ns ? sums.least_ns : kernel->least_ns;
    kernel->most_ns = sums.most_ns > kernel->most_ns ? sums.most_ns : kernel->most_ns;
    kernel->launches += sums.launches;
    kernel->total_ns += sums.total_ns;
    kernel->threads += sums.threads;
    memcpy(kernel->group, sums.group, sizeof kernel->group);
    kernel->threadgroup_bytes = sums.threadgroup_bytes;
    kernel->counted += sums.counted;
    kernel->counted_threads += sums.counted_threads;
    kernel->bytes_read += sums.bytes_read;
    kernel->bytes_written += sums.bytes_written;
    kernel->private_bytes = private_bytes(record);
    kernel->can_be_counted |= record->can_be_counted;
    for (uint64_t i = 0; i < record->place_count; i++) {
        struct ig_profile_line *line =
            ig_profile_line(out, kernel, record->places[i].file, record->places[i].line);
        if (line) {
            add_place(record, i, line);
        }
    }
}

static bool has_lines(const struct record *record, const char *file, size_t length) {
    for (uint64_t i = 0; i < record->place_count; i++) {
        const char *own = record->places[i].file;
        if (!strncmp(own, file, length) && !own[length]) {
            return true;
        }
    }
    return false;
}

static bool has_source(const struct ig_profile *out, const char *file, size_t length) {
    for (size_t i = 0; i < out->source_count; i++) {
        if (!strncmp(out->sources[i].file, file, length) && !out->sources[i].file[length]) {
            return true;
        }
    }
    return false;
}

/* The files that the record's lines are in, as the preprocessor left them: "# LINE "FILE" …" says
 * what follows. */
static void write_source(struct ig_profile *out, const struct record *record) {
    const char *at = record->blob->archive.source, *name = record->blob->archive.source_name;
    size_t before = out->source_count;
    struct ig_arena arena = {0};
    char *file = ig_arena_string(&arena, name);
    bool here =
        file && has_lines(record, name, strlen(name)) && !has_source(out, name, strlen(name));
    uint32_t line = 1;
    for (; *at && file; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t length = strcspn(at, "\n");
        if (at[0] == '#' && at[1] == ' ' && at[2] >= '0' && at[2] <= '9') {
            char *end;
            line = (uint32_t)strtoul(at + 2, &end, 10);
            const char *start = end[0] == ' ' && end[1] == '"' ? end + 2 : "";
            size_t name_length = strcspn(start, "\"\n");
            struct ig_profile written = {.sources = out->sources, .source_count = before};
            here =
                has_lines(record, start, name_length) && !has_source(&written, start, name_length);
            file = ig_arena_copy(&arena, start, name_length);
            continue;
        }
        if (here && length) {
            char *text = ig_arena_copy(&arena, at, length);
            ig_profile_add_source(out, file, line, text ? text : "");
        }
        line++;
    }
    ig_arena_free(&arena);
}

static void fill(struct ig_profile *out) {
    if (profile.has_device) {
        out->device = ig_arena_string(&out->arena, profile.device.name);
        out->description = ig_arena_string(&out->arena, profile.device.description);
        out->target = ig_arena_string(&out->arena, profile.device.target);
    }
    out->compilations = profile.compilations;
    out->compile_ns = profile.compile_ns;
    for (int i = 0; i < IG_MOVE_COUNT; i++) {
        out->moves[i].count = profile.moves[i].count;
        out->moves[i].bytes = profile.moves[i].bytes;
        out->moves[i].ns = profile.moves[i].ns;
    }
    for (struct record *record = profile.records; record; record = record->next) {
        write_record(out, record);
    }
    for (struct record *record = profile.records; record; record = record->next) {
        if (record->place_count) {
            write_source(out, record);
        }
    }
}

void ig_profile_save(void) {
    struct ig_profile out = {0};
    struct ig_text text = {0};
    struct ig_error error = {0};
    char *path = NULL;
    pthread_mutex_lock(&profile.lock);
    if (!profile.is_changed) {
        pthread_mutex_unlock(&profile.lock);
        return;
    }
    profile.is_changed = false;
    fill(&out);
    bool failed = profile.failed || out.failed;
    if (!failed && profile.folder &&
        asprintf(&path, "%s/%ld.profile", profile.folder, (long)getpid()) >= 0) {
        ig_profile_write(&out, &text);
        failed = text.failed || ig_file_write(path, text.data, text.size, &error) != INGOT_OK;
    }
    pthread_mutex_unlock(&profile.lock);
    if (failed) {
        fprintf(stderr, "ingot: error: INGOT_PROFILE: %s\n",
                error.status ? ig_error_text(&error) : "no memory for the profile");
    }
    ig_error_clear(&error);
    ig_text_free(&text);
    ig_profile_free(&out);
    free(path);
}

static void free_record(struct record *record) {
    ig_blob_release(record->blob);
    ig_arena_free(&record->arena);
    free(record->times);
    free(record);
}

void ig_profile_forget(void) {
    pthread_mutex_lock(&profile.lock);
    while (profile.records) {
        struct record *next = profile.records->next;
        free_record(profile.records);
        profile.records = next;
    }
    memset(profile.moves, 0, sizeof profile.moves);
    profile.compilations = profile.compile_ns = 0;
    pthread_mutex_unlock(&profile.lock);
}
