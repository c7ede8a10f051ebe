/*
 * Compiles several kernels, as many at a time as there are processors: all in this process, one
 * after the other (igc_compile_all); a few after one clang run, a child process for each
 * (igc_compile_few); or many, a child for each clang run (igc_compile_many).
 *
 * Such a child runs clang and reads what it made, and has a child of its own for each kernel, one
 * after the other, which finds the module in its memory and writes a record to a memory file: a
 * crash costs one kernel. Should the first child crash, the parent reports the first kernel without
 * a record and starts the rest of the batch again. Requires a single-threaded process (it forks).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "compiler/driver/driver.h"

enum {
    BATCH_KERNELS = 16, /* more, and each takes longer to find its own in the module */
    BATCH_LEAST = 4,    /* where there are as many for each processor */
    MAX_CHILDREN = 64,
};

/* ---- collecting results ---- */

struct collector {
    struct ig_arena *arena;
    struct igc_batch_result *result;
    const char *const *kernels;
    struct ig_text warnings, messages; /* distinct texts, each ended by a newline */
    ingot_status status;               /* of the first kernel that failed */
    size_t failed, done, total;
    bool progress;
};

static void append_once(struct ig_text *text, const char *message) {
    if (*message && !(text->size && strstr(text->data, message))) {
        ig_text_printf(text, "%s%s", message, message[strlen(message) - 1] == '\n' ? "" : "\n");
    }
}

static bool starts_warning(const char *line) {
    const char *found = strstr(line, "warning: ");
    return found && found < line + strcspn(line, "\n");
}

/* Each warning by itself: kernels of one clang run have its warnings, and their own. */
static void append_warnings(struct ig_text *text, const char *warnings) {
    struct ig_text one = {0};
    while (*warnings) {
        do {
            size_t length = strcspn(warnings, "\n");
            length += warnings[length] == '\n';
            ig_text_append(&one, warnings, length);
            warnings += length;
        } while (*warnings && !starts_warning(warnings));
        append_once(text, ig_text_string(&one));
        ig_text_free(&one);
    }
}

static void collect(void *context, size_t position, const struct ig_variant *variant,
                    const char *warnings, const struct ig_error *error) {
    struct collector *c = context;
    c->done++;
    append_warnings(&c->warnings, warnings);
    if (error) {
        c->failed++;
        c->status = c->status ? c->status : error->status;
        const char *text = ig_error_text(error);
        if (strstr(text, ": error: ") || !strncmp(text, "kernel ", 7)) {
            append_once(&c->messages, text);
        } else {
            ig_text_printf(&c->messages, "kernel %s: %s\n", c->kernels[position], text);
        }
    } else if (variant) {
        c->result->variants[position] = *variant; /* collector_end closes the gaps */
    }
    if (c->progress) {
        fprintf(stderr, "[%zu/%zu] %s%s\n", c->done, c->total, c->kernels[position],
                error ? ": failed" : "");
    }
}

static ingot_status collector_start(struct collector *c, struct ig_arena *arena,
                                    const struct igc_command *command, const char *const *kernels,
                                    size_t count, struct igc_batch_result *result,
                                    struct ig_error *error) {
    *result = (struct igc_batch_result){
        .variants = ig_arena_array(arena, count + 1, sizeof *result->variants), .warnings = ""};
    *c = (struct collector){.arena = arena,
                            .result = result,
                            .kernels = kernels,
                            .total = count,
                            .progress = command->progress};
    return result->variants
               ? INGOT_OK
               : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu kernels", count);
}

static ingot_status collector_end(struct collector *c, struct ig_error *error) {
    const char *warnings = ig_arena_string(c->arena, ig_text_string(&c->warnings));
    c->result->warnings = warnings ? warnings : "";
    for (size_t i = 0; i < c->total; i++) {
        if (c->result->variants[i].kernel) {
            c->result->variants[c->result->variant_count++] = c->result->variants[i];
        }
    }
    if (c->status) {
        size_t length = c->messages.size;
        while (length && c->messages.data[length - 1] == '\n') {
            length--;
        }
        ig_fail(error, c->status, "%.*s", (int)length, ig_text_string(&c->messages));
    }
    ig_text_free(&c->warnings);
    ig_text_free(&c->messages);
    return c->status;
}

ingot_status igc_compile_all(struct ig_arena *arena, const struct igc_batch *wanted,
                             struct igc_batch_result *result, struct ig_error *error) {
    struct collector c;
    struct igc_batch batch = *wanted;
    ingot_status status =
        collector_start(&c, arena, batch.command, batch.kernels, batch.count, result, error);
    if (status) {
        return status;
    }
    batch.done = collect;
    batch.context = &c;
    batch.limited = true;
    igc_compile_batch(arena, &batch);
    return collector_end(&c, error);
}

