/* Code for the GPU: PTX or a cubin of an archive → a module of the context. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cuda_abi.h"
#include "runtime/cuda/cuda.h"

enum { LOG_SIZE = 8192 };

static const struct {
    int capability;
    bool exactly; /* for these cards, and no newer ones */
    const char *target;
} levels[] = {{90, true, "sm_90a"}, {90, false, "sm_90"}, {80, false, "sm_80"}};
#define LEVEL_COUNT (sizeof levels / sizeof levels[0])

static bool runs(int capability, size_t level) {
    return levels[level].exactly ? capability == levels[level].capability
                                 : capability >= levels[level].capability;
}

const char *cuda_code_level(int capability) {
    for (size_t i = 0; i < LEVEL_COUNT; i++) {
        if (runs(capability, i)) {
            return levels[i].target;
        }
    }
    return levels[LEVEL_COUNT - 1].target;
}

static const struct ig_code *best_text(const struct cuda_device *device,
                                       const struct ig_variant *variant) {
    const struct ig_code *code = NULL;
    for (size_t i = 0; i < LEVEL_COUNT && !code; i++) {
        if (runs(device->capability, i)) {
            code = ig_variant_code(variant, levels[i].target);
        }
    }
    return code;
}

/* Machine code for exactly this card, else the best PTX. */
const struct ig_code *cuda_code_find(ingot_device *base, const struct ig_variant *variant) {
    const struct cuda_device *device = (struct cuda_device *)base;
    const struct ig_code *code = NULL;
    for (int own = 1; own >= 0 && !code; own--) {
        char exact[32];
        snprintf(exact, sizeof exact, "sm_%d%s.cubin", device->capability, own ? "a" : "");
        code = ig_variant_code(variant, exact);
    }
    return code ? code : best_text(device, variant);
}

/* ---- the parameter block's layout ---- */

static ingot_status bad_slot(const struct ig_variant *variant, const struct ig_argument *argument,
                             uint32_t slots, struct ig_error *error) {
    return ig_fail(error, INGOT_BAD_ARCHIVE,
                   "kernel \"%s\", argument \"%s\": slot %u is not one of the %u there are",
                   variant->kernel, argument->name, argument->slot, slots);
}

static ingot_status lay_out(const struct ig_variant *variant, struct cuda_code *code,
                            struct ig_error *error) {
    const struct ig_argument *arguments = variant->arguments;
    uint32_t count = variant->argument_count;
    uint32_t buffers = ingot_cuda_slots(arguments, count, INGOT_ARGUMENT_BUFFER);
    code->threadgroup_slots = ingot_cuda_slots(arguments, count, INGOT_ARGUMENT_THREADGROUP);
    code->threadgroups_at = ingot_cuda_threadgroups_at(arguments, count);
    code->block_bytes = ingot_cuda_block_bytes(arguments, count);
    code->static_bytes = (variant->static_threadgroup_bytes + 15u) & ~15u;
    if (code->static_bytes > INGOT_CUDA_MAX_STATIC) {
        code->static_bytes = 0;
    }
    code->has_dynamic = code->threadgroup_slots || code->static_bytes == 0;
    if (code->block_bytes > INGOT_CUDA_MAX_BLOCK) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "kernel \"%s\": its %u arguments take %u bytes of parameters; the limit is "
                       "%u",
                       variant->kernel, count, code->block_bytes, INGOT_CUDA_MAX_BLOCK);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct ig_argument *argument = &arguments[i];
        bool is_buffer = argument->kind == INGOT_ARGUMENT_BUFFER;
        uint32_t slots = is_buffer ? buffers : code->threadgroup_slots;
        if (argument->slot >= slots) {
            return bad_slot(variant, argument, slots, error);
        }
        if (!is_buffer || !argument->active) {
            continue;
        }
        struct cuda_place *place = &code->places[code->place_count++];
        place->index = argument->index;
        place->at = ingot_cuda_buffers_at() + 8u * argument->slot;
        place->bytes_at = ingot_cuda_inline_offset(arguments, count, i, &place->room);
        place->is_constant_reference = argument->is_reference && place->room;
    }
    return INGOT_OK;
}

/* ---- loading ---- */

static ingot_status load_failed(struct cuda_device *device, const char *kernel,
                                const struct ig_code *code, cu_result result, const char *log,
                                struct ig_error *error) {
    ingot_status status =
        cuda_fail(device, result, error, "the %s code of kernel \"%s\" cannot be loaded on \"%s\"",
                  code->target, kernel, device->base.info.description);
    if (!*log) {
        return status;
    }
    char *message = strdup(ig_error_text(error));
    ig_fail(error, status, "%s\n%s", message ? message : kernel, log);
    free(message);
    return status;
}

