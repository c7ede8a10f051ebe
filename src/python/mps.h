/* The part of ingot._C that ingot.mps uses. */
#ifndef INGOT_PYTHON_MPS_H
#define INGOT_PYTHON_MPS_H

#include "python/python.h"

int mps_add_to_module(PyObject *module); /* 0, or -1 with a Python exception */

#endif
