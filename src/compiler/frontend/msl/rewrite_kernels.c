/*
 * Kernels become ordinary functions whose parameters are fetched in the body.
 *
 * Requires igc_rewriter.kernels with `keep` set. Provides, for each kernel kept, the
 * annotation "ingot.kernel:NAME", unnamed parameters, and at the start of the body one
 * declaration per parameter:
 *
 *     device float *x = __ingot_parameter<decltype(x), 0, 0>("x");
 *     uint i = __ingot_builtin_thread_position_in_grid<decltype(i)>();
 *
 * (index ~0u: numbered later; `__ingot_parameter_if<…>("x", (condition))` for a parameter
 * that depends on a function constant.) Kernels and instantiations that are not kept go
 * away; templates that nothing kept instantiates lose their bodies.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

struct parameter {
    size_t from, to;                 /* tokens, attributes included */
    size_t name;                     /* IGC_NO_TOKEN when it has none */
    size_t index, index_end;         /* the expression in buffer(…) or threadgroup(…) */
    bool in_threadgroup;             /* …which is the latter */
    size_t condition, condition_end; /* that in function_constant(…) */
    size_t builtin;                  /* the attribute that names a built-in */
};

/* Attributes that say nothing to a compute kernel. */
static const char *const harmless[] = {
    "maybe_unused", "access",    "texture", "sampler",  "id",   "raster_order_group",
    "noinline",     "nodiscard", "likely",  "unlikely", "user",
};

static const char *const builtins[] = {
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "thread_index_in_threadgroup",
    "thread_index_in_simdgroup",
    "thread_index_in_quadgroup",
    "threadgroup_position_in_grid",
    "threads_per_threadgroup",
    "threads_per_grid",
    "threadgroups_per_grid",
    "threads_per_simdgroup",
    "thread_execution_width",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "quadgroup_index_in_threadgroup",
    "quadgroups_per_threadgroup",
    "dispatch_threads_per_threadgroup",
    "dispatch_simdgroups_per_threadgroup",
    "dispatch_quadgroups_per_threadgroup",
    "grid_origin",
    "grid_size",
};

static bool is_one_of(const struct igc_token *token, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (igc_is(token, names[i])) {
            return true;
        }
    }
    return false;
}
#define IS_ONE_OF(token, names) is_one_of(token, names, sizeof(names) / sizeof *(names))

bool igc_is_position(const struct igc_token *token) {
    return IS_ONE_OF(token, builtins);
}

/* ---- one parameter ---------------------------------------------------------------------- */
static ingot_status read_attribute(struct igc_rewriter *rewriter, const struct igc_kernel *kernel,
                                   struct parameter *parameter, size_t from, size_t to,
                                   struct ig_error *error) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    const struct igc_token *token = igc_at(tokens, from);
    size_t close;
    bool arguments = igc_closes(tokens, from + 1, &close) && close < to;
    if (token->word == IGC_W_BUFFER || token->word == IGC_W_THREADGROUP) {
        if (!arguments || close == from + 2) {
            return igc_fail_at(rewriter, from, INGOT_COMPILE_ERROR, error,
                               "[[%.*s]] needs an index in parentheses", (int)token->size,
                               token->text);
        }
        if (parameter->index != IGC_NO_TOKEN) {
            return igc_fail_at(
                rewriter, from, INGOT_COMPILE_ERROR, error,
                "a kernel parameter has one index, but this one has [[%s]] and "
                "[[%s]]",
                igc_spelling(rewriter, parameter->index - 2, parameter->index_end + 1),
                igc_spelling(rewriter, from, close + 1));
        }
        parameter->index = from + 2;
        parameter->index_end = close;
        parameter->in_threadgroup = token->word == IGC_W_THREADGROUP;
    } else if (token->word == IGC_W_FUNCTION_CONSTANT) {
        if (!arguments || close == from + 2) {
            return igc_fail_at(rewriter, from, INGOT_COMPILE_ERROR, error,
                               "[[function_constant]] needs a condition in parentheses");
        }
        parameter->condition = from + 2;
        parameter->condition_end = close;
    } else if (IS_ONE_OF(token, builtins)) {
        parameter->builtin = from;
    } else if (kernel->host_name && (igc_is(token, "texture") || igc_is(token, "sampler"))) {
        return igc_fail_at(rewriter, from, INGOT_COMPILE_ERROR, error,
                           "kernel \"%s\" has a %.*s parameter; textures and samplers are not "
                           "supported",
                           kernel->host_name, (int)token->size, token->text);
    } else if (!IS_ONE_OF(token, harmless) && igc_word_at(tokens, from + 1) != IGC_W_SCOPE) {
        return igc_fail_at(rewriter, from, INGOT_COMPILE_ERROR, error,
                           "unknown attribute [[%.*s]] on a kernel parameter", (int)token->size,
                           token->text);
    }
    return INGOT_OK;
}

