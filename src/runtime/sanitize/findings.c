/*
 * Findings: one per kernel, place and kind, with a count; the first thread that did it is named.
 *
 * They keep copies of everything, since a kernel's code may be unloaded before anybody reads them.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/sanitize/sanitizer.h"

enum { MOST_FRAMES = 64 };

struct ig_finding {
    struct ig_arena arena; /* of all its strings */
    enum ig_sanitize_kind kind;
    uint32_t column, other_column; /* the compiler's, which may be that of rewritten text */
    ingot_finding data;
};

void ig_finding_free(struct ig_finding *finding) {
    ig_arena_free(&finding->arena);
    free(finding);
}

void ig_finding_get(const struct ig_finding *finding, ingot_finding *out) {
    *out = finding->data;
}

static const char *keep(struct ig_finding *finding, const char *text) {
    const char *copy = ig_arena_string(&finding->arena, text ? text : "");
    return copy ? copy : "";
}

/* "FUNCTION\tFILE\tLINE\tCOLUMN\n" each. */
static void keep_frames(struct ig_finding *finding, ingot_finding_side *side, const char *inlined) {
    ingot_frame *frames = ig_arena_array(&finding->arena, MOST_FRAMES, sizeof *frames);
    char *rest = ig_arena_string(&finding->arena, inlined), *line;
    if (!frames || !rest) {
        return;
    }
    while (side->inlined_count < MOST_FRAMES && (line = strsep(&rest, "\n")) && *line) {
        ingot_frame *frame = &frames[side->inlined_count++];
        frame->function = strsep(&line, "\t");
        frame->file = line ? strsep(&line, "\t") : "";
        frame->line = line ? (uint32_t)strtoul(strsep(&line, "\t"), NULL, 10) : 0;
        frame->column = line ? (uint32_t)strtoul(line, NULL, 10) : 0;
    }
    side->inlined = frames;
}

/* The first line of a kernel has its parameters' code in front when it is compiled: a column behind
 * the line's end is no column of the source, and the start of the line is shown instead. */
static uint32_t column_of(const struct ingot_cpu_place *place) {
    size_t length = strlen(place->text);
    return !length || place->column <= length ? place->column
                                              : (uint32_t)strspn(place->text, " \t") + 1;
}

static void keep_side(struct ig_finding *finding, ingot_finding_side *side,
                      const struct ingot_cpu_place *place) {
    side->file = keep(finding, place->file);
    side->line = place->line;
    side->column = column_of(place);
    side->source_line = keep(finding, place->text);
    side->access = ig_access_name(place->access);
    keep_frames(finding, side, place->inlined);
}

/* The position in its threadgroup of a lane. */
static void position_of(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t lane,
                        uint32_t thread[3]) {
    uint32_t index = simdgroup * INGOT_SIMD_WIDTH + lane;
    const uint32_t *size = group->group_size;
    thread[0] = index % size[0];
    thread[1] = index / size[0] % size[1];
    thread[2] = index / size[0] / size[1];
}

void ig_sanitize_position(const struct ig_check *check, uint32_t lane, uint32_t thread[3]) {
    position_of(check->group, check->simdgroup, lane, thread);
}

static void describe(const struct ig_check *check, struct ig_lane_finding *lane,
                     struct ig_finding *finding) {
    const struct ig_sanitize_kind_ops *ops = &ig_sanitize_kinds[check->place->kind];
    const struct ig_argument *argument = ig_place_argument(check->dispatch, check->place);
    ingot_finding *data = &finding->data;
    struct ig_text text = {0};
    if (ops->describe) {
        ops->describe(check, lane, &text);
    } else {
        ig_text_puts(&text, check->place->message);
    }
    data->message = keep(finding, ig_text_string(&text));
    ig_text_free(&text);
    data->has_offset = lane->has_offset;
    data->offset = lane->offset;
    data->space = check->place->access ? ig_space_name(check->place->space) : "";
    data->argument = keep(finding, argument ? argument->name : check->place->variable);
    data->argument_index = argument ? (int32_t)argument->index : -1;
    data->argument_bytes = check->place->variable_bytes;
    if (argument) {
        data->argument_bytes = argument->kind == INGOT_ARGUMENT_BUFFER
                                   ? check->dispatch->buffer_bytes[argument->slot]
                                   : check->dispatch->threadgroup_bytes[argument->slot];
    }
}

