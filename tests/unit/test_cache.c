/* The cache folder: limits, what goes first, what is never touched, many processes at once. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/file.h"
#include "check.h"

enum { HOUR = 3600, DAY = 24 * HOUR, MONTH = 30 * DAY };

static char *work; /* temporary */
static char cache[PATH_MAX - 1024];
static struct ig_cache_summary removed, left;

static const char *in_cache(const char *name, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%s/%s", cache, name);
    return path;
}

/* "ab/ab00…07.ingot" of the number 7 in the folder ab. */
static const char *kernel(unsigned folder, unsigned number, char path[PATH_MAX]) {
    char name[100];
    snprintf(name, sizeof name, "%02x/%02x%062x.ingot", folder, folder, number);
    return in_cache(name, path);
}

static void set_age(const char *path, long seconds) {
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    CHECK(!utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW));
}

static long age(const char *path) {
    struct stat info;
    return lstat(path, &info) ? -1 : (long)(time(NULL) - info.st_mtime);
}

static bool is_there(const char *path) {
    struct stat info;
    return !lstat(path, &info);
}

/* A file of that many bytes, each `value`; its folder is made. False when it cannot be had. */
static bool put(const char *path, size_t size, int value) {
    char folder[PATH_MAX], *bytes = malloc(size + 1);
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    bool done = false;
    if (bytes) {
        memset(bytes, value, size);
        done = !ig_folder_make(folder, NULL) && !ig_file_write(path, bytes, size, NULL);
    }
    free(bytes);
    return done;
}

static void put_aged(const char *name, size_t size, long seconds) {
    char path[PATH_MAX];
    CHECK(put(in_cache(name, path), size, 'x'));
    set_age(path, seconds);
}

static void begin(const char *name) {
    snprintf(cache, sizeof cache, "%s/%s", work, name);
}

/* ---- limits ---- */

static void test_limits(void) {
    static const struct {
        const char *text;
        uint64_t limit;
    } good[] = {{"0", 0},
                {"1000", 1000},
                {"3k", 3 << 10},
                {"500M", (uint64_t)500 << 20},
                {"2G", (uint64_t)2 << 30},
                {"2GiB", (uint64_t)2 << 30},
                {"1t", (uint64_t)1 << 40},
                {"none", IG_CACHE_UNLIMITED}};
    static const char *const bad[] = {"",
                                      "M",
                                      "5x",
                                      "1.5G",
                                      "-1",
                                      " 1",
                                      "2GB",
                                      "2 GiB",
                                      "12iB",
                                      "None",
                                      "1GM",
                                      "99999999999999999999",
                                      "99999999999G"};
    struct ig_error error = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t limit = 1;
        CHECK(!ig_cache_parse_limit("--trim", good[i].text, &limit, &error));
        CHECK(limit == good[i].limit);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t limit;
        char words[64];
        snprintf(words, sizeof words, "--trim is \"%s\"", bad[i]);
        CHECK(ig_cache_parse_limit("--trim", bad[i], &limit, &error) == INGOT_INVALID_ARGUMENT);
        CHECK(strstr(ig_error_text(&error), words));
    }
    uint64_t limit;
    unsetenv("INGOT_CACHE_LIMIT");
    CHECK(!ig_cache_limit(&limit, &error) && limit == IG_CACHE_LIMIT);
    setenv("INGOT_CACHE_LIMIT", "7M", 1);
    CHECK(!ig_cache_limit(&limit, &error) && limit == 7 << 20);
    setenv("INGOT_CACHE_LIMIT", "much", 1);
    CHECK(ig_cache_limit(&limit, &error) == INGOT_INVALID_ARGUMENT);
    CHECK(strstr(ig_error_text(&error), "INGOT_CACHE_LIMIT is \"much\""));
    unsetenv("INGOT_CACHE_LIMIT");
    ig_error_clear(&error);
}

/* ---- what goes, and what does not ---- */

