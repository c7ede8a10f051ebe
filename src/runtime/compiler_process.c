/*
 * Running ingotc. Requires nothing; provides archive bytes or an error whose
 * message holds the compiler's diagnostics. The contract is in docs/design/pipeline.md.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compile_limits.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "runtime/objects.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IG_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IG_SANITIZED 1
#endif
#endif

#ifndef INGOT_SOURCE_PRELUDE
#define INGOT_SOURCE_PRELUDE "" /* of the source tree that a development build uses */
#endif

#define MAX_ARGUMENTS 1024
#define MAX_ARCHIVE   ((size_t)1 << 30)

/* A number that changes when a file of the folder does; 0 when there is no such folder. */
static uint64_t folder_stamp(const char *path) {
    DIR *folder = opendir(path);
    if (!folder) {
        return 0;
    }
    uint64_t stamp = 1;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct stat status;
        if (entry->d_name[0] == '.' || fstatat(dirfd(folder), entry->d_name, &status, 0) != 0) {
            continue;
        }
        uint64_t hash = 14695981039346656037u; /* FNV-1a */
        for (const char *c = entry->d_name; *c; c++) {
            hash = (hash ^ (unsigned char)*c) * 1099511628211u;
        }
        hash = (hash ^ (uint64_t)status.st_size) * 1099511628211u;
        hash = (hash ^ (uint64_t)status.st_mtim.tv_sec) * 1099511628211u;
        hash = (hash ^ (uint64_t)status.st_mtim.tv_nsec) * 1099511628211u;
        stamp += hash; /* in any order */
    }
    closedir(folder);
    return stamp;
}

/* The prelude belongs to the compiler, and is looked for where ingotc looks for it. */
static uint64_t prelude_stamp(const char *compiler) {
    const char *named = ig_environment("INGOT_PRELUDE");
    if (named && *named) {
        return folder_stamp(named);
    }
    char *installed = NULL;
    const char *slash = strrchr(compiler, '/');
    if (!slash || asprintf(&installed, "%.*s/../share/ingot/prelude", (int)(slash - compiler),
                           compiler) < 0) {
        return 0;
    }
    uint64_t stamp = folder_stamp(installed);
    free(installed);
    return stamp ? stamp : folder_stamp(INGOT_SOURCE_PRELUDE);
}

ingot_status ig_compiler_find(struct ig_compiler *compiler, struct ig_error *error) {
    memset(compiler, 0, sizeof *compiler);
    struct ig_error missing = {0};
    compiler->path = ig_program_find("ingotc", "INGOTC", &missing);
    if (!compiler->path) {
        const char *chosen = ig_environment("INGOTC");
        ig_fail(error, INGOT_NO_COMPILER, "%s%s",
                chosen && *chosen ? "" : "a compilation is needed, but ", ig_error_text(&missing));
        ig_error_clear(&missing);
        return INGOT_NO_COMPILER;
    }
    struct stat status;
    if (stat(compiler->path, &status) == 0) {
        if (asprintf(&compiler->identity, "%s|%lld|%lld.%09ld|%llx", compiler->path,
                     (long long)status.st_size, (long long)status.st_mtim.tv_sec,
                     (long)status.st_mtim.tv_nsec,
                     (unsigned long long)prelude_stamp(compiler->path)) < 0) {
            compiler->identity = NULL;
        }
    }
    if (!compiler->identity) {
        ig_compiler_free(compiler);
        return ig_fail(error, INGOT_NO_COMPILER,
                       "ingotc cannot be used: it vanished, or memory "
                       "is out");
    }
    return INGOT_OK;
}

void ig_compiler_free(struct ig_compiler *compiler) {
    free(compiler->path);
    free(compiler->identity);
    compiler->path = compiler->identity = NULL;
}

static ingot_status judge(const struct ig_process_result *result, const char *path,
                          struct ig_error *error) {
    const char *said = ig_text_string(&result->errors);
    if (result->timed_out) {
        return ig_fail(error, INGOT_INTERNAL_ERROR,
                       "the compiler %s ran past its time limit; it "
                       "said: %s",
                       path, said);
    }
    if (result->signal) {
        return ig_fail(error, INGOT_INTERNAL_ERROR,
                       "the compiler %s was ended by signal %d; it "
                       "said: %s",
                       path, result->signal, said);
    }
    switch (result->exit_code) {
    case 0:
        return INGOT_OK;
    case 1:
        return ig_fail(error, INGOT_COMPILE_ERROR, "%s", said);
    case 3:
        return ig_fail(error, INGOT_NO_COMPILER, "%s", said);
    case 127: /* the dynamic linker's: a library is missing */
        return ig_fail(
            error, INGOT_NO_COMPILER,
            "the compiler %s cannot start: %s\nIt uses the system's LLVM and clang, 19 to "
            "21: apt-get install clang-19 lld-19, or brew install llvm@19 lld@19",
            path, said);
    default:
        return ig_fail(error, INGOT_INTERNAL_ERROR,
                       "the compiler %s ended with status %d; it "
                       "said: %s",
                       path, result->exit_code, said);
    }
}

/* ---- a compiler without rights ---- */

struct isolation {
    struct ig_arena arena;
    struct ig_confinement files;
    const char **environment;
};

/* The system's programs and libraries, the compiler with what lies beside it, the precompiled
 * headers, and the folders for includes. */
