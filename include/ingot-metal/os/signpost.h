/* Signposts mark intervals for Instruments, which is not here: numbers, and nothing is recorded. */
#ifndef INGOT_METAL_OS_SIGNPOST_H
#define INGOT_METAL_OS_SIGNPOST_H

#include <os/log.h>
#include <stdbool.h>
#include <stdint.h>

typedef uint64_t os_signpost_id_t;
typedef enum { OS_SIGNPOST_EVENT = 0, OS_SIGNPOST_INTERVAL_BEGIN = 1, OS_SIGNPOST_INTERVAL_END = 2 } os_signpost_type_t;
#define OS_SIGNPOST_ID_NULL      ((os_signpost_id_t)0)
#define OS_SIGNPOST_ID_INVALID   (~(os_signpost_id_t)0)
#define OS_SIGNPOST_ID_EXCLUSIVE ((os_signpost_id_t)0xEEEEB0B5B2B2EEEEull)

static inline os_signpost_id_t os_signpost_id_generate(os_log_t log) {
    (void)log;
    return OS_SIGNPOST_ID_EXCLUSIVE;
}
static inline bool os_signpost_enabled(os_log_t log) {
    (void)log;
    return false;
}
#define os_signpost_interval_begin(log, identifier, ...) ((void)(log), (void)(identifier))
#define os_signpost_interval_end(log, identifier, ...)   ((void)(log), (void)(identifier))
#define os_signpost_event_emit(log, identifier, ...)     ((void)(log), (void)(identifier))
#endif
