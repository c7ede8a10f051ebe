/* A CUDA driver over host memory, for tests: see fake_cuda.h. Its memory is in fake_memory.c. */
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"
#include "fake_driver.h"
#include "fake_objects.h"
#include "ptx.h"

#define MEMORY_BYTES ((size_t)1 << 30) /* or $FAKE_CUDA_MEMORY, in MiB */

struct stream {
    int delay; /* looks until its work is done; -1: never */
};
struct event {
    double time;
    struct stream *stream;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char name[64];
    fake_cuda_kernel kernel;
} kernels[MAX_KERNELS];
static struct context contexts[MAX_DEVICES]; /* the devices' primary ones */
static char log_text[1 << 16];
static size_t log_size;
static char fail_function[64];
static unsigned fail_after;
static int fail_result, last_fault;
struct context *fake_context;
static double clock_ms;
static char fault_text[512]; /* of the last kernel that failed */
char *fake_log;
static _Thread_local void *current[8];
static _Thread_local int depth, capture_mode;

/* ---- steering ---- */

static void add_kernel(const char *name, fake_cuda_kernel kernel) {
    for (int i = 0; i < MAX_KERNELS; i++) {
        if (!kernels[i].kernel || !strcmp(kernels[i].name, name)) {
            snprintf(kernels[i].name, sizeof kernels[i].name, "%s", name);
            kernels[i].kernel = kernel;
            return;
        }
    }
}

static void fail(const char *function, unsigned nth, int result) {
    snprintf(fail_function, sizeof fail_function, "%s", function);
    fail_after = nth;
    fail_result = result;
}

static const char *get_log(void) {
    return log_text;
}

static void clear_log(void) {
    log_size = 0;
    log_text[0] = 0;
}

static size_t live(void) {
    return fake_object_count() + fake_memory_count();
}

static void *kernel_log(void) {
    return fake_log;
}

static void *exchange_context(void *wanted) {
    void *before = depth ? current[depth - 1] : NULL;
    depth = depth ? depth : 1;
    current[depth - 1] = wanted;
    return before;
}

EXPORT const struct fake_cuda_control *fake_cuda_control(void);
const struct fake_cuda_control *fake_cuda_control(void) {
    static const struct fake_cuda_control control = {
        add_kernel, fail, get_log, clear_log, live, kernel_log, exchange_context, fake_lock_memory};
    return &control;
}

struct module *fake_modules;

__attribute__((destructor)) static void free_objects(void) {
    for (; fake_modules; fake_modules = fake_modules->next) {
        if (fake_modules->ptx) {
            ptx_free(fake_modules->ptx);
        }
    }
}

/* ---- every call ---- */

void fake_note(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(log_text + log_size, sizeof log_text - log_size, format, list);
    va_end(list);
    if (length > 0 && log_size + (size_t)length < sizeof log_text) {
        log_size += (size_t)length;
    } else {
        clear_log();
    }
}

int fake_begin(const char *name) {
    pthread_mutex_lock(&lock);
    fake_note("%s\n", name);
    if (fail_after && !strcmp(name, fail_function) && !--fail_after) {
        return fail_result;
    }
    return OK;
}

