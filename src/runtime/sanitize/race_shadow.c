/*
 * race: the state of a dispatch: which memory has a shadow, and how its records are laid out.
 *
 * A buffer that nothing in the kernel writes has none: its loads are not told. Which arguments are
 * the same memory is decided here, by their addresses as bound. Where a kernel follows pointers
 * that are no arguments, all live buffers count.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/sanitize/race.h"

/* ---- records ---- */

static unsigned bits_for(uint64_t count, unsigned most) {
    unsigned bits = count > 1 ? 64 - (unsigned)__builtin_clzll(count - 1) : 1;
    return bits < most ? bits : most;
}

void race_layout_set(struct race_layout *layout, uint64_t groups, uint32_t threads, uint64_t places,
                     bool has_fences) {
    enum {
        MOST_GROUP_BITS = 20,
        MOST_PLACE_BITS = 12,
        MOST_THREAD_BITS = 10,
        MOST_EPOCH_BITS = 31
    };
    unsigned place = bits_for(places + 1, MOST_PLACE_BITS);
    unsigned thread = bits_for(threads, MOST_THREAD_BITS);
    unsigned group = bits_for(groups, MOST_GROUP_BITS);
    unsigned rest = 64 - RACE_PLACE_BIT - place - 2 * thread - group; /* at least 9 */
    unsigned clock = has_fences ? rest * 3 / 10 : 0;
    unsigned turn = threads > INGOT_SIMD_WIDTH ? (rest - clock) / 2 : 0;
    unsigned epoch = rest - clock - turn;
    epoch = epoch < MOST_EPOCH_BITS ? epoch : MOST_EPOCH_BITS;
    *layout = (struct race_layout){.place_mask = (1u << place) - 1,
                                   .thread_mask = (1u << thread) - 1,
                                   .clock_mask = (1u << clock) - 1,
                                   .turn_mask = (1u << turn) - 1,
                                   .epoch_mask = (1u << epoch) - 1,
                                   .group_mask = (UINT64_C(1) << group) - 1};
    layout->second = RACE_PLACE_BIT + place;
    layout->thread = layout->second + thread;
    layout->clock = layout->thread + thread;
    layout->turn = layout->clock + clock;
    layout->epoch = layout->turn + turn;
    layout->group = layout->epoch + epoch;
}

static void set_masks(struct race_dispatch *race) {
    const struct race_layout *layout = &race->layout;
    race->masks = (struct race_masks){
        .group = layout->group_mask << layout->group,
        .epoch = (uint64_t)layout->epoch_mask << layout->epoch,
        .thread = (uint64_t)layout->thread_mask << layout->thread,
        .simdgroup = (uint64_t)(layout->thread_mask & ~(INGOT_SIMD_WIDTH - 1)) << layout->thread,
        .turn = (uint64_t)layout->turn_mask << layout->turn,
        .step = (uint64_t)1 << layout->thread};
}

/* ---- shadow memory ---- */

/* The parts of a shadow of so many blocks, from its start: blocks, values, lines. */
static size_t round_up(size_t bytes) {
    return (bytes + 63) & ~(size_t)63;
}

static size_t values_at(size_t blocks) {
    return round_up(blocks * sizeof(struct race_block));
}

static size_t lines_at(size_t blocks) {
    return values_at(blocks) + round_up(blocks * RACE_BLOCK * sizeof(uint16_t));
}

/* One that is not in use, of at least so many blocks and not of many times as many. */
static struct ig_spare_memory take_spare(struct ig_sanitizer *sanitizer, size_t blocks) {
    struct ig_spare_memory found = {0};
    pthread_mutex_lock(&sanitizer->range_lock);
    for (size_t i = 0; i < IG_MOST_SPARE && !found.memory; i++) {
        struct ig_spare_memory *spare = &sanitizer->spare[i];
        if (spare->memory && spare->units >= blocks && spare->units / 4 <= blocks) {
            found = *spare;
            spare->memory = NULL;
        }
    }
    pthread_mutex_unlock(&sanitizer->range_lock);
    return found;
}

