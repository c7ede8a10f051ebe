/*
 * Hand-made kernels for tests of the runtime: C text that follows base/cpu_abi.h is compiled
 * by the system's C compiler at test time and packed into an archive, so that these tests need
 * no ingotc.
 */
#ifndef INGOT_TESTS_RUNTIME_SUPPORT_H
#define INGOT_TESTS_RUNTIME_SUPPORT_H

#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/file.h"
#include "base/process.h"
#include "check.h"
#include "ingot/ingot.h"

struct test_kernel {
    const char *name;
    const char *constants; /* NULL = "" */
    const char *code;      /* C; the prologue below stands before it */
    const struct ig_argument *arguments;
    uint32_t argument_count;
    uint32_t max_threads;
    uint32_t static_bytes;
};

static const char test_prologue[] =
    "#include \"base/cpu_abi.h\"\n"
    "#define LANES(mask) for (uint32_t lane = 0; lane < 32; lane++) if ((mask) >> lane & 1)\n"
    "typedef const struct ingot_cpu_group G;\n"
    "#define KERNEL(FLAGS, STATIC, FN) static void all(G *g) { \\\n"
    "  for (uint32_t s = 0; s < g->simdgroup_count; s++) { \\\n"
    "    uint32_t left = g->thread_count - s * 32; \\\n"
    "    FN(g, s, left >= 32 ? 0xffffffffu : (1u << left) - 1); } } \\\n"
    "  const struct ingot_cpu_kernel ingot_kernel = {INGOT_CPU_ABI_VERSION, FLAGS, STATIC, 4096, "
    "\\\n"
    "  {0, 0, FN}, {0, 0, (FLAGS) & 1 ? 0 : all}};\n"
    "static inline uint32_t gid_x(G *g, uint32_t s, uint32_t lane) {\n"
    "  return g->group_position[0] * g->full_group_size[0] + g->lane_positions[s * 32 + lane]; }\n"
    "static inline uint32_t gid_y(G *g, uint32_t s, uint32_t lane) { return g->group_position[1] "
    "*\n"
    "  g->full_group_size[1] + g->lane_positions[g->lane_stride + s * 32 + lane]; }\n"
    "static inline uint32_t gid_z(G *g, uint32_t s, uint32_t lane) { return g->group_position[2] "
    "*\n"
    "  g->full_group_size[2] + g->lane_positions[2 * g->lane_stride + s * 32 + lane]; }\n";

/* Runs a compiler and reads the file that it makes. */
static inline bool test_run_compiler(const char *const *argv, const char *output, char **bytes,
                                     size_t *size) {
    struct ig_process process = {.arguments = argv, .memory = SIZE_MAX}; /* sanitizers need much */
    struct ig_process_result result = {0};
    struct ig_error error = {0};
    bool good = ig_process_run(&process, &result, &error) == INGOT_OK && result.exit_code == 0 &&
                ig_file_read(output, 0, bytes, size, &error) == INGOT_OK;
    if (!good) {
        fprintf(stderr, "%s: %s%s\n", argv[0], ig_error_text(&error),
                ig_text_string(&result.errors));
    }
    ig_error_clear(&error);
    ig_process_result_free(&result);
    return good;
}

/* Compiles one kernel's C text; malloc'ed ELF bytes or NULL. */
static inline char *test_compile_c(const char *code, size_t *size) {
    char *folder = NULL, *input = NULL, *output = NULL, *include = NULL, *bytes = NULL;
    char *text = NULL;
    if (ig_folder_temporary(&folder, NULL) != INGOT_OK) {
        return NULL;
    }
    if (asprintf(&input, "%s/k.c", folder) < 0 || asprintf(&output, "%s/k.so", folder) < 0 ||
        asprintf(&include, "-I%s/src", INGOT_SOURCE_FOLDER) < 0 ||
        asprintf(&text, "%s%s", test_prologue, code) < 0) {
        return NULL;
    }
    ig_file_write(input, text, strlen(text), NULL);
    const char *other = getenv("INGOT_TEST_CC"); /* when the tests are for another CPU */
    const char *argv[] = {other ? other : "cc",
                          "-std=gnu17",
                          "-O1",
                          "-fPIC",
                          "-shared",
                          "-w",
                          include,
                          "-o",
                          output,
                          input,
                          NULL};
    test_run_compiler(argv, output, &bytes, size);
    ig_folder_remove(folder);
    free(folder);
    free(input);
    free(output);
    free(include);
    free(text);
    return bytes;
}

