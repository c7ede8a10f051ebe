/* The list of operations: complete, consistent, and with a default policy that is valid. */
#include <string.h>

#include "check.h"
#include "ops/ops.h"

static bool is_name(const char *text) {
    return text && *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

static void check_knobs(const ingot_ops_info *info) {
    CHECK(info->knob_count <= IGO_MAX_KNOBS);
    for (size_t k = 0; k < info->knob_count; k++) {
        const ingot_ops_knob *knob = &info->knobs[k];
        CHECK(is_name(knob->name) && knob->help && *knob->help);
        CHECK(knob->minimum <= knob->fallback && knob->fallback <= knob->maximum);
        CHECK(!knob->power_of_two || !(knob->fallback & (knob->fallback - 1)));
        /* Keys are read back: a knob's name must not end in a digit. */
        CHECK(!strchr("0123456789", knob->name[strlen(knob->name) - 1]));
        for (size_t other = 0; other < k; other++) {
            CHECK(strcmp(knob->name, info->knobs[other].name));
        }
    }
}

int main(void) {
    size_t count = ingot_ops_count();
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        ingot_ops_info info, other;
        int before = check_failed;
        CHECK(!ingot_ops_describe(i, &info));
        CHECK(is_name(info.name));
        CHECK(info.family && *info.family && info.summary && *info.summary);
        CHECK(info.limits && info.variants);
        CHECK(info.types);
        check_knobs(&info);
        for (size_t k = 0; k < i; k++) {
            CHECK(!ingot_ops_describe(k, &other) && strcmp(info.name, other.name));
        }
        const struct ingot_ops_info *found = igo_operation_find(info.name, strlen(info.name));
        CHECK(found && !strcmp(found->name, info.name));
        if (check_failed > before) {
            fprintf(stderr, "  operation %zu, %s\n", i, info.name ? info.name : "(no name)");
        }
    }
    CHECK(!igo_operation_find("axp", 3) && !igo_operation_find("", 0));
    ingot_ops_info info;
    CHECK(ingot_ops_describe(count, &info) == INGOT_NOT_FOUND);
    CHECK(ingot_ops_describe(0, NULL) == INGOT_INVALID_ARGUMENT);

    struct igo_policy policy = {0};
    struct ig_error error = {0};
    if (igo_policy_add(&policy, "default policy", igo_default_policy, &error)) {
        fprintf(stderr, "  %s\n", ig_error_text(&error));
    }
    CHECK(!error.status);
    ig_error_clear(&error);
    igo_policy_free(&policy);
    return check_report();
}
