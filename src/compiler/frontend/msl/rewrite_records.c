/*
 * Structs that kernels take by value: their members are the kernel's parameters.
 *
 *     struct Arrays { device float *x; constant uint &n [[buffer(3)]]; };
 *     kernel void k(Arrays a, …)
 *
 * Such a struct, and each struct that is a member of it, gets a function that names its members
 * in order; __ingot_argument of prelude/ingot_parameters.h fetches them by it.
 *
 * Where they are asked for (igc_rewriter.members), structs behind pointers and references get a
 * function too, __ingot_fields, by which their members are reported, with the numbers in [[id(n)]].
 *
 * Requires the kernel pass. Not done: structs with a base, with members that are no pointer,
 * reference, built-in value or such a struct, or with several members in one declaration: they
 * get no function, and the prelude says what a parameter must be.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

enum { MAX_DEPTH = 8, MAX_RECORDS = 256 }; /* structs within structs; of different names */

struct member {
    size_t from, to; /* tokens, without the `;` */
    size_t name;
    size_t index, index_end; /* the expression in buffer(…) or threadgroup(…) */
    size_t builtin;          /* the attribute that names a built-in */
    bool in_threadgroup;
};

struct record { /* a name that was looked at */
    struct record *next;
    size_t name;
    bool good; /* its definitions can be taken apart */
    bool written;
    bool has_fields; /* __ingot_fields was written */
};

struct pass {
    struct igc_rewriter *rewriter;
    struct record *records;
    unsigned record_count;
};

/* ---- reading declarations ----------------------------------------------------------------- */
/* Past what stands at p and is looked into by nobody here: an attribute or template arguments. */
static size_t skip(const struct igc_tokens *tokens, size_t p) {
    size_t after = igc_attribute_end(tokens, p);
    return after > p || igc_word_at(tokens, p) != IGC_W_LESS ? after : igc_angles_end(tokens, p);
}

static bool has_word(const struct igc_tokens *tokens, size_t from, size_t to, enum igc_word word) {
    for (size_t p = from; p < to;) {
        size_t after = skip(tokens, p);
        if (after == p && igc_word_at(tokens, p) == word) {
            return true;
        }
        p = after > p ? after : p + 1;
    }
    return false;
}

bool igc_is_by_value(const struct igc_tokens *tokens, size_t from, size_t to) {
    return !has_word(tokens, from, to, IGC_W_STAR) &&
           !has_word(tokens, from, to, IGC_W_AMPERSAND) &&
           !has_word(tokens, from, to, IGC_W_OPEN_PAREN);
}

/* `Name` of `const struct space::Name<…> x`. */
static size_t type_name(const struct igc_tokens *tokens, size_t from, size_t to) {
    for (size_t p = from; p < to; p++) {
        const struct igc_token *token = igc_at(tokens, p);
        if (token->kind == IGC_IDENTIFIER && token->word == IGC_W_NONE &&
            igc_word_at(tokens, p + 1) != IGC_W_SCOPE) {
            return p;
        }
    }
    return IGC_NO_TOKEN;
}

static bool has_attribute(const struct igc_tokens *tokens, size_t from, size_t to) {
    for (size_t p = from; p < to; p++) {
        if (igc_attribute_end(tokens, p) > p) {
            return true;
        }
    }
    return false;
}

static void read_attributes(const struct igc_tokens *tokens, struct member *member) {
    size_t close;
    for (size_t p = member->from; p < member->to; p++) {
        size_t end = igc_attribute_end(tokens, p);
        for (size_t i = p + 2; i + 2 < end; i++) {
            enum igc_word word = igc_word_at(tokens, i);
            if (igc_is_position(igc_at(tokens, i))) {
                member->builtin = i;
            } else if ((word == IGC_W_BUFFER || word == IGC_W_THREADGROUP) &&
                       igc_closes(tokens, i + 1, &close)) {
                member->index = i + 2;
                member->index_end = close;
                member->in_threadgroup = word == IGC_W_THREADGROUP;
            }
        }
        p = end > p ? end - 1 : p;
    }
}

/* Is the declaration in [from, to) no data member, but a function, a type or a static one? */
static bool is_no_data(const struct igc_tokens *tokens, size_t from, size_t to) {
    switch (igc_word_at(tokens, from)) {
    case IGC_W_USING:
    case IGC_W_TYPEDEF:
    case IGC_W_TEMPLATE:
    case IGC_W_STATIC:
    case IGC_W_ENUM:
        return true;
    default:
        return has_word(tokens, from, to, IGC_W_OPEN_PAREN);
    }
}

/* The next data member from *p on, before `close`; false at the end, and with *strange set where
 * one is not understood. */