static void test_least_recently_used(void) {
    char path[PATH_MAX];
    begin("lru");
    CHECK(!ig_cache_survey(cache, &left, NULL) && !left.all_files && !left.oldest);
    CHECK(!ig_cache_trim(cache, 0, &removed, &left, NULL) && !removed.all_files);
    CHECK(!is_there(cache)); /* looking makes no folder */
    for (unsigned i = 0; i < 10; i++) {
        CHECK(put(kernel(i % 3, i, path), 8000, 'k'));
        set_age(path, (10 - i) * DAY);
    }
    put_aged("prelude/prelude-0123456789abcdef01234567.pch", 1, 20 * DAY);
    CHECK(!ig_cache_survey(cache, &left, NULL));
    CHECK(left.files[IG_CACHE_KERNEL] == 10 && left.bytes[IG_CACHE_KERNEL] == 10 * 8192);
    CHECK(left.files[IG_CACHE_HEADER] == 1 && left.bytes[IG_CACHE_HEADER] == 4096);
    CHECK(left.all_files == 11 && left.all_bytes == 10 * 8192 + 4096);
    CHECK(labs((long)(time(NULL) - left.oldest) - 20 * DAY) < 10);

    ig_cache_used(kernel(0, 0, path)); /* the oldest kernel is in use again */
    CHECK(age(path) < 10);
    CHECK(!ig_cache_trim(cache, 4 * 8192 + 100, &removed, &left, NULL));
    CHECK(removed.files[IG_CACHE_KERNEL] == 6 && removed.files[IG_CACHE_HEADER] == 1);
    CHECK(left.all_files == 4 && left.all_bytes == 4 * 8192);
    CHECK(is_there(kernel(0, 0, path)));
    for (unsigned i = 1; i < 10; i++) {
        CHECK(is_there(kernel(i % 3, i, path)) == (i >= 7));
    }
    CHECK(put(in_cache("torch-probe", path), 66, 'x'));
    CHECK(!ig_cache_trim(cache, 0, &removed, &left, NULL));
    CHECK(removed.all_files == 4 && !left.all_files);
    CHECK(!is_there(in_cache("torch-probe", path)));
    CHECK(is_there(cache) && !is_there(in_cache("00", path)) &&
          !is_there(in_cache("ledger", path)));
}

static void test_uses(void) {
    char path[PATH_MAX];
    begin("uses");
    CHECK(put(kernel(1, 1, path), 10, 'k'));
    set_age(path, HOUR - 60); /* noted within the hour: not again */
    ig_cache_used(path);
    CHECK(age(path) >= HOUR - 60);
    set_age(path, HOUR + 60);
    ig_cache_used(path);
    CHECK(age(path) < 10);
    set_age(path, -2 * DAY); /* a clock was wrong */
    ig_cache_used(path);
    CHECK(age(path) >= 0);
    ig_cache_used(kernel(1, 2, path)); /* none there */
    CHECK(!is_there(path));
}

/* Everything that is not named as the cache names its files stays, and so does what links lead to.
 */
static void test_foreign_files(void) {
    static const char hex[] = "ab00000000000000000000000000000000000000000000000000000000000000";
    static const char *const foreign[] = {"notes.txt",
                                          "ab/notes.txt",
                                          "ab/ab.ingot",
                                          "ab/%s",
                                          "ab/%s.ingot.bak",
                                          "ab/%s.ingot.tmp-",
                                          "ab/%s.ingot.tmp-1/a",
                                          "ab/%s0.ingot",
                                          "ac/%s.ingot", /* in another's folder */
                                          "abc/%s.ingot",
                                          "AB/%s.ingot",
                                          "prelude/%s.ingot",
                                          "prelude/prelude-1.pch",
                                          "prelude/prelude-0123456789abcdef01234567.pch.bak",
                                          "prelude/prelude-0123456789abcdef01234567.pch.new",
                                          "ab/prelude-0123456789abcdef01234567.pch"};
    char path[PATH_MAX], name[256], outside[PATH_MAX - 200], target[PATH_MAX];
    begin("foreign");
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        snprintf(name, sizeof name, foreign[i], hex);
        put_aged(name, 10, 90 * DAY);
    }
    snprintf(outside, sizeof outside, "%s/outside/ad", work);
    snprintf(target, sizeof target, "%s/ad%.62s.ingot", outside, hex + 2);
    CHECK(put(target, 10, 'o') && !symlink(outside, in_cache("ad", path)));
    snprintf(name, sizeof name, "ab/%.63s1.ingot", hex);
    CHECK(!symlink(target, in_cache(name, path)));
    snprintf(name, sizeof name, "ab/%.63s2.ingot", hex);
    CHECK(!mkdir(in_cache(name, path), 0700));
    put_aged("ab/ab00000000000000000000000000000000000000000000000000000000000003.ingot", 10, 0);

    CHECK(!ig_cache_trim(cache, 0, &removed, &left, NULL));
    CHECK(removed.all_files == 1 && !left.all_files);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        snprintf(name, sizeof name, foreign[i], hex);
        CHECK(is_there(in_cache(name, path)));
    }
    CHECK(is_there(target) && is_there(in_cache("ad", path)));
    for (char digit = '1'; digit <= '2'; digit++) {
        snprintf(name, sizeof name, "ab/%.63s%c.ingot", hex, digit);
        CHECK(is_there(in_cache(name, path)));
    }
}

#define KEY "cd00000000000000000000000000000000000000000000000000000000000000"

static void write_ledger(unsigned long long bytes, long seconds_ago) {
    char path[PATH_MAX], text[64];
    int size = snprintf(text, sizeof text, "%020llu %020lld\n", bytes,
                        (long long)time(NULL) - seconds_ago);
    CHECK(!ig_file_write(in_cache("ledger", path), text, (size_t)size, NULL));
}

