/* What the overrides have from Python and torch's thread-local state. Include python.h before. */
#ifndef INGOT_PYTHON_TORCH_OVERRIDE_PYTHON_H
#define INGOT_PYTHON_TORCH_OVERRIDE_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

struct override_python {
    PyObject *tensor, *parameter, *forward_ad; /* torch.Tensor and nn.Parameter; the module */
    /* numbers of c10::DispatchKey, and c10's functions on the calling thread's sets of them */
    uint16_t python_key, autocast_key;
    bool (*key_included)(uint16_t key);
    bool (*key_excluded)(uint16_t key);
    void (*exclude_key)(uint16_t key, bool);
};
extern struct override_python override_python;

/* override_prepare, override_names, override_install, override_remove, override_limits,
 * override_counts: for PyModule_AddFunctions. */
extern PyMethodDef override_functions[];

#endif