static bool next_member(const struct igc_rewriter *rewriter, size_t *p, size_t close,
                        struct member *member, bool *strange) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    while (*p < close) {
        size_t from = *p;
        if (igc_word_at(tokens, from + 1) == IGC_W_COLON) { /* public: */
            *p += 2;
            continue;
        }
        size_t end = igc_declaration_end(tokens, from);
        *p = end > from ? end : from + 1;
        if (is_no_data(tokens, from, end) || end == from + 1) {
            continue;
        }
        *member = (struct member){
            .from = from, .to = end - 1, .index = IGC_NO_TOKEN, .builtin = IGC_NO_TOKEN};
        read_attributes(tokens, member);
        member->name = member->to;
        for (size_t i = from; i < member->to; i++) { /* the last name before an attribute */
            if (skip(tokens, i) > i) {
                i = skip(tokens, i) - 1;
            } else if (igc_at(tokens, i)->kind == IGC_IDENTIFIER) {
                member->name = i;
            }
        }
        *strange = igc_word_at(tokens, end - 1) != IGC_W_SEMICOLON || member->name == member->to ||
                   has_word(tokens, from, end, IGC_W_COMMA) ||
                   has_word(tokens, from, end, IGC_W_OPEN_SQUARE) ||
                   has_word(tokens, from, end, IGC_W_OPEN_BRACE) ||
                   has_word(tokens, from, end, IGC_W_COLON) ||
                   has_word(tokens, from, end, IGC_W_ASSIGN);
        return !*strange;
    }
    return false;
}

/* ---- the function -------------------------------------------------------------------------- */
static void name_member(struct igc_rewriter *rewriter, const struct member *member,
                        const char *record, size_t at) {
    const char *name = igc_spelling(rewriter, member->name, member->name + 1);
    igc_before(
        rewriter, at,
        ig_arena_printf(rewriter->arena, ".template %s<decltype(%s), __builtin_offsetof(%s, %s)",
                        member->builtin != IGC_NO_TOKEN ? "value" : "member", name, record, name));
    if (member->builtin != IGC_NO_TOKEN) {
        const char *builtin = igc_spelling(rewriter, member->builtin, member->builtin + 1);
        igc_before(rewriter, at,
                   ig_arena_printf(rewriter->arena, ">(__ingot_builtin_%s<decltype(%s)>())",
                                   builtin, name));
        return;
    }
    if (member->index != IGC_NO_TOKEN) {
        igc_before(rewriter, at, ", (");
        igc_before_attribute(rewriter, at, member->index, member->index_end);
        igc_before(rewriter, at,
                   member->in_threadgroup ? ") + __ingot_in_threadgroup" : ") + __ingot_in_buffer");
    } else {
        igc_before(rewriter, at, ", ~0u");
    }
    igc_before(rewriter, at, ig_arena_printf(rewriter->arena, ">(\"%s\")", name));
}

/* Of a struct behind a pointer: the name of any data member, and where its number is. */
static void name_field(struct igc_rewriter *rewriter, size_t from, size_t to, const char *record,
                       size_t at) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t name = igc_parameter_name(rewriter, from, to), id = IGC_NO_TOKEN, close = 0;
    if (name == IGC_NO_TOKEN || has_word(tokens, from, to, IGC_W_COMMA)) {
        igc_before(rewriter, at, ".unknown()");
        return;
    }
    for (size_t p = from; p < to && id == IGC_NO_TOKEN; p++) {
        if (igc_attribute_end(tokens, p) > p && igc_is(igc_at(tokens, p + 2), "id") &&
            igc_closes(tokens, p + 3, &close)) {
            id = p + 4;
        }
    }
    const char *text = igc_spelling(rewriter, name, name + 1);
    igc_before(rewriter, at,
               ig_arena_printf(rewriter->arena,
                               ".template field<decltype(%s), __builtin_offsetof(%s, %s), ", text,
                               record, text));
    if (id == IGC_NO_TOKEN) {
        igc_before(rewriter, at, "-1");
    } else {
        igc_before(rewriter, at, "(");
        igc_before_attribute(rewriter, at, id, close);
        igc_before(rewriter, at, ")");
    }
    igc_before(rewriter, at, ig_arena_printf(rewriter->arena, ">(\"%s\")", text));
}

static void write_fields(struct igc_rewriter *rewriter, size_t name, size_t open, size_t close) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    const char *record = igc_spelling(rewriter, name, name + 1);
    igc_before(rewriter, close,
               " public: using __ingot_has_fields = void; template <class V> static "
               "__ingot_inline auto __ingot_fields(V v) { return v");
    for (size_t p = open + 1; p < close;) {
        size_t from = p;
        if (igc_word_at(tokens, from + 1) == IGC_W_COLON) { /* public: */
            p += 2;
            continue;
        }
        size_t end = igc_declaration_end(tokens, from);
        p = end > from ? end : from + 1;
        if (!is_no_data(tokens, from, end) && end > from + 1) {
            name_field(rewriter, from, end - 1, record, close);
        }
    }
    igc_before(rewriter, close, "; } ");
}

static bool describe(struct pass *pass, size_t name, unsigned depth, bool write);

