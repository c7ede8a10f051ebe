/* torch's device mps for the operators: ingot's device "metal", on torch's current stream. */
#ifndef INGOT_PYTHON_TORCH_MPS_DEVICE_H
#define INGOT_PYTHON_TORCH_MPS_DEVICE_H

#include "python/context.h"

/* Finds torch::mps in the loaded library at `path`. On failure `message` says what is missing. */
bool mps_device_load(const char *path, char *message, size_t size);
bool mps_device_is_loaded(void);

/* The device, and a stream whose work goes into the command buffer of torch's current stream. */
ingot_status mps_device_context(context *out);

/* The memory of an mps tensor: `data` is the address of its storage's MTLBuffer, plus `offset`. */
ingot_status mps_device_wrap(const context *used, void *data, uint64_t offset, uint64_t length,
                             ingot_buffer **buffer);

#endif
