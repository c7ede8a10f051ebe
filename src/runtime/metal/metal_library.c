/* Metal's libraries and pipelines, made once for each source, kernel and set of constants. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/metal/metal.h"

enum { MOST_VALUES = 128 };

struct metal_library {
    struct metal_library *next;
    uint8_t key[32];
    void *handle;
};

/* ---- libraries ---- */

static void source_key(const char *text, size_t length,
                       const struct ig_metal_compile_options *options, uint8_t key[32]) {
    struct ig_hash hash;
    ig_hash_begin(&hash);
    ig_hash_u64(&hash, options->fast_math);
    ig_hash_u64(&hash, options->msl_version);
    ig_hash_bytes(&hash, text, length);
    ig_hash_end(&hash, key);
}

void *metal_library_find(struct metal_device *device, const uint8_t key[32]) {
    pthread_mutex_lock(&device->lock);
    struct metal_library *library = device->libraries;
    while (library && memcmp(library->key, key, 32) != 0) {
        library = library->next;
    }
    pthread_mutex_unlock(&device->lock);
    return library ? library->handle : NULL;
}

/* Takes over `handle`, also on failure. */
static ingot_status keep_library(struct metal_device *device, const uint8_t key[32], void *handle,
                                 struct ig_error *error) {
    struct metal_library *library = calloc(1, sizeof *library);
    if (!library) {
        device->bridge->release(handle);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a library");
    }
    library->handle = handle;
    memcpy(library->key, key, sizeof library->key);
    pthread_mutex_lock(&device->lock);
    library->next = device->libraries;
    device->libraries = library;
    pthread_mutex_unlock(&device->lock);
    return INGOT_OK;
}

ingot_status metal_library_get(struct metal_device *device, const char *text, size_t length,
                               const struct ig_metal_compile_options *options, void **result,
                               struct ig_error *error) {
    uint8_t key[32];
    char *message = NULL;
    source_key(text, length, options, key);
    *result = metal_library_find(device, key);
    if (*result) {
        return INGOT_OK;
    }
    *result = device->bridge->library_from_source(device->handle, text, length, options, &message);
    if (!*result) {
        ig_fail(error, INGOT_COMPILE_ERROR, "%s",
                message ? message : "Metal's compiler gave no reason");
    }
    free(message); /* or warnings */
    return *result ? keep_library(device, key, *result, error) : INGOT_COMPILE_ERROR;
}

ingot_status metal_library_from_data(struct metal_device *device, const void *bytes, size_t size,
                                     uint8_t key[32], void **result, struct ig_error *error) {
    struct ig_hash hash;
    char *message = NULL;
    ig_hash_begin(&hash);
    ig_hash_string(&hash, "compiled");
    ig_hash_bytes(&hash, bytes, size);
    ig_hash_end(&hash, key);
    *result = metal_library_find(device, key);
    if (*result) {
        return INGOT_OK;
    }
    *result = device->bridge->library_from_data(device->handle, bytes, size, &message);
    if (!*result) {
        return metal_fail(error, INGOT_BAD_ARCHIVE, message,
                          "a compiled library of %zu bytes on device \"%s\"", size,
                          device->base.info.name);
    }
    free(message);
    return keep_library(device, key, *result, error);
}

/* ---- pipelines ---- */

/* "0:01;7:00008040": values of constants, in the arena. */
static struct ig_metal_value *parse_values(struct ig_arena *arena, const char *text,
                                           size_t *count) {
    struct ig_metal_value *values = ig_arena_array(arena, MOST_VALUES, sizeof *values);
    *count = 0;
    while (values && *text && *count < MOST_VALUES) {
        char *end;
        const unsigned long index = strtoul(text, &end, 10);
        const char *digits = *end == ':' ? end + 1 : end;
        const size_t size = strcspn(digits, ";") / 2;
        uint8_t *bytes = ig_arena_alloc(arena, size + 16); /* Metal reads the type's size */
        for (size_t i = 0; bytes && i < size; i++) {
            const char pair[3] = {digits[2 * i], digits[2 * i + 1], 0};
            bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
        }
        values[(*count)++] = (struct ig_metal_value){(uint32_t)index, bytes};
        text = digits + strcspn(digits, ";");
        text += *text == ';';
    }
    return values;
}

