/*
 * at::mps::MPSStream: a command queue, the command buffer that is being filled, and one compute encoder that is kept
 * open for kernel after kernel. Operators of PyTorch run on the CPU when they are called; they first wait for what is
 * here (ingot_bridge::settle), so that the order is that of the calls.
 */
@protocol IngotCommandBufferWork
- (BOOL)ingotHasWork;
@end

namespace ingot_bridge {
namespace {

constexpr int64_t POOL_STREAMS = 32;

std::recursive_mutex lock; // of everything here, and of the streams' members
std::array<at::mps::MPSStream*, POOL_STREAMS + 1> streams; // made when they are asked for
/* Command buffers that were committed and not waited for, by stream. */
std::array<std::vector<id<MTLCommandBuffer>>, POOL_STREAMS + 1> committed;
thread_local at::mps::MPSStream* current;

std::vector<id<MTLCommandBuffer>>& committed_of(const at::mps::MPSStream& stream) {
  return committed[stream.unwrap().id()];
}

/* Waits for them; throws the first error. */
void wait_for(std::vector<id<MTLCommandBuffer>>& buffers) {
  std::string message;
  for (id<MTLCommandBuffer> buffer : buffers) {
    [buffer waitUntilCompleted];
    if ([buffer error] && message.empty()) {
      message = [[[buffer error] localizedDescription] UTF8String];
    }
    [buffer release];
  }
  buffers.clear();
  TORCH_CHECK(message.empty(), "a kernel on the mps stream failed: ", message);
}

} // namespace
} // namespace ingot_bridge

namespace at::mps {

using ingot_bridge::committed_of;
using Lock = std::lock_guard<std::recursive_mutex>;

MPSStream::MPSStream(Stream stream) : _stream(stream) {
  TORCH_CHECK(_stream.device_type() == DeviceType::MPS, "a stream of device mps is needed, not of ",
              _stream.device());
  _commandQueue = [MPSDevice::getInstance()->device() newCommandQueue];
  _serialQueue = dispatch_queue_create("metal gpu stream", nullptr);
}

MPSStream::~MPSStream() {
  [_commandEncoder release];
  [_commandBuffer release];
  [_commandQueue release];
  [_errorBuffer release];
  dispatch_release(_serialQueue);
}

MPSCommandBuffer* MPSStream::commandBuffer() {
  Lock locked(ingot_bridge::lock);
  if (!_commandBuffer) {
    _commandBuffer = [[MPSCommandBuffer commandBufferFromCommandQueue:_commandQueue] retain];
  }
  return _commandBuffer;
}

id<MTLDevice> MPSStream::device() const {
  return [_commandQueue device];
}

id<MTLComputeCommandEncoder> MPSStream::commandEncoder() {
  Lock locked(ingot_bridge::lock);
  if (!_commandEncoder) {
    _commandEncoder = [[commandBuffer() computeCommandEncoder] retain];
  }
  return _commandEncoder;
}

void MPSStream::endKernelCoalescing() {
  Lock locked(ingot_bridge::lock);
  if (_commandEncoder) {
    id<MTLComputeCommandEncoder> encoder = _commandEncoder;
    _commandEncoder = nil;
    [encoder endEncoding];
    [encoder release];
  }
}

/* Gives what was encoded to the queue. The object that others may hold goes on with the next command buffer. */
void MPSStream::commit() {
  Lock locked(ingot_bridge::lock);
  endKernelCoalescing();
  if (!_commandBuffer || ![(id<IngotCommandBufferWork>)[_commandBuffer rootCommandBuffer] ingotHasWork]) {
    return;
  }
  id<MTLCommandBuffer> root = [[_commandBuffer rootCommandBuffer] retain];
  try {
    [_commandBuffer commitAndContinue];
  } catch (...) { // an encoder is open: what is in there cannot run any more
    [root release];
    [_commandBuffer release];
    _commandBuffer = nil;
    throw;
  }
  auto& waiting = committed_of(*this);
  while (!waiting.empty() && [waiting.front() status] == MTLCommandBufferStatusCompleted) {
    [waiting.front() release];
    waiting.erase(waiting.begin());
  }
  waiting.push_back(root);
}

void MPSStream::commitAndContinue() {
  commit();
}

void MPSStream::commitAndWait() {
  std::vector<id<MTLCommandBuffer>> waiting;
  {
    Lock locked(ingot_bridge::lock);
    commit();
    waiting.swap(committed_of(*this));
  }
  ingot_bridge::wait_for(waiting);
  checkLastError();
}

void MPSStream::flush() {
  commit();
}

void MPSStream::synchronize(SyncType type) {
  switch (type) {
    case SyncType::NONE:
      endKernelCoalescing();
      break;
    case SyncType::COMMIT:
    case SyncType::COMMIT_ADAPTIVE:
    case SyncType::COMMIT_AND_CONTINUE:
      commit();
      break;
    case SyncType::COMMIT_AND_WAIT:
      commitAndWait();
      break;
  }
}

void MPSStream::copy(id<MTLBuffer> source, id<MTLBuffer> target, size_t length, size_t source_offset,
                     size_t target_offset, uint64_t, SyncType type) {
  if (length == 0) {
    return;
  }
  {
    Lock locked(ingot_bridge::lock);
    @autoreleasepool {
      endKernelCoalescing();
      id<MTLBlitCommandEncoder> encoder = [commandBuffer() blitCommandEncoder];
      [encoder copyFromBuffer:source
                 sourceOffset:source_offset
                     toBuffer:target
            destinationOffset:target_offset
                         size:length];
      [encoder endEncoding];
    }
  }
  synchronize(type);
}

void MPSStream::copy_and_sync(id<MTLBuffer> source, id<MTLBuffer> target, size_t length, size_t source_offset,
                              size_t target_offset, bool non_blocking, uint64_t profile) {
  copy(source, target, length, source_offset, target_offset, profile,
       non_blocking ? SyncType::COMMIT : SyncType::COMMIT_AND_WAIT);
}

void MPSStream::executeMPSGraph(MPSGraph*, NSDictionary*, NSDictionary*, SyncType) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "MPSStream::executeMPSGraph: ingot has no MPSGraph");
}

