/* os_log, to stderr; levels below "error" only where OS_ACTIVITY_MODE is "debug". */
#ifndef INGOT_METAL_OS_LOG_H
#define INGOT_METAL_OS_LOG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct os_log_s *os_log_t;
typedef enum { OS_LOG_TYPE_DEFAULT = 0, OS_LOG_TYPE_INFO = 1, OS_LOG_TYPE_DEBUG = 2, OS_LOG_TYPE_ERROR = 16,
               OS_LOG_TYPE_FAULT = 17 } os_log_type_t;
#define OS_LOG_DEFAULT  ((os_log_t)0)
#define OS_LOG_DISABLED ((os_log_t)0)

static inline os_log_t os_log_create(const char *subsystem, const char *category) {
    (void)subsystem;
    (void)category;
    return OS_LOG_DEFAULT;
}
static inline int ingot_os_log_is_wanted(os_log_type_t type) {
    const char *mode = getenv("OS_ACTIVITY_MODE");
    return type >= OS_LOG_TYPE_ERROR || (mode && !strcmp(mode, "debug"));
}
#define os_log_with_type(log, type, ...)                                                           \
    ((void)(log), ingot_os_log_is_wanted(type) ? (void)(fprintf(stderr, __VA_ARGS__), fputc('\n', stderr)) : (void)0)
#define os_log(log, ...)       os_log_with_type(log, OS_LOG_TYPE_DEFAULT, __VA_ARGS__)
#define os_log_info(log, ...)  os_log_with_type(log, OS_LOG_TYPE_INFO, __VA_ARGS__)
#define os_log_debug(log, ...) os_log_with_type(log, OS_LOG_TYPE_DEBUG, __VA_ARGS__)
#define os_log_error(log, ...) os_log_with_type(log, OS_LOG_TYPE_ERROR, __VA_ARGS__)
#define os_log_fault(log, ...) os_log_with_type(log, OS_LOG_TYPE_FAULT, __VA_ARGS__)
#endif
