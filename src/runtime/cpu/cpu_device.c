/* The CPU device: opening, limits, memory; its table of operations. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/last_cache.h"
#include "runtime/cpu/cpu.h"
#include "runtime/observe.h"
#include "runtime/sanitize/sanitizer.h"

#define DEFAULT_GROUP_MEMORY (32u << 10)
#define MAX_GROUP_MEMORY     (1u << 20)
#define DEFAULT_TIME_LIMIT   60.0
#define MAX_WORKERS          1024u
#define SMALL_BUFFER         ((uint64_t)16 << 10) /* below: from malloc */
#define SMALL_ALIGNMENT      256u
#define HUGE_PAGE            ((size_t)2 << 20)

static uint32_t usable_cpus(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int count = CPU_COUNT(&set);
        if (count > 0) {
            return (uint32_t)count;
        }
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

static void rank_cpus(uint16_t rank[CPU_MAX_RANKS]) {
    cpu_set_t set;
    bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    uint16_t next = 0;
    for (int cpu = 0; cpu < CPU_MAX_RANKS; cpu++) {
        rank[cpu] = next;
        if (!known || (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set))) {
            next++;
        }
    }
}

static ingot_status fill_info(const ingot_device_desc *desc, ingot_device_info *info,
                              struct ig_error *error) {
    memset(info, 0, sizeof *info);
    ingot_status status =
        cpu_level_choose(desc->cpu_level, info->target, sizeof info->target, error);
    if (status != INGOT_OK) {
        return status;
    }
    if (desc->worker_threads > MAX_WORKERS) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "%u worker threads were asked for; the limit is %u", desc->worker_threads,
                       MAX_WORKERS);
    }
    if (desc->threadgroup_memory > MAX_GROUP_MEMORY) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "%u bytes of threadgroup memory were asked for; the limit of device \"cpu\" "
                       "is %u",
                       desc->threadgroup_memory, MAX_GROUP_MEMORY);
    }
    uint32_t workers = desc->worker_threads ? desc->worker_threads : usable_cpus();
    char model[64];
    cpu_model_name(model, sizeof model);
    snprintf(info->name, sizeof info->name, "cpu");
    snprintf(info->description, sizeof info->description, "%s, %u worker thread%s", model, workers,
             workers == 1 ? "" : "s");
    info->simd_width = INGOT_SIMD_WIDTH;
    info->max_threads_per_threadgroup = CPU_MAX_THREADS;
    info->max_threadgroup_memory =
        desc->threadgroup_memory ? desc->threadgroup_memory : DEFAULT_GROUP_MEMORY;
    info->compute_units = workers;
    info->threads_per_compute_unit = CPU_MAX_THREADS;
    info->max_buffer_length = (uint64_t)1 << 46;
    info->min_offset_alignment = 1;
    info->unified_memory = true;
    return INGOT_OK;
}

/* ---- buffers ---- */

static ingot_status no_memory(uint64_t length, struct ig_error *error) {
    return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a buffer of %llu bytes",
                   (unsigned long long)length);
}

/* A mapping with a page behind it that nothing may touch. Large ones start on a huge page. */
static ingot_status allocate_mapping(ingot_buffer *buffer, struct ig_error *error) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (buffer->length + page - 1) / page * page;
    size_t alignment = size >= HUGE_PAGE ? HUGE_PAGE : page;
    size_t reserved = size + alignment + page;
    char *memory =
        mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return no_memory(buffer->length, error);
    }
    uintptr_t start = ((uintptr_t)memory + alignment - 1) & ~(uintptr_t)(alignment - 1);
    size_t before = start - (uintptr_t)memory;
    char *contents = memory + before;
    if (before) {
        munmap(memory, before);
    }
    munmap(contents + size + page, reserved - before - size - page);
    /* MAP_NORESERVE is dropped here, so that a size beyond the machine's memory is refused. */
    if (mmap(contents, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED) {
        munmap(contents, size + page);
        return no_memory(buffer->length, error);
    }
    if (alignment == HUGE_PAGE) {
        madvise(contents, size, MADV_HUGEPAGE);
    }
    buffer->contents = contents;
    return INGOT_OK;
}

static ingot_status buffer_allocate(ingot_device *device, ingot_buffer *buffer,
                                    struct ig_error *error) {
    if (buffer->length < SMALL_BUFFER) {
        size_t size = (buffer->length + SMALL_ALIGNMENT - 1) & ~(size_t)(SMALL_ALIGNMENT - 1);
        buffer->contents = aligned_alloc(SMALL_ALIGNMENT, size);
        if (!buffer->contents) {
            return no_memory(buffer->length, error);
        }
        memset(buffer->contents, 0, size);
    } else if (allocate_mapping(buffer, error) != INGOT_OK) {
        return INGOT_OUT_OF_MEMORY;
    }
    buffer->address = (uintptr_t)buffer->contents;
    ig_sanitizer_add_range(device->sanitizer, buffer->address, buffer->length);
    ig_sanitizer_add_unwritten(device->sanitizer, buffer->address, buffer->length);
    return INGOT_OK;
}

