/* Which bytes of buffers count as written: what a host, a blit or ingot_buffer_contents does. */
#include <string.h>

#include "check.h"
#include "ingot/ingot.h"
#include "runtime/objects.h"
#include "runtime/sanitize/sanitizer.h"

static bool is_unwritten(const ingot_buffer *buffer, uint64_t offset, uint64_t length) {
    return ig_sanitizer_is_unwritten(buffer->device->sanitizer, buffer->address + offset, length);
}

static void test_host_and_blits(ingot_device *device, ingot_stream *stream) {
    ingot_buffer *buffer = NULL, *view = NULL;
    const char bytes[16] = "fifteen letters";
    CHECK(ingot_buffer_create(device, 256, &buffer) == INGOT_OK);
    CHECK(is_unwritten(buffer, 0, 256) && is_unwritten(buffer, 255, 1));
    CHECK(ingot_stream_upload(stream, buffer, 16, bytes, 16) == INGOT_OK);
    CHECK(!is_unwritten(buffer, 16, 16) && is_unwritten(buffer, 15, 2));
    CHECK(is_unwritten(buffer, 31, 2));
    CHECK(ingot_stream_fill(stream, buffer, 64, 64, 7) == INGOT_OK);
    CHECK(ingot_stream_wait(stream) == INGOT_OK);
    CHECK(!is_unwritten(buffer, 64, 64) && is_unwritten(buffer, 128, 1));
    CHECK(ingot_buffer_create_view(buffer, 128, 32, &view) == INGOT_OK);
    CHECK(is_unwritten(view, 0, 32));
    CHECK(ingot_buffer_contents(view) != NULL);
    CHECK(!is_unwritten(buffer, 128, 32) && is_unwritten(buffer, 160, 1));
    CHECK(ingot_buffer_contents(buffer) != NULL);
    CHECK(!is_unwritten(buffer, 0, 256));
    ingot_buffer_release(view);
    ingot_buffer_release(buffer);
}

/* The host's own memory has what the host put there; a new buffer where one was is new. */
static void test_wrapped_and_released(ingot_device *device) {
    static char memory[64];
    ingot_buffer *buffer = NULL;
    CHECK(ingot_buffer_wrap(device, memory, sizeof memory, NULL, NULL, &buffer) == INGOT_OK);
    CHECK(!is_unwritten(buffer, 0, sizeof memory));
    ingot_buffer_release(buffer);
    for (int i = 0; i < 3; i++) {
        CHECK(ingot_buffer_create(device, 64, &buffer) == INGOT_OK);
        CHECK(is_unwritten(buffer, 0, 1));
        uint64_t address = buffer->address;
        ingot_buffer_release(buffer);
        CHECK(!ig_sanitizer_is_unwritten(device->sanitizer, address, 64));
    }
}

int main(void) {
    ingot_device_desc desc = {.sanitize = "uninitialised"};
    ingot_device *device = NULL;
    ingot_stream *stream = NULL;
    CHECK(ingot_device_open("cpu", &desc, &device) == INGOT_OK);
    CHECK(ingot_stream_create(device, &stream) == INGOT_OK);
    test_host_and_blits(device, stream);
    test_wrapped_and_released(device);
    ingot_stream_release(stream);
    ingot_device_release(device);
    return check_report();
}
