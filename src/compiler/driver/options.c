/* The command line of ingotc, and where its parts lie. See docs/design/pipeline.md. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/sanitize.h"
#include "base/source_options.h"
#include "compiler/driver/driver.h"

#ifndef INGOT_SOURCE_PRELUDE
#define INGOT_SOURCE_PRELUDE ""
#endif

static const char usage_start[] =
    "usage: ingotc SOURCE.metal -o OUT.ingot [OPTION]...\n"
    "Compiles Metal compute kernels into an .ingot archive. SOURCE may be - for stdin.\n"
    "\n"
    "  -o FILE               where the archive (or the text of --emit) goes; - for stdout\n"
    "  --kernel NAME         only this kernel; may be repeated (all kernels)\n";

static const char usage_end[] =
    "  --const INDEX=HEX     the bytes of a function constant's value\n"
    "  --assumed-constants   some of them are guesses: arguments that exclude each other may meet\n"
    "  --variants FILE       a line per variant: KERNEL [CONSTANT=VALUE]...; {a,b} is each in "
    "turn\n"
    "  --include DIR, -I DIR a folder for #include\n"
    "  -D NAME[=VALUE]       a macro\n"
    "  --fast-math           fast maths by default\n"
    "  --werror              warnings are errors\n"
    "  --loose-alignment     vectors may lie at any multiple of their elements, as on Apple's "
    "GPUs;\n"
    "                        on CPUs they always may\n"
    "  --msl-version N       __METAL_VERSION__, such as 4.0 or 400 (320)\n"
    "  --sanitize KINDS      checks of these kinds in the code of CPUs: bounds,race,…; default; "
    "all;\n"
    "                        or profile: counters instead\n"
    "  --name NAME           how diagnostics call the source\n"
    "  --root DIR            files below it are called <PATH>, from there, in the archive, which\n"
    "                        then says nothing about folders of this machine\n"
    "  --preprocessed        SOURCE is the source text of an archive\n"
    "  --no-source           the archive has no source text: code, and nothing to compile more of\n"
    "  --with FILE           a source that defines functions which SOURCE declares; may be "
    "repeated\n"
    "  --list-only           kernels, constants and a syntax check; no code\n"
    "  --describe-only       kernels with their arguments and limits; no code\n"
    "  --check               code is made, but not kept: the archive has none\n"
    "  --pack-code           code takes less room in the archive, and is unpacked when it is "
    "loaded\n"
    "  --no-code             everything but machine code, to find what is wrong\n"
    "  --air-library         SOURCE is prelude/air/library.metal: write its bitcode, not an "
    "archive\n"
    "  --jit                 code only when there are at most 4 kernels without constants\n"
    "  --emit KIND           cpp (what clang gets), asm (machine code, or PTX), members (of\n"
    "                        structs behind arguments), or the name of a pass, after which the\n"
    "                        module is printed: bitcode, prepared, shapes, vectorised, optimised\n"
    "                        and any other of --passes\n"
    "  --passes              the passes of every back end, in their order\n"
    "  --depfile FILE        write the included files there, as make and ninja read them\n"
    "  --time-report         where the time went, on stderr\n"
    "  --progress            one line per kernel on stderr\n"
    "  --version, --help\n";

/* A paragraph, from a column on, with lines of at most 96 characters. */
static void print_paragraph(FILE *out, const char *text) {
    const int column = 24, width = 96;
    int at = column;
    fprintf(out, "%*s", column, "");
    for (const char *word = text; *word;) {
        int length = (int)strcspn(word, " \n");
        if (at > column && at + 1 + length > width) {
            fprintf(out, "\n%*s", column, "");
            at = column;
        }
        at += fprintf(out, "%s%.*s", at > column ? " " : "", length, word);
        word += length + (word[length] != 0);
    }
    fprintf(out, "\n");
}

void igc_print_usage(FILE *out) {
    fputs(usage_start, out);
    fputs(
        "  --target LEVEL        what to make code for; may be repeated (this machine's). One of\n",
        out);
    print_paragraph(out, IGC_CPU_LEVELS ": all levels of this machine's kind of CPU");
    for (size_t b = 0; igc_backends[b]; b++) {
        struct ig_text text = {0};
        const struct igc_target *const *targets = igc_backends[b]->targets;
        for (size_t i = 0; targets[i]; i++) {
            ig_text_printf(&text, "%s%s", i ? ", " : "", targets[i]->name);
        }
        ig_text_printf(&text, ": %s", igc_backends[b]->about);
        print_paragraph(out, ig_text_string(&text));
        ig_text_free(&text);
    }
    fputs(usage_end, out);
}

struct parser {
    struct ig_arena *arena;
    struct igc_command *command;
    struct ig_error *error;
    int argc, at;
    char **argv;
    /* arrays with room for argc items each, `targets` for each there is */
    const char **kernels, **includes, **defines, **with;
    const struct igc_target **targets;
    struct igc_value *values;
};