/* The declared name: inside `(&name)` or `(*name)`, or the last identifier before an array
 * bound or the end. */
size_t igc_parameter_name(const struct igc_rewriter *rewriter, size_t from, size_t to) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    size_t last = IGC_NO_TOKEN, words = 0, close;
    for (size_t p = from; p < to; p++) {
        const struct igc_token *token = igc_at(tokens, p);
        if (rewriter->edits[p].dead) {
            continue;
        }
        if (token->word == IGC_W_LESS) {
            size_t after = igc_angles_end(tokens, p);
            if (after > p && after <= to) {
                p = after - 1;
            }
        } else if (token->word == IGC_W_OPEN_PAREN && igc_closes(tokens, p, &close)) {
            enum igc_word inside = igc_word_at(tokens, p + 1);
            if ((inside == IGC_W_STAR || inside == IGC_W_AMPERSAND) && close > p + 2 &&
                igc_at(tokens, close - 1)->kind == IGC_IDENTIFIER) {
                return close - 1;
            }
            p = close;
        } else if (token->word == IGC_W_OPEN_SQUARE || token->word == IGC_W_ASSIGN) {
            break;
        } else if (token->kind == IGC_IDENTIFIER) {
            bool qualifier = token->word == IGC_W_CONST || token->word == IGC_W_VOLATILE ||
                             igc_is_space_word((enum igc_word)token->word) ||
                             token->word == IGC_W_TYPENAME || token->word == IGC_W_STRUCT;
            bool qualified = igc_word_at(tokens, p - 1) == IGC_W_SCOPE;
            words += !qualifier && !qualified;
            last = qualifier || qualified ? IGC_NO_TOKEN : p;
        } else if (token->word == IGC_W_STAR || token->word == IGC_W_AMPERSAND) {
            words += words == 0;
            last = IGC_NO_TOKEN;
        }
    }
    static const char *const types[] = {"int", "char", "short", "long", "float", "half"};
    if (words < 2 || (last != IGC_NO_TOKEN && IS_ONE_OF(igc_at(tokens, last), types))) {
        return IGC_NO_TOKEN; /* `unsigned int` without a name */
    }
    return last;
}

/* Reads and kills a parameter's attributes and finds its name. */
static ingot_status read_parameter(struct igc_rewriter *rewriter, const struct igc_kernel *kernel,
                                   size_t from, size_t to, struct parameter *parameter,
                                   struct ig_error *error) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    *parameter = (struct parameter){.from = from,
                                    .to = to,
                                    .index = IGC_NO_TOKEN,
                                    .condition = IGC_NO_TOKEN,
                                    .builtin = IGC_NO_TOKEN};
    for (size_t p = from; p < to; p++) {
        size_t end = igc_attribute_end(tokens, p);
        if (end == p || end > to) {
            continue;
        }
        for (size_t i = p + 2; i < end - 2;) {
            size_t item = igc_list_item_end(tokens, i, end - 2);
            ingot_status status = read_attribute(rewriter, kernel, parameter, i, item, error);
            if (status != INGOT_OK) {
                return status;
            }
            i = item + 1;
        }
        igc_kill(rewriter, p, end);
        p = end - 1;
    }
    parameter->name = igc_parameter_name(rewriter, from, to);
    for (size_t p = from; p < to && parameter->builtin != IGC_NO_TOKEN; p++) {
        enum igc_word word = igc_word_at(tokens, p);
        if (word == IGC_W_DEVICE || word == IGC_W_CONSTANT || word == IGC_W_THREADGROUP) {
            return igc_fail_at(rewriter, p, INGOT_COMPILE_ERROR, error,
                               "a kernel parameter with [[%s]] is a value, and not in %.*s memory",
                               igc_spelling(rewriter, parameter->builtin, parameter->builtin + 1),
                               (int)igc_at(tokens, p)->size, igc_at(tokens, p)->text);
        }
    }
    return INGOT_OK;
}

/* Hangs the parameter's declaration before token `at`. Of parameters behind a struct, `more` says
 * how many its members are. */
