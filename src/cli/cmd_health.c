/* `ingot health`: every operation's cases, checked on every device that is here. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "harness/harness.h"

struct health {
    struct cli_list operations;
    const char *device, *match;
    bool all, gradients;
    struct igh_options options;
    size_t passed, failed;
};

static bool wanted(const struct health *health, const char *operation) {
    for (size_t i = 0; i < health->operations.count; i++)
        if (!strcmp(health->operations.items[i], operation))
            return true;
    return health->operations.count == 0;
}

static void check_case(struct health *health, const struct igh_suite *suite,
                       const struct igh_case *test, ingot_scalar_type type) {
    struct igh_result result;
    igh_check(&health->options, suite, test, type, &result);
    *(result.passed ? &health->passed : &health->failed) += 1;
    printf("%s%-6s%s %-20s %-5s %-28s %8.3f %7.0f ms  %s",
           result.passed ? cli_green(stdout) : cli_red(stdout), result.passed ? "ok" : "FAILED",
           cli_plain(stdout), suite->operation,
           type == INGOT_SCALAR_F32   ? "f32"
           : type == INGOT_SCALAR_F16 ? "f16"
                                      : "bf16",
           test->name,
           result.worst && result.worst->bound > 0 ? result.worst->value / result.worst->bound
                                                   : 0.0,
           result.seconds * 1e3, result.variant);
    printf("%s%s\n", *result.message ? "  " : "", result.message);
    fflush(stdout);
}

static void check_suite(struct health *health, const struct igh_suite *suite) {
    static const ingot_scalar_type types[] = {INGOT_SCALAR_F32, INGOT_SCALAR_F16,
                                              INGOT_SCALAR_BF16};
    for (size_t c = 0; c < suite->case_count; c++) {
        const struct igh_case *test = &suite->cases[c];
        uint32_t uses = test->uses ? test->uses : IGH_CHECK;
        if (!(uses & IGH_CHECK) || (uses & IGH_SLOW && !health->all) ||
            (health->match && !strstr(test->name, health->match)))
            continue;
        for (size_t t = 0; t < 3; t++)
            if (igh_case_has_type(suite, test, types[t]))
                check_case(health, suite, test, types[t]);
    }
}

static int check_all(struct health *health) {
    ingot_device *device = NULL;
    ingot_status status = ingot_device_open(health->device, NULL, &device);
    if (!status)
        status = ingot_ops_create(device, NULL, &health->options.ops);
    if (!status)
        status = ingot_stream_create(device, &health->options.stream);
    if (status)
        cli_error("%s", ingot_error_message());
    health->options.gradients = true;
    for (size_t i = 0; i < igh_all_suites_count && !status; i++)
        for (size_t k = 0; k < igh_all_suites[i]->count; k++)
            if (wanted(health, igh_all_suites[i]->suites[k]->operation))
                check_suite(health, igh_all_suites[i]->suites[k]);
    ingot_stream_release(health->options.stream);
    ingot_ops_release(health->options.ops);
    ingot_device_release(device);
    printf("%zu passed, %zu failed\n", health->passed, health->failed);
    return status || health->failed ? CLI_FAILED : CLI_OK;
}

static int run(const struct cli_command *command, int argc, char **argv) {
    struct health health = {0};
    const struct cli_option options[] = {
        {"device", 0, CLI_STRING, "NAME", "the device (cpu)", &health.device},
        {"case", 0, CLI_STRING, "TEXT", "only cases whose name contains TEXT", &health.match},
        {"all", 0, CLI_FLAG, NULL, "slow cases too", &health.all},
        {0},
    };
    int status;
    if (cli_parse(command, options, argc, argv, &health.operations, &status))
        status = check_all(&health);
    cli_list_free(&health.operations);
    return status;
}

const struct cli_command cli_health = {
    .name = "health",
    .summary = "check every operation against its reference",
    .usage = "[OPERATION]... [--device NAME] [--case TEXT] [--all]",
    .help = "Runs the cases of the operations and compares them with double precision.",
    .examples = "  ingot health\n  ingot health rms_norm softmax",
    .run = run,
};