static ingot_status bad(struct parser *p, const char *what, const char *value) {
    return ig_fail(p->error, INGOT_INVALID_ARGUMENT, "%s \"%s\"; see ingotc --help", what, value);
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static ingot_status add_value(struct parser *p, const char *text) {
    char *end;
    errno = 0;
    unsigned long index = strtoul(text, &end, 10);
    size_t digits = *end == '=' ? strlen(end + 1) : 0;
    if (end == text || errno || index > 0xffff || !digits || digits % 2 || digits > 128) {
        return bad(p, "--const wants INDEX=HEXBYTES, not", text);
    }
    uint8_t *bytes = ig_arena_alloc(p->arena, digits / 2);
    if (!bytes) {
        return ig_fail(p->error, INGOT_OUT_OF_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < digits; i++) {
        int digit = hex_digit(end[1 + i]);
        if (digit < 0) {
            return bad(p, "--const wants INDEX=HEXBYTES, not", text);
        }
        bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 | digit);
    }
    for (size_t i = 0; i < p->command->value_count; i++) {
        if (p->values[i].index == index) {
            return bad(p, "--const sets one index twice:", text);
        }
    }
    p->values[p->command->value_count++] =
        (struct igc_value){.index = (uint32_t)index, .bytes = bytes, .size = digits / 2};
    return INGOT_OK;
}

static ingot_status set_emit(struct parser *p, const char *kind) {
    static const struct {
        const char *name;
        enum igc_emit emit;
    } kinds[] = {{"archive", IGC_EMIT_ARCHIVE},
                 {"cpp", IGC_EMIT_CPP},
                 {"asm", IGC_EMIT_ASM},
                 {"members", IGC_EMIT_MEMBERS}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!strcmp(kinds[i].name, kind)) {
            p->command->emit = kinds[i].emit;
            return INGOT_OK;
        }
    }
    p->command->emit = IGC_EMIT_PASS;
    p->command->emit_pass = kind;
    return igc_is_pass(kind)
               ? INGOT_OK
               : bad(p, "--emit knows cpp, asm and the passes of ingotc --passes, not", kind);
}

static ingot_status set_version(struct parser *p, const char *text) {
    char *end;
    unsigned long version = strtoul(text, &end, 10);
    if (version < 10 && *end == '.' && end[1] >= '0' && end[1] <= '9') { /* 4.0 is 400 */
        version = version * 100 + (unsigned long)(end[1] - '0') * 10;
        end += 2;
    }
    if (*end || version > 999 || !ig_msl_version_is_known((unsigned)version)) {
        return ig_fail(p->error, INGOT_INVALID_ARGUMENT, "--msl-version wants %s, not \"%s\"",
                       ig_msl_versions, text);
    }
    p->command->front.msl_version = (unsigned)version;
    return INGOT_OK;
}

static ingot_status add_define(struct parser *p, const char *text) {
    size_t length = strcspn(text, "=");
    if (!ig_macro_name_is_good(text, length) || !ig_macro_value_is_good(text + length)) {
        return bad(p, "-D wants NAME or NAME=VALUE, a name and one line, not", text);
    }
    p->defines[p->command->front.define_count++] = text;
    return INGOT_OK;
}

/* Diagnostics and line markers have the name between quotes: what would end it there becomes _.
 * Files beside the source are then found by its folder. */
static ingot_status make_name_plain(struct parser *p) {
    struct igc_options *front = &p->command->front;
    char *plain = ig_arena_string(p->arena, front->source_name);
    const char *slash = strrchr(front->source_name, '/');
    bool changed = false;
    for (char *c = plain; c && *c; c++) {
        if (ig_is_awkward_in_name(*c)) {
            *c = '_';
            changed = true;
        }
    }
    if (changed) {
        p->includes[front->include_dir_count++] =
            slash ? ig_arena_copy(p->arena, front->source_name,
                                  (size_t)(slash - front->source_name) + 1)
                  : ".";
        front->source_name = plain;
    }
    return plain ? INGOT_OK : ig_fail(p->error, INGOT_OUT_OF_MEMORY, "out of memory");
}

static void add_target(struct parser *p, const struct igc_target *target) {
    for (size_t i = 0; i < p->command->target_count; i++) {
        if (p->targets[i] == target) {
            return;
        }
    }
    p->targets[p->command->target_count++] = target;
}

