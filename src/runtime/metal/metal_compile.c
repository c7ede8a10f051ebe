/*
 * Source to archives by Metal's own compiler, and code from archives.
 *
 * The code of target "metal" is what Metal compiles: a line of options, then the source. Of a
 * compiled library, which the device keeps, it is a line with its key. Arguments are those that the
 * pipeline's reflection tells.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/scalar.h"
#include "base/source_text.h"
#include "runtime/metal/metal.h"

static const char fast_math_option[] = "--fast-math", version_option[] = "--msl-version ",
                  compiled_option[] = "--compiled ";

/* ---- options, as archives keep them ---- */

static struct ig_metal_compile_options read_options(const char *text) {
    const char *version = strstr(text, version_option);
    return (struct ig_metal_compile_options){
        .fast_math = strstr(text, fast_math_option) != NULL,
        .msl_version =
            version ? (uint32_t)strtoul(version + sizeof version_option - 1, NULL, 10) : 0,
    };
}

static const char *write_options(struct ig_arena *arena, const ingot_source_desc *desc) {
    struct ig_text text = {0};
    ig_text_options(&text, desc && desc->fast_math, desc ? desc->msl_version : 0);
    const char *options = text.failed ? NULL : ig_arena_string(arena, ig_text_string(&text));
    ig_text_free(&text);
    return options;
}

/* "--compiled HEX": the key of a library that the device keeps. */
static const char *write_key(struct ig_arena *arena, const uint8_t key[32]) {
    char hex[65];
    for (int i = 0; i < 32; i++) {
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    }
    return ig_arena_printf(arena, "%s%s", compiled_option, hex);
}

static bool is_compiled(const char *options) {
    return !strncmp(options, compiled_option, sizeof compiled_option - 1);
}

