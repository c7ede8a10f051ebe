/*
 * The rewriter's frame: marks on tokens, the order of the passes, and the printer.
 *
 * Requires igc_find_kernels and igc_find_constants. Provides C++ for clang and the table
 * from output bytes back to tokens that diagnostics.c uses.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

void igc_kill(struct igc_rewriter *rewriter, size_t from, size_t to) {
    for (size_t i = from; i < to && i < rewriter->tokens.count; i++) {
        rewriter->edits[i].dead = true;
    }
}

void igc_replace(struct igc_rewriter *rewriter, size_t token, const char *text) {
    if (token >= rewriter->tokens.count) {
        return;
    }
    rewriter->out_of_memory |= !text;
    rewriter->edits[token].dead = false;
    rewriter->edits[token].replacement = text;
}

static void hang(struct igc_rewriter *rewriter, struct igc_piece **first, struct igc_piece **last,
                 const char *text, size_t from, size_t to) {
    struct igc_piece *piece = ig_arena_alloc(rewriter->arena, sizeof *piece);
    if (!piece) {
        rewriter->out_of_memory = true;
        return;
    }
    *piece = (struct igc_piece){.text = text, .from = from, .to = to};
    if (*last) {
        (*last)->next = piece;
    } else {
        *first = piece;
    }
    *last = piece;
}

void igc_before(struct igc_rewriter *rewriter, size_t token, const char *text) {
    struct igc_edit *edit = &rewriter->edits[token];
    rewriter->out_of_memory |= !text;
    hang(rewriter, &edit->before, &edit->before_last, text ? text : "", 0, 0);
}

void igc_after(struct igc_rewriter *rewriter, size_t token, const char *text) {
    struct igc_edit *edit = &rewriter->edits[token];
    rewriter->out_of_memory |= !text;
    hang(rewriter, &edit->after, &edit->after_last, text ? text : "", 0, 0);
}

void igc_before_tokens(struct igc_rewriter *rewriter, size_t token, size_t from, size_t to) {
    struct igc_edit *edit = &rewriter->edits[token];
    hang(rewriter, &edit->before, &edit->before_last, NULL, from, to);
}

void igc_before_attribute(struct igc_rewriter *rewriter, size_t token, size_t from, size_t to) {
    igc_before_tokens(rewriter, token, from, to);
    if (rewriter->edits[token].before_last) {
        rewriter->edits[token].before_last->dead_too = true;
    }
}

void igc_after_tokens(struct igc_rewriter *rewriter, size_t token, size_t from, size_t to) {
    struct igc_edit *edit = &rewriter->edits[token];
    hang(rewriter, &edit->after, &edit->after_last, NULL, from, to);
}

/* ---- the printer ---------------------------------------------------------------------- */
struct printer {
    struct igc_rewriter *rewriter;
    struct ig_text *out;
    unsigned depth; /* copies within copies */
};

static void note_place(struct printer *printer, size_t token) {
    struct igc_rewriter *rewriter = printer->rewriter;
    if (rewriter->place_count == rewriter->place_capacity) {
        size_t capacity = rewriter->place_capacity * 2 + 1024;
        struct igc_place *places = ig_arena_array(rewriter->arena, capacity, sizeof *places);
        if (!places) {
            rewriter->out_of_memory = true;
            return;
        }
        if (rewriter->place_count) {
            memcpy(places, rewriter->places, rewriter->place_count * sizeof *places);
        }
        rewriter->places = places;
        rewriter->place_capacity = capacity;
    }
    rewriter->places[rewriter->place_count++] =
        (struct igc_place){.offset = printer->out->size, .token = token};
}

static bool word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void print(struct printer *printer, const char *text, size_t size) {
    const struct ig_text *out = printer->out;
    if (size > 0 && out->size > 0 && word_byte(text[0]) && word_byte(out->data[out->size - 1])) {
        ig_text_append(printer->out, " ", 1);
    }
    ig_text_append(printer->out, text, size);
}

enum copy { ORIGINAL, COPY, COPY_WITH_DEAD };

static void print_tokens(struct printer *printer, size_t from, size_t to, enum copy copy);

static void print_pieces(struct printer *printer, const struct igc_piece *piece) {
    for (; piece; piece = piece->next) {
        if (piece->text) {
            print(printer, piece->text, strlen(piece->text));
        } else if (printer->depth < 4) {
            print_tokens(printer, piece->from, piece->to, piece->dead_too ? COPY_WITH_DEAD : COPY);
        }
    }
}

static void print_token(struct printer *printer, size_t i, enum copy copy) {
    const struct igc_token *token = &printer->rewriter->tokens.items[i];
    const struct igc_edit *edit = &printer->rewriter->edits[i];
    if (copy == ORIGINAL) {
        ig_text_append(printer->out, token->text - token->space, token->space);
    } else if (token->space > 0) {
        ig_text_append(printer->out, " ", 1);
    }
    if ((edit->dead && copy != COPY_WITH_DEAD) ||
        (copy != ORIGINAL && token->kind == IGC_DIRECTIVE)) {
        return;
    }
    note_place(printer, i);
    print_pieces(printer, edit->before);
    if (edit->before) {
        note_place(printer, i);
    }
    if (edit->replacement) {
        print(printer, edit->replacement, strlen(edit->replacement));
    } else if (!edit->copy_only || copy != ORIGINAL) {
        print(printer, token->text, token->size);
    }
    print_pieces(printer, edit->after);
}

