/* at::native::mps::MetalShaderLibrary and its kernels. */
namespace at::native::mps {
namespace {

std::recursive_mutex libraries_lock; // of the caches of all libraries

std::string text_of(NSError* error) {
  return error ? [[error localizedDescription] UTF8String] : "";
}

/* As torch.mps.compile_shader: safe maths unless PYTORCH_MPS_FAST_MATH is set. */
MTLCompileOptions* default_options() {
  MTLCompileOptions* options = [[MTLCompileOptions new] autorelease];
  const char* fast = getenv("PYTORCH_MPS_FAST_MATH");
  [options setMathMode:fast && *fast && *fast != '0' ? MTLMathModeFast : MTLMathModeSafe];
  return options;
}

} // namespace

void* get_tensor_gpu_address(const at::TensorBase& tensor) {
  return reinterpret_cast<void*>([getMTLBufferStorage(tensor) gpuAddress] +
                                 tensor.storage_offset() * tensor.element_size());
}

MetalShaderLibrary::~MetalShaderLibrary() {
  for (const auto& entry : cplMap) {
    [entry.second.first release];
    [entry.second.second release];
  }
  for (const auto& entry : libMap) {
    [entry.second release];
  }
  [library release];
}

id<MTLLibrary> MetalShaderLibrary::compileLibrary(const std::string& source) {
  @autoreleasepool {
    NSError* error = nil;
    MTLCompileOptions* options = compile_options ? compile_options : default_options();
    id<MTLLibrary> made = [at::mps::MPSDevice::getInstance()->device() newLibraryWithSource:@(source.c_str())
                                                                                    options:options
                                                                                      error:&error];
    TORCH_CHECK_WITH(SyntaxError, made, "Failed to create metal library, error: ", text_of(error));
    return made;
  }
}

id<MTLLibrary> MetalShaderLibrary::getLibrary() {
  std::lock_guard locked(libraries_lock);
  if (!library) {
    TORCH_CHECK(nparams == 0, "the shader library has ", nparams, " parameters, and none was given");
    library = compileLibrary(shaderSource);
  }
  return library;
}

id<MTLLibrary> MetalShaderLibrary::getLibrary(const std::initializer_list<std::string>& params) {
  TORCH_CHECK(nparams == params.size(), "the shader library has ", nparams, " parameters, and ", params.size(),
              " were given");
  std::string key;
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const auto& param : params) {
    key += ':' + param;
    arguments.push_back(param);
  }
  std::lock_guard locked(libraries_lock);
  auto& found = libMap[key];
  if (!found) {
    found = compileLibrary(fmt::vformat(shaderSource, arguments));
  }
  return found;
}

std::pair<id<MTLComputePipelineState>, id<MTLFunction>> MetalShaderLibrary::getLibraryPipelineState(
    id<MTLLibrary> lib, const std::string& name) {
  std::lock_guard locked(libraries_lock);
  const auto key = fmt::format("{}:{}", static_cast<void*>(lib), name);
  auto found = cplMap.find(key);
  if (found != cplMap.end()) {
    return found->second;
  }
  @autoreleasepool {
    NSError* error = nil;
    id<MTLFunction> function = [lib newFunctionWithName:@(name.c_str())];
    TORCH_CHECK(function, "Failed to create function state object for: ", name);
    id<MTLComputePipelineState> state = [[lib device] newComputePipelineStateWithFunction:function error:&error];
    TORCH_CHECK(state, "Failed to created pipeline state object, error: ", text_of(error));
    return cplMap.emplace(key, std::make_pair(state, function)).first->second;
  }
}

std::vector<std::string> MetalShaderLibrary::getFunctionNames() {
  TORCH_CHECK(nparams == 0, "the names of a shader library with parameters are not known without them");
  std::vector<std::string> names;
  @autoreleasepool {
    for (NSString* name in [getLibrary() functionNames]) {
      names.emplace_back([name UTF8String]);
    }
  }
  return names;
}

bool MetalShaderLibrary::hasFunction(const std::string& name) {
  std::lock_guard locked(libraries_lock);
  if (!functionNamesPopulated) {
    for (auto& known : getFunctionNames()) {
      functionNames.insert(known);
    }
    functionNamesPopulated = true;
  }
  return functionNames.count(name) != 0;
}

std::shared_ptr<MetalKernelFunction> MetalShaderLibrary::getKernelFunction(const std::string& name) {
  auto [state, function] = getLibraryPipelineState(getLibrary(), name);
  return std::make_shared<MetalKernelFunction>([state retain], [function retain]);
}

MetalKernelFunction* MetalShaderLibrary::getCachedKernelFunctionPtr(const std::string& name) {
  std::lock_guard locked(libraries_lock);
  auto& kept = kernelCache[name];
  if (!kept) {
    auto [state, function] = getLibraryPipelineState(getLibrary(), name);
    kept = std::make_unique<MetalKernelFunction>([state retain], [function retain]);
  }
  return kept.get();
}

