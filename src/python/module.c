/* The extension module ingot._C: Python's stable ABI of 3.10. */
#include "python.h"

#include "ingot/ingot.h"

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ingot._C",
    .m_doc = "ingot's C side: libraries, kernels and PyTorch operators. Use the ingot package.",
    .m_size = 0,
};

PyMODINIT_FUNC PyInit__C(void);
PyMODINIT_FUNC PyInit__C(void) {
    PyObject *module = PyModule_Create(&module_definition);
    if (module && PyModule_AddStringConstant(module, "version", ingot_version()) != 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
