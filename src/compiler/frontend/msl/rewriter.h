/*
 * The rewriter: marks on tokens, and the passes that set them.
 *
 * A pass never changes tokens. It kills some, gives others a replacement, and hangs pieces
 * (text, or a copy of a token range) before or after them; rewrite.c prints the result.
 * Every line stays where it was, because white space is printed even for dead tokens.
 */
#ifndef INGOT_COMPILER_FRONTEND_REWRITER_H
#define INGOT_COMPILER_FRONTEND_REWRITER_H

#include "base/archive.h"
#include "base/text.h"
#include "compiler/frontend/msl/tokens.h"

#define IGC_NO_TOKEN SIZE_MAX

struct igc_piece {
    struct igc_piece *next;
    const char *text; /* NULL: a copy of tokens [from, to) */
    size_t from, to;
    bool dead_too; /* the copy has dead tokens as well: it is taken out of an attribute */
};

struct igc_edit {
    struct igc_piece *before, *before_last;
    struct igc_piece *after, *after_last;
    const char *replacement; /* NULL: the token's own text */
    bool dead;
    bool copy_only; /* printed only in copies: a parameter's name */
};

/* One declaration that has to do with kernels. */
struct igc_kernel {
    size_t start, end;     /* tokens of the whole declaration, body included */
    size_t mark;           /* `kernel`, or the first attribute: where ours goes */
    size_t name;           /* the function's name */
    size_t name_end;       /* past its template arguments */
    size_t open, close;    /* parentheses of the parameters; IGC_NO_TOKEN when none */
    size_t body;           /* its '{'; IGC_NO_TOKEN when it is a declaration only */
    const char *host_name; /* NULL: not a kernel of its own */
    bool is_template;      /* a primary template, or a partial one */
    bool is_instantiation; /* template void f<float>(…); */
    bool is_graphics;      /* a vertex, fragment, mesh, … function: never kept */
    bool is_again;         /* an earlier kernel has its name */
    bool keep;             /* chosen in this rewrite */
};

struct igc_function_constant {
    struct ig_constant info;
    size_t start;          /* first token of the declaration */
    size_t name;           /* the constant's name */
    size_t attribute, end; /* its [[…]], and past it */
};

struct igc_place { /* output bytes from `offset` on come from `token` */
    size_t offset;
    size_t token;
};

#define IGC_INTERNAL "internal_linkage" /* clang's attribute */

struct igc_rewriter {
    struct ig_arena *arena;
    struct igc_tokens tokens;
    const char *main_text; /* the user's own main file when known, for carets; or NULL */
    size_t main_size;
    bool fast_math;
    unsigned msl_version;
    bool exports;      /* every function of the source is wanted, not only what kernels call */
    bool members;      /* of structs behind kernels' parameters are reported */
    bool *long_shifts; /* by token: operators of shifts by the width or more; NULL: none is known */

    struct igc_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    struct igc_function_constant *constants;
    size_t constant_count, constant_capacity;

    /* of the current rewrite */
    struct igc_edit *edits;
    struct igc_place *places;
    size_t place_count, place_capacity;
    const char *output; /* its text, */
    size_t output_size;
    struct igc_output_line *lines; /* and its lines by the user's file and line; made when needed */
    size_t line_count;
    bool tensors;          /* the source names tensors of Metal 4 */
    bool explicit_objects; /* the result needs C++23: `this T &self` parameters */
    bool out_of_memory;
};

/* ---- reading tokens (scan.c) ---------------------------------------------------------- */
bool igc_is(const struct igc_token *token, const char *text);
bool igc_same_text(const struct igc_tokens *tokens, size_t a, size_t b);
bool igc_is_space_word(enum igc_word word);     /* device, threadgroup, constant, thread, … */
const char *igc_space_text(enum igc_word word); /* clang's spelling of device, … */
/* The name that a parameter in [from, to) declares, or IGC_NO_TOKEN. Dead tokens are
 * skipped. */
