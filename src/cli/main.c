/* The `ingot` command: picks a subcommand from the table and runs it. */
#include <string.h>

#include "cli/cli.h"

static const struct cli_command *const commands[] = {
    &cli_devices, &cli_inspect, &cli_check, &cli_run,  &cli_debug, &cli_editor, &cli_pack,
    &cli_health,  &cli_profile, &cli_bench, &cli_tune, &cli_ops,   &cli_cache,  &cli_merge};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *out) {
    const char *bold = cli_bold(out), *plain = cli_plain(out);
    fprintf(out, "ingot %s: run Metal compute kernels anywhere\n\n%susage:%s ingot COMMAND …\n\n",
            ingot_version(), bold, plain);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  %s%-8s%s %s\n", bold, commands[i]->name, plain, commands[i]->summary);
    }
    fprintf(
        out,
        "\n`ingot COMMAND --help` says more. FILE is Metal source (.metal), an .ingot archive or "
        "a .metallib.\n\n%senvironment:%s\n"
        "  INGOT_DEVICE       the device when --device is not given (cpu)\n"
        "  INGOT_CPU          the CPU level: x86-64-v3, x86-64-v4, x86-64-v4-bf16,\n"
        "                     x86-64-v4-bf16-amx, aarch64, aarch64-bf16\n"
        "  INGOT_DEBUG        1: kernels are compiled for debuggers, and run thread by thread\n"
        "  INGOT_CACHE_DIR    where compiled kernels are kept (~/.cache/ingot)\n"
        "  INGOT_CACHE_LIMIT  how much is kept there: 500M, 2G; 0: nothing; none: no limit (1G)\n"
        "  INGOT_TRACE        a file for a timeline of any program on ingot (Perfetto)\n"
        "  INGOTC             the compiler to use (ingotc beside this command, or in PATH)\n"
        "  INGOT_CLANG        the clang that ingotc uses (its own, or clang-19, -20 or -21)\n"
        "  NO_COLOR           no colour, also on a terminal\n",
        bold, plain);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--version") || !strcmp(name, "-V") || !strcmp(name, "version")) {
        printf("ingot %s\n", ingot_version());
        return CLI_OK;
    }
    bool wants_help = !strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help");
    if (wants_help && argc < 3) {
        print_help(stdout);
        return CLI_OK;
    }
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (wants_help && !strcmp(argv[2], commands[i]->name)) {
            char help[] = "--help";
            char *help_argv[] = {help, NULL};
            return commands[i]->run(commands[i], 1, help_argv);
        }
        if (!strcmp(name, commands[i]->name)) {
            return commands[i]->run(commands[i], argc - 2, argv + 2);
        }
    }
    cli_error("there is no command \"%s\"; `ingot --help` lists them", wants_help ? argv[2] : name);
    return CLI_USAGE;
}
