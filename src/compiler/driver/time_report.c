/* Where the time of one ingotc run went. Single-threaded. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "compiler/driver/driver.h"

enum { MAX_STAGES = 64 };

static struct {
    const char *name;
    double seconds;
    unsigned count;
} stages[MAX_STAGES];
static size_t stage_count;

double igc_time_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void igc_time_add(const char *stage, double seconds) {
    size_t i = 0;
    while (i < stage_count && strcmp(stages[i].name, stage)) {
        i++;
    }
    if (i == MAX_STAGES) {
        return;
    }
    if (i == stage_count) {
        stages[stage_count++].name = stage;
    }
    stages[i].seconds += seconds;
    stages[i].count++;
}

void igc_time_print(void) {
    double sum = 0;
    for (size_t i = 0; i < stage_count; i++) {
        fprintf(stderr, "%10.2f ms  %4u x  %s\n", 1e3 * stages[i].seconds, stages[i].count,
                stages[i].name);
        sum += stages[i].seconds;
    }
    fprintf(stderr, "%10.2f ms          in all\n", 1e3 * sum);
}
