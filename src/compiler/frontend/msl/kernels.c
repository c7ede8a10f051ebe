/*
 * Finds kernels: functions, templates and explicit instantiations marked `kernel`,
 * `[[kernel]]` or `[[host_name("…")]]`, in whatever order the marks come.
 *
 * Requires tokens. Provides igc_rewriter.kernels in source order. A kernel without host_name is
 * named with its namespaces, "a::scale"; an instantiation, also one without any mark whose
 * template is a kernel, by its own text: "a::scale<float>". Does not look inside kernel bodies.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

struct head { /* what the tokens before a function's name say */
    bool kernel, graphics, instantiation, template, specialisation;
    size_t mark, name_end; /* attributes may stand between the name and the '(' */
    const char *host_name;
};

static bool kernel_word(const struct igc_tokens *tokens, size_t i) {
    enum igc_word before = igc_word_at(tokens, i - 1);
    if (i > 0 && (before == IGC_W_DOT || before == IGC_W_ARROW || before == IGC_W_SCOPE)) {
        return false;
    }
    return igc_at(tokens, i + 1)->kind == IGC_IDENTIFIER ||
           igc_attribute_end(tokens, i + 1) > i + 1;
}

/* Marks of functions that are no kernels, in an attribute: [[mesh]], [[intersection(triangle)]]. */
static bool is_graphics_mark(const struct igc_tokens *tokens, size_t i) {
    const struct igc_token *token = igc_at(tokens, i);
    return token->word == IGC_W_VERTEX || token->word == IGC_W_FRAGMENT || igc_is(token, "mesh") ||
           igc_is(token, "object") || igc_is(token, "intersection");
}

static void read_attribute(struct igc_rewriter *rewriter, size_t i, size_t end, struct head *head) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t p = i + 2, stop = end - 2; p < stop;) {
        size_t item = igc_list_item_end(tokens, p, stop);
        enum igc_word word = igc_word_at(tokens, p);
        if (word == IGC_W_KERNEL) {
            head->kernel = true;
        } else if (is_graphics_mark(tokens, p)) {
            head->graphics = true;
        } else if (word == IGC_W_HOST_NAME) {
            head->host_name = igc_string_value(rewriter, p, item);
        }
        p = item + 1;
    }
    if (head->mark == IGC_NO_TOKEN) {
        head->mark = i;
    }
}

/* Steps over `template`, `template <…>` as often as they come. */
static size_t read_template(const struct igc_tokens *tokens, size_t p, struct head *head) {
    while (igc_word_at(tokens, p) == IGC_W_TEMPLATE) {
        if (igc_word_at(tokens, p + 1) != IGC_W_LESS) {
            head->instantiation = true;
            p++;
            continue;
        }
        size_t after = igc_angles_end(tokens, p + 1);
        if (after == p + 1) {
            return IGC_NO_TOKEN;
        }
        if (after == p + 3) {
            head->specialisation = true;
        } else {
            head->template = true;
        }
        p = after;
    }
    return p;
}

/* From the first specifier to the parameters' '(' or the ';'. IGC_NO_TOKEN: no function. */
static size_t read_head(struct igc_rewriter *rewriter, size_t p, struct head *head) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t steps = 0; p < tokens->count && steps < 4096; steps++) {
        size_t after = igc_attribute_end(tokens, p), close;
        if (after > p) {
            read_attribute(rewriter, p, after, head);
            p = after;
            continue;
        }
        switch (igc_word_at(tokens, p)) {
        case IGC_W_KERNEL:
        case IGC_W_VERTEX:
        case IGC_W_FRAGMENT:
            if (kernel_word(tokens, p)) {
                *(igc_word_at(tokens, p) == IGC_W_KERNEL ? &head->kernel : &head->graphics) = true;
                if (head->mark == IGC_NO_TOKEN) {
                    head->mark = p;
                }
            }
            break;
        case IGC_W_DECLTYPE:
        case IGC_W_ALIGNAS:
        case IGC_W_ATTRIBUTE:
            if (!igc_closes(tokens, p + 1, &close)) {
                return IGC_NO_TOKEN;
            }
            p = close;
            break;
        case IGC_W_LESS:
            after = igc_angles_end(tokens, p);
            if (after == p) {
                return IGC_NO_TOKEN;
            }
            head->name_end = p = after;
            continue;
        case IGC_W_OPEN_PAREN:
        case IGC_W_SEMICOLON:
            return p;
        case IGC_W_OPEN_BRACE:
        case IGC_W_CLOSE_BRACE:
        case IGC_W_ASSIGN:
        case IGC_W_OPERATOR:
        case IGC_W_STRUCT:
        case IGC_W_CLASS:
        case IGC_W_USING:
        case IGC_W_TYPEDEF:
        case IGC_W_NAMESPACE:
            return IGC_NO_TOKEN;
        default:
            break;
        }
        head->name_end = ++p;
    }
    return IGC_NO_TOKEN;
}

