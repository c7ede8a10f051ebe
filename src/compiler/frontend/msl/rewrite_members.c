/*
 * Member functions qualified by address space: `T get() const threadgroup { … }`.
 *
 * clang cannot overload members by address space here, but `this` converts from every
 * space, so one unqualified member serves all. Twins with the same signature and the same
 * body are dropped down to one. Twins that differ in their bodies, or in the address space
 * of what they return, keep their bodies under other names, and get callers that do
 * overload, with explicit object parameters (C++23):
 *
 *     float __ingot_threadgroup_get() const { … }
 *     float get(this const threadgroup S &__self) { return __self.__ingot_threadgroup_get(); }
 *
 * A reference to a member, which lost its space with `this`, gets it back in the caller:
 *
 *     threadgroup T &at(this threadgroup S &__self, int i) {
 *         return __ingot_respaced(&__self.__ingot_threadgroup_at(i)); }
 *
 * Requires the kernel pass. Not done: constructors, conversions and members declared
 * without body whose twins differ keep only one of them.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

struct member {   /* a member function of a class with qualified members */
    size_t start; /* first token of its declaration */
    size_t name;  /* its name, or `operator` */
    size_t open, close;
    size_t qualifier; /* device, threadgroup, … ; IGC_NO_TOKEN when it has none */
    size_t tail, end; /* after the qualifiers: the body; past it */
    bool is_const, is_volatile, done;
};

/* ---- recognising qualifiers ------------------------------------------------------------------ */
static bool is_plain_qualifier(enum igc_word word) {
    return word == IGC_W_CONST || word == IGC_W_VOLATILE || word == IGC_W_NOEXCEPT;
}

/* Is the space word at i a qualifier of a function? */
bool igc_is_function_qualifier(const struct igc_tokens *tokens, size_t i) {
    size_t before = i - 1, after = i + 1;
    if (i == 0) {
        return false;
    }
    while (before > 0 && is_plain_qualifier(igc_word_at(tokens, before))) {
        before--;
    }
    if (igc_word_at(tokens, before) != IGC_W_CLOSE_PAREN) {
        return false;
    }
    while (is_plain_qualifier(igc_word_at(tokens, after))) {
        after++;
    }
    enum igc_word next = igc_word_at(tokens, after);
    if (next == IGC_W_ASSIGN) {
        next = igc_word_at(tokens, after + 1);
        return next == IGC_W_DEFAULT || next == IGC_W_DELETE;
    }
    return next == IGC_W_OPEN_BRACE || next == IGC_W_SEMICOLON || next == IGC_W_COLON ||
           next == IGC_W_ARROW;
}

/* Does the qualifier at i belong to a constructor of `class`, or to one defined outside, S::S()? */
static bool is_of_constructor(const struct igc_tokens *tokens, size_t i, size_t class) {
    while (i > 0 && igc_word_at(tokens, i) != IGC_W_CLOSE_PAREN) {
        i--;
    }
    size_t open = igc_at(tokens, i)->match;
    if (open == 0 || open >= i) {
        return false;
    }
    size_t name = open - 1;
    if (igc_word_at(tokens, name) == IGC_W_GREATER) {
        name = igc_angles_start(tokens, name) - 1; /* S<T>() */
    }
    if (class != IGC_NO_TOKEN && igc_same_text(tokens, name, class)) {
        return true;
    }
    return name >= 2 && igc_word_at(tokens, name - 1) == IGC_W_SCOPE &&
           igc_same_text(tokens, name, name - 2);
}

/* What is constant is const; but an object that is being made is not. */
static void drop_qualifier(struct igc_rewriter *rewriter, size_t i, size_t class) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    igc_kill(rewriter, i, i + 1);
    if (igc_word_at(tokens, i) == IGC_W_CONSTANT && igc_word_at(tokens, i - 1) != IGC_W_CONST &&
        igc_word_at(tokens, i + 1) != IGC_W_CONST && !is_of_constructor(tokens, i, class)) {
        igc_replace(rewriter, i, "const");
    }
}

/* ---- reading members ---------------------------------------------------------------------------
 */
