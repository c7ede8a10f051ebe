/* The calling thread's last error, and the names of the codes. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/objects.h"

static const char *const status_names[] = {
    [INGOT_OK] = "INGOT_OK",
    [INGOT_INVALID_ARGUMENT] = "INGOT_INVALID_ARGUMENT",
    [INGOT_OUT_OF_MEMORY] = "INGOT_OUT_OF_MEMORY",
    [INGOT_NOT_FOUND] = "INGOT_NOT_FOUND",
    [INGOT_COMPILE_ERROR] = "INGOT_COMPILE_ERROR",
    [INGOT_NO_COMPILER] = "INGOT_NO_COMPILER",
    [INGOT_BAD_ARCHIVE] = "INGOT_BAD_ARCHIVE",
    [INGOT_IO_ERROR] = "INGOT_IO_ERROR",
    [INGOT_UNSUPPORTED] = "INGOT_UNSUPPORTED",
    [INGOT_LAUNCH_ERROR] = "INGOT_LAUNCH_ERROR",
    [INGOT_KERNEL_FAULT] = "INGOT_KERNEL_FAULT",
    [INGOT_TIMEOUT] = "INGOT_TIMEOUT",
    [INGOT_BARRIER_ERROR] = "INGOT_BARRIER_ERROR",
    [INGOT_DEVICE_LOST] = "INGOT_DEVICE_LOST",
    [INGOT_INTERNAL_ERROR] = "INGOT_INTERNAL_ERROR",
    [INGOT_CANCELLED] = "INGOT_CANCELLED",
};

const char *ingot_status_name(ingot_status status) {
    size_t index = (size_t)status;
    if (index >= sizeof status_names / sizeof status_names[0]) {
        return "INGOT_UNKNOWN_STATUS";
    }
    return status_names[index];
}

/* A thread's message is freed when the thread ends, by the destructor of the key. */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_made;
static _Thread_local char *last_message;

static void make_key(void) {
    key_made = pthread_key_create(&key, free) == 0;
}

static void set_message(char *message) {
    pthread_once(&key_once, make_key);
    if (!key_made || pthread_setspecific(key, message) != 0) {
        /* Nothing would free it at the end of the thread: keep none. */
        free(message);
        message = NULL;
        if (key_made) {
            pthread_setspecific(key, NULL);
        }
        free(last_message);
        last_message = NULL;
        return;
    }
    free(last_message);
    last_message = message;
}

const char *ingot_error_message(void) {
    return last_message ? last_message : "";
}

#define TEXT(number)                      #number
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *ingot_version(void) {
    return VERSION_TEXT(INGOT_VERSION_MAJOR, INGOT_VERSION_MINOR, INGOT_VERSION_PATCH);
}

ingot_status ig_api_result(struct ig_error *error) {
    ingot_status status = error->status;
    if (status != INGOT_OK) {
        char *copy = NULL;
        const char *text = ig_error_text(error);
        if (asprintf(&copy, "%s", text) < 0) {
            copy = NULL;
        }
        set_message(copy);
    }
    ig_error_clear(error);
    return status;
}

ingot_status ig_api_fail(ingot_status status, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        text = NULL;
    }
    va_end(arguments);
    set_message(text);
    return status;
}
