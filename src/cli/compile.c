/*
 * Compiles the kernels of one source file.
 *
 * Requires ingotc. Provides, for each kernel, its archive or its diagnostics. First one run
 * with --list-only preprocesses the source and lists kernels and constants. Many kernels are then
 * compiled by one run, which itself uses all cores; a few by several, a thread for each. Kernels
 * that such a run gave no code for are compiled alone: the diagnostics are then that kernel's, and
 * a compiler that crashes is the failure of that one kernel.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/archive.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "base/scalar.h"
#include "cli/cli.h"

/* A compiler built with a sanitizer maps terabytes of shadow: no limit on its addresses then. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COMPILER_MEMORY SIZE_MAX
#else
#define COMPILER_MEMORY 0 /* the default limit */
#endif

enum {
    MAX_ARGUMENTS = 8192,
    MAX_WORKERS = 64,
    MAX_BATCH = 2000, /* two arguments each */
    MAX_DESCRIBED = 64,
    FEW_KERNELS = 4, /* to a run: runs that small share the cores among them */
};

struct command_line {
    const char *items[MAX_ARGUMENTS + 1];
    size_t count;
    bool overflow;
};

struct jobs {
    const struct cli_compile_request *request;
    struct cli_compilation *out;
    struct ig_arena *arena; /* of out, under lock */
    pthread_mutex_t lock;
    size_t *todo, *again; /* positions in out->results; again: to be compiled alone */
    size_t todo_count, again_count, next, done;
    size_t batch; /* kernels for one run of the compiler */
    bool one_run; /* at a time, which says how far it is */
    const char *compiler;
    const char *source;              /* preprocessed text in the temporary folder, or the library */
    struct cli_list constant_values; /* "INDEX=HEX" */
    bool assumes;                    /* some of them, which nobody gave */
};

static void add(struct command_line *line, const char *item) {
    if (line->count == MAX_ARGUMENTS) {
        line->overflow = true;
    } else {
        line->items[line->count++] = item;
    }
}

static void add_pair(struct command_line *line, const char *option, const char *value) {
    add(line, option);
    add(line, value);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* $INGOTC, the ingotc beside this program, or the one in PATH. */
static const char *find_compiler(struct ig_arena *arena) {
    const char *variable = ig_environment("INGOTC");
    if (variable && *variable) {
        return variable;
    }
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = 0;
        char *slash = strrchr(self, '/');
        if (slash) {
            *slash = 0;
            const char *beside = ig_arena_printf(arena, "%s/ingotc", self);
            if (beside && !access(beside, X_OK)) {
                return beside;
            }
        }
    }
    return "ingotc";
}

static void add_source_options(struct command_line *line, struct ig_arena *arena,
                               const struct cli_source_options *options) {
    for (size_t i = 0; i < options->include_dirs.count; i++) {
        add_pair(line, "--include", options->include_dirs.items[i]);
    }
    for (size_t i = 0; i < options->defines.count; i++) {
        add_pair(line, "-D", options->defines.items[i]);
    }
    if (options->fast_math) {
        add(line, "--fast-math");
    }
    if (options->werror) {
        add(line, "--werror");
    }
    if (options->msl_version) {
        add_pair(line, "--msl-version", ig_arena_printf(arena, "%u", options->msl_version));
    }
}

/* What ingotc said of itself or of a file, without its name and the newline: ours stands before. */
static ingot_status fail_plainly(ingot_status status, const char *text, struct ig_error *error) {
    static const char prefix[] = "ingotc: error: ";
    if (!strncmp(text, prefix, sizeof prefix - 1)) {
        text += sizeof prefix - 1;
    }
    size_t size = strlen(text);
    while (size > 0 && text[size - 1] == '\n') {
        size--;
    }
    return ig_fail(error, status, "%.*s", (int)size, text);
}

/* Shows the last of ingotc's lines "[7/20] NAME". */
static void show_progress(void *context, const char *errors) {
    const struct jobs *jobs = context;
    const char *last = NULL;
    size_t lines = 0;
    for (const char *line = errors, *end; (end = strchr(line, '\n')); line = end + 1) {
        if (*line == '[') {
            last = line;
            lines++;
        }
    }
    const char *name = last ? strchr(last, ' ') : NULL;
    if (name) {
        cli_progress(jobs->done + lines, jobs->out->result_count, name + 1);
    }
}

