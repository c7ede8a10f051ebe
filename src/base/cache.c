/*
 * The cache folder's limit: reading it, noting uses, counting what is written.
 *
 * The ledger in the folder holds what the folder held when it was last looked through plus what
 * was written since, and the time of that look. It is only an estimate: a lost count is made good
 * by the next look, a damaged ledger by looking at once.
 */
#include "base/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_sweep.h"
#include "base/environment.h"
#include "base/file.h"

enum { HOUR = 3600, DAY = 24 * HOUR };

ingot_status ig_cache_parse_limit(const char *what, const char *text, uint64_t *limit,
                                  struct ig_error *error) {
    static const char units[] = "kmgt";
    if (!strcmp(text, "none")) {
        *limit = IG_CACHE_UNLIMITED;
        return INGOT_OK;
    }
    char *end = NULL;
    errno = 0;
    uint64_t number = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    const char *unit = end && *end ? strchr(units, *end | 0x20) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    const char *rest = !end ? text : end + (unit != NULL);
    bool is_size = end && (!*rest || (unit && !strcmp(rest, "iB")));
    if (!is_size || errno || number >= UINT64_MAX >> shift) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "%s is \"%s\", but it has to be %s: a number of bytes, or one with K, M, G "
                       "or T behind it, such as 500M; 0 keeps nothing, none is no limit",
                       what, text, is_size ? "less than 16 EiB" : "a size");
    }
    *limit = number << shift;
    return INGOT_OK;
}

ingot_status ig_cache_limit(uint64_t *limit, struct ig_error *error) {
    const char *given = ig_environment("INGOT_CACHE_LIMIT");
    *limit = IG_CACHE_LIMIT;
    return given && *given ? ig_cache_parse_limit("INGOT_CACHE_LIMIT", given, limit, error)
                           : INGOT_OK;
}

ingot_status ig_cache_no_folder(struct ig_error *error) {
    return ig_fail(
        error, INGOT_IO_ERROR,
        "there is no cache folder: what INGOT_CACHE_DIR, XDG_CACHE_HOME or HOME names is "
        "no folder, is a link, is another user's or can be written by others");
}

void ig_cache_used(const char *path) {
    ig_cache_used_at(AT_FDCWD, path);
}

void ig_cache_used_at(int folder, const char *path) {
    struct stat info;
    if (fstatat(folder, path, &info, AT_SYMLINK_NOFOLLOW)) {
        return;
    }
    int64_t age = (int64_t)time(NULL) - (int64_t)info.st_mtime;
    if (age > HOUR || age < -HOUR) { /* or the clock was wrong */
        utimensat(folder, path, NULL, AT_SYMLINK_NOFOLLOW);
    }
}

/* ---- the ledger ---- */

#define LEDGER_FORMAT "%020" PRIu64 " %020" PRId64 "\n"
enum { LEDGER_SIZE = 20 + 1 + 20 + 1 };

struct ledger {
    uint64_t bytes;
    int64_t looked; /* when the folder was last looked through */
};

static bool read_ledger(int fd, struct ledger *ledger) {
    char text[LEDGER_SIZE + 1] = {0};
    return pread(fd, text, LEDGER_SIZE, 0) == LEDGER_SIZE &&
           sscanf(text, "%20" SCNu64 " %20" SCNd64, &ledger->bytes, &ledger->looked) == 2;
}

static void write_ledger(int fd, const struct ledger *ledger) {
    char text[LEDGER_SIZE + 1];
    snprintf(text, sizeof text, LEDGER_FORMAT, ledger->bytes, ledger->looked);
    if (pwrite(fd, text, LEDGER_SIZE, 0) != LEDGER_SIZE && ftruncate(fd, 0)) {
        return; /* neither right nor empty: a look will follow */
    }
}

/* The ledger, locked, or -1: another process has it, or the folder cannot be written. File systems
 * without locks do without: then a count may be lost. */
static int open_ledger(const char *folder) {
    int root = ig_folder_open_private(folder);
    if (root < 0) {
        return -1;
    }
    int fd =
        openat(root, IG_CACHE_LEDGER, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    close(root);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static uint64_t add(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* A little below the limit, so that the next file does not pass it at once. */
static uint64_t below(uint64_t limit) {
    return limit - limit / 8;
}

void ig_cache_kept(const char *folder, uint64_t size, uint64_t limit) {
    static atomic_uint_least64_t uncounted; /* while others had the ledger */
    struct ig_cache_summary removed, left;
    if (limit == 0) {
        ig_cache_sweep(folder, 0, 0, false, &removed, &left, NULL);
        return;
    }
    uint64_t bytes = ig_cache_blocks(size);
    int fd = open_ledger(folder);
    if (fd < 0) {
        atomic_fetch_add(&uncounted, bytes);
        return;
    }
    struct ledger ledger = {0};
    int64_t now = (int64_t)time(NULL);
    bool known = read_ledger(fd, &ledger) && ledger.looked <= now && now - ledger.looked < DAY;
    ledger.bytes = add(ledger.bytes, add(bytes, atomic_exchange(&uncounted, 0)));
    if (!known || ledger.bytes > limit) {
        if (ig_cache_sweep(folder, limit, below(limit), false, &removed, &left, NULL) == INGOT_OK) {
            ledger.bytes = left.all_bytes;
        }
        ledger.looked = now;
        ig_folder_sweep_temporary();
    }
    write_ledger(fd, &ledger);
    close(fd);
}

ingot_status ig_cache_trim(const char *folder, uint64_t limit, struct ig_cache_summary *removed,
                           struct ig_cache_summary *left, struct ig_error *error) {
    ingot_status status = ig_cache_sweep(folder, limit, limit, limit == 0, removed, left, error);
    int fd = left->all_files ? open_ledger(folder) : -1;
    if (fd >= 0) {
        write_ledger(fd, &(struct ledger){left->all_bytes, (int64_t)time(NULL)});
        close(fd);
    }
    return status;
}
