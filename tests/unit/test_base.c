/* Errors, arena, text, hash, files, processes and JSON. */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/process.h"
#include "check.h"

static void test_error(void) {
    struct ig_error error = {0};
    CHECK(!strcmp(ig_error_text(&error), ""));
    CHECK(ig_fail(&error, INGOT_IO_ERROR, "%d of %s", 3, "x") == INGOT_IO_ERROR);
    ig_error_prefix(&error, "kernel %s", "k");
    CHECK(!strcmp(ig_error_text(&error), "kernel k: 3 of x"));
    CHECK(ig_fail(NULL, INGOT_NOT_FOUND, "nobody reads this") == INGOT_NOT_FOUND);
    ig_fail(&error, INGOT_NOT_FOUND, "it was %s", ig_error_text(&error));
    CHECK(!strcmp(error.message, "it was kernel k: 3 of x"));
    ig_error_clear(&error);
    CHECK(error.status == INGOT_OK && !error.message);
}

static void test_arena(void) {
    struct ig_arena arena = {0};
    for (size_t size = 0; size < 200000; size = size * 3 + 1) {
        for (int i = 0; i < 20; i++) {
            char *p = ig_arena_alloc(&arena, size);
            CHECK(p && (uintptr_t)p % 16 == 0);
            bool zero = true;
            for (size_t k = 0; k < size; k++) {
                zero &= p[k] == 0;
            }
            CHECK(zero);
            memset(p, 0x5a, size);
        }
    }
    CHECK(!ig_arena_alloc(&arena, SIZE_MAX - 3));
    CHECK(!ig_arena_array(&arena, SIZE_MAX / 4, 8));
    CHECK(!strcmp(ig_arena_printf(&arena, "%s-%05d", "abc", 42), "abc-00042"));
    CHECK(!strcmp(ig_arena_copy(&arena, "abcdef", 3), "abc"));
    CHECK(!strcmp(ig_arena_string(&arena, ""), ""));
    ig_arena_free(&arena);
    CHECK(!arena.blocks);
}

static void test_text(void) {
    struct ig_text text = {0};
    CHECK(!strcmp(ig_text_string(&text), ""));
    for (int i = 0; i < 1000; i++) {
        ig_text_printf(&text, "%d,", i);
    }
    ig_text_append(&text, "\0x", 2);
    CHECK(text.size == 3892 && text.data[text.size] == 0 && text.data[3891] == 'x');
    ig_text_free(&text);
    CHECK(!text.data);
}

static void hash_is(const void *bytes, size_t size, size_t step, const char *expected) {
    struct ig_hash hash;
    uint8_t digest[32];
    char hex[65];
    ig_hash_begin(&hash);
    for (size_t i = 0; i < size; i += step) {
        ig_hash_bytes(&hash, (const char *)bytes + i, size - i < step ? size - i : step);
    }
    ig_hash_end(&hash, digest);
    ig_hash_hex(digest, hex);
    CHECK(!strcmp(hex, expected));
}