bool race_shadow_map(struct ig_sanitizer *sanitizer, struct race_shadow *shadow) {
    size_t blocks = (size_t)(shadow->bytes >> shadow->shift >> RACE_BLOCK_BITS) + 1;
    shadow->mapped = take_spare(sanitizer, blocks);
    bool is_used = shadow->mapped.memory != NULL;
    if (!is_used) {
        size_t bytes = lines_at(blocks) + blocks * RACE_BLOCK_LINES * sizeof *shadow->lines;
        void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            return false;
        }
        shadow->mapped = (struct ig_spare_memory){memory, bytes, blocks};
    }
    char *memory = shadow->mapped.memory;
    shadow->blocks = shadow->mapped.memory;
    shadow->values = (uint16_t *)(void *)(memory + values_at(shadow->mapped.units));
    shadow->lines = (struct race_line *)(void *)(memory + lines_at(shadow->mapped.units));
    if (is_used && !shadow->is_shared) {
        memset(shadow->blocks, 0, blocks * sizeof *shadow->blocks);
    }
    return true;
}

bool race_shadow_is_there(struct race_dispatch *race, struct race_shadow *shadow) {
    if (atomic_load_explicit(&shadow->is_mapped, memory_order_acquire) || !shadow->is_written) {
        return shadow->is_written;
    }
    pthread_mutex_lock(&race->lock);
    bool is_there = atomic_load_explicit(&shadow->is_mapped, memory_order_relaxed) ||
                    race_shadow_map(race->sanitized->sanitizer, shadow);
    atomic_store_explicit(&shadow->is_mapped, is_there, memory_order_release);
    pthread_mutex_unlock(&race->lock);
    return is_there;
}

void race_shadow_unmap(struct ig_sanitizer *sanitizer, struct race_shadow *shadow) {
    if (!shadow->mapped.memory) {
        return;
    }
    pthread_mutex_lock(&sanitizer->range_lock);
    for (size_t i = 0; i < IG_MOST_SPARE && shadow->mapped.memory; i++) {
        if (!sanitizer->spare[i].memory) {
            sanitizer->spare[i] = shadow->mapped;
            shadow->mapped.memory = NULL;
        }
    }
    pthread_mutex_unlock(&sanitizer->range_lock);
    if (shadow->mapped.memory) {
        munmap(shadow->mapped.memory, shadow->mapped.bytes);
        shadow->mapped.memory = NULL;
    }
}

/* ---- what a kernel's places say ---- */

struct facts {
    unsigned shift[RACE_SPACES];
    bool follows, writes_anywhere; /* pointers that are no arguments */
    uint64_t places;
};

/* The largest power of two that the size is a multiple of, up to 4 bytes. */
static unsigned shift_of(uint32_t bytes) {
    return !bytes ? 0 : bytes % 4 == 0 ? 2 : bytes % 2 == 0 ? 1 : 0;
}

static void look(struct race_dispatch *race, struct facts *facts) {
    const struct ingot_cpu_places *places = race->sanitized->places;
    for (uint64_t i = 0; i < places->count; i++) {
        const struct ingot_cpu_place *place = &places->items[i];
        if (place->kind != IG_SANITIZE_race) {
            continue;
        }
        facts->places = i + 1;
        race->has_fences |= (place->detail & INGOT_CPU_RACE_FENCE) != 0;
        if (!(place->detail & (INGOT_CPU_RACE_READS | INGOT_CPU_RACE_WRITES))) {
            continue;
        }
        bool is_device = place->space == INGOT_SPACE_DEVICE;
        unsigned *shift = &facts->shift[is_device ? RACE_DEVICE : RACE_THREADGROUP];
        *shift = shift_of(place->bytes) < *shift ? shift_of(place->bytes) : *shift;
        if (is_device && place->slot == INGOT_CPU_NO_SLOT) {
            facts->follows = true;
            facts->writes_anywhere |= (place->detail & INGOT_CPU_RACE_WRITES) != 0;
        }
    }
}

static bool writes_slot(const struct race_dispatch *race, uint32_t slot) {
    const struct ingot_cpu_places *places = race->sanitized->places;
    for (uint64_t i = 0; i < places->count; i++) {
        const struct ingot_cpu_place *place = &places->items[i];
        if (place->kind == IG_SANITIZE_race && place->space == INGOT_SPACE_DEVICE &&
            place->slot == slot && place->detail & INGOT_CPU_RACE_WRITES) {
            return true;
        }
    }
    return false;
}

/* ---- device memory ---- */

