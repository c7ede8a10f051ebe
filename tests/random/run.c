/* A program on a device, and through the compiler. */
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "random_kernel.h"

static ingot_status create_library(ingot_device *device, const char *source, const char *archive,
                                   ingot_library **library) {
    ingot_source_desc desc = {.source = source, .name = "random.metal", .no_cache = true};
    return archive ? ingot_library_create_from_archive(device, archive, library)
                   : ingot_library_create_from_source(device, &desc, library);
}

ingot_status run_program(ingot_device *device, const char *source, const char *archive,
                         struct data *data, const struct launch *launch) {
    ingot_library *library = NULL;
    ingot_kernel *kernel = NULL;
    ingot_stream *stream = NULL;
    ingot_buffer *buffers[5] = {NULL};
    ingot_status status = create_library(device, source, archive, &library);
    ingot_kernel_desc want = {.name = "random_kernel"};
    if (status == INGOT_OK) {
        status = ingot_kernel_create(library, &want, &kernel);
    }
    if (status == INGOT_OK) {
        status = ingot_stream_create(device, &stream);
    }
    void *memory[5] = {data->input, data->output, data->table, data->scratch, data->counters};
    uint64_t sizes[5] = {sizeof data->input, sizeof data->output, sizeof data->table,
                         sizeof data->scratch, sizeof data->counters};
    ingot_arg args[7] = {{0}};
    for (int i = 0; i < 5 && status == INGOT_OK; i++) {
        status = ingot_buffer_create(device, sizes[i], &buffers[i]);
        if (status == INGOT_OK) {
            status = ingot_stream_upload(stream, buffers[i], 0, memory[i], sizes[i]);
        }
        args[i].buffer = buffers[i];
    }
    args[5] = (ingot_arg){.bytes = &launch->n, .size = 4};
    args[6] = (ingot_arg){.bytes = &launch->u, .size = 4};
    ingot_dispatch_desc dispatch = {.kernel = kernel,
                                    .threads = {launch->threads},
                                    .group = {launch->group},
                                    .args = args,
                                    .arg_count = 7};
    if (status == INGOT_OK) {
        status = ingot_stream_dispatch(stream, &dispatch);
    }
    if (status == INGOT_OK) {
        status = ingot_stream_wait(stream);
    }
    for (int i = 0; i < 5 && status == INGOT_OK; i++) {
        status = ingot_stream_download(stream, buffers[i], 0, memory[i], sizes[i]);
    }
    ingot_stream_release(stream);
    for (int i = 0; i < 5; i++) {
        ingot_buffer_release(buffers[i]);
    }
    ingot_kernel_release(kernel);
    ingot_library_release(library);
    return status;
}

bool pack_program(const char *source, const char *archive) {
    const char *compiler = getenv("INGOTC");
    const char *const arguments[] = {compiler && *compiler ? compiler : "ingotc",
                                     "-",
                                     "-o",
                                     archive,
                                     "--name",
                                     "random.metal",
                                     "--kernel",
                                     "random_kernel",
                                     "--target",
                                     "sm_90",
                                     NULL};
    struct ig_process process = {.arguments = arguments, .input = source};
    process.input_size = strlen(source);
    struct ig_process_result result = {0};
    struct ig_error error = {0};
    bool good = ig_process_run(&process, &result, &error) == INGOT_OK && !result.signal &&
                !result.timed_out && result.exit_code == 0;
    if (!good) {
        printf("%s: %s%s\n", arguments[0], error.message ? error.message : "",
               ig_text_string(&result.errors));
    }
    ig_process_result_free(&result);
    ig_error_clear(&error);
    return good;
}
