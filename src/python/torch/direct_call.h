/* Operators as Python functions past the dispatcher. Include python.h before. */
#ifndef INGOT_PYTHON_TORCH_DIRECT_CALL_H
#define INGOT_PYTHON_TORCH_DIRECT_CALL_H

PyObject *torch_direct(PyObject *module, PyObject *arguments);

#endif
