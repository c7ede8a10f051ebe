/*
 * run-msl [--cpu LEVEL] [--device NAME] [--jobs N] [--seconds N] [--update] [--verbose]
 *         [--sanitize KINDS] FILE_OR_FOLDER... [FILTER]
 * run-msl --pack FOLDER [--target NAME]... FILE_OR_FOLDER... [FILTER]
 * run-msl --packed FOLDER --device NAME FILE_OR_FOLDER... [FILTER]
 * run-msl --libraries FOLDER FILE_OR_FOLDER... [FILTER]     of .ll files: FOLDER has NAME.metallib
 * of each
 *
 * --pack compiles the kernels of all cases into archives (with $INGOTC, for sm_80 and sm_90 unless
 * targets are named) and runs nothing; --packed runs with those, where there is no compiler.
 *
 * Runs each file in a process of its own, so that a crash is the failure of one file. Exits 0
 * when all passed, 1 when not, 77 when the CPU level is not there.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "runner.h"

enum { MAX_FILES = 4096, MAX_JOBS = 64, MAX_TARGETS = 8 };

struct counts {
    int passed, failed;
};

struct options {
    const char *device;
    ingot_device_desc desc;
    int jobs, seconds; /* of a file */
    bool update, verbose;
    const char *filter;
    const char *pack, *packed, *libraries; /* folders */
    const char *targets[MAX_TARGETS];
    size_t target_count;
    char *files[MAX_FILES];
    size_t file_count;
};

