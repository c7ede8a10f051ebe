/*
 * The CUDA device when something fails, against a fake driver (tests/fake_cuda): faults, lost
 * devices, time limits, barriers that threads missed.
 */
#include <pthread.h>

#include "runtime_cuda_support.h"

/* After a fault: the stream's error, then a lost device, then a new one that works. */
static void check_lost(ingot_kernel *kernel, ingot_buffer *out, ingot_status status,
                       const char *name) {
    ingot_buffer *none;
    OK(run_one(kernel, out, 0)); /* dropped */
    FAILS(ingot_stream_wait(stream), status, name);
    FAILS(ingot_stream_wait(stream), INGOT_DEVICE_LOST, "cuda:0", name);
    FAILS(run_one(kernel, out, 0), INGOT_DEVICE_LOST, name, "open it again");
    FAILS(ingot_buffer_create(device, 64, &none), INGOT_DEVICE_LOST, name);

    ingot_device *old_device = device;
    ingot_library *old_library = library;
    ingot_stream *old_stream = stream;
    ingot_buffer *fresh;
    uint32_t marks[64];
    fake->clear_log();
    open_with(NULL);
    CHECK(strstr(fake->log(), "cuDevicePrimaryCtxReset") != NULL);
    ingot_kernel *mark = kernel_named("mark");
    OK(ingot_buffer_create(device, 256, &fresh));
    OK(run_one(mark, fresh, 0));
    OK(ingot_stream_download(stream, fresh, 0, marks, sizeof marks));
    CHECK(marks[0] == 1 && marks[63] == 64);
    /* What belonged to the old context is only forgotten. */
    fake->clear_log();
    ingot_kernel_release(kernel);
    ingot_buffer_release(out);
    ingot_stream_release(old_stream);
    ingot_library_release(old_library);
    ingot_device_release(old_device);
    CHECK(strstr(fake->log(), "cuMemFree") == NULL && strstr(fake->log(), "Destroy") == NULL);
    ingot_buffer_release(fresh);
    ingot_kernel_release(mark);
    close_all();
    CHECK(fake->live() == 0);
}

static void fault(void) {
    load_fake();
    open_with(NULL);
    ingot_buffer *out;
    ingot_event *event;
    OK(ingot_buffer_create(device, 256, &out));
    OK(ingot_event_create(device, &event));
    ingot_kernel *mark = kernel_named("mark"), *bad = kernel_named("fault");
    OK(run_one(mark, out, 0));
    OK(run_one(bad, out, 0));
    OK(ingot_stream_fill(stream, out, 0, 4, 1)); /* finds the fault; the stream has it */
    OK(ingot_stream_record(stream, event));
    OK(ingot_event_wait(event)); /* events still complete */
    ingot_event_release(event);
    ingot_kernel_release(mark);
    check_lost(bad, out, INGOT_KERNEL_FAULT, "\"fault\"");
}

/* Every result after which CUDA's header says that the context, or the process, is done for. */
static const struct {
    int result;
    ingot_status status;
} ends[] = {{214, INGOT_DEVICE_LOST},  {220, INGOT_DEVICE_LOST},  {226, INGOT_DEVICE_LOST},
            {700, INGOT_KERNEL_FAULT}, {702, INGOT_TIMEOUT},      {709, INGOT_DEVICE_LOST},
            {710, INGOT_KERNEL_FAULT}, {714, INGOT_KERNEL_FAULT}, {715, INGOT_KERNEL_FAULT},
            {716, INGOT_KERNEL_FAULT}, {717, INGOT_KERNEL_FAULT}, {718, INGOT_KERNEL_FAULT},
            {719, INGOT_KERNEL_FAULT}, {721, INGOT_KERNEL_FAULT}, {810, INGOT_DEVICE_LOST},
            {911, INGOT_DEVICE_LOST}};
static size_t end_at;

static int kernel_end(const void *block, const unsigned grid[3], unsigned threads,
                      unsigned shared) {
    kernel_fault(block, grid, threads, shared);
    return ends[end_at].result;
}

static void one_end(void) {
    load_fake();
    fake->add_kernel("fault", kernel_end);
    open_with(NULL);
    ingot_buffer *out;
    OK(ingot_buffer_create(device, 256, &out));
    ingot_kernel *bad = kernel_named("fault");
    OK(run_one(bad, out, 0));
    check_lost(bad, out, ends[end_at].status, "kernel \"fault\" failed: CUDA_ERROR");
}

