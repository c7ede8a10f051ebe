/* at::mps::MPSDevice, and an allocator. */
namespace at::mps {

MPSDevice* MPSDevice::_device = nullptr;

MPSDevice::MPSDevice() : _mtl_device(MTLCreateSystemDefaultDevice()) {
  TORCH_CHECK(_mtl_device, "there is no Metal device");
}

MPSDevice::~MPSDevice() {
  [_mtl_device release];
}

MPSDevice* MPSDevice::getInstance() {
  static MPSDevice* only = [] {
    ingot_bridge::host();
    return _device = new MPSDevice();
  }();
  return only;
}

/* The newest that PyTorch asks about and torch.backends.mps claims (python/ingot/mps/surface.py): macOS 26. */
bool is_macos_at_least(MacOSVersion version) {
  return version <= MacOSVersion::MACOS_26_0;
}

bool MPSDevice::isMacOS13Plus(MacOSVersion version) const {
  return is_macos_at_least(version);
}

std::string MPSDevice::getName() const {
  return [[_mtl_device name] UTF8String];
}

unsigned MPSDevice::getCoreCount() const {
  return static_cast<unsigned>([[NSProcessInfo processInfo] processorCount]);
}

bool is_available() {
  return MPSDevice::getInstance()->device() != nil;
}

bool is_apple_family_or_newer(AppleGPUFamily family) {
  return [MPSDevice::getInstance()->device() supportsFamily:static_cast<MTLGPUFamily>(family)];
}

MetalLanguageVersion metal_language_version() {
  return MetalLanguageVersion::METAL_4_0;
}

bool has_mpp() {
  return false;
}

namespace {

/* Memory as tensors have it: the pointer is an MTLBuffer. */
struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t size) override {
    auto options = at::TensorOptions().dtype(at::kByte).device(c10::DeviceType::MPS, 0);
    auto* bytes = new Tensor(at::empty({static_cast<int64_t>(size)}, options));
    return {bytes->storage().mutable_data(), bytes, [](void* held) { delete static_cast<Tensor*>(held); },
            c10::Device(c10::DeviceType::MPS, 0)};
  }
  void copy_data(void* target, const void* source, size_t count) const override {
    ingot_bridge::settle();
    memcpy([static_cast<id<MTLBuffer>>(target) contents],
           [static_cast<id<MTLBuffer>>(const_cast<void*>(source)) contents], count);
  }
};

} // namespace

at::Allocator* GetMPSAllocator() {
  static Allocator allocator;
  return &allocator;
}

} // namespace at::mps

namespace at::detail {

TensorBase empty_mps(IntArrayRef size, const TensorOptions& options) {
  return at::empty(size, options.device(c10::DeviceType::MPS, 0));
}

TensorBase empty_mps(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                     std::optional<Device>, std::optional<bool> pinned, std::optional<c10::MemoryFormat> format) {
  return at::empty(size, dtype, layout, Device(c10::DeviceType::MPS, 0), pinned, format);
}

TensorBase empty_strided_mps(IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  return at::empty_strided(size, stride, options.device(c10::DeviceType::MPS, 0));
}

TensorBase empty_strided_mps(IntArrayRef size, IntArrayRef stride, ScalarType dtype, std::optional<Device>) {
  return at::empty_strided(size, stride, TensorOptions().dtype(dtype).device(c10::DeviceType::MPS, 0));
}

} // namespace at::detail
