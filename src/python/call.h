/* One call of a kernel: its arguments as libingot wants them, and what they need meanwhile. */
#ifndef INGOT_PYTHON_CALL_H
#define INGOT_PYTHON_CALL_H

#include "python/memory.h"
#include "python/values.h"

#define MAX_ARGUMENTS 64
#define MAX_GROUPS    32
#define SMALL_BYTES   1024

/* What the kernel declared, by buffer index. */
struct signature {
    const char *name;
    uint32_t max_threads;
    uint32_t end; /* one past the highest buffer index */
    ingot_argument_info infos[MAX_ARGUMENTS];
    bool declared[MAX_ARGUMENTS];
};

struct call {
    const struct signature *signature;
    const struct shader *shader;
    ingot_device *device;
    int gpu;     /* its number, or -1 for the CPU */
    bool queued; /* arguments must outlive the call */
    enum contiguity contiguity;
    PyObject *casts; /* None, a string or a dictionary */

    ingot_arg args[MAX_ARGUMENTS];
    size_t count;
    int64_t first_elements; /* of the first tensor; -1 without one */
    /* One with as many elements whose own are smaller than the kernel's type: as many threads would
     * reach past it. NULL: none. */
    const ingot_argument_info *narrow;
    unsigned narrow_size; /* of an element of it */
    PyObject *owners[MAX_ARGUMENTS];
    void *heaps[MAX_ARGUMENTS]; /* bytes that are too many for `small` */
    struct {
        PyObject *original, *copy;
        bool write_back;
    } copies[MAX_ARGUMENTS];
    size_t copy_count;
    size_t small_used;
    _Alignas(16) unsigned char small[SMALL_BYTES];
};

/* arguments.c: all three return false with an exception. */
bool call_bind(struct call *call, size_t index, PyObject *value);
/* After the work: copies of non-contiguous outputs go back to where they came from. */
bool call_write_back(struct call *call);
/* Values for indices that the kernel leaves out between its own: ignored, as on a Mac. */
void call_drop_gaps(struct call *call);
void call_release(struct call *call);

/* grid.c: fills in threads and group of the dispatch. */
bool grid_from(const struct call *call, PyObject *threads, PyObject *group_size,
               ingot_dispatch_desc *desc);
/* The keyword threadgroup_memory: a size, or sizes by [[threadgroup(n)]]. */
bool threadgroup_lengths(PyObject *value, const char *kernel, uint32_t lengths[MAX_GROUPS],
                         ingot_dispatch_desc *desc);

/* pending.c: references that queued work holds, dropped when it is done. Python's references are
 * not to be touched by worker threads, so they are only listed there. */
int pending_init(PyObject *module);
/* A callback for ingot_buffer_wrap; the context is what pending_keep returned. */
void pending_done(void *context);
/* Takes a reference to `object` and owns `memory` (malloc'ed, or NULL). NULL: no memory. */
void *pending_keep(PyObject *object, void *memory);
/* With the GIL: drops what is done. Cheap when there is nothing. */
void pending_collect(void);

#endif
