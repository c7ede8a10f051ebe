/* A device's sanitizer: opening, what buffers are live, and the API of its findings. */
#include "runtime/sanitize/sanitizer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/environment.h"

/* ---- opening and closing ---- */

ingot_status ig_sanitizer_open(ingot_device *device, const ingot_device_desc *desc,
                               struct ig_error *error) {
    const char *asked = desc->sanitize ? desc->sanitize : ig_environment("INGOT_SANITIZE");
    uint32_t kinds = 0;
    if (!asked || (!desc->sanitize && !*asked)) {
        return INGOT_OK;
    }
    ingot_status status = ig_sanitize_parse(asked, &kinds, error);
    if (status) {
        ig_error_prefix(error, "%s",
                        desc->sanitize ? "ingot_device_desc.sanitize" : "INGOT_SANITIZE");
        return status;
    }
    device->sanitizes_sources = (kinds & IG_SANITIZE_SOURCES) != 0;
    kinds &= IG_SANITIZE_KINDS;
    if (!kinds) {
        return INGOT_OK;
    }
    struct ig_sanitizer *sanitizer = calloc(1, sizeof *sanitizer);
    if (!sanitizer || pthread_mutex_init(&sanitizer->lock, NULL) ||
        pthread_mutex_init(&sanitizer->range_lock, NULL)) {
        free(sanitizer);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the sanitizer");
    }
    sanitizer->kinds = kinds;
    sanitizer->on_finding = desc->on_finding;
    sanitizer->context = desc->finding_context;
    struct ig_text list = {0};
    ig_sanitize_print(kinds, &list);
    snprintf(device->sanitize, sizeof device->sanitize, "%s", ig_text_string(&list));
    ig_text_free(&list);
    device->sanitizer = sanitizer;
    return INGOT_OK;
}

static void clear_findings(struct ig_sanitizer *sanitizer) {
    for (size_t i = 0; i < sanitizer->finding_count; i++) {
        ig_finding_free(sanitizer->findings[i]);
    }
    sanitizer->finding_count = sanitizer->told = 0;
}

void ig_sanitizer_close(ingot_device *device) {
    struct ig_sanitizer *sanitizer = device->sanitizer;
    if (!sanitizer) {
        return;
    }
    ig_sanitizer_flush(sanitizer);
    clear_findings(sanitizer);
    free(sanitizer->findings);
    free(sanitizer->live);
    ig_sanitizer_set_written(sanitizer, 0, UINT64_MAX);
    for (size_t i = 0; i < IG_MOST_SPARE; i++) {
        if (sanitizer->spare[i].memory) {
            munmap(sanitizer->spare[i].memory, sanitizer->spare[i].bytes);
        }
    }
    pthread_mutex_destroy(&sanitizer->range_lock);
    pthread_mutex_destroy(&sanitizer->lock);
    free(sanitizer);
    device->sanitizer = NULL;
}

/* ---- what is live ---- */