static void fault_when_blocking(void) {
    setenv("INGOT_CUDA_BLOCKING", "1", 1);
    load_fake();
    open_with(NULL);
    ingot_buffer *out;
    OK(ingot_buffer_create(device, 256, &out));
    ingot_kernel *bad = kernel_named("fault");
    OK(run_one(bad, out, 0));
    check_lost(bad, out, INGOT_KERNEL_FAULT, "kernel \"fault\" failed: CUDA_ERROR_ILLEGAL_ADDRESS");
}

/* As drivers do: a process that had a fault gets no context any more. (Otherwise the device opens
 * in another process: test_runtime_cuda_worker.) */
static void fault_for_good(void) {
    setenv("INGOT_CUDA_WORKER", "0", 1);
    setenv("FAKE_CUDA_FAULTS_STAY", "1", 1);
    load_fake();
    open_with(NULL);
    ingot_buffer *out;
    ingot_device *again = NULL;
    OK(ingot_buffer_create(device, 256, &out));
    ingot_kernel *bad = kernel_named("fault");
    OK(run_one(bad, out, 0));
    FAILS(ingot_stream_wait(stream), INGOT_KERNEL_FAULT, "\"fault\"");
    FAILS(ingot_device_open("cuda", NULL, &again), INGOT_DEVICE_LOST, "cuda:0",
          "INGOT_CUDA_WORKER=0", "started again");
    CHECK(again == NULL);
    ingot_kernel_release(bad);
    ingot_buffer_release(out);
    close_all();
}

/* Fills a buffer on the device and reads it back. */
static void check_works(ingot_device *one, ingot_buffer *buffer) {
    ingot_stream *own = NULL;
    uint32_t word = 0;
    OK(ingot_stream_create(one, &own));
    OK(ingot_stream_fill(own, buffer, 0, 256, 7));
    OK(ingot_stream_download(own, buffer, 0, &word, sizeof word));
    CHECK(word == 0x07070707);
    ingot_stream_release(own);
}

/* A fault of the GPU is nothing to the CPU. */
static void fault_beside_cpu(void) {
    load_fake();
    open_with(NULL);
    ingot_device *cpu = NULL;
    ingot_buffer *there = NULL, *out = NULL;
    OK(ingot_device_open("cpu", NULL, &cpu));
    OK(ingot_buffer_create(device, 256, &out));
    OK(ingot_buffer_create(cpu, 256, &there));
    ingot_kernel *bad = kernel_named("fault");
    OK(run_one(bad, out, 0));
    FAILS(ingot_stream_wait(stream), INGOT_KERNEL_FAULT, "\"fault\"");
    check_works(cpu, there);
    ingot_buffer_release(there);
    ingot_device_release(cpu);
    ingot_kernel_release(bad);
    ingot_buffer_release(out);
    close_all();
}

/* A kernel, twice, with copies and an event between: on a stream of the device's own, or on its
 * default stream. */
static void check_kernel(ingot_device *one, ingot_kernel *kernel, bool is_default) {
    ingot_stream *own = NULL;
    ingot_buffer *data = NULL, *copy = NULL;
    ingot_event *event = NULL;
    uint32_t marks[64] = {0};
    OK(is_default ? ingot_stream_wrap(one, NULL, &own) : ingot_stream_create(one, &own));
    OK(ingot_buffer_create(one, sizeof marks, &data));
    OK(ingot_buffer_create(one, sizeof marks, &copy));
    OK(ingot_event_create(one, &event));
    OK(run_in(own, kernel, data, 0));
    OK(ingot_stream_copy(own, data, 0, copy, 0, sizeof marks));
    OK(ingot_stream_fill(own, data, 0, sizeof marks, 0));
    OK(ingot_stream_record(own, event));
    OK(ingot_event_wait(event));
    OK(ingot_stream_download(own, copy, 0, marks, sizeof marks));
    CHECK(marks[0] == 1 && marks[63] == 64);
    OK(run_in(own, kernel, data, 0));
    OK(ingot_stream_download(own, data, 0, marks, sizeof marks));
    CHECK(marks[0] == 1 && marks[63] == 64);
    ingot_event_release(event);
    ingot_buffer_release(copy);
    ingot_buffer_release(data);
    ingot_stream_release(own);
}

struct turns {
    ingot_device *devices[2];
    ingot_kernel *kernels[2];
};

static void *take_turns(void *context) {
    const struct turns *turns = context;
    for (int turn = 0; turn < 8; turn++) {
        check_kernel(turns->devices[turn % 2], turns->kernels[turn % 2], turn & 2);
    }
    return NULL;
}

/* A thread goes from one GPU to the other and back, with a context of its own choice or without;
 * a fault of one is nothing to the other. */
