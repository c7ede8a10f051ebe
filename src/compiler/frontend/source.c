/* Which front end a source is for: see frontend.h. */
#include "compiler/frontend/air/air.h"
#include "compiler/frontend/msl/msl.h"

ingot_status igc_source_open(struct ig_arena *arena, const struct igc_options *options,
                             const char *text, size_t size, bool preprocessed,
                             struct igc_source *source, struct ig_error *error) {
    return text && iga_is_air(text, size)
               ? iga_source_open(arena, options, text, size, source, error)
               : igc_msl_open(arena, options, text, size, preprocessed, source, error);
}

ingot_status igc_source_find_constants(struct igc_source *source, const struct igc_options *options,
                                       const char *const *kernels, size_t kernel_count,
                                       struct ig_error *error) {
    return source->air ? iga_source_constants(source, options, kernels, kernel_count, error)
                       : INGOT_OK;
}

ingot_status igc_source_rewrite(struct igc_source *source, const char *const *kernels,
                                size_t kernel_count, const char **cpp, size_t *cpp_size,
                                struct ig_error *error) {
    if (source->air) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "a compiled library has no C++: --emit bitcode shows its module");
    }
    return igc_msl_rewrite(source, kernels, kernel_count, cpp, cpp_size, error);
}

ingot_status igc_source_compile(struct igc_source *source, const struct igc_options *options,
                                const char *const *kernels, size_t kernel_count,
                                struct igc_compiled *compiled, struct ig_error *error) {
    return source->air ? iga_source_compile(source, options, kernels, kernel_count, compiled, error)
                       : igc_msl_compile(source, options, kernels, kernel_count, compiled, error);
}
