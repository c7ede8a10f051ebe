/* The processes that run the driver for devices: starting, calls, how they end. See remote.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "runtime/cuda/remote.h"
#include "runtime/fork.h"
#include "runtime/objects.h"

#define PROGRAM  "ingot-cuda-worker"
#define VARIABLE "INGOT_CUDA_WORKER_PROGRAM"

enum { MOST_CONNECTIONS = 64, LAST_NUMBER = (1 << 24) - 1, ORDINAL_BITS = 6 };
#define SECONDS_TO_LEAVE 2.0 /* for a process that was asked to end */
#define SECONDS_TO_DIE   5.0 /* for one that was killed */

/* Connection N is in places[N % MOST_CONNECTIONS]. `talk` is held during a call; `life`, which is
 * the later of the two, guards the process. */
struct connection {
    atomic_uint number; /* 0: none */
    pthread_mutex_t talk, life;
    int socket;
    void *segment;
    atomic_bool is_broken;
    pid_t pid; /* 0: it has been waited for */
    char ending[CUDA_ENDING_TEXT];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static struct connection places[MOST_CONNECTIONS];
static unsigned last_number;

/* ---- forks ---- */

static void make_locks(struct connection *c) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&c->talk, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_mutex_init(&c->life, NULL);
}

static void before_fork(void *context) {
    (void)context;
    pthread_mutex_lock(&starting);
}

static void after_in_parent(void *context) {
    (void)context;
    pthread_mutex_unlock(&starting);
}

/* The processes are the parent's. */
static void after_in_child(void *context) {
    (void)context;
    pthread_mutex_init(&starting, NULL);
    for (struct connection *c = places; c < places + MOST_CONNECTIONS; c++) {
        make_locks(c);
        c->pid = 0;
        if (!atomic_load(&c->number)) {
            continue;
        }
        atomic_store(&c->is_broken, true);
        close(c->socket);
        c->socket = -1;
        snprintf(c->ending, sizeof c->ending,
                 "it belongs to the process that this one was forked from");
    }
}

static void prepare(void) {
    static struct ig_fork_hook hook = {before_fork, after_in_parent, after_in_child, NULL, NULL,
                                       NULL};
    for (struct connection *c = places; c < places + MOST_CONNECTIONS; c++) {
        make_locks(c);
        c->socket = -1;
    }
    ig_fork_add(&hook);
}

/* ---- ends ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* With `life` held: waits for the process for so long. True when it is gone; *state is -1 when
 * somebody else waited for it. */
static bool reap(struct connection *c, double seconds, int *state) {
    double deadline = now() + seconds;
    long pause_ns = 50000;
    *state = -1;
    while (c->pid) {
        pid_t got = waitpid(c->pid, state, WNOHANG);
        if (got == c->pid || (got < 0 && errno == ECHILD)) {
            *state = got < 0 ? -1 : *state;
            c->pid = 0;
        } else if (now() > deadline) {
            return false;
        } else {
            nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
            pause_ns = pause_ns < 5000000 ? 2 * pause_ns : pause_ns;
        }
    }
    return true;
}

/* Only a process that is still our child: its number is not another's then. */
static void kill_child(const struct connection *c) {
    siginfo_t info;
    if (c->pid && waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        kill(c->pid, SIGKILL);
    }
}

/* With `life` held: no more calls. `why` is what is said of it; NULL: how it ended. */
static void break_off(struct connection *c, double patience, const char *why) {
    int state = -1;
    pid_t pid = c->pid;
    if (atomic_exchange(&c->is_broken, true)) {
        return;
    }
    bool is_gone = patience > 0 && reap(c, patience, &state);
    if (!is_gone) {
        kill_child(c);
        reap(c, SECONDS_TO_DIE, &state);
    }
    int at = snprintf(c->ending, sizeof c->ending, "its process (%s %d) ", PROGRAM, (int)pid);
    char *rest = c->ending + at;
    size_t room = sizeof c->ending - (size_t)at;
    if (why) {
        snprintf(rest, room, "%s", why);
    } else if (!is_gone || state == -1) {
        snprintf(rest, room, "does not answer any more");
    } else if (WIFSIGNALED(state)) {
        snprintf(rest, room, "was ended by signal %d (%s)", WTERMSIG(state),
                 strsignal(WTERMSIG(state)));
    } else {
        snprintf(rest, room, "ended with status %d", WEXITSTATUS(state));
    }
}

static void fail_connection(struct connection *c, double patience, const char *why) {
    pthread_mutex_lock(&c->life);
    break_off(c, patience, why);
    pthread_mutex_unlock(&c->life);
}