/* An archive with code of these kernels for `target`. */
static inline bool test_archive(const char *target, const struct test_kernel *kernels,
                                uint32_t count, const struct ig_constant *constants,
                                uint32_t constant_count, void **bytes, size_t *size) {
    struct ig_variant variants[32] = {0};
    struct ig_code codes[32] = {0};
    const char *names[32];
    for (uint32_t i = 0; i < count; i++) {
        names[i] = kernels[i].name;
        codes[i].target = target;
        codes[i].bytes = test_compile_c(kernels[i].code, &codes[i].size);
        if (!codes[i].bytes) {
            return false;
        }
        variants[i] = (struct ig_variant){
            .kernel = kernels[i].name,
            .constants = kernels[i].constants ? kernels[i].constants : "",
            .max_threads = kernels[i].max_threads ? kernels[i].max_threads : 1024,
            .static_threadgroup_bytes = kernels[i].static_bytes,
            .argument_count = kernels[i].argument_count,
            .arguments = kernels[i].arguments,
            .code_count = 1,
            .codes = &codes[i],
        };
    }
    struct ig_archive archive = {
        .compiler = "hand-made",
        .source_name = "test.metal",
        .source = "",
        .options = "",
        .warnings = "",
        .kernel_count = count,
        .kernels = names,
        .variant_count = count,
        .variants = variants,
        .constant_count = constant_count,
        .constants = constants,
    };
    struct ig_error error = {0};
    bool done = ig_archive_write(&archive, bytes, size, &error) == INGOT_OK;
    if (!done) {
        fprintf(stderr, "%s\n", ig_error_text(&error));
    }
    ig_error_clear(&error);
    for (uint32_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)codes[i].bytes);
    }
    return done;
}

#define BUFFER_ARGUMENT(NAME, TYPE, INDEX, SIZE)                                                   \
    {.name = NAME,                                                                                 \
     .type_name = TYPE,                                                                            \
     .kind = INGOT_ARGUMENT_BUFFER,                                                                \
     .space = INGOT_SPACE_DEVICE,                                                                  \
     .index = INDEX,                                                                               \
     .slot = INDEX,                                                                                \
     .type_size = SIZE,                                                                            \
     .type_align = SIZE,                                                                           \
     .writable = 1,                                                                                \
     .active = 1}
#define CONSTANT_ARGUMENT(NAME, TYPE, INDEX, SIZE)                                                 \
    {.name = NAME,                                                                                 \
     .type_name = TYPE,                                                                            \
     .kind = INGOT_ARGUMENT_BUFFER,                                                                \
     .space = INGOT_SPACE_CONSTANT,                                                                \
     .index = INDEX,                                                                               \
     .slot = INDEX,                                                                                \
     .type_size = SIZE,                                                                            \
     .type_align = SIZE,                                                                           \
     .active = 1}
#define REFERENCE_ARGUMENT(NAME, TYPE, INDEX, SIZE)                                                \
    {.name = NAME,                                                                                 \
     .type_name = TYPE,                                                                            \
     .kind = INGOT_ARGUMENT_BUFFER,                                                                \
     .space = INGOT_SPACE_CONSTANT,                                                                \
     .index = INDEX,                                                                               \
     .slot = INDEX,                                                                                \
     .type_size = SIZE,                                                                            \
     .type_align = SIZE,                                                                           \
     .is_reference = 1,                                                                            \
     .active = 1}
#define THREADGROUP_ARGUMENT(NAME, TYPE, INDEX, SIZE)                                              \
    {.name = NAME,                                                                                 \
     .type_name = TYPE,                                                                            \
     .kind = INGOT_ARGUMENT_THREADGROUP,                                                           \
     .space = INGOT_SPACE_THREADGROUP,                                                             \
     .index = INDEX,                                                                               \
     .slot = INDEX,                                                                                \
     .type_size = SIZE,                                                                            \
     .type_align = SIZE,                                                                           \
     .active = 1}

static inline void check_ok(ingot_status status, int line) {
    CHECK(status == INGOT_OK);
    if (status != INGOT_OK) {
        fprintf(stderr, "  line %d: %s: %s\n", line, ingot_status_name(status),
                ingot_error_message());
    }
}
#define OK(call) check_ok(call, __LINE__)

/* The call failed with this status, and its message holds every one of the texts. */
static inline void check_fails(ingot_status got, ingot_status wanted, const char *const *texts,
                               int line) {
    CHECK(got == wanted);
    if (got != wanted) {
        fprintf(stderr, "  line %d: %s: %s\n", line, ingot_status_name(got), ingot_error_message());
    }
    for (; *texts; texts++) {
        bool found = strstr(ingot_error_message(), *texts) != NULL;
        CHECK(found);
        if (!found) {
            fprintf(stderr, "  line %d: \"%s\" is not in \"%s\"\n", line, *texts,
                    ingot_error_message());
        }
    }
}
#define FAILS(call, status, ...)                                                                   \
    check_fails(call, status, (const char *const[]){__VA_ARGS__, NULL}, __LINE__)

#endif
