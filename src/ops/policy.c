/*
 * The launch policy: text, a rule per line, later rules win.
 *
 *     # device        operation/type/class         knobs
 *     cpu             rms_norm                     simd=1
 *     cuda:sm_90      rms_norm/bf16/row<=4096      simd=8 vec=8
 *
 * A device is a kind, a kind with a target, or "*". Type and class are words between slashes;
 * in a pattern each word is literal, "*", or a name with <=, >= or = and a number, which is
 * compared with the number at the end of the subject's word. Words that a pattern leaves out
 * match anything. Everything is checked when it is read: the operation, the knobs and their ranges.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "ops/ops.h"

/* ---- matching ---- */

static size_t word_length(const char *text) {
    return strcspn(text, "/");
}

/* "row4096" against "row<=8192" */
static bool compare_matches(const char *pattern, size_t operator_at, size_t pattern_size,
                            const char *word, size_t size) {
    size_t digits = operator_at;
    if (size <= operator_at || strncmp(pattern, word, operator_at)) {
        return false;
    }
    for (size_t i = digits; i < size; i++) {
        if (word[i] < '0' || word[i] > '9') {
            return false;
        }
    }
    size_t number_at = operator_at + (pattern[operator_at] == '=' ? 1 : 2);
    if (number_at >= pattern_size) {
        return false;
    }
    unsigned long long limit = strtoull(pattern + number_at, NULL, 10);
    unsigned long long value = strtoull(word + digits, NULL, 10);
    return pattern[operator_at] == '<'   ? value <= limit
           : pattern[operator_at] == '>' ? value >= limit
                                         : value == limit;
}

static bool word_matches(const char *pattern, size_t pattern_size, const char *word, size_t size) {
    if (pattern_size == 1 && *pattern == '*') {
        return true;
    }
    size_t operator_at = strcspn(pattern, "<>=/");
    if (operator_at < pattern_size) {
        return compare_matches(pattern, operator_at, pattern_size, word, size);
    }
    return pattern_size == size && !strncmp(pattern, word, size);
}

bool igo_policy_matches(const char *pattern, const char *subject) {
    while (*pattern) {
        size_t pattern_size = word_length(pattern), size = word_length(subject);
        if (!size || !word_matches(pattern, pattern_size, subject, size)) {
            return false;
        }
        pattern += pattern_size + (pattern[pattern_size] == '/');
        subject += size + (subject[size] == '/');
    }
    return true;
}

static bool level_holds(const struct igo_policy_device *device, const char *level) {
    return device->kind->level_holds ? device->kind->level_holds(level, device->target)
                                     : !strcmp(level, device->target);
}

static bool device_matches(const char *pattern, const struct igo_policy_device *device) {
    size_t size = strcspn(pattern, ":");
    if (!strcmp(pattern, "*")) {
        return true;
    }
    return size == strlen(device->kind->name) && !strncmp(pattern, device->kind->name, size) &&
           (!pattern[size] || level_holds(device, pattern + size + 1));
}

void igo_policy_resolve(const struct igo_policy *policy, const struct igo_policy_device *device,
                        const struct ingot_ops_info *operation, const char *subject,
                        uint32_t *values) {
    for (size_t k = 0; k < operation->knob_count; k++) {
        values[k] = operation->knobs[k].fallback;
    }
    for (size_t i = 0; i < policy->count; i++) {
        const struct igo_rule *rule = &policy->rules[i];
        if (rule->operation != operation || !device_matches(rule->device, device) ||
            !igo_policy_matches(rule->pattern, subject)) {
            continue;
        }
        for (size_t k = 0; k < operation->knob_count; k++) {
            if (rule->set & 1u << k) {
                values[k] = rule->values[k];
            }
        }
    }
}

/* ---- reading ---- */

struct reader {
    struct igo_policy *policy;
    const char *name;
    unsigned line;
    struct ig_error *error;
};

#define bad(r, ...) bad(r, __VA_ARGS__)
__attribute__((format(printf, 2, 3))) static ingot_status bad(struct reader *r, const char *format,
                                                              ...) {
    va_list list;
    char message[512];
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return ig_fail(r->error, INGOT_INVALID_ARGUMENT, "%s:%u: %s", r->name, r->line, message);
}

static ingot_status no_knob(struct reader *r, const struct ingot_ops_info *operation,
                            const char *name, int length) {
    char known[256] = "";
    for (size_t k = 0; k < operation->knob_count; k++) {
        strncat(known, k ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, operation->knobs[k].name, sizeof known - strlen(known) - 1);
    }
    return bad(r, "%s has no knob \"%.*s\"; it has: %s", operation->name, length, name,
               *known ? known : "none");
}

