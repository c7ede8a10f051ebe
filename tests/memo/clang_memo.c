/*
 * A clang for tests that remembers: $INGOT_CLANG names it, and $CLANG_MEMO the folder of what it
 * remembers.
 *
 * The tests compile the same sources for several targets, and again with sanitizers; clang, which
 * is not under test, gives the same module each time. Requires compilations as ingotc asks for
 * them: -cc1 from stdin to stdout, with the prelude precompiled. What the result rests on is then
 * the clang, the arguments (the precompiled header's name has the hash of the prelude's files), the
 * folder where debuggers' code names it, and the input; together they are the name of an entry. An
 * entry has the exit status, stderr and stdout, of failures too. `--version` is remembered as well,
 * since ingotc asks each time; the clang within ingotc has a version that the build knows.
 * Everything else (preprocessing, precompiling), and all without $CLANG_MEMO, is clang itself.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"

enum { FAILED = 125, VERSION = 1 };

struct entry { /* of a file: this, then stderr, then stdout */
    char magic[8];
    uint64_t status, error_size, output_size;
};
static const char magic[8] = "memo 1\n";

static bool has(char **arguments, const char *wanted) {
    for (; *arguments; arguments++) {
        if (!strcmp(*arguments, wanted)) {
            return true;
        }
    }
    return false;
}

static bool is_compilation(int count, char **arguments) {
    return count > 2 && !strcmp(arguments[1], "-cc1") && has(arguments, "-include-pch") &&
           (has(arguments, "-emit-llvm-bc") || has(arguments, "-emit-llvm")) &&
           !strcmp(arguments[count - 1], "-") && !strcmp(arguments[count - 2], "-");
}

static bool is_version(int count, char **arguments) {
    return count == 2 && !strcmp(arguments[1], "--version");
}

static void read_input(struct ig_text *input) {
    char buffer[65536];
    ssize_t got;
    while ((got = read(STDIN_FILENO, buffer, sizeof buffer)) > 0) {
        ig_text_append(input, buffer, (size_t)got);
    }
}

/* Code for debuggers names files by the folder that clang runs in. */
static void hash_folder(struct ig_hash *hash, char **arguments) {
    char *folder = has(arguments, "-debug-info-kind=standalone") ? getcwd(NULL, 0) : NULL;
    if (folder) {
        ig_hash_string(hash, folder);
        free(folder);
    }
}

/* The path of the entry, or NULL. A folder in front of a precompiled header does not count: each
 * test has a cache of its own. */
static char *entry_path(const char *folder, char **arguments, const struct ig_text *input) {
    struct ig_hash hash;
    struct stat clang;
    uint8_t digest[32];
    char hex[65], *path = NULL;
    if (stat(CLANG_PROGRAM, &clang)) {
        return NULL;
    }
    ig_hash_begin(&hash);
    ig_hash_u64(&hash, VERSION);
    ig_hash_string(&hash, CLANG_PROGRAM);
    ig_hash_u64(&hash, (uint64_t)clang.st_size);
    ig_hash_u64(&hash, (uint64_t)clang.st_mtime);
    for (char **a = arguments + 1; *a; a++) {
        const char *slash = strcmp(a[-1], "-include-pch") ? NULL : strrchr(*a, '/');
        ig_hash_string(&hash, slash ? slash + 1 : *a);
    }
    hash_folder(&hash, arguments);
    ig_hash_u64(&hash, input->size);
    ig_hash_bytes(&hash, ig_text_string(input), input->size);
    ig_hash_end(&hash, digest);
    ig_hash_hex(digest, hex);
    return asprintf(&path, "%s/%s", folder, hex) < 0 ? NULL : path;
}

static int answer(uint64_t status, const char *errors, size_t error_size, const char *output,
                  size_t output_size) {
    bool bad = ig_write_all(STDERR_FILENO, errors, error_size) ||
               ig_write_all(STDOUT_FILENO, output, output_size);
    return bad ? FAILED : (int)status;
}

/* False when there is no whole entry. */
static bool recall(const char *path, int *status) {
    char *bytes = NULL;
    size_t size = 0;
    struct entry entry;
    bool whole = !ig_file_read(path, 0, &bytes, &size, NULL) && size >= sizeof entry;
    if (whole) {
        memcpy(&entry, bytes, sizeof entry);
        whole = !memcmp(entry.magic, magic, sizeof magic) &&
                size - sizeof entry == entry.error_size + entry.output_size;
    }
    if (whole) {
        const char *errors = bytes + sizeof entry;
        *status = answer(entry.status, errors, entry.error_size, errors + entry.error_size,
                         entry.output_size);
    }
    free(bytes);
    return whole;
}

static void keep(const char *path, const struct ig_process_result *result) {
    struct entry entry = {.status = (uint64_t)result->exit_code,
                          .error_size = result->errors.size,
                          .output_size = result->output.size};
    struct ig_text text = {0};
    memcpy(entry.magic, magic, sizeof magic);
    ig_text_append(&text, &entry, sizeof entry);
    ig_text_append(&text, ig_text_string(&result->errors), result->errors.size);
    ig_text_append(&text, ig_text_string(&result->output), result->output.size);
    if (!text.failed) {
        ig_file_write(path, text.data, text.size, NULL); /* if it cannot be, it is made again */
    }
    ig_text_free(&text);
}

/* clang's answer, which is remembered unless a signal ended it. */
static int ask(char **arguments, const struct ig_text *input, const char *path) {
    struct ig_process process = {.arguments = (const char *const *)arguments,
                                 .input = ig_text_string(input),
                                 .input_size = input->size};
    struct ig_process_result result = {0};
    struct ig_error error = {0};
    if (ig_process_run(&process, &result, &error)) {
        fprintf(stderr, "clang-memo: %s\n", ig_error_text(&error));
        return FAILED;
    }
    int status = result.exit_code;
    if (result.signal || result.timed_out) {
        fprintf(stderr, "clang-memo: %s was ended by signal %d\n", CLANG_PROGRAM, result.signal);
        status = FAILED;
        if (result.signal == SIGXCPU) { /* the limit of who asked for it: it is to see that */
            raise(SIGXCPU);
        }
    } else {
        keep(path, &result);
    }
    status = answer((uint64_t)status, ig_text_string(&result.errors), result.errors.size,
                    ig_text_string(&result.output), result.output.size);
    ig_process_result_free(&result);
    return status;
}

int main(int count, char **arguments) {
    const char *folder = getenv("CLANG_MEMO");
    bool whole = is_compilation(count, arguments);
    struct ig_text input = {0};
    arguments[0] = (char *)(uintptr_t)CLANG_PROGRAM;
    if (*CLANG_VERSION && is_version(count, arguments)) {
        puts(CLANG_VERSION);
        return 0;
    }
    if (!folder || !*folder || !(whole || is_version(count, arguments)) ||
        ig_folder_make(folder, NULL)) {
        execv(CLANG_PROGRAM, arguments);
        perror(CLANG_PROGRAM);
        return FAILED;
    }
    if (whole) {
        read_input(&input);
    }
    char *path = entry_path(folder, arguments, &input);
    int status = FAILED;
    if (!path || input.failed) {
        fprintf(stderr, "clang-memo: no memory, or there is no %s\n", CLANG_PROGRAM);
    } else if (!recall(path, &status)) {
        status = ask(arguments, &input, path);
    }
    free(path);
    ig_text_free(&input);
    return status;
}