size_t igc_parameter_name(const struct igc_rewriter *rewriter, size_t from, size_t to);
/* Is a parameter or member in [from, to) neither pointer nor reference? */
bool igc_is_by_value(const struct igc_tokens *tokens, size_t from, size_t to);
/* Is the space word at i a qualifier of a function, `T get() const device`? */
bool igc_is_function_qualifier(const struct igc_tokens *tokens, size_t i);
/* Past `[[ … ]]` at i, or i when there is none. */
size_t igc_attribute_end(const struct igc_tokens *tokens, size_t i);
/* Past the `>` that closes the `<` at i, or i when none does before `;`, `{` or the end. */
size_t igc_angles_end(const struct igc_tokens *tokens, size_t i);
/* The `<` that the `>` at i closes, or i. */
size_t igc_angles_start(const struct igc_tokens *tokens, size_t i);
/* First token of the declaration or statement that holds i. */
size_t igc_declaration_start(const struct igc_tokens *tokens, size_t i);
/* Past its `;` or its body. */
size_t igc_declaration_end(const struct igc_tokens *tokens, size_t i);
/* Next item of a comma-separated list in [i, end): its end, the comma or `end`. */
size_t igc_list_item_end(const struct igc_tokens *tokens, size_t i, size_t end);
/* Tokens joined by single spaces where they had any: for names and messages. */
const char *igc_spelling(struct igc_rewriter *rewriter, size_t from, size_t to);
/* The value of adjacent string literals in [from, to); NULL when there is none. */
const char *igc_string_value(struct igc_rewriter *rewriter, size_t from, size_t to);

/* Is the directive `#pragma METAL fp …` or `#pragma clang fp …`? */
bool igc_is_fp_pragma(const struct igc_token *token);

/* ---- marks (rewrite.c) ------------------------------------------------------------------ */
void igc_kill(struct igc_rewriter *rewriter, size_t from, size_t to);
void igc_replace(struct igc_rewriter *rewriter, size_t token, const char *text);
void igc_before(struct igc_rewriter *rewriter, size_t token, const char *text);
void igc_after(struct igc_rewriter *rewriter, size_t token, const char *text);
void igc_before_tokens(struct igc_rewriter *rewriter, size_t token, size_t from, size_t to);
/* The same for tokens inside a dead attribute. */
void igc_before_attribute(struct igc_rewriter *rewriter, size_t token, size_t from, size_t to);
void igc_after_tokens(struct igc_rewriter *rewriter, size_t token, size_t from, size_t to);
/* The token that the output at `offset` came from, and how far into its text; IGC_NO_TOKEN
 * when it came from none. */
size_t igc_token_of_offset(const struct igc_rewriter *rewriter, size_t offset, size_t *within);

/* ---- analyses, once per source ------------------------------------------------------------ */
ingot_status igc_find_kernels(struct igc_rewriter *rewriter, struct ig_error *error);
/* What the kernel, or the template that it is of, uses and ingot does not have ("ray tracing is"),
 * and where; NULL: nothing. The kernel is refused when it is chosen (unsupported.c). */
const char *igc_unsupported(const struct igc_rewriter *rewriter, const struct igc_kernel *kernel,
                            size_t *where);
ingot_status igc_refuse_unsupported(struct igc_rewriter *rewriter, const struct igc_kernel *kernel,
                                    struct ig_error *error);
/* An attribute of positions and sizes: thread_position_in_grid, … */
bool igc_is_position(const struct igc_token *token);
ingot_status igc_find_constants(struct igc_rewriter *rewriter, struct ig_error *error);