static void test_hash(void) {
    hash_is("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hash_is("abc", 3, 64, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    for (size_t step = 1; step < 60; step += 7) {
        hash_is(two, strlen(two), step,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
    char *million = malloc(1000000);
    CHECK(million);
    if (million) {
        memset(million, 'a', 1000000);
        hash_is(million, 1000000, 777,
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
        free(million);
    }
}

static void test_files(void) {
    struct ig_error error = {0};
    char *folder = NULL, *bytes = NULL, path[PATH_MAX];
    size_t size = 0;
    CHECK(!ig_folder_temporary(&folder, &error) && folder);
    snprintf(path, sizeof path, "%s/a/b/c", folder);
    CHECK(!ig_folder_make(path, &error));
    CHECK(!ig_folder_make(path, &error));
    snprintf(path, sizeof path, "%s/a/b/file", folder);
    CHECK(!ig_file_write(path, "hello", 5, &error));
    CHECK(!ig_file_write(path, "hello, again", 12, &error));
    CHECK(!ig_file_read(path, 0, &bytes, &size, &error));
    CHECK(size == 12 && !strcmp(bytes, "hello, again"));
    free(bytes);
    CHECK(ig_file_read(path, 11, &bytes, &size, &error) == INGOT_IO_ERROR);
    CHECK(strstr(ig_error_text(&error), "12 bytes, the limit is 11"));
    CHECK(ig_file_read(folder, 0, &bytes, &size, &error) == INGOT_IO_ERROR);
    snprintf(path, sizeof path, "%s/none/file", folder);
    CHECK(ig_file_write(path, "x", 1, &error) == INGOT_IO_ERROR);
    CHECK(ig_file_read(path, 0, &bytes, &size, &error) == INGOT_NOT_FOUND);
    CHECK(strstr(ig_error_text(&error), "No such file"));
    snprintf(path, sizeof path, "%s/a/b/file/d", folder);
    CHECK(ig_folder_make(path, &error) == INGOT_IO_ERROR);

    snprintf(path, sizeof path, "%s/cache", folder);
    setenv("INGOT_CACHE_DIR", path, 1);
    char *cache = ig_cache_folder();
    CHECK(cache && !strcmp(cache, path));
    free(cache);
    CHECK(!mkdir(path, 0777) && !chmod(path, 0777));
    CHECK(!ig_cache_folder()); /* others may write it */
    unsetenv("INGOT_CACHE_DIR");

    char link_path[PATH_MAX], outside[PATH_MAX];
    snprintf(outside, sizeof outside, "%s-outside", folder);
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    CHECK(!ig_file_write(outside, "keep", 4, &error) && !symlink(outside, link_path));
    ig_folder_remove(folder);
    CHECK(access(folder, F_OK) && !access(outside, F_OK));
    unlink(outside);
    free(folder);
    ig_error_clear(&error);
}

static void test_process(void) {
    struct ig_error error = {0};
    struct ig_process_result result;
    const char *cat[] = {"cat", NULL};
    size_t size = 3 << 20;
    char *big = malloc(size);
    CHECK(big);
    memset(big, 'q', size);
    CHECK(!ig_process_run(&(struct ig_process){.arguments = cat, .input = big, .input_size = size},
                          &result, &error));
    CHECK(result.exit_code == 0 && !result.signal && result.output.size == size);
    ig_process_result_free(&result);

    const char *close_early[] = {"true", NULL};
    CHECK(!ig_process_run(
        &(struct ig_process){.arguments = close_early, .input = big, .input_size = size}, &result,
        &error));
    CHECK(result.exit_code == 0);
    ig_process_result_free(&result);
    free(big);

    const char *both[] = {"sh", "-c", "cat; echo out; echo err >&2; exit 7", NULL};
    CHECK(!ig_process_run(&(struct ig_process){.arguments = both}, &result, &error));
    CHECK(result.exit_code == 7 && !strcmp(ig_text_string(&result.output), "out\n") &&
          !strcmp(ig_text_string(&result.errors), "err\n"));
    ig_process_result_free(&result);

    const char *crash[] = {"sh", "-c", "kill -SEGV $$", NULL};
    CHECK(!ig_process_run(&(struct ig_process){.arguments = crash}, &result, &error));
    CHECK(result.signal == 11 && !result.timed_out);
    ig_process_result_free(&result);

    const char *slow[] = {"sh", "-c", "sleep 30 & sleep 30", NULL};
    CHECK(
        !ig_process_run(&(struct ig_process){.arguments = slow, .seconds = 0.1}, &result, &error));
    CHECK(result.timed_out);
    ig_process_result_free(&result);

    const char *quiet[] = {"sh", "-c", "exec >&- 2>&-; sleep 30", NULL};
    CHECK(
        !ig_process_run(&(struct ig_process){.arguments = quiet, .seconds = 0.1}, &result, &error));
    CHECK(result.timed_out);
    ig_process_result_free(&result);

    const char *busy[] = {"sh", "-c", "while :; do :; done", NULL};
    CHECK(!ig_process_run(
        &(struct ig_process){.arguments = busy, .seconds = 600, .processor_seconds = 1}, &result,
        &error));
    CHECK(result.timed_out && result.signal == SIGXCPU);
    ig_process_result_free(&result);

    const char *none[] = {"ingot-no-such-program", NULL};
    CHECK(ig_process_run(&(struct ig_process){.arguments = none}, &result, &error) ==
          INGOT_NOT_FOUND);
    CHECK(strstr(ig_error_text(&error), "cannot start ingot-no-such-program"));
    ig_error_clear(&error);
}

/* The process that runs a program is killed: the program ends too, which closes its end of a pipe.
 */
static void test_process_orphan(void) {
    int ends[2];
    CHECK(!pipe(ends));
    pid_t pid = fork();
    if (pid == 0) {
        char script[64];
        snprintf(script, sizeof script, "echo started >&%d; exec sleep 60", ends[1]);
        const char *wait[] = {"sh", "-c", script, NULL};
        struct ig_process_result result;
        struct ig_error error = {0};
        close(ends[0]);
        ig_process_run(&(struct ig_process){.arguments = wait}, &result, &error);
        _exit(0);
    }
    CHECK(pid > 0);
    close(ends[1]);
    char text[16] = {0};
    CHECK(read(ends[0], text, sizeof text) == 8 && !strcmp(text, "started\n"));
    CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    CHECK(poll(&end, 1, 20000) == 1 && read(ends[0], text, sizeof text) == 0);
    close(ends[0]);
}

static void test_json(void) {
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    ig_json_object(&json, NULL);
    ig_json_string(&json, "a", "q\"\\\n\x01\xc3\xa9\xff");
    ig_json_array(&json, "list");
    ig_json_u64(&json, NULL, UINT64_MAX);
    ig_json_i64(&json, NULL, -5);
    ig_json_double(&json, NULL, 0.1);
    ig_json_double(&json, NULL, 1.0 / 0.0);
    ig_json_array_end(&json);
    ig_json_array(&json, "empty");
    ig_json_array_end(&json);
    ig_json_bool(&json, "t", true);
    ig_json_string(&json, "n", NULL);
    ig_json_object_end(&json);
    CHECK(!strcmp(ig_text_string(&text),
                  "{\n  \"a\": \"q\\\"\\\\\\n\\u0001\xc3\xa9\xef\xbf\xbd\",\n  \"list\": [\n"
                  "    18446744073709551615,\n    -5,\n    0.1,\n    null\n  ],\n"
                  "  \"empty\": [],\n  \"t\": true,\n  \"n\": null\n}\n"));
    ig_text_free(&text);
}

int main(void) {
    test_error();
    test_arena();
    test_text();
    test_hash();
    test_files();
    test_process();
    test_process_orphan();
    test_json();
    return check_report();
}