/* Left by a crash: removed after a day, when the folder is looked through, which is once a day. */
static void test_leftovers(void) {
    static const struct {
        const char *name;
        long age;
        bool stays;
    } files[] = {
        {"cd/" KEY ".ingot.tmp-1a-0-2b", DAY + HOUR, false},
        {"cd/" KEY ".ingot.tmp-1a-0-2c", DAY - HOUR, true},
        {"prelude/prelude-0123456789abcdef01234567.pch.12-3f.new", DAY + HOUR, false},
        {"prelude/prelude-0123456789abcdef01234567.pch.12-3e.new", DAY - HOUR, true},
        {"prelude/prelude-0123456789abcdef01234567.pch.12.new", DAY + HOUR, false},
        {"prelude/prelude-0123456789abcdef01234567.pch.12-3fzz01aa.new.tmp", DAY + HOUR, false},
        {"prelude/prelude-0123456789abcdef01234567.pch", MONTH + HOUR, false},
        {"prelude/prelude-1123456789abcdef01234567.pch", MONTH - HOUR, true},
        {"cd/" KEY ".ingot", MONTH + HOUR, true},
    };
    const size_t count = sizeof files / sizeof *files;
    char path[PATH_MAX];
    begin("leftovers");
    for (size_t i = 0; i < count; i++) {
        put_aged(files[i].name, 10, files[i].age);
    }
    write_ledger(4096 * count, DAY - HOUR);
    ig_cache_kept(cache, 10, IG_CACHE_UNLIMITED); /* not yet */
    CHECK(!ig_cache_survey(cache, &left, NULL) && left.all_files == count);
    CHECK(left.files[IG_CACHE_TEMPORARY] == 6);
    write_ledger(4096 * count, DAY + HOUR);
    ig_cache_kept(cache, 10, IG_CACHE_UNLIMITED);
    for (size_t i = 0; i < count; i++) {
        CHECK(is_there(in_cache(files[i].name, path)) == files[i].stays);
    }
    CHECK(!ig_cache_trim(cache, 0, &removed, &left, NULL) && removed.all_files == 4);
}

/* ---- keeping below the limit ---- */

static void test_kept(void) {
    enum { FILE_SIZE = 64 << 10, LIMIT = 1 << 20, FILES = 60 };
    char path[PATH_MAX];
    size_t looks = 0;
    uint64_t before = 0;
    begin("kept");
    for (unsigned i = 0; i < FILES; i++) {
        CHECK(put(kernel(i % 5, i, path), FILE_SIZE, 'k'));
        set_age(path, FILES - i);
        if (i == 20) { /* damaged: as if it were not there */
            CHECK(put(in_cache("ledger", path), 42, 'x'));
        }
        ig_cache_kept(cache, FILE_SIZE, LIMIT);
        CHECK(!ig_cache_survey(cache, &left, NULL) && left.all_bytes <= LIMIT);
        CHECK(is_there(kernel(i % 5, i, path)));
        looks += left.all_files <= before;
        before = left.all_files;
    }
    CHECK(left.all_bytes > LIMIT / 2);
    CHECK(looks <= FILES / 3 + 1); /* an eighth of the limit goes at once: two or three files */
    ig_cache_kept(cache, 0, 0);    /* the limit 0 */
    CHECK(!ig_cache_survey(cache, &left, NULL) && !left.all_files);

    /* what is larger than the limit takes no other's place */
    CHECK(put(kernel(1, 1, path), 2 * LIMIT, 'k') && put(kernel(1, 2, path), FILE_SIZE, 'k'));
    set_age(path, DAY);
    ig_cache_kept(cache, 2 * LIMIT, LIMIT);
    CHECK(!is_there(kernel(1, 1, path)) && is_there(kernel(1, 2, path)));
}

static void test_no_folder(void) {
    struct ig_error error = {0};
    snprintf(cache, sizeof cache, "/proc/nowhere");
    ig_cache_kept(cache, 10, 100);
    ig_cache_kept(cache, 10, 0);
    CHECK(!ig_cache_survey(cache, &left, &error) && !left.all_files);
    begin("file");
    CHECK(put(cache, 10, 'f'));
    ig_cache_kept(cache, 10, 100);
    CHECK(ig_cache_survey(cache, &left, &error) == INGOT_IO_ERROR);
    CHECK(strstr(ig_error_text(&error), cache) && strstr(ig_error_text(&error), "Not a directory"));
    CHECK(is_there(cache));
    ig_error_clear(&error);
}

/* ---- several processes ---- */

/* Runs `task` in `count` children; true when all of them return 0. */
static bool in_processes(int count, int (*task)(int)) {
    bool good = true;
    fflush(stderr);
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            _exit(task(i));
        }
    }
    for (int i = 0, status; i < count; i++) {
        good &= wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return good;
}

