/*
 * Archives that follow each other in one file, as `ingot-xcrun metallib` joins them: each keeps its
 * source, its options and the numbers of its function constants. The library lists the kernels of
 * all; each kernel is made by the library of its own archive.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/objects.h"

struct ig_joined {
    size_t count;
    ingot_library *parts[]; /* the last ones NULL while it is being opened */
};

void ig_joined_free(struct ig_joined *joined) {
    for (size_t i = 0; joined && i < joined->count; i++) {
        ingot_library_release(joined->parts[i]);
    }
    free(joined);
}

ingot_library *ig_joined_part(const ingot_library *library, const char *kernel) {
    for (size_t i = 0; i < library->joined->count; i++) {
        const struct ig_archive *archive = &library->joined->parts[i]->blob->archive;
        for (uint32_t k = 0; k < archive->kernel_count; k++) {
            if (!strcmp(archive->kernels[k], kernel)) {
                return library->joined->parts[i];
            }
        }
    }
    return NULL;
}

static size_t count_parts(const char *bytes, size_t size) {
    size_t count = 0;
    for (size_t at = 0; at < size; at += ig_archive_length(bytes + at, size - at)) {
        count++;
    }
    return count;
}

static ingot_status open_parts(ingot_device *device, const char *bytes, size_t size,
                               struct ig_joined *joined, struct ig_error *error) {
    for (size_t at = 0, i = 0; i < joined->count; i++) {
        const size_t length = ig_archive_length(bytes + at, size - at);
        char *copy = malloc(length ? length : 1);
        if (!copy) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for an archive of %zu bytes",
                           length);
        }
        memcpy(copy, bytes + at, length);
        if (ig_library_from_archive(device, copy, length, &joined->parts[i], error)) {
            ig_error_prefix(error, "archive %zu of %zu in it", i + 1, joined->count);
            return error->status;
        }
        at += length;
    }
    return INGOT_OK;
}

struct named {
    const char *name;
    size_t part;
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

/* A name that two archives have, or NULL. Sorts the names. */
static const char *find_twin(struct named *names, size_t count) {
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 1; i < count; i++) {
        if (names[i - 1].part != names[i].part && !strcmp(names[i - 1].name, names[i].name)) {
            return names[i].name;
        }
    }
    return NULL;
}

/* What the rest of the runtime sees: an archive of names, without code, source or constants. */
static ingot_status list_names(const struct ig_joined *joined, struct ig_blob *blob,
                               struct ig_error *error) {
    size_t total = 0;
    for (size_t i = 0; i < joined->count; i++) {
        total += joined->parts[i]->blob->archive.kernel_count;
    }
    const char **names = ig_arena_array(&blob->arena, total + 1, sizeof *names);
    struct named *sorted = ig_arena_array(&blob->arena, total + 1, sizeof *sorted);
    if (!names || !sorted) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the names of %zu kernels", total);
    }
    uint32_t count = 0;
    for (size_t i = 0; i < joined->count; i++) {
        const struct ig_archive *archive = &joined->parts[i]->blob->archive;
        for (uint32_t k = 0; k < archive->kernel_count; k++) {
            sorted[count] = (struct named){archive->kernels[k], i};
            names[count++] = archive->kernels[k];
        }
    }
    const char *twin = find_twin(sorted, count);
    if (twin) {
        return ig_fail(error, INGOT_BAD_ARCHIVE,
                       "kernel \"%s\" is in two of the %zu archives in it", twin, joined->count);
    }
    blob->archive = (struct ig_archive){
        .compiler = joined->parts[0]->blob->archive.compiler,
        .source_name = "",
        .source = "",
        .options = "",
        .warnings = "",
        .kernel_count = count,
        .kernels = names,
    };
    return INGOT_OK;
}

ingot_status ig_joined_open(ingot_device *device, const char *bytes, size_t size,
                            ingot_library **result, struct ig_error *error) {
    const size_t count = count_parts(bytes, size);
    struct ig_joined *joined = calloc(1, sizeof *joined + count * sizeof joined->parts[0]);
    struct ig_blob *blob = calloc(1, sizeof *blob);
    ingot_library *library = calloc(1, sizeof *library);
    ingot_status status;
    if (!joined || !blob || !library) {
        status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu libraries", count);
    } else {
        joined->count = count;
        atomic_init(&blob->references, 1);
        status = open_parts(device, bytes, size, joined, error);
        if (!status) {
            status = list_names(joined, blob, error);
        }
    }
    if (status) {
        ig_joined_free(joined);
        if (blob) {
            ig_arena_free(&blob->arena);
        }
        free(blob);
        free(library);
        return status;
    }
    atomic_init(&library->references, 1);
    library->device = device;
    library->blob = blob;
    library->joined = joined;
    ingot_device_retain(device);
    *result = library;
    return INGOT_OK;
}
