/* Turning the observation of a program on, and off at its end. */
#include "runtime/observe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"

struct ig_observed ig_observed;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct ig_error start_error;
static atomic_uint device_count;

uint64_t ig_observe_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* A child counts for itself; the timeline is its parent's. */
static void in_child(void *context) {
    (void)context;
    if (ig_observed.traces) {
        ig_trace_forget();
    }
    ig_observed.traces = false;
    ig_observed.any = ig_observed.profiles;
    ig_profile_forget();
    ig_spans_forget();
}

static void stay(void *context) {
    (void)context;
}

static const char *setting(const char *name) {
    const char *value = ig_environment(name);
    return value && *value ? value : NULL;
}

static void start(void) {
    const char *trace = setting("INGOT_TRACE"), *folder = setting("INGOT_PROFILE");
    const char *count = setting("INGOT_PROFILE_COUNT");
    if (trace && !ig_trace_open(trace, &start_error)) {
        return;
    }
    ig_observed.traces = trace != NULL;
    if (folder) {
        ig_profile_set_folder(folder);
        ig_observed.profiles = true;
        ig_observed.counts = count && strcmp(count, "0") != 0;
    }
    ig_observed.any = ig_observed.traces || ig_observed.profiles;
    if (ig_observed.any) {
        static struct ig_fork_hook hook = {.prepare = stay, .parent = stay, .child = in_child};
        ig_fork_add(&hook);
    }
}

ingot_status ig_observe_start(struct ig_error *error) {
    pthread_once(&once, start);
    return start_error.status
               ? ig_fail(error, start_error.status, "%s", ig_error_text(&start_error))
               : INGOT_OK;
}

void ig_observe_device(ingot_device *device) {
    device->number = 1 + atomic_fetch_add(&device_count, 1);
    if (ig_observed.traces) {
        ig_trace_device(device->number, device->info.name);
    }
    if (ig_observed.profiles) {
        ig_profile_add_device(&device->info);
    }
}

void ig_observe_device_closed(ingot_device *device) {
    (void)device;
    if (ig_observed.profiles) {
        ig_profile_save();
    }
}

__attribute__((destructor)) static void at_end(void) {
    if (!ig_observed.any) {
        return;
    }
    ig_spans_collect_all();
    if (ig_observed.profiles) {
        ig_profile_save();
    }
    if (ig_observed.traces) {
        ig_trace_finish();
    }
}
