/*
 * The part of the CUDA driver API that the CUDA device uses, declared here: nothing of the CUDA
 * toolkit is needed to build, and the driver's library is loaded when it is first asked for.
 */
#ifndef INGOT_RUNTIME_CUDA_DRIVER_H
#define INGOT_RUNTIME_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef int cu_device;
typedef uint64_t cu_pointer;
typedef struct cu_context_object *cu_context;
typedef struct cu_module_object *cu_module;
typedef struct cu_function_object *cu_function;
typedef struct cu_stream_object *cu_stream;
typedef struct cu_event_object *cu_event;

typedef int cu_result;
enum {
    CU_SUCCESS = 0,
    CU_INVALID_VALUE = 1,
    CU_OUT_OF_MEMORY = 2,
    CU_DEINITIALIZED = 4,
    CU_DEVICE_UNAVAILABLE = 46,
    CU_INVALID_IMAGE = 200,
    CU_INVALID_CONTEXT = 201,
    CU_NO_BINARY_FOR_GPU = 209,
    CU_ECC_UNCORRECTABLE = 214,
    CU_INVALID_PTX = 218,
    CU_NVLINK_UNCORRECTABLE = 220,
    CU_JIT_COMPILER_NOT_FOUND = 221,
    CU_UNSUPPORTED_PTX_VERSION = 222,
    CU_JIT_COMPILATION_DISABLED = 223,
    CU_CONTAINED = 226,
    CU_INVALID_HANDLE = 400,
    CU_NOT_FOUND = 500,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_LAUNCH_OUT_OF_RESOURCES = 701,
    CU_LAUNCH_TIMEOUT = 702,
    CU_CONTEXT_IS_DESTROYED = 709,
    CU_ASSERT = 710,
    CU_HARDWARE_STACK_ERROR = 714,
    CU_ILLEGAL_INSTRUCTION = 715,
    CU_MISALIGNED_ADDRESS = 716,
    CU_INVALID_ADDRESS_SPACE = 717,
    CU_INVALID_PC = 718,
    CU_LAUNCH_FAILED = 719,
    CU_TENSOR_MEMORY_LEAK = 721,
    CU_MPS_CLIENT_TERMINATED = 810,
    CU_STREAM_CAPTURE_FIRST = 900,
    CU_STREAM_CAPTURE_LAST = 908,
    CU_EXTERNAL_DEVICE = 911,
    CU_WORKER_GONE = 100000, /* ours: the process that makes the calls is not there any more */
};

enum { /* device attributes */
       CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
       CU_ATTRIBUTE_MAX_GRID_X = 5,
       CU_ATTRIBUTE_MAX_GRID_Y = 6,
       CU_ATTRIBUTE_MAX_GRID_Z = 7,
       CU_ATTRIBUTE_MULTIPROCESSORS = 16,
       CU_ATTRIBUTE_MAJOR = 75,
       CU_ATTRIBUTE_MINOR = 76,
       CU_ATTRIBUTE_SHARED_OPTIN = 97,
};
enum { /* function attributes */
       CU_FUNCTION_MAX_THREADS = 0,
       CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
};
enum { /* pointer attributes, and the values of the first */
       CU_POINTER_MEMORY_TYPE = 2,
       CU_POINTER_IS_MANAGED = 8,
       CU_POINTER_DEVICE_ORDINAL = 9,
       CU_MEMORY_HOST = 1,
};
enum { CU_MANAGED_GLOBAL = 1 };
enum { CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_SIZE = 6 };
enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_CAPTURE_RELAXED = 2 };
enum { CU_CAPTURE_STATUS_NONE = 0 };
enum { CU_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6 };

typedef struct {
    int id;
    char padding[4];
    union {
        char bytes[64];
        int allowed;
    } value;
} cu_launch_attribute;

typedef struct {
    unsigned grid[3], block[3], shared;
    cu_stream stream;
    const cu_launch_attribute *attributes;
    unsigned attribute_count;
} cu_launch_config;

/* X(member, symbol, parameters). A driver in another process (remote.h) has to be told two sizes
 * that this interface has no place for, so they stand behind what the driver itself looks at:
 * values[count] of module_load is that of the image, parameters[1] of launches points to that of
 * the only parameter, a uint32_t. */
