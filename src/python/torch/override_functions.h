/* The functions of ingot._C for overrides. Include python.h before. */
#ifndef INGOT_PYTHON_TORCH_OVERRIDE_FUNCTIONS_H
#define INGOT_PYTHON_TORCH_OVERRIDE_FUNCTIONS_H

/* override_names, override_install, override_remove, override_limits, override_counts,
 * override_reset_counts: for PyModule_AddFunctions. */
extern PyMethodDef override_functions[];

#endif