static ingot_status load_module(struct cuda_device *device, const char *kernel,
                                const struct ig_code *code, struct cuda_code *result,
                                struct ig_error *error) {
    const struct cuda_driver *driver = device->driver;
    const char *image = code->bytes;
    char *copy = NULL, *log = calloc(1, LOG_SIZE + 1);
    bool is_text = !strstr(code->target, ".cubin");
    size_t copied = 0; /* bytes behind those of the code */
    if (is_text && (!code->size || image[code->size - 1])) {
        copy = malloc(code->size + 1);
        if (copy) {
            memcpy(copy, image, code->size);
            copy[code->size] = 0;
            copied = 1;
        }
        image = copy;
    }
    if (!log || !image) {
        free(log);
        free(copy);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to load kernel \"%s\"", kernel);
    }
    int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)LOG_SIZE,
                      (void *)(code->size + copied)}; /* the third: see driver.h */
    cu_result loaded = driver->module_load(&result->module, image, 2, options, values);
    if (loaded == CU_SUCCESS) {
        loaded =
            driver->module_function(&result->function, result->module, INGOT_CUDA_KERNEL_SYMBOL);
    }
    ingot_status status = INGOT_OK;
    if (loaded == CU_NOT_FOUND) {
        status = ig_fail(error, INGOT_BAD_ARCHIVE, "the code of kernel \"%s\" has no entry \"%s\"",
                         kernel, INGOT_CUDA_KERNEL_SYMBOL);
    } else if (loaded != CU_SUCCESS) {
        status = load_failed(device, kernel, code, loaded, log, error);
    }
    free(log);
    free(copy);
    return status;
}

/* Machine code that this driver does not take, as one that is older than the ptxas that made it may
 * not, has PTX beside it in most archives. */
static ingot_status load_either(struct cuda_device *device, const struct ig_variant *variant,
                                const struct ig_code *text, const struct ig_code **code,
                                struct ig_code *plain_text, struct cuda_code *result,
                                struct ig_error *error) {
    ingot_status status = load_module(device, variant->kernel, *code, result, error);
    bool is_refused = status == INGOT_BAD_ARCHIVE || status == INGOT_UNSUPPORTED;
    if (is_refused && text && strstr((*code)->target, ".cubin")) {
        if (error) {
            ig_error_clear(error);
        }
        status = ig_code_open(text, plain_text, error);
        if (status == INGOT_OK) {
            *code = plain_text;
            status = load_module(device, variant->kernel, plain_text, result, error);
        }
    }
    return status;
}

ingot_status cuda_code_variable(struct cuda_device *device, const struct cuda_code *code,
                                const struct ig_code *image, const char *name, size_t size,
                                cu_pointer *address, struct ig_error *error) {
    size_t found = 0;
    *address = 0;
    /* Its name is in the code; to ask the driver in vain counts as an error in its tools. */
    if (!memmem(image->bytes, image->size, name, strlen(name))) {
        return INGOT_OK;
    }
    cu_result result = device->driver->module_global(address, &found, code->module, name);
    if (result == CU_NOT_FOUND || (result == CU_SUCCESS && found < size)) {
        *address = 0;
        return INGOT_OK;
    }
    return result == CU_SUCCESS
               ? INGOT_OK
               : cuda_fail(device, result, error,
                           "variable \"%s\" of kernel \"%s\" cannot be found", name, code->kernel);
}

cu_result cuda_fetch(struct cuda_device *device, cu_pointer from, void *to, size_t size) {
    cu_result result = device->driver->memory_download(to, from, size, device->own_stream);
    return result == CU_SUCCESS ? device->driver->stream_synchronize(device->own_stream) : result;
}

/* Memory for panels that the code would like to have. */
static ingot_status find_panels(struct cuda_device *device, const struct ig_code *image,
                                struct cuda_code *code, struct ig_error *error) {
    static const char name[] = INGOT_CUDA_PANELS_SYMBOL;
    cu_pointer address = 0;
    size_t size = 0;
    if (!memmem(image->bytes, image->size, name, sizeof name - 1)) {
        return INGOT_OK;
    }
    cu_result result = device->driver->module_global(&address, &size, code->module, name);
    if (result == CU_SUCCESS && size <= UINT32_MAX / INGOT_CUDA_PANEL_UNIT) {
        code->panel_bytes = (uint32_t)size * INGOT_CUDA_PANEL_UNIT;
        code->has_dynamic = true;
    }
    return result == CU_SUCCESS || result == CU_NOT_FOUND
               ? INGOT_OK
               : cuda_fail(device, result, error,
                           "variable \"%s\" of kernel \"%s\" cannot be found", name, code->kernel);
}