/* The name before `end`, with its template arguments. */
static bool read_name(const struct igc_tokens *tokens, size_t end, struct igc_kernel *kernel) {
    if (end == 0) {
        return false;
    }
    size_t name = end - 1;
    if (igc_word_at(tokens, name) == IGC_W_GREATER) {
        size_t less = igc_angles_start(tokens, name);
        if (less == name || less == 0) {
            return false;
        }
        name = less - 1;
    }
    kernel->name = name;
    kernel->name_end = end;
    return name > kernel->start && igc_at(tokens, name)->kind == IGC_IDENTIFIER;
}

static void read_body(const struct igc_tokens *tokens, struct igc_kernel *kernel) {
    size_t p = kernel->close + 1, close;
    for (size_t steps = 0; p < tokens->count && steps < 256; steps++) {
        size_t after = igc_attribute_end(tokens, p);
        enum igc_word word = igc_word_at(tokens, p);
        if (after > p) {
            p = after;
            continue;
        }
        if (word == IGC_W_OPEN_BRACE && igc_closes(tokens, p, &close)) {
            kernel->body = p;
            kernel->end = close + 1;
            return;
        }
        if (word == IGC_W_OPEN_PAREN && igc_closes(tokens, p, &close)) {
            p = close;
        }
        if (word == IGC_W_SEMICOLON) {
            kernel->end = p + 1;
            return;
        }
        if (word == IGC_W_OPEN_BRACE || word == IGC_W_CLOSE_BRACE) {
            break;
        }
        p++;
    }
    kernel->end = p;
}

static bool is_kernel_template(const struct igc_rewriter *rewriter, size_t name) {
    const struct igc_token *token = igc_at(&rewriter->tokens, name);
    for (size_t i = 0; i < rewriter->kernel_count; i++) {
        const struct igc_kernel *kernel = &rewriter->kernels[i];
        const struct igc_token *other = igc_at(&rewriter->tokens, kernel->name);
        if (kernel->is_template && other->size == token->size &&
            memcmp(other->text, token->text, token->size) == 0) {
            return true;
        }
    }
    return false;
}

/* The namespaces that a declaration lies in, innermost last. */
struct scopes {
    size_t count;
    struct {
        const char *name; /* with those around it: "a::b::" */
        size_t close;     /* its '}' */
    } items[32];
};

static const char *scope_of(struct scopes *scopes, size_t token) {
    while (scopes->count > 0 && scopes->items[scopes->count - 1].close < token) {
        scopes->count--;
    }
    return scopes->count > 0 ? scopes->items[scopes->count - 1].name : "";
}

/* `namespace a::b {` at i. One without a name is not seen in names. */
static void enter_scope(struct igc_rewriter *rewriter, struct scopes *scopes, size_t i) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    const char *around = scope_of(scopes, i);
    size_t from = i + 1, close;
    if (igc_attribute_end(tokens, from) > from) {
        from = igc_attribute_end(tokens, from);
    }
    size_t open = from;
    while (igc_at(tokens, open)->kind == IGC_IDENTIFIER ||
           igc_word_at(tokens, open) == IGC_W_SCOPE) {
        open++;
    }
    if (igc_word_at(tokens, open) != IGC_W_OPEN_BRACE || !igc_closes(tokens, open, &close) ||
        open == from || scopes->count == sizeof scopes->items / sizeof *scopes->items) {
        return;
    }
    const char *name =
        ig_arena_printf(rewriter->arena, "%s%s::", around, igc_spelling(rewriter, from, open));
    rewriter->out_of_memory |= !name;
    scopes->items[scopes->count].name = name ? name : "";
    scopes->items[scopes->count++].close = close;
}

/* The kernel's own name up to token `to`, with the namespaces of its declaration and those before
 * it, `a::k<float>`. */
static const char *own_name(struct igc_rewriter *rewriter, const struct igc_kernel *kernel,
                            size_t to, const char *scope) {
    size_t from = kernel->name;
    while (from > kernel->start + 1 && igc_word_at(&rewriter->tokens, from - 1) == IGC_W_SCOPE &&
           igc_at(&rewriter->tokens, from - 2)->kind == IGC_IDENTIFIER) {
        from -= 2;
    }
    const char *name =
        ig_arena_printf(rewriter->arena, "%s%s", scope, igc_spelling(rewriter, from, to));
    rewriter->out_of_memory |= !name;
    return name;
}