struct job {
    pid_t pid;
    size_t file;
    FILE *output;
    double deadline;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- one file, in a process of its own ---------------------------------------------------- */

static void update_file(const struct test_file *file, const char *text,
                        const struct test_case *test, const char *const *update) {
    struct ig_text out = {0};
    int number = 1;
    for (const char *line = text; *line; number++) {
        size_t length = strcspn(line, "\n");
        const struct expectation *changed = NULL;
        const char *values = NULL;
        for (size_t i = 0; i < test->expectation_count; i++) {
            if (update[i] && number >= test->expectations[i].line &&
                number <= test->expectations[i].last_line) {
                changed = &test->expectations[i];
                values = update[i];
            }
        }
        if (!changed) {
            ig_text_append(&out, line, length + (line[length] == '\n'));
        } else if (number == changed->line) {
            ig_text_printf(&out, "%.*s[%s]%s%s\n", (int)strcspn(line, "["), line, values,
                           *changed->tail ? " " : "", changed->tail);
        }
        line += length + (line[length] == '\n');
    }
    struct ig_error error = {0};
    if (!out.failed && ig_file_write(file->path, out.data, out.size, &error)) {
        printf("%s\n", ig_error_text(&error));
    }
    ig_error_clear(&error);
    ig_text_free(&out);
}

/* A case that must fail may have lost the device. */
static bool reopen_when_lost(const struct options *options, const char *device_name,
                             ingot_device **device) {
    ingot_stream *stream;
    ingot_status status = ingot_stream_create(*device, &stream);
    if (status != INGOT_DEVICE_LOST) {
        ingot_stream_release(stream);
        return true;
    }
    ingot_device_release(*device);
    return !ingot_device_open(device_name, &options->desc, device);
}

/* "cpu: why" says that the case is for that kind of device only, "!metal: why" that it is for all
 * others. */
static bool is_for(const struct test_case *test, const char *device_name) {
    size_t kind = strcspn(device_name, ":");
    if (!test->devices) {
        return true;
    }
    const bool is_not = *test->devices == '!';
    const char *named = test->devices + is_not;
    return is_not != (strcspn(named, ": ") == kind && !strncmp(named, device_name, kind));
}

/* tests/air/atomics.ll → FOLDER/atomics.metallib */
static const char *library_of(const struct options *options, const struct test_file *file) {
    const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
    const char *dot = strrchr(name, '.');
    return options->libraries && dot && !strcmp(dot, ".ll")
               ? ig_arena_printf(file->arena, "%s/%.*s.metallib", options->libraries,
                                 (int)(dot - name), name)
               : NULL;
}

/* The kernels of a file with SANITIZE, compiled together; NULL: they do not compile. */
static char *make_archive(const struct test_file *file, const ingot_device *device,
                          struct counts *counts) {
    struct ig_text reason = {0};
    ingot_device_info info;
    char *path = ingot_device_get_info(device, &info)
                     ? NULL
                     : test_sanitized_archive(file, info.target, file->sanitize, &reason);
    if (!path) {
        counts->failed++;
        printf("FAIL %s does not compile\n%s", file->path, ig_text_string(&reason));
    }
    ig_text_free(&reason);
    return path;
}

static void ignore_finding(void *context, const ingot_finding *finding) {
    (void)context;
    (void)finding;
}

static void check_findings(struct test_findings *findings, const struct test_file *file,
                           struct counts *counts) {
    struct ig_text report = {0};
    if (test_findings_compare(findings, file->path, &report)) {
        counts->passed++;
    } else {
        counts->failed++;
        printf("FAIL %s: findings\n%s", file->path, ig_text_string(&report));
    }
    fflush(stdout);
    ig_text_free(&report);
}

static void run_on_device(const struct options *options, const char *device_name,
                          const struct test_file *file, const char *text, struct counts *counts) {
    ingot_device *device;
    ingot_device_desc desc = options->desc;
    struct test_findings *findings = NULL;
    struct test_file with_checks = *file;
    if (file->sanitize || desc.sanitize) {
        desc.sanitize = file->sanitize ? file->sanitize : desc.sanitize;
        desc.on_finding = ignore_finding;
        findings = test_findings_read(text, desc.sanitize);
    }
    if (ingot_device_open(device_name, &desc, &device)) {
        printf("%s: %s\n", file->path, ingot_error_message());
        counts->failed++;
        return;
    }
    char *archive = file->sanitize ? make_archive(&with_checks, device, counts) : NULL;
    if (file->sanitize) {
        with_checks.library = archive;
        file = &with_checks;
    }
    for (size_t i = 0; i < file->case_count && (archive || !file->sanitize); i++) {
        if (!is_for(&file->cases[i], device_name)) {
            printf("left out on %s: %s:%d is for %s\n", device_name, file->path,
                   file->cases[i].line, file->cases[i].devices);
            continue;
        }
        if (findings && file->cases[i].without_checks) {
            printf("left out with checks: %s:%d: %s\n", file->path, file->cases[i].line,
                   file->cases[i].without_checks);
            continue;
        }
        if (i && !reopen_when_lost(options, device_name, &device)) {
            printf("%s: %s\n", file->path, ingot_error_message());
            counts->failed++;
            return;
        }
        struct ig_text report = {0};
        const char *update[MAX_EXPECTATIONS] = {0};
        bool good = test_case_run(device, file, &file->cases[i], options->packed, &report, update);
        if (good) {
            counts->passed++;
        } else {
            counts->failed++;
        }
        if (!good || options->verbose) {
            printf("%s %s:%d kernel %s on %s\n%s", good ? "pass" : "FAIL", file->path,
                   file->cases[i].line, file->cases[i].kernel, device_name,
                   ig_text_string(&report));
        }
        fflush(stdout);
        if (!good && options->update) {
            update_file(file, text, &file->cases[i], update);
        }
        ig_text_free(&report);
        if (findings) {
            test_findings_take(findings, device);
        }
    }
    ingot_device_release(device);
    if (archive) {
        unlink(archive);
    }
    free(archive);
    if (findings) {
        check_findings(findings, file, counts);
    }
}

static void pack_file(const struct options *options, const struct test_file *file,
                      struct counts *counts) {
    for (size_t i = 0; i < file->case_count; i++) {
        struct ig_text report = {0};
        bool good = test_case_pack(file, &file->cases[i], options->pack, options->targets,
                                   options->target_count, &report);
        if (good) {
            counts->passed++;
        } else {
            counts->failed++;
        }
        if (!good) {
            printf("FAIL %s:%d kernel %s does not compile\n%s", file->path, file->cases[i].line,
                   file->cases[i].kernel, ig_text_string(&report));
        }
        ig_text_free(&report);
    }
}

static void run_file(const struct options *options, const char *path, struct counts *counts) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct test_file file;
    char *text = NULL;
    size_t size;
    if (ig_file_read(path, 1 << 20, &text, &size, &error) ||
        test_file_parse(&arena, path, text, &file, &error)) {
        printf("FAIL %s\n", ig_error_text(&error));
        counts->failed++;
    } else if ((file.library = library_of(options, &file)), options->pack) {
        pack_file(options, &file, counts);
    } else if (options->device) {
        run_on_device(options, options->device, &file, text, counts);
    } else {
        for (size_t i = 0; i < ingot_device_count(); i++) {
            ingot_device_info info;
            if (!ingot_device_describe(i, &info)) {
                run_on_device(options, info.name, &file, text, counts);
            }
        }
    }
    free(text);
    ig_error_clear(&error);
    ig_arena_free(&arena);
}

