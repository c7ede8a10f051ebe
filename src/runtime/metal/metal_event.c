/* Events of the Metal device: a record ends a command buffer, whose end is its time. */
#include <stdlib.h>

#include "runtime/metal/metal.h"

ingot_status metal_event_open(ingot_device *base, void **result, struct ig_error *error) {
    struct metal_device *device = (struct metal_device *)base;
    struct metal_event *event = calloc(1, sizeof *event);
    char *message = NULL;
    if (!event) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for an event");
    }
    event->device = device;
    event->handle = device->bridge->event_make(device->handle, &message);
    if (!event->handle) {
        free(event);
        return metal_fail(error, INGOT_OUT_OF_MEMORY, message, "an event on device \"%s\"",
                          base->info.name);
    }
    pthread_mutex_init(&event->lock, NULL);
    *result = event;
    return INGOT_OK;
}

void metal_event_close(void *handle) {
    struct metal_event *event = handle;
    metal_command_release(event->command);
    event->device->bridge->release(event->handle);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

/* What the last record ended; NULL when there was none. The caller releases it. */
static struct metal_command *last_record(struct metal_event *event) {
    pthread_mutex_lock(&event->lock);
    struct metal_command *command = metal_command_retain(event->command);
    pthread_mutex_unlock(&event->lock);
    return command;
}

ingot_status metal_event_wait(void *handle, struct ig_error *error) {
    struct metal_command *command = last_record(handle);
    (void)error;
    if (command) {
        metal_command_wait(command);
        metal_command_release(command);
    }
    return INGOT_OK;
}

bool metal_event_done(void *handle) {
    struct metal_command *command = last_record(handle);
    double end;
    bool done = !command || metal_command_done(command, &end);
    metal_command_release(command);
    return done;
}

bool metal_event_time(void *handle, double *seconds) {
    struct metal_command *command = last_record(handle);
    bool known = command && metal_command_done(command, seconds);
    metal_command_release(command);
    return known;
}

bool metal_event_elapsed(void *start, void *end, double *seconds) {
    double first, last;
    if (!metal_event_time(start, &first) || !metal_event_time(end, &last)) {
        return false;
    }
    *seconds = last - first;
    return true;
}
