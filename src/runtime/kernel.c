/*
 * Kernels: one variant of a library's kernel with code for the device.
 *
 * The variant is looked for in the library itself, then in the memo and the disk cache, and
 * is else compiled from the archive's stored source.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "runtime/observe.h"

static bool is_last_part(const char *kernel, const char *name) {
    size_t size = strlen(kernel), part = strlen(name);
    return size > part + 2 && !strcmp(kernel + size - part, name) &&
           !memcmp(kernel + size - part - 2, "::", 2);
}

/* The kernel of that name, or the only one in any namespace that has it as its last part; NULL when
 * there is none. */
static const char *find_name(const ingot_library *library, const char *name) {
    const struct ig_archive *archive = &library->blob->archive;
    const char *found = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < archive->kernel_count; i++) {
        if (!strcmp(archive->kernels[i], name)) {
            return archive->kernels[i];
        }
        if (is_last_part(archive->kernels[i], name)) {
            found = archive->kernels[i];
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

static ingot_status no_such_kernel(const ingot_library *library, const char *name,
                                   struct ig_error *error) {
    const uint32_t shown = 8;
    struct ig_text known = {0};
    uint32_t count = library->blob->archive.kernel_count;
    for (uint32_t i = 0; i < count && i < shown; i++) {
        ig_text_printf(&known, "%s%s", i ? ", " : "", library->blob->archive.kernels[i]);
    }
    if (count > shown) {
        ig_text_printf(&known, " and %u more", count - shown);
    }
    ig_fail(error, INGOT_NOT_FOUND, "\"%s\" has no kernel \"%s\"; it has: %s",
            ig_archive_name(&library->blob->archive), name,
            count ? ig_text_string(&known) : "none");
    ig_text_free(&known);
    return INGOT_NOT_FOUND;
}

static const char sanitize_option[] = "--sanitize=";

/* Has the archive's code just the checks that the device asks for of it? */
static bool has_same_checks(const struct ig_archive *archive, const ingot_device *device) {
    const char *option = strstr(archive->options, sanitize_option);
    const char *kinds = option ? option + sizeof sanitize_option - 1 : "";
    size_t length = strcspn(kinds, " ");
    if (!option && device->sanitizes_sources) {
        return true;
    }
    return strlen(device->sanitize) == length && !memcmp(device->sanitize, kinds, length);
}

/* Other code than a debugger's is for those who have no source. */
static bool is_for_this(const ingot_device *device, const struct ig_archive *archive,
                        const struct ig_code *code) {
    return code && (!device->for_debuggers || !*archive->source ||
                    !strcmp(code->target, device->info.target));
}

/* Points the kernel at the variant in `blob`, which it retains, if that has code. */
static bool use_blob(ingot_kernel *kernel, struct ig_blob *blob, const char *name,
                     const char *constants) {
    const struct ig_variant *variant = ig_archive_find(&blob->archive, name, constants);
    if (!variant || !has_same_checks(&blob->archive, kernel->device) ||
        !is_for_this(kernel->device, &blob->archive,
                     kernel->device->ops->code_find(kernel->device, variant))) {
        return false;
    }
    ig_blob_retain(blob);
    kernel->blob = blob;
    kernel->variant = variant;
    return true;
}

void ig_hash_debug_folder(struct ig_hash *hash, const ingot_device *device) {
    char *folder = device->for_debuggers ? getcwd(NULL, 0) : NULL;
    if (folder) {
        ig_hash_string(hash, folder);
        free(folder);
    }
}

/* What code depends on, but the compiler. */
static void hash_variant(struct ig_hash *hash, const ingot_library *library, const char *name,
                         const char *constants) {
    const struct ig_archive *archive = &library->blob->archive;
    ig_hash_u64(hash, IG_ARCHIVE_VERSION);
    ig_hash_u64(hash, library->device->kind->abi_version);
    ig_hash_string(hash, archive->source_name);
    ig_hash_string(hash, archive->options);
    ig_hash_string(hash, library->device->info.target);
    ig_hash_string(hash, name);
    ig_hash_string(hash, constants);
    ig_hash_string(hash, archive->source);
    if (*library->device->sanitize) {
        ig_hash_string(hash, library->device->sanitize);
    }
    if (library->device->loose_alignment) {
        ig_hash_string(hash, IG_LOOSE_ALIGNMENT);
    }
    ig_hash_debug_folder(hash, library->device);
}

static void variant_key(const ingot_library *library, const struct ig_compiler *compiler,
                        const char *name, const char *constants, char hex[65]) {
    struct ig_hash hash;
    ig_hash_begin(&hash);
    ig_hash_string(&hash, "kernel");
    ig_hash_string(&hash, compiler->identity);
    hash_variant(&hash, library, name, constants);
    ig_cache_key_hex(&hash, hex);
}

#define MAX_WORDS 512

/* Arguments of the compiler for one variant, in the arena; NULL when there are too many or
 * memory is out. */
static const char *const *variant_arguments(struct ig_arena *arena, const ingot_library *library,
                                            const char *name, const char *constants) {
    const char **list = ig_arena_array(arena, MAX_WORDS, sizeof *list);
    char *options = ig_arena_string(arena, library->blob->archive.options);
    char *values = ig_arena_string(arena, constants);
    if (!list || !options || !values) {
        return NULL;
    }
    size_t count = 0;
    list[count++] = "--preprocessed";
    list[count++] = "--name";
    list[count++] = library->blob->archive.source_name;
    list[count++] = "--kernel";
    list[count++] = name;
    list[count++] = "--target";
    list[count++] = library->device->info.target;
    char *rest = NULL;
    for (char *value = strtok_r(values, ";", &rest); value; value = strtok_r(NULL, ";", &rest)) {
        char *colon = strchr(value, ':');
        if (!colon || count + 3 >= MAX_WORDS) {
            return NULL;
        }
        *colon = '=';
        list[count++] = "--const";
        list[count++] = value;
    }
    for (char *word = strtok_r(options, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (count + 4 >= MAX_WORDS) {
            return NULL;
        }
        if (strncmp(word, sanitize_option, sizeof sanitize_option - 1) != 0 &&
            strcmp(word, IG_LOOSE_ALIGNMENT) != 0) {
            list[count++] = word;
        }
    }
    if (library->device->loose_alignment) {
        list[count++] = IG_LOOSE_ALIGNMENT;
    }
    if (*library->device->sanitize) { /* the profile shows lines of the source */
        list[count++] = "--sanitize";
        list[count++] = library->device->sanitize;
    } else if (!library->device->for_debuggers) {
        list[count++] = "--no-source"; /* the library has it */
    }
    return list;
}

static ingot_status compile_variant(ingot_kernel *kernel, const ingot_library *library,
                                    const struct ig_compiler *compiler, const char *hex,
                                    const char *name, const char *constants,
                                    struct ig_error *error) {
    struct ig_arena arena = {0};
    const char *const *arguments = variant_arguments(&arena, library, name, constants);
    if (!arguments) {
        ig_arena_free(&arena);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to compile kernel \"%s\"", name);
    }
    char *bytes = NULL;
    size_t size = 0;
    uint64_t start = ig_observed.any ? ig_observe_now() : 0;
    ingot_status status =
        ig_compiler_run(compiler, library->blob->archive.source,
                        strlen(library->blob->archive.source), arguments, &bytes, &size, error);
    if (start) {
        ig_observe_compilation(name, start);
    }
    ig_arena_free(&arena);
    if (status != INGOT_OK) {
        return status;
    }
    struct ig_blob *blob;
    status = ig_blob_create(bytes, size, &blob, error);
    if (status != INGOT_OK) {
        return status;
    }
    if (!use_blob(kernel, blob, name, constants)) {
        status = ig_fail(error, INGOT_INTERNAL_ERROR,
                         "the compiler gave no code of kernel \"%s\" with constants \"%s\" for %s",
                         name, constants, library->device->info.target);
    } else if (!library->no_cache) {
        ig_cache_keep(hex, blob);
    }
    ig_blob_release(blob);
    return status;
}

/* By a device that compiles itself, and remembers what it has compiled. */
static ingot_status compile_by_device(ingot_kernel *kernel, const ingot_library *library,
                                      const char *name, const char *constants,
                                      struct ig_error *error) {
    ingot_device *device = library->device;
    const struct ig_compilation wanted = {
        .name = ig_archive_name(&library->blob->archive),
        .archive = &library->blob->archive,
        .kernel = name,
        .constants = constants,
        .no_cache = library->no_cache,
    };
    char *bytes = NULL;
    size_t size = 0;
    struct ig_blob *blob;
    ingot_status status = device->ops->compile(device, &wanted, &bytes, &size, error);
    if (status == INGOT_OK) {
        status = ig_blob_create(bytes, size, &blob, error);
    }
    if (status != INGOT_OK) {
        return status;
    }
    if (!use_blob(kernel, blob, name, constants)) {
        status = ig_fail(error, INGOT_INTERNAL_ERROR,
                         "device \"%s\" gave no code of kernel \"%s\" with constants \"%s\"",
                         device->info.name, name, constants);
    }
    ig_blob_release(blob);
    return status;
}

/* There is neither code nor source: says what there is. */
static ingot_status no_code(const ingot_library *library, const char *name, const char *constants,
                            struct ig_error *error) {
    const struct ig_archive *archive = &library->blob->archive;
    const struct ig_variant *variant = ig_archive_find(archive, name, constants);
    struct ig_text known = {0};
    if (!has_same_checks(archive, library->device)) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "\"%s\" holds no code of kernel \"%s\" with checks of the kinds \"%s\", and "
                       "no source to compile",
                       ig_archive_name(archive), name, library->device->sanitize);
    }
    for (uint32_t i = 0; variant && i < variant->code_count; i++) {
        ig_text_printf(&known, "%s%s", i ? ", " : "", variant->codes[i].target);
    }
    if (known.size) {
        ig_fail(
            error, INGOT_UNSUPPORTED,
            "\"%s\" holds no code of kernel \"%s\" for %s, only for %s, and no source to compile",
            ig_archive_name(&library->blob->archive), name, library->device->info.target,
            ig_text_string(&known));
    } else {
        ig_archive_spell_constants(archive, constants, &known);
        ig_fail(error, INGOT_UNSUPPORTED,
                "\"%s\" holds no code of kernel \"%s\" with %s for %s, and no source to compile",
                ig_archive_name(archive), name,
                *constants ? ig_text_string(&known) : "no constants set",
                library->device->info.target);
    }
    ig_text_free(&known);
    return INGOT_UNSUPPORTED;
}

