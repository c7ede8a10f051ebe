/*
 * clang as a child process: precompiling the prelude, compiling.
 *
 * The prelude's precompiled header is kept in the cache under a name made of the hash of
 * clang's identity (path, size, time), the flags and every file of the prelude, so it is
 * never stale. One that clang refuses is built again; when none can be written the prelude
 * is included as text, which only costs time.
 */
#include "compiler/frontend/msl/clang.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/hash.h"
#include "compiler/bundled/bundled.h"
#include "compiler/frontend/msl/mixed_operands.h"

enum {
    MAX_ARGUMENTS = 96,
    PCH_RECIPE = 3, /* counts changes of build_pch */
};

static const char *const language_flags[] = {
    "-triple",
    "x86_64-linux-gnu",
    "-aux-triple",
    "x86_64-linux-gnu",
    "-fsycl-is-device",
    "-ffake-address-space-map",
    "-fdeclspec",
    "-ffloat16-excess-precision=none",
    "-fbfloat16-excess-precision=none",
    "-cl-single-precision-constant",
    "-O2",
    "-disable-llvm-passes",
    "-fno-builtin",
    "-fno-rtti",
    "-ffp-contract=off",
    "-fno-finite-loops",
    "-fgnuc-version=4.2.1",
    "-Wno-everything", /* but what is almost always a mistake */
    "-Wreturn-type",
    "-Wuninitialized",
    "-Wsometimes-uninitialized",
    "-Wdivision-by-zero",
    "-Wshift-count-overflow",
    "-Wshift-count-negative",
    "-Wtautological-constant-compare",
    "-Wtautological-unsigned-zero-compare",
    "-Wtautological-overlap-compare",
    "-Wparentheses",
    "-Wconstant-conversion",
    "-Wliteral-conversion",
    "-Wliteral-range",
    "-Wunused-comparison",
    "-Wunused-value",
    "-Warray-bounds",
    "-Wself-assign",
    "-Wuser-defined-warnings",     /* of the prelude: what Apple's compiler refuses */
    "-Wno-self-assign-overloaded", /* vectors, in macros that may do nothing */
    "-Wc++11-narrowing",           /* an error of clang's, and so of Apple's compiler */
    "-Wno-error=c++11-narrowing",
    "-Wvla-extension",
    "-Wglobal-constructors", /* what of these is right: unportable_globals.c */
    "-Wno-invalid-constexpr",
    "-fno-caret-diagnostics",
    "-fno-diagnostics-use-presumed-location",
    "-fno-elide-type",
    "-fshow-overloads=best",
    "-ferror-limit",
    "20",
    "-nostdsysteminc",
    "-nobuiltininc",
    "-x",
    "c++",
};

struct arguments {
    const char *items[MAX_ARGUMENTS];
    size_t count;
};

static void add(struct arguments *arguments, const char *item) {
    if (arguments->count + 1 < MAX_ARGUMENTS) {
        arguments->items[arguments->count++] = item;
    }
}

static void begin(struct arguments *arguments, const struct igc_options *options,
                  enum igc_dialect dialect) {
    *arguments = (struct arguments){0};
    add(arguments, options->clang);
    add(arguments, IGC_AS_CLANG);
    for (size_t i = 0; i < sizeof language_flags / sizeof *language_flags; i++) {
        add(arguments, language_flags[i]);
    }
    add(arguments, dialect == IGC_CXX17 ? "-std=c++17" : "-std=c++23");
    if (dialect == IGC_CXX23_TENSORS) {
        add(arguments, "-D__INGOT_TENSORS__=1");
    }
    add(arguments, "-I");
    add(arguments, options->prelude_dir);
}

ingot_status igc_clang_broken(const struct igc_options *options,
                              const struct ig_process_result *result, const char *step,
                              struct ig_error *error) {
    if (result->timed_out) {
        return ig_fail(
            error, INGOT_COMPILE_ERROR,
            "%s: clang took more than the limit of %u s (INGOT_COMPILE_SECONDS), and was "
            "stopped",
            options->source_name, options->limits.seconds);
    }
    const char *said = ig_text_string(&result->errors);
    if (strstr(said, "out of memory") || strstr(said, "bad_alloc") ||
        strstr(said, "Allocation failed")) {
        return ig_fail(error, INGOT_COMPILE_ERROR,
                       "%s: clang needs more than the limit of %llu bytes of memory "
                       "(INGOT_COMPILE_MEMORY), and was stopped",
                       options->source_name, (unsigned long long)options->limits.memory);
    }
    if (result->signal) {
        return ig_fail(error, INGOT_COMPILE_ERROR, "%s %s was ended by signal %d on %s",
                       options->clang, step, result->signal, options->source_name);
    }
    const char *messages = ig_text_string(&result->errors);
    return ig_fail(error, INGOT_COMPILE_ERROR, "%s %s failed with status %d on %s: %.2000s",
                   options->clang, step, result->exit_code, options->source_name, messages);
}