/* ---- passes, in this order, for each rewrite ------------------------------------------------ */
ingot_status igc_rewrite_kernels(struct igc_rewriter *rewriter, struct ig_error *error);
void igc_rewrite_records(struct igc_rewriter *rewriter);
void igc_rewrite_constants(struct igc_rewriter *rewriter);
void igc_rewrite_inputs(struct igc_rewriter *rewriter);
void igc_rewrite_derived(struct igc_rewriter *rewriter);
void igc_rewrite_vectors(struct igc_rewriter *rewriter);
void igc_rewrite_members(struct igc_rewriter *rewriter);
void igc_rewrite_spaces(struct igc_rewriter *rewriter);
void igc_rewrite_expressions(struct igc_rewriter *rewriter);
void igc_rewrite_casts(struct igc_rewriter *rewriter);
void igc_rewrite_pragmas(struct igc_rewriter *rewriter);
void igc_rewrite_shifts(struct igc_rewriter *rewriter);
ingot_status igc_check_forbidden(struct igc_rewriter *rewriter, struct ig_error *error);

/* Runs all of them and prints. The text is malloc'ed inside *out. */
ingot_status igc_rewrite(struct igc_rewriter *rewriter, const char *const *kernels,
                         size_t kernel_count, struct ig_text *out, struct ig_error *error);

/* ---- unportable.c: warnings of what Apple's compiler refuses, for the kernels chosen last ---- */
void igc_warn_unportable(const struct igc_rewriter *rewriter, struct ig_text *out);
/* unportable_spaces.c: of its whole source. */
void igc_warn_spaces(const struct igc_rewriter *rewriter, struct ig_text *out);
/* unportable_scopes.c: of declarations where they stand. */
void igc_warn_scopes(const struct igc_rewriter *rewriter, struct ig_text *out);
/* unportable_words.c: of single words and function constants. */
void igc_warn_words(const struct igc_rewriter *rewriter, struct ig_text *out);

/* unportable_buffers.c: of buffers that hold pointers to other memory. */
void igc_warn_buffers(const struct igc_rewriter *rewriter, struct ig_text *out);
/* unportable_structs.c: of threadgroup variables that have constructors. */
void igc_warn_structs(const struct igc_rewriter *rewriter, struct ig_text *out);
/* unportable_globals.c: is the variable outside of functions, whose name is the token, computed
 * from function constants? */
bool igc_is_of_function_constants(const struct igc_rewriter *rewriter, size_t name);

/* ---- shifts.c: shifts of constants by the width or more, which only clang can tell ---- */
/* Reads them out of clang's stderr about `output`, for the next rewrite. Appends clang's warnings
 * of them. True: there are some that the last rewrite did not know. */
bool igc_find_long_shifts(struct igc_rewriter *rewriter, const char *output, size_t output_size,
                          const char *stderr_text, struct ig_text *warnings);

/* ---- diagnostics.c -----------------------------------------------------------------------------
 */
/* "file:line:col: error: …" with the line and a caret, for a token. */
ingot_status igc_fail_at(const struct igc_rewriter *rewriter, size_t token, ingot_status status,
                         struct ig_error *error, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The same for a warning, appended to *out. */
/* Where a token stands in the user's file, with its line. */
struct igc_user_place;
bool igc_place_of_token(const struct igc_rewriter *rewriter, size_t token,
                        struct igc_user_place *place);
void igc_warn_at(const struct igc_rewriter *rewriter, size_t token, const char *message,
                 struct ig_text *out);
/* clang's stderr with places in `output` (what igc_rewrite printed) turned into the user's. */
void igc_translate_diagnostics(const struct igc_rewriter *rewriter, const char *output,
                               size_t output_size, const char *prelude_dir, const char *stderr_text,
                               struct ig_text *errors, struct ig_text *warnings);
/* The token that one line of clang's stderr, [line, end), is about; IGC_NO_TOKEN: none. */
size_t igc_message_token(const struct igc_rewriter *rewriter, const char *output,
                         size_t output_size, const char *line, const char *end);
/* clang -E's stderr, whose places are right already: adds source lines and carets. */
void igc_format_diagnostics(const char *main_file, const char *main_text, size_t main_size,
                            const char *stderr_text, struct ig_text *out);

#endif