/* A variant that the library itself lacks. */
static ingot_status find_elsewhere(ingot_kernel *kernel, const ingot_library *library,
                                   const char *name, const char *constants,
                                   struct ig_error *error) {
    const char *target = library->device->info.target;
    if (!*library->blob->archive.source) {
        return no_code(library, name, constants, error);
    }
    if (library->device->ops->compile) {
        return compile_by_device(kernel, library, name, constants, error);
    }
    struct ig_compiler compiler;
    ingot_status status = ig_compiler_find(&compiler, error);
    if (status != INGOT_OK) {
        struct ig_text values = {0};
        ig_archive_spell_constants(&library->blob->archive, constants, &values);
        ig_error_prefix(error, "kernel \"%s\"%s%s for %s is not in the archive", name,
                        *constants ? " with " : "", ig_text_string(&values), target);
        ig_text_free(&values);
        return status;
    }
    char hex[65];
    compiler.isolated = library->device->isolated;
    variant_key(library, &compiler, name, constants, hex);
    struct ig_blob *blob = NULL;
    if (!library->no_cache) {
        status = ig_cache_find(hex, &blob, error);
    }
    if (status == INGOT_OK && (!blob || !use_blob(kernel, blob, name, constants))) {
        status = compile_variant(kernel, library, &compiler, hex, name, constants, error);
    }
    ig_blob_release(blob);
    ig_compiler_free(&compiler);
    return status;
}