static bool list_files(struct isolation *isolation, const char *compiler,
                       const char *const *options, const char *cache) {
    static const char *const always[] = {"/usr",
                                         "/lib",
                                         "/lib64",
                                         "/bin",
                                         "/opt",
                                         "/etc/ld.so.cache",
                                         "/etc/alternatives",
                                         "/dev/urandom",
                                         "/proc/self",
                                         "/proc/cpuinfo",
                                         "/proc/meminfo",
                                         "/sys/devices/system/cpu",
                                         INGOT_SOURCE_PRELUDE};
    size_t count = sizeof always / sizeof *always, room = count + 8;
    for (size_t i = 0; options[i]; i++) {
        room++;
    }
    const char **list = ig_arena_array(&isolation->arena, room, sizeof *list);
    const char *slash = strrchr(compiler, '/');
    const char *around =
        slash ? ig_arena_printf(&isolation->arena, "%.*s/..", (int)(slash - compiler), compiler)
              : "/usr";
    const char *prelude = ig_environment("INGOT_PRELUDE"), *clang = ig_environment("INGOT_CLANG");
    if (!list || !around) {
        return false;
    }
    memcpy(list, always, sizeof always);
    list[count++] = compiler;
    const char *more[] = {"share", "lib", "bin"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        const char *beside = ig_arena_printf(&isolation->arena, "%s/%s", around, more[i]);
        list[count++] = beside ? beside : around;
    }
    list[count++] = prelude && *prelude ? prelude : "";
    list[count++] = clang && *clang ? clang : "";
    list[count++] = cache ? cache : "";
    for (size_t i = 0; options[i] && options[i + 1]; i++) {
        if (!strcmp(options[i], "--include")) {
            list[count++] = options[++i];
        }
    }
    isolation->files.readable = list;
    isolation->files.readable_count = count;
    return true;
}

/* The caller's environment, but temporary files go where the compiler may write. */
static bool list_environment(struct isolation *isolation, const char *folder) {
    size_t count = 0, kept = 0;
    while (environ[count]) {
        count++;
    }
    const char **list = ig_arena_array(&isolation->arena, count + 2, sizeof *list);
    const char *temporary = ig_arena_printf(&isolation->arena, "TMPDIR=%s", folder);
    if (!list || !temporary) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], "TMPDIR=", 7)) {
            list[kept++] = environ[i];
        }
    }
    list[kept] = temporary;
    isolation->environment = list;
    return true;
}

static ingot_status run_isolated(struct ig_process *process, const char *folder,
                                 struct ig_process_result *result, struct ig_error *error) {
    struct isolation isolation = {.files.writable = folder};
    char *cache = ig_cache_folder();
    ingot_status status =
        list_files(&isolation, process->arguments[0], process->arguments + 1, cache) &&
                list_environment(&isolation, folder)
            ? INGOT_OK
            : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to run the compiler");
    if (status == INGOT_OK) {
        process->environment = isolation.environment;
        process->confinement = &isolation.files;
        status = ig_process_run(process, result, error);
    }
    free(cache);
    ig_arena_free(&isolation.arena);
    return status;
}

ingot_status ig_compiler_run(const struct ig_compiler *compiler, const char *source, size_t length,
                             const char *const *arguments, char **bytes, size_t *size,
                             struct ig_error *error) {
    char *folder = NULL, *output = NULL;
    ingot_status status = ig_folder_temporary(&folder, error);
    if (status != INGOT_OK) {
        return status;
    }
    struct ig_process_result result = {0};
    const char *argv[MAX_ARGUMENTS];
    size_t count = 0;
    if (asprintf(&output, "%s/out.ingot", folder) < 0) {
        output = NULL;
        status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to run the compiler");
        goto done;
    }
    argv[count++] = compiler->path;
    argv[count++] = "-";
    argv[count++] = "-o";
    argv[count++] = output;
    for (size_t i = 0; arguments[i]; i++) {
        if (count + 1 >= MAX_ARGUMENTS) {
            status = ig_fail(error, INGOT_INVALID_ARGUMENT,
                             "too many compiler arguments: more than %d", MAX_ARGUMENTS);
            goto done;
        }
        argv[count++] = arguments[i];
    }
    argv[count] = NULL;
    struct ig_compile_limits limits;
    status = ig_compile_limits(&limits, error);
    if (status != INGOT_OK) {
        goto done;
    }
    /* The compiler keeps to the limit itself, once for clang and once for each kernel. */
    struct ig_process process = {.arguments = argv,
                                 .input = source,
                                 .input_size = length,
                                 .seconds = 6.0 * IG_COMPILE_CLOCK * limits.seconds + 60};
#if defined(IG_SANITIZED)
    process.memory = SIZE_MAX; /* a sanitized compiler maps terabytes of shadow */
#endif
    status = compiler->isolated ? run_isolated(&process, folder, &result, error)
                                : ig_process_run(&process, &result, error);
    if (status == INGOT_NOT_FOUND) {
        status =
            ig_fail(error, INGOT_NO_COMPILER, "the compiler %s cannot be started", compiler->path);
    }
    if (status == INGOT_OK) {
        status = judge(&result, compiler->path, error);
    }
    if (status == INGOT_OK) {
        status = ig_file_read(output, MAX_ARCHIVE, bytes, size, error);
    }
done:
    ig_process_result_free(&result);
    ig_folder_remove(folder);
    free(output);
    free(folder);
    return status;
}