static int trim_as_another_user(int index) {
    struct ig_error error = {0};
    (void)index;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) {
        return 1;
    }
    if (ig_cache_trim(cache, 0, &removed, &left, &error) != INGOT_IO_ERROR) {
        return 2;
    }
    if (removed.all_files || left.all_files != 3) {
        return 3;
    }
    ig_cache_kept(cache, 10, 1); /* silently nothing */
    return strstr(ig_error_text(&error), "cannot remove") && strstr(ig_error_text(&error), ".ingot")
               ? 0
               : 4;
}

static void test_unwritable(void) {
    char path[PATH_MAX];
    begin("unwritable");
    for (unsigned i = 0; i < 3; i++) {
        CHECK(put(kernel(1, i, path), 10, 'k'));
    }
    CHECK(!chmod(work, 0755) && !chmod(cache, 0555) && !chmod(in_cache("01", path), 0555));
    CHECK(in_processes(1, trim_as_another_user));
    CHECK(!chmod(cache, 0700) && !chmod(in_cache("01", path), 0700) && !chmod(work, 0700));
    CHECK(!ig_cache_survey(cache, &left, NULL) && left.all_files == 3);
}

enum { PROCESSES = 4, ROUNDS = 150, ENTRY = 16 << 10, SHARED_LIMIT = 512 << 10 };

/* Writes, reads and maps files of a few names that all processes use, below a small limit: each
 * file is whole whenever it is there, and stays usable while it is open. */
static int share_cache(int index) {
    for (unsigned i = 0; i < ROUNDS; i++) {
        char path[PATH_MAX], *bytes;
        size_t size;
        unsigned number = (i * 7 + (unsigned)index) % 61;
        kernel(number % 9, number, path);
        if (!put(path, ENTRY, (int)number)) {
            return 1;
        }
        int fd = open(path, O_RDONLY);
        ig_cache_kept(cache, ENTRY, SHARED_LIMIT);
        if (fd >= 0) {
            char *mapped = mmap(NULL, ENTRY, PROT_READ, MAP_PRIVATE, fd, 0);
            if (mapped == MAP_FAILED || mapped[0] != (char)number ||
                mapped[ENTRY - 1] != (char)number) {
                return 2;
            }
            munmap(mapped, ENTRY);
            close(fd);
        }
        number = (number + 13) % 61;
        if (ig_file_read(kernel(number % 9, number, path), 0, &bytes, &size, NULL) == INGOT_OK) {
            if (size != ENTRY || bytes[0] != (char)number || bytes[ENTRY - 1] != (char)number) {
                return 3;
            }
            ig_cache_used(path);
            free(bytes);
        }
    }
    return 0;
}

static int trim_to_nothing(int index) {
    (void)index;
    return ig_cache_trim(cache, 0, &removed, &left, NULL) != INGOT_OK;
}

static void test_processes(void) {
    char path[PATH_MAX];
    begin("shared");
    CHECK(in_processes(PROCESSES, share_cache));
    CHECK(put(kernel(1, 1, path), ENTRY, 'k')); /* what others' counts left out is found */
    ig_cache_kept(cache, SHARED_LIMIT, SHARED_LIMIT);
    CHECK(!ig_cache_survey(cache, &left, NULL));
    CHECK(left.all_bytes <= SHARED_LIMIT && left.all_bytes >= SHARED_LIMIT / 2);
    CHECK(!left.files[IG_CACHE_TEMPORARY]);

    begin("sweepers");
    for (unsigned i = 0; i < 300; i++) {
        CHECK(put(kernel(i % 16, i, path), 10, 'k'));
    }
    CHECK(in_processes(PROCESSES, trim_to_nothing));
    CHECK(!ig_cache_survey(cache, &left, NULL) && !left.all_files);
}

static void *share_in_thread(void *index) {
    return share_cache((int)(intptr_t)index) ? index : NULL;
}

static void test_threads(void) {
    pthread_t threads[PROCESSES];
    begin("threads");
    for (intptr_t i = 0; i < PROCESSES; i++) {
        CHECK(!pthread_create(&threads[i], NULL, share_in_thread, (void *)(i + 1)));
    }
    for (int i = 0; i < PROCESSES; i++) {
        void *failure = NULL;
        CHECK(!pthread_join(threads[i], &failure) && !failure);
    }
}

int main(void) {
    CHECK(!ig_folder_temporary(&work, NULL));
    test_limits();
    test_least_recently_used();
    test_uses();
    test_foreign_files();
    test_leftovers();
    test_kept();
    test_no_folder();
    test_unwritable();
    test_processes();
    test_threads();
    ig_folder_remove(work);
    free(work);
    return check_report();
}