static ingot_status bad_index(const ingot_kernel *kernel, const struct ig_argument *argument,
                              struct ig_error *error) {
    return ig_fail(error, INGOT_UNSUPPORTED,
                   "kernel \"%s\", argument \"%s\": index %u in slot %u cannot be used; the limits "
                   "are %u buffers and %u threadgroup arguments",
                   kernel->variant->kernel, argument->name, argument->index, argument->slot,
                   IG_MAX_BUFFER_INDEX, IG_MAX_THREADGROUP_INDEX);
}

static ingot_status fill_launch_tables(ingot_kernel *kernel, struct ig_error *error) {
    const struct ig_variant *variant = kernel->variant;
    if (variant->argument_count > UINT8_MAX - 1) {
        return ig_fail(error, INGOT_UNSUPPORTED, "kernel \"%s\" has %u arguments; the limit is %u",
                       variant->kernel, variant->argument_count, UINT8_MAX - 1);
    }
    for (uint32_t i = 0; i < variant->argument_count; i++) {
        const struct ig_argument *argument = &variant->arguments[i];
        bool is_buffer = argument->kind == INGOT_ARGUMENT_BUFFER;
        uint32_t limit = is_buffer ? IG_MAX_BUFFER_INDEX : IG_MAX_THREADGROUP_INDEX;
        uint8_t *table = is_buffer ? kernel->buffer_at : kernel->threadgroup_at;
        uint32_t *slots = is_buffer ? &kernel->buffer_slots : &kernel->threadgroup_slots;
        uint32_t *end = is_buffer ? &kernel->buffer_end : &kernel->threadgroup_end;
        if (argument->index >= limit || argument->slot >= limit) {
            return bad_index(kernel, argument, error);
        }
        /* Two arguments may share an index when function constants leave one of them out. */
        if (!table[argument->index] || argument->active) {
            table[argument->index] = (uint8_t)(i + 1);
        }
        if (argument->slot + 1 > *slots) {
            *slots = argument->slot + 1;
        }
        if (argument->active && argument->index + 1 > *end) {
            *end = argument->index + 1;
        }
    }
    return INGOT_OK;
}

