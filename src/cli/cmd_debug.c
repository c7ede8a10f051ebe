/*
 * `ingot debug`: starts gdb or lldb on `ingot run`, with code for debuggers and the commands of
 * src/debugger loaded. What is not an option of its own is `ingot run`'s.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/archive.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"

struct debug {
    struct ig_arena arena;
    struct cli_list own, rest; /* of the command line */
    struct cli_list breaks, commands;
    const char *thread, *threadgroup, *debugger;
    bool batch, vscode;
    struct cli_list line; /* the debugger's command line */
    char self[4096];
    const char *scripts; /* the folder */
};

enum { DEBUG_OPTIONS = 8 };

static void list_options(struct debug *debug, struct cli_option out[DEBUG_OPTIONS]) {
    const struct cli_option options[DEBUG_OPTIONS] = {
        {"break", 0, CLI_LIST, "PLACE", "stop there: FILE:LINE, LINE or a function (the kernel)",
         &debug->breaks},
        {"thread", 0, CLI_STRING, "X[,Y[,Z]]", "only this thread of the grid stops",
         &debug->thread},
        {"threadgroup", 0, CLI_STRING, "X[,Y[,Z]]", "only threads of this threadgroup stop",
         &debug->threadgroup},
        {"command", 0, CLI_LIST, "COMMAND", "a command of the debugger, when it has stopped",
         &debug->commands},
        {"batch", 0, CLI_FLAG, NULL, "end after these instead of asking for more", &debug->batch},
        {"debugger", 0, CLI_STRING, "PROGRAM", "gdb or lldb (gdb if there is one)",
         &debug->debugger},
        {"vscode", 0, CLI_FLAG, NULL, "write .vscode/launch.json for this instead", &debug->vscode},
        {0},
    };
    memcpy(out, options, sizeof options);
}

/* ---- the command line ---- */
static const struct cli_option *find_option(const struct cli_option *options, const char *word) {
    size_t length = strcspn(word + 2, "=");
    for (const struct cli_option *o = options; o->name; o++) {
        if (strlen(o->name) == length && !strncmp(o->name, word + 2, length)) {
            return o;
        }
    }
    return NULL;
}

/* Sorts the words into this command's and those of `ingot run`. */
static bool sort_words(struct debug *debug, const struct cli_option *options, int argc,
                       char **argv) {
    bool good = true;
    for (int i = 0; i < argc && good; i++) {
        bool is_help = !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h");
        const struct cli_option *option =
            strncmp(argv[i], "--", 2) ? NULL : find_option(options, argv[i]);
        good = cli_list_add(option || is_help ? &debug->own : &debug->rest, argv[i]);
        if (option && option->kind != CLI_FLAG && !strchr(argv[i], '=') && i + 1 < argc) {
            good = good && cli_list_add(&debug->own, argv[++i]);
        }
    }
    return good;
}

static bool is_position(const char *text) {
    int numbers = 1;
    if (*text < '0' || *text > '9') {
        return false;
    }
    for (; *text; text++) {
        bool is_digit = *text >= '0' && *text <= '9';
        if (!is_digit && (*text != ',' || text[1] < '0' || text[1] > '9')) {
            return false;
        }
        numbers += *text == ',';
    }
    return numbers <= 3;
}

/* The file that is run: the first word that is one. */
static const char *run_path(const struct debug *debug) {
    for (size_t i = 0; i < debug->rest.count; i++) {
        const char *word = debug->rest.items[i];
        if (*word != '-' && !access(word, R_OK)) {
            return word;
        }
    }
    return "";
}