static struct ig_finding *create(const struct ig_check *check, const struct ig_lane_finding *of) {
    struct ig_finding *finding = calloc(1, sizeof *finding);
    if (!finding) {
        return NULL;
    }
    struct ig_lane_finding lane = *of;
    finding->kind = (enum ig_sanitize_kind)check->place->kind;
    finding->column = check->place->column;
    ingot_finding *data = &finding->data;
    data->kind = ig_sanitize_name(check->place->kind);
    data->kernel = keep(finding, check->dispatch->kernel->variant->kernel);
    keep_side(finding, &data->side, check->place);
    memcpy(data->side.threadgroup, check->group->group_position, sizeof data->side.threadgroup);
    position_of(check->group, check->simdgroup, lane.lane, data->side.thread);
    describe(check, &lane, finding);
    if (lane.has_other) {
        static const struct ingot_cpu_place nowhere = {.file = "", .text = "", .inlined = ""};
        data->has_other = true;
        finding->other_column = lane.other ? lane.other->column : 0;
        keep_side(finding, &data->other, lane.other ? lane.other : &nowhere);
        memcpy(data->other.threadgroup, lane.other_threadgroup, sizeof data->other.threadgroup);
        memcpy(data->other.thread, lane.other_thread, sizeof data->other.thread);
    }
    struct ig_text text = {0};
    ig_report_text(data, &text);
    data->report = keep(finding, ig_text_string(&text));
    ig_text_free(&text);
    return finding;
}

static bool is_at(const ingot_finding_side *side, uint32_t column,
                  const struct ingot_cpu_place *place) {
    return side->line == place->line && column == place->column && !strcmp(side->file, place->file);
}

/* Called with the lock. Where the two sides of a race come by in turn, each as the other's other
 * side, that is one finding. */
static struct ig_finding *find(const struct ig_check *check, const struct ig_lane_finding *lane) {
    const struct ig_sanitizer *sanitizer = check->dispatch->sanitizer;
    const struct ingot_cpu_place *place = check->place, *other = lane ? lane->other : NULL;
    struct ig_finding *reversed = NULL;
    for (size_t i = 0; i < sanitizer->finding_count; i++) {
        struct ig_finding *finding = sanitizer->findings[i];
        const ingot_finding *data = &finding->data;
        if (finding->kind != place->kind ||
            strcmp(data->kernel, check->dispatch->kernel->variant->kernel)) {
            continue;
        }
        if (is_at(&data->side, finding->column, place)) {
            return finding;
        }
        if (other && data->has_other && is_at(&data->side, finding->column, other) &&
            is_at(&data->other, finding->other_column, place)) {
            reversed = finding;
        }
    }
    return reversed;
}

static bool add(struct ig_sanitizer *sanitizer, struct ig_finding *finding) {
    if (sanitizer->finding_count == sanitizer->finding_capacity) {
        size_t capacity = sanitizer->finding_capacity ? 2 * sanitizer->finding_capacity : 16;
        struct ig_finding **list = realloc(sanitizer->findings, capacity * sizeof(void *));
        if (!list) {
            return false;
        }
        sanitizer->findings = list;
        sanitizer->finding_capacity = capacity;
    }
    sanitizer->findings[sanitizer->finding_count++] = finding;
    return true;
}

void ig_sanitize_found(const struct ig_check *check, uint32_t mask,
                       const struct ig_lane_finding *finding) {
    struct ig_sanitizer *sanitizer = check->dispatch->sanitizer;
    struct ig_lane_finding first = {.lane = (uint32_t)__builtin_ctz(mask)};
    pthread_mutex_lock(&sanitizer->lock);
    struct ig_finding *found = find(check, finding);
    if (!found) {
        found = create(check, finding ? finding : &first);
        if (found && !add(sanitizer, found)) {
            ig_finding_free(found);
            found = NULL;
        }
    }
    if (found) {
        found->data.count += (uint32_t)__builtin_popcount(mask);
    }
    pthread_mutex_unlock(&sanitizer->lock);
}
