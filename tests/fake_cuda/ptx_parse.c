/* PTX text → instructions: see ptx.h. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

#define MAX_PIECES 16 /* of an instruction's name */

struct name {
    char *text;
    int32_t index;
};

struct names { /* open addressing */
    struct name *slots;
    size_t room, count;
};

struct parser {
    const char *at;
    int line;
    struct ptx_module *module;
    struct ptx_function *function;
    struct names registers, labels, variables;
    int32_t register_room, code_room;
    uint64_t local_bytes;
    char *message;
    size_t message_size;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct parser *parser, const char *format,
                                                       ...) {
    if (parser->failed) {
        return false;
    }
    parser->failed = true;
    int length =
        snprintf(parser->message, parser->message_size, "line %d of the PTX: ", parser->line);
    if (length < 0 || (size_t)length >= parser->message_size) {
        return false;
    }
    va_list list;
    va_start(list, format);
    vsnprintf(parser->message + length, parser->message_size - (size_t)length, format, list);
    va_end(list);
    return false;
}

/* ---- names ---- */

static size_t hash(const char *text) {
    size_t value = 5381;
    while (*text) {
        value = value * 33 + (unsigned char)*text++;
    }
    return value;
}

static struct name *find_slot(const struct names *names, const char *text) {
    size_t at = hash(text) & (names->room - 1);
    while (names->slots[at].text && strcmp(names->slots[at].text, text) != 0) {
        at = (at + 1) & (names->room - 1);
    }
    return &names->slots[at];
}

static bool grow(struct names *names) {
    struct names larger = {.room = names->room ? names->room * 2 : 256};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots) {
        return false;
    }
    for (size_t i = 0; i < names->room; i++) {
        if (names->slots[i].text) {
            *find_slot(&larger, names->slots[i].text) = names->slots[i];
        }
    }
    larger.count = names->count;
    free(names->slots);
    *names = larger;
    return true;
}

/* The index of a name; `otherwise` is what a new one gets. */
static int32_t name_index(struct names *names, const char *text, int32_t otherwise) {
    if (names->count * 2 >= names->room && !grow(names)) {
        return -1;
    }
    struct name *slot = find_slot(names, text);
    if (!slot->text) {
        if (otherwise < 0) {
            return -1;
        }
        slot->text = strdup(text);
        slot->index = otherwise;
        names->count += slot->text != NULL;
    }
    return slot->index;
}

static void free_names(struct names *names) {
    for (size_t i = 0; i < names->room; i++) {
        free(names->slots[i].text);
    }
    free(names->slots);
    *names = (struct names){0};
}

/* ---- words ---- */

static void skip_space(struct parser *parser) {
    for (;;) {
        if (*parser->at == '\n') {
            parser->line++;
        }
        if (isspace((unsigned char)*parser->at)) {
            parser->at++;
        } else if (parser->at[0] == '/' && parser->at[1] == '/') {
            parser->at += strcspn(parser->at, "\n");
        } else {
            return;
        }
    }
}

static bool accept(struct parser *parser, char c) {
    skip_space(parser);
    if (*parser->at != c) {
        return false;
    }
    parser->at++;
    return true;
}

