/*
 * Runs a child process to its end: feeds stdin, collects stdout and stderr, and ends the whole
 * process group when the time limit passes.
 *
 * The child is started by vfork in a process group of its own, and ends with the thread that
 * started it, which waits for it: however the caller ends, no compiler goes on without it. Its
 * address-space limit is set by the parent with prlimit before the child gets any input, which
 * is early enough for compilers. A child that does this program's own work is a fork that goes on
 * without exec. Does not change any state of the calling process (no SIGCHLD
 * handler, no umask, no chdir); SIGPIPE is avoided by sending through a socket.
 */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct pipes {
    int in[2], out[2], err[2]; /* [0] is the child's end of `in`, the parent's of the others */
};

static void close_one(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void close_pipes(struct pipes *p) {
    for (int i = 0; i < 2; i++) {
        close_one(&p->in[i]);
        close_one(&p->out[i]);
        close_one(&p->err[i]);
    }
}

static int open_pipes(struct pipes *p, bool with_input) {
    if (with_input ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->in)
                   : (p->in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0) {
        return errno;
    }
    if (pipe2(p->out, O_CLOEXEC) || pipe2(p->err, O_CLOEXEC)) {
        return errno;
    }
    return 0;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void ig_process_end_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(127); /* it was gone before */
    }
}

/* What a child is to be. */
struct child {
    const char *const *arguments;
    int (*inside)(int argc, char **argv);
    const struct pipes *pipes; /* what `inside` closes, as exec would; NULL: none */
    const int *files;          /* of the parent, which it has as 0, 1, 2 … */
    int file_count;
    bool ends_with_thread;
    const char *const *environment;
    const struct ig_confinement *confinement;
};

/* In the child: files[i] becomes i. Those in the way of others are moved first. */
static bool place_files(const struct child *child) {
    enum { MOST = 8 };
    int from[MOST];
    if (child->file_count > MOST) {
        errno = EMFILE;
        return false;
    }
    for (int i = 0; i < child->file_count; i++) {
        from[i] = child->files[i];
        if (from[i] != i && from[i] < child->file_count) {
            from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, child->file_count);
        }
        if (from[i] < 0) {
            return false;
        }
    }
    for (int i = 0; i < child->file_count; i++) {
        if (from[i] == i ? fcntl(i, F_SETFD, 0) : dup2(from[i], i) != i) {
            return false;
        }
    }
    return true;
}

/* No handler of the parent may run in the memory that it lends us. */
static void reset_signals(void) {
    struct sigaction action, by_default = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++) {
        bool always = i == SIGPIPE || i == SIGINT || i == SIGTERM;
        if (always || (!sigaction(i, NULL, &action) && action.sa_handler != SIG_IGN)) {
            sigaction(i, &by_default, NULL);
        }
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In a fork: does not return. */
static void run_inside(const struct child *child, const int news[2]) {
    const int parents[] = {news[0], news[1], child->pipes->in[1], child->pipes->out[0],
                           child->pipes->err[0]};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        if (parents[i] >= child->file_count) {
            close(parents[i]);
        }
    }
    int count = 0;
    while (child->arguments[count]) {
        count++;
    }
    /* The parent's stdio is its own: nothing is flushed. */
    _exit(child->inside(count, (char **)(uintptr_t)child->arguments));
}

/* In the child, in the parent's memory unless it is a fork: only returns when the program cannot be
 * started. */
static int become(const struct child *child, pid_t parent, const int news[2]) {
    if (child->ends_with_thread) {
        ig_process_end_with(parent);
    }
    setpgid(0, 0);
    if (!place_files(child)) {
        return errno;
    }
    reset_signals();
    int refused = child->confinement ? ig_confine_program(child->confinement) : 0;
    if (refused) {
        return refused;
    }
    if (child->inside) {
        run_inside(child, news);
    }
    char *const *environment =
        child->environment ? (char *const *)(uintptr_t)child->environment : environ;
    execvpe(child->arguments[0], (char *const *)(uintptr_t)child->arguments, environment);
    return errno;
}

/* 0, or why the program could not be started: the child says so through a pipe that exec closes,
 * since the sanitizers' vfork does not share memory. */
static int spawn(const struct child *child, pid_t *pid) {
    int news[2], failure = 0;
    if (pipe2(news, O_CLOEXEC)) {
        return errno;
    }
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pid_t parent = getpid();
    *pid = child->inside ? fork() : vfork();
    if (*pid == 0) {
        int code = become(child, parent, news);
        _exit(write(news[1], &code, sizeof code) == sizeof code ? 127 : 126);
    }
    int code = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(news[1]);
    if (*pid < 0) {
        failure = code;
    } else {
        ssize_t got;
        do {
            got = read(news[0], &failure, sizeof failure);
        } while (got < 0 && errno == EINTR);
        if (got == sizeof failure) {
            while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR) {
            }
        }
    }
    close(news[0]);
    return failure;
}

static void limit_processor(pid_t pid, unsigned seconds) {
    struct rlimit limit = {.rlim_cur = seconds, .rlim_max = seconds + 1}, old;
    if (seconds && !prlimit(pid, RLIMIT_CPU, NULL, &old) && old.rlim_max >= limit.rlim_max) {
        prlimit(pid, RLIMIT_CPU, &limit, NULL);
    }
}

