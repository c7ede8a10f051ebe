/*
 * Libraries that Apple's compiler made (.metallib), alone or inside another file, such as an image
 * of macOS.
 *
 * Opening one reads its list of functions and compiles nothing. A kernel's module becomes a library
 * of its own when the kernel is asked for: the compiler gets just that module, and the cache keeps
 * what it makes under the module's bytes. Function constants belong to such a library, so they are
 * the kernel's, not those of the whole file. A device that takes compiled libraries as they are
 * gets the whole one that the kernel is in, once for all of its kernels.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/metallib.h"
#include "runtime/objects.h"

struct place {
    size_t at, length;
};

struct ig_compiled {
    void *bytes;
    size_t size;
    bool is_mapped; /* else malloc'ed */
    struct ig_arena arena;
    char *name;
    size_t kernel_count;
    const struct ig_metallib_function **kernels;
    struct place *places; /* by kernel: of the library that it is in */
    pthread_mutex_t lock;
    ingot_library **opened; /* by kernel; NULL: not yet */
};

bool ig_compiled_is(const void *bytes, size_t size) {
    return ig_metallib_is(bytes, size) || ig_metallib_is_image(bytes, size);
}

void ig_compiled_free(struct ig_compiled *compiled) {
    if (!compiled) {
        return;
    }
    for (size_t i = 0; compiled->opened && i < compiled->kernel_count; i++) {
        ingot_library_release(compiled->opened[i]);
    }
    if (compiled->is_mapped) {
        munmap(compiled->bytes, compiled->size);
    } else {
        free(compiled->bytes);
    }
    pthread_mutex_destroy(&compiled->lock);
    ig_arena_free(&compiled->arena);
    free(compiled->opened);
    free(compiled->name);
    free(compiled);
}

/* The kernels of every library in the file; of two of a name the first counts. */
static ingot_status list_kernels(struct ig_compiled *compiled, struct ig_error *error) {
    size_t at = 0, length = 0, libraries = 0;
    for (; ig_metallib_find(compiled->bytes, compiled->size, &at, &length); at += length) {
        struct ig_metallib one;
        ingot_status status = ig_metallib_read(&compiled->arena, (const char *)compiled->bytes + at,
                                               length, &one, error);
        const size_t room = compiled->kernel_count + one.function_count + 1;
        const struct ig_metallib_function **kernels =
            status ? NULL : ig_arena_array(&compiled->arena, room, sizeof(void *));
        struct place *places =
            kernels ? ig_arena_array(&compiled->arena, room, sizeof *places) : NULL;
        if (!places) {
            return status
                       ? status
                       : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu functions", room);
        }
        if (compiled->kernel_count) {
            memcpy(kernels, compiled->kernels, compiled->kernel_count * sizeof *kernels);
            memcpy(places, compiled->places, compiled->kernel_count * sizeof *places);
        }
        compiled->kernels = kernels;
        compiled->places = places;
        for (size_t i = 0; i < one.function_count; i++) {
            if (one.functions[i].type == IG_METALLIB_KERNEL) {
                places[compiled->kernel_count] = (struct place){at, length};
                kernels[compiled->kernel_count++] = &one.functions[i];
            }
        }
        libraries++;
    }
    return libraries ? INGOT_OK : ig_metallib_none(compiled->bytes, compiled->size, error);
}

/* What the rest of the runtime sees: an archive of names, without code or source. */
static ingot_status make_blob(struct ig_compiled *compiled, struct ig_blob **result,
                              struct ig_error *error) {
    struct ig_blob *blob = calloc(1, sizeof *blob);
    const char **names =
        blob ? ig_arena_array(&blob->arena, compiled->kernel_count + 1, sizeof *names) : NULL;
    const char *name = blob ? ig_arena_string(&blob->arena, compiled->name) : NULL;
    if (!names || !name) {
        if (blob) {
            ig_arena_free(&blob->arena);
        }
        free(blob);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the names of %zu kernels",
                       compiled->kernel_count);
    }
    atomic_init(&blob->references, 1);
    for (size_t i = 0; i < compiled->kernel_count; i++) {
        names[i] = compiled->kernels[i]->name;
    }
    blob->archive = (struct ig_archive){
        .compiler = "Apple's compiler",
        .source_name = name,
        .source = "",
        .options = "",
        .warnings = "",
        .kernel_count = (uint32_t)compiled->kernel_count,
        .kernels = names,
    };
    *result = blob;
    return INGOT_OK;
}

/* Takes over `compiled`, also on failure. */
static ingot_status finish(ingot_device *device, struct ig_compiled *compiled,
                           ingot_library **result, struct ig_error *error) {
    struct ig_blob *blob = NULL;
    ingot_status status = list_kernels(compiled, error);
    if (!status) {
        compiled->opened = calloc(compiled->kernel_count + 1, sizeof *compiled->opened);
        status = compiled->opened ? make_blob(compiled, &blob, error)
                                  : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a library");
    }
    ingot_library *library = status ? NULL : calloc(1, sizeof *library);
    if (!library) {
        ig_blob_release(blob);
        ig_compiled_free(compiled);
        return status ? status : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a library");
    }
    atomic_init(&library->references, 1);
    library->device = device;
    library->blob = blob;
    library->compiled = compiled;
    ingot_device_retain(device);
    *result = library;
    return INGOT_OK;
}

