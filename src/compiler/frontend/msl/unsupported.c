/*
 * Kernels that use types of Metal which ingot does not have. They are refused when they are chosen,
 * by a sentence that names the type; the others of the file are compiled without them.
 *
 * Textures are looked for among the parameters only: functions may name them (see
 * prelude/ingot_textures.h), and the driver refuses what uses them.
 */
#include <string.h>

#include "compiler/frontend/msl/rewriter.h"

static const char no_textures[] = "textures and samplers are";
static const char no_ray_tracing[] = "ray tracing is";
static const char no_commands[] = "indirect command buffers are";
static const char no_imageblocks[] = "imageblocks are";

#define NAMED(text) .name = (text), .size = sizeof(text) - 1

static const struct {
    const char *name;
    size_t size;
    const char *what;
    bool in_body; /* and so not only as a parameter's type */
    bool scope;   /* a namespace: `::` follows */
} types[] = {
    {NAMED("texture1d"), .what = no_textures},
    {NAMED("texture1d_array"), .what = no_textures},
    {NAMED("texture2d"), .what = no_textures},
    {NAMED("texture2d_array"), .what = no_textures},
    {NAMED("texture2d_ms"), .what = no_textures},
    {NAMED("texture2d_ms_array"), .what = no_textures},
    {NAMED("texture3d"), .what = no_textures},
    {NAMED("texturecube"), .what = no_textures},
    {NAMED("texturecube_array"), .what = no_textures},
    {NAMED("texture_buffer"), .what = no_textures},
    {NAMED("depth2d"), .what = no_textures},
    {NAMED("depth2d_array"), .what = no_textures},
    {NAMED("depth2d_ms"), .what = no_textures},
    {NAMED("depth2d_ms_array"), .what = no_textures},
    {NAMED("depthcube"), .what = no_textures},
    {NAMED("depthcube_array"), .what = no_textures},
    {NAMED("sampler"), .what = no_textures},
    {NAMED("visible_function_table"), .what = "visible functions are", .in_body = true},
    {NAMED("acceleration_structure"), .what = no_ray_tracing, .in_body = true},
    {NAMED("primitive_acceleration_structure"), .what = no_ray_tracing, .in_body = true},
    {NAMED("instance_acceleration_structure"), .what = no_ray_tracing, .in_body = true},
    {NAMED("intersection_function_table"), .what = no_ray_tracing, .in_body = true},
    {NAMED("intersection_function_buffer_arguments"), .what = no_ray_tracing, .in_body = true},
    {NAMED("intersector"), .what = no_ray_tracing, .in_body = true},
    {NAMED("intersection_query"), .what = no_ray_tracing, .in_body = true},
    {NAMED("intersection_params"), .what = no_ray_tracing, .in_body = true},
    {NAMED("raytracing"), .what = no_ray_tracing, .in_body = true, .scope = true},
    {NAMED("command_buffer"), .what = no_commands, .in_body = true},
    {NAMED("compute_command"), .what = no_commands, .in_body = true},
    {NAMED("render_command"), .what = no_commands, .in_body = true},
    {NAMED("render_pipeline_state"), .what = no_commands, .in_body = true},
    {NAMED("compute_pipeline_state"), .what = no_commands, .in_body = true},
    {NAMED("imageblock"), .what = no_imageblocks, .in_body = true},
    {NAMED("imageblock_layout_implicit"), .what = no_imageblocks, .in_body = true},
    {NAMED("imageblock_layout_explicit"), .what = no_imageblocks, .in_body = true},
};

/* Types of the program may have such a name: `struct intersector {`. */
static bool is_declared(const struct igc_tokens *tokens, const struct igc_token *name) {
    for (size_t i = 1; i < tokens->count; i++) {
        const struct igc_token *token = &tokens->items[i];
        enum igc_word before = igc_word_at(tokens, i - 1), after = igc_word_at(tokens, i + 1);
        bool named = token->size == name->size && memcmp(token->text, name->text, name->size) == 0;
        if (named &&
            (before == IGC_W_STRUCT || before == IGC_W_CLASS || before == IGC_W_ENUM ||
             before == IGC_W_NAMESPACE || (before == IGC_W_USING && after == IGC_W_ASSIGN))) {
            return true;
        }
    }
    return false;
}

static const char *reason(const struct igc_tokens *tokens, size_t i, bool in_body) {
    const struct igc_token *token = igc_at(tokens, i);
    enum igc_word before = igc_word_at(tokens, i - 1);
    if (token->kind != IGC_IDENTIFIER || before == IGC_W_DOT || before == IGC_W_ARROW) {
        return NULL;
    }
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        if (token->size == types[k].size && igc_is(token, types[k].name) &&
            (types[k].in_body || !in_body) &&
            (!types[k].scope || igc_word_at(tokens, i + 1) == IGC_W_SCOPE)) {
            return is_declared(tokens, token) ? NULL : types[k].what;
        }
    }
    return NULL;
}

const char *igc_unsupported(const struct igc_rewriter *rewriter, const struct igc_kernel *kernel,
                            size_t *where) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    const char *what = NULL;
    for (size_t i = kernel->open; kernel->open != IGC_NO_TOKEN && i < kernel->end && !what; i++) {
        what = reason(tokens, i, i > kernel->close);
        *where = i;
    }
    for (size_t i = 0; !what && kernel->is_instantiation && i < rewriter->kernel_count; i++) {
        const struct igc_kernel *other = &rewriter->kernels[i];
        if (other->is_template && !other->is_instantiation &&
            igc_same_text(tokens, other->name, kernel->name)) {
            what = igc_unsupported(rewriter, other, where);
        }
    }
    return what;
}

ingot_status igc_refuse_unsupported(struct igc_rewriter *rewriter, const struct igc_kernel *kernel,
                                    struct ig_error *error) {
    size_t where;
    const char *what = igc_unsupported(rewriter, kernel, &where);
    if (!what) {
        return INGOT_OK;
    }
    bool in_body = kernel->body != IGC_NO_TOKEN && where > kernel->body;
    const char *name = igc_spelling(rewriter, where, where + 1);
    return igc_fail_at(rewriter, where, INGOT_COMPILE_ERROR, error,
                       "kernel \"%s\" %s %s%s; %s not supported", kernel->host_name,
                       in_body                            ? "uses"
                       : name && strchr("aeiou", name[0]) ? "has an"
                                                          : "has a",
                       name ? name : "", in_body ? "" : " parameter", what);
}