/* Reads the declaration at `start`; false when it is no kernel's. */
static bool read_kernel(struct igc_rewriter *rewriter, size_t start, const char *scope,
                        struct igc_kernel *kernel) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    struct head head = {.mark = IGC_NO_TOKEN};
    size_t p = read_template(tokens, start, &head);
    if (p == IGC_NO_TOKEN) {
        return false;
    }
    size_t first = p;
    size_t stop = read_head(rewriter, p, &head);
    *kernel = (struct igc_kernel){.start = start,
                                  .open = IGC_NO_TOKEN,
                                  .close = IGC_NO_TOKEN,
                                  .body = IGC_NO_TOKEN,
                                  .mark = head.mark == IGC_NO_TOKEN ? first : head.mark,
                                  .is_template = head.template,
                                  .is_instantiation = head.instantiation,
                                  .is_graphics = head.graphics};
    if (stop == IGC_NO_TOKEN || !read_name(tokens, head.name_end, kernel)) {
        return false;
    }
    if (kernel->mark > kernel->name) {
        kernel->mark = first;
    }
    bool marked = head.kernel || head.graphics || head.host_name;
    if (!marked && !(head.instantiation && is_kernel_template(rewriter, kernel->name))) {
        return false;
    }
    kernel->end = stop + 1;
    if (igc_word_at(tokens, stop) == IGC_W_OPEN_PAREN) {
        if (!igc_closes(tokens, stop, &kernel->close)) {
            return false;
        }
        kernel->open = stop;
        read_body(tokens, kernel);
    } else if (!head.instantiation) {
        return false;
    }
    if (head.host_name) {
        kernel->host_name = head.host_name;
    } else if (head.instantiation || head.specialisation) {
        kernel->host_name = own_name(rewriter, kernel, kernel->name_end, scope);
    } else if (!head.template && kernel->body != IGC_NO_TOKEN) {
        kernel->host_name = own_name(rewriter, kernel, kernel->name + 1, scope);
    }
    if (head.template) {
        kernel->host_name = NULL;
    }
    return true;
}

static bool add_kernel(struct igc_rewriter *rewriter, const struct igc_kernel *kernel) {
    if (rewriter->kernel_count == rewriter->kernel_capacity) {
        size_t capacity = rewriter->kernel_capacity * 2 + 64;
        struct igc_kernel *kernels = ig_arena_array(rewriter->arena, capacity, sizeof *kernels);
        if (!kernels) {
            return false;
        }
        if (rewriter->kernel_count) {
            memcpy(kernels, rewriter->kernels, rewriter->kernel_count * sizeof *kernels);
        }
        rewriter->kernels = kernels;
        rewriter->kernel_capacity = capacity;
    }
    rewriter->kernels[rewriter->kernel_count++] = *kernel;
    return true;
}

static bool starts_declaration(const struct igc_tokens *tokens, size_t i) {
    enum igc_word before = igc_word_at(tokens, i - 1);
    return i == 0 || before == IGC_W_SEMICOLON || before == IGC_W_OPEN_BRACE ||
           before == IGC_W_CLOSE_BRACE || igc_at(tokens, i - 1)->kind == IGC_DIRECTIVE;
}

/* Can a kernel's declaration be recognised by token i? */
static bool is_mark(const struct igc_tokens *tokens, size_t i) {
    enum igc_word word = igc_word_at(tokens, i);
    if (word == IGC_W_KERNEL || word == IGC_W_VERTEX || word == IGC_W_FRAGMENT) {
        return kernel_word(tokens, i);
    }
    if (word == IGC_W_TEMPLATE) {
        return igc_word_at(tokens, i + 1) != IGC_W_LESS && starts_declaration(tokens, i);
    }
    size_t end = igc_attribute_end(tokens, i);
    for (size_t p = i + 2; p + 2 < end; p++) {
        enum igc_word inside = igc_word_at(tokens, p);
        if (inside == IGC_W_KERNEL || inside == IGC_W_HOST_NAME || is_graphics_mark(tokens, p)) {
            return true;
        }
    }
    return false;
}

ingot_status igc_find_kernels(struct igc_rewriter *rewriter, struct ig_error *error) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    struct scopes scopes = {0};
    for (size_t i = 0; i < tokens->count; i++) {
        struct igc_kernel kernel;
        if (igc_word_at(tokens, i) == IGC_W_NAMESPACE &&
            igc_word_at(tokens, i - 1) != IGC_W_USING) {
            enter_scope(rewriter, &scopes, i);
        }
        if (!is_mark(tokens, i)) {
            continue;
        }
        size_t start = igc_declaration_start(tokens, i);
        if (!read_kernel(rewriter, start, scope_of(&scopes, start), &kernel)) {
            continue;
        }
        if (!add_kernel(rewriter, &kernel)) {
            rewriter->out_of_memory = true;
        }
        if (kernel.end > i) {
            i = kernel.end - 1;
        }
    }
    if (rewriter->out_of_memory) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the kernels of %s",
                       tokens->files[0]);
    }
    return INGOT_OK;
}
