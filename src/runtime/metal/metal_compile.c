/*
 * Source to archives by Metal's own compiler, and code from archives.
 *
 * The code of target "metal" is what Metal compiles: a line of options, then the source. Arguments
 * are those that the pipeline's reflection tells.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "base/text.h"
#include "runtime/metal/metal.h"

static const char fast_math_option[] = "--fast-math", version_option[] = "--msl-version ";

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
    const char *fast = desc && desc->fast_math ? fast_math_option : "";
    return desc && desc->msl_version ? ig_arena_printf(arena, "%s%s%s%u", fast, *fast ? " " : "",
                                                       version_option, desc->msl_version)
                                     : fast;
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

/* The kernels and constants of a source, which is kept as Metal gets it. */
static ingot_status list_source(struct metal_device *device, const struct ig_compilation *wanted,
                                struct ig_arena *arena, char **bytes, size_t *size,
                                struct ig_error *error) {
    struct listing list = {.arena = arena};
    struct ig_text text = {0};
    void *library = NULL;
    const char *options = write_options(arena, wanted->desc);
    ingot_status status = metal_expand_source(wanted, &text, error);
    if (status == INGOT_OK) {
        const struct ig_metal_compile_options chosen = read_options(options ? options : "");
        status = metal_library_get(device, text.data, text.size, &chosen, &library, error);
    }
    if (status == INGOT_OK &&
        (!options || !device->bridge->library_list(library, &list, add_kernel, add_constant))) {
        status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to list \"%s\"", wanted->name);
    }
    if (status == INGOT_OK) {
        const struct ig_archive archive = {
            .compiler = "Metal's compiler",
            .source_name = wanted->name,
            .source = ig_text_string(&text),
            .options = options,
            .warnings = "",
            .kernel_count = list.kernel_count,
            .constant_count = list.constant_count,
            .kernels = list.kernels,
            .constants = list.constants,
        };
        status = write_archive(&archive, bytes, size, error);
    }
    ig_text_free(&text);
    return status;
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
    struct metal_pipeline_desc desc = {.kernel = wanted->kernel, .constants = wanted->constants};
    if (!code) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for kernel \"%s\"", wanted->kernel);
    }
    ingot_status status =
        metal_library_get(device, source, strlen(source), &options, &desc.library, error);
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
    ingot_status status = (wanted->kernel ? compile_kernel : list_source)(
        (struct metal_device *)base, wanted, &arena, bytes, size, error);
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
    free(text);
    ingot_status status = metal_library_get(device, (const char *)code->bytes + head,
                                            code->size - head, &options, &desc.library, error);
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