void MPSStream::addCompletedHandler(MTLCommandBufferHandler block) {
  Lock locked(ingot_bridge::lock);
  [commandBuffer() addCompletedHandler:block];
}

id<MTLBuffer> MPSStream::getErrorBuffer() {
  Lock locked(ingot_bridge::lock);
  if (!_errorBuffer) {
    _errorBuffer = [device() newBufferWithLength:sizeof(c10::metal::ErrorMessages)
                                         options:MTLResourceStorageModeShared];
  }
  return _errorBuffer;
}

/* What kernels reported through TORCH_REPORT_ERROR, the first of it. */
void MPSStream::checkLastError() {
  Lock locked(ingot_bridge::lock);
  auto* messages = static_cast<c10::metal::ErrorMessages*>([_errorBuffer contents]);
  if (!messages || messages->count == 0) {
    return;
  }
  const c10::metal::ErrorMessage first = messages->msg[0];
  messages->count = 0;
  throw c10::AcceleratorError({first.func, first.file, first.line}, 1, first.message);
}

MPSStream* getStreamByID(int64_t id) {
  TORCH_CHECK(id >= 0 && id <= ingot_bridge::POOL_STREAMS, "there are mps streams 0 to ", ingot_bridge::POOL_STREAMS,
              ", but not ", id);
  Lock locked(ingot_bridge::lock);
  auto& stream = ingot_bridge::streams[id];
  if (!stream) {
    stream = new MPSStream(Stream(Stream::UNSAFE, c10::Device(DeviceType::MPS, 0), id));
  }
  return stream;
}

MPSStream* getDefaultMPSStream() {
  return getStreamByID(0);
}

MPSStream* getStreamFromPool() {
  static std::atomic<int64_t> next{0};
  return getStreamByID(next++ % ingot_bridge::POOL_STREAMS + 1);
}

MPSStream* getCurrentMPSStream() {
  return ingot_bridge::current ? ingot_bridge::current : getDefaultMPSStream();
}

void setCurrentMPSStream(MPSStream* stream) {
  ingot_bridge::current = stream;
}

void synchronizeAllMPSStreams(SyncType type) {
  for (auto* stream : ingot_bridge::streams) {
    if (stream) {
      stream->synchronize(type);
    }
  }
}

MPSStream* MPSStreamImpl::_stream = nullptr;

MPSStream* MPSStreamImpl::getInstance() {
  return _stream = getDefaultMPSStream();
}

void dispatch_sync_with_rethrow(dispatch_queue_t queue, void (^block)()) {
  dispatch_sync(queue, block); // here exceptions pass through
}

} // namespace at::mps

namespace ingot_bridge {

bool has_work() {
  at::mps::Lock locked(lock);
  for (auto* stream : streams) {
    if (stream &&
        (!committed_of(*stream).empty() ||
         [(id<IngotCommandBufferWork>)[stream->commandBuffer() rootCommandBuffer] ingotHasWork])) {
      return true;
    }
  }
  return false;
}

void settle() {
  @autoreleasepool {
    for (auto* stream : streams) {
      if (stream) {
        TORCH_CHECK(!ingot_dispatch_is_on_queue(stream->queue()),
                    "an operator on mps tensors was called in a block on the mps stream's queue, ",
                    "where it waits for itself: on a Mac it would never return");
        stream->synchronize(at::mps::SyncType::COMMIT_AND_WAIT);
      }
    }
    std::unique_ptr<char, decltype(&free)> findings(ingot_metal_take_findings(), free);
    TORCH_CHECK(!findings, "the sanitizer found in kernels on the mps stream:\n", findings.get());
  }
}

} // namespace ingot_bridge
