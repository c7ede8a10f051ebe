/*
 * Libraries, function constants, the cache and the compiler process. The compiler is a shell
 * script that counts its runs and hands out a prepared archive, so every case is exact.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "runtime_support.h"

static const struct ig_argument one_buffer[] = {BUFFER_ARGUMENT("out", "uint", 0, 4)};

#define WRITES(VALUE)                                                                              \
    "static void run(G *g, uint32_t s, uint32_t mask) { *(uint32_t *)g->buffers[0] = " VALUE       \
    "; }\nKERNEL(0, 0, run)\n"

static const struct test_kernel kernels[] = {
    {.name = "answer", .arguments = one_buffer, .argument_count = 1, .code = WRITES("42")},
    {.name = "answer",
     .constants = "0:01;7:00008040",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = WRITES("43")},
};

static const struct ig_constant constants[] = {
    {.name = "use_bias", .index = 0, .scalar = INGOT_SCALAR_BOOL, .components = 1, .size = 1},
    {.name = "scale",
     .index = 7,
     .scalar = INGOT_SCALAR_F32,
     .components = 1,
     .size = 4,
     .required = 1},
};

static char *folder;
static ingot_device *device;
static char target[32];

static char *in_folder(const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        exit(2);
    }
    return path;
}

static void write_text(const char *name, const void *bytes, size_t size) {
    char *path = in_folder(name);
    CHECK(ig_file_write(path, bytes, size, NULL) == INGOT_OK);
    free(path);
}

static void make_compiler(const char *body) {
    char *path = in_folder("ingotc"), *text = NULL;
    if (asprintf(&text,
                 "#!/bin/sh\ncd '%s' || exit 9\necho run >>runs\necho \"$@\" >arguments\n"
                 "cat >input\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n%s\n",
                 folder, body) < 0) {
        exit(2);
    }
    CHECK(ig_file_write(path, text, strlen(text), NULL) == INGOT_OK);
    chmod(path, 0700);
    setenv("INGOTC", path, 1);
    free(text);
    free(path);
}

static int runs(void) {
    char *path = in_folder("runs"), *bytes = NULL;
    size_t size = 0;
    if (ig_file_read(path, 0, &bytes, &size, NULL) != INGOT_OK) {
        size = 0;
    }
    free(bytes);
    free(path);
    return (int)(size / 4);
}

static bool arguments_hold(const char *text) {
    char *path = in_folder("arguments"), *bytes = NULL;
    size_t size = 0;
    bool found = ig_file_read(path, 0, &bytes, &size, NULL) == INGOT_OK && strstr(bytes, text);
    if (!found) {
        fprintf(stderr, "  \"%s\" is not in \"%s\"\n", text, bytes ? bytes : "");
    }
    free(bytes);
    free(path);
    return found;
}

static uint32_t run_kernel(ingot_library *library, const ingot_constant *values, size_t count) {
    ingot_kernel *kernel = NULL;
    ingot_stream *stream = NULL;
    ingot_buffer *out = NULL;
    uint32_t result = 0;
    OK(ingot_kernel_create(
        library,
        &(ingot_kernel_desc){.name = "answer", .constants = values, .constant_count = count},
        &kernel));
    OK(ingot_stream_create(device, &stream));
    OK(ingot_buffer_create(device, 4, &out));
    if (kernel) {
        ingot_arg args[] = {{.buffer = out}};
        OK(ingot_stream_dispatch(
            stream, &(ingot_dispatch_desc){
                        .kernel = kernel, .threads = {1}, .args = args, .arg_count = 1}));
        OK(ingot_stream_wait(stream));
        result = *(uint32_t *)ingot_buffer_contents(out);
    }
    ingot_buffer_release(out);
    ingot_stream_release(stream);
    ingot_kernel_release(kernel);
    return result;
}

static ingot_status compile(const char *source, bool no_cache, ingot_library **library) {
    *library = NULL;
    return ingot_library_create_from_source(
        device, &(ingot_source_desc){.source = source, .name = "a.metal", .no_cache = no_cache},
        library);
}

/* Compiles a text that no test used before, runs it, and says how many compiler runs it took. */
static int compile_and_run(const char *source, bool no_cache) {
    int before = runs();
    ingot_library *library = NULL;
    OK(compile(source, no_cache, &library));
    CHECK(!library || run_kernel(library, NULL, 0) == 42);
    ingot_library_release(library);
    return runs() - before;
}

