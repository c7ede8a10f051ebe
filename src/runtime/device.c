/* Opening and describing devices by name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "runtime/observe.h"

#define MOST_SECONDS 1e6

size_t ingot_device_count(void) {
    size_t count = 0;
    for (size_t i = 0; i < ig_device_kind_count; i++) {
        count += ig_device_kinds[i]->count();
    }
    return count;
}

ingot_status ingot_device_describe(size_t index, ingot_device_info *info) {
    if (!info) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_device_describe: info is NULL");
    }
    size_t first = 0;
    for (size_t i = 0; i < ig_device_kind_count; i++) {
        size_t count = ig_device_kinds[i]->count();
        if (index - first < count) {
            struct ig_error error = {0};
            ig_device_kinds[i]->describe(index - first, info, &error);
            return ig_api_result(&error);
        }
        first += count;
    }
    return ig_api_fail(INGOT_NOT_FOUND, "device index %zu is out of range: there are %zu devices",
                       index, first);
}

/* Splits "cuda:1" into kind and index. */
static const struct ig_device_kind *find_kind(const char *name, size_t *index) {
    const char *colon = strchr(name, ':');
    size_t length = colon ? (size_t)(colon - name) : strlen(name);
    *index = 0;
    if (colon) {
        char *end = NULL;
        errno = 0;
        unsigned long value = strtoul(colon + 1, &end, 10);
        if (colon[1] < '0' || colon[1] > '9' || *end || errno) {
            return NULL;
        }
        *index = value;
    }
    for (size_t i = 0; i < ig_device_kind_count; i++) {
        if (strlen(ig_device_kinds[i]->name) == length &&
            !memcmp(ig_device_kinds[i]->name, name, length)) {
            return ig_device_kinds[i];
        }
    }
    return NULL;
}

static ingot_status no_such_kind(const char *name) {
    struct ig_text known = {0};
    for (size_t i = 0; i < ig_device_kind_count; i++) {
        ig_text_printf(&known, "%s%s", i ? ", " : "", ig_device_kinds[i]->name);
    }
    ig_api_fail(INGOT_NOT_FOUND, "there is no device called \"%s\"; this build has: %s", name,
                ig_text_string(&known));
    ig_text_free(&known);
    return INGOT_NOT_FOUND;
}

/* Programs that know nothing of ingot cannot say how long a dispatch may take. */
static ingot_status set_time_limit(ingot_device_desc *desc, struct ig_error *error) {
    const char *given = ig_environment("INGOT_KERNEL_SECONDS");
    if (desc->time_limit_seconds != 0 || !given || !*given) {
        return INGOT_OK;
    }
    if (!strcmp(given, "none")) {
        desc->time_limit_seconds = -1;
        return INGOT_OK;
    }
    char *end = NULL;
    double seconds = *given >= '0' && *given <= '9' ? strtod(given, &end) : 0;
    if (!(seconds > 0 && seconds <= MOST_SECONDS) || *end) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "INGOT_KERNEL_SECONDS is \"%s\", but it has to be a number of seconds above "
                       "0 and up to %g, or none",
                       given, MOST_SECONDS);
    }
    desc->time_limit_seconds = seconds;
    return INGOT_OK;
}

/* What the caller asks for has to be possible; the environment is for devices that can. */
static ingot_status set_first_schedule(ingot_device *device, const ingot_device_desc *desc) {
    const char *wish = desc->schedule, *variable = ig_environment("INGOT_SCHEDULE");
    if (!wish && (!variable || !*variable || !device->ops->set_schedule)) {
        return INGOT_OK;
    }
    return ingot_device_set_schedule(device, wish ? wish : variable);
}

ingot_status ingot_device_open(const char *name, const ingot_device_desc *desc,
                               ingot_device **device) {
    if (!device) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_device_open: device is NULL");
    }
    *device = NULL;
    const char *chosen = name;
    if (!chosen || !*chosen) {
        chosen = ig_environment("INGOT_DEVICE");
    }
    if (!chosen || !*chosen) {
        chosen = ig_device_kinds[0]->name;
    }
    size_t index;
    const struct ig_device_kind *kind = find_kind(chosen, &index);
    if (!kind) {
        return no_such_kind(chosen);
    }
    if (desc && desc->isolated && !kind->can_be_isolated) {
        return ig_api_fail(
            INGOT_UNSUPPORTED,
            "device \"%s\" cannot be isolated: its kernels run where no process ends", chosen);
    }
    struct ig_error error = {0};
    size_t count = kind->count();
    if (!count && kind->absence) {
        kind->absence(&error);
        return ig_api_result(&error);
    }
    if (index >= count) {
        return ig_api_fail(INGOT_NOT_FOUND,
                           "there is no device \"%s\": this machine has %zu of "
                           "kind \"%s\"",
                           chosen, count, kind->name);
    }
    const ingot_device_desc defaults = INGOT_DEVICE_DESC_INIT;
    if (desc && desc->sanitize && kind != ig_device_kinds[0]) {
        return ig_api_fail(INGOT_UNSUPPORTED,
                           "the sanitizer (\"%s\") is for device \"%s\", not for \"%s\"",
                           desc->sanitize, ig_device_kinds[0]->name, chosen);
    }
    ingot_device_desc wanted = desc ? *desc : defaults;
    if (set_time_limit(&wanted, &error) != INGOT_OK || ig_observe_start(&error) != INGOT_OK ||
        kind->open(index, &wanted, device, &error) != INGOT_OK) {
        return ig_api_result(&error);
    }
    (*device)->kind = kind;
    ingot_status status = set_first_schedule(*device, &wanted);
    if (status != INGOT_OK) {
        (*device)->ops->close(*device);
        *device = NULL;
    } else if (ig_observed.any) {
        ig_observe_device(*device);
    }
    return status;
}

ingot_status ingot_device_set_schedule(ingot_device *device, const char *schedule) {
    struct ig_error error = {0};
    if (!device || !schedule) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_device_set_schedule: %s is NULL",
                           device ? "schedule" : "device");
    }
    if (!device->ops->set_schedule) {
        return ig_api_fail(INGOT_UNSUPPORTED,
                           "device \"%s\" runs threadgroups in its own order: it has no schedule "
                           "\"%s\"",
                           device->info.name, schedule);
    }
    device->ops->set_schedule(device, schedule, &error);
    return ig_api_result(&error);
}

void ingot_device_retain(ingot_device *device) {
    if (device) {
        ig_retain(&device->references);
    }
}

void ingot_device_release(ingot_device *device) {
    if (device && ig_release(&device->references)) {
        if (ig_observed.any) {
            ig_observe_device_closed(device);
        }
        device->ops->close(device);
    }
}

ingot_status ingot_device_get_info(const ingot_device *device, ingot_device_info *info) {
    if (!device || !info) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_device_get_info: %s is NULL",
                           device ? "info" : "device");
    }
    *info = device->info;
    return INGOT_OK;
}