/* The '(' of the parameters of the member in [start, end), or `end`. */
static size_t find_parameters(const struct igc_tokens *tokens, size_t start, size_t end,
                              size_t *name) {
    size_t close;
    for (size_t p = start; p < end; p++) {
        switch (igc_word_at(tokens, p)) {
        case IGC_W_OPERATOR:
            *name = p++;
            if (igc_word_at(tokens, p) == IGC_W_OPEN_PAREN) {
                p += 2;
            }
            while (p < end && igc_word_at(tokens, p) != IGC_W_OPEN_PAREN) {
                p++;
            }
            return p;
        case IGC_W_DECLTYPE:
        case IGC_W_ALIGNAS:
        case IGC_W_ATTRIBUTE:
            if (igc_closes(tokens, p + 1, &close)) {
                p = close;
            }
            break;
        case IGC_W_LESS: {
            size_t after = igc_angles_end(tokens, p);
            if (after == p) {
                return end;
            }
            p = after - 1;
            break;
        }
        case IGC_W_OPEN_PAREN:
            *name = p - 1;
            if (p > start && igc_word_at(tokens, p - 1) == IGC_W_GREATER) {
                *name = igc_angles_start(tokens, p - 1) - 1; /* the constructor S<T>() */
            }
            return p > start && *name >= start && *name < p &&
                           igc_at(tokens, *name)->kind == IGC_IDENTIFIER
                       ? p
                       : end;
        case IGC_W_OPEN_SQUARE:
            if (igc_attribute_end(tokens, p) == p) {
                return end;
            }
            p = igc_attribute_end(tokens, p) - 1;
            break;
        case IGC_W_ASSIGN:
        case IGC_W_SEMICOLON:
        case IGC_W_OPEN_BRACE:
        case IGC_W_STRUCT:
        case IGC_W_UNION:
        case IGC_W_USING:
        case IGC_W_TYPEDEF:
            return end;
        default:
            break;
        }
    }
    return end;
}

static bool read_member(const struct igc_tokens *tokens, size_t start, size_t end,
                        struct member *member) {
    *member = (struct member){.start = start, .end = end, .qualifier = IGC_NO_TOKEN};
    member->open = find_parameters(tokens, start, end, &member->name);
    if (member->open >= end || !igc_closes(tokens, member->open, &member->close)) {
        return false;
    }
    size_t p = member->close + 1;
    for (;; p++) {
        enum igc_word word = igc_word_at(tokens, p);
        if (word == IGC_W_CONST) {
            member->is_const = true;
        } else if (word == IGC_W_VOLATILE) {
            member->is_volatile = true;
        } else if (igc_is_space_word(word)) {
            member->qualifier = p;
        } else if (word != IGC_W_NOEXCEPT) {
            break;
        }
        member->is_const |= word == IGC_W_CONSTANT; /* what is constant is const */
    }
    member->tail = p;
    return p < end;
}

static bool same_tokens(const struct igc_tokens *tokens, size_t a, size_t a_end, size_t b,
                        size_t b_end) {
    if (a_end - a != b_end - b) {
        return false;
    }
    for (; a < a_end; a++, b++) {
        const struct igc_token *x = igc_at(tokens, a), *y = igc_at(tokens, b);
        if (x->size != y->size || memcmp(x->text, y->text, x->size) != 0) {
            return false;
        }
    }
    return true;
}

/* Template headers and result types, address spaces left out. */
static bool same_result(const struct igc_tokens *tokens, const struct member *a,
                        const struct member *b) {
    size_t i = a->start, k = b->start;
    for (;; i++, k++) {
        while (i < a->name && igc_is_space_word(igc_word_at(tokens, i))) {
            i++;
        }
        while (k < b->name && igc_is_space_word(igc_word_at(tokens, k))) {
            k++;
        }
        if (i >= a->name || k >= b->name) {
            return i >= a->name && k >= b->name;
        }
        if (!same_tokens(tokens, i, i + 1, k, k + 1)) {
            return false;
        }
    }
}

static bool same_signature(const struct igc_tokens *tokens, const struct member *a,
                           const struct member *b) {
    return a->is_const == b->is_const && a->is_volatile == b->is_volatile &&
           same_tokens(tokens, a->name, a->close, b->name, b->close) && same_result(tokens, a, b);
}

static bool same_body(const struct igc_tokens *tokens, const struct member *a,
                      const struct member *b) {
    return same_tokens(tokens, a->tail, a->end, b->tail, b->end);
}

/* ---- twins
 * ---------------------------------------------------------------------------------------- */
