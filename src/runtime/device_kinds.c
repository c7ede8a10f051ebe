/* The table of device kinds: to add one takes a folder of src/runtime and a line here. */
#include "runtime/device.h"

#ifdef __APPLE__
#define DEVICE_KINDS(KIND) KIND(metal)
#else
#define DEVICE_KINDS(KIND)                                                                         \
    KIND(cpu) /* the default */                                                                    \
    KIND(cuda)                                                                                     \
    KIND(metal)
#endif

#define DECLARE(name) extern const struct ig_device_kind ig_##name##_device_kind;
DEVICE_KINDS(DECLARE)
#define ENTRY(name) &ig_##name##_device_kind,
const struct ig_device_kind *const ig_device_kinds[] = {DEVICE_KINDS(ENTRY)};
const size_t ig_device_kind_count = sizeof ig_device_kinds / sizeof *ig_device_kinds;