MetalShaderLibrary& MetalShaderLibrary::getBundledLibrary() {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "MetalShaderLibrary::getBundledLibrary: PyTorch's own Metal kernels are not in ",
                              "its builds for Linux");
}

DynamicMetalShaderLibrary::~DynamicMetalShaderLibrary() = default;
PrecompiledMetalShaderLibrary::~PrecompiledMetalShaderLibrary() = default;

PrecompiledMetalShaderLibrary::PrecompiledMetalShaderLibrary(std::vector<uint8_t> data) : MetalShaderLibrary("") {
  @autoreleasepool {
    NSError* error = nil;
    dispatch_data_t bytes = dispatch_data_create(data.data(), data.size(), nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    library = [at::mps::MPSDevice::getInstance()->device() newLibraryWithData:bytes error:&error];
    dispatch_release(bytes);
    TORCH_CHECK(library, "Failed to load the metal library, error: ", text_of(error));
  }
}

PrecompiledMetalShaderLibrary::PrecompiledMetalShaderLibrary(const std::string& path) : MetalShaderLibrary("") {
  @autoreleasepool {
    NSError* error = nil;
    NSURL* place = [NSURL fileURLWithPath:@(path.c_str())];
    library = [at::mps::MPSDevice::getInstance()->device() newLibraryWithURL:place error:&error];
    TORCH_CHECK(library, "Failed to load the metal library ", path, ", error: ", text_of(error));
  }
}

/* ---- kernels ---- */

MetalKernelFunction::MetalKernelFunction(id<MTLComputePipelineState> state, id<MTLFunction> function)
    : cps(state), func(function) {}

MetalKernelFunction::~MetalKernelFunction() {
  [cps release];
  [func release];
}

uint64_t MetalKernelFunction::getMaxThreadsPerThreadgroup() const {
  return [cps maxTotalThreadsPerThreadgroup];
}

uint64_t MetalKernelFunction::getThreadExecutionWidth() const {
  return [cps threadExecutionWidth];
}

uint64_t MetalKernelFunction::getStaticThreadGroupMemoryLength() const {
  return [cps staticThreadgroupMemoryLength];
}

void MetalKernelFunction::runCommandBlock(std::function<void(void)> run) {
  dispatch_sync_with_rethrow(getCurrentMPSStream()->queue(), ^() {
    @autoreleasepool {
      run();
    }
  });
}

void MetalKernelFunction::startEncoding() {
  encoder = getCurrentMPSStream()->commandEncoder();
  [encoder setComputePipelineState:cps];
}

static void need_encoder(id<MTLComputeCommandEncoder> encoder, const char* call) {
  TORCH_CHECK(encoder, "MetalKernelFunction::", call, " was called before startEncoding");
}

void MetalKernelFunction::setArg(unsigned idx, const at::TensorBase& tensor) {
  need_encoder(encoder, "setArg");
  mtl_setBuffer(encoder, tensor, idx);
}

void MetalKernelFunction::setArg(unsigned idx, const void* bytes, uint64_t size) {
  need_encoder(encoder, "setArg");
  TORCH_CHECK(size > 0, "argument ", idx, " has no bytes");
  [encoder setBytes:bytes length:size atIndex:idx];
}

void MetalKernelFunction::setErrorBufferIndex(unsigned idx) {
  need_encoder(encoder, "setErrorBufferIndex");
  [encoder setBuffer:getCurrentMPSStream()->getErrorBuffer() offset:0 atIndex:idx];
}

void MetalKernelFunction::dispatch(uint64_t length, std::optional<uint64_t> group) {
  if (group) {
    dispatch(c10::ArrayRef<uint64_t>(length), c10::ArrayRef<uint64_t>(*group));
  } else {
    dispatch(c10::ArrayRef<uint64_t>(length));
  }
}

void MetalKernelFunction::dispatch(c10::ArrayRef<uint64_t> length, c10::OptionalArrayRef<uint64_t> group) {
  need_encoder(encoder, "dispatch");
  TORCH_CHECK(!length.empty() && length.size() <= 3, "Dispatch dimentions must be less than 3 and non-empty");
  TORCH_CHECK(!group || group->size() == length.size(), "expected group_size to have ", length.size(), " elements");
  const auto at_most = getMaxThreadsPerThreadgroup();
  uint64_t threads[3] = {1, 1, 1}, in_group[3] = {1, 1, 1};
  for (size_t i = 0; i < length.size(); i++) {
    threads[i] = length[i];
    in_group[i] = group ? (*group)[i] : i == 0 ? length.size() == 1 ? std::min(length[0], at_most) : at_most : 1;
  }
  TORCH_CHECK_VALUE(in_group[0] * in_group[1] * in_group[2] <= at_most, "Threadgroup size exceeds ", at_most,
                    " limit");
  if (threads[0] == 0 || threads[1] == 0 || threads[2] == 0) {
    return; // for empty tensors, where a Mac runs nothing either
  }
  [encoder dispatchThreads:MTLSizeMake(threads[0], threads[1], threads[2])
      threadsPerThreadgroup:MTLSizeMake(in_group[0], in_group[1], in_group[2])];
}

} // namespace at::native::mps
