/* The Metal device when something fails, against a bridge that fails on demand (tests/fake_metal):
 * every call of it once, with the message that the user sees and what goes on afterwards. */
#include <dlfcn.h>

#include "fake_metal.h"
#include "metallib_writer.h"
#include "runtime/metal/metal.h"
#include "runtime_support.h"

static struct fake_metal *fake;
static ingot_device *device;
static ingot_library *library;
static ingot_kernel *kernel;
static ingot_stream *stream;
static ingot_buffer *out;

static const char source[] = "kernel void mark(device uint *data) {}\n"
                             "kernel void other(device uint *data) {}\n";

static ingot_status compile(const char *text, ingot_library **result) {
    const ingot_source_desc desc = {.source = text, .name = "marks.metal"};
    return ingot_library_create_from_source(device, &desc, result);
}

static void open_all(void) {
    const ingot_kernel_desc desc = {.name = "mark"};
    OK(ingot_device_open("metal", NULL, &device));
    OK(compile(source, &library));
    OK(ingot_kernel_create(library, &desc, &kernel));
    OK(ingot_stream_create(device, &stream));
    OK(ingot_buffer_create(device, 256, &out));
}

static void close_all_at(int line) {
    ingot_buffer_release(out);
    ingot_stream_release(stream);
    ingot_kernel_release(kernel);
    ingot_library_release(library);
    ingot_device_release(device);
    CHECK(fake->live == 0);
    if (fake->live) {
        fprintf(stderr, "  line %d: %u objects are left\n", line, fake->live);
    }
}
#define close_all() close_all_at(__LINE__)

static void fail_at(const char *call, unsigned skipped) {
    fake->failing = call;
    fake->skipped = skipped;
}

static ingot_status mark(uint32_t threads) {
    const ingot_arg args[] = {{.buffer = out}};
    const ingot_dispatch_desc desc = {
        .kernel = kernel, .threads = {threads}, .group = {32}, .args = args, .arg_count = 1};
    return ingot_stream_dispatch(stream, &desc);
}

/* The stream does what it is told. */
static void check_works(void) {
    uint32_t *data = ingot_buffer_contents(out);
    memset(data, 0, 256);
    OK(mark(64));
    OK(ingot_stream_wait(stream));
    CHECK(data[0] == 1 && data[63] == 64);
}

static void devices(void) {
    ingot_device *none = NULL;
    ingot_device_desc much = {.threadgroup_memory = 1 << 20};
    fake->has_no_device = true;
    FAILS(ingot_device_open("metal", NULL, &none), INGOT_NOT_FOUND, "\"metal\"", "no device here");
    fake->has_no_device = false;
    FAILS(ingot_device_open("metal:7", NULL, &none), INGOT_NOT_FOUND, "metal:7");
    fail_at("device_open", 0);
    FAILS(ingot_device_open("metal", NULL, &none), INGOT_NOT_FOUND, "metal:0",
          "device_open was told to fail");
    fake->has_own_memory = true;
    FAILS(ingot_device_open("metal", NULL, &none), INGOT_UNSUPPORTED, "Fake GPU",
          "memory of its own");
    fake->has_own_memory = false;
    FAILS(ingot_device_open("metal", &much, &none), INGOT_INVALID_ARGUMENT, "1048576", "32768");
    CHECK(none == NULL && fake->live == 0);
}

static void code(void) {
    ingot_library *bad = NULL;
    ingot_kernel *none = NULL;
    const uint32_t three = 3;
    const ingot_constant scale = {.name = "scale", .bytes = &three, .size = sizeof three};
    const ingot_kernel_desc other = {.name = "other"};
    const ingot_kernel_desc scaled = {.name = "other", .constants = &scale, .constant_count = 1};
    open_all();
    fail_at("library_from_source", 0);
    FAILS(compile("kernel void late() {}", &bad), INGOT_COMPILE_ERROR,
          "library_from_source was told to fail");
    fake->is_silent = true;
    fail_at("library_from_source", 0);
    FAILS(compile("kernel void late() {}", &bad), INGOT_COMPILE_ERROR, "gave no reason");
    fake->is_silent = false;
    fail_at("library_list", 0);
    FAILS(compile("kernel void later() {}", &bad), INGOT_OUT_OF_MEMORY, "marks.metal");
    CHECK(bad == NULL);
    fail_at("pipeline_make", 0);
    FAILS(ingot_kernel_create(library, &other, &none), INGOT_COMPILE_ERROR, "kernel \"other\"",
          "device \"metal\"", "pipeline_make was told to fail");
    fake->is_silent = true;
    fail_at("pipeline_make", 0);
    FAILS(ingot_kernel_create(library, &scaled, &none), INGOT_COMPILE_ERROR, "kernel \"other\"",
          "gave no reason");
    fake->is_silent = false;
    CHECK(none == NULL);
    OK(ingot_kernel_create(library, &scaled, &none)); /* nothing of the failure is remembered */
    ingot_kernel_release(none);
    check_works();
    close_all();
}