static ingot_status find_compiled(struct metal_device *device, const char *options, void **library,
                                  struct ig_error *error) {
    const char *hex = options + sizeof compiled_option - 1;
    uint8_t key[32] = {0};
    for (int i = 0; i < 32 && hex[2 * i] && hex[2 * i + 1]; i++) {
        const char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
        key[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    *library = metal_library_find(device, key);
    return *library ? INGOT_OK
                    : ig_fail(error, INGOT_BAD_ARCHIVE,
                              "a compiled library is named, \"%s\", that device \"%s\" does not "
                              "have",
                              hex, device->base.info.name);
}

/* ---- Metal's types ---- */

enum { STRUCT = 1, ARRAY = 2 }; /* MTLDataType */

static const struct {
    uint32_t first; /* MTLDataType of the scalar; vectors follow */
    ingot_scalar_type scalar;
    const char *name;
} types[] = {
    {3, INGOT_SCALAR_F32, "float"},  {16, INGOT_SCALAR_F16, "half"},
    {29, INGOT_SCALAR_I32, "int"},   {33, INGOT_SCALAR_U32, "uint"},
    {37, INGOT_SCALAR_I16, "short"}, {41, INGOT_SCALAR_U16, "ushort"},
    {45, INGOT_SCALAR_I8, "char"},   {49, INGOT_SCALAR_U8, "uchar"},
    {53, INGOT_SCALAR_BOOL, "bool"}, {81, INGOT_SCALAR_I64, "long"},
    {85, INGOT_SCALAR_U64, "ulong"}, {121, INGOT_SCALAR_BF16, "bfloat"},
};

struct type {
    ingot_scalar_type scalar;
    uint32_t components;
    char name[16];
};

static struct type type_of(uint32_t data_type) {
    struct type type = {.scalar = INGOT_SCALAR_NONE, .name = "struct"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (data_type >= types[i].first && data_type < types[i].first + 4) {
            type.scalar = types[i].scalar;
            type.components = data_type - types[i].first + 1;
            snprintf(type.name, sizeof type.name, type.components > 1 ? "%s%u" : "%s",
                     types[i].name, type.components);
        }
    }
    return type;
}

/* ---- lists that grow in an arena ---- */

struct listing {
    struct ig_arena *arena;
    const char **kernels;
    struct ig_constant *constants;
    struct ig_argument *arguments;
    uint32_t kernel_count, constant_count, argument_count;
    uint32_t kernel_room, constant_room, argument_room;
    uint32_t buffer_slots, threadgroup_slots;
};

static void *grow(struct ig_arena *arena, void *items, uint32_t count, uint32_t *room,
                  size_t size) {
    if (count < *room) {
        return items;
    }
    const uint32_t more = *room ? 2 * *room : 16;
    void *grown = ig_arena_array(arena, more, size);
    if (grown) {
        if (count) {
            memcpy(grown, items, count * size);
        }
        *room = more;
    }
    return grown;
}

static bool add_kernel(void *context, const char *name) {
    struct listing *list = context;
    list->kernels = grow(list->arena, list->kernels, list->kernel_count, &list->kernel_room,
                         sizeof *list->kernels);
    char *copy = ig_arena_string(list->arena, name);
    if (!list->kernels || !copy) {
        return false;
    }
    list->kernels[list->kernel_count++] = copy;
    return true;
}

/* Once for each index, in ascending order: kernels share constants. */
static bool add_constant(void *context, const struct ig_metal_constant *constant) {
    struct listing *list = context;
    const struct type type = type_of(constant->data_type);
    uint32_t at = 0;
    while (at < list->constant_count && list->constants[at].index < constant->index) {
        at++;
    }
    if (at < list->constant_count && list->constants[at].index == constant->index) {
        list->constants[at].required |= constant->required;
        return true;
    }
    list->constants = grow(list->arena, list->constants, list->constant_count, &list->constant_room,
                           sizeof *list->constants);
    char *name = ig_arena_string(list->arena, constant->name);
    if (!list->constants || !name) {
        return false;
    }
    memmove(list->constants + at + 1, list->constants + at,
            (list->constant_count - at) * sizeof *list->constants);
    const uint32_t components = type.components == 3 ? 4 : type.components;
    list->constants[at] = (struct ig_constant){
        .name = name,
        .index = constant->index,
        .scalar = type.scalar,
        .components = type.components,
        .size = (uint32_t)ig_scalar_size(type.scalar) * components,
        .required = constant->required,
    };
    list->constant_count++;
    return true;
}

static bool add_argument(void *context, const struct ig_metal_binding *binding) {
    struct listing *list = context;
    const struct type type = type_of(binding->data_type);
    list->arguments = grow(list->arena, list->arguments, list->argument_count, &list->argument_room,
                           sizeof *list->arguments);
    char *name = ig_arena_string(list->arena, binding->name);
    char *type_name = ig_arena_string(list->arena, type.name);
    if (!list->arguments || !name || !type_name) {
        return false;
    }
    uint32_t *slots = binding->is_threadgroup ? &list->threadgroup_slots : &list->buffer_slots;
    list->arguments[list->argument_count++] = (struct ig_argument){
        .name = name,
        .type_name = type_name,
        .kind = binding->is_threadgroup ? INGOT_ARGUMENT_THREADGROUP : INGOT_ARGUMENT_BUFFER,
        .space = binding->is_threadgroup ? INGOT_SPACE_THREADGROUP
                 : binding->is_writable  ? INGOT_SPACE_DEVICE
                                         : INGOT_SPACE_CONSTANT,
        .index = binding->index,
        .slot = (*slots)++,
        .type_size = binding->size,
        .type_align = binding->alignment,
        .scalar = type.scalar,
        .components = type.components,
        .writable = binding->is_writable,
        .active = true,
        .unused = !binding->is_used,
    };
    return true;
}

/* ---- archives ---- */

static ingot_status write_archive(const struct ig_archive *archive, char **bytes, size_t *size,
                                  struct ig_error *error) {
    void *written = NULL;
    ingot_status status = ig_archive_write(archive, &written, size, error);
    *bytes = written;
    return status;
}

static ingot_status write_listing(const struct listing *list, const struct ig_compilation *wanted,
                                  const char *options, const char *source, char **bytes,
                                  size_t *size, struct ig_error *error) {
    const struct ig_archive archive = {
        .compiler = "Metal's compiler",
        .source_name = wanted->name,
        .source = source,
        .options = options,
        .warnings = "",
        .kernel_count = list->kernel_count,
        .constant_count = list->constant_count,
        .kernels = list->kernels,
        .constants = list->constants,
    };
    return write_archive(&archive, bytes, size, error);
}

static ingot_status list_library(struct metal_device *device, const struct ig_compilation *wanted,
                                 void *library, struct listing *list, struct ig_error *error) {
    return device->bridge->library_list(library, list, add_kernel, add_constant)
               ? INGOT_OK
               : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to list \"%s\"", wanted->name);
}

/* The text of a source with all that it includes, or that of an archive. */
static ingot_status source_text(const struct ig_compilation *wanted, struct ig_arena *arena,
                                struct ig_text *text, const char **options,
                                struct ig_error *error) {
    const ingot_source_desc *desc = wanted->desc;
    ingot_status status = INGOT_OK;
    if (wanted->text) {
        const char *bytes = wanted->text->bytes;
        const char *line = memchr(bytes, '\n', wanted->text->size);
        if (!line) {
            return ig_fail(error, INGOT_BAD_ARCHIVE, "its text for Metal has no line of options");
        }
        *options = ig_arena_copy(arena, bytes, (size_t)(line - bytes));
        ig_text_append(text, line + 1, wanted->text->size - (size_t)(line - bytes) - 1);
    } else {
        const struct ig_source_text from = {
            .name = wanted->name,
            .source = wanted->source,
            .length = wanted->length,
            .own_folder = wanted->own_folder,
            .include_dirs = desc ? desc->include_dirs : NULL,
            .include_dir_count = desc ? desc->include_dir_count : 0,
            .defines = desc ? desc->defines : NULL,
            .define_count = desc ? desc->define_count : 0,
        };
        *options = write_options(arena, desc);
        status = ig_source_expand(&from, text, error);
    }
    return status == INGOT_OK && (!*options || text->failed)
               ? ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for \"%s\"", wanted->name)
               : status;
}

