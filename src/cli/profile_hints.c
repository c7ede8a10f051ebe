/*
 * Hints of `ingot profile`: what its counters say about a line, in words.
 *
 * A rule looks at one line's counters. The table's thresholds are meant to be silent about code
 * that is fine: a hint is worth a look.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile.h"

struct look {
    const struct profile_kernel *kernel;
    const struct ig_profile_line *line;
    struct ig_text *text; /* of the hint, behind "line N: " */
    double weight;
};

static double count_of(const struct look *look, enum ig_counter counter) {
    return (double)look->line->counts[counter];
}

static double ratio(double a, double b) {
    return b > 0 ? a / b : 0;
}

/* ---- the rules; true: there is a hint ---- */

/* Twice the lines that the bytes would fill, or more; one more is what a start inside of a line
 * costs. */
static bool is_scattered(struct look *look, double accesses, double bytes, double lines,
                         const char *verb, const char *other_verb) {
    double each = ratio(bytes, accesses), least = fmax(1, ceil(each / IG_CACHE_LINE));
    if (ratio(lines, accesses) < fmax(2 * least, least + 1.5) || each < 16) {
        return false;
    }
    look->weight = lines - least * accesses;
    ig_text_printf(look->text,
                   "each SIMD-group touches %.3g lines of cache to %s %.4g bytes: neighbouring "
                   "threads should %s neighbouring addresses",
                   lines / accesses, verb, each, other_verb);
    return true;
}

static bool has_scattered_loads(struct look *look) {
    return is_scattered(look, count_of(look, IG_COUNTER_device_loads),
                        count_of(look, IG_COUNTER_device_load_bytes),
                        count_of(look, IG_COUNTER_device_load_lines), "load", "read");
}

static bool has_scattered_stores(struct look *look) {
    return is_scattered(
        look, count_of(look, IG_COUNTER_device_accesses) - count_of(look, IG_COUNTER_device_loads),
        count_of(look, IG_COUNTER_device_bytes) - count_of(look, IG_COUNTER_device_load_bytes),
        count_of(look, IG_COUNTER_device_lines) - count_of(look, IG_COUNTER_device_load_lines),
        "store", "write");
}

static bool has_bank_conflicts(struct look *look) {
    double passes = count_of(look, IG_COUNTER_bank_passes);
    double conflicts = count_of(look, IG_COUNTER_bank_conflicts);
    double ways = ratio(passes, passes - conflicts);
    if (ways < 1.5) {
        return false;
    }
    look->weight = conflicts;
    long way = lround(ways);
    ig_text_printf(look->text,
                   "accesses to threadgroup memory take %.3g passes where one would do (%s %ld-way "
                   "bank conflict): lanes meet in the same of the 32 banks; rows that are one "
                   "element longer, or another order, spread them",
                   ways, way == 8 || way == 11 || way == 18 ? "an" : "a", way);
    return true;
}

static bool is_divergent(struct look *look) {
    double runs = count_of(look, IG_COUNTER_executed);
    double lanes = ratio(count_of(look, IG_COUNTER_lanes), runs);
    if (runs == 0 || lanes > 0.75 * look->kernel->lanes) {
        return false;
    }
    look->weight = runs * (1 - lanes / look->kernel->lanes);
    ig_text_printf(look->text,
                   "%.3g of %.3g lanes are active: threads of a SIMD-group go different ways, and "
                   "the others wait",
                   lanes, look->kernel->lanes);
    return true;
}

static bool has_collisions(struct look *look) {
    double atomics = count_of(look, IG_COUNTER_atomics);
    double collisions = count_of(look, IG_COUNTER_atomic_collisions);
    if (atomics == 0 || collisions < 0.25 * atomics) {
        return false;
    }
    look->weight = collisions;
    ig_text_printf(look->text,
                   "%.0f%% of the atomics wait for another lane of their SIMD-group at the same "
                   "address: add up in the SIMD-group first (simd_sum), or in threadgroup memory",
                   100 * collisions / atomics);
    return true;
}

static bool waits_at_barrier(struct look *look) {
    double work = count_of(look, IG_COUNTER_barrier_work);
    double waits = count_of(look, IG_COUNTER_barrier_waits);
    if (waits == 0 || waits < 0.25 * (work + waits)) {
        return false;
    }
    look->weight = waits;
    ig_text_printf(look->text,
                   "SIMD-groups wait at this barrier for %.0f%% of the time since the one before: "
                   "some of the threadgroup have more to do than others",
                   100 * waits / (work + waits));
    return true;
}

static bool uses_private_memory(struct look *look) {
    double accesses = count_of(look, IG_COUNTER_private_accesses);
    if (accesses == 0) {
        return false;
    }
    look->weight = accesses;
    ig_text_printf(look->text,
                   "private arrays (%llu bytes of a thread) are in memory, not in registers: their "
                   "indices are not known when the kernel is compiled",
                   (unsigned long long)look->kernel->counted->private_bytes);
    return true;
}