/* An archive with this text for all kernels (kernel ""), or as the code of one. */
static ingot_status open_text(const char *name, const char *text, ingot_library **result) {
    const struct ig_code one = {.target = "metal", .bytes = text, .size = strlen(text)};
    const struct ig_variant variant = {
        .kernel = name, .constants = "", .code_count = 1, .codes = &one};
    const char *const names[] = {"mark"};
    const struct ig_archive archive = {.compiler = "none",
                                       .source_name = "text.metal",
                                       .source = "",
                                       .options = "",
                                       .warnings = "",
                                       .kernel_count = 1,
                                       .kernels = names,
                                       .variant_count = 1,
                                       .variants = &variant};
    struct ig_error error = {0};
    void *bytes = NULL;
    size_t size = 0;
    CHECK(ig_archive_write(&archive, &bytes, &size, &error) == INGOT_OK);
    ingot_status status = ingot_library_create_from_memory(device, bytes, size, result);
    free(bytes);
    ig_error_clear(&error);
    return status;
}

static void archives(void) {
    ingot_library *bad = NULL, *good = NULL;
    ingot_kernel *none = NULL;
    const ingot_kernel_desc desc = {.name = "mark"};
    open_all();
    FAILS(open_text("", "no line", &bad), INGOT_BAD_ARCHIVE, "no line of options");
    fail_at("library_from_source", 0);
    FAILS(open_text("", "--fast-math\nkernel void x() {}", &bad), INGOT_COMPILE_ERROR,
          "library_from_source");
    CHECK(bad == NULL);
    OK(open_text("", "--fast-math\nkernel void mark() {} kernel void more() {}", &good));
    CHECK(ingot_library_kernel_count(good) == 2 && !strncmp(fake->last_source, "kernel", 6));
    ingot_library_release(good);
    OK(open_text("mark", "no line", &good));
    FAILS(ingot_kernel_create(good, &desc, &none), INGOT_BAD_ARCHIVE, "no line of options");
    ingot_library_release(good);
    OK(open_text("mark", "--compiled 00ff\n", &good));
    FAILS(ingot_kernel_create(good, &desc, &none), INGOT_BAD_ARCHIVE, "00ff", "device \"metal\"");
    ingot_library_release(good);
    OK(open_text("mark", "\nkernel void mark() {}", &good));
    OK(ingot_kernel_create(good, &desc, &none));
    ingot_kernel_release(none);
    ingot_library_release(good);
    close_all();
}

/* Two kernels, in the container that Apple's compiler writes. */
static void compiled(void) {
    const struct ig_metallib_function functions[] = {
        {.name = "mark",
         .type = IG_METALLIB_KERNEL,
         .module = "kernel void mark(",
         .module_size = 17},
        {.name = "more", .type = IG_METALLIB_KERNEL, .module = "BC", .module_size = 2}};
    const ingot_kernel_desc mark_desc = {.name = "mark"}, more_desc = {.name = "more"};
    struct ig_text bytes = {0};
    ingot_library *whole = NULL, *first = NULL, *second = NULL;
    ingot_kernel *none = NULL;
    metallib_write(functions, 2, &bytes);
    open_all();
    OK(ingot_library_create_from_memory(device, bytes.data, bytes.size, &whole));
    fail_at("library_from_data", 0);
    FAILS(ingot_kernel_create(whole, &mark_desc, &none), INGOT_BAD_ARCHIVE, "a compiled library",
          "device \"metal\"", "library_from_data was told to fail");
    fail_at("library_list", 0);
    FAILS(ingot_kernel_create(whole, &mark_desc, &none), INGOT_OUT_OF_MEMORY, "a Metal library");
    OK(ingot_library_of_kernel(whole, "mark", &first));
    OK(ingot_library_of_kernel(whole, "more", &second));
    CHECK(first == second); /* Metal has the library whole */
    ingot_library_release(first);
    ingot_library_release(second);
    fail_at("pipeline_make", 0);
    FAILS(ingot_kernel_create(whole, &more_desc, &none), INGOT_COMPILE_ERROR, "pipeline_make");
    ingot_library_release(whole);
    ig_text_free(&bytes);
    close_all();
}

