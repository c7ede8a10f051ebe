/* Requires: kernels that leave a row of sums per part. Provides: the sum of the parts. */
#include "common/row_parts.h"

#include "common/row_parts_args.h"

ingot_tensor igo_parts_begin(struct igo_call *call, const struct igo_parts *parts,
                             const ingot_tensor *out) {
    if (!out) {
        return (ingot_tensor){0};
    }
    if (parts->count == 1 && out->type == INGOT_SCALAR_F32) {
        return *out;
    }
    return igo_scratch_tensor(call, INGOT_SCALAR_F32, 2,
                              (const int64_t[]){(int64_t)parts->count, out->shape[0]});
}

void igo_parts_end(struct igo_call *call, const struct igo_library *library,
                   const ingot_tensor *partial, const ingot_tensor *out) {
    if (!out || partial->buffer == out->buffer) {
        return;
    }
    const struct row_parts_args args = {.columns = (uint32_t)partial->shape[1],
                                        .parts = (uint32_t)partial->shape[0]};
    struct igo_launch launch = {.library = library};
    igo_launch_kernel(&launch, "row_parts_%s", igo_type_name(out->type));
    igo_launch_tensor(&launch, partial, NULL);
    igo_launch_tensor(&launch, out, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_threads(&launch, args.columns, 256);
    igo_dispatch(call, &launch);
    igo_scratch_release(call, partial->buffer);
}