static void print_tokens(struct printer *printer, size_t from, size_t to, enum copy copy) {
    printer->depth++;
    for (size_t i = from; i < to && i < printer->rewriter->tokens.count; i++) {
        print_token(printer, i, copy);
    }
    printer->depth--;
}

size_t igc_token_of_offset(const struct igc_rewriter *rewriter, size_t offset, size_t *within) {
    size_t low = 0, high = rewriter->place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rewriter->places[middle].offset <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return IGC_NO_TOKEN;
    }
    *within = offset - rewriter->places[low - 1].offset;
    return rewriter->places[low - 1].token;
}

/* ---- the order of the passes ---------------------------------------------------------- */
static bool is_wanted(const char *name, const char *const *kernels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(kernels[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static ingot_status choose(struct igc_rewriter *rewriter, const char *const *kernels, size_t count,
                           struct ig_error *error) {
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t k = 0; k < rewriter->kernel_count && !found; k++) {
            found = rewriter->kernels[k].host_name &&
                    strcmp(rewriter->kernels[k].host_name, kernels[i]) == 0;
        }
        if (!found) {
            return ig_fail(error, INGOT_NOT_FOUND, "%s has no kernel named \"%s\"",
                           rewriter->tokens.files[0], kernels[i]);
        }
    }
    for (size_t k = 0; k < rewriter->kernel_count; k++) {
        struct igc_kernel *kernel = &rewriter->kernels[k];
        kernel->keep = kernel->host_name && !kernel->is_graphics &&
                       (!kernels || is_wanted(kernel->host_name, kernels, count));
    }
    return INGOT_OK;
}

/* Names without which nobody uses tensors. */
static bool names_tensors(const struct igc_tokens *tokens) {
    static const char *const names[] = {
        "mpp",           "dextents",      "extents",           "tensor_handle",
        "tensor_inline", "tensor_offset", "cooperative_tensor"};
    for (size_t i = 0; i < tokens->count; i++) {
        const struct igc_token *token = &tokens->items[i];
        if (token->kind != IGC_IDENTIFIER) {
            continue;
        }
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            if (igc_is(token, names[k])) {
                return true;
            }
        }
    }
    return false;
}

ingot_status igc_rewrite(struct igc_rewriter *rewriter, const char *const *kernels,
                         size_t kernel_count, struct ig_text *out, struct ig_error *error) {
    rewriter->edits =
        ig_arena_array(rewriter->arena, rewriter->tokens.count + 1, sizeof *rewriter->edits);
    rewriter->place_count = 0;
    rewriter->explicit_objects = false;
    rewriter->tensors = names_tensors(&rewriter->tokens);
    if (!rewriter->edits) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to rewrite %s",
                       rewriter->tokens.files[0]);
    }
    ingot_status status = choose(rewriter, kernels, kernel_count, error);
    if (status == INGOT_OK) {
        status = igc_rewrite_kernels(rewriter, error);
    }
    if (status != INGOT_OK) {
        return status;
    }
    igc_rewrite_records(rewriter);
    igc_rewrite_constants(rewriter);
    igc_rewrite_inputs(rewriter);
    igc_rewrite_derived(rewriter);
    igc_rewrite_vectors(rewriter);
    igc_rewrite_members(rewriter);
    igc_rewrite_spaces(rewriter);
    igc_rewrite_expressions(rewriter);
    igc_rewrite_casts(rewriter);
    igc_rewrite_pragmas(rewriter);
    igc_rewrite_shifts(rewriter);
    status = igc_check_forbidden(rewriter, error);
    if (status != INGOT_OK) {
        return status;
    }

    struct printer printer = {.rewriter = rewriter, .out = out};
    ig_text_puts(out, rewriter->fast_math
                          ? "#pragma clang fp contract(fast) reassociate(on) reciprocal(on)\n"
                          : "#pragma clang fp contract(fast)\n");
    /* clang makes no code of a function with internal linkage that nobody calls */
    if (!rewriter->exports) {
        ig_text_puts(out, "#pragma clang attribute push(__attribute__((" IGC_INTERNAL
                          ")), apply_to = function)\n");
    }
    ig_text_printf(out, "# 1 \"%s\"\n", rewriter->tokens.files[0]);
    print_tokens(&printer, 0, rewriter->tokens.count, ORIGINAL);
    ig_text_puts(out, rewriter->exports ? "\n" : "\n#pragma clang attribute pop\n");
    if (rewriter->out_of_memory || out->failed) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to rewrite %s",
                       rewriter->tokens.files[0]);
    }
    return INGOT_OK;
}
