/*
 * uninitialised and lanes: which bytes of buffers were never written, the shadow of threadgroup
 * memory, and what is said of a value that nobody wrote or that no lane gave.
 *
 * A report's value is the shadow: the place that the value came from, plus one, and
 * INGOT_CPU_NEVER_WRITTEN where it was read from memory. A buffer that was written whole is
 * forgotten. Its bytes are kept under the lock of the live ranges.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/sanitize/kinds.h"

/* ---- buffers ---- */

struct ig_unwritten {
    struct ig_unwritten *next;
    uint64_t start, length;
    uint64_t left;        /* how many bytes were not written */
    uint8_t is_written[]; /* by byte */
};

static bool wants(const struct ig_sanitizer *sanitizer) {
    return sanitizer && sanitizer->kinds & ig_sanitize_bit(IG_SANITIZE_uninitialised);
}

/* A buffer without room for this counts as written. */
void ig_sanitizer_add_unwritten(struct ig_sanitizer *sanitizer, uint64_t start, uint64_t length) {
    struct ig_unwritten *buffer = NULL;
    if (!wants(sanitizer) || !(buffer = calloc(1, sizeof *buffer + length))) {
        return;
    }
    buffer->start = start;
    buffer->length = buffer->left = length;
    pthread_mutex_lock(&sanitizer->range_lock);
    buffer->next = sanitizer->unwritten;
    sanitizer->unwritten = buffer;
    pthread_mutex_unlock(&sanitizer->range_lock);
}

/* The part of a buffer that is inside of a range, as offsets; false: none. */
static bool overlap(const struct ig_unwritten *buffer, uint64_t start, uint64_t length,
                    uint64_t *from, uint64_t *to) {
    uint64_t end = length > UINT64_MAX - start ? UINT64_MAX : start + length;
    uint64_t last = buffer->start + buffer->length;
    *from = start > buffer->start ? start - buffer->start : 0;
    *to = end < last ? (end > buffer->start ? end - buffer->start : 0) : buffer->length;
    return *from < *to;
}

void ig_sanitizer_set_written(struct ig_sanitizer *sanitizer, uint64_t start, uint64_t length) {
    if (!wants(sanitizer)) {
        return;
    }
    pthread_mutex_lock(&sanitizer->range_lock);
    for (struct ig_unwritten **at = &sanitizer->unwritten; *at;) {
        struct ig_unwritten *buffer = *at;
        uint64_t from, to;
        if (overlap(buffer, start, length, &from, &to)) {
            for (uint64_t i = from; i < to; i++) {
                buffer->left -= !buffer->is_written[i];
                buffer->is_written[i] = 1;
            }
        }
        if (buffer->left) {
            at = &buffer->next;
        } else {
            *at = buffer->next;
            free(buffer);
        }
    }
    pthread_mutex_unlock(&sanitizer->range_lock);
}

bool ig_sanitizer_is_unwritten(struct ig_sanitizer *sanitizer, uint64_t start, uint64_t length) {
    bool found = false;
    if (!wants(sanitizer)) {
        return false;
    }
    pthread_mutex_lock(&sanitizer->range_lock);
    for (const struct ig_unwritten *buffer = sanitizer->unwritten; buffer && !found;
         buffer = buffer->next) {
        uint64_t from, to;
        if (overlap(buffer, start, length, &from, &to)) {
            found = memchr(buffer->is_written + from, 0, to - from) != NULL;
        }
    }
    pthread_mutex_unlock(&sanitizer->range_lock);
    return found;
}

/* ---- a dispatch ---- */

/* Which slots have a buffer that is worth asking about. */
bool ig_uninitialised_open(struct ig_sanitized *dispatch) {
    uint8_t *flags = calloc(1, (size_t)dispatch->buffer_slots + 1);
    if (!flags) {
        return false;
    }
    pthread_mutex_lock(&dispatch->sanitizer->range_lock);
    flags[0] = dispatch->sanitizer->unwritten != NULL;
    pthread_mutex_unlock(&dispatch->sanitizer->range_lock);
    for (uint32_t slot = 0; slot < dispatch->buffer_slots && flags[0]; slot++) {
        flags[slot + 1] = ig_sanitizer_is_unwritten(
            dispatch->sanitizer, (uintptr_t)dispatch->buffers[slot], dispatch->buffer_bytes[slot]);
    }
    dispatch->states[IG_SANITIZE_uninitialised] = flags;
    dispatch->table.unwritten = flags;
    return true;
}

