/*
 * Libraries: archives from files, from memory, and from source through the cache and ingotc.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/metallib.h"
#include "base/source_options.h"
#include "base/source_text.h"
#include "base/text.h"
#include "runtime/observe.h"

#define DEFAULT_NAME "source.metal"
#define MAX_SOURCE   ((size_t)256 << 20)

/* Takes over the caller's reference to `blob`, also on failure. */
static ingot_status library_from_blob(ingot_device *device, struct ig_blob *blob, bool no_cache,
                                      ingot_library **result, struct ig_error *error) {
    ingot_library *library = calloc(1, sizeof *library);
    if (!library) {
        ig_blob_release(blob);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a library object");
    }
    atomic_init(&library->references, 1);
    library->device = device;
    library->blob = blob;
    library->no_cache = no_cache;
    ingot_device_retain(device);
    *result = library;
    return INGOT_OK;
}

/* ---- from source ---- */

struct source {
    const char *text;
    size_t length;
    const char *name;
    const char *own_folder; /* where its includes are looked for first; or NULL */
};

struct argument_list {
    const char **items;
    size_t count, capacity;
    struct ig_arena *arena;
    bool failed;
};

static void add_argument(struct argument_list *list, const char *argument) {
    if (!argument || list->count + 1 >= list->capacity) {
        list->failed = true;
        return;
    }
    list->items[list->count++] = argument;
}

static void add_source_arguments(struct argument_list *list, const ingot_source_desc *desc,
                                 const struct source *source, const ingot_device *device) {
    add_argument(list, "--jit");
    add_argument(list, "--name");
    add_argument(list, source->name);
    add_argument(list, "--target");
    add_argument(list, device->info.target);
    if (*device->sanitize) {
        add_argument(list, "--sanitize");
        add_argument(list, device->sanitize);
    }
    if (device->loose_alignment) {
        add_argument(list, IG_LOOSE_ALIGNMENT);
    }
    if (source->own_folder && !device->isolated) { /* which has only the folders that were given */
        add_argument(list, "--include");
        add_argument(list, source->own_folder);
    }
    for (size_t i = 0; i < desc->include_dir_count; i++) {
        add_argument(list, "--include");
        add_argument(list, desc->include_dirs[i]);
    }
    for (size_t i = 0; i < desc->define_count; i++) {
        const ingot_define *define = &desc->defines[i];
        add_argument(list, "-D");
        add_argument(list, define->value
                               ? ig_arena_printf(list->arena, "%s=%s", define->name, define->value)
                               : define->name);
    }
    if (desc->fast_math) {
        add_argument(list, "--fast-math");
    }
    if (desc->werror) {
        add_argument(list, "--werror");
    }
    if (desc->msl_version) {
        add_argument(list, "--msl-version");
        add_argument(list, ig_arena_printf(list->arena, "%u", desc->msl_version));
    }
}

static ingot_status check_source_desc(const ingot_source_desc *desc, struct ig_error *error) {
    if (desc->msl_version && !ig_msl_version_is_known(desc->msl_version)) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "msl_version is %u, but __METAL_VERSION__ is %s, such as 310 for Metal 3.1",
                       desc->msl_version, ig_msl_versions);
    }
    if (desc->include_dir_count && !desc->include_dirs) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "include_dirs is NULL, but include_dir_count is %zu",
                       desc->include_dir_count);
    }
    if (desc->define_count && !desc->defines) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "defines is NULL, but define_count is %zu",
                       desc->define_count);
    }
    for (size_t i = 0; i < desc->include_dir_count; i++) {
        if (!desc->include_dirs[i] || !*desc->include_dirs[i]) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT, "include_dirs[%zu] is %s", i,
                           desc->include_dirs[i] ? "empty" : "NULL");
        }
    }
    for (size_t i = 0; i < desc->define_count; i++) {
        if (!desc->defines[i].name || !*desc->defines[i].name) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT, "defines[%zu].name is %s", i,
                           desc->defines[i].name ? "empty" : "NULL");
        }
        const ingot_define *define = &desc->defines[i];
        if (!ig_macro_name_is_good(define->name, strlen(define->name)) ||
            (define->value && !ig_macro_value_is_good(define->value))) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "defines[%zu] is \"%s\" with the value \"%s\", but it has to be a name "
                           "and one line",
                           i, define->name, define->value ? define->value : "");
        }
    }
    return INGOT_OK;
}