/* ---- the child's side ---- */

struct record {
    uint32_t position, status;
    uint64_t archive_size, text_size; /* a one-variant archive; an error or warnings */
};

struct reporter {
    int file;
    bool broken;
    const struct ig_compile_limits *limits;
    struct igc_progress *progress; /* of the kernel's process */
};

/* A process that needed nearly all of it probably wanted more. */
static bool is_near_limit(const struct ig_compile_limits *limits) {
    struct rusage children;
    return limits->memory != UINT64_MAX && !getrusage(RUSAGE_CHILDREN, &children) &&
           (uint64_t)children.ru_maxrss * 1024 > limits->memory / 4 * 3;
}

static void explain_end(int state, const struct ig_compile_limits *limits,
                        const struct igc_progress *progress, struct ig_error *error) {
    if (WIFSIGNALED(state) && igc_limit_passed(WTERMSIG(state))) {
        ig_fail(error, INGOT_TIMEOUT,
                "the compiler took more than the limit of %u s (INGOT_COMPILE_SECONDS); it was "
                "at \"%s\"",
                limits->seconds, igc_progress_stage(progress));
    } else if (state && is_near_limit(limits)) {
        ig_fail(error, INGOT_COMPILE_ERROR,
                "the compiler needs more than the limit of %llu bytes of memory "
                "(INGOT_COMPILE_MEMORY)",
                (unsigned long long)limits->memory);
    } else if (WIFSIGNALED(state)) {
        ig_fail(error, INGOT_INTERNAL_ERROR, "the compiler crashed (signal %d)", WTERMSIG(state));
    } else {
        ig_fail(error, INGOT_INTERNAL_ERROR, "the compiler gave up (status %d)",
                WEXITSTATUS(state));
    }
}

static void put(struct reporter *r, const void *bytes, size_t size) {
    r->broken = r->broken || ig_write_all(r->file, bytes, size);
}

static void report(void *context, size_t position, const struct ig_variant *variant,
                   const char *warnings, const struct ig_error *error) {
    struct reporter *r = context;
    void *bytes = NULL;
    size_t size = 0;
    struct ig_error own = {0};
    if (variant) {
        const struct ig_archive archive = {.variant_count = 1, .variants = variant};
        if (ig_archive_write(&archive, &bytes, &size, &own)) {
            error = &own;
        }
    }
    const char *text = error ? ig_error_text(error) : warnings;
    struct record record = {(uint32_t)position, error ? (uint32_t)error->status : 0, size,
                            strlen(text)};
    put(r, &record, sizeof record);
    put(r, bytes, size);
    put(r, text, record.text_size);
    free(bytes);
    ig_error_clear(&own);
    igc_limit_process(r->limits->seconds);
}

/* The process of one kernel has the memory of ours and its place in the file. What it leaves of a
 * record when it crashes goes. */
static bool start_kernel(void *context, size_t position) {
    struct reporter *r = context;
    off_t place = lseek(r->file, 0, SEEK_CUR);
    struct ig_error error = {0};
    int state = 0;
    igc_limit_process(0); /* the limit is the kernel's own */
    if (!r->progress) {
        r->progress = igc_progress_create();
    }
    igc_progress_keep(r->progress);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        ig_process_end_with(parent);
        igc_limit_process(r->limits->seconds);
        return true;
    }
    while (pid > 0 && waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
    if (pid < 0) {
        ig_fail(&error, INGOT_IO_ERROR, "cannot start a process: %s", strerror(errno));
    } else if (state) {
        explain_end(state, r->limits, r->progress, &error);
        r->broken |= ftruncate(r->file, place) || lseek(r->file, place, SEEK_SET) != place;
    }
    if (error.status) {
        report(r, position, NULL, "", &error);
    }
    ig_error_clear(&error);
    return false;
}

static void end_kernel(void *context) {
    const struct reporter *r = context;
    _exit(r->broken ? 1 : 0);
}

/* ---- the parent's side ---- */

struct child {
    pid_t pid;
    int file;
    size_t first, count; /* its kernels */
    struct igc_progress *progress;
};

struct batch {
    size_t first, count;
};

struct scheduler {
    struct collector collector;
    struct reporter reporter; /* file -1: this is no child */
    struct igc_source *source;
    const struct igc_command *command;
    const char *const *kernels;
    struct batch *queue; /* what is still to be started */
    size_t queue_head, queue_tail;
    struct child children[MAX_CHILDREN];
    size_t child_count;
};

