/*
 * A CUDA driver in another process. After a fault CUDA gives a process no other context; then, or
 * when $INGOT_CUDA_WORKER asks for it, a device has a process of its own, ingot-cuda-worker
 * (worker/worker.c), which loads the driver and makes the calls. On this side there is a table of
 * functions as of any driver (remote_driver.c) over a connection to the process (remote_process.c).
 *
 * One device, one process, one connection: a socket for calls, a segment of shared memory for
 * bytes. Work that is queued has no answer: if it fails, that is the result of the next wait for
 * its stream. Device pointers are the worker's; handles are numbers of objects that it keeps.
 */
#ifndef INGOT_RUNTIME_CUDA_REMOTE_H
#define INGOT_RUNTIME_CUDA_REMOTE_H

#include "runtime/cuda/driver.h"

/* ---- what goes through the socket ---- */

enum cuda_call {
    /* With an answer: */
    CUDA_CALL_HELLO, /* of the GPU in values[0]: the version of these messages */
    CUDA_CALL_DEVICE_NAME,
    CUDA_CALL_DEVICE_MEMORY,
    CUDA_CALL_DEVICE_ATTRIBUTE,
    CUDA_CALL_CONTEXT,
    CUDA_CALL_MODULE_LOAD,
    CUDA_CALL_MODULE_UNLOAD,
    CUDA_CALL_MODULE_FUNCTION,
    CUDA_CALL_MODULE_GLOBAL,
    CUDA_CALL_FUNCTION_GET,
    CUDA_CALL_FUNCTION_SET,
    CUDA_CALL_MEMORY_INFO,
    CUDA_CALL_MEMORY_ALLOCATE,
    CUDA_CALL_MEMORY_FREE,
    CUDA_CALL_UPLOAD,   /* to values[1], values[2] bytes at values[3] of the segment, which are read
                           then */
    CUDA_CALL_DOWNLOAD, /* the same from values[1]; they are there then */
    CUDA_CALL_STREAM_CREATE,
    CUDA_CALL_STREAM_DESTROY,
    CUDA_CALL_STREAM_QUERY,
    CUDA_CALL_STREAM_SYNCHRONIZE,
    CUDA_CALL_EVENT_CREATE,
    CUDA_CALL_EVENT_DESTROY,
    CUDA_CALL_EVENT_QUERY,
    CUDA_CALL_EVENT_ELAPSED,
    /* Without: the stream in values[0] keeps what went wrong. */
    CUDA_CALL_FIRST_QUEUED,
    CUDA_CALL_LAUNCH = CUDA_CALL_FIRST_QUEUED,
    CUDA_CALL_FILL,
    CUDA_CALL_COPY,
    CUDA_CALL_WRITE, /* the bytes of the message */
    CUDA_CALL_RECORD,
    CUDA_CALL_WAIT_EVENT,
    CUDA_CALL_COUNT,
};

#define CUDA_WORKER_MESSAGES 1 /* their version */
#define CUDA_WORKER_SOCKET   3 /* the worker's files */
#define CUDA_WORKER_SEGMENT  4
#define CUDA_SEGMENT_BYTES   ((size_t)8 << 20)
#define CUDA_MOST_BYTES      ((size_t)256 << 20) /* of one message */

struct cuda_request {
    uint32_t call;
    uint32_t size; /* of the bytes that follow */
    uint64_t values[7];
};

struct cuda_answer {
    int32_t result;
    uint32_t size; /* of the bytes that follow */
    uint64_t values[2];
};

struct cuda_launch_call { /* values[2] to [5] of a launch; the bytes are the parameter block */
    uint32_t grid[3], block[3], shared;
    uint32_t starts_early; /* programmatic serialization */
};

/* Everything through the socket, or false: the other side is gone (remote_bytes.c, for both). */
bool cuda_send_all(int to, const void *bytes, size_t size, int flags);
bool cuda_receive_all(int from, void *bytes, size_t size);

/* ---- connections, by number; remote_process.c ---- */

/* Starts a process for a GPU, which may then be opened through cuda_remote_driver as GPU *handle.
 */
ingot_status cuda_remote_start(int ordinal, int *handle, struct ig_error *error);
/* Ends it at once, with whatever it runs. */
void cuda_remote_end(int handle);
/* The device is closed: the process ends, and what belongs to it is gone. */
void cuda_remote_close(int handle);
/* How the process ended by itself: "its process (…) was ended by signal 9 (Killed)". */
#define CUDA_ENDING_TEXT 200
void cuda_remote_ending(int handle, char text[CUDA_ENDING_TEXT]);

/* The segment of a connection, with its lock held until cuda_remote_unlock; NULL when it is gone.
 */
void *cuda_remote_lock(uint32_t number);
void cuda_remote_unlock(uint32_t number);
/* One call: `bytes` of request->size go with it; `answer` is NULL for calls without one, and up to
 * `room` bytes of it come to `text`, with a 0 behind them if there is room. CU_WORKER_GONE when
 * there is no process. Takes the lock, which is recursive. */
cu_result cuda_remote_call(uint32_t number, const struct cuda_request *request, const void *bytes,
                           struct cuda_answer *answer, char *text, size_t room);
/* Its two parts, with the lock held: calls may be sent before the answers to earlier ones are here.
 */
cu_result cuda_remote_send(uint32_t number, const struct cuda_request *request, const void *bytes);
cu_result cuda_remote_receive(uint32_t number, struct cuda_answer *answer, char *text, size_t room);

/* ---- remote_driver.c ---- */

/* Functions as of a driver in this process. GPUs are what cuda_remote_start says. */
const struct cuda_driver *cuda_remote_driver(void);

#endif
