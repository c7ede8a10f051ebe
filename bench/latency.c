/*
 * The latency figures of the runtime, as a table:
 *   one threadgroup on an idle stream, from submission to the return of the wait;
 *   each of a thousand queued dispatches; a barrier between 32 SIMD-groups;
 *   a kernel compiled from nothing and from the cache; resident memory.
 * Usage: latency   (finds ingotc as libingot does; see docs/design/pipeline.md)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ingot/ingot.h"

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void scale(device float *x [[buffer(0)]], constant float &k [[buffer(1)]],\n"
    "                  uint i [[thread_position_in_grid]]) {\n"
    "    x[i] = x[i] * k + 1.0f;\n"
    "}\n"
    "kernel void turns(device float *x [[buffer(0)]], constant uint &n [[buffer(1)]],\n"
    "                  threadgroup float *shared [[threadgroup(0)]],\n"
    "                  uint i [[thread_position_in_threadgroup]]) {\n"
    "    float sum = 0;\n"
    "    for (uint round = 0; round < n; round++) {\n"
    "        shared[i] = sum + i;\n"
    "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "        sum += shared[(i + 32) & 1023];\n"
    "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    }\n"
    "    x[i] = sum;\n"
    "}\n";

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(ingot_status status) {
    if (status == INGOT_OK) {
        return;
    }
    fprintf(stderr, "%s: %s\n", ingot_status_name(status), ingot_error_message());
    exit(1);
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void row(const char *what, double value, const char *unit, const char *goal) {
    printf("%-58s %9.2f %-3s %s\n", what, value, unit, goal);
}

static double resident_megabytes(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%ld %ld", &pages, &resident) != 2) {
            resident = 0;
        }
        fclose(file);
    }
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static double compile_time(ingot_device *device, bool no_cache, const char *define) {
    ingot_define defines[] = {{define, NULL}};
    ingot_source_desc desc = {.source = source,
                              .name = "latency.metal",
                              .defines = defines,
                              .define_count = 1,
                              .no_cache = no_cache};
    ingot_library *library;
    ingot_kernel *kernel;
    double start = now();
    must(ingot_library_create_from_source(device, &desc, &library));
    must(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "scale"}, &kernel));
    double seconds = now() - start;
    ingot_kernel_release(kernel);
    ingot_library_release(library);
    return seconds;
}

#define ROUNDS 20000

static double times[ROUNDS];

static void measure_dispatch(ingot_stream *stream, const ingot_dispatch_desc *desc) {
    for (int i = 0; i < ROUNDS; i++) {
        double start = now();
        must(ingot_stream_dispatch(stream, desc));
        must(ingot_stream_wait(stream));
        times[i] = now() - start;
    }
    qsort(times, ROUNDS, sizeof *times, by_value);
    row("one threadgroup, submit to end of wait, median", times[ROUNDS / 2] * 1e6, "us", "<= 5");
    row("  the same, 95th percentile", times[ROUNDS * 95 / 100] * 1e6, "us", "");
    for (int i = 0; i < 200; i++) {
        usleep(1000); /* the workers sleep by now */
        double start = now();
        must(ingot_stream_dispatch(stream, desc));
        must(ingot_stream_wait(stream));
        times[i] = now() - start;
    }
    qsort(times, 200, sizeof *times, by_value);
    row("  the same after a pause of 1 ms, median", times[100] * 1e6, "us", "<= 5");
    for (int i = 0; i < 200; i++) {
        double start = now();
        for (int j = 0; j < 1000; j++) {
            must(ingot_stream_dispatch(stream, desc));
        }
        must(ingot_stream_wait(stream));
        times[i] = now() - start;
    }
    qsort(times, 200, sizeof *times, by_value);
    row("a thousand queued, apiece, median", times[100] * 1e6 / 1000, "us", "<= 1");
}

/* In a fresh process, where nothing is known yet but the disk cache. */
static double cached_time(const char *program, const char *define) {
    char command[4096];
    double best = 1e9, seconds;
    snprintf(command, sizeof command, "'%s' --cached %s", program, define);
    for (int i = 0; i < 10; i++) {
        FILE *pipe = popen(command, "r");
        if (pipe && fscanf(pipe, "%lf", &seconds) == 1 && seconds < best) {
            best = seconds;
        }
        if (pipe) {
            pclose(pipe);
        }
    }
    return best;
}

int main(int count, char **arguments) {
    if (count == 3 && !strcmp(arguments[1], "--cached")) {
        ingot_device *fresh;
        must(ingot_device_open(NULL, NULL, &fresh));
        printf("%.9f\n", compile_time(fresh, false, arguments[2]));
        ingot_device_release(fresh);
        return 0;
    }
    double before = resident_megabytes();
    ingot_device *device;
    ingot_library *library;
    ingot_kernel *scale, *turns;
    ingot_stream *stream;
    ingot_buffer *buffer;
    must(ingot_device_open(NULL, NULL, &device));
    must(ingot_stream_create(device, &stream));
    must(ingot_buffer_create(device, 4096, &buffer));
    ingot_source_desc text = {.source = source, .name = "latency.metal"};
    must(ingot_library_create_from_source(device, &text, &library));
    must(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "scale"}, &scale));
    float k = 0.5f;
    ingot_arg args[] = {{.buffer = buffer}, {.bytes = &k, .size = sizeof k}};
    ingot_dispatch_desc one = {
        .kernel = scale, .threads = {32}, .group = {32}, .args = args, .arg_count = 2};
    must(ingot_stream_dispatch(stream, &one));
    must(ingot_stream_wait(stream));
    row("memory of the runtime, loaded, after a dispatch", resident_megabytes() - before, "MB",
        "< 10");
    measure_dispatch(stream, &one);

    must(ingot_kernel_create(library, &(ingot_kernel_desc){.name = "turns"}, &turns));
    uint32_t turn_count = 5000, shared = 4096;
    args[1] = (ingot_arg){.bytes = &turn_count, .size = sizeof turn_count};
    ingot_dispatch_desc many = {.kernel = turns,
                                .threadgroups = {1},
                                .group = {1024},
                                .args = args,
                                .arg_count = 2,
                                .threadgroup_lengths = &shared,
                                .threadgroup_length_count = 1};
    double start = now();
    must(ingot_stream_dispatch(stream, &many));
    must(ingot_stream_wait(stream));
    row("a barrier of 1024 threads", (now() - start) * 1e6 / (2.0 * turn_count), "us", "");

    char define[64];
    snprintf(define, sizeof define, "LATENCY_%ld_%ld", (long)getpid(), (long)time(NULL));
    double cold = 1e9, cached = 1e9;
    for (int i = 0; i < 5; i++) {
        double seconds = compile_time(device, true, define);
        cold = seconds < cold ? seconds : cold;
    }
    compile_time(device, false, define);
    for (int i = 0; i < 20; i++) {
        double seconds = compile_time(device, false, define);
        cached = seconds < cached ? seconds : cached;
    }
    row("source to kernel, from nothing, best of 5", cold * 1e3, "ms", "<= 250");
    row("source to kernel, from the cache, best of 10", cached_time(arguments[0], define) * 1e3,
        "ms", "<= 2");
    row("source to kernel, the second time in a process, best of 20", cached * 1e3, "ms", "<= 2");
    ingot_kernel_release(scale);
    ingot_kernel_release(turns);
    ingot_library_release(library);
    ingot_buffer_release(buffer);
    ingot_stream_release(stream);
    ingot_device_release(device);
    return 0;
}
