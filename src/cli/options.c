/* Command-line options from a table. Options and positionals may be mixed; `--` ends the
 * options; values come as `--name value`, `--name=value`, `-x value` or `-xvalue`. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/source_options.h"
#include "cli/cli.h"

bool cli_list_add(struct cli_list *list, const char *item) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        const char **items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            cli_error("out of memory");
            return false;
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
    return true;
}

void cli_list_free(struct cli_list *list) {
    free(list->items);
    *list = (struct cli_list){0};
}

static size_t columns_of(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80; /* UTF-8: once for each character */
    }
    return count;
}

/* Goes on at a column, and in it after every line that is full. */
static void print_wrapped(FILE *out, size_t column, const char *text) {
    enum { MOST_COLUMNS = 100 };
    size_t at = column;
    while (*text) {
        size_t spaces = strspn(text, " "), length = strcspn(text + spaces, " ");
        size_t width = columns_of(text + spaces, length);
        if (at > column && at + spaces + width > MOST_COLUMNS) {
            fprintf(out, "\n%*s%.*s", (int)column, "", (int)length, text + spaces);
            at = column + width;
        } else {
            fprintf(out, "%.*s", (int)(spaces + length), text);
            at += spaces + width;
        }
        text += spaces + length;
    }
    fputc('\n', out);
}

/* Behind "usage: ". Of two forms the second has a line of its own. */
static void print_usage(FILE *out, const struct cli_command *command) {
    static const char between[] = "  |  ";
    const size_t column = strlen("usage: ");
    const char *second = strstr(command->usage, between);
    char usage[1024];
    snprintf(usage, sizeof usage, "ingot %s %.*s%s", command->name,
             second ? (int)(second - command->usage) : (int)strlen(command->usage), command->usage,
             second ? "  |" : "");
    print_wrapped(out, column, usage);
    if (second) {
        fprintf(out, "%*s", (int)column, "");
        print_wrapped(out, column, second + strlen(between));
    }
}

