/* The blocked QR factorisation as steps of another operation's call. */
#ifndef INGOT_KERNELS_QR_H
#define INGOT_KERNELS_QR_H

#include "ops/call.h"

extern const struct igo_library igo_library_qr;

struct igo_qr_launch {
    uint32_t panel_simds; /* SIMD-groups that share a panel */
    uint32_t apply_simds; /* strips per threadgroup */
    bool products;        /* qr_products.c, if the rows are not too many */
};

/* A factored batch: r in the upper triangle of `work` (columns scaled), reflectors in v and t. */
struct igo_qr {
    uint32_t rows, columns, batch;
    struct igo_qr_launch launch;
    ingot_buffer *work, *scales, *v, *t, *taus;
    uint64_t v_stride, t_stride;
};

/* a is dense float32, [..., rows, columns], none of them 0. */
bool igo_qr_factor(struct igo_call *call, const ingot_tensor *a, struct igo_qr_launch launch,
                   struct igo_qr *qr);
/* target = q' target (adjoint) or q target; target is dense float32 with qr->rows rows. Columns
 * before those that the first panel touches may be skipped when the target started as the identity.
 */
bool igo_qr_apply(struct igo_call *call, const struct igo_qr *qr, const ingot_tensor *target,
                  bool adjoint, bool from_identity);
/* r, [batch, r_rows, columns] dense float32, with the columns' scale undone. */
bool igo_qr_store_r(struct igo_call *call, const struct igo_qr *qr, const ingot_tensor *r);
/* The two of them in products; *qr is filled up to `launch`. */
bool igo_qr_factor_in_products(struct igo_call *call, const ingot_tensor *a, struct igo_qr *qr);
bool igo_qr_apply_in_products(struct igo_call *call, const struct igo_qr *qr,
                              const ingot_tensor *target, bool adjoint, bool from_identity);
void igo_qr_release(struct igo_call *call, struct igo_qr *qr);

#endif