/* The class that the '{' at `brace` opens; IGC_NO_TOKEN when it opens no class. */
static size_t class_name(const struct igc_tokens *tokens, size_t brace) {
    size_t start = igc_declaration_start(tokens, brace), close;
    for (size_t p = start; p < brace; p++) {
        enum igc_word word = igc_word_at(tokens, p);
        if (word == IGC_W_LESS) {
            size_t after = igc_angles_end(tokens, p);
            p = after > p ? after - 1 : p;
            continue;
        }
        if (word != IGC_W_STRUCT && word != IGC_W_CLASS && word != IGC_W_UNION) {
            continue;
        }
        for (p++; p < brace; p++) {
            word = igc_word_at(tokens, p);
            if ((word == IGC_W_ALIGNAS || word == IGC_W_ATTRIBUTE) &&
                igc_closes(tokens, p + 1, &close)) {
                p = close;
            } else if (igc_attribute_end(tokens, p) > p) {
                p = igc_attribute_end(tokens, p) - 1;
            } else {
                return igc_at(tokens, p)->kind == IGC_IDENTIFIER ? p : IGC_NO_TOKEN;
            }
        }
    }
    return IGC_NO_TOKEN;
}

static enum igc_word space_of(const struct igc_tokens *tokens, const struct member *member) {
    return member->qualifier == IGC_NO_TOKEN ? IGC_W_THREAD
                                             : igc_word_at(tokens, member->qualifier);
}

/* Does it return a reference or a pointer into the address space of its object? */
static bool returns_own_space(const struct igc_tokens *tokens, const struct member *member) {
    if (member->name == member->start || member->qualifier == IGC_NO_TOKEN) {
        return false;
    }
    enum igc_word before = igc_word_at(tokens, member->name - 1);
    if (before != IGC_W_AMPERSAND && before != IGC_W_STAR) {
        return false;
    }
    for (size_t i = member->start; i < member->name; i++) {
        if (igc_word_at(tokens, i) == space_of(tokens, member)) {
            return true;
        }
    }
    return false;
}

/* `threadgroup T &` from a member of `this` would not bind, because `this` has no address space
 * any more. */
static void rewrite_result(struct igc_rewriter *rewriter, const struct member *member) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    enum igc_word space = space_of(tokens, member);
    if (!returns_own_space(tokens, member)) {
        return;
    }
    for (size_t i = member->start; i < member->name; i++) {
        if (igc_word_at(tokens, i) == space) {
            igc_replace(rewriter, i, space == IGC_W_CONSTANT ? "const" : "");
        }
    }
}

/* Can this member get another name and a caller? */
static bool can_rename(const struct igc_rewriter *rewriter, const struct member *member,
                       size_t class) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    if (igc_word_at(tokens, member->tail) != IGC_W_OPEN_BRACE || class == IGC_NO_TOKEN ||
        member->name == member->start) {
        return false;
    }
    if (igc_word_at(tokens, member->name) == IGC_W_OPERATOR &&
        igc_at(tokens, member->name + 1)->kind == IGC_IDENTIFIER) {
        return false; /* a conversion */
    }
    if (same_tokens(tokens, member->name, member->name + 1, class, class + 1)) {
        return false; /* a constructor */
    }
    for (size_t p = member->open + 1; p < member->close;) {
        size_t end = igc_list_item_end(tokens, p, member->close);
        if (igc_parameter_name(rewriter, p, end) == IGC_NO_TOKEN) {
            return false;
        }
        p = end + 1;
    }
    return true;
}

