/*
 * What the extension's parts share: the open devices with their operations, and a stream for each
 * thread that calls. All of it may be called without the GIL.
 */
#ifndef INGOT_PYTHON_CONTEXT_H
#define INGOT_PYTHON_CONTEXT_H

#include "ingot/ops.h"

typedef struct context { /* borrowed: valid on the calling thread until it ends */
    ingot_device *device;
    ingot_ops *ops;
    ingot_stream *stream;
} context;

/* The CPU device and the calling thread's own stream on it. */
ingot_status context_cpu(context *out);

#endif