/* Runs ingotc on `count` kernels; the error is its stderr. */
static ingot_status run_compiler(const struct command_line *line, size_t count,
                                 struct jobs *listener, struct ig_error *error) {
    const double seconds = 600 + 60.0 * (double)count;
    struct ig_process process = {.arguments = line->items,
                                 .seconds = seconds,
                                 .memory = COMPILER_MEMORY,
                                 .heard = listener ? show_progress : NULL,
                                 .context = listener};
    struct ig_process_result result = {0};
    if (line->overflow) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "more than %d compiler arguments",
                       MAX_ARGUMENTS);
    }
    ingot_status status = ig_process_run(&process, &result, error);
    if (status) {
        return status == INGOT_NOT_FOUND
                   ? ig_fail(error, INGOT_NO_COMPILER,
                             "cannot run the compiler \"%s\"; set INGOTC to where ingotc is",
                             line->items[0])
                   : status;
    }
    if (result.timed_out) {
        status = ig_fail(error, INGOT_TIMEOUT, "the compiler ran longer than %.0f s", seconds);
    } else if (result.signal) {
        status = ig_fail(error, INGOT_INTERNAL_ERROR, "the compiler crashed (signal %d)\n%s",
                         result.signal, ig_text_string(&result.errors));
    } else if (result.exit_code == 1) {
        status = ig_fail(error, INGOT_COMPILE_ERROR, "%s", ig_text_string(&result.errors));
    } else if (result.exit_code) {
        status = fail_plainly(result.exit_code == 3 ? INGOT_NO_COMPILER : INGOT_INTERNAL_ERROR,
                              ig_text_string(&result.errors), error);
    }
    ig_process_result_free(&result);
    return status;
}

ingot_status cli_read_archive(struct cli_compilation *out, const char *path,
                              const struct ig_archive **archive, struct ig_error *error) {
    char *bytes;
    size_t size;
    ingot_status status = ig_file_read(path, 0, &bytes, &size, error);
    if (status) {
        return status;
    }
    struct ig_archive *result = ig_arena_alloc(&out->arena, sizeof *result);
    if (!result || !cli_list_add(&out->storage, bytes)) {
        free(bytes);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
    }
    *archive = result;
    status = ig_archive_read(&out->arena, bytes, size, result, error);
    if (status) {
        ig_error_prefix(error, "%s", path);
    }
    return status;
}

static ingot_status list_kernels(struct jobs *jobs, struct ig_error *error) {
    struct cli_compilation *out = jobs->out;
    struct ig_arena *arena = &out->arena;
    const char *listing = ig_arena_printf(arena, "%s/list.ingot", out->folder);
    struct command_line line = {0};
    add(&line, jobs->compiler);
    const char *text = jobs->request->text;
    if (text) {
        const char *slash = strrchr(out->path, '/');
        const char *given = ig_arena_printf(arena, "%s/given.metal", out->folder);
        const char *beside = ig_arena_printf(arena, "%.*s", slash ? (int)(slash - out->path) : 1,
                                             slash ? out->path : ".");
        ingot_status written = given && beside ? ig_file_write(given, text, strlen(text), error)
                                               : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory");
        if (written) {
            return written;
        }
        add(&line, given);
        add_pair(&line, "--include", beside); /* what it includes lies beside the file */
    } else {
        add(&line, out->path);
    }
    add(&line, "-o");
    add(&line, listing);
    add(&line, "--list-only");
    for (size_t i = 0; i < jobs->request->targets->count; i++) { /* a wrong one is named once */
        add_pair(&line, "--target", jobs->request->targets->items[i]);
    }
    const struct cli_list *wanted = jobs->request->kernels;
    for (size_t i = 0; cli_is_compiled(out->path) && i < wanted->count; i++) {
        add_pair(&line, "--kernel", wanted->items[i]); /* whose constants are to be listed */
    }
    add_source_options(&line, arena, jobs->request->options);
    ingot_status status = run_compiler(&line, 0, NULL, error);
    if (status == INGOT_COMPILE_ERROR && !access(listing, R_OK)) { /* each for itself, then */
        ig_error_clear(error);
        status = INGOT_OK;
    }
    if (!status) {
        status = cli_read_archive(out, listing, &out->listing, error);
    }
    if (status) {
        return status;
    }
    if (cli_is_compiled(out->path)) { /* there is nothing to preprocess */
        jobs->source = out->path;
        return INGOT_OK;
    }
    jobs->source = ig_arena_printf(arena, "%s/source.i", out->folder);
    return ig_file_write(jobs->source, out->listing->source, strlen(out->listing->source), error);
}

static ingot_constant_info public_info(const struct ig_constant *constant) {
    return (ingot_constant_info){.name = constant->name,
                                 .index = constant->index,
                                 .type = (ingot_scalar_type)constant->scalar,
                                 .components = constant->components,
                                 .required = constant->required};
}