static void declare_parameter(struct igc_rewriter *rewriter, const struct parameter *parameter,
                              unsigned ordinal, const char **more, size_t at) {
    const char *name;
    igc_before_tokens(rewriter, at, parameter->from, parameter->to);
    if (parameter->name != IGC_NO_TOKEN) {
        name = igc_spelling(rewriter, parameter->name, parameter->name + 1);
        rewriter->edits[parameter->name].copy_only = true;
    } else {
        name = ig_arena_printf(rewriter->arena, "__ingot_unnamed_%u", ordinal);
        igc_before(rewriter, at, " ");
        igc_before(rewriter, at, name);
    }
    if (parameter->builtin != IGC_NO_TOKEN) {
        const char *builtin = igc_spelling(rewriter, parameter->builtin, parameter->builtin + 1);
        igc_before(rewriter, at,
                   ig_arena_printf(rewriter->arena, " = __ingot_builtin_%s<decltype(%s)>(); ",
                                   builtin, name ? name : ""));
        return;
    }
    bool conditional = parameter->condition != IGC_NO_TOKEN;
    igc_before(rewriter, at,
               ig_arena_printf(rewriter->arena, " = __ingot_parameter%s<decltype(%s), %u%s, ",
                               conditional ? "_if" : "", name ? name : "", ordinal, *more));
    if (parameter->index != IGC_NO_TOKEN) {
        igc_before(rewriter, at, "(");
        igc_before_attribute(rewriter, at, parameter->index, parameter->index_end);
        igc_before(rewriter, at,
                   parameter->in_threadgroup ? ") + __ingot_in_threadgroup"
                                             : ") + __ingot_in_buffer");
    } else {
        igc_before(rewriter, at, "~0u");
    }
    igc_before(rewriter, at,
               ig_arena_printf(rewriter->arena, ">(\"%s\"",
                               parameter->name == IGC_NO_TOKEN ? ""
                               : name                          ? name
                                                               : ""));
    if (conditional) {
        igc_before(rewriter, at, ", (");
        igc_before_attribute(rewriter, at, parameter->condition, parameter->condition_end);
        igc_before(rewriter, at, ")");
    }
    igc_before(rewriter, at, "); ");
    if (igc_is_by_value(&rewriter->tokens, parameter->from, parameter->to)) {
        const char *text = ig_arena_printf(rewriter->arena, "%s + __ingot_more<decltype(%s)>",
                                           *more, name ? name : "");
        *more = text ? text : "";
    }
}

/* ---- one kernel --------------------------------------------------------------------------- */
/* Kills attributes and `kernel` in [from, to); max_total_threads… moves into the body. */
static void strip_marks(struct igc_rewriter *rewriter, size_t from, size_t to, size_t body) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    for (size_t p = from; p < to; p++) {
        size_t end = igc_attribute_end(tokens, p), close;
        if (end > p && end <= to) {
            for (size_t i = p + 2; i < end - 2; i++) {
                if (igc_word_at(tokens, i) == IGC_W_MAX_THREADS && body != IGC_NO_TOKEN &&
                    igc_closes(tokens, i + 1, &close) && close < end) {
                    igc_before(rewriter, body, "__ingot_max_threads(");
                    igc_before_attribute(rewriter, body, i + 2, close);
                    igc_before(rewriter, body, "); ");
                } else if (igc_is(igc_at(tokens, i), "required_threads_per_threadgroup") &&
                           body != IGC_NO_TOKEN && igc_closes(tokens, i + 1, &close) &&
                           close < end) {
                    igc_before(rewriter, body, "__ingot_max_threads(__ingot_threads_of(");
                    igc_before_attribute(rewriter, body, i + 2, close);
                    igc_before(rewriter, body, ")); ");
                }
            }
            igc_kill(rewriter, p, end);
            p = end - 1;
        } else if (igc_word_at(tokens, p) == IGC_W_KERNEL) {
            igc_kill(rewriter, p, p + 1);
        }
    }
}

static const char *annotation(struct igc_rewriter *rewriter, const struct igc_kernel *kernel) {
    if (!kernel->host_name) {
        return "__attribute__((annotate(\"ingot.template\")))";
    }
    struct ig_text quoted = {0};
    for (const char *p = kernel->host_name; *p; p++) {
        if (*p == '"' || *p == '\\') {
            ig_text_append(&quoted, "\\", 1);
        }
        ig_text_append(&quoted, *p == '\n' ? " " : p, 1);
    }
    const char *text = quoted.failed
                           ? NULL
                           : ig_arena_printf(rewriter->arena,
                                             "__attribute__((used, annotate(\"ingot.kernel:%s\")))",
                                             ig_text_string(&quoted));
    ig_text_free(&quoted);
    if (!text) {
        rewriter->out_of_memory = true;
    }
    return text;
}

static void mark_kernel(struct igc_rewriter *rewriter, const struct igc_kernel *kernel) {
    const char *text = annotation(rewriter, kernel);
    const struct igc_token *token = igc_at(&rewriter->tokens, kernel->mark);
    bool is_mark = token->word == IGC_W_KERNEL || token->word == IGC_W_OPEN_SQUARE;
    if (is_mark) {
        igc_replace(rewriter, kernel->mark, text);
    } else {
        igc_before(rewriter, kernel->mark, text);
        igc_before(rewriter, kernel->mark, " ");
    }
}