/* How many ranges start at the address or before it. */
static size_t count_before(const struct ig_sanitizer *sanitizer, uint64_t address) {
    size_t low = 0, high = sanitizer->live_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sanitizer->live[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void note_change(struct ig_sanitizer *sanitizer);

/* Memory that cannot be noted counts as not live: a report too many, not one too few. */
void ig_sanitizer_add_range(struct ig_sanitizer *sanitizer, uint64_t start, uint64_t length) {
    if (!sanitizer || !length) {
        return;
    }
    pthread_mutex_lock(&sanitizer->range_lock);
    if (sanitizer->live_count == sanitizer->live_capacity) {
        size_t capacity = sanitizer->live_capacity ? 2 * sanitizer->live_capacity : 64;
        struct ig_range *live = realloc(sanitizer->live, capacity * sizeof *live);
        if (live) {
            sanitizer->live = live;
            sanitizer->live_capacity = capacity;
        }
    }
    if (sanitizer->live_count < sanitizer->live_capacity) {
        size_t at = sanitizer->live_count++;
        for (; at && sanitizer->live[at - 1].start > start; at--) {
            sanitizer->live[at] = sanitizer->live[at - 1];
        }
        sanitizer->live[at] = (struct ig_range){start, start + length};
    }
    note_change(sanitizer);
    pthread_mutex_unlock(&sanitizer->range_lock);
}

void ig_sanitizer_remove_range(struct ig_sanitizer *sanitizer, uint64_t start, uint64_t length) {
    if (!sanitizer) {
        return;
    }
    const struct ig_range range = {start, start + length};
    ig_sanitizer_set_written(sanitizer, start, length);
    pthread_mutex_lock(&sanitizer->range_lock);
    for (size_t i = 0; i < sanitizer->live_count; i++) {
        if (sanitizer->live[i].start == range.start && sanitizer->live[i].end == range.end) {
            sanitizer->live_count--;
            memmove(&sanitizer->live[i], &sanitizer->live[i + 1],
                    (sanitizer->live_count - i) * sizeof range);
            sanitizer->released[sanitizer->released_count++ % IG_MOST_RELEASED] = range;
            break;
        }
    }
    note_change(sanitizer);
    pthread_mutex_unlock(&sanitizer->range_lock);
}

static bool contains(const struct ig_range *range, uint64_t address, uint64_t size) {
    return address >= range->start && address < range->end && size <= range->end - address;
}

/* The range that a thread found last. Every change of ranges has a number of its own, in all
 * sanitizers, so that the number says whether it still holds. */
static _Thread_local struct {
    uint64_t change;
    struct ig_range range;
} found_last;

static void note_change(struct ig_sanitizer *sanitizer) {
    static atomic_uint_fast64_t changes;
    atomic_store(&sanitizer->change, atomic_fetch_add(&changes, 1) + 1);
}

static enum ig_liveness search(struct ig_sanitizer *sanitizer, uint64_t address, uint64_t size) {
    /* wrapped memory may overlap, so it need not be the nearest one */
    for (size_t at = count_before(sanitizer, address); at-- > 0;) {
        if (contains(&sanitizer->live[at], address, size)) {
            found_last.change = atomic_load(&sanitizer->change);
            found_last.range = sanitizer->live[at];
            return IG_LIVE;
        }
    }
    for (size_t i = 0; i < sanitizer->released_count && i < IG_MOST_RELEASED; i++) {
        if (contains(&sanitizer->released[i], address, size)) {
            return IG_RELEASED;
        }
    }
    return IG_NOT_LIVE;
}

bool ig_sanitizer_last_range(const struct ig_sanitizer *sanitizer, struct ig_range *range) {
    uint64_t change = atomic_load_explicit(&sanitizer->change, memory_order_acquire);
    *range = found_last.range;
    return change && found_last.change == change;
}

enum ig_liveness ig_sanitizer_look_up(struct ig_sanitizer *sanitizer, uint64_t address,
                                      uint64_t size) {
    uint64_t change = atomic_load_explicit(&sanitizer->change, memory_order_acquire);
    if (change && found_last.change == change && contains(&found_last.range, address, size)) {
        return IG_LIVE;
    }
    pthread_mutex_lock(&sanitizer->range_lock);
    enum ig_liveness result = search(sanitizer, address, size);
    pthread_mutex_unlock(&sanitizer->range_lock);
    return result;
}

/* ---- findings ---- */

void ig_sanitizer_flush(struct ig_sanitizer *sanitizer) {
    for (;;) {
        ingot_finding finding;
        pthread_mutex_lock(&sanitizer->lock);
        bool any = sanitizer->told < sanitizer->finding_count;
        if (any) {
            ig_finding_get(sanitizer->findings[sanitizer->told++], &finding);
        }
        pthread_mutex_unlock(&sanitizer->lock);
        if (!any) {
            return;
        }
        if (sanitizer->on_finding) {
            sanitizer->on_finding(sanitizer->context, &finding);
        } else {
            struct ig_text text = {0};
            ig_report_text(&finding, &text);
            fputs(ig_text_string(&text), stderr);
            ig_text_free(&text);
        }
    }
}

size_t ingot_device_finding_count(const ingot_device *device) {
    if (!device || !device->sanitizer) {
        return 0;
    }
    pthread_mutex_lock(&device->sanitizer->lock);
    size_t count = device->sanitizer->finding_count;
    pthread_mutex_unlock(&device->sanitizer->lock);
    return count;
}

ingot_status ingot_device_finding(const ingot_device *device, size_t index,
                                  ingot_finding *finding) {
    if (!device || !finding) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_device_finding: %s is NULL",
                           device ? "finding" : "device");
    }
    size_t count = ingot_device_finding_count(device);
    if (index >= count) {
        return ig_api_fail(
            INGOT_INVALID_ARGUMENT,
            "ingot_device_finding: index %zu is out of range: there are %zu findings", index,
            count);
    }
    pthread_mutex_lock(&device->sanitizer->lock);
    ig_finding_get(device->sanitizer->findings[index], finding);
    pthread_mutex_unlock(&device->sanitizer->lock);
    return INGOT_OK;
}

void ingot_device_clear_findings(ingot_device *device) {
    if (!device || !device->sanitizer) {
        return;
    }
    struct ig_sanitizer *sanitizer = device->sanitizer;
    pthread_mutex_lock(&sanitizer->lock);
    clear_findings(sanitizer);
    pthread_mutex_unlock(&sanitizer->lock);
}