static void buffer_free(ingot_device *device, ingot_buffer *buffer) {
    ig_sanitizer_remove_range(device->sanitizer, buffer->address, buffer->length);
    if (buffer->length < SMALL_BUFFER) {
        free(buffer->contents);
        return;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(buffer->contents, (buffer->length + page - 1) / page * page + page);
}

static ingot_status buffer_wrap(ingot_device *device, ingot_buffer *buffer,
                                struct ig_error *error) {
    (void)error;
    buffer->address = (uintptr_t)buffer->contents;
    ig_sanitizer_add_range(device->sanitizer, buffer->address, buffer->length);
    return INGOT_OK;
}

static void buffer_unwrap(ingot_device *device, ingot_buffer *buffer) {
    ig_sanitizer_remove_range(device->sanitizer, buffer->address, buffer->length);
}

static void buffer_written(const ingot_buffer *buffer, uint64_t offset, uint64_t length) {
    ig_sanitizer_set_written(buffer->device->sanitizer, buffer->address + offset, length);
}

/* ---- opening and closing ---- */

void cpu_device_locks(struct cpu_device *device) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&device->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&device->wake, &clock);
    pthread_condattr_destroy(&clock);
}

static void device_close(ingot_device *base) {
    struct cpu_device *device = (struct cpu_device *)base;
    if (device->fork.prepare) {
        ig_fork_remove(&device->fork);
    }
    cpu_watchdog_stop(device);
    cpu_pool_stop(device);
    while (device->executors) {
        struct cpu_executor *executor = device->executors;
        device->executors = executor->next_all;
        cpu_executor_free(executor);
    }
    ig_sanitizer_close(base);
    pthread_cond_destroy(&device->wake);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

/* Code of the device's level, else of one below it, which this CPU runs as well. */
static const struct ig_code *code_find(ingot_device *device, const struct ig_variant *variant) {
    const struct ig_code *code = NULL;
    for (const char *level = device->info.target; level && !code; level = cpu_level_below(level)) {
        code = ig_variant_code(variant, level);
    }
    return code;
}

static ingot_status set_schedule(ingot_device *device, const char *schedule,
                                 struct ig_error *error) {
    return cpu_schedule_set(&((struct cpu_device *)device)->schedule, schedule, error);
}

static const struct ig_device_ops cpu_ops = {
    .close = device_close,
    .code_find = code_find,
    .code_load = cpu_code_load,
    .code_unload = cpu_code_unload,
    .buffer_allocate = buffer_allocate,
    .buffer_free = buffer_free,
    .buffer_wrap = buffer_wrap,
    .buffer_unwrap = buffer_unwrap,
    .buffer_written = buffer_written,
    .work_holds_buffers = true,
    .stream_open = cpu_stream_open,
    .stream_close = cpu_stream_close,
    .set_schedule = set_schedule,
    .stream_dispatch = cpu_stream_dispatch,
    .stream_copy = cpu_stream_copy,
    .stream_fill = cpu_stream_fill,
    .stream_record = cpu_stream_record,
    .stream_wait_event = cpu_stream_wait_event,
    .stream_wait = cpu_stream_wait,
    .stream_cancel = cpu_stream_cancel,
    .event_open = cpu_event_open,
    .event_close = cpu_event_close,
    .event_wait = cpu_event_wait,
    .event_done = cpu_event_done,
    .event_elapsed = cpu_event_elapsed,
    .event_time = cpu_event_seconds,
};

static const struct ig_device_ops isolated_ops = {
    .close = device_close,
    .code_find = code_find,
    .code_load = cpu_isolated_code_load,
    .code_unload = cpu_isolated_code_unload,
    .buffer_allocate = cpu_isolated_buffer_allocate,
    .buffer_free = cpu_isolated_buffer_free,
    .buffer_wrap = cpu_isolated_buffer_wrap,
    .buffer_unwrap = buffer_unwrap,
    .work_holds_buffers = true,
    .stream_open = cpu_stream_open,
    .stream_close = cpu_stream_close,
    .stream_dispatch = cpu_isolated_dispatch,
    .stream_copy = cpu_stream_copy,
    .stream_fill = cpu_stream_fill,
    .stream_record = cpu_stream_record,
    .stream_wait_event = cpu_stream_wait_event,
    .stream_wait = cpu_stream_wait,
    .event_open = cpu_event_open,
    .event_close = cpu_event_close,
    .event_wait = cpu_event_wait,
    .event_done = cpu_event_done,
    .event_elapsed = cpu_event_elapsed,
};

/* INGOT_STRIPES=off or on: always so, for measurements. */
static enum cpu_stripes choose_stripes(void) {
    const char *stripes = ig_environment("INGOT_STRIPES");
    if (stripes && strcmp(stripes, "off") == 0) {
        return CPU_STRIPES_OFF;
    }
    return stripes && strcmp(stripes, "on") == 0 ? CPU_STRIPES_ON : CPU_STRIPES_COMPARED;
}

/* Kernels are compiled with the profiler's counters, which are called as checks are. */
static ingot_status start_counting(const ingot_device_desc *desc, ingot_device *device,
                                   struct ig_error *error) {
    if (device->sanitizer || desc->isolated) {
        ig_sanitizer_close(device);
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "INGOT_PROFILE_COUNT: a device that is %s cannot be profiled",
                       desc->isolated ? "isolated" : "sanitized");
    }
    snprintf(device->sanitize, sizeof device->sanitize, "%s", IG_SANITIZE_PROFILE_NAME);
    return INGOT_OK;
}