static void kernel_destroy(ingot_kernel *kernel) {
    ingot_device *device = kernel->device;
    if (kernel->loaded) {
        device->ops->code_unload(device, kernel->loaded);
    }
    ig_blob_release(kernel->blob);
    free(kernel);
    ingot_device_release(device);
}

static uint32_t find_max_threads(const ingot_kernel *kernel) {
    const ingot_device *device = kernel->device;
    uint32_t limit = device->info.max_threads_per_threadgroup;
    const uint32_t own[] = {kernel->variant->max_threads,
                            device->ops->code_threads ? device->ops->code_threads(kernel->loaded)
                                                      : 0};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (own[i] && own[i] < limit) {
            limit = own[i];
        }
    }
    return limit;
}

static ingot_status load_code(ingot_kernel *kernel, struct ig_error *error) {
    ingot_device *device = kernel->device;
    ingot_status status = fill_launch_tables(kernel, error);
    if (status != INGOT_OK) {
        return status;
    }
    const struct ig_code *code = device->ops->code_find(device, kernel->variant);
    struct ig_code plain;
    status = ig_code_open(code, &plain, error);
    if (status != INGOT_OK) {
        return status;
    }
    status = device->ops->code_load(device, kernel->variant, &plain, &kernel->loaded, error);
    ig_code_close(code, &plain);
    if (status == INGOT_OK) {
        kernel->max_threads = find_max_threads(kernel);
    }
    return status;
}

