/* convert: copies between float types and layouts. */
#ifndef INGOT_OPS_CONVERT_H
#define INGOT_OPS_CONVERT_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* to = from, rounded once to to's type. Same shape, any strides (those of `from` may be 0), no
 * memory in common. */
typedef struct ingot_convert_desc {
    const ingot_tensor *from;
    const ingot_tensor *to;
} ingot_convert_desc;
INGOT_API ingot_status ingot_op_convert(ingot_ops *ops, ingot_stream *stream,
                                        const ingot_convert_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