/* The kernels and constants of a source, which is kept as Metal gets it. */
static ingot_status list_source(struct metal_device *device, const struct ig_compilation *wanted,
                                struct ig_arena *arena, char **bytes, size_t *size,
                                struct ig_error *error) {
    struct listing list = {.arena = arena};
    struct ig_text text = {0};
    void *library = NULL;
    const char *options = NULL;
    ingot_status status = source_text(wanted, arena, &text, &options, error);
    if (status == INGOT_OK) {
        const struct ig_metal_compile_options chosen = read_options(options);
        status = metal_library_get(device, text.data, text.size, &chosen, &library, error);
    }
    if (status == INGOT_OK) {
        status = list_library(device, wanted, library, &list, error);
    }
    if (status == INGOT_OK) {
        status = write_listing(&list, wanted, options, ig_text_string(&text), bytes, size, error);
    }
    ig_text_free(&text);
    return status;
}

/* The same of a library that Apple's compiler made. */
static ingot_status list_compiled(struct metal_device *device, const struct ig_compilation *wanted,
                                  struct ig_arena *arena, char **bytes, size_t *size,
                                  struct ig_error *error) {
    struct listing list = {.arena = arena};
    uint8_t key[32];
    void *library = NULL;
    ingot_status status = metal_library_from_data(device, wanted->compiled, wanted->compiled_size,
                                                  key, &library, error);
    const char *options = status ? NULL : write_key(arena, key);
    if (status == INGOT_OK && !options) {
        status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for \"%s\"", wanted->name);
    }
    if (status == INGOT_OK) {
        status = list_library(device, wanted, library, &list, error);
    }
    return status == INGOT_OK ? write_listing(&list, wanted, options, options, bytes, size, error)
                              : status;
}

/* What Metal compiles of an archive's source. ingotc leaves the headers of its own language out. */
static const char *source_of(struct ig_arena *arena, const struct ig_archive *archive) {
    const bool is_ours = !strncmp(archive->compiler, "ingotc", 6);
    return ig_arena_printf(arena, "%s%s", is_ours ? "#include <metal_stdlib>\n" : "",
                           archive->source);
}

