/* OpenCL by dlopen: only the dozen calls and constants needed, so that nothing has to be
 * installed to build this. */
#include "opencl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;

enum {
    CL_PLATFORM_NAME = 0x0902,
    CL_MEM_READ_WRITE = 1,
    CL_MEM_USE_HOST_PTR = 8,
    CL_PROGRAM_BUILD_LOG = 0x1183,
};
#define CL_DEVICE_TYPE_CPU ((uint64_t)2)

struct opencl {
    int (*get_platforms)(uint32_t, handle *, uint32_t *);
    int (*platform_info)(handle, uint32_t, size_t, void *, size_t *);
    int (*get_devices)(handle, uint64_t, uint32_t, handle *, uint32_t *);
    handle (*create_context)(const intptr_t *, uint32_t, const handle *, void *, void *, int *);
    handle (*create_queue)(handle, handle, uint64_t, int *);
    handle (*create_program)(handle, uint32_t, const char **, const size_t *, int *);
    int (*build_program)(handle, uint32_t, const handle *, const char *, void *, void *);
    int (*build_info)(handle, handle, uint32_t, size_t, void *, size_t *);
    handle (*create_kernel)(handle, const char *, int *);
    handle (*create_buffer)(handle, uint64_t, size_t, void *, int *);
    int (*set_argument)(handle, uint32_t, size_t, const void *);
    int (*enqueue)(handle, handle, uint32_t, const size_t *, const size_t *, const size_t *,
                   uint32_t, const handle *, handle *);
    int (*finish)(handle);
    int (*release_buffer)(handle);
    int (*release_kernel)(handle);
    handle device, context, queue, program;
};

struct opencl_kernel {
    const struct opencl *opencl;
    handle kernel;
    handle buffers[BENCH_MAX_BUFFERS];
};

static bool load_functions(struct opencl *opencl) {
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        return false;
    }
    const struct {
        const char *name;
        void *target;
    } functions[] = {
        {"clGetPlatformIDs", &opencl->get_platforms},
        {"clGetPlatformInfo", &opencl->platform_info},
        {"clGetDeviceIDs", &opencl->get_devices},
        {"clCreateContext", &opencl->create_context},
        {"clCreateCommandQueue", &opencl->create_queue},
        {"clCreateProgramWithSource", &opencl->create_program},
        {"clBuildProgram", &opencl->build_program},
        {"clGetProgramBuildInfo", &opencl->build_info},
        {"clCreateKernel", &opencl->create_kernel},
        {"clCreateBuffer", &opencl->create_buffer},
        {"clSetKernelArg", &opencl->set_argument},
        {"clEnqueueNDRangeKernel", &opencl->enqueue},
        {"clFinish", &opencl->finish},
        {"clReleaseMemObject", &opencl->release_buffer},
        {"clReleaseKernel", &opencl->release_kernel},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol) {
            return false;
        }
        memcpy(functions[i].target, &symbol, sizeof symbol);
    }
    return true;
}

static bool find_pocl(struct opencl *opencl) {
    handle platforms[16];
    uint32_t count = 0;
    if (opencl->get_platforms(16, platforms, &count) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < count && i < 16; i++) {
        char name[256] = "";
        opencl->platform_info(platforms[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
        if (strstr(name, "Portable Computing Language") &&
            opencl->get_devices(platforms[i], CL_DEVICE_TYPE_CPU, 1, &opencl->device, NULL) == 0) {
            return true;
        }
    }
    return false;
}

static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        return NULL;
    }
    char *text = calloc(1, 1 << 16);
    if (text && fread(text, 1, (1 << 16) - 1, file) == 0) {
        text[0] = 0;
    }
    fclose(file);
    return text;
}

static bool build(struct opencl *opencl, const char *source_path) {
    int status = 0;
    char *source = read_text(source_path);
    if (!source) {
        return false;
    }
    const char *sources[] = {source};
    opencl->program = opencl->create_program(opencl->context, 1, sources, NULL, &status);
    free(source);
    if (!opencl->program) {
        return false;
    }
    if (opencl->build_program(opencl->program, 1, &opencl->device, "", NULL, NULL) == 0) {
        return true;
    }
    char log[4096] = "";
    opencl->build_info(opencl->program, opencl->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log,
                       NULL);
    fprintf(stderr, "PoCL does not build %s:\n%s\n", source_path, log);
    return false;
}

struct opencl *opencl_open(const char *source_path, unsigned threads, const char **why) {
    char count[16];
    snprintf(count, sizeof count, "%u", threads);
    if (threads) {
        setenv("POCL_MAX_PTHREAD_COUNT", count, 1);
    }
    struct opencl *opencl = calloc(1, sizeof *opencl);
    int status = 0;
    *why = "not installed";
    if (!opencl || !load_functions(opencl) || !find_pocl(opencl)) {
        goto fail;
    }
    *why = "failed";
    opencl->context = opencl->create_context(NULL, 1, &opencl->device, NULL, NULL, &status);
    if (!opencl->context) {
        goto fail;
    }
    opencl->queue = opencl->create_queue(opencl->context, opencl->device, 0, &status);
    if (!opencl->queue || !build(opencl, source_path)) {
        goto fail;
    }
    return opencl;
fail:
    free(opencl);
    return NULL;
}

struct opencl_kernel *opencl_prepare(struct opencl *opencl, const struct bench_row *row,
                                     const char **why) {
    struct opencl_kernel *kernel = calloc(1, sizeof *kernel);
    int status = 0;
    *why = "failed";
    if (!kernel) {
        return NULL;
    }
    kernel->opencl = opencl;
    kernel->kernel = opencl->create_kernel(opencl->program, row->kernel, &status);
    bool good = kernel->kernel != NULL;
    for (uint32_t i = 0; good && i < row->buffer_count; i++) {
        kernel->buffers[i] =
            opencl->create_buffer(opencl->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                  row->buffers[i].bytes, row->buffers[i].data, &status);
        good = kernel->buffers[i] &&
               opencl->set_argument(kernel->kernel, i, sizeof(handle), &kernel->buffers[i]) == 0;
    }
    for (uint32_t i = 0; good && i < row->scalar_count; i++) {
        good = opencl->set_argument(kernel->kernel, (uint32_t)row->buffer_count + i, 4,
                                    &row->scalars[i]) == 0;
    }
    if (good) {
        return kernel;
    }
    opencl_release(kernel);
    return NULL;
}

bool opencl_run(struct opencl_kernel *kernel, const struct bench_row *row, size_t repeats) {
    const struct opencl *opencl = kernel->opencl;
    size_t global[3], local[3];
    for (int i = 0; i < 3; i++) {
        global[i] = row->cl_global[i];
        local[i] = row->cl_local[i];
    }
    for (size_t i = 0; i < repeats; i++) {
        if (opencl->enqueue(opencl->queue, kernel->kernel, 3, NULL, global, local, 0, NULL, NULL)) {
            return false;
        }
    }
    return opencl->finish(opencl->queue) == 0;
}

void opencl_release(struct opencl_kernel *kernel) {
    if (!kernel) {
        return;
    }
    for (size_t i = 0; i < BENCH_MAX_BUFFERS; i++) {
        if (kernel->buffers[i]) {
            kernel->opencl->release_buffer(kernel->buffers[i]);
        }
    }
    if (kernel->kernel) {
        kernel->opencl->release_kernel(kernel->kernel);
    }
    free(kernel);
}
