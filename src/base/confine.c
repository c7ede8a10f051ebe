/* See confine.h. The rules of Landlock and the programs of seccomp are the kernel's interface; its
 * headers may be older than it, so the few numbers that are needed stand here. */
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- files ---- */

enum { LANDLOCK_CREATE = 444, LANDLOCK_ADD = 445, LANDLOCK_RESTRICT = 446, RULE_BELOW = 1 };
#define FILE_RUN      ((uint64_t)1 << 0)
#define FILE_WRITE    ((uint64_t)1 << 1)
#define FILE_READ     ((uint64_t)1 << 2)
#define FOLDER_READ   ((uint64_t)1 << 3)
#define ALL_OF_FIRST  (((uint64_t)1 << 13) - 1) /* what the first version knows */
#define FOLDER_REFER  ((uint64_t)1 << 13)       /* version 2 */
#define FILE_TRUNCATE ((uint64_t)1 << 14)       /* version 3 */
#define DEVICE_IOCTL  ((uint64_t)1 << 15)       /* version 5 */
#define NETWORK_ALL   ((uint64_t)3)             /* version 4: TCP */
#define SCOPE_ALL     ((uint64_t)3)             /* version 6: abstract sockets, signals */

struct ruleset {
    uint64_t files, network, scoped;
};
struct __attribute__((packed)) below {
    uint64_t allowed;
    int32_t folder;
};

static int allow(int rules, const char *path, uint64_t rights) {
    struct stat info;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : errno;
    }
    int code = fstat(fd, &info) ? errno : 0;
    if (!code && !S_ISDIR(info.st_mode)) {
        rights &= FILE_RUN | FILE_WRITE | FILE_READ | FILE_TRUNCATE;
    }
    struct below below = {rights, fd};
    if (!code && syscall(LANDLOCK_ADD, rules, RULE_BELOW, &below, 0)) {
        code = errno;
    }
    close(fd);
    return code;
}

static int limit_files(const struct ig_confinement *files) {
    long version = syscall(LANDLOCK_CREATE, NULL, 0, 1);
    if (version < 1) {
        return errno ? errno : ENOSYS;
    }
    struct ruleset rules = {.files = ALL_OF_FIRST};
    rules.files |= version >= 2 ? FOLDER_REFER : 0;
    rules.files |= version >= 3 ? FILE_TRUNCATE : 0;
    rules.files |= version >= 5 ? DEVICE_IOCTL : 0;
    rules.network = version >= 4 ? NETWORK_ALL : 0;
    rules.scoped = version >= 6 ? SCOPE_ALL : 0;
    size_t size = version >= 6 ? sizeof rules : version >= 4 ? 2 * sizeof(uint64_t) : 8;
    int fd = (int)syscall(LANDLOCK_CREATE, &rules, size, 0);
    if (fd < 0) {
        return errno;
    }
    int code = 0;
    for (size_t i = 0; i < files->readable_count && !code; i++) {
        code = allow(fd, files->readable[i], FILE_RUN | FILE_READ | FOLDER_READ);
    }
    if (!code && files->writable) {
        code = allow(fd, files->writable, rules.files & ~(DEVICE_IOCTL | FILE_RUN));
    }
    if (!code) { /* programs write to it what nobody wants to read */
        code = allow(fd, "/dev/null", FILE_READ | FILE_WRITE);
    }
    if (!code && syscall(LANDLOCK_RESTRICT, fd, 0)) {
        code = errno;
    }
    close(fd);
    return code;
}

/* ---- system calls ---- */

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#else
#error "no filter of system calls for this architecture"
#endif
#define X32_BIT 0x40000000u
#if defined(__x86_64__)
#define RSEQ 334
#else
#define RSEQ 293
#endif