/* ---- the prelude's precompiled header -----------------------------------------------------------
 */
static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds every file of the folder (not of folders within, which hold only empty files). */
static bool hash_prelude(const char *folder, struct ig_hash *hash) {
    enum { LIMIT = 256 };
    char *names[LIMIT];
    size_t count = 0;
    bool ok = true;
    DIR *listing = opendir(folder);
    if (!listing) {
        return false;
    }
    for (struct dirent *entry; (entry = readdir(listing)) && count < LIMIT;) {
        if (strncmp(entry->d_name, "ingot_", 6) == 0 && (names[count] = strdup(entry->d_name))) {
            count++;
        }
    }
    closedir(listing);
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        char *path, *bytes;
        size_t size;
        if (asprintf(&path, "%s/%s", folder, names[i]) < 0) {
            path = NULL;
        }
        struct ig_error ignored = {0};
        if (path && ig_file_read(path, 0, &bytes, &size, &ignored) == INGOT_OK) {
            ig_hash_string(hash, names[i]);
            ig_hash_u64(hash, size);
            ig_hash_bytes(hash, bytes, size);
            free(bytes);
        } else {
            ok = false;
        }
        ig_error_clear(&ignored);
        free(path);
        free(names[i]);
    }
    return ok && count > 0;
}

/* The user's own, and no link; or not there yet. */
static bool is_own_folder(const char *folder) {
    struct stat info;
    int fd = ig_folder_open_private(folder);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0 || lstat(folder, &info);
}

/* clang would follow a link, and wait for a FIFO's writer. */
static void remove_what_is_no_file(const char *path) {
    struct stat info;
    if (!lstat(path, &info) && (!S_ISREG(info.st_mode) || info.st_uid != geteuid())) {
        unlink(path);
    }
}

static const char *pch_path(struct ig_arena *arena, const struct igc_options *options,
                            enum igc_dialect dialect) {
    struct ig_hash hash;
    struct stat info;
    uint8_t digest[32];
    char hex[65];
    if (!options->cache_dir || !*options->cache_dir || stat(options->clang, &info) != 0) {
        return NULL;
    }
    ig_hash_begin(&hash);
    ig_hash_string(&hash, options->clang);
    ig_hash_u64(&hash, (uint64_t)info.st_size);
    ig_hash_u64(&hash, (uint64_t)info.st_mtime);
    ig_hash_string(&hash, options->prelude_dir);
    ig_hash_u64(&hash, (uint64_t)dialect);
    ig_hash_u64(&hash, PCH_RECIPE);
    for (size_t i = 0; i < sizeof language_flags / sizeof *language_flags; i++) {
        ig_hash_string(&hash, language_flags[i]);
    }
    if (!hash_prelude(options->prelude_dir, &hash)) {
        return NULL;
    }
    ig_hash_end(&hash, digest);
    ig_hash_hex(digest, hex);
    const char *installed =
        ig_arena_printf(arena, "%s/pch/prelude-%.24s.pch", options->prelude_dir, hex);
    if (installed && access(installed, R_OK) == 0) {
        return installed;
    }
    const char *folder = ig_arena_printf(arena, "%s/prelude", options->cache_dir);
    const char *kept = folder ? ig_arena_printf(arena, "%s/prelude-%.24s.pch", folder, hex) : NULL;
    if (!kept || !is_own_folder(folder)) {
        return NULL;
    }
    remove_what_is_no_file(kept);
    ig_cache_used(kept);
    return kept;
}

static void count_pch(const char *cache, const char *path) {
    struct stat info;
    uint64_t limit;
    if (!stat(path, &info) && ig_cache_limit(&limit, NULL) == INGOT_OK) {
        ig_cache_kept(cache, (uint64_t)info.st_size, limit);
    }
}

