/*
 * The isolated CPU device: every dispatch runs in a child process that can compute and nothing
 * else.
 *
 * Buffers are memory that parent and child share. A dispatch waits for the stream's earlier work,
 * forks, and returns when the child is done. The child closes all files but a pipe, gives up its
 * rights (base/confine.h), loads the kernel's code, gives up loading too, and runs the dispatch as
 * the device does elsewhere. Messages of the kernel and the result come back through the pipe; what
 * the child says is checked as anybody's input. The code is never loaded into this process.
 * Does not hide the memory of this process from the kernel, which sees a copy of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/file.h"
#include "base/process.h"
#include "runtime/cpu/cpu.h"

#define MEMORY_ROOM ((uint64_t)8 << 30) /* that a child may map beyond what it starts with */
#define MAX_MESSAGE (1u << 20)
#define GRACE       5.0 /* seconds beyond the time limit, for a child that does not end itself */

enum { RECORD_LOG = 1, RECORD_RESULT = 2, PIPE = 3 };
struct record {
    uint32_t kind, value, length; /* value: a level, or an ingot_status */
};

/* ---- code and buffers ---- */

ingot_status cpu_isolated_code_load(ingot_device *device, const struct ig_variant *variant,
                                    const struct ig_code *code, void **loaded,
                                    struct ig_error *error) {
    (void)device;
    (void)code; /* the child that runs it loads it */
    struct cpu_code *result = calloc(1, sizeof *result);
    if (!result) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to load kernel \"%s\"",
                       variant->kernel);
    }
    result->fd = -1;
    *loaded = result;
    return INGOT_OK;
}

void cpu_isolated_code_unload(ingot_device *device, void *loaded) {
    (void)device;
    free(loaded);
}

static size_t mapped_size(const ingot_buffer *buffer) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (buffer->length + page - 1) / page * page;
}

ingot_status cpu_isolated_buffer_allocate(ingot_device *device, ingot_buffer *buffer,
                                          struct ig_error *error) {
    (void)device;
    size_t size = mapped_size(buffer), page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory =
        mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no shared memory for a buffer of %llu bytes",
                       (unsigned long long)buffer->length);
    }
    mprotect(memory + size, page, PROT_NONE);
    buffer->contents = memory;
    buffer->address = (uintptr_t)memory;
    return INGOT_OK;
}

void cpu_isolated_buffer_free(ingot_device *device, ingot_buffer *buffer) {
    (void)device;
    munmap(buffer->contents, mapped_size(buffer) + (size_t)sysconf(_SC_PAGESIZE));
}

ingot_status cpu_isolated_buffer_wrap(ingot_device *device, ingot_buffer *buffer,
                                      struct ig_error *error) {
    (void)device;
    return ig_fail(error, INGOT_UNSUPPORTED,
                   "an isolated device shares no memory with the program but its own buffers: %llu "
                   "bytes cannot be wrapped; create a buffer, and copy",
                   (unsigned long long)buffer->length);
}

/* ---- the child ---- */

static void tell(uint32_t kind, uint32_t value, const char *text) {
    size_t length = strlen(text);
    struct record record = {kind, value, length < MAX_MESSAGE ? (uint32_t)length : MAX_MESSAGE};
    if (!ig_write_all(PIPE, &record, sizeof record)) {
        ig_write_all(PIPE, text, record.length);
    }
}

static void log_to_pipe(void *context, int level, const char *message) {
    (void)context;
    tell(RECORD_LOG, (uint32_t)level, message);
}

static bool keep_only(int pipe, int null) {
    if (dup2(pipe, PIPE) != PIPE) {
        return false;
    }
    for (int i = 0; i < PIPE; i++) {
        if (dup2(null, i) != i) {
            return false;
        }
    }
    return syscall(436 /* close_range */, PIPE + 1, ~0u, 0) == 0;
}

/* Of addresses: what there is, which is the parent's too, and some more. */
static void limit_memory(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    bool known = file && fscanf(file, "%lu", &pages) == 1;
    if (file) {
        fclose(file);
    }
    if (known) {
        rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_ROOM;
        setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    }
}

static void limit_resources(double seconds) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    if (seconds > 0 && seconds < 1e6) { /* of all threads together */
        rlim_t most = (rlim_t)(seconds + GRACE) * CPU_MAX_RANKS;
        setrlimit(RLIMIT_CPU, &(struct rlimit){most, most});
    }
}

static ingot_status no_rights(const char *what, int code, struct ig_error *error) {
    return ig_fail(error, INGOT_UNSUPPORTED,
                   "this system cannot isolate a kernel: %s: %s (Linux 5.13 with Landlock and "
                   "seccomp is needed)",
                   what, strerror(code));
}

static ingot_status run_in_child(struct cpu_stream *stream, const struct ig_launch *launch,
                                 struct ig_error *error) {
    static const char *const loading[] = {"/usr", "/lib", "/lib64", "/etc/ld.so.cache",
                                          "/proc/self"};
    ingot_kernel *kernel = launch->kernel;
    const struct ig_code *packed = kernel->device->ops->code_find(kernel->device, kernel->variant);
    struct ig_code code;
    int refused = ig_confine_program(
        &(struct ig_confinement){loading, sizeof loading / sizeof *loading, NULL});
    if (refused) {
        return no_rights("files cannot be taken away", refused, error);
    }
    ingot_status status = ig_code_open(packed, &code, error);
    if (status == INGOT_OK) {
        status = cpu_code_load(kernel->device, kernel->variant, &code, &kernel->loaded, error);
        ig_code_close(packed, &code);
    }
    if (status != INGOT_OK) {
        return status;
    }
    limit_memory();
    limit_resources(launch->time_limit_seconds);
    refused = ig_confine_computation();
    if (refused) {
        return no_rights("system calls cannot be taken away", refused, error);
    }
    status = cpu_stream_dispatch(stream, launch, error);
    return status == INGOT_OK ? cpu_stream_wait(stream, error) : status;
}