/* ---- all files ------------------------------------------------------------------------------- */

static bool start_job(const struct options *options, struct job *job, size_t which,
                      struct counts *counts) {
    fflush(stdout);
    job->file = which;
    job->output = tmpfile();
    job->deadline = now() + options->seconds;
    job->pid = job->output ? fork() : -1;
    if (job->pid < 0) {
        perror("run-msl");
        return false;
    }
    if (job->pid == 0) {
        dup2(fileno(job->output), STDOUT_FILENO);
        dup2(fileno(job->output), STDERR_FILENO);
        run_file(options, options->files[which], &counts[which]);
        fflush(stdout);
        exit(0); /* so that leak checkers look */
    }
    return true;
}

static void finish_job(const struct options *options, struct job *job, int status, bool timed_out,
                       struct counts *counts) {
    char buffer[4096];
    size_t got;
    rewind(job->output);
    while ((got = fread(buffer, 1, sizeof buffer, job->output))) {
        fwrite(buffer, 1, got, stdout);
    }
    fclose(job->output);
    const char *path = options->files[job->file];
    if (timed_out) {
        printf("FAIL %s: ran longer than %d s\n", path, options->seconds);
    } else if (WIFSIGNALED(status)) {
        printf("FAIL %s: crashed (%s)\n", path, strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status)) {
        printf("FAIL %s: ended with status %d\n", path, WEXITSTATUS(status));
    }
    if (timed_out || status) {
        counts[job->file].failed++;
    }
    fflush(stdout);
    job->pid = 0;
}

