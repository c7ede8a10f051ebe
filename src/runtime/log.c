/* Messages of running kernels: made from a format and 8-byte slots, as printf does; then given to
 * the user's function, or to stderr. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "runtime/objects.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER; /* one message at a time */

/* The user's function may take any time, so a fork does not wait for it. */
static void leave(void *context) {
    (void)context;
}

static void renew(void *context) {
    pthread_mutex_init(context, NULL);
}

__attribute__((constructor)) static void guard(void) {
    static struct ig_fork_hook hook = {leave, leave, renew, &log_lock, NULL, NULL};
    ig_fork_add(&hook);
}
static ingot_log_function log_function;
static void *log_context;

void ingot_set_log_function(ingot_log_function function, void *context) {
    pthread_mutex_lock(&log_lock);
    log_function = function;
    log_context = context;
    pthread_mutex_unlock(&log_lock);
}

void ig_log_message(int level, const char *message) {
    pthread_mutex_lock(&log_lock);
    if (log_function) {
        log_function(log_context, level, message);
    } else {
        fprintf(stderr, "%s\n", message);
    }
    pthread_mutex_unlock(&log_lock);
}

/* ---- formatting ---- */

#define MAX_SPEC 32

/* Copies a width or precision, of which no message needs more than a line: printf would count to
 * any number. */
static void copy_number(const char **text, char spec[MAX_SPEC], size_t *length) {
    enum { MOST = 400, BASE = 10 };
    unsigned value = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        value = value * BASE + (unsigned)(**text - '0');
        value = value < MOST ? value : MOST;
    }
    *length += (size_t)snprintf(spec + *length, MAX_SPEC - *length, "%u", value);
}

/* Copies flags, width and precision of a conversion and drops its length modifiers; returns
 * the conversion character, and moves *text past it. 0: not a conversion. *elements: 4 for %v4f. */
static char parse_conversion(const char **text, char spec[MAX_SPEC], unsigned *elements) {
    const char *p = *text; /* after '%' */
    size_t length = 0;
    spec[length++] = '%';
    while (*p && strchr("-+ #0123456789.", *p) && length < MAX_SPEC - 8) {
        if (*p >= '1' && *p <= '9') {
            copy_number(&p, spec, &length);
        } else {
            spec[length++] = *p++;
        }
    }
    *elements = 1;
    if (*p == 'v' && p[1] >= '2' && p[1] <= '4') {
        *elements = (unsigned)(p[1] - '0');
        p += 2;
    }
    while (*p && strchr("hlLqjzt", *p)) {
        p++;
    }
    if (!*p) {
        return 0;
    }
    spec[length] = '\0';
    *text = p + 1;
    return *p;
}

static void append_integer(struct ig_text *out, char *spec, char conversion, uint64_t value) {
    size_t length = strlen(spec);
    spec[length] = 'l';
    spec[length + 1] = 'l';
    spec[length + 2] = conversion;
    spec[length + 3] = '\0';
    char buffer[600];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int size = snprintf(buffer, sizeof buffer, spec, (unsigned long long)value);
#pragma GCC diagnostic pop
    if (size > 0) {
        ig_text_append(out, buffer,
                       (size_t)size < sizeof buffer ? (size_t)size : sizeof buffer - 1);
    }
}

static void append_double(struct ig_text *out, char *spec, char conversion, uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    size_t length = strlen(spec);
    spec[length] = conversion;
    spec[length + 1] = '\0';
    char buffer[600];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int size = snprintf(buffer, sizeof buffer, spec, value);
#pragma GCC diagnostic pop
    if (size > 0) {
        ig_text_append(out, buffer,
                       (size_t)size < sizeof buffer ? (size_t)size : sizeof buffer - 1);
    }
}

static void append_argument(struct ig_text *out, char *spec, char conversion, uint64_t value,
                            ig_log_string_function string, void *context) {
    switch (conversion) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        append_integer(out, spec, conversion, value);
        break;
    case 'c': {
        char character = (char)value;
        ig_text_append(out, &character, 1);
        break;
    }
    case 'p':
        ig_text_printf(out, "0x%llx", (unsigned long long)value);
        break;
    case 's':
        ig_text_puts(out, value ? string(context, value) : "(null)");
        break;
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        append_double(out, spec, conversion, value);
        break;
    default:
        ig_text_printf(out, "%%%c", conversion);
    }
}

void ig_log_format(struct ig_text *out, const char *format, uint32_t count, const uint64_t *args,
                   ig_log_string_function string, void *context) {
    uint32_t next = 0;
    for (const char *p = format; *p;) {
        if (*p != '%') {
            size_t plain = strcspn(p, "%");
            ig_text_append(out, p, plain);
            p += plain;
            continue;
        }
        p++;
        if (*p == '%') {
            ig_text_append(out, p++, 1);
            continue;
        }
        char spec[MAX_SPEC] = "";
        unsigned elements;
        char conversion = parse_conversion(&p, spec, &elements);
        if (!conversion) {
            break;
        }
        for (unsigned i = 0; i < elements; i++) {
            char own[MAX_SPEC];
            memcpy(own, spec, sizeof own);
            ig_text_puts(out, i ? "," : "");
            if (next < count) {
                append_argument(out, own, conversion, args[next++], string, context);
            } else {
                ig_text_puts(out, "(missing)");
            }
        }
    }
}