static void memory(void) {
    ingot_buffer *none = NULL;
    static _Alignas(4096) char pages[8192];
    open_all();
    fail_at("buffer_make", 0);
    FAILS(ingot_buffer_create(device, 12345, &none), INGOT_OUT_OF_MEMORY, "12345 bytes",
          "device \"metal\"", "buffer_make was told to fail");
    fail_at("buffer_wrap", 0);
    FAILS(ingot_buffer_wrap(device, pages + 100, 5000, NULL, NULL, &none), INGOT_UNSUPPORTED,
          "5000 bytes", "device \"metal\"");
    CHECK(none == NULL);
    OK(ingot_buffer_wrap(device, pages + 100, 5000, NULL, NULL, &none));
    CHECK(ingot_buffer_contents(none) == (void *)(pages + 100));
    ingot_buffer_release(none);
    check_works();
    close_all();
}

/* Calls that put work into a command buffer: each fails at once, by name, and the next one runs. */
static void encoding(void) {
    ingot_stream *second = NULL;
    ingot_event *event = NULL;
    open_all();
    fail_at("queue_make", 0);
    FAILS(ingot_stream_create(device, &second), INGOT_OUT_OF_MEMORY, "device \"metal\"");
    fail_at("event_make", 0);
    FAILS(ingot_event_create(device, &event), INGOT_OUT_OF_MEMORY, "device \"metal\"");
    OK(ingot_stream_create(device, &second));
    OK(ingot_event_create(device, &event));
    fail_at("command_make", 0);
    FAILS(mark(64), INGOT_OUT_OF_MEMORY, "a command on device \"metal\"");
    check_works();
    fail_at("command_dispatch", 0);
    FAILS(mark(64), INGOT_LAUNCH_ERROR, "mark on device \"metal\"",
          "command_dispatch was told to fail");
    check_works();
    fail_at("command_copy", 0);
    FAILS(ingot_stream_copy(stream, out, 0, out, 128, 64), INGOT_LAUNCH_ERROR, "ingot_stream_copy");
    fail_at("command_fill", 0);
    FAILS(ingot_stream_fill(stream, out, 0, 64, 1), INGOT_LAUNCH_ERROR, "ingot_stream_fill");
    fail_at("command_make", 0);
    FAILS(ingot_stream_record(second, event), INGOT_OUT_OF_MEMORY, "device \"metal\"");
    fail_at("command_signal", 0);
    FAILS(ingot_stream_record(stream, event), INGOT_INTERNAL_ERROR, "ingot_stream_record");
    fail_at("command_commit", 0);
    FAILS(ingot_stream_record(stream, event), INGOT_INTERNAL_ERROR, "work for device \"metal\"");
    OK(ingot_stream_record(stream, event));
    fail_at("command_wait_for", 0);
    FAILS(ingot_stream_wait_event(second, event), INGOT_LAUNCH_ERROR, "ingot_stream_wait_event");
    OK(ingot_stream_wait_event(second, event));
    OK(ingot_event_wait(event));
    CHECK(ingot_event_done(event));
    OK(mark(64));
    fail_at("command_commit", 0);
    FAILS(ingot_stream_wait(stream), INGOT_INTERNAL_ERROR, "command_commit was told to fail");
    check_works();
    ingot_event_release(event);
    ingot_stream_release(second);
    close_all();
}

/* Work that fails while it runs: who waits has the error, once; what is behind it is dropped. */
static void outcomes(void) {
    static const struct {
        enum ig_metal_outcome outcome;
        ingot_status status;
    } ends[] = {{IG_METAL_FAULT, INGOT_KERNEL_FAULT},
                {IG_METAL_TIMEOUT, INGOT_TIMEOUT},
                {IG_METAL_NO_MEMORY, INGOT_OUT_OF_MEMORY},
                {IG_METAL_LOST, INGOT_DEVICE_LOST}};
    ingot_event *event = NULL;
    open_all();
    OK(ingot_event_create(device, &event));
    for (size_t i = 0; i < 4 * sizeof ends / sizeof *ends; i++) {
        const ingot_status status = ends[i / 4].status;
        uint32_t *data = ingot_buffer_contents(out);
        memset(data, 0, 256);
        fake->outcome = ends[i / 4].outcome;
        fake->is_slow = i % 2;
        fake->is_silent = i % 4 > 1;
        OK(mark(64));
        OK(ingot_stream_record(stream, event)); /* commits */
        fake->outcome = IG_METAL_DONE;
        if (!fake->is_slow) {
            OK(mark(64)); /* dropped */
        }
        OK(ingot_event_wait(event)); /* events complete all the same */
        CHECK(ingot_event_done(event));
        FAILS(ingot_stream_wait(stream), status,
              fake->is_silent ? "gave no reason" : "kernel \"mark\" failed");
        CHECK(data[0] == 0);
        fake->is_slow = fake->is_silent = false;
        OK(ingot_stream_wait(stream)); /* once */
        check_works();
    }
    ingot_event_release(event);
    /* nobody waits for it */
    fake->outcome = IG_METAL_FAULT;
    OK(mark(64));
    close_all();
    fake->outcome = IG_METAL_DONE;
}