int fake_end(int result) {
    if (result == CAPTURE_UNSUPPORTED) {
        fake_note("  spoils a capture\n");
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* A call that needs a context which has not failed. */
int fake_begin_in_context(const char *name) {
    int result = fake_begin(name);
    void *now = depth ? current[depth - 1] : NULL;
    fake_context = NULL;
    for (int i = 0; i < MAX_DEVICES; i++) {
        fake_context = now == &contexts[i] ? now : fake_context;
    }
    if (result == OK && !fake_context) {
        result = now ? INVALID_HANDLE : INVALID_CONTEXT;
    }
    return result == OK ? fake_context->sticky : result;
}

/* One that is also given something of this context which must not have been destroyed. */
int fake_begin_with(const char *name, const void *object) {
    int result = fake_begin_in_context(name);
    return result == OK && fake_object_is_refused(object, fake_context) ? INVALID_HANDLE : result;
}

static int number_from(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text && *text ? atoi(text) : otherwise;
}

/* Streams of other libraries are captured. */
static bool is_captured(const void *stream) {
    return number_from("FAKE_CUDA_CAPTURING", 0) && !fake_object_is_ours(stream);
}

/* Calls that wait, or may, spoil a capture that goes on anywhere in the process, unless their
 * thread says that it knows. */
int fake_begin_unsafe(const char *name, const void *object) {
    int result = fake_begin_with(name, object);
    bool forbidden = number_from("FAKE_CUDA_CAPTURING", 0) && capture_mode != CAPTURE_RELAXED;
    return result == OK && forbidden ? CAPTURE_UNSUPPORTED : result;
}

size_t fake_memory_bytes(void) {
    return (size_t)number_from("FAKE_CUDA_MEMORY", (int)(MEMORY_BYTES >> 20)) << 20;
}

API(cuInit, unsigned flags) {
    (void)flags;
    const char *text = getenv("FAKE_CUDA_FAIL");
    unsigned nth = 1;
    int result = 999;
    if (text && sscanf(text, "%63[^:]:%u:%d", fail_function, &nth, &result) >= 1) {
        fail_after = nth;
        fail_result = result;
    }
    BEGIN("cuInit");
    return fake_end(number_from("FAKE_CUDA_DEVICES", 1) ? OK : NO_DEVICE);
}

API(cuDriverGetVersion, int *version) {
    BEGIN("cuDriverGetVersion");
    *version = number_from("FAKE_CUDA_VERSION", 13000);
    return fake_end(OK);
}

API(cuGetErrorName, int result, const char **text) {
    *text = result == NO_MEMORY         ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
            : result == INVALID_PTX     ? "CUDA_ERROR_INVALID_PTX"
            : result == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                        : "CUDA_ERROR_OTHER";
    return OK;
}

API(cuGetErrorString, int result, const char **text) {
    *text = result == ILLEGAL_ADDRESS                ? "an illegal memory access was encountered"
            : result == LAUNCH_FAILED && *fault_text ? fault_text
                                                     : "a fake error";
    return OK;
}

/* ---- devices and contexts ---- */

int fake_context_device(const struct context *wanted) {
    return (int)(wanted - contexts);
}

API(cuDeviceGetCount, int *count) {
    BEGIN("cuDeviceGetCount");
    *count = number_from("FAKE_CUDA_DEVICES", 1);
    return fake_end(OK);
}

API(cuDeviceGet, int *device, int ordinal) {
    BEGIN("cuDeviceGet");
    *device = ordinal;
    return fake_end(OK);
}

API(cuDeviceGetName, char *name, int size, int device) {
    BEGIN("cuDeviceGetName");
    snprintf(name, (size_t)size, "Fake GPU %d", device);
    return fake_end(OK);
}

API(cuDeviceTotalMem_v2, size_t *bytes, int device) {
    BEGIN("cuDeviceTotalMem");
    (void)device;
    *bytes = 8 * fake_memory_bytes();
    return fake_end(OK);
}

API(cuDeviceGetAttribute, int *value, int attribute, int device) {
    BEGIN("cuDeviceGetAttribute");
    (void)device;
    int capability = number_from("FAKE_CUDA_CAPABILITY", 90);
    *value = attribute == 1    ? 1024
             : attribute == 5  ? MAX_COLUMNS
             : attribute == 6  ? MAX_ROWS
             : attribute == 7  ? MAX_ROWS
             : attribute == 16 ? 132
             : attribute == 75 ? capability / 10
             : attribute == 76 ? capability % 10
             : attribute == 97 ? SHARED_BYTES
                               : 0;
    return fake_end(OK);
}

API(cuDevicePrimaryCtxRetain, void **result, int device) {
    BEGIN("cuDevicePrimaryCtxRetain");
    if (last_fault && number_from("FAKE_CUDA_FAULTS_STAY", 0)) {
        return fake_end(last_fault);
    }
    contexts[device].retained++;
    *result = &contexts[device];
    return fake_end(OK);
}

static void destroy_context(struct context *gone) {
    gone->sticky = OK;
    gone->memory_used = 0;
    fake_object_destroy_all(gone);
    fake_memory_free_all(gone);
}

API(cuDevicePrimaryCtxRelease_v2, int device) {
    BEGIN("cuDevicePrimaryCtxRelease");
    if (!contexts[device].retained) {
        return fake_end(INVALID_CONTEXT);
    }
    if (!--contexts[device].retained) {
        destroy_context(&contexts[device]);
    }
    return fake_end(OK);
}

API(cuDevicePrimaryCtxReset_v2, int device) {
    BEGIN("cuDevicePrimaryCtxReset");
    destroy_context(&contexts[device]);
    return fake_end(OK);
}

API(cuCtxGetCurrent, void **result) {
    BEGIN("cuCtxGetCurrent");
    *result = depth ? current[depth - 1] : NULL;
    return fake_end(OK);
}

API(cuCtxSetCurrent, void *wanted) {
    BEGIN("cuCtxSetCurrent");
    exchange_context(wanted);
    return fake_end(OK);
}

API(cuCtxPushCurrent_v2, void *wanted) {
    BEGIN("cuCtxPushCurrent");
    current[depth++] = wanted;
    return fake_end(OK);
}

API(cuCtxPopCurrent_v2, void **result) {
    BEGIN("cuCtxPopCurrent");
    if (!depth) {
        return fake_end(INVALID_CONTEXT);
    }
    *result = current[--depth];
    return fake_end(OK);
}

API(cuThreadExchangeStreamCaptureMode, int *mode) {
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return OK;
}

/* ---- code ---- */

static void write_log(unsigned count, const int *options, void **values, const char *text) {
    size_t size = 64;
    char *log = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 5) {
            log = values[i];
        }
        if (options[i] == 6) {
            size = (uintptr_t)values[i];
        }
    }
    if (log) {
        snprintf(log, size, "%s", text);
    }
}

