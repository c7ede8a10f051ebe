/* Host side of kernels/common/stream.h: which results are stored past the caches. */
#ifndef INGOT_OPS_STREAM_H
#define INGOT_OPS_STREAM_H

#include "ops/call.h"

/* 1 when the device is a CPU and this result does not fit into its last cache, so that nobody would
 * find it there; else 0. */
uint32_t igo_past_caches(const struct igo_call *call, const ingot_tensor *result);

#endif
