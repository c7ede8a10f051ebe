/*
 * Machine code made in a child process with a limit of CPU time.
 *
 * LLVM's instruction selection can loop for ever on rare vector patterns (seen with a product of
 * two masked values: its PMADDWD combine) and can give up on others by ending the process. Neither
 * may end ours: the child is cut off, and the caller tries again with narrower vectors.
 * Large kernels (arithmetic on large numbers, all inlined; generated code) meet passes that take
 * quadratic time, minutes of it. They get none of these; see leave_out_quadratic_passes.
 * Requires a single-threaded process (it forks).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/Support.h>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "compiler/driver/driver.h"
#include "compiler/ir/walk.h"

enum {
    BASE_SECONDS = 6,
    INSTRUCTIONS_PER_SECOND = 2000,
    /* Of code for CPUs. The library's largest have 46,000 instructions, 1,700 in a block, and a
     * product of instructions and blocks, which is CodeGenPrepare's time, of 67 millions. */
    LONG_BLOCK = 2000,
    HUGE_BLOCK = 5000,
    HUGE_MODULE = 50000,
    HUGE_PRODUCT = 80000000,
    HUGE_GPU_PRODUCT = 20000000,
    PIECE = 250, /* of a block: shorter ones compile no faster, and spill more */
};

struct size {
    unsigned instructions, blocks, longest_block;
};

static struct size measure(LLVMModuleRef module) {
    struct size size = {0};
    igi_each_function(f, module) {
        igi_each_block(b, f) {
            unsigned count = 0;
            igi_each_in_block(i, b) {
                count++;
            }
            size.instructions += count;
            size.blocks++;
            size.longest_block = count > size.longest_block ? count : size.longest_block;
        }
    }
    return size;
}

/*
 * For the rest of this process, which is a child's. X86DomainReassignment looks for arithmetic that
 * mask registers could do, for each candidate through all that depends on it. CodeGenPrepare starts
 * again from the first block after each change, and the machine combiner follows chains of
 * arithmetic through their block; in short blocks the rest is nearly linear. The code is a few per
 * cent larger.
 */
static void leave_out_quadratic_passes(LLVMModuleRef module, struct size size, bool gpu) {
    static const char *const long_options[] = {"ingotc", "-disable-x86-domain-reassignment"};
    static const char *const huge_options[] = {"ingotc", "-disable-cgp",
                                               "-disable-x86-domain-reassignment",
                                               "-x86-machine-combiner=false"};
    uint64_t product = (uint64_t)size.instructions * size.blocks;
    bool huge = gpu ? product > HUGE_GPU_PRODUCT
                    : size.longest_block > HUGE_BLOCK || size.instructions > HUGE_MODULE ||
                          product > HUGE_PRODUCT;
    if (huge && !gpu) {
        igc_cut_long_blocks(module, PIECE);
    }
    if (huge) {
        LLVMParseCommandLineOptions(gpu ? 2 : 4, huge_options, NULL);
    } else if (!gpu && size.longest_block > LONG_BLOCK) {
        LLVMParseCommandLineOptions(2, long_options, NULL);
    }
}

/* In the child: exit status 0 and the code, or 1 and a message. */
static int emit_to(int fd, LLVMModuleRef module, LLVMTargetMachineRef machine,
                   igc_machine_fn *choose, LLVMCodeGenFileType kind, unsigned seconds,
                   struct size size) {
    struct rlimit limit = {seconds, seconds + 1};
    setrlimit(RLIMIT_CPU, &limit);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    LLVMMemoryBufferRef code;
    char *message = NULL;
    if (choose) {
        machine = choose(module, machine);
    }
    leave_out_quadratic_passes(module, size, choose != NULL);
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, kind, &message, &code)) {
        ig_write_all(fd, message, strlen(message));
        return 1;
    }
    return ig_write_all(fd, LLVMGetBufferStart(code), LLVMGetBufferSize(code)) != 0;
}

static void read_all(int fd, struct ig_text *out) {
    char block[65536];
    for (;;) {
        ssize_t got = read(fd, block, sizeof block);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return;
        }
        ig_text_append(out, block, (size_t)got);
    }
}

static ingot_status judge(int state, unsigned seconds, const struct ig_text *output,
                          struct ig_error *error) {
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0 && output->size && !output->failed) {
        return INGOT_OK;
    }
    if (WIFSIGNALED(state) && (WTERMSIG(state) == SIGXCPU || WTERMSIG(state) == SIGKILL)) {
        return ig_fail(error, INGOT_INTERNAL_ERROR,
                       "LLVM did not finish the machine code within %u s", seconds);
    }
    if (WIFSIGNALED(state)) {
        return ig_fail(error, INGOT_INTERNAL_ERROR,
                       "LLVM crashed with signal %d while making machine code", WTERMSIG(state));
    }
    return ig_fail(error, INGOT_INTERNAL_ERROR, "LLVM cannot emit code: %s",
                   ig_text_string(output));
}

ingot_status igc_emit_guarded(LLVMModuleRef module, LLVMTargetMachineRef machine,
                              igc_machine_fn *choose, bool assembly, LLVMMemoryBufferRef *out,
                              struct ig_error *error) {
    struct size size = measure(module);
    unsigned seconds = BASE_SECONDS + size.instructions / INSTRUCTIONS_PER_SECOND;
    int ends[2];
    if (pipe(ends)) {
        return ig_fail(error, INGOT_IO_ERROR, "no pipe for the code generator: %s",
                       strerror(errno));
    }
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return ig_fail(error, INGOT_IO_ERROR, "no process for the code generator: %s",
                       strerror(errno));
    }
    if (pid == 0) {
        ig_process_end_with(parent);
        close(ends[0]);
        _exit(emit_to(ends[1], module, machine, choose,
                      assembly ? LLVMAssemblyFile : LLVMObjectFile, seconds, size));
    }
    close(ends[1]);
    struct ig_text output = {0};
    read_all(ends[0], &output);
    close(ends[0]);
    int state = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
    ingot_status status = judge(state, seconds, &output, error);
    if (!status) {
        *out = LLVMCreateMemoryBufferWithMemoryRangeCopy(output.data, output.size, "code");
    }
    ig_text_free(&output);
    return status;
}
