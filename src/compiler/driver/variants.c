/*
 * --variants FILE: which kernels to compile with which function constants, a line each.
 *
 *     # kernel             constants by name
 *     softmax_{f32,f16}    causal={0,1} window=0
 *     cuda: softmax_bf16   causal=0 window=0
 *
 * Braces stand for each of their words in turn, so the first line is four variants. "cpu:",
 * "cuda:" or a level such as "sm_90:" limits a line to those of the targets asked for. Provides
 * the variants grouped by equal constants and targets, so that a group is compiled in as few
 * clang runs as possible; a group without targets is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/scalar.h"
#include "compiler/driver/driver.h"

enum { MAX_WORDS = 32, MAX_VARIANTS = 4096 };

struct list {
    struct ig_arena *arena;
    const struct igc_source *source;
    const struct igc_command *command;
    const char *path;
    unsigned line;
    uint32_t targets; /* of the line: a bit per target of the command */
    struct igc_variant_group *groups;
    size_t count;
    struct ig_error *error;
};

static ingot_status bad(struct list *l, const char *what, const char *word) {
    return ig_fail(l->error, INGOT_INVALID_ARGUMENT, "%s:%u: %s \"%s\"", l->path, l->line, what,
                   word);
}

static const struct ig_constant *find_constant(const struct igc_source *source, const char *name,
                                               size_t length) {
    for (size_t i = 0; i < source->constant_count; i++) {
        const char *known = source->constants[i].name;
        if (strlen(known) == length && !strncmp(known, name, length)) {
            return &source->constants[i];
        }
    }
    return NULL;
}

static ingot_status read_value(struct list *l, const char *word, struct igc_value *value) {
    const char *equals = strchr(word, '=');
    const struct ig_constant *constant =
        equals ? find_constant(l->source, word, (size_t)(equals - word)) : NULL;
    if (!constant) {
        return bad(
            l, equals ? "the source has no function constant as in" : "expected NAME=VALUE, not",
            word);
    }
    uint8_t *bytes = ig_arena_alloc(l->arena, 16);
    if (!bytes) {
        return ig_fail(l->error, INGOT_OUT_OF_MEMORY, "no memory for the variants");
    }
    *value = (struct igc_value){constant->index, bytes, constant->size};
    if (constant->components != 1 || ig_scalar_parse((ingot_scalar_type)constant->scalar,
                                                     equals + 1, strlen(equals + 1), bytes, NULL)) {
        return bad(l, "this value does not fit the constant:", word);
    }
    return INGOT_OK;
}