/* --target LEVEL */
static ingot_status add_targets(struct parser *p, const char *name) {
    const struct igc_target *target = igc_target_find(name);
    if (!strcmp(name, IGC_CPU_LEVELS)) {
        for (size_t i = 0; igc_target_level(i); i++) {
            add_target(p, igc_target_level(i));
        }
        return INGOT_OK;
    }
    if (!target) {
        struct ig_text names = {0};
        igc_target_names(&names, ", ");
        ig_text_puts(&names, ", " IGC_CPU_LEVELS);
        ingot_status status = ig_fail(p->error, INGOT_INVALID_ARGUMENT,
                                      "--target knows %s, not \"%s\"; see ingotc --help",
                                      ig_text_string(&names), name);
        ig_text_free(&names);
        return status;
    }
    add_target(p, target);
    return INGOT_OK;
}

static bool parse_flag(struct igc_command *c, const char *option) {
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"--fast-math", &c->front.fast_math},
        {"--werror", &c->front.werror},
        {"--loose-alignment", &c->loose_alignment},
        {"--assumed-constants", &c->assumed_constants},
        {"--preprocessed", &c->preprocessed},
        {"--no-source", &c->no_source},
        {"--list-only", &c->list_only},
        {"--jit", &c->jit},
        {"--air-library", &c->air_library},
        {"--describe-only", &c->describe_only},
        {"--check", &c->check},
        {"--no-code", &c->no_code},
        {"--pack-code", &c->pack_code},
        {"--time-report", &c->time_report},
        {"--progress", &c->progress},
        {"--version", &c->version},
        {"--help", &c->help},
        {"--passes", &c->passes},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!strcmp(option, flags[i].name)) {
            *flags[i].flag = true;
            return true;
        }
    }
    return false;
}

/* Options with a value; *known is false for all else. */
static ingot_status parse_valued(struct parser *p, const char *option, bool *known) {
    struct igc_command *c = p->command;
    static const char *const names[] = {"-o",        "--kernel", "--target",      "--const",
                                        "--include", "-I",       "--msl-version", "--name",
                                        "--emit",    "-D",       "--variants",    "--depfile",
                                        "--with",    "--root",   "--sanitize"};
    const char *value = NULL, *name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !name; i++) {
        size_t length = strlen(names[i]);
        if (!strcmp(option, names[i])) {
            name = names[i];
        } else if (names[i][1] == '-' && !strncmp(option, names[i], length) &&
                   option[length] == '=') {
            name = names[i];
            value = option + length + 1;
        } else if ((names[i][1] == 'D' || names[i][1] == 'I') &&
                   !strncmp(option, names[i], length)) {
            name = names[i];
            value = option + length;
        }
    }
    *known = name != NULL;
    if (name && !value) {
        value = p->at < p->argc ? p->argv[p->at++] : NULL;
    }
    if (name && !value) {
        return bad(p, "there is no value after", option);
    }
    switch (name ? name[1] == '-' ? name[2] : name[1] : 0) {
    case 'o':
        c->output = value;
        return INGOT_OK;
    case 'k':
        p->kernels[c->kernel_count++] = value;
        return INGOT_OK;
    case 't':
        return add_targets(p, value);
    case 's':
        if (!strcmp(value, IG_SANITIZE_PROFILE_NAME)) {
            c->sanitize = IG_SANITIZE_PROFILE;
            return INGOT_OK;
        }
        return ig_sanitize_parse(value, &c->sanitize, p->error);
    case 'c':
        return add_value(p, value);
    case 'i':
    case 'I':
        p->includes[c->front.include_dir_count++] = value;
        return INGOT_OK;
    case 'm':
        return set_version(p, value);
    case 'n':
        c->front.source_name = value;
        return INGOT_OK;
    case 'e':
        return set_emit(p, value);
    case 'd':
        c->depfile = value;
        return INGOT_OK;
    case 'v':
        c->variants_path = value;
        return INGOT_OK;
    case 'r':
        c->front.root = value;
        return INGOT_OK;
    case 'w':
        p->with[c->others->count++] = value;
        return INGOT_OK;
    case 'D':
        return add_define(p, value);
    default:
        return INGOT_OK;
    }
}