API(cuModuleLoadDataEx, void **module, const void *image, unsigned count, int *options,
    void **values) {
    BEGIN_UNSAFE("cuModuleLoadDataEx", NULL);
    char name[64] = "", message[512] = "ptxas application ptx input, line 1; fatal: no version";
    bool is_fake = sscanf(image, "// fake %63s", name) == 1 || number_from("FAKE_CUDA_ANY", 0);
    struct ptx_module *ptx = NULL;
    if (!is_fake && strstr(image, ".version")) {
        ptx = ptx_parse(image, message, sizeof message);
    }
    if (!is_fake && !ptx) {
        write_log(count, options, values, message);
        return fake_end(INVALID_PTX);
    }
    struct module *made = fake_object_new(sizeof *made, fake_context);
    if (!made) {
        if (ptx) {
            ptx_free(ptx);
        }
        return fake_end(NO_MEMORY);
    }
    memcpy(made->name, name, sizeof made->name);
    made->ptx = ptx;
    made->next = fake_modules;
    fake_modules = made;
    *module = made;
    return fake_end(OK);
}

API(cuModuleUnload, void *module) {
    BEGIN_UNSAFE("cuModuleUnload", NULL);
    struct module *unloaded = module;
    if (!fake_object_destroy(module, fake_context)) {
        return fake_end(INVALID_HANDLE);
    }
    if (unloaded->ptx) {
        ptx_free(unloaded->ptx);
        unloaded->ptx = NULL;
    }
    return fake_end(OK);
}

API(cuModuleGetFunction, void **function, void *module, const char *name) {
    BEGIN_WITH("cuModuleGetFunction", module);
    *function = module;
    return fake_end(strcmp(name, "ingot_kernel") ? NOT_FOUND : OK);
}

/* A fake kernel whose name starts with "log" has a log. */
API(cuModuleGetGlobal_v2, uint64_t *pointer, size_t *bytes, void *module, const char *name) {
    BEGIN_WITH("cuModuleGetGlobal", module);
    static _Alignas(16) char log[LOG_BYTES];
    const struct module *owner = module;
    const struct ptx_variable *variable = owner->ptx ? ptx_variable(owner->ptx, name) : NULL;
    if (variable) {
        *pointer = (uintptr_t)variable->memory;
        *bytes = variable->size;
        return fake_end(OK);
    }
    const char *owners = strcmp(name, "ingot_log") == 0       ? "log"
                         : strcmp(name, "ingot_failure") == 0 ? "stop"
                                                              : NULL;
    if (!owners || strncmp(owner->name, owners, strlen(owners))) {
        return fake_end(NOT_FOUND);
    }
    *pointer = (uintptr_t)log;
    *bytes = sizeof log;
    fake_log = log;
    return fake_end(OK);
}

API(cuFuncGetAttribute, int *value, int attribute, void *function) {
    BEGIN_WITH("cuFuncGetAttribute", function);
    const struct module *module = function;
    int most = number_from("FAKE_CUDA_MAX_THREADS", 1024);
    int threads = module->ptx ? (int)module->ptx->max_threads : 1024;
    *value = attribute != 0 ? 0 : threads < most ? threads : most;
    return fake_end(OK);
}