static size_t count_processors(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > MAX_CHILDREN ? MAX_CHILDREN : (size_t)count;
}

/* A process for these kernels, which reports to s->reporter there. */
static ingot_status fork_child(struct scheduler *s, struct batch batch, bool *is_child,
                               struct ig_error *error) {
    int file = memfd_create("ingot-results", MFD_CLOEXEC);
    *is_child = false;
    if (file < 0) {
        return ig_fail(error, INGOT_IO_ERROR, "cannot make a memory file: %s", strerror(errno));
    }
    fflush(stderr);
    struct igc_progress *progress = igc_progress_create();
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        int code = errno;
        close(file);
        igc_progress_free(progress);
        return ig_fail(error, INGOT_IO_ERROR, "cannot start a process: %s", strerror(code));
    }
    if (pid == 0) {
        *is_child = true;
        s->reporter.file = file;
        igc_progress_keep(progress);
        ig_process_end_with(parent);
        igc_limit_process(s->reporter.limits->seconds);
        return INGOT_OK;
    }
    s->children[s->child_count++] = (struct child){pid, file, batch.first, batch.count, progress};
    return INGOT_OK;
}

static ingot_status start_child(struct scheduler *s, struct ig_error *error) {
    struct batch batch = s->queue[s->queue_head++];
    bool is_child;
    ingot_status status = fork_child(s, batch, &is_child, error);
    if (is_child) {
        struct igc_batch work = {.source = s->source,
                                 .command = s->command,
                                 .kernels = s->kernels + batch.first,
                                 .count = batch.count,
                                 .done = report,
                                 .context = &s->reporter,
                                 .end = end_kernel};
        /* other sources are compiled when a kernel needs them, and kept for the next */
        work.apart = s->command->others->count ? NULL : start_kernel;
        igc_compile_batch(s->collector.arena, &work);
        end_kernel(&s->reporter);
    }
    return status;
}

/* Hands one record to the collector; false when the rest of the bytes is no whole record. */
static bool take_record(struct scheduler *s, const struct child *child, const char *bytes,
                        size_t size, size_t *at) {
    struct record record;
    struct ig_arena *arena = s->collector.arena;
    if (size - *at < sizeof record) {
        return false;
    }
    memcpy(&record, bytes + *at, sizeof record);
    size_t left = size - *at - sizeof record;
    if (record.position >= child->count || record.archive_size > left ||
        record.text_size > left - record.archive_size) {
        return false;
    }
    const char *body = bytes + *at + sizeof record;
    *at += sizeof record + record.archive_size + record.text_size;
    struct ig_error error = {0};
    const struct ig_variant *variant = NULL;
    char *copy = ig_arena_copy(arena, body, record.archive_size);
    char *text = ig_arena_copy(arena, body + record.archive_size, record.text_size);
    struct ig_archive archive;
    if (!copy || !text) {
        ig_fail(&error, INGOT_OUT_OF_MEMORY, "no memory for its result");
    } else if (record.status) {
        ig_fail(&error, (ingot_status)record.status, "%s", text);
    } else if (record.archive_size &&
               !ig_archive_read(arena, copy, record.archive_size, &archive, &error)) {
        variant = archive.variants;
    }
    collect(&s->collector, child->first + record.position, variant,
            record.status || !text ? "" : text, error.status ? &error : NULL);
    ig_error_clear(&error);
    return true;
}

/* Reads what an ended child wrote, and puts what it did not get to back into the queue. */
static void finish_child(struct scheduler *s, const struct child *child, int state) {
    off_t end = lseek(child->file, 0, SEEK_END);
    size_t size = end > 0 ? (size_t)end : 0, at = 0, taken = 0;
    char *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, child->file, 0) : NULL;
    if (bytes != MAP_FAILED) {
        while (taken < child->count && bytes && take_record(s, child, bytes, size, &at)) {
            taken++;
        }
        if (bytes) {
            munmap(bytes, size);
        }
    }
    close(child->file);
    if (taken == child->count) {
        igc_progress_free(child->progress);
        return;
    }
    struct ig_error error = {0};
    explain_end(state, s->reporter.limits, child->progress, &error);
    igc_progress_free(child->progress);
    collect(&s->collector, child->first + taken, NULL, "", &error);
    ig_error_clear(&error);
    if (taken + 1 < child->count) {
        s->queue[s->queue_tail++] =
            (struct batch){child->first + taken + 1, child->count - taken - 1};
    }
}

