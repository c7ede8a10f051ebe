/* `ingot ops`: the operations that this library has; also makes the table of operations in
 * docs/guide/reference. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/scalar.h"
#include "cli/cli.h"
#include "ingot/ops.h"

enum form { FORM_TABLE, FORM_JSON, FORM_MARKDOWN };

static const char *type_list(uint32_t types, char out[160]) {
    *out = 0;
    for (int type = INGOT_SCALAR_F32; type > INGOT_SCALAR_NONE; type--) {
        if (types >> type & 1) {
            strcat(out, *out ? ", " : "");
            strcat(out, ig_scalar_name((ingot_scalar_type)type));
        }
    }
    return out;
}

static void knob_text(const ingot_ops_knob *knob, struct ig_text *out) {
    ig_text_printf(out, "%s %u to %u%s (%u)", knob->name, knob->minimum, knob->maximum,
                   knob->power_of_two ? ", powers of two" : "", knob->fallback);
}

/* ---- text ---- */

/* Columns that text takes: bytes, but those that continue a character. */
static size_t columns_of(const char *text, size_t length) {
    size_t columns = 0;
    for (size_t i = 0; i < length; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return columns;
}

/* Words from a column on, and on further lines from there too. */
static void print_words(const char *text, size_t from) {
    enum { COLUMNS = 100 };
    size_t at = from;
    for (bool first = true; *text; first = false) {
        size_t length = strcspn(text, " "), columns = columns_of(text, length);
        if (!first && at + 1 + columns > COLUMNS) {
            printf("\n%*s", (int)from, "");
            at = from;
        } else if (!first) {
            putchar(' ');
            at++;
        }
        printf("%.*s", (int)length, text);
        at += columns;
        text += length + strspn(text + length, " ");
    }
    putchar('\n');
}

static void print_field(const char *name, const char *text) {
    enum { FIELD = 29, VALUE = 39 };
    printf("%*s%-*s", FIELD, "", VALUE - FIELD, name);
    print_words(text, VALUE);
}

static void print_operation(const ingot_ops_info *info) {
    char types[160];
    printf("  %s%-26s%s ", cli_bold(stdout), info->name, cli_plain(stdout));
    print_words(info->summary, 29);
    printf("%s", cli_dim(stdout));
    print_field("types", type_list(info->types, types));
    if (info->limits && *info->limits) {
        print_field("limits", info->limits);
    }
    if (info->variants && *info->variants) {
        print_field("variants", info->variants);
    }
    for (size_t k = 0; k < info->knob_count; k++) {
        struct ig_text text = {0};
        knob_text(&info->knobs[k], &text);
        ig_text_printf(&text, ": %s", info->knobs[k].help);
        print_field(k ? "" : "knobs", ig_text_string(&text));
        ig_text_free(&text);
    }
    printf("%s", cli_plain(stdout));
}

static void write_json(struct ig_json *json, const ingot_ops_info *info) {
    ig_json_object(json, NULL);
    ig_json_string(json, "name", info->name);
    ig_json_string(json, "family", info->family);
    ig_json_string(json, "summary", info->summary);
    ig_json_string(json, "limits", info->limits ? info->limits : "");
    ig_json_string(json, "variants", info->variants ? info->variants : "");
    ig_json_array(json, "types");
    for (int type = INGOT_SCALAR_F32; type > INGOT_SCALAR_NONE; type--) {
        if (info->types >> type & 1) {
            ig_json_string(json, NULL, ig_scalar_name((ingot_scalar_type)type));
        }
    }
    ig_json_array_end(json);
    ig_json_array(json, "knobs");
    for (size_t k = 0; k < info->knob_count; k++) {
        ig_json_object(json, NULL);
        ig_json_string(json, "name", info->knobs[k].name);
        ig_json_string(json, "help", info->knobs[k].help);
        ig_json_u64(json, "fallback", info->knobs[k].fallback);
        ig_json_u64(json, "minimum", info->knobs[k].minimum);
        ig_json_u64(json, "maximum", info->knobs[k].maximum);
        ig_json_bool(json, "power_of_two", info->knobs[k].power_of_two);
        ig_json_object_end(json);
    }
    ig_json_array_end(json);
    ig_json_object_end(json);
}

/* ---- Markdown ---- */

/* Text in a cell of a table. */
static void markdown_cell(struct ig_text *out, const char *text) {
    ig_text_puts(out, " ");
    for (const char *c = text ? text : ""; *c; c++) {
        ig_text_printf(out, strchr("|*_<\\", *c) ? "\\%c" : "%c", *c);
    }
    ig_text_puts(out, " |");
}

static void markdown_operation(struct ig_text *out, const ingot_ops_info *info) {
    char types[160];
    ig_text_printf(out, "| `%s` |", info->name);
    markdown_cell(out, info->summary);
    markdown_cell(out, type_list(info->types, types));
    markdown_cell(out, info->limits);
    markdown_cell(out, info->variants);
    ig_text_puts(out, " ");
    for (size_t k = 0; k < info->knob_count; k++) {
        const ingot_ops_knob *knob = &info->knobs[k];
        ig_text_printf(out, "%s`%s` %u–%u%s", k ? ", " : "", knob->name, knob->minimum,
                       knob->maximum, knob->power_of_two ? "²" : "");
    }
    ig_text_puts(out, " |\n");
}

static const char markdown_head[] =
    "# Operations: the table\n\n"
    "`ingot ops --markdown` prints this page; `make format` brings it up to date.\n"
    "[Operations](../operations.md) shows how to call them and how a launch policy sets knobs. The "
    "headers of\n"
    "[include/ingot/ops](../../../include/ingot/ops) describe each call and its tensors.\n\n"
    "Arithmetic and sums are float32 unless said otherwise. A knob is a number of the launch "
    "policy: it\n"
    "changes the speed and not the result. ² marks powers of two.\n";

static const char markdown_columns[] = "\n| operation | what it does | types | limits | variants "
                                       "by | knobs |\n|---|---|---|---|---|---|\n";

/* ---- all of them, by family ---- */

struct list {
    ingot_ops_info *items;
    size_t count;
};

static bool read_list(struct list *list) {
    list->count = ingot_ops_count();
    list->items = calloc(list->count + 1, sizeof *list->items);
    if (!list->items) {
        cli_error("out of memory");
        return false;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (ingot_ops_describe(i, &list->items[i])) {
            cli_error("%s", ingot_error_message());
            return false;
        }
    }
    return true;
}

/* Families in the order in which people learn them; others follow by name. */
static const char *const families[] = {"quick start", "pointwise",     "rows",      "attention",
                                       "position",    "matrix",        "quantised", "embedding",
                                       "training",    "linear algebra"};
enum { FAMILY_COUNT = sizeof families / sizeof *families };

static size_t family_rank(const char *family) {
    size_t rank = 0;
    while (rank < FAMILY_COUNT && strcmp(families[rank], family)) {
        rank++;
    }
    return rank;
}

static int compare_operations(const void *a, const void *b) {
    const ingot_ops_info *x = a, *y = b;
    size_t first = family_rank(x->family), second = family_rank(y->family);
    if (first != second) {
        return first < second ? -1 : 1;
    }
    int by_family = strcmp(x->family, y->family);
    return by_family ? by_family : strcmp(x->name, y->name);
}

static void print_list(const struct list *list, enum form form) {
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    if (form == FORM_JSON) {
        ig_json_object(&json, NULL);
        ig_json_array(&json, "operations");
    } else if (form == FORM_MARKDOWN) {
        ig_text_puts(&text, markdown_head);
    }
    for (size_t i = 0; i < list->count; i++) {
        const ingot_ops_info *info = &list->items[i];
        bool starts_family = i == 0 || strcmp(info->family, list->items[i - 1].family);
        if (form == FORM_JSON) {
            write_json(&json, info);
        } else if (form == FORM_MARKDOWN) {
            if (starts_family) {
                ig_text_printf(&text, "\n## %c%s\n%s", toupper((unsigned char)info->family[0]),
                               info->family + 1, markdown_columns);
            }
            markdown_operation(&text, info);
        } else {
            if (starts_family) {
                printf("%s%s%s%s\n", i ? "\n" : "", cli_green(stdout), info->family,
                       cli_plain(stdout));
            }
            print_operation(info);
        }
    }
    if (form == FORM_JSON) {
        ig_json_array_end(&json);
        ig_json_object_end(&json);
        ig_text_puts(&text, "\n");
    }
    fputs(ig_text_string(&text), stdout);
    ig_text_free(&text);
}

/* Keeps those that are named. Returns the first name that is unknown, or NULL. */
static const char *keep_named(struct list *list, const struct cli_list *names) {
    size_t kept = 0;
    for (size_t n = 0; n < names->count; n++) {
        bool known = false;
        for (size_t i = 0; i < list->count; i++) {
            known |= !strcmp(list->items[i].name, names->items[n]);
        }
        if (!known) {
            return names->items[n];
        }
    }
    for (size_t i = 0; i < list->count; i++) {
        bool named = names->count == 0;
        for (size_t n = 0; n < names->count; n++) {
            named |= !strcmp(list->items[i].name, names->items[n]);
        }
        if (named) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
    return NULL;
}

static int run(const struct cli_command *command, int argc, char **argv) {
    bool as_json = false, as_markdown = false;
    const struct cli_option options[] = {
        {"json", 0, CLI_FLAG, NULL, "print JSON", &as_json},
        {"markdown", 0, CLI_FLAG, NULL, "print the table as Markdown", &as_markdown},
        {0},
    };
    struct cli_list names = {0};
    struct list list = {0};
    int status;
    if (cli_parse(command, options, argc, argv, &names, &status)) {
        status = CLI_FAILED;
        if (read_list(&list)) {
            const char *unknown = keep_named(&list, &names);
            qsort(list.items, list.count, sizeof *list.items, compare_operations);
            if (unknown) {
                status = cli_usage_error(command, "there is no operation \"%s\"", unknown);
            } else {
                print_list(&list, as_json ? FORM_JSON : as_markdown ? FORM_MARKDOWN : FORM_TABLE);
                status = CLI_OK;
            }
        }
    }
    free(list.items);
    cli_list_free(&names);
    return status;
}

const struct cli_command cli_ops = {
    .name = "ops",
    .summary = "the operations, with types, limits, variants",
    .usage = "[OPERATION]... [--json | --markdown]",
    .help =
        "Lists the operations of this library by family: types, limits, how a variant is chosen,\n"
        "and the knobs of the launch policy with their ranges and (defaults).",
    .examples = "  ingot ops rms_norm",
    .run = run,
};
