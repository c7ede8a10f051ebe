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

/* How many of the bytes, which are 0 or 1, are 1. */
static uint64_t count_ones(const uint8_t *bytes, uint64_t count) {
    uint64_t ones = 0, at = 0;
    for (uint64_t word; at + sizeof word <= count; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        ones += word * UINT64_C(0x0101010101010101) >> 56;
    }
    for (; at < count; at++) {
        ones += bytes[at];
    }
    return ones;
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
            buffer->left -= to - from - count_ones(buffer->is_written + from, to - from);
            memset(buffer->is_written + from, 1, to - from);
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

/* The bytes around `from` … `to` that were written: `most` of them behind it, a few before. */
static struct ig_range written_around(const struct ig_unwritten *buffer, uint64_t from, uint64_t to,
                                      uint64_t most) {
    uint64_t behind = buffer->length - to < most ? buffer->length - to : most;
    enum { FEW = 256 };
    uint64_t before = from < FEW ? from : FEW;
    const uint8_t *end = memchr(buffer->is_written + to, 0, behind);
    to = end ? (uint64_t)(end - buffer->is_written) : to + behind;
    for (uint64_t least = from - before; from > least && buffer->is_written[from - 1];) {
        from--;
    }
    return (struct ig_range){buffer->start + from, buffer->start + to};
}

/* Were all bytes from `low` to `high` written, or are they in no buffer that counts? Then `range`
 * is where that is so, too: `most` bytes behind them, or up to the next buffer that counts.
 */
static bool find_written(struct ig_sanitizer *sanitizer, uint64_t low, uint64_t high, uint64_t most,
                         struct ig_range *range) {
    bool is_written = true, is_inside = false;
    struct ig_range gap = {0, UINT64_MAX};
    pthread_mutex_lock(&sanitizer->range_lock);
    for (const struct ig_unwritten *buffer = sanitizer->unwritten; buffer && is_written;
         buffer = buffer->next) {
        uint64_t from, to, end = buffer->start + buffer->length;
        if (overlap(buffer, low, high - low, &from, &to)) {
            is_written = !is_inside && to - from == high - low &&
                         !memchr(buffer->is_written + from, 0, to - from);
            *range = is_written ? written_around(buffer, from, to, most) : (struct ig_range){0};
            is_inside = true;
        } else if (end <= low) {
            gap.start = end > gap.start ? end : gap.start;
        } else {
            gap.end = buffer->start < gap.end ? buffer->start : gap.end;
        }
    }
    pthread_mutex_unlock(&sanitizer->range_lock);
    if (is_written && !is_inside) {
        *range = gap;
    }
    return is_written;
}

/* ---- a dispatch ---- */

/* Which slots have a buffer that is worth asking about; the first one is of pointers from memory.
 */
bool ig_uninitialised_open(struct ig_sanitized *dispatch) {
    uint8_t *flags = calloc((size_t)dispatch->buffer_slots + 1, 1);
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

/* From the lowest lane of `rest` on: how many, one after the other, access memory one behind the
 * other, and so many bytes in all. */
static uint32_t lanes_in_a_row(const struct ig_check *check, uint32_t rest, uint64_t *bytes) {
    uint32_t first = (uint32_t)__builtin_ctz(rest), lane = first;
    do {
        *bytes = check->first[lane] + check->second[lane] - check->first[first];
        lane++;
    } while (lane < INGOT_SIMD_WIDTH && rest >> lane & 1 &&
             check->first[lane] == check->first[first] + *bytes);
    return lane - first;
}

static uint32_t without_row(uint32_t rest, uint32_t lanes) {
    uint32_t first = (uint32_t)__builtin_ctz(rest);
    return (uint32_t)(rest & ~(((UINT64_C(1) << lanes) - 1) << first));
}

/* From the first byte of any lane to the last. */
static struct ig_range span_of(const struct ig_check *check) {
    struct ig_range span = {UINT64_MAX, 0};
    for (uint32_t rest = check->mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint64_t end = check->first[lane] + check->second[lane];
        span.start = check->first[lane] < span.start ? check->first[lane] : span.start;
        span.end = end > span.end ? end : span.end;
    }
    return span;
}

/* Is everything between the lanes written? Then it is not asked again where they are, nor nearby:
 * farther each time, while the place's lanes go on from where they were. */
static bool is_span_written(const struct ig_check *check) {
    enum { LEAST = 4096, MOST = 1 << 20 };
    struct ingot_cpu_range *item = &check->group->ranges->items[check->number % INGOT_CPU_RANGES];
    const struct ig_range span = span_of(check);
    struct ig_range range;
    bool goes_on = item->place == (uint64_t)check->number + 1 &&
                   span.start + LEAST >= item->start &&
                   span.start <= item->start + item->bytes + LEAST;
    uint64_t most = goes_on ? 2 * item->bytes : LEAST;
    most = most < LEAST ? LEAST : most > MOST ? MOST : most;
    if (span.start >= span.end ||
        !find_written(check->dispatch->sanitizer, span.start, span.end, most, &range)) {
        return false;
    }
    *item = (struct ingot_cpu_range){.start = range.start,
                                     .bytes = range.end - range.start,
                                     .place = (uint64_t)check->number + 1};
    return true;
}

uint32_t ig_uninitialised_ask(const struct ig_check *check) {
    uint32_t unwritten = 0;
    if (is_span_written(check)) {
        return 0;
    }
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
    if (is_span_written(check)) {
        return;
    }
    for (uint32_t rest = check->mask, lanes; rest; rest = without_row(rest, lanes)) {
        uint64_t bytes;
        lanes = lanes_in_a_row(check, rest, &bytes);
        ig_sanitizer_set_written(check->dispatch->sanitizer, check->first[__builtin_ctz(rest)],
                                 bytes);
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