static ingot_status rewrite_parameters(struct igc_rewriter *rewriter,
                                       const struct igc_kernel *kernel, size_t at,
                                       struct ig_error *error) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    unsigned ordinal = 0;
    const char *more = "";
    if (kernel->close == kernel->open + 2 && igc_word_at(tokens, kernel->open + 1) == IGC_W_VOID) {
        return INGOT_OK;
    }
    for (size_t p = kernel->open + 1; p < kernel->close;) {
        size_t end = igc_list_item_end(tokens, p, kernel->close);
        struct parameter parameter;
        ingot_status status = read_parameter(rewriter, kernel, p, end, &parameter, error);
        if (status != INGOT_OK) {
            return status;
        }
        if (at != IGC_NO_TOKEN && end > p) {
            declare_parameter(rewriter, &parameter, ordinal, &more, at);
        }
        ordinal++;
        p = end + 1;
    }
    return INGOT_OK;
}

/* Where declarations go: the first token of the body, but after `#pragma clang fp`, which
 * must come first in a block. */
static size_t body_start(const struct igc_tokens *tokens, const struct igc_kernel *kernel) {
    if (kernel->body == IGC_NO_TOKEN) {
        return IGC_NO_TOKEN;
    }
    size_t at = kernel->body + 1;
    while (igc_at(tokens, at)->kind == IGC_DIRECTIVE && igc_is_fp_pragma(igc_at(tokens, at))) {
        at++;
    }
    return at < tokens->count ? at : IGC_NO_TOKEN;
}

static ingot_status rewrite_definition(struct igc_rewriter *rewriter,
                                       const struct igc_kernel *kernel, struct ig_error *error) {
    size_t at = body_start(&rewriter->tokens, kernel);
    strip_marks(rewriter, kernel->start, kernel->open, at);
    strip_marks(rewriter, kernel->close + 1,
                kernel->body != IGC_NO_TOKEN ? kernel->body : kernel->end, at);
    if (kernel->host_name || kernel->is_template) {
        mark_kernel(rewriter, kernel);
    }
    return rewrite_parameters(rewriter, kernel, at, error);
}

static void rewrite_instantiation(struct igc_rewriter *rewriter, const struct igc_kernel *kernel) {
    strip_marks(rewriter, kernel->start, kernel->end, IGC_NO_TOKEN);
    mark_kernel(rewriter, kernel);
}

static bool is_instantiated(const struct igc_rewriter *rewriter, const struct igc_kernel *kernel) {
    for (size_t i = 0; i < rewriter->kernel_count; i++) {
        const struct igc_kernel *other = &rewriter->kernels[i];
        if (other->keep && other->is_instantiation &&
            igc_same_text(&rewriter->tokens, other->name, kernel->name)) {
            return true;
        }
    }
    return false;
}

/* A template that is not needed: only its declaration stays, for `decltype(f<…>)`. */
static ingot_status reduce_template(struct igc_rewriter *rewriter, const struct igc_kernel *kernel,
                                    struct ig_error *error) {
    size_t after = kernel->body != IGC_NO_TOKEN ? kernel->body : kernel->end;
    strip_marks(rewriter, kernel->start, kernel->open, IGC_NO_TOKEN);
    strip_marks(rewriter, kernel->close + 1, after, IGC_NO_TOKEN);
    ingot_status status = rewrite_parameters(rewriter, kernel, IGC_NO_TOKEN, error);
    if (kernel->body != IGC_NO_TOKEN) {
        igc_kill(rewriter, kernel->body, kernel->end);
        igc_replace(rewriter, kernel->body, ";");
    }
    return status;
}

ingot_status igc_rewrite_kernels(struct igc_rewriter *rewriter, struct ig_error *error) {
    for (size_t i = 0; i < rewriter->kernel_count; i++) {
        const struct igc_kernel *kernel = &rewriter->kernels[i];
        ingot_status status = INGOT_OK;
        if (igc_is(igc_at(&rewriter->tokens, kernel->name), "main")) { /* clang has rules for it */
            igc_replace(rewriter, kernel->name, "__ingot_main");
        }
        if (kernel->keep) {
            status = igc_refuse_unsupported(rewriter, kernel, error);
        }
        if (status != INGOT_OK) {
            return status;
        }
        if (kernel->is_graphics || (kernel->host_name && !kernel->keep)) {
            igc_kill(rewriter, kernel->start, kernel->end);
        } else if (kernel->is_instantiation) {
            rewrite_instantiation(rewriter, kernel);
        } else if (kernel->is_template && !is_instantiated(rewriter, kernel)) {
            status = reduce_template(rewriter, kernel, error);
        } else {
            status = rewrite_definition(rewriter, kernel, error);
        }
        if (status != INGOT_OK) {
            return status;
        }
    }
    return INGOT_OK;
}
