/* Which code level this CPU can run, and what the CPU is called. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "runtime/cpu/cpu.h"

static const char *const levels[] = {"x86-64-v3",          "x86-64-v4", "x86-64-v4-bf16",
                                     "x86-64-v4-bf16-amx", "aarch64",   "aarch64-bf16"};
/* In `levels`: the level with matrix units, the first of aarch64, how many there are. */
enum { WITH_UNITS = 3, ARM = 4, LEVELS = sizeof levels / sizeof levels[0] };

/* Code for debuggers, which all of the machine's kind run. */
#if defined(__aarch64__)
static const char debug_level[] = "aarch64-debug";
#else
static const char debug_level[] = "x86-64-debug";
#endif

/* Some levels in a row, ascending; how many: 0 when the CPU is too old. */
struct usable {
    size_t first, count;
};

#if defined(__x86_64__)
#include <cpuid.h>

static const char lowest[] =
    "x86-64-v3, the lowest level that ingot runs on: AVX2, FMA, BMI and F16C are needed";

/* What the operating system saves at a context switch. */
static uint64_t enabled_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has(uint32_t value, const unsigned char *bits, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!(value >> bits[i] & 1)) {
            return false;
        }
    }
    return true;
}

static size_t count_levels(void) {
    uint32_t a, b, c, d;
    /* FMA, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C */
    static const unsigned char leaf1[] = {12, 19, 20, 22, 23, 27, 28, 29};
    static const unsigned char leaf7_v3[] = {3, 5, 8};            /* BMI1, AVX2, BMI2 */
    static const unsigned char leaf7_v4[] = {16, 17, 28, 30, 31}; /* AVX-512 F DQ CD BW VL */
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, leaf1, sizeof leaf1)) {
        return 0;
    }
    uint64_t state = enabled_state();
    if ((state & 0x6) != 0x6) {
        return 0;
    }
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(c >> 5 & 1)) { /* LZCNT */
        return 0;
    }
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, leaf7_v3, sizeof leaf7_v3)) {
        return 0;
    }
    if ((state & 0xe6) != 0xe6 || !has(b, leaf7_v4, sizeof leaf7_v4)) {
        return 1;
    }
    /* The level above: AVX512-BF16. Its registers are those of AVX-512, which are saved. Whether
     * there are matrix units is asked when they are wanted. */
    return a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 5 & 1 ? 3 : 2;
}

static struct usable usable_levels(void) {
    return (struct usable){0, count_levels()};
}

void cpu_model_name(char *name, size_t size) {
    char brand[49] = {0};
    uint32_t highest = __get_cpuid_max(0x80000000u, NULL);
    if (highest >= 0x80000004u) {
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t words[4];
            __get_cpuid(0x80000002u + i, &words[0], &words[1], &words[2], &words[3]);
            memcpy(brand + 16 * i, words, 16);
        }
    }
    const char *start = brand + strspn(brand, " ");
    snprintf(name, size, "%s", *start ? start : "x86-64 CPU");
    for (size_t length = strlen(name); length && name[length - 1] == ' '; length--) {
        name[length - 1] = '\0';
    }
}

#elif defined(__aarch64__)
#include "base/arm_level.h"

static const char lowest[] =
    "Armv8.2 with half precision and its atomics, the lowest level that ingot runs on";

static struct usable usable_levels(void) {
    return (struct usable){ARM, !ig_arm_has_halves() ? 0 : ig_arm_has_matrices() ? 2 : 1};
}

/* Linux gives numbers where it has no name: "AArch64 CPU 0x41/0xd0c" is a Neoverse N1. */
void cpu_model_name(char *name, size_t size) {
    unsigned implementer = 0, part = 0;
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = strchr(line, ':');
        if (value && !strncmp(line, "CPU implementer", 15)) {
            implementer = (unsigned)strtoul(value + 1, NULL, 0);
        }
        if (value && !strncmp(line, "CPU part", 8)) {
            part = (unsigned)strtoul(value + 1, NULL, 0);
        }
    }
    if (file) {
        fclose(file);
    }
    if (implementer) {
        snprintf(name, size, "AArch64 CPU 0x%02x/0x%03x", implementer, part);
    } else {
        snprintf(name, size, "AArch64 CPU");
    }
}

#endif

ingot_status cpu_level_choose(const char *wanted, char *target, size_t size,
                              struct ig_error *error) {
    struct usable usable = usable_levels();
    char model[64];
    cpu_model_name(model, sizeof model);
    if (usable.count == 0) {
        return ig_fail(error, INGOT_UNSUPPORTED, "this CPU (%s) is older than %s", model, lowest);
    }
    if (!wanted || !*wanted) {
        wanted = ig_environment("INGOT_CPU");
    }
    size_t best = usable.first + usable.count - 1, chosen = best;
    const char *debug = ig_environment("INGOT_DEBUG");
    if (wanted && *wanted ? cpu_level_is_debug(wanted) : debug && *debug && strcmp(debug, "0")) {
        snprintf(target, size, "%s", debug_level);
        return INGOT_OK;
    }
    if (wanted && *wanted) {
        for (chosen = 0; chosen < LEVELS && strcmp(levels[chosen], wanted) != 0; chosen++)
            ;
        if (chosen == LEVELS) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "there is no CPU level \"%s\"; there are %s, %s, %s, %s, %s and %s",
                           wanted, levels[0], levels[1], levels[2], levels[3], levels[4],
                           levels[5]);
        }
    }
    if (best + 1 == WITH_UNITS && (!wanted || !*wanted || chosen == WITH_UNITS) &&
        cpu_matrix_units_work()) {
        chosen = ++best;
    }
    if (wanted && *wanted) {
        if (chosen < usable.first || chosen > best) {
            return ig_fail(error, INGOT_UNSUPPORTED,
                           "CPU level %s was asked for, but this CPU (%s) has only %s", wanted,
                           model, levels[best]);
        }
    }
    snprintf(target, size, "%s", levels[chosen]);
    return INGOT_OK;
}

bool cpu_level_is_debug(const char *level) {
    return !strcmp(level, debug_level);
}

const char *cpu_level_below(const char *level) {
    if (cpu_level_is_debug(level)) {
        struct usable usable = usable_levels();
        return usable.count ? levels[usable.first + usable.count - 1] : NULL;
    }
    for (size_t i = 1; i < LEVELS; i++) {
        if (i != ARM && !strcmp(level, levels[i])) {
            return levels[i - 1];
        }
    }
    return NULL;
}
