/* The inside of the Metal device: C on the bridge. */
#ifndef INGOT_RUNTIME_METAL_METAL_H
#define INGOT_RUNTIME_METAL_METAL_H

#include <pthread.h>

#include "ingot/metal.h"
#include "runtime/metal/bridge.h"
#include "runtime/objects.h"

/* Version of what the code of target "metal" in an archive is: options, then source. */
#define IG_METAL_ABI_VERSION 1u

struct metal_library; /* metal_library.c */
struct metal_pipeline;
struct metal_stream;

struct metal_device {
    ingot_device base;
    const struct ig_metal_bridge *bridge;
    void *handle;
    struct ig_metal_device_info metal;
    pthread_mutex_t lock;            /* for the lists below */
    struct metal_library *libraries; /* the latest first */
    struct metal_pipeline *pipelines;
    struct metal_stream *streams;
};

extern const struct ig_device_kind ig_metal_device_kind; /* metal_device.c */

/* What ingot_buffer.memory is. */
struct metal_memory {
    void *buffer;
    uint64_t offset; /* of the first byte: wrapped memory begins inside of a page */
};
/* The memory of a buffer, which may be a part of another, and where it begins there. */
const struct metal_memory *metal_memory_of(const ingot_buffer *buffer, uint64_t *offset);

/* Makes an error of the bridge's message, which it frees. */
ingot_status metal_fail(struct ig_error *error, ingot_status status, char *message,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ---- bridge_load.c ---- */
/* NULL where there is no Metal; *reason says why, and may be NULL. */
const struct ig_metal_bridge *metal_bridge(const char **reason);

/* ---- metal_library.c: Metal's libraries and pipelines, by source ---- */
/* One of compiled bytes, which `key` then finds (NULL: there is none). */
ingot_status metal_library_from_data(struct metal_device *device, const void *bytes, size_t size,
                                     uint8_t key[32], void **library, struct ig_error *error);
void *metal_library_find(struct metal_device *device, const uint8_t key[32]);
/* One of `text`; it lives as long as the device. */
ingot_status metal_library_get(struct metal_device *device, const char *text, size_t length,
                               const struct ig_metal_compile_options *options, void **library,
                               struct ig_error *error);
struct metal_pipeline {
    struct metal_pipeline *next; /* of the device's list; not for users */
    uint8_t key[32];
    void *handle;
    struct ig_metal_pipeline_info info;
    unsigned references; /* under the device's lock; the list counts as one */
};
/* What a pipeline is made of; `constants` as in struct ig_variant. */
struct metal_pipeline_desc {
    void *library;
    const char *kernel, *constants;
    bool no_cache;
};
/* The caller releases it. `binding` may be NULL; it is called only where the pipeline is new. */
ingot_status metal_pipeline_get(struct metal_device *device, const struct metal_pipeline_desc *desc,
                                void *context,
                                bool (*binding)(void *, const struct ig_metal_binding *),
                                struct metal_pipeline **pipeline, struct ig_error *error);
void metal_pipeline_release(struct metal_device *device, struct metal_pipeline *pipeline);
void metal_libraries_free(struct metal_device *device);

/* ---- metal_binary.c: machine code of pipelines, in the cache ---- */
struct ig_blob;
/* A pipeline's key, from its library's. */
void metal_binary_key(const struct metal_device *device, const uint8_t library[32],
                      const struct metal_pipeline_desc *desc, char hex[65]);
/* Fills in what was kept, which points into the result (NULL: nothing was). */
struct ig_blob *metal_binary_find(const char *hex, struct ig_metal_binary *binary);
/* Keeps and frees what was made. */
void metal_binary_keep(const char *hex, const char *kernel, struct ig_metal_binary *binary);

/* ---- metal_compile.c ---- */
ingot_status metal_compile(ingot_device *device, const struct ig_compilation *wanted, char **bytes,
                           size_t *size, struct ig_error *error);
const struct ig_code *metal_code_find(ingot_device *device, const struct ig_variant *variant);
ingot_status metal_code_load(ingot_device *device, const struct ig_variant *variant,
                             const struct ig_code *code, void **loaded, struct ig_error *error);
void metal_code_unload(ingot_device *device, void *loaded);
uint32_t metal_code_threads(const void *loaded);

/* ---- metal_buffer.c ---- */
ingot_status metal_buffer_allocate(ingot_device *device, ingot_buffer *buffer,
                                   struct ig_error *error);
void metal_buffer_free(ingot_device *device, ingot_buffer *buffer);
ingot_status metal_buffer_wrap(ingot_device *device, ingot_buffer *buffer, struct ig_error *error);
void metal_buffer_unwrap(ingot_device *device, ingot_buffer *buffer);

/* ---- metal_stream.c ---- */
ingot_status metal_stream_open(ingot_device *device, void **stream, struct ig_error *error);
ingot_status metal_stream_wrap(ingot_device *device, void *native, void **stream,
                               struct ig_error *error);
void metal_stream_close(void *stream);
ingot_status metal_stream_dispatch(void *stream, const struct ig_launch *launch,
                                   struct ig_error *error);
ingot_status metal_stream_copy(void *stream, ingot_buffer *source, uint64_t source_offset,
                               ingot_buffer *destination, uint64_t destination_offset,
                               uint64_t length, struct ig_error *error);
ingot_status metal_stream_fill(void *stream, ingot_buffer *buffer, uint64_t offset, uint64_t length,
                               uint8_t value, struct ig_error *error);
ingot_status metal_stream_wait(void *stream, struct ig_error *error);
ingot_status metal_stream_record(void *stream, ingot_event *event, struct ig_error *error);
ingot_status metal_stream_wait_event(void *stream, ingot_event *event, struct ig_error *error);
/* Until all that was submitted is over; errors stay where they are. */
void metal_streams_drain(struct metal_device *device);

/* A committed command buffer, counted: streams wait for it, and events are recorded in it. */
struct metal_command;
struct metal_command *metal_command_retain(struct metal_command *command);
void metal_command_release(struct metal_command *command);
void metal_command_wait(struct metal_command *command);
/* False while it runs. */
bool metal_command_done(struct metal_command *command, double *end);

/* ---- metal_event.c ---- */
struct metal_event {
    struct metal_device *device;
    void *handle;
    pthread_mutex_t lock;
    uint64_t value;                /* of the last record; 0: none */
    struct metal_command *command; /* whose end is the record */
    const void *stream;            /* of the last record */
};
ingot_status metal_event_open(ingot_device *device, void **event, struct ig_error *error);
void metal_event_close(void *event);
ingot_status metal_event_wait(void *event, struct ig_error *error);
bool metal_event_done(void *event);
bool metal_event_elapsed(void *start, void *end, double *seconds);
bool metal_event_time(void *event, double *seconds);

#endif