API(cuFuncSetAttribute, void *function, int attribute, int value) {
    BEGIN_WITH("cuFuncSetAttribute", function);
    struct module *module = function;
    fake_note("  attribute %d = %d\n", attribute, value);
    if (attribute == MAX_DYNAMIC_SHARED) {
        int statics = module->ptx ? (int)(module->ptx->shared_bytes - PTX_SHARED_START) : 0;
        if (value < 0 || value > SHARED_BYTES - statics) {
            return fake_end(INVALID_VALUE);
        }
        module->dynamic_shared = value;
    }
    return fake_end(OK);
}

static int run_ptx(struct ptx_module *module, const unsigned grid[3], unsigned block,
                   unsigned shared, bool starts_early, void **parameters) {
    static const int results[] = {OK,
                                  ILLEGAL_ADDRESS,
                                  MISALIGNED_ADDRESS,
                                  ILLEGAL_INSTRUCTION,
                                  NOT_READY /* a kernel that hangs */,
                                  LAUNCH_FAILED,
                                  LAUNCH_FAILED /* a race */,
                                  LAUNCH_FAILED /* memory before its wait */};
    const struct ptx_launch launch = {.function = ptx_find(module, "ingot_kernel"),
                                      .parameters = parameters[0],
                                      .grid = {grid[0], grid[1], grid[2]},
                                      .block = {block, 1, 1},
                                      .dynamic_shared = shared,
                                      .starts_early = starts_early,
                                      .is_memory = fake_is_memory};
    if (!launch.function || block > module->max_threads ||
        (module->threads && block != module->threads)) {
        return INVALID_VALUE;
    }
    enum ptx_fault fault = ptx_run(module, &launch, fault_text, sizeof fault_text);
    if (fault) {
        fprintf(stderr, "fake CUDA: %s\n", fault_text);
    }
    return results[fault];
}

/* What the hardware has, and the function was given. */
static bool fits(const struct module *module, const unsigned grid[3], unsigned threads,
                 unsigned shared) {
    unsigned statics = module->ptx ? module->ptx->shared_bytes - PTX_SHARED_START : 0;
    unsigned dynamic = (unsigned)module->dynamic_shared;
    return grid[0] && grid[1] && grid[2] && grid[0] <= MAX_COLUMNS && grid[1] <= MAX_ROWS &&
           grid[2] <= MAX_ROWS && threads && threads <= MAX_THREADS &&
           (shared <= dynamic || shared + statics <= UNASKED_SHARED_BYTES);
}

static int launch(const struct module *module, const unsigned grid[3], unsigned block_x,
                  unsigned shared, bool starts_early, void *stream, void **parameters) {
    fake_note("  %u bytes of shared memory\n", shared);
    if (fake_object_is_refused(module, fake_context) ||
        fake_object_is_refused(stream, fake_context)) {
        return INVALID_HANDLE;
    }
    if (!fits(module, grid, block_x, shared)) {
        return INVALID_VALUE;
    }
    int result = OK;
    clock_ms += 1;
    if (module->ptx) {
        result = run_ptx(module->ptx, grid, block_x, shared, starts_early, parameters);
    }
    for (int i = 0; i < MAX_KERNELS; i++) {
        if (kernels[i].kernel && !strcmp(kernels[i].name, module->name)) {
            result = kernels[i].kernel(parameters[0], grid, block_x, shared);
        }
    }
    struct stream *queue = stream;
    if (queue) {
        queue->delay = result == NOT_READY ? -1 : LOOKS_BEFORE_DONE;
    }
    if (result != NOT_READY) {
        fake_context->sticky = result; /* the launch itself is fine: a fault is seen later */
    }
    last_fault = fake_context->sticky ? fake_context->sticky : last_fault;
    return OK;
}

API(cuLaunchKernel, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, void *stream,
    void **parameters, void **extra) {
    BEGIN_IN_CONTEXT("cuLaunchKernel");
    const unsigned grid[3] = {grid_x, grid_y, grid_z};
    if (extra || block_y != 1 || block_z != 1) {
        return fake_end(INVALID_VALUE);
    }
    return fake_end(launch(function, grid, block_x, shared, false, stream, parameters));
}