static ingot_status set_limits(struct cuda_device *device, struct cuda_code *code,
                               struct ig_error *error) {
    int threads = 0;
    cu_result result =
        device->driver->function_get(&threads, CU_FUNCTION_MAX_THREADS, code->function);
    if (result == CU_SUCCESS) {
        code->max_threads = (uint32_t)threads;
    }
    uint32_t memory = device->base.capabilities.max_threadgroup_memory;
    if (result == CU_SUCCESS && code->has_dynamic && memory > INGOT_CUDA_MAX_STATIC &&
        memory > code->static_bytes) {
        result = device->driver->function_set(code->function, CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                              (int)(memory - code->static_bytes));
    }
    if (result != CU_SUCCESS) {
        return cuda_fail(device, result, error, "the limits of kernel \"%s\" cannot be set",
                         code->kernel);
    }
    return INGOT_OK;
}

ingot_status cuda_code_load(ingot_device *base, const struct ig_variant *variant,
                            const struct ig_code *code, void **loaded, struct ig_error *error) {
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_scope scope;
    const struct ig_code *text = best_text(device, variant);
    struct ig_code plain_text = {0};
    struct cuda_code *result =
        calloc(1, sizeof *result + variant->argument_count * sizeof result->places[0]);
    char *name = strdup(variant->kernel);
    if (!result || !name) {
        free(result);
        free(name);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to load kernel \"%s\"",
                       variant->kernel);
    }
    result->kernel = name;
    ingot_status status = lay_out(variant, result, error);
    if (status == INGOT_OK && (status = cuda_enter_relaxed(device, &scope, error)) == INGOT_OK) {
        status = load_either(device, variant, text, &code, &plain_text, result, error);
        result->waits = device->driver->launch_with && !device->is_serial &&
                        memmem(code->bytes, code->size, INGOT_CUDA_WAIT, strlen(INGOT_CUDA_WAIT));
        if (status == INGOT_OK) {
            status = find_panels(device, code, result, error);
        }
        if (status == INGOT_OK) {
            status = set_limits(device, result, error);
        }
        if (status == INGOT_OK) {
            status = cuda_log_open(device, result, code, error);
        }
        if (status == INGOT_OK) {
            status = cuda_stop_open(device, result, code, error);
        }
        if (status != INGOT_OK && result->module && !cuda_is_lost(device)) {
            device->driver->module_unload(result->module);
        }
        cuda_leave(device, &scope);
    }
    if (plain_text.bytes) {
        ig_code_close(text, &plain_text);
    }
    if (status != INGOT_OK) {
        free(name);
        free(result);
        return status;
    }
    *loaded = result;
    return INGOT_OK;
}

uint32_t cuda_code_threads(const void *loaded) {
    return ((const struct cuda_code *)loaded)->max_threads;
}

static void forget(struct cuda_device *device, const struct cuda_code *code) {
    pthread_mutex_lock(&device->lock);
    for (struct cuda_stream *s = device->streams; s; s = s->next) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < s->pending.recent_count; i++) {
            if (s->pending.recent[i] != code) {
                s->pending.recent[kept++] = s->pending.recent[i];
            }
        }
        s->pending.recent_count = kept;
    }
    pthread_mutex_unlock(&device->lock);
}

/* The code may still run: waits first. */
void cuda_code_unload(ingot_device *base, void *loaded) {
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_code *code = loaded;
    struct cuda_scope scope;
    cuda_drain(device);
    cuda_log_read(device, NULL);
    cuda_log_close(device, code);
    if (code->stop) {
        pthread_mutex_lock(&device->lock);
        cuda_stop_read(device, NULL, NULL);
        pthread_mutex_unlock(&device->lock);
    }
    cuda_stop_close(device, code);
    forget(device, code);
    if (cuda_enter_relaxed(device, &scope, NULL) == INGOT_OK) {
        device->driver->module_unload(code->module);
        cuda_leave(device, &scope);
    }
    free(code->kernel);
    free(code);
}
