/*
 * A Metal that is not there: the bridge of src/runtime/metal in plain C, which fails on demand.
 *
 * A source has the kernels that follow the words "kernel void", each with one buffer of uint; a
 * dispatch puts 1, 2, 3, … into it when the command buffer is committed. Tests load the library
 * beside libingot and ask `fake_metal` for this table.
 */
#ifndef TESTS_FAKE_METAL_H
#define TESTS_FAKE_METAL_H

#include "runtime/metal/bridge.h"

struct fake_metal {
    /* The call of this name in struct ig_metal_bridge fails, after `skipped` good ones, with a
     * message, or (`is_silent`) without. NULL: none. */
    const char *failing;
    unsigned skipped;
    bool is_silent;
    bool is_other_system;        /* it takes no machine code that was kept */
    unsigned pipelines_compiled; /* not made from what was kept */
    /* How command buffers end from now on, and whether they do only when someone waits. */
    enum ig_metal_outcome outcome;
    bool is_slow;
    bool has_own_memory;
    bool has_no_device;
    /* What there is now, and how often command buffers were committed. */
    unsigned live, commits;
    unsigned ends;           /* of encoders in command buffers of others */
    const char *last_source; /* that was compiled */
    void (*log)(int level, const char *text);
};

struct fake_metal *fake_metal(void);

#endif
