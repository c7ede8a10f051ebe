/*
 * Archives of cases: made on a machine with the compiler (--pack), used on one without (--packed).
 *
 * Each case's kernel becomes FOLDER/FILE-HASH.ingot. When it does not compile, the archive only
 * lists the kernels, and FILE-HASH.error holds what the compiler said.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "runner.h"

enum { MAX_WORDS = 256, MAX_MESSAGE = 1 << 20 };

struct words {
    struct ig_arena *arena;
    const char *items[MAX_WORDS];
    size_t count;
};

static void add(struct words *words, const char *word) {
    if (word && words->count + 1 < MAX_WORDS) {
        words->items[words->count++] = word;
    }
}

static void add_pair(struct words *words, const char *option, const char *value) {
    add(words, option);
    add(words, value);
}

/* ---- names ---- */

static void hash_case(const struct test_case *test, char hex[65]) {
    struct ig_hash hash;
    uint8_t digest[32];
    ig_hash_begin(&hash);
    ig_hash_string(&hash, test->kernel ? test->kernel : "");
    ig_hash_u64(&hash, test->fast_math);
    ig_hash_u64(&hash, test->msl_version);
    for (size_t i = 0; i < test->define_count; i++) {
        ig_hash_string(&hash, test->defines[i]);
    }
    for (size_t i = 0; i < test->constant_count; i++) {
        const struct constant_value *constant = &test->constants[i];
        ig_hash_string(&hash, constant->name ? constant->name : "");
        ig_hash_u64(&hash, constant->index);
        ig_hash_u64(&hash, constant->data.size);
        ig_hash_bytes(&hash, constant->data.bytes, constant->data.size);
    }
    ig_hash_end(&hash, digest);
    ig_hash_hex(digest, hex);
}

static char *packed_path(const struct test_file *file, const struct test_case *test,
                         const char *folder, const char *extension) {
    char hex[65];
    const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
    hash_case(test, hex);
    return ig_arena_printf(file->arena, "%s/%.*s-%.12s.%s", folder, (int)strcspn(name, "."), name,
                           hex, extension);
}

ingot_status test_packed_open(ingot_device *device, const struct test_file *file,
                              const struct test_case *test, const char *folder,
                              ingot_library **library, const char **message) {
    char *archive = packed_path(file, test, folder, "ingot");
    char *errors = packed_path(file, test, folder, "error");
    char *text = NULL;
    size_t size;
    bool has_kernel = false;
    if (!archive || !errors) {
        return INGOT_OUT_OF_MEMORY;
    }
    bool has_errors = !ig_file_read(errors, MAX_MESSAGE, &text, &size, NULL);
    ingot_status status = ingot_library_create_from_archive(device, archive, library);
    for (size_t i = 0; !status && i < ingot_library_kernel_count(*library); i++) {
        has_kernel |= test->kernel && !strcmp(ingot_library_kernel_name(*library, i), test->kernel);
    }
    if (has_errors && (status || has_kernel)) {
        *message = ig_arena_string(file->arena, text);
        status = INGOT_COMPILE_ERROR;
    }
    free(text);
    return status;
}

/* ---- making them ---- */

static void add_options(struct words *words, const struct test_file *file,
                        const struct test_case *test) {
    const char *slash = strrchr(file->path, '/');
    size_t length = slash ? (size_t)(slash - file->path) : 1;
    add_pair(words, "--include",
             ig_arena_printf(words->arena, "%.*s", (int)length, slash ? file->path : "."));
    for (size_t i = 0; i < test->include_dir_count; i++) {
        add_pair(words, "--include", test->include_dirs[i]);
    }
    for (size_t i = 0; i < test->define_count; i++) {
        char *define = ig_arena_string(words->arena, test->defines[i]);
        char *separator = define ? strchr(define, ':') : NULL;
        if (separator) {
            *separator = '=';
        }
        add_pair(words, "-D", define);
    }
    if (test->fast_math) {
        add(words, "--fast-math");
    }
    if (test->msl_version) {
        add_pair(words, "--msl-version", ig_arena_printf(words->arena, "%u", test->msl_version));
    }
}

/* Runs ingotc; true when it made the archive. `errors` receives what it said. */
static bool compile(struct words *words, const char *archive, struct ig_text *errors) {
    struct ig_process_result result = {0};
    struct ig_error error = {0};
    add_pair(words, "-o", archive);
    words->items[words->count] = NULL;
    struct ig_process process = {.arguments = words->items};
    bool good = !ig_process_run(&process, &result, &error) && !result.signal && !result.timed_out &&
                result.exit_code == 0;
    if (errors && error.status) {
        ig_text_puts(errors, ig_error_text(&error));
    } else if (errors) {
        ig_text_puts(errors, ig_text_string(&result.errors));
    }
    ig_error_clear(&error);
    ig_process_result_free(&result);
    return good;
}