static void source_key(const ingot_device *device, const struct ig_compiler *compiler,
                       const struct source *source, const struct argument_list *list,
                       char hex[65]) {
    struct ig_hash hash;
    ig_hash_begin(&hash);
    ig_hash_string(&hash, "library");
    ig_hash_u64(&hash, IG_ARCHIVE_VERSION);
    ig_hash_u64(&hash, device->kind->abi_version);
    ig_hash_string(&hash, compiler->identity);
    ig_hash_u64(&hash, list->count);
    for (size_t i = 0; i < list->count; i++) {
        ig_hash_string(&hash, list->items[i]);
    }
    ig_hash_u64(&hash, source->length);
    ig_hash_bytes(&hash, source->text, source->length);
    ig_hash_debug_folder(&hash, device);
    ig_cache_key_hex(&hash, hex);
}

/* Memo, disk cache, compiler, in that order. */
static ingot_status source_to_blob(const ingot_device *device, const struct source *source,
                                   bool no_cache, const struct argument_list *list,
                                   struct ig_blob **blob, struct ig_error *error) {
    struct ig_compiler compiler;
    char hex[65];
    ingot_status status = ig_compiler_find(&compiler, error);
    if (status != INGOT_OK) {
        return status;
    }
    *blob = NULL;
    compiler.isolated = device->isolated;
    source_key(device, &compiler, source, list, hex);
    if (!no_cache) {
        status = ig_cache_find(hex, blob, error);
    }
    if (status == INGOT_OK && !*blob) {
        char *bytes = NULL;
        size_t size = 0;
        uint64_t start = ig_observed.any ? ig_observe_now() : 0;
        status = ig_compiler_run(&compiler, source->text, source->length, list->items, &bytes,
                                 &size, error);
        if (start) {
            ig_observe_compilation(source->name, start);
        }
        if (status == INGOT_OK) {
            status = ig_blob_create(bytes, size, blob, error);
        }
        if (status == INGOT_OK && !no_cache) {
            ig_cache_keep(hex, *blob);
        }
    }
    ig_compiler_free(&compiler);
    return status;
}

static ingot_status library_by_device(ingot_device *device, const struct ig_compilation *wanted,
                                      bool no_cache, ingot_library **result,
                                      struct ig_error *error) {
    char *bytes = NULL;
    size_t size = 0;
    struct ig_blob *blob;
    ingot_status status = device->ops->compile(device, wanted, &bytes, &size, error);
    if (status == INGOT_OK) {
        status = ig_blob_create(bytes, size, &blob, error);
    }
    return status == INGOT_OK ? library_from_blob(device, blob, no_cache, result, error) : status;
}

static ingot_status compile_by_device(ingot_device *device, const ingot_source_desc *desc,
                                      const struct source *source, ingot_library **result,
                                      struct ig_error *error) {
    const struct ig_compilation wanted = {
        .name = source->name,
        .source = source->text,
        .length = source->length,
        .own_folder = source->own_folder,
        .desc = desc,
    };
    return library_by_device(device, &wanted, desc->no_cache, result, error);
}

static ingot_status compile_source(ingot_device *device, const ingot_source_desc *desc,
                                   const struct source *source, ingot_library **result,
                                   struct ig_error *error) {
    ingot_status status = check_source_desc(desc, error);
    if (status != INGOT_OK) {
        return status;
    }
    if (device->ops->compile) {
        return compile_by_device(device, desc, source, result, error);
    }
    struct ig_arena arena = {0};
    struct argument_list list = {.arena = &arena};
    list.capacity = 16 + 2 * (desc->include_dir_count + desc->define_count);
    list.items = ig_arena_array(&arena, list.capacity, sizeof *list.items);
    if (list.items) {
        add_source_arguments(&list, desc, source, device);
    }
    struct ig_blob *blob = NULL;
    if (!list.items || list.failed) {
        status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to compile \"%s\"", source->name);
    } else {
        status = source_to_blob(device, source, desc->no_cache, &list, &blob, error);
    }
    if (status == INGOT_OK) {
        status = library_from_blob(device, blob, desc->no_cache, result, error);
    }
    ig_arena_free(&arena);
    return status;
}

