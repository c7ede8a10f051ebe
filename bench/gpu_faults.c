/*
 * gpu_faults ARCHIVE [DEVICE]: what a program can do after its kernels failed on a GPU. Exit status
 * 1 when that is not what docs/design/cuda-device.md says.
 *
 * ARCHIVE holds bench/gpu_faults.metal. A kernel that leaves its memory, twice: the error names it,
 * the device opens again and computes. One that does not end: it is stopped, and so again. Then how
 * fast bytes go to the device and back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ingot/ingot.h"

enum { COUNT = 1 << 16, GROUP = 256 };
#define TIME_LIMIT 2.0

struct place {
    ingot_device *device;
    ingot_library *library;
    ingot_stream *stream;
    ingot_buffer *buffer;
};

static const char *archive, *device_name;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool fail(const char *what) {
    printf("FAILED %s: %s\n", what, ingot_error_message());
    return false;
}

static bool open_place(struct place *p) {
    ingot_device_info info;
    double start = now();
    *p = (struct place){0};
    if (ingot_device_open(device_name, NULL, &p->device)) {
        return fail("opening the device");
    }
    double opened = now() - start;
    if (ingot_device_get_info(p->device, &info) ||
        ingot_library_create_from_archive(p->device, archive, &p->library) ||
        ingot_stream_create(p->device, &p->stream) ||
        ingot_buffer_create(p->device, 4 * COUNT, &p->buffer)) {
        return fail("making objects");
    }
    printf("opened in %.0f ms: %s\n", opened * 1e3, info.description);
    return true;
}

static void close_place(struct place *p) {
    ingot_buffer_release(p->buffer);
    ingot_stream_release(p->stream);
    ingot_library_release(p->library);
    ingot_device_release(p->device);
    *p = (struct place){0};
}

static ingot_status run(struct place *p, const char *name, uint32_t threads, double limit) {
    ingot_kernel *kernel = NULL;
    const ingot_arg arg = {.buffer = p->buffer};
    ingot_status status =
        ingot_kernel_create(p->library, &(ingot_kernel_desc){.name = name}, &kernel);
    if (!status) {
        status =
            ingot_stream_dispatch(p->stream, &(ingot_dispatch_desc){.kernel = kernel,
                                                                    .threads = {threads},
                                                                    .group = {GROUP},
                                                                    .args = &arg,
                                                                    .arg_count = 1,
                                                                    .time_limit_seconds = limit});
    }
    if (!status) {
        status = ingot_stream_wait(p->stream);
    }
    if (status && status != INGOT_KERNEL_FAULT && status != INGOT_TIMEOUT) {
        fail(name);
    }
    ingot_kernel_release(kernel);
    return status;
}

static bool compute(struct place *p) {
    static uint32_t words[COUNT];
    size_t wrong = 0;
    if (ingot_stream_fill(p->stream, p->buffer, 0, 4 * COUNT, 0) || run(p, "add_one", COUNT, 0) ||
        run(p, "add_one", COUNT, 0) ||
        ingot_stream_download(p->stream, p->buffer, 0, words, sizeof words)) {
        return fail("computing");
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        wrong += words[i] != 2 * (i + 1);
    }
    printf("computed: %zu of %d wrong\n", wrong, COUNT);
    return wrong == 0;
}

/* The kernel fails as it should, with an error that names it; then the device opens again. */
static bool survive(struct place *p, const char *kernel, ingot_status wanted) {
    double start = now();
    ingot_status status = run(p, kernel, GROUP, TIME_LIMIT);
    printf("%s after %.2f s: %s\n", ingot_status_name(status), now() - start,
           ingot_error_message());
    if (status != wanted || !strstr(ingot_error_message(), kernel)) {
        return fail("the error");
    }
    close_place(p);
    return open_place(p) && compute(p);
}

static bool transfers(struct place *p) {
    enum { RUNS = 5 };
    const uint64_t size = (uint64_t)256 << 20;
    double up = 1e9, down = 1e9;
    char *bytes = malloc(size), *back = malloc(size);
    ingot_buffer *buffer = NULL;
    bool good = bytes && back && !ingot_buffer_create(p->device, size, &buffer);
    for (uint64_t i = 0; i < size && good; i++) {
        bytes[i] = (char)(i * 2654435761u >> 13);
    }
    for (int i = 0; i < RUNS && good; i++) {
        double start = now();
        good = !ingot_stream_upload(p->stream, buffer, 0, bytes, size) &&
               !ingot_stream_wait(p->stream);
        double sent = now();
        good = good && !ingot_stream_download(p->stream, buffer, 0, back, size);
        double received = now();
        up = sent - start < up ? sent - start : up;
        down = received - sent < down ? received - sent : down;
    }
    if (!good) {
        fail("transfers");
    } else if ((good = memcmp(bytes, back, size) == 0)) {
        printf("upload %.2f GB/s, download %.2f GB/s\n", (double)size / up * 1e-9,
               (double)size / down * 1e-9);
    } else {
        printf("FAILED transfers: the bytes differ\n");
    }
    ingot_buffer_release(buffer);
    free(bytes);
    free(back);
    return good;
}

int main(int argc, char **argv) {
    struct place p;
    if (argc < 2) {
        fprintf(stderr, "usage: gpu_faults ARCHIVE [DEVICE]\n");
        return 2;
    }
    archive = argv[1];
    device_name = argc > 2 ? argv[2] : "cuda";
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool good = open_place(&p) && compute(&p) && transfers(&p) &&
                survive(&p, "wild", INGOT_KERNEL_FAULT) &&
                survive(&p, "wild", INGOT_KERNEL_FAULT) && survive(&p, "endless", INGOT_TIMEOUT) &&
                survive(&p, "wild", INGOT_KERNEL_FAULT) && transfers(&p);
    close_place(&p);
    printf("%s\n", good ? "the device opens again after faults" : "FAILED");
    return good ? 0 : 1;
}
