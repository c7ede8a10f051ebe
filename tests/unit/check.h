/* CHECK(condition) counts and reports; check_report() is main's return value. */
#ifndef INGOT_TESTS_CHECK_H
#define INGOT_TESTS_CHECK_H

#include <stdio.h>

static int check_passed, check_failed;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (condition) {                                                                           \
            check_passed++;                                                                        \
        } else {                                                                                   \
            check_failed++;                                                                        \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                \
        }                                                                                          \
    } while (0)

static inline int check_report(void) {
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed ? 1 : 0;
}

#endif