static bool add_constant(struct jobs *jobs, const struct cli_constant_value *value) {
    struct ig_text hex = {0};
    ig_text_printf(&hex, "%u=", value->index);
    for (size_t i = 0; i < value->size; i++) {
        ig_text_printf(&hex, "%02x", value->bytes[i]);
    }
    const char *text = ig_arena_string(&jobs->out->arena, ig_text_string(&hex));
    ig_text_free(&hex);
    return text && cli_list_add(&jobs->constant_values, text);
}

/* The values given, and 1 for every other constant when the request says so. */
static ingot_status set_constants(struct jobs *jobs, struct ig_error *error) {
    const struct ig_archive *listing = jobs->out->listing;
    ingot_constant_info *infos =
        ig_arena_array(&jobs->out->arena, listing->constant_count + 1, sizeof *infos);
    bool *given = ig_arena_array(&jobs->out->arena, listing->constant_count + 1, sizeof *given);
    if (!infos || !given) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < listing->constant_count; i++) {
        infos[i] = public_info(&listing->constants[i]);
    }
    for (size_t i = 0; i < jobs->request->constants->count; i++) {
        struct cli_constant_value value;
        ingot_status status = cli_parse_constant(jobs->request->constants->items[i], infos,
                                                 listing->constant_count, &value, error);
        if (status) {
            return status;
        }
        for (uint32_t k = 0; k < listing->constant_count; k++) {
            given[k] |= infos[k].index == value.index;
        }
        if (!add_constant(jobs, &value)) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
        }
    }
    /* of compiled libraries the compiler assumes each kernel's own: two may use one index for
     * constants of different types */
    const bool assumes = jobs->request->assume_constants && !cli_is_compiled(jobs->out->path);
    for (uint32_t k = 0; assumes && k < listing->constant_count; k++) {
        struct cli_constant_value one = {.index = infos[k].index};
        size_t width = ig_scalar_size(infos[k].type);
        for (uint32_t c = 0; c < infos[k].components && one.size + width <= sizeof one.bytes; c++) {
            struct ig_error ignored = {0};
            ig_scalar_parse(infos[k].type, "1", 1, one.bytes + one.size, &ignored);
            ig_error_clear(&ignored);
            one.size += width;
        }
        bool again = false; /* several names may have one index */
        for (uint32_t other = 0; other < k; other++) {
            again |= infos[other].index == infos[k].index;
        }
        jobs->assumes |= !given[k];
        if (!given[k] && !again && !add_constant(jobs, &one)) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
        }
    }
    return INGOT_OK;
}

/* Who shows a failure that is not the source's names the kernel: the compiler's name of it goes. */
static const char *own_words(const struct cli_kernel_result *result, ingot_status status,
                             const char *text) {
    size_t length = strlen(result->kernel);
    bool named = !strncmp(text, "kernel ", 7) && !strncmp(text + 7, result->kernel, length) &&
                 !strncmp(text + 7 + length, ": ", 2);
    return named && status != INGOT_COMPILE_ERROR ? text + 9 + length : text;
}

/* The other sources of the command, and whether there are any. */
static bool add_others(struct command_line *line, const struct cli_compile_request *request) {
    bool any = false;
    for (size_t i = 0; request->files && i < request->files->count; i++) {
        const char *path = request->files->items[i];
        if (strcmp(path, request->path) && strcmp(path, "-") && !cli_is_archive(path) &&
            !cli_is_binary(path)) {
            add_pair(line, "--with", path);
            any = true;
        }
    }
    return any;
}

static void add_command(struct command_line *line, struct ig_arena *arena, const struct jobs *jobs,
                        const char *path, const size_t *kernels, size_t count) {
    const struct cli_compile_request *request = jobs->request;
    const struct cli_compilation *out = jobs->out;
    add(line, jobs->compiler);
    add(line, jobs->source);
    if (jobs->source != out->path) {
        add(line, "--preprocessed");
    }
    if (jobs->assumes || (request->assume_constants && cli_is_compiled(out->path))) {
        add(line, "--assumed-constants");
    }
    add_pair(line, "--name", out->path);
    add_pair(line, "-o", path);
    for (size_t i = 0; i < count; i++) {
        add_pair(line, "--kernel", out->results[kernels[i]].kernel);
    }
    for (size_t i = 0; i < request->targets->count; i++) {
        add_pair(line, "--target", request->targets->items[i]);
    }
    for (size_t i = 0; i < jobs->constant_values.count; i++) {
        add_pair(line, "--const", jobs->constant_values.items[i]);
    }
    if (request->describe_only) {
        add(line, "--describe-only");
    }
    if (request->check) {
        add(line, "--check");
    }
    if (request->no_code) {
        add(line, "--no-code");
    }
    if (jobs->one_run) {
        add(line, "--progress");
    }
    struct cli_source_options options = *request->options;
    if (!add_others(line, request)) {
        options.include_dirs = (struct cli_list){0}; /* the source is preprocessed */
        options.defines = (struct cli_list){0};
    }
    add_source_options(line, arena, &options);
}