/* Waits until one of the jobs is over, or ends one that takes too long. */
static void wait_for_one(const struct options *options, struct job *jobs, struct counts *counts) {
    for (;;) {
        for (int i = 0; i < options->jobs; i++) {
            int status;
            if (!jobs[i].pid) {
                continue;
            }
            if (waitpid(jobs[i].pid, &status, WNOHANG) == jobs[i].pid) {
                finish_job(options, &jobs[i], status, false, counts);
                return;
            }
            if (now() > jobs[i].deadline) {
                kill(jobs[i].pid, SIGKILL);
                waitpid(jobs[i].pid, &status, 0);
                finish_job(options, &jobs[i], 0, true, counts);
                return;
            }
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

static int run_all(const struct options *options) {
    struct job jobs[MAX_JOBS] = {0};
    size_t size = sizeof(struct counts) * MAX_FILES, running = 0;
    struct counts *counts =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED) {
        perror("run-msl");
        return 1;
    }
    for (size_t next = 0; next < options->file_count || running;) {
        if (next < options->file_count && running < (size_t)options->jobs) {
            int slot = 0;
            while (jobs[slot].pid) {
                slot++;
            }
            if (!start_job(options, &jobs[slot], next++, counts)) {
                return 1;
            }
            running++;
        } else {
            wait_for_one(options, jobs, counts);
            running--;
        }
    }
    struct counts total = {0};
    for (size_t i = 0; i < options->file_count; i++) {
        total.passed += counts[i].passed;
        total.failed += counts[i].failed;
    }
    munmap(counts, size);
    printf("%zu files: %d passed, %d failed\n", options->file_count, total.passed, total.failed);
    return total.failed || !total.passed ? 1 : 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_file(struct options *options, const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name);
    if (options->file_count == MAX_FILES) {
        return false;
    }
    char *copy = strdup(path);
    if (copy) {
        options->files[options->file_count++] = copy;
    }
    return copy != NULL;
}

static bool add_path(struct options *options, const char *path) {
    struct stat info;
    if (stat(path, &info)) {
        return false;
    }
    if (!S_ISDIR(info.st_mode)) {
        return add_file(options, "", path);
    }
    DIR *folder = opendir(path);
    if (!folder) {
        return false;
    }
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        if ((length > 6 && !strcmp(entry->d_name + length - 6, ".metal")) ||
            (length > 3 && !strcmp(entry->d_name + length - 3, ".ll"))) {
            good = add_file(options, path, entry->d_name);
        }
    }
    closedir(folder);
    return good;
}

static void apply_filter(struct options *options) {
    size_t kept = 0;
    for (size_t i = 0; i < options->file_count; i++) {
        if (!options->filter || strstr(options->files[i], options->filter)) {
            options->files[kept++] = options->files[i];
        } else {
            free(options->files[i]);
        }
    }
    options->file_count = kept;
}

static bool parse_arguments(struct options *options, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--cpu") && more) {
            options->desc.cpu_level = argv[++i];
        } else if (!strcmp(argv[i], "--sanitize") && more) {
            options->desc.sanitize = argv[++i];
        } else if (!strcmp(argv[i], "--device") && more) {
            options->device = argv[++i];
        } else if (!strcmp(argv[i], "--jobs") && more) {
            options->jobs = atoi(argv[++i]);
        } else if (!strcmp(argv[i], "--seconds") && more) {
            options->seconds = atoi(argv[++i]);
        } else if (!strcmp(argv[i], "--pack") && more) {
            options->pack = argv[++i];
        } else if (!strcmp(argv[i], "--packed") && more) {
            options->packed = argv[++i];
        } else if (!strcmp(argv[i], "--libraries") && more) {
            options->libraries = argv[++i];
        } else if (!strcmp(argv[i], "--target") && more && options->target_count < MAX_TARGETS) {
            options->targets[options->target_count++] = argv[++i];
        } else if (!strcmp(argv[i], "--update")) {
            options->update = true;
        } else if (!strcmp(argv[i], "--verbose")) {
            options->verbose = true;
        } else if (argv[i][0] != '-' && add_path(options, argv[i])) {
            continue;
        } else if (argv[i][0] != '-') {
            options->filter = argv[i];
        } else {
            fprintf(stderr,
                    "usage: run-msl [--cpu LEVEL] [--device NAME] [--jobs N] [--seconds N] "
                    "[--update] [--verbose] [--pack FOLDER [--target NAME]...] [--packed FOLDER] "
                    "[--libraries FOLDER] "
                    "FILE_OR_FOLDER... [FILTER]\n");
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    static struct options options;
    options.jobs = 2;
    if (!parse_arguments(&options, argc, argv)) {
        return 2;
    }
    if (options.pack && !options.target_count) {
        options.targets[options.target_count++] = "sm_80";
        options.targets[options.target_count++] = "sm_90";
    }
    if (!options.seconds) { /* with checks kernels take several times longer to compile */
        options.seconds =
            (options.desc.sanitize ? 960 : 240) * (options.pack ? (int)options.target_count : 1);
    }
    if (options.pack && ig_folder_make(options.pack, NULL)) {
        fprintf(stderr, "run-msl: the folder %s cannot be made\n", options.pack);
        return 1;
    }
    if (options.jobs < 1 || options.jobs > MAX_JOBS) {
        options.jobs = 2;
    }
    if (options.desc.cpu_level) { /* in a child: no threads may be here when the others fork */
        options.device = options.device ? options.device : "cpu";
        pid_t pid = fork();
        if (pid == 0) {
            ingot_device *device;
            ingot_status status = ingot_device_open(options.device, &options.desc, &device);
            if (status) {
                fprintf(stderr, "run-msl: skipped: %s\n", ingot_error_message());
            } else {
                ingot_device_release(device);
            }
            _exit(status == INGOT_UNSUPPORTED ? 77 : 0);
        }
        int status = 0;
        if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
            WEXITSTATUS(status) == 77) {
            return 77;
        }
    }
    apply_filter(&options);
    qsort(options.files, options.file_count, sizeof options.files[0], compare_names);
    int result = run_all(&options);
    for (size_t i = 0; i < options.file_count; i++) {
        free(options.files[i]);
    }
    return result;
}
