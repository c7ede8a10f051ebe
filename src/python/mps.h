/* The part of ingot._C that ingot.mps uses. */
#ifndef INGOT_PYTHON_MPS_H
#define INGOT_PYTHON_MPS_H

#include "python/python.h"

#include <stdbool.h>
#include <stdint.h>

int mps_add_to_module(PyObject *module); /* 0, or -1 with a Python exception */

/* ---- mps_buffers.c ---- */

int mps_buffers_add_to_module(PyObject *module);
/* The memory below the data pointer of an mps tensor, which is `offset` bytes behind its storage's.
 */
void *mps_memory_of(void *data, uint64_t offset);
/* Waits for what extensions gave to the current streams; false with a Python exception. */
bool mps_settle(void);

#endif
