/*
 * JSON reports of ingot's commands into one.
 *
 * Objects are merged member by member: counts and seconds are added up, the latest date stays, and
 * of everything else the first report's value. Arrays come one behind the other. Where both have an
 * object with the same name (a device) or file, these are merged; of equal strings one stays.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_read.h"
#include "cli/merge.h"

static bool is_one_of(const char *key, const char *const *keys) {
    for (; *keys; keys++) {
        if (!strcmp(key, *keys)) {
            return true;
        }
    }
    return false;
}

static bool has_text(const struct ig_json_value *value) {
    return value && value->kind == IG_JSON_STRING;
}

/* JSON has no infinity: the largest number instead. */
static double finite(double value) {
    return value > DBL_MAX ? DBL_MAX : value < -DBL_MAX ? -DBL_MAX : value;
}

/* The sum of two numbers as text: whole ones stay whole. */
static const char *add(struct ig_arena *arena, const char *a, const char *b) {
    bool whole = !strpbrk(a, ".eE-") && !strpbrk(b, ".eE-");
    return whole ? ig_arena_printf(arena, "%llu", strtoull(a, NULL, 10) + strtoull(b, NULL, 10))
                 : ig_arena_printf(arena, "%.9g",
                                   finite(finite(strtod(a, NULL)) + finite(strtod(b, NULL))));
}

/* What an object in an array is called, if that makes it one with others of the name. */
static const struct ig_json_value *identity(const struct ig_json_value *value) {
    const struct ig_json_value *file = ig_json_member(value, "file");
    if (has_text(file) && ig_json_member(value, "kernels")) {
        return file; /* a file of `ingot check` */
    }
    const struct ig_json_value *name = ig_json_member(value, "name");
    return has_text(name) && ig_json_member(value, "cases") ? name : NULL; /* a device */
}

static struct ig_json_value *find_same(struct ig_json_value *array,
                                       const struct ig_json_value *item) {
    const struct ig_json_value *name = has_text(item) ? item : identity(item);
    for (struct ig_json_value *v = name ? array->first : NULL; v; v = v->next) {
        const struct ig_json_value *other = has_text(v) ? v : identity(v);
        if (other && v->kind == item->kind && !strcmp(other->text, name->text)) {
            return v;
        }
    }
    return NULL;
}

static bool merge_objects(struct ig_arena *arena, struct ig_json_value *into,
                          struct ig_json_value *from);

static bool merge_arrays(struct ig_arena *arena, struct ig_json_value *into,
                         struct ig_json_value *from) {
    for (struct ig_json_value *item = from->first, *next; item; item = next) {
        next = item->next;
        struct ig_json_value *same = find_same(into, item);
        if (!same) {
            ig_json_add(into, item);
        } else if (same->kind == IG_JSON_OBJECT && !merge_objects(arena, same, item)) {
            return false;
        }
    }
    return true;
}

static bool merge_values(struct ig_arena *arena, struct ig_json_value *into,
                         struct ig_json_value *from) {
    static const char *const sums[] = {"passed",  "failed",    "warnings", "skipped",
                                       "seconds", "regressed", NULL};
    if (into->kind != from->kind) {
        return true;
    }
    switch (into->kind) {
    case IG_JSON_OBJECT:
        return merge_objects(arena, into, from);
    case IG_JSON_ARRAY:
        return merge_arrays(arena, into, from);
    case IG_JSON_NUMBER:
        if (is_one_of(into->key, sums)) {
            into->text = add(arena, into->text, from->text);
        }
        return into->text != NULL;
    case IG_JSON_STRING:
        if (!strcmp(into->key, "date") && strcmp(from->text, into->text) > 0) {
            into->text = from->text;
        }
        return true;
    default:
        return true;
    }
}

static bool merge_objects(struct ig_arena *arena, struct ig_json_value *into,
                          struct ig_json_value *from) {
    for (struct ig_json_value *member = from->first, *next; member; member = next) {
        next = member->next;
        struct ig_json_value *same = ig_json_member(into, member->key);
        if (!same) {
            ig_json_add(into, member);
        } else if (!merge_values(arena, same, member)) {
            return false;
        }
    }
    return true;
}

static void write_value(struct ig_json *json, const struct ig_json_value *value) {
    switch (value->kind) {
    case IG_JSON_NULL:
        ig_json_string(json, value->key, NULL);
        break;
    case IG_JSON_FALSE:
    case IG_JSON_TRUE:
        ig_json_bool(json, value->key, value->kind == IG_JSON_TRUE);
        break;
    case IG_JSON_NUMBER:
        ig_json_number(json, value->key, value->text);
        break;
    case IG_JSON_STRING:
        ig_json_string(json, value->key, value->text);
        break;
    case IG_JSON_ARRAY:
    case IG_JSON_OBJECT: {
        bool is_array = value->kind == IG_JSON_ARRAY;
        (is_array ? ig_json_array : ig_json_object)(json, value->key);
        for (const struct ig_json_value *v = value->first; v; v = v->next) {
            write_value(json, v);
        }
        (is_array ? ig_json_array_end : ig_json_object_end)(json);
        break;
    }
    }
}

static uint64_t count_of(const struct ig_json_value *report, const char *key) {
    const struct ig_json_value *value = ig_json_member(report, key);
    return value && value->kind == IG_JSON_NUMBER ? strtoull(value->text, NULL, 10) : 0;
}

/* A report without counts is of something else. */
static ingot_status check_report(const struct merge_report *report,
                                 const struct ig_json_value *value, struct ig_error *error) {
    const struct ig_json_value *failed = ig_json_member(value, "failed");
    if (!failed || failed->kind != IG_JSON_NUMBER) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "%s is no report of `ingot health`, `bench` or `check`: it has no count "
                       "\"failed\"",
                       report->path);
    }
    return INGOT_OK;
}

ingot_status merge_json(struct ig_arena *arena, const struct merge_report *reports, size_t count,
                        struct ig_text *out, struct merge_counts *counts, struct ig_error *error) {
    struct ig_json_value *all = NULL;
    for (size_t i = 0; i < count; i++) {
        struct ig_json_value *value;
        ingot_status status = ig_json_read(arena, reports[i].text, reports[i].size, &value, error);
        if (status) {
            ig_error_prefix(error, "%s", reports[i].path);
            return status;
        }
        status = check_report(&reports[i], value, error);
        if (status) {
            return status;
        }
        if (!all) {
            all = value;
        } else if (!merge_objects(arena, all, value)) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
        }
    }
    struct ig_json json = {.out = out};
    write_value(&json, all);
    ig_text_puts(out, "\n");
    counts->passed = count_of(all, "passed");
    counts->failed = count_of(all, "failed") + count_of(all, "regressed");
    const struct ig_json_value *rows = ig_json_member(all, "rows");
    for (const struct ig_json_value *row = rows ? rows->first : NULL; row; row = row->next) {
        counts->rows += !ig_json_member(all, "passed");
    }
    return INGOT_OK;
}