static void pipeline_key(const struct metal_pipeline_desc *desc, uint8_t key[32]) {
    struct ig_hash hash;
    ig_hash_begin(&hash);
    ig_hash_u64(&hash, (uintptr_t)desc->library);
    ig_hash_string(&hash, desc->kernel);
    ig_hash_string(&hash, desc->constants);
    ig_hash_end(&hash, key);
}

/* The key of a library that is kept. False: it is none. */
static bool key_of_library(struct metal_device *device, const void *handle, uint8_t key[32]) {
    pthread_mutex_lock(&device->lock);
    const struct metal_library *library = device->libraries;
    while (library && library->handle != handle) {
        library = library->next;
    }
    if (library) {
        memcpy(key, library->key, sizeof library->key);
    }
    pthread_mutex_unlock(&device->lock);
    return library != NULL;
}

/* By Metal, from what the cache has of it where it has. NULL and a message on failure. */
static void *make_pipeline(struct metal_device *device, const struct metal_pipeline_desc *desc,
                           void *context, bool (*binding)(void *, const struct ig_metal_binding *),
                           struct ig_metal_pipeline_info *info, char **message) {
    struct ig_arena arena = {0};
    struct ig_metal_binary binary = {0};
    struct ig_blob *kept = NULL;
    uint8_t library[32];
    char hex[65];
    size_t count;
    void *made = NULL;
    const struct ig_metal_value *values = parse_values(&arena, desc->constants, &count);
    const bool is_cached = !desc->no_cache && key_of_library(device, desc->library, library);
    if (values && is_cached) {
        metal_binary_key(device, library, desc, hex);
        kept = metal_binary_find(hex, &binary);
    }
    if (values) {
        made = device->bridge->pipeline_make(desc->library, desc->kernel, values, count,
                                             is_cached ? &binary : NULL, info, context, binding,
                                             message);
    }
    if (values && is_cached) {
        metal_binary_keep(hex, desc->kernel, &binary);
    }
    ig_blob_release(kept);
    ig_arena_free(&arena);
    return made;
}

static struct metal_pipeline *find_pipeline(struct metal_device *device, const uint8_t key[32]) {
    pthread_mutex_lock(&device->lock);
    struct metal_pipeline *pipeline = device->pipelines;
    while (pipeline && memcmp(pipeline->key, key, 32) != 0) {
        pipeline = pipeline->next;
    }
    if (pipeline) {
        pipeline->references++;
    }
    pthread_mutex_unlock(&device->lock);
    return pipeline;
}

ingot_status metal_pipeline_get(struct metal_device *device, const struct metal_pipeline_desc *desc,
                                void *context,
                                bool (*binding)(void *, const struct ig_metal_binding *),
                                struct metal_pipeline **result, struct ig_error *error) {
    uint8_t key[32];
    pipeline_key(desc, key);
    *result = binding ? NULL : find_pipeline(device, key);
    if (*result) {
        return INGOT_OK;
    }
    struct metal_pipeline *pipeline = calloc(1, sizeof *pipeline);
    if (!pipeline) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a pipeline");
    }
    char *message = NULL;
    pipeline->handle = make_pipeline(device, desc, context, binding, &pipeline->info, &message);
    if (!pipeline->handle) {
        free(pipeline);
        return metal_fail(error, INGOT_COMPILE_ERROR, message, "kernel \"%s\" on device \"%s\"",
                          desc->kernel, device->base.info.name);
    }
    free(message);
    memcpy(pipeline->key, key, sizeof key);
    pipeline->references = 2;
    pthread_mutex_lock(&device->lock);
    pipeline->next = device->pipelines;
    device->pipelines = pipeline;
    pthread_mutex_unlock(&device->lock);
    *result = pipeline;
    return INGOT_OK;
}

void metal_pipeline_release(struct metal_device *device, struct metal_pipeline *pipeline) {
    pthread_mutex_lock(&device->lock);
    const bool is_last = --pipeline->references == 0;
    pthread_mutex_unlock(&device->lock);
    if (is_last) {
        device->bridge->release(pipeline->handle);
        free(pipeline);
    }
}

void metal_libraries_free(struct metal_device *device) {
    while (device->pipelines) {
        struct metal_pipeline *pipeline = device->pipelines;
        device->pipelines = pipeline->next;
        metal_pipeline_release(device, pipeline);
    }
    while (device->libraries) {
        struct metal_library *library = device->libraries;
        device->libraries = library->next;
        device->bridge->release(library->handle);
        free(library);
    }
}