/* What reaches the network, other processes or the system. */
#define REACHING_CALLS                                                                             \
    SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_ptrace,            \
        SYS_process_vm_readv, SYS_process_vm_writev, SYS_mount, SYS_umount2, SYS_chroot,           \
        SYS_pivot_root, SYS_setns, SYS_unshare, SYS_bpf, SYS_perf_event_open, SYS_keyctl,          \
        SYS_add_key, SYS_request_key, SYS_userfaultfd, SYS_init_module, SYS_finit_module,          \
        SYS_delete_module, SYS_reboot, SYS_open_by_handle_at, SYS_kexec_load, SYS_swapon,          \
        SYS_personality, 425 /* io_uring_setup */, 434 /* pidfd_open */, 438 /* pidfd_getfd */,    \
        424 /* pidfd_send_signal */
static const uint16_t reaching_calls[] = {REACHING_CALLS};

/* What would start or reach something, for code that only computes. */
static const uint16_t ending_calls[] = {
    REACHING_CALLS, SYS_execve, SYS_execveat, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo,
#ifdef SYS_fork
    SYS_fork,       SYS_vfork,
#endif
};
static const uint16_t computing_calls[] = {
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_futex,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_madvise,
    SYS_mremap,
    SYS_brk,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    SYS_gettid,
    SYS_getpid,
    SYS_exit,
    SYS_exit_group,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_getcpu,
    SYS_set_robust_list,
    SYS_restart_syscall,
    SYS_getrandom,
    SYS_gettimeofday,
    SYS_set_tid_address,
    SYS_membarrier,
    RSEQ,
};

enum { MOST = 256 };
struct program {
    struct sock_filter code[MOST];
    unsigned short count;
};

static void put(struct program *p, struct sock_filter instruction) {
    if (p->count < MOST) {
        p->code[p->count++] = instruction;
    }
}

static void load(struct program *p, size_t offset) {
    put(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void answer(struct program *p, uint32_t what) {
    put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* The next `skip` instructions only if the accumulator is `value`. */
static void if_equal(struct program *p, uint32_t value, uint8_t skip) {
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip));
}

static void answer_all(struct program *p, const uint16_t *calls, size_t count, uint32_t what) {
    for (size_t i = 0; i < count; i++) {
        if_equal(p, calls[i], 1);
        answer(p, what);
    }
}

static void begin(struct program *p) {
    p->count = 0;
    load(p, offsetof(struct seccomp_data, arch));
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0));
    answer(p, SECCOMP_RET_KILL_PROCESS);
    load(p, offsetof(struct seccomp_data, nr));
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
    answer(p, SECCOMP_RET_KILL_PROCESS);
}

static int install(const struct program *p) {
    struct sock_fprog program = {p->count, (struct sock_filter *)(uintptr_t)p->code};
    if (p->count >= MOST) {
        return E2BIG;
    }
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) ? errno : 0;
}

int ig_confine_program(const struct ig_confinement *files) {
    struct program p;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
        return errno;
    }
    int code = limit_files(files);
    begin(&p);
    answer_all(&p, reaching_calls, COUNT(reaching_calls), SECCOMP_RET_ERRNO | EPERM);
    answer(&p, SECCOMP_RET_ALLOW);
    return code ? code : install(&p);
}

int ig_confine_computation(void) {
    struct program p;
    const size_t first = offsetof(struct seccomp_data, args);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
        return errno;
    }
    begin(&p);
    answer_all(&p, ending_calls, COUNT(ending_calls), SECCOMP_RET_KILL_PROCESS);
    answer_all(&p, computing_calls, COUNT(computing_calls), SECCOMP_RET_ALLOW);
    if_equal(&p, SYS_tgkill, 4); /* to its own threads */
    load(&p, first);
    if_equal(&p, (uint32_t)getpid(), 1);
    answer(&p, SECCOMP_RET_ALLOW);
    answer(&p, SECCOMP_RET_KILL_PROCESS);
    if_equal(&p, SYS_clone, 4); /* threads, no processes */
    load(&p, first);
    put(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
    answer(&p, SECCOMP_RET_ALLOW);
    answer(&p, SECCOMP_RET_KILL_PROCESS);
    if_equal(&p, 435 /* clone3, whose flags a filter cannot see */, 1);
    answer(&p, SECCOMP_RET_ERRNO | ENOSYS);
    answer(&p, SECCOMP_RET_ERRNO | EPERM);
    return install(&p);
}
