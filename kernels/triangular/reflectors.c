/* Blocks of reflections on the host: v'target in parts of the rows, the parts added and multiplied
 * by t, and the product with v. */
#include "triangular/reflectors.h"

#include "triangular/triangular.h"

enum { SQUARE = IGO_REFLECTORS * IGO_REFLECTORS };

/* v'v */
static struct igo_product squared(const struct igo_call *call, const struct igo_reflectors *r,
                                  ingot_buffer *scratch) {
    struct igo_product p = {.a = igo_block_transposed(r->v),
                            .b = r->v,
                            .c = igo_block_in(scratch, 0, IGO_REFLECTORS, SQUARE),
                            .m = r->width,
                            .n = r->width,
                            .k = r->rows,
                            .batch = r->batch * r->blocks,
                            .alpha = 1};
    p.parts = igo_product_parts(call, &p);
    p.c_part = (int64_t)SQUARE * p.batch;
    return p;
}

uint64_t igo_reflector_floats(const struct igo_call *call, const struct igo_reflectors *r) {
    const struct igo_product p = squared(call, r, NULL);
    return (uint64_t)SQUARE * p.batch * p.parts;
}

bool igo_reflector_triangles(struct igo_call *call, const struct igo_reflectors *r,
                             ingot_buffer *scratch) {
    const struct igo_product p = squared(call, r, scratch);
    igo_product(call, &p);
    const struct reflector_args args = {.tau_first = r->first_tau,
                                        .tau_matrix = r->tau_matrix,
                                        .t_first = r->first_t,
                                        .t_matrix = r->t_matrix,
                                        .part = (uint64_t)p.c_part,
                                        .parts = p.parts,
                                        .width = r->width,
                                        .blocks = r->blocks};
    struct igo_launch launch = {.library = &igo_library_triangular,
                                .kernel = "reflector_triangle",
                                .group = {256, 1, 1},
                                .threadgroups = {p.batch, 1, 1},
                                .whole_simdgroups = true};
    igo_launch_buffer(&launch, scratch, 0);
    igo_launch_buffer(&launch, r->taus, 0);
    igo_launch_buffer(&launch, r->t, 0);
    igo_launch_bytes(&launch, &args, sizeof args);
    return igo_dispatch(call, &launch);
}

static uint64_t line(const struct igo_reflection *r) {
    return ((uint64_t)r->columns + 3) / 4 * 4;
}

/* v'target */
static struct igo_product gathered(const struct igo_call *call, const struct igo_reflection *r,
                                   ingot_buffer *scratch) {
    const int64_t matrix = (int64_t)(IGO_REFLECTORS * line(r));
    struct igo_product p = {.a = igo_block_transposed(r->v),
                            .b = r->target,
                            .c = igo_block_in(scratch, 0, (int64_t)line(r), matrix),
                            .m = r->width,
                            .n = r->columns,
                            .k = r->rows,
                            .batch = r->batch,
                            .alpha = 1};
    p.parts = igo_product_parts(call, &p);
    p.c_part = matrix * r->batch;
    return p;
}

uint64_t igo_reflect_floats(const struct igo_call *call, const struct igo_reflection *r) {
    return IGO_REFLECTORS * line(r) * r->batch * gathered(call, r, NULL).parts;
}

bool igo_reflect(struct igo_call *call, const struct igo_reflection *r, ingot_buffer *scratch) {
    const struct igo_product first = gathered(call, r, scratch);
    igo_product(call, &first);
    const struct reflector_args args = {.t_first = r->first_t,
                                        .t_matrix = r->t_matrix,
                                        .part = (uint64_t)first.c_part,
                                        .line = (uint32_t)line(r),
                                        .columns = r->columns,
                                        .width = r->width,
                                        .parts = first.parts,
                                        .adjoint = r->adjoint};
    struct igo_launch launch = {.library = &igo_library_triangular,
                                .kernel = "reflector_combine",
                                .group = {256, 1, 1},
                                .threadgroups = {r->batch, (r->columns + 31) / 32, 1},
                                .whole_simdgroups = true};
    igo_launch_buffer(&launch, scratch, 0);
    igo_launch_buffer(&launch, r->t, 0);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(call, &launch);
    const struct igo_product second = {.a = r->v,
                                       .b = first.c,
                                       .c = r->target,
                                       .m = r->rows,
                                       .n = r->columns,
                                       .k = r->width,
                                       .batch = r->batch,
                                       .alpha = -1,
                                       .add = true};
    return igo_product(call, &second);
}