static void add_caller(struct igc_rewriter *rewriter, const struct member *member, size_t class,
                       const char *renamed) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t at = member->end - 1;
    const char *object = igc_spelling(rewriter, class, class + 1);
    const char *name = igc_spelling(rewriter, member->name, member->open);
    bool respaced = returns_own_space(tokens, member);
    bool pointer = igc_word_at(tokens, member->name - 1) == IGC_W_STAR;
    for (size_t i = member->start; i < member->name; i++) {
        igc_after(rewriter, at, " ");
        if (respaced && igc_word_at(tokens, i) == space_of(tokens, member)) {
            igc_after(rewriter, at, igc_space_text(space_of(tokens, member)));
        } else {
            igc_after_tokens(rewriter, at, i, i + 1);
        }
    }
    igc_after(rewriter, at,
              ig_arena_printf(rewriter->arena, " %s(this %s%s%s %s &__self", name,
                              member->is_const ? "const " : "",
                              member->is_volatile ? "volatile " : "",
                              igc_space_text(space_of(tokens, member)), object));
    if (member->close > member->open + 1) {
        igc_after(rewriter, at, ", ");
        igc_after_tokens(rewriter, at, member->open + 1, member->close);
    }
    igc_after(rewriter, at,
              ig_arena_printf(rewriter->arena, ") { return %s__self.%s(",
                              !respaced ? ""
                              : pointer ? "__ingot_respaced("
                                        : "__ingot_respaced(&",
                              renamed));
    for (size_t p = member->open + 1; p < member->close;) {
        size_t end = igc_list_item_end(tokens, p, member->close);
        size_t parameter = igc_parameter_name(rewriter, p, end);
        igc_after_tokens(rewriter, at, parameter, parameter + 1);
        if (end < member->close) {
            igc_after(rewriter, at, ", ");
        }
        p = end + 1;
    }
    igc_after(rewriter, at, respaced ? ")); }" : "); }");
}

/* `name` (one token, or `operator` and what follows) stays for the caller's copy: the
 * renamed member prints it otherwise, so the name is hung before and its tokens die. */
static void rename_member(struct igc_rewriter *rewriter, const struct member *member, size_t class,
                          size_t number) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    enum igc_word space = space_of(tokens, member);
    const char *renamed = ig_arena_printf(rewriter->arena, "__ingot_%s_%zu",
                                          space == IGC_W_DEVICE        ? "device"
                                          : space == IGC_W_THREADGROUP ? "threadgroup"
                                          : space == IGC_W_CONSTANT    ? "constant"
                                                                       : "thread",
                                          number);
    if (!renamed) {
        rewriter->out_of_memory = true;
        return;
    }
    add_caller(rewriter, member, class, renamed);
    igc_kill(rewriter, member->name, member->open);
    igc_replace(rewriter, member->name, renamed);
    if (member->qualifier != IGC_NO_TOKEN) {
        drop_qualifier(rewriter, member->qualifier, class);
    }
    rewriter->explicit_objects = true;
}

static void rewrite_twins(struct igc_rewriter *rewriter, struct member *members, size_t count,
                          size_t first, size_t class) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t keep = first;
    bool differ = false, renamable = true;
    for (size_t i = first; i < count; i++) {
        if (members[i].done || !same_signature(tokens, &members[first], &members[i])) {
            continue;
        }
        members[i].done = true;
        differ |= !same_body(tokens, &members[first], &members[i]) ||
                  (space_of(tokens, &members[i]) != IGC_W_THREAD &&
                   returns_own_space(tokens, &members[i]));
        renamable &= can_rename(rewriter, &members[i], class);
        if (space_of(tokens, &members[i]) == IGC_W_THREAD) {
            keep = i;
        }
    }
    for (size_t i = first; i < count; i++) {
        if (!same_signature(tokens, &members[first], &members[i])) {
            continue;
        }
        rewrite_result(rewriter, &members[i]);
        if (differ && renamable) {
            rename_member(rewriter, &members[i], class, members[i].start);
        } else if (i != keep) {
            igc_kill(rewriter, members[i].start, members[i].end);
        } else if (members[i].qualifier != IGC_NO_TOKEN) {
            drop_qualifier(rewriter, members[i].qualifier, class);
        }
    }
}

/* All member functions of the class whose '{' is at `brace`. */
static void rewrite_class(struct igc_rewriter *rewriter, size_t brace, struct member *members) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t close, count = 0;
    size_t class = class_name(tokens, brace);
    if (class == IGC_NO_TOKEN || !igc_closes(tokens, brace, &close)) {
        return;
    }
    for (size_t p = brace + 1; p < close;) {
        enum igc_word word = igc_word_at(tokens, p);
        if (igc_at(tokens, p)->kind == IGC_DIRECTIVE || word == IGC_W_SEMICOLON) {
            p++;
            continue;
        }
        if (word == IGC_W_PUBLIC || word == IGC_W_PRIVATE || word == IGC_W_PROTECTED) {
            p += 2;
            continue;
        }
        size_t end = igc_declaration_end(tokens, p);
        if (end <= p || end > close) {
            end = end <= p ? p + 1 : close;
        }
        if (read_member(tokens, p, end, &members[count])) {
            members[count].is_const &= !igc_same_text(tokens, members[count].name, class);
            count++;
        }
        p = end;
    }
    for (size_t i = 0; i < count; i++) {
        bool qualified = false;
        for (size_t k = i; k < count && !qualified; k++) {
            qualified = members[k].qualifier != IGC_NO_TOKEN &&
                        same_signature(tokens, &members[i], &members[k]);
        }
        if (qualified && !members[i].done) {
            rewrite_twins(rewriter, members, count, i, class);
        }
    }
}