static struct connection *place_of(uint32_t number) {
    pthread_once(&once, prepare);
    struct connection *c = &places[number % MOST_CONNECTIONS];
    return number && atomic_load(&c->number) == number ? c : NULL;
}

static uint32_t number_of(int handle) {
    return (uint32_t)handle >> ORDINAL_BITS;
}

void cuda_remote_end(int handle) {
    struct connection *c = place_of(number_of(handle));
    if (c) {
        fail_connection(c, 0, "was ended");
    }
}

void cuda_remote_ending(int handle, char text[CUDA_ENDING_TEXT]) {
    struct connection *c = place_of(number_of(handle));
    snprintf(text, CUDA_ENDING_TEXT, "its process is gone");
    if (!c) {
        return;
    }
    pthread_mutex_lock(&c->life);
    if (*c->ending) {
        memcpy(text, c->ending, CUDA_ENDING_TEXT);
    }
    pthread_mutex_unlock(&c->life);
}

void cuda_remote_close(int handle) {
    struct connection *c = place_of(number_of(handle));
    if (!c) {
        return;
    }
    pthread_mutex_lock(&c->talk);
    if (c->socket >= 0) {
        shutdown(c->socket, SHUT_WR); /* which it takes as the end */
    }
    fail_connection(c, SECONDS_TO_LEAVE, "was ended");
    if (c->socket >= 0) {
        close(c->socket);
    }
    if (c->segment) {
        munmap(c->segment, CUDA_SEGMENT_BYTES);
    }
    c->socket = -1;
    c->segment = NULL;
    atomic_store(&c->number, 0);
    pthread_mutex_unlock(&c->talk);
}

/* ---- calls ---- */

static bool send_request(int to, const struct cuda_request *request, const void *bytes) {
    char small[1024];
    if (!request->size || request->size > sizeof small - sizeof *request) {
        return cuda_send_all(to, request, sizeof *request, request->size ? MSG_MORE : 0) &&
               cuda_send_all(to, bytes, request->size, 0);
    }
    memcpy(small, request, sizeof *request);
    memcpy(small + sizeof *request, bytes, request->size);
    return cuda_send_all(to, small, sizeof *request + request->size, 0);
}

cu_result cuda_remote_send(uint32_t number, const struct cuda_request *request, const void *bytes) {
    struct connection *c = place_of(number);
    if (!c || atomic_load(&c->is_broken)) {
        return CU_WORKER_GONE;
    }
    if (send_request(c->socket, request, bytes)) {
        return CU_SUCCESS;
    }
    fail_connection(c, SECONDS_TO_LEAVE, NULL);
    return CU_WORKER_GONE;
}

cu_result cuda_remote_receive(uint32_t number, struct cuda_answer *answer, char *text,
                              size_t room) {
    struct connection *c = place_of(number);
    if (!c || atomic_load(&c->is_broken)) {
        return CU_WORKER_GONE;
    }
    bool is_whole = cuda_receive_all(c->socket, answer, sizeof *answer);
    if (is_whole && answer->size > room) {
        char why[80];
        snprintf(why, sizeof why, "answered with %u bytes where there is room for %zu",
                 answer->size, room);
        fail_connection(c, 0, why);
        return CU_WORKER_GONE;
    }
    if (is_whole && answer->size) {
        is_whole = cuda_receive_all(c->socket, text, answer->size);
        text[answer->size < room ? answer->size : room - 1] = 0;
    }
    if (is_whole) {
        return answer->result;
    }
    fail_connection(c, SECONDS_TO_LEAVE, NULL);
    return CU_WORKER_GONE;
}

cu_result cuda_remote_call(uint32_t number, const struct cuda_request *request, const void *bytes,
                           struct cuda_answer *answer, char *text, size_t room) {
    if (request->size > CUDA_MOST_BYTES) {
        return CU_INVALID_VALUE;
    }
    if (!cuda_remote_lock(number)) {
        return CU_WORKER_GONE;
    }
    cu_result result = cuda_remote_send(number, request, bytes);
    if (result == CU_SUCCESS && answer) {
        result = cuda_remote_receive(number, answer, text, room);
    }
    cuda_remote_unlock(number);
    return result;
}

void *cuda_remote_lock(uint32_t number) {
    struct connection *c = place_of(number);
    if (!c) {
        return NULL;
    }
    pthread_mutex_lock(&c->talk);
    if (atomic_load(&c->number) == number) {
        return c->segment;
    }
    pthread_mutex_unlock(&c->talk);
    return NULL;
}

void cuda_remote_unlock(uint32_t number) {
    pthread_mutex_unlock(&places[number % MOST_CONNECTIONS].talk);
}

/* ---- starting ---- */

