/* A program's code for NVIDIA GPUs, run on this machine by warp.c. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cuda_abi.h"
#include "base/file.h"
#include "base/process.h"
#include "random_kernel.h"
#include "warp.h"

struct files {
    char folder[64], ir[80], translated[80], library[80];
};

static bool make_files(struct files *files) {
    strcpy(files->folder, "/tmp/random_warp.XXXXXX");
    if (!mkdtemp(files->folder)) {
        perror(files->folder);
        return false;
    }
    snprintf(files->ir, sizeof files->ir, "%s/gpu.ll", files->folder);
    snprintf(files->translated, sizeof files->translated, "%s/here.ll", files->folder);
    snprintf(files->library, sizeof files->library, "%s/kernel.so", files->folder);
    return true;
}

static void remove_files(const struct files *files) {
    unlink(files->ir);
    unlink(files->translated);
    unlink(files->library);
    rmdir(files->folder);
}

static bool translate(const struct files *files) {
    char *text = NULL;
    size_t size;
    struct ig_error error = {0};
    FILE *out = fopen(files->translated, "w");
    bool good = out && ig_file_read(files->ir, 0, &text, &size, &error) == INGOT_OK;
    if (good)
        warp_translate(text, out);
    else
        printf("%s: %s\n", files->ir, ig_error_text(&error));
    if (out && fclose(out))
        good = false;
    free(text);
    ig_error_clear(&error);
    return good;
}

static bool make_library(const struct files *files) {
    const char *clang = getenv("INGOT_CLANG");
    const char *const arguments[] = {clang && *clang ? clang : "clang-19",
                                     "-O0",
                                     "-w",
                                     "-fPIC",
                                     "-shared",
                                     "-o",
                                     files->library,
                                     files->translated,
                                     NULL};
    struct ig_process process = {.arguments = arguments};
    struct ig_process_result result = {0};
    struct ig_error error = {0};
    bool good = ig_process_run(&process, &result, &error) == INGOT_OK && !result.signal &&
                !result.timed_out && result.exit_code == 0;
    if (!good)
        printf("%s: %s%s\n", arguments[0], error.message ? error.message : "",
               ig_text_string(&result.errors));
    ig_process_result_free(&result);
    ig_error_clear(&error);
    return good;
}

/* Every argument as a buffer, none inline. */
static bool launch_groups(void (*kernel)(void *), struct data *data, const struct launch *launch,
                          uint64_t seed) {
    struct {
        struct ingot_cuda_launch launch;
        const void *buffers[7];
    } block = {.launch = {.threads = {launch->threads, 1, 1},
                          .group = {launch->group, 1, 1},
                          .groups = {(launch->threads + launch->group - 1) / launch->group, 1, 1},
                          .flags = INGOT_CUDA_ONE_DIMENSION},
               .buffers = {data->input, data->output, data->table, data->scratch, data->counters,
                           &launch->n, &launch->u}};
    for (uint32_t g = 0; g < block.launch.groups[0]; g++)
        if (!warp_run(kernel, &block, g, launch->group, seed + g))
            return false;
    return true;
}

bool simulate_program(const char *source, struct data *data, const struct launch *launch,
                      uint64_t seed) {
    struct files files;
    if (!make_files(&files))
        return false;
    bool good = compile_program(source, "sm_90", "--emit", "optimised", files.ir) &&
                translate(&files) && make_library(&files);
    void *library = good ? dlopen(files.library, RTLD_NOW) : NULL;
    void *symbol = library ? dlsym(library, INGOT_CUDA_KERNEL_SYMBOL) : NULL;
    if (good && !symbol)
        printf("%s\n", dlerror());
    void (*kernel)(void *);
    memcpy(&kernel, &symbol, sizeof kernel);
    good = symbol && launch_groups(kernel, data, launch, seed);
    if (library)
        dlclose(library);
    if (!getenv("RANDOM_KEEP"))
        remove_files(&files);
    return good;
}
