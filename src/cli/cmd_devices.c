/* `ingot devices`: what is here, with limits. */
#include <inttypes.h>

#include "base/json.h"
#include "cli/cli.h"

static void print_device(const ingot_device_info *info) {
    char buffer[32];
    printf("%s%s%s  %s\n", cli_bold(stdout), info->name, cli_plain(stdout), info->description);
    printf("  code level                   %s\n", info->target);
    printf("  SIMD width                   %u\n", info->simd_width);
    printf("  threads per threadgroup      %u\n", info->max_threads_per_threadgroup);
    printf("  threadgroup memory           %s\n", cli_bytes(info->max_threadgroup_memory, buffer));
    printf("  compute units                %u\n", info->compute_units);
    printf("  longest buffer               %s\n", cli_bytes(info->max_buffer_length, buffer));
    printf("  alignment of buffer offsets  %u\n", info->min_offset_alignment);
    printf("  unified memory               %s\n", info->unified_memory ? "yes" : "no");
}

static void write_device(struct ig_json *json, const ingot_device_info *info) {
    ig_json_object(json, NULL);
    ig_json_string(json, "name", info->name);
    ig_json_string(json, "description", info->description);
    ig_json_string(json, "target", info->target);
    ig_json_u64(json, "simd_width", info->simd_width);
    ig_json_u64(json, "max_threads_per_threadgroup", info->max_threads_per_threadgroup);
    ig_json_u64(json, "max_threadgroup_memory", info->max_threadgroup_memory);
    ig_json_u64(json, "compute_units", info->compute_units);
    ig_json_u64(json, "max_buffer_length", info->max_buffer_length);
    ig_json_u64(json, "min_offset_alignment", info->min_offset_alignment);
    ig_json_bool(json, "unified_memory", info->unified_memory);
    ig_json_object_end(json);
}

static int run(const struct cli_command *command, int argc, char **argv) {
    bool as_json = false;
    const struct cli_option options[] = {
        {"json", 0, CLI_FLAG, NULL, "print JSON", &as_json},
        {0},
    };
    struct cli_list positionals = {0};
    int status;
    if (!cli_parse(command, options, argc, argv, &positionals, &status) || positionals.count) {
        if (positionals.count) {
            status = cli_usage_error(command, "unexpected argument %s", positionals.items[0]);
        }
        cli_list_free(&positionals);
        return status;
    }
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    ig_json_object(&json, NULL);
    ig_json_array(&json, "devices");
    status = CLI_OK;
    size_t count = ingot_device_count();
    for (size_t i = 0; i < count; i++) {
        ingot_device_info info;
        if (ingot_device_describe(i, &info)) {
            cli_error("device %zu: %s", i, ingot_error_message());
            status = CLI_FAILED;
        } else if (as_json) {
            write_device(&json, &info);
        } else {
            print_device(&info);
        }
    }
    ig_json_array_end(&json);
    ig_json_object_end(&json);
    if (as_json) {
        printf("%s\n", ig_text_string(&text));
    }
    ig_text_free(&text);
    return status;
}

const struct cli_command cli_devices = {
    .name = "devices",
    .summary = "what is here, with limits",
    .usage = "[--json]",
    .help = "Lists the devices that kernels can run on, and the limits of each.",
    .run = run,
};
