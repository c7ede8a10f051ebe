/* Events: argument checks in front of the device's own. */
#include <stdlib.h>

#include "runtime/objects.h"

ingot_status ingot_event_create(ingot_device *device, ingot_event **result) {
    if (!device || !result) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_event_create: %s is NULL",
                           device ? "event" : "device");
    }
    *result = NULL;
    ingot_event *event = calloc(1, sizeof *event);
    if (!event) {
        return ig_api_fail(INGOT_OUT_OF_MEMORY, "no memory for an event object");
    }
    atomic_init(&event->references, 1);
    event->device = device;
    struct ig_error error = {0};
    if (device->ops->event_open(device, &event->state, &error) != INGOT_OK) {
        free(event);
        return ig_api_result(&error);
    }
    ingot_device_retain(device);
    *result = event;
    return INGOT_OK;
}

void ingot_event_retain(ingot_event *event) {
    if (event) {
        ig_retain(&event->references);
    }
}

void ingot_event_release(ingot_event *event) {
    if (!event || !ig_release(&event->references)) {
        return;
    }
    ingot_device *device = event->device;
    device->ops->event_close(event->state);
    free(event);
    ingot_device_release(device);
}

static ingot_status check_pair(const char *function, const ingot_stream *stream,
                               const ingot_event *event) {
    if (!stream || !event) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "%s: %s is NULL", function,
                           stream ? "event" : "stream");
    }
    if (stream->device != event->device) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "%s: the event belongs to another opened device (\"%s\") than the "
                           "stream (\"%s\")",
                           function, event->device->info.name, stream->device->info.name);
    }
    return INGOT_OK;
}

ingot_status ingot_stream_record(ingot_stream *stream, ingot_event *event) {
    ingot_status status = check_pair("ingot_stream_record", stream, event);
    if (status != INGOT_OK) {
        return status;
    }
    struct ig_error error = {0};
    stream->device->ops->stream_record(stream->queue, event, &error);
    return ig_api_result(&error);
}

ingot_status ingot_stream_wait_event(ingot_stream *stream, ingot_event *event) {
    ingot_status status = check_pair("ingot_stream_wait_event", stream, event);
    if (status != INGOT_OK) {
        return status;
    }
    struct ig_error error = {0};
    stream->device->ops->stream_wait_event(stream->queue, event, &error);
    return ig_api_result(&error);
}

ingot_status ingot_event_wait(ingot_event *event) {
    if (!event) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_event_wait: event is NULL");
    }
    struct ig_error error = {0};
    event->device->ops->event_wait(event->state, &error);
    return ig_api_result(&error);
}

bool ingot_event_done(const ingot_event *event) {
    return event && event->device->ops->event_done(event->state);
}

ingot_status ingot_event_elapsed(const ingot_event *start, const ingot_event *end,
                                 double *seconds) {
    if (!start || !end || !seconds) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_event_elapsed: %s is NULL",
                           !start ? "start"
                           : !end ? "end"
                                  : "seconds");
    }
    if (start->device != end->device) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "ingot_event_elapsed: the events belong to two opened devices");
    }
    bool started = start->device->ops->event_done(start->state);
    if (!started || !start->device->ops->event_elapsed(start->state, end->state, seconds)) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "ingot_event_elapsed: the %s event has not been recorded or is not done",
                           started ? "end" : "start");
    }
    return INGOT_OK;
}

ingot_status ingot_event_time(const ingot_event *event, double *seconds) {
    if (!event || !seconds) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_event_time: %s is NULL",
                           event ? "seconds" : "event");
    }
    if (!event->device->ops->event_time(event->state, seconds)) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "ingot_event_time: the event has not been recorded or is not done");
    }
    return INGOT_OK;
}
