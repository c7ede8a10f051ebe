/* Python's stable ABI, the same for every version from 3.10 on. Include this before anything else.
 */
#ifndef INGOT_PYTHON_PYTHON_H
#define INGOT_PYTHON_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#endif
