/* The clock that does not stop, in nanoseconds. */
#ifndef INGOT_METAL_MACH_TIME_H
#define INGOT_METAL_MACH_TIME_H
#include <stdint.h>
#include <time.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct mach_timebase_info { uint32_t numer, denom; } mach_timebase_info_data_t, *mach_timebase_info_t;
uint64_t mach_absolute_time(void);
int mach_timebase_info(mach_timebase_info_t info);
#ifndef CLOCK_UPTIME_RAW
#define CLOCK_UPTIME_RAW CLOCK_MONOTONIC
#endif
static inline uint64_t clock_gettime_nsec_np(clockid_t clock) {
    struct timespec now = {0, 0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
#ifdef __cplusplus
}
#endif
#endif