static bool has_kernel(const struct ig_archive *archive, const char *kernel) {
    for (uint32_t i = 0; archive && i < archive->variant_count; i++) {
        if (!strcmp(archive->variants[i].kernel, kernel)) {
            return true;
        }
    }
    return false;
}

/* The warnings of a run are shown once, with its first kernel. */
static void settle(struct jobs *jobs, const size_t *kernels, size_t count, double seconds,
                   ingot_status status, const char *failure, const struct ig_archive *archive) {
    const char *warnings = archive ? archive->warnings : "";
    for (size_t i = 0; i < count; i++) {
        struct cli_kernel_result *result = &jobs->out->results[kernels[i]];
        if (status && count > 1 && !has_kernel(archive, result->kernel)) {
            jobs->again[jobs->again_count++] = kernels[i];
            continue;
        }
        result->status = count > 1 ? INGOT_OK : status;
        result->message = result->status ? own_words(result, status, failure) : warnings;
        result->message = ig_arena_string(&jobs->out->arena, result->message);
        result->message = result->message ? result->message : "";
        result->seconds = seconds / (double)count;
        result->archive = result->status ? NULL : archive;
        warnings = "";
        jobs->done++;
        if (jobs->out->result_count > 1) {
            cli_progress(jobs->done, jobs->out->result_count, result->kernel);
        }
    }
}

/* Compiles kernels in one run. */
static void compile_batch(struct jobs *jobs, const size_t *kernels, size_t count) {
    struct cli_compilation *out = jobs->out;
    struct ig_arena scratch = {0};
    struct ig_error error = {0};
    struct command_line line = {0};
    const char *path = ig_arena_printf(&scratch, "%s/%zu.ingot", out->folder, kernels[0]);
    double start = now();
    ingot_status status = INGOT_OUT_OF_MEMORY;
    if (path) {
        add_command(&line, &scratch, jobs, path, kernels, count);
        status = run_compiler(&line, count, jobs->one_run ? jobs : NULL, &error);
    }
    const struct ig_archive *archive = NULL;
    pthread_mutex_lock(&jobs->lock);
    if (!status) {
        status = cli_read_archive(out, path, &archive, &error);
    } else if (path && count > 1 && !access(path, R_OK)) { /* of those that are fine */
        struct ig_error ignored = {0};
        if (cli_read_archive(out, path, &archive, &ignored)) {
            archive = NULL;
        }
        ig_error_clear(&ignored);
    }
    settle(jobs, kernels, count, now() - start, status, ig_error_text(&error), archive);
    pthread_mutex_unlock(&jobs->lock);
    if (path) {
        unlink(path);
    }
    ig_error_clear(&error);
    ig_arena_free(&scratch);
}

static void *worker(void *context) {
    struct jobs *jobs = context;
    for (;;) {
        pthread_mutex_lock(&jobs->lock);
        size_t first = jobs->next, left = jobs->todo_count - first;
        size_t count = left < jobs->batch ? left : jobs->batch;
        jobs->next += count;
        pthread_mutex_unlock(&jobs->lock);
        if (!count) {
            return NULL;
        }
        compile_batch(jobs, jobs->todo + first, count);
    }
}

static void run_workers(struct jobs *jobs, size_t count) {
    pthread_t threads[MAX_WORKERS];
    size_t started = 0, batches = (jobs->todo_count + jobs->batch - 1) / jobs->batch;
    count = count < batches ? count : batches;
    count = count < MAX_WORKERS ? count : MAX_WORKERS;
    jobs->next = 0;
    while (started + 1 < count && !pthread_create(&threads[started], NULL, worker, jobs)) {
        started++;
    }
    worker(jobs); /* this thread works too, so that one is always there */
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

static ingot_status compile_all(struct jobs *jobs, struct ig_error *error) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t cores = processors < 1 ? 1 : (size_t)processors, count = jobs->out->result_count;
    jobs->todo = ig_arena_array(&jobs->out->arena, count, sizeof *jobs->todo);
    jobs->again = ig_arena_array(&jobs->out->arena, count, sizeof *jobs->again);
    if (!jobs->todo || !jobs->again) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        jobs->todo[jobs->todo_count++] = i;
    }
    /* Several rounds for each core, so that all are done at about the same time. */
    size_t each = count / (2 * cores);
    jobs->batch = each < 1 ? 1 : each;
    if (jobs->request->describe_only) {
        jobs->batch = each < MAX_DESCRIBED ? jobs->batch : MAX_DESCRIBED;
    } else if (each > FEW_KERNELS) {
        jobs->batch = MAX_BATCH;
        jobs->one_run = true;
    }
    run_workers(jobs, jobs->one_run ? 1 : cores);
    jobs->todo = jobs->again;
    jobs->todo_count = jobs->again_count;
    jobs->batch = 1;
    jobs->one_run = false;
    run_workers(jobs, cores);
    cli_progress_end();
    return INGOT_OK;
}

