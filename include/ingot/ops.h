/*
 * ingot's operations: norms, softmax, attention, matmul, optimisers, linear algebra and the
 * rest, as calls on tensors. docs/guide/operations.md shows how to call them.
 *
 * An `ingot_ops` belongs to one device and holds the kernels, compiled ahead of time, and the
 * launch policy. Each operation takes it, a stream of the same device, and a descriptor whose
 * zero value means the default. Shapes, types, layouts and overlap are checked before anything
 * is encoded; the work itself runs in the stream's order. All of it may be called from
 * several threads at once.
 */
#ifndef INGOT_OPS_H
#define INGOT_OPS_H

#include "ingot/ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tensors ------------------------------------------------------------------- */

#define INGOT_MAX_RANK 8

/* A view of a buffer. The operation retains the buffer as long as it needs it; the struct
 * itself is only read during the call. Optional tensors of a descriptor are NULL pointers. */
typedef struct ingot_tensor {
    ingot_buffer *buffer; /* may be NULL when a dimension is 0 */
    uint64_t offset;      /* of the first element, in bytes */
    ingot_scalar_type type;
    uint32_t rank;
    int64_t shape[INGOT_MAX_RANK];
    int64_t strides[INGOT_MAX_RANK]; /* in elements; ingot_tensor_contiguous fills them */
} ingot_tensor;

/* A dense row-major tensor at `offset` bytes of the buffer. */
INGOT_API ingot_tensor ingot_tensor_contiguous(ingot_buffer *buffer, uint64_t offset,
                                               ingot_scalar_type type, uint32_t rank,
                                               const int64_t *shape);

/* ---- the library on a device ---------------------------------------------------- */

typedef struct ingot_ops ingot_ops;

typedef struct ingot_ops_desc {
    /* A policy file that goes before the shipped one; NULL = $INGOT_POLICY, or else
     * $XDG_CONFIG_HOME/ingot/policy (~/.config/ingot/policy) if there is one; "" = none. */
    const char *policy_path;
    /* Policy text instead of a file (`ingot tune` uses it); NULL = none. */
    const char *policy_text;
    /* Where operations get scratch memory from; NULL = from the device, which keeps it for later.
     * Called by the thread that calls an operation, possibly several times: `bytes` of the device's
     * memory for work that is queued on the operation's stream before the operation returns. NULL
     * means that there is none. */
    void *(*scratch)(void *context, uint64_t bytes);
    void *scratch_context;
} ingot_ops_desc;
#define INGOT_OPS_DESC_INIT {0}

/* A policy that is wrong is refused here, with its line. desc may be NULL. */
INGOT_API ingot_status ingot_ops_create(ingot_device *device, const ingot_ops_desc *desc,
                                        ingot_ops **ops);
INGOT_API void ingot_ops_retain(ingot_ops *ops);
INGOT_API void ingot_ops_release(ingot_ops *ops);
INGOT_API ingot_device *ingot_ops_device(const ingot_ops *ops);

/* What the calling thread's last successful operation launched: the variant's key, such as
 * "rms_norm/bf16/row4096/simd8", and the launches, such as "512 x 256 threads" (of the last
 * kernel when there were several). "" if it had nothing to do. */
INGOT_API const char *ingot_ops_last_variant(void);
INGOT_API const char *ingot_ops_last_launch(void);

/* ---- what there is ---------------------------------------------------------------- */

typedef struct ingot_ops_knob { /* of the launch policy */
    const char *name;
    const char *help;
    uint32_t fallback, minimum, maximum;
    bool power_of_two;
} ingot_ops_knob;

typedef struct ingot_ops_info {
    const char *name;     /* "rms_norm" */
    const char *family;   /* "rows" */
    const char *summary;  /* one line */
    const char *limits;   /* what it does not take; "" if nothing */
    const char *variants; /* how a variant is chosen, in a line */
    uint32_t types;       /* bit 1 << ingot_scalar_type for each */
    const ingot_ops_knob *knobs;
    size_t knob_count;
} ingot_ops_info;

INGOT_API size_t ingot_ops_count(void);
/* Strings live for ever. */
INGOT_API ingot_status ingot_ops_describe(size_t index, ingot_ops_info *info);

#ifdef __cplusplus
}
#endif

/* ---- the operations, by family ------------------------------------------------------ */
#include "ingot/ops/attention.h"
#include "ingot/ops/convert.h"
#include "ingot/ops/embedding.h"
#include "ingot/ops/linalg.h"
#include "ingot/ops/matrix.h"
#include "ingot/ops/pointwise.h"
#include "ingot/ops/position.h"
#include "ingot/ops/quantised.h"
#include "ingot/ops/quickstart.h"
#include "ingot/ops/rows.h"
#include "ingot/ops/spectral.h"
#include "ingot/ops/training.h"

#endif