/* Can the struct between `open` and `close` be taken apart? Writes its function when asked to. */
static bool describe_record(struct pass *pass, size_t name, size_t open, size_t close,
                            unsigned depth, bool write) {
    struct igc_rewriter *rewriter = pass->rewriter;
    const struct igc_tokens *tokens = &rewriter->tokens;
    const char *record = igc_spelling(rewriter, name, name + 1);
    struct member member;
    size_t p = open + 1, count = 0;
    bool strange = false;
    if (write) {
        igc_before(rewriter, close,
                   " public: using __ingot_record = void; template <class V> static __ingot_inline "
                   "auto __ingot_members(V v) { return v");
    }
    while (!strange && next_member(rewriter, &p, close, &member, &strange)) {
        bool is_struct =
            member.builtin == IGC_NO_TOKEN && igc_is_by_value(tokens, member.from, member.to);
        if (is_struct &&
            !describe(pass, type_name(tokens, member.from, member.name), depth + 1, write)) {
            return false;
        }
        if (write) {
            name_member(rewriter, &member, record, close);
        }
        count++;
    }
    if (write) {
        igc_before(rewriter, close, "; } ");
    }
    return !strange && count > 0;
}

/* The same for all definitions of the name. */
static bool describe_all(struct pass *pass, size_t name, unsigned depth, bool write) {
    const struct igc_tokens *tokens = &pass->rewriter->tokens;
    bool found = false;
    for (size_t p = 0, close; p < tokens->count; p++) {
        enum igc_word word = igc_word_at(tokens, p);
        if ((word != IGC_W_STRUCT && word != IGC_W_CLASS) || !igc_same_text(tokens, p + 1, name)) {
            continue;
        }
        size_t open = skip(tokens, p + 2);              /* past the arguments of a specialisation */
        if (igc_word_at(tokens, open) == IGC_W_COLON) { /* a base */
            return false;
        }
        if (igc_word_at(tokens, open) != IGC_W_OPEN_BRACE || !igc_closes(tokens, open, &close)) {
            continue;
        }
        found = true;
        if (!describe_record(pass, p + 1, open, close, depth, write)) {
            return false;
        }
    }
    return found;
}

static struct record *find_record(struct pass *pass, size_t name) {
    struct record *record = pass->records;
    while (record && !igc_same_text(&pass->rewriter->tokens, record->name, name)) {
        record = record->next;
    }
    return record;
}

/* Looks at each name once, and writes its functions once. */
static bool describe(struct pass *pass, size_t name, unsigned depth, bool write) {
    if (name == IGC_NO_TOKEN || depth > MAX_DEPTH) {
        return false;
    }
    struct record *record = find_record(pass, name);
    if (!record) {
        if (pass->record_count == MAX_RECORDS) {
            return false;
        }
        record = ig_arena_alloc(pass->rewriter->arena, sizeof *record);
        if (!record) {
            pass->rewriter->out_of_memory = true;
            return false;
        }
        *record = (struct record){.next = pass->records, .name = name};
        pass->records = record;
        pass->record_count++;
        record->good = describe_all(pass, name, depth, false);
    }
    if (record->good && write && !record->written) {
        record->written = true;
        describe_all(pass, name, depth, true);
    }
    return record->good;
}

/* All definitions of the name, once. */
static void describe_fields(struct pass *pass, size_t name) {
    const struct igc_tokens *tokens = &pass->rewriter->tokens;
    struct record *record = name == IGC_NO_TOKEN ? NULL : find_record(pass, name);
    if (!record) {
        describe(pass, name, 0, false); /* which notes it */
        record = name == IGC_NO_TOKEN ? NULL : find_record(pass, name);
    }
    if (!record || record->has_fields) {
        return;
    }
    record->has_fields = true;
    for (size_t p = 0, close; p < tokens->count; p++) {
        enum igc_word word = igc_word_at(tokens, p);
        if ((word == IGC_W_STRUCT || word == IGC_W_CLASS) && igc_same_text(tokens, p + 1, name)) {
            size_t open = skip(tokens, p + 2);
            if (igc_word_at(tokens, open) == IGC_W_OPEN_BRACE && igc_closes(tokens, open, &close)) {
                write_fields(pass->rewriter, p + 1, open, close);
            }
        }
    }
}

void igc_rewrite_records(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    struct pass pass = {.rewriter = rewriter};
    for (size_t i = 0; i < rewriter->kernel_count; i++) {
        const struct igc_kernel *kernel = &rewriter->kernels[i];
        if (kernel->body == IGC_NO_TOKEN || rewriter->edits[kernel->body].dead) {
            continue;
        }
        for (size_t p = kernel->open + 1; p < kernel->close;) {
            size_t end = igc_list_item_end(tokens, p, kernel->close);
            size_t name = type_name(tokens, p, end);
            if (!igc_is_by_value(tokens, p, end)) {
                if (rewriter->members) {
                    describe_fields(&pass, name);
                }
            } else if (!has_attribute(tokens, p, end)) {
                describe(&pass, name, 0, true);
            }
            p = end + 1;
        }
    }
}
