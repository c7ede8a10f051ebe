/*
 * Between the extension module and the bridge to Objective-C (python/ingot/mps/extension), which is built on the
 * user's machine for the user's PyTorch. The bridge finds `struct mps_host` as the capsule "ingot._C.mps_host"; plain
 * C and C++.
 */
#ifndef INGOT_PYTHON_MPS_BRIDGE_H
#define INGOT_PYTHON_MPS_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

enum { MPS_BRIDGE_VERSION = 1, MPS_OBJECT_BYTES = 192 };

/*
 * What the data pointer of an mps storage points to: room for an Objective-C object of a class of the bridge, an
 * MTLBuffer over the storage's memory. It is zero until there is a bridge.
 */
struct mps_buffer {
    unsigned char object[MPS_OBJECT_BYTES];
    void *memory;
    uint64_t length;
};

/* What the bridge gives. Each function may be called from any thread. */
struct mps_bridge {
    uint32_t version;
    /* Makes the buffer's object, and ends its use of the memory. */
    void (*adopt)(struct mps_buffer *buffer);
    void (*abandon)(struct mps_buffer *buffer);
    /* Is there work that was not waited for? */
    int (*has_work)(void);
    /* Waits for all work. 0, or what went wrong as text. Without Python's lock. */
    int (*settle)(char *message, size_t size);
};

/* What it is given. */
struct mps_host {
    uint32_t version;
    /* Only one bridge can be there; 0 when it is not this one. All buffers are adopted. With Python's lock. */
    int (*attach)(const struct mps_bridge *bridge);
    /* References to the object. With the last one it is abandoned. */
    void (*retain)(struct mps_buffer *buffer);
    void (*release)(struct mps_buffer *buffer);
    uint32_t (*references)(const struct mps_buffer *buffer);
    /* References to the memory, which outlives the object while commands use it. */
    void (*retain_memory)(struct mps_buffer *buffer);
    void (*release_memory)(struct mps_buffer *buffer);
};

#endif