/* ---- archives ---- */

static void test_archives(const void *bytes, size_t size) {
    ingot_library *library = NULL;
    char *path = in_folder("good.ingot");
    OK(ingot_library_create_from_archive(device, path, &library));
    CHECK(ingot_library_kernel_count(library) == 2);
    CHECK(!strcmp(ingot_library_kernel_name(library, 0), "answer"));
    CHECK(ingot_library_kernel_name(library, 2) == NULL);
    CHECK(!strcmp(ingot_library_warnings(library), ""));
    CHECK(run_kernel(library, NULL, 0) == 42);
    ingot_library_release(library);
    free(path);
    FAILS(ingot_library_create_from_archive(device, "/no/such/file", &library), INGOT_NOT_FOUND,
          "/no/such/file");
    FAILS(ingot_library_create_from_memory(device, bytes, size / 2, &library), INGOT_BAD_ARCHIVE,
          "");
    FAILS(ingot_library_create_from_memory(device, "", 0, &library), INGOT_BAD_ARCHIVE, "");
    char *changed = malloc(size);
    memcpy(changed, bytes, size);
    changed[size - 1] ^= 1;
    FAILS(ingot_library_create_from_memory(device, changed, size, &library), INGOT_BAD_ARCHIVE, "");
    free(changed);
}

/* Archives behind each other in one file: each keeps its own function constants. */
static void test_joined(const void *bytes, size_t size) {
    const struct test_kernel other = {.name = "other",
                                      .constants = "0:05000000",
                                      .arguments = one_buffer,
                                      .argument_count = 1,
                                      .code = WRITES("7")};
    const struct ig_constant kind = {"kind", 0, INGOT_SCALAR_U32, 1, 4, 1};
    void *second = NULL;
    size_t more = 0;
    CHECK(test_archive(target, &other, 1, &kind, 1, &second, &more));
    char *both = malloc(size + more);
    memcpy(both, bytes, size);
    memcpy(both + size, second, more);
    ingot_library *library = NULL, *part = NULL;
    ingot_kernel *kernel = NULL;
    ingot_constant_info info = {0};
    OK(ingot_library_create_from_memory(device, both, size + more, &library));
    CHECK(ingot_library_kernel_count(library) == 3);
    CHECK(ingot_library_constant_count(library) == 0);
    CHECK(!strcmp(ingot_library_kernel_name(library, 2), "other"));
    CHECK(run_kernel(library, NULL, 0) == 42);
    const uint32_t five = 5;
    const ingot_constant value = {.name = "kind", .bytes = &five, .size = 4};
    ingot_kernel_desc desc = {.name = "other", .constants = &value, .constant_count = 1};
    OK(ingot_kernel_create(library, &desc, &kernel));
    ingot_kernel_release(kernel);
    char key[INGOT_KERNEL_KEY_SIZE] = "";
    OK(ingot_kernel_key(library, &desc, key));
    CHECK(strlen(key) == 64);
    desc.name = "answer"; /* which has no such constant */
    FAILS(ingot_kernel_create(library, &desc, &kernel), INGOT_NOT_FOUND, "kind");
    OK(ingot_library_of_kernel(library, "other", &part));
    OK(ingot_library_constant_info(part, 0, &info));
    CHECK(!strcmp(info.name, "kind"));
    ingot_library_release(part);
    FAILS(ingot_library_of_kernel(library, "none", &part), INGOT_NOT_FOUND, "none");
    ingot_library_release(library);
    both[size + more - 1] ^= 1;
    FAILS(ingot_library_create_from_memory(device, both, size + more, &library), INGOT_BAD_ARCHIVE,
          "archive 2 of 2");
    FAILS(ingot_library_create_from_memory(device, both, size + 8, &library), INGOT_BAD_ARCHIVE,
          "archive 2 of 2", "cut short");
    FAILS(ingot_library_create_from_memory(device, both, size + 7, &library), INGOT_BAD_ARCHIVE,
          "cut short or extended");
    both = realloc(both, 2 * size);
    memcpy(both + size, bytes, size);
    FAILS(ingot_library_create_from_memory(device, both, 2 * size, &library), INGOT_BAD_ARCHIVE,
          "\"answer\" is in two");
    free(both);
    free(second);
}

