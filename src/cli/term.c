/* Colour, messages and progress. Colour and progress appear on a terminal only, and never
 * when NO_COLOR is set or TERM is "dumb". */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"

static pthread_mutex_t progress_lock = PTHREAD_MUTEX_INITIALIZER;
static bool progress_shown; /* under progress_lock */

static const char *escape(FILE *stream, const char *sequence) {
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    if ((no_color && *no_color) || !term || !strcmp(term, "dumb") || !isatty(fileno(stream))) {
        return "";
    }
    return sequence;
}

const char *cli_bold(FILE *stream) {
    return escape(stream, "\033[1m");
}

const char *cli_red(FILE *stream) {
    return escape(stream, "\033[1;31m");
}

const char *cli_green(FILE *stream) {
    return escape(stream, "\033[32m");
}

const char *cli_yellow(FILE *stream) {
    return escape(stream, "\033[1;33m");
}

const char *cli_dim(FILE *stream) {
    return escape(stream, "\033[2m");
}

const char *cli_plain(FILE *stream) {
    return escape(stream, "\033[0m");
}

static void say(const char *colour, const char *label, const char *format, va_list list) {
    cli_progress_end();
    fprintf(stderr, "ingot: %s%s:%s ", colour, label, cli_plain(stderr));
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
}

void cli_error(const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(cli_red(stderr), "error", format, list);
    va_end(list);
}

void cli_warning(const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(cli_yellow(stderr), "warning", format, list);
    va_end(list);
}

void cli_diagnostics(const char *text) {
    static const struct {
        const char *mark;
        const char *(*colour)(FILE *);
    } severities[] = {{": error:", cli_red},
                      {": fatal error:", cli_red},
                      {": warning:", cli_yellow},
                      {": note:", cli_bold}};
    cli_progress_end();
    while (*text) {
        size_t length = strcspn(text, "\n");
        const char *mark = NULL;
        size_t which = 0;
        for (; which < sizeof severities / sizeof severities[0]; which++) {
            if ((mark = memmem(text, length, severities[which].mark,
                               strlen(severities[which].mark)))) {
                break;
            }
        }
        if (mark) {
            size_t word = strlen(severities[which].mark);
            fprintf(stderr, "%s%.*s:%s%s%.*s%s%.*s\n", cli_bold(stderr), (int)(mark - text), text,
                    cli_plain(stderr), severities[which].colour(stderr), (int)word - 1, mark + 1,
                    cli_plain(stderr), (int)(length - (size_t)(mark - text) - word), mark + word);
        } else {
            fprintf(stderr, "%.*s\n", (int)length, text);
        }
        text += length;
        if (*text) {
            text++;
        }
    }
}

/* What of several parts, as files, the counts are about; 0 of 0: there is one. */
static size_t progress_part, progress_parts;

void cli_progress_part(size_t part, size_t parts) {
    pthread_mutex_lock(&progress_lock);
    progress_part = part;
    progress_parts = parts;
    pthread_mutex_unlock(&progress_lock);
}

static int terminal_columns(void) {
    struct winsize size = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

void cli_progress(size_t done, size_t total, const char *what) {
    enum { WIDTH = 24 };
    static const char full[] = "████████████████████████", empty[] = "░░░░░░░░░░░░░░░░░░░░░░░░";
    const int bytes = (int)(sizeof full - 1) / WIDTH; /* of one block */
    const char *term = getenv("TERM");
    if (!isatty(STDERR_FILENO) || !term || !strcmp(term, "dumb")) {
        return;
    }
    char counts[96];
    int columns = terminal_columns() - 1, width = columns / 3 < WIDTH ? columns / 3 : WIDTH;
    int filled = total ? (int)(done * (size_t)width / total) : 0;
    filled = filled > width ? width : filled;
    pthread_mutex_lock(&progress_lock);
    int used = progress_parts > 1 ? snprintf(counts, sizeof counts, "file %zu/%zu, %zu/%zu",
                                             progress_part, progress_parts, done, total)
                                  : snprintf(counts, sizeof counts, "%zu/%zu", done, total);
    int room = columns - width - used - 2; /* a line that is longer than the terminal's stays */
    fprintf(stderr, "\r\033[K%.*s%.*s %.*s%s%.*s", filled * bytes, full, (width - filled) * bytes,
            empty, columns > width ? columns - width - 1 : 0, counts, room > 0 ? " " : "",
            room > 0 ? room : 0, what);
    fflush(stderr);
    progress_shown = true;
    pthread_mutex_unlock(&progress_lock);
}

void cli_progress_end(void) {
    pthread_mutex_lock(&progress_lock);
    if (progress_shown) {
        fputs("\r\033[K", stderr);
    }
    progress_shown = false;
    pthread_mutex_unlock(&progress_lock);
}

const char *cli_bytes(uint64_t bytes, char out[32]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        unit++;
    }
    char number[24];
    int length = snprintf(number, sizeof number, "%.1f", value);
    if (length > 2 && !strcmp(number + length - 2, ".0")) {
        number[length - 2] = '\0';
    }
    snprintf(out, 32, "%s %s", number, units[unit]);
    return out;
}

bool cli_write_file(const char *path, const struct ig_text *text) {
    struct ig_error error = {0};
    if (text->failed) {
        ig_fail(&error, INGOT_OUT_OF_MEMORY, "no memory for %s", path);
    } else {
        ig_file_write(path, text->data, text->size, &error);
    }
    bool written = !error.status;
    if (!written) {
        cli_error("%s", ig_error_text(&error));
    }
    ig_error_clear(&error);
    return written;
}
