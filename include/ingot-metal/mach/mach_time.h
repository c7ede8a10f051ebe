/* The clock that does not stop, in nanoseconds. */
#ifndef INGOT_METAL_MACH_TIME_H
#define INGOT_METAL_MACH_TIME_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct mach_timebase_info { uint32_t numer, denom; } mach_timebase_info_data_t, *mach_timebase_info_t;
uint64_t mach_absolute_time(void);
int mach_timebase_info(mach_timebase_info_t info);
#ifdef __cplusplus
}
#endif
#endif
