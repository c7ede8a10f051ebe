/* The isolated CPU device: what a kernel can do there, and what an exploit that reaches system() on
 * the plain device can not. The kernels are C text, see runtime_support.h: native code that tries
 * what it likes. */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "runtime_support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static const struct ig_argument one_buffer[] = {BUFFER_ARGUMENT("out", "ulong", 0, 8)};

enum attempt {
    OPEN_FILE = 1,
    MAKE_FILE,
    SOCKET,
    KILL_PARENT,
    FORK,
    EXECUTE,
    SYSTEM,
    RUN_FOR_EVER,
    CLOSE_AND_RUN,
    LIE,
    LEAVE,
    WILD,
    LOG,
    THROUGH_LOG,
    NOTHING,
};

/* out[0] says what to try; out[1] gets errno, out[2] is an address, text[] a path at out[8]. */
#define ATTEMPTS                                                                                   \
    "#include <errno.h>\n#include <fcntl.h>\n#include <signal.h>\n#include <stdlib.h>\n"           \
    "#include <string.h>\n#include <sys/socket.h>\n#include <unistd.h>\n"                          \
    "static void run(G *g, uint32_t s, uint32_t mask) {\n"                                         \
    "  uint64_t *out = g->buffers[0]; char *text = (char *)(out + 8), command[600];\n"             \
    "  errno = 0; out[3] += 1;\n"                                                                  \
    "  switch (out[0]) {\n"                                                                        \
    "  case 1: open(\"/etc/passwd\", O_RDONLY); break;\n"                                          \
    "  case 2: open(text, O_WRONLY | O_CREAT, 0600); break;\n"                                     \
    "  case 3: socket(AF_INET, SOCK_STREAM, 0); break;\n"                                          \
    "  case 4: kill(getppid(), SIGKILL); break;\n"                                                 \
    "  case 5: fork(); break;\n"                                                                   \
    "  case 6: execl(\"/bin/true\", \"true\", (char *)0); break;\n"                                \
    "  case 7: strcpy(command, \"touch \"); strcat(command, text); system(command); break;\n"      \
    "  case 8: for (volatile int i = 0;; i++) {}\n"                                                \
    "  case 9: close(3); for (volatile int i = 0;; i++) {}\n"                                      \
    "  case 10: memset(command, 0xff, 600); write(3, command, 600); break;\n"                      \
    "  case 11: _exit(0);\n"                                                                       \
    "  case 12: *(volatile int *)8 = 1; break;\n"                                                  \
    "  case 13: { uint64_t n = 42; g->services->log(g, 1, \"number %d\", 1, &n); break; }\n"       \
    "  case 14: { struct { int (*call)(const char *); char text[600]; } *c = (void *)out[2];\n"    \
    "    c->call = system; strcpy(c->text, \"touch \"); strcat(c->text, text);\n"                  \
    "    g->services->log(g, 1, \"hello\", 0, 0); break; }\n"                                      \
    "  }\n"                                                                                        \
    "  out[1] = errno; }\n"

static const struct test_kernel kernels[] = {
    {.name = "tries",
     .arguments = one_buffer,
     .argument_count = 1,
     .code = ATTEMPTS "KERNEL(0, 0, run)\n"},
    {.name = "at_load", /* tries when it is loaded, before it is run */
     .arguments = one_buffer,
     .argument_count = 1,
     .code = "#include <fcntl.h>\n#include <unistd.h>\n"
             "static int made = -2;\n"
             "__attribute__((constructor)) static void start(void) {\n"
             "  made = open(\"" INGOT_SOURCE_FOLDER "/isolated-kernel-was-here\",\n"
             "    O_WRONLY | O_CREAT, 0600); }\n"
             "static void run(G *g, uint32_t s, uint32_t mask) {\n"
             "  ((uint64_t *)g->buffers[0])[1] = (uint64_t)(int64_t)made; }\n"
             "KERNEL(0, 0, run)\n"},
};
#define KERNEL_COUNT (sizeof kernels / sizeof kernels[0])

/* What a program gives the log function. */
static struct {
    int (*call)(const char *);
    char text[600];
} context;
static char logged[64];

static int say_nothing(const char *text) {
    (void)text;
    return 0;
}

static void on_log(void *pointer, int level, const char *message) {
    (void)pointer;
    (void)level;
    snprintf(logged, sizeof logged, "%s", message);
    context.call(context.text);
}

struct place {
    ingot_device *device;
    ingot_library *library;
    ingot_kernel *kernel;
    ingot_stream *stream;
    ingot_buffer *out;
    uint64_t *words;
};

static char path[256];

static void open_place(bool isolated, struct place *place) {
    ingot_device_info info;
    void *bytes = NULL;
    size_t size = 0;
    OK(ingot_device_open("cpu", &(ingot_device_desc){.worker_threads = 2, .isolated = isolated},
                         &place->device));
    OK(ingot_device_get_info(place->device, &info));
    CHECK(test_archive(info.target, kernels, KERNEL_COUNT, NULL, 0, &bytes, &size));
    OK(ingot_library_create_from_memory(place->device, bytes, size, &place->library));
    free(bytes);
    OK(ingot_kernel_create(place->library, &(ingot_kernel_desc){.name = "tries"}, &place->kernel));
    OK(ingot_stream_create(place->device, &place->stream));
    OK(ingot_buffer_create(place->device, 4096, &place->out));
    place->words = ingot_buffer_contents(place->out);
}