static void limit_memory(pid_t pid, size_t bytes) {
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes}, old;
    if (!prlimit(pid, RLIMIT_AS, NULL, &old) && old.rlim_max < bytes) {
        return; /* already stricter */
    }
    prlimit(pid, RLIMIT_AS, &limit, NULL);
}

/* Reads what is there; closes *fd at its end. */
static void drain(int *fd, struct ig_text *text) {
    char block[65536];
    ssize_t got = read(*fd, block, sizeof block);
    if (got > 0) {
        ig_text_append(text, block, (size_t)got);
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        close_one(fd);
    }
}

/* True when everything was sent and read before the deadline. */
static bool exchange(const struct ig_process *process, struct pipes *p, double deadline,
                     struct ig_process_result *result) {
    size_t sent = 0;
    while (p->in[1] >= 0 || p->out[0] >= 0 || p->err[0] >= 0) {
        double left = deadline - now();
        if (left <= 0) {
            return false;
        }
        struct pollfd polls[3] = {
            {p->in[1], POLLOUT, 0}, {p->out[0], POLLIN, 0}, {p->err[0], POLLIN, 0}};
        int timeout = left > 1e6 ? 1000000000 : (int)(left * 1000) + 1;
        if (poll(polls, 3, timeout) < 0 && errno != EINTR) {
            return false;
        }
        if (p->in[1] >= 0 && polls[0].revents) {
            ssize_t put = send(p->in[1], process->input + sent, process->input_size - sent,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
            if (put >= 0) {
                sent += (size_t)put;
            }
            bool gone = put < 0 && errno != EINTR && errno != EAGAIN;
            if (gone || sent == process->input_size) {
                close_one(&p->in[1]);
            }
        }
        if (p->out[0] >= 0 && polls[1].revents) {
            drain(&p->out[0], &result->output);
        }
        if (p->err[0] >= 0 && polls[2].revents) {
            drain(&p->err[0], &result->errors);
            if (process->heard) {
                process->heard(process->context, ig_text_string(&result->errors));
            }
        }
    }
    return true;
}

/* Waits for the end of the process until the deadline, then ends it. Its output is closed when
 * `finished`, so it normally ends at once. */
static void reap(pid_t pid, bool finished, double deadline, struct ig_process_result *result) {
    int state = 0;
    long pause_ns = 20000;
    while (finished) {
        pid_t got = waitpid(pid, &state, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR)) {
            break;
        }
        finished = now() < deadline;
        struct timespec pause = {.tv_nsec = pause_ns};
        nanosleep(&pause, NULL);
        pause_ns = pause_ns < 2000000 ? pause_ns * 2 : pause_ns;
    }
    if (!finished) {
        result->timed_out = true;
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
        }
    }
    if (WIFSIGNALED(state)) {
        result->signal = WTERMSIG(state);
        result->timed_out |= result->signal == SIGXCPU;
    } else {
        result->exit_code = WEXITSTATUS(state);
    }
}

static ingot_status not_started(const char *program, int code, struct ig_error *error) {
    bool absent = code == ENOENT || code == ENOTDIR;
    return ig_fail(error, absent ? INGOT_NOT_FOUND : INGOT_IO_ERROR, "cannot start %s: %s", program,
                   strerror(code));
}

ingot_status ig_process_start(const char *const *arguments, const int *files, int file_count,
                              pid_t *pid, struct ig_error *error) {
    int code = spawn(
        &(struct child){.arguments = arguments, .files = files, .file_count = file_count}, pid);
    return code ? not_started(arguments[0], code, error) : INGOT_OK;
}

ingot_status ig_process_run(const struct ig_process *process, struct ig_process_result *result,
                            struct ig_error *error) {
    memset(result, 0, sizeof *result);
    struct pipes p = {{-1, -1}, {-1, -1}, {-1, -1}};
    const char *program = process->arguments[0];
    int code = open_pipes(&p, process->input != NULL);
    pid_t pid = -1;
    if (!code) {
        const int files[] = {p.in[0], p.out[1], p.err[1]};
        code = spawn(&(struct child){.arguments = process->arguments,
                                     .inside = process->confinement ? NULL : process->inside,
                                     .pipes = &p,
                                     .files = files,
                                     .file_count = 3,
                                     .ends_with_thread = true,
                                     .environment = process->environment,
                                     .confinement = process->confinement},
                     &pid);
    }
    if (code) {
        close_pipes(&p);
        return not_started(program, code, error);
    }
    limit_memory(pid, process->memory ? process->memory : (size_t)16 << 30);
    limit_processor(pid, process->processor_seconds);
    close_one(&p.in[0]);
    close_one(&p.out[1]);
    close_one(&p.err[1]);
    double deadline = now() + (process->seconds > 0 ? process->seconds : 300);
    bool finished = exchange(process, &p, deadline, result);
    close_pipes(&p);
    reap(pid, finished, deadline, result);
    if (result->output.failed || result->errors.failed) {
        ig_process_result_free(result);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the output of %s", program);
    }
    return INGOT_OK;
}

void ig_process_result_free(struct ig_process_result *result) {
    ig_text_free(&result->output);
    ig_text_free(&result->errors);
}