/* Builds the header at `path`; false when it cannot be had, for whatever reason. */
static bool build_pch(struct ig_arena *arena, const struct igc_options *options,
                      enum igc_dialect dialect, const char *path) {
    struct arguments arguments;
    struct ig_error ignored = {0};
    struct ig_process_result result = {0};
    bool ok = false;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now); /* containers may have the same process numbers */
    const char *temporary =
        ig_arena_printf(arena, "%s.%ld-%lx.new", path, (long)getpid(), now.tv_nsec);
    const char *header = ig_arena_printf(arena, "%s/ingot_prelude.h", options->prelude_dir);
    const char *folder = ig_arena_printf(arena, "%s/prelude", options->cache_dir);
    if (!temporary || !header || !folder || ig_folder_make(folder, &ignored) != INGOT_OK) {
        ig_error_clear(&ignored);
        return false;
    }
    begin(&arguments, options, dialect);
    add(&arguments, "-emit-pch");
    add(&arguments, "-fpch-instantiate-templates"); /* or every compilation does it again */
    add(&arguments, "-fno-pch-timestamp");
    add(&arguments, "-fno-temp-file"); /* another name than this one might stay */
    add(&arguments, "-o");
    add(&arguments, temporary);
    add(&arguments, header);
    struct ig_process process = {
        .arguments = arguments.items, .inside = igc_bundled_inside(options->clang), .seconds = 120};
    if (ig_process_run(&process, &result, &ignored) == INGOT_OK) {
        ok = !result.timed_out && !result.signal && result.exit_code == 0 &&
             rename(temporary, path) == 0;
        ig_process_result_free(&result);
    }
    if (ok) {
        count_pch(options->cache_dir, path);
    } else {
        unlink(temporary);
    }
    ig_error_clear(&ignored);
    return ok;
}

/* ---- compiling
 * -------------------------------------------------------------------------------------- */
struct compilation {
    struct ig_arena *arena;
    const struct igc_options *options;
    const char *cpp;
    size_t size;
    enum igc_dialect dialect;
    const char *pch; /* or NULL */
};

static ingot_status run_compiler(const struct compilation *compilation, bool as_text,
                                 struct ig_process_result *result, struct ig_error *error) {
    const struct igc_options *options = compilation->options;
    const char *pch = compilation->pch;
    struct arguments arguments;
    const char *slash = strrchr(options->source_name, '/');
    begin(&arguments, options, compilation->dialect);
    if (pch) {
        add(&arguments, "-include-pch");
        add(&arguments, pch);
    } else {
        add(&arguments, "-include");
        add(&arguments,
            ig_arena_printf(compilation->arena, "%s/ingot_prelude.h", options->prelude_dir));
    }
    add(&arguments, "-main-file-name");
    add(&arguments, slash ? slash + 1 : options->source_name);
    if (options->for_debuggers) {
        add(&arguments, "-debug-info-kind=standalone");
        add(&arguments, "-debugger-tuning=gdb");
    } else {
        add(&arguments, "-debug-info-kind=line-tables-only");
    }
    add(&arguments, "-dwarf-version=5");
    if (options->root) {
        add(&arguments, "-fdebug-compilation-dir=.");
        add(&arguments,
            ig_arena_printf(compilation->arena, "-fdebug-prefix-map=%s/=", options->root));
    }
    add(&arguments, as_text ? "-emit-llvm" : "-emit-llvm-bc");
    if (as_text) {
        add(&arguments, "-disable-llvm-verifier");
    }
    add(&arguments, "-o");
    add(&arguments, "-");
    add(&arguments, "-");
    for (size_t i = 0; i < arguments.count; i++) {
        if (!arguments.items[i]) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to run clang");
        }
    }
    struct ig_process process = {.arguments = arguments.items,
                                 .inside = igc_bundled_inside(options->clang),
                                 .input = compilation->cpp,
                                 .input_size = compilation->size,
                                 .seconds = (double)IG_COMPILE_CLOCK * options->limits.seconds,
                                 .processor_seconds = options->limits.seconds,
                                 .memory = (size_t)8 << 30};
    return ig_process_run(&process, result, error);
}

