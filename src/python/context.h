/*
 * What the extension's parts share: the open devices with their operations, and the streams that
 * calls go to. All of it may be called without the GIL.
 */
#ifndef INGOT_PYTHON_CONTEXT_H
#define INGOT_PYTHON_CONTEXT_H

#include <stdbool.h>

#include "ingot/ops.h"

typedef struct context { /* borrowed: valid on the calling thread until it ends */
    ingot_device *device;
    ingot_ops *ops;
    ingot_stream *stream;
    bool is_lent; /* the stream goes with context_done */
} context;

enum { CONTEXT_CUDA_DEVICES = 64 }; /* as many as libingot knows */

/* The CPU device and the calling thread's own stream on it. */
ingot_status context_cpu(context *out);

/* The checks that the CPU device gets (ingot_device_desc.sanitize); false: it is open already, with
 * others. */
bool context_set_sanitize(const char *kinds);
/* Has it any? */
bool context_is_sanitized(void);

/* GPU `index`, and the stream of another library that work is to go to (a CUstream; NULL is CUDA's
 * default stream). Devices stay open and streams known for the life of the process. */
ingot_status context_cuda(int index, void *native_stream, context *out);

/* The same for a stream that may end at any time after the call: it is not remembered. */
ingot_status context_lend(int index, void *native_stream, context *out);

/* The same with the stream that torch's operators on that GPU go to at the moment. One that torch
 * did not make (torch.cuda.ExternalStream) may end at any time after the call: it is not
 * remembered. */
ingot_status context_torch_cuda(int index, context *out);
/* After a call with a context of any kind. */
void context_done(context *used);
/* Is there a torch with CUDA in this process? */
bool context_has_cuda(void);

/* Where operations on GPUs get scratch memory from (ingot_ops_desc.scratch); for devices that are
 * opened later. */
void context_set_cuda_scratch(void *(*allocate)(void *context, uint64_t bytes));

/* tensor.c: how many threads torch uses; 0 when it is not loaded. */
unsigned tensor_thread_count(void);
/* tensor.c: whether torch's current stream of that GPU, `native`, is one that others made
 * (torch.cuda.ExternalStream). Takes the GIL. */
bool tensor_stream_is_foreign(int index, const void *native);

/* Waits for the calling thread's work on the CPU and for what was queued on streams of GPUs; the
 * first error. */
ingot_status context_wait(void);
/* Has a worker look at what is queued on the CPU's stream, though nobody waits for it yet. */
void context_start(const context *cpu);

#endif