ingot_status ig_library_from_module(ingot_device *device, const char *name, const void *module,
                                    size_t size, ingot_library **library, struct ig_error *error) {
    const ingot_source_desc defaults = INGOT_SOURCE_DESC_INIT;
    const struct source source = {.text = module, .length = size, .name = name};
    return compile_source(device, &defaults, &source, library, error);
}

ingot_status ig_library_from_compiled(ingot_device *device, const char *name, const void *bytes,
                                      size_t size, ingot_library **library,
                                      struct ig_error *error) {
    const struct ig_compilation wanted = {.name = name, .compiled = bytes, .compiled_size = size};
    return library_by_device(device, &wanted, true, library, error);
}

ingot_status ingot_library_create_from_source(ingot_device *device, const ingot_source_desc *desc,
                                              ingot_library **library) {
    if (!device || !desc || !library) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_library_create_from_source: %s is NULL",
                           !device ? "device"
                           : !desc ? "desc"
                                   : "library");
    }
    *library = NULL;
    if (!desc->source) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "ingot_library_create_from_source: desc->source is NULL");
    }
    const struct source source = {
        .text = desc->source,
        .length = desc->length ? desc->length : strlen(desc->source),
        .name = desc->name && *desc->name ? desc->name : DEFAULT_NAME,
    };
    struct ig_error error = {0};
    compile_source(device, desc, &source, library, &error);
    return ig_api_result(&error);
}

ingot_status ingot_library_create_from_source_file(ingot_device *device, const char *path,
                                                   const ingot_source_desc *desc,
                                                   ingot_library **library) {
    if (!device || !path || !library) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "ingot_library_create_from_source_file: %s is NULL",
                           !device ? "device"
                           : !path ? "path"
                                   : "library");
    }
    *library = NULL;
    const ingot_source_desc defaults = INGOT_SOURCE_DESC_INIT;
    struct ig_error error = {0};
    char *text = NULL;
    size_t length = 0;
    if (ig_file_read(path, MAX_SOURCE, &text, &length, &error) != INGOT_OK) {
        return ig_api_result(&error);
    }
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (folder) {
        const struct source source = {text, length, path, folder};
        compile_source(device, desc ? desc : &defaults, &source, library, &error);
    } else {
        ig_fail(&error, INGOT_OUT_OF_MEMORY, "no memory to compile \"%s\"", path);
    }
    free(folder);
    free(text);
    return ig_api_result(&error);
}

/* ---- from archives ---- */

/* A device that compiles itself takes the text that the archive has for it, and lists its kernels
 * itself. */
ingot_status ig_library_from_archive(ingot_device *device, char *bytes, size_t size,
                                     ingot_library **library, struct ig_error *error) {
    if (ig_archive_length(bytes, size) < size) {
        ingot_status opened = ig_joined_open(device, bytes, size, library, error);
        free(bytes);
        return opened;
    }
    struct ig_blob *blob;
    ingot_status status = ig_blob_create(bytes, size, &blob, error);
    const struct ig_code *text = status == INGOT_OK && device->ops->compile
                                     ? ig_archive_text(&blob->archive, device->info.target)
                                     : NULL;
    if (text) {
        struct ig_code plain;
        const struct ig_compilation wanted = {.name = ig_archive_name(&blob->archive),
                                              .text = &plain};
        status = ig_code_open(text, &plain, error);
        if (status == INGOT_OK) {
            status = library_by_device(device, &wanted, false, library, error);
            ig_code_close(text, &plain);
        }
        ig_blob_release(blob);
        return status;
    }
    return status ? status : library_from_blob(device, blob, false, library, error);
}