static ingot_status choose_kernels(struct jobs *jobs, struct ig_error *error) {
    struct cli_compilation *out = jobs->out;
    const struct cli_list *wanted = jobs->request->kernels;
    const struct ig_archive *listing = out->listing;
    size_t count = wanted->count ? wanted->count : listing->kernel_count;
    out->results = ig_arena_array(&out->arena, count + 1, sizeof *out->results);
    if (!out->results) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
    }
    if (!wanted->count) {
        for (uint32_t k = 0; k < listing->kernel_count; k++) {
            out->results[out->result_count++].kernel = listing->kernels[k];
        }
    }
    for (size_t i = 0; i < wanted->count; i++) {
        uint32_t k = 0;
        while (k < listing->kernel_count && strcmp(listing->kernels[k], wanted->items[i])) {
            k++;
        }
        if (k < listing->kernel_count) {
            out->results[out->result_count++].kernel = wanted->items[i];
            if (jobs->request->found) {
                jobs->request->found[i] = true;
            }
        } else if (!jobs->request->found) {
            return ig_fail(error, INGOT_NOT_FOUND,
                           "%s: there is no kernel \"%s\" among its %u; `ingot inspect` lists them",
                           out->path, wanted->items[i], listing->kernel_count);
        }
    }
    return INGOT_OK;
}

/* Of the kernels of all files in their order, those of the shard. */
static void keep_shard(const struct cli_compile_request *request, struct cli_compilation *out) {
    size_t kept = 0;
    for (size_t i = 0; request->shard && i < out->result_count; i++) {
        if (cli_in_shard(request->shard, (*request->kernels_seen)++)) {
            out->results[kept++] = out->results[i];
        }
    }
    out->result_count = request->shard ? kept : out->result_count;
}

ingot_status cli_compile(const struct cli_compile_request *request, struct cli_compilation *out,
                         struct ig_error *error) {
    *out = (struct cli_compilation){.path = request->path};
    struct jobs jobs = {.request = request, .out = out};
    if (!strcmp(request->path, "-")) { /* which ingotc would take for its standard input */
        return ig_fail(error, INGOT_NOT_FOUND,
                       "cannot open -: sources are read from files, not from standard input");
    }
    if (!request->text && cli_is_binary(request->path) && !cli_is_compiled(request->path)) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "%s is neither Metal source, nor a compiled library, nor an .ingot archive",
                       request->path);
    }
    ingot_status status = ig_folder_temporary(&out->folder, error);
    if (status) {
        return status;
    }
    jobs.compiler = find_compiler(&out->arena);
    status = list_kernels(&jobs, error);
    if (!status) {
        status = choose_kernels(&jobs, error);
        keep_shard(request, out);
    }
    if (!status) {
        status = set_constants(&jobs, error);
    }
    if (status) {
        out->result_count = 0; /* none of them was compiled */
    }
    if (!status && out->result_count && !request->list_only) {
        pthread_mutex_init(&jobs.lock, NULL);
        status = compile_all(&jobs, error);
        pthread_mutex_destroy(&jobs.lock);
    }
    cli_list_free(&jobs.constant_values);
    return status;
}

size_t cli_report_missing(const struct cli_compile_request *request) {
    size_t missing = 0;
    for (size_t i = 0; i < request->kernels->count; i++) {
        if (!request->found[i]) {
            cli_error("none of the files has a kernel \"%s\"", request->kernels->items[i]);
            missing++;
        }
    }
    return missing;
}

void cli_compilation_free(struct cli_compilation *compilation) {
    for (size_t i = 0; i < compilation->storage.count; i++) {
        free((char *)(uintptr_t)compilation->storage.items[i]);
    }
    cli_list_free(&compilation->storage);
    if (compilation->folder) {
        ig_folder_remove(compilation->folder);
    }
    free(compilation->folder);
    ig_arena_free(&compilation->arena);
}
