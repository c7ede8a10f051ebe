/* torch::mps, under the names of libtorch_cpu's, in front of which this library stands for extensions. */
namespace torch::mps {

bool is_available() {
  return at::mps::is_available();
}

void synchronize() {
  at::mps::synchronizeAllMPSStreams(at::mps::SyncType::COMMIT_AND_WAIT);
}

void commit() {
  at::mps::getCurrentMPSStream()->synchronize(at::mps::SyncType::COMMIT);
}

MTLCommandBuffer_t get_command_buffer() {
  auto* stream = at::mps::getCurrentMPSStream();
  stream->endKernelCoalescing(); // whoever asks for it will open an encoder
  return stream->commandBuffer();
}

DispatchQueue_t get_dispatch_queue() {
  return at::mps::getCurrentMPSStream()->queue();
}

} // namespace torch::mps