static const char *run_file(const struct debug *debug) {
    const char *path = run_path(debug), *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* An archive may be without its source; what is wrong with it otherwise `ingot run` says. */
static bool has_source(const struct debug *debug) {
    const char *path = run_path(debug);
    struct cli_compilation reading = {.path = path};
    const struct ig_archive *archive = NULL;
    struct ig_error error = {0};
    bool lacks = *path && cli_is_archive(path) &&
                 !cli_read_archive(&reading, path, &archive, &error) && !*archive->source;
    if (lacks) {
        cli_error(
            "%s has no source, and debuggers need it: ingot pack without --no-source keeps it",
            path);
    }
    ig_error_clear(&error);
    cli_compilation_free(&reading);
    return !lacks;
}

/* A line alone is one of that file. */
static const char *place(struct debug *debug, const char *text) {
    bool is_line = *text && text[strspn(text, "0123456789")] == '\0';
    return is_line ? ig_arena_printf(&debug->arena, "%s:%s", run_file(debug), text) : text;
}

/* Threads of the chosen one's threadgroup run first, so that the others of a large grid do not come
 * by the breakpoints before. NULL: there is none, or an order was asked for. */
static const char *choice_first(struct debug *debug) {
    const char *position = debug->thread ? debug->thread : debug->threadgroup;
    for (size_t i = 0; i < debug->rest.count; i++) {
        if (!strncmp(debug->rest.items[i], "--schedule", strlen("--schedule"))) {
            return NULL;
        }
    }
    return position ? ig_arena_printf(&debug->arena, "--schedule=first%s:%s",
                                      debug->thread ? "" : "-threadgroup", position)
                    : NULL;
}

/* The value of an option of `ingot run`, NULL where it is not given. */
static const char *find_value(const struct debug *debug, const char *name, const char *letter) {
    size_t length = strlen(name);
    for (size_t i = 0; i < debug->rest.count; i++) {
        const char *word = debug->rest.items[i];
        if (!strcmp(word, name) || !strcmp(word, letter)) {
            return i + 1 < debug->rest.count ? debug->rest.items[i + 1] : "";
        }
        if (!strncmp(word, name, length) && word[length] == '=') {
            return word + length + 1;
        }
    }
    return NULL;
}

/* "X[,Y[,Z]]"; 0 where it is not given. */
static void find_extent(const struct debug *debug, const char *name, const char *letter,
                        unsigned extent[3]) {
    const char *value = find_value(debug, name, letter);
    extent[0] = extent[1] = extent[2] = value != NULL;
    if (value) {
        (void)sscanf(value, "%u,%u,%u", &extent[0], &extent[1], &extent[2]);
    }
}

/* An option with which no debugger would see the kernel; NULL: there is none. */
static const char *what_hides(const struct debug *debug) {
    const char *level = find_value(debug, "--cpu", "--cpu");
    return find_value(debug, "--isolated", "--isolated") ? "--isolated"
           : find_value(debug, "--device", "-d")         ? "--device"
           : level && !strstr(level, "-debug")           ? "--cpu"
                                                         : NULL;
}

/* Does the position lie in the grid, as far as the command line says how large that is? */
static bool is_inside(const char *text, const unsigned threads[3], const unsigned group[3]) {
    unsigned position[3] = {0};
    (void)sscanf(text, "%u,%u,%u", &position[0], &position[1], &position[2]);
    for (int axis = 0; axis < 3; axis++) {
        unsigned each = group ? group[axis] : 1;
        if (threads[0] && each && position[axis] >= (threads[axis] + each - 1) / each) {
            return false;
        }
    }
    return true;
}

/* ---- the debugger ---- */
static bool add(struct debug *debug, const char *word) {
    return word && cli_list_add(&debug->line, word);
}

/* `-ex COMMAND` of gdb, `-o COMMAND` of lldb. */
static bool add_command(struct debug *debug, const char *option, const char *command) {
    return add(debug, option) && add(debug, command);
}

static bool is_lldb(const char *program) {
    return strstr(program, "lldb") != NULL;
}

static bool add_choice(struct debug *debug, const char *option) {
    if (!debug->thread && !debug->threadgroup) {
        return true;
    }
    return add_command(debug, option,
                       ig_arena_printf(&debug->arena, "ingot only%s%s%s%s",
                                       debug->thread ? " thread " : "",
                                       debug->thread ? debug->thread : "",
                                       debug->threadgroup ? " threadgroup " : "",
                                       debug->threadgroup ? debug->threadgroup : ""));
}

static bool build_line(struct debug *debug, const char *program) {
    bool lldb = is_lldb(program);
    const char *option = lldb ? "-o" : "-ex";
    bool good = add(debug, program) && (lldb || add(debug, "-q"));
    if (debug->batch) {
        good = good && add(debug, "--batch");
    }
    char *loading =
        ig_arena_printf(&debug->arena, "%s %s/%s", lldb ? "command script import" : "source",
                        debug->scripts, lldb ? "ingot_lldb.py" : "ingot_gdb.py");
    good = good && add_command(debug, option, loading) && add_choice(debug, option);
    if (!debug->breaks.count) {
        good = good && add_command(debug, option, "ingot break ingot_entry");
    }
    for (size_t i = 0; i < debug->breaks.count && good; i++) {
        const char *at = place(debug, debug->breaks.items[i]);
        good =
            at && add_command(debug, option, ig_arena_printf(&debug->arena, "ingot break %s", at));
    }
    good = good && add_command(debug, option, "run");
    for (size_t i = 0; i < debug->commands.count && good; i++) {
        good = add_command(debug, option, debug->commands.items[i]);
    }
    good = good && add(debug, lldb ? "--" : "--args") && add(debug, debug->self) &&
           add(debug, "run") && add(debug, "--workers=1");
    const char *first = choice_first(debug);
    good = good && (!first || add(debug, first));
    for (size_t i = 0; i < debug->rest.count && good; i++) {
        good = add(debug, debug->rest.items[i]);
    }
    return good && cli_list_add(&debug->line, NULL);
}

static bool in_path(struct ig_arena *arena, const char *program) {
    const char *path = getenv("PATH");
    for (const char *p = path ? path : ""; *p; p += *p == ':') {
        size_t length = strcspn(p, ":");
        char *file = ig_arena_printf(arena, "%.*s/%s", (int)length, p, program);
        if (length && file && !access(file, X_OK)) {
            return true;
        }
        p += length;
    }
    return false;
}

static const char *choose_debugger(struct debug *debug) {
    static const char *const known[] = {"gdb", "lldb", "lldb-19", "lldb-20", "lldb-21"};
    if (debug->debugger && strcmp(debug->debugger, "lldb") != 0) {
        return debug->debugger;
    }
    for (size_t i = debug->debugger ? 1 : 0; i < sizeof known / sizeof *known; i++) {
        if (in_path(&debug->arena, known[i])) {
            return known[i];
        }
    }
    return NULL;
}

static int start(struct debug *debug) {
    const char *program = choose_debugger(debug);
    if (!program) {
        cli_error("there is no %s in $PATH: apt-get install gdb, or name one with --debugger",
                  debug->debugger ? debug->debugger : "gdb or lldb");
        return CLI_FAILED;
    }
    if (!build_line(debug, program)) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    setenv("INGOT_DEBUG", "1", 1);
    fflush(stdout);
    execvp(program, (char *const *)(uintptr_t)debug->line.items);
    cli_error("%s cannot be started", program);
    return CLI_FAILED;
}

/* ---- VS Code ---- */
static void write_words(struct ig_json *json, const char *key, struct debug *debug) {
    ig_json_array(json, key);
    ig_json_string(json, NULL, "run");
    ig_json_string(json, NULL, "--workers=1");
    const char *first = choice_first(debug);
    if (first) {
        ig_json_string(json, NULL, first);
    }
    for (size_t i = 0; i < debug->rest.count; i++) {
        ig_json_string(json, NULL, debug->rest.items[i]);
    }
    ig_json_array_end(json);
}

static void write_setup(struct ig_json *json, const char *text) {
    ig_json_object(json, NULL);
    ig_json_string(json, "text", text);
    ig_json_object_end(json);
}

/* For Microsoft's C/C++ extension, which drives gdb. */
static void write_cpptools(struct ig_json *json, struct debug *debug) {
    ig_json_object(json, NULL);
    ig_json_string(json, "name", "Metal kernel (gdb)");
    ig_json_string(json, "type", "cppdbg");
    ig_json_string(json, "request", "launch");
    ig_json_string(json, "program", debug->self);
    write_words(json, "args", debug);
    ig_json_string(json, "cwd", "${workspaceFolder}");
    ig_json_array(json, "environment");
    ig_json_object(json, NULL);
    ig_json_string(json, "name", "INGOT_DEBUG");
    ig_json_string(json, "value", "1");
    ig_json_object_end(json);
    ig_json_array_end(json);
    ig_json_string(json, "MIMode", "gdb");
    ig_json_array(json, "setupCommands");
    write_setup(json, "-enable-pretty-printing");
    write_setup(json, ig_arena_printf(&debug->arena, "source %s/ingot_gdb.py", debug->scripts));
    ig_json_array_end(json);
    ig_json_object_end(json);
}

/* For an extension on lldb. The caller writes its type and environment. */
static void write_lldb(struct ig_json *json, struct debug *debug, const char *name) {
    ig_json_string(json, "name", name);
    ig_json_string(json, "request", "launch");
    ig_json_string(json, "program", debug->self);
    write_words(json, "args", debug);
    ig_json_string(json, "cwd", "${workspaceFolder}");
    ig_json_array(json, "initCommands");
    ig_json_string(
        json, NULL,
        ig_arena_printf(&debug->arena, "command script import %s/ingot_lldb.py", debug->scripts));
    ig_json_array_end(json);
}

static void write_codelldb(struct ig_json *json, struct debug *debug) {
    ig_json_object(json, NULL);
    ig_json_string(json, "type", "lldb");
    write_lldb(json, debug, "Metal kernel (lldb)");
    ig_json_object(json, "env");
    ig_json_string(json, "INGOT_DEBUG", "1");
    ig_json_object_end(json);
    ig_json_object_end(json);
}

/* LLVM's own extension; up to LLVM 19 its adapter takes the environment as a list only. */
static void write_lldb_dap(struct ig_json *json, struct debug *debug) {
    ig_json_object(json, NULL);
    ig_json_string(json, "type", "lldb-dap");
    write_lldb(json, debug, "Metal kernel (LLDB DAP)");
    ig_json_array(json, "env");
    ig_json_string(json, NULL, "INGOT_DEBUG=1");
    ig_json_array_end(json);
    ig_json_object_end(json);
}

/* Breakpoints in .metal files, whose language VS Code does not know. */
static const char vscode_settings[] = "{\n  \"debug.allowBreakpointsEverywhere\": true,\n"
                                      "  \"files.associations\": { \"*.metal\": \"cpp\" }\n}\n";

static bool write_new(const char *path, const char *text) {
    struct ig_error error = {0};
    if (!access(path, F_OK)) {
        cli_error("%s exists: it is left as it is, and this is what would be in it:\n%s", path,
                  text);
        return false;
    }
    bool good = ig_file_write(path, text, strlen(text), &error) == INGOT_OK;
    if (good) {
        printf("wrote %s\n", path);
    } else {
        cli_error("%s", ig_error_text(&error));
    }
    ig_error_clear(&error);
    return good;
}

static int write_vscode(struct debug *debug) {
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    struct ig_error error = {0};
    ig_json_object(&json, NULL);
    ig_json_string(&json, "version", "0.2.0");
    ig_json_array(&json, "configurations");
    write_cpptools(&json, debug);
    write_codelldb(&json, debug);
    write_lldb_dap(&json, debug);
    ig_json_array_end(&json);
    ig_json_object_end(&json);
    ig_text_puts(&text, "\n");
    bool good = ig_folder_make(".vscode", &error) == INGOT_OK;
    if (!good) {
        cli_error("%s", ig_error_text(&error));
    }
    good = good && write_new(".vscode/launch.json", ig_text_string(&text));
    if (good && access(".vscode/settings.json", F_OK)) {
        good = write_new(".vscode/settings.json", vscode_settings);
    } else if (good) {
        printf("breakpoints in .metal files need \"debug.allowBreakpointsEverywhere\": true in "
               ".vscode/settings.json\n");
    }
    ig_text_free(&text);
    ig_error_clear(&error);
    return good ? CLI_OK : CLI_FAILED;
}

/* ---- the command ---- */
static int run_debug(struct debug *debug, const struct cli_command *command) {
    ssize_t length = readlink("/proc/self/exe", debug->self, sizeof debug->self - 1);
    debug->scripts = cli_data_path(&debug->arena, "debugger");
    if (length <= 0 || !debug->scripts) {
        cli_error("the debuggers' commands (share/ingot/debugger beside this program) are missing");
        return CLI_FAILED;
    }
    debug->self[length] = '\0';
    if (debug->thread && !is_position(debug->thread)) {
        return cli_usage_error(command, "--thread %s: expected X[,Y[,Z]]", debug->thread);
    }
    if (debug->threadgroup && !is_position(debug->threadgroup)) {
        return cli_usage_error(command, "--threadgroup %s: expected X[,Y[,Z]]", debug->threadgroup);
    }
    if (debug->rest.count < 2) {
        return cli_usage_error(command, "expected FILE and KERNEL");
    }
    unsigned threads[3], group[3];
    find_extent(debug, "--threads", "-t", threads);
    find_extent(debug, "--group", "-g", group);
    if (debug->thread && !is_inside(debug->thread, threads, NULL)) {
        return cli_usage_error(command, "--thread %s: the grid has %u×%u×%u threads", debug->thread,
                               threads[0], threads[1], threads[2]);
    }
    if (debug->threadgroup && !is_inside(debug->threadgroup, threads, group)) {
        return cli_usage_error(command,
                               "--threadgroup %s: the grid has %u×%u×%u threads in groups "
                               "of %u×%u×%u",
                               debug->threadgroup, threads[0], threads[1], threads[2], group[0],
                               group[1], group[2]);
    }
    const char *hiding = what_hides(debug);
    if (hiding) {
        return cli_usage_error(command,
                               "%s: kernels are stepped through on the CPU, in this process, as "
                               "code that is made for it",
                               hiding);
    }
    if (!has_source(debug)) {
        return CLI_FAILED;
    }
    return debug->vscode ? write_vscode(debug) : start(debug);
}

static int debug_command(const struct cli_command *command, int argc, char **argv) {
    struct debug debug = {0};
    struct cli_option options[DEBUG_OPTIONS];
    struct cli_list none = {0};
    int status = CLI_FAILED;
    list_options(&debug, options);
    if (sort_words(&debug, options, argc, argv) &&
        cli_parse(command, options, (int)debug.own.count, (char **)(uintptr_t)debug.own.items,
                  &none, &status)) {
        status = run_debug(&debug, command);
    }
    cli_list_free(&none);
    cli_list_free(&debug.own);
    cli_list_free(&debug.rest);
    cli_list_free(&debug.breaks);
    cli_list_free(&debug.commands);
    cli_list_free(&debug.line);
    ig_arena_free(&debug.arena);
    return status;
}

const struct cli_command cli_debug = {
    .name = "debug",
    .summary = "step through a kernel with gdb or lldb",
    .usage =
        "FILE KERNEL --threads X[,Y[,Z]] [--break PLACE]... [--thread X,Y,Z] [OPTION]... ARG...",
    .help =
        "Runs a kernel as `ingot run` does, whose options and arguments these are, in a debugger.\n"
        "The kernel is compiled without optimisation, and one thread of the grid runs at a time.\n"
        "It stops where the kernel begins, or at each --break. In the debugger, besides its own\n"
        "commands:\n\n"
        "  ingot threads                      SIMD-groups, and where their lanes are\n"
        "  ingot where                        the thread that runs\n"
        "  ingot break PLACE thread X,Y,Z     a breakpoint for one thread\n"
        "  ingot only thread X,Y,Z            the same for all breakpoints from now on\n"
        "  ingot watch out[5]                 stops who writes the element, and says who it was\n"
        "  ingot apply X,Y,Z COMMAND          a command in the frame of another thread (gdb)\n\n"
        "Programs of your own run so with INGOT_DEBUG=1.",
    .examples = "  ingot debug saxpy.metal saxpy --threads 1024 --break 12 --thread 37 \\\n"
                "      f32:2 x.npy y.npy=out.npy\n"
                "  ingot debug --vscode saxpy.metal saxpy --threads 1024 f32:2 x.npy y.npy",
    .run = debug_command,
};