static int compare_shadows(const void *a, const void *b) {
    const struct race_shadow *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

static void add(struct race_dispatch *race, uint64_t start, uint64_t bytes, bool is_written) {
    if (start && bytes) {
        race->shadows[race->shadow_count++] =
            (struct race_shadow){.start = start, .bytes = bytes, .is_written = is_written};
    }
}

/* Ranges that overlap become one. */
static void merge(struct race_dispatch *race) {
    size_t count = 0;
    if (!race->shadow_count) {
        return;
    }
    if (race->shadow_count) {
        qsort(race->shadows, race->shadow_count, sizeof *race->shadows, compare_shadows);
    }
    for (size_t i = 1; i < race->shadow_count; i++) {
        struct race_shadow *last = &race->shadows[count], *next = &race->shadows[i];
        if (next->start < last->start + last->bytes) {
            uint64_t end = next->start + next->bytes;
            last->bytes = end > last->start + last->bytes ? end - last->start : last->bytes;
            last->is_written |= next->is_written;
        } else {
            race->shadows[++count] = *next;
        }
    }
    race->shadow_count = count + 1;
}

static bool collect(struct race_dispatch *race, const struct facts *facts) {
    struct ig_sanitized *sanitized = race->sanitized;
    struct ig_sanitizer *sanitizer = sanitized->sanitizer;
    pthread_mutex_lock(&sanitizer->range_lock);
    size_t live = facts->follows ? sanitizer->live_count : 0;
    race->shadows = calloc(sanitized->buffer_slots + live + 1, sizeof *race->shadows);
    for (size_t i = 0; race->shadows && i < live; i++) {
        add(race, sanitizer->live[i].start, sanitizer->live[i].end - sanitizer->live[i].start,
            facts->writes_anywhere);
    }
    pthread_mutex_unlock(&sanitizer->range_lock);
    for (uint32_t slot = 0; race->shadows && slot < sanitized->buffer_slots; slot++) {
        add(race, (uintptr_t)sanitized->buffers[slot], sanitized->buffer_bytes[slot],
            writes_slot(race, slot));
    }
    return race->shadows != NULL;
}

static struct race_shadow *shadow_at(struct race_dispatch *race, uint64_t address) {
    for (size_t i = 0; i < race->shadow_count; i++) {
        struct race_shadow *shadow = &race->shadows[i];
        if (address >= shadow->start && address - shadow->start < shadow->bytes) {
            return shadow;
        }
    }
    return NULL;
}

static bool map_device_memory(struct race_dispatch *race, const struct facts *facts) {
    struct ig_sanitized *sanitized = race->sanitized;
    uint32_t slots = sanitized->buffer_slots;
    race->by_slot = calloc((size_t)slots + 1, sizeof *race->by_slot);
    race->watched = calloc((size_t)slots + 1, 1);
    if (!race->by_slot || !race->watched || !collect(race, facts)) {
        return false;
    }
    merge(race);
    pthread_mutex_lock(&sanitized->sanitizer->range_lock);
    uint32_t generation = ++sanitized->sanitizer->generation;
    pthread_mutex_unlock(&sanitized->sanitizer->range_lock);
    for (size_t i = 0; i < race->shadow_count; i++) {
        struct race_shadow *shadow = &race->shadows[i];
        shadow->shift = facts->shift[RACE_DEVICE];
        shadow->is_shared = true;
        shadow->generation = generation;
    }
    for (uint32_t slot = 0; slot < slots; slot++) {
        struct race_shadow *shadow = shadow_at(race, (uintptr_t)sanitized->buffers[slot]);
        race->by_slot[slot] = shadow && shadow->is_written ? shadow : NULL;
        race->watched[slot] = race->by_slot[slot] != NULL;
        if (race->by_slot[slot] && !race_shadow_is_there(race, shadow)) {
            return false;
        }
    }
    sanitized->table.buffer_watched = race->watched;
    return true;
}

/* ---- dispatches ---- */

bool ig_race_open(struct ig_sanitized *dispatch) {
    struct race_dispatch *race = calloc(1, sizeof *race);
    if (!race || pthread_mutex_init(&race->lock, NULL)) {
        free(race);
        return false;
    }
    struct facts facts = {.shift = {2, 2}};
    const uint32_t *groups = dispatch->groups, *group = dispatch->group;
    pthread_mutex_init(&race->order.lock, NULL);
    dispatch->states[IG_SANITIZE_race] = race;
    race->sanitized = dispatch;
    race->group_count = (uint64_t)groups[0] * groups[1] * groups[2];
    race->reports_same_value = dispatch->sanitizer->kinds & ig_sanitize_bit(IG_SANITIZE_same_value);
    look(race, &facts);
    race->threadgroup_shift = facts.shift[RACE_THREADGROUP];
    race_layout_set(&race->layout, race->group_count, group[0] * group[1] * group[2], facts.places,
                    race->has_fences);
    set_masks(race);
    race->device_shift = facts.shift[RACE_DEVICE];
    return race_order_open(race) && map_device_memory(race, &facts) && race_quick_open(race);
}

void ig_race_close(struct ig_sanitized *dispatch) {
    struct race_dispatch *race = dispatch->states[IG_SANITIZE_race];
    for (struct race_group *own = race->groups, *next; own; own = next) {
        next = own->next;
        race_shadow_unmap(dispatch->sanitizer, &own->shadow);
        free(own->threads);
        free(own);
    }
    for (size_t i = 0; i < race->shadow_count; i++) {
        race_shadow_unmap(dispatch->sanitizer, &race->shadows[i]);
    }
    race_order_close(race);
    pthread_mutex_destroy(&race->order.lock);
    pthread_mutex_destroy(&race->lock);
    free(race->shadows);
    free(race->by_slot);
    free(race->quick);
    free(race->watched);
    free(race);
}

/* ---- threadgroups ---- */

static struct race_group *make_group(struct race_dispatch *race,
                                     const struct ingot_cpu_group *group) {
    struct race_group *own = calloc(1, sizeof *own);
    if (!own) {
        return NULL;
    }
    own->group = group;
    own->shadow = (struct race_shadow){.is_written = true,
                                       .is_mapped = true,
                                       .start = (uintptr_t)group->threadgroup_memory,
                                       .bytes = race->sanitized->threadgroup_memory,
                                       .shift = race->threadgroup_shift};
    uint32_t simdgroups = group->full_simdgroup_count;
    if ((race->has_fences &&
         !(own->threads = calloc((size_t)simdgroups * INGOT_SIMD_WIDTH, sizeof *own->threads))) ||
        !race_shadow_map(race->sanitized->sanitizer, &own->shadow)) {
        free(own->threads);
        free(own);
        return NULL;
    }
    return own;
}

static struct race_group *find_group(struct race_dispatch *race,
                                     const struct ingot_cpu_group *group) {
    pthread_mutex_lock(&race->lock);
    struct race_group *own = race->groups;
    while (own && own->group != group) {
        own = own->next;
    }
    if (!own && (own = make_group(race, group))) {
        own->next = race->groups;
        race->groups = own;
    }
    pthread_mutex_unlock(&race->lock);
    return own;
}

void ig_race_begin_group(struct ig_sanitized *dispatch, const struct ingot_cpu_group *group) {
    struct race_dispatch *race = dispatch->states[IG_SANITIZE_race];
    struct race_group *own = group->race ? group->race : find_group(race, group);
    ((struct ingot_cpu_group *)(uintptr_t)group)->race = own;
    if (!own) {
        return;
    }
    const uint32_t *at = group->group_position, *grid = group->groups_per_grid;
    uint64_t id = at[0] + (uint64_t)grid[0] * (at[1] + (uint64_t)grid[1] * at[2]);
    if (id > race->layout.group_mask) { /* the number of an earlier one comes again */
        memset(own->shadow.blocks, 0, own->shadow.mapped.units * sizeof *own->shadow.blocks);
    }
    own->id = id;
    memset(own->epoch, 0, sizeof own->epoch);
    memset(own->turn, 0, sizeof own->turn);
    for (uint32_t i = 0; i < group->full_simdgroup_count; i++) {
        race_quick_set(race, own, RACE_DEVICE, i);
        race_quick_set(race, own, RACE_THREADGROUP, i);
    }
    memset(own->known, 0, sizeof own->known);
    memset(own->known_device, 0, sizeof own->known_device);
    memset(own->has_fenced, 0, sizeof own->has_fenced);
    if (own->threads) {
        size_t threads = (size_t)group->full_simdgroup_count * INGOT_SIMD_WIDTH;
        memset(own->threads, 0, threads * sizeof *own->threads);
    }
}