static void test_constants(void) {
    ingot_library *library = NULL;
    ingot_kernel *kernel = NULL;
    ingot_constant_info info;
    char *path = in_folder("good.ingot");
    OK(ingot_library_create_from_archive(device, path, &library));
    free(path);
    float scale = 4.0f;
    bool yes = true;
    ingot_constant by_name[] = {{.name = "scale", .bytes = &scale, .size = 4},
                                {.name = "use_bias", .bytes = &yes, .size = 1}};
    ingot_constant by_index[] = {{.index = 0, .bytes = &yes, .size = 1},
                                 {.index = 7, .bytes = &scale, .size = 4}};
    CHECK(run_kernel(library, by_name, 2) == 43);
    CHECK(run_kernel(library, by_index, 2) == 43);
    CHECK(ingot_library_constant_count(library) == 2);
    OK(ingot_library_constant_info(library, 1, &info));
    CHECK(!strcmp(info.name, "scale") && info.index == 7 && info.required &&
          info.type == INGOT_SCALAR_F32);
    FAILS(ingot_library_constant_info(library, 2, &info), INGOT_INVALID_ARGUMENT, "index 2");
    ingot_kernel_desc desc = {.name = "answer", .constants = by_name, .constant_count = 1};
    by_name[0].size = 8;
    FAILS(ingot_kernel_create(library, &desc, &kernel), INGOT_INVALID_ARGUMENT, "\"scale\"",
          "4 bytes", "8 were given");
    by_name[0].name = "bias";
    FAILS(ingot_kernel_create(library, &desc, &kernel), INGOT_NOT_FOUND, "\"bias\"",
          "use_bias (0), scale (7)");
    by_name[0] = (ingot_constant){.index = 3, .bytes = &yes, .size = 1};
    FAILS(ingot_kernel_create(library, &desc, &kernel), INGOT_NOT_FOUND, "index 3");
    desc.constant_count = 2;
    by_name[0] = by_name[1];
    FAILS(ingot_kernel_create(library, &desc, &kernel), INGOT_INVALID_ARGUMENT, "given twice");
    desc.name = "question";
    FAILS(ingot_kernel_create(library, &desc, &kernel), INGOT_NOT_FOUND, "\"question\"", "answer");
    desc = (ingot_kernel_desc){.name = "answer", .constants = by_index, .constant_count = 1};
    FAILS(ingot_kernel_create(library, &desc, &kernel), INGOT_UNSUPPORTED, "with use_bias=true",
          target, "no source");
    ingot_library_release(library);
}

