/* The extension module ingot._C: one for every Python from 3.10 on; see python.h. */
#include "python/python.h"

#include "python/call.h"
#include "python/context.h"
#include "python/interrupt.h"
#include "python/mps.h"
#include "python/torch/torch.h"

/* Waits for queued work; its error is raised. */
static PyObject *synchronize(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    context cpu;
    ingot_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = context_cpu(&cpu);
    if (status == INGOT_OK) {
        status = interruptible_wait(cpu.stream);
    }
    if (status == INGOT_OK) {
        status = context_wait(); /* GPUs */
    }
    Py_END_ALLOW_THREADS;
    pending_collect();
    if (status != INGOT_OK) {
        return raise_status(status);
    }
    Py_RETURN_NONE;
}

static PyObject *thread_count(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    context cpu;
    ingot_device_info info;
    ingot_status status = context_cpu(&cpu);
    if (status == INGOT_OK) {
        status = ingot_device_get_info(cpu.device, &info);
    }
    if (status != INGOT_OK) {
        return raise_status(status);
    }
    return PyLong_FromUnsignedLong(info.compute_units);
}

static PyMethodDef functions[] = {
    {"compile", (PyCFunction)(void (*)(void))library_compile, METH_VARARGS | METH_KEYWORDS,
     "A ShaderLibrary from Metal source; see ingot.compile_shader."},
    {"load", (PyCFunction)(void (*)(void))library_load, METH_VARARGS | METH_KEYWORDS,
     "A ShaderLibrary from an .ingot archive, in memory or by path."},
    {"synchronize", synchronize, METH_NOARGS,
     "Waits for the calling thread's queued work and raises its first error."},
    {"thread_count", thread_count, METH_NOARGS, "How many threads run kernels on the CPU."},
    {"take_reports", reports_take, METH_NOARGS,
     "What kernels reported through TORCH_REPORT_ERROR since the last call."},
    {"sanitize", findings_sanitize, METH_VARARGS,
     "Kernels on the CPU get checks of these kinds; see ingot.sanitize."},
    {"findings", findings_take, METH_NOARGS,
     "What the sanitizer found since the last call, after the queued work is done."},
    {"cache", cache_look, METH_VARARGS,
     "What the cache of compiled kernels holds, after a removal down to a size; see ingot.cache."},
    {0}};

static const char doc[] =
    "ingot's C side: libraries, kernels and PyTorch operators. Use the ingot package.";

/* The module's types and exceptions are one set per process: a second import gets the same module,
 * and other interpreters than the first get none. */
static PyObject *the_module;

PyMODINIT_FUNC PyInit__C(void);
PyMODINIT_FUNC PyInit__C(void) {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError, "ingot works in the main interpreter only, and this is "
                                           "a subinterpreter");
        return NULL;
    }
    if (the_module) {
        Py_INCREF(the_module);
        return the_module;
    }
    PyObject *module = object_init() == 0 ? object_new_module("ingot._C", doc, functions) : NULL;
    if (module && (PyModule_AddStringConstant(module, "version", ingot_version()) != 0 ||
                   errors_init(module) != 0 || memory_init() != 0 || pending_init(module) != 0 ||
                   interrupt_init() != 0 || library_init(module) != 0 || kernel_init(module) != 0 ||
                   mps_add_to_module(module) != 0 || mps_buffers_add_to_module(module) != 0 ||
                   torch_add_to_module(module) != 0)) {
        Py_DECREF(module);
        return NULL;
    }
    Py_XINCREF(module);
    the_module = module;
    return module;
}