/* A place that is free, and with its new number is not any more; NULL when there is none. */
static struct connection *take_place(uint32_t *number) {
    struct connection *taken = NULL;
    pthread_mutex_lock(&starting);
    for (int i = 0; i < MOST_CONNECTIONS && !taken; i++) {
        last_number = last_number < LAST_NUMBER ? last_number + 1 : 1;
        struct connection *c = &places[last_number % MOST_CONNECTIONS];
        int state;
        if (atomic_load(&c->number)) {
            continue;
        }
        pthread_mutex_lock(&c->life);
        if (reap(c, 0, &state)) { /* one that could not be ended keeps its place */
            taken = c;
        }
        pthread_mutex_unlock(&c->life);
    }
    if (taken) {
        *number = last_number;
        taken->ending[0] = 0;
        atomic_store(&taken->is_broken, true); /* until it runs */
        atomic_store(&taken->number, last_number);
    }
    pthread_mutex_unlock(&starting);
    return taken;
}

static int open_segment(void **segment) {
    int file = memfd_create(PROGRAM, MFD_CLOEXEC);
    *segment = MAP_FAILED;
    if (file >= 0 && ftruncate(file, (off_t)CUDA_SEGMENT_BYTES) == 0) {
        *segment = mmap(NULL, CUDA_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (*segment != MAP_FAILED) {
        return file;
    }
    int code = errno;
    if (file >= 0) {
        close(file);
    }
    errno = code;
    return -1;
}

/* The program runs, with the other ends of what the connection has. */
static ingot_status run_program(struct connection *c, const char *program, struct ig_error *error) {
    int pair[2] = {-1, -1}, segment = -1;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
        segment = open_segment(&c->segment);
    }
    ingot_status status = INGOT_OK;
    if (segment < 0) {
        c->segment = NULL;
        status =
            ig_fail(error, INGOT_IO_ERROR,
                    "no connection to a process that runs the CUDA device: %s", strerror(errno));
    } else {
        char parent[24];
        snprintf(parent, sizeof parent, "%d", (int)getpid());
        const char *const arguments[] = {program, parent, NULL};
        int told = fcntl(STDERR_FILENO, F_GETFD) < 0 ? nothing : STDERR_FILENO;
        const int files[] = {nothing, told, told, pair[1], segment};
        pid_t pid = 0;
        status = ig_process_start(arguments, files, 5, &pid, error);
        c->pid = status == INGOT_OK ? pid : 0;
    }
    c->socket = pair[0];
    const int given[] = {nothing, pair[1], segment};
    for (int i = 0; i < 3; i++) {
        if (given[i] >= 0) {
            close(given[i]);
        }
    }
    return status;
}

static ingot_status greet(struct connection *c, uint32_t number, const char *program, int ordinal,
                          struct ig_error *error) {
    const struct cuda_request hello = {.call = CUDA_CALL_HELLO, .values = {(uint64_t)ordinal}};
    struct cuda_answer answer = {0};
    char text[512] = "";
    cu_result result = cuda_remote_call(number, &hello, NULL, &answer, text, sizeof text);
    if (result == CU_WORKER_GONE) {
        return ig_fail(error, INGOT_DEVICE_LOST, "%s does not start: %s", program, c->ending);
    }
    if (result != CU_SUCCESS) {
        return ig_fail(error, INGOT_DEVICE_LOST, "%s: %s", program, text);
    }
    if (answer.values[0] != CUDA_WORKER_MESSAGES) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "%s is of another version of ingot: its messages are number %llu, not %d",
                       program, (unsigned long long)answer.values[0], CUDA_WORKER_MESSAGES);
    }
    return INGOT_OK;
}

ingot_status cuda_remote_start(int ordinal, int *handle, struct ig_error *error) {
    pthread_once(&once, prepare);
    if (ordinal >= 1 << ORDINAL_BITS) {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "GPU %d cannot have a process of its own: the "
                       "last that can is %d",
                       ordinal, (1 << ORDINAL_BITS) - 1);
    }
    char *program = ig_program_find(PROGRAM, VARIABLE, error);
    if (!program) {
        return INGOT_NOT_FOUND;
    }
    uint32_t number = 0;
    struct connection *c = take_place(&number);
    ingot_status status =
        c ? run_program(c, program, error)
          : ig_fail(error, INGOT_UNSUPPORTED,
                    "%d CUDA devices run in processes of their own; more cannot", MOST_CONNECTIONS);
    *handle = (int)(number << ORDINAL_BITS) | ordinal;
    if (status == INGOT_OK) {
        atomic_store(&c->is_broken, false);
        status = greet(c, number, program, ordinal, error);
    }
    if (c && status != INGOT_OK) {
        cuda_remote_close(*handle);
    }
    free(program);
    return status;
}