/* `.data()` and friends of metal::array keep the array's address space in C++23 only
 * (prelude/ingot_array.h). */
static bool takes_array_pointer(const struct igc_tokens *tokens, size_t dot) {
    const struct igc_token *name = igc_at(tokens, dot + 1);
    return igc_word_at(tokens, dot + 2) == IGC_W_OPEN_PAREN &&
           (igc_is(name, "data") || igc_is(name, "begin") || igc_is(name, "end"));
}

/* `threadgroup array<…>`: elements keep the array's address space in C++23 only, too. */
static bool names_array(const struct igc_tokens *tokens, size_t space) {
    size_t i = space + 1;
    while (is_plain_qualifier(igc_word_at(tokens, i))) {
        i++;
    }
    if (igc_is(igc_at(tokens, i), "metal") && igc_word_at(tokens, i + 1) == IGC_W_SCOPE) {
        i += 2;
    }
    return igc_is(igc_at(tokens, i), "array") && igc_word_at(tokens, i + 1) == IGC_W_LESS;
}

/* float4x4, half2x3, matrix<…>: so do their columns. */
static bool names_matrix(const struct igc_tokens *tokens, size_t i) {
    const struct igc_token *token = igc_at(tokens, i);
    const char *end = token->text + token->size;
    if (token->kind != IGC_IDENTIFIER || token->size < 6) {
        return false;
    }
    if (igc_is(token, "matrix")) {
        return igc_word_at(tokens, i + 1) == IGC_W_LESS;
    }
    return end[-2] == 'x' && end[-1] >= '2' && end[-1] <= '4' && end[-3] >= '2' && end[-3] <= '4' &&
           (token->size == 7 ? !memcmp(token->text, "half", 4)
                             : token->size == 8 && !memcmp(token->text, "float", 5));
}

void igc_rewrite_members(struct igc_rewriter *rewriter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t depth = 0, capacity = 0, last_class = IGC_NO_TOKEN;
    uint32_t *open = NULL;
    struct member *members = NULL;
    for (size_t i = 0; i < tokens->count; i++) {
        enum igc_word word = igc_word_at(tokens, i);
        if (word == IGC_W_OPEN_BRACE && tokens->items[i].match > i) {
            if (!open) {
                open = ig_arena_array(rewriter->arena, tokens->count, sizeof *open);
                if (!open) {
                    rewriter->out_of_memory = true;
                    return;
                }
            }
            open[depth++] = (uint32_t)i;
        } else if (word == IGC_W_CLOSE_BRACE && tokens->items[i].match < i && depth > 0) {
            depth--;
        } else if (word == IGC_W_DOT && takes_array_pointer(tokens, i)) {
            rewriter->explicit_objects = true;
        } else if (names_matrix(tokens, i) || (igc_is_space_word(word) && names_array(tokens, i))) {
            rewriter->explicit_objects = true;
        } else if (igc_is_space_word(word) && !rewriter->edits[i].dead &&
                   igc_is_function_qualifier(tokens, i)) {
            size_t brace = depth > 0 ? open[depth - 1] : IGC_NO_TOKEN;
            if (brace != IGC_NO_TOKEN && brace != last_class) {
                size_t wanted = tokens->items[brace].match - brace;
                last_class = brace;
                if (wanted > capacity) {
                    capacity = wanted * 2;
                    members = ig_arena_array(rewriter->arena, capacity, sizeof *members);
                }
                if (!members) {
                    rewriter->out_of_memory = true;
                    return;
                }
                rewrite_class(rewriter, brace, members);
            }
            if (!rewriter->edits[i].dead) {
                drop_qualifier(rewriter, i,
                               brace == IGC_NO_TOKEN ? brace : class_name(tokens, brace));
            }
        }
    }
}