/* Who keeps compiled kernels himself: the key finds what the archive was kept under. */
static void test_kept_kernels(void) {
    ingot_library *library = NULL, *again = NULL;
    ingot_kernel *kernel = NULL;
    char *path = in_folder("good.ingot");
    OK(ingot_library_create_from_archive(device, path, &library));
    free(path);
    float scale = 4.0f;
    bool yes = true;
    const ingot_constant values[] = {{.name = "scale", .bytes = &scale, .size = 4},
                                     {.name = "use_bias", .bytes = &yes, .size = 1}};
    const ingot_constant turned[] = {values[1], values[0]};
    const ingot_kernel_desc plain = {.name = "answer"}, none = {.name = "question"}, empty = {0};
    const ingot_kernel_desc scaled = {.name = "answer", .constants = values, .constant_count = 2};
    const ingot_kernel_desc other = {.name = "answer", .constants = turned, .constant_count = 2};
    char key[INGOT_KERNEL_KEY_SIZE], same[INGOT_KERNEL_KEY_SIZE], differs[INGOT_KERNEL_KEY_SIZE];
    OK(ingot_kernel_key(library, &scaled, key));
    OK(ingot_kernel_key(library, &other, same));
    OK(ingot_kernel_key(library, &plain, differs));
    CHECK(strlen(key) == INGOT_KERNEL_KEY_SIZE - 1 && !strcmp(key, same) && strcmp(key, differs));
    FAILS(ingot_kernel_key(library, &none, key), INGOT_NOT_FOUND, "\"question\"");
    FAILS(ingot_kernel_key(library, &empty, key), INGOT_INVALID_ARGUMENT, "desc->name is NULL");
    OK(ingot_kernel_create(library, &scaled, &kernel));
    const void *bytes = NULL;
    size_t size = 0;
    OK(ingot_kernel_archive(kernel, &bytes, &size));
    OK(ingot_library_create_from_memory(device, bytes, size, &again));
    CHECK(run_kernel(again, values, 2) == 43);
    FAILS(ingot_kernel_archive(NULL, &bytes, &size), INGOT_INVALID_ARGUMENT, "kernel is NULL");
    ingot_library_release(again);
    ingot_kernel_release(kernel);
    ingot_library_release(library);
}

/* ---- the compiler and the cache ---- */

static void test_compiler_errors(void) {
    ingot_library *library = NULL;
    make_compiler("echo 'a.metal:1:2: error: no such thing' >&2; exit 1");
    FAILS(compile("bad 1", false, &library), INGOT_COMPILE_ERROR, "a.metal:1:2: error");
    make_compiler("echo 'clang is missing' >&2; exit 3");
    FAILS(compile("bad 2", false, &library), INGOT_NO_COMPILER, "clang is missing");
    make_compiler("echo oops >&2; exit 7");
    FAILS(compile("bad 3", false, &library), INGOT_INTERNAL_ERROR, "status 7", "oops");
    make_compiler("kill -SEGV $$");
    FAILS(compile("bad 4", false, &library), INGOT_INTERNAL_ERROR, "signal 11");
    make_compiler("echo junk >\"$out\"");
    FAILS(compile("bad 5", false, &library), INGOT_BAD_ARCHIVE, "");
    setenv("INGOTC", "/no/such/program", 1);
    FAILS(compile("bad 6", false, &library), INGOT_NO_COMPILER, "/no/such/program");
}

/* The only entry of the cache folder; malloc'ed. */
static char *cache_entry(void) {
    char *command = NULL, *path = NULL;
    if (asprintf(&command, "find %s/cache -name '*.ingot'", folder) < 0) {
        exit(2);
    }
    FILE *pipe = popen(command, "r");
    size_t capacity = 0;
    ssize_t length = pipe ? getline(&path, &capacity, pipe) : -1;
    if (length > 0) {
        path[length - 1] = '\0';
    }
    CHECK(length > 0);
    if (pipe) {
        pclose(pipe);
    }
    free(command);
    return path;
}

static void clear_cache(void) {
    char *path = in_folder("cache");
    chmod(path, 0700);
    ig_folder_remove(path);
    free(path);
}

/* Runs the compilation in a fresh process, whose memo is empty; compiler runs it took. */
static int in_fresh_process(const char *source) {
    int before = runs();
    char *program = realpath("/proc/self/exe", NULL);
    const char *argv[] = {program, "--compile", source, NULL};
    struct ig_process process = {.arguments = argv, .memory = SIZE_MAX};
    struct ig_process_result result = {0};
    CHECK(ig_process_run(&process, &result, NULL) == INGOT_OK && result.exit_code == 0);
    if (result.exit_code) {
        fprintf(stderr, "  %s\n", ig_text_string(&result.errors));
    }
    ig_process_result_free(&result);
    free(program);
    return runs() - before;
}