static void two_devices_in_turns(void) {
    struct turns turns;
    ingot_library *libraries[2];
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    load_fake();
    for (int i = 0; i < 2; i++) {
        OK(ingot_device_open(i ? "cuda:1" : "cuda:0", NULL, &device));
        make_library();
        libraries[i] = library;
        turns.devices[i] = device;
        turns.kernels[i] = kernel_named("mark");
    }
    take_turns(&turns);
    pthread_t thread;
    int refused = pthread_create(&thread, NULL, take_turns, &turns);
    if (!refused) {
        pthread_join(thread, NULL);
    }
    CHECK(!refused);

    ingot_buffer *there, *none = NULL;
    ingot_event *event;
    OK(ingot_buffer_create(device, 256, &there));
    OK(ingot_event_create(device, &event));
    OK(ingot_stream_create(turns.devices[0], &stream));
    FAILS(run_in(stream, turns.kernels[1], there, 0), INGOT_LAUNCH_ERROR, "mark", "cuda:1",
          "cuda:0");
    FAILS(ingot_stream_record(stream, event), INGOT_INVALID_ARGUMENT, "cuda:1", "cuda:0");
    FAILS(ingot_buffer_wrap(turns.devices[0], (void *)(uintptr_t)ingot_buffer_address(there), 256,
                            NULL, NULL, &none),
          INGOT_INVALID_ARGUMENT, "is on device \"cuda:1\"", "not on \"cuda:0\"");
    ingot_stream_release(stream);

    OK(ingot_stream_create(device, &stream));
    ingot_kernel *bad = kernel_named("fault");
    OK(run_in(stream, bad, there, 0));
    FAILS(ingot_stream_wait(stream), INGOT_KERNEL_FAULT, "\"fault\"");
    FAILS(ingot_stream_wait(stream), INGOT_DEVICE_LOST, "cuda:1", "\"fault\"");
    check_kernel(turns.devices[0], turns.kernels[0], false);
    ingot_stream_release(stream);
    ingot_kernel_release(bad);
    ingot_event_release(event);
    ingot_buffer_release(there);
    for (int i = 0; i < 2; i++) {
        ingot_kernel_release(turns.kernels[i]);
        ingot_library_release(libraries[i]);
        ingot_device_release(turns.devices[i]);
    }
    CHECK(fake->live() == 0);
}

/* Buffers and kernels of one GPU are refused on another. */
static void two_devices(void) {
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    load_fake();
    open_with(NULL);
    ingot_device *other = NULL;
    ingot_buffer *there = NULL;
    OK(ingot_device_open("cuda:1", NULL, &other));
    OK(ingot_buffer_create(other, 256, &there));
    ingot_kernel *kernel = kernel_named("mark");
    FAILS(run_one(kernel, there, 0), INGOT_LAUNCH_ERROR, "cuda:1", "cuda:0");
    FAILS(ingot_stream_fill(stream, there, 0, 4, 1), INGOT_INVALID_ARGUMENT, "cuda:1", "cuda:0");
    ingot_kernel_release(kernel);
    ingot_buffer_release(there);
    ingot_device_release(other);
    close_all();
}

static void time_limit(void) {
    load_fake();
    open_with(NULL);
    ingot_buffer *out;
    OK(ingot_buffer_create(device, 256, &out));
    ingot_kernel *hang = kernel_named("hang");
    OK(run_one(hang, out, 0.02));
    FAILS(ingot_stream_wait(stream), INGOT_TIMEOUT, "kernel \"hang\"", "0.02 s");
    FAILS(ingot_stream_wait(stream), INGOT_DEVICE_LOST, "hang", "open it again");
    /* The kernel still runs: to throw its context away would wait for it. */
    ingot_device *again = NULL;
    ingot_buffer *fresh = NULL;
    fake->clear_log();
    OK(ingot_device_open("cuda", NULL, &again));
    CHECK(strstr(fake->log(), "cuDevicePrimaryCtxReset") == NULL);
    OK(ingot_buffer_create(again, 256, &fresh));
    check_works(again, fresh);
    ingot_buffer_release(fresh);
    ingot_device_release(again);
    ingot_kernel_release(hang);
    ingot_buffer_release(out);
    close_all();
}

static uint32_t first_word(ingot_stream *where, ingot_buffer *buffer) {
    uint32_t word = 0;
    OK(ingot_stream_download(where, buffer, 0, &word, sizeof word));
    return word;
}

