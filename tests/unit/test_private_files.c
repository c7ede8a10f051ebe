/* What is not trusted of the file system and of the environment: links, other people's folders,
 * files that are no files, left-over folders, variables in programs with more rights. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "base/source_options.h"
#include "check.h"

static char *folder;

static const char *in_folder(const char *name) {
    static char paths[64][PATH_MAX]; /* more than there are calls */
    static unsigned next;
    char *path = paths[next++ % 64];
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static bool is_used(const char *path) {
    setenv("INGOT_CACHE_DIR", path, 1);
    char *cache = ig_cache_folder();
    bool used = cache && !strcmp(cache, path);
    free(cache);
    unsetenv("INGOT_CACHE_DIR");
    return used;
}

static void test_cache_folder(void) {
    const char *own = in_folder("own"), *absent = in_folder("absent");
    CHECK(!mkdir(own, 0700) && is_used(own) && is_used(absent));
    int fd = ig_folder_open_private(own);
    CHECK(fd >= 0);
    close(fd);
    CHECK(!chmod(own, 0770) && !is_used(own) && ig_folder_open_private(own) < 0 && errno == EPERM);
    CHECK(!chmod(own, 0702) && !is_used(own));
    CHECK(!chmod(own, 0755) && is_used(own));
    CHECK(!symlink(own, in_folder("link")) && !is_used(in_folder("link")));
    CHECK(!symlink(absent, in_folder("dangling")) && !is_used(in_folder("dangling")));
    CHECK(!ig_file_write(in_folder("file"), "x", 1, NULL) && !is_used(in_folder("file")));
    if (geteuid() == 0) {
        CHECK(!chown(own, 65534, 65534) && !is_used(own) && !chown(own, 0, 0) && is_used(own));
    } else {
        printf("skipped: a folder of another user, which only root can make\n");
    }
}

static void test_odd_files(void) {
    char *bytes = NULL;
    size_t size = 0;
    const char *fifo = in_folder("fifo"), *name = in_folder("socket");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(!bind(listener, (struct sockaddr *)&address, sizeof address));
    CHECK(!mkfifo(fifo, 0600)); /* nobody writes to it: reading would wait for ever */
    const char *odd[] = {fifo, name, "/dev/zero", folder};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct ig_error error = {0};
        CHECK(ig_file_read(odd[i], 0, &bytes, &size, &error) == INGOT_IO_ERROR);
        CHECK(strstr(ig_error_text(&error), odd[i]));
        ig_error_clear(&error);
    }
    close(listener);
    int here = open(folder, O_RDONLY | O_DIRECTORY);
    CHECK(!symlink("file", in_folder("to_file")));
    CHECK(ig_file_read_at(here, "to_file", 0, &bytes, &size, NULL) == INGOT_IO_ERROR);
    CHECK(ig_file_read_at(here, "fifo", 0, &bytes, &size, NULL) == INGOT_IO_ERROR);
    CHECK(ig_file_read_at(here, "nothing", 0, &bytes, &size, NULL) == INGOT_NOT_FOUND);
    const struct ig_bytes parts[] = {{"one", 3}, {"two", 3}};
    CHECK(ig_file_write_at(here, "parts", parts, 2) == 0);
    CHECK(ig_file_read_at(here, "parts", 0, &bytes, &size, NULL) == INGOT_OK);
    CHECK(size == 6 && !memcmp(bytes, "onetwo", 6));
    free(bytes);
    close(here);
}

static void test_sweep(void) {
    const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    const char *names[] = {"ingot-aB3xYz", "ingot-aB3xY", "ingot-other-", "ingot-fresh1"};
    setenv("TMPDIR", folder, 1);
    for (int i = 0; i < 4; i++) {
        CHECK(!mkdir(in_folder(names[i]), 0700));
        CHECK(i == 3 || !utimensat(AT_FDCWD, in_folder(names[i]), old, 0));
    }
    CHECK(!symlink(folder, in_folder("ingot-link01")));
    CHECK(!utimensat(AT_FDCWD, in_folder("ingot-link01"), old, AT_SYMLINK_NOFOLLOW));
    ig_folder_sweep_temporary();
    unsetenv("TMPDIR");
    CHECK(access(in_folder(names[0]), F_OK) != 0);
    for (int i = 1; i < 4; i++) {
        CHECK(!access(in_folder(names[i]), F_OK));
    }
    CHECK(!access(in_folder("ingot-link01"), F_OK));
}

/* What a copy of this program prints, which has the rights of another user. */
static void test_environment(void) {
    struct statvfs system;
    setenv("INGOT_TEST_VARIABLE", "seen", 1);
    CHECK(ig_environment("INGOT_TEST_VARIABLE") &&
          !strcmp(ig_environment("INGOT_TEST_VARIABLE"), "seen"));
    if (geteuid() != 0 || statvfs(folder, &system) || system.f_flag & ST_NOSUID) {
        printf("skipped: a set-uid program, which needs root and a file system that allows it\n");
        return;
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    printf("skipped: a set-uid program, which sanitizers cannot look into\n");
    return;
#endif
    char *bytes = NULL;
    size_t size = 0;
    const char *copy = in_folder("copy"), *argv[] = {copy, "--environment", NULL};
    CHECK(!ig_file_read("/proc/self/exe", 0, &bytes, &size, NULL));
    CHECK(!ig_file_write(copy, bytes, size, NULL));
    CHECK(!chmod(folder, 0755) && !chown(copy, 65534, 65534) && !chmod(copy, 04755));
    struct ig_process process = {.arguments = argv, .memory = SIZE_MAX};
    struct ig_process_result result = {0};
    CHECK(!ig_process_run(&process, &result, NULL) && result.exit_code == 0);
    CHECK(!strcmp(ig_text_string(&result.output), "(none)\n"));
    ig_process_result_free(&result);
    free(bytes);
}

static void test_options(void) {
    CHECK(ig_msl_version_is_known(310) && ig_msl_version_is_known(100));
    CHECK(!ig_msl_version_is_known(999) && !ig_msl_version_is_known(0));
    static const char *const good[] = {"A", "_a1", "F(x)", "F(x, ...)", "F()"};
    static const char *const bad[] = {"",    "1",      "A B", "A\n",  "A\"",
                                      "F(x", "F(x\n)", "A-B", "F(\")"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK(ig_macro_name_is_good(good[i], strlen(good[i])));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(!ig_macro_name_is_good(bad[i], strlen(bad[i])));
    }
    CHECK(ig_macro_value_is_good("\"a\\\\b\" + 1\t") && !ig_macro_value_is_good("1\n#error"));
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "--environment")) {
        const char *value = ig_environment("INGOT_TEST_VARIABLE");
        printf("%s\n", value ? value : "(none)");
        return 0;
    }
    CHECK(!ig_folder_temporary(&folder, NULL));
    test_cache_folder();
    test_odd_files();
    test_sweep();
    test_environment();
    test_options();
    ig_folder_remove(folder);
    free(folder);
    return check_report();
}
