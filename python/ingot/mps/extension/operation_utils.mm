/* The helpers of ATen/native/mps/OperationUtils.h that extensions call, and a profiler that records nothing. */
namespace at::native::mps {
namespace {

struct TypeNames {
  ScalarType type;
  const char *metal, *shown, *brief;
};

const TypeNames type_names[] = {
    {ScalarType::Double, "float", "Float32", "f32"},
    {ScalarType::Float, "float", "Float32", "f32"},
    {ScalarType::Half, "half", "Float16", "f16"},
    {ScalarType::BFloat16, "bfloat", "BFloat16", "bf16"},
    {ScalarType::Int, "int", "Int32", "i32"},
    {ScalarType::Long, "long", "Int64", "i64"},
    {ScalarType::Short, "short", "Int16", "i16"},
    {ScalarType::Char, "char", "Int8", "i8"},
    {ScalarType::Byte, "uchar", "UInt8", "u8"},
    {ScalarType::UInt16, "ushort", "UInt16", "u16"},
    {ScalarType::UInt32, "uint", "UInt32", "u32"},
    {ScalarType::UInt64, "ulong", "UInt64", "u64"},
    {ScalarType::Bool, "bool", "Bool", "b8"},
    {ScalarType::ComplexHalf, "half2", "ComplexFloat16", "c16"},
    {ScalarType::ComplexFloat, "float2", "ComplexFloat32", "c32"},
};

const TypeNames& names_of(ScalarType type) {
  for (const auto& names : type_names) {
    if (names.type == type) {
      return names;
    }
  }
  TORCH_CHECK_TYPE(false, "Undefined type ", type);
}

} // namespace

std::string scalarToMetalTypeString(const c10::ScalarType& type) {
  TORCH_CHECK_TYPE(type != ScalarType::Double, "float64 is not supported on MPS");
  return names_of(type).metal;
}

std::string getMPSTypeString(ScalarType type, bool short_name) {
  return short_name ? names_of(type).brief : names_of(type).shown;
}

std::string getArrayRefString(const IntArrayRef sizes) {
  return fmt::format("{}", fmt::join(sizes, ","));
}

std::string getTensorsStringKey(const TensorList& tensors, bool short_dtype, bool exclude_shape) {
  std::string key;
  for (const auto& tensor : tensors) {
    key += ':';
    if (!tensor.defined()) {
      key += "Undefined";
      continue;
    }
    key += getMPSTypeString(tensor.scalar_type(), short_dtype) + '[';
    if (tensor.dim() == 0) {
      key += "Scalar";
    } else {
      key += exclude_shape ? "-1" : getArrayRefString(tensor.sizes());
    }
    key += ']';
  }
  return key;
}

std::string get_mem_format_string(c10::MemoryFormat format) {
  switch (format) {
    case MemoryFormat::Contiguous:
      return "Contiguous";
    case MemoryFormat::ChannelsLast:
      return "ChannelsLast";
    default:
      TORCH_CHECK(false, "no name for memory format ", format);
  }
}

size_t compute_storage_numel_distance(const TensorBase& tensor) {
  size_t distance = 1;
  for (int64_t i = 0; i < tensor.dim(); i++) {
    if (tensor.size(i) == 0) {
      return 0;
    }
    distance += (tensor.size(i) - 1) * tensor.stride(i);
  }
  return distance;
}

void resize_tensor(Tensor* output) {
  output->resize_(output->sizes());
}

Tensor wrapped_scalar_tensor_mps(const Scalar& scalar, const Device device) {
  auto tensor = at::scalar_tensor(scalar, at::device(device).dtype(
      scalar.isFloatingPoint() ? kFloat : scalar.isBoolean() ? kBool : scalar.isComplex() ? kComplexFloat : kLong));
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

MPSScalar getMPSScalar(const Scalar& scalar, ScalarType type) {
  MPSScalar made;
  made.type = type;
  made.size = c10::elementSize(type);
  switch (type) {
    case ScalarType::Double:
    case ScalarType::Float:
      made.size = sizeof(float);
      made.value.f = scalar.to<float>();
      break;
    case ScalarType::Half:
      made.value.h = scalar.to<at::Half>();
      break;
    case ScalarType::BFloat16:
      made.value.bf16 = scalar.to<at::BFloat16>();
      break;
    case ScalarType::ComplexFloat:
      made.value.cf = scalar.to<c10::complex<float>>();
      break;
    case ScalarType::ComplexHalf:
      made.value.ch = scalar.to<c10::complex<at::Half>>();
      break;
    default:
      TORCH_CHECK_TYPE(c10::isIntegralType(type, true), "no Metal scalar of type ", type);
      made.value.i = scalar.to<int64_t>();
  }
  return made;
}

} // namespace at::native::mps

namespace at::mps {

/* All its members are zero: nothing is enabled. It is never constructed, nor destroyed. */
Profiler::MPSProfiler& getMPSProfiler() {
  alignas(Profiler::MPSProfiler) static unsigned char place[sizeof(Profiler::MPSProfiler)];
  return *reinterpret_cast<Profiler::MPSProfiler*>(place);
}

namespace Profiler {

uint64_t MPSProfiler::beginProfileKernel(const void*, const std::string&, bool, MPSStream*) {
  return 0;
}
uint64_t MPSProfiler::beginProfileKernel(const void*, const std::string&, bool) {
  return 0;
}
uint64_t MPSProfiler::beginProfileKernel(const void*, const std::string&, const TensorList&, MPSStream*) {
  return 0;
}
uint64_t MPSProfiler::beginProfileKernel(const void*, const std::string&, const TensorList&) {
  return 0;
}
void MPSProfiler::beginProfileGPUInterval(const void*, MPSStream*) {}
void MPSProfiler::beginProfileGPUInterval(const void*) {}
void MPSProfiler::endProfileKernel(const void*, MPSStream* stream, SyncType type) {
  if (stream && type != SyncType::NONE) {
    stream->synchronize(type);
  }
}
void MPSProfiler::endProfileKernel(const void*, SyncType) {}
bool MPSProfiler::isCaptureEnabled() const {
  return false;
}
bool MPSProfiler::isCapturing() const {
  return false;
}

} // namespace Profiler
} // namespace at::mps
