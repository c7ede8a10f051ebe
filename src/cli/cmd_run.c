/* `ingot run`: one kernel, once (or many times, timed), on arguments from the command line. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/npy.h"
#include "base/sanitize.h"
#include "base/scalar.h"
#include "cli/cli.h"

#define NOT_GIVEN UINT32_MAX

struct bound {
    struct cli_argument given;
    ingot_argument_info info;
    ingot_buffer *buffer; /* NULL: given by bytes */
    uint8_t *result;      /* the buffer's bytes after the run */
};

struct run {
    struct ig_arena arena;
    const char *file, *kernel_name, *device_name;
    struct cli_source_options source;
    struct cli_list constants;
    ingot_device_desc device_desc;
    uint32_t threads[3], threadgroups[3], group[3], repeat, workers;
    const char *cpu, *sarif;
    double time_limit;
    bool timed, as_json, quiet;
    const char *schedule_option;
    struct cli_schedule schedule;
    struct cli_explored *explored; /* with explore:N */
    size_t explored_count;

    ingot_device *device;
    ingot_device_info device_info;
    ingot_library *library;
    ingot_kernel *kernel;
    ingot_kernel_info kernel_info;
    ingot_stream *stream;
    struct bound *bound;
    size_t bound_count;
    ingot_arg *args; /* by buffer index */
    size_t arg_count;
    uint32_t *lengths; /* by threadgroup index */
    size_t length_count;
    double *seconds; /* of each repeat, ascending */
    size_t seconds_count;
};

static bool api(ingot_status status) {
    if (status) {
        cli_error("%s", ingot_error_message());
    }
    return status == INGOT_OK;
}

static bool base(ingot_status status, struct ig_error *error) {
    if (status) {
        cli_error("%s", ig_error_text(error));
    }
    ig_error_clear(error);
    return status == INGOT_OK;
}

/* Of a compiled library, or of several archives, the part that the kernel and its function
 * constants are in. */
static bool choose_module(struct run *run) {
    ingot_library *module;
    if (!api(ingot_library_of_kernel(run->library, run->kernel_name, &module))) {
        return false;
    }
    ingot_library_release(run->library);
    run->library = module;
    return true;
}

static bool make_kernel(struct run *run) {
    size_t count = ingot_library_constant_count(run->library);
    ingot_constant_info *infos = ig_arena_array(&run->arena, count + 1, sizeof *infos);
    struct cli_constant_value *values =
        ig_arena_array(&run->arena, run->constants.count + 1, sizeof *values);
    ingot_constant *constants =
        ig_arena_array(&run->arena, run->constants.count + 1, sizeof *constants);
    if (!infos || !values || !constants) {
        cli_error("out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!api(ingot_library_constant_info(run->library, i, &infos[i]))) {
            return false;
        }
    }
    for (size_t i = 0; i < run->constants.count; i++) {
        struct ig_error error = {0};
        if (!base(cli_parse_constant(run->constants.items[i], infos, count, &values[i], &error),
                  &error)) {
            return false;
        }
        constants[i] = (ingot_constant){
            .index = values[i].index, .bytes = values[i].bytes, .size = values[i].size};
    }
    ingot_kernel_desc desc = {
        .name = run->kernel_name, .constants = constants, .constant_count = run->constants.count};
    ingot_status status = ingot_kernel_create(run->library, &desc, &run->kernel);
    if (status == INGOT_COMPILE_ERROR) {
        cli_diagnostics(ingot_error_message());
        return false;
    }
    return api(status) && api(ingot_kernel_get_info(run->kernel, &run->kernel_info));
}

static int compare_infos(const void *a, const void *b) {
    const ingot_argument_info *x = a, *y = b;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
                              : (x->index > y->index) - (x->index < y->index);
}

