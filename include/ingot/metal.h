/*
 * Device "metal" beside other code that uses Metal: work goes into the other's command buffers, on
 * its buffers, without a copy and without a wait. ingot.h has all else.
 */
#ifndef INGOT_METAL_H
#define INGOT_METAL_H

#include "ingot/ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What ingot_stream_wrap takes on device "metal". Work is encoded into the command buffer that the
 * other code names, and committed by that code. It must outlive the ingot_stream, on which no
 * events can be recorded. */
typedef struct ingot_metal_stream {
    void *context;
    /* Calls `encode` as the other code encodes, on its dispatch queue for example, and returns
     * after it. NULL: on the calling thread. */
    void (*run)(void *context, void (*encode)(void *argument), void *argument);
    /* The MTLCommandBuffer for the next work, in which no encoder is open. Called by `encode`. */
    void *(*command_buffer)(void *context);
    /* Commits, and waits until the work is over, whose errors are the other code's. */
    void (*wait)(void *context);
} ingot_metal_stream;

/* Wraps an MTLBuffer of the same GPU: `length` bytes from `offset` on. It is retained until the
 * buffer is released and the work on it is over. */
INGOT_API ingot_status ingot_metal_buffer_wrap(ingot_device *device, void *mtl_buffer,
                                               uint64_t offset, uint64_t length,
                                               ingot_buffer **buffer);

#ifdef __cplusplus
}
#endif

#endif
