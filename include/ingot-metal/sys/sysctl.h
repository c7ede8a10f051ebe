/* sysctlbyname for hw.memsize, hw.ncpu, hw.physicalcpu, hw.logicalcpu, hw.pagesize, hw.model and
 * machdep.cpu.brand_string; other names are ENOENT. */
#ifndef INGOT_METAL_SYSCTL_H
#define INGOT_METAL_SYSCTL_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
int sysctlbyname(const char *name, void *old_value, size_t *old_size, void *new_value, size_t new_size);
#ifdef __cplusplus
}
#endif
#endif