static void test_cache(void) {
    make_compiler("cp good.ingot \"$out\"");
    clear_cache();
    CHECK(compile_and_run("one", false) == 1);
    CHECK(arguments_hold("--jit") && arguments_hold("--name a.metal") && arguments_hold(target));
    CHECK(compile_and_run("one", false) == 0); /* memo */
    CHECK(in_fresh_process("one") == 0);       /* disk */
    CHECK(compile_and_run("one", true) == 1);  /* neither */
    char *entry = cache_entry();
    CHECK(truncate(entry, 100) == 0);
    CHECK(in_fresh_process("one") == 1); /* cut short: rebuilt */
    CHECK(in_fresh_process("one") == 0);
    CHECK(ig_file_write(entry, "junk", 4, NULL) == INGOT_OK);
    CHECK(in_fresh_process("one") == 1);
    CHECK(truncate(entry, 0) == 0);
    CHECK(in_fresh_process("one") == 1);
    CHECK(in_fresh_process("one") == 0);
    free(entry);
    make_compiler("cp good.ingot \"$out\" # another compiler");
    CHECK(in_fresh_process("one") == 1);
    clear_cache();
    char *path = in_folder("cache");
    CHECK(mkdir(path, 0500) == 0);
    if (geteuid() != 0) { /* root may write everywhere */
        CHECK(in_fresh_process("two") == 1 && in_fresh_process("two") == 1);
    }
    clear_cache();
    CHECK(ig_file_write(path, "a file", 6, NULL) == INGOT_OK); /* no folder is possible */
    CHECK(in_fresh_process("three") == 1 && in_fresh_process("three") == 1);
    unlink(path);
    free(path);
}

/* An entry counts only for the key that it was made for, and only as a file of its own. */
static void test_cache_keys(void) {
    char *bytes = NULL, *kept = in_folder("kept");
    size_t size = 0;
    make_compiler("cp good.ingot \"$out\"");
    clear_cache();
    CHECK(in_fresh_process("mine") == 1);
    char *entry = cache_entry();
    CHECK(ig_file_read(entry, 0, &bytes, &size, NULL) == INGOT_OK);
    clear_cache();
    free(entry);
    CHECK(in_fresh_process("other") == 1);
    entry = cache_entry();
    CHECK(in_fresh_process("other") == 0);
    CHECK(ig_file_write(entry, bytes, size, NULL) == INGOT_OK);
    CHECK(in_fresh_process("other") == 1 && in_fresh_process("other") == 0);
    CHECK(rename(entry, kept) == 0 && symlink(kept, entry) == 0);
    CHECK(in_fresh_process("other") == 1 && in_fresh_process("other") == 0);
    free(bytes);
    free(entry);
    free(kept);
    clear_cache();
}

/* A hit notes the use; INGOT_CACHE_LIMIT bounds what is kept. */
static void test_cache_limit(void) {
    struct stat info;
    ingot_library *library = NULL;
    const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    make_compiler("cp good.ingot \"$out\"");
    clear_cache();
    CHECK(in_fresh_process("limited") == 1);
    char *entry = cache_entry();
    CHECK(utimensat(AT_FDCWD, entry, old, 0) == 0);
    CHECK(in_fresh_process("limited") == 0);
    CHECK(stat(entry, &info) == 0 && info.st_mtime > time(NULL) - 60);
    setenv("INGOT_CACHE_LIMIT", "100", 1); /* no entry is that small: it is not written */
    CHECK(in_fresh_process("another") == 1 && in_fresh_process("another") == 1);
    CHECK(in_fresh_process("limited") == 0 && access(entry, F_OK) == 0);
    setenv("INGOT_CACHE_LIMIT", "0", 1); /* not read either, and what there is goes */
    CHECK(in_fresh_process("limited") == 1 && access(entry, F_OK) != 0);
    CHECK(in_fresh_process("limited") == 1);
    setenv("INGOT_CACHE_LIMIT", "a lot", 1);
    FAILS(compile("limited", false, &library), INGOT_INVALID_ARGUMENT,
          "INGOT_CACHE_LIMIT is \"a lot\"", "500M");
    OK(compile("limited", true, &library)); /* without the cache it does not matter */
    ingot_library_release(library);
    setenv("INGOT_CACHE_LIMIT", "none", 1);
    CHECK(in_fresh_process("limited") == 1 && in_fresh_process("limited") == 0);
    unsetenv("INGOT_CACHE_LIMIT");
    clear_cache();
    free(entry);
}

