/*
 * bounds: what is said of an access outside of what is bound, and the lookup of addresses whose
 * root the compiler did not know.
 *
 * A report's value is the offset from the start of the root. An ask has the address and the size.
 */
#include "runtime/sanitize/kinds.h"

typedef unsigned long long ull;

static bool is_threadgroup_memory(const struct ig_check *check, uint64_t address, uint64_t size) {
    uint64_t start = (uintptr_t)check->group->threadgroup_memory;
    uint64_t length = check->dispatch->threadgroup_memory;
    return address >= start && size <= length && address - start <= length - size;
}

static bool is_bound(const struct ig_sanitized *dispatch, uint64_t address, uint64_t size,
                     struct ig_range *range) {
    for (uint32_t slot = 0; slot < dispatch->buffer_slots; slot++) {
        uint64_t start = (uintptr_t)dispatch->buffers[slot];
        uint64_t length = dispatch->buffer_bytes[slot];
        if (start && address >= start && size <= length && address - start <= length - size) {
            *range = (struct ig_range){start, start + length};
            return true;
        }
    }
    return false;
}

/* `range` is where it is, if it is live, or empty. */
static enum ig_liveness look_up(const struct ig_check *check, uint64_t address, uint64_t size,
                                struct ig_range *range) {
    struct ig_sanitizer *sanitizer = check->dispatch->sanitizer;
    *range = (struct ig_range){0};
    if (check->place->space == INGOT_SPACE_THREADGROUP) {
        return is_threadgroup_memory(check, address, size) ? IG_LIVE : IG_NOT_LIVE;
    }
    if (is_bound(check->dispatch, address, size, range) ||
        (check->place->space == 0 && is_threadgroup_memory(check, address, size))) {
        return IG_LIVE;
    }
    enum ig_liveness liveness = ig_sanitizer_look_up(sanitizer, address, size);
    if (liveness == IG_LIVE && !ig_sanitizer_last_range(sanitizer, range)) {
        *range = (struct ig_range){0};
    }
    return liveness;
}

/* The lanes' next accesses are most likely in the same range. */
static void keep_range(const struct ig_check *check, const struct ig_range *range) {
    struct ingot_cpu_range *item = &check->group->ranges->items[check->number % INGOT_CPU_RANGES];
    *item = (struct ingot_cpu_range){.start = range->start,
                                     .bytes = range->end - range->start,
                                     .place = (uint64_t)check->number + 1};
}

/* Lanes that are in the range which this thread found last: nearly always all. */
static uint32_t in_last_range(const struct ig_check *check) {
    struct ig_range range;
    uint32_t inside = 0;
    if (check->place->space == INGOT_SPACE_THREADGROUP ||
        !ig_sanitizer_last_range(check->dispatch->sanitizer, &range)) {
        return 0;
    }
    for (uint32_t lane = 0; lane < INGOT_SIMD_WIDTH; lane++) {
        uint64_t address = check->first[lane], size = check->second[lane];
        bool is_inside =
            address >= range.start && address < range.end && size <= range.end - address;
        inside |= (uint32_t)is_inside << lane;
    }
    return inside & check->mask;
}

uint32_t ig_bounds_ask(const struct ig_check *check) {
    uint32_t live = in_last_range(check);
    struct ig_range range;
    if (live == check->mask && ig_sanitizer_last_range(check->dispatch->sanitizer, &range)) {
        keep_range(check, &range);
        return live;
    }
    for (uint32_t rest = check->mask & ~live; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (look_up(check, check->first[lane], check->second[lane], &range) == IG_LIVE) {
            live |= 1u << lane;
            if (range.end) {
                keep_range(check, &range);
            }
        }
    }
    if (live != check->mask) {
        ig_sanitize_found(check, check->mask & ~live, NULL);
    }
    return live;
}

void ig_bounds_describe(const struct ig_check *check, struct ig_lane_finding *finding,
                        struct ig_text *message) {
    const struct ingot_cpu_place *place = check->place;
    const struct ig_argument *argument = ig_place_argument(check->dispatch, place);
    uint64_t value = check->first[finding->lane];
    ig_text_printf(message, "%s of ", ig_access_name(place->access));
    if (place->bytes) {
        ig_text_printf(message, "%u byte%s", place->bytes, place->bytes == 1 ? "" : "s");
    } else {
        ig_text_puts(message, "several bytes");
    }
    if (check->second) { /* a lookup */
        struct ig_range range;
        bool released = look_up(check, value, check->second[finding->lane], &range) == IG_RELEASED;
        ig_text_printf(message, " at address 0x%llx, which is in no %sbuffer%s%s", (ull)value,
                       place->space == 0 ? "variable of the thread and in no " : "",
                       place->space == INGOT_SPACE_THREADGROUP ? " of threadgroup memory" : "",
                       released ? ": one that was there was released" : "");
        return;
    }
    if (place->detail) { /* a subscript */
        ig_text_printf(message, " at index %lld, where there are %u elements", (long long)value,
                       place->detail);
        if (argument || *place->variable) {
            ig_text_puts(message, ", in ");
            ig_say_object(check, message);
        }
        return;
    }
    finding->has_offset = true;
    finding->offset = (int64_t)value;
    uint64_t bytes = place->variable_bytes;
    if (!argument && !*place->variable) {
        ig_text_printf(message,
                       " at offset %lld, outside of the one of several %s or arguments "
                       "that its pointer was taken from",
                       (long long)value,
                       place->space == INGOT_SPACE_CONSTANT ? "tables" : "variables");
        return;
    }
    if (argument) {
        bytes = argument->kind == INGOT_ARGUMENT_BUFFER
                    ? check->dispatch->buffer_bytes[argument->slot]
                    : check->dispatch->threadgroup_bytes[argument->slot];
    }
    ig_text_printf(message, " at offset %lld, outside of ", (long long)value);
    ig_say_object(check, message);
    ig_text_printf(message, ", which has %llu byte%s", (ull)bytes, bytes == 1 ? "" : "s");
}