static int by_index(const void *a, const void *b) {
    const struct igc_value *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* An archive has a variant once: takes the kernel out of the group that has it, and gives that
 * group's targets. */
static uint32_t take_out(struct list *l, const char *kernel, const char *key) {
    for (size_t g = 0; g < l->count; g++) {
        struct igc_variant_group *group = &l->groups[g];
        if (strcmp(group->constants_key, key)) {
            continue;
        }
        for (size_t i = 0; i < group->kernel_count; i++) {
            if (!strcmp(group->kernels[i], kernel)) {
                group->kernels[i] = group->kernels[--group->kernel_count];
                return group->targets;
            }
        }
    }
    return 0;
}

static ingot_status add_to_group(struct list *l, const char *kernel, const struct igc_value *values,
                                 size_t value_count) {
    const char *key = igc_constants_key(l->arena, values, value_count);
    if (!key) {
        return ig_fail(l->error, INGOT_OUT_OF_MEMORY, "no memory for the variants");
    }
    uint32_t targets = l->targets | take_out(l, kernel, key);
    size_t g = 0;
    while (g < l->count &&
           (l->groups[g].targets != targets || strcmp(l->groups[g].constants_key, key))) {
        g++;
    }
    struct igc_variant_group *group = &l->groups[g];
    if (g == l->count) {
        if (g == MAX_VARIANTS) {
            return bad(l, "too many variants at", kernel);
        }
        group->constants_key = key;
        group->values = values;
        group->value_count = value_count;
        group->targets = targets;
        l->count++;
    }
    if (group->kernel_count == group->capacity) {
        size_t capacity = group->capacity ? 2 * group->capacity : 8;
        const char **kernels = ig_arena_array(l->arena, capacity, sizeof *kernels);
        if (!kernels) {
            return ig_fail(l->error, INGOT_OUT_OF_MEMORY, "no memory for the variants");
        }
        if (group->kernel_count) {
            memcpy(kernels, group->kernels, group->kernel_count * sizeof *kernels);
        }
        group->kernels = kernels;
        group->capacity = capacity;
    }
    group->kernels[group->kernel_count++] = kernel;
    return INGOT_OK;
}

/* Of a target that is special, where there is code of another target of its back end, only lines
 * that name it are compiled. */
static bool is_by_name_only(const struct igc_command *command, const struct igc_target *target) {
    bool others = false;
    for (size_t i = 0; i < command->target_count; i++) {
        const struct igc_target *other = command->targets[i];
        others |= other->backend == target->backend && !other->is_special;
    }
    return others && target->is_special;
}

/* The level, or its code in another form. */
static bool is_level(const char *word, const struct igc_target *target) {
    return !strcmp(word, target->name) || (target->form_of && !strcmp(word, target->form_of));
}

static const struct igc_backend *find_backend(const char *name) {
    size_t b = 0;
    while (igc_backends[b] && strcmp(igc_backends[b]->name, name)) {
        b++;
    }
    return igc_backends[b];
}

/* "cpu:", "cuda:", "sm_90:": the command's targets that the line is for. */
static ingot_status read_targets(struct list *l, char *word, size_t length) {
    l->targets = 0;
    word[length - 1] = 0;
    const struct igc_backend *backend = find_backend(word);
    if (!backend && !igc_target_find(word)) {
        struct ig_text what = {0};
        ig_text_puts(&what, "no ");
        for (size_t b = 0; igc_backends[b]; b++) {
            ig_text_printf(&what, "%s\"%s\"", b ? ", " : "", igc_backends[b]->name);
        }
        ig_text_puts(&what, " or code level:");
        ingot_status status = bad(l, ig_text_string(&what), word);
        ig_text_free(&what);
        return status;
    }
    for (size_t i = 0; i < l->command->target_count; i++) {
        const struct igc_target *target = l->command->targets[i];
        if (backend ? target->backend == backend && !is_by_name_only(l->command, target)
                    : is_level(word, target)) {
            l->targets |= 1u << i;
        }
    }
    return INGOT_OK;
}

static ingot_status add_variant(struct list *l, char *line) {
    char *rest = NULL, *word;
    char *kernel = strtok_r(line, " \t\r", &rest);
    size_t length = kernel ? strlen(kernel) : 0;
    l->targets = 0;
    for (size_t i = 0; i < l->command->target_count; i++) {
        l->targets |= is_by_name_only(l->command, l->command->targets[i]) ? 0 : 1u << i;
    }
    if (length && kernel[length - 1] == ':') {
        ingot_status status = read_targets(l, kernel, length);
        if (status || !l->targets) {
            return status;
        }
        kernel = strtok_r(NULL, " \t\r", &rest);
        if (!kernel) {
            return bad(l, "no kernel after", line);
        }
    }
    struct igc_value *values = ig_arena_array(l->arena, MAX_WORDS, sizeof *values);
    size_t count = 0;
    if (!kernel || !values) {
        return kernel ? ig_fail(l->error, INGOT_OUT_OF_MEMORY, "no memory for the variants")
                      : INGOT_OK;
    }
    while ((word = strtok_r(NULL, " \t\r", &rest))) {
        if (count == MAX_WORDS) {
            return bad(l, "too many constants at", word);
        }
        ingot_status status = read_value(l, word, &values[count++]);
        if (status) {
            return status;
        }
    }
    qsort(values, count, sizeof *values, by_index);
    return add_to_group(l, kernel, values, count);
}

/* Replaces the first braces by each of their words. */
static ingot_status expand(struct list *l, const char *line) {
    const char *open = strchr(line, '{'), *close = open ? strchr(open, '}') : NULL;
    if (open && !close) {
        return bad(l, "there is no } after", open);
    }
    if (!open) {
        char *copy = ig_arena_string(l->arena, line);
        return copy ? add_variant(l, copy)
                    : ig_fail(l->error, INGOT_OUT_OF_MEMORY, "no memory for the variants");
    }
    ingot_status status = INGOT_OK;
    for (const char *word = open + 1; word <= close && !status;) {
        size_t length = strcspn(word, ",}");
        char *one = ig_arena_printf(l->arena, "%.*s%.*s%s", (int)(open - line), line, (int)length,
                                    word, close + 1);
        status = one ? expand(l, one)
                     : ig_fail(l->error, INGOT_OUT_OF_MEMORY, "no memory for the variants");
        word += length + 1;
    }
    return status;
}

ingot_status igc_variants_read(struct ig_arena *arena, const struct igc_command *command,
                               const struct igc_source *source, struct igc_variant_group **groups,
                               size_t *count, struct ig_error *error) {
    char *text = NULL;
    size_t size;
    const char *path = command->variants_path;
    ingot_status status = ig_file_read(path, 1 << 20, &text, &size, error);
    if (status) {
        return status;
    }
    struct list l = {
        .arena = arena, .source = source, .command = command, .path = path, .error = error};
    l.groups = ig_arena_array(arena, MAX_VARIANTS + 1, sizeof *l.groups);
    if (!l.groups) {
        status = ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the variants");
    }
    for (char *line = text, *next; line && !status; line = next) {
        next = strchr(line, '\n');
        if (next) {
            *next++ = 0;
        }
        l.line++;
        line[strcspn(line, "#\r")] = 0;
        status = expand(&l, line);
    }
    free(text);
    *groups = l.groups;
    *count = l.count;
    return status;
}