/* Command buffers are committed before they grow without end; a failure then is the caller's. */
static void long_queues(void) {
    open_all();
    const unsigned before = fake->commits;
    for (int i = 0; i < 200; i++) {
        OK(mark(64));
    }
    CHECK(fake->commits - before == 3);
    fail_at("command_commit", 0);
    ingot_status status = INGOT_OK;
    for (int i = 0; i < 64 && !status; i++) {
        status = mark(64);
    }
    FAILS(status, INGOT_INTERNAL_ERROR, "command_commit was told to fail");
    check_works();
    /* many that run, then one wait for all */
    fake->is_slow = true;
    for (int i = 0; i < 2000; i++) {
        OK(mark(64));
    }
    OK(ingot_stream_wait(stream));
    fake->is_slow = false;
    check_works();
    close_all();
}

static void log_of(void *context, int level, const char *text) {
    CHECK(level == 5 && !strcmp(text, "from a kernel"));
    ++*(int *)context;
}

static void messages(void) {
    int count = 0;
    ingot_set_log_function(log_of, &count);
    CHECK(fake->log != NULL);
    if (fake->log) {
        fake->log(5, "from a kernel");
    }
    ingot_set_log_function(NULL, NULL);
    CHECK(count == 1);
}

/* What Metal keeps of a pipeline serves the next time. */
static void binaries(void) {
    char folder[] = "/tmp/ingot-test-metal-XXXXXX", command[128];
    const char *before = getenv("INGOT_CACHE_DIR");
    char *old = before ? strdup(before) : NULL;
    CHECK(mkdtemp(folder) != NULL);
    setenv("INGOT_CACHE_DIR", folder, 1);
    const char *text = "kernel void mark() {} kernel void kept() {}";
    const ingot_source_desc uncached = {.source = text, .name = "marks.metal", .no_cache = true};
    const ingot_kernel_desc desc = {.name = "kept"};
    unsigned compiled = fake->pipelines_compiled;
    for (int round = 0; round < 5; round++) {
        fake->is_other_system = round == 2;
        ingot_device_desc plain = {0};
        OK(ingot_device_open("metal", &plain, &device));
        OK(round == 4 ? ingot_library_create_from_source(device, &uncached, &library)
                      : compile(text, &library));
        OK(ingot_kernel_create(library, &desc, &kernel));
        OK(ingot_stream_create(device, &stream));
        OK(ingot_buffer_create(device, 256, &out));
        check_works();
        /* new; kept; refused and made again; kept; not asked for */
        compiled += round == 0 || round == 2 || round == 4;
        CHECK(fake->pipelines_compiled == compiled);
        close_all();
    }
    snprintf(command, sizeof command, "test $(find %s -name '*.ingot' | wc -l) = 1", folder);
    CHECK(system(command) == 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    if (old) {
        setenv("INGOT_CACHE_DIR", old, 1);
    } else {
        unsetenv("INGOT_CACHE_DIR");
    }
    free(old);
}

/* ---- a stream of another library ---- */

struct other_library {
    const struct ig_metal_bridge *bridge;
    void *queue, *commands;
    unsigned runs, waits;
    bool is_encoding, has_none;
};

static void other_runs(void *context, void (*encode)(void *), void *argument) {
    struct other_library *other = context;
    other->runs++;
    other->is_encoding = true;
    encode(argument);
    other->is_encoding = false;
}

static void *other_commands(void *context) {
    struct other_library *other = context;
    CHECK(other->is_encoding);
    return other->has_none ? NULL : other->commands;
}

static void other_waits(void *context) {
    struct other_library *other = context;
    other->waits++;
    CHECK(other->bridge->command_commit(other->commands, NULL));
}

static void check_foreign_errors(struct other_library *other, ingot_metal_stream *native,
                                 void *object) {
    ingot_stream *none = NULL;
    ingot_buffer *no_buffer = NULL;
    ingot_event *event = NULL;
    FAILS(ingot_stream_wrap(device, NULL, &none), INGOT_INVALID_ARGUMENT, "ingot_metal_stream");
    native->wait = NULL;
    FAILS(ingot_stream_wrap(device, native, &none), INGOT_INVALID_ARGUMENT, "wait is NULL");
    native->wait = other_waits;
    native->command_buffer = NULL;
    FAILS(ingot_stream_wrap(device, native, &none), INGOT_INVALID_ARGUMENT,
          "command_buffer is NULL");
    native->command_buffer = other_commands;
    FAILS(ingot_metal_buffer_wrap(device, NULL, 0, 4, &no_buffer), INGOT_INVALID_ARGUMENT,
          "mtl_buffer is NULL");
    FAILS(ingot_metal_buffer_wrap(device, object, 128, 129, &no_buffer), INGOT_INVALID_ARGUMENT,
          "129 bytes at offset 128", "256 bytes");
    fail_at("buffer_adopt", 0);
    FAILS(ingot_metal_buffer_wrap(device, object, 0, 4, &no_buffer), INGOT_INVALID_ARGUMENT,
          "buffer_adopt was told to fail");
    const char *const calls[] = {"command_adopt", "command_dispatch", "command_end"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        fail_at(calls[i], 0);
        FAILS(mark(4), INGOT_LAUNCH_ERROR, "mark", calls[i]);
    }
    OK(ingot_event_create(device, &event));
    FAILS(ingot_stream_record(stream, event), INGOT_UNSUPPORTED, "another library's");
    OK(ingot_stream_wait_event(stream, event)); /* which nobody has recorded */
    ingot_event_release(event);
    CHECK(none == NULL && no_buffer == NULL && other->commands);
}

static void foreign_stream(const struct ig_metal_bridge *bridge) {
    struct other_library other = {.bridge = bridge};
    ingot_metal_stream native = {&other, other_runs, other_commands, other_waits};
    ingot_buffer *own = NULL;
    open_all();
    void *handle = ((struct metal_device *)device)->handle;
    void *object = bridge->buffer_make(handle, 256, true, NULL);
    other.queue = bridge->queue_make(handle, NULL);
    other.commands = bridge->command_make(other.queue, NULL);
    ingot_stream_release(stream);
    OK(ingot_stream_wrap(device, &native, &stream));
    own = out;
    OK(ingot_metal_buffer_wrap(device, object, 64, 128, &out));
    uint32_t *data = bridge->buffer_contents(object);
    CHECK(ingot_buffer_contents(out) == data + 16);
    const unsigned commits = fake->commits, ends = fake->ends;
    OK(mark(8));
    OK(ingot_stream_copy(stream, own, 0, out, 0, 16));
    OK(ingot_stream_fill(stream, out, 0, 16, 1));
    CHECK(other.runs == 3 && fake->ends == ends + 3); /* and nothing was committed or waited for */
    CHECK(fake->commits == commits && other.waits == 0 && data[16] == 0);
    OK(ingot_stream_wait(stream));
    CHECK(other.waits == 1 && data[16] == 1 && data[23] == 8 && data[24] == 0 && data[0] == 0);
    check_foreign_errors(&other, &native, object);
    other.has_none = true;
    fail_at("command_adopt", 0);
    FAILS(mark(4), INGOT_LAUNCH_ERROR, "mark", "command_adopt");
    bridge->release(other.commands);
    other.commands = bridge->command_make(other.queue, NULL);
    ingot_stream_release(stream);
    stream = NULL;
    CHECK(other.waits == 2);
    bridge->release(other.commands);
    bridge->release(other.queue);
    bridge->release(object);
    ingot_buffer_release(own);
    close_all();
}

int main(void) {
    setenv("INGOT_METAL_BRIDGE", FAKE_METAL_LIBRARY, 1);
    void *loaded = dlopen(FAKE_METAL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    struct fake_metal *(*find)(void) = NULL;
    const struct ig_metal_bridge *(*table)(void) = NULL;
    if (loaded) {
        *(void **)&find = dlsym(loaded, "fake_metal");
        *(void **)&table = dlsym(loaded, "ig_metal_bridge_table");
    }
    CHECK(find != NULL && table != NULL);
    if (!find) {
        return check_report();
    }
    fake = find();
    devices();
    messages();
    code();
    binaries();
    archives();
    compiled();
    memory();
    encoding();
    outcomes();
    long_queues();
    foreign_stream(table());
    return check_report();
}
