/* The MSL front end behind frontend.h. */
#ifndef INGOT_COMPILER_FRONTEND_MSL_H
#define INGOT_COMPILER_FRONTEND_MSL_H

#include "compiler/frontend/frontend.h"

ingot_status igc_msl_open(struct ig_arena *arena, const struct igc_options *options,
                          const char *text, size_t size, bool preprocessed,
                          struct igc_source *source, struct ig_error *error);
ingot_status igc_msl_rewrite(struct igc_source *source, const char *const *kernels,
                             size_t kernel_count, const char **cpp, size_t *cpp_size,
                             struct ig_error *error);
ingot_status igc_msl_compile(struct igc_source *source, const struct igc_options *options,
                             const char *const *kernels, size_t kernel_count,
                             struct igc_compiled *compiled, struct ig_error *error);

#endif