static void close_place(struct place *place) {
    ingot_buffer_release(place->out);
    ingot_stream_release(place->stream);
    ingot_kernel_release(place->kernel);
    ingot_library_release(place->library);
    ingot_device_release(place->device);
}

static ingot_status run(struct place *place, ingot_kernel *kernel, double limit) {
    ingot_arg args[] = {{.buffer = place->out}};
    ingot_dispatch_desc desc = {.kernel = kernel,
                                .threads = {1},
                                .group = {1},
                                .args = args,
                                .arg_count = 1,
                                .time_limit_seconds = limit};
    ingot_status status = ingot_stream_dispatch(place->stream, &desc);
    return status ? status : ingot_stream_wait(place->stream);
}

static ingot_status attempt(struct place *place, enum attempt what, double limit) {
    memset(place->words, 0, 4096);
    unlink(path);
    context.call = say_nothing;
    place->words[0] = what;
    place->words[2] = (uintptr_t)&context;
    strcpy((char *)(place->words + 8), path);
    return run(place, place->kernel, limit);
}

static bool made_file(void) {
    return access(path, F_OK) == 0;
}

/* What isolation is for: these reach what they want in the program's own process. */
static __attribute__((unused)) void test_plain(void) {
    struct place place = {0};
    open_place(false, &place);
    OK(attempt(&place, SYSTEM, 0));
    CHECK(made_file());
    OK(attempt(&place, THROUGH_LOG, 0));
    CHECK(made_file() && !strcmp(logged, "hello"));
    OK(attempt(&place, OPEN_FILE, 0));
    CHECK(place.words[1] == 0);
    close_place(&place);
}

static __attribute__((unused)) void test_isolated(void) {
    struct place place = {0};
    char memory[64];
    ingot_buffer *buffer = NULL;
    open_place(true, &place);
    OK(attempt(&place, NOTHING, 0));
    CHECK(place.words[3] == 1);
    OK(attempt(&place, OPEN_FILE, 0));
    CHECK(place.words[1] == EPERM || place.words[1] == EACCES);
    OK(attempt(&place, MAKE_FILE, 0));
    CHECK((place.words[1] == EPERM || place.words[1] == EACCES) && !made_file());
    static const enum attempt ends[] = {SOCKET, KILL_PARENT, EXECUTE, SYSTEM, FORK};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        FAILS(attempt(&place, ends[i], 0), INGOT_KERNEL_FAULT, "\"tries\"", "SIGSYS");
        CHECK(!made_file() && place.words[3] == 1);
    }
    OK(attempt(&place, LOG, 0));
    CHECK(!strcmp(logged, "number 42"));
    OK(attempt(&place, THROUGH_LOG, 0));
    CHECK(!made_file() && context.call == say_nothing && !strcmp(logged, "hello"));
    if (SANITIZED) {
        printf("skipped: a fault and a time limit, where sanitizers make calls of their own\n");
    } else {
        FAILS(attempt(&place, WILD, 0), INGOT_KERNEL_FAULT, "\"tries\"", "SIGSEGV", "0x8");
        FAILS(attempt(&place, RUN_FOR_EVER, 0.05), INGOT_TIMEOUT, "\"tries\"", "0.05");
    }
    FAILS(attempt(&place, LEAVE, 0), INGOT_KERNEL_FAULT, "\"tries\"", "without a result");
    FAILS(attempt(&place, LIE, 0), INGOT_KERNEL_FAULT, "\"tries\"");
    FAILS(attempt(&place, CLOSE_AND_RUN, 0.05), INGOT_KERNEL_FAULT, "\"tries\"");
    OK(attempt(&place, NOTHING, 0)); /* the device is none the worse */
    CHECK(place.words[3] == 1);
    OK(ingot_stream_fill(place.stream, place.out, 0, 4096, 1));
    OK(ingot_stream_wait(place.stream));
    CHECK(place.words[5] == 0x0101010101010101u);
    ingot_kernel *kernel = NULL;
    OK(ingot_kernel_create(place.library, &(ingot_kernel_desc){.name = "at_load"}, &kernel));
    OK(run(&place, kernel, 0));
    CHECK(place.words[1] == UINT64_MAX);
    CHECK(access(INGOT_SOURCE_FOLDER "/isolated-kernel-was-here", F_OK) != 0);
    ingot_kernel_release(kernel);
    FAILS(ingot_buffer_wrap(place.device, memory, sizeof memory, NULL, NULL, &buffer),
          INGOT_UNSUPPORTED, "isolated", "64");
    close_place(&place);
}

int main(void) {
    char *folder = NULL;
    CHECK(!ig_folder_temporary(&folder, NULL));
    snprintf(path, sizeof path, "%s/made", folder);
    ingot_set_log_function(on_log, &context);
    context.call = say_nothing;
#if defined(__SANITIZE_THREAD__)
    printf("skipped: all of it, where the thread sanitizer needs more than a kernel may\n");
#else
    test_plain();
    test_isolated();
#endif
    ig_folder_remove(folder);
    free(folder);
    return check_report();
}