/* The kernel's active arguments: buffers by index, then threadgroup memory by index. */
static ingot_argument_info *sorted_arguments(struct run *run, size_t *count) {
    ingot_argument_info *infos =
        ig_arena_array(&run->arena, run->kernel_info.argument_count + 1, sizeof *infos);
    *count = 0;
    if (!infos) {
        cli_error("out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < run->kernel_info.argument_count; i++) {
        if (!api(ingot_kernel_argument_info(run->kernel, i, &infos[*count]))) {
            return NULL;
        }
        *count += infos[*count].active;
    }
    qsort(infos, *count, sizeof *infos, compare_infos);
    return infos;
}

/* Values for a three-component vector take the room of four. */
static bool pad_value(struct run *run, struct bound *bound) {
    struct cli_argument *given = &bound->given;
    size_t width = ig_scalar_size(given->scalar);
    if (given->kind != CLI_ARGUMENT_VALUE || bound->info.components != 3 || !width ||
        given->size != 3 * width || bound->info.type_size != 4 * width) {
        return true;
    }
    char *padded = ig_arena_alloc(&run->arena, 4 * width);
    if (!padded) {
        cli_error("out of memory");
        return false;
    }
    memcpy(padded, given->bytes, given->size);
    given->bytes = padded;
    given->size = 4 * width;
    return true;
}

/* Integers of one size are alike, and a .npy file holds bf16 as u16. */
static bool same_kind(ingot_scalar_type given, ingot_scalar_type wanted, bool from_file) {
    bool floating = given >= INGOT_SCALAR_F16 || wanted >= INGOT_SCALAR_F16;
    return ig_scalar_size(given) == ig_scalar_size(wanted) &&
           (!floating || given == wanted ||
            (from_file && given == INGOT_SCALAR_U16 && wanted == INGOT_SCALAR_BF16));
}

static void warn_of_type(const struct bound *bound) {
    size_t given = ig_scalar_size(bound->given.scalar);
    size_t wanted = ig_scalar_size(bound->info.scalar);
    if (given > 1 && wanted > 1 &&
        !same_kind(bound->given.scalar, bound->info.scalar,
                   bound->given.kind == CLI_ARGUMENT_FILE)) {
        cli_warning("argument %s holds %s, but %s (buffer %u) is of type %s", bound->given.text,
                    ig_scalar_name(bound->given.scalar), bound->info.name, bound->info.index,
                    bound->info.type_name);
    }
}

static bool make_buffer(struct run *run, struct bound *bound) {
    const struct cli_argument *given = &bound->given;
    if (given->kind == CLI_ARGUMENT_VALUE && bound->info.space == INGOT_SPACE_CONSTANT) {
        return true;
    }
    /* Timed and profiled kernels get buffers where the device puts them, aligned for speed. */
    bool guarded = run->device_info.unified_memory && !run->timed && !run->device_desc.isolated &&
                   !given->is_unwritten && !getenv("INGOT_PROFILE");
    if (!api(guarded ? cli_guarded_buffer(run->device, given->size, &bound->buffer)
                     : ingot_buffer_create(run->device, given->size, &bound->buffer))) {
        return false;
    }
    if (!given->is_unwritten) {
        ingot_buffer_contents(bound->buffer); /* its zeros count as written */
    }
    return !given->bytes ||
           api(ingot_stream_upload(run->stream, bound->buffer, 0, given->bytes, given->size));
}

/* A parameter of type tensor<device T, ...> takes the array's extents and strides with it. */
static bool describe_tensor(struct run *run, struct bound *bound, ingot_arg *arg) {
    int64_t extents[INGOT_TENSOR_RANK] = {0};
    uint32_t rank = (uint32_t)bound->given.rank;
    if (strncmp(bound->info.type_name, "tensor<", 7) != 0 || !bound->buffer) {
        return true;
    }
    for (uint32_t r = 0; r < rank && r < INGOT_TENSOR_RANK; r++) {
        extents[r] = (int64_t)bound->given.shape[rank - 1 - r];
    }
    ingot_tensor_argument *tensor = ig_arena_alloc(&run->arena, sizeof *tensor);
    if (!tensor) {
        cli_error("out of memory");
        return false;
    }
    *arg = (ingot_arg){.bytes = tensor, .size = sizeof *tensor};
    return api(ingot_tensor_argument_of(bound->buffer, 0, rank, extents, NULL, tensor));
}

static bool wrong_count(const struct run *run, const ingot_argument_info *infos, size_t count,
                        ingot_argument_kind kind, size_t given) {
    size_t wanted = 0;
    struct ig_text names = {0};
    for (size_t i = 0; i < count; i++) {
        if (infos[i].kind == kind) {
            ig_text_printf(&names, "%s%s(%u) %s", wanted++ ? ", " : "",
                           kind == INGOT_ARGUMENT_BUFFER ? "buffer" : "threadgroup", infos[i].index,
                           infos[i].name);
        }
    }
    if (wanted != given) {
        cli_error("kernel %s takes %zu %s argument%s (%s), but %zu %s given", run->kernel_name,
                  wanted, kind == INGOT_ARGUMENT_BUFFER ? "buffer" : "tg:", wanted == 1 ? "" : "s",
                  wanted ? ig_text_string(&names) : "none", given, given == 1 ? "was" : "were");
    }
    ig_text_free(&names);
    return wanted != given;
}

/* Before anything is compiled; CLI_USAGE for one that is none of the forms, CLI_FAILED for a file
 * that cannot be read. */
static int parse_arguments(struct run *run, const char *const *texts, size_t count) {
    run->bound = ig_arena_array(&run->arena, count + 1, sizeof *run->bound);
    if (!run->bound) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    for (size_t i = 0; i < count; i++) {
        struct ig_error error = {0};
        ingot_status status =
            cli_parse_argument(&run->arena, texts[i], &run->bound[i].given, &error);
        run->bound_count++;
        if (!base(status, &error)) {
            const bool form = run->bound[i].given.kind != CLI_ARGUMENT_FILE;
            return form && status == INGOT_INVALID_ARGUMENT ? CLI_USAGE : CLI_FAILED;
        }
    }
    return CLI_OK;
}

static bool bind_arguments(struct run *run) {
    size_t info_count, next = 0, count = run->bound_count;
    ingot_argument_info *infos = sorted_arguments(run, &info_count);
    run->args = ig_arena_array(&run->arena, 128, sizeof *run->args);
    run->lengths = ig_arena_array(&run->arena, 128, sizeof *run->lengths);
    if (!infos || !run->args || !run->lengths) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        next += run->bound[i].given.kind == CLI_ARGUMENT_THREADGROUP;
    }
    if (wrong_count(run, infos, info_count, INGOT_ARGUMENT_BUFFER, count - next) ||
        wrong_count(run, infos, info_count, INGOT_ARGUMENT_THREADGROUP, next)) {
        return false;
    }
    size_t buffers = 0, memories = count - next;
    for (size_t i = 0; i < count; i++) {
        struct bound *bound = &run->bound[i];
        bool is_memory = bound->given.kind == CLI_ARGUMENT_THREADGROUP;
        bound->info = infos[is_memory ? memories++ : buffers++];
        uint32_t index = bound->info.index;
        if (index >= 128) {
            cli_error("argument %s has index %u; at most 127 is possible", bound->info.name, index);
            return false;
        }
        if (is_memory) {
            run->lengths[index] = (uint32_t)bound->given.size;
            if (run->length_count <= index) {
                run->length_count = index + 1;
            }
            continue;
        }
        warn_of_type(bound);
        if (!pad_value(run, bound) || !make_buffer(run, bound)) {
            return false;
        }
        run->args[index] = (ingot_arg){.buffer = bound->buffer,
                                       .bytes = bound->buffer ? NULL : bound->given.bytes,
                                       .size = bound->buffer ? 0 : bound->given.size};
        if (!describe_tensor(run, bound, &run->args[index])) {
            return false;
        }
        if (run->arg_count <= index) {
            run->arg_count = index + 1;
        }
    }
    return true;
}

