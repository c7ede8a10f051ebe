/*
 * A finding as text:
 *
 *   bounds: kernel "k", softmax.metal:12:9: load of 4 bytes … is outside of …
 *       out[i + 1] = x;
 *       ^
 *     in a call of helper at softmax.metal:20:5
 *     by thread (3, 0, 0) of threadgroup (1, 0, 0)
 *     17 times in all
 */
#include "runtime/sanitize/sanitizer.h"

const char *ig_access_name(uint32_t access) {
    static const char *const names[] = {
        [INGOT_CPU_NO_ACCESS] = "",
        [INGOT_CPU_LOAD] = "load",
        [INGOT_CPU_STORE] = "store",
        [INGOT_CPU_ATOMIC] = "atomic",
    };
    return access < sizeof names / sizeof *names ? names[access] : "";
}

const char *ig_space_name(uint32_t space) {
    switch (space) {
    case INGOT_SPACE_DEVICE:
        return "device";
    case INGOT_SPACE_THREADGROUP:
        return "threadgroup";
    case INGOT_SPACE_CONSTANT:
        return "constant";
    default:
        return "thread";
    }
}

const struct ig_argument *ig_place_argument(const struct ig_sanitized *dispatch,
                                            const struct ingot_cpu_place *place) {
    const struct ig_variant *variant = dispatch->kernel->variant;
    uint32_t kind = place->space == INGOT_SPACE_THREADGROUP ? INGOT_ARGUMENT_THREADGROUP
                                                            : INGOT_ARGUMENT_BUFFER;
    for (uint32_t i = 0; i < variant->argument_count && place->slot != INGOT_CPU_NO_SLOT; i++) {
        const struct ig_argument *argument = &variant->arguments[i];
        if (argument->kind == kind && argument->slot == place->slot && argument->active) {
            return argument;
        }
    }
    return NULL;
}

void ig_say_object(const struct ig_check *check, struct ig_text *out) {
    const struct ingot_cpu_place *place = check->place;
    const struct ig_argument *argument = ig_place_argument(check->dispatch, place);
    if (argument) {
        ig_text_printf(out, "%s(%u) \"%s\"",
                       argument->kind == INGOT_ARGUMENT_BUFFER ? "buffer" : "threadgroup",
                       argument->index, argument->name);
    } else if (*place->variable) {
        ig_text_printf(out, "%s variable \"%s\"", ig_space_name(place->space), place->variable);
    } else {
        ig_text_printf(out, "%s memory", ig_space_name(place->space));
    }
}

static void put_place(struct ig_text *out, const ingot_finding_side *side) {
    if (*side->file) {
        ig_text_printf(out, "%s:%u:%u", side->file, side->line, side->column);
    } else {
        ig_text_puts(out, "a place without a line");
    }
}

static void put_source(struct ig_text *out, const ingot_finding_side *side) {
    if (!*side->source_line) {
        return;
    }
    ig_text_printf(out, "    %s\n    ", side->source_line);
    for (uint32_t i = 1; i < side->column && side->source_line[i - 1]; i++) {
        ig_text_puts(out, side->source_line[i - 1] == '\t' ? "\t" : " ");
    }
    ig_text_puts(out, "^\n");
}

static void put_frames(struct ig_text *out, const ingot_finding_side *side) {
    for (size_t i = 0; i < side->inlined_count; i++) {
        const ingot_frame *frame = &side->inlined[i];
        ig_text_printf(out, "  in a call of %s at %s:%u:%u\n",
                       *frame->function ? frame->function : "a function", frame->file, frame->line,
                       frame->column);
    }
}

static void put_thread(struct ig_text *out, const ingot_finding_side *side) {
    if (side->threadgroup[0] == UINT32_MAX) {
        ig_text_puts(out, "  by a thread of another threadgroup\n");
        return;
    }
    ig_text_printf(out, "  by thread (%u, %u, %u) of threadgroup (%u, %u, %u)\n", side->thread[0],
                   side->thread[1], side->thread[2], side->threadgroup[0], side->threadgroup[1],
                   side->threadgroup[2]);
}

/* A thread that missed a barrier is nowhere in particular. */
static void put_other(struct ig_text *out, const ingot_finding_side *side) {
    if (*side->access) {
        put_place(out, side);
        ig_text_printf(out, ", %s:\n", side->access);
    } else if (*side->file) {
        put_place(out, side);
        ig_text_puts(out, ":\n");
    } else {
        ig_text_puts(out, "not\n");
    }
}

void ig_report_text(const ingot_finding *finding, struct ig_text *out) {
    put_place(out, &finding->side);
    ig_text_printf(out, ": %s: kernel \"%s\": %s\n", finding->kind, finding->kernel,
                   finding->message);
    put_source(out, &finding->side);
    put_frames(out, &finding->side);
    put_thread(out, &finding->side);
    if (finding->has_other) {
        ig_text_puts(out, "  and ");
        put_other(out, &finding->other);
        put_source(out, &finding->other);
        put_frames(out, &finding->other);
        put_thread(out, &finding->other);
    }
    if (finding->count > 1) {
        ig_text_printf(out, "  %llu times in all\n", (unsigned long long)finding->count);
    }
}
