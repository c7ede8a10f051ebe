/* Runs one case through the public API and compares. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

struct launch {
    ingot_library *library;
    ingot_kernel *kernel;
    ingot_stream *stream;
    ingot_buffer *buffers[MAX_ARGUMENTS];
    ingot_arg args[MAX_ARGUMENTS];
    size_t arg_count;
    const char *message; /* instead of ingot_error_message */
};

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ig_text log_messages; /* under log_lock */

static void collect_log(void *context, int level, const char *message) {
    (void)context;
    pthread_mutex_lock(&log_lock);
    ig_text_printf(&log_messages, "%d: %s\n", level, message);
    pthread_mutex_unlock(&log_lock);
}

static ingot_status open_library(ingot_device *device, const struct test_file *file,
                                 const struct test_case *test, struct launch *launch) {
    if (file->library) {
        return ingot_library_create_from_archive(device, file->library, &launch->library);
    }
    ingot_define defines[MAX_OPTIONS];
    for (size_t i = 0; i < test->define_count; i++) {
        char *name = ig_arena_string(file->arena, test->defines[i]);
        if (!name) {
            return INGOT_OUT_OF_MEMORY;
        }
        char *separator = strchr(name, ':');
        if (separator) {
            *separator = 0;
        }
        defines[i] = (ingot_define){name, separator ? separator + 1 : NULL};
    }
    ingot_source_desc desc = {
        .include_dirs = test->include_dirs,
        .include_dir_count = test->include_dir_count,
        .defines = defines,
        .define_count = test->define_count,
        .fast_math = test->fast_math,
        .msl_version = test->msl_version,
    };
    return ingot_library_create_from_source_file(device, file->path, &desc, &launch->library);
}

static ingot_status make_kernel(const struct test_case *test, struct launch *launch) {
    ingot_constant constants[MAX_CONSTANTS];
    for (size_t i = 0; i < test->constant_count; i++) {
        constants[i] = (ingot_constant){.name = test->constants[i].name,
                                        .index = test->constants[i].index,
                                        .bytes = test->constants[i].data.bytes,
                                        .size = test->constants[i].data.size};
    }
    ingot_kernel_desc desc = {
        .name = test->kernel, .constants = constants, .constant_count = test->constant_count};
    return ingot_kernel_create(launch->library, &desc, &launch->kernel);
}

/* Values are passed as bytes, except where the kernel takes a device pointer. */
static bool wants_buffer(const struct launch *launch, const struct argument *argument,
                         uint32_t index) {
    ingot_kernel_info kernel;
    if (!argument->by_value || argument->address_count) {
        return true;
    }
    if (ingot_kernel_get_info(launch->kernel, &kernel)) {
        return false;
    }
    for (uint32_t i = 0; i < kernel.argument_count; i++) {
        ingot_argument_info info;
        if (!ingot_kernel_argument_info(launch->kernel, i, &info) &&
            info.kind == INGOT_ARGUMENT_BUFFER && info.index == index) {
            return info.space == INGOT_SPACE_DEVICE;
        }
    }
    return false;
}

static ingot_status bind(ingot_device *device, const struct test_case *test,
                         struct launch *launch) {
    for (uint32_t i = 0; i < MAX_ARGUMENTS; i++) {
        const struct argument *a = &test->arguments[i];
        if (!a->present || !wants_buffer(launch, a, i)) {
            continue;
        }
        ingot_status status =
            ingot_buffer_create(device, a->data.size + a->offset, &launch->buffers[i]);
        if (status) {
            return status;
        }
        if (a->is_unwritten) {
            continue;
        }
        status = ingot_stream_upload(launch->stream, launch->buffers[i], a->offset, a->data.bytes,
                                     a->data.size);
        if (status) {
            return status;
        }
    }
    for (uint32_t i = 0; i < MAX_ARGUMENTS; i++) {
        const struct argument *a = &test->arguments[i];
        if (!a->present) {
            continue;
        }
        for (size_t k = 0; k < a->address_count; k++) {
            uint64_t address = 0;
            if (a->addresses[k].argument < MAX_ARGUMENTS) {
                address = ingot_buffer_address(launch->buffers[a->addresses[k].argument]);
            }
            ingot_status status = ingot_stream_upload(launch->stream, launch->buffers[i],
                                                      a->addresses[k].at, &address, sizeof address);
            if (status) {
                return status;
            }
        }
        if (launch->buffers[i]) {
            launch->args[i] = (ingot_arg){.buffer = launch->buffers[i], .offset = a->offset};
        } else {
            launch->args[i] = (ingot_arg){.bytes = a->data.bytes, .size = a->data.size};
        }
        launch->arg_count = i + 1;
    }
    return INGOT_OK;
}

static ingot_status dispatch(const struct test_case *test, struct launch *launch) {
    ingot_dispatch_desc desc = {
        .kernel = launch->kernel,
        .args = launch->args,
        .arg_count = launch->arg_count,
        .threadgroup_lengths = test->threadgroup_lengths,
        .threadgroup_length_count = test->threadgroup_length_count,
        .time_limit_seconds = test->time_limit,
    };
    memcpy(desc.threads, test->threads, sizeof desc.threads);
    memcpy(desc.threadgroups, test->threadgroups, sizeof desc.threadgroups);
    memcpy(desc.group, test->group, sizeof desc.group);
    ingot_status status = ingot_stream_dispatch(launch->stream, &desc);
    return status ? status : ingot_stream_wait(launch->stream);
}