#define CUDA_DRIVER_FUNCTIONS(X)                                                                   \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(version, "cuDriverGetVersion", (int *version))                                               \
    X(error_name, "cuGetErrorName", (cu_result result, const char **text))                         \
    X(error_string, "cuGetErrorString", (cu_result result, const char **text))                     \
    X(device_count, "cuDeviceGetCount", (int *count))                                              \
    X(device_get, "cuDeviceGet", (cu_device * device, int ordinal))                                \
    X(device_name, "cuDeviceGetName", (char *name, int size, cu_device device))                    \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t *bytes, cu_device device))                     \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, cu_device device))     \
    X(primary_retain, "cuDevicePrimaryCtxRetain", (cu_context * context, cu_device device))        \
    X(primary_release, "cuDevicePrimaryCtxRelease_v2", (cu_device device))                         \
    X(primary_reset, "cuDevicePrimaryCtxReset_v2", (cu_device device))                             \
    X(context_current, "cuCtxGetCurrent", (cu_context * context))                                  \
    X(context_set, "cuCtxSetCurrent", (cu_context context))                                        \
    X(context_push, "cuCtxPushCurrent_v2", (cu_context context))                                   \
    X(context_pop, "cuCtxPopCurrent_v2", (cu_context * context))                                   \
    X(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                              \
    X(module_load, "cuModuleLoadDataEx",                                                           \
      (cu_module * module, const void *image, unsigned count, int *options, void **values))        \
    X(module_unload, "cuModuleUnload", (cu_module module))                                         \
    X(module_function, "cuModuleGetFunction",                                                      \
      (cu_function * function, cu_module module, const char *name))                                \
    X(module_global, "cuModuleGetGlobal_v2",                                                       \
      (cu_pointer * pointer, size_t *bytes, cu_module module, const char *name))                   \
    X(function_get, "cuFuncGetAttribute", (int *value, int attribute, cu_function function))       \
    X(function_set, "cuFuncSetAttribute", (cu_function function, int attribute, int value))        \
    X(launch, "cuLaunchKernel",                                                                    \
      (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
       unsigned block_y, unsigned block_z, unsigned shared, cu_stream stream, void **parameters,   \
       void **extra))                                                                              \
    X(memory_info, "cuMemGetInfo_v2", (size_t *free_bytes, size_t *total))                         \
    X(memory_allocate, "cuMemAlloc_v2", (cu_pointer * pointer, size_t bytes))                      \
    X(memory_free, "cuMemFree_v2", (cu_pointer pointer))                                           \
    X(memory_fill, "cuMemsetD8Async",                                                              \
      (cu_pointer pointer, unsigned char value, size_t bytes, cu_stream stream))                   \
    X(memory_copy, "cuMemcpyDtoDAsync_v2",                                                         \
      (cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream))                            \
    X(memory_upload, "cuMemcpyHtoDAsync_v2",                                                       \
      (cu_pointer to, const void *from, size_t bytes, cu_stream stream))                           \
    X(memory_download, "cuMemcpyDtoHAsync_v2",                                                     \
      (void *to, cu_pointer from, size_t bytes, cu_stream stream))                                 \
    X(pointer_attribute, "cuPointerGetAttribute", (void *value, int attribute, cu_pointer at))     \
    X(pointer_attributes, "cuPointerGetAttributes",                                                \
      (unsigned count, int *attributes, void **values, cu_pointer at))                             \
    X(stream_create, "cuStreamCreate", (cu_stream * stream, unsigned flags))                       \
    X(stream_destroy, "cuStreamDestroy_v2", (cu_stream stream))                                    \
    X(stream_query, "cuStreamQuery", (cu_stream stream))                                           \
    X(stream_synchronize, "cuStreamSynchronize", (cu_stream stream))                               \
    X(stream_wait_event, "cuStreamWaitEvent", (cu_stream stream, cu_event event, unsigned flags))  \
    X(stream_capturing, "cuStreamIsCapturing", (cu_stream stream, int *status))                    \
    X(event_create, "cuEventCreate", (cu_event * event, unsigned flags))                           \
    X(event_destroy, "cuEventDestroy_v2", (cu_event event))                                        \
    X(event_record, "cuEventRecord", (cu_event event, cu_stream stream))                           \
    X(event_query, "cuEventQuery", (cu_event event))                                               \
    X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, cu_event start, cu_event end))

/* Those that older drivers do not have, or not all of: NULL there. */
#define CUDA_DRIVER_OPTIONAL_FUNCTIONS(X)                                                          \
    X(memory_allocate_managed, "cuMemAllocManaged",                                                \
      (cu_pointer * pointer, size_t bytes, unsigned flags))                                        \
    X(host_register, "cuMemHostRegister_v2", (void *memory, size_t bytes, unsigned flags))         \
    X(host_unregister, "cuMemHostUnregister", (void *memory))                                      \
    X(host_pointer, "cuMemHostGetDevicePointer_v2",                                                \
      (cu_pointer * pointer, void *memory, unsigned flags))                                        \
    X(launch_with, "cuLaunchKernelEx",                                                             \
      (const cu_launch_config *config, cu_function function, void **parameters, void **extra))

struct cuda_driver {
#define X(member, symbol, parameters) cu_result(*member) parameters;
    CUDA_DRIVER_FUNCTIONS(X)
    CUDA_DRIVER_OPTIONAL_FUNCTIONS(X)
#undef X
};

/* Loads and starts the driver once. NULL when there is none; cuda_driver_problem says why.
 * $INGOT_CUDA_LIBRARY names another library than libcuda.so.1. */
const struct cuda_driver *cuda_driver(void);
const char *cuda_driver_problem(void);

/* "CUDA_ERROR_OUT_OF_MEMORY: out of memory"; `text` is for a code that the driver has no name of.
 */
#define CUDA_RESULT_TEXT 160
const char *cuda_result_text(cu_result result, char text[CUDA_RESULT_TEXT]);

#endif