static int by_index(const void *a, const void *b) {
    const struct igc_value *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

const char *igc_constants_key(struct ig_arena *arena, const struct igc_value *values,
                              size_t count) {
    struct ig_text text = {0};
    for (size_t i = 0; i < count; i++) {
        const struct igc_value *value = &values[i];
        ig_text_printf(&text, "%s%u:", i ? ";" : "", value->index);
        for (size_t k = 0; k < value->size; k++) {
            ig_text_printf(&text, "%02x", value->bytes[k]);
        }
    }
    const char *key = text.failed ? NULL : ig_arena_string(arena, ig_text_string(&text));
    ig_text_free(&text);
    return key;
}

static ingot_status finish(struct parser *p) {
    struct igc_command *c = p->command;
    if (c->version || c->help || c->passes) {
        return INGOT_OK;
    }
    if (!c->source_path || !c->output) {
        return ig_fail(p->error, INGOT_INVALID_ARGUMENT, "%s; see ingotc --help",
                       c->source_path ? "there is no -o OUT" : "there is no SOURCE");
    }
    if (!c->target_count) {
        const struct igc_target *host = igc_target_host();
        if (!host) {
            return ig_fail(p->error, INGOT_INVALID_ARGUMENT,
                           "no back end makes code for this machine: say --target LEVEL");
        }
        p->targets[c->target_count++] = host;
    }
    c->sanitize &= IG_SANITIZE_KINDS | IG_SANITIZE_PROFILE;
    for (size_t i = 0; c->sanitize && i < c->target_count; i++) {
        if (!p->targets[i]->backend->has_checks) {
            return ig_fail(p->error, INGOT_INVALID_ARGUMENT,
                           "--sanitize is for targets of CPUs, and %s is none; see ingotc --help",
                           p->targets[i]->name);
        }
    }
    qsort(p->values, c->value_count, sizeof *p->values, by_index);
    c->kernels = p->kernels;
    for (size_t i = 0; i < c->target_count; i++) {
        c->front.for_debuggers |= p->targets[i]->backend->for_debuggers;
    }
    c->targets = p->targets;
    c->values = p->values;
    c->others->paths = p->with;
    c->others->options = &c->front;
    c->front.exports = c->others->count || c->air_library;
    c->front.include_dirs = p->includes;
    c->front.defines = p->defines;
    if (!c->front.source_name) {
        c->front.source_name = strcmp(c->source_path, "-") ? c->source_path : "source.metal";
    }
    if (!c->front.msl_version) {
        c->front.msl_version = 320;
    }
    ingot_status status = make_name_plain(p);
    if (status) {
        return status;
    }
    c->constants_key = igc_constants_key(p->arena, c->values, c->value_count);
    return c->constants_key ? INGOT_OK : ig_fail(p->error, INGOT_OUT_OF_MEMORY, "out of memory");
}

ingot_status igc_command_parse(struct ig_arena *arena, int argc, char **argv,
                               struct igc_command *command, struct ig_error *error) {
    *command = (struct igc_command){0};
    size_t room = (size_t)argc + 1;
    struct parser p = {
        .arena = arena,
        .command = command,
        .error = error,
        .argc = argc,
        .at = 1,
        .argv = argv,
        .kernels = ig_arena_array(arena, room, sizeof *p.kernels),
        .includes = ig_arena_array(arena, room, sizeof *p.includes),
        .defines = ig_arena_array(arena, room, sizeof *p.defines),
        .with = ig_arena_array(arena, room, sizeof *p.with),
        .targets = ig_arena_array(arena, igc_target_count() + 1, sizeof *p.targets),
        .values = ig_arena_array(arena, room, sizeof *p.values),
    };
    command->others = ig_arena_array(arena, 1, sizeof *command->others);
    if (!p.kernels || !p.includes || !p.defines || !p.with || !p.targets || !p.values ||
        !command->others) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %d arguments", argc);
    }
    while (p.at < argc) {
        const char *option = argv[p.at++];
        bool known = true;
        if (option[0] != '-' || !strcmp(option, "-")) {
            if (command->source_path) {
                return bad(&p, "there is a second SOURCE:", option);
            }
            command->source_path = option;
        } else if (!parse_flag(command, option)) {
            ingot_status status = parse_valued(&p, option, &known);
            if (status) {
                return status;
            }
        }
        if (!known) {
            return bad(&p, "unknown option", option);
        }
    }
    return finish(&p);
}

static bool has_prelude(struct ig_arena *arena, const char *folder) {
    const char *file = ig_arena_printf(arena, "%s/ingot_builtins.h", folder);
    return file && !access(file, R_OK);
}

ingot_status igc_find_prelude(struct ig_arena *arena, const char **prelude,
                              struct ig_error *error) {
    const char *named = ig_environment("INGOT_PRELUDE");
    if (named && *named) {
        *prelude = named;
        return has_prelude(arena, named)
                   ? INGOT_OK
                   : ig_fail(error, INGOT_NO_COMPILER,
                             "INGOT_PRELUDE is %s, but there is no ingot_builtins.h in it", named);
    }
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash) {
        *slash = 0;
        *prelude = ig_arena_printf(arena, "%s/../share/ingot/prelude", self);
        if (*prelude && has_prelude(arena, *prelude)) {
            return INGOT_OK;
        }
    }
    *prelude = INGOT_SOURCE_PRELUDE;
    return has_prelude(arena, *prelude)
               ? INGOT_OK
               : ig_fail(error, INGOT_NO_COMPILER,
                         "the prelude was not found beside ingotc (../share/ingot/prelude)%s%s; "
                         "set INGOT_PRELUDE to where it is",
                         **prelude ? " or in " : "", *prelude);
}