void ig_uninitialised_close(struct ig_sanitized *dispatch) {
    free(dispatch->states[IG_SANITIZE_uninitialised]);
}

static void fill_shadow(const struct ig_sanitized *dispatch, const struct ingot_cpu_group *group,
                        int byte) {
    if (dispatch->threadgroup_memory) {
        memset(group->threadgroup_memory + INGOT_CPU_SHADOW_DISTANCE, byte,
               dispatch->threadgroup_memory);
    }
}

void ig_uninitialised_begin_group(struct ig_sanitized *dispatch,
                                  const struct ingot_cpu_group *group) {
    fill_shadow(dispatch, group, 1);
}

bool ig_lanes_open(struct ig_sanitized *dispatch) {
    dispatch->states[IG_SANITIZE_lanes] = dispatch; /* so that groups are told of */
    return true;
}

void ig_lanes_begin_group(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group) {
    if (!wants(dispatch->sanitizer)) {
        fill_shadow(dispatch, group, 0);
    }
}

uint32_t ig_uninitialised_ask(const struct ig_check *check) {
    uint32_t unwritten = 0;
    for (uint32_t rest = check->mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (ig_sanitizer_is_unwritten(check->dispatch->sanitizer, check->first[lane],
                                      check->second[lane])) {
            unwritten |= 1u << lane;
        }
    }
    return unwritten;
}

void ig_uninitialised_tell(const struct ig_check *check) {
    for (uint32_t rest = check->mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        ig_sanitizer_set_written(check->dispatch->sanitizer, check->first[lane],
                                 check->second[lane]);
    }
}

/* ---- words ---- */

enum { USE_STORE, USE_BRANCH, USE_ADDRESS, USE_LANE }; /* the compiler's enum igs_use */

static void say_use(const struct ig_check *check, struct ig_text *message) {
    switch (check->place->detail) {
    case USE_STORE:
        ig_text_puts(message, " is stored to ");
        ig_say_object(check, message);
        break;
    case USE_BRANCH:
        ig_text_puts(message, " decides a branch");
        break;
    case USE_LANE:
        ig_text_puts(message, " says which lane is read");
        break;
    default:
        ig_text_puts(message, " is part of the address of an access");
        if (check->place->access) {
            ig_text_puts(message, " of ");
            ig_say_object(check, message);
        }
        break;
    }
}

void ig_uninitialised_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                               struct ig_text *message) {
    uint64_t shadow = check->first[finding->lane];
    uint64_t number = shadow & ~(uint64_t)INGOT_CPU_NEVER_WRITTEN;
    struct ig_check origin = *check;
    if (*check->place->message) {
        ig_text_printf(message, "%s: %d of 32", check->place->message,
                       __builtin_popcountll(shadow));
        return;
    }
    origin.place = number && number <= check->dispatch->places->count
                       ? &check->dispatch->places->items[number - 1]
                       : NULL;
    if (!(shadow & INGOT_CPU_NEVER_WRITTEN)) {
        ig_text_puts(message, "a value of a lane that is inactive or not there");
    } else {
        ig_text_puts(message, "a value that was never written");
        if (origin.place && (*origin.place->variable || origin.place->access)) {
            ig_text_puts(message, ", of ");
            ig_say_object(&origin, message);
            ig_text_puts(message, ",");
        }
    }
    say_use(check, message);
    if (origin.place && *origin.place->file) {
        ig_text_printf(message, "; it comes from line %u", origin.place->line);
        finding->has_other = true;
        finding->other = origin.place;
        memcpy(finding->other_threadgroup, check->group->group_position,
               sizeof finding->other_threadgroup);
        ig_sanitize_position(check, finding->lane, finding->other_thread);
    }
}