static ingot_status open_archive(ingot_device *device, int file, const char *path,
                                 ingot_library **library, struct ig_error *error) {
    char start[IG_METALLIB_START];
    const ssize_t got = pread(file, start, sizeof start, 0);
    char *bytes = NULL;
    size_t size = 0;
    ingot_status status;
    if (got > 0 && ig_compiled_is(start, (size_t)got)) {
        status = ig_compiled_open_file(device, file, path, library, error);
    } else if (ig_file_read_open(file, path, 0, &bytes, &size, error)) {
        return error->status; /* says the path */
    } else {
        status = ig_library_from_archive(device, bytes, size, library, error);
    }
    if (status) {
        ig_error_prefix(error, "%s", path);
    }
    return status;
}

ingot_status ingot_library_create_from_archive(ingot_device *device, const char *path,
                                               ingot_library **library) {
    if (!device || !path || !library) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_library_create_from_archive: %s is NULL",
                           !device ? "device"
                           : !path ? "path"
                                   : "library");
    }
    *library = NULL;
    struct ig_error error = {0};
    int file;
    if (!ig_file_open(path, &file, &error)) {
        open_archive(device, file, path, library, &error);
        close(file);
    }
    return ig_api_result(&error);
}

ingot_status ingot_library_create_from_memory(ingot_device *device, const void *bytes,
                                              size_t length, ingot_library **library) {
    if (!device || !bytes || !library) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_library_create_from_memory: %s is NULL",
                           !device  ? "device"
                           : !bytes ? "bytes"
                                    : "library");
    }
    *library = NULL;
    if (ig_compiled_is(bytes, length)) {
        struct ig_error failure = {0};
        ig_compiled_open_memory(device, bytes, length, library, &failure);
        return ig_api_result(&failure);
    }
    char *copy = malloc(length ? length : 1);
    if (!copy) {
        return ig_api_fail(INGOT_OUT_OF_MEMORY, "no memory for an archive of %zu bytes", length);
    }
    memcpy(copy, bytes, length);
    struct ig_error error = {0};
    ig_library_from_archive(device, copy, length, library, &error);
    return ig_api_result(&error);
}

void ingot_library_retain(ingot_library *library) {
    if (library) {
        ig_retain(&library->references);
    }
}

void ingot_library_release(ingot_library *library) {
    if (!library || !ig_release(&library->references)) {
        return;
    }
    ingot_device *device = library->device;
    ig_compiled_free(library->compiled);
    ig_joined_free(library->joined);
    ig_blob_release(library->blob);
    free(library);
    ingot_device_release(device);
}

/* ---- reflection ---- */

const char *ingot_library_warnings(const ingot_library *library) {
    return library && library->blob->archive.warnings ? library->blob->archive.warnings : "";
}

size_t ingot_library_kernel_count(const ingot_library *library) {
    return library ? library->blob->archive.kernel_count : 0;
}

const char *ingot_library_kernel_name(const ingot_library *library, size_t index) {
    if (!library || index >= library->blob->archive.kernel_count) {
        return NULL;
    }
    return library->blob->archive.kernels[index];
}

size_t ingot_library_constant_count(const ingot_library *library) {
    return library ? library->blob->archive.constant_count : 0;
}

ingot_status ingot_library_constant_info(const ingot_library *library, size_t index,
                                         ingot_constant_info *info) {
    if (!library || !info) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_library_constant_info: %s is NULL",
                           library ? "info" : "library");
    }
    if (index >= library->blob->archive.constant_count) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "ingot_library_constant_info: index %zu is out of range: there are %u "
                           "function constants",
                           index, library->blob->archive.constant_count);
    }
    const struct ig_constant *constant = &library->blob->archive.constants[index];
    *info = (ingot_constant_info){
        .name = constant->name,
        .index = constant->index,
        .type = (ingot_scalar_type)constant->scalar,
        .components = constant->components,
        .required = constant->required != 0,
    };
    return INGOT_OK;
}