static const struct {
    const char *kind;
    bool (*holds)(struct look *look);
} rules[] = {
    {"coalescing", has_scattered_loads},
    {"coalescing", has_scattered_stores},
    {"bank conflicts", has_bank_conflicts},
    {"divergence", is_divergent},
    {"atomics", has_collisions},
    {"barrier", waits_at_barrier},
    {"private memory", uses_private_memory},
};

/* ---- of the kernel as a whole ---- */

static bool is_small_group(const struct profile_kernel *kernel, struct ig_text *text) {
    const uint32_t *group = kernel->counted->group;
    uint32_t threads = group[0] * group[1] * group[2];
    if (threads == 0 || threads % 32 == 0 || kernel->lanes > 30) {
        return false;
    }
    ig_text_printf(
        text,
        "threadgroups of %u threads leave lanes idle (%.3g of 32 are used): multiples of "
        "32 fill SIMD-groups",
        threads, kernel->lanes);
    return true;
}

static bool reads_again(const struct profile_kernel *kernel, struct ig_text *text) {
    if (!(kernel->bytes > 0) || kernel->asked < 8 * kernel->bytes || kernel->bytes < 4096) {
        return false;
    }
    ig_text_printf(text,
                   "threads ask for %.3g times the bytes that have to move: what several of a "
                   "threadgroup use could be read once, into threadgroup memory or registers",
                   kernel->asked / kernel->bytes);
    return true;
}

static const struct {
    const char *kind;
    bool (*holds)(const struct profile_kernel *kernel, struct ig_text *text);
} kernel_rules[] = {{"threadgroup size", is_small_group}, {"reuse", reads_again}};

/* ---- all of them ---- */

static bool add(struct profile_report *report, struct profile_kernel *kernel,
                const struct profile_hint *hint, const struct ig_text *text) {
    enum { MOST = 64 };
    if (!kernel->hints) {
        kernel->hints = ig_arena_array(&report->arena, MOST, sizeof *kernel->hints);
    }
    if (!kernel->hints || kernel->hint_count == MOST) {
        return kernel->hints != NULL;
    }
    struct profile_hint *added = &kernel->hints[kernel->hint_count];
    *added = *hint;
    bool is_elsewhere = hint->line && strcmp(hint->file, kernel->times->source) != 0;
    added->text =
        hint->line
            ? ig_arena_printf(&report->arena, "%s%sline %u: %s", is_elsewhere ? hint->file : "",
                              is_elsewhere ? ", " : "", hint->line, ig_text_string(text))
            : ig_arena_string(&report->arena, ig_text_string(text));
    kernel->hint_count += added->text != NULL;
    return added->text != NULL;
}

static int by_weight(const void *a, const void *b) {
    const struct profile_hint *x = a, *y = b;
    if (x->weight != y->weight) {
        return x->weight < y->weight ? 1 : -1;
    }
    return (x->line > y->line) - (x->line < y->line);
}

/* Does the line before it diverge as much? Then what was said of that one is enough. */
static bool goes_on(const struct ig_profile_kernel *counted, size_t i) {
    if (i == 0) {
        return false;
    }
    const uint64_t *own = counted->lines[i].counts, *before = counted->lines[i - 1].counts;
    return own[IG_COUNTER_executed] == before[IG_COUNTER_executed] &&
           own[IG_COUNTER_lanes] == before[IG_COUNTER_lanes] &&
           !strcmp(counted->lines[i].file, counted->lines[i - 1].file);
}

bool profile_find_hints(struct profile_report *report, struct profile_kernel *kernel) {
    const struct ig_profile_kernel *counted = kernel->counted;
    struct ig_text text = {0};
    bool good = true;
    for (size_t i = 0; counted && good && i < counted->line_count; i++) {
        struct look look = {.kernel = kernel, .line = &counted->lines[i], .text = &text};
        for (size_t r = 0; good && r < sizeof rules / sizeof *rules; r++) {
            text.size = 0;
            if (rules[r].holds(&look) && !(rules[r].holds == is_divergent && goes_on(counted, i))) {
                const struct profile_hint hint = {.kind = rules[r].kind,
                                                  .file = look.line->file,
                                                  .line = look.line->line,
                                                  .index = i,
                                                  .weight = look.weight};
                good = add(report, kernel, &hint, &text);
            }
        }
    }
    for (size_t r = 0; counted && good && r < sizeof kernel_rules / sizeof *kernel_rules; r++) {
        text.size = 0;
        if (kernel_rules[r].holds(kernel, &text)) {
            const struct profile_hint hint = {.kind = kernel_rules[r].kind, .file = ""};
            good = add(report, kernel, &hint, &text);
        }
    }
    if (kernel->hint_count) {
        qsort(kernel->hints, kernel->hint_count, sizeof *kernel->hints, by_weight);
    }
    good = good && !text.failed;
    ig_text_free(&text);
    return good;
}
