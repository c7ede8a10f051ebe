/* The device's own ceilings, measured by two small kernels (ceilings.metal) and the stream's copy:
 * what `ingot bench` shows results as a share of. */
#include <stdio.h>
#include <string.h>

#include "harness/internal.h"

/* Made by the build from ceilings.metal. */
extern const unsigned char igh_ceilings_archive[] __attribute__((visibility("hidden")));
extern const unsigned char igh_ceilings_archive_end[] __attribute__((visibility("hidden")));

enum { COPY_MIB = 96, REPEATS = 15, FMA_ROUNDS = 2000, FMA_REPEAT = 4, FMA_GROUP = 256 };

struct probe {
    ingot_device *device;
    ingot_stream *stream;
    ingot_library *library;
    ingot_buffer *from, *to;
    struct ig_error *error;
};

static ingot_status say(const struct probe *probe, ingot_status status) {
    return status
               ? ig_fail(probe->error, status, "the machine's ceilings: %s", ingot_error_message())
               : INGOT_OK;
}

/* Waits, and gives the seconds that the fastest of the repeats took. */
static ingot_status fastest(const struct probe *probe, const ingot_dispatch_desc *dispatch,
                            uint64_t copy_bytes, double *seconds) {
    *seconds = 0;
    for (int i = 0; i < REPEATS; i++) {
        double start = igh_now();
        ingot_status status =
            dispatch ? ingot_stream_dispatch(probe->stream, dispatch)
                     : ingot_stream_copy(probe->stream, probe->from, 0, probe->to, 0, copy_bytes);
        if (!status) {
            status = ingot_stream_wait(probe->stream);
        }
        if (status) {
            return say(probe, status);
        }
        double took = igh_now() - start;
        if (i == 0 || took < *seconds) {
            *seconds = took;
        }
    }
    return INGOT_OK;
}

static ingot_status make_kernel(const struct probe *probe, const char *name,
                                ingot_kernel **kernel) {
    const ingot_kernel_desc desc = {.name = name};
    return say(probe, ingot_kernel_create(probe->library, &desc, kernel));
}

static ingot_status measure_copy(struct probe *probe, struct igh_ceilings *ceilings) {
    const uint64_t bytes = (uint64_t)COPY_MIB << 20;
    ingot_kernel *kernel = NULL;
    ingot_status status = make_kernel(probe, "ceiling_copy", &kernel);
    if (!status) {
        status = say(probe, ingot_buffer_create(probe->device, bytes, &probe->from));
    }
    if (!status) {
        status = say(probe, ingot_buffer_create(probe->device, bytes, &probe->to));
    }
    if (!status) {
        status = say(probe, ingot_stream_fill(probe->stream, probe->from, 0, bytes, 1));
    }
    const ingot_arg args[] = {{.buffer = probe->from}, {.buffer = probe->to}};
    const ingot_dispatch_desc dispatch = {.kernel = kernel,
                                          .threads = {(uint32_t)(bytes / 16)},
                                          .group = {1024},
                                          .args = args,
                                          .arg_count = 2};
    double by_kernel = 0, by_copy = 0;
    if (!status) {
        status = fastest(probe, &dispatch, 0, &by_kernel);
    }
    if (!status) {
        status = fastest(probe, NULL, bytes, &by_copy);
    }
    if (!status) {
        ceilings->bytes_per_second =
            2 * (double)bytes / (by_copy < by_kernel ? by_copy : by_kernel);
    }
    ingot_kernel_release(kernel);
    return status;
}

static ingot_status measure_sums(struct probe *probe, uint32_t sums, uint32_t threads,
                                 struct igh_ceilings *ceilings) {
    char name[32];
    snprintf(name, sizeof name, "ceiling_fma_%u", sums);
    ingot_kernel *kernel = NULL;
    ingot_status status = make_kernel(probe, name, &kernel);
    const float factors[2] = {0.999f, 0.001f};
    const uint32_t rounds = FMA_ROUNDS;
    const ingot_arg args[] = {{.buffer = probe->to},
                              {.bytes = factors, .size = sizeof factors},
                              {.bytes = &rounds, .size = sizeof rounds}};
    const ingot_dispatch_desc dispatch = {
        .kernel = kernel, .threads = {threads}, .group = {FMA_GROUP}, .args = args, .arg_count = 3};
    double seconds = 0;
    if (!status) {
        status = fastest(probe, &dispatch, 0, &seconds);
    }
    double flops = 2.0 * FMA_REPEAT * rounds * sums * threads;
    if (!status && flops / seconds > ceilings->flops_per_second) {
        ceilings->flops_per_second = flops / seconds;
    }
    ingot_kernel_release(kernel);
    return status;
}

static ingot_status measure_fma(struct probe *probe, struct igh_ceilings *ceilings) {
    static const uint32_t sums[] = {2, 3, 6, 12};
    ingot_device_info info;
    ingot_device_get_info(probe->device, &info);
    uint32_t threads = info.compute_units * info.threads_per_compute_unit;
    ingot_status status = INGOT_OK;
    for (size_t i = 0; i < sizeof sums / sizeof *sums && !status; i++) {
        status = measure_sums(probe, sums[i], threads, ceilings);
    }
    return status;
}

ingot_status igh_ceilings_measure(const struct igh_options *options, struct igh_ceilings *ceilings,
                                  struct ig_error *error) {
    struct probe probe = {
        .device = ingot_ops_device(options->ops), .stream = options->stream, .error = error};
    *ceilings = (struct igh_ceilings){0};
    ingot_status status =
        say(&probe, ingot_library_create_from_memory(
                        probe.device, igh_ceilings_archive,
                        (size_t)(igh_ceilings_archive_end - igh_ceilings_archive), &probe.library));
    if (!status) {
        status = measure_copy(&probe, ceilings);
    }
    if (!status) {
        status = measure_fma(&probe, ceilings);
    }
    ingot_buffer_release(probe.from);
    ingot_buffer_release(probe.to);
    ingot_library_release(probe.library);
    return status;
}

double igh_ceiling_share(const struct igh_ceilings *ceilings, double bytes, double flops,
                         double seconds, bool *by_bytes) {
    double for_bytes = ceilings->bytes_per_second > 0 ? bytes / ceilings->bytes_per_second : 0;
    double for_flops = ceilings->flops_per_second > 0 ? flops / ceilings->flops_per_second : 0;
    *by_bytes = for_bytes >= for_flops;
    return seconds > 0 ? (*by_bytes ? for_bytes : for_flops) / seconds : 0;
}