/* Argument buffers reach buffers that the kernel does not take: those stay out of args. */
static void drop_indirect(const struct test_case *test, struct launch *launch) {
    for (uint32_t i = 0; i < MAX_ARGUMENTS; i++) {
        for (size_t k = 0; k < test->arguments[i].address_count; k++) {
            uint32_t target = test->arguments[i].addresses[k].argument;
            if (target < MAX_ARGUMENTS && target >= 16) {
                launch->args[target] = (ingot_arg){0};
            }
        }
    }
    while (launch->arg_count && !launch->args[launch->arg_count - 1].buffer &&
           !launch->args[launch->arg_count - 1].bytes) {
        launch->arg_count--;
    }
}

static ingot_status run(ingot_device *device, const struct test_file *file,
                        const struct test_case *test, const char *packed, struct launch *launch) {
    ingot_status status =
        packed ? test_packed_open(device, file, test, packed, &launch->library, &launch->message)
               : open_library(device, file, test, launch);
    if (!status) {
        status = make_kernel(test, launch);
    }
    if (!status) {
        status = ingot_stream_create(device, &launch->stream);
    }
    if (!status) {
        status = bind(device, test, launch);
    }
    drop_indirect(test, launch);
    return status ? status : dispatch(test, launch);
}

/* Kernels with findings run on: the file's FINDS say which, and stand for the error. */
static bool check_failure(const struct test_case *test, ingot_status status, const char *message,
                          bool has_findings, struct ig_text *report) {
    bool wanted = test->error_text_count || test->status_name;
    if (status && !wanted) {
        ig_text_printf(report, "  failed with %s: %s\n", ingot_status_name(status), message);
        return false;
    }
    if (wanted && !status && has_findings) {
        return true;
    }
    if (wanted && !status && !(test->status_name && !strcmp(test->status_name, "INGOT_OK"))) {
        ig_text_puts(report, "  ran, but an error was expected\n");
        return false;
    }
    bool good = true;
    if (test->status_name && strcmp(test->status_name, ingot_status_name(status))) {
        ig_text_printf(report, "  status %s, but %s was expected: %s\n", ingot_status_name(status),
                       test->status_name, message);
        good = false;
    }
    for (size_t i = 0; i < test->error_text_count; i++) {
        if (!strstr(message, test->error_text[i])) {
            ig_text_printf(report, "  the message lacks \"%s\": %s\n", test->error_text[i],
                           message);
            good = false;
        }
    }
    return good;
}

static bool check_log(const struct test_case *test, struct ig_text *report) {
    bool good = true;
    pthread_mutex_lock(&log_lock);
    for (size_t i = 0; i < test->log_text_count; i++) {
        if (!strstr(ig_text_string(&log_messages), test->log_text[i])) {
            ig_text_printf(report, "  the log lacks \"%s\":\n%s", test->log_text[i],
                           ig_text_string(&log_messages));
            good = false;
        }
    }
    pthread_mutex_unlock(&log_lock);
    return good;
}

static bool check_results(const struct test_file *file, const struct test_case *test,
                          const struct launch *launch, struct ig_text *report,
                          const char **update) {
    bool good = true;
    for (size_t i = 0; i < test->expectation_count; i++) {
        const struct expectation *x = &test->expectations[i];
        const struct argument *a = &test->arguments[x->argument];
        ingot_buffer *buffer = launch->buffers[x->argument];
        if (!buffer || x->data.size > a->data.size) {
            ig_text_printf(report,
                           "  EXPECT %u: the argument has %zu bytes, but %zu are expected\n",
                           x->argument, buffer ? a->data.size : 0, x->data.size);
            good = false;
            continue;
        }
        uint8_t *got = ig_arena_array(file->arena, a->data.size + 1, 1);
        if (!got || ingot_stream_download(launch->stream, buffer, a->offset, got, a->data.size)) {
            ig_text_printf(report, "  EXPECT %u cannot be read: %s\n", x->argument,
                           ingot_error_message());
            good = false;
            continue;
        }
        if (test_compare(x, got, report)) {
            continue;
        }
        good = false;
        if (x->is_list) {
            struct ig_text line = {0};
            test_print_values(&x->data, got, 0, x->data.count, &line);
            update[i] = ig_arena_string(file->arena, ig_text_string(&line));
            ig_text_free(&line);
        }
    }
    return good;
}

bool test_case_run(ingot_device *device, const struct test_file *file, const struct test_case *test,
                   const char *packed, struct ig_text *report, const char **update) {
    struct launch launch = {0};
    pthread_mutex_lock(&log_lock);
    ig_text_free(&log_messages);
    pthread_mutex_unlock(&log_lock);
    ingot_set_log_function(collect_log, NULL);
    ingot_status status = run(device, file, test, packed, &launch);
    char *message = strdup(!status ? "" : launch.message ? launch.message : ingot_error_message());
    bool good = message && check_failure(test, status, message,
                                         ingot_device_finding_count(device) > 0, report);
    if (good && !status) {
        good = check_results(file, test, &launch, report, update);
    }
    good = check_log(test, report) && good;
    free(message);
    ingot_stream_release(launch.stream);
    for (size_t i = 0; i < MAX_ARGUMENTS; i++) {
        ingot_buffer_release(launch.buffers[i]);
    }
    ingot_kernel_release(launch.kernel);
    ingot_library_release(launch.library);
    pthread_mutex_lock(&log_lock);
    ig_text_free(&log_messages);
    pthread_mutex_unlock(&log_lock);
    return good;
}
