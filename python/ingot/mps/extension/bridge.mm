/*
 * What PyTorch declares for extensions on mps and a build for Linux does not define: streams, the device, shader
 * libraries, torch::mps. One file for the compiler, since PyTorch's headers are most of its work. It is built on the
 * user's machine against the PyTorch that is installed there (build.py); extensions are linked with it.
 */
#include "common.h"

#include "buffers.mm"
#include "device.mm"
#include "stream.mm"
#include "shader_library.mm"
#include "operation_utils.mm"
#include "hooks.mm"
#include "shim.mm"