static void test_dependencies(void) {
    void *bytes = NULL;
    size_t size = 0;
    char *header = in_folder("a.h");
    write_text("a.h", "first", 5);
    struct ig_dependency dependency = {.path = header, .size = 5};
    struct ig_hash hash;
    ig_hash_begin(&hash);
    ig_hash_bytes(&hash, "first", 5);
    ig_hash_end(&hash, dependency.digest);
    struct ig_archive archive;
    struct ig_arena arena = {0};
    char *good = in_folder("good.ingot"), *old = NULL;
    size_t old_size = 0;
    CHECK(ig_file_read(good, 0, &old, &old_size, NULL) == INGOT_OK);
    CHECK(ig_archive_read(&arena, old, old_size, &archive, NULL) == INGOT_OK);
    archive.dependency_count = 1;
    archive.dependencies = &dependency;
    CHECK(ig_archive_write(&archive, &bytes, &size, NULL) == INGOT_OK);
    write_text("depends.ingot", bytes, size);
    make_compiler("cp depends.ingot \"$out\"");
    CHECK(compile_and_run("includes", false) == 1);
    CHECK(compile_and_run("includes", false) == 0);
    CHECK(in_fresh_process("includes") == 0);
    write_text("a.h", "other", 5);
    CHECK(compile_and_run("includes", false) == 1);
    CHECK(in_fresh_process("includes") == 1);
    unlink(header);
    CHECK(in_fresh_process("includes") == 1);
    ig_arena_free(&arena);
    free(old);
    free(good);
    free(header);
    free(bytes);
}

/* A variant that the library lacks is compiled from its stored source, once. */
static void test_variants(void) {
    void *bytes = NULL;
    size_t size = 0;
    const char *kernel_names[] = {"answer"};
    struct ig_archive archive = {.compiler = "hand-made",
                                 .source_name = "a.metal",
                                 .source = "# 1 \"a.metal\"\nkernel void answer() {}",
                                 .options = "--fast-math --msl-version 310",
                                 .warnings = "a.metal:1:1: warning: strange",
                                 .kernel_count = 1,
                                 .kernels = kernel_names,
                                 .constant_count = 2,
                                 .constants = constants};
    CHECK(ig_archive_write(&archive, &bytes, &size, NULL) == INGOT_OK);
    write_text("list.ingot", bytes, size);
    free(bytes);
    make_compiler("cp good.ingot \"$out\"");
    ingot_library *library = NULL;
    char *path = in_folder("list.ingot");
    OK(ingot_library_create_from_archive(device, path, &library));
    free(path);
    CHECK(!strcmp(ingot_library_warnings(library), "a.metal:1:1: warning: strange"));
    int before = runs();
    float scale = 4.0f;
    bool yes = true;
    ingot_constant values[] = {{.name = "scale", .bytes = &scale, .size = 4},
                               {.index = 0, .bytes = &yes, .size = 1}};
    CHECK(run_kernel(library, values, 2) == 43);
    CHECK(runs() == before + 1);
    CHECK(arguments_hold("--preprocessed") && arguments_hold("--kernel answer"));
    CHECK(arguments_hold("--no-source")); /* a library of many kernels has it once */
    CHECK(arguments_hold("--const 0=01 --const 7=00008040"));
    CHECK(arguments_hold("--fast-math --msl-version 310") && arguments_hold(target));
    CHECK(run_kernel(library, values, 2) == 43);
    CHECK(runs() == before + 1);
    CHECK(run_kernel(library, NULL, 0) == 42);
    CHECK(runs() == before + 2);
    ingot_kernel *kernel = NULL;
    FAILS(ingot_kernel_create(
              library,
              &(ingot_kernel_desc){.name = "answer", .constants = values, .constant_count = 1},
              &kernel),
          INGOT_INTERNAL_ERROR, "7:00008040", target);
    setenv("INGOTC", "/no/such/program", 1);
    FAILS(ingot_kernel_create(
              library,
              &(ingot_kernel_desc){.name = "answer", .constants = values, .constant_count = 1},
              &kernel),
          INGOT_NO_COMPILER, "with scale=4", "/no/such/program");
    ingot_library_release(library);
}

