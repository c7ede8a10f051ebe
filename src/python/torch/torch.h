/* The functions of ingot._C that belong to torch's operators. Include python.h before. */
#ifndef INGOT_PYTHON_TORCH_H
#define INGOT_PYTHON_TORCH_H

/* torch_register, torch_schemas, torch_call. 0, or -1 with a Python error. */
int torch_add_to_module(PyObject *module);

#endif
