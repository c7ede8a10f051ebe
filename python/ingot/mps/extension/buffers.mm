/* The objects of mps storages: MTLBuffers in the place that ingot._C made for them. */
#include <Python.h>
#include <ingot-metal/placed_buffer.h>

namespace ingot_bridge {
namespace {

const mps_host* attached;

mps_buffer* buffer_at(const void* place) {
  return static_cast<mps_buffer*>(const_cast<void*>(place));
}

const ingot_metal_counts counts = {
    .retain = [](void* place) { attached->retain(buffer_at(place)); },
    .release = [](void* place) { attached->release(buffer_at(place)); },
    .references = [](const void* place) { return attached->references(buffer_at(place)); },
    .release_memory = [](void* place) { attached->release_memory(buffer_at(place)); },
};

void adopt(mps_buffer* buffer) {
  if (ingot_metal_place_buffer(buffer->object, sizeof buffer->object, buffer->memory, buffer->length, &counts)) {
    attached->retain_memory(buffer);
  }
}

void abandon(mps_buffer* buffer) {
  static const unsigned char nothing[sizeof(void*)] = {};
  if (memcmp(buffer->object, nothing, sizeof nothing) != 0) {
    ingot_metal_remove_buffer(buffer->object);
  }
}

int settle_for_python(char* message, size_t size) {
  try {
    settle();
    return 0;
  } catch (const c10::Error& error) {
    snprintf(message, size, "%s", error.what_without_backtrace());
  } catch (const std::exception& error) {
    snprintf(message, size, "%s", error.what());
  }
  return 1;
}

const mps_bridge bridge = {
    .version = MPS_BRIDGE_VERSION,
    .adopt = adopt,
    .abandon = abandon,
    .has_work = [] { return static_cast<int>(has_work()); },
    .settle = settle_for_python,
};

/* Runs while Python imports an extension, and so holds its lock. */
__attribute__((constructor)) void attach() {
  if (!Py_IsInitialized()) {
    return;
  }
  ingot_throw_objects_as_cxx();
  auto* found = static_cast<const mps_host*>(PyCapsule_Import("ingot._C.mps_host", 0));
  PyErr_Clear();
  if (found && found->version == MPS_BRIDGE_VERSION) {
    attached = found;
    if (!found->attach(&bridge)) {
      attached = nullptr;
    }
  }
}

} // namespace

const mps_host& host() {
  TORCH_CHECK(attached, "this extension was built for ingot.mps, which is not on in this process: ",
              "call ingot.mps.enable() before it is imported, or run pytest --ingot-mps");
  return *attached;
}

} // namespace ingot_bridge
