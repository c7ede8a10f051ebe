/* Calls an operator past the dispatcher. Include python.h before. */
#ifndef INGOT_PYTHON_TORCH_CALL_BY_HANDLES_H
#define INGOT_PYTHON_TORCH_CALL_BY_HANDLES_H

/* torch_call(name, *arguments): all of the operator's arguments, in order. */
PyObject *torch_call(PyObject *module, PyObject *arguments);

#endif