static ingot_status read_knob(struct reader *r, struct igo_rule *rule, const char *word) {
    const char *equals = strchr(word, '=');
    if (!equals || equals == word) {
        return bad(r, "expected KNOB=VALUE, not \"%s\"", word);
    }
    const struct ingot_ops_info *operation = rule->operation;
    size_t k = 0, length = (size_t)(equals - word);
    while (k < operation->knob_count && (strlen(operation->knobs[k].name) != length ||
                                         strncmp(operation->knobs[k].name, word, length))) {
        k++;
    }
    if (k == operation->knob_count) {
        return no_knob(r, operation, word, (int)length);
    }
    char *end;
    errno = 0;
    unsigned long value = strtoul(equals + 1, &end, 10);
    const ingot_ops_knob *knob = &operation->knobs[k];
    if (errno || end == equals + 1 || *end || equals[1] == '-') {
        return bad(r, "%s wants a number, not \"%s\"", knob->name, equals + 1);
    }
    if (value < knob->minimum || value > knob->maximum) {
        return bad(r, "%s of %s is %lu; it must be %u to %u", knob->name, operation->name, value,
                   knob->minimum, knob->maximum);
    }
    if (knob->power_of_two && (value & (value - 1))) {
        return bad(r, "%s of %s is %lu; it must be a power of two", knob->name, operation->name,
                   value);
    }
    rule->set |= 1u << k;
    rule->values[k] = (uint32_t)value;
    return INGOT_OK;
}

static ingot_status check_pattern(struct reader *r, const char *pattern) {
    size_t length = word_length(pattern);
    if (length && !(length == 1 && *pattern == '*') && !ig_scalar_find(pattern, length)) {
        return bad(r, "\"%.*s\" is no type, such as f32, and no *", (int)length, pattern);
    }
    for (const char *at = pattern; *at; at += length + (at[length] == '/')) {
        length = word_length(at);
        size_t operator_at = strcspn(at, "<>=/");
        if (operator_at >= length) {
            continue;
        }
        size_t number_at = operator_at + (at[operator_at] == '=' ? 1 : 2);
        if ((at[operator_at] != '=' && at[operator_at + 1] != '=') || number_at >= length ||
            strspn(at + number_at, "0123456789") != length - number_at) {
            return bad(r, "\"%.*s\" is no comparison, such as row<=4096", (int)length, at);
        }
    }
    return INGOT_OK;
}

static ingot_status read_subject(struct reader *r, struct igo_rule *rule, const char *word) {
    size_t length = word_length(word);
    rule->operation = igo_operation_find(word, length);
    if (!rule->operation) {
        return bad(r, "there is no operation \"%.*s\"; `ingot ops` lists them", (int)length, word);
    }
    rule->pattern = word + length + (word[length] == '/');
    return check_pattern(r, rule->pattern);
}

static ingot_status append(struct reader *r, const struct igo_rule *rule) {
    struct igo_policy *policy = r->policy;
    if (policy->count == policy->capacity) {
        size_t capacity = policy->capacity ? 2 * policy->capacity : 64;
        struct igo_rule *rules = realloc(policy->rules, capacity * sizeof *rules);
        if (!rules) {
            return ig_fail(r->error, INGOT_OUT_OF_MEMORY, "no memory for the launch policy");
        }
        policy->rules = rules;
        policy->capacity = capacity;
    }
    policy->rules[policy->count++] = *rule;
    return INGOT_OK;
}

static ingot_status read_line(struct reader *r, char *line) {
    struct igo_rule rule = {0};
    char *rest = NULL;
    line[strcspn(line, "#")] = 0;
    rule.device = strtok_r(line, " \t\r", &rest);
    if (!rule.device) {
        return INGOT_OK;
    }
    char *subject = strtok_r(NULL, " \t\r", &rest);
    if (!subject) {
        return bad(r, "expected DEVICE OPERATION/TYPE/CLASS KNOB=VALUE..., not only \"%s\"",
                   rule.device);
    }
    ingot_status status = read_subject(r, &rule, subject);
    for (char *word; !status && (word = strtok_r(NULL, " \t\r", &rest));) {
        status = read_knob(r, &rule, word);
    }
    if (!status && !rule.set) {
        status = bad(r, "%s %s sets no knob", rule.device, subject);
    }
    return status ? status : append(r, &rule);
}

ingot_status igo_policy_add(struct igo_policy *policy, const char *name, const char *text,
                            struct ig_error *error) {
    struct reader reader = {.policy = policy, .name = name, .error = error};
    size_t before = policy->count;
    char *copy = ig_arena_string(&policy->arena, text);
    if (!copy) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the launch policy");
    }
    ingot_status status = INGOT_OK;
    for (char *line = copy; line && !status;) {
        char *next = strchr(line, '\n');
        if (next) {
            *next++ = 0;
        }
        reader.line++;
        status = read_line(&reader, line);
        line = next;
    }
    if (status) {
        policy->count = before;
    }
    return status;
}

void igo_policy_free(struct igo_policy *policy) {
    free(policy->rules);
    ig_arena_free(&policy->arena);
    *policy = (struct igo_policy){0};
}
