/* The C interface to shader libraries: torch/csrc/inductor/aoti_torch/c/shim_mps.h. */
#include <torch/csrc/inductor/aoti_torch/c/shim_mps.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>
#include <torch/csrc/stable/c/shim.h>

using at::native::mps::DynamicMetalShaderLibrary;
using at::native::mps::MetalKernelFunction;

static MetalKernelFunction* kernel_of(AOTIMetalKernelFunctionHandle handle) {
  return reinterpret_cast<MetalKernelFunction*>(handle);
}

static DynamicMetalShaderLibrary* library_of(AOTIMetalShaderLibraryHandle handle) {
  return reinterpret_cast<DynamicMetalShaderLibrary*>(handle);
}

static id<MTLBuffer> buffer_of(void* pointer) {
  return static_cast<id<MTLBuffer>>(pointer);
}

AOTITorchError aoti_torch_mps_create_shader_library(const char* source, AOTIMetalShaderLibraryHandle* library) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    *library = reinterpret_cast<AOTIMetalShaderLibraryHandle>(new DynamicMetalShaderLibrary(source));
  });
}

AOTITorchError aoti_torch_mps_delete_shader_library(AOTIMetalShaderLibraryHandle library) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ delete library_of(library); });
}

AOTITorchError aoti_torch_mps_get_kernel_function(AOTIMetalShaderLibraryHandle library, const char* name,
                                                  AOTIMetalKernelFunctionHandle* function) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    *function = reinterpret_cast<AOTIMetalKernelFunctionHandle>(library_of(library)->getCachedKernelFunctionPtr(name));
  });
}

AOTITorchError aoti_torch_mps_start_encoding(AOTIMetalKernelFunctionHandle function) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ kernel_of(function)->startEncoding(); });
}

AOTITorchError aoti_torch_mps_set_arg_tensor(AOTIMetalKernelFunctionHandle function, unsigned index,
                                             AtenTensorHandle tensor) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    auto* given = torch::aot_inductor::tensor_handle_to_tensor_pointer(tensor);
    TORCH_CHECK(given, "the tensor of argument ", index, " is null");
    kernel_of(function)->setArg(index, *given);
  });
}

AOTITorchError aoti_torch_mps_set_arg_int(AOTIMetalKernelFunctionHandle function, unsigned index, int64_t value) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ kernel_of(function)->setArg(index, value); });
}

/* Declared where USE_MPS is defined. */
extern "C" AOTI_TORCH_EXPORT AOTITorchError torch_mps_set_arg_bytes(AOTIMetalKernelFunctionHandle function,
                                                                    unsigned index, const void* bytes, uint64_t size);

AOTITorchError torch_mps_set_arg_bytes(AOTIMetalKernelFunctionHandle function, unsigned index, const void* bytes,
                                       uint64_t size) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ kernel_of(function)->setArg(index, bytes, size); });
}

AOTITorchError aoti_torch_mps_dispatch_single(AOTIMetalKernelFunctionHandle function, uint64_t length) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ kernel_of(function)->dispatch(length); });
}

AOTITorchError aoti_torch_mps_dispatch_single_with_group_size(AOTIMetalKernelFunctionHandle function, uint64_t length,
                                                              uint64_t group) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ kernel_of(function)->dispatch(length, group); });
}

AOTITorchError aoti_torch_mps_dispatch_array(AOTIMetalKernelFunctionHandle function, const uint64_t* length,
                                             size_t count) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    kernel_of(function)->dispatch(c10::ArrayRef<uint64_t>(length, count));
  });
}

AOTITorchError aoti_torch_mps_dispatch_array_with_group_size(AOTIMetalKernelFunctionHandle function,
                                                             const uint64_t* length, size_t count,
                                                             const uint64_t* group, size_t group_count) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    kernel_of(function)->dispatch(c10::ArrayRef<uint64_t>(length, count), c10::ArrayRef<uint64_t>(group, group_count));
  });
}

AOTITorchError aoti_torch_mps_malloc(void** buffer, size_t size) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    *buffer = size == 0 ? nullptr
                        : [at::mps::MPSDevice::getInstance()->device() newBufferWithLength:size
                                                                                   options:MTLResourceStorageModeShared];
    TORCH_CHECK(size == 0 || *buffer, "no memory for ", size, " bytes on mps");
  });
}

AOTITorchError aoti_torch_mps_free(void* pointer) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ [buffer_of(pointer) release]; });
}

AOTITorchError aoti_torch_mps_memcpy(void* buffer, size_t offset, size_t source_offset, size_t size,
                                     uint8_t* source) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    ingot_bridge::settle();
    memcpy(static_cast<uint8_t*>([buffer_of(buffer) contents]) + offset, source + source_offset, size);
  });
}

AOTITorchError aoti_torch_mps_copy_buffer(void* source, void* target, size_t size, size_t source_offset,
                                          size_t target_offset) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    at::mps::getCurrentMPSStream()->copy(buffer_of(source), buffer_of(target), size, source_offset, target_offset, 0);
  });
}

void aoti_torch_mps_shared_callback(AOTIMetalKernelFunctionHandle function, void* data) {
  (*static_cast<std::function<void(AOTIMetalKernelFunctionHandle)>*>(data))(function);
}

AOTITorchError aoti_torch_mps_run_command_block(AOTIMetalKernelFunctionHandle function,
                                                aoti_torch_mps_command_block_callback_t callback, void* data) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    kernel_of(function)->runCommandBlock([&] { callback(function, data); });
  });
}