/* The library's own code; where it has none, or code of another version of the runtime, what
 * is compiled from its source. */
static ingot_status find_and_load(ingot_kernel *kernel, const ingot_library *library,
                                  const char *name, const char *constants, struct ig_error *error) {
    struct ig_error refused = {0};
    if (use_blob(kernel, library->blob, name, constants)) {
        ingot_status status = load_code(kernel, &refused);
        if (status != INGOT_BAD_ARCHIVE || !*library->blob->archive.source) {
            if (status != INGOT_OK) {
                ig_fail(error, status, "%s", ig_error_text(&refused));
            }
            ig_error_clear(&refused);
            return status;
        }
        ig_blob_release(kernel->blob);
        kernel->blob = NULL;
        memset(kernel->buffer_at, 0, sizeof kernel->buffer_at);
        memset(kernel->threadgroup_at, 0, sizeof kernel->threadgroup_at);
        kernel->buffer_slots = kernel->threadgroup_slots = 0;
        kernel->buffer_end = kernel->threadgroup_end = 0;
    }
    ingot_status status = find_elsewhere(kernel, library, name, constants, error);
    if (status == INGOT_OK) {
        status = load_code(kernel, error);
    }
    if (status != INGOT_OK && refused.status != INGOT_OK) {
        ig_error_prefix(error, "%s; nor does its source help", ig_error_text(&refused));
    }
    ig_error_clear(&refused);
    return status;
}

static ingot_status make_kernel(ingot_library *library, const ingot_kernel_desc *desc,
                                ingot_kernel **result, struct ig_error *error) {
    const char *name = find_name(library, desc->name);
    if (!name) {
        return no_such_kernel(library, desc->name, error);
    }
    if (library->joined) {
        return make_kernel(ig_joined_part(library, name), desc, result, error);
    }
    if (library->compiled) {
        ingot_library *module = NULL;
        ingot_status opened = ig_compiled_kernel(library, name, &module, error);
        ingot_kernel_desc inside = *desc;
        if (!opened && !find_name(module, name)) { /* the list and the module may disagree */
            inside.name = ingot_library_kernel_name(module, 0);
        }
        return opened ? opened : make_kernel(module, &inside, result, error);
    }
    ingot_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a kernel object");
    }
    atomic_init(&kernel->references, 1);
    kernel->device = library->device;
    ingot_device_retain(kernel->device);
    struct ig_arena scratch = {0};
    char *constants = NULL;
    ingot_status status = ig_constants_canonical(&library->blob->archive, desc->constants,
                                                 desc->constant_count, &scratch, &constants, error);
    if (status == INGOT_OK) {
        status = find_and_load(kernel, library, name, constants, error);
    }
    ig_arena_free(&scratch);
    if (status != INGOT_OK) {
        kernel_destroy(kernel);
        return status;
    }
    *result = kernel;
    return INGOT_OK;
}

ingot_status ingot_kernel_create(ingot_library *library, const ingot_kernel_desc *desc,
                                 ingot_kernel **kernel) {
    if (!library || !desc || !kernel) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_kernel_create: %s is NULL",
                           !library ? "library"
                           : !desc  ? "desc"
                                    : "kernel");
    }
    *kernel = NULL;
    if (!desc->name) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_kernel_create: desc->name is NULL");
    }
    struct ig_error error = {0};
    make_kernel(library, desc, kernel, &error);
    return ig_api_result(&error);
}