static ingot_status compile_kernel(struct metal_device *device, const struct ig_compilation *wanted,
                                   struct ig_arena *arena, char **bytes, size_t *size,
                                   struct ig_error *error) {
    const struct ig_archive *from = wanted->archive;
    struct listing list = {.arena = arena};
    struct metal_pipeline *pipeline = NULL;
    const struct ig_metal_compile_options options = read_options(from->options);
    const char *source = source_of(arena, from);
    const char *code = source ? ig_arena_printf(arena, "%s\n%s", from->options, source) : NULL;
    struct metal_pipeline_desc desc = {
        .kernel = wanted->kernel, .constants = wanted->constants, .no_cache = wanted->no_cache};
    if (!code) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for kernel \"%s\"", wanted->kernel);
    }
    ingot_status status =
        is_compiled(from->options)
            ? find_compiled(device, from->options, &desc.library, error)
            : metal_library_get(device, source, strlen(source), &options, &desc.library, error);
    if (status == INGOT_OK) {
        status = metal_pipeline_get(device, &desc, &list, add_argument, &pipeline, error);
    }
    if (status != INGOT_OK) {
        return status;
    }
    const struct ig_code codes[] = {
        {.target = device->base.info.target, .bytes = code, .size = strlen(code)}};
    const struct ig_variant variant = {
        .kernel = wanted->kernel,
        .constants = wanted->constants,
        .max_threads = pipeline->info.max_threads,
        .static_threadgroup_bytes = pipeline->info.static_threadgroup_bytes,
        .argument_count = list.argument_count,
        .code_count = 1,
        .arguments = list.arguments,
        .codes = codes,
    };
    const char *kernels[] = {wanted->kernel};
    const struct ig_archive archive = {
        .compiler = "Metal's compiler",
        .source_name = from->source_name,
        .source = "",
        .options = from->options,
        .warnings = "",
        .kernel_count = 1,
        .variant_count = 1,
        .kernels = kernels,
        .variants = &variant,
    };
    status = write_archive(&archive, bytes, size, error);
    metal_pipeline_release(device, pipeline);
    return status;
}

ingot_status metal_compile(ingot_device *base, const struct ig_compilation *wanted, char **bytes,
                           size_t *size, struct ig_error *error) {
    struct ig_arena arena = {0};
    ingot_status status = (wanted->kernel     ? compile_kernel
                           : wanted->compiled ? list_compiled
                                              : list_source)((struct metal_device *)base, wanted,
                                                             &arena, bytes, size, error);
    ig_arena_free(&arena);
    return status;
}

/* ---- code ---- */

const struct ig_code *metal_code_find(ingot_device *device, const struct ig_variant *variant) {
    return ig_variant_code(variant, device->info.target);
}

ingot_status metal_code_load(ingot_device *base, const struct ig_variant *variant,
                             const struct ig_code *code, void **loaded, struct ig_error *error) {
    struct metal_device *device = (struct metal_device *)base;
    const char *line = memchr(code->bytes, '\n', code->size);
    if (!line) {
        return ig_fail(error, INGOT_BAD_ARCHIVE,
                       "kernel \"%s\": its code for Metal has no line of options", variant->kernel);
    }
    struct metal_pipeline_desc desc = {.kernel = variant->kernel, .constants = variant->constants};
    struct metal_pipeline *pipeline = NULL;
    const size_t head = (size_t)(line - (const char *)code->bytes) + 1;
    char *text = strndup(code->bytes, head - 1);
    if (!text) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for kernel \"%s\"", variant->kernel);
    }
    const struct ig_metal_compile_options options = read_options(text);
    ingot_status status =
        is_compiled(text) ? find_compiled(device, text, &desc.library, error)
                          : metal_library_get(device, (const char *)code->bytes + head,
                                              code->size - head, &options, &desc.library, error);
    free(text);
    if (status == INGOT_OK) {
        status = metal_pipeline_get(device, &desc, NULL, NULL, &pipeline, error);
    }
    *loaded = pipeline;
    return status;
}

void metal_code_unload(ingot_device *base, void *loaded) {
    metal_pipeline_release((struct metal_device *)base, loaded);
}

uint32_t metal_code_threads(const void *loaded) {
    return ((const struct metal_pipeline *)loaded)->info.max_threads;
}
