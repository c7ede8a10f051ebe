/*
 * `ingot run --schedule`: other orders of threadgroups and SIMD-groups. explore:N runs a kernel in
 * the usual order and in N random ones, each on fresh copies of its arguments, and compares what
 * they leave in the buffers, byte by byte.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/scalar.h"
#include "cli/cli.h"

static bool parse_number(const char *text, uint64_t *number) {
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

bool cli_parse_schedule(const char *text, struct cli_schedule *schedule) {
    static const char random[] = "random:", explore[] = "explore:";
    uint64_t number = 0;
    *schedule = (struct cli_schedule){.text = text};
    if (!strcmp(text, "fixed")) {
        return true;
    }
    if (!strcmp(text, "random")) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(schedule->seeded, sizeof schedule->seeded, "random:%u",
                 (unsigned)now.tv_nsec % 1000000);
        schedule->text = schedule->seeded;
        return true;
    }
    if (!strncmp(text, random, sizeof random - 1)) {
        return parse_number(text + sizeof random - 1, &number);
    }
    if (!strncmp(text, "first", 5)) {
        return true; /* the runtime looks at it */
    }
    schedule->text = "fixed";
    bool good = !strncmp(text, explore, sizeof explore - 1) &&
                parse_number(text + sizeof explore - 1, &number) && number &&
                number <= CLI_MOST_SCHEDULES;
    schedule->count = (uint32_t)number;
    return good;
}

static bool api(ingot_status status) {
    if (status) {
        cli_error("%s", ingot_error_message());
    }
    return status == INGOT_OK;
}

static bool set_contents(ingot_stream *stream, const struct cli_explored *buffer) {
    return api(buffer->initial
                   ? ingot_stream_upload(stream, buffer->buffer, 0, buffer->initial, buffer->size)
                   : ingot_stream_fill(stream, buffer->buffer, 0, buffer->size, 0));
}

/* The first element that differs. */
static void compare(struct cli_explored *buffer, const uint8_t *bytes, uint32_t seed) {
    size_t width = ig_scalar_size(buffer->scalar), at = 0;
    width = width ? width : 1;
    if (buffer->seed || !memcmp(buffer->first, bytes, buffer->size)) {
        return;
    }
    while (buffer->first[at] == bytes[at]) {
        at++;
    }
    buffer->seed = seed;
    buffer->element = at / width;
    const size_t start = buffer->element * width;
    if (start + width > buffer->size || !ig_scalar_size(buffer->scalar)) {
        snprintf(buffer->usual, sizeof buffer->usual, "0x%02x", buffer->first[at]);
        snprintf(buffer->other, sizeof buffer->other, "0x%02x", bytes[at]);
        return;
    }
    ig_scalar_print(buffer->scalar, buffer->first + start, buffer->usual, sizeof buffer->usual);
    ig_scalar_print(buffer->scalar, bytes + start, buffer->other, sizeof buffer->other);
}

static bool run_once(ingot_stream *stream, const ingot_dispatch_desc *desc,
                     struct cli_explored *buffers, size_t count, uint32_t seed) {
    for (size_t i = 0; i < count; i++) {
        if (!set_contents(stream, &buffers[i])) {
            return false;
        }
    }
    if (!api(ingot_stream_dispatch(stream, desc)) || !api(ingot_stream_wait(stream))) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint8_t *bytes = malloc(buffers[i].size + 1);
        bool good = bytes && api(ingot_stream_download(stream, buffers[i].buffer, 0, bytes,
                                                       buffers[i].size));
        if (!bytes) {
            cli_error("no memory for %zu bytes of results", (size_t)buffers[i].size);
        } else if (good) {
            compare(&buffers[i], bytes, seed);
        }
        free(bytes);
        if (!good) {
            return false;
        }
    }
    return true;
}

bool cli_explore(ingot_device *device, ingot_stream *stream, const ingot_dispatch_desc *desc,
                 struct cli_explored *buffers, size_t count, uint32_t schedules) {
    for (uint32_t seed = 1; seed <= schedules; seed++) {
        char text[32];
        snprintf(text, sizeof text, "random:%u", seed);
        if (!api(ingot_device_set_schedule(device, text)) ||
            !run_once(stream, desc, buffers, count, seed)) {
            cli_error("this was with --schedule %s", text);
            return false;
        }
    }
    return api(ingot_device_set_schedule(device, "fixed"));
}

void cli_say_explored(const struct cli_explored *buffers, size_t count, uint32_t schedules,
                      FILE *out) {
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const struct cli_explored *buffer = &buffers[i];
        if (buffer->seed) {
            any = true;
            fprintf(out,
                    "schedule: buffer(%u) \"%s\": element %llu is %s in the usual order, and %s "
                    "with --schedule random:%u\n",
                    buffer->index, buffer->name, (unsigned long long)buffer->element, buffer->usual,
                    buffer->other, buffer->seed);
        }
    }
    if (!any) {
        fprintf(out, "schedule: the results of %u orders are the same\n", schedules + 1);
    }
}

void cli_write_explored(struct ig_json *json, const struct cli_explored *buffers, size_t count,
                        uint32_t schedules) {
    ig_json_object(json, "schedules");
    ig_json_u64(json, "tried", schedules);
    ig_json_array(json, "differences");
    for (size_t i = 0; i < count; i++) {
        const struct cli_explored *buffer = &buffers[i];
        if (!buffer->seed) {
            continue;
        }
        ig_json_object(json, NULL);
        ig_json_string(json, "argument", buffer->name);
        ig_json_u64(json, "index", buffer->index);
        ig_json_u64(json, "element", buffer->element);
        ig_json_string(json, "usual", buffer->usual);
        ig_json_string(json, "other", buffer->other);
        ig_json_u64(json, "seed", buffer->seed);
        ig_json_object_end(json);
    }
    ig_json_array_end(json);
    ig_json_object_end(json);
}