static ingot_status make_key(ingot_library *library, const ingot_kernel_desc *desc, char *key,
                             struct ig_error *error) {
    const char *name = find_name(library, desc->name);
    if (!name) {
        return no_such_kernel(library, desc->name, error);
    }
    if (library->joined) {
        return make_key(ig_joined_part(library, name), desc, key, error);
    }
    if (library->compiled) {
        ingot_library *module = NULL;
        ingot_status opened = ig_compiled_kernel(library, name, &module, error);
        ingot_kernel_desc inside = *desc;
        inside.name =
            opened || find_name(module, name) ? name : ingot_library_kernel_name(module, 0);
        return opened ? opened : make_key(module, &inside, key, error);
    }
    struct ig_arena scratch = {0};
    char *constants = NULL;
    ingot_status status = ig_constants_canonical(&library->blob->archive, desc->constants,
                                                 desc->constant_count, &scratch, &constants, error);
    if (status == INGOT_OK) {
        struct ig_hash hash;
        ig_hash_begin(&hash);
        ig_hash_string(&hash, "kept kernel");
        hash_variant(&hash, library, name, constants);
        if (!*library->blob->archive.source) { /* then the code is all that there is */
            ig_hash_bytes(&hash, library->blob->bytes, library->blob->size);
        }
        ig_cache_key_hex(&hash, key);
    }
    ig_arena_free(&scratch);
    return status;
}

ingot_status ingot_kernel_key(ingot_library *library, const ingot_kernel_desc *desc,
                              char key[INGOT_KERNEL_KEY_SIZE]) {
    if (!library || !desc || !desc->name || !key) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_kernel_key: %s is NULL",
                           !library      ? "library"
                           : !desc       ? "desc"
                           : !desc->name ? "desc->name"
                                         : "key");
    }
    struct ig_error error = {0};
    make_key(library, desc, key, &error);
    return ig_api_result(&error);
}

ingot_status ingot_kernel_archive(const ingot_kernel *kernel, const void **bytes, size_t *size) {
    if (!kernel || !bytes || !size) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_kernel_archive: %s is NULL",
                           !kernel  ? "kernel"
                           : !bytes ? "bytes"
                                    : "size");
    }
    *bytes = kernel->blob->bytes;
    *size = kernel->blob->size;
    return INGOT_OK;
}

void ingot_kernel_retain(ingot_kernel *kernel) {
    if (kernel) {
        ig_retain(&kernel->references);
    }
}

void ingot_kernel_release(ingot_kernel *kernel) {
    if (kernel && ig_release(&kernel->references)) {
        kernel_destroy(kernel);
    }
}

ingot_status ingot_kernel_get_info(const ingot_kernel *kernel, ingot_kernel_info *info) {
    if (!kernel || !info) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_kernel_get_info: %s is NULL",
                           kernel ? "info" : "kernel");
    }
    *info = (ingot_kernel_info){
        .name = kernel->variant->kernel,
        .argument_count = kernel->variant->argument_count,
        .max_threads_per_threadgroup = kernel->max_threads,
        .thread_execution_width = kernel->device->info.simd_width,
        .static_threadgroup_memory_length = kernel->variant->static_threadgroup_bytes,
    };
    return INGOT_OK;
}

ingot_status ingot_kernel_argument_info(const ingot_kernel *kernel, size_t position,
                                        ingot_argument_info *info) {
    if (!kernel || !info) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_kernel_argument_info: %s is NULL",
                           kernel ? "info" : "kernel");
    }
    if (position >= kernel->variant->argument_count) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "ingot_kernel_argument_info: position %zu is out of range: kernel "
                           "\"%s\" has %u arguments",
                           position, kernel->variant->kernel, kernel->variant->argument_count);
    }
    const struct ig_argument *argument = &kernel->variant->arguments[position];
    *info = (ingot_argument_info){
        .name = argument->name,
        .type_name = argument->type_name,
        .kind = (ingot_argument_kind)argument->kind,
        .space = (ingot_address_space)argument->space,
        .index = argument->index,
        .type_size = argument->type_size,
        .type_align = argument->type_align,
        .scalar = (ingot_scalar_type)argument->scalar,
        .components = argument->components,
        .is_reference = argument->is_reference != 0,
        .writable = argument->writable != 0,
        .active = argument->active != 0,
        .used = argument->active && !argument->unused,
    };
    return INGOT_OK;
}