/* Is the header damaged, or has another process removed it in the meantime? */
static bool blames_pch(const struct ig_process_result *result, const char *pch, bool fresh) {
    const char *messages = ig_text_string(&result->errors);
    bool damaged = strstr(messages, "PCH file") || strstr(messages, "precompiled header") ||
                   strstr(messages, "AST file") || result->signal;
    return result->exit_code != 0 && ((damaged && !fresh) || access(pch, R_OK) != 0);
}

/* clang's verifier refused its module: look for mixed half and bfloat. *messages stays NULL
 * when that was not it. */
static ingot_status explain_broken(const struct compilation *compilation, const char **messages,
                                   struct ig_error *error) {
    struct ig_process_result run = {0};
    struct ig_text text = {0};
    ingot_status status = run_compiler(compilation, true, &run, error);
    if (status != INGOT_OK) {
        return status;
    }
    igc_find_mixed_operands(ig_text_string(&run.output), &text);
    if (text.size > 0) {
        *messages = ig_arena_copy(compilation->arena, ig_text_string(&text), text.size);
    }
    ig_text_free(&text);
    ig_process_result_free(&run);
    return INGOT_OK;
}

static ingot_status compile_anew(struct compilation compilation, struct igc_clang_result *result,
                                 struct ig_error *error) {
    struct ig_arena *arena = compilation.arena;
    const struct igc_options *options = compilation.options;
    const char *pch = compilation.pch;
    struct ig_process_result run = {0};
    bool fresh = false;
    if (pch && access(pch, R_OK) != 0) {
        fresh = build_pch(arena, options, compilation.dialect, pch);
        compilation.pch = pch = fresh ? pch : NULL;
    }
    if (options->for_debuggers) {
        compilation.cpp = ig_arena_printf(arena, "%.*s\n#include \"ingot_debug.h\"\n",
                                          (int)compilation.size, compilation.cpp);
        if (!compilation.cpp) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to run clang");
        }
        compilation.size = strlen(compilation.cpp);
    }
    ingot_status status = run_compiler(&compilation, false, &run, error);
    if (status == INGOT_OK && pch && blames_pch(&run, pch, fresh)) {
        ig_process_result_free(&run);
        run = (struct ig_process_result){0};
        unlink(pch);
        compilation.pch =
            !fresh && build_pch(arena, options, compilation.dialect, pch) ? pch : NULL;
        status = run_compiler(&compilation, false, &run, error);
    }
    if (status == INGOT_OK && strstr(ig_text_string(&run.errors), "Broken module found")) {
        status = explain_broken(&compilation, &result->messages, error);
        if (status != INGOT_OK || result->messages) {
            result->user_places = true;
            ig_process_result_free(&run);
            return status;
        }
    }
    if (status != INGOT_OK) {
        return status;
    }
    result->ok = !run.timed_out && !run.signal && run.exit_code == 0;
    bool explained = strstr(ig_text_string(&run.errors), "error: ") != NULL;
    if (!result->ok && (run.timed_out || run.signal || !explained)) {
        status = igc_clang_broken(options, &run, "-cc1", error);
    } else {
        result->bitcode = ig_arena_copy(arena, ig_text_string(&run.output), run.output.size);
        result->bitcode_size = run.output.size;
        result->messages = ig_arena_string(arena, ig_text_string(&run.errors));
        if (!result->bitcode || !result->messages) {
            status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the result of clang");
        }
    }
    ig_process_result_free(&run);
    return status;
}

ingot_status igc_clang_compile(struct ig_arena *arena, const struct igc_options *options,
                               const char *cpp, size_t size, enum igc_dialect dialect,
                               struct igc_clang_result *result, struct ig_error *error) {
    struct compilation compilation = {arena, options, cpp,
                                      size,  dialect, pch_path(arena, options, dialect)};
    const bool keeps = options->keeps_modules && compilation.pch;
    char hex[65];
    *result = (struct igc_clang_result){0};
    if (keeps) {
        /* the same text, whether it comes from the user or from an archive */
        const char *kept = igc_kept_source(arena, options, cpp, size);
        if (!kept) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to run clang");
        }
        igc_kept_module_key(options, compilation.pch, kept, strlen(kept), hex);
        if (igc_kept_module_find(arena, options, hex, result)) {
            return INGOT_OK;
        }
    }
    ingot_status status = compile_anew(compilation, result, error);
    if (keeps && !status && !result->user_places) {
        igc_kept_module_keep(options, hex, result);
    }
    return status;
}