static bool expect(struct parser *parser, char c) {
    return accept(parser, c) || fail(parser, "'%c' was expected and not '%.20s'", c, parser->at);
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static bool word(struct parser *parser, char *text, size_t size) {
    skip_space(parser);
    size_t length = 0;
    while (is_word(parser->at[length]) ||
           (parser->at[length] == ':' && parser->at[length + 1] == ':')) {
        length += parser->at[length] == ':' ? 2 : 1;
    }
    if (!length || length >= size) {
        return fail(parser, "a word was expected and not '%.20s'", parser->at);
    }
    memcpy(text, parser->at, length);
    text[length] = 0;
    parser->at += length;
    return true;
}

static void skip_statement(struct parser *parser) {
    while (*parser->at && *parser->at != ';') {
        parser->line += *parser->at++ == '\n';
    }
    parser->at += *parser->at == ';';
}

static uint64_t number(struct parser *parser) {
    skip_space(parser);
    char *end = NULL;
    bool negative = *parser->at == '-';
    uint64_t value = strtoull(parser->at + negative, &end, 0);
    if (end == parser->at + negative) {
        fail(parser, "a number was expected and not '%.20s'", parser->at);
    } else {
        parser->at = end + (*end == 'U');
    }
    return negative ? 0 - value : value;
}

/* ---- operands ---- */

static int32_t find_register(struct parser *parser, const char *text) {
    return name_index(&parser->registers, text, -1);
}

static bool register_operand(struct parser *parser, const char *text, int32_t *reg) {
    *reg = strcmp(text, "_") == 0 ? -1 : find_register(parser, text);
    return *reg >= 0 || strcmp(text, "_") == 0 || fail(parser, "'%s' is not a register", text);
}

static bool number_operand(struct parser *parser, struct ptx_operand *to) {
    to->kind = PTX_IMMEDIATE;
    if (parser->at[0] == '0' && (parser->at[1] == 'f' || parser->at[1] == 'F' ||
                                 parser->at[1] == 'd' || parser->at[1] == 'D')) {
        char digits[20] = "";
        size_t length = tolower((unsigned char)parser->at[1]) == 'f' ? 8 : 16;
        memcpy(digits, parser->at + 2, strnlen(parser->at + 2, length));
        to->value = strtoull(digits, NULL, 16);
        to->is_float = true;
        to->count = (uint8_t)(length * 4); /* bits */
        parser->at += 2 + length;
        return true;
    }
    to->value = number(parser);
    return !parser->failed;
}

static bool vector_operand(struct parser *parser, struct ptx_operand *to) {
    char text[128];
    int32_t all[PTX_MAX_VECTOR];
    to->kind = PTX_VECTOR;
    do {
        if (to->count == PTX_MAX_VECTOR) {
            return fail(parser, "a vector of more than %d elements", PTX_MAX_VECTOR);
        }
        if (!word(parser, text, sizeof text) ||
            !register_operand(parser, text, &all[to->count++])) {
            return false;
        }
    } while (accept(parser, ','));
    if (to->count > PTX_MAX_ELEMENTS) {
        to->many = malloc(to->count * sizeof *all);
        if (!to->many) {
            return fail(parser, "no memory for a vector of %d elements", to->count);
        }
    }
    memcpy(to->many ? to->many : to->elements, all, to->count * sizeof *all);
    return expect(parser, '}');
}

static bool address_operand(struct parser *parser, struct ptx_operand *to) {
    char text[128];
    to->kind = PTX_ADDRESS;
    to->reg = -1;
    skip_space(parser);
    if (isdigit((unsigned char)*parser->at) || *parser->at == '-') {
        to->value = number(parser);
        return expect(parser, ']');
    }
    if (!word(parser, text, sizeof text)) {
        return false;
    }
    to->base_register = (to->reg = find_register(parser, text)) >= 0;
    if (to->reg < 0 && (to->reg = name_index(&parser->variables, text, -1)) < 0) {
        return fail(parser, "'%s' is neither a register nor a variable", text);
    }
    if (accept(parser, '+')) {
        to->value = number(parser);
    } else if (skip_space(parser), *parser->at == '-') {
        to->value = number(parser);
    }
    return expect(parser, ']');
}

static bool name_operand(struct parser *parser, struct ptx_operand *to) {
    static const char *const specials[] = {
#define X(enumerator, name) name,
#include "ptx_specials.def"
#undef X
    };
    char text[128];
    if (!word(parser, text, sizeof text)) {
        return false;
    }
    if ((to->reg = find_register(parser, text)) >= 0) {
        to->kind = PTX_REGISTER;
        to->second = -1;
        char other[128];
        return !accept(parser, '|') ||
               (word(parser, other, sizeof other) && register_operand(parser, other, &to->second));
    }
    for (size_t i = 0; i < PTX_SPECIAL_COUNT; i++) {
        if (strcmp(specials[i], text) == 0) {
            to->kind = PTX_SPECIAL;
            to->value = i;
            return true;
        }
    }
    if (strcmp(text, "WARP_SZ") == 0) {
        to->kind = PTX_IMMEDIATE;
        to->value = PTX_LANES;
        return true;
    }
    if (*text == '%') {
        return fail(parser, "register '%s' is not known to this machine", text);
    }
    to->reg = name_index(&parser->variables, text, -1);
    if (to->reg >= 0) {
        to->kind = PTX_VARIABLE;
        return true;
    }
    /* A label: its number stands for its place until the function has ended. */
    to->kind = PTX_LABEL;
    to->reg = name_index(&parser->labels, text, (int32_t)parser->labels.count + 0x40000000);
    return to->reg >= 0;
}

static bool operand(struct parser *parser, struct ptx_operand *to) {
    *to = (struct ptx_operand){.reg = -1, .second = -1};
    skip_space(parser);
    to->negated = accept(parser, '!');
    if (accept(parser, '{')) {
        return vector_operand(parser, to);
    }
    if (accept(parser, '[')) {
        return address_operand(parser, to);
    }
    if (isdigit((unsigned char)*parser->at) || *parser->at == '-') {
        return number_operand(parser, to);
    }
    return name_operand(parser, to);
}

/* ---- statements ---- */

static struct ptx_instruction *new_instruction(struct parser *parser) {
    struct ptx_module *module = parser->module;
    if (module->code_count == parser->code_room) {
        int32_t room = parser->code_room ? parser->code_room * 2 : 1024;
        struct ptx_instruction *code = realloc(module->code, (size_t)room * sizeof *code);
        if (!code) {
            fail(parser, "no memory for %d instructions", room);
            return NULL;
        }
        module->code = code;
        parser->code_room = room;
    }
    struct ptx_instruction *made = &module->code[module->code_count++];
    *made = (struct ptx_instruction){.line = parser->line, .guard = -1};
    return made;
}

static bool instruction(struct parser *parser, char *text) {
    struct ptx_instruction *made = new_instruction(parser);
    if (!made) {
        return false;
    }
    if (*text == '@') {
        bool negated = text[1] == '!';
        if (!register_operand(parser, text + 1 + negated, &made->guard) ||
            !word(parser, text, 256)) {
            return false;
        }
        made->guard_negated = negated;
    }
    const char *unknown = ptx_read_name(text, made);
    if (unknown) {
        return fail(parser, "'%s' of '%s' is not known to this machine", unknown, made->name);
    }
    skip_space(parser);
    while (*parser->at != ';') {
        if (made->operand_count == PTX_MAX_OPERANDS) {
            return fail(parser, "'%s' has more than %d operands", made->name, PTX_MAX_OPERANDS);
        }
        if (!operand(parser, &made->operands[made->operand_count++])) {
            return false;
        }
        accept(parser, ',');
        skip_space(parser);
    }
    return expect(parser, ';');
}

static bool add_register(struct parser *parser, const char *name, struct ptx_type type) {
    struct ptx_function *function = parser->function;
    int32_t known = find_register(parser, name);
    if (known >= 0 && function->register_bits[known] == type.bits) { /* of another scope */
        return true;
    }
    if ((int32_t)function->registers == parser->register_room) {
        int32_t room = parser->register_room ? parser->register_room * 2 : 256;
        uint8_t *bits = realloc(function->register_bits, (size_t)room);
        if (!bits) {
            return fail(parser, "no memory for %d registers", room);
        }
        function->register_bits = bits;
        parser->register_room = room;
    }
    function->register_bits[function->registers] = type.bits;
    if (known >= 0) { /* of another scope and size: from here on the name means this one */
        find_slot(&parser->registers, name)->index = (int32_t)function->registers;
    }
    return name_index(&parser->registers, name, (int32_t)function->registers++) >= 0;
}

static bool declare_registers(struct parser *parser) {
    char text[128], name[160];
    struct ptx_type type;
    if (!word(parser, text, sizeof text) || *text != '.' || !ptx_type_of(text + 1, &type)) {
        return fail(parser, "a register of type '%s'", text);
    }
    do {
        if (!word(parser, text, sizeof text)) {
            return false;
        }
        if (!accept(parser, '<')) {
            if (!add_register(parser, text, type)) {
                return false;
            }
            continue;
        }
        uint64_t count = number(parser);
        for (uint64_t i = 0; i < count; i++) {
            snprintf(name, sizeof name, "%s%llu", text, (unsigned long long)i);
            if (!add_register(parser, name, type)) {
                return false;
            }
        }
        if (!expect(parser, '>')) {
            return false;
        }
    } while (accept(parser, ','));
    return expect(parser, ';');
}

static bool initialise(struct parser *parser, struct ptx_variable *variable, unsigned bytes) {
    bool braces = accept(parser, '{');
    uint64_t at = 0;
    do {
        uint64_t value = number(parser);
        if (parser->failed || at + bytes > variable->size) {
            return fail(parser, "variable '%s' has more values than room", variable->name);
        }
        memcpy((char *)variable->memory + at, &value, bytes);
        at += bytes;
    } while (accept(parser, ','));
    return !braces || expect(parser, '}');
}

static void place(struct parser *parser, struct ptx_variable *variable) {
    uint64_t align = variable->align ? variable->align : 1;
    if (variable->space == PTX_SHARED && !variable->is_dynamic) {
        uint64_t at = (parser->module->shared_bytes + align - 1) / align * align;
        variable->offset = at;
        parser->module->shared_bytes = (uint32_t)(at + variable->size);
    } else if (variable->space == PTX_LOCAL) {
        variable->offset = (parser->local_bytes + align - 1) / align * align;
        parser->local_bytes = variable->offset + variable->size;
    }
}

/* `.SPACE [.align N] .TYPE NAME[[COUNT]] [= VALUES]`, after the space. */
static bool declare_variable(struct parser *parser, uint8_t space, bool is_extern) {
    struct ptx_module *module = parser->module;
    struct ptx_variable *all =
        realloc(module->variables, (size_t)(module->variable_count + 1) * sizeof *all);
    if (!all) {
        return fail(parser, "no memory for a variable");
    }
    module->variables = all;
    struct ptx_variable *made = &all[module->variable_count];
    *made = (struct ptx_variable){.space = space, .align = 1};
    char text[256];
    struct ptx_type type = {0};
    while (word(parser, text, sizeof text) && *text == '.') {
        if (strcmp(text, ".align") == 0) {
            made->align = number(parser);
        } else if (!ptx_type_of(text + 1, &type)) {
            return fail(parser, "a variable of type '%s'", text);
        }
    }
    if (parser->failed) {
        return false;
    }
    made->size = type.bits / 8u;
    if (made->align < made->size) {
        made->align = made->size;
    }
    if (accept(parser, '[')) {
        skip_space(parser);
        if (*parser->at == ']') {
            made->is_dynamic = is_extern;
        } else {
            made->size *= number(parser);
        }
        if (!expect(parser, ']')) {
            return false;
        }
    }
    made->name = strdup(text);
    int32_t index = module->variable_count++;
    if (!made->name || name_index(&parser->variables, text, index) != index) {
        return fail(parser, "variable '%s' is declared twice", text);
    }
    place(parser, made);
    if (space == PTX_GLOBAL || space == PTX_CONST) {
        made->memory = aligned_alloc(256, (made->size + 511) / 256 * 256);
        if (!made->memory) {
            return fail(parser, "no memory for variable '%s'", text);
        }
        memset(made->memory, 0, made->size);
        if (accept(parser, '=') && !initialise(parser, made, type.bits / 8u)) {
            return false;
        }
    }
    return true;
}

static bool statement(struct parser *parser, char *text, size_t size) {
    if (strcmp(text, ".reg") == 0) {
        return declare_registers(parser);
    }
    if (strcmp(text, ".local") == 0) {
        return declare_variable(parser, PTX_LOCAL, false) && expect(parser, ';');
    }
    if (strcmp(text, ".shared") == 0) {
        return declare_variable(parser, PTX_SHARED, false) && expect(parser, ';');
    }
    if (*text == '.') {
        skip_statement(parser); /* .pragma, .loc */
        return true;
    }
    if (accept(parser, ':')) {
        int32_t index =
            name_index(&parser->labels, text, (int32_t)parser->labels.count + 0x40000000);
        if (index < 0x40000000) {
            return fail(parser, "label '%s' stands in two places", text);
        }
        /* instructions that name it by number are mended at the function's end */
        struct name *slot = find_slot(&parser->labels, text);
        for (int32_t i = parser->function->entry; i < parser->module->code_count; i++) {
            for (int k = 0; k < parser->module->code[i].operand_count; k++) {
                struct ptx_operand *one = &parser->module->code[i].operands[k];
                if (one->kind == PTX_LABEL && one->reg == index) {
                    one->reg = parser->module->code_count;
                }
            }
        }
        slot->index = parser->module->code_count;
        return true;
    }
    (void)size;
    return instruction(parser, text);
}

static bool body(struct parser *parser) {
    char text[256];
    int depth = 1;
    while (depth > 0 && !parser->failed) {
        skip_space(parser);
        if (!*parser->at) {
            return fail(parser, "the text ends inside a function");
        }
        if (accept(parser, '{')) {
            depth++;
        } else if (accept(parser, '}')) {
            depth--;
        } else if (accept(parser, '@')) {
            text[0] = '@';
            bool negated = accept(parser, '!');
            text[1] = '!';
            if (word(parser, text + 1 + negated, sizeof text - 2)) {
                instruction(parser, text);
            }
        } else if (accept(parser, ';'))
            ; /* empty */
        else if (word(parser, text, sizeof text)) {
            statement(parser, text, sizeof text);
        }
    }
    for (int32_t i = parser->function->entry; i < parser->module->code_count; i++) {
        for (int k = 0; k < parser->module->code[i].operand_count && !parser->failed; k++) {
            if (parser->module->code[i].operands[k].kind == PTX_LABEL &&
                parser->module->code[i].operands[k].reg >= 0x40000000) {
                parser->line = parser->module->code[i].line;
                return fail(parser, "a jump to a label that is nowhere");
            }
        }
    }
    return !parser->failed;
}

static bool entry(struct parser *parser) {
    struct ptx_module *module = parser->module;
    char text[256];
    struct ptx_function *all =
        realloc(module->functions, (size_t)(module->function_count + 1) * sizeof *all);
    if (!all || !word(parser, text, sizeof text)) {
        return fail(parser, "no memory for a function");
    }
    module->functions = all;
    parser->function = &all[module->function_count++];
    *parser->function = (struct ptx_function){.name = strdup(text), .entry = module->code_count};
    if (!expect(parser, '(')) {
        return false;
    }
    while (!accept(parser, ')')) {
        if (!word(parser, text, sizeof text) || strcmp(text, ".param") != 0) {
            return fail(parser, "a parameter was expected and not '%s'", text);
        }
        if (!declare_variable(parser, PTX_PARAM, false)) {
            return false;
        }
        accept(parser, ',');
    }
    while (!accept(parser, '{')) {
        if (!word(parser, text, sizeof text)) {
            return false;
        }
        const bool is_exact = strcmp(text, ".reqntid") == 0;
        const bool is_limit = is_exact || strcmp(text, ".maxntid") == 0;
        uint64_t threads = 1;
        do {
            uint64_t value = number(parser);
            threads *= is_limit ? value : 1;
        } while (accept(parser, ',') && !parser->failed);
        if (is_limit) {
            module->max_threads = (uint32_t)threads;
        }
        if (is_exact) {
            module->threads = (uint32_t)threads;
        }
    }
    parser->register_room = 0;
    parser->local_bytes = 0;
    bool good = body(parser);
    parser->function->local_bytes = (uint32_t)parser->local_bytes;
    return good;
}

static bool directive(struct parser *parser) {
    char text[256];
    bool is_extern = false;
    if (!word(parser, text, sizeof text)) {
        return false;
    }
    while (strcmp(text, ".visible") == 0 || strcmp(text, ".extern") == 0 ||
           strcmp(text, ".weak") == 0) {
        is_extern = is_extern || strcmp(text, ".extern") == 0;
        if (!word(parser, text, sizeof text)) {
            return false;
        }
    }
    if (strcmp(text, ".version") == 0 || strcmp(text, ".target") == 0 ||
        strcmp(text, ".address_size") == 0) {
        parser->at += strcspn(parser->at, "\n");
        return true;
    }
    if (strcmp(text, ".entry") == 0) {
        return entry(parser);
    }
    if (strcmp(text, ".global") == 0) {
        return declare_variable(parser, PTX_GLOBAL, is_extern) && expect(parser, ';');
    }
    if (strcmp(text, ".const") == 0) {
        return declare_variable(parser, PTX_CONST, is_extern) && expect(parser, ';');
    }
    if (strcmp(text, ".shared") == 0) {
        return declare_variable(parser, PTX_SHARED, is_extern) && expect(parser, ';');
    }
    return fail(parser, "directive '%s' is not known to this machine", text);
}

struct ptx_module *ptx_parse(const char *text, char *message, size_t message_size) {
    struct parser parser = {
        .at = text, .line = 1, .message = message, .message_size = message_size};
    parser.module = calloc(1, sizeof *parser.module);
    if (!parser.module) {
        return NULL;
    }
    parser.module->shared_bytes = PTX_SHARED_START;
    parser.module->max_threads = PTX_MAX_THREADS;
    while (!parser.failed && (skip_space(&parser), *parser.at)) {
        directive(&parser);
    }
    free_names(&parser.registers);
    free_names(&parser.labels);
    free_names(&parser.variables);
    if (!parser.failed) {
        return parser.module;
    }
    ptx_free(parser.module);
    return NULL;
}

void ptx_free(struct ptx_module *module) {
    for (int32_t i = 0; i < module->variable_count; i++) {
        free(module->variables[i].name);
        free(module->variables[i].memory);
    }
    for (int32_t i = 0; i < module->function_count; i++) {
        free(module->functions[i].name);
        free(module->functions[i].register_bits);
    }
    for (int32_t i = 0; i < module->code_count; i++) {
        for (int n = 0; n < PTX_MAX_OPERANDS; n++) {
            free(module->code[i].operands[n].many);
        }
    }
    free(module->variables);
    free(module->functions);
    free(module->code);
    free(module);
}

const struct ptx_function *ptx_find(const struct ptx_module *module, const char *name) {
    for (int32_t i = 0; i < module->function_count; i++) {
        if (strcmp(module->functions[i].name, name) == 0) {
            return &module->functions[i];
        }
    }
    return NULL;
}

const struct ptx_variable *ptx_variable(const struct ptx_module *module, const char *name) {
    for (int32_t i = 0; i < module->variable_count; i++) {
        if (strcmp(module->variables[i].name, name) == 0) {
            return &module->variables[i];
        }
    }
    return NULL;
}
