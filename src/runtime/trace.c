/*
 * The timeline: Chrome's trace events, a JSON file that ui.perfetto.dev opens.
 *
 * Devices are processes there, streams and workers their threads; the host's threads are a process
 * of their own. Text is written as it comes, to a temporary name beside the file, which gets its
 * name at the end. What waits in a queue is an asynchronous event, since such overlap.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "runtime/observe.h"

enum { FLUSH_BYTES = 1 << 16, MOST_TRACKS = 1024 };

static struct {
    pthread_mutex_t lock;
    struct ig_fork_hook fork;
    struct ig_text text; /* not written yet */
    int fd;
    bool failed;
    char *path, *temporary;
    uint64_t start, queued_count;
    struct { /* that have their name */
        uint32_t process, track;
    } tracks[MOST_TRACKS];
    size_t track_count;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* "%p" in the name is the number of the process. */
static char *expand(const char *path) {
    struct ig_text text = {0};
    for (const char *at = path; *at; at++) {
        if (at[0] == '%' && at[1] == 'p') {
            ig_text_printf(&text, "%ld", (long)getpid());
            at++;
        } else {
            ig_text_append(&text, at, 1);
        }
    }
    return text.failed ? NULL : text.data;
}

bool ig_trace_open(const char *path, struct ig_error *error) {
    trace.path = expand(path);
    if (!trace.path || asprintf(&trace.temporary, "%s.%ld.tmp", trace.path, (long)getpid()) < 0) {
        ig_fail(error, INGOT_OUT_OF_MEMORY, "INGOT_TRACE: no memory");
        return false;
    }
    trace.fd = open(trace.temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (trace.fd < 0) {
        ig_fail(error, INGOT_IO_ERROR, "INGOT_TRACE: %s cannot be made: %s", trace.temporary,
                strerror(errno));
        return false;
    }
    trace.start = ig_observe_now();
    ig_text_puts(&trace.text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                              "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_name\","
                              "\"args\":{\"name\":\"host\"}}");
    ig_fork_guard_mutex(&trace.fork, &trace.lock);
    return true;
}

static void flush(void) {
    if (trace.fd >= 0 && trace.text.size &&
        ig_write_all(trace.fd, trace.text.data, trace.text.size) != 0) {
        trace.failed = true;
    }
    trace.failed |= trace.text.failed;
    trace.text.size = 0;
}

/* ---- events; under the lock ---- */

static void write_time(const char *key, uint64_t ns) {
    ns = ns > trace.start ? ns - trace.start : 0;
    ig_text_printf(&trace.text, ",\"%s\":%llu.%03u", key, (unsigned long long)(ns / 1000),
                   (unsigned)(ns % 1000));
}

static void write_head(char phase, uint32_t process, uint32_t track) {
    ig_text_printf(&trace.text, ",\n{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u", phase, process, track);
}

static void write_name(const struct ig_trace_event *event) {
    ig_text_printf(&trace.text, ",\"cat\":\"%s\",\"name\":", event->category);
    ig_json_quote(&trace.text, event->name);
}

static void name_track(const struct ig_trace_event *event) {
    for (size_t i = 0; i < trace.track_count; i++) {
        if (trace.tracks[i].process == event->process && trace.tracks[i].track == event->track) {
            return;
        }
    }
    if (trace.track_count == MOST_TRACKS) {
        return;
    }
    trace.tracks[trace.track_count].process = event->process;
    trace.tracks[trace.track_count++].track = event->track;
    write_head('M', event->process, event->track);
    ig_text_printf(&trace.text, ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s %u\"}}",
                   event->track_kind, event->track_number);
}

/* From when it was submitted to when it began. */
static void write_queueing(const struct ig_trace_event *event) {
    uint64_t number = ++trace.queued_count;
    for (int end = 0; end < 2; end++) {
        write_head(end ? 'e' : 'b', event->process, event->track);
        ig_text_printf(&trace.text,
                       ",\"id\":%llu,\"cat\":\"queue\",\"name\":", (unsigned long long)number);
        ig_json_quote(&trace.text, event->name);
        write_time("ts", end && event->start > event->queued ? event->start : event->queued);
        ig_text_puts(&trace.text, "}");
    }
}

void ig_trace_add(const struct ig_trace_event *event) {
    pthread_mutex_lock(&trace.lock);
    if (trace.fd >= 0) {
        name_track(event);
        if (event->queued) {
            write_queueing(event);
        }
        write_head('X', event->process, event->track);
        write_name(event);
        write_time("ts", event->start);
        uint64_t length = event->end > event->start ? event->end - event->start : 0;
        ig_text_printf(&trace.text, ",\"dur\":%llu.%03u", (unsigned long long)(length / 1000),
                       (unsigned)(length % 1000));
        if (event->detail) {
            ig_text_printf(&trace.text, ",\"args\":{%s}", event->detail);
        }
        ig_text_puts(&trace.text, "}");
        if (trace.text.size > FLUSH_BYTES) {
            flush();
        }
    }
    pthread_mutex_unlock(&trace.lock);
}

void ig_trace_device(uint32_t number, const char *name) {
    pthread_mutex_lock(&trace.lock);
    if (trace.fd >= 0) {
        write_head('M', number, 0);
        ig_text_puts(&trace.text, ",\"name\":\"process_name\",\"args\":{\"name\":");
        ig_json_quote(&trace.text, name);
        ig_text_puts(&trace.text, "}}");
    }
    pthread_mutex_unlock(&trace.lock);
}

void ig_trace_work(const ingot_device *device, uint32_t worker, const char *category,
                   const char *name, uint64_t start, uint64_t end) {
    ig_trace_add(&(struct ig_trace_event){.process = device->number,
                                          .track = IG_TRACE_WORKERS + worker,
                                          .track_kind = "worker",
                                          .track_number = worker,
                                          .category = category,
                                          .name = name,
                                          .start = start,
                                          .end = end});
}

/* ---- the end ---- */

void ig_trace_finish(void) {
    pthread_mutex_lock(&trace.lock);
    if (trace.fd >= 0) {
        ig_text_puts(&trace.text, "\n]}\n");
        flush();
        trace.failed |= close(trace.fd) != 0;
        trace.fd = -1;
        if (trace.failed || rename(trace.temporary, trace.path) != 0) {
            fprintf(stderr, "ingot: error: INGOT_TRACE: %s cannot be written: %s\n", trace.path,
                    strerror(errno));
            unlink(trace.temporary);
        }
    }
    pthread_mutex_unlock(&trace.lock);
}

void ig_trace_forget(void) {
    pthread_mutex_lock(&trace.lock);
    if (trace.fd >= 0) {
        close(trace.fd);
        trace.fd = -1;
    }
    pthread_mutex_unlock(&trace.lock);
}