/* Code of another ABI version is compiled again where there is source, else refused. */
static void test_other_abi(void) {
    static const char code[] = "const struct ingot_cpu_kernel ingot_kernel = {999};\n";
    const struct test_kernel strange = {
        .name = "answer", .arguments = one_buffer, .argument_count = 1, .code = code};
    void *bytes = NULL, *with_source = NULL;
    size_t size = 0, with_source_size = 0;
    ingot_library *library = NULL;
    ingot_kernel *kernel = NULL;
    CHECK(test_archive(target, &strange, 1, NULL, 0, &bytes, &size));
    OK(ingot_library_create_from_memory(device, bytes, size, &library));
    FAILS(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "answer"}, &kernel),
          INGOT_BAD_ARCHIVE, "\"answer\"", "999");
    ingot_library_release(library);
    struct ig_arena arena = {0};
    struct ig_archive archive;
    CHECK(ig_archive_read(&arena, bytes, size, &archive, NULL) == INGOT_OK);
    archive.source = "kernel void answer() {}";
    CHECK(ig_archive_write(&archive, &with_source, &with_source_size, NULL) == INGOT_OK);
    OK(ingot_library_create_from_memory(device, with_source, with_source_size, &library));
    make_compiler("cp good.ingot \"$out\"");
    CHECK(run_kernel(library, NULL, 0) == 42);
    ingot_library_release(library);
    ig_arena_free(&arena);
    free(bytes);
    free(with_source);
}

static void test_source_files(void) {
    ingot_library *library = NULL;
    make_compiler("cp good.ingot \"$out\"");
    write_text("file.metal", "kernel", 6);
    char *path = in_folder("file.metal");
    const char *folders[] = {"/one", "/two"};
    ingot_define defines[] = {{"A", NULL}, {"B", "2"}};
    OK(ingot_library_create_from_source_file(device, path,
                                             &(ingot_source_desc){.include_dirs = folders,
                                                                  .include_dir_count = 2,
                                                                  .defines = defines,
                                                                  .define_count = 2,
                                                                  .fast_math = true,
                                                                  .msl_version = 300},
                                             &library));
    CHECK(arguments_hold("--include /one --include /two -D A -D B=2 --fast-math"));
    CHECK(arguments_hold("--msl-version 300") && arguments_hold(folder));
    ingot_library_release(library);
    FAILS(ingot_library_create_from_source_file(device, "/no/file.metal", NULL, &library),
          INGOT_NOT_FOUND, "/no/file.metal");
    free(path);
}

static void test_many_kernels(void) {
    enum { COUNT = 300 };
    ingot_library *library = NULL;
    ingot_kernel *many[COUNT] = {0};
    char *path = in_folder("good.ingot");
    OK(ingot_library_create_from_archive(device, path, &library));
    free(path);
    float scale = 4.0f;
    bool yes = true;
    ingot_constant values[] = {{.index = 7, .bytes = &scale, .size = 4},
                               {.index = 0, .bytes = &yes, .size = 1}};
    for (int i = 0; i < COUNT; i++) {
        ingot_kernel_desc desc = {
            .name = "answer", .constants = values, .constant_count = i % 2 ? 2 : 0};
        if (ingot_kernel_create(library, &desc, &many[i]) != INGOT_OK) {
            CHECK(!ingot_error_message());
        }
    }
    ingot_stream *stream = NULL;
    ingot_buffer *out = NULL;
    OK(ingot_stream_create(device, &stream));
    OK(ingot_buffer_create(device, 4, &out));
    bool right = true;
    for (int i = 0; i < COUNT; i++) {
        ingot_arg args[] = {{.buffer = out}};
        ingot_dispatch_desc desc = {
            .kernel = many[i], .threads = {1}, .args = args, .arg_count = 1};
        right = right && ingot_stream_dispatch(stream, &desc) == INGOT_OK &&
                ingot_stream_wait(stream) == INGOT_OK &&
                *(uint32_t *)ingot_buffer_contents(out) == (i % 2 ? 43u : 42u);
        ingot_kernel_release(many[i]);
    }
    CHECK(right);
    ingot_buffer_release(out);
    ingot_stream_release(stream);
    ingot_library_release(library);
}

