/* Orders of threadgroups and SIMD-groups: each comes once, seeds repeat, texts are checked. */
#include <string.h>

#include "check.h"
#include "runtime/cpu/schedule.h"

static void test_groups_are_permuted(void) {
    static const uint64_t counts[] = {1, 2, 3, 7, 64, 1000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (uint64_t seed = 1; seed < 20; seed += 2) {
            bool seen[1000] = {false};
            for (uint64_t i = 0; i < counts[c]; i++) {
                uint64_t group = cpu_schedule_group(seed, i, counts[c]);
                CHECK(group < counts[c] && !seen[group]);
                seen[group] = true;
            }
        }
    }
    /* of grids beyond 32 bits too */
    uint64_t many = (UINT64_C(1) << 62) + 5;
    CHECK(cpu_schedule_group(7, many - 1, many) < many);
}

static void test_simdgroups_are_shuffled(void) {
    uint32_t order[32], again[32];
    bool differs = false;
    for (uint64_t group = 0; group < 50; group++) {
        uint64_t state = cpu_schedule_state(3, group), same = state;
        uint32_t seen = 0;
        cpu_schedule_shuffle(&state, order, 32);
        cpu_schedule_shuffle(&same, again, 32);
        CHECK(!memcmp(order, again, sizeof order));
        for (uint32_t i = 0; i < 32; i++) {
            seen |= UINT32_C(1) << order[i];
            differs |= order[i] != i;
        }
        CHECK(seen == UINT32_MAX);
    }
    CHECK(differs);
}

static void test_texts(void) {
    static const char *const bad[] = {"r",         "random:",
                                      "random:x",  "random:1x",
                                      "random:-1", "random:99999999999999999999",
                                      "explore:3", "first:",
                                      "first:1,",  "first:1,2,3,4",
                                      "first:-1",  "first-threadgroup:x"};
    static const uint32_t groups[3] = {5, 4, 3}, group[3] = {8, 2, 1};
    struct cpu_schedule schedule = {0};
    struct ig_error error = {0};
    CHECK(cpu_schedule_next(&schedule, groups, group) == 0);
    CHECK(cpu_schedule_set(&schedule, "random:5", &error) == INGOT_OK);
    uint64_t first = cpu_schedule_next(&schedule, groups, group),
             second = cpu_schedule_next(&schedule, groups, group);
    CHECK(first && second && first != second);
    CHECK(cpu_schedule_set(&schedule, "random:5", &error) == INGOT_OK);
    CHECK(cpu_schedule_next(&schedule, groups, group) == first);
    CHECK(cpu_schedule_set(&schedule, "random", &error) == INGOT_OK);
    CHECK(cpu_schedule_next(&schedule, groups, group));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(cpu_schedule_set(&schedule, bad[i], &error) == INGOT_INVALID_ARGUMENT);
        CHECK(strstr(ig_error_text(&error), bad[i]));
        ig_error_clear(&error);
    }
    CHECK(cpu_schedule_set(&schedule, "fixed", &error) == INGOT_OK);
    CHECK(cpu_schedule_next(&schedule, groups, group) == 0);
}

/* The chosen one, then the others in the usual order. */
static void test_one_first(void) {
    static const struct {
        const char *text;
        uint64_t chosen;
    } cases[] = {{"first:17,3,2", 2 + 5 * (1 + 4 * 2)},
                 {"first:0", 0},
                 {"first-threadgroup:4,3,2", 59},
                 {"first-threadgroup:1", 1}};
    const uint32_t groups[3] = {5, 4, 3}, group[3] = {8, 2, 1};
    struct cpu_schedule schedule = {0};
    struct ig_error error = {0};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        CHECK(cpu_schedule_set(&schedule, cases[c].text, &error) == INGOT_OK);
        uint64_t seed = cpu_schedule_next(&schedule, groups, group);
        CHECK(seed && !cpu_schedule_is_random(seed));
        CHECK(cpu_schedule_group(seed, 0, 60) == cases[c].chosen);
        for (uint64_t i = 1; i < 60; i++) {
            CHECK(cpu_schedule_group(seed, i, 60) == (i <= cases[c].chosen ? i - 1 : i));
        }
    }
    CHECK(cpu_schedule_set(&schedule, "first:40", &error) == INGOT_OK); /* of a larger grid */
    CHECK(cpu_schedule_next(&schedule, groups, group) == 0);
}

int main(void) {
    test_groups_are_permuted();
    test_one_first();
    test_simdgroups_are_shuffled();
    test_texts();
    return check_report();
}