struct launch_attribute {
    int id, padding, value[16];
};
struct launch_config {
    unsigned grid[3], block[3], shared;
    void *stream;
    const struct launch_attribute *attributes;
    unsigned attribute_count;
};

API(cuLaunchKernelEx, const struct launch_config *config, void *function, void **parameters,
    void **extra) {
    BEGIN_IN_CONTEXT("cuLaunchKernelEx");
    if (extra || config->block[1] != 1 || config->block[2] != 1) {
        return fake_end(INVALID_VALUE);
    }
    bool starts_early = false;
    for (unsigned i = 0; i < config->attribute_count; i++) {
        fake_note("  attribute %d = %d\n", config->attributes[i].id,
                  config->attributes[i].value[0]);
        if (config->attributes[i].id != PROGRAMMATIC_SERIALIZATION) {
            return fake_end(INVALID_VALUE);
        }
        starts_early = config->attributes[i].value[0] != 0;
    }
    return fake_end(launch(function, config->grid, config->block[0], config->shared, starts_early,
                           config->stream, parameters));
}

/* ---- streams and events ---- */

API(cuStreamCreate, void **stream, unsigned flags) {
    BEGIN_IN_CONTEXT("cuStreamCreate");
    (void)flags;
    *stream = fake_object_new(sizeof(struct stream), fake_context);
    return fake_end(*stream ? OK : NO_MEMORY);
}

API(cuStreamDestroy_v2, void *stream) {
    BEGIN_IN_CONTEXT("cuStreamDestroy");
    return fake_end(fake_object_destroy(stream, fake_context) ? OK : INVALID_HANDLE);
}

API(cuStreamQuery, void *stream) {
    BEGIN_UNSAFE("cuStreamQuery", stream);
    if (is_captured(stream)) {
        return fake_end(CAPTURE_UNSUPPORTED);
    }
    struct stream *queue = stream;
    if (!queue || !queue->delay) {
        return fake_end(OK);
    }
    if (queue->delay > 0) {
        queue->delay--;
    }
    return fake_end(NOT_READY);
}

API(cuStreamSynchronize, void *stream) {
    BEGIN_UNSAFE("cuStreamSynchronize", stream);
    if (is_captured(stream)) {
        return fake_end(CAPTURE_UNSUPPORTED);
    }
    if (stream) {
        ((struct stream *)stream)->delay = 0;
    }
    return fake_end(OK);
}

API(cuStreamWaitEvent, void *stream, void *event, unsigned flags) {
    BEGIN_WITH("cuStreamWaitEvent", stream);
    (void)flags;
    return fake_end(fake_object_is_refused(event, fake_context) ? INVALID_HANDLE : OK);
}

API(cuStreamIsCapturing, void *stream, int *status) {
    BEGIN_IN_CONTEXT("cuStreamIsCapturing");
    *status = is_captured(stream);
    return fake_end(OK);
}

API(cuEventCreate, void **event, unsigned flags) {
    BEGIN_IN_CONTEXT("cuEventCreate");
    (void)flags;
    *event = fake_object_new(sizeof(struct event), fake_context);
    return fake_end(*event ? OK : NO_MEMORY);
}

API(cuEventDestroy_v2, void *event) {
    BEGIN_IN_CONTEXT("cuEventDestroy");
    return fake_end(fake_object_destroy(event, fake_context) ? OK : INVALID_HANDLE);
}

API(cuEventRecord, void *event, void *stream) {
    BEGIN_WITH("cuEventRecord", stream);
    if (fake_object_is_refused(event, fake_context)) {
        return fake_end(INVALID_HANDLE);
    }
    ((struct event *)event)->time = clock_ms;
    ((struct event *)event)->stream = stream;
    return fake_end(OK);
}

API(cuEventQuery, void *event) {
    BEGIN_UNSAFE("cuEventQuery", event);
    const struct event *e = event;
    return fake_end(e->stream && e->stream->delay < 0 ? NOT_READY : OK);
}

API(cuEventElapsedTime, float *milliseconds, void *start, void *finish) {
    BEGIN_WITH("cuEventElapsedTime", start);
    if (fake_object_is_refused(finish, fake_context)) {
        return fake_end(INVALID_HANDLE);
    }
    *milliseconds = (float)(((struct event *)finish)->time - ((struct event *)start)->time);
    return fake_end(OK);
}