/* A kernel in a namespace is found by its last name where no other has it. */
static void test_namespaces(void) {
    static const struct test_kernel named[] = {
        {.name = "a::twice", .arguments = one_buffer, .argument_count = 1, .code = WRITES("1")},
        {.name = "b::twice", .arguments = one_buffer, .argument_count = 1, .code = WRITES("2")},
        {.name = "b::c::answer",
         .arguments = one_buffer,
         .argument_count = 1,
         .code = WRITES("42")},
        {.name = "a::plain", .arguments = one_buffer, .argument_count = 1, .code = WRITES("4")},
        {.name = "plain", .arguments = one_buffer, .argument_count = 1, .code = WRITES("5")},
    };
    void *bytes = NULL;
    size_t size = 0;
    ingot_library *library = NULL;
    ingot_kernel *kernel = NULL;
    CHECK(test_archive(target, named, sizeof named / sizeof *named, NULL, 0, &bytes, &size));
    OK(ingot_library_create_from_memory(device, bytes, size, &library));
    free(bytes);
    CHECK(run_kernel(library, NULL, 0) == 42);
    static const char *const found[][2] = {
        {"plain", "plain"}, {"a::plain", "a::plain"}, {"c::answer", "b::c::answer"}};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        ingot_kernel_info info;
        OK(ingot_kernel_create(library, &(ingot_kernel_desc){.name = found[i][0]}, &kernel));
        OK(ingot_kernel_get_info(kernel, &info));
        CHECK(!strcmp(info.name, found[i][1]));
        ingot_kernel_release(kernel);
    }
    static const char *const missing[] = {"twice", "nswer", "::answer", ""};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        FAILS(ingot_kernel_create(library, &(ingot_kernel_desc){.name = missing[i]}, &kernel),
              INGOT_NOT_FOUND, missing[i], "a::twice, b::twice");
    }
    ingot_library_release(library);
}

static int compile_only(const char *source) {
    ingot_library *library = NULL;
    if (ingot_device_open("cpu", NULL, &device) != INGOT_OK ||
        compile(source, false, &library) != INGOT_OK) {
        fprintf(stderr, "%s\n", ingot_error_message());
        return 1;
    }
    uint32_t result = run_kernel(library, NULL, 0);
    ingot_library_release(library);
    ingot_device_release(device);
    return result == 42 ? 0 : 1;
}

int main(int count, char **arguments) {
    if (count == 3 && !strcmp(arguments[1], "--compile")) {
        return compile_only(arguments[2]);
    }
    ingot_device_info info;
    void *bytes = NULL;
    size_t size = 0;
    CHECK(ig_folder_temporary(&folder, NULL) == INGOT_OK);
    char *cache = in_folder("cache");
    setenv("INGOT_CACHE_DIR", cache, 1);
    OK(ingot_device_open("cpu", NULL, &device));
    OK(ingot_device_get_info(device, &info));
    snprintf(target, sizeof target, "%s", info.target);
    CHECK(test_archive(target, kernels, 2, constants, 2, &bytes, &size));
    write_text("good.ingot", bytes, size);
    test_archives(bytes, size);
    test_joined(bytes, size);
    free(bytes);
    test_constants();
    test_kept_kernels();
    test_compiler_errors();
    test_cache();
    test_cache_keys();
    test_cache_limit();
    test_dependencies();
    test_variants();
    test_other_abi();
    test_source_files();
    test_many_kernels();
    test_namespaces();
    ingot_device_release(device);
    ig_folder_remove(folder);
    free(cache);
    free(folder);
    return check_report();
}