static ingot_status device_open(size_t index, const ingot_device_desc *desc, ingot_device **result,
                                struct ig_error *error) {
    (void)index;
    struct cpu_device *device = aligned_alloc(_Alignof(struct cpu_device), sizeof *device);
    if (!device) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a device object");
    }
    memset(device, 0, sizeof *device);
    device->base.capabilities = (struct ig_capabilities){
        .max_threadgroup_memory = MAX_GROUP_MEMORY,
        .has_nontemporal_stores = true,
        .cache_bytes = ig_last_cache_bytes(),
        .batch_scratch_bytes = (uint64_t)8 << 20, /* stays in the caches */
    };
    ingot_status status = fill_info(desc, &device->base.info, error);
    if (status == INGOT_OK) {
        status = cpu_signals_install(error);
    }
    if (status == INGOT_OK) {
        status = ig_sanitizer_open(&device->base, desc, error);
    }
    if (status == INGOT_OK && desc->isolated && device->base.sanitizer) {
        status =
            ig_fail(error, INGOT_UNSUPPORTED,
                    "an isolated device has no sanitizer (\"%s\"): what it found would end with "
                    "the kernel's process",
                    device->base.sanitize);
        ig_sanitizer_close(&device->base);
    }
    if (status == INGOT_OK && cpu_level_is_debug(device->base.info.target) &&
        device->base.sanitizer) {
        status = ig_fail(error, INGOT_UNSUPPORTED,
                         "code for debuggers (INGOT_DEBUG) has no checks, but the sanitizer was "
                         "asked for (\"%s\")",
                         device->base.sanitize);
        ig_sanitizer_close(&device->base);
    }
    if (status == INGOT_OK && ig_observed.counts) {
        status = start_counting(desc, &device->base, error);
    }
    if (status != INGOT_OK) {
        free(device);
        return status;
    }
    atomic_init(&device->base.references, 1);
    device->base.ops = desc->isolated ? &isolated_ops : &cpu_ops;
    device->base.isolated = desc->isolated;
    double limit = desc->time_limit_seconds;
    device->base.for_debuggers = cpu_level_is_debug(device->base.info.target);
    /* who looks at a kernel with a debugger takes the time it takes */
    device->base.time_limit_seconds = limit != 0                   ? limit
                                      : device->base.for_debuggers ? -1.0
                                                                   : DEFAULT_TIME_LIMIT;
    if (ig_observed.counts) {
        device->base.time_limit_seconds = -1; /* counted code takes its time */
    }
    device->lenient_barriers = ig_lenient_barriers(desc);
    device->stripes = choose_stripes();
    device->worker_count = device->base.info.compute_units;
    device->shares_cpus = desc->shares_cpus;
    rank_cpus(device->rank);
    device->cpus = usable_cpus();
    /* One CPU stays free for the thread that submits. */
    uint32_t spare = device->cpus - 1;
    device->max_spinning = spare < device->worker_count ? spare : device->worker_count;
    cpu_device_locks(device);
    status = cpu_watchdog_start(device, error);
    if (status == INGOT_OK) {
        status = cpu_pool_start(device, error);
    }
    if (status != INGOT_OK) {
        device_close(&device->base);
        return status;
    }
    cpu_fork_watch(device);
    *result = &device->base;
    return INGOT_OK;
}

static size_t device_count(void) {
    return 1;
}

static ingot_status device_describe(size_t index, ingot_device_info *info, struct ig_error *error) {
    (void)index;
    const ingot_device_desc defaults = INGOT_DEVICE_DESC_INIT;
    return fill_info(&defaults, info, error);
}

/* What is said of a level holds for it with more instructions, too: x86-64-v4 for x86-64-v4-bf16.
 */
static bool level_holds(const char *level, const char *target) {
    const size_t length = strlen(level);
    return !strncmp(level, target, length) && (!target[length] || target[length] == '-');
}

const struct ig_device_kind ig_cpu_device_kind = {
    .name = "cpu",
    .abi_version = INGOT_CPU_ABI_VERSION,
    .can_be_isolated = true,
    .can_be_counted = true,
    .level_holds = level_holds,
    .count = device_count,
    .describe = device_describe,
    .open = device_open,
};