/* Barriers that threads missed are errors of the stream that ran the kernel, and of no other. */
static void missed_barriers(void) {
    load_fake();
    open_with(NULL);
    ingot_stream *other = NULL;
    ingot_event *event = NULL;
    ingot_buffer *out = NULL;
    OK(ingot_stream_create(device, &other));
    OK(ingot_event_create(device, &event));
    OK(ingot_buffer_create(device, 256, &out));
    ingot_kernel *stop = kernel_named("stop"), *lanes = kernel_named("stop_lanes");
    ingot_kernel *mark = kernel_named("mark");
    OK(run_one(stop, out, 0));
    OK(run_in(other, mark, out, 0));
    for (int looks = 0; looks < 10; looks++) { /* more than the fake's streams are busy for */
        OK(ingot_stream_wait(other));
    }
    /* It is known by now: the stream drops what follows, until its error was returned. */
    OK(ingot_stream_fill(stream, out, 0, 256, 0));
    FAILS(ingot_stream_wait(stream), INGOT_BARRIER_ERROR, "kernel \"stop\", threadgroup (1, 2, 3)",
          "all lanes of SIMD-groups 1-2 ended while SIMD-groups 0, 3 wait");
    CHECK(first_word(stream, out) == 1);
    OK(ingot_stream_fill(stream, out, 0, 256, 0));
    OK(ingot_stream_wait(stream)); /* both go on */
    CHECK(first_word(stream, out) == 0);
    OK(run_in(other, lanes, out, 0));
    OK(ingot_stream_record(other, event));
    OK(ingot_event_wait(event));
    OK(ingot_stream_wait(stream));
    FAILS(ingot_stream_wait(other), INGOT_BARRIER_ERROR, "SIMD-group 5 reached",
          "lanes 5-7 (lanes 0x0000001f of 0x000000ff came)");
    OK(run_one(lanes, out, 0)); /* of a kernel that is gone, too */
    ingot_kernel_release(lanes);
    FAILS(ingot_stream_wait(stream), INGOT_BARRIER_ERROR, "stop_lanes", "SIMD-group 5");
    OK(ingot_stream_wait(stream));
    ingot_kernel_release(stop);
    ingot_kernel_release(mark);
    ingot_event_release(event);
    ingot_stream_release(other);
    ingot_buffer_release(out);
    close_all();
    CHECK(fake->live() == 0);
}

static void lenient_barriers(void) {
    load_fake();
    open_with(&(ingot_device_desc){.lenient_barriers = true});
    ingot_buffer *out = NULL;
    OK(ingot_buffer_create(device, 256, &out));
    ingot_kernel *stop = kernel_named("stop");
    OK(run_one(stop, out, 0));
    OK(ingot_stream_wait(stream));
    CHECK(seen_header()->flags & INGOT_CUDA_LENIENT_BARRIERS);
    ingot_kernel_release(stop);
    ingot_buffer_release(out);
    close_all();
}

/* What a graph runs later is looked for at every wait. The stream of another library goes on. */
static void missed_in_graphs(void) {
    load_fake();
    open_with(NULL);
    ingot_buffer *out = NULL;
    ingot_stream *wrapped = NULL;
    OK(ingot_buffer_create(device, 256, &out));
    ingot_kernel *stop = kernel_named("stop");
    OK(ingot_stream_wrap(device, NULL, &wrapped));
    setenv("FAKE_CUDA_CAPTURING", "1", 1);
    OK(run_in(wrapped, stop, out, 0));
    unsetenv("FAKE_CUDA_CAPTURING");
    FAILS(ingot_stream_wait(wrapped), INGOT_BARRIER_ERROR, "kernel \"stop\"", "SIMD-groups 1-2");
    kernel_stop(seen_block, (unsigned[]){1, 1, 1}, 32, 0); /* as a graph would */
    FAILS(ingot_stream_wait(wrapped), INGOT_BARRIER_ERROR, "kernel \"stop\"", "SIMD-groups 1-2");
    OK(ingot_stream_wait(wrapped));
    ingot_kernel *mark = kernel_named("mark");
    OK(run_in(wrapped, stop, out, 0));
    for (int looks = 0; looks < 10; looks++) {
        OK(ingot_stream_wait(stream));
    }
    OK(run_in(wrapped, mark, out, 0));
    FAILS(ingot_stream_wait(wrapped), INGOT_BARRIER_ERROR, "kernel \"stop\"", "SIMD-groups 1-2");
    CHECK(first_word(stream, out) == 1);
    ingot_kernel_release(mark);
    ingot_kernel_release(stop);
    ingot_stream_release(wrapped);
    ingot_buffer_release(out);
    close_all();
}

int main(void) {
    static const test_group groups[] = {
        fault,      fault_when_blocking, fault_for_good,   two_devices,      fault_beside_cpu,
        time_limit, missed_barriers,     lenient_barriers, missed_in_graphs, two_devices_in_turns};
    for (end_at = 0; end_at < sizeof ends / sizeof ends[0]; end_at++) {
        run_group(one_end);
    }
    return run_groups(groups, sizeof groups / sizeof groups[0]);
}