static _Noreturn void child(struct cpu_stream *stream, const struct ig_launch *launch, int pipe,
                            int null, pid_t parent) {
    struct ig_error error = {0};
    ig_process_end_with(parent);
    if (keep_only(pipe, null)) {
        ingot_set_log_function(log_to_pipe, NULL);
        ingot_status status = run_in_child(stream, launch, &error);
        tell(RECORD_RESULT, (uint32_t)status, status ? ig_error_text(&error) : "");
    }
    _exit(0);
}

/* ---- the parent ---- */

struct answer {
    struct ig_text bytes;
    size_t at;
    bool has_result;
    ingot_status status;
};

static ingot_status known_status(uint32_t value) {
    const char *name = ingot_status_name((ingot_status)value);
    return strcmp(name, "INGOT_UNKNOWN_STATUS") ? (ingot_status)value : INGOT_INTERNAL_ERROR;
}

/* Takes whole records off what has come; a text that no child of ours would write ends it. */
static bool take_records(struct answer *answer, struct ig_error *error) {
    struct record record;
    while (answer->bytes.size - answer->at >= sizeof record) {
        memcpy(&record, answer->bytes.data + answer->at, sizeof record);
        if (record.length > MAX_MESSAGE || answer->has_result) {
            return false;
        }
        if (answer->bytes.size - answer->at - sizeof record < record.length) {
            return true;
        }
        char *text = strndup(answer->bytes.data + answer->at + sizeof record, record.length);
        answer->at += sizeof record + record.length;
        if (record.kind == RECORD_LOG && text) {
            ig_log_message((int)record.value, text);
        } else if (record.kind == RECORD_RESULT) {
            answer->has_result = true;
            answer->status = record.value ? known_status(record.value) : INGOT_OK;
            if (answer->status != INGOT_OK) {
                ig_fail(error, answer->status, "%s", text ? text : "");
            }
        }
        free(text);
    }
    return true;
}

/* Until the child closes the pipe or its time is over; false then. */
static bool listen_to(int pipe, double limit, struct answer *answer, struct ig_error *error) {
    uint64_t end = limit > 0 ? cpu_now() + (uint64_t)((limit + GRACE) * 1e9) : UINT64_MAX;
    for (;;) {
        uint64_t now = cpu_now();
        struct pollfd poll_one = {pipe, POLLIN, 0};
        if (now >= end) {
            return false;
        }
        uint64_t left = end == UINT64_MAX ? 1000 : (end - now) / 1000000 + 1;
        if (poll(&poll_one, 1, left < 1000 ? (int)left : 1000) <= 0) {
            continue;
        }
        char block[65536];
        ssize_t got = read(pipe, block, sizeof block);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return true;
        }
        ig_text_append(&answer->bytes, block, (size_t)got);
        if (answer->bytes.failed || !take_records(answer, error) || answer->has_result) {
            return true;
        }
    }
}

/* A child that has nothing more to say is at its end, or is brought there. */
static int end_child(pid_t pid, bool at_once) {
    int state = 0;
    for (int tries = 0; !at_once && tries < 1000; tries++) {
        pid_t got = waitpid(pid, &state, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR)) {
            return state;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
    return state;
}

static ingot_status judge(const struct ig_launch *launch, const struct answer *answer, bool in_time,
                          int state, struct ig_error *error) {
    const char *kernel = launch->kernel->variant->kernel;
    if (!in_time) {
        return ig_fail(error, INGOT_TIMEOUT, "kernel \"%s\": ran past its time limit of %g s",
                       kernel, launch->time_limit_seconds);
    }
    if (!answer->has_result && WIFSIGNALED(state) && WTERMSIG(state) == SIGSYS) {
        ig_error_clear(error);
        return ig_fail(
            error, INGOT_KERNEL_FAULT,
            "kernel \"%s\" was ended: it tried a system call that an isolated kernel may "
            "not make (SIGSYS)",
            kernel);
    }
    if (answer->has_result) {
        return answer->status;
    }
    return ig_fail(error, INGOT_KERNEL_FAULT,
                   "kernel \"%s\" ended its isolated process, by %s %d, without a result", kernel,
                   WIFSIGNALED(state) ? "signal" : "status",
                   WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
}

ingot_status cpu_isolated_dispatch(void *handle, const struct ig_launch *launch,
                                   struct ig_error *error) {
    struct cpu_stream *stream = handle;
    ingot_status status = cpu_stream_wait(stream, error);
    if (status != INGOT_OK) {
        return status;
    }
    int pipes[2] = {-1, -1}, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || pipe2(pipes, O_CLOEXEC)) {
        status =
            ig_fail(error, INGOT_IO_ERROR, "no pipe for an isolated kernel: %s", strerror(errno));
        close(null);
        return status;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        child(stream, launch, pipes[1], null, parent);
    }
    int code = errno;
    close(null);
    close(pipes[1]);
    if (pid < 0) {
        close(pipes[0]);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no process for an isolated kernel: %s",
                       strerror(code));
    }
    struct answer answer = {0};
    bool in_time = listen_to(pipes[0], launch->time_limit_seconds, &answer, error);
    close(pipes[0]);
    int state = end_child(pid, !in_time || answer.has_result);
    ig_text_free(&answer.bytes);
    return judge(launch, &answer, in_time, state, error);
}