int cli_usage_error(const struct cli_command *command, const char *format, ...) {
    char message[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    cli_error("%s", message);
    fputs("usage: ", stderr);
    print_usage(stderr, command);
    fprintf(stderr, "`ingot %s --help` says more\n", command->name);
    return CLI_USAGE;
}

/* Two spaces or more stand before the help: tools/command-docs reads this. */
static void print_option(FILE *out, const struct cli_option *option) {
    char left[64], letter[8] = "    ";
    if (option->letter) {
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    bool optional = option->kind == CLI_OPTIONAL;
    snprintf(left, sizeof left, "%s--%s%s%s%s", letter, option->name,
             optional             ? "[="
             : option->value_name ? " "
                                  : "",
             option->value_name ? option->value_name : "", optional ? "]" : "");
    enum { HELP_COLUMN = 33 };
    size_t used = strlen(left) > 29 ? strlen(left) + 4 : HELP_COLUMN;
    fprintf(out, "  %-29s  ", left);
    print_wrapped(out, used, option->help);
}

static void print_command_help(const struct cli_command *command,
                               const struct cli_option *options) {
    const char *bold = cli_bold(stdout), *plain = cli_plain(stdout);
    printf("%susage:%s ", bold, plain);
    print_usage(stdout, command);
    printf("\n%s\n\n%soptions:%s\n", command->help, bold, plain);
    for (const struct cli_option *o = options; o->name; o++) {
        print_option(stdout, o);
    }
    static const struct cli_option help = {"help", 'h', CLI_FLAG, NULL, "show this", NULL};
    print_option(stdout, &help);
    if (command->examples) {
        printf("\n%sexamples:%s\n%s\n", bold, plain, command->examples);
    }
}

static bool parse_u32(const char *text, char **end, uint32_t *out) {
    if (*text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    unsigned long long value = strtoull(text, end, 10);
    if (errno || value > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

static bool set_extent(uint32_t extent[3], const char *text) {
    char *end;
    extent[0] = extent[1] = extent[2] = 1;
    for (int i = 0; i < 3; i++) {
        if (!parse_u32(text, &end, &extent[i]) || !extent[i]) {
            return false;
        }
        if (!*end) {
            return true;
        }
        if (*end != ',' && *end != 'x') {
            return false;
        }
        text = end + 1;
    }
    return false;
}

static bool set_shard(struct cli_shard *shard, const char *text) {
    char *end;
    return parse_u32(text, &end, &shard->index) && *end == '/' &&
           parse_u32(end + 1, &end, &shard->count) && !*end && shard->index >= 1 &&
           shard->index <= shard->count;
}

bool cli_msl_version(const char *text, uint32_t *version) {
    char *end;
    if (!parse_u32(text, &end, version)) {
        return false;
    }
    if (*end == '.' && end[1] >= '0' && end[1] <= '9' && !end[2] && *version < 10) {
        *version = *version * 100 + (uint32_t)(end[1] - '0') * 10;
        end += 2;
    }
    return !*end && ig_msl_version_is_known(*version);
}

static bool set_option(const struct cli_command *command, const struct cli_option *option,
                       const char *value) {
    char *end;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)option->target = true;
        return true;
    case CLI_OPTIONAL:
        *(const char **)option->target = value ? value : "";
        return true;
    case CLI_STRING:
        *(const char **)option->target = value;
        return true;
    case CLI_LIST:
        return cli_list_add(option->target, value);
    case CLI_EXTENT:
        if (set_extent(option->target, value)) {
            return true;
        }
        cli_usage_error(
            command,
            "--%s %s: expected one to three whole numbers from 1 to 4294967295, such as 64,64",
            option->name, value);
        return false;
    case CLI_COUNT:
        if (parse_u32(value, &end, option->target) && !*end) {
            return true;
        }
        cli_usage_error(command, "--%s %s: expected a whole number", option->name, value);
        return false;
    case CLI_SHARD:
        if (set_shard(option->target, value)) {
            return true;
        }
        cli_usage_error(command, "--%s %s: expected two numbers I/N, with 1 <= I <= N",
                        option->name, value);
        return false;
    case CLI_DEFINES: {
        size_t name = strcspn(value, "=");
        if (ig_macro_name_is_good(value, name) && ig_macro_value_is_good(value + name)) {
            return cli_list_add(option->target, value);
        }
        cli_usage_error(command, "--%s (-D) %s: expected NAME or NAME=VALUE, a name and one line",
                        option->name, value);
        return false;
    }
    case CLI_VERSION:
        if (cli_msl_version(value, option->target)) {
            return true;
        }
        cli_usage_error(command, "--%s %s: expected %s", option->name, value, ig_msl_versions);
        return false;
    case CLI_NUMBER:
        *(double *)option->target = strtod(value, &end);
        if (*value && !*end && isfinite(*(double *)option->target)) {
            return true;
        }
        cli_usage_error(command, "--%s %s: expected a number", option->name, value);
        return false;
    }
    return false;
}

/* Finds the option that `argument` names; *value is what is attached to it, or NULL. */
static const struct cli_option *find_option(const struct cli_option *options, const char *argument,
                                            const char **value) {
    *value = NULL;
    for (const struct cli_option *o = options; o->name; o++) {
        size_t length = strlen(o->name);
        if (argument[1] == '-') {
            if (strncmp(argument + 2, o->name, length)) {
                continue;
            }
            char next = argument[2 + length];
            if (next == '=') {
                *value = argument + 3 + length;
            }
            if (next == '=' || next == 0) {
                return o;
            }
        } else if (o->letter && argument[1] == o->letter) {
            if (argument[2]) {
                *value = argument + 2;
            }
            return o;
        }
    }
    return NULL;
}

bool cli_parse(const struct cli_command *command, const struct cli_option *options, int argc,
               char **argv, struct cli_list *positionals, int *exit_status) {
    bool options_over = false;
    *exit_status = CLI_USAGE;
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i], *value;
        if (options_over || argument[0] != '-' || !argument[1]) {
            if (!cli_list_add(positionals, argument)) {
                return false;
            }
            continue;
        }
        if (!strcmp(argument, "--")) {
            options_over = true;
            continue;
        }
        if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
            print_command_help(command, options);
            *exit_status = CLI_OK;
            return false;
        }
        const struct cli_option *option = find_option(options, argument, &value);
        if (!option) {
            cli_usage_error(command, "there is no option %s", argument);
            return false;
        }
        if (option->kind == CLI_FLAG && value) {
            cli_usage_error(command, "--%s takes no value (%s)", option->name, argument);
            return false;
        }
        if (option->kind != CLI_FLAG && option->kind != CLI_OPTIONAL && !value) {
            if (i + 1 == argc) {
                cli_usage_error(command, "--%s needs a value (%s)", option->name,
                                option->value_name);
                return false;
            }
            value = argv[++i];
        }
        if (!set_option(command, option, value)) {
            return false;
        }
    }
    return true;
}

/* ---- commands that pass options on ---- */

static const struct cli_option *find_long(const struct cli_option *options, const char *word) {
    size_t length = strcspn(word, "=");
    for (; options->name; options++) {
        if (strlen(options->name) + 2 == length && !strncmp(word, "--", 2) &&
            !strncmp(word + 2, options->name, length - 2)) {
            return options;
        }
    }
    return NULL;
}

bool cli_split(const struct cli_option *options, int argc, char **argv, char **own, int *own_count,
               struct cli_list *rest, bool *is_program) {
    int i = 0;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const struct cli_option *option = find_long(options, argv[i]);
        bool is_help = !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h");
        if (!option && !is_help) {
            if (!cli_list_add(rest, argv[i])) {
                return false;
            }
            continue;
        }
        own[(*own_count)++] = argv[i];
        if (option && option->kind != CLI_FLAG && !strchr(argv[i], '=') && i + 1 < argc) {
            own[(*own_count)++] = argv[++i];
        }
    }
    *is_program = i < argc && !rest->count;
    for (i++; i < argc; i++) {
        if (!cli_list_add(rest, argv[i])) {
            return false;
        }
    }
    return true;
}