/* The index of a constant that the case names, from the archive that lists them. */
static bool constant_index(const struct constant_value *constant, const struct ig_archive *listed,
                           uint32_t *index) {
    *index = constant->index;
    if (!constant->name) {
        return true;
    }
    for (uint32_t i = 0; i < listed->constant_count; i++) {
        if (!strcmp(listed->constants[i].name, constant->name)) {
            *index = listed->constants[i].index;
            return true;
        }
    }
    return false;
}

static void add_constants(struct words *words, const struct test_case *test,
                          const struct ig_archive *listed) {
    for (size_t i = 0; i < test->constant_count; i++) {
        const struct constant_value *constant = &test->constants[i];
        struct ig_text text = {0};
        uint32_t index;
        if (!constant_index(constant, listed, &index)) {
            continue; /* the runtime will say so */
        }
        ig_text_printf(&text, "%u=", index);
        for (size_t k = 0; k < constant->data.size; k++) {
            ig_text_printf(&text, "%02x", constant->data.bytes[k]);
        }
        add_pair(words, "--const", ig_arena_string(words->arena, ig_text_string(&text)));
        ig_text_free(&text);
    }
}

static struct words start(const struct test_file *file, const struct test_case *test) {
    struct words words = {.arena = file->arena};
    const char *compiler = getenv("INGOTC");
    add(&words, compiler && *compiler ? compiler : "ingotc");
    add(&words, file->path);
    add_options(&words, file, test);
    return words;
}

/* An archive that lists the kernels; false, and `errors`, when not even that can be made. */
static bool list(const struct test_file *file, const struct test_case *test, const char *archive,
                 char **bytes, struct ig_archive *listed, struct ig_text *errors) {
    size_t size = 0;
    struct words words = start(file, test);
    add(&words, "--list-only");
    return compile(&words, archive, errors) && !ig_file_read(archive, 0, bytes, &size, NULL) &&
           !ig_archive_read(file->arena, *bytes, size, listed, NULL);
}

/* Only constants that the case knows by name are looked up in the list. */
static bool needs_list(const struct test_case *test) {
    for (size_t i = 0; i < test->constant_count; i++) {
        if (test->constants[i].name) {
            return true;
        }
    }
    return false;
}

/* Whether an earlier case of the file has the same archive. */
static bool is_made(const struct test_file *file, const struct test_case *test) {
    char hex[65], other[65];
    hash_case(test, hex);
    for (const struct test_case *earlier = file->cases; earlier < test; earlier++) {
        hash_case(earlier, other);
        if (!strcmp(hex, other)) {
            return true;
        }
    }
    return false;
}

bool test_case_pack(const struct test_file *file, const struct test_case *test, const char *folder,
                    const char *const *targets, size_t target_count, struct ig_text *report) {
    char *archive = packed_path(file, test, folder, "ingot");
    char *error_path = packed_path(file, test, folder, "error");
    char *made = ig_arena_printf(file->arena, "%s.new", archive ? archive : "");
    char *bytes = NULL;
    struct ig_archive listed = {0};
    struct ig_text errors = {0}, said = {0};
    if (!archive || !error_path || !made) {
        return false;
    }
    if (is_made(file, test)) {
        return true;
    }
    bool is_listed = needs_list(test) && list(file, test, archive, &bytes, &listed, NULL);
    struct words words = start(file, test);
    add_constants(&words, test, &listed);
    if (test->kernel) {
        add_pair(&words, "--kernel", test->kernel);
    }
    for (size_t i = 0; i < target_count; i++) {
        add_pair(&words, "--target", targets[i]);
    }
    bool good = compile(&words, made, &errors) && !rename(made, archive);
    if (good) {
        remove(error_path); /* of an earlier try */
    } else {
        if (!is_listed && !list(file, test, archive, &bytes, &listed, &said) && !test->kernel) {
            ig_text_free(&errors); /* a kernel says more than the list of all of them */
            errors = said;
            said = (struct ig_text){0};
        }
        ig_file_write(error_path, ig_text_string(&errors), errors.size, NULL);
    }
    bool expected = test->error_text_count || test->status_name;
    if (!good && !expected) {
        ig_text_printf(report, "%s\n", ig_text_string(&errors));
    }
    free(bytes);
    ig_text_free(&errors);
    ig_text_free(&said);
    return good || expected;
}