static void wait_for_child(struct scheduler *s) {
    int state = 0;
    pid_t pid;
    do {
        pid = waitpid(-1, &state, 0);
    } while (pid < 0 && errno == EINTR);
    for (size_t i = 0; i < s->child_count; i++) {
        if (s->children[i].pid == pid || pid < 0) {
            struct child child = s->children[i];
            s->children[i] = s->children[--s->child_count];
            finish_child(s, &child, state);
            return;
        }
    }
}

/* Long batches first: clang reads the whole source for each; short ones at the end, so that all
 * processors are done at about the same time. */
static void fill_queue(struct scheduler *s, size_t kernel_count, size_t processors) {
    size_t each = (kernel_count + processors - 1) / processors;
    size_t least = each < BATCH_LEAST ? each : BATCH_LEAST;
    for (size_t at = 0, count; at < kernel_count; at += count) {
        size_t left = kernel_count - at;
        count = left / (2 * processors);
        count = count < least ? least : count > BATCH_KERNELS ? BATCH_KERNELS : count;
        count = count < left ? count : left;
        s->queue[s->queue_tail++] = (struct batch){at, count};
    }
}

ingot_status igc_compile_many(struct ig_arena *arena, struct igc_source *source,
                              const struct igc_command *command, const char *const *kernels,
                              size_t kernel_count, struct igc_batch_result *result,
                              struct ig_error *error) {
    struct scheduler s = {.reporter = {.file = -1, .limits = &command->front.limits},
                          .source = source,
                          .command = command,
                          .kernels = kernels};
    ingot_status status =
        collector_start(&s.collector, arena, command, kernels, kernel_count, result, error);
    /* at worst every kernel crashes and is followed by a new batch */
    s.queue = ig_arena_array(arena, 2 * kernel_count, sizeof *s.queue);
    if (status || !s.queue) {
        return status
                   ? status
                   : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu kernels", kernel_count);
    }
    const size_t parallel = count_processors();
    fill_queue(&s, kernel_count, parallel);
    while (s.child_count || (s.queue_head < s.queue_tail && !status)) {
        if (!status && s.queue_head < s.queue_tail && s.child_count < parallel) {
            status = start_child(&s, error);
        } else {
            wait_for_child(&s);
        }
    }
    ingot_status compiled = collector_end(&s.collector, status ? NULL : error);
    return status ? status : compiled;
}

/* ---- a few kernels: one clang run here, a child for each kernel ---- */

/* The oldest first: results come in the order of the kernels. */
static void wait_for_oldest(struct scheduler *s) {
    struct child child = s->children[0];
    int state = 0;
    while (waitpid(child.pid, &state, 0) < 0 && errno == EINTR) {
    }
    memmove(s->children, s->children + 1, --s->child_count * sizeof child);
    finish_child(s, &child, state);
}

static bool start_one(void *context, size_t position) {
    struct scheduler *s = context;
    struct ig_error error = {0};
    bool is_child;
    if (s->child_count == count_processors()) {
        wait_for_oldest(s);
    }
    if (fork_child(s, (struct batch){position, 1}, &is_child, &error)) {
        collect(&s->collector, position, NULL, "", &error);
    }
    ig_error_clear(&error);
    return is_child;
}

static void end_one(void *context) {
    struct scheduler *s = context;
    end_kernel(&s->reporter);
}

static void report_one(void *context, size_t position, const struct ig_variant *variant,
                       const char *warnings, const struct ig_error *error) {
    struct scheduler *s = context;
    if (s->reporter.file >= 0) {
        report(&s->reporter, 0, variant, warnings, error); /* the only one of its process */
    } else {
        collect(&s->collector, position, variant, warnings, error);
    }
}

ingot_status igc_compile_few(struct ig_arena *arena, struct igc_source *source,
                             const struct igc_command *command, const char *const *kernels,
                             size_t kernel_count, struct igc_batch_result *result,
                             struct ig_error *error) {
    struct scheduler s = {.reporter = {.file = -1, .limits = &command->front.limits}};
    ingot_status status =
        collector_start(&s.collector, arena, command, kernels, kernel_count, result, error);
    if (status) {
        return status;
    }
    struct igc_batch batch = {.source = source,
                              .command = command,
                              .kernels = kernels,
                              .count = kernel_count,
                              .done = report_one,
                              .context = &s,
                              .apart = start_one,
                              .end = end_one};
    igc_compile_batch(arena, &batch);
    while (s.child_count) {
        wait_for_oldest(&s);
    }
    return collector_end(&s.collector, error);
}