static struct ig_compiled *begin(const char *name, void *bytes, size_t size, bool is_mapped,
                                 struct ig_error *error) {
    struct ig_compiled *compiled = calloc(1, sizeof *compiled);
    char *copy = strdup(name);
    if (!compiled || !copy || pthread_mutex_init(&compiled->lock, NULL)) {
        free(compiled);
        free(copy);
        ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a library object");
        return NULL;
    }
    compiled->name = copy;
    compiled->bytes = bytes;
    compiled->size = size;
    compiled->is_mapped = is_mapped;
    return compiled;
}

ingot_status ig_compiled_open_memory(ingot_device *device, const void *bytes, size_t size,
                                     ingot_library **library, struct ig_error *error) {
    void *copy = malloc(size ? size : 1);
    if (!copy) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a library of %zu bytes", size);
    }
    memcpy(copy, bytes, size);
    struct ig_compiled *compiled = begin("a Metal library", copy, size, false, error);
    if (!compiled) {
        free(copy);
        return INGOT_OUT_OF_MEMORY;
    }
    return finish(device, compiled, library, error);
}

/* Modules are read when they are needed, so the file is mapped: a library may have hundreds of
 * megabytes. */
ingot_status ig_compiled_open_file(ingot_device *device, int file, const char *path,
                                   ingot_library **library, struct ig_error *error) {
    struct stat status;
    if (fstat(file, &status) || !S_ISREG(status.st_mode) || status.st_size <= 0) {
        return ig_fail(error, INGOT_IO_ERROR, "it is not a file with bytes in it");
    }
    const size_t size = (size_t)status.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
        return ig_fail(error, INGOT_IO_ERROR, "cannot map its %zu bytes: %s", size,
                       strerror(errno));
    }
    struct ig_compiled *compiled = begin(path, bytes, size, true, error);
    if (!compiled) {
        munmap(bytes, size);
        return INGOT_OUT_OF_MEMORY;
    }
    return finish(device, compiled, library, error);
}

static ingot_status open_kernel(ingot_library *library, size_t at, ingot_library **made,
                                struct ig_error *error) {
    const struct ig_compiled *compiled = library->compiled;
    const struct ig_metallib_function *function = compiled->kernels[at];
    const struct place *place = &compiled->places[at];
    return library->device->ops->compile
               ? ig_library_from_compiled(library->device, compiled->name,
                                          (const char *)compiled->bytes + place->at, place->length,
                                          made, error)
               : ig_library_from_module(library->device, compiled->name, function->module,
                                        function->module_size, made, error);
}

/* Keeps `made`, which is the caller's, for the kernel, and where it is the whole library for all
 * others of it; of two threads the first counts. With the lock held. */
static ingot_library *keep_opened(struct ig_compiled *compiled, size_t at, ingot_library *made,
                                  bool is_whole) {
    for (size_t i = 0; is_whole && i < compiled->kernel_count; i++) {
        if (i != at && !compiled->opened[i] && compiled->places[i].at == compiled->places[at].at) {
            ingot_library_retain(made);
            compiled->opened[i] = made;
        }
    }
    ingot_library *first = compiled->opened[at];
    compiled->opened[at] = first ? first : made;
    return compiled->opened[at];
}

ingot_status ig_compiled_kernel(ingot_library *library, const char *name, ingot_library **kernel,
                                struct ig_error *error) {
    struct ig_compiled *compiled = library->compiled;
    size_t at = 0;
    while (at < compiled->kernel_count && strcmp(compiled->kernels[at]->name, name)) {
        at++;
    }
    if (at == compiled->kernel_count) {
        return ig_fail(error, INGOT_NOT_FOUND, "\"%s\" has no kernel \"%s\"", compiled->name, name);
    }
    pthread_mutex_lock(&compiled->lock);
    *kernel = compiled->opened[at];
    pthread_mutex_unlock(&compiled->lock);
    if (*kernel) {
        return INGOT_OK;
    }
    ingot_library *made = NULL;
    ingot_status status = open_kernel(library, at, &made, error);
    if (status) {
        return status;
    }
    pthread_mutex_lock(&compiled->lock);
    *kernel = keep_opened(compiled, at, made, library->device->ops->compile != NULL);
    pthread_mutex_unlock(&compiled->lock);
    if (*kernel != made) {
        ingot_library_release(made);
    }
    return INGOT_OK;
}

ingot_status ingot_library_of_kernel(ingot_library *library, const char *kernel,
                                     ingot_library **result) {
    if (!library || !kernel || !result) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_library_of_kernel: %s is NULL",
                           !library  ? "library"
                           : !kernel ? "kernel"
                                     : "result");
    }
    struct ig_error error = {0};
    *result = library->joined ? ig_joined_part(library, kernel) : library;
    if (!*result) {
        return ig_api_fail(INGOT_NOT_FOUND, "the archives have no kernel \"%s\"", kernel);
    }
    if (library->compiled && ig_compiled_kernel(library, kernel, result, &error)) {
        *result = NULL;
        return ig_api_result(&error);
    }
    ingot_library_retain(*result);
    return INGOT_OK;
}