static ingot_dispatch_desc dispatch_of(const struct run *run) {
    ingot_dispatch_desc desc = {
        .kernel = run->kernel,
        .args = run->args,
        .arg_count = run->arg_count,
        .threadgroup_lengths = run->lengths,
        .threadgroup_length_count = run->length_count,
        .time_limit_seconds = run->time_limit,
    };
    memcpy(desc.threads, run->threads, sizeof desc.threads);
    memcpy(desc.threadgroups, run->threadgroups, sizeof desc.threadgroups);
    memcpy(desc.group, run->group, sizeof desc.group);
    return desc;
}

/* What the device has in its buffers, to `result` of each. */
static bool read_back(struct run *run) {
    for (size_t i = 0; i < run->bound_count; i++) {
        struct bound *bound = &run->bound[i];
        if (!bound->buffer) {
            continue;
        }
        if (!bound->result) {
            bound->result = ig_arena_array(&run->arena, bound->given.size + 1, 1);
        }
        if (!bound->result) {
            cli_error("no memory for %zu bytes of results", (size_t)bound->given.size);
            return false;
        }
        if (!api(ingot_stream_download(run->stream, bound->buffer, 0, bound->result,
                                       bound->given.size))) {
            return false;
        }
    }
    return true;
}

static bool write_outputs(const struct run *run) {
    for (size_t i = 0; i < run->bound_count; i++) {
        const struct bound *bound = &run->bound[i];
        if (!bound->given.output) {
            continue;
        }
        struct ig_npy array = {.scalar = bound->given.scalar, .rank = bound->given.rank};
        memcpy(array.shape, bound->given.shape, sizeof array.shape);
        array.data = bound->result;
        array.data_size = bound->given.size;
        struct ig_error error = {0};
        if (!base(ig_npy_write(bound->given.output, &array, &error), &error)) {
            return false;
        }
    }
    return true;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Repeats the dispatch on the buffers as they are, and takes the device's time of each. */
static bool measure(struct run *run) {
    ingot_event *start = NULL, *end = NULL;
    ingot_dispatch_desc desc = dispatch_of(run);
    uint32_t repeat = run->repeat == NOT_GIVEN ? 1 : run->repeat;
    run->seconds = ig_arena_array(&run->arena, repeat, sizeof *run->seconds);
    bool good = run->seconds && api(ingot_event_create(run->device, &start)) &&
                api(ingot_event_create(run->device, &end));
    for (uint32_t i = 0; good && i < repeat; i++) {
        good = api(ingot_stream_record(run->stream, start)) &&
               api(ingot_stream_dispatch(run->stream, &desc)) &&
               api(ingot_stream_record(run->stream, end)) && api(ingot_stream_wait(run->stream)) &&
               api(ingot_event_elapsed(start, end, &run->seconds[i]));
        run->seconds_count += good;
    }
    ingot_event_release(start);
    ingot_event_release(end);
    if (good) {
        qsort(run->seconds, run->seconds_count, sizeof *run->seconds, compare_doubles);
    }
    return good;
}

static void print_preview(const struct bound *bound) {
    struct ig_npy array = {.scalar = bound->given.scalar, .rank = bound->given.rank};
    memcpy(array.shape, bound->given.shape, sizeof array.shape);
    char shape[128];
    ig_npy_shape_text(&array, shape, sizeof shape);
    printf("  buffer(%u) %s: %s%s", bound->info.index, bound->info.name,
           ig_scalar_name(bound->given.scalar), shape);
    const uint8_t *contents = bound->result;
    size_t width = ig_scalar_size(bound->given.scalar);
    uint64_t count = width ? bound->given.size / width : 0;
    for (uint64_t i = 0; i < count && i < 8; i++) {
        char value[64];
        ig_scalar_print(bound->given.scalar, contents + i * width, value, sizeof value);
        printf("%s%s", i ? " " : " = ", value);
    }
    printf("%s", count > 8 ? " …" : "");
    if (bound->given.output) {
        printf(" → %s", bound->given.output);
    }
    putchar('\n');
}

static void print_result(const struct run *run) {
    const uint32_t *grid = run->threads[0] ? run->threads : run->threadgroups;
    printf("%s%s%s ran on %s (%s): %u×%u×%u %s\n", cli_bold(stdout), run->kernel_name,
           cli_plain(stdout), run->device_info.name, run->device_info.target, grid[0], grid[1],
           grid[2], run->threads[0] ? "threads" : "threadgroups");
    for (size_t i = 0; i < run->bound_count; i++) {
        if (run->bound[i].buffer && run->bound[i].info.writable && run->bound[i].given.scalar) {
            print_preview(&run->bound[i]);
        }
    }
    if (run->seconds_count) {
        printf("  time: best %.3f µs, median %.3f µs, worst %.3f µs of %zu\n",
               run->seconds[0] * 1e6, run->seconds[run->seconds_count / 2] * 1e6,
               run->seconds[run->seconds_count - 1] * 1e6, run->seconds_count);
    }
}

static void write_extent(struct ig_json *json, const char *key, const uint32_t extent[3]) {
    ig_json_array(json, key);
    for (int i = 0; i < 3; i++) {
        ig_json_u64(json, NULL, extent[i]);
    }
    ig_json_array_end(json);
}

/* failure: why the kernel did not end, or NULL. */
static void write_result(const struct run *run, const char *failure) {
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    ig_json_object(&json, NULL);
    ig_json_string(&json, "kernel", run->kernel_name);
    ig_json_string(&json, "device", run->device_info.name);
    ig_json_string(&json, "target", run->device_info.target);
    if (run->threads[0]) {
        write_extent(&json, "threads", run->threads);
    } else {
        write_extent(&json, "threadgroups", run->threadgroups);
    }
    ig_json_array(&json, "outputs");
    for (size_t i = 0; !failure && i < run->bound_count; i++) {
        const struct bound *bound = &run->bound[i];
        if (!bound->given.output) {
            continue;
        }
        ig_json_object(&json, NULL);
        ig_json_u64(&json, "index", bound->info.index);
        ig_json_string(&json, "name", bound->info.name);
        ig_json_string(&json, "file", bound->given.output);
        ig_json_string(&json, "type", ig_scalar_name(bound->given.scalar));
        ig_json_array(&json, "shape");
        for (uint32_t d = 0; d < bound->given.rank; d++) {
            ig_json_u64(&json, NULL, bound->given.shape[d]);
        }
        ig_json_array_end(&json);
        ig_json_object_end(&json);
    }
    ig_json_array_end(&json);
    ig_json_array(&json, "seconds");
    for (size_t i = 0; i < run->seconds_count; i++) {
        ig_json_double(&json, NULL, run->seconds[i]);
    }
    ig_json_array_end(&json);
    if (failure) {
        ig_json_string(&json, "failure", failure);
    }
    if (run->device_desc.sanitize) {
        cli_write_findings(&json, run->device);
    }
    if (run->explored) {
        cli_write_explored(&json, run->explored, run->explored_count, run->schedule.count);
    }
    ig_json_object_end(&json);
    printf("%s\n", ig_text_string(&text));
    ig_text_free(&text);
}

static bool explore(struct run *run) {
    ingot_dispatch_desc desc = dispatch_of(run);
    run->explored = ig_arena_array(&run->arena, run->bound_count + 1, sizeof *run->explored);
    if (!run->explored) {
        cli_error("out of memory");
        return false;
    }
    for (size_t i = 0; i < run->bound_count; i++) {
        const struct bound *bound = &run->bound[i];
        if (bound->buffer) {
            run->explored[run->explored_count++] =
                (struct cli_explored){.buffer = bound->buffer,
                                      .name = bound->info.name,
                                      .index = bound->info.index,
                                      .scalar = bound->given.scalar,
                                      .initial = bound->given.bytes,
                                      .first = bound->result,
                                      .size = bound->given.size};
        }
    }
    if (!cli_explore(run->device, run->stream, &desc, run->explored, run->explored_count,
                     run->schedule.count)) {
        return false;
    }
    cli_say_explored(run->explored, run->explored_count, run->schedule.count, stderr);
    return true;
}

static bool has_differences(const struct run *run) {
    for (size_t i = 0; i < run->explored_count; i++) {
        if (run->explored[i].seed) {
            return true;
        }
    }
    return false;
}

/* What was found before a kernel failed is told in JSON too. */
static bool launch(struct run *run) {
    ingot_dispatch_desc desc = dispatch_of(run);
    if (ingot_stream_dispatch(run->stream, &desc) || ingot_stream_wait(run->stream)) {
        cli_error("%s", ingot_error_message());
        if (run->as_json && ingot_device_finding_count(run->device)) {
            write_result(run, ingot_error_message());
        }
        return false;
    }
    return true;
}

static bool execute(struct run *run) {
    run->device_desc.cpu_level = run->cpu;
    run->device_desc.worker_threads = run->workers;
    run->device_desc.schedule = run->schedule.text;
    if (*run->schedule.seeded && !run->quiet) {
        fprintf(stderr, "schedule: %s\n", run->schedule.seeded);
    }
    if (!api(ingot_device_open(run->device_name, &run->device_desc, &run->device)) ||
        !api(ingot_device_get_info(run->device, &run->device_info)) ||
        cli_open_library(run->device, run->file, &run->source, &run->library)) {
        return false;
    }
    if ((cli_is_library(run->file) || cli_is_archive(run->file)) && !choose_module(run)) {
        return false;
    }
    if (*ingot_library_warnings(run->library) && !run->quiet) {
        cli_diagnostics(ingot_library_warnings(run->library));
    }
    if (!make_kernel(run) || !api(ingot_stream_create(run->device, &run->stream)) ||
        !bind_arguments(run)) {
        return false;
    }
    if (!launch(run) || !read_back(run) || !write_outputs(run)) {
        return false;
    }
    if ((run->timed && !measure(run)) || (run->schedule.count && !explore(run))) {
        return false;
    }
    if (run->as_json) {
        write_result(run, NULL);
    } else if (!run->quiet) {
        print_result(run);
    }
    return true;
}

static void release(struct run *run) {
    ingot_stream_release(run->stream);
    for (size_t i = 0; i < run->bound_count; i++) {
        ingot_buffer_release(run->bound[i].buffer);
        free(run->bound[i].given.storage);
    }
    ingot_kernel_release(run->kernel);
    ingot_library_release(run->library);
    ingot_device_release(run->device);
    cli_source_options_free(&run->source);
    cli_list_free(&run->constants);
    ig_arena_free(&run->arena);
}

static bool knows_kinds(const struct cli_command *command, const struct run *run) {
    struct ig_error error = {0};
    uint32_t kinds;
    bool good = ig_sanitize_parse(run->device_desc.sanitize, &kinds, &error) == INGOT_OK;
    if (!good) {
        cli_usage_error(command, "--sanitize: %s", ig_error_text(&error));
    }
    ig_error_clear(&error);
    return good;
}

/* Findings are status 3, also when the kernel then failed. */
static int finish_checks(const struct run *run, int status) {
    if (run->sarif && run->device && !cli_write_sarif(run->sarif, run->device)) {
        return CLI_FAILED;
    }
    bool any = (run->device && ingot_device_finding_count(run->device)) || has_differences(run);
    return any ? CLI_FINDINGS : status;
}

static int run_command(const struct cli_command *command, int argc, char **argv) {
    struct run run = {.repeat = NOT_GIVEN};
    struct cli_list items = {0};
    const struct cli_option options[] = {
        {"threads", 't', CLI_EXTENT, "X[,Y[,Z]]", "the grid in threads", &run.threads},
        {"threadgroups", 0, CLI_EXTENT, "X[,Y[,Z]]", "… or in whole threadgroups",
         &run.threadgroups},
        {"group", 'g', CLI_EXTENT, "X[,Y[,Z]]", "threads per threadgroup (one that fits)",
         &run.group},
        {"const", 0, CLI_LIST, "NAME_OR_INDEX=VALUE", "a function constant's value",
         &run.constants},
        {"device", 'd', CLI_STRING, "NAME", "the device to run on (cpu)", &run.device_name},
        {"cpu", 0, CLI_STRING, "LEVEL",
         "x86-64-v3, x86-64-v4, x86-64-v4-bf16, x86-64-v4-bf16-amx, aarch64 or aarch64-bf16 (the "
         "best there is)",
         &run.cpu},
        {"workers", 0, CLI_COUNT, "N", "CPU threads to use (all)", &run.workers},
        {"threadgroup-memory", 0, CLI_COUNT, "BYTES", "what a threadgroup may have (32768)",
         &run.device_desc.threadgroup_memory},
        {"isolated", 0, CLI_FLAG, NULL, "compile and run in processes without rights",
         &run.device_desc.isolated},
        {"time-limit", 0, CLI_NUMBER, "SECONDS", "stop a kernel that runs longer (60)",
         &run.time_limit},
        {"time", 0, CLI_FLAG, NULL, "run again, and show how long the device took", &run.timed},
        {"repeat", 0, CLI_COUNT, "N", "how often --time runs it (1)", &run.repeat},
        {"sanitize", 0, CLI_OPTIONAL, "KIND,...",
         "find mistakes: bounds, alignment, ... (all kinds); status 3 if there are any",
         &run.device_desc.sanitize},
        {"sarif", 0, CLI_STRING, "FILE", "write what --sanitize found for code hosts", &run.sarif},
        {"schedule", 0, CLI_STRING, "ORDER",
         "of threadgroups: random, random:SEED, first:X,Y,Z (that of a thread), or explore:N, "
         "which "
         "compares N of them",
         &run.schedule_option},
        {"json", 0, CLI_FLAG, NULL, "print JSON; keys are only ever added", &run.as_json},
        {"quiet", 'q', CLI_FLAG, NULL, "print nothing but errors", &run.quiet},
        CLI_SOURCE_OPTIONS(run.source),
        {0},
    };
    int status;
    if (cli_parse(command, options, argc, argv, &items, &status)) {
        if (items.count < 2) {
            status = cli_usage_error(command, "expected FILE and KERNEL");
        } else if (!run.threads[0] == !run.threadgroups[0]) {
            status = cli_usage_error(command, "expected either --threads or --threadgroups");
        } else if (run.threadgroups[0] && !run.group[0]) {
            status = cli_usage_error(command, "--threadgroups needs --group");
        } else if (run.repeat != NOT_GIVEN && !run.timed) {
            status = cli_usage_error(command, "--repeat is for --time, which was not given");
        } else if (run.sarif && !run.device_desc.sanitize) {
            status = cli_usage_error(command, "--sarif is for --sanitize, which was not given");
        } else if (run.device_desc.sanitize && !knows_kinds(command, &run)) {
            status = CLI_USAGE;
        } else if (run.schedule_option && !cli_parse_schedule(run.schedule_option, &run.schedule)) {
            status = cli_usage_error(command,
                                     "--schedule %s: expected fixed, random, random:SEED, "
                                     "first:X,Y,Z, or explore:N with N from 1 to %d",
                                     run.schedule_option, CLI_MOST_SCHEDULES);
        } else if (run.repeat == 0) {
            status = cli_usage_error(command, "--repeat 0: expected a whole number from 1");
        } else {
            run.file = items.items[0];
            run.kernel_name = items.items[1];
            status = parse_arguments(&run, items.items + 2, items.count - 2);
            if (!status && !execute(&run)) {
                status = CLI_FAILED;
            }
            status = finish_checks(&run, status);
        }
    }
    release(&run);
    cli_list_free(&items);
    return status;
}

const struct cli_command cli_run = {
    .name = "run",
    .summary = "run a kernel on .npy files and values",
    .usage = "FILE KERNEL --threads X[,Y[,Z]] [--group X[,Y[,Z]]] [OPTION]... ARG...",
    .help =
        "Runs one kernel. Each ARG is one buffer argument, in order of the buffer indices:\n\n"
        "  in.npy               a buffer with the data of the array\n"
        "  in.npy=out.npy       the same, written to out.npy after the run\n"
        "  f32[1024]            a buffer of zeros; f32[4,256] gives it a shape\n"
        "  f32[1024]=out.npy    the same, written to out.npy after the run\n"
        "  f32[1024]?           a buffer that nobody has written: --sanitize finds reads of it\n"
        "  f32:0.5 u32:128      a value, for a constant reference; f32:1,2,3 several\n"
        "  hex:0000803f         raw bytes, for a struct\n"
        "  tg:4096              bytes of threadgroup memory, in order of threadgroup indices\n\n"
        "Types: f32 f16 bf16 (uint16 in .npy) i8 u8 i16 u16 i32 u32 i64 u64 bool.\n"
        "With --time the outputs are those of the first run, which is not timed.",
    .examples =
        "  ingot run examples/saxpy.metal saxpy --threads 1024 \\\n"
        "      f32:2 x.npy y.npy=out.npy\n"
        "  ingot run gemm.metal gemm --threadgroups 16,16 --group 32,4 --time --repeat 20 \\\n"
        "      a.npy b.npy f32[1024,1024]=c.npy u32:1024",
    .run = run_command,
};
